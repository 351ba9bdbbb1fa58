"""Difficulty, data set, verdicts and publication of the Formosa track in a store, and where the whole of it stands.

What belongs here: reading inputs, calling the library, writing products with their records. What does not: rules
(`opentwbench.formosa`), the gate (`dataset.publication`) and when something is made (assets, build).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from opentwbench.dataset.manifest import json_bytes, sha256
from opentwbench.dataset.model import DatasetError, Withdrawal
from opentwbench.dataset.publication import Published, Verdict, folder_hashes
from opentwbench.dataset.validators import CheckOutcome
from opentwbench.evaluation.journal import JournalError, read_run
from opentwbench.evaluation.protocols import REGISTRY, Protocol
from opentwbench.exam.exclusion_lists import read_id_list
from opentwbench.formosa.accounting import banded, total
from opentwbench.formosa.band import CUT_KINDS, CurationError, Difficulty
from opentwbench.formosa.curation import (
    Edition,
    LeftOut,
    Member,
    Transfer,
    freeze,
    measured_tables,
    member_record,
    sidecar_of,
)
from opentwbench.formosa.dataset_checks import CHECKS, judge
from opentwbench.formosa.digests import code_version
from opentwbench.formosa.edition_files import (
    EDITION_NAME,
    hold_to_journals,
    read_edition,
    read_manifest_of,
    read_sidecar_of,
)
from opentwbench.formosa.model import FormosaItem
from opentwbench.formosa.orthography import slips
from opentwbench.formosa.output import FOLDER_NAMES, SLUG, Release, full_version, sidecar_bytes, write_release
from opentwbench.formosa.pool import member_of_run, member_of_submission, pool_run, roles
from resources.formosa_asking import unasked
from resources.formosa_drafts import lexicon_of, started
from resources.formosa_grounds import account_of, served_of, studies
from resources.formosa_places import (
    DATASET,
    DATASET_RECORD,
    EDITION,
    EDITION_RECORD,
    EDITIONS,
    ITEMS,
    ITEMS_RECORD,
    POOL_RUNS,
    PUBLICATION,
    SIDECAR,
    STUDIES,
    Track,
    inputs_of,
)
from resources.gated_set import DatasetState, GatedSet
from resources.store import Store

# -- difficulty -------------------------------------------------------------------------------------------------------


def edition_inputs(track: Track, protocol: Protocol) -> str:
    """Digest of the full set, of the pool and its stored results, and of what is cut."""
    plan = track.plan
    stored = [_folder_digest(Path(each)) for each in (*plan.runs, *plan.submissions)]
    wanted = (plan.pool, plan.external, plan.runs, plan.submissions, plan.band, plan.edition, plan.date)
    return inputs_of(track.store.hash_of(ITEMS), stored, wanted, protocol.protocol_id)


def _folder_digest(folder: Path) -> str:
    files = sorted(each for each in folder.glob("*") if each.is_file()) if folder.is_dir() else []
    return inputs_of([(each.name, sha256(each.read_bytes())) for each in files])


def edition_is_current(track: Track, protocol: Protocol) -> bool:
    """Whether the edition is cut from the full set and the pool as they are now; as `drafts_are_current`.

    False too where a frozen edition or a journal behind it was changed: making the edition then says so.
    """
    if not track.holds(EDITION_RECORD, edition_inputs(track, protocol), [EDITION, SIDECAR]):
        return False
    if track.asker.base_url and track.record(EDITION_RECORD)["pending"]:
        return False
    try:
        hold_frozen(track)
    except (CurationError, DatasetError, JournalError):
        return False
    return True


def hold_frozen(track: Track) -> None:
    """Hold every edition that was ever frozen to its sidecar, and its pool's journals to the bytes of the freeze.

    Raises CurationError naming the file and what to do, DatasetError for an edition that cannot be read, JournalError
    for a run of the plan that is none.
    """
    kept = track.path(EDITIONS)
    # edition.json is written last: a folder without one was left by a kill, and is written again.
    folders = sorted(each for each in kept.iterdir() if (each / EDITION_NAME).is_file()) if kept.is_dir() else []
    editions = [read_edition(folder)[0] for folder in folders]
    pool = track.path(POOL_RUNS)
    runs = {each.name: each for each in pool.iterdir() if each.is_dir()} if pool.is_dir() else {}
    for each in map(Path, track.plan.runs):
        if each.is_dir():
            runs[read_run(each).run_id] = each
    hold_to_journals(editions, runs)


def make_edition(track: Track, protocol: Protocol) -> dict[str, Any]:
    """Ask the pool what it was not asked yet and freeze the edition that it gives; returns the record.

    Raises CurationError for a pool, band or name that cannot be and for a frozen edition that was changed or whose
    journals were, AskingStopped when a model was not asked to the end.
    """
    hold_frozen(track)  # before anything is asked: a journal that grows is not mended by it
    plan, items = track.plan, track.items()
    version = full_version(items)
    name, date = plan.names
    asked, pending = 0, 0
    members: dict[str, list[Member]] = {"pool": [], "external": []}
    for kind, models in (("pool", plan.pool), ("external", plan.external)):
        for model in models:
            folder, sent, left = _ask_member(track, model, protocol, items)
            asked, pending = asked + sent, pending + left
            members[kind].append(member_of_run(folder, items, version))
    members["pool"] += [member_of_run(Path(each), items, version) for each in plan.runs]
    known = {each.protocol_id: each for each in (*REGISTRY.values(), protocol)}
    members["pool"] += [member_of_submission(Path(each), known, version) for each in plan.submissions]
    pool, beside = members["pool"], members["external"]
    sidecar = sidecar_of([item.item_id for item in items], [*pool, *beside])
    band, data = plan.band_of(len(pool)), sidecar_bytes(sidecar)
    edition = freeze(
        name,
        date,
        version,
        band,
        sidecar,
        sha256(data),
        [member_record(each) for each in pool],
        [member_record(each) for each in beside],
        roles(items),
    )
    written = json_bytes(edition.to_json())
    # Every edition that was ever frozen stays: two of them are compared side by side.
    for folder in (f"{EDITIONS}/{edition.edition_id}", "formosa/edition"):
        track.store.write(f"{folder}/difficulty.jsonl", data)
        track.store.write(f"{folder}/edition.json", written)
    figures = {
        "asked": asked,
        "pending": pending,
        "edition_id": edition.edition_id,
        "version": version,
        **{kind: len(getattr(edition.cut, kind)) for kind in CUT_KINDS},
        "served_otherwise": {model: list(names) for model, names in edition.served_otherwise.items()},
        "unparsed": {str(each["model"]): each["unparsed"] for each in edition.pool},
    }
    return track.keep(EDITION_RECORD, edition_inputs(track, protocol), [EDITION, SIDECAR], figures)


def _ask_member(track: Track, model: str, protocol: Protocol, items: Sequence[FormosaItem]) -> tuple[Path, int, int]:
    """The folder of a pool member's run, the requests of this start, and those still open."""
    plan, about = pool_run(model, protocol, items, started())
    folder = track.run_folder("pool", about.run_id)
    outcome = track.asker.ask(plan, about, protocol, folder)
    return folder, outcome.asked if outcome else 0, unasked(plan, folder)


