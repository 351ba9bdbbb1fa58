"""Two models on the same items: McNemar's test on the discordant ones.

What belongs here: exact arithmetic on the counts of a paired comparison. What does not: pairing answers.
Source: Q. McNemar, "Note on the sampling error of the difference between correlated proportions or percentages",
Psychometrika 12 (1947), in its exact binomial form; the mid-p form and why to read it beside the exact one:
M. W. Fagerland, S. Lydersen, P. Laake, "The McNemar test for binary matched-pairs data", BMC Medical Research
Methodology 13:91 (2013).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from opentwbench.statistics.intervals import binomial_tail


@dataclass(frozen=True, slots=True)
class McNemar:
    """What the discordant items say: how many there are, and two-sided p values (exact, and mid-p)."""

    discordant: int
    exact_p: float
    mid_p: float


def mcnemar(only_first: int, only_second: int) -> McNemar:
    """The test on `only_first` items that only the first model got right and `only_second` that only the second did.

    Items both got right, or both got wrong, say nothing of a difference. Without a discordant item both p values are 1.
    exact p = 2 P(X <= min), at most 1; mid-p = exact p - P(X = min), for X ~ Binomial(discordant, 1/2); where both
    counts are equal the two-sided mid-p is 1 - P(X = min) / 2 by definition (Fagerland et al., equation 4), because the
    doubled tail then counts the middle twice.
    Raises ValueError for a negative count.
    """
    if only_first < 0 or only_second < 0:
        raise ValueError(f"counts out of range: {only_first}, {only_second}")
    n, least = only_first + only_second, min(only_first, only_second)
    if n == 0:
        return McNemar(0, 1.0, 1.0)
    # The lower tail is the upper tail of the other count, by symmetry.
    tail = binomial_tail(n - least, n, 0.5)
    point = math.exp(math.lgamma(n + 1) - math.lgamma(least + 1) - math.lgamma(n - least + 1) - n * math.log(2))
    if 2 * least == n:
        return McNemar(n, 1.0, 1.0 - point / 2)
    return McNemar(n, min(1.0, 2 * tail), max(0.0, 2 * tail - point))
