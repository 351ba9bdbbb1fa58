"""`otb extract`: what an extraction method reads in replies, one JSON line each.

What belongs here: arguments, lines in and out, exit statuses. What does not: methods (`opentwbench.evaluation`).
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from typing import Annotated, Any, BinaryIO, TextIO

import typer

from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.files import parse_json
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.extraction import METHODS, read

USAGE, BAD_LINES = 2, 3
"""Exit statuses beside 0; 1 stays what Python gives to a fault of ours."""

STATUSES = (
    "Exit status: 0 every line was read; 1 a fault of the program; 2 wrong arguments; "
    "3 a line was no reply (each is named on standard error, the other lines are printed)."
)

METHOD_HELP = "; ".join(f"{name}: {method.title}" for name, method in METHODS.items())

FIELDS = ("content", "reasoning", "reasoning_content")

MAX_LINE_BYTES = 1 << 25
"""Longest line that is read: a reply of 8 MB, escaped."""


def extract(
    method: Annotated[str, typer.Option("--method", "-m", help=METHOD_HELP.replace("[", "\\["))],
) -> None:
    """Read replies from standard input and print the letter that the method reads in each.

    In, one a line: {"content": text or null, "reasoning": …, "reasoning_content": …}, the last two optional, further
    fields ignored. Out, one a line in the same order: {"answer": "A" or null, "rule": name}. The rule is null when no
    letter was read. A line that is no reply is named on standard error and prints an "error" in its place.
    """
    if method not in METHODS:
        typer.echo(f"otb extract: no method {excerpt(method)}; there are {', '.join(METHODS)}", err=True)
        raise typer.Exit(USAGE)
    # Replies are UTF-8 whatever the locale says, and a lone surrogate must not end the whole stream.
    out = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", errors="backslashreplace", write_through=True)
    try:
        bad = _run(method, sys.stdin.buffer, out)
    except BrokenPipeError:
        # The reader has gone (| head): nothing more can be said to it, at exit neither.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    finally:
        out.detach()
    if bad:
        typer.echo(f"otb extract: {bad} bad line{'s' if bad > 1 else ''}", err=True)
        raise typer.Exit(BAD_LINES)


def _run(method: str, lines: BinaryIO, out: TextIO) -> int:
    bad = 0
    for number, line in enumerate(_bounded(lines), start=1):
        try:
            reply = _reply(line, f"line {number}")
        except DatasetError as error:
            bad += 1
            typer.echo(f"otb extract: {error}", err=True)
            print(json.dumps({"answer": None, "rule": None, "error": str(error)}, ensure_ascii=False), file=out)
            continue
        found = read(method, *reply)
        rule = found.rule if found.answer else None
        print(json.dumps({"answer": found.answer, "rule": rule}, ensure_ascii=False), file=out)
    return bad


def _bounded(lines: BinaryIO) -> Iterator[bytes]:
    """The lines, each cut just above the bound, so that a line without an end costs no memory."""
    while line := lines.readline(MAX_LINE_BYTES + 1):
        yield line
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = lines.readline(MAX_LINE_BYTES)


def _reply(line: bytes, where: str) -> tuple[str | None, ...]:
    """The three texts of a line; raises DatasetError naming the line and what is wrong."""
    if len(line) > MAX_LINE_BYTES:
        raise DatasetError(f"{where}: more than {MAX_LINE_BYTES} bytes")
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise DatasetError(f"{where}: not UTF-8 at byte {error.start}") from None
    record = parse_json(text, where)
    if "content" not in record:
        raise DatasetError(f"{where}: no content")
    return tuple(_text(record, name, where) for name in FIELDS)


def _text(record: dict[str, Any], name: str, where: str) -> str | None:
    value = record.get(name)
    if value is not None and not isinstance(value, str):
        raise DatasetError(f"{where}: {name} must be a text or null, got {excerpt(value)}")
    return value
