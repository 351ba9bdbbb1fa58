"""`otb run`: look at runs, compare two, and carry one out through batch files.

What belongs here: which runs, tables, exit statuses. What does not: rules (`opentwbench.evaluation`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, NoReturn, ParamSpec

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.batch_files import take_results, write_requests
from opentwbench.evaluation.comparison import Circular, RunDiff, circular, diff
from opentwbench.evaluation.costs import Price, Spending
from opentwbench.evaluation.extraction import GRADED
from opentwbench.evaluation.items import ItemSet, Roster, item_file
from opentwbench.evaluation.journal import (
    JournalError,
    answered,
    read_adjustments,
    read_protocol,
    read_responses,
    read_run,
    write_run,
)
from opentwbench.evaluation.model import AskedItem, Graded, Rate, Response, RunRecord
from opentwbench.evaluation.prompts import messages, original_letter
from opentwbench.evaluation.protocols import find
from opentwbench.evaluation.rescoring import read_keys, write_keys
from opentwbench.evaluation.runner import Plan
from opentwbench.evaluation.runs import RunError, Wish, prepare, score, write_scores
from opentwbench.evaluation.scoring import ScoringError, grade
from orchestration.local_store import published_folders, runs_folder
from orchestration.options import RunsStoreOption
from resources.store import StoreError

USAGE, NOTHING = 2, 3

STATUSES = (
    "Exit status: 0 done; 1 a fault of the program; 2 wrong arguments; 3 no such run or item, or a run that is not "
    "whole enough."
)

MAX_SHOWN = 20_000
"""Most characters of a reply that are shown."""

P = ParamSpec("P")

app = typer.Typer(help="Look at runs, compare two, and carry one out through batch files.", no_args_is_help=True)

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="Id of a run.")]
MethodOption = Annotated[str, typer.Option(help="Extraction method. Default: the one that ranks under the protocol.")]
JsonOption = Annotated[bool, typer.Option("--json", help="JSON on standard output.")]
ItemsOption = Annotated[
    list[Path] | None,
    typer.Option("--items", help="Data-set folder or JSONL file. Default: what the store has published."),
]


def in_words(command: Callable[P, None]) -> Callable[P, None]:
    """A damaged run folder or data set ends a command with its name, place and reason."""

    @wraps(command)
    def said(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except (JournalError, DatasetError, StoreError, ScoringError) as error:
            _stop(NOTHING, str(error))

    return said


@app.command("list", epilog=STATUSES)
@in_words
def list_runs(store: RunsStoreOption = "store", as_json: JsonOption = False) -> None:
    """Every run of the store: what was asked, how much of it is answered, what it used."""
    found = [_overview(folder) for folder in _all(store)]
    if as_json:
        print(json.dumps(found, ensure_ascii=False))
        return
    for each in found:
        # An id on a line of its own can be copied at any width.
        print(each["run_id"])
        share = f"{each['answered']:,} of {each['questions']:,} answered"
        errors, tokens = f"{each['errors']:,} errors", f"{each['tokens']:,} tokens"
        print("   ", excerpt(each["model"]), each["protocol_id"], share, errors, tokens, sep="  ")


def _overview(folder: Path) -> dict[str, Any]:
    record = read_run(folder)
    spending, replies, errors = Spending(), 0, 0
    for response in read_responses(folder):
        spending.add(response)  # which passes over what was taken from another run
        replies += not response.error
        errors += bool(response.error)
    return {
        **asdict(record),
        "questions": record.n_items * record.repeats,
        "answered": replies,
        "errors": errors,
        "tokens": spending.tokens,
        "adjustments": read_adjustments(folder),
    }


@app.command(epilog=STATUSES)
@in_words
def costs(
    run: RunArgument,
    store: RunsStoreOption = "store",
    prompt_price: Annotated[float, typer.Option(min=0, help="Money for a million prompt tokens.")] = 0.0,
    completion_price: Annotated[float, typer.Option(min=0, help="Money for a million completion tokens.")] = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Tokens of a run, and what they cost at a price."""
    spending = Spending(Price(prompt_price, completion_price))
    for response in read_responses(_folder(store, run)):
        spending.add(response)
    of_one = spending.money / spending.responses if spending.responses else 0.0
    found = {
        "responses": spending.responses,
        "prompt_tokens": spending.prompt_tokens,
        "completion_tokens": spending.completion_tokens,
        "reasoning_tokens": spending.reasoning_tokens,
        "estimated": spending.estimated,
        "money": spending.money,
        "money_per_1000_responses": 1000 * of_one,
    }
    if as_json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name.replace('_', ' ')}: {value:,.4f}" if isinstance(value, float) else f"{name}: {value:,}")


