"""Where the products of the Formosa track stand in a store, and how they are read back.

What belongs here: names, reading, and whether a recorded product still holds. What does not: making one
(`formosa_drafts`, `formosa_grounds`, `formosa_products`). As in the exam track a product is current when the digest of
what it was made from is recorded beside it and still holds; the record is written last.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opentwbench.exam.digests import digest
from opentwbench.formosa.corpus import CATEGORY
from opentwbench.formosa.digests import track_digest
from opentwbench.formosa.drafting import draft_ask, read_drafts
from opentwbench.formosa.model import Draft, FormosaItem, Screened, Window
from opentwbench.formosa.output import SLUG, items_from
from opentwbench.formosa.window_files import read_screened, read_windows
from resources.formosa_asking import Asker
from resources.formosa_plan import FormosaPlan
from resources.store import Store, StoreError

WINDOWS, HISTORY = "formosa/windows.json", "formosa/history.jsonl"
SCREENS = "formosa/screens.json"
STUDY, GOOD, GOOD_WINDOWS = "formosa/judges/study.json", "formosa/judges/good.jsonl", "formosa/judges/windows.jsonl"
STUDIES, VERDICTS = "formosa/judges/studies.jsonl", "formosa/judges/verdicts.jsonl"
ITEMS, ITEMS_RECORD = "formosa/items.jsonl", "formosa/items.json"
POOL_RUNS, EDITIONS = "formosa/runs/pool", "formosa/editions"
EDITION, SIDECAR, EDITION_RECORD = (
    "formosa/edition/edition.json",
    "formosa/edition/difficulty.jsonl",
    "formosa/edition.json",
)
DATASET, DATASET_RECORD = "formosa/dataset", "formosa/dataset.json"
PUBLICATION = f"formosa/publications/{SLUG}"
"""Apart from `publications/`, whose items a run of the examination benchmark asks and the mart takes for subjects."""


def of_category(kind: str, category: str, suffix: str = ".jsonl") -> str:
    """A product of one category: 'formosa/drafts/Food.jsonl'. StoreError for what is no category's name."""
    if not CATEGORY.fullmatch(category):
        raise StoreError(f"{category[:60]!r} is no category of the corpus")
    return f"formosa/{kind}/{category}{suffix}"


@dataclass(frozen=True)
class Track:
    """One store under one plan. Raises StoreError for a store that is not local: a journal needs a disk that syncs."""

    store: Store
    plan: FormosaPlan
    asker: Asker = field(default_factory=Asker)

    def __post_init__(self) -> None:
        """Reject what journals cannot be kept in."""
        if not self.store.is_local:
            raise StoreError(f"{self.store.url}: drafting and judging need a local store")

    def path(self, name: str) -> Path:
        """Where a product is on this disk."""
        with self.store.folder(name) as path:
            return path

    def run_folder(self, part: str, run_id: str) -> Path:
        """The journal of one run: of a category, of the judge study or of the pool."""
        return self.path(f"formosa/runs/{part}/{run_id}")

    # -- what is there ----------------------------------------------------------------------------------------------

    def record(self, name: str) -> dict[str, Any]:
        """A record, {} before there is one."""
        return dict(self.store.read_json_or_none(name) or {})

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories that the corpus has windows in, sorted."""
        return tuple(sorted(self.record(WINDOWS).get("categories", ())))

    def windows(self, category: str) -> dict[str, Window]:
        """The windows of a category by id; StoreError before there are any, DatasetError for a damaged file."""
        return read_windows(self._there(of_category("windows", category)))

    def all_windows(self) -> dict[str, Window]:
        """Every window."""
        return {name: window for category in self.categories for name, window in self.windows(category).items()}

    def drafts(self, category: str) -> list[Draft]:
        """The drafts of a category, by window."""
        return read_drafts(self._there(of_category("drafts", category)))

    def drafts_folder(self, category: str) -> Path:
        """The journal that the drafts of a category were read from."""
        return self.run_folder(category, draft_ask([], self.plan.drafter).run_id)

    def screened(self, category: str) -> list[Screened]:
        """The drafts of a category after every screen."""
        return read_screened(self._there(of_category("screened", category)))

    def grounded(self, category: str) -> list[FormosaItem]:
        """The items of a category."""
        name = of_category("grounded", category)
        return items_from(self._there(name).read_bytes(), name)

    def items(self) -> list[FormosaItem]:
        """The full grounded set; none before there is one."""
        return items_from(self.store.read(ITEMS), ITEMS) if self.store.exists(ITEMS) else []

    def _there(self, name: str) -> Path:
        if not self.store.exists(name):
            raise StoreError(f"{self.store.url}: {name} is not there yet")
        return self.path(name)

    # -- what holds -------------------------------------------------------------------------------------------------

    def holds(self, record: str, inputs: str, products: Iterable[str]) -> bool:
        """Whether a record names these inputs and just the bytes that its products have now."""
        kept = self.record(record)
        files = {name: self.store.hash_of(name) for name in products}
        return kept.get("inputs") == inputs and kept.get("files") == files and all(files.values())

    def keep(self, record: str, inputs: str, products: Iterable[str], figures: Mapping[str, Any]) -> dict[str, Any]:
        """Write a record, after its products; returns it."""
        made = {**figures, "inputs": inputs, "files": {name: self.store.hash_of(name) for name in products}}
        self.store.write_json(record, made)
        return made


def inputs_of(*parts: object) -> str:
    """Digest of what a product is made from, the track's code included."""
    return digest([track_digest().encode(), json.dumps(parts, ensure_ascii=False, sort_keys=True).encode()])
