"""Asking an OpenAI-compatible endpoint: one request with its retries, over aiohttp.

aiohttp directly, because the openai client costs ten times the processor time a request and the pool of httpx scans
all its connections for each (facts on evaluation clients; measured again by `python -m bench.runner`).
The API key lives in a `Secret` and in the header of the request, nowhere else. Redirections are not followed: they
would carry the key to another host. Bodies are bounded. Certificates are verified unless `verify_tls` says otherwise.
What does not belong here: which questions are asked (runner.py) and what a body means (replies.py).
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import time
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import aiohttp

from opentwbench.dataset.contract import excerpt
from opentwbench.evaluation.limits import Bucket, Gate
from opentwbench.evaluation.model import ErrorClass
from opentwbench.evaluation.replies import (
    MAX_DETAIL,
    RENAMED,
    Failure,
    Reply,
    read_completion,
    read_failure,
)
from opentwbench.waiting import backoff, retry_after

NEEDED = frozenset(("model", "messages", "input"))
"""Never left out, whatever an endpoint says of them. Everything else may be, and is recorded."""


class EndpointStopped(RuntimeError):
    """Every further request would fail the same way: key refused, no such model, quota used up."""


class EndpointError(ValueError):
    """Settings that name no endpoint; the message says which and why."""


class Secret:
    """An API key that does not print: not in a message, a log, a record or a traceback."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        if not value.isascii() or not value.isprintable() or value != value.strip():
            raise EndpointError("the API key is no header value: white space, control or non-ASCII characters")
        self._value = value

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__

    def __reduce__(self) -> Any:
        raise TypeError("a secret is not stored")

    def reveal(self) -> str:
        """The key itself, for the header alone."""
        return self._value


NO_SECRET = Secret("")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where and how to ask. Raises EndpointError for settings that cannot be used."""

    base_url: str
    """Up to and without /chat/completions, usually ending in /v1."""
    secret: Secret = NO_SECRET
    timeout: float = 600.0
    """Seconds for one request, its whole reply included."""
    connect_timeout: float = 30.0
    attempts: int = 6
    backoff_base: float = 0.5
    backoff_most: float = 60.0
    longest_pause: float = 600.0
    """A Retry-After beyond this stops the run, which can be resumed, instead of holding a process for hours."""
    max_body: int = 8 << 20
    """Most bytes of a reply: 16,384 tokens are some 100 kB."""
    verify_tls: bool = True
    ca_file: Path | None = None
    """Certificates to trust beside the system's, as PEM."""
    path: str = "/chat/completions"
    """What is asked there: '/embeddings' for vectors."""

    def __post_init__(self) -> None:
        """Reject what could not be asked."""
        parts = urlsplit(self.base_url)
        if parts.username or parts.password or parts.query or parts.fragment:
            raise EndpointError("the base URL must hold no user, password, query or fragment; keys go into a variable")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise EndpointError(f"the base URL must begin with http:// or https://: {excerpt(self.base_url)}")
        if self.attempts < 1 or self.timeout <= 0 or self.connect_timeout <= 0:
            raise EndpointError("attempts and timeouts must be above 0")

    @property
    def url(self) -> str:
        """Where requests go."""
        return self.base_url.rstrip("/") + self.path


@dataclass(frozen=True, slots=True)
class Rates:
    """How much may be asked: at a time, a minute, and tokens a minute."""

    concurrency: int = 32
    adaptive: bool = True
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None


def body_bytes(body: Mapping[str, Any]) -> bytes:
    """The canonical JSON of a request body: sorted keys, no spaces, UTF-8. It is what is sent and what is hashed."""
    return json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