@app.command(epilog=STATUSES)
@in_words
def show(
    run: RunArgument,
    item: Annotated[str, typer.Option(help="Item id.")],
    store: RunsStoreOption = "store",
    items: ItemsOption = None,
    as_json: JsonOption = False,
) -> None:
    """One item of a run: what was asked, what came back, what each method read and made of it."""
    folder = _folder(store, run)
    record, protocol = _record(folder), read_protocol(folder)
    replies = [each for each in read_responses(folder) if each.item_id == item]
    if not replies:
        _stop(NOTHING, f"{excerpt(run)} has no reply to {excerpt(item)}")
    known = _item(item, items, store)
    key = known.key if known else (_keys(folder, record).get(item) or "")
    if not key:
        _stop(NOTHING, f"the key of {excerpt(item)} is not known: name its data set with --items")
    shown = [_shown(grade(each, key), known, protocol) for each in replies]
    if as_json:
        print(json.dumps({"item_id": item, "key": key, "replies": shown}, ensure_ascii=False))
    else:
        _print_item(item, key, shown, Console())


def _item(item_id: str, paths: list[Path] | None, store: str) -> AskedItem | None:
    """The item's texts, None when its data set is not here; the stored reply can be looked at all the same."""
    try:
        files = tuple(item_file(path) for path in paths or published_folders(store))
    except StoreError:
        return None
    return next((each for each in ItemSet(files, "published", frozenset((item_id,)))), None)


def _shown(graded: Graded, item: AskedItem | None, protocol: Any) -> dict[str, Any]:
    response = graded.response
    asked = messages(item, protocol, response.option_order) if item else None
    return {
        "repeat": response.repeat,
        "messages": asked,
        "option_order": response.option_order,
        **{name: getattr(response, name) for name in _REPLY_FIELDS},
        "boxes": graded.boxes,
        "readings": {
            method: {
                "answer": reading.answer,
                "original": _original(reading.answer, response),
                "rule": reading.rule,
                "outcome": graded.outcomes[method].value,
            }
            for method, reading in graded.readings.items()
        },
    }


_REPLY_FIELDS = (
    "content",
    "reasoning",
    "finish_reason",
    "prompt_tokens",
    "completion_tokens",
    "reasoning_tokens",
    "latency_ms",
    "attempts",
    "error",
    "error_detail",
    "served_model",
)


def _original(answer: str | None, response: Response) -> str | None:
    return None if answer is None else original_letter(answer, response.option_order)


def _print_item(item_id: str, key: str, shown: list[dict[str, Any]], console: Console) -> None:
    """Everything from outside is escaped and freed of control characters: a reply may hold a terminal's commands."""
    console.print(f"[bold]{escape(_clean(item_id))}[/], key {key}")
    for each in shown:
        console.rule(f"repeat {each['repeat']}, options shown in the order {each['option_order']}")
        for message in each["messages"] or ():
            console.print(f"[dim]{message['role']}:[/] {escape(_clean(message['content']))}")
        if each["reasoning"]:
            console.print(f"[dim]reasoning:[/] {escape(_clean(each['reasoning']))}")
        console.print(f"[bold]reply:[/] {escape(_clean(each['content'])) if each['content'] else '(none)'}")
        figures = [f"{name} {each[name]}" for name in _REPLY_FIELDS[2:] if each[name] not in (None, "")]
        console.print(f"[dim]{escape(_clean(', '.join(figures)))}[/]")
        table = Table("method", "read", "original", "rule", "outcome", box=SIMPLE)
        for method, found in each["readings"].items():
            table.add_row(method, *(found[name] or "-" for name in ("answer", "original", "rule", "outcome")))
        console.print(table)


def _clean(text: str) -> str:
    cut = text[:MAX_SHOWN] + ("…" if len(text) > MAX_SHOWN else "")
    return "".join(char if char.isprintable() or char == "\n" else "\N{REPLACEMENT CHARACTER}" for char in cut)


