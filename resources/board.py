"""Where the public site is written, as Dagster configures it."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
from pydantic import Field


class BoardResource(dg.ConfigurableResource):
    """Where the site is written, and where it points outside itself."""

    out: str = Field(default="", description="Folder of the site; empty: the folder 'site' of the warehouse")
    cards: str = Field(default="", description="Address of a data set's card, with {dataset} in it; empty: no link")
    report: str = Field(default="", description="Address where an item is reported, with {item} in it; empty: no link")

    def folder(self, warehouse: Path) -> Path:
        """The folder of the site."""
        return Path(self.out) if self.out else warehouse / "site"
