"""The raw tables of the mart, filled from what a store holds: data sets, runs, submissions, accounts and verdicts.

What belongs here: which product of the store becomes which table. What does not: schemas and rows
(opentwbench/evaluation/warehouse.py) and the mart (resources/warehouse.py).
What is published is what is scored: items, keys and withdrawals come from the publications of the store.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.files import read_jsonl
from opentwbench.dataset.manifest import MANIFEST_NAME, WITHDRAWN_NAME, read_manifest, read_withdrawals
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation import warehouse as tables
from opentwbench.evaluation.items import ItemSet, Roster, item_set, read_items
from opentwbench.evaluation.journal import (
    JOURNAL_NAME,
    RUN_ID,
    RUN_NAME,
    JournalError,
    read_protocol,
    read_responses,
    read_run,
)
from opentwbench.evaluation.model import AskedItem, RunRecord
from opentwbench.evaluation.protocols import REGISTRY, Protocol
from opentwbench.evaluation.refusals import read_refusals
from opentwbench.evaluation.runs import score, write_scores
from opentwbench.evaluation.submissions import read_all
from opentwbench.exam.accounting import Accounting
from opentwbench.exam.items import NO_SUBJECT
from opentwbench.exam.subjects import REGISTRY as SUBJECTS
from resources import board_tables, formosa_places, rag_products, rag_tables
from resources.apparatus import study_rows
from resources.exam_products import verdicts
from resources.store import Store, StoreError
from resources.warehouse import Warehouse

ANNOTATIONS = "models/annotations.jsonl"
"""What the maintainer states of models, in the store: lines of {"model", "annotation", "note"}."""
OTHER_TRACKS: Mapping[str, str] = {"formosa": formosa_places.PUBLICATION, "rag": rag_products.PUBLICATION}
"""Benchmark -> its publication in the store. The others ask the data sets of examinations."""


@dataclass(frozen=True)
class Places:
    """A local store's folders as the mart reads them. Raises StoreError for a store that is not local."""

    store: Store

    def __post_init__(self) -> None:
        """A journal and a warehouse need a disk that syncs."""
        if not self.store.is_local:
            raise StoreError(f"{self.store.url}: fetch the store to a local folder; the mart is built from files")

    def _folder(self, name: str) -> Path:
        with self.store.folder(name) as folder:
            return folder

    @property
    def runs(self) -> Path:
        """Run folders."""
        return self._folder("runs")

    @property
    def submissions(self) -> Path:
        """Folded submissions."""
        return self._folder("submissions")

    @cached_property
    def published(self) -> tuple[Path, ...]:
        """The folders of published data sets, by name."""
        root = self._folder("publications")
        slugs = self.store.slugs("publications")
        return tuple(path for path in (root / slug for slug in slugs) if path.is_dir())

    @cached_property
    def other_tracks(self) -> dict[str, Path]:
        """Benchmark -> the published folder of its track, for those tracks that have one."""
        folders = {benchmark: self._folder(name) for benchmark, name in OTHER_TRACKS.items()}
        return {benchmark: path for benchmark, path in folders.items() if (path / MANIFEST_NAME).is_file()}

    def folders_of(self, benchmark: str) -> tuple[Path, ...]:
        """The published folders that a run of this benchmark asks."""
        if benchmark in OTHER_TRACKS:
            return (self.other_tracks[benchmark],) if benchmark in self.other_tracks else ()
        return self.published

    @cached_property
    def folders(self) -> tuple[Path, ...]:
        """Every published folder, of all tracks."""
        return (*self.published, *self.other_tracks.values())

    @property
    def shown(self) -> tuple[Path, ...]:
        """Folders whose items have pages: a retrieval item is a Formosa item with its passages, and has none."""
        return tuple(folder for folder in self.folders if folder != self.other_tracks.get("rag"))

    @cached_property
    def items(self) -> ItemSet:
        """Every published item of every track, withdrawn ones included: they are graded and left out of scores."""
        return item_set(self.folders, item_set="published")

    @cached_property
    def roster(self) -> Mapping[str, AskedItem]:
        """Item id -> key, subject, field and year; empty before anything is published."""
        return Roster(self.items) if self.folders else {}

    @cached_property
    def version(self) -> str:
        """The version of everything that is published, '' before anything is."""
        return self.items.version if self.folders else ""

    @cached_property
    def withdrawn(self) -> frozenset[str]:
        """Every withdrawn item."""
        return frozenset().union(*(file.withdrawn for file in self.items.files)) if self.folders else frozenset()

    def scored_roster(self, ids: frozenset[str]) -> Roster:
        """The scored items among these. Kept for the next run, which mostly asked the same ones."""
        if ids not in self._rosters:
            self._rosters.clear()
            self._rosters[ids] = Roster(replace(self.items, item_set="scored", chosen=ids))
        return self._rosters[ids]

    @cached_property
    def _rosters(self) -> dict[frozenset[str], Roster]:
        return {}

    @cached_property
    def aliases(self) -> dict[str, str]:
        """An item id of an earlier version -> its id now, over all published data sets."""
        found: dict[str, str] = {}
        for folder in self.folders:
            found |= {str(old): str(new) for old, new in read_manifest(folder).get("aliases", {}).items()}
        return found

    def run_folders(self) -> list[Path]:
        """The folders that hold a run, by id."""
        if not self.runs.is_dir():
            return []
        named = (path for path in sorted(self.runs.iterdir()) if re.fullmatch(RUN_ID, path.name))
        return [path for path in named if (path / RUN_NAME).is_file()]

    def runs_of(self, model: str) -> list[Path]:
        """The folders of the runs of one model."""
        return [folder for folder in self.run_folders() if read_run(folder).model == model]

    def models(self) -> list[str]:
        """Every model with a run, sorted."""
        return sorted({read_run(folder).model for folder in self.run_folders()})


