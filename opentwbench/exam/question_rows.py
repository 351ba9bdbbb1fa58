"""The second question reader: rows of words, each word given to the marker that stands above or left of it.

What belongs here: an independent reading of every question's stem and options, and its comparison with the first
reader's. What does not: headers, figures, findings, published text (`questions`, `reading`).

How it differs on purpose: `questions` takes painted glyphs, builds lines from base lines, finds the best chain of
numbers by dynamic programming and shares out pieces of lines; this module takes MuPDF's structured words, knows boxes
only, takes the numbers in one greedy pass and asks of every single word which marker it belongs to. It sees no type
size, no raised text and no figure, so letters and digits are compared, not blanks, signs or raised forms. Below the
page's display list the two share nothing but the tables of glyphs and the names of the layouts.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from opentwbench.exam.glyphs import MARKERS, NUMBER_GLYPHS, map_private_use
from opentwbench.exam.layout import Page
from opentwbench.exam.markers import BRACKETED, LETTER_DOT, PICTURES
from opentwbench.exam.model import LETTERS, Question
from opentwbench.exam.painting import Word

SAME_ROW = 0.5
"""Two words share a row when their middles differ by less than this share of the lower one's height."""

TOP = 0.30
"""Running headers stand in this top share of a page."""

BOTTOM = 0.90
"""Turn-over notes stand below this share of a page."""

FREE = 0.4
"""A marker opens an option when this share of its row's height stands free before it, or when it opens its row."""

UNREAD = "?"
"""The letter of a pictured marker: a picture does not say it."""

_RUNNING = re.compile(
    r"(?:代號|頁次|類科|科目|座號|等別|考試別|考試時間)(?:名稱)?[：:]|全[一二三四五六七八九十]+張|^[（(][正背]面[）)]"
)
_TURN_OVER = re.compile(r"^[（(]?(?:請接|請以|背面|請翻)")
_PART = re.compile(r"^[甲乙丙丁]、.{0,12}測驗")
_ANNOUNCES = re.compile(r"第\d{1,3}題?(?:[至到~～\-－—、]|及|和|與)第?\d{1,3}題")
_DIGITS = re.compile(r"[0-9０-９]{1,3}")
_TWICE = re.compile(r"([A-Za-z])\1+")
_GLYPH = re.compile(f"[{''.join(MARKERS)}]")
_TEXT_MARKERS = {
    LETTER_DOT: re.compile(r"^([A-EＡ-Ｅ])[.．]"),
    BRACKETED: re.compile(r"^[（(]([A-EＡ-Ｅ])[）)]"),
}


class _Word(NamedTuple):
    """A word's box and text; `letter` is set for an option marker, whose text is then ''."""

    x0: float
    y0: float
    x1: float
    y1: float
    text: str
    letter: str = ""


class _Row(NamedTuple):
    """Words of one row from left to right; `pictures` holds the left edges of the pictures that stand on it."""

    page: int
    words: list[_Word]
    height: float
    pictures: list[float]

    def numbered(self, columns: Mapping[int, float]) -> bool:
        """True when one picture stands left of the option column."""
        return self.page in columns and sum(x < columns[self.page] - 0.3 * self.height for x in self.pictures) == 1

    @property
    def text(self) -> str:
        return "".join(word.text for word in self.words)


Reading = Mapping[str, str]
"""Part ('stem' or a letter) -> its characters in reading order, blanks dropped."""


def read_second(pages: Sequence[Page], layout: str) -> dict[int, Reading]:
    """Question number -> the second reading; a question that this reader cannot find is not in it.

    `layout` is the marker layout as `markers.layout_of` names it.
    """
    rows = [row for page in pages for row in _content(page, layout)]
    rows = rows[_start(rows) :]
    return {number: _read(number, rows[start:end]) for number, start, end in _numbered(rows)}


def doubts(questions: Iterable[Question], second: Mapping[int, Reading]) -> dict[int, str]:
    """Question number -> the parts that the two readers read differently ('stem, B'), 'all' where one saw no question.

    Questions with findings are left out: figures and formulas keep them from publication already, and this reader knows
    neither.
    """
    found = {}
    for question in questions:
        if question.findings:
            continue
        reading = second.get(question.q_no)
        different = (
            "all" if reading is None else ", ".join(_different({"stem": question.stem, **question.options}, reading))
        )
        if different:
            found[question.q_no] = different
    return found


def _different(first: Reading, second: Reading) -> list[str]:
    """The parts with other letters or digits; options that only signs tell apart (+1, -1) by signs too."""
    return [
        part
        for part in ("stem", *LETTERS)
        if first.get(part, "") != second.get(part, "") and not _alike(part, first, second)
    ]


def _alike(part: str, first: Reading, second: Reading) -> bool:
    here, there = first.get(part, ""), second.get(part, "")
    letters = _comparable(here)
    if letters != _comparable(there):
        return False
    told_by_signs = any(_comparable(text) == letters for other, text in first.items() if other not in ("stem", part))
    return part == "stem" or not told_by_signs or _folded(here) == _folded(there)


