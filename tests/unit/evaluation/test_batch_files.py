"""Batch files: what is written is what would be asked, what comes back is taken once, and nothing foreign is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.runs import made_set, make_run

from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation import batch_files
from opentwbench.evaluation.batch_files import take_results, write_requests
from opentwbench.evaluation.items import ItemSet
from opentwbench.evaluation.journal import DigestSet, answered, read_responses
from opentwbench.evaluation.model import ErrorClass
from opentwbench.evaluation.protocols import BOX
from opentwbench.evaluation.runner import Plan, questions
from samples.model_endpoint import ModelEndpoint


def plan_of(items: ItemSet, repeats: int = 1) -> Plan:
    """A plan as `make_run` has it."""
    return Plan("test-run", "scripted", BOX, items, repeats)


def results(requests: Path, content: str = "\\boxed{A}", **changes: Any) -> list[dict[str, Any]]:
    """What a Batch API sends back for a request file."""
    out = []
    for line in requests.read_text(encoding="utf-8").splitlines():
        usage = {"prompt_tokens": 9, "completion_tokens": 3}
        choice = {"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
        body = {"model": "served", "choices": [choice], "usage": usage}
        response = {"status_code": 200, "request_id": "r", "body": body}
        out.append(
            {"id": "x", "custom_id": json.loads(line)["custom_id"], "response": response, "error": None, **changes}
        )
    return out


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    """A result file."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_the_requests_are_those_that_would_be_asked(tmp_path: Path) -> None:
    plan = plan_of(made_set(tmp_path, 12), repeats=2)
    ((path, count),) = write_requests(plan, DigestSet(), tmp_path / "out")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert count == len(lines) == 24
    assert [line["body"] for line in lines] == [dict(question.body) for question in questions(plan)]
    assert {(line["method"], line["url"]) for line in lines} == {("POST", "/v1/chat/completions")}
    assert len({line["custom_id"] for line in lines}) == 24
    assert max(len(line["custom_id"]) for line in lines) <= 64
    with pytest.raises(DatasetError, match="already holds"):
        write_requests(plan, DigestSet(), tmp_path / "out")


def test_files_stay_within_the_bounds_of_the_api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(made_set(tmp_path, 25))
    monkeypatch.setattr(batch_files, "MOST_REQUESTS", 10)
    assert [count for _, count in write_requests(plan, DigestSet(), tmp_path / "a")] == [10, 10, 5]
    monkeypatch.setattr(batch_files, "MOST_BYTES", 4_000)
    files = write_requests(plan, DigestSet(), tmp_path / "b")
    assert sum(count for _, count in files) == 25
    assert max(path.stat().st_size for path, _ in files) <= 4_000
    monkeypatch.setattr(batch_files, "MOST_BYTES", 100)
    with pytest.raises(DatasetError, match="larger than a batch file"):
        write_requests(plan, DigestSet(), tmp_path / "c")


def test_results_become_the_run_and_a_second_time_changes_nothing(tmp_path: Path) -> None:
    plan, folder = plan_of(made_set(tmp_path, 10)), tmp_path / "run"
    ((path, _),) = write_requests(plan, DigestSet(), tmp_path / "out")
    done = write(tmp_path / "results.jsonl", list(reversed(results(path))))  # in any order
    counts = take_results(plan, [done], folder)
    assert (counts.lines, counts.taken, counts.known, counts.foreign) == (10, 10, 0, 0)
    found = list(read_responses(folder))
    assert {each.request_hash for each in found} == {each.request_hash for each in questions(plan)}
    assert {(each.content, each.served_model, each.prompt_tokens) for each in found} == {("\\boxed{A}", "served", 9)}
    before = (folder / "responses.jsonl").read_bytes()
    counts = take_results(plan, [done, done], folder)
    assert (counts.taken, counts.known) == (0, 20)
    assert (folder / "responses.jsonl").read_bytes() == before


def test_a_batch_asks_only_what_a_run_has_not_got(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    few, all_of_them = made_set(tmp_path, 4), None
    make_run(few, tmp_path / "run", endpoint.base_url)
    all_of_them = made_set(tmp_path, 10)
    plan = plan_of(all_of_them)
    ((path, count),) = write_requests(plan, answered(tmp_path / "run"), tmp_path / "out")
    assert count == 6
    take_results(plan, [write(tmp_path / "results.jsonl", results(path))], tmp_path / "run")
    assert len(list(read_responses(tmp_path / "run"))) == 10
    assert make_run(all_of_them, tmp_path / "run", endpoint.base_url).asked == 0


def test_errors_are_classified_and_a_later_batch_mends_them(tmp_path: Path) -> None:
    plan, folder = plan_of(made_set(tmp_path, 5)), tmp_path / "run"
    ((path, _),) = write_requests(plan, DigestSet(), tmp_path / "out")
    sent = results(path)
    sent[0] |= {"response": None, "error": {"code": "batch_expired", "message": "This request expired"}}
    sent[1]["response"] = {"status_code": 500, "body": {"error": {"message": "oops"}}}
    sent[2]["response"] = {"status_code": 400, "body": {"error": {"message": "x", "code": "context_length_exceeded"}}}
    sent[3]["response"]["body"] = {"choices": []}
    counts = take_results(plan, [write(tmp_path / "one.jsonl", sent)], folder)
    assert dict(counts.errors) == {
        ErrorClass.TRANSPORT: 1,
        ErrorClass.SERVER: 1,
        ErrorClass.CONTEXT_OVERFLOW: 1,
        ErrorClass.UNREADABLE: 1,
    }
    # The same file again changes nothing.
    journal = (folder / "responses.jsonl").read_bytes()
    repeated = take_results(plan, [tmp_path / "one.jsonl"], folder)
    assert (repeated.lines, repeated.taken, repeated.known) == (5, 0, 5)
    assert (folder / "responses.jsonl").read_bytes() == journal
    ((_, again),) = write_requests(plan, answered(folder), tmp_path / "again")
    assert again == 3  # what overflows the context would do so again
    take_results(plan, [write(tmp_path / "two.jsonl", results(path))], folder)
    found = list(read_responses(folder))
    assert len(found) == 5
    assert all(not each.error for each in found)


def test_foreign_results_are_counted_and_left(tmp_path: Path) -> None:
    plan, folder = plan_of(made_set(tmp_path, 5)), tmp_path / "run"
    ((path, _),) = write_requests(plan, DigestSet(), tmp_path / "out")
    sent = results(path)
    changed = sent[0]["custom_id"].split("-", 2)
    sent[0]["custom_id"] = "-".join((changed[0], "0" * 16, changed[2]))  # the same item, another request
    sent[1]["custom_id"] = "../../etc/passwd"
    counts = take_results(plan, [write(tmp_path / "results.jsonl", sent)], folder)
    assert (counts.taken, counts.foreign) == (3, 2)
    assert sorted(each.name for each in folder.iterdir()) == [".lock", "responses.jsonl"]


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"id": 1}', "[" * 50_000])
def test_what_is_no_result_file_is_said(tmp_path: Path, line: str) -> None:
    plan = plan_of(made_set(tmp_path, 2))
    bad = tmp_path / "results.jsonl"
    bad.write_text(line + "\n")
    with pytest.raises(DatasetError, match=r"results\.jsonl line 1"):
        take_results(plan, [bad], tmp_path / "run")
