"""The command `otb` as programs and people meet it: exit statuses, JSON alone on standard output, words that help."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.exam_store import CONSTITUTION, LIBRARY, SAMPLE_SUBJECTS
from typer.testing import CliRunner

from opentwbench.dataset.validators import BLOCKING_CHECKS
from orchestration.cli import app
from resources.store import Store
from samples.loopback import Fault, FaultKind, LoopbackMinistry

runner = CliRunner()


def otb(*arguments: object) -> tuple[int, str, str]:
    result = runner.invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def build(ministry: Path | str, store: Path, *more: object) -> tuple[int, str, str]:
    return otb("build", "exam", "--source", ministry, "--store", store, "--delay", 0, *more)


def test_a_build_that_changes_nothing_says_so(copied: Path, sample_ministry: Path) -> None:
    status, out, _ = build(sample_ministry, copied)
    assert status == 0
    assert out.startswith("nothing changed: 0 requests, nothing rebuilt")
    for words in (
        "107803/505/0505/Q.pdf",
        "count_mismatch",
        "樣本儀器操作實務",
        "142 subjects have no source",
        "in_tmmlu_plus: NOT applied",
    ):
        assert words in out


def test_json_is_all_that_stands_on_standard_output(copied: Path, sample_ministry: Path) -> None:
    status, out, _ = build(sample_ministry, copied, "--json")
    report = json.loads(out)
    assert status == 0
    assert (report["unchanged"], report["errors"], report["closes"]) == (True, [], [])
    assert {each["reason"] for each in report["rejected"]} == {"count_mismatch", "not_a_pdf"}
    assert sorted(s for s, each in report["subjects"].items() if each["state"] == "published") == [*SAMPLE_SUBJECTS]


def test_a_withheld_subject_is_status_3_and_named_with_its_check(copied: Path, sample_ministry: Path) -> None:
    store = Store(str(copied))
    verdict = store.read_json(store.verdict(LIBRARY, "merged_stems"))
    store.write_json(store.verdict(LIBRARY, "merged_stems"), {**verdict, "passed": False, "detail": "1 planted stem"})
    status, out, _ = build(sample_ministry, copied, "--json")
    state = json.loads(out)["subjects"][LIBRARY]
    assert (status, state["state"], state["against"]) == (3, "withheld", ["merged_stems: 1 planted stem"])
    status, _, _ = build(sample_ministry, copied, "--subject", CONSTITUTION)
    assert status == 0  # what was asked for is published


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--subject", "tw-nothing-bench"), "no subject tw-nothing-bench"),
        (("--year", 999), "999"),
        (("--tmmlu", "nowhere.csv"), "nowhere.csv"),
        (("--delay", -1), "delay"),
    ],
)
def test_wrong_arguments_are_status_2(
    arguments: tuple[object, ...], words: str, copied: Path, sample_ministry: Path
) -> None:
    status, out, error = build(sample_ministry, copied, *arguments)
    assert (status, out) == (2, "")
    assert words in error.replace("\n", "")


def test_a_source_that_is_none_is_status_2(tmp_path: Path) -> None:
    status, _, error = build(tmp_path / "nowhere", tmp_path / "store")
    assert status == 2
    assert "nowhere" in error.replace("\n", "")


def test_a_source_that_sends_us_away_is_status_4(sample_ministry: Path, tmp_path: Path) -> None:
    with LoopbackMinistry(sample_ministry) as server:
        server.plant(Fault(FaultKind.STATUS, status=403, times=None))
        status, out, error = build(server.base_url, tmp_path / "store")
        asked = len(server.log)
    assert (status, out, asked) == (4, "", 1)
    assert "403" in error


def test_help_documents_the_statuses() -> None:
    _, out, _ = otb("build", "exam", "--help")
    assert "Exit status" in out


def test_subject_show(copied: Path) -> None:
    status, out, _ = otb("subject", "show", LIBRARY, "--store", copied)
    assert status == 0
    assert "圖書館學" in out and "published" in out
    for check in BLOCKING_CHECKS:
        assert check in out
    status, out, _ = otb("subject", "show", LIBRARY, "--store", copied, "--json")
    found = json.loads(out)
    table = dict(found["accounting"])
    assert len(found["items"]) == table["printed"] > 0
    assert sum(item["bucket"] == "published" for item in found["items"]) == table["published"]
    assert all(verdict["passed"] for verdict in found["checks"].values())


def test_subject_show_says_what_there_is_not(copied: Path, tmp_path: Path) -> None:
    assert otb("subject", "show", "tw-nothing-bench", "--store", copied)[0] == 2
    assert otb("subject", "show", LIBRARY, "--store", tmp_path / "empty")[0] == 3
    status, out, _ = otb("subject", "show", "tw-dentistry-bench", "--store", copied)
    assert status == 0
    assert "no source" in out


def test_export_for_twinkle_is_the_published_file_alone(copied: Path, tmp_path: Path) -> None:
    status, out, _ = otb("subject", "export", LIBRARY, "--for", "twinkle", "--store", copied, "--out", tmp_path / "t")
    assert status == 0
    assert [file.name for file in (tmp_path / "t").iterdir()] == ["benchmark.jsonl"]
    published = copied / "publications" / LIBRARY / "benchmark.jsonl"
    assert (tmp_path / "t" / "benchmark.jsonl").read_bytes() == published.read_bytes()
    assert "items of version" in out


def test_export_refuses_what_is_not_published_or_not_whole(copied: Path, tmp_path: Path) -> None:
    Store(str(copied)).remove(f"publications/{LIBRARY}")
    status, _, error = otb("subject", "export", LIBRARY, "--store", copied, "--out", tmp_path / "t")
    assert (status, (tmp_path / "t").exists()) == (3, False)
    assert "not published" in error
    damaged = copied / "publications" / CONSTITUTION / "benchmark.jsonl"
    damaged.write_bytes(damaged.read_bytes()[:-10])
    assert otb("subject", "export", CONSTITUTION, "--store", copied, "--out", tmp_path / "t")[0] == 2


def test_outside_text_does_not_act_as_markup(copied: Path) -> None:
    store = Store(str(copied))
    lines = [json.loads(line) for line in store.lines(store.items(LIBRARY))]
    item = next(item for item in lines if item["bucket"] == "published")
    item["question"] = "[red]紅[/red] [link=http://example.org]x[/link]"
    store.write(store.items(LIBRARY), "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in lines).encode())
    _, out, _ = otb("subject", "show", LIBRARY, "--store", copied)
    assert "[red]紅[/red] [link=http://example.org]x[/link]" in out
