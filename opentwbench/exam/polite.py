"""HTTP with manners: one connection, a pause between requests, retries that back off, and a clear stop.

What belongs here: when to ask, how often, when to give up, TLS. What does not: what an answer means for a paper
(retrieval), where it is kept (cache).
Source of the rules: DESIGN section 4, "Polite retrieval".
"""

from __future__ import annotations

import random
import ssl
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from opentwbench.exam.cache import Body
from opentwbench.waiting import backoff, retry_after

if TYPE_CHECKING:
    # Imported where a connection is made: whoever asks for nothing, as a build without change, does not pay for it.
    import httpx

USER_AGENT = "OpenTWBench/0.1 (open benchmark of Taiwan's public examination papers; polite retrieval)"
"""Names the project, so that the ministry can see who asks."""

REFERER = "https://wwwq.moex.gov.tw/exam/wFrmExamQandASearch.aspx"
"""The page that people download from; the ministry's downloaders send it. Source: the mirror's README."""

RETRIED = frozenset({408, 429, *range(500, 600)})
"""Answers that say 'not now'. 429 and 5xx by DESIGN section 4; 408 is the server's own word for a timeout."""

MISSING = frozenset({302, 303, 404, 410})
"""Answers that say 'no such file'. The ministry answers 302 (the mirror's README); redirects are never followed."""

MAX_DRAINED = 64 * 1024
"""Bytes read of an answer whose body is of no use, so that the connection can be used again."""


class RetrievalStopped(Exception):
    """Retrieval must not go on: access refused, an answer nobody planned for, a certificate that cannot be verified."""

    def __init__(self, url: str, detail: str) -> None:
        super().__init__(f"{url}: {detail}")
        self.url = url
        self.detail = detail


class CertificateNotVerified(RetrievalStopped):
    """The server's TLS certificate cannot be verified; says how to supply the missing intermediate."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            url,
            f"the TLS certificate cannot be verified ({reason}). The ministry's server leaves out its intermediate "
            "certificate: save that certificate as a PEM file (its address stands in the server's own certificate, "
            "under 'CA Issuers') and name the file as ca_bundle. Verification stays on",
        )


class GaveUp(Exception):
    """Every attempt at one URL failed. `detail` is the last reason."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class Clock(Protocol):
    """Time, so that tests need not wait."""

    def now(self) -> float:
        """Seconds since 1970, UTC."""

    def monotonic(self) -> float:
        """Seconds that never go back."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Seconds since 1970, UTC."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


@dataclass(frozen=True, slots=True)
class Politeness:
    """How the source is asked. All times in seconds; the defaults are for the live ministry."""

    delay_seconds: float = 1.0
    """Between the starts of two requests, retries included. Source: issue 2 (default 1 s)."""
    jitter_seconds: float = 0.5
    """Up to this much more, drawn anew for every request."""
    attempts: int = 5
    """Requests for one URL before giving up."""
    backoff_seconds: float = 2.0
    """Before the second attempt; doubles with each further one, and half of it is drawn."""
    backoff_cap_seconds: float = 60.0
    """No pause of our own is longer."""
    retry_after_cap_seconds: float = 600.0
    """A server that asks for more than this is left alone: retrieval stops and says so."""
    timeout_seconds: float = 30.0
    """To connect, and between two pieces of an answer."""
    deadline_seconds: float = 600.0
    """For one whole answer: a server that sends a byte now and then holds nobody up."""
    failures_in_a_row: int = 3
    """URLs given up one after another before retrieval stops."""

    def __post_init__(self) -> None:
        times = (self.delay_seconds, self.jitter_seconds, self.backoff_seconds, self.backoff_cap_seconds)
        if min(*times, self.retry_after_cap_seconds) < 0 or min(self.timeout_seconds, self.deadline_seconds) <= 0:
            raise ValueError(f"a time below zero: {self}")
        if self.attempts < 1 or self.failures_in_a_row < 1:
            raise ValueError(f"attempts and failures_in_a_row are at least 1: {self}")


@dataclass(slots=True)
class Counters:
    """What retrieval has done so far. `bytes` are body bytes read from the source."""

    requests: int = 0
    retries: int = 0
    bytes: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    """Outcomes by status, one for every call."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The final answer to one URL. The body is in the file that the caller gave, for status 200 only."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    too_large: bool = False
    """True when the body is over the cap; what was received of it is of no use."""


class _Later(Exception):
    """This attempt failed in a way that the next may not. `wait` is what the server asked for, in seconds.

    `stop` is True when the URL is not to blame, so that asking for the next one would be rude or useless.
    """

    def __init__(self, detail: str, *, wait: float = 0.0, stop: bool = False) -> None:
        super().__init__(detail)
        self.detail = detail
        self.wait = wait
        self.stop = stop


