"""The Kruskal-Wallis test: whether scores of several groups lie alike, by their ranks.

Source: W. H. Kruskal, W. A. Wallis, "Use of ranks in one-criterion variance analysis", JASA 47 (1952), with their
correction for ties; p by the chi-square approximation, which they recommend from five values a group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from opentwbench.statistics.chi_square import ChiSquare, tail
from opentwbench.statistics.ranks import average_ranks


def kruskal_wallis(groups: Sequence[Sequence[float]]) -> ChiSquare | None:
    """The statistic H, degrees of freedom and p over the groups that hold values.

    None where nothing can be tested: fewer than two such groups, or no two values differ. Raises ValueError on NaN.
    """
    held = [list(group) for group in groups if group]
    values = [value for group in held for value in group]
    n = len(values)
    ties = 1 - sum(count**3 - count for count in Counter(values).values()) / (n**3 - n) if n > 1 else 0.0
    if len(held) < 2 or ties == 0:
        return None
    ranks, at, total = average_ranks(values), 0, 0.0
    for group in held:
        total += sum(ranks[at : at + len(group)]) ** 2 / len(group)
        at += len(group)
    statistic = max(0.0, (12 / (n * (n + 1)) * total - 3 * (n + 1)) / ties)
    return ChiSquare(statistic, len(held) - 1, tail(statistic, len(held) - 1))
