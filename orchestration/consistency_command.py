"""`otb study consistency` and `otb study attribute`: do reprints have the same official answer, and why not.

What belongs here: arguments, tables, the page as a file, exit statuses. What does not: figures (`opentwbench.exam`).
"""

from __future__ import annotations

import json
from datetime import date as calendar_date
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from opentwbench.dataset.atomic import write_file
from opentwbench.dataset.contract import excerpt
from opentwbench.exam.items import ItemLineError
from opentwbench.exam.key_consistency import (
    OPEN,
    STALE,
    Attribution,
    AttributionError,
    Conflict,
    Consistency,
    Kind,
    figure_rows,
    page,
)
from orchestration.options import StoreOption

USAGE, TO_SETTLE = 2, 3

SHOWN = 50
"""Disagreements in the table; --json has all."""

MIN_ID = 8
"""Hex digits of a group id that a person has to type at least."""

STATUSES = (
    "Exit status: 0 no disagreement, or every one is attributed as it stands; 2 wrong arguments or no such store; "
    "3 a disagreement is open, or its copies changed since it was attributed."
)

FileOption = Annotated[
    Path | None,
    typer.Option(help="File of attributions. Default: the one kept in the store.", show_default=False),
]


def consistency(
    store: StoreOption = "store",
    attributions: FileOption = None,
    page_file: Annotated[
        Path | None, typer.Option("--page", help="Write the report as Markdown here: no text of a paper.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Everything as one JSON object on standard output, texts included.")
    ] = False,
    strict: Annotated[bool, typer.Option(help="Exit 3 also for a difference that is attributed.")] = False,
) -> None:
    """Compare the official keys of every question that was printed more than once, by answer text.

    Every disagreement is shown with its papers and the words that differ; `otb study attribute` records what a person
    found it to be.
    """
    if attributions and not attributions.is_file():
        _refuse(f"--attributions {attributions}: no such file")
    found = _read(store, attributions)
    if page_file:
        named = f" --attributions {attributions}" if attributions else ""
        write_file(page_file, page(found, f"otb study consistency --store STORE{named} --page {page_file}").encode())
    if as_json:
        print(json.dumps(found.to_json(texts=True), ensure_ascii=False))
    else:
        show(found, Console())
    bad = not found.settled or (strict and bool(found.conflicts))
    raise typer.Exit(TO_SETTLE if bad else 0)


def attribute(
    group: Annotated[str, typer.Argument(help="Group id of a disagreement, or its first digits.")],
    kind: Annotated[Kind, typer.Argument(help="What it was found to be.")],
    note: Annotated[str, typer.Option(help="What was seen, in one line; no text of the question.")],
    store: StoreOption = "store",
    attributions: FileOption = None,
    who: Annotated[str, typer.Option(help="Who looked at it.")] = "",
    date: Annotated[str, typer.Option(help="Day of the finding, YYYY-MM-DD. Default: today.", show_default=False)] = "",
) -> None:
    """Record what a disagreement is: one line is added, an earlier finding on the same group stays in the file.

    The finding holds for the copies that there are now. When one is added or changes, the disagreement is to be looked
    at again.

    Exit status: 0 recorded; 2 wrong arguments, or no such disagreement.
    """
    from resources.key_attributions import keep
    from resources.store import Store

    chosen = _chosen(_read(store, attributions), group)
    try:
        if date[:1].isdigit() and date > calendar_date.today().isoformat():
            _refuse(f"--date {excerpt(date)}: the day is still to come")
        found = Attribution(chosen.group, chosen.copies, kind, note, date or calendar_date.today().isoformat(), who)
        keep(Store(store), attributions, found)
    except (AttributionError, ValueError) as error:
        _refuse(str(error))
    typer.echo(f"{chosen.group[:16]} is recorded as {kind.value} over {len(chosen.printings)} copies")


def _read(store: str, attributions: Path | None) -> Consistency:
    from resources.key_attributions import attributions_of, key_consistency
    from resources.store import Store, StoreError

    try:
        place = Store(store)
        if not place.slugs("items"):
            _refuse(f"{store}: no items there; build them first (otb build exam)")
        known = attributions_of(attributions) if attributions else None
        console = Console(stderr=True)
        columns = (SpinnerColumn(), TextColumn("{task.completed:,} printed questions read"), TimeElapsedColumn())
        with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
            task = bar.add_task("", total=None)
            return key_consistency(place, known, lambda read: bar.update(task, completed=read))
    except (StoreError, AttributionError, ItemLineError, OSError) as error:
        _refuse(str(error))


def _chosen(found: Consistency, group: str) -> Conflict:
    if len(group) < MIN_ID:
        _refuse(f"{excerpt(group)}: give at least {MIN_ID} digits of the group id")
    fitting = [each for each in found.conflicts if each.group.startswith(group)]
    if len(fitting) != 1:
        words = f"{len(fitting)} disagreements begin so" if fitting else "no disagreement has this group id"
        _refuse(f"{excerpt(group)}: {words}")
    return fitting[0]


def _refuse(words: str) -> NoReturn:
    typer.echo(f"otb study: {words}", err=True)
    raise typer.Exit(USAGE)


# ---- the report -----------------------------------------------------------------------------------------------------


def show(found: Consistency, console: Console) -> None:
    """Print the figures, and every disagreement with its papers and words."""
    figures = Table("", "figure", title="key consistency", title_justify="left")
    for name, words in figure_rows(found):
        figures.add_row(name, words)
    console.print(figures)
    for each in found.conflicts[:SHOWN]:
        console.print(_conflict(each))
    if len(found.conflicts) > SHOWN:
        console.print(f"{len(found.conflicts) - SHOWN:,} more disagreements: --json lists them all")
    for name, count in found.counts().items():
        if count:
            style = "red" if name in (OPEN, STALE) else "default"
            console.print(f"[{style}]{count:,} {name}[/]", highlight=False)
    if found.unknown_attributions:
        console.print(f"{len(found.unknown_attributions):,} attributions of groups that no longer disagree")


def _conflict(each: Conflict) -> Table:
    said = each.attribution
    words = f"{each.standing}: {said.kind.value}, {said.note}" if said else each.standing
    question = excerpt(each.printings[0].question, 80)
    table = Table(title=f"{each.group[:16]} {escape(excerpt(words, 200))}\n{escape(question)}", title_justify="left")
    for column in ("subject", "paper", "question", "page", "key", "answer"):
        table.add_column(column, overflow="fold")
    for p in each.printings:
        cells = (p.scope, p.paper_id, str(p.q_no), str(p.page), p.letter, excerpt(p.answer, 80))
        table.add_row(*(escape(cell) for cell in cells))
    return table
