"""`otb audit` from outside: report, lists, exit statuses, hostile names and texts."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.benchmark_splits import line, small_tmmlu, write_splits, write_table
from typer.testing import CliRunner

from orchestration.cli import app

RUN = CliRunner()


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The published audit in small, as CSV."""
    return write_splits(tmp_path / "tmmlu", small_tmmlu())


def report(*arguments: str, status: int = 0) -> dict[str, Any]:
    result = RUN.invoke(app, ["audit", *arguments, "--json"])
    assert result.exit_code == status, result.output
    (text,) = result.stdout.splitlines()
    found: dict[str, Any] = json.loads(text)
    return found


def test_the_report_as_json(small: Path) -> None:
    found = report(str(small))
    figures = found["figures"]
    assert (figures["rows"], figures["groups"], figures["duplicated"]) == (231, 8, 17)
    assert (figures["conflicts_by_letter"], figures["false_conflicts"], figures["true_conflicts"]) == (3, 2, 1)
    assert (figures["across_splits"], figures["leaked"], figures["test_items"]) == (4, 2, 202)
    assert found["complete"] is True
    assert found["splits"]["train"] == {"rows": 10, "duplicated": 2, "test_items": 1}
    assert next((each["file"], each["rows"]) for each in found["files"]) == ("data/civics_dev.csv", 3)
    (disagreement,) = found["disagreements"]
    assert {member["answer"] for member in disagreement["members"]} == {"敘述甲3", "敘述丁3"}


def test_the_report_as_a_table(small: Path) -> None:
    result = RUN.invoke(app, ["audit", str(small)], env={"COLUMNS": "120"})
    assert result.exit_code == 0, result.output
    cells = [tuple(part.strip() for part in text.split("│")[1:-1]) for text in result.stdout.splitlines()]
    for words, count in (
        ("rows", "231"),
        ("duplicate groups", "8"),
        ("conflicts by letter", "3"),
        ("false: the answer texts agree", "2"),
        ("true: the answer texts differ", "1"),
        ("groups across splits", "4"),
        ("test items found in another split", "2"),
    ):
        assert (words, count) in cells
    assert ("validation", "14", "3", "1") in cells
    assert "敘述丁3" in result.stdout


