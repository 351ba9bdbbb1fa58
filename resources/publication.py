"""Where data sets are published to: for now a folder (or any store URL); the Hub comes later.

What belongs here: the place and its configuration. What does not: the gate, which is `dataset.publication.publish`.
"""

from __future__ import annotations

import dagster as dg
from pydantic import Field

from resources.connections import publication_target
from resources.store import Store


class PublicationResource(dg.ConfigurableResource):
    """The publication target."""

    url: str = Field(default="", description="Folder or fsspec URL; empty: the folder 'publications' of the store")

    def open(self, store: Store) -> Store:
        """The store whose `publications` folder is the target."""
        return publication_target(self.url, store)
