"""`otb subject proposals` and `withdraw` over a built store, and what a withdrawal makes of a data set."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support.exam_store import CONSTITUTION, LIBRARY
from typer.testing import CliRunner

from opentwbench.exam.dependence import Evidence, Proposal, Sign
from orchestration.cli import app
from orchestration.configuration import Configuration
from orchestration.withdrawal_commands import _show
from resources.store import Store

runner = CliRunner()


def otb(*arguments: object) -> tuple[int, str, str]:
    result = runner.invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def items(store: Path, slug: str) -> list[dict[str, Any]]:
    place = Store(str(store))
    return [json.loads(line) for line in place.lines(place.items(slug))]


def withdraw(store: Path, item_id: str, listed: Path, *more: object) -> tuple[int, str, str]:
    given = more or ("--reason", "needs_figure", "--evidence", "page 2: a drawing", "--date", "2026-11-30")
    return otb("subject", "withdraw", item_id, "--store", store, "--withdrawn", listed, *given)


def test_a_withdrawal_leaves_the_published_set_and_shrinks_the_scored_one(
    copied: Path, sample_ministry: Path, tmp_path: Path
) -> None:
    folder, listed = copied / "datasets" / LIBRARY, tmp_path / "withdrawn.jsonl"
    before = json.loads((folder / "manifest.json").read_text())
    published = (folder / "benchmark.jsonl").read_bytes()
    chosen = next(item["item_id"] for item in items(copied, LIBRARY) if item["bucket"] == "published")
    status, words, _ = withdraw(copied, chosen, listed)
    assert status == 0
    assert chosen in words
    build = ("build", "exam", "--source", sample_ministry, "--store", copied, "--delay", 0)
    status, out, _ = otb(*build, "--withdrawn", listed, "--json")
    assert status == 0, out
    after = json.loads((folder / "manifest.json").read_text())
    assert after["version"] != before["version"]
    assert after["counts"]["items"] == before["counts"]["items"]
    assert after["counts"]["scored"] == before["counts"]["scored"] - 1
    assert (folder / "benchmark.jsonl").read_bytes() == published
    assert json.loads((folder / "build_stats.json").read_text())["sets"]["withdrawn"] == 1
    export = tmp_path / "scored"
    assert otb("subject", "export", LIBRARY, "--store", copied, "--out", export)[0] == 0
    assert len((export / "benchmark.jsonl").read_bytes().splitlines()) == after["counts"]["scored"]
    assert chosen not in (export / "benchmark.jsonl").read_text()


def test_a_day_to_come_and_evidence_of_two_lines_are_refused(copied: Path, tmp_path: Path) -> None:
    listed = tmp_path / "withdrawn.jsonl"
    chosen = next(item["item_id"] for item in items(copied, LIBRARY) if item["bucket"] == "published")
    for given, words in (
        (("--reason", "needs_figure", "--evidence", "page 2", "--date", "2999-01-01"), "still to come"),
        (("--reason", "needs_figure", "--evidence", "page 2\npage 3"), "one line"),
    ):
        status, _, error = withdraw(copied, chosen, listed, *given)
        assert (status, words in error) == (2, True)
    assert not listed.exists()


def test_a_later_build_applies_the_list_that_an_earlier_one_was_given(
    copied: Path, sample_ministry: Path, tmp_path: Path
) -> None:
    """Also the UI's own resources do; only `none` puts the item back, and a list that is gone stops the build."""
    listed = tmp_path / "withdrawn.jsonl"
    chosen = next(item["item_id"] for item in items(copied, LIBRARY) if item["bucket"] == "published")
    assert withdraw(copied, chosen, listed)[0] == 0
    build = ("build", "exam", "--source", sample_ministry, "--store", copied, "--delay", 0, "--json")

    def scored() -> int:
        return int(json.loads((copied / "datasets" / LIBRARY / "manifest.json").read_text())["counts"]["scored"])

    whole = scored()
    assert otb(*build, "--withdrawn", listed)[0] == 0
    status, out, _ = otb(*build)
    assert (status, scored()) == (0, whole - 1)
    assert json.loads(out)["unchanged"] is True
    assert json.loads(out)["applied_lists"] == {"withdrawn": "withdrawn.jsonl"}
    resources = Configuration(store=str(copied)).resources()
    assert list(resources["lists"].withdrawals()) == [chosen]
    status, out, _ = otb("subject", "show", LIBRARY, "--store", copied, "--json")
    assert (status, json.loads(out)["state"]) == (0, "published")

    gone = listed.rename(tmp_path / "elsewhere.jsonl")
    status, _, error = otb(*build)
    assert (status, "configured and not there" in error) == (2, True)
    gone.rename(listed)
    assert otb(*build, "--withdrawn", "none")[0] == 0
    assert scored() == whole
    assert json.loads(otb(*build)[1])["applied_lists"] == {}


