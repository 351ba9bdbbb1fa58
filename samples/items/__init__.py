"""The sample items: written by the project from general knowledge, for the sample papers only.

One CSV a subject (id, key, stem, A, B, C, D), one row an item, so that a change is a one-line difference.
`planted.csv` holds the items with a fault or a trap: what excludes them, their cell and remark, their hazards.
`[[E18E]]` stands for the private-use character U+E18E; the rest of the markup is described in `samples.spec`.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path

from samples.spec import Hazard

HERE = Path(__file__).parent

BANKS = ("constitution", "computing", "library", "medicine", "chinese", "law")

_PRIVATE = re.compile(r"\[\[([0-9A-F]{4})\]\]")


@dataclass(frozen=True, slots=True)
class Item:
    """One sample item. `stem` and `options` are marked text (samples.spec)."""

    item: str
    stem: str
    options: tuple[str, ...]
    key: str
    exclusion: str | None = None
    """The exclusion that the paper shows (a value of opentwbench.exam.model.Exclusion), None for a good item."""
    cell: str | None = None
    """What the corrected key prints in the item's cell ('#'); None prints the key."""
    remark: str | None = None
    """The corrected key's remark, with {n} for the question number."""
    hazards: frozenset[Hazard] = frozenset()


def _text(raw: str) -> str:
    return _PRIVATE.sub(lambda m: chr(int(m[1], 16)), raw)


def _rows(name: str) -> list[dict[str, str]]:
    with (HERE / f"{name}.csv").open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def read_bank(name: str) -> tuple[Item, ...]:
    """The good items of one subject, in file order."""
    return tuple(
        Item(row["id"], _text(row["stem"]), tuple(_text(row[letter]) for letter in "ABCD"), row["key"])
        for row in _rows(name)
    )


def read_planted() -> dict[str, Item]:
    """The planted items and decoys by id."""
    found = {}
    for row in _rows("planted"):
        letters = "ABCDE" if row["E"] else "ABCD"
        found[row["id"]] = Item(
            row["id"],
            _text(row["stem"]),
            tuple(_text(row[letter]) for letter in letters),
            row["key"],
            row["exclusion"] or None,
            row["cell"] or None,
            row["remark"] or None,
            frozenset(Hazard(name) for name in row["hazards"].split(";") if name),
        )
    return found
