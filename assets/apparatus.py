"""The apparatus studies: one asset a study, and the raw table that the mart takes them from. Thin: read, call, report.

A study reads stored responses and raw tables. It never reads the mart, which holds its result: there is no cycle.
"""

import hashlib

import dagster as dg

from opentwbench.apparatus.result import Study, Table, payload, spoken
from opentwbench.apparatus.studies import STUDIES, conduct
from opentwbench.evaluation.warehouse import write_table
from opentwbench.exam.tables import table
from resources.apparatus import TABLE, Apparatus, study_rows
from resources.models import WarehouseResource
from resources.settings import StoreResource

READ = ("items", "key_figures", "model_cards", "protocols", "responses", "runs", "withdrawals")
"""The raw tables that studies read."""

ALSO_READS = {"judge_panel": ("formosa_judge_study",)}
"""What one study reads besides."""


def _study_asset(study_id: str) -> dg.AssetsDefinition:
    plan = STUDIES[study_id]

    @dg.asset(
        key=["apparatus", study_id],
        group_name="apparatus",
        kinds={"json"},
        deps=[*(dg.AssetKey(["raw", name]) for name in READ), *map(dg.AssetKey, ALSO_READS.get(study_id, ()))],
        description=f"{plan.title.zh} · {plan.title.en}. {plan.question.en}",
    )
    def study_asset(store: StoreResource, warehouse: WarehouseResource) -> dg.MaterializeResult:
        place = store.open()
        apparatus = Apparatus(place, warehouse.open(place).raw)
        study = conduct(study_id, apparatus.inputs)
        apparatus.write(study, apparatus.made_from())
        return dg.MaterializeResult(data_version=_version(payload(study)), metadata=_metadata(study))

    return study_asset


def _metadata(study: Study) -> dict[str, dg.MetadataValue | str | int]:
    shown = {f"table_{number}": dg.MetadataValue.md(_markdown(each)) for number, each in enumerate(study.tables, 1)}
    texts = {"finding": study.finding.en, "finding_zh": study.finding.zh, "labelled": study.labelled.en}
    return {**texts, "n": study.n, **shown}


def _markdown(found: Table) -> str:
    header = [f"{column.label.zh} {column.label.en}" for column in found.columns]
    rows = [[spoken(cell, "en") if isinstance(cell, str) else cell for cell in row] for row in found.rows]
    return f"{found.name.zh} · {found.name.en}\n\n{table(header, rows)}"


def _version(text: str) -> dg.DataVersion:
    return dg.DataVersion(hashlib.sha256(text.encode()).hexdigest()[:16])


STUDY_ASSETS = tuple(_study_asset(study_id) for study_id in STUDIES)


@dg.asset(key=["raw", TABLE], group_name="apparatus", kinds={"parquet"}, deps=[each.key for each in STUDY_ASSETS])
def apparatus_studies(store: StoreResource, warehouse: WarehouseResource) -> dg.MaterializeResult:
    """The results as the raw table that the mart takes them from."""
    place = store.open()
    written = write_table(warehouse.open(place).raw, TABLE, study_rows(place))
    return dg.MaterializeResult(data_version=dg.DataVersion(written.sha256[:16]), metadata={"rows": written.rows})


ASSETS = (*STUDY_ASSETS, apparatus_studies)
