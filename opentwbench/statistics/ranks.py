"""Agreement of two rankings: Spearman's rho with ties, over everything or over a part of the field.

What belongs here: arithmetic on pairs of scores. What does not: which models or benchmarks are compared.
Source of the coefficient: C. Spearman, "The proof and measurement of association between two things", American Journal
of Psychology 15 (1904); with ties it is Pearson's correlation of average ranks (M. G. Kendall, "Rank Correlation
Methods", 1948, chapter 3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby


@dataclass(frozen=True, slots=True)
class Agreement:
    """Spearman's rho over `n` pairs; None where fewer than three pairs, or a side without any difference, say nothing.

    `n` counts what was ranked, so that a high rho over four models is read as one over four models.
    """

    n: int
    rho: float | None


def average_ranks(values: Sequence[float]) -> list[float]:
    """Rank 1 for the largest value; equal values share the mean of the ranks they take. Raises ValueError on NaN."""
    if any(math.isnan(value) for value in values):
        raise ValueError("NaN has no rank")
    order = sorted(range(len(values)), key=lambda n: -values[n])
    ranks = [0.0] * len(values)
    taken = 0
    for _, group in groupby(order, key=lambda n: values[n]):
        members = list(group)
        for member in members:
            ranks[member] = taken + (len(members) + 1) / 2
        taken += len(members)
    return ranks


def spearman(first: Sequence[float], second: Sequence[float]) -> Agreement:
    """Agreement of two scores of the same objects, in the same order.

    Raises ValueError for sequences of different lengths and for NaN.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} scores cannot be paired with {len(second)}")
    return Agreement(len(first), _pearson(average_ranks(first), average_ranks(second)))


def spearman_top(first: Sequence[float], second: Sequence[float], top: int) -> Agreement:
    """Agreement over the `top` best by the first score; whoever ties with the last of them is in as well.

    Raises ValueError when `top` is not positive, and as `spearman` does.
    """
    if top < 1:
        raise ValueError(f"top must be positive, got {top}")
    if len(first) != len(second):
        raise ValueError(f"{len(first)} scores cannot be paired with {len(second)}")
    kept = [n for n, score in enumerate(first) if sum(other > score for other in first) < top]
    return spearman([first[n] for n in kept], [second[n] for n in kept])


def spearman_above(first: Sequence[float], second: Sequence[float], threshold: float) -> Agreement:
    """Agreement over those whose first score reaches `threshold`: below it a ranking orders noise around guessing."""
    if len(first) != len(second):
        raise ValueError(f"{len(first)} scores cannot be paired with {len(second)}")
    kept = [n for n, score in enumerate(first) if score >= threshold]
    return spearman([first[n] for n in kept], [second[n] for n in kept])


def _pearson(first: Sequence[float], second: Sequence[float]) -> float | None:
    if len(first) < 3:
        return None
    mean_first, mean_second = math.fsum(first) / len(first), math.fsum(second) / len(second)
    one = [value - mean_first for value in first]
    two = [value - mean_second for value in second]
    spread = math.fsum(a * a for a in one) * math.fsum(b * b for b in two)
    if spread == 0:
        return None
    return max(-1.0, min(1.0, math.fsum(a * b for a, b in zip(one, two, strict=True)) / math.sqrt(spread)))
