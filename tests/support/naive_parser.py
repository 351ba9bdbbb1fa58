"""The parser that everybody writes first: it reads a PDF's text in text order.

Kept to prove that the sample hazards are real: on a plain paper it is right, on every hazard it is wrong.
It is nobody's model; the platform's readers cut by coordinates.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import zip_longest

import pymupdf

_NUMBER = re.compile(r"^(\d{1,3})$")
_NUMBER_DOT = re.compile(r"^(\d{1,3})\.(.*)$")
_MARKERS = {
    "private_use": re.compile("([\ue18c-\ue190])"),
    "letter_dot": re.compile(r"^([A-E])\."),
    "bracketed": re.compile(r"\(([A-E])\)"),
}
_LABEL = re.compile(r"^(?:第(\d{1,3})題|(\d\d))$")
_CELL = re.compile(r"^(?:[A-E]{1,5}|#)$")
_COUNT = re.compile(r"(?:單選題數|題\u3000\u3000數)：(\d+)題")


@dataclass
class NaiveQuestion:
    """What was gathered since the last number."""

    stem: str = ""
    options: dict[str, str] = field(default_factory=dict)


@dataclass
class NaivePaper:
    """Questions by number, header fields by label."""

    questions: dict[int, NaiveQuestion]
    header: dict[str, str]


@dataclass
class NaiveKey:
    """Answers by number (None where there was a label and no answer), header fields, the declared count."""

    cells: dict[int, str | None]
    header: dict[str, str]
    declared: int | None


def _lines(data: bytes) -> list[str]:
    with pymupdf.open(stream=data) as document:
        text = "\n".join(page.get_text() for page in document)
    return [line.strip() for line in text.split("\n") if line.strip()]


def _header(lines: list[str]) -> dict[str, str]:
    """Label and value of one line; a label alone takes the next line."""
    found = {}
    for i, line in enumerate(lines[:12]):
        label, colon, value = line.partition("：")
        if colon:
            found["".join(label.split())] = value or (lines[i + 1] if i + 1 < len(lines) else "")
    return found


def parse_paper(data: bytes, layout: str = "private_use") -> NaivePaper:
    """Questions of a paper: a line that is a number starts one, a marker starts an option, the rest is appended."""
    lines = _lines(data)
    questions: dict[int, NaiveQuestion] = {}
    current: NaiveQuestion | None = None
    letter = ""
    for line in lines:
        number = (_NUMBER if layout == "private_use" else _NUMBER_DOT).match(line)
        if number:
            current = questions.setdefault(int(number[1]), NaiveQuestion())
            letter = ""
            line = number[2] if number.re is _NUMBER_DOT else ""
        if current is None:
            continue
        pieces = _MARKERS[layout].split(line)
        for i, piece in enumerate(pieces):
            if i % 2:
                letter = chr(ord("A") + ord(piece) - 0xE18C) if piece >= "\ue000" else piece
                current.options.setdefault(letter, "")
            elif letter:
                current.options[letter] += piece.strip()
            else:
                current.stem += piece.strip()
    return NaivePaper(questions, _header(lines))


def parse_key(data: bytes) -> NaiveKey:
    """Answers of a key sheet: the n-th label gets the n-th answer."""
    lines = _lines(data)
    labels = [int(m[1] or m[2]) for m in map(_LABEL.match, lines) if m]
    cells = [line for line in lines if _CELL.match(line)]
    count = _COUNT.search("\n".join(lines))
    return NaiveKey(dict(zip_longest(labels, cells)), _header(lines), int(count[1]) if count else None)
