"""Replies of an earlier run: taken where the request is the same to the byte, and nowhere else."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from support.runs import QUICK, write_items

from opentwbench.evaluation.client import Rates
from opentwbench.evaluation.costs import Spending
from opentwbench.evaluation.items import ItemSet, Roster, item_set
from opentwbench.evaluation.journal import (
    Journal,
    read_responses,
    write_adjustments,
    write_run,
)
from opentwbench.evaluation.model import ErrorClass, RunRecord
from opentwbench.evaluation.protocols import BOX, find
from opentwbench.evaluation.reuse import ReuseError, difference, sources_of, take
from opentwbench.evaluation.runner import Plan, RunOutcome, Tally, run
from opentwbench.evaluation.runs import Wish, prepare, score
from samples.model_endpoint import ModelEndpoint


def _items(folder: Path, n: int) -> ItemSet:
    folder.mkdir(exist_ok=True)
    return item_set([write_items(folder / "benchmark.jsonl", n)])


def _prepared(items: ItemSet, runs: Path, wish: Wish | None = None) -> tuple[Plan, RunRecord, Path]:
    plan, record = prepare(wish or Wish("scripted", BOX), items, Roster(items))
    folder = runs / record.run_id
    write_run(folder, record, plan.protocol)
    return plan, record, folder


def _asked(plan: Plan, folder: Path, endpoint: ModelEndpoint) -> RunOutcome:
    total = sum(1 for _ in plan.questions())
    return asyncio.run(run(plan, folder, replace(QUICK, base_url=endpoint.base_url), Rates(8), Tally(total)))


def test_a_new_version_asks_only_what_is_new(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    before, _, old = _prepared(_items(tmp_path / "v1", 40), runs)
    assert _asked(before, old, endpoint).asked == 40
    items = _items(tmp_path / "v2", 55)
    plan, record, folder = _prepared(items, runs)
    assert folder != old
    taken = take(plan, record, folder, [old])
    assert (taken.total, taken.by_run) == (40, {old.name: 40})
    outcome = _asked(plan, folder, endpoint)
    assert (outcome.asked, outcome.skipped, outcome.complete) == (15, 40, True)
    assert endpoint.stats()["requests"] == 55
    responses = list(read_responses(folder))
    assert sorted(each.attempts for each in responses) == [0] * 40 + [1] * 15
    assert {each.run_id for each in responses} == {record.run_id}
    # The score is that of a run that asked everything.
    fresh = tmp_path / "fresh"
    assert _asked(plan, fresh, endpoint).asked == 55
    assert score(folder, Roster(items)) == score(fresh, Roster(items))
    # Doing it again takes nothing.
    assert take(plan, record, folder, [old]).total == 0


def test_a_taken_reply_costs_the_run_nothing(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    before, _, old = _prepared(_items(tmp_path / "v1", 20), tmp_path)
    _asked(before, old, endpoint)
    plan, record, folder = _prepared(_items(tmp_path / "v2", 22), tmp_path)
    take(plan, record, folder, [old])
    outcome = _asked(plan, folder, endpoint)
    spent, of_the_new = outcome.spending, Spending()
    for each in read_responses(folder):
        if each.attempts:
            of_the_new.add(each)
    assert (spent.responses, spent.tokens) == (2, of_the_new.tokens)


def test_another_text_another_budget_and_an_error_are_not_taken(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    before, _, old = _prepared(_items(tmp_path / "v1", 10), tmp_path)
    _asked(before, old, endpoint)
    changed = write_items(tmp_path / "changed.jsonl", 10, question="改過的題目：下列何者正確？")
    plan, record, folder = _prepared(item_set([changed]), tmp_path)
    assert take(plan, record, folder, [old]).total == 0
    failed = [replace(each, error=ErrorClass.TIMEOUT, content=None) for each in read_responses(old)]
    plan, record, folder = _prepared(_items(tmp_path / "v3", 11), tmp_path)
    source = tmp_path / "failed"
    write_run(source, replace(record, run_id="failed"), plan.protocol)
    with Journal(source) as journal:
        journal.append_all(failed)
    assert take(plan, record, folder, [source]).total == 0


def test_a_later_repeat_is_not_the_first_one(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    before, _, old = _prepared(_items(tmp_path / "v1", 6), tmp_path)
    _asked(before, old, endpoint)
    plan, record, folder = _prepared(_items(tmp_path / "v1", 6), tmp_path, Wish("scripted", BOX, repeats=3))
    assert take(plan, record, folder, [old]).total == 6
    assert {each.repeat for each in read_responses(folder)} == {0}


@pytest.mark.parametrize(
    ("wish", "named"),
    [
        (Wish("another", BOX), "model"),
        (Wish("scripted", find("box", 16_384)), "protocol_id"),
        (Wish("scripted", BOX, serving_precision="quantised", run_id="other"), "serving_precision"),
        (Wish("scripted", BOX, notes={"runtime": "vllm"}, run_id="other"), "notes"),
    ],
)
def test_a_run_that_asked_otherwise_is_refused_and_named(tmp_path: Path, wish: Wish, named: str) -> None:
    _, _, old = _prepared(_items(tmp_path / "v1", 5), tmp_path)
    plan, record, folder = _prepared(_items(tmp_path / "v1", 5), tmp_path, wish)
    with pytest.raises(ReuseError, match=named):
        take(plan, record, folder, [old])
    assert list(read_responses(folder)) == []
    assert sources_of(record, [old, folder]) == [folder]


def test_a_run_whose_endpoint_refused_a_parameter_is_no_source(tmp_path: Path) -> None:
    _, _, old = _prepared(_items(tmp_path / "v1", 5), tmp_path)
    _, record, _ = _prepared(_items(tmp_path / "v2", 6), tmp_path)
    assert difference(record, old) == ""
    write_adjustments(old, {"temperature": ""})
    assert "temperature" in difference(record, old)


def test_a_damaged_folder_is_passed_over_among_many(tmp_path: Path) -> None:
    _, record, old = _prepared(_items(tmp_path / "v1", 5), tmp_path)
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "run.json").write_text("{")
    assert sources_of(record, [tmp_path / "damaged", old]) == [old]
