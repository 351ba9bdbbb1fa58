"""The consistency of the official keys in a store, and the attributions of its disagreements: read, and added to.

What belongs here: which files hold what. What does not: figures and the form of an attribution (the library).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from opentwbench.dataset.atomic import append_line
from opentwbench.exam.key_consistency import Attribution, Consistency, consistency, read_attributions
from resources.store import Store, StoreError

MAX_BYTES = 64 << 20
"""Bytes of one file of attributions: 100,000 lines with the longest note."""


PROGRESS_QUESTIONS = 1_000
"""Printed questions between two calls of `progress`."""


def printed_lines(store: Store) -> Iterator[tuple[str, bytes]]:
    """Every printed question as (scope, line), of the scopes that have items, in the order of their names."""
    for scope in store.slugs("items"):
        if store.exists(store.items(scope)):
            yield from ((scope, line) for line in store.lines(store.items(scope)))


def stored_attributions(store: Store) -> dict[str, Attribution]:
    """The attributions kept in the store by group; {} before there are any."""
    path = store.key_attributions()
    return read_attributions(_bounded(store.read(path), path), path) if store.exists(path) else {}


def attributions_of(path: Path) -> dict[str, Attribution]:
    """The attributions of a local file by group; {} before there is one."""
    return read_attributions(_bounded(path.read_bytes(), path.name), path.name) if path.exists() else {}


def key_consistency(
    store: Store,
    attributions: Mapping[str, Attribution] | None = None,
    progress: Callable[[int], None] = lambda questions: None,
) -> Consistency:
    """The agreement of all official keys in the store, with the attributions given or those kept in it.

    `progress` gets the printed questions read so far, every PROGRESS_QUESTIONS of them.
    """
    if attributions is None:
        attributions = stored_attributions(store)

    def lines() -> Iterator[tuple[str, bytes]]:
        for number, line in enumerate(printed_lines(store), start=1):
            yield line
            if number % PROGRESS_QUESTIONS == 0:
                progress(number)

    return consistency(lines, attributions)


def keep(store: Store, path: Path | None, found: Attribution) -> None:
    """Add one attribution to the file at `path`, or to the one kept in the store.

    Raises AttributionError and writes nothing when the file is not a file of attributions.
    """
    name = store.key_attributions()
    if path is not None:
        _append(path, found)
    elif store.is_local:
        with store.folder(str(PurePosixPath(name).parent)) as folder:
            _append(folder / PurePosixPath(name).name, found)
    else:  # an object store has no lock: one person at a time
        held = store.read(name) if store.exists(name) else b""
        read_attributions(held, name)
        store.write(name, held + found.line() + b"\n")


def _append(file: Path, found: Attribution) -> None:
    append_line(file, found.line(), lambda held: read_attributions(held, file.name))


def _bounded(data: bytes, name: str) -> bytes:
    if len(data) > MAX_BYTES:
        raise StoreError(f"{name}: {len(data)} bytes, more than {MAX_BYTES}")
    return data
