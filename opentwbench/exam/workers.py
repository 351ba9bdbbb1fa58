"""Work on untrusted files in separate processes: a crash or a hang costs its own task and nothing else.

What belongs here: running one function over many arguments in order, with a time limit for each.
What does not: what the function does. The standard pools give up as a whole when one worker dies, which one damaged PDF
in a C library can bring about; here a dead or late worker is replaced and its task answered by `lost`.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Generic, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

MEMORY_BYTES = 4 * 1024**3
"""Address space of a worker beyond its start's, unless the caller says less; a task that asks for more is lost."""

START_SECONDS = 1800.0
"""How long a worker may take until it can begin. It imports the program first, which takes minutes on a machine that is
overloaded: counted as the task's time it made sound papers 'too large', and they left what was published."""

CLOCK = 10.0
"""How many times its processor time a task may take by the clock. Only a task that waits comes so far, or one on a
machine of which it gets less than a tenth; what is late on a busy machine alone is no fault of the file."""

MOST_STARTS = 3
"""Workers in a row that end before they can begin, until the whole is given up: the machine cannot start any."""

BY_CLOCK_ALONE = sys.platform == "win32"
"""Where no timer of the processor can end a process, the clock is the limit."""


class WorkersError(RuntimeError):
    """No worker can begin on this machine. No task is to blame for it, so none is answered by `lost`."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Why a task has no result: the worker 'died' (with its exit code) or was 'late' (and was killed)."""

    late: bool
    detail: str


@dataclass(slots=True)
class _Worker:
    process: SpawnProcess
    pipe: Connection
    index: int | None = None
    deadline: float = 0.0
    ready: bool = False
    """It has said that it can begin; the time of its task counts from then."""


def run_isolated(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    lost: Callable[[Task, Lost], Result],
    *,
    processes: int,
    seconds: float,
    memory: int = MEMORY_BYTES,
) -> Iterator[Result]:
    """Yield `function(task)` for every task, in order.

    `function` must be importable by name (workers are spawned, because forking a process with threads is unsound).
    A task whose worker dies, or that needs more than `seconds` of processor time (all threads together) or CLOCK times
    that by the clock, its start not counted, yields `lost(task, why)`. An exception in `function` counts as a death of
    that task. A worker may take `memory` bytes of address space more than its start took (not held on Windows) and
    leaves no core file. A worker that ends before it has begun costs no task anything: its task is given to another.
    Raises ValueError for fewer than one process, WorkersError when MOST_STARTS workers in a row do not begin.
    """
    if processes < 1:
        raise ValueError(f"{processes} processes")
    pool = _Pool(function, tasks, processes, seconds, memory)
    try:
        results: dict[int, Result] = {}
        following = 0
        while following < len(tasks):
            pool.feed()
            for index, outcome in pool.collect():
                results[index] = lost(tasks[index], outcome) if isinstance(outcome, Lost) else outcome
            while following in results:
                yield results.pop(following)
                following += 1
    finally:
        pool.close()


