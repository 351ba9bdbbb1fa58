"""What an endpoint sent back, read: a completion, or why it is none. Pure functions of status and bytes.

Everything here comes from outside: every field is checked for its type, texts are made valid Unicode and bounded, and
what is reported of an error is one short line without credentials. The runner and the batch import share this reading.
What does not belong here: connections, waiting and retrying (client.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from opentwbench.evaluation.json_reading import loads
from opentwbench.evaluation.model import ErrorClass

MAX_DETAIL = 300
"""Most characters of an error's detail (model.py, `Response.error_detail`)."""

MAX_NAME = 200
"""Most characters of a finish reason or a model's name."""

RENAMED = {"max_tokens": "max_completion_tokens"}
"""Refused names that have a successor with the same meaning. Source: the OpenAI API reference, chat completions."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply, read. `error` is NONE for a completion, whatever its content."""

    content: str | None = None
    reasoning: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    served_model: str | None = None
    error: ErrorClass = ErrorClass.NONE
    error_detail: str = ""
    latency_ms: float = 0.0
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a reply is no completion, and what to do about it."""

    error: ErrorClass
    detail: str
    retry: bool = False
    congested: bool = False
    """A sign that fewer requests at a time are wanted."""
    stop: bool = False
    """Every further request would end the same way: the whole run stops."""
    parameter: str = ""
    """The parameter of ours that the endpoint refuses; asked again without it."""


def valid_text(text: str) -> str:
    """The text with lone surrogates replaced: JSON may carry them and no UTF-8 file can."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if not _encodable(text) else text


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_CREDENTIALS = re.compile(r"(?i)\bbearer\s+[^\s\"',]+|\b(?:sk|pk|gsk|hf|xai|AIza|api[_-]?key)[-_=:][^\s\"',]{4,}")


def detail(text: str, secret: str = "") -> str:
    """One bounded, printable line of an error message, credentials taken out."""
    if secret:
        text = text.replace(secret, "***")
    return _printable(_CREDENTIALS.sub("***", " ".join(text[:4_000].split())), MAX_DETAIL)


def _printable(text: str, most: int) -> str:
    cut = text[:most]
    return cut if cut.isprintable() else "".join(char if char.isprintable() else "?" for char in cut)


def read_completion(body: bytes, secret: str = "") -> Reply | Failure:
    """A body that came with status 200."""
    try:
        record = loads(body)
    except (ValueError, RecursionError):
        return _unreadable(body, secret)
    if not isinstance(record, dict):
        return Failure(ErrorClass.UNREADABLE, "a JSON value that is no object", retry=True)
    choices = record.get("choices")
    if not isinstance(choices, list) or not choices:
        return _without_choices(record, secret)
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        return Failure(ErrorClass.UNREADABLE, "a choice without a message", retry=True)
    return _reply(record, choice, message)


def _reply(record: Mapping[str, Any], choice: Mapping[str, Any], message: Mapping[str, Any]) -> Reply:
    content, finish = _content(message.get("content")), _name(choice.get("finish_reason"))
    refusal = message.get("refusal")
    if content is None and isinstance(refusal, str) and refusal:
        # The API moves a refusal into a field of its own; it is the text that the model wrote.
        content, finish = valid_text(refusal), "refusal"
    usage = record.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("completion_tokens_details")
    return Reply(
        content=content,
        reasoning=_first_text(message.get("reasoning"), message.get("reasoning_content")),
        finish_reason=finish,
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        reasoning_tokens=_count(details.get("reasoning_tokens")) if isinstance(details, dict) else None,
        served_model=_name(record.get("model")),
    )


def _content(value: object) -> str | None:
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, list):
        parts = [part.get("text") for part in value if isinstance(part, dict) and part.get("type") in ("text", None)]
        return valid_text("".join(part for part in parts if isinstance(part, str)))
    return None


def _first_text(*values: object) -> str | None:
    for value in values:
        if isinstance(value, str) and value:
            return valid_text(value)
    return None


