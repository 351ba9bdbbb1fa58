"""`otb paper`: parse one pair or a list of pairs, and show what the reader saw.

What belongs here: arguments, files in and out, tables, exit statuses. What does not: rules (`opentwbench.exam`).
"""

from __future__ import annotations

import csv
import html
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from opentwbench.dataset.atomic import write_file
from opentwbench.exam.model import PARSE_CAUSED, PaperRecord
from opentwbench.exam.paper import SECONDS_A_PAPER, parse_pairs, record_to_report
from opentwbench.exam.picture import Wanted, illustrate

USAGE, REJECTED = 2, 3
"""Exit statuses beside 0; 1 stays what Python gives to a fault of ours."""

MAX_PAIRS_BYTES = 64 * 1024 * 1024
"""Largest list of pairs that is read; the ministry's whole index has under 45 MB."""

NO_NAME, UNUSABLE_NAME = "no-name-is-given", "no-file-can-have-this-name"
"""What stands in a rejection for a name that is missing, holds a NUL or is too long; no file is expected there."""

app = typer.Typer(name="paper", help="Parse question papers with their keys, and look at them.", no_args_is_help=True)


@dataclass(frozen=True, slots=True)
class _Given:
    """A pair as the user wrote it (what the records name) and where its files are."""

    question: str
    key: str
    paths: tuple[Path, Path]


@app.command()
def parse(
    question: Annotated[Path | None, typer.Argument(help="Question paper, a PDF.", show_default=False)] = None,
    key: Annotated[Path | None, typer.Argument(help="Its key, a PDF.", show_default=False)] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            help="CSV with the columns question and key, one pair a row. Relative paths start at the working directory,"
            " or else at the CSV's folder.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a pair, in order, nothing else.")] = False,
    processes: Annotated[int, typer.Option(min=1, max=256, help="Worker processes.")] = max(
        1, min(os.cpu_count() or 1, 32)
    ),
    seconds: Annotated[
        float, typer.Option(min=1.0, help="Longest time for one pair before it is rejected as too_large.")
    ] = SECONDS_A_PAPER,
    strict: Annotated[bool, typer.Option(help="With --pairs: exit 3 when a pair was rejected.")] = False,
) -> None:
    """Parse QUESTION and KEY, or every pair of a list.

    A paper that cannot be trusted is rejected with one reason; that is a result, not a failure. A file that is missing
    is a rejected pair too, and so is a row of the list that names only one file.

    Exit status: 0 the pair was accepted (with --pairs: every pair has its record); 2 wrong arguments or a list that
    cannot be read; 3 the pair was rejected (with --pairs: only under --strict).
    """
    given = _given(question, key, pairs)
    records = _records(given, processes, seconds)
    rejected = _print_json(records) if as_json else _print_tables(records, one=pairs is None)
    if rejected and (strict or pairs is None):
        raise typer.Exit(REJECTED)


@app.command()
def show(
    question: Annotated[Path, typer.Argument(help="Question paper, a PDF.")],
    out: Annotated[Path, typer.Option(help="Folder for the pictures; it is made when it is missing.")],
    number: Annotated[
        int | None, typer.Option("--question", min=1, help="Only this question's pages and boxes.")
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=1.0, help="Longest time for the paper before it is refused as too_large.")
    ] = SECONDS_A_PAPER,
) -> None:
    """Draw the pages of QUESTION with the boxes the parser saw: number, stem (Q) and each option by its letter.

    Of a rejected paper every word that was seen is boxed, so that the reason can be checked.

    Exit status: 0 pictures written (also of a rejected paper, whose reason is printed); 2 wrong arguments or no such
    question; 3 the file has no pages to show.
    """
    prefix = f"question_{number:03d}_" if number is not None else ""
    [seen] = illustrate([Wanted(question, number, prefix)], seconds=seconds)
    if seen.no_such_question:
        _refuse(seen.refused)
    if seen.refused:
        typer.echo(_plain(seen.refused), err=True)
        raise typer.Exit(REJECTED)
    for picture in seen.pictures:
        write_file(out / picture.name, picture.png)
        typer.echo(str(out / picture.name))
    words = f"rejected: {_plain(seen.rejection)}" if seen.rejection else f"{seen.questions} questions read"
    typer.echo(words, err=True)


