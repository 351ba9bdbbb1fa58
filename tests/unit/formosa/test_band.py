"""The difficulty band: a cut by hand, sidecars read as hostile, and `otb formosa recut`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from opentwbench.formosa.band import Band, CurationError, Cut, Difficulty, read_band, read_sidecar, recut
from orchestration.formosa_command import app

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
    with pytest.raises(CurationError, match="pool"):
        recut(ITEMS, pool, Band(0, 1))


@pytest.mark.parametrize("text", ["", "6", "0-8", "3-2", "a-b", "-1-3", "0–6", "0-6 ", "99999-99999"])
def test_a_band_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(CurationError, match="band"):
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
        {"item_id": "y", "passes": {"p": False}, "unparsed": "p"},
        {"item_id": "y", "passes": {"p": True}, "unparsed": ["p"]},
        {"item_id": "y", "passes": {"p": False}, "unparsed": ["q"]},
        GOOD,
    ],
)
def test_a_sidecar_line_that_is_none_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(CurationError, match="difficulty line 2"):
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
