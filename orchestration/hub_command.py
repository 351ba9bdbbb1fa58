"""`otb hub`: what a push to the Hub would change, the push, and whether the Hub holds what passed the checks.

What belongs here: arguments, tables, exit statuses. What does not: the gate, the push and the comparison
(`resources.hub_publishing`), which the assets `hub_publication` and `hub_combined` use too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from opentwbench.dataset.hub_plan import COMBINED
from opentwbench.exam.subjects import REGISTRY
from orchestration.options import StoreOption
from resources.connections import NOT_APPLIED
from resources.hub_client import HubError
from resources.hub_publishing import (
    MAX_PUSHES,
    NAMES,
    TOKEN_ENV,
    Hub,
    HubSettings,
    NotTheSame,
    Outcome,
    Release,
    combined_release,
    in_parallel,
    subject_release,
)
from resources.store import Store, StoreError

USAGE, DIFFERENT, STOPPED = 2, 3, 4

STATUSES = (
    "Exit status: 0 the Hub holds what passed; 1 a fault of the program; 2 wrong arguments or settings; "
    "3 it does not (plan, verify), or a data set was withheld (push); 4 the Hub could not be asked, or refused."
)

app = typer.Typer(help="Publish data sets on the Hugging Face Hub.", no_args_is_help=True)

Names = Annotated[
    list[str] | None,
    typer.Argument(help=f"Slugs of subjects, or {COMBINED}. Default: every subject that has a data set."),
]
Namespace = Annotated[str, typer.Option(envvar="OTB_HUB_NAMESPACE", help="User or organisation on the Hub.")]
Endpoint = Annotated[str, typer.Option(envvar="HF_ENDPOINT", help="Address of the hub. Default: the public one.")]
TokenEnv = Annotated[str, typer.Option(help="Environment variable that holds the token.")]
Private = Annotated[bool, typer.Option("--private", help="Make new repositories private, and read with the token.")]
SampleOption = Annotated[
    str,
    typer.Option(envvar="OTB_HUB_SAMPLE", help="Edition of the sample, for the combined set; 'none' takes it away."),
]
Jobs = Annotated[int, typer.Option(min=1, max=MAX_PUSHES, help="Data sets at once.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object a data set and line.")]


@app.command(epilog=STATUSES)
def plan(
    names: Names = None,
    store: StoreOption = "store",
    namespace: Namespace = "",
    endpoint: Endpoint = "",
    token_env: TokenEnv = TOKEN_ENV,
    private: Private = False,
    sample: SampleOption = "",
    jobs: Jobs = 2,
    as_json: AsJson = False,
) -> None:
    """Show what a push would add, change and delete. Nothing is changed, and no token is needed for what is public."""
    place, hub, wanted = _open(names, store, HubSettings(namespace, endpoint, token_env, private, sample))
    items: dict[str, dict[str, int]] = {}

    def look(name: str) -> Outcome:
        release = _release(place, name, sample)
        found, items[name], state = hub.plan(release)
        return Outcome(name, hub.repository(name), release.version, state.head, {}, found)

    _report(wanted, look, jobs, as_json, items)


@app.command(epilog=STATUSES)
def push(
    names: Names = None,
    store: StoreOption = "store",
    namespace: Namespace = "",
    endpoint: Endpoint = "",
    token_env: TokenEnv = TOKEN_ENV,
    private: Private = False,
    sample: SampleOption = "",
    jobs: Jobs = 2,
    as_json: AsJson = False,
) -> None:
    """Push data sets: one commit and one tag each, read back row by row. A push that was cut is taken up again."""
    place, hub, wanted = _open(names, store, HubSettings(namespace, endpoint, token_env, private, sample))
    try:
        hub.need_token()
    except HubError as error:
        _stop(USAGE, str(error))
    _report(wanted, lambda name: hub.publish(place, _release(place, name, sample)), jobs, as_json, None)


@app.command(epilog=STATUSES)
def verify(
    names: Names = None,
    store: StoreOption = "store",
    namespace: Namespace = "",
    endpoint: Endpoint = "",
    token_env: TokenEnv = TOKEN_ENV,
    private: Private = False,
    sample: SampleOption = "",
    jobs: Jobs = 2,
    as_json: AsJson = False,
) -> None:
    """Compare what the Hub holds with what passes the checks now: files, tag, and every row as readers get it."""
    place, hub, wanted = _open(names, store, HubSettings(namespace, endpoint, token_env, private, sample))
    _report(wanted, lambda name: hub.verify(_release(place, name, sample)), jobs, as_json, None)


def _release(store: Store, name: str, sample: str) -> Release:
    return combined_release(store, sample) if name == COMBINED else subject_release(store, name)


def _open(names: Sequence[str] | None, store: str, settings: HubSettings) -> tuple[Store, Hub, list[str]]:
    try:
        place = Store(store)
        wanted = list(dict.fromkeys(names or [s for s in place.slugs("datasets") if s in REGISTRY]))
        if unknown := [name for name in wanted if name not in NAMES]:
            _stop(USAGE, f"no data set {unknown[0]!r} in the registry")
        if not wanted:
            _stop(USAGE, f"{store} holds no data set: otb build exam makes them")
        if settings.sample not in ("", NOT_APPLIED) and not Path(settings.sample).is_file():
            _stop(USAGE, f"--sample {settings.sample}: there is no such file")
        hub = settings.open()
        hub.repository(wanted[0])  # a namespace that is none is found before anything is read
    except (StoreError, HubError, ValueError) as error:
        _stop(USAGE, str(error))
    return place, hub, wanted


def _report(
    names: Sequence[str],
    act: Callable[[str], Outcome],
    jobs: int,
    as_json: bool,
    planned: dict[str, dict[str, int]] | None,
) -> NoReturn:
    """Print each outcome and leave with the status of the worst. `planned`: item changes by data set, of a plan."""
    status, lines = 0, []
    for name, end in in_parallel(names, act, jobs):
        if isinstance(end, Outcome):
            status = max(status, DIFFERENT if planned is not None and end.changed else 0)
            lines.append(_line(end, (planned or {}).get(name, {})))
        else:
            stopped = isinstance(end, HubError) and not isinstance(end, NotTheSame)
            status = max(status, STOPPED if stopped else DIFFERENT)
            lines.append({"name": name, "refused": str(end)})
    if as_json:
        for line in lines:
            print(json.dumps(line, ensure_ascii=False))
    else:
        Console().print(_table(lines))
    raise typer.Exit(status)


def _line(end: Outcome, items: dict[str, int]) -> dict[str, Any]:
    about = {"name": end.name, "repository": end.repository, "version": end.version, "commit": end.commit}
    return {**about, "plan": end.plan.to_json(), "items": items, "rows": dict(end.rows), "retries": end.retries}


COLUMNS = ("data set", "version", "add", "change", "delete", "bytes", "items", "rows read back", "note")


def _table(lines: Sequence[dict[str, Any]]) -> Table:
    rows = [_cells(line) for line in lines]
    table = Table(show_lines=False)
    # A plan reads nothing back and a push compares no items: a column without a cell leaves its width to the names.
    shown = [place for place in range(len(COLUMNS)) if place == 0 or any(row[place] for row in rows)]
    for place in shown:
        table.add_column(COLUMNS[place], no_wrap=place == 0, overflow="fold")  # a slug is to be copied
    for row in rows:
        table.add_row(*(row[place] for place in shown))
    return table


def _cells(line: dict[str, Any]) -> list[str]:
    if "refused" in line:
        return [line["name"], *[""] * 7, f"[red]{escape(line['refused'])}[/]"]
    todo = line["plan"]
    items = ", ".join(f"{count} {kind}" for kind, count in line["items"].items())
    counts = [str(len(todo[kind])) for kind in ("add", "change", "delete")]
    note = "nothing to do" if todo["empty"] else "a new repository" if todo["create"] else ""
    read = f"{max(line['rows'].values()):,}" if line["rows"] else ""
    return [line["name"], line["version"], *counts, f"{todo['send_bytes']:,}", items, read, note]


def _stop(status: int, message: str) -> NoReturn:
    Console(stderr=True).print(f"[red]{escape(message)}[/]", highlight=False)
    raise typer.Exit(status)
