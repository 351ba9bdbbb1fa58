"""A data set behind the gate, as a store holds it: verdicts, publication, and where it stands, for every track.

What belongs here: which verdicts are kept, handing them to the gate (`dataset.publication`), and the state that the
bytes themselves show. What does not: what a data set is made from (each track's products) and its checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from opentwbench.dataset.manifest import read_manifest
from opentwbench.dataset.model import DatasetError
from opentwbench.dataset.publication import Published, Verdict, folder_hashes, is_published, publish
from opentwbench.dataset.validators import CheckOutcome
from resources.store import Store

PUBLISHED, WITHHELD, NO_SOURCE, UNFINISHED = "published", "withheld", "no source", "unfinished"
"""What can be said of a data set: its bytes are out; a check stands against them; it has no source; work remains."""

Look = Callable[[Path], tuple[CheckOutcome, Verdict]]
"""One check over the folder, with its verdict on just the bytes that it read."""


@dataclass(frozen=True, slots=True)
class DatasetState:
    """Where a data set stands. `against` says what withholds it, one entry a check that did not pass."""

    state: str
    items: int = 0
    version: str = ""
    against: tuple[str, ...] = ()


def stored_verdicts(store: Store, slug: str, checks: Iterable[str]) -> list[Verdict]:
    """The verdicts of these checks that are there, in their order."""
    found = (store.read_json_or_none(store.verdict(slug, check)) for check in checks)
    return [Verdict.from_json(record) for record in found if record is not None]


@dataclass(frozen=True, slots=True)
class GatedSet:
    """The one data set of a track: its name, its places in a store, its blocking checks, the files of its folder."""

    slug: str
    folder: str
    record: str
    """What the folder was made from: {"inputs", "files", ...}."""
    publication: str
    checks: tuple[str, ...]
    holds: tuple[str, ...]

    def verdicts(self, store: Store) -> list[Verdict]:
        """The stored verdicts of the blocking checks."""
        return stored_verdicts(store, self.slug, self.checks)

    def judge(self, store: Store, check: str, look: Look) -> CheckOutcome:
        """Run one blocking check and keep its verdict."""
        # An older verdict must not outlive a check that breaks off.
        store.remove(store.verdict(self.slug, check))
        try:
            with store.folder(self.folder) as folder:
                outcome, verdict = look(folder)
        except DatasetError as error:
            return CheckOutcome(check, False, "error", {}, str(error))
        store.write_json(store.verdict(self.slug, check), verdict.to_json())
        return outcome

    def publish(self, store: Store, public: Store) -> Published:
        """Publish exactly the bytes that every blocking check passed; raises PublicationRefused naming what is against.

        It is the gate of the exam track, with this track's checks and files.
        """
        with store.folder(self.folder) as folder, public.folder(self.publication, write=True) as out:
            return publish(folder, self.verdicts(store), out, self.checks, self.holds)

    def standing(self, store: Store, public: Store, inputs: str) -> DatasetState:
        """Decided from the bytes themselves: nothing is believed because it was once recorded.

        `inputs`: digest of what the data set would be made from now. `public` is where publications are kept.
        """
        record = store.read_json_or_none(self.record) or {}
        if record.get("inputs") != inputs:
            return DatasetState(UNFINISHED)
        try:
            with store.folder(self.folder) as folder:
                hashes, manifest = folder_hashes(folder, self.holds), read_manifest(folder)
        except DatasetError:
            return DatasetState(UNFINISHED)
        given = {verdict.check: verdict for verdict in self.verdicts(store)}
        if record["files"] != hashes or any(c not in given or given[c].files != hashes for c in self.checks):
            return DatasetState(UNFINISHED)
        items, version = int(manifest["counts"]["items"]), str(manifest["version"])
        if against := tuple(f"{v.check}: {v.detail}" for v in given.values() if not v.passed):
            return DatasetState(WITHHELD, items, version, against)
        with public.folder(self.publication) as out:
            state = PUBLISHED if is_published(out, hashes, self.holds) else UNFINISHED
        return DatasetState(state, items, version)
