"""The code location of the mart: dbt's models and tests as assets and asset checks, and the swap after them.

The only module that imports dagster_dbt, which costs every process that loads it several seconds; the platform's own
location stays without. The manifest is made by `make setup` (`otb mart prepare`), offline; this module only reads it.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

# Before the import: dbt reads it when it is loaded.
os.environ.setdefault("DBT_SEND_ANONYMOUS_USAGE_STATS", "false")
os.environ.setdefault("DO_NOT_TRACK", "1")

import dagster as dg
from dagster_dbt import DagsterDbtTranslator, DagsterDbtTranslatorSettings, DbtCliResource, DbtProject, dbt_assets

from assets.board import board_site
from assets.leaderboard import mart_asset
from checks.board import BOARD_CHECKS, site_is_current
from checks.leaderboard import mart_is_current
from orchestration import variables
from orchestration.lost_runs import lost_runs
from orchestration.ownership import owned
from resources.board import BoardResource
from resources.models import WarehouseResource
from resources.settings import StoreResource
from resources.warehouse import PROJECT, manifest_path

if not manifest_path().is_file():
    raise FileNotFoundError(f"{manifest_path()} is missing: run `make setup`, or `otb mart prepare` after a change")

DBT = str(Path(sys.executable).with_name("dbt"))
"""The dbt of this environment, whatever is on the path."""

project = DbtProject(project_dir=PROJECT, profiles_dir=PROJECT)


class Translator(DagsterDbtTranslator):
    """dbt names become asset keys: a source is the raw table that the platform writes, a model stands in its layer."""

    def get_asset_key(self, dbt_resource_props: Mapping[str, Any]) -> dg.AssetKey:
        """raw/<table> for a source, <schema>/<model> for a model."""
        if dbt_resource_props["resource_type"] == "source":
            return dg.AssetKey(["raw", dbt_resource_props["name"]])
        layer = {"main": "mart"}.get(dbt_resource_props["config"]["schema"], dbt_resource_props["config"]["schema"])
        return dg.AssetKey([layer, dbt_resource_props["name"]])

    def get_group_name(self, dbt_resource_props: Mapping[str, Any]) -> str:
        """One group for the whole mart."""
        return "leaderboard"


translator = Translator(DagsterDbtTranslatorSettings(enable_source_tests_as_checks=True))


@dbt_assets(manifest=manifest_path(), dagster_dbt_translator=translator, project=project, name="mart_tables")
def mart_tables(
    context: dg.AssetExecutionContext, dbt: DbtCliResource, store: StoreResource, warehouse: WarehouseResource
) -> Iterator[Any]:
    """Every table of the mart, built aside and tested. Always all of them: a mart is whole or it is none."""
    house = warehouse.open(store.open())
    with house.building() as made_from:
        os.environ["OTB_WAREHOUSE"] = str(house.folder.resolve())
        yield from dbt.cli(["build"], context=context, target_path=house.target).stream()
        house.note_build(made_from)


leaderboard_mart = mart_asset(sorted(mart_tables.keys))

mart_job = dg.define_asset_job(
    "mart_job",
    selection=dg.AssetSelection.assets(mart_tables, leaderboard_mart),
    description="Build the mart aside, test it, and swap it in.",
)

board_job = dg.define_asset_job(
    "board_job",
    selection=dg.AssetSelection.assets(board_site),
    description="Render the public site from the mart in place, and look whether it is whole.",
)

mart_currency_job = dg.define_asset_job(
    "mart_currency_job",
    selection=dg.AssetSelection.checks(mart_is_current, site_is_current),
    description="Whether mart and site are what their sources give now, and why not. Makes nothing.",
)

mart_currency = dg.ScheduleDefinition(
    name="mart_currency",
    job=mart_currency_job,
    cron_schedule="35 7 * * *",
    execution_timezone="Asia/Taipei",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description="Once a day, whether mart and site are current: the checks that the UI shows.",
)


@dg.sensor(
    job=mart_job,
    minimum_interval_seconds=300,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="The mart is stale: build it anew.",
)
def stale_mart(
    context: dg.SensorEvaluationContext, store: StoreResource, warehouse: WarehouseResource
) -> dg.SensorResult | dg.SkipReason:
    """One run when a raw table or a model changed since the mart was built; never twice for the same state."""
    house = warehouse.open(store.open())
    if not house.raw_digests():
        return dg.SkipReason("no raw table was written yet")
    standing, now = house.standing(), json.dumps(house.sources(), sort_keys=True)
    if standing.is_current or context.cursor == now:
        return dg.SkipReason(standing.words())
    return dg.SensorResult(run_requests=[dg.RunRequest()], cursor=now)


JOBS = (mart_job, board_job, mart_currency_job)


def build_defs(store: str, warehouse: str = "", *, restart_lost: bool = False) -> dg.Definitions:
    """The mart's definitions over one store; `restart_lost` turns the sensor `lost_runs` on."""
    defs = dg.Definitions(
        assets=[mart_tables, leaderboard_mart, board_site],
        asset_checks=[mart_is_current, *BOARD_CHECKS],
        jobs=list(JOBS),
        schedules=[mart_currency],
        sensors=[stale_mart, lost_runs(JOBS, running=restart_lost)],
        resources={
            "dbt": DbtCliResource(project_dir=project, profiles_dir=str(PROJECT), dbt_executable=DBT),
            "store": StoreResource(url=store),
            "warehouse": WarehouseResource(folder=warehouse),
            "board": BoardResource(),
        },
        executor=dg.in_process_executor,
    )
    return owned(defs)


defs = build_defs(
    os.environ.get(variables.STORE, "store"),
    os.environ.get("OTB_WAREHOUSE_FOLDER", ""),
    restart_lost=variables.switch(os.environ, variables.LOST_RUNS),
)
