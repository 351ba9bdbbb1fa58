"""`otb evaluate`: ask a model every item, resumably, and score it.

What belongs here: arguments, the API key's way from its variable to the client, progress, the table, exit statuses.
What does not: what is asked, journalled and scored (`opentwbench.evaluation`).
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
import uvloop
from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Table

from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.files import read_bytes
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.client import Endpoint, Rates
from opentwbench.evaluation.costs import Limit, Price, Spending
from opentwbench.evaluation.items import ItemSet, Roster, item_file
from opentwbench.evaluation.journal import RUN_NAME, JournalError, RunLocked, read_responses, write_run
from opentwbench.evaluation.model import Rate, Response, RunRecord
from opentwbench.evaluation.protocols import find
from opentwbench.evaluation.rescoring import write_keys
from opentwbench.evaluation.reuse import ReuseError, difference, sources_of, take
from opentwbench.evaluation.runner import Plan, RunOutcome, Tally, questions, run
from opentwbench.evaluation.runs import BENCHMARKS, RunError, Wish, prepare, score, scoring_watch, write_scores
from opentwbench.evaluation.sample import read_edition
from opentwbench.evaluation.scoring import Summary, to_json
from orchestration import variables
from orchestration.local_store import found_folders, published_folders, runs_folder
from resources.api_keys import secret_of
from resources.store import StoreError

USAGE, UNFINISHED, STOPPED, INTERRUPTED = 2, 3, 4, 130

STATUSES = (
    "Exit status: 0 every question has its response; 1 a fault of the program; 2 wrong arguments, nothing to ask, or a "
    "run that is not this one; 3 finished, but some questions ended in an error (the same command asks them again); "
    "4 stopped early: key refused, endpoint broken, disk full or spending limit; 130 interrupted. "
    "The same command continues a run and asks nothing twice."
)

PLAIN_SECONDS = 10.0
"""Between two progress lines where there is no terminal."""


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that a run needs, checked."""

    plan: Plan
    record: RunRecord
    items: ItemSet
    roster: Roster
    folder: Path
    endpoint: Endpoint
    rates: Rates
    limit: Limit
    price: Price
    retry_errors: bool
    reuse: tuple[Path, ...]
    """Folders of earlier runs whose replies to byte-identical requests are taken."""


