"""Jobs of the exam track: the units that a person, the schedule or a sensor starts."""

from __future__ import annotations

import dagster as dg

index_job = dg.define_asset_job(
    "index_job",
    selection=dg.AssetSelection.assets("ministry_index"),
    description="Read the ministry's index and name what changed.",
)

papers_job = dg.define_asset_job(
    "papers_job",
    selection=dg.AssetSelection.assets("exam_papers"),
    description="Retrieve and parse the papers of a sitting year.",
)

subject_job = dg.define_asset_job(
    "subject_job",
    selection=dg.AssetSelection.assets("subject_items", "subject_dataset", "subject_publication"),
    description="One subject from its papers to its published folder, through every blocking check.",
)

release_job = dg.define_asset_job(
    "release_job",
    selection=dg.AssetSelection.assets("exam_release"),
    description="The row contract once more over the whole release (Great Expectations).",
)

JOBS = (index_job, papers_job, subject_job, release_job)
