"""One loopback model endpoint for all tests of this folder; each test finds it without rules and counts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from samples.model_endpoint import ModelEndpoint


@pytest.fixture(scope="session")
def running_endpoint() -> Iterator[ModelEndpoint]:
    """The process."""
    with ModelEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
def endpoint(running_endpoint: ModelEndpoint) -> ModelEndpoint:
    """The endpoint, as new."""
    running_endpoint.heal()
    running_endpoint.set(latency=0.0, jitter=0.0, answers={}, api_key="", reply="", at_once=0, retry_after="")
    running_endpoint.forget()
    return running_endpoint
