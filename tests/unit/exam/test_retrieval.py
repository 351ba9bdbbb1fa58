"""Retrieval over a real loopback server: every answer and fault that the ministry, or somebody in between, can give."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from email.utils import formatdate
from pathlib import Path

import pytest
from support.tiny_mirror import FakeClock, age, paper_url, pdf, write, write_mirror

from opentwbench.exam.index import INDEX_URL, IndexFormatError, read_index
from opentwbench.exam.polite import REFERER, Politeness, RetrievalStopped
from opentwbench.exam.retrieval import DAY, Limits, Progress, RetrievalStatus, Retriever
from samples.loopback import Fault, FaultKind, LoopbackMinistry

Q0 = paper_url("Q", "0000")
NOWHERE = paper_url("Q", "9999")
QUICK = Politeness(delay_seconds=0, jitter_seconds=0)

Make = Callable[..., Retriever]


@pytest.fixture
def ministry(tmp_path: Path) -> Iterator[LoopbackMinistry]:
    write_mirror(tmp_path / "mirror", 3)
    with LoopbackMinistry(tmp_path / "mirror") as server:
        yield server


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def make(ministry: LoopbackMinistry, tmp_path: Path, clock: FakeClock) -> Iterator[Make]:
    """Makes retrievers on one cache; making the next one closes the last."""
    made: list[Retriever] = []

    def build(politeness: Politeness = QUICK, limits: Limits | None = None) -> Retriever:
        if made:
            made[-1].close()
        retriever = Retriever(ministry.base_url, tmp_path / "cache", politeness, limits, clock=clock, draw=lambda: 0.5)
        made.append(retriever)
        return retriever

    yield build
    if made:
        made[-1].close()


def bodies(cache: Path) -> set[bytes]:
    return {path.read_bytes() for path in cache.glob("bodies/*/*")}


def record_of(cache: Path, url: str) -> dict[str, object]:
    found = [json.loads(path.read_text()) for path in cache.glob("records/*/*/*.json")]
    return next(record for record in found if record["url"] == url)


# -- what is asked, and how ------------------------------------------------------------------------------------------


def test_a_paper_is_fetched_once_and_then_comes_from_the_cache(make: Make, ministry: LoopbackMinistry) -> None:
    first = make().fetch(Q0)
    assert (first.status, first.requests) == (RetrievalStatus.FETCHED, 1)
    assert first.path is not None
    assert first.path.read_bytes() == pdf("Q0")
    second_run = make()
    again = second_run.fetch(Q0)
    assert (again.status, again.path, again.sha256, again.size) == ("cached", first.path, first.sha256, first.size)
    assert (second_run.counters.requests, second_run.counters.bytes, again.requests) == (0, 0, 0)
    assert [request.url for request in ministry.log] == [Q0]


def test_a_request_names_the_project_and_asks_for_plain_bytes(make: Make, ministry: LoopbackMinistry) -> None:
    make().fetch(Q0)
    headers = ministry.log[0].headers
    assert headers["user-agent"].startswith("OpenTWBench/")
    assert headers["referer"] == REFERER
    assert headers["accept-encoding"] == "identity"
    assert "if-none-match" not in headers


def test_after_the_maximal_age_the_request_is_conditional(
    make: Make, ministry: LoopbackMinistry, clock: FakeClock
) -> None:
    retriever = make(limits=Limits(max_age_seconds=10 * DAY))
    fetched = retriever.fetch(Q0)
    clock.time += 9 * DAY
    assert retriever.fetch(Q0).status == "cached"
    clock.time += 2 * DAY
    renewed = retriever.fetch(Q0)
    assert (renewed.status, renewed.sha256, renewed.path) == ("not_modified", fetched.sha256, fetched.path)
    assert ministry.log[1].status == 304
    assert ministry.log[1].headers["if-none-match"] == ministry_etag(ministry)
    assert "if-modified-since" in ministry.log[1].headers
    clock.time += 9 * DAY
    assert retriever.fetch(Q0).status == "cached"
    assert len(ministry.log) == 2


def ministry_etag(ministry: LoopbackMinistry) -> str:

    return f'"{hashlib.sha256(pdf("Q0")).hexdigest()[:32]}"'


def test_a_changed_paper_is_fetched_anew_after_the_maximal_age(
    make: Make, ministry: LoopbackMinistry, tmp_path: Path
) -> None:
    retriever = make()
    old = retriever.fetch(Q0)
    write(tmp_path / "mirror/files/101010/301/0000/Q.pdf", pdf("another"))
    new = retriever.fetch(Q0, max_age_seconds=0)
    assert (new.status, old.sha256 == new.sha256) == ("fetched", False)
    assert new.path is not None
    assert new.path.read_bytes() == pdf("another")
    assert retriever.fetch(Q0).sha256 == new.sha256


def test_a_source_without_validators_that_sends_the_same_bytes_counts_as_not_modified(
    make: Make, ministry: LoopbackMinistry
) -> None:
    ministry.plant(Fault(FaultKind.NO_VALIDATORS, times=None))
    retriever = make()
    retriever.fetch(Q0)
    assert retriever.fetch(Q0, max_age_seconds=0).status == "not_modified"
    assert [request.status for request in ministry.log] == [200, 200]
    assert "if-none-match" not in ministry.log[1].headers


def test_a_clock_that_was_set_back_means_asking_again(make: Make, ministry: LoopbackMinistry, clock: FakeClock) -> None:
    retriever = make()
    retriever.fetch(Q0)
    clock.time -= DAY
    assert retriever.fetch(Q0).status == "not_modified"


def test_requests_start_a_delay_apart_and_the_jitter_is_drawn(make: Make, clock: FakeClock) -> None:
    retriever = make(Politeness(delay_seconds=1.0, jitter_seconds=0.5))
    for subject in ("0000", "0001"):
        retriever.fetch(paper_url("Q", subject))
    clock.time += 0.75
    retriever.fetch(paper_url("Q", "0002"))
    retriever.fetch(Q0)  # from the cache: nothing to wait for
    assert clock.sleeps == pytest.approx([1.25, 0.5])


def test_there_is_one_connection_even_with_several_threads(make: Make, ministry: LoopbackMinistry) -> None:
    ministry.plant(Fault(FaultKind.DELAY, times=None, seconds=0.01))
    retriever = make()
    urls = [paper_url(role, f"000{number}") for role in "QS" for number in range(3)]
    threads = [threading.Thread(target=retriever.fetch, args=(url,)) for url in urls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(ministry.log), ministry.most_at_once) == (6, 1)
    assert len({request.connection for request in ministry.log}) == 1


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/exam/wHandExamQandA_File.ashx?t=Q&code=1&c=1&s=1&q=1",
        Q0.replace("https", "http"),
        Q0.replace("s=0000", "s=../0000"),
        "file:///etc/hostname",
        INDEX_URL,
        "",
    ],
)
def test_only_the_ministrys_own_urls_are_asked_for(make: Make, ministry: LoopbackMinistry, url: str) -> None:
    with pytest.raises(ValueError, match=r"not under|parameter"):
        make().fetch(url)
    assert ministry.log == ()


@pytest.mark.parametrize("source", ["", "ftp://127.0.0.1", "http://", "http://user:word@127.0.0.1", "http://a?b=c"])
def test_a_source_that_is_none_is_refused(source: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"source|base URL"):
        Retriever(source, tmp_path / "cache")


@pytest.mark.parametrize(
    "settings",
    [{"delay_seconds": -1}, {"attempts": 0}, {"failures_in_a_row": 0}, {"timeout_seconds": 0}],
)
def test_impossible_politeness_is_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"below zero|at least 1"):
        Politeness(**settings)  # type: ignore[arg-type]


# -- what is no paper ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("missing", "status"), [("html", "not_a_pdf"), ("redirect", "missing"), ("not_found", "missing")]
)
def test_a_missing_file_is_recorded_and_asked_for_again_only_after_its_age(
    make: Make, ministry: LoopbackMinistry, clock: FakeClock, tmp_path: Path, missing: str, status: str
) -> None:
    ministry.missing = missing
    limits = Limits(missing_max_age_seconds=7 * DAY)
    outcome = make(limits=limits).fetch(NOWHERE)
    assert (outcome.status, outcome.path, outcome.sha256, outcome.size) == (status, None, "", 0)
    assert outcome.detail
    clock.time += 6 * DAY
    assert make(limits=limits).fetch(NOWHERE).status == status
    assert (len(ministry.log), bodies(tmp_path / "cache")) == (1, set())
    clock.time += 2 * DAY
    assert make(limits=limits).fetch(NOWHERE).requests == 1
    assert {request.url for request in ministry.log} == {NOWHERE}


def test_a_file_published_later_is_found(make: Make, ministry: LoopbackMinistry, clock: FakeClock) -> None:
    ministry.plant(Fault(FaultKind.HTML))
    retriever = make()
    assert retriever.fetch(Q0).status == "not_a_pdf"
    clock.time += 8 * DAY
    assert retriever.fetch(Q0).status == "fetched"
    assert "if-none-match" not in ministry.log[1].headers


def test_a_paper_that_goes_missing_is_said_to_be_missing(
    make: Make, ministry: LoopbackMinistry, tmp_path: Path
) -> None:
    retriever = make()
    fetched = retriever.fetch(Q0)
    ministry.plant(Fault(FaultKind.HTML))
    gone = retriever.fetch(Q0, max_age_seconds=0)
    assert (gone.status, gone.path) == ("not_a_pdf", None)
    assert "<!DOCTYPE html>" in gone.detail
    assert record_of(tmp_path / "cache", Q0)["before"] == fetched.sha256


def test_the_body_decides_not_the_content_type(make: Make, ministry: LoopbackMinistry) -> None:
    ministry.plant(Fault(FaultKind.CONTENT_TYPE, content_type="text/html; charset=utf-8"))
    assert make().fetch(Q0).status == "fetched"


@pytest.mark.parametrize("kind", [FaultKind.OVERSIZE, FaultKind.OVERSIZE_UNDECLARED])
def test_a_body_over_the_cap_is_not_read_to_its_end(
    make: Make, ministry: LoopbackMinistry, tmp_path: Path, kind: FaultKind
) -> None:
    ministry.plant(Fault(kind, size=20_000_000))
    limits = Limits(max_pdf_bytes=100_000)
    retriever = make(limits=limits)
    outcome = retriever.fetch(Q0)
    assert (outcome.status, outcome.path) == ("too_large", None)
    assert retriever.counters.bytes <= 100_000 + 65_536
    assert bodies(tmp_path / "cache") == set()
    assert make(limits=limits).fetch(Q0).requests == 0
    raised = make().fetch(Q0)
    assert (raised.status, raised.requests) == ("fetched", 1)
    lowered = make(limits=Limits(max_pdf_bytes=1_000)).fetch(Q0)
    assert (lowered.status, lowered.path, lowered.requests) == ("too_large", None, 1)


# -- what is asked for again -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        Fault(FaultKind.STATUS, status=500, times=2),
        Fault(FaultKind.STATUS, status=503, times=2),
        Fault(FaultKind.STATUS, status=429, times=2),
        Fault(FaultKind.STATUS, status=408, times=2),
        Fault(FaultKind.CUT, times=2),
        Fault(FaultKind.SHORT, times=2),
        Fault(FaultKind.DROP, times=2),
    ],
    ids=lambda fault: f"{fault.kind}-{fault.status}",
)
def test_a_passing_fault_is_asked_through_with_growing_pauses(
    make: Make, ministry: LoopbackMinistry, clock: FakeClock, fault: Fault
) -> None:
    ministry.plant(fault)
    retriever = make(Politeness(delay_seconds=0, jitter_seconds=0, backoff_seconds=2))
    outcome = retriever.fetch(Q0)
    assert (outcome.status, outcome.requests, retriever.counters.retries) == ("fetched", 3, 2)
    assert outcome.path is not None
    assert outcome.path.read_bytes() == pdf("Q0")
    assert clock.sleeps == [1.5, 3.0]  # 2 and 4 seconds, of which a half is drawn (0.5)


@pytest.mark.parametrize("kind", [FaultKind.CUT, FaultKind.SHORT, FaultKind.DROP, FaultKind.STATUS])
def test_a_lasting_fault_is_a_failure_and_never_a_paper(
    make: Make, ministry: LoopbackMinistry, tmp_path: Path, kind: FaultKind
) -> None:
    ministry.plant(Fault(kind, times=None))
    outcome = make().fetch(Q0)
    assert (outcome.status, outcome.path, outcome.requests) == ("failed", None, 5)
    assert outcome.detail.endswith(", 5 times")
    cache = tmp_path / "cache"
    assert (bodies(cache), list(cache.glob("records/*/*/*"))) == (set(), [])
    ministry.heal()
    assert make().fetch(Q0).status == "fetched"


def test_failures_in_a_row_stop_the_crawl_and_a_success_between_them_does_not(
    make: Make, ministry: LoopbackMinistry
) -> None:
    ministry.plant(Fault(FaultKind.STATUS, "t=S", times=None))
    politeness = Politeness(delay_seconds=0, jitter_seconds=0, attempts=1, failures_in_a_row=2)
    mixed = [paper_url(role, f"000{number}") for number in range(3) for role in "SQ"]
    statuses = [outcome.status for outcome in make(politeness).fetch_all(mixed)]
    assert statuses == ["failed", "fetched"] * 3
    outcomes = make(politeness).fetch_all(paper_url("S", f"000{number}") for number in range(3))
    assert next(outcomes).status == "failed"
    with pytest.raises(RetrievalStopped, match="2 URLs failed in a row"):
        next(outcomes)


def test_a_server_that_keeps_saying_429_is_left_alone(make: Make, ministry: LoopbackMinistry) -> None:
    ministry.plant(Fault(FaultKind.STATUS, status=429, times=None))
    with pytest.raises(RetrievalStopped, match="status 429, 5 times"):
        make().fetch(Q0)


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_in_seconds_is_honoured(
    make: Make, ministry: LoopbackMinistry, clock: FakeClock, status: int
) -> None:
    ministry.plant(Fault(FaultKind.STATUS, status=status, retry_after="90"))
    assert make().fetch(Q0).status == "fetched"
    assert clock.sleeps == [90.0]


def test_retry_after_as_a_date_is_honoured(make: Make, ministry: LoopbackMinistry, clock: FakeClock) -> None:
    ministry.plant(Fault(FaultKind.STATUS, status=429, retry_after=formatdate(clock.time + 45, usegmt=True)))
    assert make().fetch(Q0).status == "fetched"
    assert clock.sleeps == [45.0]


@pytest.mark.parametrize("value", ["soon", "-5", "Sun, 99 Foo 2026 00:00:00 GMT", "Mon, 01 Jan 2001 00:00:00 GMT"])
def test_a_retry_after_that_says_nothing_leaves_our_own_pause(
    make: Make, ministry: LoopbackMinistry, clock: FakeClock, value: str
) -> None:
    ministry.plant(Fault(FaultKind.STATUS, status=429, retry_after=value))
    assert make().fetch(Q0).status == "fetched"
    assert clock.sleeps == [1.5]


@pytest.mark.parametrize("value", ["601", "9" * 400])
def test_a_retry_after_over_the_cap_stops_instead_of_waiting(
    make: Make, ministry: LoopbackMinistry, clock: FakeClock, value: str
) -> None:
    ministry.plant(Fault(FaultKind.STATUS, status=429, retry_after=value))
    with pytest.raises(RetrievalStopped, match=r"asks to wait \d+ s"):
        make().fetch(Q0)
    assert clock.sleeps == []


def test_a_slow_answer_times_out_and_is_asked_for_again(make: Make, ministry: LoopbackMinistry) -> None:
    ministry.plant(Fault(FaultKind.DELAY, seconds=0.5))
    outcome = make(Politeness(delay_seconds=0, jitter_seconds=0, timeout_seconds=0.2)).fetch(Q0)
    assert (outcome.status, outcome.requests) == ("fetched", 2)


def test_an_answer_that_drips_is_cut_at_the_deadline(ministry: LoopbackMinistry, tmp_path: Path) -> None:
    ministry.plant(Fault(FaultKind.DRIP, size=10, seconds=0.02))
    politeness = Politeness(
        delay_seconds=0, jitter_seconds=0, backoff_seconds=0, attempts=1, timeout_seconds=5, deadline_seconds=0.1
    )
    with Retriever(ministry.base_url, tmp_path / "cache", politeness) as retriever:
        outcome = retriever.fetch(Q0)
    assert outcome.status == "failed"
    assert "took more than 0.1 s" in outcome.detail


def test_an_unreachable_server_stops_the_crawl(make: Make, ministry: LoopbackMinistry) -> None:
    ministry.stop()
    with pytest.raises(RetrievalStopped, match=r"ConnectError.*5 times"):
        make().fetch(Q0)


# -- what stops ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 401, 403, 405, 301, 307, 308, 204, 206, 304])
def test_any_other_answer_stops_at_once_and_leaves_no_record(
    make: Make, ministry: LoopbackMinistry, tmp_path: Path, status: int
) -> None:
    ministry.plant(Fault(FaultKind.STATUS, status=status, location="/elsewhere"))
    with pytest.raises(RetrievalStopped, match=f"status {status}") as stopped:
        make().fetch(Q0)
    assert stopped.value.url
    assert len(ministry.log) == 1
    assert list((tmp_path / "cache").glob("records/*/*/*")) == []


def test_a_redirect_is_not_followed(make: Make, ministry: LoopbackMinistry) -> None:
    ministry.plant(Fault(FaultKind.STATUS, status=302, location=f"{ministry.base_url}/elsewhere"))
    assert make().fetch(Q0).status == "missing"
    assert [request.url for request in ministry.log] == [Q0]


def test_compression_that_nobody_asked_for_stops(make: Make, ministry: LoopbackMinistry) -> None:
    ministry.plant(Fault(FaultKind.ENCODED))
    with pytest.raises(RetrievalStopped, match="compressed"):
        make().fetch(Q0)


# -- the index ---------------------------------------------------------------------------------------------------------


def test_the_index_is_fetched_cached_and_asked_for_conditionally(
    make: Make, ministry: LoopbackMinistry, clock: FakeClock
) -> None:
    retriever = make()
    fetched = retriever.fetch_index()
    assert (fetched.status, fetched.url) == ("fetched", INDEX_URL)
    assert fetched.path is not None
    assert len(read_index(fetched.path.read_bytes(), "index.csv").rows) == 3
    assert retriever.fetch_index().status == "cached"
    clock.time += DAY
    assert retriever.fetch_index().status == "not_modified"
    assert [request.url for request in ministry.log] == [INDEX_URL, INDEX_URL]


def test_an_index_that_is_html_is_refused_and_not_kept(make: Make, ministry: LoopbackMinistry, tmp_path: Path) -> None:
    ministry.plant(Fault(FaultKind.HTML))
    retriever = make()
    with pytest.raises(IndexFormatError, match="HTML or XML"):
        retriever.fetch_index()
    assert (len(ministry.log), bodies(tmp_path / "cache")) == (1, set())
    assert retriever.fetch_index().status == "fetched"


def test_an_index_with_another_header_is_refused_and_not_kept(
    make: Make, ministry: LoopbackMinistry, tmp_path: Path
) -> None:
    path = tmp_path / "mirror/index.csv"
    write(path, path.read_bytes().replace("節次".encode(), "場次".encode()))
    with pytest.raises(IndexFormatError, match="missing: 節次; unknown: 場次"):
        make().fetch_index()
    assert bodies(tmp_path / "cache") == set()


@pytest.mark.parametrize("kind", [FaultKind.CUT, FaultKind.SHORT])
def test_an_index_that_was_cut_off_is_asked_for_again(make: Make, ministry: LoopbackMinistry, kind: FaultKind) -> None:
    ministry.plant(Fault(kind))
    outcome = make().fetch_index()
    assert (outcome.status, outcome.requests) == ("fetched", 2)


@pytest.mark.parametrize("fault", [Fault(FaultKind.STATUS, times=None), Fault(FaultKind.STATUS, status=404)])
def test_without_an_index_retrieval_stops(make: Make, ministry: LoopbackMinistry, fault: Fault) -> None:
    ministry.plant(fault)
    with pytest.raises(RetrievalStopped, match=r"no index: (failed|missing)"):
        make().fetch_index()


# -- many --------------------------------------------------------------------------------------------------------------


def test_many_urls_are_asked_for_once_each_in_order_with_progress(make: Make, ministry: LoopbackMinistry) -> None:
    ministry.plant(Fault(FaultKind.HTML, "s=0001"))
    urls = [paper_url("Q", subject) for subject in ("0002", "0001", "0002", "0000")]
    told: list[Progress] = []
    retriever = make()
    outcomes = list(retriever.fetch_all(urls, told.append))
    assert [outcome.url for outcome in outcomes] == [urls[0], urls[1], urls[3]]
    assert [request.url for request in ministry.log] == [urls[0], urls[1], urls[3]]
    assert [(progress.done, progress.total) for progress in told] == [(1, 3), (2, 3), (3, 3)]
    assert told[-1].statuses == {"fetched": 2, "not_a_pdf": 1}
    assert told[-1].bytes == retriever.counters.bytes == sum(request.body_bytes for request in ministry.log)
    assert retriever.counters.statuses == {"fetched": 2, "not_a_pdf": 1}
    again = make()
    assert {outcome.status for outcome in again.fetch_all(urls)} == {"cached", "not_a_pdf"}
    assert (again.counters.requests, again.counters.bytes) == (0, 0)


def test_a_bad_url_among_many_is_found_before_anything_is_asked(make: Make, ministry: LoopbackMinistry) -> None:
    with pytest.raises(ValueError, match="not under"):
        next(make().fetch_all([Q0, "https://example.org/"]))
    assert ministry.log == ()


def test_a_file_touched_but_not_changed_is_still_not_modified(
    make: Make, ministry: LoopbackMinistry, tmp_path: Path
) -> None:
    retriever = make()
    retriever.fetch(Q0)
    age(tmp_path / "mirror/files/101010/301/0000/Q.pdf", 60)
    assert retriever.fetch(Q0, max_age_seconds=0).status == "not_modified"
