"""`otb build index-history`: every version of the index that a store has seen, and what changed between any two.

What belongs here: arguments, tables, exit statuses. What does not: comparing (`opentwbench.exam.index`) and keeping
versions (`resources.index_versions`).
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from orchestration.options import StoreOption

if TYPE_CHECKING:
    from opentwbench.exam.index import RowChange
    from resources.index_versions import IndexVersion

USAGE, NOTHING = 2, 3

STATUSES = (
    "Exit status: 0 done; 1 a fault of the program; 2 wrong arguments; 3 no such version, or no index was seen yet."
)

DEFAULT_SHOWN = 50
"""Changed rows in the table; --json has all of them."""


def index_history(
    store: StoreOption = "store",
    old: Annotated[
        str,
        typer.Option("--from", help="A version: its number, -1 for the last, or digits of its hash."),
    ] = "",
    new: Annotated[str, typer.Option("--to", help="The version to compare with; default the last.")] = "",
    rows: Annotated[int, typer.Option(min=0, help="Changed rows to print.")] = DEFAULT_SHOWN,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Every version of the index that was seen and how each differs from the one before; --from: any two compared."""
    from opentwbench.exam.index import IndexFormatError
    from resources.index_versions import difference, find_version, history
    from resources.store import Store, StoreError, StoreUnusableError

    if new and not old:
        _stop(USAGE, "--to needs --from")
    try:
        place = Store(store)
        versions = history(place)
        if not versions:
            _stop(NOTHING, f"{store}: no index was seen yet (otb build exam --store {store})")
        pair = (find_version(versions, old), find_version(versions, new or "-1")) if old else None
        changes = difference(place, pair[0].sha256, pair[1].sha256) if pair else versions[-1].changes
    except StoreUnusableError as error:
        _stop(USAGE, str(error))
    except (StoreError, IndexFormatError) as error:
        _stop(NOTHING, str(error))
    if as_json:
        print(json.dumps(_as_json(versions, pair, changes), ensure_ascii=False))
    else:
        _show(Console(), versions, pair, changes, rows)


def _as_json(
    versions: list[IndexVersion], pair: tuple[IndexVersion, IndexVersion] | None, changes: tuple[RowChange, ...]
) -> dict[str, object]:
    if pair is None:
        return {"versions": [version.to_json() for version in versions]}
    named = {"from": pair[0].sha256, "to": pair[1].sha256}
    return {**named, "changes": [change._asdict() for change in changes]}


def _show(
    console: Console,
    versions: list[IndexVersion],
    pair: tuple[IndexVersion, IndexVersion] | None,
    changes: tuple[RowChange, ...],
    shown: int,
) -> None:
    if pair is None:
        console.print(_versions(versions))
    title = f"{pair[0].sha256[:12]} → {pair[1].sha256[:12]}" if pair else "the last version against the one before"
    if not changes:
        console.print(f"{title}: no row differs")
        return
    table = Table("change", "paper", "year", "subject", "detail", title=title, title_justify="left")
    for change in changes[:shown]:
        cells = (change.change, change.paper_id, change.year_roc or "", change.subject_name, change.detail[:300])
        table.add_row(*(escape(str(cell)) for cell in cells))
    console.print(table)
    if len(changes) > shown:
        console.print(f"{len(changes) - shown} more changed rows (--rows, --json)")


def _versions(versions: list[IndexVersion]) -> Table:
    title = "the index as seen"
    table = Table(title=title)
    for column in ("", "version", "first seen (UTC)", "rows", "keyed", "refused", "since the one before"):
        table.add_column(column, overflow="fold")  # the time of a version is whole in a narrow terminal
    for number, version in enumerate(versions, start=1):
        figures = (version.rows, version.keyed_rows, version.refused_rows)
        seen = version.seen or "before the history"
        table.add_row(str(number), version.sha256[:12], seen, *map(str, figures), _since(number, version))
    return table


def _since(number: int, version: IndexVersion) -> str:
    kinds = Counter(change.change for change in version.changes)
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or ("first" if number == 1 else "no row")


def _stop(status: int, message: str) -> NoReturn:
    Console(stderr=True).print(f"[red]{escape(message)}[/]", highlight=False)
    raise typer.Exit(status)
