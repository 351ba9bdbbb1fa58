"""Jobs of the Formosa track: the units that a person starts in the UI. `otb build formosa` runs what is stale of them.

Steps with partitions and steps without cannot share a job: a category has its drafts and its grounded items, the rest
is over all of them.
"""

from __future__ import annotations

import dagster as dg

from orchestration.jobs import CURRENCY

formosa_windows_job = dg.define_asset_job(
    "formosa_windows_job",
    selection=dg.AssetSelection.assets("formosa_windows") - CURRENCY,
    description="Cut the corpus into windows and name what changed and which items lost their ground.",
)

formosa_drafts_job = dg.define_asset_job(
    "formosa_drafts_job",
    selection=dg.AssetSelection.assets("formosa_drafts"),
    description="Drafts of a category: only windows without a reply are asked.",
)

formosa_judges_job = dg.define_asset_job(
    "formosa_judges_job",
    selection=dg.AssetSelection.assets("formosa_screens", "formosa_judge_study"),
    description="Every draft under every screen, and the candidate judges before planted defects.",
)

formosa_grounded_job = dg.define_asset_job(
    "formosa_grounded_job",
    selection=dg.AssetSelection.assets("formosa_grounded"),
    description="Grounded items of a category, by a judge that passed its study.",
)

formosa_edition_job = dg.define_asset_job(
    "formosa_edition_job",
    selection=dg.AssetSelection.assets("formosa_items", "formosa_difficulty", "formosa_dataset", "formosa_publication")
    - CURRENCY,
    description="From the full set to the published folder, through the pool and every blocking check.",
)

JOBS = (formosa_windows_job, formosa_drafts_job, formosa_judges_job, formosa_grounded_job, formosa_edition_job)
