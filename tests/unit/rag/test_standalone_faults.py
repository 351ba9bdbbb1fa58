"""The exported script against an endpoint that breaks: a fault is tried again or its item's error, none ends it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from opentwbench.rag.tw_rag import standalone_generation as script

GOOD = json.dumps({"choices": [{"message": {"content": "答案"}}]}).encode()
FAULTS = {
    "bad status line": b"GARBAGE\r\n\r\n",
    "cut in a chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100\r\nabc",
    "cut in the body": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
    "closed at once": b"",
    "a long header": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000 + b"\r\n\r\n",
    "deep JSON": b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + b"[" * 100_000,
    "no UTF-8": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\xff\xfe",
    "a list": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
    "overload": b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
}


@contextmanager
def answering(replies: list[bytes]) -> Iterator[str]:
    """An endpoint that sends these bytes, one after the other, and then good replies."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            whole = b"HTTP/1.1 200 OK\r\nContent-Length: " + str(len(GOOD)).encode() + b"\r\n\r\n" + GOOD
            self.wfile.write(replies.pop(0) if replies else whole)
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/chat/completions"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script.time, "sleep", lambda seconds: None)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_tried_again_and_one_that_stays_is_the_items_error(name: str) -> None:
    with answering([FAULTS[name]]) as url:
        assert script.ask(url, "", {"model": "m"}) == {"answer": "答案", "error": ""}
    with answering([FAULTS[name]] * script.ATTEMPTS) as url:
        given = script.ask(url, "", {"model": "m"})
    assert given["answer"] is None and given["error"]


def test_half_a_character_is_replaced_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = json.dumps({"choices": [{"message": {"content": "a\ud800b"}}]}).encode()
    cut = b"HTTP/1.1 200 OK\r\nContent-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body
    items = tmp_path / "ragas.jsonl"
    items.write_text(json.dumps({"item_id": "x", "question": "題\ud800", "contexts": ["甲", "乙", "丙", "丁"]}) + "\n")
    out = tmp_path / "out.jsonl"
    with answering([cut]) as url:
        base = url.removesuffix("/chat/completions")
        monkeypatch.setattr(
            "sys.argv", ["run", "--base-url", base, "--model", "m", "--items", str(items), "--out", str(out)]
        )
        assert script.main() == 0
    assert json.loads(out.read_text(encoding="utf-8"))["answer"] == "a\ufffdb"
