"""What Dagster loads. No network, no secret and no file is touched while it loads.

`build_defs` makes a fresh Definitions for any configuration: tests and the command line use it too. The module's `defs`
is the configuration of the environment: OTB_STORE (folder or URL), OTB_SOURCE (live, a base URL or a mirror folder) and
OTB_DELAY_SECONDS (between two requests).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg

import assets.exam
import assets.publication
import checks.exam
from orchestration.jobs import JOBS
from orchestration.schedules import SCHEDULES
from orchestration.sensors import SENSORS
from resources.ministry import MinistryResource
from resources.progress import Progress, Silent
from resources.publication import PublicationResource
from resources.settings import ListSettings, ParsingSettings, StoreResource
from resources.store import Store

ASSETS = (*assets.exam.ASSETS, *assets.publication.ASSETS)
CHECKS = (*checks.exam.SUBJECT_CHECKS, *checks.exam.RELEASE_CHECKS)


@dataclass(frozen=True)
class Configuration:
    """Everything that differs between two installations of the exam track."""

    store: str = "store"
    source: str = "live"
    publication: str = ""
    cache: str = ""
    processes: int = 0
    lists: Mapping[str, str] = field(default_factory=dict)
    """Fields of ListSettings."""
    ministry: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of MinistryResource, such as delay_seconds."""
    progress: Progress = field(default_factory=Silent)

    def open_store(self) -> Store:
        """The store that the assets will use."""
        return StoreResource(url=self.store, cache=self.cache).open()

    def resources(self) -> dict[str, object]:
        """The resources by the names that assets and checks ask for."""
        cache: Path = self.open_store().cache_folder
        return {
            "store": StoreResource(url=self.store, cache=self.cache),
            "ministry": MinistryResource(source=self.source, cache=str(cache / "retrieved"), **self.ministry),
            "parsing": ParsingSettings(processes=self.processes),
            "lists": ListSettings(**self.lists),
            "target": PublicationResource(url=self.publication),
            "progress": self.progress,
        }


def from_environment() -> Configuration:
    """The configuration that the environment names; the defaults are a local store and the live ministry."""
    delay = os.environ.get("OTB_DELAY_SECONDS")
    return Configuration(
        store=os.environ.get("OTB_STORE", "store"),
        source=os.environ.get("OTB_SOURCE", "live"),
        ministry={"delay_seconds": float(delay)} if delay else {},
    )


def build_defs(configuration: Configuration) -> dg.Definitions:
    """The platform's definitions under one configuration."""
    return dg.Definitions(
        assets=list(ASSETS),
        asset_checks=list(CHECKS),
        jobs=list(JOBS),
        schedules=list(SCHEDULES),
        sensors=list(SENSORS),
        resources=configuration.resources(),
        # A process a step costs 15 s a subject instead of 3 (measured on two cores), and steps hand over files anyway.
        executor=dg.in_process_executor,
    )


defs = build_defs(from_environment())
