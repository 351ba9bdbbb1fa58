"""The ministry as a configured connection: where papers come from and how politely they are asked for.

What belongs here: typed settings and turning them into a `Retriever`. What does not: rules of retrieval (the library).
Nothing is opened, asked or read when definitions load; a wrong value is found by pydantic, a wrong source by `open`.
"""

from __future__ import annotations

from dataclasses import fields

import dagster as dg
from pydantic import Field

from opentwbench.exam.retrieval import Retriever
from resources.connections import MinistryConnection

_DEFAULT = MinistryConnection()
_NAMES = [field.name for field in fields(MinistryConnection)]


class MinistryResource(dg.ConfigurableResource):
    """Where papers, keys and the index come from. One retriever at a time may use a cache."""

    source: str = Field(
        default=_DEFAULT.source,
        description="'live' (the ministry), a base URL in place of the ministry's scheme and host, or a mirror folder",
    )
    cache: str = Field(default=_DEFAULT.cache, description="Local folder of retrieved papers, one a ministry")
    delay_seconds: float = Field(
        default=_DEFAULT.delay_seconds, ge=0, description="Seconds between the starts of two requests"
    )
    jitter_seconds: float = Field(default=_DEFAULT.jitter_seconds, ge=0, description="Up to this many seconds more")
    attempts: int = Field(default=_DEFAULT.attempts, ge=1, description="Requests for one URL before giving up")
    backoff_seconds: float = Field(
        default=_DEFAULT.backoff_seconds, ge=0, description="Seconds before the second attempt; doubles with each"
    )
    timeout_seconds: float = Field(default=_DEFAULT.timeout_seconds, gt=0, description="Seconds to wait for the server")
    max_age_days: float = Field(
        default=_DEFAULT.max_age_days,
        ge=0,
        description="Days before a paper is asked for again (conditionally)",
    )
    missing_max_age_days: float = Field(
        default=_DEFAULT.missing_max_age_days,
        ge=0,
        description="Days before a missing paper is asked for again",
    )
    index_max_age_hours: float = Field(
        default=_DEFAULT.index_max_age_hours, ge=0, description="Hours before the index is asked for again"
    )
    max_pdf_bytes: int = Field(default=_DEFAULT.max_pdf_bytes, ge=1, description="A larger paper is refused")
    max_index_bytes: int = Field(default=_DEFAULT.max_index_bytes, ge=1, description="A larger index is refused")
    max_vanished_share: float = Field(
        default=_DEFAULT.max_vanished_share,
        ge=0,
        le=1,
        description="Share of the index's keyed rows that may be gone at once; more is an error",
    )
    ca_bundle: str = Field(
        default="",
        description="PEM file trusted in addition to the system's certificates: the ministry's server leaves its "
        "intermediate certificate out (see opentwbench.exam.polite.PoliteClient); empty: none",
    )
    proxy: str = Field(default="", description="URL of an HTTP proxy; empty: none")

    def open(self) -> Retriever:
        """A retriever by these settings, to be used as a context manager or closed by the caller.

        Raises ValueError for a source that is none, MirrorError for a folder that is no mirror.
        """
        return MinistryConnection(**{name: getattr(self, name) for name in _NAMES}).open()
