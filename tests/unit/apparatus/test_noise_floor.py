"""Study 5: the floor from published counts, neighbours by hand, and what it says without keys or a board."""

from __future__ import annotations

import pytest
from support.apparatus import cells, inputs, rows, run

from opentwbench.apparatus.noise_floor import Floor, floors, neighbours, pairs_below, study
from opentwbench.apparatus.result import MissingInput
from opentwbench.apparatus.studies import conduct


def key_row(scope: str, groups: int, agreeing: int, own: int, own_agreeing: int) -> dict[str, object]:
    return {
        "scope": scope,
        "groups": groups,
        "agreeing": agreeing,
        "independent_groups": own,
        "independent_agreeing": own_agreeing,
    }


KEYS = [key_row("one", 600, 599, 400, 400), key_row("two", 500, 497, 300, 299)]
# Twenty shared items: alpha 15 right, beta 14 (loses two of alpha's, wins one), gamma 5.
ALPHA, BETA, GAMMA = "+" * 15 + "-" * 5, "+" * 13 + "--" + "+" + "-" * 4, "+" * 5 + "-" * 15
RUNS = [run(name, rows(word)) for name, word in (("beta", BETA), ("gamma", GAMMA), ("alpha", ALPHA))]


def test_the_published_floor() -> None:
    # facts: 27 of 31,312 groups flagged, 99.9138 % consistent.
    floor = Floor(31_312, 27)
    assert 100 * (1 - floor.flagged / floor.groups) == pytest.approx(99.9138, abs=1e-4)
    assert floor.points == pytest.approx(0.1254, abs=1e-3)


@pytest.mark.parametrize("e", [0.001, 0.05, 0.2, 0.4])
def test_the_floor_is_twice_the_share_of_wrong_keys(e: float) -> None:
    """So many groups that the bound is the share itself: 2e(1 - e) of them disagree, and keys move at most 2e."""
    groups = 10**9
    floor = Floor(groups, round(groups * 2 * e * (1 - e)))
    assert floor.points == pytest.approx(200 * e, rel=2e-2)
    assert floor.points >= 200 * e


def test_reprints_that_agree_no_better_than_chance_bound_nothing() -> None:
    assert Floor(10, 9).points == 100.0


def test_the_floor_is_that_of_independent_groups() -> None:
    every, own = floors(KEYS)
    assert (every.groups, every.flagged, own.groups, own.flagged) == (1_100, 4, 700, 1)


def test_neighbours_by_hand() -> None:
    found, scores = neighbours(RUNS)
    assert [(each.better, each.worse) for each in found] == [("alpha", "beta"), ("beta", "gamma")]
    assert [(each.pair.only_first, each.pair.only_second) for each in found] == [(2, 1), (9, 0)]
    assert found[1].pair.test.exact_p == pytest.approx(2 / 2**9)
    assert scores == {"alpha": 0.75, "beta": 0.7, "gamma": 0.25}


def test_pairs_below_a_floor() -> None:
    assert pairs_below([0.75, 0.70, 0.25], 5.0 + 1e-9) == (1, 3)
    assert pairs_below([0.75, 0.70, 0.25], 4.0) == (0, 3)


def test_the_study() -> None:
    found = study(inputs(*RUNS, key_figures=KEYS))
    assert found.n == 700
    # 1 of 700: upper Wilson bound 0.805 %, so a floor of 0.808 points, below every difference here.
    assert cells(found, 1, "better", "floor", "significant") == [("alpha", "above", "no"), ("beta", "above", "yes")]
    assert "1 of 700" in found.finding.en and "0.81 points" in found.finding.en
    poor = [key_row("one", 20, 18, 20, 18)]
    assert [row[0] for row in cells(study(inputs(*RUNS, key_figures=poor)), 1, "floor")] == ["below", "above"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (inputs(*RUNS), "group of reprints"),
        (inputs(*RUNS, key_figures=[key_row("one", 9, 9, 0, 0)]), "group of reprints"),
        (inputs(RUNS[0], key_figures=KEYS), "two complete runs"),
        (inputs(key_figures=KEYS), "two complete runs"),
        (inputs(*[run(m, rows("++"), benchmark="formosa") for m in "ab"], key_figures=KEYS), "two complete runs"),
    ],
)
def test_without_input_it_says_so(given: object, words: str) -> None:
    with pytest.raises(MissingInput, match=words):
        study(given)  # type: ignore[arg-type]
    found = conduct("noise_floor", given)  # type: ignore[arg-type]
    assert (found.n, found.tables, found.charts) == (0, (), ())


def test_table_and_chart_have_the_difference_the_same_way_round() -> None:
    found = study(inputs(*RUNS, key_figures=KEYS))
    rows = cells(found, 1, "points", "points_low", "points_high")
    assert [row[0] for row in rows] == [pytest.approx(5.0), pytest.approx(45.0)]
    assert all(low < value < high for value, low, high in rows)  # type: ignore[operator]
    marks = found.charts[0].spec["data"]["values"]
    assert [(mark["value"], mark["low"], mark["high"]) for mark in marks] == rows
    labels = {each.name: each.label for each in found.tables[1].columns}
    assert labels["points"].en == "difference, better less next" and "較前減較後" in labels["points"].zh
