"""A mart built on the command line stands in the UI's instance, under the assets that Dagster itself would make."""

from __future__ import annotations

import dagster as dg

from opentwbench.evaluation.mart import SOURCES_TABLE, Swapped
from orchestration.leaderboard_definitions import defs
from orchestration.mart_record import record_mart

SWAPPED = Swapped({"leaderboard": 7, "subject_scores": 90, SOURCES_TABLE: 12}, 4_096, 2_048)


def test_what_was_built_is_told_under_the_assets_own_names() -> None:
    keys = defs.resolve_asset_graph().get_all_asset_keys()
    with dg.instance_for_test() as instance:
        assert record_mart(instance, {"responses": 1_000}, SWAPPED) == 4
        expected = ((["raw", "responses"], 1_000), (["mart", "leaderboard"], 7), (["mart", "subject_scores"], 90))
        for key, rows in expected:
            assert dg.AssetKey(key) in keys
            event = instance.get_latest_materialization_event(dg.AssetKey(key))
            assert event is not None
            assert event.asset_materialization is not None
            assert event.asset_materialization.metadata["dagster/row_count"].value == rows
        assert dg.AssetKey("leaderboard_mart") in keys
        assert instance.get_latest_materialization_event(dg.AssetKey("leaderboard_mart")) is not None
        assert instance.get_latest_materialization_event(dg.AssetKey(["mart", SOURCES_TABLE])) is None


def test_without_an_instance_nothing_is_told() -> None:
    assert record_mart(None, {"responses": 1}, SWAPPED) == 0
