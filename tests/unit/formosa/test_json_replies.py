"""One object out of a reply: every repair of syntax, and everything that is no matter of syntax refused."""

from __future__ import annotations

import json

import pytest

from opentwbench.formosa.json_replies import MAX_REPLY, Repair, read_object

GOOD = '{"a": "甲，} ,]", "b": {"c": ["x", "y"]}}'
RECORD = {"a": "甲，} ,]", "b": {"c": ["x", "y"]}}


def test_a_whole_reply_is_read_without_a_repair() -> None:
    for text in (GOOD, f"  {GOOD}\n", json.dumps(RECORD), json.dumps(RECORD, indent=2, ensure_ascii=False)):
        assert (read_object(text).record, read_object(text).repairs) == (RECORD, ())


@pytest.mark.parametrize(
    ("text", "repairs"),
    [
        (f"<think>想：{{}}</think>{GOOD}", (Repair.REASONING,)),
        (f"```json\n{GOOD}\n```", (Repair.SURROUNDINGS,)),
        (f"以下是題目：{GOOD} 完畢", (Repair.SURROUNDINGS,)),
        (GOOD.replace('"y"]', '"y", ]').replace("]}}", "]},\n }"), (Repair.TRAILING_COMMA,)),
    ],
)
def test_syntax_is_repaired(text: str, repairs: tuple[Repair, ...]) -> None:
    found = read_object(text)
    assert (found.record, found.repairs) == (RECORD, repairs), found.fault


def test_a_bare_line_feed_stays_in_its_text() -> None:
    found = read_object('{"a": "一\n二"}')
    assert (found.record, found.repairs) == ({"a": "一\n二"}, (Repair.RAW_CONTROL,))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "沒有物件",
        '{"a": "甲"',  # cut: closing it would invent what is missing
        '{"a": "甲',
        '{"a": "甲"}{"a": "乙"}',
        '{"a": "甲"} 或 {"a": "乙"}',
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        "{'a': '甲'}",
        '{a: "甲"}',
        '{"a": “甲”}',
        '{"a": "甲" "b": "乙"}',
        '{"a": "甲",, "b": "乙"}',
        "{" * 20_000,
        '{"a":' * 5_000 + "1" + "}" * 5_000,
        "x" * (MAX_REPLY + 1),
    ],
)
def test_what_is_no_matter_of_syntax_is_refused(text: str) -> None:
    found = read_object(text)
    assert found.record is None and found.fault


def test_a_hostile_reply_costs_linear_time() -> None:
    for text in ('{"' + '\\"' * 19_000, "{" + "," * 39_000, '{"a": "' + "}{" * 19_000 + '"}'):
        read_object(text)  # the time limit of the suite is the assertion that counts: quadratic took minutes
    assert read_object('{"a": "' + "}{" * 19_000 + '"}').record == {"a": "}{" * 19_000}
