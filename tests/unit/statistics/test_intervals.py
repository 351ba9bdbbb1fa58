"""Binomial arithmetic against known values and against exact rational sums."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opentwbench.statistics.intervals import Interval, binomial_tail, mean_interval, wilson


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        # Newcombe (1998), "Two-sided confidence intervals for the single proportion", table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_matches_newcombes_table(successes: int, trials: int, low: float, high: float) -> None:
    interval = wilson(successes, trials)
    assert (round(interval.low, 4), round(interval.high, 4)) == (low, high)


def test_nothing_seen_is_not_zero() -> None:
    assert wilson(0, 300).high == pytest.approx(0.0126, abs=1e-4)
    assert (wilson(0, 0).low, wilson(0, 0).high) == (0.0, 1.0)
    assert wilson(300, 300).high == 1.0


@pytest.mark.parametrize(("successes", "trials"), [(-1, 5), (6, 5), (0, -1)])
def test_impossible_counts_are_refused(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match="counts out of range"):
        wilson(successes, trials)
    with pytest.raises(ValueError, match="counts out of range"):
        binomial_tail(successes, trials, 0.25)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 1.5])
def test_impossible_shares_are_refused(level: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        wilson(1, 2, level)
    with pytest.raises(ValueError, match="share"):
        binomial_tail(1, 2, level)


@given(trials=st.integers(1, 120), data=st.data())
def test_tail_equals_the_exact_rational_sum(trials: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, trials))
    share = Fraction(1, 4)
    exact = sum(math.comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in range(successes, trials + 1))
    assert binomial_tail(successes, trials, 0.25) == pytest.approx(float(exact), rel=1e-9, abs=1e-300)


@given(trials=st.integers(1, 2000), data=st.data())
def test_wilson_holds_the_share_and_stays_inside(trials: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, trials))
    interval = wilson(successes, trials)
    assert 0.0 <= interval.low <= successes / trials <= interval.high <= 1.0


def test_twelve_in_a_hundred_sound_sets_of_25_have_a_letter_over_forty_percent() -> None:
    """The figure for which 40 % alone only warns: some letter holds 11 or more of 25 by chance."""
    assert 4 * binomial_tail(11, 25, 0.25) == pytest.approx(0.119, abs=0.001)


def test_large_counts_stay_finite() -> None:
    assert binomial_tail(63_964, 255_854, 0.25) == pytest.approx(0.5, abs=0.002)
    assert binomial_tail(200_000, 255_854, 0.25) == 0.0


@pytest.mark.parametrize(
    ("hits", "trials", "words"),
    [
        (0, 300, "0.0%–1.3%"),
        (300, 300, "98.7%–100.0%"),
        (12_596, 12_596, "99.9%–100.0%"),
        (0, 1_000_000, "0.0%–0.1%"),
        (0, 0, "0.0%–100.0%"),
        (500, 1000, "46.9%–53.1%"),
    ],
)
def test_an_interval_is_rounded_outwards(hits: int, trials: int, words: str) -> None:
    assert wilson(hits, trials).shown() == words


def test_the_mean_of_one_share_an_item_by_hand() -> None:
    # Of yes and no it is Wilson's interval: 15 of 148 in Newcombe's table.
    assert mean_interval([1.0] * 15 + [0.0] * 133) == wilson(15, 148)
    # Two items, each in half of its replies, are two trials of share 0.5: z^2 = 3.8415,
    # half = sqrt(0.25 / 2 + 3.8415 / 16) * 1.96 / (1 + 3.8415 / 2) = 0.40546.
    found = mean_interval([0.5, 0.5])
    assert (found.low, found.high) == pytest.approx((0.09454, 0.90546), abs=1e-5)
    assert mean_interval([0.0] * 10) == wilson(0, 10)
    assert mean_interval([]) == Interval(0.0, 1.0)
    for bad in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="within 0 and 1"):
            mean_interval([0.5, bad])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_the_interval_of_a_mean_holds_it(values: list[float]) -> None:
    found = mean_interval(values)
    assert 0.0 <= found.low <= math.fsum(values) / len(values) + 1e-12
    assert math.fsum(values) / len(values) - 1e-12 <= found.high <= 1.0
