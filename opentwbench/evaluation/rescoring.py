"""Rescoring: the same stored replies against other keys, and which of them moved. No model is asked.

What belongs here: the keys that a score was made with, moves between two sets of keys, and between two runs of one
model under two budgets. What does not: counting a run (scoring.py) and comparing two models (statistics.paired).
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opentwbench.dataset.atomic import write_file
from opentwbench.dataset.contract import OPTION_COLUMNS, excerpt
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.extraction import GRADED
from opentwbench.evaluation.model import AskedItem, ErrorClass, Graded, Outcome, Rate, Response
from opentwbench.evaluation.scoring import grade, outcome, rate, rate_json

MAX_KEYS_BYTES = 256 << 20
"""Most bytes of a key list when unpacked: 255,854 items are about 14 MB."""

_VERSION = r"[0-9a-z][0-9a-z._-]{0,63}"


# -- the keys of a score ----------------------------------------------------------------------------------------------


def keys_path(run_folder: Path, version: str) -> Path:
    """Where a run keeps the keys that it was scored with; raises DatasetError for what is no version."""
    if not re.fullmatch(_VERSION, version):
        raise DatasetError(f"{excerpt(version)}: no data-set version that can name a file")
    return run_folder / "scores" / f"{version}.keys.gz"


def write_keys(run_folder: Path, version: str, items: Iterable[AskedItem]) -> Path:
    """Keep the keys beside the score, one line 'item_id key', so that a later version can say which item moved.

    A data-set folder holds its newest version only. Same items, same bytes.
    """
    path = keys_path(run_folder, version)
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as packed:
        for item in items:
            packed.write(f"{item.item_id} {item.key}\n".encode())
    write_file(path, out.getvalue())
    return path


def read_keys(run_folder: Path, version: str) -> dict[str, str] | None:
    """Item id -> key, None when none were kept; raises DatasetError for a file that is no key list."""
    path = keys_path(run_folder, version)
    if not path.is_file():
        return None
    try:
        with gzip.open(path, "rb") as packed:
            data = packed.read(MAX_KEYS_BYTES + 1)
        if len(data) > MAX_KEYS_BYTES:
            raise ValueError(f"more than {MAX_KEYS_BYTES} bytes")
        lines = [line.rpartition(" ") for line in data.decode().splitlines()]
        keys = {item_id: key for item_id, _, key in lines}
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise DatasetError(f"{path.name}: no key list: {excerpt(str(error), 200)}") from None
    if not keys or not all(key in OPTION_COLUMNS for key in keys.values()) or len(keys) != len(lines):
        raise DatasetError(f"{path.name}: no key list: empty, a key that is none of A-D, or an item twice")
    return keys


# -- other keys -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Move:
    """What a method's score did. Before and after are over the replies to each version's own items."""

    before: Rate
    after: Rate
    gained: int
    """Replies that became right, to items of both versions."""
    lost: int
    """Replies that stopped being right, to items of both versions."""


@dataclass(frozen=True, slots=True)
class Rescored:
    """What changed between two sets of keys, over one run's stored responses."""

    rekeyed: Mapping[str, tuple[str, str]]
    """Item id -> (key before, key after), of items that the run answered."""
    left: tuple[str, ...]
    """Answered items that are no longer in the set: withdrawn, excluded or with a corrected text."""
    joined: tuple[str, ...]
    """Answered items that came into the set."""
    unanswered: int
    """Items of the new set without a reply."""
    moves: Mapping[str, Move]

    @property
    def moved(self) -> bool:
        """Whether any score changed."""
        return any((m.before.hits, m.before.n) != (m.after.hits, m.after.n) or m.gained for m in self.moves.values())


