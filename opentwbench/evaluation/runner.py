"""A run: every item of a set asked once a repeat, journalled before it counts, resumable at any moment.

How: workers take questions off one stream and ask; one writer journals their responses in groups, with one sync for
each group. A worker takes its next question when its last response is on the disk, so that a kill loses at most
`concurrency` requests. What a journal already holds is passed over by identity (repeat, item id, request hash).
What belongs here: which request is sent when, and when to stop. What does not: HTTP (client.py), files (journal.py),
scores (scoring.py), and showing anything.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from typing import Protocol as Interface

from opentwbench.evaluation.client import Client, Endpoint, EndpointStopped, Rates, body_bytes
from opentwbench.evaluation.costs import Limit, Spending
from opentwbench.evaluation.journal import (
    RETRIED,
    DigestSet,
    Journal,
    JournalError,
    identity_digest,
    read_adjustments,
    read_responses,
    write_adjustments,
)
from opentwbench.evaluation.model import AskedItem, ErrorClass, Response
from opentwbench.evaluation.prompts import messages, option_order
from opentwbench.evaluation.protocols import Protocol
from opentwbench.evaluation.replies import Reply

BREAKER = 20
"""So many questions in a row that end in an error, each after all its retries, stop the run: the endpoint is broken,
and the remaining thousands would cost time and money to learn it again."""

NOT_THE_ENDPOINT = frozenset((ErrorClass.NONE, ErrorClass.CONTEXT_OVERFLOW))
"""Outcomes that show an endpoint at work."""

SKIPS_A_TURN = 512
"""Questions passed over before other work gets its turn: a resumed run may begin with a quarter of a million."""


QUICK_SYNC = 0.005
"""Seconds of a sync (a running mean) up to which the event loop may wait for it."""

RARELY = 20_000
"""Containers made and not freed before the garbage collector looks. With Python's 700 it walks over the hundreds of
requests under way every few replies, which took a fifth of a run's processor time (`python -m bench.runner`), and finds
nothing: what a request leaves behind is freed by reference counts."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run asks. `extra` goes into every request body (a grammar, a seed)."""

    run_id: str
    model: str
    protocol: Protocol
    items: Iterable[AskedItem]
    repeats: int = 1
    extra: Mapping[str, Any] = field(default_factory=dict)
    rotations: bool = False
    """The circular-option test: repeat k shows the options rotated by k places."""
    protocol_id: str = field(init=False, default="")
    """The protocol's id, hashed once: it stands in every response."""

    def __post_init__(self) -> None:
        """Fill in what is derived."""
        object.__setattr__(self, "protocol_id", self.protocol.protocol_id)

    def questions(self) -> Iterator[Question]:
        """`questions` of this plan."""
        return questions(self)


class Asker(Interface):
    """Who asks whom, and in which way: what every response names."""

    @property
    def run_id(self) -> str:
        """The run's id."""

    @property
    def model(self) -> str:
        """The model asked."""

    @property
    def protocol_id(self) -> str:
        """What every response names as the way it was asked."""


class Asking(Asker, Interface):
    """Whatever a run can ask: a plan over items, or requests of another track (Formosa's drafts and judgements)."""

    def questions(self) -> Iterator[Question]:
        """Every request in the order in which it is asked, made anew each time."""


@dataclass(frozen=True, slots=True)
class Question:
    """One request, ready to be sent."""

    item_id: str
    repeat: int
    option_order: str
    body: Mapping[str, Any]
    payload: bytes
    request_hash: str

    @property
    def digest(self) -> bytes:
        """Its identity inside the run."""
        return identity_digest(self.repeat, self.item_id, self.request_hash)


