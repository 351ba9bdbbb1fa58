"""`otb audit`: the duplicate audit over any benchmark in a directory of splits.

What belongs here: arguments, tables, the lists as files, exit statuses. What does not: rules (`opentwbench.exam`).
"""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, NoReturn

import polars as pl
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from opentwbench.dataset.atomic import write_file
from opentwbench.dataset.contract import excerpt
from opentwbench.exam.duplicate_audit import Audit, AuditedFile, Disagreement, audit_folder
from opentwbench.exam.split_files import (
    SET_ASIDE,
    AnswerForm,
    AuditError,
    ColumnMap,
    SplitFrom,
    SplitRule,
    list_files,
)

USAGE, INCOMPLETE, FOUND = 2, 3, 4
"""Exit statuses beside 0; 1 stays what Python gives to a fault of ours."""

STATUSES = (
    "Exit status: 0 every file and row was compared; 1 a fault of the program; 2 wrong arguments or nothing to audit; "
    "3 audited, but a file or a row could not be compared (the report names each); 4 under --strict: a test item is in "
    "another split, or answers disagree by text."
)

SHOWN = 20
"""Disagreements, and files that were not compared, in the tables; the lists hold all."""


def audit(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of splits: CSV, JSONL and Parquet.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the exact lists, each as CSV and JSONL; made when missing.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The report as one JSON object on standard output.")] = False,
    question: Annotated[str, typer.Option(help="Column of the question.")] = "question",
    options: Annotated[
        str,
        typer.Option(
            help="Columns of the options with commas between, or one column that holds a list. Default: A, B, C and so "
            "on as far as they go, or else a list named choices or options.",
            show_default=False,
        ),
    ] = "",
    answer: Annotated[str, typer.Option(help="Column of the key; '' when there is none.")] = "answer",
    answer_form: Annotated[
        AnswerForm, typer.Option(help="What names the key: a letter, a place counted from 0 or 1, the option's text.")
    ] = AnswerForm.LETTER,
    split_column: Annotated[
        str, typer.Option(help="Column that names the split of each row.", show_default=False)
    ] = "",
    split_from: Annotated[
        SplitFrom,
        typer.Option(
            help="What names the split of a file: a word like train, val, dev, test at the start or end of its name or "
            "as a folder; its whole name; or its first folder."
        ),
    ] = SplitFrom.WORDS,
    split: Annotated[
        list[str] | None,
        typer.Option(
            help="SPLIT=GLOB: files below DIR that fit the glob are of this split, e.g. dev='*_dev.csv'. May be given "
            "several times; goes before --split-from.",
            show_default=False,
        ),
    ] = None,
    test: Annotated[
        list[str] | None,
        typer.Option(help="A split whose items are scored. May be given several times. Default: test."),
    ] = None,
    strict: Annotated[bool, typer.Option(help="Exit 4 for a leaked test item or answers that disagree.")] = False,
) -> None:
    """Find questions that a benchmark holds twice: with which keys, and in which splits.

    Two rows are duplicates when stem and options agree whatever the order of the options, widths, white space and
    punctuation between words. Their keys are compared by letter and by answer text.
    """
    names = tuple(name.strip() for name in options.split(",")) if options else ()
    columns = ColumnMap(question, names, answer, answer_form, split_column)
    _check(directory, out, columns)
    globs = _globs(split or [])
    _check_globs(directory, globs)
    found = _run(directory, columns, SplitRule(split_from, globs), tuple(test or ("test",)))
    if test and (absent := sorted(set(test) - set(found.figures.splits))):
        _stop(f"--test {absent[0]}: there is no such split; there are {', '.join(found.figures.splits) or 'none'}")
    if out is not None:
        _write_lists(found, out)
    if as_json:
        sys.stdout.write(json.dumps(found.to_json(), ensure_ascii=False) + "\n")
    else:
        show(found, Console())
    raise typer.Exit(exit_status(found, strict=strict))


def exit_status(found: Audit, *, strict: bool) -> int:
    """The status that says how an audit went."""
    if strict and (found.figures.leaked or found.figures.conflicts_by_text):
        return FOUND
    return 0 if found.complete else INCOMPLETE


def _check(directory: Path, out: Path | None, columns: ColumnMap) -> None:
    if not directory.is_dir():
        _stop(f"{directory}: no directory")
    if out is not None and (out.exists() and not out.is_dir()):
        _stop(f"--out {out}: not a folder")
    if out is not None and out.resolve().is_relative_to(directory.resolve()):
        _stop(f"--out {out}: inside {directory}; the next audit would read the lists as splits")
    if not columns.question:
        _stop("--question: a name is needed")
    if len(set(columns.options)) != len(columns.options) or not all(columns.options or ("all",)):
        _stop("--options: a name is empty or stands twice")


def _globs(given: list[str]) -> tuple[tuple[str, str], ...]:
    pairs = []
    for each in given:
        name, equals, glob = each.partition("=")
        if not (name and equals and glob):
            _stop(f"--split {each}: SPLIT=GLOB is needed, e.g. dev='*_dev.csv'")
        pairs.append((name, glob))
    return tuple(pairs)


def _check_globs(directory: Path, globs: tuple[tuple[str, str], ...]) -> None:
    """A glob that fits no file is a slip of the pen: its split would be missing from every figure without a word."""
    try:
        names = [file.name for file in list_files(directory)[0]] if globs else []
    except AuditError as error:
        _stop(str(error))
    for split, glob in globs:
        if not any(fnmatchcase(name, glob) for name in names):
            _stop(f"--split {split}={glob}: no file below {directory} fits")


