"""Jobs and sensors of the evaluation track: new responses become scores, new scores become raw tables.

What has changed is decided from stored facts (`resources.warehouse_tables`), never from clock times. The mart's own job
and sensor stand in `orchestration.leaderboard_definitions`, because dbt is loaded there and nowhere else.
"""

import json
from collections.abc import Mapping

import dagster as dg

from opentwbench.evaluation.journal import read_run
from opentwbench.exam.digests import compare
from orchestration.jobs import CURRENCY
from resources.models import WarehouseResource
from resources.partitions import models, partition_of
from resources.settings import StoreResource
from resources.warehouse import Warehouse
from resources.warehouse_tables import Places, run_digests

INTERVAL_SECONDS = 300

scores_job = dg.define_asset_job(
    "scores_job",
    selection=dg.AssetSelection.assets("model_responses", "model_scores") - CURRENCY,
    description="One model: its stored responses, graded by the keys that are published now.",
)

tables_job = dg.define_asset_job(
    "tables_job",
    selection=(dg.AssetSelection.key_prefixes(["raw"]) | dg.AssetSelection.groups("apparatus")) - CURRENCY,
    description="Everything that the mart is built from, as Parquet tables, and the apparatus studies over them.",
)


@dg.sensor(
    job=scores_job,
    minimum_interval_seconds=INTERVAL_SECONDS,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="A run has new responses, or its items a new version: score that model. A new model is a partition.",
)
def new_responses(context: dg.SensorEvaluationContext, store: StoreResource) -> dg.SensorResult | dg.SkipReason:
    """One run for every model whose responses, or the published data sets behind them, changed."""
    places = Places(store.open())
    now = run_digests(places)
    touched = sorted(set(_changed(context.cursor, now)) & now.keys())
    if not touched:
        return dg.SkipReason("no run has new responses")
    names = sorted({partition_of(read_run(places.runs / run_id).model) for run_id in touched})
    return dg.SensorResult(
        run_requests=[dg.RunRequest(partition_key=name) for name in names],
        dynamic_partitions_requests=[models.build_add_request(names)],
        cursor=json.dumps(now),
    )


@dg.sensor(
    job=tables_job,
    minimum_interval_seconds=INTERVAL_SECONDS,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="Scores changed: write the raw tables of the mart.",
)
def new_scores(
    context: dg.SensorEvaluationContext, store: StoreResource, warehouse: WarehouseResource
) -> dg.SensorResult | dg.SkipReason:
    """One run when a run was graded anew since the raw tables were written."""
    now = gradings(warehouse.open(store.open()))
    if not _changed(context.cursor, now):
        return dg.SkipReason("no run was graded anew")
    return dg.SensorResult(run_requests=[dg.RunRequest()], cursor=json.dumps(now))


def _changed(cursor: str | None, now: Mapping[str, str]) -> tuple[str, ...]:
    """Names that differ from those of the cursor; every name when there is none yet."""
    return compare(json.loads(cursor) if cursor else {}, now).differing


def gradings(warehouse: Warehouse) -> dict[str, str]:
    """Raw file of responses -> sha256."""
    return {name: digest for name, digest in warehouse.raw_digests().items() if name.startswith("responses/")}


JOBS = (scores_job, tables_job)
SENSORS = (new_responses, new_scores)
