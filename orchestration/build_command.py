"""`otb build exam`: arguments, progress and the report of a build.

Exit statuses: 0 everything that has papers is published, 1 a fault of ours, 2 wrong arguments, 3 finished but something
is withheld or does not close, 4 retrieval stopped, files are missing, or the index lost more rows at once than is
believed (run again; what is here is kept).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Table

from opentwbench.exam.index import MAX_VANISHED_SHARE
from orchestration import build_formosa_command, index_command, variables
from orchestration.options import StoreOption
from resources.connections import INDEX_MAX_AGE_HOURS, NOT_APPLIED

if TYPE_CHECKING:
    from orchestration.build import BuildReport

FAULT, USAGE, WITHHELD, RETRIEVAL = 1, 2, 3, 4

STATUSES = (
    "Exit status: 0 every subject with papers is published; 1 a fault of the program; "
    "2 wrong arguments, or an index of another form; "
    "3 finished, but a subject is withheld or a sum does not close; "
    "4 retrieval stopped, files failed, or the index lost too many rows at once: look, and run again."
)

app = typer.Typer(help="Build what changed, through the same assets and checks as the UI.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Build what changed, through the same assets and checks as the UI."""


app.command("index-history", epilog=index_command.STATUSES)(index_command.index_history)
app.command("formosa", epilog=build_formosa_command.STATUSES)(build_formosa_command.formosa)


