"""The apparatus studies over a store: what they read, where their results stand, and which of them are current.

What belongs here: files. What does not: the studies (opentwbench/apparatus). They read stored responses and raw tables,
never the mart, because the mart holds their results.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from opentwbench.apparatus.result import Study, StudyError, from_json, payload, to_json
from opentwbench.apparatus.rows import Facts, Inputs, Row, Run, current
from opentwbench.apparatus.studies import STUDIES, conduct
from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.files import read_jsonl
from opentwbench.evaluation.extraction import GRADED
from opentwbench.evaluation.journal import RETRIED, read_responses
from opentwbench.evaluation.model import Graded
from opentwbench.evaluation.scoring import grade
from opentwbench.evaluation.warehouse import RESPONSES, WarehouseError, column_of, read_table, table_path, write_table
from resources.formosa_places import STUDIES as FORMOSA_STUDIES
from resources.formosa_places import STUDY as FORMOSA_STUDY
from resources.formosa_places import VERDICTS as FORMOSA_VERDICTS
from resources.store import Store, StoreError

VERDICTS = "judges/verdicts.jsonl"
"""Verdicts of a judge panel that were handed in: one JSON object a line (opentwbench/apparatus/judge_panel.py). They
are read where the store has no study of Formosa's judges."""

TABLE = "apparatus_studies"
"""The raw table of results."""

LIBRARY = Path(__file__).resolve().parent.parent / "opentwbench" / "apparatus"

_COLUMNS = ("repeat", "item_id", "error", "finish_reason", "completion_tokens", "latency_ms", "attempts")


@dataclass(frozen=True)
class StoredRows:
    """The rows of one run, read from its raw file each time they are iterated."""

    path: Path
    withdrawn: frozenset[str]

    def __iter__(self) -> Iterator[Row]:
        names = [f"{column_of(method)}_outcome" for method in GRADED]
        shared: dict[tuple[str, ...], dict[str, str]] = {}  # a few dozen combinations for millions of rows
        with pq.ParquetFile(self.path) as file:
            for batch in file.iter_batches(20_000, columns=[*_COLUMNS, *names]):
                judged = zip(*(_values(batch.column(name)) for name in names), strict=True)
                facts = zip(*(_values(batch.column(name)) for name in _COLUMNS), strict=True)
                for (repeat, item_id, error, *rest), each in zip(facts, judged, strict=True):
                    if repeat == 0 and item_id not in self.withdrawn:
                        outcomes = shared.get(each) or shared.setdefault(each, dict(zip(GRADED, each, strict=True)))
                        yield Row(item_id, outcomes, *rest, error)


def _values(column: pa.Array) -> list[Any]:
    """The values of a column. Of a dictionary column each word is made once, which is several times faster."""
    if not pa.types.is_dictionary(column.type):
        return column.to_pylist()
    words = column.dictionary.to_pylist()
    return [None if n is None else words[n] for n in column.indices.to_pylist()]


@dataclass(frozen=True)
class StoredTexts:
    """The stored responses of one run with their texts, graded by the keys of its raw file; first repeat.

    Graded by the ranking method alone, which is all that the studies of texts ask.
    """

    folder: Path
    path: Path
    method: str
    withdrawn: frozenset[str]

    def __iter__(self) -> Iterator[Graded]:
        known = self._known()
        for response in read_responses(self.folder):
            # By request and not by item: the raw rows follow an item whose id changed with a corrected text.
            item_id, key = known.get((response.repeat, response.request_hash), ("", ""))
            if response.repeat == 0 and item_id and item_id not in self.withdrawn:
                yield grade(replace(response, item_id=item_id), key, methods=(self.method,))

    def _known(self) -> dict[tuple[int, str], tuple[str, str]]:
        """(repeat, request hash) -> the item's id now and its key."""
        read = pq.read_table(self.path, columns=["repeat", "request_hash", "item_id", "key"]).to_pydict()
        asked = zip(read["repeat"], read["request_hash"], strict=True)
        return dict(zip(asked, zip(read["item_id"], read["key"], strict=True), strict=True))


@dataclass(frozen=True)
class StoredLines:
    """Records of judges, read when they are iterated: a file that is none stops the one study that reads it."""

    store: Store
    name: str

    def __iter__(self) -> Iterator[dict[str, Any]]:
        place = PurePosixPath(self.name)
        with self.store.folder(str(place.parent)) as folder:
            yield from read_jsonl(folder / place.name)


