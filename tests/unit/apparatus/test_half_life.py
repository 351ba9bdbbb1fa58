"""Study 6: periods and the half-life by hand, and what a cut by a newer pool leaves of a band."""

from __future__ import annotations

import pytest
from support.apparatus import card, cells, inputs, rows, run

from opentwbench.apparatus.half_life import (
    Dated,
    cuts,
    half_life,
    period,
    period_name,
    standing,
    study,
    survival,
)
from opentwbench.apparatus.studies import conduct


@pytest.mark.parametrize(
    ("released", "expected"),
    [
        ("2026-03", "2026 H1"),
        ("2026-06-30", "2026 H1"),
        ("2026-07", "2026 H2"),
        ("2026", None),
        ("2026-13", None),
        ("soon", None),
        ("", None),
        (None, None),
        (202603, None),
    ],
)
def test_the_half_year_of_a_release(released: object, expected: str | None) -> None:
    assert period(released) == expected


def test_both_ends_belong_to_the_band() -> None:
    assert [standing(score) for score in (0.39, 0.4, 0.8, 0.81)] == ["below", "inside", "inside", "above"]


# Ten items each. 2025 H1: one inside, one below; 2025 H2: one above of three; 2026 H1: one above of two, the half-life.
MODELS = {
    "a": ("2025-01", 5),
    "b": ("2025-02", 3),
    "c": ("2025-08", 7),
    "d": ("2025-08", 9),
    "e": ("2025-09", 6),
    "f": ("2026-01", 8),
    "g": ("2026-02", 10),
}
RUNS = [run(name, rows("+" * right + "-" * (10 - right))) for name, (_, right) in MODELS.items()]
CARDS = [card(name, released=released) for name, (released, _) in MODELS.items()]


def test_the_half_life_by_hand() -> None:
    found = study(inputs(*RUNS, cards=CARDS))
    assert found.n == 7
    assert cells(found, 0, "period", "models", "inside", "above", "below") == [
        ("2025 H1", 2, 50.0, 0.0, 50.0),
        ("2025 H2", 3, 66.6667, 33.3333, 0.0),
        ("2026 H1", 2, 50.0, 50.0, 0.0),
    ]
    assert "half-life reached in 2026 H1" in found.finding.en


def test_a_benchmark_that_nobody_tops_has_not_reached_it() -> None:
    found = study(inputs(*RUNS[:3], cards=CARDS))
    assert "half-life not reached" in found.finding.en


def test_a_model_with_two_budgets_counts_once_under_the_larger() -> None:
    again = run("a", rows("+" * 10), budget=16384)
    found = study(inputs(*RUNS, again, cards=CARDS))
    assert found.n == 7
    assert cells(found, 0, "period", "models", "above")[0] == ("2025 H1", 2, 50.0)


def test_an_undated_model_is_left_out() -> None:
    found = study(inputs(*RUNS, cards=CARDS[:2]))
    assert (found.n, cells(found, 1, "pool")) == (2, [])
    assert half_life([]) is None


def test_the_band_cut_by_two_pools() -> None:
    # Older pool b, a, c (wrong: 3.., 5.., 7..), newer pool e, f, g: the band is what one of three has wrong.
    dated = [Dated(each.facts.model, *_when(each.facts.model), 0.5, each) for each in RUNS]
    made = cuts(dated)
    assert made is not None
    older, newer, size = made
    assert size == 3
    assert older.kept == tuple(f"item-{n:04d}" for n in range(3, 10))
    assert newer.kept == tuple(f"item-{n:04d}" for n in range(6, 10))
    pair, before, still = survival(older, newer)
    assert (pair.n, pair.only_first, pair.only_second, before, still) == (10, 3, 0, 7, 4)
    found = study(inputs(*RUNS, cards=CARDS))
    assert cells(found, 1, "before", "still", "survival", "only_first", "exact_p") == [(7, 4, 57.1429, 3, 0.25)]
    assert cuts(dated[:3]) is None


def _when(name: str) -> tuple[str, str]:
    released = MODELS[name][0]
    return released, period(released) or ""


@pytest.mark.parametrize("given", [inputs(), inputs(*RUNS), inputs(*RUNS, cards=[card("a", released="soon")])])
def test_without_dated_models_it_says_so(given: object) -> None:
    found = conduct("half_life", given)  # type: ignore[arg-type]
    assert (found.n, found.tables) == (0, ()) and "release date" in found.finding.en


def test_a_half_year_is_named_in_the_language_of_the_page() -> None:
    assert (period_name("2026 H1").zh, period_name("2026 H2").zh) == ("2026 上半年", "2026 下半年")
    assert period_name("2026 H2").en == "2026 H2"
