"""The public site of the mart in place. Thin: pages and files are the library's (`opentwbench.board`)."""

from dataclasses import asdict

import dagster as dg

from opentwbench.board.rendering import LinkError, Links
from opentwbench.board.site import FIRST, MartError, SiteError, build_site
from resources.board import BoardResource
from resources.models import WarehouseResource
from resources.settings import StoreResource


@dg.asset(group_name="leaderboard", kinds={"html"}, deps=[dg.AssetKey("leaderboard_mart")])
def board_site(store: StoreResource, warehouse: WarehouseResource, board: BoardResource) -> dg.MaterializeResult:
    """Every page in 繁體中文 and English, from leaderboard.duckdb alone; the old site is replaced as a whole."""
    house = warehouse.open(store.open())
    out = board.folder(house.folder)
    try:
        written = build_site(house.folder, out, Links(board.cards, board.report))
    except (MartError, SiteError, LinkError) as error:
        raise dg.Failure(f"the site is not written: {error}", allow_retries=False) from error
    return dg.MaterializeResult(metadata={"open": dg.MetadataValue.path(str(out / FIRST)), **asdict(written)})
