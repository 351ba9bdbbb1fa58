"""`otb board`: render the public site from the mart, and look whether one is whole and current.

What belongs here: arguments, progress, exit statuses. What does not: the site (`opentwbench.board`). The same functions
run as the asset `board_site`; here nothing loads Dagster.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from opentwbench.board.queries import mart_digest
from opentwbench.board.rendering import LinkError, Links
from opentwbench.board.site import SiteError, build_site, read_record, whole
from opentwbench.evaluation.mart import DATABASE, MartError
from orchestration.options import StoreFolderOption, WarehouseOption
from resources.store import Store, StoreError
from resources.warehouse import Warehouse, warehouse_of

USAGE, STALE, FAULTY = 2, 3, 4

STATUSES = (
    "Exit status: 0 done, or whole and current; 1 a fault of the program; 2 wrong arguments, no mart, or a folder "
    "that is no site; 3 the site shows another mart, or points elsewhere; 4 the site is not whole."
)

app = typer.Typer(help="Render the public site from the mart, or look at one.", no_args_is_help=True)

JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
OutOption = Annotated[Path, typer.Option(help="Folder of the site; replaced as a whole.")]


@app.command(epilog=STATUSES)
def build(
    out: OutOption,
    store: StoreFolderOption = "store",
    warehouse: WarehouseOption = "",
    cards: Annotated[
        str,
        typer.Option(help="Address of a data set's card with {dataset} in it. Default: no link.", show_default=False),
    ] = "",
    report: Annotated[
        str,
        typer.Option(
            help="Address where an item is reported, with {item} (and {dataset}) in it. Default: the id to name.",
            show_default=False,
        ),
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Render every page in 繁體中文 and English from leaderboard.duckdb alone, opened read-only. Needs no network."""
    started = time.monotonic()
    try:
        links = Links(cards, report)
        house = warehouse_of(Store(store), warehouse)
        bar = Progress(
            SpinnerColumn(),
            TextColumn("pages"),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
        )
        with bar:
            task = bar.add_task("pages", total=None)
            written = build_site(house.folder, out, links, lambda pages: bar.update(task, completed=pages))
    except (LinkError, StoreError, MartError, SiteError) as error:
        _stop(USAGE, str(error))
    seconds = round(time.monotonic() - started, 1)
    stale = _stale_studies(store, house)
    if as_json:
        about = {"seconds": seconds, "stale_studies": stale, "open": str(out / "index.html")}
        print(json.dumps({**asdict(written), **about}))
        return
    Console().print(
        f"{out / 'index.html'}: {written.pages:,} pages, {written.items:,} items, {written.charts:,} charts, "
        f"{written.bytes / 1e6:.1f} MB, first page {written.first_page_bytes / 1e3:.0f} kB; {seconds} s",
        highlight=False,
        soft_wrap=True,
    )
    _say_stale(stale)


@app.command(epilog=STATUSES)
def check(
    out: OutOption,
    store: StoreFolderOption = "store",
    warehouse: WarehouseOption = "",
    cards: Annotated[
        str | None, typer.Option(help="As for build. Default: what it was built with.", show_default=False)
    ] = None,
    report: Annotated[
        str | None, typer.Option(help="As for build. Default: what it was built with.", show_default=False)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say whether a site is whole (links, languages, nothing from elsewhere) and shows the mart of now.

    With --cards or --report also whether it was built with these addresses: a site built with others is stale.
    """
    record = read_record(out)
    if record is None:
        _stop(USAGE, f"{out} is no site")
    try:
        links = Links(record.cards if cards is None else cards, record.report if report is None else report)
        house = warehouse_of(Store(store), warehouse)
        current = record.shows(mart_digest(house.folder / DATABASE), links)
    except (LinkError, StoreError, MartError) as error:
        _stop(USAGE, str(error))
    found, stale = whole(out), _stale_studies(store, house)
    if as_json:
        built = {"cards": record.cards, "report": record.report}
        about = {"whole": found.whole, "current": current, **built, "pages": found.pages, "links": found.links}
        about |= {"stale_studies": stale, "count": found.count, "problems": found.problems}
        print(json.dumps(about, ensure_ascii=False))
    else:
        standing = "current" if current else "stale"
        standing += f"; cards {record.cards or 'nowhere'}, report {record.report or 'nowhere'}"
        print(f"{found.pages:,} pages, {found.links:,} links, {found.count:,} problems; {standing}")
        for problem in found.problems:
            print(problem)
        _say_stale(stale)
    raise typer.Exit(FAULTY if not found.whole else 0 if current else STALE)


def _stale_studies(store: str, house: Warehouse) -> list[str]:
    """Studies of the store that were conducted on other responses or keys: the site shows them as they were."""
    from opentwbench.apparatus.result import StudyError
    from resources.apparatus import Apparatus

    try:
        return Apparatus(Store(store), house.raw).stale()
    except (StoreError, StudyError) as error:
        _stop(USAGE, str(error))


def _say_stale(studies: list[str]) -> None:
    if studies:
        print(f"stale studies: {', '.join(studies)}; otb apparatus run, otb mart build and this again", file=sys.stderr)


def _stop(code: int, words: str) -> NoReturn:
    print(words, file=sys.stderr)
    raise typer.Exit(code)
