"""The loopback model endpoint: what it reads off a question, what it answers, and what it counts."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from samples.benchmark import benchmark_bytes
from samples.model_endpoint import Asked, Kind, ModelEndpoint, Rule, choose, read_question

QUESTION = "題目：問什麼？\nA. 甲\nB. 乙\nC. 丙\nD. 丁"


def post(endpoint: ModelEndpoint, content: str = QUESTION, **body: Any) -> tuple[int, Any]:
    """Status and JSON of one request."""
    data = json.dumps({"model": "m", "messages": [{"role": "user", "content": content}], **body}).encode()
    request = urllib.request.Request(f"{endpoint.base_url}/chat/completions", data)
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


@pytest.mark.parametrize(
    ("message", "asked"),
    [
        (QUESTION, Asked("問什麼？", {"A": "甲", "B": "乙", "C": "丙", "D": "丁"})),
        ("問什麼？\nA: 甲\nB: 乙", Asked("問什麼？", {"A": "甲", "B": "乙"})),
        ("A. 非\n問？\nA. 一\nB. 二\n續\nC. 三", Asked("A. 非\n問？", {"A": "一", "B": "二\n續", "C": "三"})),
        ("沒有選項", Asked("沒有選項", {})),
    ],
)
def test_a_question_is_read_off_a_message(message: str, asked: Asked) -> None:
    assert read_question(message) == asked


def test_the_answer_follows_the_text_and_not_the_place() -> None:
    for order in ("ABCD", "DCBA", "BADC"):
        options = dict(zip("ABCD", order, strict=True))
        assert options[choose(Asked("問", options), {"問": "C"})] == "C"
    assert choose(Asked("問", {"A": "x", "B": "y"}), {}) in "AB"
    assert len({choose(Asked(f"問{n}", dict.fromkeys("ABCD", "")), {}) for n in range(50)}) == 4


def test_it_answers_counts_and_forgets() -> None:
    with ModelEndpoint(answers={"問什麼？": "丙"}) as endpoint:
        status, reply = post(endpoint)
        assert (status, reply["choices"][0]["message"]["content"]) == (200, "答案：C")
        post(endpoint)
        stats = endpoint.stats(counts=True)
        assert (stats["requests"], stats["distinct"], stats["answered"]) == (2, 1, 2)
        assert list(stats["tags"].values()) == ["問什麼？"]
        endpoint.plant(Rule(Kind.STATUS, status=503, times=1), Rule(Kind.HTML, "別題", None))
        assert post(endpoint)[0] == 503
        assert post(endpoint)[0] == 200
        endpoint.set(api_key="k")
        assert post(endpoint)[0] == 401
        endpoint.forget()
        stats = endpoint.stats(counts=True)
        assert (stats["requests"], stats["tags"], stats["statuses"]) == (0, {}, {})


def test_the_sample_items_are_sound(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in benchmark_bytes().decode().splitlines()]
    assert len(rows) > 100
    assert len({row["item_id"] for row in rows}) == len(rows)
    assert all(row["answer"] in "ABCD" and len({row[letter] for letter in "ABCD"}) == 4 for row in rows)
    assert len({row["item_id"].rpartition("-")[0] for row in rows[:6]}) == 6