def rescore(responses: Iterable[Response], before: Mapping[str, str], after: Mapping[str, str]) -> Rescored:
    """Judge stored responses by two sets of keys (item id -> key) in one pass; replies are read once.

    Errors are no replies and count in neither. A response to an item of neither set is passed over.
    """
    counts: dict[str, Counter[str]] = {method: Counter() for method in GRADED}
    rekeyed: dict[str, tuple[str, str]] = {}
    left, joined, answered = dict[str, None](), dict[str, None](), set[str]()
    for response in responses:
        old, new = before.get(response.item_id), after.get(response.item_id)
        if response.error is not ErrorClass.NONE or (old is None and new is None):
            continue
        if new is None:
            left[response.item_id] = None
        else:
            answered.add(response.item_id)
            if old is None:
                joined[response.item_id] = None
            elif old != new:
                rekeyed[response.item_id] = (old, new)
        _count(counts, grade(response, new or old or "", methods=GRADED), old, new)
    moves = {
        method: Move(rate(c["before"], c["n_before"]), rate(c["after"], c["n_after"]), c["gained"], c["lost"])
        for method, c in counts.items()
    }
    unanswered = sum(1 for item_id in after if item_id not in answered)
    return Rescored(dict(sorted(rekeyed.items())), tuple(sorted(left)), tuple(sorted(joined)), unanswered, moves)


def _count(counts: Mapping[str, Counter[str]], graded: Graded, old: str | None, new: str | None) -> None:
    for method, reading in graded.readings.items():
        was, now = (key is not None and outcome(graded.response, reading, key) is Outcome.CORRECT for key in (old, new))
        tally = counts[method]
        tally["n_before"] += old is not None
        tally["n_after"] += new is not None
        tally["before"] += was
        tally["after"] += now
        if old is not None and new is not None:
            tally["gained"] += now and not was
            tally["lost"] += was and not now


def rescored_json(found: Rescored) -> dict[str, Any]:
    """The comparison as JSON values."""
    return {
        "moved": found.moved,
        "rekeyed": {item_id: list(keys) for item_id, keys in found.rekeyed.items()},
        "left": list(found.left),
        "joined": list(found.joined),
        "unanswered": found.unanswered,
        "methods": {
            method: {
                "before": rate_json(move.before),
                "after": rate_json(move.after),
                "gained": move.gained,
                "lost": move.lost,
            }
            for method, move in found.moves.items()
        },
    }


# -- two budgets ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Transitions:
    """The same items asked twice, e.g. under two token budgets, under one extraction method.

    `rescued` and `lost` are transitions of parsing: rescued - lost is the fall in unparsed replies, not in wrong ones.
    The interval of either accuracy is that of one run; the change needs a paired test (statistics.paired).
    """

    items: int
    """Items with a reply in both."""
    before: Rate
    after: Rate
    unparsed_before: Rate
    unparsed_after: Rate
    rescued: int
    """Unread before, read after."""
    lost: int
    """Read before, unread after."""
    won: int
    """Not right before, right after."""
    dropped: int
    """Right before, not right after."""
    time_ratio: float | None
    """Summed latency after / before."""

    @property
    def points(self) -> float | None:
        """The change in accuracy, in percentage points."""
        return 100 * (self.after.hits - self.before.hits) / self.items if self.items else None


def transitions(before: Iterable[Graded], after: Iterable[Graded], method: str) -> Transitions:
    """Compare two runs item by item (the first repeat of each); items with a reply in only one are left out."""
    first = {item_id: (right, read, ms) for item_id, right, read, ms in _verdicts(before, method)}
    c: Counter[str] = Counter()
    time_before = time_after = 0.0
    for item_id, right, read, ms in _verdicts(after, method):
        if item_id not in first:
            continue
        was_right, was_read, was_ms = first.pop(item_id)
        c.update(n=1, before=was_right, after=right, unread_before=not was_read, unread_after=not read)
        c.update(rescued=read and not was_read, lost=was_read and not read)
        c.update(won=right and not was_right, dropped=was_right and not right)
        time_before, time_after = time_before + was_ms, time_after + ms
    n = c["n"]
    return Transitions(
        items=n,
        before=rate(c["before"], n),
        after=rate(c["after"], n),
        unparsed_before=rate(c["unread_before"], n),
        unparsed_after=rate(c["unread_after"], n),
        rescued=c["rescued"],
        lost=c["lost"],
        won=c["won"],
        dropped=c["dropped"],
        time_ratio=time_after / time_before if time_before else None,
    )


def _verdicts(graded: Iterable[Graded], method: str) -> Iterator[tuple[str, bool, bool, float]]:
    for each in graded:
        response = each.response
        if response.repeat == 0 and response.error is ErrorClass.NONE:
            right = each.outcomes[method] is Outcome.CORRECT
            yield response.item_id, right, each.readings[method].answer is not None, response.latency_ms
