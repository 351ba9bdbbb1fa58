"""The connector against a loopback server of OpenViking's API shape."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp.test_utils import TestServer
from support.rag import locomo

from opentwbench.evaluation.client import Secret
from opentwbench.rag.adapters import read_benchmark
from opentwbench.rag.evidence import Library, recall
from opentwbench.rag.model import Benchmark, Part, RagError
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


@pytest.mark.parametrize("mode", ["directory", "per_file"])
def test_a_changed_or_vanished_document_is_removed_and_all_go_up_anew(tmp_path: Path, mode: str) -> None:
    async def use(system: OpenViking, loopback: OpenVikingServer, made: Benchmark) -> None:
        first, second = made.documents
        await system.ingest(made.documents)
        changed = replace(first, parts=(Part("Mei sold the shop to a potter."), *first.parts[1:]))
        assert (await system.ingest((changed, second))).documents == 2
        assert loopback.calls.count("DELETE /api/v1/fs") == 1
        held = "\n".join(loopback.files.values())
        assert "sold the shop to a potter" in held and "opened a tea shop" not in held and "plum trees" in held
        assert (await system.ingest((second,))).documents == 1
        assert "potter" not in "\n".join(loopback.files.values())
        calls = len(loopback.calls)
        await system.ingest((second,))
        assert len(loopback.calls) == calls  # unchanged: the server is not asked

    served(tmp_path, mode, use)


def test_a_record_of_ids_without_contents_vouches_for_nothing(tmp_path: Path) -> None:
    async def use(system: OpenViking, loopback: OpenVikingServer, made: Benchmark) -> None:
        ids = [document.doc_id for document in made.documents]
        (tmp_path / "index").mkdir()
        (tmp_path / "index" / "openviking.json").write_text(json.dumps({"root": ROOT, "documents": ids}))
        await system.ingest(made.documents)
        assert loopback.calls.count("POST /api/v1/resources") == 1 and loopback.files

    served(tmp_path, "directory", use)


DEEP = f"{ROOT}/doc-0123456789ab/part_0.md"


@pytest.mark.parametrize(
    ("hit", "said"),
    [
        ({"uri": DEEP}, "doc-0123456789ab, which is no document of this run"),
        ({"score": float("nan")}, "no finite number"),
        ({"score": float("inf")}, "no finite number"),
        ({"score": 10**400}, "no finite number"),
        ({"score": True}, "no finite number"),
        ({"uri": "viking://x\ud800"}, "without uri"),
        ({"uri": 5}, "without uri"),
        ({"level": 0, "abstract": {"a": 1}}, "no text"),
    ],
)
def test_a_result_that_cannot_be_is_a_named_error_of_its_query(
    tmp_path: Path, hit: dict[str, object], said: str
) -> None:
    async def use(system: OpenViking, loopback: OpenVikingServer, made: Benchmark) -> None:
        await system.ingest(made.documents)
        loopback.hit = hit
        found = await ask(system, made)
        assert len(found) == len(made.questions) and all(said in each.error for each in found)
        loopback.hit = {"score": 3}
        assert not any(each.error for each in await ask(system, made))

    served(tmp_path, "directory", use)


@pytest.mark.parametrize("url", ["ftp://host", "http://user:key@host", "http://host/?key=1", "http://"])
def test_a_server_whose_address_is_none_or_holds_a_key_is_refused(url: str) -> None:
    with pytest.raises(RagError, match="base URL"):
        Server(url, ROOT)


@pytest.mark.parametrize("root", ["viking://resources/", "viking://", "viking://resources/a/../b", "viking://user/x-y"])
def test_a_root_that_is_not_ours_is_refused(root: str) -> None:
    with pytest.raises(RagError, match="root must be"):
        Server("http://127.0.0.1:1", root)
