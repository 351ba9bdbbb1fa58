"""Partitions of the tracks, shared by assets and checks.

They stand here and not in `orchestration` because assets and checks need them and may not import what is above them.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

import dagster as dg

from opentwbench.exam.subjects import REGISTRY
from opentwbench.rag.model import DATASETS, SYSTEMS

subjects = dg.StaticPartitionsDefinition(sorted(REGISTRY))
"""One partition a subject: exactly the registry's slugs."""

exam_years = dg.DynamicPartitionsDefinition(name="exam_years")
"""One partition a sitting year (ROC, as text). A new year in the index adds one."""

models = dg.DynamicPartitionsDefinition(name="models")
"""One partition a model that has a run, by `partition_of` its name. The sensor `new_responses` adds them."""

formosa_categories = dg.DynamicPartitionsDefinition(name="formosa_categories")
"""One partition a category of Taiwan.md ('Food'): its folder's name. No asset adds them yet."""

rag_benchmarks = dg.MultiPartitionsDefinition(
    {
        "dataset": dg.StaticPartitionsDefinition(sorted(DATASETS)),
        "system": dg.StaticPartitionsDefinition(sorted(SYSTEMS)),
    }
)
"""One partition a data set and retrieval system, e.g. 'locomo|bm25'."""

_REFUSED = re.compile(r"%|\.{3,}|[^%.]")
"""What may need another spelling: Dagster refuses '...' (its range separator) and control characters in a key."""


def partition_of(model: str) -> str:
    """The partition key of a model: its name, with '...', '%' and what does not print percent-encoded.

    A name is whatever the endpoint calls the model, so it is spelt another way instead of being refused, and
    `model_of` gives it back unchanged. Source: dagster._core.definitions.partitions.utils.base,
    INVALID_PARTITION_SUBSTRINGS (1.13).
    """
    return _REFUSED.sub(lambda found: found[0] if _keeps(found[0]) else _encoded(found[0]), model)


def model_of(partition: str) -> str:
    """The model of a partition key that `partition_of` made."""
    return unquote(partition, errors="surrogatepass")


def _keeps(part: str) -> bool:
    return part.isprintable() and part[0] not in "%."


def _encoded(part: str) -> str:
    # quote leaves a full stop alone, and here the full stops are what is refused.
    return "".join("%2E" if char == "." else quote(char, safe="", errors="surrogatepass") for char in part)
