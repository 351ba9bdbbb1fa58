"""`otb extract` from outside: lines in, lines out, bad lines named, exit statuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from orchestration.cli import application

RUN = CliRunner()


def extract(method: str, lines: bytes, status: int = 0) -> tuple[list[dict[str, Any]], str]:
    result = RUN.invoke(application(["extract"]), ["extract", "--method", method], input=lines)
    assert result.exit_code == status, result.output
    return [json.loads(line) for line in result.stdout.splitlines()], result.stderr


def line(**fields: object) -> bytes:
    return (json.dumps(fields) + "\n").encode()


def test_line_by_line() -> None:
    lines = line(content="\\boxed{A}") + line(content=None) + line(content="維生素 B", id=7) + line(content="好")
    found, errors = extract("lenient", lines)
    assert found == [
        {"answer": "A", "rule": "box"},
        {"answer": None, "rule": None},
        {"answer": "B", "rule": "any"},
        {"answer": None, "rule": None},
    ]
    assert errors == ""


def test_reasoning_fields_reach_the_method() -> None:
    lines = line(content=None, reasoning="\\boxed{C}") + line(
        content="", reasoning=None, reasoning_content="\\boxed{D}"
    )
    assert [each["answer"] for each in extract("twinkle-box", lines)[0]] == ["C", "D"]
    assert [each["answer"] for each in extract("strict", lines)[0]] == [None, None]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (b"\n", "not JSON"),
        (b"{\n", "not JSON"),
        (b"[1]\n", "not a JSON object"),
        (b'{"text": "A"}\n', "no content"),
        (b'{"content": 3}\n', "content must be a text or null"),
        (b'{"content": "A", "reasoning": ["x"]}\n', "reasoning must be"),
        (b'{"content": "A", "content": "B"}\n', "twice"),
        (b'{"content": NaN}\n', "NaN"),
        (b'{"content": "\xff"}\n', "UTF-8"),
        (b'\xef\xbb\xbf{"content": "A"}\n', "not JSON"),
        (b"[" * 100_000 + b"\n", "not JSON"),
        (b'{"content": ' + b"9" * 10_000 + b"}\n", "not JSON"),
    ],
)
def test_a_bad_line_is_named_and_the_rest_goes_on(bad: bytes, words: str) -> None:
    found, errors = extract("strict", line(content="\\boxed{A}") + bad + line(content="\\boxed{B}"), status=3)
    assert [each["answer"] for each in found] == ["A", None, "B"]
    assert "line 2" in errors
    assert words in errors
    assert words in found[1]["error"]


def test_a_line_beyond_the_bound_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestration.extract_command.MAX_LINE_BYTES", 100)
    long = line(content="x" * 1_000 + "\\boxed{A}")
    found, errors = extract("strict", line(content="\\boxed{A}") + long + line(content="\\boxed{B}"), status=3)
    assert [each["answer"] for each in found] == ["A", None, "B"]
    assert "line 2: more than 100 bytes" in errors


def test_a_last_line_without_a_line_feed_is_read() -> None:
    assert extract("strict", b'{"content": "\\\\boxed{D}"}')[0] == [{"answer": "D", "rule": "box"}]


def test_nothing_in_nothing_out() -> None:
    assert extract("strict", b"") == ([], "")


def test_an_unknown_method_is_a_wrong_argument() -> None:
    assert "strict, lenient" in extract("loose", b"", status=2)[1]


def test_a_lone_surrogate_is_read() -> None:
    assert extract("strict", b'{"content": "\\ud800 \\\\boxed{A}"}\n')[0] == [{"answer": "A", "rule": "box"}]
