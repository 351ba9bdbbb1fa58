"""Runs against the loopback endpoint: all asked once, resumed exactly, stopped in order, killed at any moment."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from support.runs import QUICK, answers, item_record, made_set, make_run, response, write_items

from opentwbench.evaluation.client import Endpoint, Rates, Secret
from opentwbench.evaluation.costs import Limit, Price, Spending
from opentwbench.evaluation.items import Roster, item_set
from opentwbench.evaluation.journal import (
    JOURNAL_NAME,
    Journal,
    JournalError,
    RunLocked,
    read_adjustments,
    read_responses,
)
from opentwbench.evaluation.model import ErrorClass
from opentwbench.evaluation.protocols import BOX, PATTERN
from opentwbench.evaluation.runner import BREAKER, QUICK_SYNC, Plan, Tally, questions, rotated, run
from opentwbench.evaluation.runs import score, scoring_watch
from opentwbench.evaluation.scoring import to_json
from samples.model_endpoint import Kind, ModelEndpoint, Rule

TESTS = Path(__file__).resolve().parents[2]


def test_everything_is_asked_once_and_scored(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    items = made_set(tmp_path, 60)
    known = answers(items)
    endpoint.set(answers={stem: known[stem] for stem in list(known)[:40]})
    outcome = make_run(items, tmp_path / "run", endpoint.base_url)
    assert (outcome.asked, outcome.skipped, outcome.complete, outcome.stopped) == (60, 0, True, "")
    stats = endpoint.stats()
    assert (stats["requests"], stats["distinct"]) == (60, 60)
    summary = score(tmp_path / "run", Roster(items))
    assert summary.complete
    # 40 known and right by text wherever the option was shown; the others by chance of their stem.
    chance = sum(
        response.content == f"\\boxed{{{'ABCD'[response.option_order.index(key)]}}}"
        for response, key in _judged(tmp_path)
    )
    assert summary.methods["strict"].micro.hits == chance >= 40
    assert summary.methods["strict"].parsed.hits == 60
    # The same again asks nothing.
    outcome = make_run(items, tmp_path / "run", endpoint.base_url)
    assert (outcome.asked, outcome.skipped, outcome.attempts) == (0, 60, 0)
    assert endpoint.stats()["requests"] == 60


def _judged(folder: Path):  # type: ignore[no-untyped-def]
    keys = {item.item_id: item.key for item in item_set([folder / "benchmark.jsonl"])}
    return [(each, keys[each.item_id]) for each in read_responses(folder / "run")]


def test_rows_that_share_a_stem_are_all_asked_and_repeats_are_kept(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    rows = [item_record(n, question="同一題幹？") for n in range(5)]
    # Two rows that are alike to the letter still are two items.
    rows.append(item_record(4, question="同一題幹？", item_id="sample-subject-ffffffffffff"))
    path = tmp_path / "benchmark.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    outcome = make_run(item_set([path]), tmp_path / "run", endpoint.base_url, repeats=3)
    assert outcome.asked == endpoint.stats()["requests"] == 18
    found = Counter((each.item_id, each.repeat) for each in read_responses(tmp_path / "run"))
    assert len(found) == 18
    assert set(found.values()) == {1}


def test_no_provenance_and_no_key_reaches_a_request(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    planted = {name: f"PLANTED-{name}" for name in ("subject", "exam_name", "paper_id", "answer_text", "reference")}
    items = item_set([write_items(tmp_path / "benchmark.jsonl", 3, **planted, answer="C")])
    sent = b"".join(
        question.payload for protocol in (BOX, PATTERN) for question in questions(Plan("r", "m", protocol, items))
    )
    assert b"PLANTED" not in sent
    assert b"sample-subject" not in sent
    assert {tuple(json.loads(q.payload)) for q in questions(Plan("r", "m", BOX, items))} == {
        ("max_tokens", "messages", "model", "temperature")
    }


def test_a_request_hash_is_that_of_the_bytes_sent(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    make_run(made_set(tmp_path, 20), tmp_path / "run", endpoint.base_url)
    hashes = {each.request_hash for each in read_responses(tmp_path / "run")}
    assert hashes == endpoint.stats(counts=True)["asked"].keys()


def test_five_things_stay_five_things(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    for n, kind in enumerate(
        (Kind.EMPTY, Kind.LENGTH, Kind.REFUSAL, Kind.NULL_CONTENT, Kind.THINK_OPEN, Kind.CONTEXT_OVERFLOW)
    ):
        endpoint.plant(Rule(kind, pattern=f"第{n}題", times=None))
    endpoint.plant(Rule(Kind.STATUS, status=500, pattern="第6題", times=None))
    endpoint.plant(Rule(Kind.TEXT, text="不知道", pattern="第7題", times=None))
    items = made_set(tmp_path, 12)
    make_run(items, tmp_path / "run", endpoint.base_url)
    strict = {
        outcome.value: n for outcome, n in score(tmp_path / "run", Roster(items)).methods["strict"].outcomes.items()
    }
    assert {name: strict.get(name, 0) for name in ("empty", "capped", "refused", "error", "unparsed")} == {
        "empty": 2,
        "capped": 2,
        "refused": 1,
        "error": 2,
        "unparsed": 1,
    }
    assert sum(strict.values()) == 12


@pytest.mark.parametrize("kind", [Kind.REASONING_ONLY, Kind.REASONING_BESIDE, Kind.THINK, Kind.PARTS, Kind.NO_USAGE])
def test_quirks_are_stored_as_they_come(endpoint: ModelEndpoint, tmp_path: Path, kind: Kind) -> None:
    endpoint.plant(Rule(kind, times=None))
    outcome = make_run(made_set(tmp_path, 8), tmp_path / "run", endpoint.base_url)
    found = list(read_responses(tmp_path / "run"))
    assert outcome.complete
    assert len(found) == 8
    assert all(each.error is ErrorClass.NONE for each in found)
    assert all((each.content is None) == (kind is Kind.REASONING_ONLY) for each in found)
    assert all((each.reasoning is not None) == (kind in (Kind.REASONING_ONLY, Kind.REASONING_BESIDE)) for each in found)
    assert all((each.prompt_tokens is None) == (kind is Kind.NO_USAGE) for each in found)
    assert outcome.spending.estimated == (8 if kind is Kind.NO_USAGE else 0)
    assert outcome.spending.tokens > 8 * 100


def test_errors_are_asked_again_by_the_next_start_only(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    items = made_set(tmp_path, 30)
    endpoint.plant(Rule(Kind.STATUS, status=500, pattern="第[0-4]題", times=None))
    endpoint.plant(Rule(Kind.CONTEXT_OVERFLOW, pattern="第5題", times=None))
    first = make_run(items, tmp_path / "run", endpoint.base_url)
    assert first.errors == {ErrorClass.SERVER: 5, ErrorClass.CONTEXT_OVERFLOW: 1}
    assert not first.complete
    endpoint.heal()
    kept = make_run(items, tmp_path / "run", endpoint.base_url, retry_errors=False)
    assert (kept.asked, kept.skipped) == (0, 30)
    endpoint.forget()
    second = make_run(items, tmp_path / "run", endpoint.base_url)
    assert (second.asked, second.skipped, second.complete) == (5, 25, True)
    assert endpoint.stats()["requests"] == 5
    summary = score(tmp_path / "run", Roster(items))
    assert (summary.replies, dict(summary.errors)) == (29, {ErrorClass.CONTEXT_OVERFLOW: 1})


def test_the_score_beside_the_run_is_that_of_the_journal(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    """Over several starts: errors asked again, overflow kept, an earlier start's replies read back."""
    items = made_set(tmp_path, 60)
    roster = Roster(items)
    endpoint.plant(Rule(Kind.STATUS, status=500, pattern="第[0-4]題", times=None))
    endpoint.plant(Rule(Kind.CONTEXT_OVERFLOW, pattern="第5題", times=None))
    endpoint.plant(Rule(Kind.TEXT, text="答案：B", pattern="第7題", times=None))
    for start in range(3):
        scorer, watch = scoring_watch(roster)
        outcome = make_run(items, tmp_path / "run", endpoint.base_url, repeats=2, watch=watch)
        assert outcome.stopped == ""
        assert to_json(scorer.summary()) == to_json(score(tmp_path / "run", roster))
        assert scorer.summary().replies == (2 * 54 if start == 0 else 2 * 59)
        endpoint.heal()


