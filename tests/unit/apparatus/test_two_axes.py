"""Study 7: known answers, and what it says without two axes."""

from __future__ import annotations

import pytest
from support.apparatus import card, cells, inputs, rows, run

from opentwbench.apparatus.result import MissingInput, spoken
from opentwbench.apparatus.studies import conduct
from opentwbench.apparatus.two_axes import agreements, by_model, groups_of, median_interval, pairs, shift, shifts, study


def word(right: int, of: int = 10) -> str:
    return "+" * right + "-" * (of - right)


# Right of ten on exam and on Formosa. Places: exam a1 b2 c3 d4; formosa b1 d2 a3 c4.
SCORES = {"a": (9, 5), "b": (8, 9), "c": (6, 3), "d": (4, 7)}
RUNS = [
    run(model, rows(word(right)), benchmark=benchmark)
    for model, both in SCORES.items()
    for benchmark, right in zip(("exam", "formosa"), both, strict=True)
]
CARDS = [card("b", taiwan_tuned=True), card("d", taiwan_tuned=True), card("a", taiwan_tuned=False)]


def test_agreement_by_hand() -> None:
    found = agreements(pairs(RUNS, "exam", "box"), "strict")
    # d = place differences: 1-3, 2-1, 3-4, 4-2 -> squares 4 + 1 + 1 + 4 = 10; rho = 1 - 6 * 10 / (4 * 15) = 0.
    assert (found["all"].n, found["all"].rho) == (4, pytest.approx(0.0))
    assert found["top_20"] == found["all"]
    assert (found["above_80%"].n, found["above_80%"].rho) == (2, None)


def test_shifts_by_hand() -> None:
    assert shifts(pairs(RUNS, "exam", "box"), "strict") == {"a": -2, "b": 1, "c": -1, "d": 2}
    moved = shift([1, 2])
    assert (moved.models, moved.mean, moved.median, moved.low, moved.sign_p) == (2, 1.5, 1.5, None, 0.5)
    # Two values: deviation 0.7071 over sqrt(2) is 0.5, times t(1) = 12.7062.
    assert (moved.mean_low, moved.mean_high) == pytest.approx((1.5 - 6.3531, 1.5 + 6.3531), abs=1e-3)


def test_one_model_or_models_that_move_alike_have_no_interval_of_the_mean() -> None:
    assert shift([2]).mean_low is None and shift([2, 2, 2]).mean_high is None


def test_two_runs_of_a_model_are_one_model() -> None:
    again = [run("a", rows(word(right)), benchmark=benchmark, budget=16384)
             for benchmark, right in zip(("exam", "formosa"), (9, 1), strict=True)]  # fmt: skip
    found = pairs([*RUNS, *again], "exam", "box")
    moved = shifts(found, "strict")
    assert {name: moved[name] for name in moved if name.startswith("a")} == {
        "a (16384, unknown)": -4, "a (4096, unknown)": -2,
    }  # fmt: skip
    assert by_model([pair for pair in found if pair.model == "a"], moved) == [-3.0]
    result = study(inputs(*RUNS, *again, cards=[card("a", taiwan_tuned=False), *CARDS[:2]]))
    assert result.n == 4
    assert ("strict", "not tuned for Taiwan", 1, -3.0) in cells(result, 1, "method", "group", "models", "mean")


def test_the_interval_of_a_median() -> None:
    # Six values: P(all on one side) = 1/64 < 2.5 %, so the ends; nine: P(X <= 1) = 10/512 = 1.95 %, the second ones.
    assert median_interval([3, 1, 2, 6, 5, 4]) == (1, 6)
    assert median_interval(range(1, 10)) == (2, 8)
    assert median_interval([1, 2, 3, 4, 5]) == (None, None)


def test_the_study() -> None:
    found = study(inputs(*RUNS, cards=CARDS))
    assert found.n == 4
    groups = [row for row in cells(found, 1, "method", "group", "models", "mean", "median") if row[0] == "strict"]
    assert groups == [("strict", "tuned for Taiwan", 2, 1.5, 1.5), ("strict", "not tuned for Taiwan", 1, -2, -2)]
    assert "rho 0.00" in found.finding.en and "mean of +1.5 places" in found.finding.en
    assert "(n = 2)" in found.finding.en and "(95% \u22124.9 to +7.9)" in found.finding.en
    assert "paired sign test p = 0.500" in found.finding.en
    series = [mark["series"] for mark in found.charts[0].spec["data"]["values"]]
    assert [spoken(each, "en") for each in series] == ["other", "other", "Taiwan-tuned", "Taiwan-tuned"]
    assert cells(found, 1, "mean_low", "mean_high")[:1] == [(-4.8531, 7.8531)]


def test_what_a_card_does_not_state_is_in_no_group() -> None:
    assert groups_of({}) == groups_of(card("x")) == []
    assert groups_of(card("x", taiwan_tuned=False, open_weights=True)) == ["not_taiwan_tuned", "open_weights"]


def test_budgets_and_protocols_are_not_mixed() -> None:
    mixed = [
        run("a", rows("++"), benchmark="exam", budget=4096),
        run("a", rows("++"), benchmark="formosa", budget=16384),
        run("b", rows("++"), benchmark="exam", protocol="box"),
        run("b", rows("++"), benchmark="formosa", protocol="pattern"),
    ]
    with pytest.raises(MissingInput, match="both"):
        study(inputs(*mixed))


def test_without_a_second_axis_it_says_so() -> None:
    found = conduct("two_axes", inputs(*[each for each in RUNS if each.facts.benchmark == "exam"]))
    assert (found.n, found.tables) == (0, ()) and "Formosa" in found.finding.en
