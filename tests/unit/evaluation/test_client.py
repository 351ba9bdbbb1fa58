"""The client against the loopback endpoint: retries, limits, quirks, the key and TLS."""

from __future__ import annotations

import asyncio
import logging
import pickle
import ssl
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.runs import QUICK

from opentwbench.evaluation.client import Client, Endpoint, EndpointError, EndpointStopped, Rates, Secret
from opentwbench.evaluation.model import ErrorClass
from opentwbench.evaluation.replies import Reply
from samples.model_endpoint import Kind, ModelEndpoint, Rule

BODY = {
    "model": "scripted",
    "messages": [{"role": "user", "content": "題目：問\nA. 甲\nB. 乙\nC. 丙\nD. 丁"}],
    "temperature": 0.0,
    "max_tokens": 16,
}


def ask(endpoint: Endpoint, *bodies: dict[str, Any], rates: Rates | None = None) -> tuple[list[Reply], Client]:
    """Ask at the same time; the replies in order and the client."""

    async def work() -> tuple[list[Reply], Client]:
        async with Client(endpoint, rates or Rates(8)) as client:
            return list(await asyncio.gather(*(client.ask(body) for body in bodies))), client

    return asyncio.run(work())


def at(endpoint: ModelEndpoint, **changes: Any) -> Endpoint:
    """Quick settings at the loopback endpoint."""
    return replace(QUICK, base_url=endpoint.base_url, **changes)


def test_a_reply(endpoint: ModelEndpoint) -> None:
    (reply,), client = ask(at(endpoint), BODY)
    assert reply.content is not None
    assert reply.content.startswith("答案：")
    assert (reply.error, reply.attempts, client.attempts) == (ErrorClass.NONE, 1, 1)
    assert reply.latency_ms > 0
    assert endpoint.stats()["last_body"] == BODY


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        (Rule(Kind.STATUS, status=500), ErrorClass.SERVER),
        (Rule(Kind.STATUS, status=429), ErrorClass.RATE_LIMITED),
        (Rule(Kind.HTML, status=502), ErrorClass.SERVER),
        (Rule(Kind.HTML, status=200), ErrorClass.UNREADABLE),
        (Rule(Kind.DROP), ErrorClass.TRANSPORT),
        (Rule(Kind.CUT), ErrorClass.TRANSPORT),
        (Rule(Kind.BROKEN_JSON), ErrorClass.UNREADABLE),
        (Rule(Kind.NO_CHOICES), ErrorClass.UNREADABLE),
        (Rule(Kind.ERROR_IN_200, status=503), ErrorClass.SERVER),
        (Rule(Kind.DELAY, seconds=5), ErrorClass.TIMEOUT),
    ],
)
def test_a_passing_failure_is_retried_and_a_lasting_one_is_an_error(
    endpoint: ModelEndpoint, rule: Rule, error: ErrorClass
) -> None:
    settings = at(endpoint, attempts=3, timeout=0.3 if error is ErrorClass.TIMEOUT else 20)
    endpoint.plant(replace(rule, times=2))
    (reply,), _ = ask(settings, BODY)
    assert (reply.error, reply.attempts) == (ErrorClass.NONE, 3)
    endpoint.heal()
    endpoint.plant(replace(rule, times=None))
    endpoint.forget()
    (reply,), client = ask(settings, BODY)
    assert (reply.error, reply.attempts, reply.content) == (error, 3, None)
    assert client.attempts == endpoint.stats()["requests"] == 3
    assert reply.error_detail
    assert "127.0.0.1" not in reply.error_detail


def test_nobody_there_is_a_transport_error_without_an_address() -> None:
    (reply,), _ = ask(replace(QUICK, attempts=2), BODY)
    assert (reply.error, reply.attempts) == (ErrorClass.TRANSPORT, 2)
    assert "127.0.0.1" not in reply.error_detail


@pytest.mark.parametrize("kind", [Kind.STATUS, Kind.CONTEXT_OVERFLOW])
def test_what_would_end_the_same_way_is_not_retried(endpoint: ModelEndpoint, kind: Kind) -> None:
    endpoint.plant(Rule(kind, status=400, text="something is wrong", times=None))
    (reply,), _ = ask(at(endpoint), BODY)
    assert reply.attempts == 1
    assert reply.error is (ErrorClass.BAD_REQUEST if kind is Kind.STATUS else ErrorClass.CONTEXT_OVERFLOW)


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_a_refusal_stops_at_once(endpoint: ModelEndpoint, status: int) -> None:
    endpoint.plant(Rule(Kind.STATUS, status=status, text="not you", times=None))
    with pytest.raises(EndpointStopped, match=f"status {status}: not you"):
        ask(at(endpoint), BODY)
    assert endpoint.stats()["requests"] == 1


def test_retry_after_holds_every_request(endpoint: ModelEndpoint) -> None:
    endpoint.plant(Rule(Kind.STATUS, status=429, retry_after="1"))
    bodies = [{**BODY, "seed": n} for n in range(6)]
    replies, _ = ask(at(endpoint), *bodies, rates=Rates(1, adaptive=False))
    assert {reply.error for reply in replies} == {ErrorClass.NONE}
    arrivals = endpoint.stats()["arrivals"]
    # One at a time: after the first, which was refused, nobody asks for a second.
    assert arrivals[1] - arrivals[0] >= 1.0
    assert len(arrivals) == 7


def test_a_retry_after_of_hours_stops_the_run(endpoint: ModelEndpoint) -> None:
    endpoint.plant(Rule(Kind.STATUS, status=429, retry_after="7200"))
    with pytest.raises(EndpointStopped, match="come back in 7200 s"):
        ask(at(endpoint), BODY)


