"""The real openai package as a peer: what we send is what its types allow, what we read is what it reads.

The runner talks HTTP itself, so nothing but these tests keeps its view of the API from being one of its own making.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

import openai
import pytest
from openai.types.batch_create_params import BatchCreateParams
from openai.types.chat import ChatCompletion, ChatCompletionMessageParam
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import ConfigDict, TypeAdapter, with_config
from support.runs import made_set, make_run

from opentwbench.evaluation.batch_files import write_requests
from opentwbench.evaluation.journal import DigestSet, read_responses
from opentwbench.evaluation.model import ErrorClass
from opentwbench.evaluation.protocols import BOX, REGISTRY, Protocol
from opentwbench.evaluation.replies import Reply, read_completion, read_failure
from opentwbench.evaluation.runner import Plan, questions
from samples.model_endpoint import Kind, ModelEndpoint, Rule


@with_config(ConfigDict(extra="forbid"))
class Request(CompletionCreateParamsNonStreaming):
    """A request body with no field that the API does not know."""


REQUEST = TypeAdapter(Request)
MESSAGES = TypeAdapter(list[ChatCompletionMessageParam])
"""By themselves: as a field they are an iterable, which pydantic leaves for later."""


def check(body: Mapping[str, Any]) -> None:
    """Raise a ValueError naming the field for what the API's types do not allow."""
    REQUEST.validate_python(dict(body))
    MESSAGES.validate_python(list(body["messages"]))


def asked(base_url: str, protocol: Protocol, folder: Path) -> ChatCompletion:
    """One of our own requests, sent by the real client."""
    plan = Plan("test-run", "scripted", protocol, made_set(folder, 1))
    (question,) = questions(plan)
    with openai.OpenAI(base_url=base_url, api_key="none", max_retries=0) as client:
        return client.chat.completions.create(**question.body)


@pytest.mark.parametrize("protocol", REGISTRY.values(), ids=REGISTRY)
def test_a_request_is_one_of_the_api(protocol: Protocol, tmp_path: Path) -> None:
    bodies = [each.body for each in questions(Plan("r", "scripted", protocol, made_set(tmp_path, 20)))]
    assert len(bodies) == 20
    for body in bodies:
        check(body)
    with pytest.raises(ValueError, match="max_token_count"):
        check({**bodies[0], "max_token_count": 1})
    with pytest.raises(ValueError, match="max_tokens"):
        check({**bodies[0], "max_tokens": "many"})
    with pytest.raises(ValueError, match="role"):
        check({**bodies[0], "messages": [{"role": "narrator", "content": "x"}]})


def test_a_line_of_a_batch_file_holds_a_request_of_the_api(tmp_path: Path) -> None:
    ((path, count),) = write_requests(Plan("r", "scripted", BOX, made_set(tmp_path, 20)), DigestSet(), tmp_path / "out")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == count == 20
    endpoints = get_args(get_type_hints(BatchCreateParams)["endpoint"])
    for line in lines:
        check(line["body"])
        assert line["url"] in endpoints


QUIRKS = (Kind.TEXT, Kind.NULL_CONTENT, Kind.REASONING_ONLY, Kind.REASONING_BESIDE, Kind.THINK, Kind.LENGTH)
QUIRKS += (Kind.EMPTY, Kind.REFUSAL, Kind.NO_USAGE)


@pytest.mark.parametrize("kind", QUIRKS)
def test_the_real_client_reads_what_we_read(endpoint: ModelEndpoint, tmp_path: Path, kind: Kind) -> None:
    endpoint.plant(Rule(kind, text="\\boxed{B}", times=None))
    theirs = asked(endpoint.base_url, BOX, tmp_path)
    make_run(made_set(tmp_path, 1), tmp_path / "run", endpoint.base_url)
    (ours,) = read_responses(tmp_path / "run")
    message = theirs.choices[0].message
    # A refusal in a field of its own is the text that the model wrote.
    assert ours.content == (message.content if message.content is not None else message.refusal)
    more = message.model_extra or {}
    assert ours.reasoning == (more.get("reasoning") or more.get("reasoning_content"))
    assert ours.finish_reason == ("refusal" if message.refusal else theirs.choices[0].finish_reason)
    assert ours.served_model == theirs.model
    usage = theirs.usage
    expected = (usage.prompt_tokens, usage.completion_tokens) if usage else (None, None)
    assert (ours.prompt_tokens, ours.completion_tokens) == expected


def test_a_completion_that_the_types_build_is_read_field_by_field() -> None:
    built = ChatCompletion.model_validate(
        {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": "served",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "content_filter",
                    "message": {"role": "assistant", "content": None, "refusal": "不行"},
                }
            ],
            "usage": {
                "prompt_tokens": 7,
                "completion_tokens": 5,
                "total_tokens": 12,
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
        }
    )
    found = read_completion(built.model_dump_json().encode())
    assert found == Reply("不行", None, "refusal", 7, 5, 3, "served")


CLASSES: dict[int, type[openai.APIStatusError]] = {
    400: openai.BadRequestError,
    401: openai.AuthenticationError,
    403: openai.PermissionDeniedError,
    404: openai.NotFoundError,
    409: openai.ConflictError,
    422: openai.UnprocessableEntityError,
    429: openai.RateLimitError,
    500: openai.InternalServerError,
    503: openai.InternalServerError,
}


@pytest.mark.parametrize("status", [*CLASSES, 408, 502, 504])
def test_an_error_is_of_one_class_and_asked_again_by_both_or_by_none(
    endpoint: ModelEndpoint, tmp_path: Path, status: int
) -> None:
    endpoint.plant(Rule(Kind.STATUS, status=status, text="made up", code="made_up", times=None))
    with pytest.raises(CLASSES.get(status, openai.APIStatusError)) as caught:
        asked(endpoint.base_url, BOX, tmp_path)
    failure = read_failure(status, caught.value.response.content)
    with openai.OpenAI(base_url=endpoint.base_url, api_key="none") as client:
        assert failure.retry == client._should_retry(caught.value.response)
    assert "made up" in failure.detail and failure.error is not ErrorClass.NONE
