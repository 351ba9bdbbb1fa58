"""What a reader scores who knows nothing: always A, and the longest option.

What belongs here: the two rules, their shares with intervals. What does not: permuting options (permutation.py) and
which texts are measured (drafts in screens.py, items and rows in output.py and card.py).
Source: the issue, "option-length and position shortcuts measured before and after".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from opentwbench.statistics.intervals import Interval, mean_interval

CHANCE = 0.25
"""Share that a guess among four options scores."""


@dataclass(frozen=True, slots=True)
class Shortcut:
    """One rule over some items: `right` of `items`; a tie of lengths counts as a share of one."""

    right: float
    items: int
    interval: Interval

    @property
    def pays(self) -> bool:
        """Whether the rule scores above chance: its whole 95 % interval lies above a quarter."""
        return self.items > 0 and self.interval.low > CHANCE

    def to_json(self) -> dict[str, Any]:
        """The figures as build_stats.json holds them."""
        low, high = round(self.interval.low, 6), round(self.interval.high, 6)
        return {"right": round(self.right, 4), "items": self.items, "low": low, "high": high}


def shortcuts(keyed: Iterable[tuple[Mapping[str, str], str]]) -> dict[str, Shortcut]:
    """`always_a` and `pick_longest` over (options, key) pairs.

    The interval is that of the mean of the items' credits (0, 1, or a share where lengths tie), with no count rounded.
    """
    pairs = list(keyed)
    credits = {"always_a": [float(key == "A") for _, key in pairs], "pick_longest": [_longest(*pair) for pair in pairs]}
    return {name: Shortcut(sum(of), len(of), mean_interval(of)) for name, of in credits.items()}


def _longest(options: Mapping[str, str], key: str) -> float:
    return share_of_longest({letter: len(text) for letter, text in options.items()}, key)


def share_of_longest(sizes: Mapping[Any, int], name: object) -> float:
    """What a choice of the longest gives to `name`: 1 for the longest, a share where several are, else 0."""
    top = [each for each, size in sizes.items() if size == max(sizes.values())]
    return (name in top) / len(top)