def test_a_refused_key_stops_with_one_message(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    endpoint.set(api_key="right")
    settings = replace(QUICK, secret=Secret("wrong-key-0123456789"))
    outcome = make_run(made_set(tmp_path, 500), tmp_path / "run", endpoint.base_url, endpoint=settings)
    assert "401" in outcome.stopped
    assert not outcome.complete
    assert outcome.asked == 0
    assert endpoint.stats()["requests"] <= 8  # the workers' first questions
    written = b"".join(path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file())
    assert b"wrong-key" not in written


def test_a_broken_endpoint_stops_the_run_and_a_shaky_one_does_not(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    items = made_set(tmp_path, 80)
    endpoint.plant(Rule(Kind.HTML, status=502, times=None))
    outcome = make_run(items, tmp_path / "run", endpoint.base_url)
    assert "ended in an error" in outcome.stopped
    assert BREAKER <= outcome.asked < BREAKER + 16
    endpoint.heal()
    endpoint.plant(Rule(Kind.STATUS, status=500, pattern="第[0-9]*[1-9]題", times=None))  # nine of ten fail
    outcome = make_run(items, tmp_path / "other", endpoint.base_url, concurrency=1)
    assert (outcome.stopped, outcome.asked) == ("", 80)


def test_context_overflow_is_the_items_fault(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    endpoint.plant(Rule(Kind.CONTEXT_OVERFLOW, times=None))
    outcome = make_run(made_set(tmp_path, 60), tmp_path / "run", endpoint.base_url)
    assert (outcome.stopped, outcome.errors, outcome.complete) == ("", {ErrorClass.CONTEXT_OVERFLOW: 60}, True)


def test_the_spending_stop_comes_at_the_limit_and_counts_earlier_starts(
    endpoint: ModelEndpoint, tmp_path: Path
) -> None:
    items = made_set(tmp_path, 300)
    limit = Limit(tokens=20_000)
    outcome = make_run(items, tmp_path / "run", endpoint.base_url, limit=limit)
    assert outcome.stopped.startswith("spending stop: ")
    # Requests differ by a few characters from their mean; a window of eight behind the limit would be 21,300.
    assert 19_000 < outcome.spending.tokens < 20_200
    assert outcome.asked == len(list(read_responses(tmp_path / "run"))) == endpoint.stats()["requests"]
    again = make_run(items, tmp_path / "run", endpoint.base_url, limit=limit)
    assert again.asked == 0
    assert make_run(items, tmp_path / "run", endpoint.base_url, limit=Limit(tokens=10**9)).complete


def test_money_is_the_tokens_at_their_price() -> None:
    spending = Spending(Price(prompt=2.0, completion=10.0))
    for n in range(4):
        spending.add(response(n, prompt_tokens=250_000, completion_tokens=100_000, reasoning_tokens=60_000))
    assert (spending.money, spending.reasoning_tokens, spending.estimated) == (pytest.approx(6.0), 240_000, 0)
    assert not Limit(money=6.1).reached(spending, 0)
    assert "6.00 spent" in Limit(money=6.0).reached(spending, 0)
    assert Limit(money=6.1).reached(spending, 1)  # one more of that size would pass it
    assert not Limit().reached(spending, 1_000)
    spending.add(response(5, prompt_tokens=None, completion_tokens=None, content="四個字呀"), 100)
    spending.add(response(6, prompt_tokens=None, completion_tokens=None, content=None, error=ErrorClass.TIMEOUT), 100)
    assert (spending.prompt_tokens, spending.completion_tokens, spending.estimated) == (1_000_100, 400_004, 1)


def test_what_the_endpoint_refuses_is_remembered_by_the_run(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    endpoint.plant(Rule(Kind.UNKNOWN_PARAMETER, text="max_tokens", times=None))
    items = made_set(tmp_path, 20)
    plan = Plan("test-run", "scripted", BOX, items)
    settings = replace(QUICK, base_url=endpoint.base_url)

    async def part() -> None:
        """Begin, and give up when something is answered."""
        tally = Tally(20)
        task = asyncio.create_task(run(plan, tmp_path / "run", settings, Rates(1), tally))
        while not tally.done:
            await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    endpoint.set(latency=0.01)
    asyncio.run(part())
    assert read_adjustments(tmp_path / "run") == {"max_tokens": "max_completion_tokens"}
    held = len(list(read_responses(tmp_path / "run")))
    assert 1 <= held < 20
    endpoint.forget()
    outcome = make_run(items, tmp_path / "run", endpoint.base_url)
    # Identity is the request as planned, so what was answered under the adjustment is not asked again.
    assert (outcome.skipped, endpoint.stats()["requests"]) == (held, 20 - held)
    assert endpoint.stats()["statuses"] == {"200": 20 - held}


def test_two_runners_never_share_a_folder(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    items = made_set(tmp_path, 3)
    with Journal(tmp_path / "run"), pytest.raises(RunLocked):
        make_run(items, tmp_path / "run", endpoint.base_url)
    assert endpoint.stats()["requests"] == 0


@pytest.mark.parametrize("step", ["put", "sync"])
def test_a_full_disk_ends_the_run_in_words(
    step: str, endpoint: ModelEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = getattr(Journal, step), []

    def failing(self: Journal, *responses: object) -> None:
        calls.append(1)
        if len(calls) > 2:
            raise JournalError("responses.jsonl: cannot be written: No space left on device")
        real(self, *responses)

    monkeypatch.setattr(Journal, step, failing)
    with pytest.raises(JournalError, match="No space left"):
        make_run(made_set(tmp_path, 200), tmp_path / "run", endpoint.base_url)
    monkeypatch.setattr(Journal, step, real)
    assert make_run(made_set(tmp_path, 200), tmp_path / "run", endpoint.base_url).complete


def test_a_slow_disk_is_waited_for_on_a_thread_of_its_own(
    endpoint: ModelEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, slow, on_the_loop = Journal.sync, 10 * QUICK_SYNC, []

    def syncing(self: Journal) -> None:
        on_the_loop.append(threading.current_thread() is threading.main_thread())
        time.sleep(slow)
        real(self)

    monkeypatch.setattr(Journal, "sync", syncing)
    items = made_set(tmp_path, 60)
    outcome = make_run(items, tmp_path / "run", endpoint.base_url)
    assert (outcome.complete, outcome.asked) == (True, 60)
    assert on_the_loop[0]
    assert len(on_the_loop) > 3
    assert not any(on_the_loop[1:])
    assert sum(1 for _ in read_responses(tmp_path / "run")) == 60


def test_rotations_show_every_option_in_every_place() -> None:
    assert [rotated("BCAD", k) for k in range(5)] == ["BCAD", "CADB", "ADBC", "DBCA", "BCAD"]


def test_twelve_kills_at_random_moments_ask_nothing_twice_but_what_was_under_way(
    endpoint: ModelEndpoint, tmp_path: Path
) -> None:
    """At each start: nothing that the journal held is asked. In all: at most `concurrency` requests a kill are lost."""
    kills, concurrency, n = 12, 8, 1_200
    items = write_items(tmp_path / "benchmark.jsonl", n)
    endpoint.set(latency=0.004, jitter=0.004)
    command = [sys.executable, str(TESTS / "support" / "killed_runs.py"), endpoint.base_url, str(items)]
    command += [str(tmp_path / "run"), str(kills), "7", str(concurrency)]
    pipe = subprocess.PIPE
    before: Counter[str] = Counter()
    killed = held_at_kills = 0
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=_with_tests_importable()) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in process.stdout:
            start = json.loads(line)
            now = Counter(endpoint.stats(counts=True)["asked"])
            asked_by_this_start = (now - before).keys()
            assert not asked_by_this_start & set(start["held"])
            before, killed = now, killed + start["killed"]
            held_at_kills += bool(start["held"])
            process.stdin.write("\n")
            process.stdin.flush()
    assert process.returncode == 0
    assert killed == kills
    assert held_at_kills >= kills  # the kills fell into a run at work
    found = list(read_responses(tmp_path / "run"))
    assert len(found) == len({each.identity for each in found}) == n
    assert len(before) == n
    assert before.total() - n <= kills * concurrency
    assert all(each.error is ErrorClass.NONE for each in found)


def _with_tests_importable() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(TESTS), str(TESTS.parent)))}


def test_a_cut_line_is_counted_and_its_question_asked_again(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    items = made_set(tmp_path, 10)
    make_run(items, tmp_path / "run", endpoint.base_url)
    path = tmp_path / "run" / JOURNAL_NAME
    path.write_bytes(path.read_bytes()[:-20])
    outcome = make_run(items, tmp_path / "run", endpoint.base_url)
    assert (outcome.dropped_lines, outcome.asked, outcome.skipped) == (1, 1, 9)


def test_settings_of_an_endpoint_do_not_show_its_key() -> None:
    assert "abc" not in repr(Endpoint("http://127.0.0.1/v1", secret=Secret("abc")))