def grade_run(places: Places, warehouse: Warehouse, folder: Path) -> tables.Grading:
    """Grade the stored responses of a run by the published keys: its file of raw responses and its scores.

    Asks no model. Raises JournalError for a run that cannot be read.
    """
    record = _run_of(folder)
    version = places.version
    grading = tables.Grading(record.run_id, version, journal_bytes=_size(folder / JOURNAL_NAME))
    rows = tables.graded_rows(read_responses(folder), places.roster, grading, places.aliases)
    tables.write_table(warehouse.raw, tables.RESPONSES, rows, record.run_id)
    keep_grading(warehouse, grading)
    answered = (places.aliases.get(each.item_id, each.item_id) for each in read_responses(folder))
    scored = frozenset(name for name in answered if name in places.roster and name not in places.withdrawn)
    if scored:
        write_scores(folder, record, version, "scored", score(folder, places.scored_roster(scored), places.aliases))
    return grading


def _run_of(folder: Path) -> RunRecord:
    record = read_run(folder)
    if record.run_id != folder.name:
        raise JournalError(f"{folder / RUN_NAME}: run_id is {excerpt(record.run_id)}, the folder's name is another")
    return record


def keep_grading(warehouse: Warehouse, grading: tables.Grading) -> None:
    """Put the grading of one run into its table, in place of an earlier one."""
    before = tables.read_table(warehouse.raw, "gradings")
    others = [row for row in before if row["run_id"] != grading.run_id]
    tables.write_table(warehouse.raw, "gradings", sorted([*others, grading.row()], key=lambda row: str(row["run_id"])))


def drop_vanished(places: Places, warehouse: Warehouse) -> list[str]:
    """Take away raw responses and gradings of runs that the store no longer has; their ids."""
    there = {folder.name for folder in places.run_folders()}
    gone = sorted(
        path.stem
        for path in (warehouse.raw / tables.RESPONSES).glob("*.parquet")
        if path.stem not in there and path.stem != tables.NO_RUN
    )
    for run_id in gone:
        tables.table_path(warehouse.raw, tables.RESPONSES, run_id).unlink()
    rows = tables.read_table(warehouse.raw, "gradings")
    if any(row["run_id"] not in there for row in rows):
        tables.write_table(warehouse.raw, "gradings", [row for row in rows if row["run_id"] in there])
    return gone


def ungraded_runs(places: Places, warehouse: Warehouse) -> list[str]:
    """Runs that have new responses since they were graded, or were graded by keys that are no longer published."""
    graded = {
        row["run_id"]: f"{row['graded_version']} {row['journal_bytes']}"
        for row in tables.read_table(warehouse.raw, "gradings")
    }
    return [run_id for run_id, now in run_digests(places).items() if graded.get(run_id) != now]


