"""The cache on disk: one process at a time, damage is noticed, and a kill at any moment costs nothing."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.tiny_mirror import paper_url, write_mirror

from opentwbench.exam.cache import Cache, CacheBusyError, Record
from opentwbench.exam.polite import Politeness
from opentwbench.exam.retrieval import Retriever
from samples.loopback import Fault, FaultKind, LoopbackMinistry

ROOT = Path(__file__).resolve().parents[3]
Q0 = paper_url("Q", "0000")
QUICK = Politeness(delay_seconds=0, jitter_seconds=0)

HOLD = """
import os, sys, time
from pathlib import Path
from opentwbench.exam.cache import Cache
cache = Cache(Path(sys.argv[1]))
cache.open()
if "fork" in sys.argv and os.fork() == 0:
    print(os.getpid(), flush=True)
    time.sleep(60)
    os._exit(0)
if "fork" not in sys.argv:
    print(os.getpid(), flush=True)
time.sleep(60)
"""

# Forks a crawl for every line it reads, so that the library is imported once and not twenty times.
LAUNCHER = """
import os, sys
from pathlib import Path
from opentwbench.exam.polite import Politeness
from opentwbench.exam.retrieval import Retriever
source, cache, *urls = sys.argv[1:]

def crawl():
    with Retriever(source, Path(cache), Politeness(delay_seconds=0, jitter_seconds=0)) as retriever:
        retriever.fetch_index()
        assert all(outcome.path for outcome in retriever.fetch_all(urls))

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        crawl()
        os._exit(0)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def say(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line)
    process.stdin.flush()


def read_number(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def wait_until(condition: Callable[[], bool], seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.002)
    return False


@pytest.fixture
def server_of(tmp_path: Path) -> Callable[[int, int], tuple[LoopbackMinistry, list[str]]]:
    def build(papers: int, size: int) -> tuple[LoopbackMinistry, list[str]]:
        urls = write_mirror(tmp_path / "mirror", papers, size)
        return LoopbackMinistry(tmp_path / "mirror"), urls

    return build


def test_a_second_process_is_told_who_holds_the_cache_and_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    holder = start(HOLD, str(tmp_path / "cache"))
    try:
        assert read_number(holder) == holder.pid
        with pytest.raises(CacheBusyError, match=f"process {holder.pid} is retrieving") as busy:
            Cache(tmp_path / "cache").open()
        assert busy.value.pid == str(holder.pid)
    finally:
        kill(holder)
    with Cache(tmp_path / "cache"):
        assert (tmp_path / "cache/lock").read_text() == f"{os.getpid()}\n"


def test_the_lock_holds_inside_one_process_too_and_ends_with_close(tmp_path: Path) -> None:
    with Cache(tmp_path), pytest.raises(CacheBusyError, match=f"process {os.getpid()} "):
        Cache(tmp_path).open()
    with Cache(tmp_path) as cache:
        cache.open()  # open already: nothing happens


def test_a_forked_child_does_not_keep_the_lock_of_a_killed_parent(tmp_path: Path) -> None:
    holder = start(HOLD, str(tmp_path), "fork")
    child = read_number(holder)
    try:
        holder.kill()
        holder.wait()
        with Cache(tmp_path):
            os.kill(child, 0)  # raises when the child is gone: then the test would show nothing
    finally:
        os.kill(child, signal.SIGKILL)
        kill(holder)


def test_what_a_killed_process_left_is_cleared_away(tmp_path: Path) -> None:
    with Cache(tmp_path):
        (tmp_path / "incoming/half").write_bytes(b"%PDF-1.4 half")
    with Cache(tmp_path):
        assert list((tmp_path / "incoming").iterdir()) == []


def test_a_body_that_is_not_kept_is_gone_and_one_that_is_kept_is_whole(tmp_path: Path) -> None:
    with Cache(tmp_path) as cache:
        with cache.receive() as aside:
            aside.write(b"one")
        with cache.receive() as aside:
            aside.write(b"two")
            aside.restart()
            aside.write(b"three")
            path = cache.keep(aside, ".pdf")
        assert path.read_bytes() == b"three"
        assert [entry.name for entry in tmp_path.glob("bodies/*/*")] == [path.name]
        assert list((tmp_path / "incoming").iterdir()) == []


RECORD = Record(Q0, "fetched", "a" * 64, 3, 1.5, etag='"x"', detail="中文")


def test_a_record_comes_back_as_it_was_written(tmp_path: Path) -> None:
    with Cache(tmp_path) as cache:
        cache.write_record("live", RECORD)
        assert cache.read_record("live", Q0) == RECORD
        assert cache.read_record("base", Q0) is None
        assert cache.damaged == 0


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[]",
        lambda text: json.dumps(json.loads(text) | {"size": "3"}),
        lambda text: json.dumps(json.loads(text) | {"more": 1}),
        lambda text: json.dumps(json.loads(text) | {"url": paper_url("Q", "0001")}),
        lambda text: json.dumps(json.loads(text) | {"sha256": "../../secret"}),
        lambda text: text + " " * 100_000,
    ],
)
def test_a_damaged_record_is_ignored_and_counted(tmp_path: Path, damage: Callable[[str], str]) -> None:
    with Cache(tmp_path) as cache:
        cache.write_record("live", RECORD)
        path = next(tmp_path.glob("records/live/*/*.json"))
        path.write_text(damage(path.read_text()))
        assert cache.read_record("live", Q0) is None
        assert cache.damaged == 1


