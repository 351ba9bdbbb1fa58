"""The evaluation track: a model's responses, their scores, and the raw tables of the mart. Thin: read, call, report.

Partitioned by model. Responses are stored once and never asked twice; scores are a pure function of them and of the
published data sets, so a corrected key means new scores and no new request. Every materialization names the data-set
version that it was computed on, and its data version changes with it: what was computed on another one shows as stale.
"""

import hashlib

import dagster as dg

from opentwbench.evaluation.journal import read_responses, read_run
from opentwbench.evaluation.warehouse import SCHEMAS, raw_digests
from opentwbench.exam.tables import table
from resources.models import ModelsResource, WarehouseResource
from resources.partitions import model_of, models
from resources.pools import MODEL_ENDPOINT
from resources.settings import StoreResource
from resources.warehouse_tables import Places, grade_run, ungraded_runs, write_tables

TABLES = sorted(SCHEMAS.keys() - {"apparatus_studies"})
"""The raw tables of this step. The studies read them; theirs is a later step's (assets/apparatus.py)."""

PUBLISHED = dg.AssetDep("subject_publication", partition_mapping=dg.AllPartitionMapping())


@dg.asset(group_name="evaluation", kinds={"jsonl"}, partitions_def=models, deps=[PUBLISHED], pool=MODEL_ENDPOINT)
def model_responses(
    context: dg.AssetExecutionContext, store: StoreResource, endpoints: ModelsResource
) -> dg.MaterializeResult:
    """A model's stored responses. With an endpoint configured, what is missing of its run is asked first."""
    places, model = Places(store.open()), model_of(context.partition_key)
    asked = endpoints.ask(model, places)
    runs = [(read_run(folder), sum(1 for _ in read_responses(folder))) for folder in places.runs_of(model)]
    shown = [(run.run_id, run.benchmark, run.protocol_id, run.dataset_version, count) for run, count in runs]
    head = ("run", "benchmark", "protocol", "data set", "responses")
    return dg.MaterializeResult(
        data_version=dg.DataVersion(_digest(str(line) for line in shown)),
        metadata={
            "runs": len(runs),
            "responses": sum(count for _, count in runs),
            "dataset_versions": ", ".join(sorted({run.dataset_version for run, _ in runs})),
            "asked_now": asked[1].asked if asked else 0,
            "stopped": asked[1].stopped if asked else "",
            "by_run": dg.MetadataValue.md(table(head, shown)),
        },
    )


@dg.asset(group_name="evaluation", kinds={"parquet"}, partitions_def=models, deps=[model_responses, PUBLISHED])
def model_scores(
    context: dg.AssetExecutionContext, store: StoreResource, warehouse: WarehouseResource
) -> dg.MaterializeResult:
    """A model's responses graded by the keys that are published now, and its scores. No model is asked."""
    place = store.open()
    places, house = Places(place), warehouse.open(place)
    graded = [grade_run(places, house, folder) for folder in places.runs_of(model_of(context.partition_key))]
    lines = [(each.run_id, each.graded_version, each.graded, each.ungraded, each.doubled) for each in graded]
    return dg.MaterializeResult(
        data_version=dg.DataVersion(_digest(str(line) for line in lines)),
        metadata={
            "runs": len(graded),
            "dataset_version": ", ".join(sorted({each.graded_version for each in graded})),
            "graded": sum(each.graded for each in graded),
            "ungraded": sum(each.ungraded for each in graded),
            "doubled": sum(each.doubled for each in graded),
            "by_run": dg.MetadataValue.md(table(("run", "data set", "graded", "no such item", "doubled"), lines)),
        },
    )


@dg.multi_asset(
    group_name="evaluation",
    specs=[
        dg.AssetSpec(dg.AssetKey(["raw", name]), deps=[model_scores, PUBLISHED], kinds={"parquet"}) for name in TABLES
    ],
)
def raw_tables(store: StoreResource, warehouse: WarehouseResource):  # type: ignore[no-untyped-def]
    """What the mart is built from: everything that the store holds, as Parquet tables of a fixed schema."""
    place = store.open()
    places, house = Places(place), warehouse.open(place)
    house.prepare()
    written = write_tables(places, house)
    waiting = ungraded_runs(places, house)
    digests = raw_digests(house.raw)
    for name in TABLES:
        own = [digest for file, digest in digests.items() if file.split("/")[0].removesuffix(".parquet") == name]
        rows = {"rows": written[name].rows} if name in written else {"files": len(own), "ungraded_runs": len(waiting)}
        yield dg.MaterializeResult(
            asset_key=dg.AssetKey(["raw", name]), data_version=dg.DataVersion(_digest(own)), metadata=rows
        )


def _digest(lines) -> str:  # type: ignore[no-untyped-def]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


ASSETS = (model_responses, model_scores, raw_tables)
