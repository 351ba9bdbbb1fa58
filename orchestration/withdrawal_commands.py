"""`otb subject proposals`, `withdraw` and `exclude`: items that a person should look at, and what he decided.

What belongs here: arguments, tables, exit statuses. What does not: signs of dependence (`opentwbench.exam.dependence`)
and the lists of withdrawn and excluded items (`opentwbench.dataset.withdrawal`; both have one form).
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date as calendar_date
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from opentwbench.dataset.model import DatasetError, Withdrawal
from opentwbench.dataset.withdrawal import WithdrawalReason, record_withdrawal
from opentwbench.exam.dependence import Proposal, proposals
from opentwbench.exam.items import PUBLISHED, ItemLineError, PrintedItem, from_line
from opentwbench.exam.subjects import REGISTRY
from orchestration.options import StoreOption
from resources.store import Store, StoreError

USAGE, NOTHING = 2, 3

STATUSES = (
    "Exit status: 0 done; 1 a fault of the program; 2 wrong arguments or a list that cannot be read; 3 not built."
)


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(name="proposals", epilog=STATUSES)(propose)
    app.command(epilog=STATUSES)(withdraw)
    app.command(epilog=STATUSES)(exclude)


def propose(
    slug: Annotated[str | None, typer.Argument(help="The subject's slug.", show_default=False)] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every subject that the store has items of.")] = False,
    store: StoreOption = "store",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a proposal.")] = False,
) -> None:
    """Published items whose stem seems to need a figure, a passage or an earlier question that it does not name.

    Nothing is taken out: look at each (otb paper show), then withdraw it or leave it.
    """
    if (slug is None) is not everything:
        _stop(USAGE, "give either SLUG or --all")
    place = _open(store, slug)
    built = [each for each in REGISTRY if place.exists(place.items(each))]
    chosen = built if slug is None else [slug] if slug in built else []
    if not chosen:
        _stop(NOTHING, f"{store} has no items{f' of {slug}' if slug else ''}: otb build exam makes them")
    found = [proposal for each in chosen for proposal in proposals(_items(place, each))]
    if as_json:
        for proposal in found:
            print(json.dumps(proposal.to_json(), ensure_ascii=False))
    else:
        _show(found, len(chosen), Console())


ItemArgument = Annotated[str, typer.Argument(help="Id of an item that the data set holds.")]
EvidenceOption = Annotated[str, typer.Option(help="What was seen and where, in one line; no text of the item.")]
DateOption = Annotated[str, typer.Option(help="Day of the decision, YYYY-MM-DD. Default: today.", show_default=False)]


def withdraw(
    item_id: ItemArgument,
    reason: Annotated[WithdrawalReason, typer.Option(help="Why it leaves the scored set.")],
    evidence: EvidenceOption,
    withdrawn: Annotated[Path, typer.Option(help="The list that otb build exam gets as --withdrawn.")],
    date: DateOption = "",
    store: StoreOption = "store",
) -> None:
    """Take one item out of the scored set: it stays published. The next build makes a new version of its data set."""
    slug = _record(item_id, Withdrawal(item_id, reason.value, date, evidence), withdrawn, store)
    again = f"otb build exam --store {store} --withdrawn {withdrawn} (and the --source as before)"
    typer.echo(f"{item_id} leaves the scored set of {slug} with the next build: {again}")


def exclude(
    item_id: ItemArgument,
    reason: Annotated[WithdrawalReason, typer.Option(help="Why it must not be published.")],
    evidence: EvidenceOption,
    maintainer: Annotated[Path, typer.Option(help="The list that otb build exam gets as --maintainer.")],
    date: DateOption = "",
    store: StoreOption = "store",
) -> None:
    """Take one item out of its data set: the next build publishes it no more and counts it as maintainer_excluded."""
    slug = _record(item_id, Withdrawal(item_id, reason.value, date, evidence), maintainer, store)
    again = f"otb build exam --store {store} --maintainer {maintainer} (and the --source as before)"
    typer.echo(f"{item_id} leaves {slug} with the next build: {again}")


def _record(item_id: str, decided: Withdrawal, listed: Path, store: str) -> str:
    """Write a decision down, dated today unless it has a day; the slug of its subject. Stops for what cannot be."""
    slug = next((s for s, subject in REGISTRY.items() if subject.key == item_id.rpartition("-")[0]), None)
    if slug is None:
        _stop(USAGE, f"{plain(item_id)}: no subject has such ids")
    place = _open(store, slug)
    if not place.exists(place.items(slug)):
        _stop(NOTHING, f"{store} has no items of {slug}: otb build exam makes them")
    items = _items(place, slug)
    buckets = sorted({item.bucket for item in items if item.item_id == item_id})
    if buckets and PUBLISHED not in buckets:
        _stop(USAGE, f"{item_id} is not published but {', '.join(buckets)}: there is nothing to withdraw or exclude")
    try:
        record_withdrawal(listed, dated(decided), {item.item_id for item in items if item.bucket == PUBLISHED})
    except (DatasetError, OSError) as error:
        _stop(USAGE, plain(str(error)))
    return slug


def dated(decided: Withdrawal) -> Withdrawal:
    """A decision with today as its day unless it names one.

    Raises DatasetError for a day that is still to come, and for evidence that is not one line.
    """
    today = calendar_date.today().isoformat()
    if decided.date[:1].isdigit() and decided.date > today:
        raise DatasetError(f"--date {decided.date}: the day is still to come")
    if len(decided.evidence.splitlines()) != 1:
        raise DatasetError("--evidence: one line, please")
    return replace(decided, date=decided.date or today)


def _open(store: str, slug: str | None) -> Store:
    if slug is not None and slug not in REGISTRY:
        _stop(USAGE, f"no subject {slug!r} in the registry")
    try:
        return Store(store)
    except StoreError as error:
        _stop(USAGE, str(error))


def _items(store: Store, slug: str) -> list[PrintedItem]:
    try:
        return [from_line(line) for line in store.lines(store.items(slug))]
    except (StoreError, ItemLineError) as error:
        _stop(NOTHING, f"{slug}: {plain(str(error))}")


def _show(found: list[Proposal], subjects: int, console: Console) -> None:
    table = Table(title="proposed for a look", title_justify="left")
    for column in ("item", "paper", "question", "score", "signs"):
        # The id is what withdraw asks for: it is whole, and on one line, however narrow the terminal is.
        table.add_column(column, no_wrap=column == "item", overflow="fold")
    for each in found:
        seen = "; ".join(f"{e.sign.value}: {plain(e.words)} ({e.place})" for e in each.evidence)
        table.add_row(each.item_id, each.paper_id, str(each.q_no), f"{each.score:.2f}", escape(seen))
    if found:
        console.print(table)
    console.print(f"{len(found)} proposals in {subjects} subjects", highlight=False)


def plain(text: str) -> str:
    """Text from outside without control characters: it must not steer the terminal."""
    return "".join(char if char.isprintable() else " " for char in text)


def _stop(status: int, message: str) -> NoReturn:
    typer.echo(f"otb subject: {message}", err=True)
    raise typer.Exit(status)