@app.command("diff", epilog=STATUSES)
@in_words
def diff_runs(
    first: Annotated[str, typer.Argument(metavar="A", help="Id of a run.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Id of another.")],
    method: MethodOption = "",
    store: RunsStoreOption = "store",
    most: Annotated[int, typer.Option(min=0, help="Differing items in the table; --json has all.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """Compare two runs item by item: who is right where, which letters differ, and whether that is chance."""
    folders = _folder(store, first), _folder(store, second)
    chosen = _method(method, folders[0])
    keys = _keys(folders[0], _record(folders[0])), _keys(folders[1], _record(folders[1]))
    shared = {item_id: key for item_id, key in keys[0].items() if keys[1].get(item_id) == key}
    if not shared:
        _stop(NOTHING, "the two runs share no item with the same key; otb rescore brings both to today's data sets")
    protocols = [read_protocol(folder).protocol_id for folder in folders]
    if protocols[0] != protocols[1]:
        words = f"A was asked under {protocols[0]} and B under {protocols[1]}: what differs may be the protocol's"
        print(words, file=sys.stderr)
    found = diff(*(_graded(folder, shared) for folder in folders), chosen)
    rekeyed = len(keys[0].keys() & keys[1].keys()) - len(shared)
    if as_json:
        print(json.dumps(_diff_json(found, rekeyed), ensure_ascii=False))
    else:
        _print_diff(found, (first, second), rekeyed, most, Console())


def _diff_json(found: RunDiff, rekeyed: int) -> dict[str, Any]:
    names = ("method", "shared", "only_first", "only_second", "both_right", "first_right", "second_right", "both_wrong")
    return {
        **{name: getattr(found, name) for name in names},
        "same_letter": found.same_letter,
        "rekeyed": rekeyed,
        "moves": {f"{one.value}>{other.value}": n for (one, other), n in sorted(found.moves.items())},
        "mcnemar": asdict(found.test),
        "differing": [
            {
                "item_id": each.item_id,
                "repeat": each.repeat,
                "first": {"letter": each.first.letter, "outcome": each.first.outcome.value},
                "second": {"letter": each.second.letter, "outcome": each.second.outcome.value},
            }
            for each in found.differing
        ],
    }


def _print_diff(found: RunDiff, names: tuple[str, str], rekeyed: int, most: int, console: Console) -> None:
    console.print(f"A {escape(names[0])}\nB {escape(names[1])}\nmethod {found.method}", highlight=False)
    console.print(f"{found.shared:,} replies in both; only in A {found.only_first:,}, only in B {found.only_second:,}")
    if rekeyed:
        console.print(f"{rekeyed:,} items left out: the two runs were scored with different keys")
    console.print(f"A {_percent(found.first)}, B {_percent(found.second)}; same letter {found.same_letter:,}")
    console.print(
        f"both right {found.both_right:,}, only A {found.first_right:,}, only B {found.second_right:,}, "
        f"both wrong {found.both_wrong:,}"
    )
    test = found.test
    console.print(f"McNemar: {test.discordant:,} discordant, p = {test.exact_p:.4f} (exact), {test.mid_p:.4f} (mid-p)")
    table = Table("item", "repeat", "A", "B", box=SIMPLE)
    for each in found.differing[:most]:
        sides = (f"{side.letter or '-'} {side.outcome.value}" for side in (each.first, each.second))
        table.add_row(escape(each.item_id), str(each.repeat), *sides)
    if found.differing and most:
        console.print(f"{len(found.differing):,} replies differ" + (f", the first {most}:" if most else ""))
        console.print(table)


@app.command("circular", epilog=STATUSES)
@in_words
def circular_run(
    run: RunArgument, method: MethodOption = "", store: RunsStoreOption = "store", as_json: JsonOption = False
) -> None:
    """What a circular-option run (otb evaluate --circular) says: right in every place, and which places are chosen."""
    folder = _folder(store, run)
    chosen = _method(method, folder)
    try:
        found = circular(_graded(folder, _keys(folder, _record(folder))), chosen)
    except ValueError as error:
        _stop(NOTHING, str(error))
    if as_json:
        print(json.dumps({"method": chosen, **asdict(found)}, ensure_ascii=False))
    else:
        _print_circular(found, chosen, Console())


def _print_circular(found: Circular, method: str, console: Console) -> None:
    console.print(f"method {method}: {found.items:,} items, {found.incomplete:,} left out for a missing reply")
    console.print(f"right in every place: {_percent(found.every)}; right of all replies: {_percent(found.mean)}")
    table = Table("place of the key", "right", "chosen", box=SIMPLE)
    for place, rate in found.by_place.items():
        table.add_row(place, _percent(rate), f"{found.chosen.get(place, 0):,}")
    table.add_row("nothing read", "", f"{found.chosen.get('', 0):,}")
    console.print(table)


@app.command("batch-export", epilog=STATUSES)
def batch_export(
    model: Annotated[str, typer.Option(help="The model's name as the endpoint knows it.")],
    out: Annotated[Path, typer.Option(help="Folder for the request files; made when missing.")],
    protocol: Annotated[str, typer.Option(help="box or pattern.")] = "box",
    budget: Annotated[int | None, typer.Option(help="Completion tokens.", show_default=False)] = None,
    items: ItemsOption = None,
    benchmark: Annotated[str, typer.Option(help="What is asked.")] = "exam",
    repeats: Annotated[int, typer.Option(min=1, max=1000)] = 1,
    precision: Annotated[str, typer.Option(help="native, quantised or unknown.")] = "unknown",
    store: RunsStoreOption = "store",
) -> None:
    """Write the questions that a run has not got yet as files for a Batch API (at most 50,000 requests each)."""
    try:
        wish = Wish(model, find(protocol, budget), benchmark, repeats, serving_precision=precision)
        asked = _set(items, store, "scored")
        plan, record = prepare(wish, asked, Roster(asked))
        folder = runs_folder(store) / record.run_id
        write_run(folder, record, plan.protocol)
        write_keys(folder, record.dataset_version, asked)
        files = write_requests(plan, answered(folder), out)
    except (RunError, JournalError, DatasetError, StoreError, ValueError) as error:
        _stop(USAGE, str(error))
    for path, count in files:
        print(f"{path}: {count:,} requests")
    print(f"run {record.run_id}: otb run batch-import {record.run_id} RESULT... takes the results in")


@app.command("batch-import", epilog=STATUSES)
def batch_import(
    run: RunArgument,
    results: Annotated[list[Path], typer.Argument(metavar="RESULT...", help="Result and error files of the batch.")],
    items: ItemsOption = None,
    store: RunsStoreOption = "store",
) -> None:
    """Take the results of a batch into the run's journal and score it; doing it again changes nothing."""
    folder = _folder(store, run)
    record, protocol = _record(folder), read_protocol(folder)
    try:
        asked = _set(items, store, record.item_set)
        if asked.version != record.dataset_version:
            _stop(USAGE, f"the run asked version {record.dataset_version}, the data set is {asked.version}")
        extra = json.loads(record.extra.get("request", "{}"))
        counts = take_results(Plan(run, record.model, protocol, asked, record.repeats, extra), results, folder)
        roster = Roster(asked)
        write_scores(folder, record, record.dataset_version, record.item_set, score(folder, roster))
    except (JournalError, DatasetError, StoreError, OSError) as error:
        _stop(USAGE, str(error))
    errors = ", ".join(f"{n:,} {error.value}" for error, n in sorted(counts.errors.items())) or "none"
    print(f"{counts.lines:,} lines: {counts.taken:,} taken (errors: {errors}), {counts.known:,} known, ", end="")
    print(f"{counts.foreign:,} of no question of this run")


def _set(items: list[Path] | None, store: str, item_set: str) -> ItemSet:
    return ItemSet(tuple(item_file(path) for path in items or published_folders(store)), item_set)


def _all(store: str) -> list[Path]:
    return [path for path in sorted(runs_folder(store).glob("*")) if (path / "run.json").is_file()]


def _folder(store: str, run: str) -> Path:
    """A run's folder by its id; a name never leaves the folder of runs."""
    found = next((path for path in _all(store) if path.name == run), None)
    if found is None:
        _stop(NOTHING, f"no run {excerpt(run)} in {runs_folder(store)}")
    return found


def _record(folder: Path) -> RunRecord:
    try:
        return read_run(folder)
    except JournalError as error:
        _stop(NOTHING, str(error))


def _keys(folder: Path, record: RunRecord) -> dict[str, str]:
    """The keys that the run was scored with."""
    found = read_keys(folder, record.dataset_version)
    if found is None:
        _stop(NOTHING, f"{record.run_id} was never scored: otb rescore {record.run_id}")
    return found


def _method(method: str, folder: Path) -> str:
    chosen = method or read_protocol(folder).extraction
    if chosen not in GRADED:
        _stop(USAGE, f"no method {excerpt(chosen)}; there are {', '.join(GRADED)}")
    return chosen


def _graded(folder: Path, keys: dict[str, str]) -> Iterator[Graded]:
    return (grade(each, keys[each.item_id]) for each in read_responses(folder) if each.item_id in keys)


def _percent(rate: Rate) -> str:
    low, high = 100 * rate.low, 100 * rate.high
    return "-" if rate.value is None else f"{100 * rate.value:.2f} % ({low:.2f}-{high:.2f}) of {rate.n:,}"


def _stop(status: int, message: str) -> NoReturn:
    print(f"otb run: {message}", file=sys.stderr)
    raise typer.Exit(status)
