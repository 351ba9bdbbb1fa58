"""The chi-square test of counts against expected shares: how odd a spread would be by chance.

What belongs here: closed-form arithmetic on counts. What does not: thresholds, which belong to the check that uses it.
Source: K. Pearson, "On the criterion that a given system of deviations...", Philosophical Magazine 50 (1900); the tail
in closed form for whole degrees of freedom: M. Abramowitz, I. Stegun, "Handbook of Mathematical Functions" (1964),
26.4.4 and 26.4.5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChiSquare:
    """The statistic, its degrees of freedom, and the probability of one at least as large under the expected shares."""

    statistic: float
    degrees: int
    p: float


def tail(statistic: float, degrees: int) -> float:
    """P(X >= statistic) for X of a chi-square distribution; raises ValueError below one degree or for a negative X."""
    if degrees < 1 or not statistic >= 0:
        raise ValueError(f"out of range: {statistic} with {degrees} degrees of freedom")
    half = statistic / 2
    if degrees % 2:
        total, term = math.erfc(math.sqrt(half)), math.sqrt(statistic) * math.sqrt(2 / math.pi) * math.exp(-half)
        for k in range(3, degrees + 1, 2):
            total += term
            term *= statistic / k
    else:
        total, term = 0.0, math.exp(-half)
        for k in range(2, degrees + 1, 2):
            total += term
            term *= statistic / k
    return min(1.0, total)


def chi_square(counts: Sequence[float], shares: Sequence[float] | None = None) -> ChiSquare:
    """The test of counts against shares (all equal when None); without a count p is 1.

    Raises ValueError for fewer than two cells, a negative count, or shares that are not positive and do not add to 1.
    """
    wanted = [1 / len(counts)] * len(counts) if shares is None and counts else list(shares or ())
    if len(counts) < 2 or len(wanted) != len(counts) or min(counts) < 0:
        raise ValueError(f"not counts of two or more cells with a share each: {counts}")
    if min(wanted) <= 0 or not math.isclose(math.fsum(wanted), 1):
        raise ValueError(f"shares must be positive and add to 1: {wanted}")
    n = math.fsum(counts)
    if n == 0:
        return ChiSquare(0.0, len(counts) - 1, 1.0)
    statistic = math.fsum((count - n * share) ** 2 / (n * share) for count, share in zip(counts, wanted, strict=True))
    return ChiSquare(statistic, len(counts) - 1, tail(statistic, len(counts) - 1))