def _run(directory: Path, columns: ColumnMap, rule: SplitRule, test_splits: tuple[str, ...]) -> Audit:
    console = Console(stderr=True)
    bar = (SpinnerColumn(), TextColumn("{task.completed:,.0f} rows"), TimeElapsedColumn())
    try:
        with Progress(*bar, console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task("", total=None)
            return audit_folder(
                directory, columns, rule, test_splits, lambda rows: progress.update(task, completed=rows)
            )
    except AuditError as error:
        _stop(f"{directory}: {error}")


def _write_lists(found: Audit, out: Path) -> None:
    """Every list as JSONL and CSV. Each file is the old one or the new one; what else is in the folder stays."""
    try:
        for name, frame in found.lists.named().items():
            for suffix, data in (("csv", _csv(frame)), ("jsonl", _jsonl(frame))):
                write_file(out / f"{name}.{suffix}", data)
    except OSError as error:
        _stop(f"--out {out}: {error.strerror}")


def _csv(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_csv(buffer, quote_style="non_numeric")
    return buffer.getvalue()


def _jsonl(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_ndjson(buffer)
    return buffer.getvalue()


def _stop(words: str) -> NoReturn:
    typer.echo(f"otb audit: {_plain(words)}", err=True)
    raise typer.Exit(USAGE)


def _plain(text: str) -> str:
    """Text from outside without control characters: it must not steer the terminal."""
    return "".join(char if char.isprintable() else " " for char in text)


# ---- tables ---------------------------------------------------------------------------------------------------------


def show(found: Audit, console: Console) -> None:
    """Print the figures, the splits, what was not compared, and the first disagreements."""
    figures = found.figures
    table = _table("", "count", title="duplicate audit")
    for words, count in _lines(found):
        table.add_row(words, f"{count:,}")
    console.print(table)
    splits = _table("split", "rows", "in duplicate groups", "test items found in it", title="splits")
    for name, each in figures.splits.items():
        there = "(test)" if name in figures.test_splits else f"{each.test_items:,}"
        splits.add_row(escape(_plain(name)), f"{each.rows:,}", f"{each.duplicated:,}", there)
    console.print(splits)
    if not figures.test_splits:
        console.print("[yellow]no test split: leaks were not looked for; name one with --test[/]", highlight=False)
    _show_faults(found, console)
    for disagreement in found.disagreements[:SHOWN]:
        _show_disagreement(disagreement, console)
    if figures.conflicts_by_text > SHOWN:
        console.print(f"{figures.conflicts_by_text - SHOWN:,} more groups disagree: --out lists them all")


def _lines(found: Audit) -> list[tuple[str, int]]:
    figures = found.figures
    return [
        ("rows", figures.rows),
        ("rows compared", figures.compared),
        ("duplicate groups", figures.groups),
        ("rows in duplicate groups", figures.duplicated),
        ("groups with two or more usable keys", figures.keyed_groups),
        ("conflicts by letter", figures.conflicts_by_letter),
        ("  false: the answer texts agree", figures.false_conflicts),
        ("  true: the answer texts differ", figures.true_conflicts),
        ("conflicts by text behind one letter", figures.hidden_conflicts),
        ("groups across splits", figures.across_splits),
        ("test items", figures.test_items),
        ("test items found in another split", figures.leaked),
        ("  in the same words", figures.leaked_verbatim),
        ("stems with several sets of options", figures.same_stem_stems),
        ("rows with such a stem", figures.same_stem_rows),
    ]


def _show_faults(found: Audit, console: Console) -> None:
    faults = _table("reason", "rows", "", title="faults of rows")
    for name, count in found.figures.left_out.items():
        faults.add_row(name, f"{count:,}", "[red]not compared[/]")
    for name, count in found.figures.notes.items():
        faults.add_row(name, f"{count:,}", "compared")
    if faults.row_count:
        console.print(faults)
    if lost := [file for file in found.files if file.reason and file.reason not in SET_ASIDE]:
        console.print(_files_table(lost))
    aside = Counter(file.reason.value for file in found.files if file.reason in SET_ASIDE)
    if aside:
        words = ", ".join(f"{count:,} {name}" for name, count in aside.most_common())
        console.print(f"files that hold nothing to compare: {words} (--json names them)", highlight=False)


def _files_table(files: list[AuditedFile]) -> Table:
    table = _table("file", "reason", "detail", title="files not compared")
    for file in files[:SHOWN]:
        reason = file.reason.value if file.reason else ""
        table.add_row(escape(_plain(file.name)), f"[red]{reason}[/]", escape(_plain(file.detail)))
    if len(files) > SHOWN:
        table.add_row(f"{len(files) - SHOWN:,} more", "", "--json names them all")
    return table


def _table(*columns: str, title: str) -> Table:
    """A table whose cells break rather than lose their end."""
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _show_disagreement(each: Disagreement, console: Console) -> None:
    title = f"answers disagree ({each.verdict}): {escape(excerpt(_plain(each.question), 60))}"
    table = _table("file", "row", "split", "letter", "answer", title=title)
    for member in each.members:
        cells = (member.file, str(member.row), member.split, member.letter, excerpt(_plain(member.answer), 60))
        table.add_row(*(escape(_plain(cell)) for cell in cells))
    console.print(table)
