"""One JSON object out of a model's reply, with repair of syntax and never of content.

What belongs here: the closed list of repairs and the strict reading after them. What does not: the fields that a draft
or a judgement has. A repair may drop what stands around the object, or a comma that JSON does not allow; it adds
nothing, closes nothing and changes no text, because an object that was cut has lost a part that nobody knows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.files import unique_keys

MAX_REPLY = 40_000
"""Most characters of a reply that is read. A draft is under 1,000; what is longer is no draft."""


class Repair(StrEnum):
    """What was mended. Closed."""

    REASONING = "reasoning"
    """Text up to the last </think> dropped."""
    SURROUNDINGS = "surroundings"
    """A code fence, or words before or after the object, dropped."""
    TRAILING_COMMA = "trailing_comma"
    RAW_CONTROL = "raw_control"
    """A line feed or tab stood bare inside a text; it stays in it."""


@dataclass(frozen=True, slots=True)
class ReadObject:
    """What was read: the object, or the fault that left none."""

    record: Mapping[str, Any] | None
    repairs: tuple[Repair, ...] = ()
    fault: str = ""


def read_object(content: str) -> ReadObject:
    """The one JSON object of a reply. A second object, a key that stands twice, NaN and a cut object are faults."""
    if len(content) > MAX_REPLY:
        return ReadObject(None, (), f"{len(content)} characters, more than {MAX_REPLY}")
    _, reasoning, text = content.rpartition("</think>")
    repairs = [Repair.REASONING] if reasoning else []
    start = text.find("{")
    if start < 0:
        return ReadObject(None, tuple(repairs), "no object")
    end = _end(text, start)
    if end is None:
        return ReadObject(None, tuple(repairs), "the object does not end")
    if "{" in text[end:]:
        return ReadObject(None, tuple(repairs), "a second object, or a brace, after the first")
    if text[:start].strip() or text[end:].strip():
        repairs.append(Repair.SURROUNDINGS)
    body, commas = _without_trailing_commas(text[start:end])
    repairs += [Repair.TRAILING_COMMA] if commas else []
    return _strict(body, repairs)


def _strict(body: str, repairs: list[Repair]) -> ReadObject:
    try:
        return ReadObject(_loads(body, strict=True), tuple(repairs))
    except (ValueError, RecursionError):
        pass
    try:
        return ReadObject(_loads(body, strict=False), (*repairs, Repair.RAW_CONTROL))
    except (ValueError, RecursionError) as error:
        return ReadObject(None, tuple(repairs), excerpt(str(error), 100))


def _loads(body: str, *, strict: bool) -> dict[str, Any]:
    value = json.loads(body, strict=strict, parse_constant=_no_constant, object_pairs_hook=unique_keys)
    if not isinstance(value, dict):
        raise ValueError("no object")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON value")


def _end(text: str, start: int) -> int | None:
    """Behind the brace that closes the object at `start`; None when none does. Braces inside texts do not count."""
    depth, inside, escaped = 0, False, False
    for place in range(start, len(text)):
        char = text[place]
        if inside:
            escaped, inside = char == "\\" and not escaped, not (char == '"' and not escaped)
        elif char == '"':
            inside = True
        elif char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                return place + 1
    return None


def _without_trailing_commas(body: str) -> tuple[str, int]:
    """The text without commas that stand before a closing bracket, and how many there were."""
    kept: list[str] = []
    comma: int | None = None
    dropped, inside, escaped = 0, False, False
    for char in body:
        if inside:
            escaped, inside = char == "\\" and not escaped, not (char == '"' and not escaped)
        elif char == ",":
            comma = len(kept)
        elif char in "}]" and comma is not None:
            kept[comma] = ""
            dropped, comma = dropped + 1, None
        elif not char.isspace():
            comma, inside = None, char == '"'
        kept.append(char)
    return "".join(kept), dropped
