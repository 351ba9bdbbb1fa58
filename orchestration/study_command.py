"""`otb study`: measurements of the platform on damage that it plants itself.

What belongs here: arguments, temporary folders, the page and the summary as files. What does not: trials and counting.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Table

from opentwbench.dataset.atomic import write_file
from opentwbench.dataset.manifest import json_bytes
from opentwbench.dataset.study import CERTAIN, CHANCE
from opentwbench.exam.defect_study import LAYERS, Study, alarm_table, check_table, detection_table, share, to_json
from opentwbench.exam.index import IndexFormatError
from opentwbench.exam.mirror import MirrorError

USAGE, GOT_THROUGH = 2, 3

DEFAULT_SEED = 20261129

STATUSES = (
    "Exit status: 0 every kind that something must catch was caught in every trial; 2 wrong arguments; "
    "3 such a kind got through at least once."
)

app = typer.Typer(help="Measure what the checks are worth.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Measure what the checks are worth."""


@app.command(epilog=STATUSES)
def defects(
    mirror: Annotated[
        list[Path] | None, typer.Option(help="Mirror of the ministry with real papers; may be given several times.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of every choice.")] = DEFAULT_SEED,
    a_paper: Annotated[int, typer.Option(min=1, max=100, help="Trials of each kind on each paper.")] = 2,
    a_set: Annotated[int, typer.Option(min=1, max=100, help="Trials of each kind on each data set.")] = 2,
    files: Annotated[int, typer.Option(min=0, max=10_000, help="Real papers damaged as files.")] = 60,
    processes: Annotated[int, typer.Option(min=1, max=256, help="Processes that read papers.")] = 2,
    page: Annotated[Path | None, typer.Option(help="Write the study as Markdown here.")] = None,
    summary: Annotated[Path | None, typer.Option(help="Write the figures that cards quote here (JSON).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The figures as one JSON object on standard output.")] = False,
) -> None:
    """Plant every known kind of damage at every layer, and count what caught it before publication.

    Printed pages are damaged in the sample ministry. Readings and data sets are those of the mirrors that are given,
    and of the sample ministry when there is none.
    """
    from orchestration.defect_trials import Plan

    plan = Plan(seed, a_paper, a_set, files, processes)
    for folder in mirror or ():
        if not (folder / "index.csv").is_file():
            _refuse(f"{folder} is no mirror: it has no index.csv")
    try:
        study, sources = _run(list(mirror or ()), plan)
    except (MirrorError, IndexFormatError) as error:
        _refuse(str(error))
    if page:
        write_file(page, study_page(study, sources, seed).encode())
    if summary:
        write_file(summary, json_bytes(to_json(study, sources)))
    if as_json:
        print(json.dumps(to_json(study, sources), ensure_ascii=False))
    else:
        _show(study, Console())
    raise typer.Exit(GOT_THROUGH if study.uncaught() else 0)


def _refuse(words: str) -> NoReturn:
    typer.echo(f"otb study: {words}", err=True)
    raise typer.Exit(USAGE)


def _run(mirrors: Sequence[Path], plan: object) -> tuple[Study, list[str]]:
    from orchestration.defect_trials import (
        Plan,
        plant_in_files,
        plant_in_print,
        plant_in_readings,
        plant_in_sets,
        plant_in_store,
        read_mirror,
        refused_samples,
    )
    from samples.ministry import build

    assert isinstance(plan, Plan)
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    study, sources = Study(), []
    with (
        tempfile.TemporaryDirectory(prefix="otb-study-") as temporary,
        Bars(*columns, console=console, disable=not console.is_terminal) as bars,
    ):
        work = Path(temporary)
        build(work / "samples")
        for number, folder in enumerate([work / "samples", *mirrors]):
            progress = _Bars(bars)
            sample, place = number == 0, work / str(number)
            records, read = read_mirror(folder, plan, progress)
            pdfs = len({each.hashes.question for each in records})
            sources.append(f"{'sample' if sample else 'real'}: {len(records)} index rows, {pdfs} question PDFs")
            if sample:
                plant_in_print(study, records, place / "print", plan, progress)
            else:
                plant_in_files(study, records, read, place / "files", plan)
            if sample and mirrors:
                continue  # readings and sets of real papers are what the figures are made from
            plant_in_readings(study, records, read, plan, refused_samples() if sample else frozenset())
            plant_in_sets(study, records, place / "sets", plan, progress)
            plant_in_store(study, records, place / "store", plan)
    return study, sources


