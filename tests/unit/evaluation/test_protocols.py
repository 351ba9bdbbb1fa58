"""Protocol records: what is published, what is refused, and that no two protocols share an id."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest

from opentwbench.evaluation.extraction import METHODS
from opentwbench.evaluation.protocols import (
    BOX,
    BOX_PLACEHOLDER,
    PATTERN,
    REASONING_BUDGET,
    REGISTRY,
    Protocol,
    ProtocolError,
    find,
)


def test_the_published_protocol_is_verbatim() -> None:
    assert BOX.system == (
        "你是一位專業的測驗作答助理。請仔細閱讀題目，以繁體中文（臺灣用語）思考，並在最後輸出 \\boxed{}，大括號內只填入"
        "唯一正確選項的英文字母，也就是 A、B、C、D 其中一個。除了 \\boxed{} 之外不要使用其他格式標示答案。"
    )
    assert BOX.decoding() == {"temperature": 0.0, "max_tokens": 4096}
    assert (BOX.shuffle, BOX.extraction) == ("stem_seed", "strict")
    assert BOX.with_budget(REASONING_BUDGET).decoding()["max_tokens"] == 16_384


def test_the_bare_prompt_has_the_defaults_of_twinkle() -> None:
    assert PATTERN.system is None
    assert PATTERN.decoding() == {
        "temperature": 0.0,
        "max_tokens": 4096,
        "top_p": 0.9,
        "frequency_penalty": 0.0,
        "presence_penalty": 0.0,
    }
    assert (PATTERN.shuffle, PATTERN.extraction) == ("none", "twinkle-pattern")


def test_ids_are_fixed() -> None:
    # Stored responses carry these: an id that changes here parts new results from all old ones.
    assert BOX.protocol_id == "box-bd316a9ba6c5"
    assert BOX.with_budget(REASONING_BUDGET).protocol_id == "box-37ae9fc52428"
    assert PATTERN.protocol_id == "pattern-67274af4ae40"


def test_every_field_changes_the_id() -> None:
    others: dict[str, Any] = {
        "name": "box2",
        "system": None,
        "user_template": "{question}\n{A}\n{B}\n{C}\n{D}",
        "shuffle": "none",
        "max_tokens": 1,
        "temperature": 0.5,
        "extraction": "lenient",
        "top_p": 1.0,
        "frequency_penalty": 0.0,
        "presence_penalty": 0.0,
    }
    assert set(others) == {field.name for field in fields(Protocol)}
    ids = {BOX.protocol_id} | {replace(BOX, **{name: value}).protocol_id for name, value in others.items()}
    assert len(ids) == len(others) + 1


def test_a_whole_number_is_the_same_protocol() -> None:
    assert replace(BOX, temperature=0).protocol_id == BOX.protocol_id


def test_the_placeholder_prompt_differs_in_the_box_alone() -> None:
    assert BOX.system is not None and BOX_PLACEHOLDER.system is not None
    assert BOX_PLACEHOLDER.system.count("\\boxed{X}") == 1
    assert BOX_PLACEHOLDER.system.replace("\\boxed{X}", "\\boxed{}") == BOX.system
    assert replace(BOX_PLACEHOLDER, name="box", system=BOX.system) == BOX
    assert find("box-placeholder") is BOX_PLACEHOLDER


def test_json_round_trip() -> None:
    for protocol in REGISTRY.values():
        assert Protocol.from_json(json.loads(json.dumps(protocol.to_json()))) == protocol
        assert protocol.extraction in METHODS


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"user_template": "{question} {A} {B} {C}"}, "each once and bare"),
        ({"user_template": "{question} {A} {B} {C} {D} {answer}"}, "each once and bare"),
        ({"user_template": "{question} {A} {B} {C} {D} {A}"}, "each once and bare"),
        ({"user_template": "{question.__class__} {A} {B} {C} {D}"}, "each once and bare"),
        ({"user_template": "{question!r} {A} {B} {C} {D}"}, "each once and bare"),
        ({"user_template": "{question:>9999999} {A} {B} {C} {D}"}, "each once and bare"),
        ({"user_template": "{question {A} {B} {C} {D}"}, "cannot be parsed|each once"),
        ({"user_template": "x" * 20_001}, "characters"),
        ({"name": "../box"}, "name"),
        ({"name": ""}, "name"),
        ({"shuffle": "random"}, "shuffle"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"max_tokens": 10**9}, "max_tokens"),
        ({"temperature": float("nan")}, "temperature"),
        ({"temperature": -0.1}, "temperature"),
        ({"temperature": None}, "temperature"),
        ({"top_p": 1.5}, "top_p"),
        ({"frequency_penalty": "0"}, "frequency_penalty"),
    ],
)
def test_what_cannot_be_asked_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ProtocolError, match=words):
        replace(BOX, **changes)


@pytest.mark.parametrize(
    "record",
    [
        {},
        {**BOX.to_json(), "seed": 1},
        {**BOX.to_json(), "system": 7},
        {**BOX.to_json(), "user_template": None},
        {**BOX.to_json(), "shuffle": ["none"]},
    ],
)
def test_a_record_that_is_no_protocol_is_refused(record: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError):
        Protocol.from_json(record)


def test_a_name_that_is_no_protocol_lists_those_there_are() -> None:
    assert find("box", 8192) == BOX.with_budget(8192)
    with pytest.raises(ProtocolError, match="box, pattern"):
        find("boxx")
