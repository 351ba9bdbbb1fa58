"""The chi-square tail in closed form against the tabled values and against scipy."""

from __future__ import annotations

import pytest

from opentwbench.statistics.chi_square import chi_square, tail


@pytest.mark.parametrize("degrees", range(1, 10))
@pytest.mark.parametrize("statistic", [0.0, 0.1, 1.0, 5.4, 30.0, 80.0])
def test_the_tail_is_that_of_scipy(statistic: float, degrees: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    assert tail(statistic, degrees) == pytest.approx(stats.chi2.sf(statistic, degrees), rel=1e-9, abs=1e-15)


def test_the_tabled_five_per_cent_points() -> None:
    # Abramowitz and Stegun, table 26.8.
    for degrees, point in ((1, 3.84146), (2, 5.99146), (3, 7.81473), (4, 9.48773)):
        assert tail(point, degrees) == pytest.approx(0.05, abs=1e-5)


def test_the_published_positions_have_the_stated_p() -> None:
    found = chi_square([641, 648, 717, 659])
    assert (round(found.statistic, 2), found.degrees, round(found.p, 2)) == (5.40, 3, 0.14)


def test_unequal_shares_and_what_is_out_of_range() -> None:
    assert chi_square([25, 75], [0.25, 0.75]).p == 1.0
    assert chi_square([0, 0]).p == 1.0
    for counts, shares in (([1], None), ([-1, 2], None), ([1, 2], [0.5, 0.6]), ([1, 2], [1.0]), ([], None)):
        with pytest.raises(ValueError):
            chi_square(counts, shares)
    for bad in ((-1.0, 2), (1.0, 0), (float("nan"), 2)):
        with pytest.raises(ValueError):
            tail(*bad)
