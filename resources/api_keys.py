"""API keys, from the environment alone: settings name the variable, never the key."""

from __future__ import annotations

import os

from opentwbench.dataset.contract import excerpt
from opentwbench.evaluation.client import NO_SECRET, EndpointError, Secret


def secret_of(variable: str) -> Secret:
    """The key in an environment variable; none for ''. Raises EndpointError when the variable is not set."""
    if not variable:
        return NO_SECRET
    value = os.environ.get(variable)
    if not value:
        raise EndpointError(f"the environment variable {excerpt(variable)} is not set")
    return Secret(value)
