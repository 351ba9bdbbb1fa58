"""The box-else-pattern study: what a board changes when unboxed replies are read by pattern and ranked as boxed ones.

What belongs here: cells, moves and ranks over given runs. What does not: reading runs and showing the study.
Source: the OpenTWBench paper, section 5.1: until 14 October 2026 the public board scored the box where there was one
and a pattern match where there was none, so the less a model kept to the format, the more leniently it was read.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from opentwbench.evaluation.model import ErrorClass, Graded, Outcome, Rate
from opentwbench.evaluation.scoring import rate, rate_json
from opentwbench.statistics.ranks import spearman


@dataclass(frozen=True, slots=True)
class Cell:
    """One model on one benchmark: right of all replies under both readings, and replies with a box."""

    model: str
    benchmark: str
    strict: Rate
    mixed: Rate
    """Box-else-pattern: the box where there is one, else the lenient reading."""
    boxed: Rate

    @property
    def points(self) -> float:
        """What the mixed reading adds, in percentage points; never negative, because it only reads more."""
        return 100 * ((self.mixed.value or 0.0) - (self.strict.value or 0.0))


def cell(model: str, benchmark: str, graded: Iterable[Graded]) -> Cell:
    """The cell of one run, streamed. Graded responses carry the strict and the lenient reading."""
    c: Counter[str] = Counter()
    for each in graded:
        if each.response.error is not ErrorClass.NONE:
            continue
        boxed = each.readings["strict"].answer is not None
        mixed = each.outcomes["strict" if boxed else "lenient"]
        c.update(n=1, boxed=boxed, strict=each.outcomes["strict"] is Outcome.CORRECT, mixed=mixed is Outcome.CORRECT)
    n = c["n"]
    return Cell(model, benchmark, rate(c["strict"], n), rate(c["mixed"], n), rate(c["boxed"], n))


@dataclass(frozen=True, slots=True)
class Ranked:
    """One model on one benchmark with its place under both readings; the best is 1, equal scores share a place."""

    cell: Cell
    strict_rank: int
    mixed_rank: int

    @property
    def places(self) -> int:
        """Places that the mixed reading gave away (positive: the model stood too high)."""
        return self.strict_rank - self.mixed_rank


@dataclass(frozen=True, slots=True)
class Inversion:
    """A model ranked above another by the mixed reading that the strict one ranks below it."""

    benchmark: str
    above: str
    above_boxed: float
    below: str
    below_boxed: float


@dataclass(frozen=True, slots=True)
class BoxStudy:
    """The study over all cells."""

    ranked: tuple[Ranked, ...]
    inversions: tuple[Inversion, ...]
    agreement: Mapping[str, float | None]
    """Benchmark -> Spearman's rho between the two readings; None where it says nothing (fewer than three models)."""

    @property
    def cells(self) -> int:
        """Cells compared."""
        return len(self.ranked)

    def moved(self, beyond: float = 0.0) -> int:
        """Cells whose score moves by more than so many points."""
        return sum(each.cell.points > beyond for each in self.ranked)

    @property
    def changed_ranks(self) -> int:
        """Cells with another place."""
        return sum(each.places != 0 for each in self.ranked)

    @property
    def median_points(self) -> float | None:
        """The median move from the mixed to the strict reading, in points (negative or zero)."""
        return -median(each.cell.points for each in self.ranked) if self.ranked else None


def study(cells: Iterable[Cell]) -> BoxStudy:
    """Rank the cells of each benchmark under both readings and compare. Cells without a reply are left out.

    Raises ValueError when a model has two cells on one benchmark: two runs are two boards, not one.
    """
    by_benchmark: defaultdict[str, list[Cell]] = defaultdict(list)
    for each in cells:
        if any(other.model == each.model for other in by_benchmark[each.benchmark]):
            raise ValueError(f"{each.model} has two runs on {each.benchmark}; choose one")
        if each.strict.n:
            by_benchmark[each.benchmark].append(each)
    ranked: list[Ranked] = []
    inversions: list[Inversion] = []
    agreement: dict[str, float | None] = {}
    for benchmark, board in sorted(by_benchmark.items()):
        strict, mixed = (
            [(c.strict if by == "strict" else c.mixed).value or 0.0 for c in board] for by in ("strict", "mixed")
        )
        ranked += sorted(
            (Ranked(c, _rank(s, strict), _rank(m, mixed)) for c, s, m in zip(board, strict, mixed, strict=True)),
            key=lambda each: (each.strict_rank, each.cell.model),
        )
        inversions += _inversions(benchmark, board)
        agreement[benchmark] = spearman(strict, mixed).rho
    return BoxStudy(tuple(ranked), tuple(inversions), agreement)


def _rank(value: float, values: Iterable[float]) -> int:
    return 1 + sum(other > value for other in values)


def _inversions(benchmark: str, board: list[Cell]) -> list[Inversion]:
    found = []
    for above in board:
        for below in board:
            higher = (above.mixed.value or 0.0) > (below.mixed.value or 0.0)
            if higher and (above.strict.value or 0.0) < (below.strict.value or 0.0):
                shares = (above.boxed.value or 0.0, below.boxed.value or 0.0)
                found.append(Inversion(benchmark, above.model, shares[0], below.model, shares[1]))
    return sorted(found, key=lambda each: each.above_boxed - each.below_boxed)


def study_json(found: BoxStudy) -> dict[str, Any]:
    """The study as JSON values."""
    return {
        "cells": found.cells,
        "moved": found.moved(),
        "moved_by_more_than_1": found.moved(1.0),
        "moved_by_more_than_10": found.moved(10.0),
        "median_points": found.median_points,
        "changed_ranks": found.changed_ranks,
        "agreement": dict(found.agreement),
        "board": [
            {
                "benchmark": each.cell.benchmark,
                "model": each.cell.model,
                "strict": rate_json(each.cell.strict),
                "box_else_pattern": rate_json(each.cell.mixed),
                "boxed": rate_json(each.cell.boxed),
                "strict_rank": each.strict_rank,
                "box_else_pattern_rank": each.mixed_rank,
            }
            for each in found.ranked
        ],
        "inversions": [
            {
                "benchmark": each.benchmark,
                "above": each.above,
                "above_boxed": each.above_boxed,
                "below": each.below,
                "below_boxed": each.below_boxed,
            }
            for each in found.inversions
        ],
    }