def evaluate(
    model: Annotated[str, typer.Option(help="The model's name as the endpoint knows it.", show_default=False)] = "",
    base_url: Annotated[
        str, typer.Option(help="Endpoint up to and with /v1, e.g. http://127.0.0.1:8080/v1.", show_default=False)
    ] = "",
    api_key_env: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Environment variable that holds the API key; the key itself is no argument."
        ),
    ] = "",
    protocol: Annotated[str, typer.Option(help="box (the published one) or pattern (Twinkle's bare prompt).")] = "box",
    budget: Annotated[
        int | None, typer.Option(help="Completion tokens; part of the protocol's id.", show_default=False)
    ] = None,
    items: Annotated[
        list[Path] | None,
        typer.Option(
            help="Data-set folder or JSONL file; may be given several times. Default: what the store has published.",
            show_default=False,
        ),
    ] = None,
    subject: Annotated[
        list[str] | None, typer.Option(help="Slug of a published subject; may be given several times. Default: all.")
    ] = None,
    sample: Annotated[
        Path | None,
        typer.Option(help="Ask only these items: a frozen edition, or one item id a line.", show_default=False),
    ] = None,
    store: Annotated[
        str, typer.Option(envvar=variables.STORE, help="Folder of the store; runs are kept in its folder runs.")
    ] = "store",
    benchmark: Annotated[
        str,
        typer.Option(
            help=f"What is asked: {', '.join(BENCHMARKS)}. Default: exam, with an edition exam_sample.",
            show_default=False,
        ),
    ] = "",
    published: Annotated[
        bool, typer.Option("--published", help="Also ask items withdrawn from the scored set.")
    ] = False,
    most: Annotated[int | None, typer.Option(min=1, help="Only the first so many items.", show_default=False)] = None,
    repeats: Annotated[int, typer.Option(min=1, max=1000, help="How often each item is asked.")] = 1,
    circular: Annotated[
        bool,
        typer.Option("--circular", help="Circular-option test: each item four times, its options moved on by one."),
    ] = False,
    concurrency: Annotated[int, typer.Option(min=1, max=4096, help="Most requests at a time.")] = 32,
    fixed: Annotated[
        bool, typer.Option("--fixed", help="Always that many, instead of adapting to 429 and timeouts.")
    ] = False,
    requests_per_minute: Annotated[float | None, typer.Option(min=0.01, show_default=False)] = None,
    tokens_per_minute: Annotated[float | None, typer.Option(min=1, show_default=False)] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for one request.")] = 600.0,
    attempts: Annotated[int, typer.Option(min=1, max=100, help="Attempts a question.")] = 6,
    max_total_tokens: Annotated[
        int | None, typer.Option(min=1, help="Spending stop: tokens of the whole run.", show_default=False)
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0, help="Spending stop: money of the whole run.", show_default=False)
    ] = None,
    prompt_price: Annotated[float, typer.Option(min=0, help="Money for a million prompt tokens.")] = 0.0,
    completion_price: Annotated[float, typer.Option(min=0, help="Money for a million completion tokens.")] = 0.0,
    request: Annotated[
        str, typer.Option(metavar="JSON", help='Further request fields, e.g. {"seed": 1}. Part of the run.')
    ] = "",
    precision: Annotated[str, typer.Option(help="How the model is served: native, quantised or unknown.")] = "unknown",
    note: Annotated[
        list[str] | None, typer.Option(metavar="NAME=TEXT", help="Provenance to record: runtime, file, commit.")
    ] = None,
    run_id: Annotated[str, typer.Option(help="Name of the run. Default: derived from what is asked.")] = "",
    keep_errors: Annotated[
        bool, typer.Option("--keep-errors", help="Do not ask again what ended in an error in an earlier start.")
    ] = False,
    reuse: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RUN",
            help="Take the replies of this earlier run to byte-identical requests; may be given several times. "
            "'all': every run of the same model, protocol and precision in the store.",
            show_default=False,
        ),
    ] = None,
    ca_file: Annotated[
        Path | None, typer.Option(help="PEM file of certificates to trust beside the system's.", show_default=False)
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Do not verify the endpoint's certificate. Recorded in the run.")
    ] = False,
    demo_model: Annotated[
        bool, typer.Option("--demo-model", help="Ask Gemma 3 270M on this machine (make model fetches it), 20 items.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be asked and its size; ask nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The outcome as one JSON object on standard output.")] = False,
) -> None:
    """Ask a model every item of the published data sets and score its replies. Starting again continues the run."""
    settings = Settings(
        model=model,
        base_url=base_url,
        api_key_env=api_key_env,
        protocol=protocol,
        budget=budget,
        items=tuple(items or ()),
        subjects=tuple(subject or ()),
        sample=sample,
        store=store,
        benchmark=benchmark,
        item_set="published" if published else "scored",
        most=most,
        repeats=repeats,
        circular=circular,
        rates=Rates(concurrency, not fixed, requests_per_minute, tokens_per_minute),
        timeout=timeout,
        attempts=attempts,
        limit=Limit(max_total_tokens, max_cost),
        price=Price(prompt_price, completion_price),
        request=request,
        precision=precision,
        notes=tuple(note or ()),
        run_id=run_id,
        retry_errors=not keep_errors,
        reuse=tuple(reuse or ()),
        ca_file=ca_file,
        insecure=insecure,
    )
    with _demo(settings) if demo_model else nullcontext(settings) as chosen:
        job = prepare_job(chosen)
        if dry_run:
            _show_plan(job)
            raise typer.Exit(0)
        raise typer.Exit(carry_out(job, as_json=as_json))


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command was given, unchecked."""

    model: str
    base_url: str
    api_key_env: str
    protocol: str
    budget: int | None
    items: tuple[Path, ...]
    subjects: tuple[str, ...]
    sample: Path | None
    store: str
    benchmark: str
    item_set: str
    most: int | None
    repeats: int
    circular: bool
    rates: Rates
    timeout: float
    attempts: int
    limit: Limit
    price: Price
    request: str
    precision: str
    notes: tuple[str, ...]
    run_id: str
    retry_errors: bool
    reuse: tuple[str, ...]
    ca_file: Path | None
    insecure: bool


def prepare_job(given: Settings) -> Job:
    """Everything checked and the items read once; ends the command in words when something is wrong."""
    notes = dict(_pair(each) for each in given.notes) | ({"tls_verification": "off"} if given.insecure else {})
    if not given.model or not given.base_url:
        _stop(USAGE, f"{'--base-url' if given.model else '--model'} is missing (or --demo-model)")
    try:
        wish = Wish(
            model=given.model,
            protocol=find(given.protocol, given.budget),
            benchmark=given.benchmark or ("exam_sample" if given.sample else "exam"),
            repeats=given.repeats,
            extra=_object(given.request),
            circular=given.circular,
            serving_precision=given.precision,
            notes=notes,
            run_id=given.run_id,
        )
        endpoint = Endpoint(
            given.base_url,
            secret=secret_of(given.api_key_env),
            timeout=given.timeout,
            attempts=given.attempts,
            verify_tls=not given.insecure,
            ca_file=given.ca_file,
        )
        items = _items(given)
        roster = Roster(items)
        plan, record = prepare(wish, items, roster)
        sources = _sources(given, record)
    except (StoreError, OSError, ValueError) as error:
        _stop(USAGE, str(error))
    folder = runs_folder(given.store) / record.run_id
    return Job(
        plan,
        record,
        items,
        roster,
        folder,
        endpoint,
        given.rates,
        given.limit,
        given.price,
        given.retry_errors,
        sources,
    )


def _sources(given: Settings, record: RunRecord) -> tuple[Path, ...]:
    """The folders named by --reuse; raises RunError for a name that is no run of the store."""
    runs = runs_folder(given.store)
    there = sorted(path.parent for path in runs.glob(f"[!.]*/{RUN_NAME}"))
    if "all" in given.reuse:
        return tuple(sources_of(record, there))
    by_name = {folder.name: folder for folder in there}
    if unknown := [name for name in given.reuse if name not in by_name]:
        raise RunError(f"--reuse: there is no run {excerpt(unknown[0])} in {runs}; otb run list shows them")
    chosen = tuple(by_name[name] for name in given.reuse)
    if differing := [why for why in (difference(record, folder) for folder in chosen) if why]:
        raise RunError(f"--reuse: {differing[0]}")
    return chosen


@contextmanager
def _demo(given: Settings) -> Iterator[Settings]:
    """The settings for the demo model, which runs as long as they are used. The terms are shown each time."""
    from resources.demo_model import BUDGET, GRAMMAR, MODEL, MOST, TERMS, DemoModel, DemoModelError, provenance
    from samples.benchmark import benchmark_bytes

    print(TERMS, file=sys.stderr)
    grammar = json.dumps({"grammar": GRAMMAR}) if given.protocol == "box" and not given.request else given.request
    try:
        with DemoModel() as running, tempfile.TemporaryDirectory(prefix="otb-") as temporary:
            items = given.items
            if not items and not found_folders(given.store):
                print("nothing is published in the store: the project's sample items are asked", file=sys.stderr)
                items = (Path(temporary) / "sample-items.jsonl",)
                items[0].write_bytes(benchmark_bytes())
            yield replace(
                given,
                model=MODEL,
                base_url=running.base_url,
                budget=given.budget or BUDGET,
                items=items,
                most=min(given.most or 20, MOST),
                rates=Rates(1, adaptive=False),  # side by side, two requests may change each other's last digits
                request=grammar,
                precision="quantised",
                notes=(*given.notes, *(f"{name}={text}" for name, text in provenance().items())),
            )
    except DemoModelError as error:
        _stop(USAGE, str(error))


def carry_out(job: Job, *, as_json: bool = False) -> int:
    """Ask, score and report; returns the exit status."""
    console = Console(stderr=True)
    console.print(f"run {job.record.run_id}: {job.record.n_items:,} items x {job.record.repeats}", highlight=False)
    tally = Tally(job.record.n_items * job.record.repeats, spending=Spending(job.price))
    scorer, watch = scoring_watch(job.roster)
    try:
        write_run(job.folder, job.record, job.plan.protocol)
        taken = take(job.plan, job.record, job.folder, job.reuse)
        for run_id, count in taken.by_run.items():
            console.print(f"{count:,} replies taken from {run_id}", highlight=False, soft_wrap=True)
        outcome, interrupted = uvloop.run(_ask(job, tally, watch, console))
    except (RunLocked, ReuseError) as error:
        _stop(USAGE, str(error))
    except JournalError as error:
        _stop(STOPPED if tally.started and tally.done else USAGE, str(error))
    except DatasetError as error:
        _stop(STOPPED, f"the items changed under the run: {error}")
    if outcome is None:
        console.print(f"interrupted with {tally.done:,} of {tally.total:,} answered; the same command continues")
        return INTERRUPTED
    summary = score(job.folder, job.roster) if outcome.stopped else scorer.summary()
    path = write_scores(job.folder, job.record, job.record.dataset_version, job.record.item_set, summary)
    write_keys(job.folder, job.record.dataset_version, job.items)
    if as_json:
        print(json.dumps(_report(job, outcome, summary), ensure_ascii=False))
    else:
        _print(job, outcome, summary, path, Console())
    if interrupted:
        return INTERRUPTED
    return STOPPED if outcome.stopped else 0 if outcome.complete else UNFINISHED


async def _ask(
    job: Job, tally: Tally, watch: Callable[[Response], None], console: Console
) -> tuple[RunOutcome | None, bool]:
    """The run with its progress; None when it was interrupted."""
    further: dict[str, Any] = {"limit": job.limit, "retry_errors": job.retry_errors, "watch": watch}
    task = asyncio.create_task(run(job.plan, job.folder, job.endpoint, job.rates, tally, **further))
    with _ends_on_signals(task), _progress(console, tally) as show:
        while not task.done():
            await asyncio.wait((task,), timeout=0.25)
            show()
    if task.cancelled():
        return None, True
    return task.result(), False


@contextmanager
def _ends_on_signals(task: asyncio.Task[RunOutcome]) -> Iterator[None]:
    """SIGINT and SIGTERM end the run in order: what was answered is on the disk, what is under way is given up."""
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)
    for each in signals:
        with suppress(NotImplementedError, RuntimeError, ValueError):  # not the main thread, or not this platform
            loop.add_signal_handler(each, task.cancel)
    try:
        yield
    finally:
        for each in signals:
            with suppress(NotImplementedError, RuntimeError, ValueError):
                loop.remove_signal_handler(each)


@contextmanager
def _progress(console: Console, tally: Tally) -> Iterator[Any]:
    """A bar on a terminal, a plain line now and then elsewhere."""
    if not console.is_terminal:
        last = [time.monotonic()]

        def plain() -> None:
            if time.monotonic() - last[0] >= PLAIN_SECONDS:
                last[0] = time.monotonic()
                print(_line(tally), file=sys.stderr, flush=True)

        yield plain
        return
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Bars(*columns, console=console) as bars:
        task: TaskID = bars.add_task("", total=tally.total)
        yield lambda: bars.update(task, completed=tally.done, description=_rates(tally))


def _line(tally: Tally) -> str:
    return f"{tally.done:,} of {tally.total:,}, {_rates(tally)}"


def _rates(tally: Tally) -> str:
    left = tally.seconds_left
    eta = "" if left is None else f", {_duration(left)} left"
    errors = f", {tally.errors.total()} errors" if tally.errors else ""
    money = f", {tally.spending.money:.2f} spent" if tally.spending.money else ""
    return f"{tally.rate:.1f}/s{eta}{errors}{money}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min {rest:02d} s"


def _items(given: Settings) -> ItemSet:
    """What is asked: the given folders and files, else the published subjects of the store."""
    chosen = None if given.sample is None else _chosen(given.sample)
    paths = list(given.items) or published_folders(given.store, given.subjects)
    return ItemSet(tuple(item_file(path) for path in paths), given.item_set, chosen, given.most)


def _chosen(path: Path) -> frozenset[str]:
    """The item ids of an edition's file, or of a plain list."""
    text = read_bytes(path).decode()
    return frozenset(read_edition(path).ids if text.lstrip().startswith("{") else text.split())