@app.command()
def doubts(
    pairs: Annotated[Path, typer.Option(help="CSV with the columns question and key, one pair a row.")],
    out: Annotated[Path, typer.Option(help="Folder for index.html and the page pictures.")],
    processes: Annotated[int, typer.Option(min=1, max=256, help="Worker processes.")] = max(
        1, min(os.cpu_count() or 1, 32)
    ),
) -> None:
    """List every question that our own reading excludes, and every rejected paper, each with its page image.

    These are the exclusions a better reader could win back: not_text, swallowed_text, displaced_stem, unmapped_glyph,
    remark_unread.

    Exit status: 0 written; 2 wrong arguments or a list that cannot be read.
    """
    given = list(_read_pairs(pairs))
    entries: list[tuple[str, str, str]] = []  # caption, reason, picture ('' when there is none)
    wanted: list[Wanted] = []
    places: list[int] = []  # of each wanted picture's entry
    printed = 0
    for number, (pair, record) in enumerate(zip(given, _records(given, processes, SECONDS_A_PAPER), strict=True)):
        if not record.accepted:
            entries.append((_plain(record.question_file), _detail(record), ""))
        printed += len(record.items)
        for item in record.items:
            if item.exclusion not in PARSE_CAUSED:
                continue
            wanted.append(Wanted(pair.paths[0], item.q_no, f"paper_{number:04d}_question_{item.q_no:03d}_"))
            places.append(len(entries))
            caption = f"{_plain(record.question_file)} question {item.q_no} (page {item.page})"
            entries.append((caption, ", ".join(exclusion.value for exclusion in item.exclusions), ""))
    for place, seen in zip(places, illustrate(wanted, processes=processes), strict=True):
        for picture in seen.pictures:
            write_file(out / picture.name, picture.png)
        if seen.pictures:
            entries[place] = (*entries[place][:2], seen.pictures[0].name)
    doubtful = len(wanted)
    write_file(out / "index.html", _doubts_page(entries, doubtful, printed).encode())
    share = 100 * doubtful / printed if printed else 0.0
    typer.echo(f"{doubtful} of {printed} printed questions ({share:.2f} %) are excluded by our own reading")
    typer.echo(str(out / "index.html"))


def _doubts_page(entries: Sequence[tuple[str, str, str]], doubtful: int, printed: int) -> str:
    """A page that needs nothing but itself and the pictures beside it; every word from outside is escaped."""
    figures = "".join(
        f"<figure><figcaption><b>{html.escape(caption)}</b>: {html.escape(reason)}</figcaption>"
        + (f'<img loading="lazy" src="{name}" alt="page of {html.escape(caption)}">' if name else "")
        + "</figure>"
        for caption, reason, name in entries
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Doubtful readings</title>'
        '<meta name="viewport" content="width=device-width">'
        "<style>body{font:16px sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
        "img{max-width:100%;border:1px solid}</style></head>"
        f"<body><h1>Doubtful readings</h1><p>{doubtful} of {printed} printed questions are excluded by our own reading."
        f"</p>{figures}</body></html>"
    )


# ---------------------------------------------------------------- what was given


def _given(question: Path | None, key: Path | None, pairs: Path | None) -> list[_Given]:
    if pairs is not None:
        if question is not None or key is not None:
            _refuse("give QUESTION and KEY, or --pairs, not both")
        return list(_read_pairs(pairs))
    if question is None or key is None:
        _refuse("give QUESTION and KEY, or --pairs FILE.csv")
    return [_Given(str(question), str(key), (question, key))]


def _read_pairs(path: Path) -> Iterator[_Given]:
    """The rows of a list of pairs. Tolerates a byte order mark, further columns and blank lines."""
    try:
        if path.stat().st_size > MAX_PAIRS_BYTES:
            _refuse(f"{path}: larger than {MAX_PAIRS_BYTES} bytes")
        with path.open(encoding="utf-8-sig", newline="") as stream:
            csv.field_size_limit(MAX_PAIRS_BYTES)  # a long name is its own pair's fault and not the list's
            rows = csv.DictReader(stream, strict=True)
            names = [name.strip() for name in rows.fieldnames or ()]
            missing = [name for name in ("question", "key") if names.count(name) != 1]
            if missing:
                _refuse(
                    f"{path}: needs one column {' and one '.join(missing)}; its header is {','.join(names)[:200]!r}"
                )
            rows.fieldnames = names
            for number, row in enumerate(rows, start=2):
                question, key = row["question"] or "", row["key"] or ""
                if None in row:
                    typer.echo(f"otb paper: {_plain(path.name)}: row {number} has cells beyond the header", err=True)
                if any("\n" in name for name in (question, key)):
                    _refuse(f"{path}: row {number} holds a name over several lines: a quote is not closed")
                if not (question and key):
                    typer.echo(f"otb paper: {_plain(path.name)}: row {number} lacks a question or a key", err=True)
                yield _Given(question, key, (_locate(question, path), _locate(key, path)))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        _refuse(f"{path}: cannot be read as CSV in UTF-8: {error}")


