"""Kruskal-Wallis against scipy, and where nothing can be tested."""

from __future__ import annotations

import random

import pytest

from opentwbench.statistics.kruskal import kruskal_wallis


@pytest.mark.parametrize("seed", range(5))
def test_it_gives_scipys_statistic_and_p_with_ties(seed: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    draw = random.Random(seed)
    groups = [[draw.choice((0.0, 0.25, 0.5, 1.0)) for _ in range(draw.randint(5, 40))] for _ in range(4)]
    found = kruskal_wallis(groups)
    expected = stats.kruskal(*groups)
    assert found is not None
    assert (found.statistic, found.p) == (pytest.approx(expected.statistic), pytest.approx(expected.pvalue))


def test_what_cannot_be_tested_is_none_and_a_shift_is_seen() -> None:
    assert kruskal_wallis([]) is kruskal_wallis([[1.0, 2.0], []]) is kruskal_wallis([[1.0], [1.0]]) is None
    shifted = kruskal_wallis([[n / 10 for n in range(20)], [n / 10 + 2 for n in range(20)]])
    assert shifted is not None and shifted.p < 1e-6