def _pair(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name.strip():
        _stop(USAGE, f"--note is NAME=TEXT, got {excerpt(text)}")
    return name.strip()[:60], value.strip()[:500]


def _object(text: str) -> dict[str, Any]:
    if not text:
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise RunError(f"--request is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise RunError("--request is no JSON object")
    return value


def _show_plan(job: Job) -> None:
    """The first request as it would be sent, and how many there are."""
    first = next(questions(job.plan))
    characters = sum(len(each["content"]) for each in first.body["messages"])
    print(json.dumps(first.body, ensure_ascii=False, indent=2))
    print(f"run {job.record.run_id}, protocol {job.record.protocol_id}, data set {job.record.dataset_version}")
    print(
        f"{job.record.n_items:,} items x {job.record.repeats}; the first request has {len(first.payload):,} bytes"
        f" and {characters:,} characters of prompt"
    )


def _report(job: Job, outcome: RunOutcome, summary: Summary) -> dict[str, Any]:
    return {
        "run": asdict(job.record),
        "asked": outcome.asked,
        "skipped": outcome.skipped,
        "stopped": outcome.stopped,
        "attempts": outcome.attempts,
        "dropped_lines": outcome.dropped_lines,
        "adjustments": dict(outcome.adjustments),
        "spending": spending_json(outcome.spending),
        "scores": to_json(summary),
    }


def spending_json(spending: Spending) -> Mapping[str, float | int]:
    """Tokens and money as JSON values."""
    return {
        "responses": spending.responses,
        "prompt_tokens": spending.prompt_tokens,
        "completion_tokens": spending.completion_tokens,
        "reasoning_tokens": spending.reasoning_tokens,
        "estimated": spending.estimated,
        "money": round(spending.money, 6),
    }


def _print(job: Job, outcome: RunOutcome, summary: Summary, path: Path, console: Console) -> None:
    title = f"{escape(excerpt(job.record.model))} · {job.record.protocol_id}"
    table = Table(title=title, title_justify="left", box=SIMPLE)
    for column in ("method", "right", "%", "95 %", "macro", "parsed", "on parsed"):
        table.add_column(column, no_wrap=True, justify="left" if column == "method" else "right")
    for name, found in summary.methods.items():
        mark = " *" if name == job.plan.protocol.extraction else ""
        macro = "" if found.macro.value is None else f"{100 * found.macro.value:.2f}"
        interval = f"{100 * found.micro.low:.2f}-{100 * found.micro.high:.2f}" if found.micro.n else ""
        right = f"{found.micro.hits:,}"
        shares = (_percent(found.micro), interval, macro, _percent(found.parsed), _percent(found.on_parsed))
        table.add_row(name + mark, right, *shares)
    console.print(table)
    console.print("* ranks under this protocol; macro, parsed and on parsed in %")
    errors = ", ".join(f"{count:,} {error.value}" for error, count in sorted(summary.errors.items())) or "none"
    console.print(f"{summary.replies:,} replies; errors: {errors}; cut by the budget: {summary.cap_hits.hits:,}")
    spent = outcome.spending
    estimated = f", {spent.estimated:,} responses estimated" if spent.estimated else ""
    money = f", {spent.money:.2f} spent" if spent.money else ""
    console.print(
        f"tokens: {spent.prompt_tokens:,} prompt, {spent.completion_tokens:,} completion{estimated}{money}"
        f"; {outcome.asked:,} asked, {outcome.skipped:,} answered before, {outcome.attempts:,} requests"
    )
    for name, new in outcome.adjustments.items():
        what = f"sent as {escape(new)}" if new else "left out"
        console.print(
            f"[bold]the endpoint refused {escape(excerpt(name))}: {what}; the run differs from its protocol[/]"
        )
    if outcome.dropped_lines:
        console.print("one line that a kill had cut was dropped from the journal and its question asked again")
    # The journal is read for this alone, and only where it holds an error.
    if summary.errors and (failed := next((each for each in read_responses(job.folder) if each.error), None)):
        said = excerpt(f"{failed.error.value}: {failed.error_detail}", 200)
        console.print(f"the first error: {escape(said)}; the same command asks again what a retry may mend")
    if outcome.stopped:
        console.print(f"[bold]stopped:[/] {escape(outcome.stopped)}")
    console.print(f"{escape(str(path))}", soft_wrap=True)


def _percent(rate: Rate) -> str:
    return "" if rate.value is None else f"{100 * rate.value:.2f}"


def _stop(status: int, message: str) -> NoReturn:
    print(f"otb evaluate: {message}", file=sys.stderr)
    raise typer.Exit(status)
