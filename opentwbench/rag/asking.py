"""Asking a model many things: through the evaluation track's client, each reply journalled before it counts.

It differs from the evaluation's runner in what is asked: any request body, not an item with options. Resumable by the
identity of the request (repeat, id, hash of the body), so a changed prompt is asked again and an unchanged one never.
What belongs here: which request is sent when, and when to stop. What does not: prompts and what a reply means.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from opentwbench.evaluation.client import Client, Endpoint, EndpointStopped, Rates, body_bytes
from opentwbench.evaluation.costs import Limit, Spending
from opentwbench.evaluation.journal import RETRIED, Journal, read_responses
from opentwbench.evaluation.model import ErrorClass, Response
from opentwbench.evaluation.replies import Failure, Reply, read_completion
from opentwbench.evaluation.runner import BREAKER, NOT_THE_ENDPOINT, Question, response_of
from opentwbench.rag.model import RagError
from opentwbench.waiting import backoff


@dataclass(frozen=True)
class Ask:
    """One request. `ask_id` and `repeat` name it, the body's hash tells whether its reply is still the reply to it."""

    ask_id: str
    body: Mapping[str, Any]
    repeat: int = 0

    @cached_property
    def question(self) -> Question:
        """It as the runner's request, written and hashed once. Nothing is shuffled, so it has no option order."""
        payload = body_bytes(self.body)
        return Question(self.ask_id, self.repeat, "", self.body, payload, hashlib.sha256(payload).hexdigest())

    @property
    def key(self) -> tuple[int, str, str]:
        """Its identity in a journal."""
        return self.repeat, self.ask_id, self.question.request_hash


@dataclass(frozen=True, slots=True)
class Asked:
    """How a round of asking ended."""

    replies: Mapping[tuple[int, str, str], Response]
    """By `Ask.key`: every request that has a reply or an error, those of earlier starts included."""
    spending: Spending
    sent: int
    errors: Mapping[ErrorClass, int] = field(default_factory=dict)
    stopped: str = ""
    """Why it ended before the last request; '' when it did not."""


@dataclass(frozen=True, slots=True)
class Service:
    """A model behind an endpoint. `name` says in records what it is asked for ('answer', 'judge', 'embedding')."""

    name: str
    model: str
    endpoint: Endpoint | None = None
    """None asks nothing: stored replies are read alone."""
    rates: Rates = field(default_factory=lambda: Rates(concurrency=8))
    limit: Limit = field(default_factory=Limit)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Goes into every body: temperature, max_tokens."""
    read: Callable[[bytes, str], Reply | Failure] = read_completion
    doubt: Callable[[Ask, str | None], str] = field(default=lambda ask, content: "")
    """Why a reply's content cannot be the reply to that request; '' when it can. What is doubted is asked again."""

    @property
    def run_id(self) -> str:
        """What its responses name as their run."""
        return f"rag-{self.name}"

    @property
    def protocol_id(self) -> str:
        """What they name as the way it was asked."""
        return self.run_id

    def body(self, messages: Sequence[Mapping[str, str]]) -> dict[str, Any]:
        """The body of a chat request."""
        return {"model": self.model, **self.parameters, "messages": [dict(message) for message in messages]}


async def ask_all(service: Service, asks: Sequence[Ask], folder: Path) -> Asked:
    """Ask what the journal in `folder` holds no final reply to. A failing request is an error of its own (fault 10).

    A reply that the service doubts never counts: it is asked for again, as often as the endpoint's attempts allow, and
    ends as an error; a stored one is asked for again as well. Ends early, saying why, when the endpoint refuses
    everything, BREAKER requests in a row fail, or the limit is reached. Raises RunLocked and JournalError,
    and RagError when there is something to ask and no endpoint.
    """
    wanted = {ask.key: ask for ask in asks}
    with Journal(folder) as journal:
        round_ = _Round(service, journal, wanted)
        for response in read_responses(folder):
            round_.take_in(response)
        waiting = iter([ask for key, ask in wanted.items() if round_.open(key)])
        if any(round_.open(key) for key in wanted):
            await _carry_out(service, round_, waiting, len(wanted))
    return Asked(round_.replies, round_.spending, round_.sent, dict(round_.errors), round_.stopped)


