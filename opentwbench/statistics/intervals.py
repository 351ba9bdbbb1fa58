"""Binomial intervals and tails: how sure a counted share is, and how odd a count would be by chance.

What belongs here: closed-form or exact binomial arithmetic on counts.
What does not: thresholds (they belong to the check that applies them) and anything that reads a file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided interval of a share, both ends within 0..1."""

    low: float
    high: float

    def shown(self) -> str:
        """The interval in percent, rounded outwards to a tenth: 12,596 of 12,596 is 99.9%–100.0%, never 100.0%."""
        low, high = rounded_outwards(100 * self.low, 100 * self.high, 1)
        return f"{low:.1f}%–{high:.1f}%"


def rounded_outwards(low: float, high: float, digits: int) -> tuple[float, float]:
    """The two ends of an interval at so many decimals, so that it never looks narrower than it is.

    What is exact to a billionth is exact: 0.3 * 10 must not become a tenth wider.
    """
    fine = 10**digits
    return math.floor(low * fine + 1e-9) / fine, math.ceil(high * fine - 1e-9) / fine


def _check_counts(successes: int, trials: int) -> None:
    if trials < 0 or not 0 <= successes <= trials:
        raise ValueError(f"counts out of range: {successes} of {trials}")


Z95 = NormalDist().inv_cdf(0.975)
"""Half-width of a two-sided 95 % interval, in standard errors."""


def wilson(successes: int, trials: int, confidence: float = 0.95) -> Interval:
    """Wilson score interval of a share.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927), eq. 8.
    It stays inside 0..1 and says something at 0 of n: 0 of 300 is under 1.3 %, not zero.
    No trials give the whole range 0..1. Raises ValueError on impossible counts or a confidence outside (0, 1).
    """
    _check_counts(successes, trials)
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie inside (0, 1), got {confidence}")
    if trials == 0:
        return Interval(0.0, 1.0)
    return _score_interval(successes / trials, trials, NormalDist().inv_cdf(0.5 + confidence / 2))


def mean_interval(values: Sequence[float]) -> Interval:
    """95 % interval of the mean of independent values within 0..1: one value a cluster, the share within it.

    Wilson's interval at as many trials as there are values. It is conservative, because no variable within 0..1 of mean
    m has a variance above m (1 - m), which is that of yes or no (R. Bhatia, C. Davis, "A better bound on the variance",
    American Mathematical Monthly 107 (2000)); it says something where every value is 0. No value gives 0..1.
    Raises ValueError for a value outside 0..1.
    """
    if not all(0.0 <= value <= 1.0 for value in values):
        raise ValueError("shares lie within 0 and 1")
    n = len(values)
    return _score_interval(math.fsum(values) / n, n, Z95) if n else Interval(0.0, 1.0)


def _score_interval(share: float, trials: int, z: float) -> Interval:
    scale = 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    # At the ends the formula gives exactly 0 and 1; rounding must not make it -1e-19.
    low = 0.0 if share == 0 else max(0.0, centre - half)
    high = 1.0 if share == 1 else min(1.0, centre + half)
    return Interval(low, high)


def _log_pmf(successes: int, trials: int, share: float) -> float:
    choose = math.lgamma(trials + 1) - math.lgamma(successes + 1) - math.lgamma(trials - successes + 1)
    return choose + successes * math.log(share) + (trials - successes) * math.log1p(-share)


def binomial_tail(successes: int, trials: int, share: float) -> float:
    """P(X >= successes) for X ~ Binomial(trials, share), summed term by term (no normal approximation).

    Terms beyond the mode fall by a ratio below one, so the sum stops once a term no longer changes it.
    Raises ValueError on impossible counts or a share outside (0, 1).
    """
    _check_counts(successes, trials)
    if not 0.0 < share < 1.0:
        raise ValueError(f"share must lie inside (0, 1), got {share}")
    if successes == 0:
        return 1.0
    mode = math.floor((trials + 1) * share)
    if successes <= mode:
        # Sum the short side: what is left of the tail when everything below is taken away.
        return max(0.0, 1.0 - _sum_down(successes - 1, trials, share))
    return min(1.0, _sum_up(successes, trials, share))


def _sum_up(start: int, trials: int, share: float) -> float:
    term = math.exp(_log_pmf(start, trials, share))
    total, odds = term, share / (1 - share)
    for k in range(start, trials):
        term *= (trials - k) / (k + 1) * odds
        total += term
        if term < total * 1e-17:
            break
    return total


def _sum_down(start: int, trials: int, share: float) -> float:
    term = math.exp(_log_pmf(start, trials, share))
    total, odds = term, (1 - share) / share
    for k in range(start, 0, -1):
        term *= k / (trials - k + 1) * odds
        total += term
        if term < total * 1e-17:
            break
    return total