class _Pool(Generic[Task, Result]):
    def __init__(
        self, function: Callable[[Task], Result], tasks: Sequence[Task], processes: int, seconds: float, memory: int
    ) -> None:
        self._function = function
        self._tasks = tasks
        self._waiting = deque(range(len(tasks)))
        self._seconds = seconds
        self._patience = seconds if BY_CLOCK_ALONE else CLOCK * seconds
        self._memory = memory
        self._context = multiprocessing.get_context("spawn")
        self._failed_starts = 0
        self._workers = [self._spawn() for _ in range(min(processes, len(tasks)))]

    def _spawn(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=_serve, args=(theirs, self._function, self._memory, self._seconds), daemon=True
        )
        process.start()
        theirs.close()
        return _Worker(process, ours)

    def feed(self) -> None:
        """Give every idle worker a task."""
        for place, worker in enumerate(self._workers):
            if worker.index is not None or not self._waiting:
                continue
            if not worker.process.is_alive():
                self._end(worker)
                worker = self._workers[place] = self._spawn()
            worker.index = self._waiting.popleft()
            worker.deadline = time.monotonic() + (self._patience if worker.ready else START_SECONDS)
            with suppress(OSError):  # died since: its pipe is at its end, which collect() sees
                worker.pipe.send(self._tasks[worker.index])

    def collect(self) -> Iterator[tuple[int, Result | Lost]]:
        """What has come in; waits for the first result, death or deadline."""
        busy = [worker for worker in self._workers if worker.index is not None]
        patience = max(0.0, min(worker.deadline for worker in busy) - time.monotonic())
        ready = wait([worker.pipe for worker in busy], timeout=patience)
        for worker in busy:
            if worker.pipe in ready:
                if (answer := self._take(worker)) is not None:
                    yield answer
            elif time.monotonic() >= worker.deadline:
                if worker.ready:
                    yield self._replace(worker), Lost(True, f"no result after {self._patience:g} s")
                else:
                    self._give_back(worker, f"not begun in {START_SECONDS:g} s")

    def _take(self, worker: _Worker) -> tuple[int, Result | Lost] | None:
        """A task's end; None when the worker only said that it is ready, or never was and gave its task back."""
        assert worker.index is not None
        try:
            failed, value = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join(5)
            if not worker.ready:
                self._give_back(worker, f"exit code {worker.process.exitcode}")
                return None
            why = self._why_dead(worker.process.exitcode)
            return self._replace(worker), why
        if failed is None:
            worker.ready, worker.deadline = True, time.monotonic() + self._patience
            self._failed_starts = 0
            return None
        index, worker.index = worker.index, None
        return index, Lost(False, value) if failed else value

    def _why_dead(self, exit_code: int | None) -> Lost:
        if not BY_CLOCK_ALONE and exit_code == -signal.SIGPROF:
            return Lost(True, f"no result after {self._seconds:g} s of processor time")
        return Lost(False, f"the worker died (exit code {exit_code})")

    def _give_back(self, worker: _Worker, why: str) -> None:
        """A worker that never began: it has not seen its task, so the task goes to another. Raises WorkersError."""
        self._failed_starts += 1
        if self._failed_starts >= MOST_STARTS:
            raise WorkersError(
                f"no worker process can begin on this machine ({why}); tried {self._failed_starts} times"
            )
        self._waiting.appendleft(self._replace(worker))

    def _replace(self, worker: _Worker) -> int:
        """Put a new worker in the place of this one; the task that it had."""
        assert worker.index is not None
        self._end(worker)
        self._workers[self._workers.index(worker)] = self._spawn()
        return worker.index

    @staticmethod
    def _end(worker: _Worker) -> None:
        worker.pipe.close()
        worker.process.kill()
        worker.process.join()

    def close(self) -> None:
        """End every worker; called also when the consumer stops early."""
        for worker in self._workers:
            self._end(worker)


def _serve(pipe: Connection, function: Callable[[Task], Result], memory: int, seconds: float) -> None:
    """A worker's life: say (None, None) once, then take a task, answer (failed, result), until the pipe closes."""
    _limit(memory)
    with suppress(OSError):  # the pool is gone already
        pipe.send((None, None))
    while True:
        try:
            task = pipe.recv()
        except (EOFError, OSError):
            return
        _end_after(seconds)
        try:
            answer: tuple[bool, Result | str] = (False, function(task))
        except Exception as error:  # the task is lost, the worker is not
            answer = (True, f"{type(error).__name__}: {str(error)[:200]}")
        _end_after(0)
        pipe.send(answer)


def _end_after(seconds: float) -> None:
    """Let the system end this process, in whatever code it is, after so much processor time; 0: never."""
    if sys.platform != "win32":
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _limit(memory: int) -> None:
    if sys.platform == "win32":
        return
    import resource

    with suppress(OSError, ValueError):  # a lower limit is in force already
        limit = memory + _held()
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _held() -> int:
    """Address space that this process has already; 0 where the system does not say.

    A worker imports the program's first module before it may begin, with all that this imports: more than 1 GiB for a
    program that loads Dagster, pyarrow and DuckDB. It is no fault of a file, so no file pays for it.
    """
    with suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/self/statm").read_text("ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0
