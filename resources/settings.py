"""Typed configuration that is no connection of its own: where the store is, how to parse, which lists to apply.

What belongs here: the configured forms that Dagster shows and validates. What does not: the work itself.
"""

from __future__ import annotations

import os
from pathlib import Path

import dagster as dg
from pydantic import Field

from opentwbench.dataset.model import Withdrawal
from opentwbench.exam.exclusion_lists import Lists
from resources.connections import ListPaths
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

    @property
    def workers(self) -> int:
        """The number of processes, at least one."""
        return self.processes or os.cpu_count() or 1


class ListSettings(dg.ConfigurableResource):
    """Lists that take items out. An empty path means the list that the store keeps, `none` or nothing kept means not
    applied, and every card and report says so.
    """

    legal_benchmark: str = Field(default="", description="tw-legal-benchmark-v2: CSV, JSONL, Parquet or a folder")
    tmmlu: str = Field(default="", description="TMMLU+: CSV, JSONL, Parquet or a folder")
    maintainer: str = Field(default="", description="JSONL of items a maintainer excluded: id, reason, date, evidence")
    withdrawn: str = Field(default="", description="JSONL of items that stay published but leave the scored set")

    store: str = Field(default="", description="Store that keeps which lists were applied; empty: only those above")
    cache: str = Field(default="", description="As the store's own")

    @property
    def _paths(self) -> ListPaths:
        given = ListPaths(self.legal_benchmark, self.tmmlu, self.maintainer, self.withdrawn)
        return given.kept_in(Store(self.store, Path(self.cache) if self.cache else None)) if self.store else given

    def lists(self) -> Lists:
        """Everything that may leave an item out of publication."""
        return self._paths.lists()

    def withdrawals(self) -> dict[str, Withdrawal]:
        """Items that leave the scored set, by id."""
        return self._paths.withdrawals()
