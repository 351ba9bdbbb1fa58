"""Embedding replies that are none: each is an error that is asked again, and never one that every restart meets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from opentwbench.evaluation.client import Endpoint
from opentwbench.evaluation.journal import read_responses
from opentwbench.evaluation.replies import Failure, Reply
from opentwbench.rag.asking import Service
from opentwbench.rag.chunking import Cut
from opentwbench.rag.model import Document, Part, RagError
from opentwbench.rag.retrieval.dense import Dense
from opentwbench.rag.retrieval.embeddings import ask_for, doubt_of, read_embeddings, unit_vectors
from opentwbench.rag.retrieval.system import Query, Retrieved

Vectors = list[list[float]]
Spoil = Callable[[int, Vectors], Vectors]
"""What a lying endpoint makes of the vectors of its n-th request, from 1."""

TEXTS = ("a red canoe", "plum trees behind the house", "a tea shop in Tainan")
DOCUMENTS = [Document(f"d{n}", "", (Part(text),)) for n, text in enumerate(TEXTS)]


def honest(text: str) -> list[float]:
    return [float(text.count(letter)) for letter in "aeiouprst "]


def trial(folder: Path, spoil: Spoil, work: Callable[[Dense], Any], attempts: int = 3, **parameters: Any) -> int:
    """Requests that the endpoint got while `work` used the system."""
    asked = 0

    async def answer(request: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        vectors = spoil(asked, [honest(text) for text in (await request.json())["input"]])
        data = [{"index": n, "embedding": vector} for n, vector in enumerate(vectors)]
        return web.json_response({"data": data, "usage": {"prompt_tokens": 3}})

    async def run() -> None:
        app = web.Application()
        app.router.add_post("/v1/embeddings", answer)
        async with TestServer(app) as server:
            place = Endpoint(str(server.make_url("/v1")), attempts=attempts, backoff_base=0.001, path="/embeddings")
            service = Service("embedding", "m", place, parameters=parameters, read=read_embeddings)
            await work(Dense(folder, Cut(50, 0), service, 1))

    asyncio.run(run())
    return asked


def once(number: int, change: Callable[[Vectors], Vectors]) -> Spoil:
    return lambda n, vectors: change(vectors) if n == number else vectors


BAD: dict[str, Callable[[Vectors], Vectors]] = {
    "zeros": lambda vectors: [[0.0] * len(each) for each in vectors],
    "none": lambda vectors: [],
    "short": lambda vectors: vectors[:-1],
    "long": lambda vectors: [*vectors, vectors[0]],
    "beyond float32": lambda vectors: [[1e39] * len(each) for each in vectors],
    "other dimension": lambda vectors: [each[:5] for each in vectors],
}


async def _ingest(system: Dense) -> None:
    assert (await system.ingest(DOCUMENTS)).chunks == len(DOCUMENTS)


async def _look_up(system: Dense) -> list[Retrieved]:
    queries = [Query(f"q{n}", text) for n, text in enumerate(TEXTS)]
    return [found async for found in system.retrieve(queries, 1)]


def same(n: int, vectors: Vectors) -> Vectors:
    return vectors


@pytest.mark.parametrize("name", BAD)
def test_a_bad_reply_is_asked_again_at_once_and_found_as_if_it_had_not_been(tmp_path: Path, name: str) -> None:
    assert trial(tmp_path, once(1, BAD[name]), _ingest) == len(DOCUMENTS) + 1

    async def work(system: Dense) -> None:
        found = await _look_up(system)
        assert [each.passages[0].doc_id for each in found] == ["d0", "d1", "d2"]

    assert trial(tmp_path, once(2, BAD[name]), work) == len(TEXTS) + 1
    assert trial(tmp_path, same, work) == 0  # every reply is kept


@pytest.mark.parametrize("name", [name for name in BAD if name != "other dimension"])
def test_a_reply_that_stays_bad_is_an_error_and_the_next_start_asks_again(tmp_path: Path, name: str) -> None:
    async def fails(system: Dense) -> None:
        with pytest.raises(RagError, match=r"unreadable: .*; the stage can be started again"):
            await system.ingest(DOCUMENTS)

    trial(tmp_path, lambda n, vectors: BAD[name](vectors), fails, attempts=1)
    assert all(each.error for each in read_responses(tmp_path / "documents"))
    assert trial(tmp_path, same, _ingest) == len(DOCUMENTS)


@pytest.mark.parametrize("name", BAD)
def test_one_question_that_fails_stops_no_other(tmp_path: Path, name: str) -> None:
    trial(tmp_path, same, _ingest)

    async def work(system: Dense) -> None:
        found = await _look_up(system)
        assert [bool(each.error) for each in found].count(True) == 1
        assert sum(len(each.passages) for each in found) == len(TEXTS) - 1

    trial(tmp_path, once(2, BAD[name]), work, attempts=1)

    async def again(system: Dense) -> None:
        assert not any(each.error for each in await _look_up(system))

    assert trial(tmp_path, same, again) == 1


def test_a_reply_that_an_earlier_version_kept_is_asked_again(tmp_path: Path) -> None:
    trial(tmp_path, same, _ingest)
    journal = tmp_path / "documents" / "responses.jsonl"
    lines = journal.read_text().splitlines()
    spoilt = json.loads(lines[0])
    packed = json.loads(spoilt["content"])
    spoilt["content"] = json.dumps({**packed, "float32": "AAAA" * (len(packed["float32"]) // 4 - 1) + "AA=="})
    journal.write_text("\n".join([json.dumps(spoilt), *lines[1:]]) + "\n")
    assert trial(tmp_path, same, _ingest) == 1
    assert trial(tmp_path, same, _ingest) == 0


def test_vectors_of_another_dimension_than_was_asked_for_are_refused(tmp_path: Path) -> None:
    async def fails(system: Dense) -> None:
        with pytest.raises(RagError, match="vectors of 10 dimensions, not of 8"):
            await system.ingest(DOCUMENTS)

    trial(tmp_path, same, fails, attempts=1, dimensions=8)
    trial(tmp_path / "other", same, _ingest, dimensions=10)


def body(*vectors: object) -> bytes:
    return json.dumps({"data": [{"index": n, "embedding": each} for n, each in enumerate(vectors)]}).encode()


def test_large_values_keep_their_direction() -> None:
    ask = ask_for(Service("embedding", "m"), "a", ["x"])
    read = read_embeddings(body([3e38, 3e38]))
    assert isinstance(read, Reply) and doubt_of(ask, read.content) == ""
    assert np.allclose(unit_vectors(read.content, 1), [[0.5**0.5, 0.5**0.5]])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (body([0.0, 0.0]), "length zero"),
        (body([1e-60, 0.0]), "length zero"),
        (body([1e39, 0.0]), "no vectors"),
        (body([1, 2], [1, 2, 3]), "several dimensions"),
        (b'{"data": [{"index": false, "embedding": [1]}]}', "index is no number"),
        (b'{"data": [{"index": 0, "embedding": [NaN]}]}', "no vectors"),
        (b"{", "no JSON"),
        (b"[" * 100_000, "RecursionError"),
    ],
)
def test_what_is_no_reply_of_vectors_is_tried_again(data: bytes, said: str) -> None:
    read = read_embeddings(data)
    assert isinstance(read, Failure) and read.retry and said in read.detail