class BarProgress:
    """Draws one bar a step on standard error."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._tasks: dict[str, Any] = {}

    def step(self, what: str, done: int, total: int) -> None:
        """Move the bar of `what`."""
        task = self._tasks.get(what)
        if task is None:
            task = self._tasks[what] = self._bars.add_task(what, total=total)
        self._bars.update(task, completed=done, total=total)


KEPT = f"Later builds apply it too; {NOT_APPLIED}: no more."


@app.command(epilog=STATUSES)
def exam(
    source: Annotated[
        str, typer.Option(envvar=variables.SOURCE, help="'live', a base URL, or a mirror folder.")
    ] = "live",
    store: StoreOption = "store",
    year: Annotated[list[int] | None, typer.Option(help="ROC year; may be given several times. Default: all.")] = None,
    subject: Annotated[list[str] | None, typer.Option(help="Slug; may be given several times. Default: all.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The report as one JSON object on standard output.")] = False,
    delay: Annotated[float, typer.Option(min=0, help="Seconds between two requests.")] = 1.0,
    processes: Annotated[int, typer.Option(min=0, max=256, help="Parsing processes; 0: one a core.")] = 0,
    max_vanished_share: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the index's keyed rows that may be gone at once.")
    ] = MAX_VANISHED_SHARE,
    recheck: Annotated[
        bool, typer.Option("--recheck", help="Ask again (conditionally) for papers past their maximum age.")
    ] = False,
    max_age_days: Annotated[
        float, typer.Option(min=0, help="Days before a paper is asked for again; with --recheck, 0 asks for all.")
    ] = 30.0,
    index_max_age_hours: Annotated[
        float, typer.Option(min=0, help="Hours before the index is asked for again; 0 asks now.")
    ] = INDEX_MAX_AGE_HOURS,
    legal_benchmark: Annotated[str, typer.Option(help="tw-legal-benchmark-v2, to leave its items out.")] = "",
    tmmlu: Annotated[str, typer.Option(help="TMMLU+, to leave its items out.")] = "",
    maintainer: Annotated[str, typer.Option(help=f"JSONL of items that a maintainer excluded. {KEPT}")] = "",
    withdrawn: Annotated[str, typer.Option(help=f"JSONL of items withdrawn from the scored set. {KEPT}")] = "",
) -> None:
    """Retrieve, parse, settle, check and publish what changed since the last build. Nothing changed: nothing runs."""
    lists = {"legal_benchmark": legal_benchmark, "tmmlu": tmmlu, "maintainer": maintainer, "withdrawn": withdrawn}
    for option, value in lists.items():
        if value and value != NOT_APPLIED:
            if not Path(value).exists():
                _stop(USAGE, f"--{option.replace('_', '-')} {value}: there is no such file")
            lists[option] = str(Path(value).resolve())
    ministry = {"delay_seconds": delay, "jitter_seconds": delay / 2, "max_age_days": max_age_days}
    ministry |= {"max_vanished_share": max_vanished_share, "index_max_age_hours": index_max_age_hours}
    report = _run(source, store, tuple(year or ()), tuple(subject or ()), ministry, processes, lists, recheck)
    if as_json:
        print(json.dumps(report.to_json(), ensure_ascii=False))
    else:
        show(report, Console())
    raise typer.Exit(exit_status(report))


def exit_status(report: BuildReport) -> int:
    """The status that says how a finished build went."""
    from resources.gated_set import UNFINISHED

    if report.errors:
        return FAULT
    if report.failed_files:
        return RETRIEVAL
    asked = report.asked_states()
    if any(state == UNFINISHED for state in asked):
        return FAULT
    return WITHHELD if "withheld" in asked or not report.sound else 0


def _run(
    source: str,
    store: str,
    years: tuple[int, ...],
    subjects: tuple[str, ...],
    ministry: dict[str, float],
    processes: int,
    lists: dict[str, str],
    recheck: bool,
) -> BuildReport:
    from opentwbench.exam.cache import CacheBusyError
    from opentwbench.exam.exclusion_lists import ListError
    from opentwbench.exam.index import IndexFormatError, IndexShrunkError
    from opentwbench.exam.mirror import MirrorError
    from opentwbench.exam.polite import RetrievalStopped
    from orchestration.build import Build, UnknownSelectionError
    from orchestration.configuration import Configuration
    from orchestration.in_process import recorded_instance
    from resources.store import StoreError, StoreUnusableError

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    try:
        with Bars(*columns, console=console, disable=not console.is_terminal) as bars:
            configuration = Configuration(
                store=store,
                source=source,
                processes=processes,
                lists=lists,
                ministry=ministry,
                progress=BarProgress(bars),
                hub={"namespace": os.environ.get("OTB_HUB_NAMESPACE", "")},
            )
            return Build(configuration, recorded_instance).run(years, subjects, recheck=recheck)
    except (UnknownSelectionError, MirrorError, ListError, ValueError) as error:
        _stop(USAGE, str(error))
    except IndexFormatError as error:
        _stop(USAGE, f"{source}: {error}")
    except (RetrievalStopped, CacheBusyError, IndexShrunkError) as error:
        _stop(RETRIEVAL, str(error))
    except StoreUnusableError as error:
        _stop(USAGE, str(error))
    except StoreError as error:
        _stop(FAULT, str(error))


def _stop(status: int, message: str) -> NoReturn:
    Console(stderr=True).print(f"[red]{escape(message)}[/]", highlight=False)
    raise typer.Exit(status)


# -- the report -------------------------------------------------------------------------------------------------------


def show(report: BuildReport, console: Console) -> None:
    """Print what was done, the accounts, every rejection, names without a subject, and where every subject stands."""
    from resources.exam_products import NO_SOURCE

    if report.unchanged:
        console.print(f"nothing changed: {report.requests} requests, nothing rebuilt")
    else:
        years, subjects = len(report.years_built), len(report.subjects_built)
        asked = (
            f"{report.requests} requests ({report.files_fetched} new files, {report.files_not_modified} not modified)"
        )
        console.print(f"{asked}, {years} years and {subjects} subjects built")
    release = report.release
    if report.refused_rows:
        refused = [[str(each[c])[:200] for c in ("line", "problem", "text")] for each in report.refused_rows]
        console.print(_table(f"{len(refused)} index rows refused", ("line", "problem", "text"), refused))
    console.print(_table("accounts", ("", "count"), [line for line in release["table"] if line[1]]))
    if release["rejected"]:
        columns = ("file", "reason", "page", "q_no", "detail")
        console.print(_table("rejected papers", columns, [[each[c] for c in columns] for each in release["rejected"]]))
    _show_matching(release["matching"], console)
    states = [each for each in release["subjects"].values() if each["state"] != NO_SOURCE]
    columns = ("slug", "state", "items", "version")
    console.print(_table("subjects with papers", columns, [[each[c] for c in columns] for each in states]))
    for each in states:
        for words in _against(each):
            console.print(escape(f"{each['slug']}: {words}"), style="yellow", highlight=False)
    console.print(f"{len(report.in_state(NO_SOURCE))} subjects have no source")
    for name, each in release["lists"].items():
        said = f"applied, {each['entries']} entries" if each["applied"] else "NOT applied (no such list was given)"
        console.print(f"list {name}: {said}", highlight=False)
    for name in ("maintainer", "withdrawn"):
        if name in report.lists:
            console.print(f"list {name}: {report.lists[name]}", highlight=False)
    suite = report.suite
    if suite:
        console.print(f"release suite: {_suite(suite)}")
    for line in (*release["closes"], *report.errors, *(f"failed: {url}" for url in report.failed_files)):
        console.print(f"[red]{escape(line)}[/]", highlight=False)


def _suite(suite: dict[str, Any]) -> str:
    if not suite["rules"]:
        return "FAILED: no subject is published, so that there is nothing to judge"
    return f"{'passed' if suite['passed'] else 'FAILED'} ({suite['rules']} rules)"


def _against(state: dict[str, Any]) -> list[str]:
    return [*state["against"], *(f"only a warning: {words}" for words in state["warnings"])]


def _show_matching(matching: dict[str, Any], console: Console) -> None:
    console.print(
        f"{matching['rows']} keyed rows: {matching['full']} by full name ({matching['exact']} as printed), "
        f"{matching['head']} by the head before the bracket, "
        f"{matching['rows'] - matching['full'] - matching['head']} without a subject"
    )
    names = [(name, found["papers"], found["items"]) for name, found in matching["unassigned"].items()]
    if names:
        console.print(_table("subject names that match nothing", ("name", "papers", "items"), names))


def _table(title: str, columns: tuple[str, ...], rows: list[Any]) -> Table:
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, no_wrap=column in ("slug", "version"), overflow="fold")  # to be copied whole
    for row in rows:
        table.add_row(*("" if cell is None else escape(str(cell)) for cell in row))
    return table
