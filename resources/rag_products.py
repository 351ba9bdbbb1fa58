"""The products of tw-rag-bench in a store: contexts by category, the folder, verdicts, publication.

    tw_rag/contexts/<category>.jsonl .json   items with their contexts, and what they were made from
    tw_rag/dataset/ tw_rag/dataset.json      the folder, and what it was made from
    tw_rag/withdrawn.jsonl                   what a person withdrew from the scored set (may be absent)
    verdicts/tw-rag-bench/<check>.json       as in the other tracks
    tw_rag/publications/tw-rag-bench/        exactly the bytes that passed

What belongs here: which file holds what, and whether it still holds. What does not: rules (`opentwbench.rag.tw_rag`),
the gate (`dataset.publication`). A record is written after its products, so a kill leaves a product that is made again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from opentwbench.dataset.files import JSONL_NAME, read_jsonl
from opentwbench.dataset.manifest import WITHDRAWN_NAME, read_withdrawals
from opentwbench.dataset.model import DatasetError, Withdrawal
from opentwbench.dataset.publication import Published, folder_hashes
from opentwbench.dataset.validators import CheckOutcome
from opentwbench.dataset.withdrawal import record_withdrawal
from opentwbench.exam.digests import digest
from opentwbench.formosa.corpus import CATEGORY
from opentwbench.formosa.model import FormosaItem
from opentwbench.formosa.output import full_version, items_from
from opentwbench.formosa.window_files import read_windows
from opentwbench.rag.digests import code_version, track_digest
from opentwbench.rag.tw_rag.contexts import of_category as contexts_of_category
from opentwbench.rag.tw_rag.dataset_checks import CHECKS, judge
from opentwbench.rag.tw_rag.model import Account, account
from opentwbench.rag.tw_rag.output import FOLDER_NAMES, SLUG, Release, category_bytes, read_category, write_release
from resources.formosa_places import WINDOWS, of_category
from resources.gated_set import UNFINISHED, DatasetState, GatedSet
from resources.store import Store, StoreError

DATASET, DATASET_RECORD, WITHDRAWN = "tw_rag/dataset", "tw_rag/dataset.json", "tw_rag/withdrawn.jsonl"
PUBLICATION = f"tw_rag/publications/{SLUG}"
"""Apart from `publications/`, whose items a run of the examination benchmark asks and the mart takes for subjects."""


def contexts_path(category: str, suffix: str = ".jsonl") -> str:
    """A category's contexts, or with '.json' their record. StoreError for what is no category's name."""
    if not CATEGORY.fullmatch(category):
        raise StoreError(f"{category[:60]!r} is no category of the corpus")
    return f"tw_rag/contexts/{category}{suffix}"


def categories(store: Store) -> tuple[str, ...]:
    """The categories that the corpus has windows in and the Formosa track grounded items of, sorted."""
    named = (store.read_json_or_none(WINDOWS) or {}).get("categories", ())
    return tuple(sorted(name for name in named if store.exists(of_category("grounded", name))))


def _digest(*parts: object) -> str:
    return digest([track_digest().encode(), json.dumps(parts, ensure_ascii=False, sort_keys=True).encode()])


# -- contexts ---------------------------------------------------------------------------------------------------------


def contexts_inputs(store: Store, category: str) -> str:
    """Digest of a category's windows and grounded items, and of the code."""
    return _digest([store.hash_of(of_category(kind, category)) for kind in ("windows", "grounded")])


def contexts_are_current(store: Store, category: str) -> bool:
    """Whether the stored contexts are those that the windows and items give now."""
    record = store.read_json_or_none(contexts_path(category, ".json")) or {}
    held = store.hash_of(contexts_path(category))
    return record.get("inputs") == contexts_inputs(store, category) and bool(held) and record.get("sha256") == held


def make_contexts(store: Store, category: str) -> Account:
    """The items of a category with their contexts, written with their record.

    Raises StoreError before the category has windows and items, DatasetError for a file that cannot be read.
    """
    inputs = contexts_inputs(store, category)
    with store.folder("formosa") as formosa:
        windows = read_windows(_there(store, formosa, of_category("windows", category)))
        items = _grounded(store, formosa, category)
    made = contexts_of_category(category, items, windows.values())
    data = category_bytes(made)
    store.write(contexts_path(category), data)
    counts = made.account
    record = {"inputs": inputs, "sha256": sha256(data).hexdigest(), "account": counts.to_json()}
    store.write_json(contexts_path(category, ".json"), record)
    return counts


def _there(store: Store, formosa: Path, name: str) -> Path:
    if not store.exists(name):
        raise StoreError(f"{store.url}: {name} is not there yet; build the Formosa track first")
    return formosa / name.removeprefix("formosa/")


