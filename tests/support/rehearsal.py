"""What the release rehearsal is played with: two days of a small ministry, and moments at which a command is killed.

Day 1 prints one paper of the constitution and one of library science. Day 2 adds a sitting of the constitution in which
one question asks twice (a fault that no reader can mend and a check must find), and corrects two keys of library
science: one question is voided, one has another answer.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from samples.hub import LoopbackHub
from samples.items import Item
from samples.loopback import LoopbackMinistry
from samples.ministry import index_csv, pdfs, urls_csv
from samples.model_endpoint import ModelEndpoint
from samples.sittings import Entry, Paper, papers
from support.exam_store import CONSTITUTION, LIBRARY
from support.warm_otb import Moment

PAPERS = ("101801/101", "104802/401", "113805/701")
"""Sitting and category of the papers that are played with."""

SUBJECTS = (LIBRARY, CONSTITUTION)

ASKS_TWICE = Item(
    "re-asks-twice",
    "下列關於立法院之敘述，何者正確？下列關於監察院之敘述，何者錯誤？",
    ("立法委員任期四年", "立法委員任期六年", "監察委員任期六年", "監察院置院長一人"),
    "A",
)


def ministry(folder: Path, day: int) -> Path:
    """The mirror of a day."""
    found = [_with_fault(paper) for paper in papers(day) if _place(paper) in PAPERS]
    for paper in found:
        for path, data in pdfs(paper).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
    (folder / "index.csv").write_bytes(index_csv(found))
    (folder / "urls.csv").write_bytes(urls_csv(found))
    return folder


def _place(paper: Paper) -> str:
    return f"{paper.sitting.code}/{paper.category_code}"


def _with_fault(paper: Paper) -> Paper:
    return replace(paper, parts=(*paper.parts, Entry(ASKS_TWICE))) if _place(paper) == PAPERS[2] else paper


def a_night_passes(store: Path) -> None:
    """Every file was fetched a day earlier than the cache says: the index is due again, the papers are not."""
    for path in (store / "cache" / "retrieved" / "records").rglob("*.json"):
        record = json.loads(path.read_bytes())
        path.write_text(json.dumps({**record, "fetched_at": record["fetched_at"] - 86_400}, sort_keys=True))


# -- moments ----------------------------------------------------------------------------------------------------------


def at_once() -> Callable[[], bool]:
    """As soon as it was started."""
    return lambda: True


def written(place: Path) -> Moment:
    """As soon as anything changes at a place: a file, or a folder with all below it."""

    def moment() -> Callable[[], bool]:
        before = _newest(place)
        return lambda: _newest(place) != before

    return moment


def _newest(place: Path) -> int:
    paths = [place, *place.rglob("*")] if place.is_dir() else [place]
    newest = 0
    for path in paths:
        try:
            newest = max(newest, path.stat().st_mtime_ns)
        except FileNotFoundError:  # not there yet, or gone between listing and looking
            continue
    return newest


def at_ministry(server: LoopbackMinistry, words: str) -> Moment:
    """While a request with these words in its address waits for its answer."""

    def moment() -> Callable[[], bool]:
        before = len(server.log)
        return lambda: any(words in request.target for request in server.log[before:])

    return moment


def at_hub(hub: LoopbackHub, words: str) -> Moment:
    """While a request with these words in its line waits for its answer."""

    def moment() -> Callable[[], bool]:
        before = len(hub.log)
        return lambda: any(words in request.line for request in hub.log[before:])

    return moment


def at_endpoint(endpoint: ModelEndpoint, requests: int) -> Moment:
    """While the endpoint has the request with this number, counted from the start, before it answers."""

    def moment() -> Callable[[], bool]:
        before = endpoint.stats()["requests"]
        return lambda: endpoint.stats()["requests"] >= before + requests

    return moment


# -- what is compared -------------------------------------------------------------------------------------------------


def tree(folder: Path, *left_out: str) -> dict[str, str]:
    """File -> sha256 of everything below a folder, without names that begin with one of `left_out`."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    named = {path.relative_to(folder).as_posix(): path for path in files}
    return {
        name: sha256(path.read_bytes()).hexdigest() for name, path in named.items() if not name.startswith(left_out)
    }


def started_for(warehouse: Path) -> list[int]:
    """Processes that work on a warehouse: dbt is told its place by a variable."""
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"OTB_WAREHOUSE={warehouse.resolve()}\0".encode() in place.read_bytes():
                found.append(int(place.parent.name))
    return found


def wait_until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for something that is about to happen; an error when it does not."""
    latest = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < latest
        time.sleep(0.01)
