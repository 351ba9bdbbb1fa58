"""Twinkle's result files: ours written and read again, planted differences, rows of other data sets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.datasets import make_row
from support.evaluation import make_item, make_response
from typer.testing import CliRunner

from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.journal import Journal, read_responses, write_run
from opentwbench.evaluation.model import AskedItem, ErrorClass, Graded, RunRecord
from opentwbench.evaluation.protocols import PATTERN
from opentwbench.evaluation.scoring import grade
from opentwbench.evaluation.twinkle_results import Imported, read_details, write_results
from orchestration.cli import application

ITEMS = [make_item(n) for n in range(12)]
RECORD = RunRecord(
    "run-1", "made-up", PATTERN.protocol_id, "exam", "0123456789ab", "scored", 12, 2, "2026-11-30T08:15:00+00:00"
)


def graded(items: list[AskedItem]) -> list[Graded]:
    """Two repeats: right, wrong, unread in turn; the second one fails on the last item."""
    out = []
    for repeat in (0, 1):
        for n, item in enumerate(items):
            letter = item.key if n % 3 == 0 else "A" if item.key != "A" else "B"
            text = f"答案：{letter}" if n % 3 < 2 else "無"
            failed = {"error": ErrorClass.TIMEOUT} if (repeat, n) == (1, len(items) - 1) else {}
            out.append(grade(make_response(item, text, PATTERN, repeat, **failed), item.key))
    return out


def test_our_results_in_its_form(tmp_path: Path) -> None:
    stranger = grade(make_response(make_item(99), "A", PATTERN), "A")
    written = write_results(tmp_path, RECORD, PATTERN, [*graded(ITEMS), stranger], ITEMS, "twinkle-pattern")
    assert (written.rows, written.errors, written.foreign) == (23, 1, 1)
    assert [path.name for path in written.details] == [f"eval_results_20261130_0815_run{k}.jsonl" for k in (0, 1)]
    found = json.loads(written.results.read_text(encoding="utf-8"))
    dataset = found["dataset_results"]["exam"]
    assert [each["file"] for each in dataset["results"]] == [f"subject-{n}/benchmark.jsonl" for n in range(3)]
    # Items 0, 3, 6, 9 are subject-0 and right; subject-1 is wrong; subject-2 is unread, one of its requests failed.
    assert [each["accuracy_mean"] for each in dataset["results"]] == [1.0, 0.0, 0.0]
    assert [each["unparsed_count"] for each in dataset["results"]] == [0, 0, 7]
    assert dataset["average_accuracy"] == pytest.approx(1 / 3)
    assert found["config"]["opentwbench"]["failed_requests"] == 1
    rows = [json.loads(line) for line in written.details[0].read_text(encoding="utf-8").splitlines()]
    assert [row["question_id"] for row in rows] == [n // 3 for n in range(12)]
    assert rows[0]["question"] == "第 0 題：下列何者正確？\nA: 甲說0\nB: 乙說0\nC: 丙說0\nD: 丁說0"
    assert (rows[1]["predicted_answer"], rows[1]["correct_answer"], rows[1]["is_correct"]) == ("A", "B", False)


def read(path: Path, items: list[AskedItem]) -> tuple[list[str], Imported]:
    counts = Imported()
    return [each.item_id for each in read_details(path, items, RECORD, "twinkle-pattern", counts)], counts


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    twins = [make_item(n, question="同一題幹？", item_id=f"twins-{n:012x}", subject="twins") for n in (20, 21)]
    copies = [replace(make_item(0), item_id="other-0123456789ab", subject="other")]
    items = [*ITEMS, *twins, *copies]
    written = write_results(tmp_path, RECORD, PATTERN, graded(items), items, "twinkle-pattern")
    ids, counts = read(written.details[0], items)
    assert sorted(ids) == sorted(item.item_id for item in items)
    assert (counts.rows, counts.matched, counts.unmatched, counts.differing) == (15, 15, 0, 0)
    back = list(read_details(written.details[0], items, RECORD, "twinkle-pattern", Imported()))
    first = {each.response.item_id: each.response for each in graded(items)[: len(items)]}
    assert all((each.content, each.option_order) == (first[each.item_id].content, "ABCD") for each in back)


def test_rows_of_another_version_and_planted_letters_are_counted(tmp_path: Path) -> None:
    written = write_results(tmp_path, RECORD, PATTERN, graded(ITEMS), ITEMS, "twinkle-pattern")
    path = written.details[0]
    corrected = [replace(ITEMS[0], options={**ITEMS[0].options, "A": "更正"}), *ITEMS[1:]]
    assert (read(path, corrected)[1].matched, read(path, corrected)[1].unmatched) == (11, 1)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows[4]["predicted_answer"] = "D"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    counts = read(path, ITEMS)[1]
    assert (counts.differing, counts.examples) == (1, [ITEMS[4].item_id])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"{}\n", "line 1: no question"),
        (b"\n", "line 1: not JSON"),
        (b"[]\n", "line 1: not a JSON object"),
        (b"\xff\n", "line 1: not UTF-8"),
        (b'{"question": "x", "llm_output": 7}\n', "no text"),
        (b"{" * 50_000 + b"\n", "not JSON"),
    ],
)
def test_a_line_that_is_no_row_is_named(tmp_path: Path, line: bytes, words: str) -> None:
    (tmp_path / "d.jsonl").write_bytes(line)
    with pytest.raises(DatasetError, match=words):
        read(tmp_path / "d.jsonl", ITEMS)


def test_other_methods_and_times_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no method"):
        write_results(tmp_path, RECORD, PATTERN, [], ITEMS, "strict")
    with pytest.raises(DatasetError, match="ISO"):
        write_results(tmp_path, replace(RECORD, started="../x"), PATTERN, [], ITEMS, "twinkle-box")


def test_the_commands_there_and_back(tmp_path: Path) -> None:
    """A run exported, imported under another name, and scored the same by Twinkle's own rule."""
    path = tmp_path / "benchmark.jsonl"
    path.write_text("".join(json.dumps(make_row(n).to_json(), ensure_ascii=False) + "\n" for n in range(9)))
    store, runs = tmp_path / "store", tmp_path / "store" / "runs"

    def otb(*arguments: object, status: int = 0) -> Any:
        result = CliRunner().invoke(
            application(["twinkle"]), ["twinkle", *(str(each) for each in arguments), "--store", str(store)]
        )
        assert result.exit_code == status, result.output
        return result.stdout

    run = replace(RECORD, repeats=1, n_items=9)
    write_run(runs / "run-1", run, PATTERN)
    with Journal(runs / "run-1") as journal:
        for n in range(9):
            row = make_row(n)
            item = make_item(n, item_id=row.item_id, question=row.question)
            journal.append(make_response(item, f"答案：{'ABCD'[n % 3]}", PATTERN))
    otb("export", "run-1", "--out", tmp_path / "out", "--items", path)
    details = tmp_path / "out" / "eval_results_20261130_0815_run0.jsonl"
    arguments = (details, "--run-id", "back", "--model", "made-up", "--items", path)
    assert json.loads(otb("import", *arguments, "--json")) == {"rows": 9, "matched": 9, "unmatched": 0, "differing": 0}
    assert [r.content for r in read_responses(runs / "back")] == [r.content for r in read_responses(runs / "run-1")]
    (scores,) = (runs / "back" / "scores").glob("*.json")
    accuracy = json.loads(next((tmp_path / "out").glob("results_*.json")).read_text())["dataset_results"]["exam"]
    micro = json.loads(scores.read_text())["methods"]["twinkle-pattern"]["micro"]
    assert micro["value"] == pytest.approx(accuracy["results"][0]["accuracy_mean"])
    otb("import", *arguments, status=2)
    otb("export", "../x", "--out", tmp_path / "out", "--items", path, status=2)
    details.write_text("{}\n")
    otb("import", details, "--run-id", "third", "--model", "m", "--items", path, status=3)
    assert not (runs / "third").exists()
