"""A server that answers with a redirection sends no request, and no key, anywhere else: a second server hears nothing.

Retrieval and the webhook have the same test beside their others (exam/test_retrieval.py, test_alarms.py); here are the
two clients that carry a key.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from opentwbench.evaluation.client import Client, Endpoint, EndpointStopped, Rates, Secret
from opentwbench.rag.evidence import Library
from opentwbench.rag.model import RagError
from opentwbench.rag.retrieval.openviking import OpenViking, Server
from opentwbench.rag.retrieval.system import Query

KEY = "sk-redirected-0123456789"


class Loopback:
    """A server that answers every request with one status and Location, and keeps what it was asked."""

    def __init__(self, status: int, location: str = "") -> None:
        heard: list[tuple[str, str]] = []

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                heard.append((self.path, self.headers.get("Authorization") or self.headers.get("X-API-Key") or ""))
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.send_response(status)
                if location:
                    self.send_header("Location", location)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST = do_DELETE = answer  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:
                """Nothing: the test looks at what was heard."""

        self.heard = heard
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Loopback:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def elsewhere() -> Iterator[Loopback]:
    """Where a redirection leads: a service of the inner network."""
    with Loopback(200) as server:
        yield server


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_model_endpoint_cannot_send_the_key_elsewhere(elsewhere: Loopback, status: int) -> None:
    async def ask(url: str) -> None:
        async with Client(Endpoint(f"{url}/v1", Secret(KEY), attempts=2, backoff_base=0.01), Rates(1)) as client:
            await client.ask({"model": "m", "messages": []})

    with Loopback(status, f"{elsewhere.url}/v1/chat/completions") as server:
        with pytest.raises(EndpointStopped) as stopped:
            asyncio.run(ask(server.url))
        assert [path for path, _ in server.heard] == ["/v1/chat/completions"]
        assert KEY in server.heard[0][1]
    assert KEY not in str(stopped.value)
    assert elsewhere.heard == []


@pytest.mark.parametrize("status", [302, 307, 308])
def test_a_retrieval_server_cannot_send_the_key_elsewhere(elsewhere: Loopback, status: int, tmp_path: Path) -> None:
    async def find(url: str) -> str:
        place = Server(url, "viking://resources/otb-test", Secret(KEY))
        system = OpenViking(tmp_path, place, Library(()), "directory")
        try:
            found = [each async for each in system.retrieve([Query("q-1", "where?")], 5)]
        except RagError as error:
            return str(error)
        return found[0].error

    with Loopback(status, f"{elsewhere.url}/api/v1/search/find") as server:
        said = asyncio.run(find(server.url))
        assert server.heard and all(KEY in key for _, key in server.heard)
    assert said and KEY not in said
    assert elsewhere.heard == []
