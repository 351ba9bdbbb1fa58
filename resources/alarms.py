"""Alarms to people: a webhook and e-mail, both off until they are configured.

What belongs here: one message to the configured places, and what is refused as a place. What does not: when there is
something to say (`orchestration.alarm_sensors`).
The webhook's address is a secret (who knows it can post), so it comes from an environment variable, as the password of
the mail server does; neither is in a message, a record or an error. Redirects are not followed, and addresses that are
not public are refused unless `allow_private` says that they are meant (docs/security.md, "Addresses").
"""

from __future__ import annotations

import os
import smtplib
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Literal

import dagster as dg
import httpx
from pydantic import Field

from opentwbench.addresses import AddressError, check_host, read_url
from opentwbench.waiting import backoff, retry_after

WEBHOOK_ENV = "OTB_ALARM_WEBHOOK"
PASSWORD_ENV = "OTB_ALARM_SMTP_PASSWORD"

MAX_LINES = 50
MAX_LINE = 300
"""A message names so many findings, each so long; how many more there are is said."""

ATTEMPTS = 3
LONGEST_WAIT = 20.0
"""Seconds between two attempts; a sensor's evaluation must end within a minute."""


class AlarmError(Exception):
    """An alarm that could not be sent, or a place that none is sent to."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """What people are told: a kind (the sensor's name), a title of one line, and a line for every finding."""

    kind: str
    title: str
    lines: tuple[str, ...] = ()

    def shown(self) -> tuple[str, ...]:
        """The lines as they are sent: without control characters, bounded in length and number."""
        kept = [_plain(line) for line in self.lines[:MAX_LINES]]
        more = len(self.lines) - len(kept)
        return (*kept, f"and {more} more") if more > 0 else tuple(kept)

    def text(self) -> str:
        """Title and lines as plain text."""
        return "\n".join([_plain(self.title), *(f"- {line}" for line in self.shown())])


def _plain(line: str) -> str:
    plain = "".join(char if char.isprintable() else " " for char in line)
    return plain if len(plain) <= MAX_LINE else f"{plain[: MAX_LINE - 1]}…"


def check_address(host: str, port: int, *, allow_private: bool) -> None:
    """Raises AlarmError for a host that `opentwbench.addresses` does not let be asked."""
    try:
        check_host(host, port, allow_private=allow_private)
    except AddressError as error:
        raise AlarmError(str(error)) from None


class Webhook:
    """Posts `{"text", "kind", "title", "lines"}`: `text` is what Slack, Mattermost and their like show."""

    name = "webhook"

    def __init__(
        self, url: str, *, allow_private: bool, timeout: float, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        try:
            place = read_url(url, allow_private=allow_private)
        except AddressError as error:
            raise AlarmError(f"webhook: {error}") from None
        self._url, self._place = url, (place.host, place.port)
        self._allow_private, self._timeout, self._sleep = allow_private, timeout, sleep

    def send(self, alarm: Alarm) -> None:
        """Raises AlarmError, which never holds the address. 429, 5xx and a cut connection are tried again."""
        check_address(*self._place, allow_private=self._allow_private)
        body = {"text": alarm.text(), "kind": alarm.kind, "title": _plain(alarm.title), "lines": list(alarm.shown())}
        for attempt in range(1, ATTEMPTS + 1):
            failure, wait, again = self._post(body)
            if not failure:
                return
            if not again or attempt == ATTEMPTS:
                raise AlarmError(f"the webhook {failure}")
            self._sleep(min(wait if wait is not None else backoff(attempt, 1.0, LONGEST_WAIT), LONGEST_WAIT))

    def _post(self, body: dict[str, object]) -> tuple[str, float | None, bool]:
        """('' or what went wrong, seconds that the server asks to wait, whether to ask again)."""
        try:
            # Neither a proxy nor a .netrc of the environment: the address checked is the one that is asked.
            with (
                httpx.Client(follow_redirects=False, trust_env=False, timeout=self._timeout) as client,
                client.stream("POST", self._url, json=body) as answer,
            ):
                status, asked = answer.status_code, retry_after(answer.headers.get("retry-after"))
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            return f"could not be reached ({type(error).__name__})", None, True
        if 200 <= status < 300:
            return "", None, False
        return f"answered {status}", asked, status == 429 or status >= 500


class Mail:
    """Sends plain text through one mail server."""

    name = "e-mail"

    def __init__(self, settings: AlarmResource, password: str) -> None:
        if not settings.mail_from or not settings.mail_to:
            raise AlarmError("mail_from and mail_to must be set with smtp_host")
        self._settings, self._password = settings, password

    def send(self, alarm: Alarm) -> None:
        """Raises AlarmError, which names the kind of the failure and holds no word of the server's."""
        its = self._settings
        check_address(its.smtp_host, its.smtp_port, allow_private=its.allow_private)
        message = EmailMessage()
        message["Subject"] = f"[OpenTWBench] {_plain(alarm.title)}"
        message["From"], message["To"] = its.mail_from, ", ".join(its.mail_to)
        message["Auto-Submitted"] = "auto-generated"  # RFC 3834: nobody's absence notice shall answer
        message.set_content("\n".join([alarm.text(), "", f"kind: {alarm.kind}"]))
        try:
            with self._connect() as server:
                if its.smtp_user:
                    server.login(its.smtp_user, self._password)
                refused = server.send_message(message)
        except (smtplib.SMTPException, OSError, ValueError) as error:
            raise AlarmError(f"the mail server failed ({type(error).__name__})") from None
        if refused:
            raise AlarmError(f"the mail server refused {len(refused)} of {len(its.mail_to)} addressees")

    def _connect(self) -> smtplib.SMTP:
        its = self._settings
        if its.smtp_security == "tls":
            context = ssl.create_default_context()
            return smtplib.SMTP_SSL(its.smtp_host, its.smtp_port, timeout=its.timeout_seconds, context=context)
        server = smtplib.SMTP(its.smtp_host, its.smtp_port, timeout=its.timeout_seconds)
        if its.smtp_security == "starttls":
            try:
                server.starttls(context=ssl.create_default_context())
            except BaseException:
                server.close()
                raise
        return server


class AlarmResource(dg.ConfigurableResource):
    """Where alarms go. Nothing is sent until a webhook's variable is set or a mail server is named."""

    webhook_env: str = Field(default=WEBHOOK_ENV, description="Environment variable that holds the webhook's address")
    smtp_host: str = Field(default="", description="Mail server; empty: no e-mail is sent")
    smtp_port: int = Field(default=587, ge=1, le=65535)
    smtp_security: Literal["starttls", "tls", "none"] = Field(
        default="starttls", description="'none' sends in clear and is for a server on this machine"
    )
    smtp_user: str = Field(default="", description="Empty: no login")
    smtp_password_env: str = Field(default=PASSWORD_ENV, description="Environment variable that holds the password")
    mail_from: str = Field(default="", description="Address of the sender")
    mail_to: list[str] = Field(default_factory=list, description="Addresses of the receivers")
    allow_private: bool = Field(default=False, description="Allow addresses that are not public, and http://")
    timeout_seconds: float = Field(default=10.0, gt=0, le=60)

    @property
    def is_on(self) -> bool:
        """Whether anything is sent."""
        return bool(os.environ.get(self.webhook_env) or self.smtp_host)

    def places(self) -> tuple[Webhook | Mail, ...]:
        """Every configured place; raises AlarmError for one that none may be."""
        places: list[Webhook | Mail] = []
        url = os.environ.get(self.webhook_env)
        if url:
            places.append(Webhook(url, allow_private=self.allow_private, timeout=self.timeout_seconds))
        if self.smtp_host:
            if self.smtp_user and self.smtp_security == "none":
                raise AlarmError("a password is never sent in clear: smtp_security must be starttls or tls")
            password = os.environ.get(self.smtp_password_env, "")
            if self.smtp_user and not password:
                raise AlarmError(f"the environment variable {self.smtp_password_env[:60]} is not set")
            places.append(Mail(self, password))
        return tuple(places)

    def send(self, alarm: Alarm) -> tuple[str, ...]:
        """Send to every place; returns what failed where. Raises AlarmError when it reached nobody, so that whoever
        called tries again; an alarm that reached one place is not sent there twice for the other's sake."""
        places = self.places()
        failed = []
        for place in places:
            try:
                place.send(alarm)
            except AlarmError as error:
                failed.append(f"{place.name}: {error}")
        if not places:
            raise AlarmError("no place is configured")
        if len(failed) == len(places):
            raise AlarmError("; ".join(failed))
        return tuple(failed)
