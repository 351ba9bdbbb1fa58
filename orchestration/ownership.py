"""Who owns each asset, and where the UI answers whether it is current: what the UI shows beside it.

What belongs here: one owner a group, freshness where time is what makes a thing stale, and which check answers for the
rest. What does not: staleness itself, a matter of digests (`resources.currency`, `Warehouse.standing`), never of clock
times: a policy over a publication would call it stale although nothing that it is made from has changed.
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

PUBLISHED = frozenset(("publication", "leaderboard"))
"""Groups whose assets a reader gets: none may be without an answer."""

_EXAM = "subject_publication:publications_are_current"
_STUDIES = "raw/apparatus_studies:studies_are_current"
_MART = "leaderboard_mart:mart_is_current"

ANSWERS: Mapping[str, str] = {
    # One check over all subjects names stale years and items too, so the stages before it point to it.
    "exam_papers": _EXAM,
    "subject_items": _EXAM,
    "subject_dataset": _EXAM,
    "subject_publication": _EXAM,
    "exam_release": "exam_release:release_is_current",
    "hub_publication": "hub_publication:hub_is_current",
    "hub_combined": "hub_combined:combined_is_current",
    "model_responses": "model_scores:scores_are_current",
    "model_scores": "model_scores:scores_are_current",
    "apparatus/": _STUDIES,
    "raw/apparatus_studies": _STUDIES,
    "formosa_windows": "formosa_windows:windows_are_current",
    "formosa_dataset": "formosa_publication:formosa_is_current",
    "formosa_publication": "formosa_publication:formosa_is_current",
    "rag_contexts": "rag_publication:rag_is_current",
    "rag_dataset": "rag_publication:rag_is_current",
    "rag_publication": "rag_publication:rag_is_current",
    "leaderboard_mart": _MART,
    "board_site": "board_site:site_is_current",
    # A mart is built and swapped whole: one check for each of its tables.
    "staging/": _MART,
    "intermediate/": _MART,
    "mart/": _MART,
}
"""Asset, or first part of its key with a slash -> asset and check that say whether it is current."""

ANSWER = "is it current"
"""The metadata of an asset that names its check, or the policy."""


def owned(defs: dg.Definitions) -> dg.Definitions:
    """The same definitions with owners, freshness policies and who answers whether an asset is current.

    Raises KeyError for a group that nobody owns, and for a published asset without an answer.
    """
    return defs.map_asset_specs(func=_owned)


def answer_of(key: dg.AssetKey) -> str:
    """'asset:check', 'freshness policy', or '' for an asset that has no answer of its own."""
    name = key.to_user_string()
    return "freshness policy" if name in FRESHNESS else ANSWERS.get(name) or ANSWERS.get(f"{key.path[0]}/", "")


def _owned(spec: dg.AssetSpec) -> dg.AssetSpec:
    name, answer = spec.key.to_user_string(), answer_of(spec.key)
    if not answer and spec.group_name in PUBLISHED:
        raise KeyError(f"{name} is published and nothing says whether it is current: name a check in ANSWERS")
    made = spec.replace_attributes(owners=[*spec.owners] or [OWNERS[spec.group_name or ""]])
    if answer:
        made = made.merge_attributes(metadata={ANSWER: answer})
    policy = FRESHNESS.get(name)
    return made.replace_attributes(freshness_policy=policy) if policy else made
