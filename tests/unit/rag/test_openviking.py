"""The connector against a loopback server of OpenViking's API shape."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp.test_utils import TestServer
from support.rag import locomo

from opentwbench.evaluation.client import Secret
from opentwbench.rag.adapters import read_benchmark
from opentwbench.rag.evidence import Library, recall
from opentwbench.rag.model import Benchmark, RagError
from opentwbench.rag.prompts import show
from opentwbench.rag.retrieval.openviking import OpenViking, Server
from opentwbench.rag.retrieval.system import Query, Retrieved
from samples.rag.openviking import OpenVikingServer

ROOT = "viking://resources/otb-trial"


def served(
    tmp_path: Path, mode: str, use: Callable[[OpenViking, OpenVikingServer, Benchmark], Awaitable[None]]
) -> None:
    async def work() -> None:
        made, loopback = read_benchmark("locomo", locomo(tmp_path)), OpenVikingServer("secret-1")
        async with TestServer(loopback.application()) as server:
            place = Server(str(server.make_url("")), ROOT, Secret("secret-1"))
            await use(OpenViking(tmp_path / "index", place, Library(made.documents), mode), loopback, made)

    asyncio.run(work())


async def ask(system: OpenViking, made: Benchmark) -> list[Retrieved]:
    queries = [Query(question.question_id, question.asked) for question in made.questions]
    return [found async for found in system.retrieve(queries, 5)]


@pytest.mark.parametrize("mode", ["directory", "per_file"])
def test_what_is_found_stands_in_its_own_document(tmp_path: Path, mode: str) -> None:
    async def use(system: OpenViking, loopback: OpenVikingServer, made: Benchmark) -> None:
        assert (await system.ingest(made.documents)).documents == 2
        uploads = loopback.calls.count("POST /api/v1/resources")
        assert uploads == (1 if mode == "directory" else 2)
        await system.ingest(made.documents)
        assert loopback.calls.count("POST /api/v1/resources") == uploads  # nothing is uploaded twice
        library = Library(made.documents)
        found = {each.question_id: each for each in await ask(system, made)}
        asked = next(question for question in made.questions if "plum" in question.question)
        passages = found[asked.question_id].passages
        assert recall(library.locate(asked), show(passages, 8_000, library).ranges) == 1.0
        assert {passage.doc_id for passage in passages} <= {"talk-a", "talk-b"}
        assert await system.delete() == 2
        assert loopback.files == {}

    served(tmp_path, mode, use)


def test_a_query_that_fails_stops_no_other_and_what_passes_is_tried_again(tmp_path: Path) -> None:
    async def use(system: OpenViking, loopback: OpenVikingServer, made: Benchmark) -> None:
        loopback.failures = [503]
        await system.ingest(made.documents)
        loopback.failures = [400]
        found = await ask(system, made)
        assert [bool(each.error) for each in found] == [True, False, False, False, False]
        assert "status 400: as planned" in found[0].error and "secret-1" not in found[0].error

    served(tmp_path, "directory", use)


@pytest.mark.parametrize("root", ["viking://resources/", "viking://", "viking://resources/a/../b", "viking://user/x-y"])
def test_a_root_that_is_not_ours_is_refused(root: str) -> None:
    with pytest.raises(RagError, match="root must be"):
        Server("http://127.0.0.1:1", root)
