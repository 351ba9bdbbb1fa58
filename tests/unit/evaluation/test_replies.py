"""Replies read: every quirk of real endpoints, and bodies that mean harm."""

from __future__ import annotations

import json
from typing import Any

import pytest

from opentwbench.evaluation.model import ErrorClass
from opentwbench.evaluation.replies import MAX_DETAIL, MAX_NAME, Failure, Reply, detail, read_completion, read_failure


def completion(message: object, finish: object = "stop", **more: Any) -> bytes:
    """A chat completion with one choice."""
    usage = {"prompt_tokens": 5, "completion_tokens": 7, "completion_tokens_details": {"reasoning_tokens": 3}}
    record = {"model": "served", "choices": [{"message": message, "finish_reason": finish}], "usage": usage, **more}
    return json.dumps(record).encode()


def read(body: bytes) -> Reply:
    """The reply; fails when it is none."""
    found = read_completion(body)
    assert isinstance(found, Reply)
    return found


def test_a_plain_reply() -> None:
    assert read(completion({"content": "\\boxed{A}"})) == Reply("\\boxed{A}", None, "stop", 5, 7, 3, "served")


@pytest.mark.parametrize(
    ("message", "content", "reasoning"),
    [
        ({"content": None}, None, None),
        ({}, None, None),
        ({"content": ""}, "", None),
        ({"content": "a", "reasoning": "r", "reasoning_content": "s"}, "a", "r"),
        ({"content": None, "reasoning_content": "s"}, None, "s"),
        ({"content": None, "reasoning": "", "reasoning_content": "s"}, None, "s"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"text": "b"}, "x", None]}, "ab", None),
        ({"content": 7}, None, None),
        ({"content": {"text": "a"}}, None, None),
        ({"content": "\ud83d x"}, "\ufffd x", None),
        ({"content": "<think>t</think>a"}, "<think>t</think>a", None),
    ],
)
def test_content_and_reasoning(message: dict[str, Any], content: str | None, reasoning: str | None) -> None:
    found = read(completion(message))
    assert (found.content, found.reasoning) == (content, reasoning)


def test_a_refusal_has_its_text_and_its_reason() -> None:
    found = read(completion({"content": None, "refusal": "I cannot help."}))
    assert (found.content, found.finish_reason) == ("I cannot help.", "refusal")
    kept = read(completion({"content": "\\boxed{A}", "refusal": None}))
    assert (kept.content, kept.finish_reason) == ("\\boxed{A}", "stop")


@pytest.mark.parametrize("usage", [None, [], "x", {}, {"prompt_tokens": -1, "completion_tokens": True}])
def test_no_usage_is_no_failure(usage: object) -> None:
    found = read(completion({"content": "a"}, usage=usage))
    assert (found.prompt_tokens, found.completion_tokens, found.reasoning_tokens) == (None, None, None)


def test_hostile_names_are_bounded_and_printable() -> None:
    found = read(completion({"content": "a"}, finish="x" * 10_000, model="\x1b[31m\n" * 1_000))
    assert found.finish_reason is not None
    assert len(found.finish_reason) == MAX_NAME
    assert found.served_model is not None
    assert len(found.served_model) == MAX_NAME
    assert found.served_model.isprintable()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe\x00",
        b"[1]",
        b"null",
        b'{"choices": []}',
        b'{"choices": {}}',
        b'{"choices": [3]}',
        b'{"choices": [{}]}',
        b'{"choices": [{"message": "text"}]}',
        b'{"choices": [{"message": {"content": "\\boxed',
        b"[" * 100_000,
        b"<!DOCTYPE html><title>Gateway</title>",
        b"data: {}\n\n",
    ],
)
def test_what_is_no_completion_is_unreadable_and_retried(body: bytes) -> None:
    found = read_completion(body)
    assert isinstance(found, Failure)
    assert (found.error, found.retry, found.stop) == (ErrorClass.UNREADABLE, True, False)
    assert found.detail
    assert len(found.detail) <= MAX_DETAIL


def test_an_error_object_under_status_200_counts_as_its_code() -> None:
    limited = read_completion(b'{"error": {"message": "slow down", "code": 429}}')
    assert isinstance(limited, Failure)
    assert (limited.error, limited.congested) == (ErrorClass.RATE_LIMITED, True)
    unknown = read_completion(b'{"error": {"message": "oops", "code": "weird"}}')
    assert isinstance(unknown, Failure)
    assert (unknown.error, unknown.retry) == (ErrorClass.SERVER, True)