class _Bars:
    """Draws one bar a step on standard error."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._tasks: dict[str, object] = {}

    def step(self, what: str, done: int, total: int) -> None:
        """Move the bar of `what`."""
        if what not in self._tasks:
            self._tasks[what] = self._bars.add_task(what, total=total)
        self._bars.update(self._tasks[what], completed=done, total=total)  # type: ignore[arg-type]


# ---- the report -----------------------------------------------------------------------------------------------------


def study_page(study: Study, sources: Sequence[str], seed: int) -> str:
    """The study as a Markdown page: counts and rates only, no text of a paper."""
    figures = study.summary()
    certain, chance = figures[CERTAIN], figures[CHANCE]
    kinds = study.kinds()
    lines = [
        "# Planted defects: what catches which fault, and where",
        "",
        f"Made by `otb study defects --mirror MIRROR --seed {seed} --page PAGE --summary SUMMARY`; do not edit.",
        f"Sources: {'; '.join(sources)}.",
        "",
        "Damage of every known kind is planted at every layer, and the track's own checks judge it. A trial is caught",
        "when nothing wrong would be published. Intervals are Wilson's at 95 %. Damage that changes nothing that would",
        "be published is no trial. `must be caught: no` marks kinds that only another print of the same question, or a",
        "statistic, could see.",
        "",
        f"* Kinds that something must catch: {sum(k.certain for k in kinds)} kinds, {certain.planted:,} trials, "
        f"{certain.caught:,} caught: {share(certain.caught, certain.planted)}.",
        f"* Kinds that only another print or a statistic could see: {sum(not k.certain for k in kinds)} kinds, "
        f"{chance.planted:,} trials, {chance.caught:,} caught: {share(chance.caught, chance.planted)}.",
        f"* Sound papers and data sets: {certain.native:,}, of which a check stopped {certain.false_alarms:,}: "
        f"{share(certain.false_alarms, certain.native)}.",
        "",
        *_uncaught(study),
    ]
    for layer, words in LAYERS.items():
        lines += [f"## {layer.value}", "", f"{words}.", "", *detection_table(study, layer), ""]
    lines += ["## False alarms on sound papers and data sets", "", *alarm_table(study), ""]
    lines += [
        "Every pair of the ministry is taken for sound: a refusal counts as a false alarm, whatever its reason. "
        "A paper is",
        "stopped by the first cross-check that fires. Data sets are those of every subject, of every subject's single",
        "years and of single index rows; a set without a row is no sound set and is not counted. Damage is planted in",
        "the first two kinds of set.",
        "",
        "## The checks",
        "",
        *check_table(),
        "",
    ]
    return "\n".join(lines)


def _uncaught(study: Study) -> list[str]:
    lines = [f"* {k.layer.value} / {k.name}: {k.trials - k.caught} of {k.trials} got through" for k in study.uncaught()]
    return ["**Kinds that must be caught and got through:**", "", *lines, ""] if lines else []


def _show(study: Study, console: Console) -> None:
    table = Table("layer", "damage", "trials", "caught", "by", title="planted defects", title_justify="left")
    for kind in study.kinds():
        by = ", ".join(f"{check} {n}" for check, n in sorted(kind.by.items()))
        style = "red" if kind.certain and kind.caught < kind.trials else None
        table.add_row(kind.layer.value, kind.name, str(kind.trials), share(kind.caught, kind.trials), by, style=style)
    console.print(table)
    alarms = Table("check", "sound", "fired", title="on sound papers and data sets", title_justify="left")
    for check, n in study.native.items():
        alarms.add_row(check, str(n), str(study.alarms[check]))
    console.print(alarms)