def test_an_excluded_item_leaves_the_data_set_and_is_counted(
    copied: Path, sample_ministry: Path, tmp_path: Path
) -> None:
    listed = tmp_path / "excluded.jsonl"
    lines = items(copied, LIBRARY)
    chosen = next(item["item_id"] for item in lines if item["bucket"] == "published")
    given = ("--reason", "text_damaged", "--evidence", "page 2: two stems in one", "--maintainer", listed)
    status, words, _ = otb("subject", "exclude", chosen, "--store", copied, *given)
    assert (status, chosen in words) == (0, True)
    status, _, error = otb("subject", "exclude", chosen, "--store", copied, *given)
    assert (status, "on the list already" in error) == (2, True)
    build = ("build", "exam", "--source", sample_ministry, "--store", copied, "--delay", 0)
    assert otb(*build, "--maintainer", listed)[0] == 0
    manifest = json.loads((copied / "datasets" / LIBRARY / "manifest.json").read_text())
    assert manifest["counts"]["items"] == sum(item["bucket"] == "published" for item in lines) - 1
    assert {item["bucket"] for item in items(copied, LIBRARY) if item["item_id"] == chosen} == {"maintainer_excluded"}
    assert chosen not in (copied / "publications" / LIBRARY / "benchmark.jsonl").read_text()
    status, _, error = otb("subject", "exclude", chosen, "--store", copied, *given)
    assert (status, "is not published but maintainer_excluded" in error) == (2, True)


def test_what_cannot_be_withdrawn_is_named_and_nothing_is_written(copied: Path, tmp_path: Path) -> None:
    listed = tmp_path / "withdrawn.jsonl"
    item = next(item for item in items(copied, LIBRARY) if item["bucket"] == "published")
    other = next(item for item in items(copied, CONSTITUTION) if item["bucket"] not in ("published", "folded"))
    unknown = item["item_id"][:-12] + "0" * 12
    for wrong, status, words in (
        (unknown, 2, f"{unknown} is no published item"),
        ("nothing-" + "0" * 12, 2, "no subject has such ids"),
        (other["item_id"], 2, f"is not published but {other['bucket']}"),
    ):
        got = withdraw(copied, wrong, listed)
        assert got[0] == status
        assert words in got[2]
    got = withdraw(copied, item["item_id"], listed, "--reason", "ugly", "--evidence", "x")
    assert got[0] == 2
    got = withdraw(copied, item["item_id"], listed, "--reason", "needs_table", "--evidence", "x", "--date", "today")
    assert (got[0], "YYYY-MM-DD" in got[2]) == (2, True)
    assert not listed.exists()
    assert withdraw(copied, item["item_id"], listed)[0] == 0
    before = listed.read_bytes()
    got = withdraw(copied, item["item_id"], listed)
    assert (got[0], "on the list already" in got[2]) == (2, True)
    assert listed.read_bytes() == before
    assert otb("subject", "withdraw", item["item_id"], "--store", tmp_path / "empty", "--withdrawn", listed)[0] == 2
    assert withdraw(tmp_path / "empty", item["item_id"], listed)[0] == 3


def test_proposals_name_item_sign_and_place_and_take_nothing_out(copied: Path) -> None:
    place = Store(str(copied))
    lines = items(copied, LIBRARY)
    planted = next(item for item in lines if item["bucket"] == "published")
    planted["question"] = "則下列何者最適當？"
    place.write(place.items(LIBRARY), "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in lines).encode())
    status, out, _ = otb("subject", "proposals", LIBRARY, "--store", copied, "--json")
    found = [json.loads(line) for line in out.splitlines()]
    mine = next(each for each in found if each["item_id"] == planted["item_id"])
    assert status == 0
    assert {"sign": "continues", "words": "則", "place": "stem 0-1"} in mine["evidence"]
    status, out, _ = otb("subject", "proposals", "--all", "--store", copied)
    assert status == 0
    assert "proposed for a look" in out
    assert planted["item_id"] in out
    assert " proposals in " in out
    assert items(copied, LIBRARY) == lines


def test_the_id_of_a_proposal_is_whole_and_on_one_line_in_a_narrow_terminal() -> None:
    evidence = (Evidence(Sign.CONTINUES, "則" * 60, "stem 0-1"),)
    found = [Proposal("public-administration-" + "0" * 12, "104802-401-0401", 12, evidence, 0.6)]
    shown = StringIO()
    _show(found, 1, Console(file=shown, width=80))
    assert found[0].item_id in shown.getvalue()


@pytest.mark.parametrize(
    ("arguments", "status"),
    [((), 2), ((LIBRARY, "--all"), 2), (("tw-nothing-bench",), 2), ((LIBRARY, "--store", "nowhere"), 3)],
)
def test_proposals_of_nothing(
    arguments: tuple[str, ...], status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert otb("subject", "proposals", *arguments)[0] == status


def test_a_list_with_an_id_of_no_subject_stops_the_build_and_is_named(
    copied: Path, sample_ministry: Path, tmp_path: Path
) -> None:
    listed = tmp_path / "withdrawn.jsonl"
    stray = {"item_id": "nothing-" + "0" * 12, "reason": "x", "date": "2026-11-30", "evidence": "x"}
    listed.write_text(json.dumps(stray) + "\n")
    build = ("build", "exam", "--source", sample_ministry, "--store", copied, "--delay", 0)
    status, _, error = otb(*build, "--withdrawn", listed)
    assert status == 2
    assert f"withdrawn.jsonl: {stray['item_id']} is the id of no subject's item" in error
