"""Student's t: the interval of a mean of few independent values.

What belongs here: closed-form arithmetic. What does not: what a value is (one a cluster, or repeats count as draws).
Source: Student, "The probable error of a mean", Biometrika 6 (1908); the distribution in closed form for whole degrees
of freedom: M. Abramowitz, I. Stegun, "Handbook of Mathematical Functions" (1964), 26.7.3 and 26.7.4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev


def central(t: float, degrees: int) -> float:
    """P(-t <= T <= t) for Student's T; raises ValueError below one degree of freedom or for a negative t."""
    if degrees < 1 or not t >= 0:
        raise ValueError(f"out of range: {t} with {degrees} degrees of freedom")
    angle = math.atan2(t, math.sqrt(degrees))
    square = math.cos(angle) ** 2
    odd = degrees % 2
    # The sum is 1 + 1/2 cos^2 + (1*3)/(2*4) cos^4 + ... for even degrees, 1 + 2/3 cos^2 + ... for odd ones.
    term, total = 1.0, 1.0 if degrees > 1 else 0.0
    for k in range(2 + odd, degrees - 1, 2):
        term *= (k - 1) / k * square
        total += term
    if not odd:
        return math.sin(angle) * total
    return 2 / math.pi * (angle + math.sin(angle) * math.cos(angle) * total)


def quantile(confidence: float, degrees: int) -> float:
    """The t with P(-t <= T <= t) = confidence, by bisection; raises ValueError for a confidence outside (0, 1)."""
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie inside (0, 1), got {confidence}")
    low, high = 0.0, 1.0
    while central(high, degrees) < confidence:
        low, high = high, 2 * high
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if central(middle, degrees) < confidence else (low, middle)
    return high


def mean_bounds(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float] | None:
    """The t interval of the mean of independent values; None for fewer than two, which tell no spread, and for values
    without any spread, whose interval would be a point: three models that all move by one place are no certainty."""
    if len(values) < 2:
        return None
    spread = stdev(values)
    if spread == 0:
        return None
    half = quantile(confidence, len(values) - 1) * spread / math.sqrt(len(values))
    centre = fmean(values)
    return centre - half, centre + half