def _grounded(store: Store, formosa: Path, category: str) -> list[FormosaItem]:
    path = _there(store, formosa, of_category("grounded", category))
    return items_from(path.read_bytes(), path.name)


# -- the data set -----------------------------------------------------------------------------------------------------


def dataset_inputs(store: Store) -> str:
    """Digest of every category's contexts and of the withdrawals."""
    hashes = {name: store.hash_of(contexts_path(name)) for name in categories(store)}
    return _digest(hashes, store.hash_of(WITHDRAWN))


def make_dataset(store: Store, public: Store) -> str:
    """Write the folder from the contexts of all categories; returns its version.

    Its changelog continues what is published in `public`. Raises DatasetError as `write_release`, and for a category
    whose contexts are not those of its items now, and for a list of withdrawn items that is gone.
    """
    names = categories(store)
    if not names:
        raise DatasetError(f"{SLUG}: the Formosa track has no grounded item yet")
    if stale := [name for name in names if not contexts_are_current(store, name)]:
        raise DatasetError(f"{SLUG}: contexts of {', '.join(stale)} are not there or not current; materialize them")
    inputs = dataset_inputs(store)
    with store.folder("tw_rag/contexts") as folder:
        parts = tuple(read_category(folder / f"{name}.jsonl") for name in names)
    with store.folder("formosa") as formosa:
        items = [item for name in names for item in _grounded(store, formosa, name)]
    with store.folder(DATASET, write=True) as folder, public.folder(PUBLICATION) as published:
        release = Release(parts, full_version(items), code_version(), _withdrawals(store))
        version = write_release(release, folder, published)
        hashes = folder_hashes(folder, FOLDER_NAMES)
    store.write_json(DATASET_RECORD, {"inputs": inputs, "files": hashes, "account": account(parts).to_json()})
    return version


def _withdrawals(store: Store) -> tuple[Withdrawal, ...]:
    """The store's list; raises DatasetError where it is gone: that would take back in silence what a person decided."""
    if not store.exists(WITHDRAWN):
        path = f"{DATASET}/{WITHDRAWN_NAME}"
        if store.exists(path) and (count := sum(1 for _ in store.lines(path))):
            said = f"{WITHDRAWN} is gone, and the data set has {count} withdrawn items"
            raise DatasetError(f"{said}: put it back; an empty file takes them back")
        return ()
    with store.folder("tw_rag") as folder:
        return read_withdrawals(folder / Path(WITHDRAWN).name)


def withdraw(store: Store, decided: Withdrawal) -> str:
    """Take one item out of the scored set: recorded in the store's list, which the next build applies.

    It stays published. Returns the path of the list. Raises DatasetError as `record_withdrawal`, and before there is a
    data set; nothing is written then.
    """
    if not store.exists(f"{DATASET}/{JSONL_NAME}"):
        raise DatasetError(f"{store.url}: no {SLUG} yet: otb rag build makes it")
    with store.folder(DATASET) as folder:
        known = {str(row["item_id"]) for row in read_jsonl(folder / JSONL_NAME)}
    with store.folder("tw_rag", write=True) as folder:
        record_withdrawal(folder / Path(WITHDRAWN).name, decided, known)
    return WITHDRAWN


GATED = GatedSet(SLUG, DATASET, DATASET_RECORD, PUBLICATION, tuple(CHECKS), FOLDER_NAMES)


def judge_dataset(store: Store, check: str) -> CheckOutcome:
    """Run one blocking check and keep its verdict on just the bytes that it read."""
    return GATED.judge(store, check, lambda folder: judge(check, folder, code_version()))


def publish_dataset(store: Store, public: Store) -> Published:
    """Publish exactly the bytes that every blocking check passed; raises PublicationRefused naming what is against."""
    return GATED.publish(store, public)


def dataset_state(store: Store, public: Store) -> DatasetState:
    """Where the data set stands, decided from the bytes themselves; unfinished while any contexts are stale."""
    if not all(contexts_are_current(store, name) for name in categories(store)):
        return DatasetState(UNFINISHED)
    return GATED.standing(store, public, dataset_inputs(store))


def build(store: Store, public: Store, wanted: Iterable[str] | None = None) -> DatasetState:
    """From grounded items to the publication in one process, and only what is stale; what the assets do one by one.

    Nothing is asked of a model. Raises DatasetError or StoreError as the steps do; a data set that a check withholds is
    a state and no error.
    """
    for name in wanted if wanted is not None else categories(store):
        if not contexts_are_current(store, name):
            make_contexts(store, name)
    state = dataset_state(store, public)
    if state.state != UNFINISHED:
        return state
    make_dataset(store, public)
    for check in CHECKS:
        judge_dataset(store, check)
    if all(verdict.passed for verdict in GATED.verdicts(store)):
        publish_dataset(store, public)
    return dataset_state(store, public)
