"""`otb twinkle`: results in Twinkle Eval's form, written from a run and read as a run.

What belongs here: arguments, folders, exit statuses. What does not: the form itself (`opentwbench.evaluation`).
"""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.items import ItemSet, Roster, item_file
from opentwbench.evaluation.journal import RUN_ID, Journal, JournalError, read_protocol, read_run, write_run
from opentwbench.evaluation.model import RunRecord
from opentwbench.evaluation.protocols import ProtocolError, find
from opentwbench.evaluation.rescoring import write_keys
from opentwbench.evaluation.runs import BENCHMARKS, graded, score, write_scores
from opentwbench.evaluation.twinkle_results import EVALUATION_METHODS, Imported, read_details, write_results
from orchestration.local_store import published_folders, runs_folder
from orchestration.options import RunsStoreOption
from resources.store import StoreError

USAGE, NOTHING = 2, 3

STATUSES = (
    "Exit status: 0 done; 1 a fault of the program; 2 wrong arguments; 3 nothing to export or import, or a file that "
    "is no result of Twinkle."
)

app = typer.Typer(help="Results in Twinkle Eval's form.", no_args_is_help=True)

ItemsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--items",
        help="Data-set folder or JSONL file; may be given several times. Default: what the store has published.",
        show_default=False,
    ),
]


@app.command(epilog=STATUSES)
def export(
    run: Annotated[str, typer.Argument(help="Id of the run.")],
    out: Annotated[Path, typer.Option(help="Folder for the result files.", show_default=False)],
    store: RunsStoreOption = "store",
    items: ItemsOption = None,
    method: Annotated[
        str, typer.Option(help="twinkle-box or twinkle-pattern. Default: the one that fits the protocol.")
    ] = "",
) -> None:
    """Write a run as Twinkle Eval would have: results_<time>.json and one eval_results_<time>_run<k>.jsonl a repeat."""
    folder = runs_folder(store) / run
    if not re.fullmatch(RUN_ID, run) or not (folder / "run.json").is_file():
        _stop(USAGE, f"no run {excerpt(run)} in {folder.parent}")
    try:
        record, protocol = read_run(folder), read_protocol(folder)
        asked = ItemSet(tuple(item_file(path) for path in items or published_folders(store)), record.item_set)
        chosen = method or ("twinkle-pattern" if protocol.extraction == "twinkle-pattern" else "twinkle-box")
        written = write_results(out, record, protocol, graded(folder, Roster(asked)), asked, chosen)
    except (DatasetError, JournalError, StoreError) as error:
        _stop(NOTHING, str(error))
    print(f"{written.rows:,} rows in {len(written.details)} files, {written.errors:,} failed requests left out")
    print(written.results)


@app.command(name="import", epilog=STATUSES)
def import_details(
    details: Annotated[list[Path], typer.Argument(help="eval_results_*.jsonl of one run, a file a repeat.")],
    run_id: Annotated[str, typer.Option(help="Name of the run to make.", show_default=False)],
    model: Annotated[str, typer.Option(help="Name of the model.", show_default=False)],
    protocol: Annotated[
        str, typer.Option(help="pattern: no system prompt was set. box: the published system prompt was set.")
    ] = "pattern",
    store: RunsStoreOption = "store",
    items: ItemsOption = None,
    benchmark: Annotated[str, typer.Option(help=f"What was asked: {', '.join(BENCHMARKS)}.")] = "exam",
    as_json: Annotated[bool, typer.Option("--json", help="What became of the rows, as one JSON object.")] = False,
) -> None:
    """Read detail files of Twinkle Eval (shuffle off) as a run of the store, and score it.

    Rows are matched by their question text. The run is marked: what Twinkle does not keep (finish reason, latency, the
    reasoning inside a reply) is missing in it.
    """
    folder = runs_folder(store) / run_id
    if not re.fullmatch(RUN_ID, run_id) or folder.exists():
        _stop(USAGE, f"{excerpt(run_id)}: no name for a new run (it fits {RUN_ID} and is not taken)")
    if benchmark not in BENCHMARKS:
        _stop(USAGE, f"no benchmark {excerpt(benchmark)}")
    try:
        counts = _import(folder, details, items or published_folders(store), model, protocol, benchmark)
    except (DatasetError, JournalError, StoreError, ProtocolError, OSError) as error:
        _stop(NOTHING, str(error))
    figures = {"rows": counts.rows, "matched": counts.matched, "unmatched": counts.unmatched}
    figures["differing"] = counts.differing
    print(json.dumps(figures) if as_json else ", ".join(f"{count:,} {name}" for name, count in figures.items()))
    if counts.differing:
        typer.echo(f"our reading differs from Twinkle's letter, e.g. {', '.join(counts.examples[:5])}", err=True)


def _import(
    folder: Path, details: list[Path], paths: list[Path], model: str, protocol: str, benchmark: str
) -> Imported:
    # Twinkle's question text is the same under any system prompt, and it shows the options as published.
    used = find(protocol)
    asked = ItemSet(tuple(item_file(path) for path in paths))
    roster = Roster(asked)
    record = RunRecord(
        run_id=folder.name,
        model=model,
        protocol_id=used.protocol_id,
        benchmark=benchmark,
        dataset_version=asked.version,
        item_set=asked.item_set,
        n_items=len(roster),
        repeats=len(details),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        client_version="twinkle-eval",
        extra={"imported": ", ".join(path.name for path in details)[:500]},
    )
    method = {name: ours for ours, name in EVALUATION_METHODS.items()}[used.name]
    counts = Imported()
    # Everything is read before anything is written: a bad line leaves no half run.
    responses = [
        response
        for repeat, path in enumerate(details)
        for response in read_details(path, asked, record, method, counts, repeat)
    ]
    if not responses:
        raise DatasetError(f"none of {counts.rows} rows is a question of the data sets given")
    write_run(folder, record, used)
    with Journal(folder) as journal:
        journal.append_all(responses)
    write_scores(folder, record, record.dataset_version, record.item_set, score(folder, roster))
    write_keys(folder, record.dataset_version, asked)
    return counts


def _stop(status: int, message: str) -> NoReturn:
    print(f"otb twinkle: {message}", file=sys.stderr)
    raise typer.Exit(status)