@dataclass(frozen=True)
class Apparatus:
    """The studies of one store and warehouse."""

    store: Store
    raw: Path
    """The folder of raw tables."""

    @cached_property
    def inputs(self) -> Inputs:
        """What the studies read; raises WarehouseError, DatasetError or JournalError for what cannot be read."""
        return Inputs(
            runs=self._runs(),
            subjects={row["item_id"]: row["subject"] for row in read_table(self.raw, "items")},
            key_figures=read_table(self.raw, "key_figures"),
            cards=read_table(self.raw, "model_cards"),
            **self._judges(),
        )

    def made_from(self) -> str:
        """A digest of everything that a study reads and of the code that reads it."""
        parts = [f"{path.name} {_digest(path)}" for path in sorted(LIBRARY.glob("*.py"))]
        raw = (path for path in sorted(self.raw.rglob("*.parquet")) if path.stem != "apparatus_studies")
        parts += [f"{path.relative_to(self.raw).as_posix()} {_digest(path)}" for path in raw]
        for name in (VERDICTS, FORMOSA_STUDIES, FORMOSA_VERDICTS):
            if self.store.exists(name):
                parts.append(f"{name} {self.store.hash_of(name)}")
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def stale(self) -> list[str]:
        """Studies whose kept result was made from something else than there is now; one never conducted is not stale.

        None where there are no raw tables to compare with. Raises StudyError for a file that is no study.
        """
        if not any(self.raw.rglob("*.parquet")):
            return []
        results = {study_id: kept(self.store, study_id) for study_id in STUDIES}
        now = self.made_from() if any(results.values()) else ""
        return [study_id for study_id, found in results.items() if found is not None and found.made_from != now]

    def run(self, study_ids: Iterable[str]) -> list[Study]:
        """Conduct studies, keep their results, and write the raw table of all that are kept.

        Raises StudyError for an unknown study, and as `inputs` does.
        """
        made_from = self.made_from()
        found = []
        for study_id in study_ids:
            found.append(conduct(study_id, self.inputs))
            self.write(found[-1], made_from)
        write_table(self.raw, TABLE, study_rows(self.store))
        return found

    def write(self, study: Study, made_from: str) -> bool:
        """Put a result in place, whole or not at all; False when it stands there already."""
        payload(study)  # bounded before it is written
        return self.store.write_json(
            self.store.study(study.study_id), {"made_from": made_from, "study": to_json(study)}
        )

    def _runs(self) -> tuple[Run, ...]:
        protocols = {row["protocol_id"]: row for row in read_table(self.raw, "protocols")}
        gradings = {row["run_id"]: row for row in read_table(self.raw, "gradings")}
        withdrawn = frozenset(row["item_id"] for row in read_table(self.raw, "withdrawals"))
        facts = []
        for row in read_table(self.raw, "runs"):
            path = table_path(self.raw, RESPONSES, row["run_id"])
            if path.is_file():
                facts.append(_facts(row, protocols, gradings.get(row["run_id"], {}), path))
        return tuple(self._run(each, withdrawn) for each in current(facts))

    def _run(self, facts: Facts, withdrawn: frozenset[str]) -> Run:
        path = table_path(self.raw, RESPONSES, facts.run_id)
        with self.store.folder("runs") as folder:
            return Run(
                facts, StoredRows(path, withdrawn), StoredTexts(folder / facts.run_id, path, facts.method, withdrawn)
            )

    def _judges(self) -> dict[str, StoredLines]:
        """Formosa's judge study where it was written to the end (its record is last), else verdicts handed in."""
        if all(self.store.exists(name) for name in (FORMOSA_STUDIES, FORMOSA_VERDICTS, FORMOSA_STUDY)):
            return {
                "verdicts": StoredLines(self.store, FORMOSA_VERDICTS),
                "judge_studies": StoredLines(self.store, FORMOSA_STUDIES),
            }
        return {"verdicts": StoredLines(self.store, VERDICTS)} if self.store.exists(VERDICTS) else {}


def _facts(
    row: Mapping[str, Any], protocols: Mapping[str, Mapping[str, Any]], grading: Mapping[str, Any], path: Path
) -> Facts:
    protocol = protocols.get(row["protocol_id"])
    if protocol is None:
        raise WarehouseError(f"runs: {excerpt(row['run_id'])}: its protocol {excerpt(row['protocol_id'])} is not there")
    errors = pq.read_table(path, columns=["error"]).column("error").to_pylist()
    # As in int_runs.sql: every question has a response, and none that a resumed run would ask again.
    retried = {each.value for each in RETRIED}
    whole = len(errors) + int(grading.get("ungraded", 0)) >= row["n_items"] * row["repeats"]
    return Facts(
        run_id=row["run_id"],
        model=row["model"],
        benchmark=row["benchmark"],
        protocol_id=row["protocol_id"],
        protocol_name=protocol["name"],
        max_tokens=protocol["max_tokens"],
        method=protocol["extraction"],
        serving_precision=row["serving_precision"],
        started=row["started"],
        complete=bool(errors) and whole and not any(error in retried for error in errors),
    )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# -- results ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kept:
    """A result as the store holds it."""

    study: Study
    made_from: str


def kept(store: Store, study_id: str) -> Kept | None:
    """The result of a study, None when it was never conducted. Raises StudyError for a file that is none."""
    record = store.read_json_or_none(store.study(study_id))
    if record is None:
        return None
    if (
        not isinstance(record, dict)
        or set(record) != {"made_from", "study"}
        or not isinstance(record["made_from"], str)
    ):
        raise StudyError(f"{store.study(study_id)}: needs made_from and study, and nothing else")
    return Kept(from_json(study_id, record["study"]), record["made_from"])


def study_rows(store: Store) -> Iterator[dict[str, str]]:
    """Rows of the raw table `apparatus_studies`, in the order of the list; StoreError for a file that is no study."""
    for study_id in STUDIES:
        try:
            found = kept(store, study_id)
            if found is not None:
                yield {"study_id": study_id, "payload": payload(found.study)}
        except StudyError as error:
            raise StoreError(f"{store.url}: {error}") from None
