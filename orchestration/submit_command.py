"""`otb submit`: volunteers' results, checked against a data-set version and folded into the store.

What belongs here: files, arguments, tables, exit statuses. What does not: rules (`opentwbench.evaluation.submissions`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.files import parse_json
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.items import ItemSet, item_file
from opentwbench.evaluation.model import Rate
from opentwbench.evaluation.protocols import BOX, PATTERN, REASONING_BUDGET, REGISTRY, Protocol, ProtocolError
from opentwbench.evaluation.refusals import Refused, keep, refused
from opentwbench.evaluation.sample import SampleError, read_edition
from opentwbench.evaluation.scoring import rate_json
from opentwbench.evaluation.submission_reading import (
    MAX_BYTES,
    MAX_PROVENANCE_BYTES,
    Provenance,
    Row,
    SubmissionRefused,
    read_provenance,
    read_rows,
)
from opentwbench.evaluation.submissions import Submission, fold, judge
from orchestration.local_store import published_folders, submissions_folder
from orchestration.options import StoreFolderOption
from orchestration.sample_command import standing_of
from resources.store import StoreError

USAGE, REFUSED = 2, 3

STATUSES = (
    "Exit status: 0 the submission fits; 1 a fault of the program; 2 wrong arguments, or no data set to check against; "
    "3 refused, with the reason and what to do about it on standard error."
)

PROTOCOLS = (BOX, BOX.with_budget(REASONING_BUDGET), PATTERN)
"""The protocols whose results are compared."""

app = typer.Typer(help="Check and take in volunteers' results.", no_args_is_help=True)

Results = Annotated[Path, typer.Argument(metavar="RESULTS", help="The result file: JSON lines, or one JSON array.")]
ProvenanceOption = Annotated[Path, typer.Option("--provenance", help="The provenance record (JSON).")]
ItemsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--items",
        help="Data-set folder or JSONL file; may be given several times. Default: what the store has published.",
        show_default=False,
    ),
]
SampleOption = Annotated[
    Path | None, typer.Option("--sample", help="Only the items of this edition of the sample.", show_default=False)
]
ProtocolOption = Annotated[
    Path | None,
    typer.Option(
        "--protocol", help="protocol.json of the bundle that was run, for another budget.", show_default=False
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="The outcome as one JSON object on standard output.")]


@app.command(epilog=STATUSES)
def check(
    results: Results,
    provenance: ProvenanceOption,
    store: StoreFolderOption = "store",
    items: ItemsOption = None,
    sample: SampleOption = None,
    protocol: ProtocolOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say whether a submission would be taken in, and if not, why and what to do. Writes nothing."""
    _show(_checked(results, provenance, store, items, sample, protocol, as_json=as_json), as_json=as_json)


@app.command(name="fold", epilog=STATUSES)
def fold_in(
    results: Results,
    provenance: ProvenanceOption,
    store: StoreFolderOption = "store",
    items: ItemsOption = None,
    sample: SampleOption = None,
    protocol: ProtocolOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check a submission and take it into the store's folder submissions. Folding it again changes nothing.

    A refused one is recorded with its reason in submissions/refused, for the mart's submissions_log.
    """
    today = datetime.now(UTC).date().isoformat()
    submission = _checked(
        results,
        provenance,
        store,
        items,
        sample,
        protocol,
        as_json=as_json,
        refusing=lambda refusal: keep(refusal, submissions_folder(store), today),
    )
    _, new = fold(submission, submissions_folder(store), today)
    _show(submission, as_json=as_json, folded="taken in" if new else "was there already")


def _checked(
    results: Path,
    provenance: Path,
    store: str,
    items: list[Path] | None,
    sample: Path | None,
    protocol: Path | None,
    *,
    as_json: bool,
    refusing: Callable[[Refused], object] = lambda refusal: None,
) -> Submission:
    """The submission, judged; otherwise the program ends. `refusing` is given the record of a refusal."""
    try:
        files = tuple(item_file(path) for path in items or published_folders(store))
        chosen = frozenset(standing_of(read_edition(sample), files).scored) if sample else None
        asked = ItemSet(files, "scored", chosen)
        rows, record = _bytes(results, MAX_BYTES), _bytes(provenance, MAX_PROVENANCE_BYTES)
        protocols = (*PROTOCOLS, *([_protocol(protocol)] if protocol else ()))
    except OSError as error:
        _stop(USAGE, f"{excerpt(str(error.filename), 300)}: {error.strerror}")
    except (DatasetError, StoreError, SampleError, ProtocolError) as error:
        _stop(USAGE, str(error))
    given: Provenance | None = None
    form, found = "", list[Row]()
    try:
        given = read_provenance(record)
        form, found = read_rows(rows)
        return judge(found, form, given, asked, asked.version, protocols)
    except SubmissionRefused as refusal:
        refusing(refused(refusal, rows, record, given, form, len(found)))
        if as_json:
            print(json.dumps({"accepted": False, "reason": refusal.reason.value, "detail": refusal.detail}))
        _stop(REFUSED, str(refusal))
    except DatasetError as error:
        _stop(USAGE, str(error))


def _protocol(path: Path) -> Protocol:
    """The protocol of a bundle: one of the published ones, its budget aside; raises ProtocolError for another."""
    given = Protocol.from_json(parse_json(_bytes(path, MAX_PROVENANCE_BYTES).decode("utf-8", "replace"), path.name))
    if given != REGISTRY.get(given.name, BOX).with_budget(given.max_tokens):
        raise ProtocolError(f"{path.name}: {excerpt(given.name)} is no published protocol, its budget aside")
    return given


def _bytes(path: Path, most: int) -> bytes:
    """At most one byte more than is read, so that a huge file is refused by its size and never held."""
    with path.open("rb") as file:
        return file.read(most + 1)


def _show(submission: Submission, *, as_json: bool, folded: str = "") -> None:
    if as_json:
        print(json.dumps(_report(submission, folded), ensure_ascii=False))
        return
    console, of = Console(), submission.provenance
    title = f"{submission.submission_id}: {escape(excerpt(of.model))}, {submission.form} form"
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_row("rows answered", f"{len(submission.answers):,} of {submission.n_items:,} items")
    for name, found in submission.rates().items():
        derived = " (derived: ok and boxp)" if name == "strict" and submission.strict_is_derived else ""
        table.add_row(name.replace("_", " ") + derived, _share(found))
    if submission.indistinct:
        table.add_row("rows in no item-level table", f"{submission.indistinct:,} (they share a stem)")
    if of.dropped:
        table.add_row("dropped from the provenance", escape(", ".join(of.dropped)))
    console.print(table)
    if folded:
        console.print(folded)


def _report(submission: Submission, folded: str) -> dict[str, Any]:
    return {
        "accepted": True,
        "folded": folded,
        "submission_id": submission.submission_id,
        "model": submission.provenance.model,
        "form": submission.form,
        "strict_is_derived": submission.strict_is_derived,
        "n_items": submission.n_items,
        "rows_answered": len(submission.answers),
        "rows_without_item": submission.indistinct,
        "dropped": list(submission.provenance.dropped),
        "rates": {name: rate_json(found) for name, found in submission.rates().items()},
    }


def _share(of: Rate) -> str:
    return "" if of.value is None else f"{of.value:.2%} [{of.low:.2%}, {of.high:.2%}]".replace("[", "\\[")


def _stop(status: int, message: str) -> NoReturn:
    print(f"otb submit: {message}", file=sys.stderr)
    raise typer.Exit(status)
