"""`otb rescore` and `otb study box-else-pattern`: stored replies judged again, without asking a model.

What belongs here: which runs and which items, tables, exit statuses. What does not: rules (`opentwbench.evaluation`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.box_study import BoxStudy, cell, study, study_json
from opentwbench.evaluation.items import ItemFile, ItemSet, Roster, item_file, read_items
from opentwbench.evaluation.journal import JournalError, read_responses, read_run
from opentwbench.evaluation.model import Rate, RunRecord
from opentwbench.evaluation.rescoring import Rescored, read_keys, rescore, rescored_json, write_keys
from opentwbench.evaluation.runs import graded, score, write_scores
from opentwbench.evaluation.scoring import Summary, to_json
from orchestration.local_store import published_folders, runs_folder
from orchestration.options import RunsStoreOption
from resources.store import StoreError

USAGE, NOTHING = 2, 3

STATUSES = (
    "Exit status: 0 every run was rescored; 1 a fault of the program; 2 wrong arguments, or a run that is not there; "
    "3 no run at all, data sets that are damaged, or none of a run's items in them."
)

RunsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[RUN]...", help="Ids of runs. Default: every run.", show_default=False)
]
ItemsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--items",
        help="Data-set folder or JSONL file; may be given several times. Default: what the store has published.",
        show_default=False,
    ),
]


def rescore_runs(
    runs: RunsArgument = None,
    store: RunsStoreOption = "store",
    items: ItemsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a run on standard output.")] = False,
) -> None:
    """Score stored replies against the data sets as they are now, and report what moved. Asks no model.

    A run keeps the keys it was scored with, so that the report names every item whose key changed or that left.
    Only items that the run asked are scored: a sample stays that sample.
    """
    try:
        files = tuple(item_file(path) for path in items or published_folders(store))
        for folder in _folders(store, runs or []):
            record, summary, found = _rescore(folder, files)
            if as_json:
                print(json.dumps(_report(record, summary, found), ensure_ascii=False))
            else:
                _print(record, summary, found, Console())
    except (JournalError, DatasetError, StoreError) as error:
        _stop(NOTHING, str(error))


def _folders(store: str, runs: Sequence[str]) -> list[Path]:
    """The folders of the named runs, of every run when none is named; a name never leaves the folder of runs."""
    root = runs_folder(store)
    found = {path.name: path for path in sorted(root.glob("*")) if (path / "run.json").is_file()}
    if unknown := [name for name in runs if name not in found]:
        _stop(USAGE, f"no run {excerpt(unknown[0])} in {root}")
    if not found:
        _stop(NOTHING, f"no run in {root}")
    return [found[name] for name in runs] if runs else list(found.values())


def _rescore(folder: Path, files: Sequence[ItemFile]) -> tuple[RunRecord, Summary, Rescored | None]:
    """Score one run anew and keep its score; None when the keys of its last score were not kept."""
    record = read_run(folder)
    before = read_keys(folder, record.dataset_version)
    asked = set(before or ()) or {response.item_id for response in read_responses(folder)}
    now = _asked_of(record, files, frozenset(asked))
    roster = Roster(now)
    summary = score(folder, roster)
    found = rescore(read_responses(folder), before, {i.item_id: i.key for i in now}) if before else None
    write_scores(folder, record, now.version, record.item_set, summary)
    write_keys(folder, now.version, now)
    return record, summary, found


def _asked_of(record: RunRecord, files: Sequence[ItemFile], asked: frozenset[str]) -> ItemSet:
    """The items that the run asked, as they are now, from the files that hold any of them."""
    holding = tuple(file for file in files if any(i.item_id in asked for i in read_items(file.path, file.subject)))
    if not holding:
        raise DatasetError(f"{record.run_id}: none of its items is in the data sets given")
    return ItemSet(holding, record.item_set, asked)


def _report(record: RunRecord, summary: Summary, found: Rescored | None) -> dict[str, Any]:
    return {
        "run_id": record.run_id,
        "model": record.model,
        "protocol_id": record.protocol_id,
        "asked_version": record.dataset_version,
        "item_set": record.item_set,
        "changes": rescored_json(found) if found else None,
        "scores": to_json(summary),
    }


def _print(record: RunRecord, summary: Summary, found: Rescored | None, console: Console) -> None:
    title = f"{escape(excerpt(record.run_id, 120))}: {summary.replies:,} replies to {summary.items_expected:,} items"
    table = Table(title=title, title_justify="left")
    for column in ("method", "before", "now", "points", "gained", "lost"):
        table.add_column(column, no_wrap=True)
    for name, of in summary.methods.items():
        move = found.moves.get(name) if found else None
        points = (
            ""
            if not move or move.before.value is None
            else f"{100 * _value(of.micro) - 100 * _value(move.before):+.2f}"
        )
        changed = ("", "") if not move else (str(move.gained), str(move.lost))
        table.add_row(name, _share(move.before) if move else "", _share(of.micro), points, *changed)
    console.print(table)
    if summary.left_out:
        console.print(f"{summary.left_out:,} responses to items outside the set are in no figure")
    console.print("gained and lost: replies that became right and that no longer are, to items of both versions")
    if found is None:
        console.print("the keys of the earlier score were not kept; from now on they are, and items can be named")
        return
    for item_id, (old, new) in list(found.rekeyed.items())[:20]:
        console.print(f"  key {old} -> {new}: {escape(item_id)}", highlight=False)
    if len(found.rekeyed) > 20:
        console.print(f"  and {len(found.rekeyed) - 20} more keys (--json lists all)")
    kinds = (("left the set", found.left), ("joined the set", found.joined))
    console.print("; ".join([*(f"{len(ids)} {words}" for words, ids in kinds), f"{found.unanswered} without a reply"]))


def _value(of: Rate) -> float:
    return of.value or 0.0


def _share(of: Rate) -> str:
    return "" if of.value is None else f"{of.value:.2%}"


# -- the study --------------------------------------------------------------------------------------------------------

STUDY_STATUSES = "Exit status: 0 done; 1 a fault of the program; 2 wrong arguments; 3 no run to study."


def box_else_pattern(
    runs: RunsArgument = None,
    store: RunsStoreOption = "store",
    items: ItemsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="The study as one JSON object.")] = False,
) -> None:
    """What box-else-pattern (the public board until October 2026) makes of runs: cells moved and ranks changed.

    A cell is a model on a benchmark under a protocol. Both readings are of the same stored replies. Of several runs of
    one cell the one that started last is studied, unless runs are named.
    """
    try:
        files = tuple(item_file(path) for path in items or published_folders(store))
        folders = _folders(store, runs or [])
        found = study(_cells(folders if runs else _latest(folders), files))
    except (JournalError, DatasetError, StoreError, ValueError) as error:
        _stop(NOTHING, str(error), "otb study box-else-pattern")
    if as_json:
        print(json.dumps(study_json(found), ensure_ascii=False))
    else:
        _print_study(found, Console())


def _latest(folders: Sequence[Path]) -> list[Path]:
    """Of the runs of one cell, the one that started last; a circular-option test is a protocol of its own."""
    newest: dict[tuple[str, str, str], tuple[str, Path]] = {}
    for folder in folders:
        record = read_run(folder)
        key = (record.model, record.benchmark, record.protocol_id)
        newest[key] = max(newest.get(key, ("", folder)), (record.started, folder))
    return [folder for _, folder in newest.values()]


def _cells(folders: Sequence[Path], files: Sequence[ItemFile]) -> Iterator[Any]:
    for folder in folders:
        record = read_run(folder)
        asked = frozenset(response.item_id for response in read_responses(folder))
        roster = Roster(_asked_of(record, files, asked))
        yield cell(record.model, f"{record.benchmark} {record.protocol_id}", graded(folder, roster))


def _print_study(found: BoxStudy, console: Console) -> None:
    table = Table(title="strict and box-else-pattern (mixed) on the same replies", title_justify="left")
    for column in ("model", "benchmark", "strict", "rank", "mixed", "rank ", "points", "boxed"):
        if column in ("model", "benchmark"):
            table.add_column(column, overflow="fold")
        else:
            table.add_column(column, no_wrap=True)
    for each in found.ranked:
        table.add_row(
            escape(excerpt(each.cell.model)),
            escape(each.cell.benchmark),
            _share(each.cell.strict),
            str(each.strict_rank),
            _share(each.cell.mixed),
            str(each.mixed_rank),
            f"{each.cell.points:+.2f}",
            _share(each.cell.boxed),
        )
    console.print(table)
    console.print(
        f"{found.moved()} of {found.cells} cells move, {found.moved(1.0)} by more than a point, "
        f"{found.moved(10.0)} by more than ten; {found.changed_ranks} have another rank; "
        f"{len(found.inversions)} pairs stand in the other order"
    )


def _stop(status: int, message: str, command: str = "otb rescore") -> NoReturn:
    print(f"{command}: {message}", file=sys.stderr)
    raise typer.Exit(status)
