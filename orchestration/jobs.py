"""Jobs of the exam track: the units that a person, the schedule or a sensor starts."""

from __future__ import annotations

import dagster as dg

from checks.currency import CURRENCY_CHECKS

index_job = dg.define_asset_job(
    "index_job",
    selection=dg.AssetSelection.assets("ministry_index"),
    description="Read the ministry's index and name what changed.",
)


def range_tags(first: str, last: str) -> dict[str, str]:
    """The tags of one run over a range of partitions: how Dagster itself starts a single-run backfill."""
    return {"dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last}


papers_job = dg.define_asset_job(
    "papers_job",
    selection=dg.AssetSelection.assets("exam_papers"),
    description="Retrieve and parse the papers of a sitting year.",
)

items_job = dg.define_asset_job(
    "items_job",
    selection=dg.AssetSelection.assets("subject_items"),
    description="The items of subjects. Over all of them in one run, because what subjects share is counted over all.",
)

CURRENCY = dg.AssetSelection.checks(*CURRENCY_CHECKS)
"""Left out of every other job: they look at all subjects, which a run of one of them has no use for."""

dataset_job = dg.define_asset_job(
    "dataset_job",
    selection=dg.AssetSelection.assets("subject_dataset", "subject_publication") - CURRENCY,
    description="One subject from its items to its published folder, through every blocking check.",
)

subject_job = dg.define_asset_job(
    "subject_job",
    selection=dg.AssetSelection.assets("subject_items", "subject_dataset", "subject_publication") - CURRENCY,
    description="One subject from its papers to its published folder, through every blocking check.",
)

release_job = dg.define_asset_job(
    "release_job",
    selection=dg.AssetSelection.assets("exam_release") - CURRENCY,
    description="The row contract once more over the whole release (Great Expectations).",
)

currency_job = dg.define_asset_job(
    "currency_job",
    selection=CURRENCY,
    description="Whether every publication is what its sources give now, and why not. Makes nothing, asks nobody.",
)

JOBS = (index_job, papers_job, items_job, dataset_job, subject_job, release_job, currency_job)
