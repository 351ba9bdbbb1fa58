"""A task that dies, hangs, raises or eats memory costs itself; the order and the rest stay."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from support.bad_tasks import behave, parse
from support.slow_start import START, echo

from opentwbench.exam.model import PaperRecord, RejectionReason
from opentwbench.exam.paper import parse_pairs
from opentwbench.exam.workers import Lost, run_isolated

T = TypeVar("T")

LIMITS = (5.0, 30.0, 180.0)
"""Time limits of a task, the shortest first. A sound task takes milliseconds, but its worker must start in this time,
and a machine that is busy or stopped for a while can miss the first. A hang lasts 600 s: it is late at all of them."""


def in_time(attempt: Callable[[float], T], sound: Callable[[T], bool]) -> tuple[T, float]:
    """What came at the shortest limit at which the sound tasks came in time, and that limit."""
    for seconds in LIMITS:
        found = attempt(seconds)
        if sound(found):
            break
    return found, seconds


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
    results, limit = in_time(
        lambda seconds: run(["a", "hang", "b", "c"], seconds=seconds),
        lambda found: sum(isinstance(each, str) for each in found) == 3,
    )
    assert [isinstance(r, Lost) for r in results] == [False, True, False, False]
    assert isinstance(results[1], Lost)
    assert (results[1].late, results[1].detail) == (True, f"no result after {limit:g} s")


def test_a_slow_start_is_not_the_time_of_a_task() -> None:
    found = run_isolated(echo, ["a", "b"], lambda task, why: why, processes=1, seconds=START - 1)
    assert list(found) == ["a", "b"]


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

    def attempt(seconds: float) -> list[PaperRecord]:
        heard.clear()
        return list(
            parse_pairs(
                pairs, 2, seconds=seconds, parse=parse, progress=lambda done, total: heard.append((done, total))
            )
        )

    records, limit = in_time(attempt, lambda found: sum(record.reason is None for record in found) == 4)
    assert [record.question_file for record in records] == names
    reasons = [record.reason for record in records]
    not_a_pdf, too_large = RejectionReason.NOT_A_PDF, RejectionReason.TOO_LARGE
    assert reasons == [None, not_a_pdf, None, None, too_large, None, not_a_pdf]
    assert records[0] is records[3]
    assert records[1].detail == "the worker died (exit code -9)"
    assert records[4].detail == f"no result after {limit:g} s"
    assert heard == [(n, 7) for n in range(1, 8)]
