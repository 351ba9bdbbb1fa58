"""Who owns each asset, and until when it counts as current: what the UI shows beside it.

What belongs here: one owner a group, and freshness where time is what makes a thing stale. What does not: staleness of
everything else: a matter of digests (`resources.exam_products`, `Warehouse.standing`), never of clock times.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import dagster as dg

OWNERS: Mapping[str, str] = {
    "exam": "team:exam-track",
    "evaluation": "team:evaluation-track",
    "apparatus": "team:evaluation-track",
    "formosa": "team:formosa-track",
    "rag": "team:rag-track",
    "publication": "team:exam-track",
    "leaderboard": "team:platform",
    "board": "team:platform",
}
"""Group -> the team that answers for it; a deployment may write addresses here."""

FRESHNESS: Mapping[str, dg.FreshnessPolicy] = {
    # The ministry updates its index daily, and `daily_index` looks once a day.
    "ministry_index": dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=72), warn_window=timedelta(hours=30)),
}


def owned(defs: dg.Definitions) -> dg.Definitions:
    """The same definitions with owners and freshness policies. Raises KeyError for a group that nobody owns."""
    return defs.map_asset_specs(func=_owned)


def _owned(spec: dg.AssetSpec) -> dg.AssetSpec:
    policy = FRESHNESS.get(spec.key.to_user_string())
    with_owner = spec.replace_attributes(owners=[*spec.owners] or [OWNERS[spec.group_name or ""]])
    return with_owner.replace_attributes(freshness_policy=policy) if policy else with_owner