# -- the data set -----------------------------------------------------------------------------------------------------


def dataset_inputs(track: Track) -> str:
    """Digest of the edition, the full set, the studies, the accounts and the withdrawals."""
    withdrawn = [each.to_json() for each in _withdrawals(track)]
    hashes = [track.store.hash_of(name) for name in (EDITION, SIDECAR, ITEMS, STUDIES)]
    return inputs_of(hashes, track.record(ITEMS_RECORD).get("by_category"), withdrawn)


def _withdrawals(track: Track) -> list[Withdrawal]:
    return [each for _, each in sorted(read_id_list(track.plan.file("withdrawn")).items())]


def transfer_of(track: Track) -> tuple[Edition, list[Difficulty], Transfer | None, list[LeftOut]]:
    """The frozen edition, its sidecar, the leave-one-out table (None under three models) and the models beside it.

    Raises CurationError, DatasetError or StoreError for what is not there or not whole.
    """
    edition = read_manifest_of(track.path(EDITION))
    sidecar = read_sidecar_of(edition, track.path(SIDECAR))
    table, beside = measured_tables(edition, sidecar)
    return edition, sidecar, table, list(beside)


def release_of(track: Track) -> Release:
    """Everything that the published folder is written from; raises as `transfer_of`."""
    edition, sidecar, table, beside = transfer_of(track)
    items = track.items()
    parts = {
        category: banded(account_of(track, category), edition.cut, {i.item_id for i in items if i.category == category})
        for category in track.categories
    }
    judged = {item.judge for item in items}
    return Release(
        items=tuple(items),
        edition=edition,
        sidecar=tuple(sidecar),
        transfer=table,
        judges=tuple(each for each in studies(track) if each.judge in judged),
        account=total(parts.values()),
        by_category=parts,
        code_version=code_version(),
        external=tuple(beside),
        withdrawals=tuple(_withdrawals(track)),
        served=served_of(track),
    )


def make_dataset(track: Track, public: Store) -> str:
    """Write the data-set folder; returns its version. Its changelog continues what is published in `public`.

    Raises DatasetError as `write_release`, CurationError as `hold_frozen`.
    """
    hold_frozen(track)
    inputs = dataset_inputs(track)
    with track.store.folder(DATASET, write=True) as folder, public.folder(PUBLICATION) as published:
        version = write_release(release_of(track), folder, published)
        hashes = folder_hashes(folder, FOLDER_NAMES)
    track.store.write_json(DATASET_RECORD, {"inputs": inputs, "files": hashes, "version": version})
    return version


# -- verdicts and publication -----------------------------------------------------------------------------------------


GATED = GatedSet(SLUG, DATASET, DATASET_RECORD, PUBLICATION, tuple(CHECKS), FOLDER_NAMES)


def judge_dataset(track: Track, check: str) -> CheckOutcome:
    """Run one blocking check and keep its verdict on just the bytes that it read."""

    # The one check that looks quotations up; the folder does not hold the windows.
    windows = track.all_windows() if check == "grounding_recorded" else None

    def look(folder: Path) -> tuple[CheckOutcome, Verdict]:
        words = lexicon_of(track)
        screen = None if words is None else partial(slips, lexicon=words)
        return judge(check, folder, screen, code_version(), windows)

    return GATED.judge(track.store, check, look)


def publish_dataset(track: Track, public: Store) -> Published:
    """Publish exactly the bytes that every blocking check passed; raises PublicationRefused naming what is against."""
    return GATED.publish(track.store, public)


def dataset_state(track: Track, public: Store) -> DatasetState:
    """Where the data set stands, decided from the bytes themselves."""
    return GATED.standing(track.store, public, dataset_inputs(track))
