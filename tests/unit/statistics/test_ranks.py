"""Spearman's rho on a textbook's numbers, with ties, and over parts of the field."""

from __future__ import annotations

import random

import polars as pl
import pytest

from opentwbench.statistics.ranks import average_ranks, spearman, spearman_above, spearman_top

# A textbook example: ten people's IQ and hours of television a week; rho = -29/165.
IQ = (106, 100, 86, 101, 99, 103, 97, 113, 112, 110)
HOURS = (7, 27, 2, 50, 28, 29, 20, 12, 6, 17)


def test_a_textbook_example() -> None:
    found = spearman(IQ, HOURS)
    assert found.n == 10
    assert found.rho == pytest.approx(-29 / 165, abs=1e-12)


def test_equal_values_share_the_mean_of_their_ranks() -> None:
    assert average_ranks([0.5, 0.9, 0.5, 0.1]) == [2.5, 1.0, 2.5, 4.0]
    assert average_ranks([]) == []


def test_ties_by_hand() -> None:
    # ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: deviations give 4.5 / sqrt(4.5 * 5).
    assert spearman([4, 3, 3, 1], [9, 8, 7, 6]).rho == pytest.approx(4.5 / (4.5 * 5) ** 0.5)


def test_with_many_ties_it_is_what_polars_computes() -> None:
    source = random.Random(7)
    for _ in range(20):
        frame = pl.DataFrame(
            {"a": [source.randint(0, 9) for _ in range(40)], "b": [source.random() for _ in range(40)]}
        )
        expected = frame.select(pl.corr("a", "b", method="spearman")).item()
        assert spearman(frame["a"].to_list(), frame["b"].to_list()).rho == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("first", "second"), [([1, 2], [2, 1]), ([], []), ([1, 1, 1], [1, 2, 3]), ([3, 2, 1], [5, 5, 5])]
)
def test_what_says_nothing_has_no_rho(first: list[float], second: list[float]) -> None:
    found = spearman(first, second)
    assert found.rho is None
    assert found.n == len(first)


def test_the_top_includes_who_ties_with_its_last() -> None:
    first, second = [9, 8, 7, 7, 5], [1, 2, 3, 4, 9]
    assert spearman_top(first, second, 3).n == 4
    assert spearman_top(first, second, 5).n == 5
    # Whole field: disagreement; the part is judged on its own ranks.
    assert spearman_top([9, 8, 7, 1, 0], [9, 8, 7, 20, 30], 3).rho == 1.0
    assert spearman([9, 8, 7, 1, 0], [9, 8, 7, 20, 30]).rho == pytest.approx(-0.6)


def test_above_a_threshold_counts_who_reaches_it() -> None:
    found = spearman_above([0.9, 0.8, 0.5, 0.49], [3, 2, 1, 9], 0.5)
    assert (found.n, found.rho) == (3, 1.0)


def test_what_cannot_be_ranked_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        spearman([1, float("nan"), 2], [1, 2, 3])
    with pytest.raises(ValueError, match="paired"):
        spearman([1], [1, 2])
    with pytest.raises(ValueError, match="paired"):
        spearman_top([1], [1, 2], 1)
    with pytest.raises(ValueError, match="paired"):
        spearman_above([1], [1, 2], 0.5)
    with pytest.raises(ValueError, match="positive"):
        spearman_top([1, 2], [1, 2], 0)
