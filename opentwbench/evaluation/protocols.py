"""Protocols: how a question is asked and how the reply is ranked, as frozen, named, hashed records.

What belongs here: the record, the published protocols, their validation and their JSON form.
What does not: rendering messages (prompts.py), reading replies (extraction.py) and asking (runner.py).
Two protocols are two columns of a result, never one; every response and every score carries `protocol_id`.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from string import Formatter
from types import MappingProxyType
from typing import Any

from opentwbench.dataset.contract import OPTION_COLUMNS, excerpt

SHUFFLES = ("none", "stem_seed")
"""'none' shows the options as published; 'stem_seed' as `prompts.option_order` says."""

PLACEHOLDERS = ("question", *OPTION_COLUMNS)
"""What a template may hold: the question and the four shown options. No other field of an item can reach a prompt."""

ID_DIGITS = 12
"""Hex digits of a protocol's hash in its id; as many as an item id has."""

MAX_BUDGET = 1_048_576
"""Most completion tokens that a protocol may ask for."""

MAX_TEMPLATE = 20_000
"""Most characters of a system prompt or a template."""


class ProtocolError(ValueError):
    """A protocol that cannot be rendered or asked, or a name that is no protocol. Names the field and the reason."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """One way of asking. Its id changes with every field, so no two ways share a column.

    Raises ProtocolError for a template without exactly the placeholders, and for decoding values out of range.
    """

    name: str
    system: str | None
    """The system prompt; None sends no system message at all."""
    user_template: str
    """The user message, with {question}, {A}, {B}, {C} and {D} (options as shown), each exactly once."""
    shuffle: str
    max_tokens: int
    temperature: float
    extraction: str
    """The extraction method that ranks."""
    top_p: float | None = None
    """None = not sent. The same holds for the penalties."""
    frequency_penalty: float | None = None
    presence_penalty: float | None = None

    def __post_init__(self) -> None:
        """Reject what could not be asked."""
        if not self.name or not all(c.isascii() and (c.isalnum() or c == "-") for c in self.name):
            raise ProtocolError(f"protocol name must be ASCII letters, digits and hyphens, got {excerpt(self.name)}")
        for text in (self.system or "", self.user_template):
            if len(text) > MAX_TEMPLATE:
                raise ProtocolError(f"{self.name}: a prompt of {len(text)} characters, more than {MAX_TEMPLATE}")
        _check_template(self.name, self.user_template)
        if self.shuffle not in SHUFFLES:
            raise ProtocolError(f"{self.name}: shuffle must be one of {', '.join(SHUFFLES)}: {excerpt(self.shuffle)}")
        if not _is_int(self.max_tokens) or not 1 <= self.max_tokens <= MAX_BUDGET:
            raise ProtocolError(f"{self.name}: max_tokens must lie in 1..{MAX_BUDGET}, got {excerpt(self.max_tokens)}")
        # A bound for each: what the OpenAI API accepts.
        _check_number(self.name, "temperature", self.temperature, 0.0, 2.0)
        _check_number(self.name, "top_p", self.top_p, 0.0, 1.0)
        _check_number(self.name, "frequency_penalty", self.frequency_penalty, -2.0, 2.0)
        _check_number(self.name, "presence_penalty", self.presence_penalty, -2.0, 2.0)

    @property
    def protocol_id(self) -> str:
        """The name and the first 12 hex digits of the sha256 of every field, e.g. 'box-0123456789ab'."""
        canonical = json.dumps(self.to_json(), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return f"{self.name}-{hashlib.sha256(canonical.encode()).hexdigest()[:ID_DIGITS]}"

    def decoding(self) -> dict[str, float | int]:
        """The decoding parameters of the request body, those that are not sent left out."""
        values = {
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "top_p": self.top_p,
            "frequency_penalty": self.frequency_penalty,
            "presence_penalty": self.presence_penalty,
        }
        return {name: value for name, value in values.items() if value is not None}

    def with_budget(self, max_tokens: int) -> Protocol:
        """The same protocol under another token budget; another id."""
        return replace(self, max_tokens=max_tokens)

    def to_json(self) -> dict[str, Any]:
        """Every field, in order. Numbers that may be fractions are floats: a temperature of 0 and 0.0 is one."""
        record = asdict(self)
        for name in ("temperature", "top_p", "frequency_penalty", "presence_penalty"):
            record[name] = None if record[name] is None else float(record[name])
        return record

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Protocol:
        """A protocol from its JSON form; raises ProtocolError for a missing, unknown or wrongly typed field."""
        known = {field.name for field in fields(cls)}
        if set(record) != known:
            raise ProtocolError(f"a protocol has {', '.join(sorted(known))}; got {excerpt(sorted(record), 200)}")
        for name in ("name", "user_template", "shuffle", "extraction"):
            if not isinstance(record[name], str):
                raise ProtocolError(f"protocol {name} must be a text, got {excerpt(record[name])}")
        if record["system"] is not None and not isinstance(record["system"], str):
            raise ProtocolError(f"protocol system must be a text or null, got {excerpt(record['system'])}")
        return cls(**record)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_template(name: str, template: str) -> None:
    # Parsed rather than searched: {question.__class__} or {A!r} would reach beyond the text that is meant.
    try:
        parts = [(field, form, how) for _, field, form, how in Formatter().parse(template) if field is not None]
    except ValueError as error:
        raise ProtocolError(f"{name}: the template cannot be parsed: {error}") from None
    if any(form or how for _, form, how in parts) or sorted(f for f, _, _ in parts) != sorted(PLACEHOLDERS):
        raise ProtocolError(f"{name}: the template must hold {{{'}, {'.join(PLACEHOLDERS)}}}, each once and bare")


def _check_number(name: str, field: str, value: object, low: float, high: float) -> None:
    if value is None and field != "temperature":
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ProtocolError(f"{name}: {field} must be a number, got {excerpt(value)}")
    if not low <= value <= high:
        raise ProtocolError(f"{name}: {field} must lie in {low:g}..{high:g}, got {value}")


BOX = Protocol(
    name="box",
    system=(
        "你是一位專業的測驗作答助理。請仔細閱讀題目，以繁體中文（臺灣用語）思考，並在最後輸出 \\boxed{}，"
        "大括號內只填入唯一正確選項的英文字母，也就是 A、B、C、D 其中一個。"
        "除了 \\boxed{} 之外不要使用其他格式標示答案。"
    ),
    user_template="題目：{question}\nA. {A}\nB. {B}\nC. {C}\nD. {D}",
    shuffle="stem_seed",
    max_tokens=4096,
    temperature=0.0,
    extraction="strict",
)
"""The published protocol, verbatim. Source: facts on the published protocol."""

REASONING_BUDGET = 16_384
"""Completion tokens that the published runs gave to reasoning models: `BOX.with_budget(REASONING_BUDGET)`."""

PATTERN = Protocol(
    name="pattern",
    system=None,
    user_template="{question}\nA: {A}\nB: {B}\nC: {C}\nD: {D}",
    shuffle="none",
    max_tokens=4096,
    temperature=0.0,
    extraction="twinkle-pattern",
    top_p=0.9,
    frequency_penalty=0.0,
    presence_penalty=0.0,
)
"""The bare prompt and the defaults of Twinkle Eval 2.10. Source: facts on Twinkle Eval."""

BOX_PLACEHOLDER = replace(
    BOX, name="box-placeholder", system=(BOX.system or "").replace("並在最後輸出 \\boxed{}", "並在最後輸出 \\boxed{X}")
)
"""The box protocol whose system prompt shows a literal placeholder in the box, for the study of its effect; it ranks
nothing. A reconstruction: the wording of the defective prompt that was in use is not published."""

REGISTRY: Mapping[str, Protocol] = MappingProxyType(
    {protocol.name: protocol for protocol in (BOX, PATTERN, BOX_PLACEHOLDER)}
)
"""Name -> protocol, under its default budget."""


def find(name: str, budget: int | None = None) -> Protocol:
    """The named protocol, under another budget when one is given; raises ProtocolError listing the names there are."""
    protocol = REGISTRY.get(name)
    if protocol is None:
        raise ProtocolError(f"no protocol {excerpt(name)}; there are {', '.join(REGISTRY)}")
    return protocol if budget is None else protocol.with_budget(budget)