def test_lists_are_written_twice_and_say_the_same(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "lists"
    out.mkdir()
    (out / "mine.txt").write_text("stays")
    report(str(small), "--out", str(out))
    sizes = {}
    for name in ("groups", "conflicts", "leaks", "same_stem", "faults"):
        records = [json.loads(text) for text in (out / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
        with (out / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        as_text = {True: "true", False: "false"}
        assert rows == [{k: as_text[v] if isinstance(v, bool) else str(v) for k, v in each.items()} for each in records]
        sizes[name] = len(records)
    assert sizes == {"groups": 17, "conflicts": 6, "leaks": 2, "same_stem": 2, "faults": 0}
    assert (out / "mine.txt").read_text() == "stays"
    assert sorted(path.name for path in out.iterdir() if path.name.startswith(".")) == []


def test_strict_fails_for_leaks_and_for_answers_that_disagree_alone(tmp_path: Path) -> None:
    one = replace(line(1, "test"), answer="A")
    for name, other, status in (
        ("leak", replace(one, split="train"), 4),
        ("conflict", replace(one, answer="B"), 4),
        ("hidden", replace(one.turned(1), answer="A"), 4),
        ("turned", one.turned(1), 0),
        ("same", one, 0),
        ("another", line(2, "train"), 0),
    ):
        folder = write_splits(tmp_path / name, [one, other])
        report(str(folder), "--strict", status=status)
        report(str(folder), status=0)


def test_an_incomplete_audit_exits_3_and_names_the_file_and_the_row(small: Path, tmp_path: Path) -> None:
    (small / "data" / "bad_test.csv").write_bytes(b"question,A\nx,1\n")
    found = report(str(small), status=3)
    assert found["complete"] is False
    named = {each["file"]: (each["reason"], each["detail"]) for each in found["files"] if each["reason"]}
    assert list(named) == ["data/bad_test.csv"] and named["data/bad_test.csv"][0] == "missing_column"
    (small / "data" / "bad_test.csv").write_bytes(b"question,A,B,answer\n,1,2,A\n")
    found = report(str(small), "--out", str(tmp_path / "lists"), status=3)
    assert found["figures"]["left_out"] == {"empty_question": 1}
    fault = json.loads((tmp_path / "lists" / "faults.jsonl").read_text())
    assert (fault["file"], fault["row"], fault["reason"]) == ("data/bad_test.csv", 1, "empty_question")
    report(str(small), "--strict", status=4)  # what was found goes before what could not be looked at


def test_a_fault_that_leaves_a_row_in_does_not_change_the_status(small: Path) -> None:
    (small / "data" / "x_test.csv").write_text("question,A,B,C,answer\n問題？,1,,3,Z\n")
    assert report(str(small))["figures"]["notes"] == {"empty_option": 1, "answer_out_of_range": 1}
    (small / "README.md").write_text("a card")
    assert report(str(small))["complete"] is True


def test_columns_and_splits_are_mapped_by_options(tmp_path: Path) -> None:
    records = [
        {"stem": "問題？", "choices": ["甲", "乙"], "gold": 0, "part": "eval"},
        {"stem": "問題？", "choices": ["乙", "甲"], "gold": 0, "part": "pool"},
    ]
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    mapping = ("--question", "stem", "--options", "choices", "--answer", "gold", "--answer-form", "from-0")
    found = report(str(tmp_path), *mapping, "--split-column", "part", "--test", "eval")
    assert (found["figures"]["leaked"], found["figures"]["hidden_conflicts"]) == (1, 1)
    found = report(str(tmp_path), "--question", "stem", "--answer", "")
    assert (found["figures"]["groups"], found["figures"]["keyed_groups"]) == (1, 0)
    assert found["figures"]["test_splits"] == []
    write_table(tmp_path / "b" / "x.csv", [line(1, "").record()])
    write_table(tmp_path / "c" / "x.csv", [line(1, "").record()])
    (tmp_path / "all.jsonl").unlink()
    assert report(str(tmp_path), "--split-from", "folder", "--test", "b")["figures"]["leaked"] == 1
    assert report(str(tmp_path), "--split", "test=b/*", "--split", "seen=c/*")["figures"]["leaked"] == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["absent"], "no directory"),
        (["tmmlu/data/law_test.csv"], "no directory"),
        (["empty"], "no .csv, .jsonl or .parquet file in it"),
        (["tmmlu", "--test", "held-out"], "no such split; there are dev, test, train, validation"),
        (["tmmlu", "--out", "tmmlu/lists"], "the next audit would read the lists as splits"),
        (["tmmlu", "--out", "tmmlu"], "the next audit would read"),
        (["tmmlu", "--out", "file"], "not a folder"),
        (["tmmlu", "--split", "test"], "SPLIT=GLOB is needed"),
        (["tmmlu", "--options", "A,,B"], "a name is empty or stands twice"),
        (["tmmlu", "--options", "A,A"], "a name is empty or stands twice"),
        (["tmmlu", "--question", ""], "a name is needed"),
        (["tmmlu", "--answer-form", "roman"], "answer-form"),
        ([], "DIR"),
    ],
)
def test_wrong_arguments_exit_2_and_say_why(
    small: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(small.parent)
    Path("empty").mkdir()
    Path("file").touch()
    result = RUN.invoke(app, ["audit", *arguments], env={"COLUMNS": "200"})
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stdout == ""


def test_nothing_from_a_file_steers_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07[red]題[/red]\u202e\r"
    one = replace(line(1, "test"), question=evil, options=(evil, "乙", "丙", "丁"), answer="A")
    folder = write_splits(tmp_path, [one, replace(one, answer="B", split="train")])
    (folder / "data" / "\x1b[31m_test.csv").write_bytes(b"question,\x1b[1m\nx,1\n")
    result = RUN.invoke(app, ["audit", str(folder)], env={"COLUMNS": "160"})
    assert result.exit_code == 3
    assert "\x1b" not in result.stdout and "\x07" not in result.stdout and "\u202e" not in result.stdout
    assert "[red]題[/red]" in result.stdout  # markup is text
    assert "missing_column" in result.stdout


def test_a_split_that_fits_no_file_is_refused(small: Path) -> None:
    result = RUN.invoke(app, ["audit", str(small), "--split", "dev=*_dve.csv"])
    assert result.exit_code == 2
    assert "--split dev=*_dve.csv: no file below" in " ".join(result.output.split())
    assert report(str(small), "--split", "dev=*_dev.csv")["complete"] is True
