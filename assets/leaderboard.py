"""The mart in place of the old one. Thin: the swap is the library's, the models are dbt's.

The asset stands in the code location of the mart, after every dbt model and test of the same run; started alone it
refuses, because nothing vouches for what it would put in place.
"""

import dagster as dg

from opentwbench.evaluation.mart import DATABASE
from opentwbench.exam.tables import table
from resources.models import WarehouseResource
from resources.settings import StoreResource


def mart_asset(deps: list[dg.AssetKey]) -> dg.AssetsDefinition:
    """`leaderboard_mart`, to be made from every table that dbt builds."""

    @dg.asset(group_name="leaderboard", kinds={"duckdb", "parquet"}, deps=deps)
    def leaderboard_mart(store: StoreResource, warehouse: WarehouseResource) -> dg.MaterializeResult:
        """leaderboard.duckdb and its Parquet export, swapped in whole; open readers keep what they opened."""
        house = warehouse.open(store.open())
        swapped = house.swap()
        return dg.MaterializeResult(
            metadata={
                "database": DATABASE,
                "database_bytes": swapped.database_bytes,
                "export_bytes": swapped.export_bytes,
                "tables": dg.MetadataValue.md(table(("table", "rows"), swapped.tables.items())),
            }
        )

    return leaderboard_mart
