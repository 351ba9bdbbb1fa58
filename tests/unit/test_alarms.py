"""Alarms reach loopback servers, are off by default, name no secret, and refuse places that nobody meant."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from resources import alarms
from resources.alarms import MAX_LINE, MAX_LINES, Alarm, AlarmError, AlarmResource, Webhook, check_address

PRIVATE = {"allow_private": True}
SECRET = "T0PSECRETPATH"
ALARM = Alarm("check_failed", "1 checks did not pass", ("tw-x: row_contract (blocking)",))


class Hook(ThreadingHTTPServer):
    """Answers each POST with the next status of its script (200 when it is used up), and keeps what came."""

    def __init__(self, *statuses: int, headers: dict[str, str] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.script, self.sent_headers = list(statuses), headers or {}
        self.bodies: list[dict[str, Any]] = []
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/services/{SECRET}"


class _Answer(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bodies.append(json.loads(body))
        self.send_response(self.server.script.pop(0) if self.server.script else 200)
        for name, value in self.server.sent_headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Silent."""


class Mailbox(threading.Thread):
    """A mail server that understands as much SMTP as a client without TLS speaks; keeps every message."""

    def __init__(self, refuse: bool = False) -> None:
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.refuse, self.messages, self.receivers = refuse, [], []  # type: ignore[var-annotated]
        self.start()

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def run(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rwb") as stream:
                self._talk(stream)

    def _talk(self, stream: Any) -> None:
        def say(words: str) -> None:
            stream.write(words.encode() + b"\r\n")
            stream.flush()

        say("220 ready")
        while line := stream.readline():
            command = line.decode().strip()
            verb = command[:4].upper()
            if verb == "RCPT":
                self.receivers.append(command)
                say("550 no such box" if self.refuse else "250 ok")
            elif verb == "DATA":
                say("354 go on")
                lines = []
                while (line := stream.readline()) != b".\r\n":
                    lines.append(line)
                self.messages.append(b"".join(lines).decode())
                say("250 ok")
            elif verb == "QUIT":
                say("221 bye")
                return
            else:
                say("250 ok")


@pytest.fixture
def hook() -> Iterator[Hook]:
    with Hook() as server:
        yield server
        server.shutdown()


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    server = Mailbox()
    yield server
    server.listener.close()


def webhook(server: Hook, waits: list[float] | None = None) -> Webhook:
    return Webhook(server.url, allow_private=True, timeout=5, sleep=(waits if waits is not None else []).append)


def mail(port: int, **more: Any) -> AlarmResource:
    settings = {"mail_from": "otb@example.org", "mail_to": ["a@example.org", "b@example.org"], **more}
    return AlarmResource(smtp_host="127.0.0.1", smtp_port=port, smtp_security="none", **PRIVATE, **settings)


def test_nothing_is_sent_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTB_ALARM_WEBHOOK", raising=False)
    assert not AlarmResource().is_on
    with pytest.raises(AlarmError, match="no place"):
        AlarmResource().send(ALARM)


def test_a_webhook_gets_text_and_fields(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTB_ALARM_WEBHOOK", hook.url)
    settings = AlarmResource(**PRIVATE)
    assert settings.is_on
    assert settings.send(ALARM) == ()
    assert hook.bodies == [
        {
            "text": "1 checks did not pass\n- tw-x: row_contract (blocking)",
            "kind": "check_failed",
            "title": "1 checks did not pass",
            "lines": ["tw-x: row_contract (blocking)"],
        }
    ]


def test_mail_reaches_every_receiver(mailbox: Mailbox) -> None:
    assert mail(mailbox.port).send(ALARM) == ()
    [message] = mailbox.messages
    assert "Subject: [OpenTWBench] 1 checks did not pass" in message
    assert "Auto-Submitted: auto-generated" in message
    assert "- tw-x: row_contract (blocking)" in message
    assert len(mailbox.receivers) == 2


def test_busy_servers_are_asked_again_and_others_are_not() -> None:
    for script, posts, words in (
        ((503, 429), 3, ""),
        ((503, 503, 503), 3, "answered 503"),
        ((404,), 1, "answered 404"),
        ((302,), 1, "answered 302"),
    ):
        waits: list[float] = []
        with Hook(*script, headers={"Retry-After": "7", "Location": "http://127.0.0.1:1/"}) as server:
            if words:
                with pytest.raises(AlarmError, match=words):
                    webhook(server, waits).send(ALARM)
            else:
                webhook(server, waits).send(ALARM)
            server.shutdown()
        assert (len(server.bodies), waits) == (posts, [7.0] * (posts - 1))


def test_one_place_of_two_is_enough_and_the_other_is_named(
    hook: Hook, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTB_ALARM_WEBHOOK", hook.url)
    refusing = Mailbox(refuse=True)
    failed = mail(refusing.port).send(ALARM)
    refusing.listener.close()
    assert failed == ("e-mail: the mail server failed (SMTPRecipientsRefused)",)
    assert len(hook.bodies) == 1


def test_no_secret_is_in_an_error(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", logger="resources")
    monkeypatch.setattr(alarms, "ATTEMPTS", 1)
    monkeypatch.setenv("OTB_ALARM_WEBHOOK", f"http://127.0.0.1:1/services/{SECRET}")
    monkeypatch.setenv("OTB_ALARM_SMTP_PASSWORD", SECRET)
    settings = mail(1)
    with pytest.raises(AlarmError) as failed:
        settings.send(ALARM)
    assert "could not be reached" in str(failed.value) and "mail server failed" in str(failed.value)
    shown = f"{failed.value} {failed.value!r} {settings!r} {settings.model_dump()} {caplog.text}"
    assert SECRET not in shown


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://example.org/x", "https"),
        ("ftp://example.org/x", "https"),
        ("https://user:pw@example.org/x", "no user"),
        ("https:///x", "hold a host"),
        ("https://example.org:99999/x", "cannot be read"),
        ("https://[::1/x", "cannot be read"),
        ("file:///etc/passwd", "https"),
    ],
)
def test_addresses_that_are_none(url: str, words: str) -> None:
    with pytest.raises(AlarmError, match=words) as refused:
        Webhook(url, allow_private=False, timeout=5)
    assert url not in str(refused.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "10.1.2.3", "192.168.0.9", "172.16.0.1", "::1", "fd00::1", "100.64.0.1"])
def test_private_addresses_are_refused_unless_meant(host: str) -> None:
    with pytest.raises(AlarmError, match="not public"):
        check_address(host, 443, allow_private=False)
    check_address(host, 443, allow_private=True)


@pytest.mark.parametrize("host", ["169.254.169.254", "fe80::1", "0.0.0.0", "224.0.0.1", "::ffff:169.254.169.254"])
def test_metadata_services_are_never_asked(host: str) -> None:
    with pytest.raises(AlarmError, match="never asked"):
        check_address(host, 443, allow_private=True)


def test_public_addresses_are_asked() -> None:
    for host in ("93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"):
        check_address(host, 443, allow_private=False)


def test_a_password_is_never_sent_in_clear_and_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTB_ALARM_SMTP_PASSWORD", raising=False)
    with pytest.raises(AlarmError, match="in clear"):
        mail(25, smtp_user="me").places()
    crypted = AlarmResource(smtp_host="127.0.0.1", smtp_user="me", mail_from="a@b.c", mail_to=["d@e.f"])
    with pytest.raises(AlarmError, match="OTB_ALARM_SMTP_PASSWORD is not set"):
        crypted.places()
    with pytest.raises(AlarmError, match="mail_from and mail_to"):
        AlarmResource(smtp_host="127.0.0.1").places()


def test_a_server_without_tls_gets_nothing_when_tls_is_asked(mailbox: Mailbox) -> None:
    settings = AlarmResource(
        smtp_host="127.0.0.1", smtp_port=mailbox.port, mail_from="a@b.c", mail_to=["d@e.f"], **PRIVATE
    )
    with pytest.raises(AlarmError, match="the mail server failed"):
        settings.send(ALARM)
    assert mailbox.messages == []


def test_words_from_outside_are_bounded_and_on_one_line(mailbox: Mailbox) -> None:
    hostile = Alarm("x", "title\r\nBcc: all@example.org", tuple(f"\x1b[2J{n}" + "x" * 1000 for n in range(80)))
    mail(mailbox.port).send(hostile)
    [message] = mailbox.messages
    assert "\nBcc:" not in message
    lines = hostile.shown()
    assert len(lines) == MAX_LINES + 1
    assert lines[-1] == "and 30 more"
    assert max(map(len, lines)) <= MAX_LINE
    assert "\x1b" not in hostile.text()
