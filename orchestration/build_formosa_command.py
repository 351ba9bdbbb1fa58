"""`otb build formosa`: arguments, progress and the report of a build of the Formosa track.

Exit statuses: 0 published, 1 a fault of ours, 2 wrong arguments or a corpus that cannot be read, 3 finished but a check
withholds the data set or no judge may ground, 4 a model was not asked to the end (run again; what came back is kept).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape

from orchestration.options import StoreFolderOption

if TYPE_CHECKING:
    from orchestration.formosa_build import FormosaReport
    from resources.progress import Progress

FAULT, USAGE, WITHHELD, UNASKED = 1, 2, 3, 4

STATUSES = (
    "Exit status: 0 published; 1 a fault of the program; 2 wrong arguments, or a corpus that cannot be read; "
    "3 finished, but a check withholds the data set, or no judge may ground; 4 a model was not asked to the end: run "
    "again, nothing that was answered is asked twice."
)

KEPT = "Later builds keep it."
_OF_KIND = {
    "AskingStopped": UNASKED,
    "EndpointError": UNASKED,
    "JournalError": UNASKED,
    "RunLocked": UNASKED,
    "AskingError": USAGE,
    "CorpusError": USAGE,
    "CurationError": USAGE,
    "PlanError": USAGE,
    "JudgeRefused": WITHHELD,
    "JudgeStudyError": WITHHELD,
    "DatasetError": WITHHELD,
}


def formosa(
    corpus: Annotated[str, typer.Option(help=f"Folder or git checkout of Taiwan.md. {KEPT}")] = "",
    store: StoreFolderOption = "store",
    scripted: Annotated[
        bool, typer.Option("--scripted", help="Ask the project's scripted endpoint instead of a model.")
    ] = False,
    base_url: Annotated[
        str, typer.Option(envvar="OTB_BASE_URL", help="OpenAI-compatible endpoint, up to /v1.", show_default=False)
    ] = "",
    api_key_env: Annotated[
        str, typer.Option(envvar="OTB_API_KEY_ENV", help="Environment variable with the API key.", show_default=False)
    ] = "",
    model: Annotated[str, typer.Option(help=f"Drafting model. {KEPT}", show_default=False)] = "",
    candidate: Annotated[
        list[str] | None, typer.Option(help=f"A candidate judge, once a judge. {KEPT}", show_default=False)
    ] = None,
    judge: Annotated[str, typer.Option(help="The judge that grounds. Default: the first candidate that passes.")] = "",
    pool: Annotated[list[str] | None, typer.Option(help=f"A model of the pool, once a model. {KEPT}")] = None,
    external: Annotated[list[str] | None, typer.Option(help="A model asked beside the pool, once a model.")] = None,
    run: Annotated[list[Path] | None, typer.Option(help="A run folder that is a further pool member.")] = None,
    submission: Annotated[list[Path] | None, typer.Option(help="A submission that is a further pool member.")] = None,
    band: Annotated[
        str, typer.Option(help="Pass counts to keep, LOW-HIGH. Default: what not all of the pool pass.")
    ] = "",
    edition: Annotated[str, typer.Option(help=f"Name of the edition. {KEPT}", show_default=False)] = "",
    date: Annotated[str, typer.Option(help=f"Its date, YYYY-MM-DD. {KEPT}", show_default=False)] = "",
    commit: Annotated[str, typer.Option(help="Read this commit of the checkout. Default: the folder as it is.")] = "",
    stated: Annotated[str, typer.Option(help="The commit that a plain folder was copied from.")] = "",
    limit: Annotated[int, typer.Option(min=0, help="A window closes before so many characters. Default: 1,180.")] = 0,
    tail: Annotated[int, typer.Option(min=-1, help="A shorter last window joins the one before. Default: 300.")] = -1,
    lexicon: Annotated[
        str, typer.Option(help=f"Folder of the orthography lists; without one nothing is published. {KEPT}")
    ] = "",
    good: Annotated[str, typer.Option(help="Good drafts that a person looked at, for the judge study (JSONL).")] = "",
    findings: Annotated[str, typer.Option(help="Further findings, e.g. a maintainer's (JSONL); none: no more.")] = "",
    withdrawn: Annotated[str, typer.Option(help="Items withdrawn from the scored set (JSONL); none: no more.")] = "",
    concurrency: Annotated[int, typer.Option(min=1, max=4096, help="Requests at a time, at most.")] = 32,
    max_total_tokens: Annotated[int, typer.Option(min=0, help="Spending stop of each run; 0 is none.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="The report as one JSON object on standard output.")] = False,
) -> None:
    """Cut, draft, screen, judge, curate, check and publish what changed since the last build. Nothing changed: nothing
    runs, and nobody is asked.
    """
    from opentwbench.dataset.model import DatasetError
    from opentwbench.evaluation.journal import JournalError
    from opentwbench.exam.exclusion_lists import ListError
    from opentwbench.formosa.band import CurationError
    from opentwbench.formosa.corpus import CorpusError
    from opentwbench.formosa.judge_study import JudgeStudyError
    from orchestration.formosa_endpoint import scripted_settings
    from resources.formosa_plan import PlanError
    from resources.store import StoreError

    if scripted and base_url:
        _stop(USAGE, "--scripted asks no endpoint, and --base-url names one")
    settings: dict[str, Any] = {
        "corpus": _resolved(corpus),
        "model": model,
        "judges": list(candidate or ()),
        "judge": judge,
        "pool": list(pool or ()),
        "external": list(external or ()),
        "runs": [_resolved(str(each)) for each in run or ()],
        "submissions": [_resolved(str(each)) for each in submission or ()],
        "band": band,
        "edition": edition,
        "date": date,
        "commit": commit,
        "stated": stated,
        "lexicon": lexicon if lexicon in ("own", "none") else _resolved(lexicon),
        "good": good if good == "none" else _resolved(good),
        "findings": findings if findings == "none" else _resolved(findings),
        "withdrawn": withdrawn if withdrawn == "none" else _resolved(withdrawn),
    }
    settings = {name: value for name, value in settings.items() if value}
    settings |= ({"limit": limit} if limit else {}) | ({"tail": tail} if tail >= 0 else {})
    if scripted:
        settings = scripted_settings(str(settings.get("corpus", ""))) | settings
    ask = {"base_url": base_url, "api_key_env": api_key_env}
    ask |= {"concurrency": concurrency, "max_total_tokens": max_total_tokens}  # type: ignore[dict-item]
    try:
        report = _run(store, settings, ask, scripted=scripted)
    except (PlanError, CorpusError, CurationError, ListError) as error:
        _stop(USAGE, str(error))
    except (StoreError, DatasetError, JournalError, JudgeStudyError) as error:
        _stop(FAULT, str(error))
    if as_json:
        print(json.dumps(report.to_json(), ensure_ascii=False))
    else:
        show(report, Console())
    raise typer.Exit(exit_status(report))


def _resolved(path: str) -> str:
    return str(Path(path).resolve()) if path else ""


def _run(store: str, settings: dict[str, Any], ask: dict[str, Any], *, scripted: bool) -> FormosaReport:
    from orchestration.configuration import Configuration
    from orchestration.formosa_build import FormosaBuild
    from orchestration.formosa_endpoint import scripted_endpoint
    from orchestration.in_process import recorded_instance

    with _bars() as progress:

        def build(endpoint: dict[str, Any]) -> FormosaReport:
            configuration = Configuration(store=store, formosa=settings, endpoint=endpoint, progress=progress)
            return FormosaBuild(configuration, recorded_instance).run()

        if not scripted:
            return build(ask)
        with scripted_endpoint(store) as endpoint:
            return build({**ask, "base_url": endpoint.base_url, "api_key_env": ""})


@contextmanager
def _bars() -> Iterator[Progress]:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    from orchestration.build_command import BarProgress

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*columns, console=console, disable=not console.is_terminal) as bars:
        yield BarProgress(bars)


def exit_status(report: FormosaReport) -> int:
    """The status that says how a finished build went."""
    from resources.gated_set import PUBLISHED, UNFINISHED

    if report.stopped:
        return _OF_KIND.get(report.kind, FAULT)
    if report.state.state == UNFINISHED:
        return FAULT
    return 0 if report.state.state == PUBLISHED else WITHHELD


def show(report: FormosaReport, console: Console) -> None:
    """Print what was done, what an update took away, where every window went, the judges, the band and the state."""
    if report.unchanged and not report.stopped:
        console.print("nothing changed: nobody asked, nothing made again")
    else:
        console.print(f"{len(report.ran)} steps, {report.asked:,} replies")
    _show_corpus(report.corpus, console)
    lost = report.update.get("lost_ground", ())
    if report.update.get("before") and (report.update["to_draft"] or report.update["gone"]):
        update = report.update
        console.print(
            f"corpus: {update['to_draft']:,} new or changed windows, {update['gone']:,} gone, {update['kept']:,} "
            f"as they were; {len(lost):,} items lost their ground"
        )
    for each in lost[:20]:
        console.print(f"  lost its ground: {escape(each['item_id'])} ({escape(each['window_id'])})", highlight=False)
    account = report.account
    if account:
        console.print(
            f"{account['windows']:,} windows, {account['well_formed']:,} well-formed drafts, "
            f"{sum(account['screened_out'].values()):,} screened out, {sum(account['dropped'].values()):,} dropped "
            f"by the judge, {account['grounded']:,} grounded"
        )
    if report.judges:
        passed = ", ".join(report.judges["passed"]) or "none"
        console.print(f"judges that may ground: {escape(passed)}", highlight=False)
    if report.edition:
        edition = report.edition
        console.print(
            f"edition {escape(edition['edition_id'])}: {edition['kept']:,} kept, {edition['easier']:,} easier"
        )
        for model, names in edition.get("served_otherwise", {}).items():
            console.print(escape(f"{model} was asked, {', '.join(names)} answered"), style="yellow", highlight=False)
    if report.transfer:
        console.print(escape(report.transfer), highlight=False)
    if report.stopped:
        console.print(f"[red]stopped in {escape(report.stopped)}: {escape(report.reason)}[/]", highlight=False)
        return
    state = report.state
    console.print(f"data set: {state.state}, {state.items:,} items, version {state.version}")
    for line in state.against:
        console.print(f"[red]{escape(line)}[/]", highlight=False)


def _show_corpus(corpus: Mapping[str, Any], console: Console) -> None:
    from opentwbench.formosa.corpus import STATE
    from orchestration.formosa_corpus_command import UNSTATED

    if "articles" not in corpus:
        return
    counts = " ".join(f"{name} {n:,}" for part in ("left_out", "faults") for name, n in corpus[part].items())
    left = sum(corpus["left_out"].values())
    console.print(f"corpus: {corpus['articles']:,} articles, {left:,} files left out ({counts or 'no fault'})")
    if corpus["commit"].startswith(STATE):
        console.print(f"[yellow]{UNSTATED}: {corpus['commit']}[/]", highlight=False)


def _stop(status: int, message: str) -> NoReturn:
    Console(stderr=True).print(f"[red]otb build formosa: {escape(message)}[/]", highlight=False)
    raise typer.Exit(status)
