"""The public site of the mart in place. Thin: pages and files are the library's (`opentwbench.board`)."""

from dataclasses import asdict

import dagster as dg

from opentwbench.board.rendering import Links
from opentwbench.board.site import build_site
from resources.board import BoardResource
from resources.models import WarehouseResource
from resources.settings import StoreResource


@dg.asset(group_name="leaderboard", kinds={"html"}, deps=[dg.AssetKey("leaderboard_mart")])
def board_site(store: StoreResource, warehouse: WarehouseResource, board: BoardResource) -> dg.MaterializeResult:
    """Every page in 繁體中文 and English, from leaderboard.duckdb alone; the old site is replaced as a whole."""
    house = warehouse.open(store.open())
    written = build_site(house.folder, board.folder(house.folder), Links(board.cards, board.report))
    return dg.MaterializeResult(metadata=asdict(written))