class Client:
    """Asks one endpoint. Use it as an asynchronous context manager.

    `adjustments` (parameter -> '' for left out, else its new name) is shared with the caller and grows when the
    endpoint refuses a parameter by name: it is then left out of every later request. `read` makes a reply of a
    body that came with status 200.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        rates: Rates,
        adjustments: MutableMapping[str, str] | None = None,
        read: Callable[[bytes, str], Reply | Failure] = read_completion,
    ) -> None:
        self.endpoint = endpoint
        self._read = read
        self.gate = Gate(rates.concurrency, adaptive=rates.adaptive)
        self.adjustments: MutableMapping[str, str] = {} if adjustments is None else adjustments
        self.attempts = 0
        """Requests sent, retries included."""
        self._requests = Bucket(_a_second(rates.requests_per_minute))
        self._tokens = Bucket(_a_second(rates.tokens_per_minute), burst=(rates.tokens_per_minute or 0) / 6 or None)
        self._limited = rates.requests_per_minute is not None or rates.tokens_per_minute is not None
        self._most = rates.concurrency
        self._session: aiohttp.ClientSession | None = None
        self._mean_tokens = 0.0

    async def __aenter__(self) -> Self:
        # No cookies and no environment: two runs ask the same way wherever they run.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._most, ssl=_tls(self.endpoint)),
            timeout=aiohttp.ClientTimeout(total=self.endpoint.timeout, sock_connect=self.endpoint.connect_timeout),
            headers=self._headers(),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def ask(self, body: Mapping[str, Any], payload: bytes | None = None) -> Reply:
        """One question, with every permitted retry; an error is a Reply as well.

        `payload` is `body_bytes(body)` when the caller has it. Raises EndpointStopped when asking on is of no use.
        """
        payload = body_bytes(body) if payload is None else payload
        attempt = 0
        while True:
            attempt += 1
            outcome, asked_to_wait, milliseconds = await self._attempt(body, payload)
            if isinstance(outcome, Reply):
                return replace(outcome, latency_ms=milliseconds, attempts=attempt)
            if outcome.stop:
                raise EndpointStopped(f"{outcome.detail}. The run stops; it can be resumed.")
            if outcome.parameter:
                self._adjust(outcome.parameter)
                attempt -= 1  # the endpoint's wish, not its failure; each round takes one parameter away
            elif not outcome.retry or attempt >= self.endpoint.attempts:
                return Reply(
                    error=outcome.error, error_detail=outcome.detail, latency_ms=milliseconds, attempts=attempt
                )
            else:
                await self._wait(attempt, asked_to_wait)

    async def _attempt(self, body: Mapping[str, Any], payload: bytes) -> tuple[Reply | Failure, float | None, float]:
        """One request: what came of it, the Retry-After, and its milliseconds."""
        estimate = len(payload) / 3 + self._mean_tokens  # three bytes of UTF-8 a Chinese character
        if self._limited:
            await self._requests.take(1)
            await self._tokens.take(estimate)
        await self.gate.enter()
        # Adjusted after the wait, in which another request may have learnt what is refused.
        sent = self._adjusted(body) if self.adjustments else body
        data = payload if sent is body else body_bytes(sent)
        congested, succeeded = False, False
        start = time.perf_counter()
        try:
            outcome, pause = await self._send(data, sent.keys())
            succeeded = isinstance(outcome, Reply)
            congested = isinstance(outcome, Failure) and outcome.congested
        finally:
            self.gate.leave(congested=congested, succeeded=succeeded)
        if isinstance(outcome, Reply):
            self._settle(estimate, outcome)
        return outcome, pause, (time.perf_counter() - start) * 1000

    def _settle(self, estimate: float, reply: Reply) -> None:
        if reply.prompt_tokens is None or reply.completion_tokens is None:
            return
        self._tokens.settle(estimate, reply.prompt_tokens + reply.completion_tokens)
        # A running mean: recent replies say most about the next one.
        self._mean_tokens += (reply.completion_tokens - self._mean_tokens) / 20

    async def _send(self, data: bytes, sent: Iterable[str]) -> tuple[Reply | Failure, float | None]:
        assert self._session is not None
        self.attempts += 1
        secret = self.endpoint.secret.reveal()
        try:
            async with self._session.post(self.endpoint.url, data=data, allow_redirects=False) as response:
                raw = await _bounded(response, self.endpoint.max_body)
                if raw is None:
                    return Failure(ErrorClass.UNREADABLE, f"a body of more than {self.endpoint.max_body} bytes"), None
                if response.status == 200:
                    return self._read(raw, secret), None
                failure = read_failure(response.status, raw, frozenset(sent) - NEEDED, secret)
                return failure, retry_after(response.headers.get("Retry-After"))
        except aiohttp.ClientConnectorCertificateError:
            raise EndpointStopped(
                "the endpoint's certificate is not trusted: name its issuer with a CA file, or, knowing what that "
                "means, switch verification off"
            ) from None
        except TimeoutError:
            return Failure(ErrorClass.TIMEOUT, "no reply in time", retry=True, congested=True), None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Failure(ErrorClass.TRANSPORT, _transport_detail(error), retry=True), None

    async def _wait(self, attempt: int, asked: float | None) -> None:
        """Back off before the next attempt; a Retry-After holds for every request, so the gate closes for all."""
        own = backoff(attempt, self.endpoint.backoff_base, self.endpoint.backoff_most)
        if asked is None:
            await asyncio.sleep(own)
            return
        if asked > self.endpoint.longest_pause:
            raise EndpointStopped(f"the endpoint asks to come back in {asked:.0f} s. The run stops; it can be resumed.")
        self.gate.pause(asked)
        await asyncio.sleep(asked + min(own, 1.0))

    def _adjusted(self, body: Mapping[str, Any]) -> dict[str, Any]:
        kept = {name: value for name, value in body.items() if name not in self.adjustments}
        renamed = {new: body[old] for old, new in self.adjustments.items() if new and old in body}
        return kept | renamed

    def _adjust(self, parameter: str) -> None:
        """Change what is sent from now on. Several requests under way may be refused for the same parameter."""
        for old, new in self.adjustments.items():
            if new == parameter:
                self.adjustments[old] = ""  # the successor is refused as well
                return
        self.adjustments.setdefault(parameter, RENAMED.get(parameter, ""))

    def _headers(self) -> dict[str, str]:
        # identity: a compressed body would have to be bounded twice.
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity", "User-Agent": "opentwbench"}
        if key := self.endpoint.secret.reveal():
            headers["Authorization"] = f"Bearer {key}"
        return headers


def _a_second(a_minute: float | None) -> float | None:
    return None if a_minute is None else a_minute / 60


def _tls(endpoint: Endpoint) -> ssl.SSLContext | bool:
    if not endpoint.verify_tls:
        return False
    if not endpoint.base_url.startswith("https:"):
        return True  # not used; reading the system's certificates would take a tenth of a second
    context = ssl.create_default_context()
    if endpoint.ca_file is not None:
        try:
            context.load_verify_locations(endpoint.ca_file)
        except (OSError, ssl.SSLError) as error:
            raise EndpointError(f"{endpoint.ca_file}: no certificates in PEM: {error}") from None
    return context


async def _bounded(response: aiohttp.ClientResponse, most: int) -> bytes | None:
    """The body, None when it is larger than `most` bytes."""
    length = response.content_length
    if length is not None and length > most:
        response.close()
        return None
    if length is not None and "Content-Encoding" not in response.headers:
        return await response.read()
    parts, size = [], 0
    async for part in response.content.iter_chunked(65_536):
        size += len(part)
        if size > most:
            response.close()
            return None
        parts.append(part)
    return b"".join(parts)


def _transport_detail(error: Exception) -> str:
    """What went wrong without the host's name, which has no place in a record."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    # Not its own text: asyncio writes the address into it.
    said = os.strerror(cause.errno) if isinstance(cause, OSError) and cause.errno and cause.errno > 0 else "broken off"
    return excerpt(f"{type(error).__name__}: {said}", MAX_DETAIL - 1)
