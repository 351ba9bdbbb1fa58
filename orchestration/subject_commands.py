"""`otb subject`: look at one subject, and export its data set for a harness.

Exit statuses: 0 done, 1 a fault of ours, 2 wrong arguments, 3 nothing to show or export (not built, no source).
"""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from opentwbench.dataset.export import export_for_twinkle
from opentwbench.dataset.model import DatasetError
from opentwbench.dataset.validators import BLOCKING_CHECKS
from opentwbench.exam.accounting import Accounting
from opentwbench.exam.items import PUBLISHED
from opentwbench.exam.subjects import REGISTRY
from orchestration.options import StoreOption
from resources import exam_products as products
from resources.connections import ListPaths
from resources.gated_set import stored_verdicts
from resources.store import Store, StoreError

USAGE, NOTHING = 2, 3

STATUSES = "Exit status: 0 done; 1 a fault of the program; 2 wrong arguments; 3 nothing to show or export."

app = typer.Typer(help="Look at one subject, or export its data set.", no_args_is_help=True)

Slug = Annotated[str, typer.Argument(help="The subject's slug, e.g. tw-roc-constitution-bench.")]


class Harness(StrEnum):
    """Harnesses that an export can be made for."""

    TWINKLE = "twinkle"


@app.command(epilog=STATUSES)
def show(
    slug: Slug,
    store: StoreOption = "store",
    items: Annotated[int, typer.Option(min=0, help="How many published items to print.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object with every item of the subject.")] = False,
) -> None:
    """Items, accounts, checks and version of a subject."""
    place = _open(slug, store)
    try:
        found = _subject(place, slug)
    except StoreError as error:
        _stop(NOTHING, str(error))
    if as_json:
        print(json.dumps(found, ensure_ascii=False))
    else:
        _print(found, items, Console())


@app.command(epilog=STATUSES)
def export(
    slug: Slug,
    out: Annotated[Path, typer.Option(help="Directory to write; it will hold the export alone.")],
    harness: Annotated[Harness, typer.Option("--for", help="The harness.")] = Harness.TWINKLE,
    store: StoreOption = "store",
    include_withdrawn: Annotated[bool, typer.Option(help="Also export items withdrawn from the scored set.")] = False,
) -> None:
    """Write the published data set in the form that a harness scores. What was not published is not exported."""
    place = _open(slug, store)
    if not place.exists(place.publication(slug)):
        _stop(
            NOTHING,
            f"{slug} is not published in {store}: otb build exam --store {store} --subject {slug} says why",
        )
    try:
        with place.folder(place.publication(slug)) as folder:
            exported = export_for_twinkle(folder, out, include_withdrawn=include_withdrawn)
    except DatasetError as error:
        _stop(USAGE, str(error))
    left = f", {exported.withdrawn_left_out} withdrawn left out" if exported.withdrawn_left_out else ""
    print(f"{exported.path}: {exported.items} items of version {exported.version}{left} (for {harness.value})")


def _open(slug: str, store: str) -> Store:
    if slug not in REGISTRY:
        _stop(USAGE, f"no subject {slug!r} in the registry")
    try:
        return Store(store)
    except StoreError as error:
        _stop(USAGE, str(error))


def _subject(store: Store, slug: str) -> dict[str, Any]:
    """Everything that the store has of a subject; raises StoreError when its items were never made."""
    subject, record = REGISTRY[slug], store.read_json(store.accounting(slug))
    state = products.subject_state(store, store, slug, ListPaths().kept_in(store).withdrawals())
    checks = (*BLOCKING_CHECKS, products.PUBLISHED_ITEMS_STAY)
    verdicts = {verdict.check: verdict for verdict in stored_verdicts(store, slug, checks)}
    return {
        "slug": slug,
        "name_zh": subject.name_zh,
        "name_en": subject.name_en,
        "state": state.state,
        "version": state.version,
        "accounting": [list(line) for line in Accounting.from_json(record["accounting"]).table()],
        "keys": record["keys"],
        "checks": {check: verdicts[check].to_json() if check in verdicts else None for check in checks},
        "items": [json.loads(line) for line in store.lines(store.items(slug))],
    }


def _print(found: dict[str, Any], limit: int, console: Console) -> None:
    console.print(f"[bold]{escape(found['name_zh'])}[/] {escape(found['name_en'])} ({found['slug']})")
    console.print(f"{found['state']}" + (f", version {found['version']}" if found["version"] else ""))
    accounts = Table(title="accounts", title_justify="left")
    for column in ("", "count"):
        accounts.add_column(column)
    for name, count in found["accounting"]:
        if count:
            accounts.add_row(name, str(count))
    console.print(accounts)
    checks = Table(title="checks", title_justify="left")
    for column in ("check", "verdict", "detail"):
        checks.add_column(column, overflow="fold")
    for name, verdict in found["checks"].items():
        checks.add_row(name, _word(verdict), escape(verdict["detail"]) if verdict else "")
    console.print(checks)
    for item in [item for item in found["items"] if item["bucket"] == PUBLISHED][:limit]:
        console.print(f"\n{item['item_id']} ({item['paper_id']} question {item['q_no']})", style="dim", highlight=False)
        console.print(escape(item["question"]), highlight=False)
        for letter, text in item["options"].items():
            mark = "[green]✓[/]" if letter == item["key"] else " "
            console.print(f" {mark} {letter}. {escape(text)}", highlight=False)


def _word(verdict: dict[str, Any] | None) -> str:
    if verdict is None:
        return "not run"
    return "warned" if verdict["warned"] else "passed" if verdict["passed"] else "[red]FAILED[/]"


def _stop(status: int, message: str) -> NoReturn:
    Console(stderr=True).print(f"[red]{escape(message)}[/]", highlight=False)
    raise typer.Exit(status)
