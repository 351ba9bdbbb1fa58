"""What changed: digests of papers and code, and the comparison of two sets of them (those of rows: `index`).

What belongs here: pure functions from records to digests. What does not: where digests are kept, or what is done
about a change; the command line and the sensor both decide from these functions.
Why digests and no clock times: equal inputs must give equal products, also after a kill (docs/architecture.md).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

LIBRARY = Path(__file__).resolve().parent.parent
"""The library's own folder: its sources are part of what a product was made from."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Two sets of digests compared by key; every list is sorted."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    vanished: tuple[str, ...]

    @property
    def touched(self) -> tuple[str, ...]:
        """Keys that need work again: added or changed."""
        return tuple(sorted((*self.added, *self.changed)))

    @property
    def differing(self) -> tuple[str, ...]:
        """Every key that is not the same on both sides: added, changed or vanished."""
        return tuple(sorted((*self.added, *self.changed, *self.vanished)))


def digest(parts: Iterable[bytes]) -> str:
    """Sha256 over parts with their lengths, so that no two sequences of parts run into one another."""
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "big"))
        total.update(part)
    return total.hexdigest()


def merge(years: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Digest by subject over all years from the digests by subject of each year."""
    by_subject: dict[str, list[str]] = {}
    for year in years:
        for slug, part in year.items():
            by_subject.setdefault(slug, []).append(part)
    return {slug: digest(part.encode() for part in sorted(parts)) for slug, parts in sorted(by_subject.items())}


def compare(old: Mapping[str, str], new: Mapping[str, str]) -> Changes:
    """What must be looked at again when `old` digests become `new` ones."""
    return Changes(
        added=tuple(sorted(new.keys() - old.keys())),
        changed=tuple(sorted(key for key in new.keys() & old.keys() if new[key] != old[key])),
        vanished=tuple(sorted(old.keys() - new.keys())),
    )


def sources_digest(folders: Iterable[Path]) -> str:
    """Digest of the sources (code, data, templates) under some folders of the library, by relative name."""
    files = sorted(
        file for folder in folders for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts
    )
    return digest(part for file in files for part in (file.relative_to(LIBRARY).as_posix().encode(), file.read_bytes()))


@cache
def parser_digest() -> str:
    """Digest of what decides a parse record: the exam package and PyMuPDF's version. Computed once a process."""
    return digest([sources_digest([LIBRARY / "exam"]).encode(), version("pymupdf").encode()])


@cache
def code_digest() -> str:
    """Digest of what decides items and data sets: the exam and data-set packages and PyMuPDF's version."""
    return digest([parser_digest().encode(), sources_digest([LIBRARY / "dataset", LIBRARY / "statistics"]).encode()])
