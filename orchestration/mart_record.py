"""A mart that was built outside Dagster, told to the instance: the UI shows what stands there, when and how large.

What belongs here: materializations of the mart's assets with their rows. What does not: building (resources.warehouse).
Nothing is told where no instance is named (DAGSTER_HOME), and Dagster is loaded only then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentwbench.evaluation.mart import SOURCES_TABLE, Swapped

MADE_BY = "otb mart build"


def record_mart(instance: Any, raw_rows: Mapping[str, int], swapped: Swapped) -> int:
    """Report the raw tables, the mart's tables and the mart itself as materialized; how many were reported.

    `raw_rows`: raw table -> rows. `instance`: a DagsterInstance, or None for nowhere.
    """
    if instance is None:
        return 0
    import dagster as dg

    def told(key: list[str], metadata: Mapping[str, Any]) -> dg.AssetMaterialization:
        return dg.AssetMaterialization(dg.AssetKey(key), metadata={**metadata, "made_by": MADE_BY})

    tables = {name: rows for name, rows in swapped.tables.items() if name != SOURCES_TABLE}
    events = [told(["raw", name], {"dagster/row_count": rows}) for name, rows in raw_rows.items()]
    events += [told(["mart", name], {"dagster/row_count": rows}) for name, rows in tables.items()]
    sizes = {"database_bytes": swapped.database_bytes, "export_bytes": swapped.export_bytes}
    events.append(told(["leaderboard_mart"], {**sizes, "tables": len(tables)}))
    for event in events:
        instance.report_runless_asset_event(event)
    return len(events)
