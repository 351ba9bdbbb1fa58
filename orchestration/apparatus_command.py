"""`otb apparatus`: conduct the studies of the measurement apparatus over what a store holds, and look at one.

What belongs here: arguments, tables, exit statuses. What does not: the studies (opentwbench.apparatus) and their files
(resources.apparatus). No model is asked: a study without the responses it needs says what is missing.
"""

from __future__ import annotations

import json
import sys
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from opentwbench.apparatus.result import Study, StudyError, spoken, to_json
from opentwbench.apparatus.studies import STUDIES
from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.journal import JournalError
from opentwbench.evaluation.warehouse import WarehouseError
from orchestration.options import StoreFolderOption, WarehouseOption
from resources.apparatus import Apparatus, kept
from resources.store import Store, StoreError
from resources.warehouse import warehouse_of

USAGE, MISSING, STALE = 2, 3, 4

STATUSES = (
    "Exit status: 0 done; 1 a fault of the program; 2 wrong arguments, or a store that cannot be read; "
    "3 a study lacks its input, or was never conducted; 4 (show) responses, keys or code changed since."
)

app = typer.Typer(help="Conduct the apparatus studies over stored responses, or look at one.", no_args_is_help=True)

JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]

MAX_SHOWN = 40
"""Rows of a table on the terminal; --json has them all."""

WIDTH = 1_000
"""Columns of output that goes to a file or a pipe, where nothing has a width: more than any table of a study takes."""


@app.command(epilog=STATUSES)
def run(
    studies: Annotated[list[str] | None, typer.Argument(help="By name. Default: all.", show_default=False)] = None,
    store: StoreFolderOption = "store",
    warehouse: WarehouseOption = "",
    as_json: JsonOption = False,
) -> None:
    """Conduct studies over the raw tables and stored responses, and keep their results for the mart.

    The raw tables are those that the last otb mart build wrote. Build the mart again afterwards, so that it holds them.
    """
    if unknown := sorted(set(studies or ()) - STUDIES.keys()):
        _stop(USAGE, f"no study {excerpt(unknown[0])}; there are {', '.join(STUDIES)}")
    try:
        found = _open(store, warehouse).run(studies or STUDIES)
    except (StoreError, DatasetError, JournalError, WarehouseError, StudyError) as error:
        _stop(USAGE, str(error))
    if as_json:
        short = {each.study_id: {"n": each.n, "finding": each.finding.en} for each in found}
        print(json.dumps(short, ensure_ascii=False))
    else:
        _list(found)
    raise typer.Exit(MISSING if any(each.n == 0 for each in found) else 0)


@app.command(epilog=STATUSES)
def show(
    study: Annotated[str, typer.Argument(help="Name of the study.", show_default=False)],
    store: StoreFolderOption = "store",
    warehouse: WarehouseOption = "",
    as_json: JsonOption = False,
) -> None:
    """Print the kept result of one study, and say when responses or code changed since."""
    if study not in STUDIES:
        _stop(USAGE, f"no study {excerpt(study)}; there are {', '.join(STUDIES)}")
    try:
        apparatus = _open(store, warehouse)
        found = kept(apparatus.store, study)
        is_current = found is not None and found.made_from == apparatus.made_from()
    except (StoreError, DatasetError, WarehouseError, StudyError) as error:
        _stop(USAGE, str(error))
    if found is None:
        _stop(MISSING, f"{study} was never conducted in this store: otb apparatus run {study}")
    if as_json:
        print(json.dumps({"current": is_current, **to_json(found.study)}, ensure_ascii=False))
    else:
        _print(found.study)
        if not is_current:
            print("stale: responses, keys or code changed since; otb apparatus run conducts it again")
    raise typer.Exit(STALE if not is_current else MISSING if found.study.n == 0 else 0)


def _open(store: str, warehouse: str) -> Apparatus:
    place = Store(store)
    raw = warehouse_of(place, warehouse).raw
    if not raw.is_dir():
        raise StoreError(f"{store}: no raw tables yet: otb mart build writes them")
    return Apparatus(place, raw)


def _list(found: list[Study]) -> None:
    table = Table(title="apparatus studies", title_justify="left")
    for name in ("study", "n", "finding"):
        table.add_column(name, justify="right" if name == "n" else "left", overflow="fold")  # no word is cut
    for each in found:
        table.add_row(each.study_id, f"{each.n:,}" if each.n else "", escape(f"{each.finding.zh}\n{each.finding.en}"))
    Console().print(table)


def _print(study: Study) -> None:
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH)
    console.print(f"{study.title.zh} · {study.title.en}", style="bold", markup=False)
    for text in (study.labelled, study.question, study.method, study.finding):
        if text.en:
            console.print(f"{text.zh}\n{text.en}\n", markup=False, highlight=False)
    for each in study.tables:
        table = Table(title=escape(f"{each.name.zh} · {each.name.en}"), title_justify="left")
        for column in each.columns:
            unit = f" ({column.unit})" if column.unit else ""
            place = each.columns.index(column)
            figures = all(isinstance(row[place], int | float | None) for row in each.rows)
            # A name may fold where there is no room; half a figure would be another figure.
            table.add_column(escape(f"{column.label.en}{unit}"), no_wrap=figures, overflow="fold")
        for row in each.rows[:MAX_SHOWN]:
            table.add_row(*(escape(_shown(cell)) for cell in row))
        console.print(table)
        if len(each.rows) > MAX_SHOWN:
            console.print(f"{len(each.rows) - MAX_SHOWN} more rows: --json", markup=False)


def _shown(cell: object) -> str:
    return "" if cell is None else excerpt(spoken(cell, "en")) if isinstance(cell, str) else f"{cell:,}"


def _stop(status: int, message: str) -> NoReturn:
    print(f"otb apparatus: {message}", file=sys.stderr)
    raise typer.Exit(status)