def _locate(name: str, listed_in: Path) -> Path:
    """A path of the list: as it stands when it leads to a file, else from the list's folder."""
    if "\0" in name:
        return listed_in.parent / UNUSABLE_NAME
    path, beside = Path(name or NO_NAME), listed_in.parent / (name or NO_NAME)
    try:
        return beside if not path.is_file() and beside.is_file() else path
    except OSError:  # too long: it names no file
        return listed_in.parent / UNUSABLE_NAME


def _refuse(words: str) -> NoReturn:
    typer.echo(f"otb paper: {_plain(words)}", err=True)
    raise typer.Exit(USAGE)


# ---------------------------------------------------------------- output


def _records(given: Sequence[_Given], processes: int, seconds: float) -> Iterator[PaperRecord]:
    """Records in order under the names that the user gave, with a progress bar on a terminal's standard error."""
    columns = (TextColumn("parsing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    hidden = not console.is_terminal or len(given) < 2
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("", total=len(given))
        records = parse_pairs(
            [pair.paths for pair in given],
            processes,
            seconds=seconds,
            progress=lambda done, total: bar.update(task, completed=done),
        )
        for pair, record in zip(given, records, strict=True):
            yield replace(record, question_file=pair.question, key_file=pair.key)


def _print_json(records: Iterator[PaperRecord]) -> int:
    # A lone surrogate from a hostile file is written as its \u escape, which is what JSON means by it.
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    rejected = 0
    for record in records:
        rejected += not record.accepted
        sys.stdout.write(json.dumps(record_to_report(record), ensure_ascii=False) + "\n")
        sys.stdout.flush()
    return rejected


def _print_tables(records: Iterator[PaperRecord], *, one: bool) -> int:
    console = Console()
    if one:
        record = next(records)
        for _ in records:  # lets the workers end
            raise AssertionError("one pair, more than one record")
        _print_record(console, record)
        return int(not record.accepted)
    table = Table("question paper", "key", "status", "questions", "usable", "detail")
    totals: Counter[str] = Counter()
    for record in records:
        usable = sum(item.exclusion is None for item in record.items)
        totals[record.reason.value if record.reason else "accepted"] += 1
        names = _plain(record.question_file), _plain(record.key_file)
        table.add_row(*map(escape, names), _status(record), str(record.found), str(usable), escape(_detail(record)))
    console.print(table)
    console.print("  ".join(f"{name} {count}" for name, count in totals.most_common()) or "no pairs")
    return sum(totals.values()) - totals["accepted"]


def _print_record(console: Console, record: PaperRecord) -> None:
    console.print(f"[bold]{escape(_plain(record.question_file))}[/bold] with {escape(_plain(record.key_file))}")
    console.print(f"{_status(record)}  {escape(_detail(record))}")
    if not record.accepted:
        return
    table = Table("no.", "key", "accepted", "exclusion", "question")
    for item in record.items:
        table.add_row(
            str(item.q_no),
            item.key or "-",
            " ".join(item.accepted) or "-",
            item.exclusion.value if item.exclusion else "",
            escape(_plain(item.question)[:60]),
        )
    console.print(table)
    buckets = Counter(item.exclusion.value if item.exclusion else "usable" for item in record.items)
    console.print("  ".join(f"{name} {count}" for name, count in buckets.most_common()))


def _status(record: PaperRecord) -> str:
    return "[green]accepted[/green]" if record.accepted else f"[red]rejected: {record.reason}[/red]"


def _detail(record: PaperRecord) -> str:
    return _plain(record_to_report(record)["detail"])


def _plain(text: str) -> str:
    """Text from outside without control characters: it must not steer the terminal."""
    return "".join(char if char.isprintable() else " " for char in text)