def test_a_refused_parameter_is_left_out_for_all(endpoint: ModelEndpoint) -> None:
    endpoint.plant(Rule(Kind.UNKNOWN_PARAMETER, text="temperature", times=None))
    bodies = [{**BODY, "seed": n} for n in range(20)]
    replies, client = ask(at(endpoint), *bodies, rates=Rates(4, adaptive=False))
    assert {reply.error for reply in replies} == {ErrorClass.NONE}
    assert dict(client.adjustments) == {"temperature": ""}
    assert "temperature" not in endpoint.stats()["last_body"]
    assert endpoint.stats()["requests"] <= 20 + 4  # those under way when it was learnt


def test_a_renamed_parameter_keeps_its_value_and_its_successor_may_be_refused(endpoint: ModelEndpoint) -> None:
    endpoint.plant(Rule(Kind.UNKNOWN_PARAMETER, text="max_tokens", times=None))
    _, client = ask(at(endpoint), BODY)
    assert dict(client.adjustments) == {"max_tokens": "max_completion_tokens"}
    assert endpoint.stats()["last_body"]["max_completion_tokens"] == BODY["max_tokens"]
    endpoint.plant(Rule(Kind.UNKNOWN_PARAMETER, text="max_completion_tokens", times=None))
    (reply,), client = ask(at(endpoint), BODY)
    assert (reply.error, dict(client.adjustments)) == (ErrorClass.NONE, {"max_tokens": ""})


def test_an_oversized_body_is_not_read(endpoint: ModelEndpoint) -> None:
    endpoint.plant(Rule(Kind.OVERSIZE, size=500_000, times=None))
    (reply,), _ = ask(at(endpoint, max_body=100_000), BODY)
    assert (reply.error, reply.attempts) == (ErrorClass.UNREADABLE, 1)
    (reply,), _ = ask(at(endpoint), BODY)
    assert reply.content == "長" * 500_000


def test_concurrency_is_kept_and_adapts(endpoint: ModelEndpoint) -> None:
    endpoint.set(latency=0.02)
    bodies = [{**BODY, "seed": n} for n in range(60)]
    ask(at(endpoint), *bodies, rates=Rates(5, adaptive=False))
    assert endpoint.stats()["most_at_once"] == 5
    endpoint.set(at_once=6)
    endpoint.forget()
    replies, client = ask(at(endpoint, attempts=40), *bodies, rates=Rates(64))
    assert {reply.error for reply in replies} == {ErrorClass.NONE}
    assert client.gate.congested >= 1
    assert client.gate.limit < 16


def test_a_rate_is_kept(endpoint: ModelEndpoint) -> None:
    bodies = [{**BODY, "seed": n} for n in range(25)]
    ask(at(endpoint), *bodies, rates=Rates(25, requests_per_minute=60 * 50))
    arrivals = endpoint.stats()["arrivals"]
    assert arrivals[-1] - arrivals[0] >= 0.3  # 25 at 50 a second, five of them at once


SECRET = "sk-very-secret-0123456789"  # the test's own


def test_the_key_goes_into_the_header_and_nowhere_else(
    endpoint: ModelEndpoint, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint.set(api_key=SECRET)
    key = Secret(SECRET)
    (reply,), _ = ask(at(endpoint, secret=key), BODY)
    assert reply.error is ErrorClass.NONE
    endpoint.plant(Rule(Kind.STATUS, status=401, text=f"Incorrect API key provided: {SECRET}"))
    with pytest.raises(EndpointStopped) as stopped:
        ask(at(endpoint, secret=key), BODY)
    for text in (str(stopped.value), repr(key), str(key), f"{key}", repr(at(endpoint, secret=key)), caplog.text):
        assert SECRET not in text
    assert SECRET not in "".join(capfd.readouterr())
    with pytest.raises(TypeError):
        pickle.dumps(key)


def test_without_a_key_no_header_is_sent(endpoint: ModelEndpoint) -> None:
    ask(at(endpoint), BODY)
    assert endpoint.stats()["authorised"] == 0


@pytest.mark.parametrize("key", ["a\nb", " a", "鑰匙", "a\x00"])
def test_a_key_that_is_no_header_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(EndpointError) as refused:
        Secret(key)
    assert key not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    ["", "127.0.0.1:80", "ftp://a/v1", "file:///etc/passwd", "http://u:p@a/v1", "http://a/v1?key=1", "http:///v1"],
)
def test_a_base_url_is_checked(url: str) -> None:
    with pytest.raises(EndpointError):
        Endpoint(url)


def certificate(folder: Path) -> Path:
    """A self-signed certificate for 127.0.0.1 with its key, as one PEM file."""
    pytest.importorskip("cryptography", reason="certificates are made with cryptography, which is not installed")
    from datetime import UTC, datetime, timedelta
    from ipaddress import ip_address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "loopback")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    plain = serialization.NoEncryption()
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM) + key.private_bytes(*form, plain))
    return path


def test_a_certificate_is_verified_unless_it_is_said_otherwise(tmp_path: Path) -> None:
    pem = certificate(tmp_path)
    with ModelEndpoint(certificate=str(pem)) as served:
        with pytest.raises(EndpointStopped, match="not trusted"):
            ask(at(served), BODY)
        for settings in (at(served, verify_tls=False), at(served, ca_file=pem)):
            (reply,), _ = ask(settings, BODY)
            assert reply.error is ErrorClass.NONE
    with pytest.raises(EndpointError, match="no certificates"):
        ask(replace(QUICK, base_url="https://127.0.0.1:1/v1", ca_file=tmp_path / "absent.pem"), BODY)
    assert ssl.create_default_context().verify_mode is ssl.CERT_REQUIRED
