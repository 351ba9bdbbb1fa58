"""Typed configuration that is no connection of its own: where the store is, how to parse, which lists to apply.

What belongs here: the configured forms that Dagster shows and validates. What does not: the work itself.
"""

from __future__ import annotations

from pathlib import Path

import dagster as dg
from pydantic import Field

from resources.store import Store


class StoreResource(dg.ConfigurableResource):
    """Where every product is kept."""

    url: str = Field(default="store", description="Folder or fsspec URL of the store")
    cache: str = Field(
        default="", description="Local folder of retrieved papers; empty: the folder 'cache' of a local store"
    )

    def open(self) -> Store:
        """The store itself."""
        return Store(self.url, Path(self.cache) if self.cache else None)


class ParsingSettings(dg.ConfigurableResource):
    """How papers are parsed."""

    processes: int = Field(default=0, ge=0, description="Parsing processes; 0 means one a core")


class ExclusionSettings(dg.ConfigurableResource):
    """Lists that take items out of publication. An empty path means not applied, and every report says so."""

    legal_benchmark: str = Field(default="", description="tw-legal-benchmark-v2 (CSV, JSONL or Parquet)")
    tmmlu: str = Field(default="", description="TMMLU+ (CSV, JSONL or Parquet, or a folder of them)")
    maintainer: str = Field(
        default="", description="Item ids that a maintainer excluded: item_id, reason, date, evidence"
    )
