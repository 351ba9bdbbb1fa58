"""Whether the site is whole and shows the mart of now. Thin: both are the library's (`opentwbench.board`)."""

import dagster as dg

from opentwbench.board.queries import mart_digest
from opentwbench.board.rendering import LinkError, Links
from opentwbench.board.site import read_record, whole
from opentwbench.evaluation.mart import DATABASE, MartError
from resources.board import BoardResource
from resources.models import WarehouseResource
from resources.settings import StoreResource


@dg.asset_check(
    asset="board_site", description="Every file is as it was written, every link resolves, nothing is fetched"
)
def site_is_whole(store: StoreResource, warehouse: WarehouseResource, board: BoardResource) -> dg.AssetCheckResult:
    """Reads every written page again."""
    found = whole(board.folder(warehouse.open(store.open()).folder))
    return dg.AssetCheckResult(
        passed=found.whole,
        metadata={
            "pages": found.pages,
            "links": found.links,
            "problems": found.count,
            "first_problems": dg.MetadataValue.md(
                "\n".join(f"* `{each.replace('`', '')}`" for each in found.problems[:20])
            ),
        },
    )


@dg.asset_check(
    asset="board_site", description="The site shows the mart that is in place and points to the addresses that are set"
)
def site_is_current(store: StoreResource, warehouse: WarehouseResource, board: BoardResource) -> dg.AssetCheckResult:
    """Compares the digest and the addresses that the site carries with those of now."""
    house = warehouse.open(store.open())
    record = read_record(board.folder(house.folder))
    try:
        now, links = mart_digest(house.folder / DATABASE), Links(board.cards, board.report)
    except (MartError, LinkError) as error:
        return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.WARN, description=str(error))
    shown = record.mart if record else ""
    return dg.AssetCheckResult(
        passed=record is not None and record.shows(now, links),
        severity=dg.AssetCheckSeverity.WARN,
        metadata={
            "shown": shown[:12],
            "mart": now[:12],
            "cards": record.cards if record else "",
            "report": record.report if record else "",
        },
    )


BOARD_CHECKS = (site_is_whole, site_is_current)