@pytest.mark.parametrize("damage", ["one byte", "cut", "removed"])
def test_a_damaged_body_is_never_a_paper_and_is_fetched_anew(
    server_of: Callable[[int, int], tuple[LoopbackMinistry, list[str]]], tmp_path: Path, damage: str
) -> None:
    server, _ = server_of(1, 3_000)
    with server, Retriever(server.base_url, tmp_path / "cache", QUICK) as retriever:
        fetched = retriever.fetch(Q0)
        assert fetched.path is not None
        sound = fetched.path.read_bytes()
        if damage == "removed":
            fetched.path.unlink()
        else:
            fetched.path.write_bytes(sound[:-9] if damage == "cut" else b"%PDF-9" + sound[6:])
        again = retriever.fetch(Q0)
        assert (again.status, again.path, retriever.damaged) == ("fetched", fetched.path, 1)
        assert fetched.path.read_bytes() == sound
        assert "if-none-match" not in server.log[-1].headers


def contents(cache: Path) -> dict[str, object]:
    """Everything in the cache but the times of fetching, by relative path."""
    found: dict[str, object] = {str(path.relative_to(cache)): path.read_bytes() for path in cache.glob("bodies/*/*")}
    for path in cache.glob("records/*/*/*"):
        record = json.loads(path.read_bytes())
        record.pop("fetched_at")
        found[str(path.relative_to(cache))] = record
    return found


def complete_urls(cache: Path) -> set[str]:
    return {json.loads(path.read_bytes())["url"] for path in cache.glob("records/*/*/*")}


def test_a_crawl_killed_twenty_times_ends_with_the_same_bytes_and_asks_for_nothing_twice(
    server_of: Callable[[int, int], tuple[LoopbackMinistry, list[str]]], tmp_path: Path
) -> None:
    server, urls = server_of(60, 40_000)
    draw = random.Random(20261129)
    cache, undisturbed = tmp_path / "cache", tmp_path / "undisturbed"
    with server:
        with Retriever(server.base_url, undisturbed, QUICK) as retriever:
            retriever.fetch_index()
            list(retriever.fetch_all(urls))
        # Slow bodies, so that most kills fall into the middle of one.
        server.plant(Fault(FaultKind.DRIP, times=None, size=8_000, seconds=0.004))
        launcher = start(LAUNCHER, server.base_url, str(cache), *urls)
        half_written = 0
        for number in range(1, 21):
            complete = complete_urls(cache)
            server.forget()
            say(launcher, "go\n")
            crawl = read_number(launcher)
            assert wait_until(lambda: bool(server.log)), "the crawl asked for nothing"
            time.sleep(draw.random() * 0.1)
            os.kill(crawl, signal.SIGKILL)
            assert read_number(launcher) == -signal.SIGKILL, f"crawl {number} ended before its kill: more papers needed"
            half_written += any((cache / "incoming").iterdir())
            assert complete.isdisjoint(request.url for request in server.log)
        kill(launcher)
        server.heal()
        complete = complete_urls(cache)
        server.forget()
        with Retriever(server.base_url, cache, QUICK) as retriever:
            retriever.fetch_index()
            list(retriever.fetch_all(urls))
            assert retriever.damaged == 0
        assert complete.isdisjoint(request.url for request in server.log)
        assert len(complete) + len(server.log) == len(urls) + 1
        assert contents(cache) == contents(undisturbed)
        assert len(contents(cache)) == 2 * (len(urls) + 1)
        assert list((cache / "incoming").iterdir()) == []
    assert half_written > 0, "no kill fell into the middle of a body: the test showed nothing"
