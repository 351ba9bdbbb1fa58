"""Every step that asks a model in the pool of the endpoint that it is configured to ask.

A pool is fixed when definitions are made, and so is the endpoint: models are partitions of one asset and share the one
endpoint of the deployment. What a person writes into a run's own configuration is not seen here (docs/schedules.md).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import dagster as dg

from orchestration.configuration import Configuration
from resources.pools import MODEL_ENDPOINT, endpoint_pool

RAG = frozenset(("rag_benchmark",))
"""Assets with an address of their own."""


def pooled(definitions: Iterable[Any], configuration: Configuration) -> list[Any]:
    """The same assets and checks, those of the pool `model_endpoint` in the pool of their endpoint.

    The retrieval benchmark may have an endpoint of its own; without one it shares the pool of the other steps, because
    a run can only name the deployment's endpoint or one that nobody knows of.
    """
    shared = str(configuration.endpoint.get("base_url") or "")
    own = str(configuration.rag.get("base_url") or "")
    return [_in_pool(each, endpoint_pool(own or shared if _is_rag(each) else shared)) for each in definitions]


def _is_rag(each: Any) -> bool:
    return isinstance(each, dg.AssetsDefinition) and any(key.to_user_string() in RAG for key in each.keys)


def _in_pool(each: Any, pool: str) -> Any:
    """A copy in this pool; what does not ask a model is returned as it is.

    Dagster has no public way to change the pool of an asset that is made. Making the assets in a function of the
    configuration would take their names from the modules, which checks, builds and tests import.
    """
    if not isinstance(each, dg.AssetsDefinition) or not each.is_executable:
        return each
    if each.op.pool != MODEL_ENDPOINT or pool == MODEL_ENDPOINT:
        return each
    op = copy.copy(each.op)
    op._pool = pool
    return type(each).dagster_internal_init(**{**each.get_attributes_dict(), "node_def": op})
