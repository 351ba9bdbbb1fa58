"""The difficulty band: a cut by hand, sidecars read as hostile, and `otb formosa recut`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from opentwbench.dataset.atomic import write_file
from opentwbench.dataset.manifest import json_bytes, sha256
from opentwbench.formosa.band import Band, CurationError, Cut, Difficulty, read_band, read_sidecar, recut
from opentwbench.formosa.curation import freeze
from opentwbench.formosa.edition_files import read_edition
from opentwbench.formosa.output import sidecar_bytes
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


# -- a recut edition --------------------------------------------------------------------------------------------------


def frozen(folder: Path) -> Path:
    """An edition over ITEMS with p and q in its pool and r beside it; its sidecar's path."""
    data = sidecar_bytes(ITEMS)
    about = {"protocol_id": "box-0123456789ab", "source": "", "serving_precision": "unknown", "sha256": "", "bytes": 0}
    counts = {"right": 1, "wrong": 1, "unparsed": 0, "error": 0}
    served = {"p": {"p-2026-01-01": 5}, "q": {"other": 5}, "r": {}}
    records = [{"model": model, **about, "served": served[model], **counts} for model in "pqr"]
    made = freeze("first", "2026-11-30", "v1", Band(0, 1), ITEMS, sha256(data), records[:2], records[2:])
    write_file(folder / "difficulty.jsonl", data)
    write_file(folder / "edition.json", json_bytes(made.to_json()))
    return folder / "difficulty.jsonl"


def test_recut_makes_an_edition_that_side_by_side_takes(tmp_path: Path) -> None:
    path, out = frozen(tmp_path / "first"), tmp_path / "second"
    pool = ["--pool", "q", "--pool", "r", "--band", "0-1"]
    code, said = otb(str(path), *pool, "--name", "second", "--date", "2026-12-31", "--out", str(out))
    assert code == 0 and "served otherwise: q answered as other" in said, said
    edition, sidecar = read_edition(out)
    before = read_edition(tmp_path / "first")[0]
    assert (edition.models, edition.recut_of, edition.dataset_version) == (("q", "r"), before.edition_id, "v1")
    assert [each["model"] for each in edition.external] == ["p"] and len(sidecar) == len(ITEMS)
    assert edition.cut.kept == ("none", "one", "two") and f"edition: {edition.edition_id}" in said
    assert (out / "difficulty.jsonl").read_bytes() == path.read_bytes()
    shown = CliRunner().invoke(app, ["side-by-side", str(tmp_path / "first"), str(out)])
    assert shown.exit_code == 0 and "kept by both: 2; left: 0; joined: 1" in shown.output
    assert "q was asked, other answered" in shown.output
    # A newer cut can be cut again.
    again = ["--pool", "p", "--pool", "r", "--band", "0-1", "--name", "third", "--date", "2026-12-31"]
    assert otb(str(out / "difficulty.jsonl"), *again, "--out", str(tmp_path / "third"))[0] == 0


def test_recut_refuses_an_edition_that_it_cannot_vouch_for(tmp_path: Path) -> None:
    path, out = frozen(tmp_path / "first"), str(tmp_path / "second")
    wanted = ["--pool", "q", "--pool", "r", "--name", "second", "--date", "2026-12-31", "--out", out]
    for arguments, words in (
        ([*wanted[:-2], "--band", "0-1"], "needs --name, --date and --out"),
        ([*wanted[:4], "--band", "0-1", "--name", "x", "--out", out], "--date"),
        (["--pool", "q", "--pool", "z", *wanted[4:], "--band", "0-1"], "did not measure it"),
        ([*wanted, "--band", "0-1", "--runs", str(tmp_path)], "no run of first-"),
    ):
        code, said = otb(str(path), *arguments)
        assert code == 2 and words in said.replace("\n", " "), said
    # One answer turned in the sidecar: its hash is not the edition's any more, with or without a new edition.
    path.write_text(path.read_text("utf-8").replace("false", "true", 1), "utf-8")
    for arguments in ([*wanted, "--band", "0-1"], ["--pool", "q", "--band", "0-1"]):
        code, said = otb(str(path), *arguments)
        assert code == 2 and "first/difficulty.jsonl: not the sidecar of first-" in said
    assert not (tmp_path / "second").exists()
    shown = CliRunner().invoke(app, ["side-by-side", str(tmp_path / "first"), str(tmp_path / "first")])
    assert shown.exit_code == 2 and "not the sidecar" in shown.output
    # Without its edition nothing says who the models are.
    (tmp_path / "first" / "edition.json").unlink()
    code, said = otb(str(path), *wanted, "--band", "0-1")
    assert code == 2 and "no edition.json beside" in said
