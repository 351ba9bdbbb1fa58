"""Retrieval: a ministry URL becomes a checked file on the local disk, asked for as seldom as possible.

What belongs here: sources (the live ministry, a base URL, a mirror folder), what an answer means for a paper, when a
record is too old. What does not: HTTP manners (polite), the disk (cache), the mirror's list (mirror), parsing.
Source of the rules: DESIGN section 4, "Polite retrieval"; the mirror's README for what the live service answers.
"""

from __future__ import annotations

import io
import os
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from opentwbench.exam.cache import Body, Cache, IncomingFile, Record
from opentwbench.exam.index import INDEX_URL, MAX_INDEX_BYTES, IndexFormatError, parse_paper_url, read_index
from opentwbench.exam.mirror import Mirror, open_regular
from opentwbench.exam.polite import (
    MISSING,
    Answer,
    Clock,
    Counters,
    GaveUp,
    PoliteClient,
    Politeness,
    RetrievalStopped,
    SystemClock,
)

LIVE = "live"
"""The source that means the ministry itself."""

MAX_VALIDATOR = 512
"""Characters of an ETag or Last-Modified that are worth keeping; a longer one is not sent back."""

DAY = 86_400.0
"""Seconds."""


class RetrievalStatus(StrEnum):
    """How a call ended. Only the first three come with a file."""

    FETCHED = "fetched"
    """New bytes came from the source."""
    CACHED = "cached"
    """The source was not asked."""
    NOT_MODIFIED = "not_modified"
    """The source was asked and still has the bytes that were here."""
    NOT_A_PDF = "not_a_pdf"
    """A body that does not start with %PDF: how the ministry answers for most missing files."""
    MISSING = "missing"
    """The source says that there is no such file."""
    TOO_LARGE = "too_large"
    """The body is over the cap."""
    FAILED = "failed"
    """No whole answer within the attempts; nothing is recorded, the next run asks again."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """One URL's outcome. `path`, `sha256` and `size` (bytes) are of the file; None, '' and 0 when there is none."""

    status: RetrievalStatus
    path: Path | None
    sha256: str
    size: int
    url: str
    detail: str = ""
    requests: int = 0
    """Requests that this call made."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far `fetch_all` is: distinct URLs done and in all, bytes read from the source so far, outcomes by status."""

    done: int
    total: int
    bytes: int
    statuses: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes and ages in seconds. Within its maximal age a record is believed without asking."""

    max_pdf_bytes: int = 50 * 1024 * 1024
    """The largest real paper is under 8 MB."""
    max_index_bytes: int = MAX_INDEX_BYTES
    max_age_seconds: float = 30 * DAY
    """A published paper hardly ever changes; a corrected key has a URL of its own."""
    missing_max_age_seconds: float = 7 * DAY
    """Of 'no such file': it may be published later."""
    index_max_age_seconds: float = 0.5 * DAY
    """The live index changes daily. Source: the data set's page."""

    def __post_init__(self) -> None:
        if min(self.max_pdf_bytes, self.max_index_bytes) < 1:
            raise ValueError(f"a size cap below one byte: {self}")
        if min(self.max_age_seconds, self.missing_max_age_seconds, self.index_max_age_seconds) < 0:
            raise ValueError(f"an age below zero: {self}")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One URL to retrieve and how to judge what comes."""

    url: str
    suffix: str
    cap: int
    max_age: float
    flaw: Callable[[Answer, Body], str]


class Retriever:
    """Fetches papers, keys and the index from one source through one cache.

    `source` is 'live', a base URL that takes the place of the ministry's scheme and host ('http://127.0.0.1:8000'),
    or a mirror folder. `cache` is a local folder, one a ministry: a loopback ministry with sample papers and a mirror
    keep their own records, but two base URLs are believed to serve the same papers.
    Opens itself (and takes the cache's lock) at the first call; `close` it, or use it as a context manager.
    Raises ValueError for a source or URL that is none, CacheBusyError while another process retrieves through the
    cache, RetrievalStopped when retrieval must not go on, MirrorError for a bad mirror. Calls from several threads
    wait for each other: there is one connection.
    """

    def __init__(
        self,
        source: str | Path,
        cache: Path,
        politeness: Politeness | None = None,
        limits: Limits | None = None,
        *,
        ca_bundle: Path | None = None,
        proxy: str | None = None,
        clock: Clock | None = None,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self.counters = Counters()
        self._politeness = politeness or Politeness()
        self._limits = limits or Limits()
        self._clock = clock or SystemClock()
        self._cache = Cache(cache)
        self._mirror, self._base, self._origin = _parse_source(source)
        self._client: PoliteClient | None = None
        self._connect: Callable[[], PoliteClient] = lambda: PoliteClient(
            self._politeness, self.counters, self._clock, ca_bundle=ca_bundle, proxy=proxy, draw=draw
        )
        self._failures = 0
        self._lock = threading.RLock()

    def __enter__(self) -> Retriever:
        self.open()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def open(self) -> None:
        """Take the cache's lock; no request is made. Raises CacheBusyError. Does nothing when open."""
        self._cache.open()

    def close(self) -> None:
        """Close the connection and give the cache's lock back. May be opened again."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None
            self._cache.close()

    @property
    def damaged(self) -> int:
        """Records and bodies of the cache that were found unreadable or altered, and asked for again."""
        return self._cache.damaged

    def fetch(self, url: str, *, max_age_seconds: float | None = None) -> Retrieved:
        """Retrieve one question paper or key by its ministry URL.

        `max_age_seconds` overrides the limits' age for this call: 0 asks the source now (conditionally).
        """
        return self._fetch(self._paper(url, max_age_seconds))

    def due(self, urls: Iterable[str]) -> list[str]:
        """The distinct URLs whose next `fetch` would ask the source, or read a mirror's file, because nothing is known
        of them or what is known is too old. Nothing is asked and no body is read; the order is kept.

        Raises ValueError for a URL that is no paper's.
        """
        return [url for url in dict.fromkeys(urls) if self._is_due(self._paper(url))]

    def _paper(self, url: str, max_age_seconds: float | None = None) -> _Wanted:
        parse_paper_url(url)
        age = self._limits.max_age_seconds if max_age_seconds is None else max_age_seconds
        return _Wanted(url, ".pdf", self._limits.max_pdf_bytes, age, _pdf_flaw)

    def _is_due(self, wanted: _Wanted) -> bool:
        record = self._known(wanted)
        if self._mirror is None:
            return record is None or not self._is_fresh(record, wanted)
        path = self._mirror.path_of(wanted.url)
        if path is None:
            return record is not None  # it was there once
        try:
            with open_regular(path) as file:
                return record is None or record.etag != _stamp(file)
        except OSError:
            return record is not None

    def fetch_all(
        self, urls: Iterable[str], on_progress: Callable[[Progress], None] | None = None
    ) -> Iterator[Retrieved]:
        """Retrieve every distinct URL once, in the order given; one outcome a distinct URL, as soon as it is known.

        `on_progress` is called after each. Nothing is retrieved before the first outcome is taken.
        """
        distinct = list(dict.fromkeys(urls))
        for url in distinct:
            parse_paper_url(url)
        before = self.counters.bytes
        statuses: Counter[str] = Counter()
        for done, url in enumerate(distinct, start=1):
            outcome = self.fetch(url)
            statuses[outcome.status.value] += 1
            if on_progress:
                on_progress(Progress(done, len(distinct), self.counters.bytes - before, dict(statuses)))
            yield outcome

    def fetch_index(self, *, max_age_seconds: float | None = None) -> Retrieved:
        """Retrieve the index; always with a file. What came was read as an index before it was kept.

        Raises IndexFormatError when it is none, RetrievalStopped when there is none.
        """
        age = self._limits.index_max_age_seconds if max_age_seconds is None else max_age_seconds
        wanted = _Wanted(INDEX_URL, ".csv", self._limits.max_index_bytes, age, _index_flaw)
        outcome = self._fetch(wanted)
        if outcome.path is None:
            raise RetrievalStopped(outcome.url, f"no index: {outcome.status.value}: {outcome.detail}")
        return outcome

    def _fetch(self, wanted: _Wanted) -> Retrieved:
        with self._lock:
            self.open()
            before = self.counters.requests
            outcome = self._read_mirror(wanted, self._mirror) if self._mirror else self._ask(wanted)
            outcome = replace(outcome, requests=self.counters.requests - before)
            self.counters.statuses[outcome.status.value] += 1
            return outcome

    # -- a source that is asked over HTTP ---------------------------------------------------------------------------

    def _ask(self, wanted: _Wanted) -> Retrieved:
        record = self._known(wanted)
        body = self._cache.sound_body(record, wanted.suffix) if record else None
        if record and (body or not record.sha256) and self._is_fresh(record, wanted):
            return _from_record(record, body, RetrievalStatus.CACHED if body else RetrievalStatus(record.status))
        kept = record if body else None
        with self._cache.receive() as aside:
            try:
                answer = self._get(wanted, _conditions(kept), aside)
            except GaveUp as failed:
                return self._failed(wanted, failed.detail)
            self._failures = 0
            return self._judge(wanted, answer, aside, kept, body)

    def _known(self, wanted: _Wanted) -> Record | None:
        """The record, None when there is none that these limits would have made."""
        record = self._cache.read_record(self._origin, wanted.url)
        if record is None or record.status not in _RECORDED or record.size > wanted.cap:
            return None
        if record.status == RetrievalStatus.TOO_LARGE and record.size < wanted.cap:
            return None  # the cap was raised since
        return record

    def _is_fresh(self, record: Record, wanted: _Wanted) -> bool:
        limit = wanted.max_age if record.sha256 else min(wanted.max_age, self._limits.missing_max_age_seconds)
        # A negative age means that the clock was set back: nobody knows how old the record is.
        return 0 <= self._clock.now() - record.fetched_at < limit

    def _get(self, wanted: _Wanted, conditions: Mapping[str, str], aside: IncomingFile) -> Answer:
        if self._client is None:
            self._client = self._connect()
        return self._client.get(self._address(wanted.url), conditions, aside, wanted.cap, wanted.flaw)

    def _address(self, url: str) -> str:
        if not self._base:
            return url
        parts = urlsplit(url)
        return f"{self._base}{parts.path}" + (f"?{parts.query}" if parts.query else "")

    def _failed(self, wanted: _Wanted, detail: str) -> Retrieved:
        self._failures += 1
        if self._failures >= self._politeness.failures_in_a_row:
            raise RetrievalStopped(wanted.url, f"{detail}; {self._failures} URLs failed in a row")
        return Retrieved(RetrievalStatus.FAILED, None, "", 0, wanted.url, detail)

    def _judge(
        self, wanted: _Wanted, answer: Answer, aside: IncomingFile, kept: Record | None, body: Path | None
    ) -> Retrieved:
        if answer.status == 304:
            return self._renew(wanted, kept, body)
        status, detail = _meaning(wanted, answer, aside)
        if status is RetrievalStatus.FETCHED:
            path = self._cache.keep(aside, wanted.suffix)
            record = self._record(wanted, answer, aside)
            # A source that cannot answer 304 sends the same bytes again; what matters is that nothing changed.
            status = RetrievalStatus.NOT_MODIFIED if kept and kept.sha256 == record.sha256 else status
        else:
            path = None
            size = wanted.cap if status is RetrievalStatus.TOO_LARGE else 0
            before = kept.sha256 if kept else ""
            now = self._clock.now()
            record = Record(wanted.url, status.value, "", size, now, detail=detail, before=before)
        self._cache.write_record(self._origin, record)
        return _from_record(record, path, status)

    def _record(self, wanted: _Wanted, answer: Answer, body: Body) -> Record:
        return Record(
            url=wanted.url,
            status=RetrievalStatus.FETCHED.value,
            sha256=body.sha256,
            size=body.size,
            fetched_at=self._clock.now(),
            etag=_validator(answer, "etag"),
            last_modified=_validator(answer, "last-modified"),
            content_type=_shown(answer.headers.get("content-type", "")),
        )

    def _renew(self, wanted: _Wanted, kept: Record | None, body: Path | None) -> Retrieved:
        if kept is None:
            raise RetrievalStopped(wanted.url, "status 304 though nothing was asked conditionally")
        record = replace(kept, fetched_at=self._clock.now())
        self._cache.write_record(self._origin, record)
        return _from_record(record, body, RetrievalStatus.NOT_MODIFIED)

    # -- a mirror folder: nobody is asked, so the file itself is looked at every time --------------------------------

    def _read_mirror(self, wanted: _Wanted, mirror: Mirror) -> Retrieved:
        path = mirror.index_path() if wanted.url == INDEX_URL else mirror.path_of(wanted.url)
        if path is None:
            return Retrieved(RetrievalStatus.MISSING, None, "", 0, wanted.url, "urls.csv names no file for this URL")
        record = self._known(wanted)
        try:
            with open_regular(path) as file:
                stamp = _stamp(file)
                if record and record.etag == stamp:
                    return _from_record(record, path, RetrievalStatus.CACHED)
                body = Body(io.BytesIO())
                answer = Answer(200, {}, too_large=not self._copy(file, body, wanted.cap))
        except OSError as error:
            return Retrieved(RetrievalStatus.MISSING, None, "", 0, wanted.url, f"{path.name}: {error.strerror}")
        return self._judge_mirrored(wanted, answer, body, path, record, stamp)

    def _copy(self, file: IO[bytes], body: Body, cap: int) -> bool:
        """Read the file into the body; False, and not all of it, when there is more than the cap."""
        while chunk := file.read(1024 * 1024):
            self.counters.bytes += len(chunk)
            if body.size + len(chunk) > cap:
                return False
            body.write(chunk)
        return True

    def _judge_mirrored(
        self, wanted: _Wanted, answer: Answer, body: Body, path: Path, known: Record | None, stamp: str
    ) -> Retrieved:
        flaw = "" if answer.too_large else wanted.flaw(answer, body)
        if flaw:
            return Retrieved(RetrievalStatus.FAILED, None, "", 0, wanted.url, flaw)
        status, detail = _meaning(wanted, answer, body)
        if status is not RetrievalStatus.FETCHED:
            return Retrieved(status, None, "", 0, wanted.url, detail)
        record = replace(self._record(wanted, answer, body), etag=stamp)
        # Losing it costs a look at a local file, a sync would cost more than the look.
        self._cache.write_record(self._origin, record, durable=False)
        same = known is not None and known.sha256 == record.sha256
        return _from_record(record, path, RetrievalStatus.NOT_MODIFIED if same else status)


_RECORDED = frozenset(RetrievalStatus) - {RetrievalStatus.CACHED, RetrievalStatus.NOT_MODIFIED, RetrievalStatus.FAILED}


def _parse_source(source: str | Path) -> tuple[Mirror | None, str, str]:
    """The mirror (None for HTTP), the base URL ('' for none) and the name under which records are kept."""
    if source == LIVE:
        return None, "", "live"
    if isinstance(source, Path) or "://" not in source:
        if not str(source):
            raise ValueError("the source is empty; it is 'live', a base URL or a mirror folder")
        return Mirror(Path(source)), "", "mirror"
    parts = urlsplit(source)
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or "@" in parts.netloc
        or parts.query + parts.fragment
    ):
        raise ValueError(f"{source!r} is no base URL: http or https, a host, no user, no query")
    return None, source.rstrip("/"), "base"


def _meaning(wanted: _Wanted, answer: Answer, body: Body) -> tuple[RetrievalStatus, str]:
    """What a final answer other than 304 means for the file, with the reason when there is none."""
    if answer.status in MISSING:
        return RetrievalStatus.MISSING, f"status {answer.status}"
    if answer.too_large:
        return RetrievalStatus.TOO_LARGE, f"over {wanted.cap:,} bytes"
    if wanted.suffix == ".pdf" and not body.head.startswith(b"%PDF"):
        kind = _shown(answer.headers.get("content-type", "")) or "no content type"
        return RetrievalStatus.NOT_A_PDF, f"{kind}; starts with {body.head[:40]!r}"
    return RetrievalStatus.FETCHED, ""


def _pdf_flaw(answer: Answer, body: Body) -> str:
    """Why a PDF is not whole. Readers look for %%EOF in the last 1,024 bytes (PDF reference 1.7, appendix H)."""
    if body.head.startswith(b"%PDF") and b"%%EOF" not in body.tail:
        return f"cut off: no %%EOF at the end of {body.size:,} bytes"
    return ""


def _index_flaw(answer: Answer, body: Body) -> str:
    """Why an index is not whole: it stops inside a row. Raises IndexFormatError when it is no index at all."""
    data = body.read()
    cut = not body.tail.endswith(b"\n") and not body.head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<")
    try:
        index = read_index(data, INDEX_URL)
    except IndexFormatError as error:
        if cut:
            return f"cut off: {error.detail}"
        raise
    if cut and index.problems and index.problems[-1].line > data.count(b"\n"):
        return f"cut off: the last row, on line {index.problems[-1].line}, is {index.problems[-1].problem.value}"
    return ""


def _conditions(kept: Record | None) -> dict[str, str]:
    """The headers that make a request conditional on the body that is here."""
    if kept is None:
        return {}
    named = {"If-None-Match": kept.etag, "If-Modified-Since": kept.last_modified}
    return {name: value for name, value in named.items() if value}


def _validator(answer: Answer, name: str) -> str:
    value = answer.headers.get(name, "")
    return value if len(value) <= MAX_VALIDATOR and value.isascii() and value.isprintable() else ""


def _shown(text: str) -> str:
    return ascii(text[:80])[1:-1]


def _stamp(file: IO[bytes]) -> str:
    """What changes when a file does: the mirror's stand-in for an ETag."""
    found = os.fstat(file.fileno())
    return f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}-{found.st_ctime_ns}"


def _from_record(record: Record, path: Path | None, status: RetrievalStatus) -> Retrieved:
    if path is None:
        return Retrieved(status, None, "", 0, record.url, record.detail)
    return Retrieved(status, path, record.sha256, record.size, record.url, record.detail)
