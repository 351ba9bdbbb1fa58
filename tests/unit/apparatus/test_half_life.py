"""Study 6: periods, the half-life and the cut of a band by hand, sidecars read as hostile, and `otb formosa recut`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.apparatus import card, cells, inputs, rows, run
from typer.testing import CliRunner

from opentwbench.apparatus.half_life import (
    Band,
    Cut,
    Dated,
    Difficulty,
    cuts,
    half_life,
    period,
    read_band,
    read_sidecar,
    recut,
    standing,
    study,
    survival,
)
from opentwbench.apparatus.result import StudyError
from opentwbench.apparatus.studies import conduct
from orchestration.formosa_command import app


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
        ("2025 H2", 3, 66.67, 33.33, 0.0),
        ("2026 H1", 2, 50.0, 50.0, 0.0),
    ]
    assert "half-life reached in 2026 H1" in found.finding.en


def test_a_benchmark_that_nobody_tops_has_not_reached_it() -> None:
    found = study(inputs(*RUNS[:3], cards=CARDS))
    assert "half-life not reached" in found.finding.en


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
    assert cells(found, 1, "before", "still", "survival", "only_first", "exact_p") == [(7, 4, 57.14, 3, 0.25)]
    assert cuts(dated[:3]) is None


def _when(name: str) -> tuple[str, str]:
    released = MODELS[name][0]
    return released, period(released) or ""


@pytest.mark.parametrize("given", [inputs(), inputs(*RUNS), inputs(*RUNS, cards=[card("a", released="soon")])])
def test_without_dated_models_it_says_so(given: object) -> None:
    found = conduct("half_life", given)  # type: ignore[arg-type]
    assert (found.n, found.tables) == (0, ()) and "release date" in found.finding.en


# -- the sidecar ------------------------------------------------------------------------------------------------------

ITEMS = [
    Difficulty("none", {"p": False, "q": False, "r": False}),
    Difficulty("one", {"p": True, "q": False, "r": False}),
    Difficulty("two", {"p": True, "q": True, "r": False}),
    Difficulty("all", {"p": True, "q": True, "r": True}),
    Difficulty("new", {"p": True, "q": True}),
]


def test_a_cut_by_hand() -> None:
    assert recut(ITEMS, ["p", "q", "r"], Band(0, 2)) == Cut(("none", "one", "two"), ("all",), (), ("new",))
    assert recut(ITEMS, ["p", "q"], Band(1, 1)) == Cut(("one",), ("two", "all", "new"), ("none",), ())


def test_every_item_is_in_one_kind() -> None:
    cut = recut(ITEMS, ["p", "r"], Band(1, 1))
    found = [*cut.kept, *cut.easier, *cut.harder, *cut.unmeasured]
    assert sorted(found) == sorted(item.item_id for item in ITEMS)


@pytest.mark.parametrize("pool", [[], ["p", "p"]])
def test_a_pool_is_no_empty_list_and_names_no_model_twice(pool: list[str]) -> None:
    with pytest.raises(StudyError, match="pool"):
        recut(ITEMS, pool, Band(0, 1))


@pytest.mark.parametrize("text", ["", "6", "0-8", "3-2", "a-b", "-1-3", "0–6", "0-6 ", "99999-99999"])
def test_a_band_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(StudyError, match="band"):
        read_band(text, 7)
    assert read_band("0-6", 7) == Band(0, 6)


GOOD = {"item_id": "x", "passes": {"p": True}}


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {**GOOD, "more": 1},
        {"item_id": 3, "passes": {"p": True}},
        {"item_id": "", "passes": {"p": True}},
        {"item_id": "a\nb", "passes": {"p": True}},
        {"item_id": "y", "passes": {}},
        {"item_id": "y", "passes": [True]},
        {"item_id": "y", "passes": {"p": 1}},
        {"item_id": "y", "passes": {"p": None}},
        {"item_id": "y", "passes": {"p" * 201: True}},
        GOOD,
    ],
)
def test_a_sidecar_line_that_is_none_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(StudyError, match="difficulty line 2"):
        read_sidecar([GOOD, bad])


def otb(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["recut", *arguments])
    return result.exit_code, result.output


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "difficulty.jsonl"
    path.write_text("".join(json.dumps({"item_id": i.item_id, "passes": i.passes}) + "\n" for i in ITEMS), "utf-8")
    pools = ["--pool", "q", "--pool", "r", "--band", "0-1", "--before", "p"]
    out = tmp_path / "band.json"
    code, said = otb(str(path), *pools, "--before-band", "0-0", "--out", str(out), "--json")
    assert code == 0, said
    assert json.loads(said) == {
        "kept": 3,
        "easier": 1,
        "harder": 0,
        "unmeasured": 1,
        "kept_before": 1,
        "stayed": 1,
        "left": 0,
        "joined": 2,
    }
    assert json.loads(out.read_bytes())["kept"] == ["none", "one", "two"]
    assert otb(str(path), "--pool", "q", "--band", "0-2")[0] == 2
    code, said = otb(str(path), "--pool", "nobody", "--band", "0-1")
    assert code == 3 and "unmeasured: 5" in said
    path.write_text('{"item_id": "x"}\n', "utf-8")
    code, said = otb(str(path), "--pool", "q", "--band", "0-1")
    assert code == 2 and "difficulty.jsonl line 1" in said
    assert otb(str(tmp_path / "absent.jsonl"), "--pool", "q", "--band", "0-1")[0] == 2
