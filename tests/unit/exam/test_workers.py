"""A task that dies, hangs, raises or eats memory costs itself; the order and the rest stay."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest
from support.bad_tasks import behave, late, parse
from support.failed_start import Stillborn, starts
from support.large_start import START as HELD
from support.large_start import take
from support.slow_start import START, echo

from opentwbench.exam.model import RejectionReason
from opentwbench.exam.paper import parse_pairs
from opentwbench.exam.workers import CLOCK, MOST_STARTS, Lost, WorkersError, run_isolated

LIMIT = 5.0
"""Processor time of a task, in seconds. A sound one takes milliseconds of it, however busy the machine is."""


def run(tasks: list[str], processes: int = 2, seconds: float = 60) -> list[str | Lost]:
    return list(run_isolated(behave, tasks, lambda task, why: why, processes=processes, seconds=seconds))


def test_results_come_in_order() -> None:
    tasks = [f"task {n}" for n in range(25)]
    assert run(tasks) == [f"{task} done" for task in tasks]
    assert run([]) == []


def test_a_death_costs_its_own_task() -> None:
    results = run(["a", "die 1", "b", "raise", "die 2", "c", "grow"])
    assert [r for r in results if isinstance(r, str)] == ["a done", "b done", "c done"]
    died, raised, also, grown = (r for r in results if isinstance(r, Lost))
    assert (died.late, died.detail) == (False, "the worker died (exit code -9)")
    assert also == died
    assert raised.detail == "RuntimeError: planted"
    assert "MemoryError" in grown.detail


def test_a_hang_is_bounded() -> None:
    results = run(["a", "hang", "b", "c"], seconds=LIMIT)
    assert [isinstance(r, Lost) for r in results] == [False, True, False, False]
    # A machine of which it gets less than a tenth ends it by the clock.
    ends = (f"no result after {LIMIT:g} s of processor time", f"no result after {CLOCK * LIMIT:g} s")
    assert results[1] in [Lost(True, end) for end in ends]


def test_what_waits_is_bounded_by_the_clock() -> None:
    results = run(["wait", "wait too"], seconds=0.3)
    assert results == [Lost(True, f"no result after {CLOCK * 0.3:g} s")] * 2


def test_a_task_that_waits_longer_than_its_processor_time_is_sound() -> None:
    # A busy or stopped machine looks like this to a file; sound papers of it must not leave what is published.
    assert list(run_isolated(late, [1.5], lambda task, why: why, processes=1, seconds=0.5)) == [1.5]


def test_each_task_has_its_own_time() -> None:
    assert run(["work 1", "work 2", "work 3"], processes=1, seconds=1.5) == [f"work {n} done" for n in (1, 2, 3)]


def test_a_slow_start_is_not_the_time_of_a_task() -> None:
    found = run_isolated(echo, ["a", "b"], lambda task, why: why, processes=1, seconds=START - 1)
    assert list(found) == ["a", "b"]


def test_a_large_start_is_not_the_memory_of_a_task() -> None:
    small, large = 64 * 1024**2, HELD
    found = list(run_isolated(take, [small, large], lambda task, why: why, processes=1, seconds=60, memory=HELD // 2))
    assert found[0] == small
    assert isinstance(found[1], Lost) and "MemoryError" in found[1].detail


@pytest.mark.parametrize("processes", [1, 2])
def test_a_worker_that_never_began_costs_no_task(tmp_path: Path, processes: int) -> None:
    tasks = [f"task {n}" for n in range(6)]
    work = Stillborn(tmp_path, times=MOST_STARTS - 1)
    assert list(run_isolated(work, tasks, lambda task, why: f"lost {task}", processes=processes, seconds=60)) == tasks
    assert starts(tmp_path) == MOST_STARTS - 1


def test_a_machine_where_no_worker_can_begin_stops_the_work_and_blames_no_file(tmp_path: Path) -> None:
    work = Stillborn(tmp_path, times=100)
    with pytest.raises(WorkersError, match=rf"no worker process can begin .* \(exit code 9\); tried {MOST_STARTS}"):
        list(run_isolated(work, ["a", "b"], lambda task, why: f"lost {task}", processes=1, seconds=60))
    assert starts(tmp_path) == MOST_STARTS
    assert multiprocessing.active_children() == []


def test_no_worker_outlives_a_consumer_that_stops() -> None:
    results = run_isolated(behave, ["a", "b", "hang"], lambda task, why: why, processes=2, seconds=60)
    assert next(results) == "a done"
    results.close()
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("processes", [0, -1])
def test_fewer_than_one_process_is_an_error(processes: int) -> None:
    with pytest.raises(ValueError, match="processes"):
        run(["a"], processes=processes)


def test_parse_pairs_keeps_order_and_parses_a_repeated_pair_once() -> None:
    names = ["a", "die", "b", "a", "hang", "c", "die"]
    pairs = [(Path(name), Path("key")) for name in names]
    heard: list[tuple[int, int]] = []
    found = parse_pairs(pairs, 2, seconds=LIMIT, parse=parse, progress=lambda done, total: heard.append((done, total)))
    records = list(found)
    assert [record.question_file for record in records] == names
    reasons = [record.reason for record in records]
    not_a_pdf, too_large = RejectionReason.NOT_A_PDF, RejectionReason.TOO_LARGE
    assert reasons == [None, not_a_pdf, None, None, too_large, None, not_a_pdf]
    assert records[0] is records[3]
    assert records[1].detail == "the worker died (exit code -9)"
    assert records[4].detail == f"no result after {LIMIT:g} s of processor time"
    assert heard == [(n, 7) for n in range(1, 8)]
