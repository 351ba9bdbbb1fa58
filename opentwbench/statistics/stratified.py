"""A share over a population of which strata were sampled at different rates.

What belongs here: closed-form arithmetic on counts of strata. What does not: how strata are cut (that is the study's).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from opentwbench.statistics.intervals import Interval, wilson


@dataclass(frozen=True, slots=True)
class Stratum:
    """`hits` of `judged` members have the property; the stratum has `size` members."""

    size: int
    judged: int
    hits: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share of the whole population with its 95 % interval, and the members of the population."""

    share: float
    interval: Interval
    population: int


def estimate(strata: Sequence[Stratum]) -> Estimate:
    """The share over all strata, each weighted by its size, with a 95 % interval.

    The interval recovers the variance of each stratum from its Wilson interval (MOVER): the distance of each bound from
    the estimate is the root of the summed squares of the weighted distances. Source: G. Y. Zou and A. Donner,
    "Construction of confidence limits about effect measures", Statistics in Medicine 27 (2008), eqs. 7 and 8, for a sum
    of independent shares. A stratum judged as a whole has no sampling error. One without a judged member says 0 to 1.
    Raises ValueError when a stratum has more judged than members, or more hits than judged.
    """
    population = sum(stratum.size for stratum in strata)
    if population == 0:
        return Estimate(0.0, Interval(0.0, 1.0), 0)
    share = below = above = 0.0
    for stratum in strata:
        if stratum.judged > stratum.size:
            raise ValueError(f"{stratum.judged} judged of {stratum.size} members")
        own, bounds = _of(stratum)
        weight = stratum.size / population
        share += weight * own
        below += (weight * (own - bounds.low)) ** 2
        above += (weight * (bounds.high - own)) ** 2
    return Estimate(share, Interval(max(0.0, share - math.sqrt(below)), min(1.0, share + math.sqrt(above))), population)


def _of(stratum: Stratum) -> tuple[float, Interval]:
    bounds = wilson(stratum.hits, stratum.judged)
    own = stratum.hits / stratum.judged if stratum.judged else 0.0
    if stratum.judged == stratum.size:
        bounds = Interval(own, own)
    return own, bounds
