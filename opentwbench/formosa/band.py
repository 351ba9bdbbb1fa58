"""The difficulty band: who of a pool answered which item rightly, and the items that a range of pass counts keeps.

What belongs here: the sidecar, read as hostile, the band and the cut. What does not: whose answers make a pool
(curation.py), and what a newer pool says of a benchmark's age (apparatus.half_life).

The sidecar is a JSON object a line, {"item_id": ..., "passes": {model: true or false, ...}}, and where a reply was not
read as an option also "unparsed": [model, ...]: such a model has no pass there, and is counted apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opentwbench.dataset.contract import excerpt

MAX_MODELS, MAX_NAME = 1_000, 200
"""Most models of one sidecar line and most characters of a name."""

MAX_ITEMS = 1_000_000
"""Most lines of a sidecar."""


class CurationError(ValueError):
    """A sidecar, band or pool that cannot be used; the message names the place and the reason."""


@dataclass(frozen=True, slots=True)
class Difficulty:
    """Who answered an item rightly: model -> right."""

    item_id: str
    passes: Mapping[str, bool]
    unparsed: frozenset[str] = frozenset()
    """Models whose reply was not read as an option; each has a pass of false."""

    def to_json(self) -> dict[str, Any]:
        """The item as one line of the sidecar."""
        record: dict[str, Any] = {"item_id": self.item_id, "passes": dict(sorted(self.passes.items()))}
        return record | ({"unparsed": sorted(self.unparsed)} if self.unparsed else {})


def read_sidecar(records: Iterable[Mapping[str, Any]], name: str = "difficulty") -> list[Difficulty]:
    """A difficulty sidecar, hostile until checked. Raises CurationError naming the line (from 1) for another form, an
    item that stands twice, and too many items or models."""
    found: list[Difficulty] = []
    seen: set[str] = set()
    for number, record in enumerate(records, 1):
        if number > MAX_ITEMS:
            raise CurationError(f"{name}: more than {MAX_ITEMS} items")
        item = _difficulty(record, f"{name} line {number}")
        if item.item_id in seen:
            raise CurationError(f"{name} line {number}: {excerpt(item.item_id)} stands twice")
        seen.add(item.item_id)
        found.append(item)
    return found


def _difficulty(record: Mapping[str, Any], where: str) -> Difficulty:
    if set(record) - {"unparsed"} != {"item_id", "passes"}:
        raise CurationError(f"{where}: needs item_id and passes; got {excerpt(sorted(record), 200)}")
    item_id, passes = record["item_id"], record["passes"]
    if not _is_name(item_id) or not item_id:
        raise CurationError(f"{where}: item_id is no printable text: {excerpt(item_id)}")
    if not isinstance(passes, Mapping) or not 0 < len(passes) <= MAX_MODELS:
        raise CurationError(f"{where}: passes is no object of 1 to {MAX_MODELS} models")
    for model, value in passes.items():
        if not isinstance(model, str) or len(model) > MAX_NAME or not isinstance(value, bool):
            raise CurationError(f"{where}: passes of {excerpt(model)} is neither true nor false")
    unparsed = record.get("unparsed", [])
    if not isinstance(unparsed, list) or not all(isinstance(each, str) for each in unparsed):
        raise CurationError(f"{where}: unparsed is no list of models")
    if wrong := sorted(each for each in unparsed if passes.get(each) is not False):
        raise CurationError(f"{where}: {excerpt(wrong[0])} is unparsed and has no pass of false")
    return Difficulty(item_id, passes, frozenset(unparsed))


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value.isprintable() and len(value) <= MAX_NAME


@dataclass(frozen=True, slots=True)
class Band:
    """Pass counts that an item of the band has: at least `low` and at most `high` models of the pool have it right."""

    low: int
    high: int

    def holds(self, passes: int) -> bool:
        """Whether so many passes lie in the band."""
        return self.low <= passes <= self.high

    def shown(self) -> str:
        """As `read_band` reads it."""
        return f"{self.low}-{self.high}"


def read_band(text: str, pool: int) -> Band:
    """A band as 'LOW-HIGH' pass counts, e.g. '0-6' of seven models. Raises CurationError for one outside the pool."""
    match = re.fullmatch(r"(\d{1,4})-(\d{1,4})", text)
    if match is None or not int(match[1]) <= int(match[2]) <= pool:
        raise CurationError(f"a band is LOW-HIGH with 0 <= LOW <= HIGH <= {pool} (the pool), got {excerpt(text)}")
    return Band(int(match[1]), int(match[2]))


@dataclass(frozen=True, slots=True)
class Cut:
    """The items of a sidecar cut by a band of one pool; kept + easier + harder + unmeasured are all items."""

    kept: tuple[str, ...]
    easier: tuple[str, ...]
    """More models of the pool have it right than the band allows."""
    harder: tuple[str, ...]
    unmeasured: tuple[str, ...]
    """Some model of the pool was never measured on it: not cut either way, because a missing answer is no failure."""


CUT_KINDS = ("kept", "easier", "harder", "unmeasured")
"""What becomes of an item under a band."""


def recut(items: Iterable[Difficulty], pool: Sequence[str], band: Band) -> Cut:
    """Cut the band against a pool of models. Raises CurationError for a pool without a model or with one twice."""
    if not pool or len(set(pool)) != len(pool):
        raise CurationError("a pool names at least one model, and none twice")
    kinds: dict[str, list[str]] = {kind: [] for kind in CUT_KINDS}
    for item in items:
        if any(model not in item.passes for model in pool):
            kinds["unmeasured"].append(item.item_id)
            continue
        passes = sum(item.passes[model] for model in pool)
        kind = "kept" if band.holds(passes) else "easier" if passes > band.high else "harder"
        kinds[kind].append(item.item_id)
    return Cut(*(tuple(kinds[name]) for name in CUT_KINDS))