def _folded(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", map_private_use(text)).split())


def _comparable(text: str) -> str:
    """Letters and digits in order; a letter drawn twice for boldness (維生素BB12) is one."""
    return _TWICE.sub(r"\1", "".join(filter(str.isalnum, _folded(text))))


# ---------------------------------------------------------------- rows


def _content(page: Page, layout: str) -> list[_Row]:
    """The page's rows without running header and turn-over note, markers set apart."""
    words: list[_Word] = []
    pattern = _TEXT_MARKERS.get(layout)
    for word in page.words:
        if pattern or _GLYPH.search(word[4]):
            words.extend(_parts(word, pattern))
        else:
            words.append(_Word(*word[:5]))
    if layout == PICTURES:
        words += [_Word(box.x0, box.y0, box.x1, box.y1, "", UNREAD) for box in page.images]
    rows = _rows(words, page)
    low = max(
        (i for i, row in enumerate(rows) if row.words[0].y1 < TOP * page.height and _RUNNING.search(row.text)),
        default=-1,
    )
    top = low + 1 if page.number > 1 else 0
    return [row for row in rows[top:] if not (row.words[0].y0 > BOTTOM * page.height and _TURN_OVER.match(row.text))]


def _parts(word: Word, pattern: re.Pattern[str] | None) -> Iterable[_Word]:
    """A word cut at its markers, the cuts placed by equal widths; `pattern` is that of markers in letters."""
    x0, y0, x1, y1, text = word[:5]
    marker = pattern.match(text) if pattern else None
    if marker:
        letter = unicodedata.normalize("NFKC", marker[1])
        yield _Word(x0, y0, x0, y1, "", letter)
        if text[marker.end() :]:
            yield _Word(x0, y0, x1, y1, text[marker.end() :])
        return
    if not _GLYPH.search(text):
        yield _Word(x0, y0, x1, y1, text)
        return
    unit = (x1 - x0) / len(text)
    start = 0
    for found in _GLYPH.finditer(text):
        at = x0 + unit * found.start()
        if found.start() > start:
            yield _Word(x0 + unit * start, y0, at, y1, text[start : found.start()])
        yield _Word(at, y0, at + unit, y1, found[0], MARKERS[found[0]])
        start = found.end()
    if start < len(text):
        yield _Word(x0 + unit * start, y0, x1, y1, text[start:])


def _rows(words: list[_Word], page: Page) -> list[_Row]:
    """Words by the height of their middles; a small word joins the row whose tall words hold its middle."""
    if not words:
        return []
    shortest = 0.8 * median([word.y1 - word.y0 for word in words])
    tall = sorted([w for w in words if w.y1 - w.y0 > shortest], key=lambda w: w.y0 + w.y1)
    grouped: list[list[_Word]] = []
    twice, height = -math.inf, 0.0  # of the row's first word: twice its middle, and its height
    for word in tall:
        _, y0, _, y1, *_ = word
        if y0 + y1 - twice < 2 * SAME_ROW * min(y1 - y0, height):
            grouped[-1].append(word)
        else:
            grouped.append([word])
            twice, height = y0 + y1, y1 - y0
    for word in words:
        if word.y1 - word.y0 <= shortest:
            middle = (word.y0 + word.y1) / 2
            nearest = min(grouped, key=lambda row: abs((row[0].y0 + row[0].y1) / 2 - middle), default=None)
            if nearest and nearest[0].y0 <= middle <= nearest[0].y1:
                nearest.append(word)
            else:
                grouped.append([word])
    grouped.sort(key=lambda row: row[0].y0 + row[0].y1)
    return [_row(page, row) for row in grouped]


def _row(page: Page, words: list[_Word]) -> _Row:
    height = max(word.y1 - word.y0 for word in words)
    middle = (words[0].y0 + words[0].y1) / 2
    pictures = [box.x0 for box in page.images if box.y0 < middle < box.y1 and box.y1 - box.y0 < 1.6 * height]
    return _Row(page.number, sorted(words), height, pictures)


def _start(rows: Sequence[_Row]) -> int:
    """The first row of the multiple-choice part of a mixed paper (hazard 25), else 0."""
    return next((i for i, row in enumerate(rows) if _PART.match(map_private_use(row.text))), 0)


# ---------------------------------------------------------------- numbers


def _numbered(rows: Sequence[_Row]) -> list[tuple[int, int, int]]:
    """(number, first row, row behind the last) of every question.

    Where no number is in the text layer, the pictures in the number column are the numbers (114901/900/0004).
    """
    columns = _option_columns(rows)
    found = _openings(rows, columns) or [
        (n, i) for n, i in enumerate((i for i, row in enumerate(rows) if row.numbered(columns)), start=1)
    ]
    ends = [start for _, start in found[1:]] + [len(rows)]
    return [(number, start, end) for (number, start), end in zip(found, ends, strict=False)]


def _openings(rows: Sequence[_Row], columns: Mapping[int, float]) -> list[tuple[int, int]]:
    """(number, row) of every number, taken greedily: n+1 opens only behind two markers."""
    found: list[tuple[int, int]] = []
    markers = 2
    for i, row in enumerate(rows):
        first = row.words[0]
        if row.page in columns and first.x0 < columns[row.page] - 0.3 * row.height:
            if markers >= 2 and _opens(first.text, len(found) + 1):
                found.append((len(found) + 1, i))
                markers = 0
            elif found and not markers and _number(first.text) == len(found):
                found[-1] = (len(found), i)  # 100年 in the title is no question 1
        markers += sum(1 for word in row.words if word.letter)
    return found


def _opens(text: str, number: int) -> bool:
    """True when the word is the number, or the number glued to a stem (hazard 3)."""
    return _number(text) == number or _leading(text).startswith(str(number))


def _leading(text: str) -> str:
    digits = _DIGITS.match(text)
    return unicodedata.normalize("NFKC", digits[0]) if digits else ""


def _number(text: str) -> int | None:
    if text[:1] in NUMBER_GLYPHS:
        return NUMBER_GLYPHS[text[0]]
    digits = _leading(text)
    return int(digits) if digits else None


def _option_columns(rows: Sequence[_Row]) -> dict[int, float]:
    """Page -> x of its leftmost option column: where most rows that open with a marker start."""
    opening: dict[int, Counter[int]] = {}
    for row in rows:
        if row.words[0].letter:
            opening.setdefault(row.page, Counter())[round(row.words[0].x0)] += 1
    columns = {}
    for page, places in opening.items():
        often = [x for x, count in places.items() if count > 1]
        columns[page] = float(min(often or places))
    return columns


# ---------------------------------------------------------------- one question


def _read(number: int, rows: Sequence[_Row]) -> Reading:
    """The question with markers that open a line or stand behind a gap; with any in order where those are too few."""
    reading = _shared_out(number, rows, FREE)
    return reading if len(reading) > 4 else _shared_out(number, rows, 0.0)


def _shared_out(number: int, rows: Sequence[_Row], free: float) -> Reading:
    parts: dict[str, list[str]] = {}
    columns: list[tuple[float, str]] = []
    expected = 0
    for r, row in enumerate(rows):
        words = _without_number(row.words, number) if r == 0 else row.words
        fresh: list[tuple[float, str]] = []
        right = -math.inf
        texts: list[_Word] = []
        for word in words:
            opens = word.letter and expected < len(LETTERS) and word.letter in (UNREAD, LETTERS[expected])
            if opens and word.x0 - right >= free * row.height:
                fresh.append((word.x0, LETTERS[expected]))
                expected += 1
            else:
                texts.append(word)
            right = word.x1
        if not fresh and expected >= 4 and _closes(row, columns):
            break
        for word in texts:
            parts.setdefault(_owner(word, fresh, columns, row.height), []).append(word.text)
        columns = fresh or columns
    return {part: "".join(texts) for part, texts in parts.items()}


def _without_number(words: Sequence[_Word], number: int) -> list[_Word]:
    """The words of a question's first row without its number: digits, a glyph, or nothing where it is a picture."""
    first = words[0]
    digits = _DIGITS.match(first.text)
    length = len(str(number)) if digits else int(first.text[:1] in NUMBER_GLYPHS)
    rest = first.text[length:].lstrip(".．、") if digits and len(digits[0]) == length else first.text[length:]
    unit = (first.x1 - first.x0) / len(first.text)
    kept = [first._replace(x0=first.x0 + unit * length, text=rest)] if rest else []
    others = list(words[1:])
    if not rest and others and NUMBER_GLYPHS.get(others[0].text[:1]) == number:
        others[0] = others[0]._replace(text=others[0].text[1:])
    return [*kept, *(word for word in others if word.text or word.letter)]


def _owner(word: _Word, fresh: Sequence[tuple[float, str]], columns: Sequence[tuple[float, str]], height: float) -> str:
    """The marker at the word's left in its row; left of them, or in a row without one, the column above."""
    here = [letter for x, letter in fresh if x <= word.x0 + 0.1 * height]
    if here:
        return here[-1]
    if not columns:
        return "stem"
    above = [letter for x, letter in columns if x <= word.x0 + 0.6 * height]
    return above[-1] if above else columns[0][1]


def _closes(row: _Row, columns: Sequence[tuple[float, str]]) -> bool:
    """True for a row behind the last option that cannot belong to it."""
    outside = row.words[0].x0 < min(x for x, _ in columns) - 0.6 * row.height
    return outside or bool(_ANNOUNCES.search(map_private_use(row.text)))
