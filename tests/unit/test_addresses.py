"""The one rule about addresses; and a server that answers with a redirection sends no request, and no key, elsewhere.

Retrieval, the webhook and downloads have the second test beside their others (exam/test_retrieval.py, test_alarms.py,
rag/test_downloads.py); here are the clients that carry a key.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.redirecting import Loopback

from opentwbench.addresses import AddressError, UnknownHost, WebAddress, check_host, check_ip, read_url
from opentwbench.evaluation import volunteer
from opentwbench.evaluation.client import Client, Endpoint, EndpointStopped, Rates, Secret
from opentwbench.rag.evidence import Library
from opentwbench.rag.model import RagError
from opentwbench.rag.retrieval.openviking import OpenViking, Server
from opentwbench.rag.retrieval.system import Query
from opentwbench.rag.tw_rag import standalone_generation

KEY = "sk-redirected-0123456789"


# ---- the rule -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://example.org/x", "begin with https"),
        ("ftp://example.org/x", "begin with https"),
        ("file:///etc/passwd", "begin with https"),
        ("data:text/plain,x", "begin with https"),
        ("javascript:alert(1)", "begin with https"),
        ("gopher://example.org/", "begin with https"),
        ("//example.org/x", "begin with https"),
        ("example.org/x", "begin with https"),
        ("", "begin with https"),
        ("https://user:pw@example.org/x", "no user"),
        ("https://@example.org/x", "no user"),
        ("https://example.org/x#y", "fragment"),
        ("https:///x", "hold a host"),
        ("https://example.org:99999/x", "cannot be read"),
        ("https://example.org:x/x", "cannot be read"),
        ("https://[::1/x", "cannot be read"),
        ("https://example.org\\@127.0.0.1/x", "cannot be read"),
        ("https://example.org/x\r\nHost: inner", "cannot be read"),
        ("\thttps://example.org/x", "cannot be read"),
        (" https://example.org/x", "cannot be read"),
        ("https://ⓔxample.org/x", "cannot be read"),
    ],
)
def test_forms_that_are_not_asked(url: str, words: str) -> None:
    with pytest.raises(AddressError, match=words) as refused:
        read_url(url)
    assert not url or url not in str(refused.value)
    assert "pw@" not in str(refused.value)


def test_forms_that_are_asked() -> None:
    assert read_url("https://example.org") == WebAddress("https", "example.org", 443, "/")
    assert read_url("HTTPS://Example.org:8443/a/b?c=d&e") == WebAddress("https", "example.org", 8443, "/a/b?c=d&e")
    assert read_url("http://[::1]:8080/x", allow_private=True) == WebAddress("http", "::1", 8080, "/x")
    with pytest.raises(AddressError, match="begin with https"):
        read_url("file:///etc/passwd", allow_private=True)


PRIVATE = ("127.0.0.1", "10.1.2.3", "192.168.0.9", "172.16.0.1", "100.64.0.1", "240.0.0.1")
PRIVATE_6 = ("::1", "fd00::1", "fec0::1", "::127.0.0.1", "::ffff:10.0.0.1", "2002:0a00:0001::1", "64:ff9b::7f00:1")
NEVER = ("169.254.169.254", "0.0.0.0", "224.0.0.1", "::", "fe80::1", "fe80::1%lo", "ff02::1")
NEVER_6 = ("::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1")


@pytest.mark.parametrize("address", [*PRIVATE, *PRIVATE_6])
def test_a_private_address_is_asked_only_where_it_is_meant(address: str) -> None:
    with pytest.raises(AddressError, match="not public"):
        check_ip(address)
    check_ip(address, allow_private=True)


@pytest.mark.parametrize("address", [*NEVER, *NEVER_6])
def test_where_clouds_keep_credentials_is_never_asked(address: str) -> None:
    with pytest.raises(AddressError, match="never asked"):
        check_ip(address, allow_private=True)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "64:ff9b::5db8:d822"])
def test_public_addresses_are_asked(address: str) -> None:
    check_ip(address)


def test_every_address_of_a_name_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    def both(*_: Any, **__: Any) -> list[Any]:
        return [(0, 0, 0, "", (place, 443)) for place in ("93.184.216.34", "10.0.0.1")]

    with pytest.raises(AddressError, match="not public"):
        check_host("localhost", 443)
    with pytest.raises(AddressError, match="not public"):  # 127.0.0.1 as some readers of addresses take it
        check_host("2130706433", 443)
    with pytest.raises(UnknownHost):
        check_host("a" * 64 + ".invalid", 443)
    monkeypatch.setattr(socket, "getaddrinfo", both)
    with pytest.raises(AddressError, match="not public"):
        check_host("two.example", 443)


# ---- redirections ---------------------------------------------------------------------------------------------------


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


def test_the_exported_scripts_cannot_send_the_key_elsewhere(elsewhere: Loopback) -> None:
    with Loopback(302, f"{elsewhere.url}/v1/chat/completions") as server:
        url = f"{server.url}/v1/chat/completions"
        assert standalone_generation.ask(url, KEY, {"model": "m"}) == {"answer": None, "error": "HTTP 302"}
        with pytest.raises(volunteer.Stopped, match="status 302"):
            volunteer.ask(url, KEY, {"model": "m"})
        assert [KEY in key for _, key in server.heard] == [True, True]
    assert elsewhere.heard == []


@pytest.mark.parametrize("url", ["file:///etc", "ftp://127.0.0.1:1/v1", "127.0.0.1/v1", "http://me:pw@127.0.0.1:1/v1"])
def test_the_exported_scripts_ask_over_http_alone(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = tmp_path / "ragas.jsonl"
    items.write_text(json.dumps({"item_id": "x", "question": "?", "contexts": []}) + "\n", encoding="utf-8")
    wish = ["run", "--base-url", url, "--model", "m", "--items", str(items), "--out", str(tmp_path / "out.jsonl")]
    monkeypatch.setattr("sys.argv", wish)
    with pytest.raises(SystemExit, match="--base-url"):
        standalone_generation.main()
    assert not (tmp_path / "out.jsonl").exists()
    with pytest.raises(volunteer.Stopped, match="--base-url"):
        volunteer.endpoint(url)
    assert volunteer.endpoint("http://127.0.0.1:1/v1/") == "http://127.0.0.1:1/v1/chat/completions"
