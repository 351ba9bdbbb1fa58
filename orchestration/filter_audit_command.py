"""`otb study filters`, `filter-sheet` and `filter-verdicts`: the exclusion rules measured on both sides.

What belongs here: arguments, files, the page. What does not: the draw and the sums (`opentwbench.exam.filter_audit`).

A round: `filter-sheet` writes a blind sheet and its key; a reader answers every number of the sheet without opening the
key; `filter-verdicts` joins answers and key and adds the round to the verdict file; `filters` makes the page.
The sheet holds texts of real papers and stays outside the project; the verdict file holds names, hashes and grounds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from opentwbench.dataset.atomic import write_file
from opentwbench.dataset.files import read_jsonl
from opentwbench.dataset.model import DatasetError
from opentwbench.exam import dependence_audit
from opentwbench.exam.filter_audit import (
    KEPT_EACH,
    REMOVED_EACH,
    AuditError,
    Entry,
    Ground,
    Printed,
    Record,
    Round,
    draw_all,
    figures,
    plant,
    printed_items,
    read_answers,
    read_record,
    sheet,
    shown,
    strata,
)
from opentwbench.exam.index import IndexFormatError, first_key_url, read_index
from opentwbench.exam.mirror import Mirror, MirrorError
from opentwbench.exam.paper import parse_pairs
from orchestration.filter_audit_page import audit_page, show, to_json

USAGE, OPEN = 2, 3
SEED = 20261130
PLANTED_EACH = 4

STATUSES = (
    "Exit status: 0 every drawn question has a verdict that holds; 2 wrong arguments or files; "
    "3 verdicts are stale or missing (they are named)."
)

MirrorOption = Annotated[Path, typer.Option(help="Mirror of the ministry with real papers.")]
VerdictsOption = Annotated[Path, typer.Option(help="Verdict file (JSONL): names, hashes and grounds, no text.")]
ProcessesOption = Annotated[int, typer.Option(min=1, max=256, help="Processes that read papers.")]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(name="filters", epilog=STATUSES)(report)
    app.command(name="filter-sheet")(make_sheet)
    app.command(name="filter-verdicts")(add_verdicts)


def report(
    mirror: MirrorOption,
    verdicts: VerdictsOption,
    page: Annotated[Path | None, typer.Option(help="Write the audit as Markdown here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The figures as one JSON object on standard output.")] = False,
    processes: ProcessesOption = 2,
) -> None:
    """What every exclusion rule removed and what it let through, with false-positive and false-negative rates."""
    record = _read(verdicts)
    items = read_items(mirror, processes)
    try:
        found = figures(items, record)
        second = dependence_audit.figures(items, record, record.rounds[-1].seed)
    except AuditError as error:
        _refuse(str(error))
    if page:
        write_file(page, audit_page(found, record, second).encode())
    if as_json:
        print(json.dumps(to_json(found, second), ensure_ascii=False))
    else:
        show(found, Console())
    for words, names in (("stale", found.stale), ("not judged", found.unjudged)):
        if names:
            typer.echo(f"{len(names)} verdicts {words}: {', '.join(names[:10])}", err=True)
    raise typer.Exit(OPEN if found.stale or found.unjudged else 0)


def make_sheet(
    mirror: MirrorOption,
    out: Annotated[Path, typer.Option(help="Folder for sheet.txt and key.jsonl; outside the project.")],
    round_: Annotated[int, typer.Option("--round", min=1, max=99, help="Number of the round.")],
    verdicts: Annotated[
        Path | None, typer.Option(help="Verdict file: removed questions judged before are not asked again.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = SEED,
    kept_each: Annotated[int, typer.Option(min=1, help="Kept questions of each stratum.")] = KEPT_EACH,
    removed_each: Annotated[int, typer.Option(min=1, help="Questions of each rule.")] = REMOVED_EACH,
    planted: Annotated[int, typer.Option(min=0, max=50, help="Damaged questions of each kind.")] = PLANTED_EACH,
    processes: ProcessesOption = 2,
) -> None:
    """Draw a round and write its blind sheet. Do not open the key before every question has its answer."""
    items = read_items(mirror, processes)
    try:
        before = _read(verdicts) if verdicts else Record()
        entries = blind_sheet(items, before, round_, seed, kept_each, removed_each, planted)
    except AuditError as error:
        _refuse(str(error))
    write_file(out / "sheet.txt", "".join(f"{n}. {shown(e)}\n" for n, e in enumerate(entries, 1)).encode())
    described = Round(round_, seed, kept_each, removed_each, {s: len(members) for s, members in strata(items).items()})
    lines: list[dict[str, Any]] = [described.to_json()]
    lines += [
        {"item": e.printed.name, "text": e.printed.text, "strata": list(e.strata), "damage": e.damage} for e in entries
    ]
    write_file(out / "key.jsonl", "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode())
    typer.echo(f"{out / 'sheet.txt'}: {len(entries)} questions; answer each with one or more of: {' '.join(Ground)}")


def blind_sheet(
    items: Sequence[Printed], before: Record, round_: int, seed: int, kept_each: int, removed_each: int, planted: int
) -> list[Entry]:
    """The questions of a round that no earlier verdict answers, those whose text has changed, and damaged ones."""
    judged = {(v.item, v.text) for v in before.verdicts if not v.damage}
    drawn = draw_all(items, seed, round_, removed_each, kept_each)
    population = strata(items)
    changed = {name for name, _ in judged} - {name for name, _ in judged & _texts(items)}
    for stratum in {s for v in before.verdicts if v.item in changed for s in v.strata} & set(drawn):
        again = [each for each in population[stratum] if each.name in changed and each not in drawn[stratum]]
        drawn[stratum] = [*drawn[stratum], *again]
    drawn = {s: [each for each in members if (each.name, each.text) not in judged] for s, members in drawn.items()}
    taken = {each.name for members in drawn.values() for each in members}
    rest = [each for each in items if each.name not in taken]
    return sheet(drawn, plant(rest, planted, seed + round_), seed + round_)


def _texts(items: Sequence[Printed]) -> frozenset[tuple[str, str]]:
    return frozenset((each.name, each.text) for each in items)


def add_verdicts(
    key: Annotated[Path, typer.Option(help="The key.jsonl of the sheet.")],
    answers: Annotated[Path, typer.Option(help="A line a question: its number and its grounds.")],
    verdicts: VerdictsOption,
    amended: Annotated[
        Path | None, typer.Option(help="Answers that a second look (page, code points) changed; same form.")
    ] = None,
) -> None:
    """Join the answers to a sheet with its key and add the round to the verdict file."""
    try:
        lines = read_jsonl(key)
        head, rest = lines[0], lines[1:]
        first = _answers(answers, len(rest))
        second = first | (_answers(amended, len(rest), partial=True) if amended else {})
        whole = [head]
        for number, line in enumerate(rest, start=1):
            changed = second[number] != first[number]
            whole.append({**line, "round": head["round"], "grounds": list(second[number]), "amended": changed})
        new = read_record(whole)
        old = _read(verdicts) if verdicts.exists() else Record()
        if new.rounds[0].number in {each.number for each in old.rounds}:
            raise AuditError(f"round {new.rounds[0].number} is in {verdicts.name} already")
        joined = Record((*old.rounds, *new.rounds), (*old.verdicts, *new.verdicts))
    except (DatasetError, AuditError, OSError, IndexError, KeyError) as error:
        _refuse(str(error))
    write_file(verdicts, joined.to_lines())
    typer.echo(f"{verdicts}: {len(new.verdicts)} verdicts of round {new.rounds[0].number} added")


def _answers(path: Path, questions: int, *, partial: bool = False) -> dict[int, tuple[Ground, ...]]:
    """A person's file of answers; raises AuditError naming the file."""
    try:
        return read_answers(path.read_text(encoding="utf-8-sig"), questions, partial=partial)
    except UnicodeDecodeError as error:
        raise AuditError(f"{path.name}: not UTF-8 at byte {error.start}") from None
    except AuditError as error:
        raise AuditError(f"{path.name}: {error}") from None


def _read(path: Path) -> Record:
    try:
        return read_record(read_jsonl(path))
    except (DatasetError, AuditError) as error:
        _refuse(f"{path}: {error}")


def read_items(folder: Path, processes: int) -> list[Printed]:
    """Every question of the mirror's distinct papers, each under the id of the first index row that serves it."""
    console = Console(stderr=True)
    columns = (TextColumn("papers read"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        mirror = Mirror(folder)
        index = read_index(mirror.index_path().read_bytes(), "index.csv")
        ids: dict[Any, str] = {}
        for row in index.keyed():
            question, key = mirror.path_of(row.question_url), mirror.path_of(row.key_url)
            if question is not None and key is not None:
                url = first_key_url(row)
                first = mirror.path_of(url) if url else None
                ids.setdefault((question, key, first if first and first.is_file() else None), row.paper_id)
    except (MirrorError, IndexFormatError, OSError) as error:
        _refuse(str(error))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task("", total=len(ids))
        records = parse_pairs(list(ids), processes, progress=lambda done, _: bars.update(task, completed=done))
        return printed_items(zip(ids.values(), records, strict=True))


def _refuse(words: str) -> NoReturn:
    typer.echo(f"otb study filters: {words}", err=True)
    raise typer.Exit(USAGE)
