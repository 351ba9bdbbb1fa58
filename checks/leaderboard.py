"""Whether the mart in place is current. Thin: what is compared with what stands in `opentwbench.evaluation.mart`."""

import dagster as dg

from resources.models import WarehouseResource
from resources.settings import StoreResource


@dg.asset_check(asset="leaderboard_mart", description="The mart is what its sources would make now")
def mart_is_current(store: StoreResource, warehouse: WarehouseResource) -> dg.AssetCheckResult:
    """Compares the sha256 of every raw table and model with those that the mart was made from."""
    standing = warehouse.open(store.open()).standing()
    return dg.AssetCheckResult(
        passed=standing.is_current,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={"standing": standing.words(), "changed": len(standing.changed)},
    )
