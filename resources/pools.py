"""Names of the concurrency pools of model endpoints: one pool an endpoint, whoever asks it.

What belongs here: from an address to a pool's name. What does not: limits (`dagster.yaml`), and which asset is in which
pool (`orchestration.pools`).
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from opentwbench.addresses import DEFAULT_PORTS

MODEL_ENDPOINT = "model_endpoint"
"""The pool of every step that asks a model, where no endpoint is configured: nobody knows whom a run will name."""

MAX_NAME = 120
"""A host name has at most 253 characters; longer ones than this share a pool with what begins like them."""


def endpoint_pool(base_url: str) -> str:
    """'endpoint_<host>_<port>'; MODEL_ENDPOINT for '' and for what is no address that could be asked.

    The path is left out: two paths of one server are one server. So are user and password, which an endpoint refuses
    anyway (`Endpoint`). What Dagster or a command line could not take is '-'; hosts that become equal share a pool,
    which asks less at once and never more.
    """
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname or "", parts.port or DEFAULT_PORTS.get(parts.scheme, 0)
    except ValueError:
        return MODEL_ENDPOINT
    if not host or not port:
        return MODEL_ENDPOINT
    name = re.sub(r"[^a-z0-9.-]", "-", host.lower().rstrip("."))[:MAX_NAME]
    return f"endpoint_{name}_{port}"
