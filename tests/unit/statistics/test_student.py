"""Student's t against tabled values and an interval worked by hand."""

from __future__ import annotations

import math

import pytest

from opentwbench.statistics.student import central, mean_bounds, quantile


@pytest.mark.parametrize(
    ("degrees", "t"),
    # Abramowitz and Stegun, table 26.10, A(t) = 0.95.
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (10, 2.228), (29, 2.045), (30, 2.042), (120, 1.980)],
)
def test_tabled_quantiles(degrees: int, t: float) -> None:
    assert quantile(0.95, degrees) == pytest.approx(t, abs=5e-4)
    assert central(quantile(0.95, degrees), degrees) == pytest.approx(0.95, abs=1e-12)


def test_few_degrees_in_closed_form() -> None:
    assert central(1.0, 1) == pytest.approx(0.5)  # Cauchy: 2 / pi * atan(1)
    assert central(2.0, 2) == pytest.approx(2 / math.sqrt(2 + 4))
    assert (central(0.0, 7), central(1e9, 7)) == (0.0, pytest.approx(1.0))
    assert quantile(0.95, 2_000) == pytest.approx(1.96, abs=2e-3)


def test_an_interval_by_hand() -> None:
    # Mean 2, deviation sqrt(((-3)^2 + (-1)^2 + 1 + 9) / 3) = 2.58199, over sqrt(4), times 3.18245.
    assert mean_bounds([-1, 1, 3, 5]) == pytest.approx((-2.10852, 6.10852), abs=1e-4)


@pytest.mark.parametrize("values", [[], [3], [2, 2, 2]])
def test_no_spread_is_no_interval(values: list[float]) -> None:
    assert mean_bounds(values) is None


def test_out_of_range() -> None:
    for t, degrees in ((-1.0, 3), (math.nan, 3), (1.0, 0)):
        with pytest.raises(ValueError, match="out of range"):
            central(t, degrees)
    for confidence in (0.0, 1.0):
        with pytest.raises(ValueError, match="confidence"):
            quantile(confidence, 3)
