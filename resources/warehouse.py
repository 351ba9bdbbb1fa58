"""The warehouse: where raw tables and the mart stand, and dbt started over them.

What belongs here: the place, its configuration, and running dbt as a process of its own. What does not: schemas
(opentwbench/evaluation/warehouse.py), the swap (opentwbench/evaluation/mart.py) and the models (dbt_leaderboard).
dbt is started as a command and never imported here: importing it costs every run of the platform several seconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import Field

from opentwbench.evaluation.mart import BUILD_DATABASE, RAW, Standing, Swapped, sources, standing, swap_in
from opentwbench.evaluation.warehouse import ensure_tables
from resources.store import Store, StoreError

PROJECT = Path(__file__).resolve().parent.parent / "dbt_leaderboard"
"""The dbt project, beside the packages."""

TARGET = "dbt"
"""Folder of the warehouse that dbt writes its artefacts to, so that a build changes nothing in the project."""


_DBT = "from dbt.cli.main import cli; cli()"
"""The command `dbt` of this environment, whatever is on the path."""


class MartBuildError(Exception):
    """dbt did not build the mart, or a test failed. Names the nodes; the mart in place is the old one."""


@dataclass(frozen=True, slots=True)
class Warehouse:
    """The warehouse folder of a store. Always local: DuckDB writes and swaps files."""

    folder: Path

    @property
    def raw(self) -> Path:
        """The folder of raw tables."""
        return self.folder / RAW

    def prepare(self) -> None:
        """Make the folder and an empty table wherever there is none, and clear what a killed build left."""
        self.raw.mkdir(parents=True, exist_ok=True)
        ensure_tables(self.raw)
        for name in (BUILD_DATABASE, f"{BUILD_DATABASE}.wal"):
            (self.folder / name).unlink(missing_ok=True)

    def sources(self) -> dict[str, str]:
        """Everything that the mart is made from, by name with sha256."""
        return sources(self.folder, PROJECT)

    def standing(self) -> Standing:
        """Whether the mart is current."""
        return standing(self.folder, PROJECT)

    def environment(self) -> dict[str, str]:
        """The variables that the dbt profile reads, and telemetry off."""
        return {
            **os.environ,
            "OTB_WAREHOUSE": str(self.folder.resolve()),
            "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
            "DO_NOT_TRACK": "1",
        }

    def dbt(self, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run one dbt command over this warehouse; raises MartBuildError naming what failed."""
        target = self.folder.resolve() / TARGET
        command = [sys.executable, "-c", _DBT, *arguments]
        places = ["--project-dir", str(PROJECT), "--profiles-dir", str(PROJECT)]
        places += ["--target-path", str(target), "--log-path", str(target / "logs")]
        done = subprocess.run(
            [*command, *places], env=self.environment(), capture_output=True, text=True, check=False, cwd=self.folder
        )
        if done.returncode:
            raise MartBuildError(_what_failed(target, done.stdout + done.stderr))
        return done

    def build(self) -> Swapped:
        """Build and test the mart aside, then swap it in. Raises MartBuildError, and the old mart stays in place."""
        self.prepare()
        made_from = self.sources()
        self.dbt(["build", "--quiet"])
        return swap_in(self.folder, made_from)


def _what_failed(target: Path, output: str) -> str:
    failed = [f"{each['unique_id']}: {each['message']}" for each in _results(target) if each["status"] in _BAD]
    return "; ".join(failed)[:2000] if failed else f"dbt: {output.strip()[-2000:]}"


_BAD = {"error", "fail", "runtime error"}


def _results(target: Path) -> list[Mapping[str, Any]]:
    try:
        return list(json.loads((target / "run_results.json").read_bytes())["results"])
    except (OSError, ValueError, KeyError):
        return []


class WarehouseResource(dg.ConfigurableResource):
    """Where the raw tables and the mart are kept."""

    folder: str = Field(default="", description="Local folder; empty: the folder 'warehouse' of a local store")

    def open(self, store: Store) -> Warehouse:
        """The warehouse of a store; StoreError when the store is remote and no folder is named."""
        if self.folder:
            return Warehouse(Path(self.folder))
        if not store.is_local:
            raise StoreError(f"{store.url}: the warehouse is always local; name its folder (folder)")
        with store.folder("warehouse") as folder:
            return Warehouse(folder)
