"""Folders of a local store that the commands of the evaluation track read and write.

What belongs here: where runs, submissions and published data sets are on this disk. What does not: what is in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from resources.store import Store, StoreError


def root(store: str) -> Path:
    """The folder of a local store."""
    return Path(store.removeprefix("file://"))


def runs_folder(store: str) -> Path:
    """The folder of runs: in a local store, else the local folder 'runs', because a journal needs a disk that syncs."""
    with suppress(StoreError):
        if Store(store).is_local:
            return root(store) / "runs"
    return Path("runs")


def submissions_folder(store: str) -> Path:
    """The folder of submissions, beside that of runs."""
    return runs_folder(store).with_name("submissions")


def found_folders(store: str) -> list[Path]:
    """The data-set folders that are published there, none where there are none."""
    return sorted(path for path in (root(store) / "publications").glob("[!.]*") if path.is_dir())


def published_folders(store: str, slugs: Sequence[str] = ()) -> list[Path]:
    """The data-set folders of the published subjects, all or those named; raises StoreError when there are none."""
    if not Store(store).is_local:
        raise StoreError(f"{store}: fetch the data sets and name them with --items; a run needs them on a local disk")
    found = found_folders(store)
    if missing := sorted(set(slugs) - {path.name for path in found}):
        raise StoreError(f"{missing[0]} is not published in {store}")
    wanted = [path for path in found if not slugs or path.name in slugs]
    if not wanted:
        raise StoreError(f"nothing is published in {store}: otb build exam makes it, or name files with --items")
    return wanted