class PoliteClient:
    """One connection to one source. Not for several threads at once (the retriever sees to that).

    `ca_bundle` is a PEM file whose certificates are trusted in addition to the system's store. The ministry's server
    leaves its intermediate certificate out, so many clients cannot build the chain. To supply it: read the server's
    certificate (`openssl s_client -connect wwwq.moex.gov.tw:443 </dev/null | openssl x509 -noout -text`), fetch the
    file named there under 'CA Issuers', convert it (`openssl x509 -inform der -in FILE -out intermediate.pem`) and
    compare its fingerprint with the one that the authority publishes. Up to Python 3.12 the chain must still end in a
    root of the system's store; from 3.13 on OpenSSL is told to trust the supplied certificate by itself.
    """

    def __init__(
        self,
        politeness: Politeness,
        counters: Counters,
        clock: Clock,
        *,
        ca_bundle: Path | None = None,
        proxy: str | None = None,
        draw: Callable[[], float] = random.random,
    ) -> None:
        import httpx

        self._politeness = politeness
        self._counters = counters
        self._clock = clock
        self._draw = draw
        self._next_start = float("-inf")
        self._client = httpx.Client(
            verify=_tls_context(ca_bundle),
            proxy=proxy,
            trust_env=False,
            follow_redirects=False,
            timeout=politeness.timeout_seconds,
            limits=httpx.Limits(max_connections=1, max_keepalive_connections=1),
            # Without compression Content-Length is the body's length, and no small answer unpacks into a large one.
            headers={"User-Agent": USER_AGENT, "Referer": REFERER, "Accept-Encoding": "identity"},
        )

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def get(
        self,
        url: str,
        headers: Mapping[str, str],
        into: Body,
        cap: int,
        flaw: Callable[[Answer, Body], str],
    ) -> Answer:
        """Ask until there is a final answer: 200, 304 or one of MISSING. The body of a 200 goes `into` the file.

        `cap` is the most bytes a body may have. `flaw` says why a received body is incomplete, '' when it is whole;
        an incomplete one is asked for again. Raises GaveUp after the last attempt, RetrievalStopped for anything else.
        """
        for attempt in range(1, self._politeness.attempts + 1):
            self._wait_for_turn()
            self._counters.requests += 1
            self._counters.retries += attempt > 1
            try:
                return self._once(url, headers, into, cap, flaw)
            except _Later as later:
                failed = later
            if failed.wait > self._politeness.retry_after_cap_seconds:
                raise RetrievalStopped(url, f"{failed.detail}; the server asks to wait {failed.wait:.0f} s. Try then")
            if attempt < self._politeness.attempts:
                self._clock.sleep(max(failed.wait, self._backoff(attempt)))
        detail = f"{failed.detail}, {self._politeness.attempts} times"
        if failed.stop:
            raise RetrievalStopped(url, detail)
        raise GaveUp(detail)

    def _wait_for_turn(self) -> None:
        wait = self._next_start - self._clock.monotonic()
        if wait > 0:
            self._clock.sleep(wait)
        pause = self._politeness.delay_seconds + self._politeness.jitter_seconds * self._draw()
        self._next_start = self._clock.monotonic() + pause

    def _backoff(self, attempt: int) -> float:
        base, most = self._politeness.backoff_seconds, self._politeness.backoff_cap_seconds
        return backoff(attempt, base, most, self._draw, kept=0.5)  # never at once: the ministry is asked gently

    def _once(
        self,
        url: str,
        headers: Mapping[str, str],
        into: Body,
        cap: int,
        flaw: Callable[[Answer, Body], str],
    ) -> Answer:
        import httpx

        into.restart()
        try:
            with self._client.stream("GET", url, headers=dict(headers)) as response:
                answer = self._receive(url, response, into, cap)
        except (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError) as error:
            reason = _certificate_reason(error)
            if reason:
                raise CertificateNotVerified(url, reason) from error
            unreachable = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
            raise _Later(f"{type(error).__name__}: {error}", stop=unreachable) from error
        except httpx.HTTPError as error:
            raise RetrievalStopped(url, f"{type(error).__name__}: {error}") from error
        found = flaw(answer, into) if answer.status == 200 and not answer.too_large else ""
        if found:
            raise _Later(found)
        return answer

    def _receive(self, url: str, response: httpx.Response, into: Body, cap: int) -> Answer:
        status = response.status_code
        answer = Answer(status, {name.lower(): value for name, value in response.headers.items()})
        if status == 200:
            return self._receive_body(url, response, answer, into, cap)
        _drain(response)
        if status in RETRIED:
            now = datetime.fromtimestamp(self._clock.now(), UTC)
            wait = retry_after(answer.headers.get("retry-after"), now)
            raise _Later(f"status {status}", wait=wait or 0.0, stop=status == 429)
        if status != 304 and status not in MISSING:
            raise RetrievalStopped(url, f"status {status}: {_meaning(status)}")
        return answer

    def _receive_body(self, url: str, response: httpx.Response, answer: Answer, into: Body, cap: int) -> Answer:
        if answer.headers.get("content-encoding", "identity").lower() != "identity":
            raise RetrievalStopped(url, "the answer is compressed though that was not asked for")
        too_large = Answer(answer.status, answer.headers, too_large=True)
        declared = answer.headers.get("content-length", "")
        if declared.isascii() and declared.isdigit() and int(declared) > cap:
            return too_large
        started = self._clock.monotonic()
        for chunk in response.iter_raw():
            self._counters.bytes += len(chunk)
            if into.size + len(chunk) > cap:
                return too_large
            into.write(chunk)
            if self._clock.monotonic() - started > self._politeness.deadline_seconds:
                raise _Later(f"the answer took more than {self._politeness.deadline_seconds:g} s")
        return answer


@lru_cache(maxsize=4)
def _tls_context(ca_bundle: Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if ca_bundle is not None:
        try:
            context.load_verify_locations(cafile=ca_bundle)
        except OSError as error:  # ssl.SSLError is one
            raise ValueError(f"ca_bundle {ca_bundle} holds no certificates that can be read: {error}") from error
    return context


def _certificate_reason(error: BaseException | None) -> str:
    """OpenSSL's words when a certificate was the cause anywhere in the chain, '' otherwise."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return error.verify_message
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return str(error)
        error = error.__cause__ or error.__context__
    return ""


def _drain(response: httpx.Response) -> None:
    read = 0
    for chunk in response.iter_raw():
        read += len(chunk)
        if read > MAX_DRAINED:
            return


def _meaning(status: int) -> str:
    if status in (401, 403):
        return "access refused; look at the ministry's site before trying again"
    if status in (301, 307, 308):
        return "the address has moved; redirects are not followed"
    return "an answer that nobody planned for"
