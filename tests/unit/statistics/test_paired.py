"""McNemar's test on published numbers and against a sum of fractions."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest

from opentwbench.statistics.paired import mcnemar


def by_fractions(b: int, c: int) -> tuple[float, float]:
    n, least = b + c, min(b, c)
    tail = sum(Fraction(comb(n, k), 2**n) for k in range(least + 1))
    point = Fraction(comb(n, least), 2**n)
    if b == c:
        return 1.0, float(1 - point / 2)
    return float(min(Fraction(1), 2 * tail)), float(2 * tail - point)


def test_the_published_example() -> None:
    # Fagerland et al. 2013, table 1: 1 and 7 discordant pairs; exact 0.0703, mid-p 0.0391.
    found = mcnemar(1, 7)
    assert found.discordant == 8
    assert found.exact_p == pytest.approx(0.0703125)
    assert found.mid_p == pytest.approx(0.0390625)


@pytest.mark.parametrize(
    "counts", [(0, 0), (0, 1), (1, 0), (3, 3), (4, 5), (10, 0), (130, 103), (500, 431), (1200, 1200)]
)
def test_it_is_the_exact_sum(counts: tuple[int, int]) -> None:
    found = mcnemar(*counts)
    exact, mid = by_fractions(*counts) if sum(counts) else (1.0, 1.0)
    assert found.exact_p == pytest.approx(exact, rel=1e-9)
    assert found.mid_p == pytest.approx(mid, rel=1e-9)


def test_it_does_not_matter_who_is_first() -> None:
    assert mcnemar(17, 40) == mcnemar(40, 17)


def test_the_longer_thinking_budget_is_no_proven_gain() -> None:
    # Published: 130 answers rescued, 103 newly lost. Read as one run's half-width it was +-2.6 points; paired it is
    # a test on 233 discordant answers.
    found = mcnemar(130, 103)
    assert found.discordant == 233
    assert 0.05 < found.mid_p < found.exact_p < 0.1


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(ValueError, match="out of range"):
        mcnemar(-1, 4)