@dataclass(slots=True)
class Tally:
    """Where a run stands: counted as responses reach the disk. Read by whoever shows progress."""

    total: int
    """Questions of the run, over all repeats."""
    done: int = 0
    """Questions that have a final response, those of earlier starts included."""
    skipped: int = 0
    """Of these, the ones that an earlier start had answered."""
    errors: Counter[ErrorClass] = field(default_factory=Counter)
    """Responses of this start that ended in an error."""
    spending: Spending = field(default_factory=Spending)
    """Over all starts."""
    under_way: int = 0
    started: float = field(default_factory=time.monotonic)

    @property
    def rate(self) -> float:
        """Questions answered a second since this start."""
        return (self.done - self.skipped) / max(1e-9, time.monotonic() - self.started)

    @property
    def seconds_left(self) -> float | None:
        """At this start's rate; None while nothing is answered."""
        return (self.total - self.done) / self.rate if self.done > self.skipped else None


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a start of a run ended."""

    asked: int
    """Responses written by this start."""
    skipped: int
    errors: Mapping[ErrorClass, int]
    stopped: str
    """Why it ended before its last question; '' when it did not."""
    dropped_lines: int
    """Lines that a kill had cut (0 or 1)."""
    adjustments: Mapping[str, str]
    spending: Spending
    attempts: int
    """Requests sent by this start, retries included."""

    @property
    def complete(self) -> bool:
        """Every question has a response that a resumed run would not ask again."""
        return not self.stopped and not any(self.errors.get(error) for error in RETRIED)


def rotated(order: str, places: int) -> str:
    """An option order moved on by some places: 'ABCD' by one is 'BCDA'."""
    places %= len(order)
    return order[places:] + order[:places]


def questions(plan: Plan) -> Iterator[Question]:
    """Every question of a run in the order in which it is asked: repeat after repeat."""
    fixed = {"model": plan.model, **plan.protocol.decoding(), **plan.extra}
    for repeat in range(plan.repeats):
        for item in plan.items:
            order = option_order(item, plan.protocol)
            if plan.rotations:
                order = rotated(order, repeat)
            body = {**fixed, "messages": messages(item, plan.protocol, order)}
            payload = body_bytes(body)
            yield Question(item.item_id, repeat, order, body, payload, hashlib.sha256(payload).hexdigest())


def response_of(question: Question, asker: Asker, reply: Reply) -> Response:
    """The record of one completed request."""
    return Response(
        run_id=asker.run_id,
        repeat=question.repeat,
        item_id=question.item_id,
        request_hash=question.request_hash,
        protocol_id=asker.protocol_id,
        model=asker.model,
        option_order=question.option_order,
        content=reply.content,
        reasoning=reply.reasoning,
        finish_reason=reply.finish_reason,
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
        reasoning_tokens=reply.reasoning_tokens,
        latency_ms=round(reply.latency_ms, 3),
        attempts=reply.attempts,
        error=reply.error,
        error_detail=reply.error_detail,
        served_model=reply.served_model,
    )


class _Writer:
    """Journals responses in groups, with one sync a group.

    While the disk syncs at once, the event loop does it itself: a thread gives its result back only after whatever the
    loop is at, which held replies up three times as long as the sync (`python -m bench.runner`, 200 ms). A slow disk
    gets the thread, because replies keep coming in while it works.
    """

    def __init__(self, journal: Journal) -> None:
        self.written = 0
        self._sync_seconds = 0.0
        self._journal = journal
        self._waiting: list[tuple[Response, asyncio.Future[None]]] = []
        self._some = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._task = asyncio.create_task(self._work())

    async def write(self, response: Response) -> None:
        """Return when the response is on the disk; raises JournalError when it cannot get there."""
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((response, written))
        self._some.set()
        await written

    async def close(self) -> None:
        """Write what is left and end."""
        while self._waiting and not self._task.done():
            await asyncio.sleep(0.001)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._thread.shutdown()

    def _sync(self, responses: int) -> None:
        start = time.perf_counter()
        self._journal.sync()
        self._sync_seconds += (time.perf_counter() - start - self._sync_seconds) / 8  # one slow sync is no slow disk
        self.written += responses  # here, because a run that is given up no longer waits for its last group

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._some.wait()
            self._some.clear()
            group, self._waiting = self._waiting, []
            try:
                self._journal.put(each for each, _ in group)
                if self._sync_seconds < QUICK_SYNC:
                    self._sync(len(group))
                else:
                    await loop.run_in_executor(self._thread, self._sync, len(group))
            except JournalError as error:
                for _, written in group:
                    if not written.done():
                        written.set_exception(error)
                continue
            for _, written in group:
                if not written.done():
                    written.set_result(None)


class _CutShort(Exception):
    """Requests under way are given up."""


class _Run:
    """One start of a run at work."""

    def __init__(
        self,
        plan: Asking,
        client: Client,
        writer: _Writer,
        done: DigestSet,
        tally: Tally,
        limit: Limit,
        watch: Callable[[Response], None],
    ) -> None:
        self.plan, self.client, self.writer, self.tally, self.watch = plan, client, writer, tally, watch
        self.stopped = ""
        self.cut_short = False
        """Whether requests under way are given up."""
        self._limit = limit
        self._done = done
        self._stream = plan.questions()
        self._failing = 0
        self._skips = 0

    async def work(self) -> None:
        """Ask one question after the other until none is left or the run stops; raises _CutShort to end the others."""
        while not self.stopped:
            question = await self._next()
            if question is None:
                return
            self.tally.under_way += 1
            try:
                await self._carry_out(question)
            except EndpointStopped as error:
                self._stop(str(error), cut_short=True)
            finally:
                self.tally.under_way -= 1
        if self.cut_short:
            raise _CutShort

    async def _carry_out(self, question: Question) -> None:
        reply = await self.client.ask(question.body, question.payload)
        response = response_of(question, self.plan, reply)
        await self.writer.write(response)
        self._count(response, question)

    async def _next(self) -> Question | None:
        for question in self._stream:
            if self._done and question.digest in self._done:
                self._skips += 1
                if self._skips % SKIPS_A_TURN == 0:
                    await asyncio.sleep(0)
                continue
            if reason := self._limit.reached(self.tally.spending, self.tally.under_way + 1):
                self._stop(f"spending stop: {reason}")
                return None
            return question
        return None

    def _count(self, response: Response, question: Question) -> None:
        tally = self.tally
        self.watch(response)
        tally.spending.add(response, len(question.payload) // 3)  # three bytes of UTF-8 a Chinese character
        if response.error not in RETRIED:
            tally.done += 1
        if response.error:
            tally.errors[response.error] += 1
        self._failing = 0 if response.error in NOT_THE_ENDPOINT else self._failing + 1
        if self._failing >= BREAKER:
            said = f"{response.error.value}: {response.error_detail}"
            reason = f"the last {self._failing} questions all ended in an error ({said}). The run can be resumed."
            self._stop(reason, cut_short=True)

    def _stop(self, reason: str, *, cut_short: bool = False) -> None:
        self.stopped = self.stopped or reason
        self.cut_short = self.cut_short or cut_short


async def run(
    plan: Asking,
    folder: Path,
    endpoint: Endpoint,
    rates: Rates,
    tally: Tally,
    *,
    limit: Limit | None = None,
    retry_errors: bool = True,
    watch: Callable[[Response], None] = lambda response: None,
) -> RunOutcome:
    """Ask what the journal in `folder` does not hold yet; `tally` shows the course.

    `watch` is given each final response once: those of earlier starts first, then each as it reaches the disk. When
    nothing stopped the run, these are exactly the responses that `read_responses` gives afterwards, in another order.

    Ends early, saying why in `RunOutcome.stopped`, when the endpoint refuses everything, when BREAKER questions in a
    row end in an error, or when `limit` is reached; in the last case requests under way, being paid for, are awaited.
    Cancelling it (an interrupt) keeps everything that was answered. Raises RunLocked and JournalError.
    """
    with Journal(folder) as journal, _rarely_collecting():
        done = _resume(folder, tally, watch, retry_errors=retry_errors)
        adjustments = _Recorded(folder)
        async with Client(endpoint, rates, adjustments) as client:
            writer = _Writer(journal)
            at_work = _Run(plan, client, writer, done, tally, limit or Limit(), watch)
            try:
                await _work(at_work, rates.concurrency)
            finally:
                await writer.close()
        return RunOutcome(
            asked=writer.written,
            skipped=tally.skipped,
            errors=dict(tally.errors),
            stopped=at_work.stopped,
            dropped_lines=journal.dropped,
            adjustments=dict(adjustments),
            spending=tally.spending,
            attempts=client.attempts,
        )


@contextmanager
def _rarely_collecting() -> Iterator[None]:
    """The garbage collector at work less often; as it was afterwards."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], RARELY) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _resume(folder: Path, tally: Tally, watch: Callable[[Response], None], *, retry_errors: bool) -> DigestSet:
    """What is answered already, and its cost. An error of RETRIED is asked again unless `retry_errors` is off."""
    done = DigestSet()
    for response in read_responses(folder):
        tally.spending.add(response)
        if not (retry_errors and response.error in RETRIED):
            done.add(identity_digest(response.repeat, response.item_id, response.request_hash))
            watch(response)
    tally.done = tally.skipped = len(done)
    tally.started = time.monotonic()
    return done


class _Recorded(dict[str, str]):
    """The client's adjustments, each on the disk as soon as it is learnt."""

    def __init__(self, folder: Path) -> None:
        super().__init__(read_adjustments(folder))
        self._folder = folder

    def __setitem__(self, name: str, value: str) -> None:
        super().__setitem__(name, value)
        write_adjustments(self._folder, self)

    def setdefault(self, name: str, value: str = "") -> str:
        """dict's own would pass `__setitem__` by."""
        if name not in self:
            self[name] = value
        return self[name]


async def _work(run: _Run, workers: int) -> None:
    """All workers to their end; a refusal or a fault of one ends the others at once."""
    tasks = [asyncio.create_task(run.work()) for _ in range(workers)]
    try:
        await asyncio.gather(*tasks)
    except _CutShort:
        pass  # said in `stopped`
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