def _name(value: object) -> str | None:
    return _printable(value, MAX_NAME) if isinstance(value, str) else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def _unreadable(body: bytes, secret: str) -> Failure:
    text = body[:2_000].decode("utf-8", "replace")
    if _is_html(text):
        return Failure(ErrorClass.UNREADABLE, f"an HTML page: {detail(_title(text), secret)}"[:MAX_DETAIL], retry=True)
    return Failure(ErrorClass.UNREADABLE, f"no JSON: {detail(text[:200], secret)}", retry=True)


def _without_choices(record: Mapping[str, Any], secret: str) -> Failure:
    """Status 200 without choices: some gateways report an error this way, its status inside the body."""
    error = record.get("error")
    if not isinstance(error, dict):
        return Failure(ErrorClass.UNREADABLE, "no choices", retry=True)
    code = error.get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    return read_failure(status, json.dumps({"error": error}).encode(), (), secret)


def _is_html(text: str) -> bool:
    return text.lstrip()[:15].lower().startswith(("<!doctype", "<html"))


def _title(text: str) -> str:
    found = re.search(r"<title[^>]*>([^<]{0,200})", text, re.IGNORECASE)
    return found[1] if found else "without a title"


def read_failure(status: int, body: bytes, sent: Iterable[str] = (), secret: str = "") -> Failure:
    """Any status but 200. `sent` names the parameters of the request that may be left out."""
    message, code, parameter = _error_of(body)
    said = f"status {status}: {detail(message, secret)}"[:MAX_DETAIL]
    if status in (401, 402, 403, 404, 405):
        return Failure(ErrorClass.BAD_REQUEST, said, stop=True)
    if status == 429:
        return Failure(ErrorClass.RATE_LIMITED, said, retry=True, congested=True, stop=code == "insufficient_quota")
    if status in (408, 409, 425) or status >= 500:  # 409 is a lock that timed out; the openai client asks again too
        error = ErrorClass.TIMEOUT if status in (408, 504, 524) else ErrorClass.SERVER
        return Failure(error, said, retry=True, congested=status in (408, 503, 504, 524, 529))
    if status in (301, 302, 303, 307, 308):
        return Failure(ErrorClass.BAD_REQUEST, f"status {status}: a redirection, which is not followed", stop=True)
    if _overflows(message, code):
        return Failure(ErrorClass.CONTEXT_OVERFLOW, said)
    refused = _refused_parameter(message, code, parameter, frozenset(sent)) if status in (400, 422) else ""
    return Failure(ErrorClass.BAD_REQUEST, said, parameter=refused)


def _error_of(body: bytes) -> tuple[str, str, str]:
    """Message, code and parameter of an error body in any of its common forms; the text itself when it has none."""
    text = body[:20_000].decode("utf-8", "replace")
    try:
        record = json.loads(body[:1_000_000])
    except (ValueError, RecursionError):
        return (_title(text) if _is_html(text) else text, "", "")
    if not isinstance(record, dict):
        return text, "", ""
    error = record.get("error", record)
    if not isinstance(error, dict):
        return str(error)[:4_000], "", ""
    message = error.get("message", error.get("detail", text))
    code = error.get("code") or error.get("type") or ""
    parameter = error.get("param")
    return str(message)[:4_000], str(code)[:MAX_NAME], parameter if isinstance(parameter, str) else ""


_OVERFLOW = re.compile(
    r"maximum context length|context length|context window|context size|prompt is too long|input is too long"
    r"|too many (?:input )?tokens|maximum input length|exceeds? the maximum (?:number of )?tokens",
    re.IGNORECASE,
)


def _overflows(message: str, code: str) -> bool:
    return code in ("context_length_exceeded", "exceed_context_size_error") or bool(_OVERFLOW.search(message))


_REFUSED = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|extra.(?:input|field|forbidden)|not permitted"
    r"|not allowed|deprecated|invalid (?:parameter|argument|field)",
    re.IGNORECASE,
)


def _refused_parameter(message: str, code: str, parameter: str, sent: frozenset[str]) -> str:
    """The one parameter of ours that the message refuses; '' when it names none or more than one."""
    if not _REFUSED.search(f"{code} {message}"):
        return ""
    if parameter in sent:
        return parameter
    # The successor's name may stand in the message beside the refused one, and contains no word of it.
    named = {name for name in sent if re.search(rf"(?<![A-Za-z_]){re.escape(name)}(?![A-Za-z_])", message)}
    return named.pop() if len(named) == 1 else ""
