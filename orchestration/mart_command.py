"""`otb mart`: build the mart from what the store holds, and say whether it is current.

What belongs here: arguments, tables, exit statuses. What does not: raw tables (`resources.warehouse_tables`), the build
and the swap (`resources.warehouse`). The same functions run as Dagster assets; Dagster itself is loaded only where
DAGSTER_HOME names an instance that is to show what was built.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.journal import JournalError
from opentwbench.evaluation.mart import DATABASE, MartError, Swapped
from opentwbench.evaluation.warehouse import WarehouseError
from orchestration.in_process import recorded_instance
from orchestration.mart_record import record_mart
from orchestration.options import StoreFolderOption, WarehouseOption
from resources.store import Store, StoreError
from resources.warehouse import MartBuildError, Warehouse, prepare_manifest, warehouse_of
from resources.warehouse_tables import Places, grade_run, ungraded_runs, write_tables

USAGE, STALE, FAILED = 2, 3, 4

STATUSES = (
    "Exit status: 0 done, or current; 1 a fault of the program; 2 wrong arguments, or a store that cannot be read; "
    "3 the mart is stale or missing; 4 the mart was not built: the old one is still in place."
)

app = typer.Typer(help="Build the mart that analysts open, or look at it.", no_args_is_help=True)

JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]


@app.command(epilog=STATUSES)
def build(
    store: StoreFolderOption = "store",
    warehouse: WarehouseOption = "",
    docs: Annotated[bool, typer.Option("--docs", help="Also draw dbt's pages: docs/index.html beside it.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Grade what is new, write the raw tables, build and test the mart aside, and swap it in. Asks no model.

    Analysts who have the old mart open keep it. A failing test leaves the old mart in place.
    """
    started = time.monotonic()
    try:
        places, house = _open(store, warehouse)
        house.prepare()
        graded = [grade_run(places, house, places.runs / run_id) for run_id in ungraded_runs(places, house)]
        written = write_tables(places, house)
        swapped = house.build(docs=docs)
    except MartBuildError as error:
        _stop(FAILED, f"the mart was not built, the old one stays: {error}")
    except (StoreError, DatasetError, JournalError, WarehouseError, MartError) as error:
        _stop(USAGE, str(error))
    record_mart(recorded_instance(), {name: each.rows for name, each in written.items()}, swapped)
    report: dict[str, Any] = {
        "graded_runs": len(graded),
        "ungraded_responses": sum(each.ungraded for each in graded),
        "raw_rows": {name: each.rows for name, each in written.items()},
        "tables": dict(swapped.tables),
        "database": str(house.folder / DATABASE),
        "database_bytes": swapped.database_bytes,
        "export_bytes": swapped.export_bytes,
        "seconds": round(time.monotonic() - started, 1),
    }
    if as_json:
        print(json.dumps(report, ensure_ascii=False))
    else:
        _print(report, swapped)


@app.command(epilog=STATUSES)
def status(store: StoreFolderOption = "store", warehouse: WarehouseOption = "", as_json: JsonOption = False) -> None:
    """Say whether the mart is what its sources would make now, and name what changed since."""
    try:
        places, house = _open(store, warehouse)
        waiting = ungraded_runs(places, house)
    except (StoreError, DatasetError, JournalError, WarehouseError) as error:
        _stop(USAGE, str(error))
    found = house.standing()
    if as_json:
        about = {"exists": found.exists, "changed": list(found.changed), "ungraded_runs": waiting}
        print(json.dumps({"current": found.is_current and not waiting, **about}))
    else:
        print(found.words())
        for run_id in waiting:
            print(f"not graded by the published keys: {run_id}")
    raise typer.Exit(0 if found.is_current and not waiting else STALE)


@app.command(epilog=STATUSES)
def prepare() -> None:
    """Make the manifest from which Dagster knows the models; `make setup` does it. Needs no network."""
    try:
        prepare_manifest()
    except MartBuildError as error:
        _stop(FAILED, str(error))


def _open(store: str, warehouse: str) -> tuple[Places, Warehouse]:
    place = Store(store)
    return Places(place), warehouse_of(place, warehouse)


def _print(report: dict[str, Any], swapped: Swapped) -> None:
    table = Table(title="mart", title_justify="left")
    table.add_column("table")
    table.add_column("rows", justify="right")
    for name, rows in swapped.tables.items():
        table.add_row(name, f"{rows:,}")
    console = Console()
    console.print(table)
    console.print(
        f"{report['database']}: {swapped.database_bytes / 1e6:.1f} MB, Parquet {swapped.export_bytes / 1e6:.1f} MB; "
        f"{report['graded_runs']} runs graded; {report['seconds']} s",
        highlight=False,
        soft_wrap=True,
    )


def _stop(code: int, words: str) -> NoReturn:
    print(words, file=sys.stderr)
    raise typer.Exit(code)