async def _carry_out(service: Service, round_: _Round, waiting: Iterator[Ask], most: int) -> None:
    """All workers to their end."""
    if service.endpoint is None:
        raise RagError(f"{service.name}: {service.model} must be asked, and no endpoint is named")
    async with Client(service.endpoint, service.rates, read=service.read) as client:
        workers = range(min(service.rates.concurrency, most))
        tasks = [asyncio.create_task(round_.work(client, waiting)) for _ in workers]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def stored(asks: Iterable[Ask], folder: Path) -> dict[tuple[int, str, str], Response]:
    """The replies that a journal holds to these requests; nothing is asked."""
    wanted = {ask.key for ask in asks}
    return {key: each for each in read_responses(folder) if (key := each.identity[1:]) in wanted}


class _Round:
    """One start of asking, at work."""

    def __init__(self, service: Service, journal: Journal, wanted: Mapping[tuple[int, str, str], Ask]) -> None:
        self.service, self.wanted = service, wanted
        self.replies: dict[tuple[int, str, str], Response] = {}
        self.spending = Spending()
        self.errors: Counter[ErrorClass] = Counter()
        self.sent = 0
        self.stopped = ""
        self._journal = journal
        self._writing = asyncio.Lock()
        self._under_way = 0
        self._failing = 0

    def take_in(self, response: Response) -> None:
        """A response of an earlier start."""
        key = response.identity[1:]
        self.spending.add(response, self._characters(key))
        if key in self.wanted:
            self.replies[key] = response

    def open(self, key: tuple[int, str, str]) -> bool:
        """Whether it must be asked: it has no reply, a doubtful one, or an error that says nothing about it."""
        held = self.replies.get(key)
        return held is None or held.error in RETRIED or bool(self._doubt(self.wanted[key], held))

    def _doubt(self, ask: Ask, reply: Reply | Response) -> str:
        return "" if reply.error else self.service.doubt(ask, reply.content)

    async def _asked(self, client: Client, ask: Ask) -> Reply:
        """The reply, or its error. Raises EndpointStopped."""
        for attempt in range(1, client.endpoint.attempts + 1):
            reply = await client.ask(ask.body, ask.question.payload)
            why = self._doubt(ask, reply)
            if not why:
                return replace(reply, attempts=reply.attempts + attempt - 1)
            if attempt < client.endpoint.attempts:
                await asyncio.sleep(backoff(attempt, client.endpoint.backoff_base, client.endpoint.backoff_most))
        # Its tokens were spent: they stay with the record.
        return replace(reply, content=None, error=ErrorClass.UNREADABLE, error_detail=why[:200], attempts=attempt)

    async def work(self, client: Client, waiting: Iterator[Ask]) -> None:
        """Ask one after the other until none is left or the round stops."""
        for ask in waiting:
            if not self.stopped and (reason := self.service.limit.reached(self.spending, self._under_way + 1)):
                self.stopped = f"spending stop: {reason}"
            if self.stopped:
                return
            self._under_way += 1
            try:
                reply = await self._asked(client, ask)
            except EndpointStopped as error:
                self.stopped = self.stopped or str(error)
                return
            finally:
                self._under_way -= 1
            await self._keep(response_of(ask.question, self.service, reply))

    async def _keep(self, response: Response) -> None:
        async with self._writing:
            await asyncio.to_thread(self._journal.append, response)
        self.sent += 1
        key = response.identity[1:]
        self.replies[key] = response
        self.spending.add(response, self._characters(key))
        if response.error:
            self.errors[response.error] += 1
        self._failing = 0 if response.error in NOT_THE_ENDPOINT else self._failing + 1
        if self._failing >= BREAKER:
            self.stopped = f"the last {BREAKER} requests all failed ({response.error.value}: {response.error_detail})"

    def _characters(self, key: tuple[int, str, str]) -> int:
        """For the estimate of tokens where the endpoint reports none: three bytes of UTF-8 a Chinese character."""
        return len(self.wanted[key].question.payload) // 3 if key in self.wanted else 0
