"""Everything that differs between two installations of the exam track, and how it becomes connections.

What belongs here: the settings and opening what they name. What does not: rules, and importing Dagster before somebody
asks for its resources: a build that finds nothing to do never loads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from resources.connections import ListPaths, MinistryConnection, publication_target
from resources.progress import Progress, Silent
from resources.store import Store

if TYPE_CHECKING:
    from opentwbench.exam.retrieval import Retriever


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
    endpoint: Mapping[str, Any] = field(default_factory=dict)
    """Fields of ModelsResource; without a base_url no model is asked."""
    warehouse: str = ""
    """Folder of the warehouse; '' is the store's."""
    hub: Mapping[str, Any] = field(default_factory=dict)
    """Fields of HubResource; without a namespace nothing is pushed."""
    formosa: Mapping[str, Any] = field(default_factory=dict)
    """Fields of FormosaResource; what is not given is what the store keeps of its last build."""
    alarms: Mapping[str, Any] = field(default_factory=dict)
    """Fields of AlarmResource; without a webhook or a mail server nothing is sent."""
    rag: Mapping[str, Any] = field(default_factory=dict)
    """Fields of RagBenchmarkResource; without data and a model no retrieval system is measured."""
    daily: bool = False
    """The one switch of the incremental life: schedule and sensors run without anybody turning them on."""
    lost_runs: bool = False
    """Start runs again that were ended from outside, without anybody turning the sensor on."""

    def open_store(self) -> Store:
        """The store that the assets will use."""
        return Store(self.store, Path(self.cache) if self.cache else None)

    def open_target(self, store: Store) -> Store:
        """Where publications are kept."""
        return publication_target(self.publication, store)

    def open_ministry(self) -> Retriever:
        """A retriever by these settings, as `MinistryResource.open` makes it; raises what it raises."""
        return MinistryConnection(source=self.source, cache=self._retrieved, **self.ministry).open()

    @property
    def list_paths(self) -> ListPaths:
        """The lists that take items out: those given, and those that the store keeps."""
        return ListPaths(**self.lists).kept_in(self.open_store())

    @property
    def _retrieved(self) -> str:
        return str(self.open_store().cache_folder / "retrieved")

    def resources(self) -> dict[str, object]:
        """The resources by the names that assets and checks ask for."""
        from resources.alarms import AlarmResource
        from resources.formosa import FormosaResource
        from resources.hub import HubResource
        from resources.ministry import MinistryResource
        from resources.models import ModelsResource, WarehouseResource
        from resources.publication import PublicationResource
        from resources.rag import RagBenchmarkResource
        from resources.settings import ListSettings, ParsingSettings, StoreResource

        return {
            "store": StoreResource(url=self.store, cache=self.cache),
            "ministry": MinistryResource(source=self.source, cache=self._retrieved, **self.ministry),
            "parsing": ParsingSettings(processes=self.processes),
            "lists": ListSettings(**self.lists, store=self.store, cache=self.cache),
            "target": PublicationResource(url=self.publication),
            "progress": self.progress,
            "endpoints": ModelsResource(**self.endpoint),
            "formosa": FormosaResource(**self.formosa),
            "rag": RagBenchmarkResource(**self.rag),
            "warehouse": WarehouseResource(folder=self.warehouse),
            "hub": HubResource(**self.hub),
            "alarms": AlarmResource(**self.alarms),
        }