def error(message: str, code: str | None = None, param: str | None = None) -> bytes:
    """An error body of the OpenAI form."""
    return json.dumps({"error": {"message": message, "code": code, "param": param}}).encode()


@pytest.mark.parametrize(
    ("status", "body", "kind", "retry", "stop", "congested"),
    [
        (401, error("Incorrect API key"), ErrorClass.BAD_REQUEST, False, True, False),
        (403, b"forbidden", ErrorClass.BAD_REQUEST, False, True, False),
        (402, error("no credit"), ErrorClass.BAD_REQUEST, False, True, False),
        (404, error("model not found"), ErrorClass.BAD_REQUEST, False, True, False),
        (302, b"", ErrorClass.BAD_REQUEST, False, True, False),
        (429, error("slow down"), ErrorClass.RATE_LIMITED, True, False, True),
        (429, error("quota", "insufficient_quota"), ErrorClass.RATE_LIMITED, True, True, True),
        (408, b"", ErrorClass.TIMEOUT, True, False, True),
        (504, b"<html><title>Gateway time-out</title>", ErrorClass.TIMEOUT, True, False, True),
        (500, error("x"), ErrorClass.SERVER, True, False, False),
        (502, b"<html>", ErrorClass.SERVER, True, False, False),
        (503, error("overloaded"), ErrorClass.SERVER, True, False, True),
        (529, error("overloaded"), ErrorClass.SERVER, True, False, True),
        (400, error("bad"), ErrorClass.BAD_REQUEST, False, False, False),
        (422, b'{"detail": "bad"}', ErrorClass.BAD_REQUEST, False, False, False),
        (400, error("x", "context_length_exceeded"), ErrorClass.CONTEXT_OVERFLOW, False, False, False),
        (400, error("maximum context length is 8192 tokens"), ErrorClass.CONTEXT_OVERFLOW, False, False, False),
        (400, error("request exceeds the available context size"), ErrorClass.CONTEXT_OVERFLOW, False, False, False),
        (413, error("prompt is too long: 9 > 8"), ErrorClass.CONTEXT_OVERFLOW, False, False, False),
    ],
)  # fmt: skip
def test_a_status_is_classified(
    status: int, body: bytes, kind: ErrorClass, retry: bool, stop: bool, congested: bool
) -> None:
    found = read_failure(status, body, ("temperature",))
    assert (found.error, found.retry, found.stop, found.congested) == (kind, retry, stop, congested)
    assert found.detail.startswith(f"status {status}")
    assert not found.parameter


SENT = ("temperature", "max_tokens", "top_p")


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        (error("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.", "x", "max_tokens"), "max_tokens"),
        (error("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."), "max_tokens"),
        (
            error("'temperature' does not support 0.0 with this model", "unsupported_value", "temperature"),
            "temperature",
        ),
        (error("[{'type': 'extra_forbidden', 'loc': ('body', 'top_p')}]"), "top_p"),
        (error("Unrecognized request argument supplied: top_p"), "top_p"),
        (b'{"detail": "Extra inputs are not permitted: top_p"}', "top_p"),
        # Native: nothing of ours is refused.
        (error("temperature and top_p are not supported together"), ""),
        (error("Unsupported parameter: 'logprobs'", "unsupported_parameter", "logprobs"), ""),
        (error("top_p must be between 0 and 1", "invalid_value", "top_p"), ""),
        (error("messages: unsupported role", "x", "messages"), ""),
    ],
)
def test_a_refused_parameter_is_found_only_when_it_is_one(body: bytes, parameter: str) -> None:
    assert read_failure(400, body, SENT).parameter == parameter


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: my-secret-key-123.",
        "Authorization: Bearer my-secret-key-123 refused",
        "sk-abcdefghijklmnop is no key",
        "api_key=abcdefghijk",
    ],
)
def test_credentials_never_reach_a_detail(text: str) -> None:
    said = detail(text, "my-secret-key-123")
    assert "***" in said
    for hidden in ("my-secret-key-123", "abcdefghijk"):
        assert hidden not in said


def test_a_detail_is_one_bounded_printable_line() -> None:
    said = detail("a\nb\t\x1b[31m" + "長" * 5_000)
    assert len(said) == MAX_DETAIL
    assert said.isprintable()
    assert detail("model not found: risk-free-model") == "model not found: risk-free-model"
