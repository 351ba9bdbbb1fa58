"""`otb runner`: the bundle that volunteers run.

What belongs here: arguments and exit statuses. What does not: what a bundle holds (`opentwbench.evaluation.bundle`).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.bundle import About, write_bundle
from opentwbench.evaluation.items import ItemSet, Roster, item_file
from opentwbench.evaluation.protocols import ProtocolError, find
from opentwbench.evaluation.sample import SampleError, read_edition
from orchestration.local_store import published_folders
from orchestration.options import StoreFolderOption
from resources.store import StoreError

USAGE = 2

STATUSES = "Exit status: 0 done; 1 a fault of the program; 2 wrong arguments, or nothing to ask."

app = typer.Typer(help="The bundle that volunteers run.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """The bundle that volunteers run."""


@app.command(epilog=STATUSES)
def export(
    out: Annotated[Path, typer.Option(help="Folder to write; it holds the bundle alone.")],
    protocol: Annotated[str, typer.Option(help="box or pattern.")] = "box",
    budget: Annotated[int | None, typer.Option(help="Completion tokens.", show_default=False)] = None,
    items: Annotated[
        list[Path] | None,
        typer.Option(help="Data-set folder or JSONL file. Default: what the store has published.", show_default=False),
    ] = None,
    sample: Annotated[
        Path | None, typer.Option(help="Only the items of this frozen edition.", show_default=False)
    ] = None,
    store: StoreFolderOption = "store",
) -> None:
    """Write questions, protocol, runner and verifier as a folder that needs nothing but Python."""
    try:
        chosen = None if sample is None else frozenset(read_edition(sample).ids)
        asked = ItemSet(tuple(item_file(path) for path in items or published_folders(store)), "scored", chosen)
        n = len(Roster(asked))  # every item read and checked
        about = About("exam_sample" if sample else "exam", asked.version, asked.item_set, find(protocol, budget))
        changed = write_bundle(asked, about, out)
    except (DatasetError, StoreError, SampleError, ProtocolError, OSError) as error:
        _stop(str(error))
    state = "" if changed else " (unchanged)"
    print(f"{out}: {n:,} questions of version {about.dataset_version}, {about.protocol.protocol_id}{state}")


def _stop(message: str) -> NoReturn:
    print(f"otb runner: {message}", file=sys.stderr)
    raise typer.Exit(USAGE)
