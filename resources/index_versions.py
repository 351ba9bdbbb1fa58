"""Every version of the ministry's index that was seen: its bytes by their hash, and an append-only history.

What belongs here: keeping a version, the history's lines, reading two versions back to compare them. What does not:
what a difference is (`opentwbench.exam.index`) and which version is in use (`resources.exam_products`).
Why: a corrected key or a vanished sitting can be explained years later only from the index that said so.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from opentwbench.exam.index import Index, RowChange, check_not_shrunk, diff, read_index
from resources.store import Store, StoreError

SHORTEST_NAME = 6
"""Hex digits that name a version at least; fewer are too easily another one."""


@dataclass(frozen=True, slots=True)
class IndexVersion:
    """One line of the history: what was seen, when, and how it differs from the version before it."""

    sha256: str
    """Of the bytes, and the name of the version's file."""
    seen: str
    """When it was first seen (UTC, ISO 8601); '' when the version was found in a store that kept no history."""
    digest: str
    """Of the sound rows (`Index.digest`): equal for two versions that differ in row order or quoting only."""
    rows: int
    keyed_rows: int
    refused_rows: int
    counts: dict[str, dict[str, int]]
    """Sound rows by kind of paper and key."""
    problems: dict[str, int]
    """Refused rows by reason."""
    changes: tuple[RowChange, ...]
    """The difference to the version before; empty for the first."""

    def to_json(self) -> dict[str, Any]:
        """The line as it is stored."""
        return {**asdict(self), "changes": [change._asdict() for change in self.changes]}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> IndexVersion:
        """A stored line; raises KeyError or TypeError for a value that is none."""
        return cls(**{**value, "changes": tuple(RowChange(**each) for each in value["changes"])})


def history(store: Store) -> list[IndexVersion]:
    """Every version seen, oldest first; a version that came back has a line for each time. StoreError when damaged."""
    if not store.exists(store.index_history()):
        return []
    found = []
    for number, line in enumerate(store.lines(store.index_history()), start=1):
        try:
            found.append(IndexVersion.from_json(json.loads(line)))
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{store.url}: {store.index_history()} line {number} is no version: {error!r}") from None
    return found


def read_version(store: Store, name: str) -> Index:
    """A version by the first digits of its hash (at least SHORTEST_NAME), or by its place in the history ('1' is the
    first, '-1' the last). StoreError when none or several are meant, or its file is not what its name says.
    """
    return _read(store, find_version(history(store), name).sha256)


def find_version(versions: list[IndexVersion], name: str) -> IndexVersion:
    """The version that a name means (see `read_version`); raises StoreError."""
    if name.removeprefix("-").isdigit() and len(name) < SHORTEST_NAME:
        place = int(name)
        if place and abs(place) <= len(versions):
            return versions[place - 1 if place > 0 else place]
        raise StoreError(f"the history has versions 1 to {len(versions)}, not {name}")
    meant = {version.sha256: version for version in versions if version.sha256.startswith(name)}
    if len(name) < SHORTEST_NAME or len(meant) != 1:
        raise StoreError(f"{len(meant)} versions of the index are called {name[:64]!r} (the first digits of a hash)")
    return next(iter(meant.values()))


def difference(store: Store, old: str, new: str) -> tuple[RowChange, ...]:
    """What changed between any two versions that were seen; raises as `read_version` does."""
    return diff(read_version(store, old), read_version(store, new)).changes()


def last_changes(store: Store, paper_ids: set[str]) -> dict[str, RowChange]:
    """What the history last said of each of some papers; one that never changed is not in it."""
    found: dict[str, RowChange] = {}
    for version in history(store):
        found.update({each.paper_id: each for each in version.changes if each.paper_id in paper_ids})
    return found


def keep(
    store: Store, data: bytes, index: Index, max_vanished_share: float, now: datetime | None = None
) -> IndexVersion:
    """Keep a version and its line in the history; the same bytes as last time add nothing. Returns the last line.

    Raises IndexShrunkError, and keeps nothing, when more than that share of the keyed rows of the version before is
    gone. The file is written before its line, so that a kill never leaves a line without its version.
    """
    versions = history(store) or _adopted(store)
    name = sha256(data).hexdigest()
    if versions and versions[-1].sha256 == name:
        return versions[-1]
    changes: tuple[RowChange, ...] = ()
    if versions:
        before = _read(store, versions[-1].sha256)
        check_not_shrunk(before, index, max_vanished_share)
        changes = diff(before, index).changes()
    version = _version(index, name, (now or datetime.now(UTC)).isoformat(timespec="seconds"), changes)
    store.write(store.index_version(name), data)
    _write_history(store, [*versions, version])
    return version


def _adopted(store: Store) -> list[IndexVersion]:
    """The index of a store that kept no history yet, as its first version."""
    if not store.exists(store.index_csv()):
        return []
    data = store.read(store.index_csv())
    name = sha256(data).hexdigest()
    store.write(store.index_version(name), data)
    versions = [_version(read_index(data, store.index_csv()), name, "", ())]
    _write_history(store, versions)
    return versions


def _version(index: Index, name: str, seen: str, changes: tuple[RowChange, ...]) -> IndexVersion:
    return IndexVersion(
        sha256=name,
        seen=seen,
        digest=index.digest(),
        rows=len(index.rows),
        keyed_rows=len(index.keyed()),
        refused_rows=len(index.problems),
        counts=index.counts(),
        problems=index.problem_counts(),
        changes=changes,
    )


def _write_history(store: Store, versions: list[IndexVersion]) -> None:
    lines = (json.dumps(version.to_json(), ensure_ascii=False, sort_keys=True) + "\n" for version in versions)
    store.write(store.index_history(), "".join(lines).encode())


def _read(store: Store, name: str) -> Index:
    path = store.index_version(name)
    data = store.read(path)
    if sha256(data).hexdigest() != name:
        raise StoreError(f"{store.url}: {path} is not the version that its name says")
    return read_index(data, path)
