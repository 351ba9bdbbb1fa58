"""The second key reader: rows of words, answers counted off against labels from left to right.

What belongs here: an independent reading of the cells and the remark, and its comparison with the first reader's sheet.
What does not: columns, pitches, header fields (`keys`). Nothing but the pages' structured text is shared with `keys`.

How it differs on purpose: `keys` takes characters and pairs each cell with the label above it by horizontal distance;
this module takes words, never looks at a column, and gives the k-th word of an answer row to the k-th label of the row
above. A cell lost inside a row shifts the rest here and leaves a hole there, a wrong tolerance there changes nothing
here, so that one fault cannot make both wrong in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pymupdf

from opentwbench.exam.layout import read_key_pages
from opentwbench.exam.model import KeySheet, PaperRejected, RejectionReason

ROW_SLACK = 0.5
"""Vertical distance of two words of one row, in word heights. Rows of real grids are 1.6 or more apart."""

_WIDTHS = {
    ord(wide): narrow for wide, narrow in zip("ＡＢＣＤＥ＃０１２３４５６７８９", "ABCDE#0123456789", strict=True)
}
_CELL = re.compile(r"#|[A-E]{1,5}")
_NUMBERS = re.compile(r"\d+")
_DELIMITERS = re.compile(r"[\s，,。；;、]")
_FOOTER = re.compile(r"第?\d+頁?([/，,-]?共?\d+頁?)?")


@dataclass(frozen=True, slots=True)
class RowReading:
    """What the second reader saw: question number -> cell in half width, and the remark as one text without breaks."""

    cells: Mapping[int, str]
    remark: str


@dataclass(frozen=True, slots=True)
class _Row:
    page: int
    words: tuple[str, ...]

    @property
    def text(self) -> str:
        return "".join(self.words)


def read_rows(path: Path, pages: Sequence[pymupdf.TextPage] = ()) -> RowReading:
    """Read one key PDF by rows; `pages` as in `keys.read_key`.

    Raises `PaperRejected` (key_incomplete) for a row that cannot be counted off.
    """
    try:
        rows = [
            row for number, page in enumerate(pages or read_key_pages(path), start=1) for row in _rows(page, number)
        ]
        return RowReading(_count_off(rows), _remark(rows))
    except PaperRejected as rejection:
        raise PaperRejected(
            rejection.reason, rejection.detail, file=str(path), page=rejection.page, q_no=rejection.q_no
        ) from rejection


def compare(sheet: KeySheet, reading: RowReading) -> tuple[str, ...]:
    """Every difference between the two readers in words ('Q9 C / #'); () when they agree cell by cell."""
    differences = [
        f"Q{q_no} {sheet.cells.get(q_no, 'none')} / {reading.cells.get(q_no, 'none')}"
        for q_no in sorted({*sheet.cells, *reading.cells})
        if sheet.cells.get(q_no) != reading.cells.get(q_no)
    ]
    # One entry can serve several questions, and two entries of one question are joined by a delimiter: each distinct
    # piece must stand in the other reading, and together they must be all of it.
    pieces = {_bare(piece.translate(_WIDTHS)) for entry in sheet.remarks.values() for piece in entry.split("；")}
    missing = sorted(piece for piece in pieces if piece not in reading.remark)
    if missing:
        differences.append(f"remark {missing[0][:40]!r} not seen by the second reader")
    elif len("".join(pieces)) != len(reading.remark):
        differences.append(f"remarks of {len(''.join(pieces))} and {len(reading.remark)} characters")
    return tuple(differences)


def _bare(text: str) -> str:
    return _DELIMITERS.sub("", text)


def _rows(page: pymupdf.TextPage, number: int) -> list[_Row]:
    """Words of a page in rows by the height of their middle."""
    words = page.extractWORDS()
    words.sort(key=lambda word: word[1] + word[3])
    grouped: list[list[tuple[float, float, float, float, str]]] = []
    for x0, y0, x1, y1, text, *_ in words:
        first = grouped[-1][0] if grouped else None
        if first and (y0 + y1) / 2 - (first[1] + first[3]) / 2 <= ROW_SLACK * min(y1 - y0, first[3] - first[1]):
            grouped[-1].append((x0, y0, x1, y1, text))
        else:
            grouped.append([(x0, y0, x1, y1, text)])
    return [_Row(number, tuple(word[4].translate(_WIDTHS) for word in sorted(row))) for row in grouped]


def _count_off(rows: Sequence[_Row]) -> dict[int, str]:
    cells: dict[int, str] = {}
    labels: list[int] = []
    for row in rows:
        text = row.text
        if text.startswith(("題號", "題序")):
            labels = [int(number) for word in row.words for number in _NUMBERS.findall(word)]
        elif text.startswith("答案") and not text.startswith("答案標註"):
            answers = _answers(row)
            if len(answers) > len(labels):
                raise PaperRejected(
                    RejectionReason.KEY_INCOMPLETE,
                    f"{len(answers)} answers below {len(labels)} labels (second reader)",
                    page=row.page,
                    q_no=labels[0] if labels else None,
                )
            cells.update(zip(labels, answers, strict=False))
            labels = []
    return cells


def _answers(row: _Row) -> list[str]:
    """The words of an answer row without the printed 答案, which may be glued to the first cell."""
    first, *rest = row.words
    words = [first.removeprefix("答案"), *rest]
    if first == "答":
        words = [rest[0].removeprefix("案"), *rest[1:]]
    answers = [word for word in words if word]
    for answer in answers:
        if not _CELL.fullmatch(answer):
            raise PaperRejected(
                RejectionReason.KEY_INCOMPLETE, f"answer row holds {answer[:20]!r} (second reader)", page=row.page
            )
    return answers


def _remark(rows: Sequence[_Row]) -> str:
    """All text from 備註 to the end of the sheet, without white space and delimiters.

    Letters and digits are in half width, here and in what `compare` holds against it.
    """
    texts = [_bare(row.text) for row in rows]
    starts = [number for number, text in enumerate(texts) if text.startswith("備註")]
    if not starts:
        return ""
    below = [text for text in texts[starts[0] :] if not _FOOTER.fullmatch(text)]
    return "".join(below).removeprefix("備註").removeprefix("：").removeprefix(":")
