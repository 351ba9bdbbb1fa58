"""`otb sample`: draw an edition of the stratified sample once, look at it against the data sets of today.

What belongs here: arguments, files, tables, exit statuses. What does not: the draw (`opentwbench.evaluation.sample`).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.manifest import read_manifest
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.items import ItemFile, ItemSet, Roster, item_file, read_items
from opentwbench.evaluation.journal import RUN_ID, JournalError, read_protocol, read_run
from opentwbench.evaluation.model import AskedItem
from opentwbench.evaluation.runs import score
from opentwbench.evaluation.sample import (
    PER_SUBJECT,
    Edition,
    SampleError,
    Standing,
    anchor,
    draw,
    drawn_by_subject,
    read_edition,
    standing,
)
from opentwbench.evaluation.sample import write_edition as write
from orchestration.local_store import published_folders, runs_folder
from orchestration.options import StoreFolderOption
from resources.store import StoreError

USAGE, NOTHING = 2, 3

STATUSES = (
    "Exit status: 0 done; 1 a fault of the program; 2 wrong arguments, or an edition that stands already; "
    "3 no items, or no edition."
)

app = typer.Typer(help="Draw the stratified sample, or look at an edition of it.", no_args_is_help=True)

ItemsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--items", help="Data-set folder; may be given several times. Default: what is published.", show_default=False
    ),
]


@app.command(name="draw", epilog=STATUSES)
def draw_edition(
    name: Annotated[str, typer.Argument(help="Name of the edition, e.g. 2026-11.")],
    out: Annotated[Path, typer.Option(help="File of the edition (JSON).", show_default=False)],
    store: StoreFolderOption = "store",
    items: ItemsOption = None,
    per_subject: Annotated[int, typer.Option(min=1, help="Most items a subject.")] = PER_SUBJECT,
    scored: Annotated[bool, typer.Option("--scored", help="Leave out what is withdrawn already.")] = False,
) -> None:
    """Draw a new edition over the published items of every subject.

    Withdrawn items are drawn too, unless --scored says otherwise: then no withdrawal ever changes a draw, and what is
    withdrawn leaves the scores. An edition is frozen: drawing again under its name changes nothing, or is refused when
    another draw would come out.
    """
    try:
        files = _files(store, items)
        edition = draw(_pool(files, scored=scored), name, {file.subject: file.version for file in files}, per_subject)
        new = write(edition, out)
    except (DatasetError, StoreError) as error:
        _stop(NOTHING, str(error))
    except SampleError as error:
        _stop(USAGE, str(error))
    state = "drawn" if new else "stands already, unchanged"
    print(f"{edition.name}: {len(edition):,} items of {len(edition.subjects)} subjects, {edition.digest}, {state}")


@app.command(epilog=STATUSES)
def show(
    edition: Annotated[Path, typer.Argument(help="File of the edition.")],
    store: StoreFolderOption = "store",
    items: ItemsOption = None,
    ids: Annotated[bool, typer.Option("--ids", help="Print the scored ids, one a line, for otb evaluate.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The figures as one JSON object.")] = False,
) -> None:
    """What of an edition is scored today: withdrawn and lost items leave, no other takes their place."""
    try:
        found = read_edition(edition)
        now = standing_of(found, _files(store, items))
    except (DatasetError, StoreError, SampleError) as error:
        _stop(NOTHING, str(error))
    if ids:
        sys.stdout.writelines(f"{item_id}\n" for item_id in now.scored)
    elif as_json:
        print(json.dumps(_figures(found, now), ensure_ascii=False))
    else:
        table = Table(title=f"sample {found.name}", title_justify="left", show_header=False)
        for name, value in _figures(found, now).items():
            table.add_row(name.replace("_", " "), f"{value:,}" if isinstance(value, int) else str(value))
        Console().print(table)


@app.command(name="anchor", epilog=STATUSES)
def place_anchor(
    edition: Annotated[Path, typer.Argument(help="File of the edition.")],
    run: Annotated[str, typer.Argument(help="Id of a run over the full data sets.")],
    store: StoreFolderOption = "store",
    items: ItemsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="The figures as one JSON object.")] = False,
) -> None:
    """Place a full run on the sample's scale: its accuracies by subject, weighted by what the sample draws of each.

    An estimate on that scale, not a measurement taken on it.
    """
    folder = runs_folder(store) / run
    if not re.fullmatch(RUN_ID, run) or not (folder / "run.json").is_file():
        _stop(USAGE, f"no run {excerpt(run)} in {folder.parent}")
    try:
        files, frozen = _files(store, items), read_edition(edition)
        now = standing_of(frozen, files)
        method = read_protocol(folder).extraction
        summary = score(folder, Roster(ItemSet(tuple(files), read_run(folder).item_set)))
        full = {subject: cell.correct for subject, cell in summary.methods[method].by_subject.items()}
        found = anchor(full, drawn_by_subject(frozen, now.scored))
    except (DatasetError, StoreError, SampleError, JournalError, KeyError) as error:
        _stop(NOTHING, str(error))
    figures = {
        "method": method,
        "population": found.population,
        "on_sample": found.on_sample,
        "low": found.interval.low,
        "high": found.interval.high,
        "shift": found.shift,
        "subjects": found.subjects,
        "complete": summary.complete,
    }
    if as_json:
        print(json.dumps(figures))
    else:
        whole = (
            "" if summary.complete else f"; {summary.items_asked:,} of {summary.items_expected:,} items are answered"
        )
        print(f"{method}: {found.population:.2%} over everything answered, {found.on_sample:.2%} on the sample's scale")
        print(f"95 % {found.interval.shown()}, shift {100 * found.shift:+.2f} points, {found.subjects} subjects{whole}")


def _files(store: str, items: list[Path] | None) -> list[ItemFile]:
    return [item_file(path) for path in items or published_folders(store)]


def _pool(files: list[ItemFile], *, scored: bool) -> Iterator[AskedItem]:
    for file in files:
        left_out = file.withdrawn if scored else frozenset()
        yield from (item for item in read_items(file.path, file.subject) if item.item_id not in left_out)


def standing_of(edition: Edition, files: Sequence[ItemFile]) -> Standing:
    """What of an edition is scored with these data sets; corrected texts are followed through their aliases."""
    published = [item.item_id for file in files for item in read_items(file.path, file.subject)]
    withdrawn = [item_id for file in files for item_id in file.withdrawn]
    aliases: dict[str, str] = {}
    for file in files:
        if (file.path.parent / "manifest.json").is_file():
            aliases |= read_manifest(file.path.parent).get("aliases", {})
    return standing(edition, published, withdrawn, aliases)


def _figures(edition: Edition, now: Standing) -> dict[str, int | str]:
    return {
        "edition": edition.name,
        "digest": edition.digest,
        "subjects": len(edition.subjects),
        "drawn": len(edition),
        "scored": len(now.scored),
        "withdrawn": len(now.withdrawn),
        "gone": len(now.gone),
        "renamed": now.renamed,
    }


def _stop(status: int, message: str) -> NoReturn:
    print(f"otb sample: {message}", file=sys.stderr)
    raise typer.Exit(status)