def run_digests(places: Places) -> dict[str, str]:
    """Run id -> the published version and the size of its journal: what its scores depend on.

    A journal only grows, so its size tells new responses without reading them.
    """
    sizes = {folder.name: _size(folder / JOURNAL_NAME) for folder in places.run_folders()}
    return {name: f"{places.version} {size}" for name, size in sizes.items()}


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def write_tables(places: Places, warehouse: Warehouse) -> dict[str, tables.WrittenTable]:
    """Write every raw table but the responses, from what the store holds now; table -> what was written."""
    made: Mapping[str, Iterable[Mapping[str, Any]]] = {
        "items": _items(places, warehouse),
        "item_versions": _versions(places, warehouse),
        "withdrawals": _withdrawals(places),
        "protocols": _protocols(places),
        "runs": (tables.run_row(_run_of(folder)) for folder in places.run_folders()),
        "submissions": (each.to_row() for each in read_all(places.submissions)),
        "refused_submissions": (each.to_row() for each in read_refusals(places.submissions)),
        "submission_answers": (row for each in read_all(places.submissions) for row in each.answer_rows()),
        "build_accounting": _accounts(places.store),
        "key_figures": _keys(places.store),
        "check_results": _checks(places.store),
        "model_annotations": _annotations(places.store),
        "apparatus_studies": study_rows(places.store),
        **rag_tables.tables(places.store, places.runs),
        **board_tables.tables(places.store, warehouse.raw, places.shown, places.run_folders(), places.submissions),
    }
    written = {name: tables.write_table(warehouse.raw, name, rows) for name, rows in made.items()}
    drop_vanished(places, warehouse)
    tables.ensure_tables(warehouse.raw)
    return written


def _items(places: Places, warehouse: Warehouse) -> Iterator[Mapping[str, Any]]:
    """Published items, and items of earlier releases that answers may still name."""
    before = tables.read_table(warehouse.raw, "items")
    now = list(tables.item_rows(item_set(places.published, item_set="published"))) if places.published else []
    # Apart: the tracks share no stem hash, by which volunteers name a question of theirs.
    for benchmark, folder in places.other_tracks.items():
        made = tables.item_rows(item_set((folder,), item_set="published"))
        now += [{**row, "field": benchmark} for row in made]
    there = {row["item_id"] for row in now}
    yield from (row for row in before if row["item_id"] not in there)
    yield from now


def _versions(places: Places, warehouse: Warehouse) -> Iterator[Mapping[str, Any]]:
    now: list[dict[str, Any]] = []
    for file in places.items.files if places.folders else ():
        name = file.path.parent.name
        now += tables.version_rows(name, file.version, read_items(file.path, file.subject), file.withdrawn)
    return tables.keep_history(now, tables.read_table(warehouse.raw, "item_versions"))


def _withdrawals(places: Places) -> Iterator[dict[str, Any]]:
    for folder in places.folders:
        yield from (tables.withdrawal_row(folder.name, each) for each in read_withdrawals(folder / WITHDRAWN_NAME))


def _protocols(places: Places) -> list[dict[str, Any]]:
    found: dict[str, Protocol] = {each.protocol_id: each for each in REGISTRY.values()}
    found |= {each.protocol_id: each for each in map(read_protocol, places.run_folders())}
    return [tables.protocol_row(found[name]) for name in sorted(found)]


def _scopes(store: Store) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for scope in (*SUBJECTS, NO_SUBJECT):
        record = store.read_json_or_none(store.accounting(scope))
        if record is not None:
            yield scope, record


def _accounts(store: Store) -> Iterator[dict[str, Any]]:
    for _, record in _scopes(store):
        yield from tables.accounting_rows(Accounting.from_json(record["accounting"]))


def _keys(store: Store) -> Iterator[dict[str, Any]]:
    return (tables.key_row(scope, record["keys"]) for scope, record in _scopes(store))


def _checks(store: Store) -> Iterator[dict[str, Any]]:
    for slug in store.slugs("datasets"):
        yield from (tables.check_row(slug, verdict) for verdict in verdicts(store, slug))


def _annotations(store: Store) -> Iterator[dict[str, Any]]:
    if not store.exists(ANNOTATIONS):
        return
    with store.folder("models") as folder:
        for number, row in enumerate(read_jsonl(folder / Path(ANNOTATIONS).name), 1):
            if set(row) != {"model", "annotation", "note"} or not all(isinstance(each, str) for each in row.values()):
                raise DatasetError(f"{ANNOTATIONS} line {number}: needs the texts model, annotation and note")
            yield row
