"""A share over strata: worked by hand, at the ends, and what cannot be."""

from __future__ import annotations

import pytest

from opentwbench.statistics.intervals import wilson
from opentwbench.statistics.stratified import Stratum, estimate


def test_one_stratum_is_wilson() -> None:
    found = estimate([Stratum(size=1_000, judged=100, hits=7)])
    assert (found.share, found.population) == (0.07, 1_000)
    assert (found.interval.low, found.interval.high) == pytest.approx((wilson(7, 100).low, wilson(7, 100).high))


def test_two_strata_worked_by_hand() -> None:
    rare, common = Stratum(size=900, judged=90, hits=0), Stratum(size=100, judged=50, hits=10)
    found = estimate([rare, common])
    high_rare, both = wilson(0, 90).high, wilson(10, 50)
    assert found.share == pytest.approx(0.1 * 0.2)
    low = 0.02 - 0.1 * (0.2 - both.low)
    high = 0.02 + ((0.9 * high_rare) ** 2 + (0.1 * (both.high - 0.2)) ** 2) ** 0.5
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high))


def test_the_weight_is_the_stratum_s_size_and_not_what_was_judged() -> None:
    heavy = estimate([Stratum(900, 10, 5), Stratum(100, 1_00, 0)])
    assert heavy.share == pytest.approx(0.45)


def test_a_stratum_judged_as_a_whole_has_no_sampling_error() -> None:
    found = estimate([Stratum(20, 20, 3), Stratum(80, 80, 0)])
    assert found.share == found.interval.low == found.interval.high == pytest.approx(0.03)


def test_nothing_judged_says_nothing() -> None:
    found = estimate([Stratum(10, 0, 0)])
    assert (found.interval.low, found.interval.high) == (0.0, 1.0)
    assert estimate([]).population == 0


def test_zero_of_many_is_not_zero() -> None:
    assert 0.0 < estimate([Stratum(5_000, 300, 0), Stratum(5_000, 300, 0)]).interval.high < 0.02


@pytest.mark.parametrize("stratum", [Stratum(5, 6, 0), Stratum(5, 3, 4)])
def test_impossible_counts_are_refused(stratum: Stratum) -> None:
    with pytest.raises(ValueError, match=r"judged of|out of range"):
        estimate([stratum])
