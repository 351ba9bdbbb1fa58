"""From spans to the words a reader sees: spaces, line joins, raised and lowered text.

What belongs here: how pieces of text join. What does not: which pieces belong together.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from opentwbench.exam.glyphs import fold_spaces, normalise, subscript, superscript
from opentwbench.exam.layout import SMALL, Span

Row = Sequence[tuple[Span, int]]
"""The pieces of one visual line with their shift: 1 raised, -1 lowered, 0 on the line."""

WORD_GAP = 0.15
"""A gap between two Latin spans above this share of the size is a space that the text layer left out."""

COLUMN_GAP = 1.5
"""A gap above this share of the size separates words of any script (tabulated enumerations)."""


def is_wide(char: str) -> bool:
    """True for a character set as wide as a Chinese one (CJK, full-width forms, private use, Chinese dashes)."""
    return (
        ord(char) > 0x2E7F
        or char in "—…‧"
        or unicodedata.east_asian_width(char) in "WF"
        or 0x2460 <= ord(char) <= 0x24FF
    )


def read_text(rows: Sequence[Row]) -> str:
    """The rows of one part as published text: joined, spaces settled, normalised.

    Space around Chinese characters beside Latin letters or digits is set by the typesetter, not typed, so it goes;
    lines join without a space unless both ends are Latin.
    """
    text = ""
    for row in rows:
        line = _row_text(row)
        if not line:
            continue
        text = _join(text, line)
    return _settle(normalise(text))


def _join(text: str, line: str) -> str:
    if not text:
        return line
    left, right = text.rstrip(), line.lstrip()
    if not left or is_wide(left[-1]) or is_wide(right[0]):
        return left + right
    if left[-1] == "-" and len(left) > 1 and left[-2].isalpha():
        return left + right
    return f"{left} {right}"


def _row_text(row: Row) -> str:
    text = ""
    last: Span | None = None
    i = 0
    while i < len(row):
        span, shift = row[i]
        piece = fold_spaces(span.text)
        if _is_filler(row, i):
            i += 1
            continue
        if shift:
            while i + 1 < len(row) and row[i + 1][1] == shift:
                i += 1
                piece += fold_spaces(row[i][0].text)
            piece = superscript(piece) if shift > 0 else subscript(piece, text)
        if last is not None and piece.strip() and not shift and _gap_is_space(text, piece, last, span):
            text += " "
        text += piece
        if piece.strip():
            last = row[i][0]
        i += 1
    return text.strip()


def _is_filler(row: Row, i: int) -> bool:
    """True for a blank set in the raised type right before raised text: HCO3, blank, raised minus is one word."""
    span, _ = row[i]
    if span.text.strip() or i + 1 == len(row) or row[i + 1][1] <= 0:
        return False
    return span.size < SMALL * max(s.size for s, _ in row)


def _gap_is_space(text: str, piece: str, last: Span, span: Span) -> bool:
    if text.endswith(" ") or piece.startswith(" "):
        return False
    gap = (span.x0 - last.x1) / max(span.size, 1.0)
    if gap > COLUMN_GAP:
        return True
    return gap > WORD_GAP and not is_wide(text[-1:] or "　") and not is_wide(piece[0])


_WIDE_RANGES = r"\u2460-\u24ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff"
_BESIDE_WIDE = re.compile(
    rf"(?<=[{_WIDE_RANGES}]) (?=[^\s{_WIDE_RANGES}])|(?<=[^\s{_WIDE_RANGES}]) (?=[{_WIDE_RANGES}])"
)
_BEFORE_MARK = re.compile(r" +(?=[，。；：、？！）」』】〉》])|(?<=[（「『【〈《，。；：、？！]) +")


def _settle(text: str) -> str:
    """Drop typesetter's space between Chinese and Latin, and around full-width punctuation."""
    text = _BEFORE_MARK.sub("", text)
    return _BESIDE_WIDE.sub("", text)
