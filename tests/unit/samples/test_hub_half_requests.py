"""The loopback hub acts on whole requests only: a client that is killed while it sends leaves everything as it was."""

from __future__ import annotations

import json
import socket
from urllib.parse import urlsplit

from samples.hub import WRITE, LoopbackHub

TOKEN = "hf_halfRequest0123456789"


def send(hub: LoopbackHub, body: bytes, announced: int) -> bytes:
    """A commit with this body under that length, and the sending side closed; what came back."""
    place = urlsplit(hub.endpoint)
    head = (
        f"POST /api/datasets/Org/some/commit/main HTTP/1.1\r\nHost: {place.netloc}\r\n"
        f"Authorization: Bearer {TOKEN}\r\nContent-Length: {announced}\r\nConnection: close\r\n\r\n"
    )
    with socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=60) as client:
        client.sendall(head.encode() + body)
        client.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := client.recv(65_536):
            answer += piece
    return answer


def test_half_a_commit_is_none() -> None:
    lines = [{"key": "header", "value": {"summary": "x"}}, {"key": "file", "value": {"path": "a", "content": "YQ=="}}]
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    first = body.index(b"\n") + 1
    with LoopbackHub({TOKEN: WRITE}) as hub:
        hub.write("Org/some", {"old": b"old"})
        before = hub.repositories["Org/some"].head.oid
        assert send(hub, body[:first], len(body)) == b""
        assert hub.repositories["Org/some"].head.oid == before
        assert b" 200 " in send(hub, body, len(body)).splitlines()[0]
        assert hub.files("Org/some") == {"old": b"old", "a": b"a"}
