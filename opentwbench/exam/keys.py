"""The first key reader: one key PDF becomes a `KeySheet`, cells paired with labels by page coordinates.

What belongs here: the geometry of the three grid kinds, the sheet's header fields and its remarks as printed.
What does not: what a remark means (`corrections`), the second reader (`key_rows`), comparing anything (`paper`).

The text layer of a key is in no useful order (第13題 follows 第40題, all answers stand behind 第100題), so that only
coordinates decide. Every length below is either the grid's own pitch or the letter height of the line it judges.
Sources: hazards 5-8 and 12 of the hazards list; the 278 real keys of ROC 100-114 (one page each, by JasperReports).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import pymupdf

from opentwbench.exam.glyphs import half_width, map_private_use
from opentwbench.exam.layout import read_key_pages
from opentwbench.exam.model import LETTERS, Declared, KeySheet, PaperRejected, RejectionReason

MAX_KEY_CHARACTERS = 60_000
"""Most characters of a key over all pages. Real ones hold at most about 1,500."""

MAX_QUESTION = 999
"""Largest question number that a label may carry; real papers end at 100."""

CELL_OFFSET = 0.25
"""How far the middle of a cell may lie from the middle of its label, in pitches. Real cells: at most 0.07."""

CELL_GAP = 0.15
"""Widest gap between two letters of one cell, in pitches. Real multi-letter cells: 0; neighbouring cells: over 0.4."""

LINE_SLACK = 0.3
"""How far baselines of one line may differ, in letter heights. Labels are up to 0.2 off their value."""

PARAGRAPH_PITCH = (0.95, 1.5)
"""Baseline distance of two lines of one header value, in letter heights. Real: 1.1-1.25; next field: 1.6."""

_ANSWER = frozenset(LETTERS + "#")
_FIELD = re.compile(r"(考試名稱|類科名稱|科目名稱|單選題數|複選題數|題數|標準答案|單選每題配分|複選每題配分|備註)[：:]")
_NAMES = ("考試名稱", "類科名稱", "科目名稱")
_TITLE = re.compile(r"測驗(?:式試)?題標準答案")
_LABEL_ROW = re.compile(r"題[號序]")
_ORDINAL = re.compile(r"第(\d{1,3})題")
_PAGE_NUMBER = re.compile(r"(?:第?\d{1,3}(?:頁|/\d{1,3}|-\d{1,3})?(?:[，,]?共\d{1,3}頁)?|頁次[：:]\d{1,3}[-/]\d{1,3})")
_CODE = re.compile(r"[（(]試題代號[：:](\d{3,6})[）)]")
_COUNT = re.compile(r"(\d{1,3})題")
_HEAD = re.compile(r"第\d{1,3}(?:題?[、，,及和與至~～－-]第?\d{1,3})*題")
_REFERENCE = re.compile(r"([至~～－-]?)第?(\d{1,3})題?")
_BREAKS = "，,。；;、 "


class _Char(NamedTuple):
    """One printed character: its text, the horizontal extent, the baseline and the letter height in points."""

    text: str
    x0: float
    x1: float
    y: float
    size: float
    page: int


@dataclass(frozen=True, slots=True)
class _Line:
    """Characters of one baseline, left to right."""

    chars: tuple[_Char, ...]

    @property
    def text(self) -> str:
        return "".join(char.text for char in self.chars)

    @property
    def page(self) -> int:
        return self.chars[0].page

    @property
    def y(self) -> float:
        return fmean(char.y for char in self.chars)


@dataclass(frozen=True, slots=True)
class _Label:
    """A printed question number and the middle of its column."""

    q_no: int
    centre: float
    page: int


@dataclass(slots=True)
class _Band:
    """A label row and every line below it up to the next row: the place where its answers are."""

    kind: str
    labels: list[_Label]
    head: float
    """Middle of the printed 題號, the anchor of the pitch when the row has one label."""
    page: int
    lines: list[_Line]


@dataclass(slots=True)
class _Parts:
    """The sheet cut into its three parts, in reading order."""

    header: list[_Char]
    bands: list[_Band]
    remark: list[_Line]


def read_key(path: Path, pages: Sequence[pymupdf.TextPage] = ()) -> KeySheet:
    """Read one key PDF; `pages` are its pages as `read_key_pages` gives them, where both readers look at them.

    Raises `PaperRejected`: not_a_pdf, encrypted, too_large, no_text_layer for the file itself; key_incomplete, with
    page and question, when the labels are not 1..M, the filled cells are not exactly 1..N, a cell pairs with no label
    or with two, a mark is no letter, or a remark names no question of the sheet; count_mismatch when one count is
    printed twice with two values. The declared counts are returned as printed: comparing them is the caller's work,
    because the ministry has misprinted them (hazard 4).
    """
    try:
        parts = _cut(_lines(_characters(pages or read_key_pages(path))))
        cells = _cells(parts.bands)
        header = _header(parts.header)
        return KeySheet(
            file=str(path),
            declared=_declared(header),
            cells=cells,
            remarks=_remarks(parts.remark, len(cells)),
            header=header,
            grid=parts.bands[0].kind,
            corrected="更正" in header.get("標題", ""),
        )
    except PaperRejected as rejection:
        raise PaperRejected(
            rejection.reason, rejection.detail, file=str(path), page=rejection.page, q_no=rejection.q_no
        ) from rejection


# ---------------------------------------------------------------- characters and lines


def _characters(pages: Sequence[pymupdf.TextPage]) -> list[_Char]:
    found: list[_Char] = []
    for number, page in enumerate(pages, start=1):
        found += _page_characters(page, number)
        if len(found) > MAX_KEY_CHARACTERS:
            raise PaperRejected(RejectionReason.TOO_LARGE, f"over {MAX_KEY_CHARACTERS} characters", page=number)
    if not found:
        raise PaperRejected(RejectionReason.NO_TEXT_LAYER, "no page has text")
    return found


def _page_characters(page: pymupdf.TextPage, number: int) -> list[_Char]:
    found: list[_Char] = []
    for block in page.extractRAWDICT()["blocks"]:
        for line in block.get("lines", ()):
            for span in line["spans"]:
                size = span["size"]
                for char in span["chars"]:
                    text = _as_read(char["c"])
                    if not text.isspace():
                        x0, _, x1, _ = char["bbox"]
                        found.append(_Char(text, x0, x1, char["origin"][1], size, number))
    return found


@lru_cache(4096)
def _as_read(char: str) -> str:
    """One character of the text layer as a reader sees it."""
    return unicodedata.normalize("NFC", map_private_use(char))


def _lines(chars: Iterable[_Char]) -> list[_Line]:
    """Characters grouped by page and baseline, from top to bottom."""
    lines: list[list[_Char]] = []
    for char in sorted(chars, key=attrgetter("page", "y")):
        last = lines[-1][0] if lines else None
        if last and last.page == char.page and char.y - last.y <= LINE_SLACK * min(last.size, char.size):
            lines[-1].append(char)
        else:
            lines.append([char])
    return [_Line(tuple(sorted(line, key=attrgetter("x0")))) for line in lines]


def _cut(lines: Sequence[_Line]) -> _Parts:
    """Header, grid and remark, told apart by what each line starts with."""
    parts = _Parts([], [], [])
    place = "header"
    for line in lines:
        text = line.text
        if _LABEL_ROW.match(text):
            place = "grid"
            parts.bands.append(_band(line))
            continue
        if text.startswith("備註"):
            place = "remark"
        elif _TITLE.match(text) or _FIELD.match(text):
            place = "header"
        if _PAGE_NUMBER.fullmatch(half_width(text)):
            continue
        if place == "header":
            parts.header.extend(line.chars)
        elif place == "grid":
            parts.bands[-1].lines.append(line)
        else:
            parts.remark.append(line)
    if not parts.bands:
        raise PaperRejected(RejectionReason.KEY_INCOMPLETE, "no row of question labels (題號, 題序) on any page")
    return parts


# ---------------------------------------------------------------- the grid


def _band(line: _Line) -> _Band:
    head = fmean((line.chars[0].x0, line.chars[1].x1))
    kind, labels = _labels(line)
    return _Band(kind, labels, head, line.page, [])


def _labels(line: _Line) -> tuple[str, list[_Label]]:
    """The labels of one row with their columns. A row may hold none: the last 題序 row of a sheet is often unused."""
    chars = line.chars[2:]
    text = half_width("".join(char.text for char in chars))
    order = "question_order" if line.text.startswith("題序") else "question_number"
    if "第" in text:
        if _ORDINAL.sub("", text):
            raise PaperRejected(
                RejectionReason.KEY_INCOMPLETE, f"label row holds {_ORDINAL.sub('', text)[:20]!r}", page=line.page
            )
        spans = [(m.start(), m.end(), int(m[1])) for m in _ORDINAL.finditer(text)]
        return "ordinal", [_label(chars[a:b], number) for a, b, number in spans]
    if text and not text.isdecimal():
        raise PaperRejected(RejectionReason.KEY_INCOMPLETE, f"label row holds {text[:20]!r}", page=line.page)
    # Digits of one number touch, numbers of neighbouring columns are more than a digit apart.
    return order, [_label(run, int("".join(c.text for c in run))) for run in _runs(chars, line.chars[0].size / 4)]


def _label(chars: Sequence[_Char], number: int) -> _Label:
    if not 1 <= number <= MAX_QUESTION:
        raise PaperRejected(RejectionReason.KEY_INCOMPLETE, f"label {number}", page=chars[0].page)
    return _Label(number, fmean((chars[0].x0, chars[-1].x1)), chars[0].page)


def _runs(chars: Sequence[_Char], gap: float) -> list[list[_Char]]:
    """Neighbouring characters (sorted left to right) whose gap is at most `gap` points."""
    runs: list[list[_Char]] = []
    for char in chars:
        if runs and char.x0 - runs[-1][-1].x1 <= gap:
            runs[-1].append(char)
        else:
            runs.append([char])
    return runs


def _cells(bands: Sequence[_Band]) -> dict[int, str]:
    """Question number -> cell over all bands, exactly 1..N."""
    labels = [label for band in bands for label in band.labels]
    _check_labels(labels, {band.kind for band in bands if band.labels})
    pitch = _pitch(bands)
    cells: dict[int, str] = {}
    for band in bands:
        cells.update(_band_cells(band, pitch))
    return _check_complete(cells, labels)


def _check_labels(labels: Sequence[_Label], kinds: set[str]) -> None:
    if not labels:
        raise PaperRejected(RejectionReason.KEY_INCOMPLETE, "the label rows hold no question number")
    if len(kinds) > 1:
        raise PaperRejected(RejectionReason.KEY_INCOMPLETE, f"two grid kinds on one sheet: {', '.join(sorted(kinds))}")
    for expected, label in enumerate(labels, start=1):
        if label.q_no != expected:
            raise PaperRejected(
                RejectionReason.KEY_INCOMPLETE,
                f"label {label.q_no} stands where {expected} is expected",
                page=label.page,
                q_no=expected,
            )


def _pitch(bands: Sequence[_Band]) -> float:
    """Smallest distance of two neighbouring columns in points; of 題號 and its only label when there is one label."""
    steps = [b.centre - a.centre for band in bands for a, b in pairwise(band.labels)]
    if not steps:
        steps = [band.labels[0].centre - band.head for band in bands if band.labels]
    pitch = min(steps)
    if pitch <= 0:
        raise PaperRejected(RejectionReason.KEY_INCOMPLETE, "labels do not run from left to right", page=bands[0].page)
    return pitch


def _band_cells(band: _Band, pitch: float) -> dict[int, str]:
    """The cells of one band; an unfilled label has none."""
    cells: dict[int, str] = {}
    if not any(line.text.startswith("答案") for line in band.lines):
        raise PaperRejected(
            RejectionReason.KEY_INCOMPLETE,
            "label row without a row of answers (答案) below it",
            page=band.page,
            q_no=band.labels[0].q_no if band.labels else None,
        )
    for line in band.lines:
        chars = line.chars[2:] if line.text.startswith("答案") else line.chars
        for run in _runs(chars, CELL_GAP * pitch):
            label = _label_of(run, band, pitch)
            if label.q_no in cells:
                raise PaperRejected(
                    RejectionReason.KEY_INCOMPLETE, "two cells below one label", page=label.page, q_no=label.q_no
                )
            cells[label.q_no] = _cell_text(run, label)
    return cells


def _label_of(run: Sequence[_Char], band: _Band, pitch: float) -> _Label:
    """The one label above a cell."""
    x0, x1 = run[0].x0, run[-1].x1
    text = "".join(char.text for char in run)[:20]
    covered = [label for label in band.labels if x0 < label.centre < x1]
    if len(covered) > 1:
        raise PaperRejected(
            RejectionReason.KEY_INCOMPLETE,
            f"cell {text!r} lies below the labels {', '.join(str(label.q_no) for label in covered)}",
            page=run[0].page,
            q_no=covered[0].q_no,
        )
    near = [label for label in band.labels if abs(label.centre - (x0 + x1) / 2) <= CELL_OFFSET * pitch]
    if len(near) != 1:
        raise PaperRejected(
            RejectionReason.KEY_INCOMPLETE,
            f"cell {text!r} at x {x0:.0f} pairs with no label",
            page=run[0].page,
            q_no=min(band.labels, key=lambda label: abs(label.centre - x0)).q_no if band.labels else None,
        )
    return near[0]


def _cell_text(run: Sequence[_Char], label: _Label) -> str:
    """The cell in half width: '#', or distinct letters in marker order, none printed over another."""
    if _overprinted(run):
        raise PaperRejected(
            RejectionReason.KEY_INCOMPLETE, "two letters printed over each other", page=label.page, q_no=label.q_no
        )
    text = half_width("".join(char.text for char in run))
    letters = set(text)
    sound = letters <= _ANSWER and len(letters) == len(text) and (text == "#" or "#" not in text)
    if not sound or list(text) != sorted(text):
        raise PaperRejected(
            RejectionReason.KEY_INCOMPLETE, f"cell holds {text[:20]!r}", page=label.page, q_no=label.q_no
        )
    return text


def _overprinted(chars: Sequence[_Char]) -> bool:
    """True when two neighbours share more than half a width.

    Seen on the exam name of four real sheets (102121/201): a new name typed over the old one, which is still there.
    """
    return any(a.x1 - b.x0 > min(a.x1 - a.x0, b.x1 - b.x0) / 2 for a, b in pairwise(chars))


def _check_complete(cells: Mapping[int, str], labels: Sequence[_Label]) -> dict[int, str]:
    if not cells:
        raise PaperRejected(RejectionReason.KEY_INCOMPLETE, "no cell is filled", page=labels[0].page)
    last = max(cells)
    for label in labels[:last]:
        if label.q_no not in cells:
            raise PaperRejected(
                RejectionReason.KEY_INCOMPLETE,
                f"empty cell before the last filled one ({last})",
                page=label.page,
                q_no=label.q_no,
            )
    return {q_no: cells[q_no] for q_no in range(1, last + 1)}


# ---------------------------------------------------------------- the header


def _header(chars: Sequence[_Char]) -> dict[str, str]:
    """Header fields by name, plus 標題 and, where the sheet prints one, 試題代號.

    Names and values are separate boxes that overlap in height, and a long value is printed smaller or over several
    lines, beginning above its name. So a value is a paragraph (same letter height, same left edge, regular line pitch)
    and belongs to the name nearest to its middle. Counts and the legend stand on the line of their name.
    """
    sized: dict[tuple[int, int], list[_Char]] = {}
    for char in chars:
        sized.setdefault((char.page, round(char.size * 4)), []).append(char)
    lines = [line for group in sized.values() for line in _lines(group)]
    lines.sort(key=lambda line: (line.page, line.y))
    fields, values = _split_names(lines)
    names = [(name, line.page, line.y) for name, line in fields if name in _NAMES]
    header: dict[str, str] = {}
    for name, line in fields:
        if name not in _NAMES:
            _put(header, name, line.text)
    for paragraph in _paragraphs(values):
        _file_paragraph(header, names, paragraph)
    return _split_code(header)


def _split_names(lines: Sequence[_Line]) -> tuple[list[tuple[str, _Line]], list[_Line]]:
    """(name, the rest of its line) for the fields, and the lines that may be values of 考試名稱, 類科名稱, 科目名稱.

    The name's own line stands for its place on the page; an empty rest keeps the name's characters.
    """
    fields: list[tuple[str, _Line]] = []
    values: list[_Line] = []
    for line in lines:
        found = list(_FIELD.finditer(line.text))
        if _TITLE.match(line.text):
            fields.append(("標題", line))
            continue
        if found and found[0].start() > 0:
            values.append(_Line(line.chars[: found[0].start()]))
        if not found:
            values.append(line)
            continue
        ends = [match.start() for match in found[1:]] + [len(line.chars)]
        for match, end in zip(found, ends, strict=True):
            rest = line.chars[match.end() : end]
            if match[1] in _NAMES:
                fields.append((match[1], _Line(line.chars[match.start() : match.end()])))
                values.extend([_Line(rest)] if rest else [])
            elif rest:
                fields.append((match[1], _Line(rest)))
    return fields, values


def _paragraphs(lines: Sequence[_Line]) -> list[list[_Line]]:
    paragraphs: list[list[_Line]] = []
    low, high = PARAGRAPH_PITCH
    for line in lines:
        for paragraph in paragraphs:
            last = paragraph[-1]
            size = last.chars[0].size
            same_box = last.page == line.page and abs(last.chars[0].x0 - line.chars[0].x0) <= size / 2
            if same_box and line.chars[0].size == size and low * size <= line.y - last.y <= high * size:
                paragraph.append(line)
                break
        else:
            paragraphs.append([line])
    return paragraphs


def _file_paragraph(
    header: dict[str, str], names: Sequence[tuple[str, int, float]], paragraph: Sequence[_Line]
) -> None:
    text = "".join(line.text for line in paragraph)
    if any(_overprinted(line.chars) for line in paragraph):
        return  # two texts in one place cannot be told apart; the field stays absent rather than wrong
    if "給分" in text:
        raise PaperRejected(
            RejectionReason.KEY_INCOMPLETE, f"a remark outside 備註: {text[:40]!r}", page=paragraph[0].page
        )
    page, middle = paragraph[0].page, (paragraph[0].y + paragraph[-1].y) / 2
    here = [(abs(y - middle), name) for name, name_page, y in names if name_page == page]
    # Further than three letter heights from every name is no value of a name, e.g. a note beside the grid.
    if here and min(here)[0] <= 3 * max(paragraph[0].chars[0].size, 12.0):
        _put(header, min(here)[1], text)


def _put(header: dict[str, str], name: str, value: str) -> None:
    """Keep the first value of a field; later pages repeat it. A count that changes on the way is a contradiction."""
    kept = header.setdefault(name, value)
    if kept != value and name in ("單選題數", "複選題數", "題數"):
        raise PaperRejected(RejectionReason.COUNT_MISMATCH, f"{name} is printed as {kept[:20]!r} and {value[:20]!r}")


def _split_code(header: dict[str, str]) -> dict[str, str]:
    subject = half_width(header.get("科目名稱", ""))
    code = _CODE.search(subject)
    if code:
        header["試題代號"] = code[1]
        header["科目名稱"] = header["科目名稱"][: code.start()] + header["科目名稱"][code.end() :]
    return header


def _declared(header: Mapping[str, str]) -> Declared:
    """The printed counts. 題數 counts single-answer questions: sheets that print it have no multi-select section."""
    single = _count(header.get("單選題數", ""))
    total = _count(header.get("題數", ""))
    if single is not None and total is not None and single != total:
        raise PaperRejected(RejectionReason.COUNT_MISMATCH, f"單選題數 {single} and 題數 {total} on one sheet")
    return Declared(single=single if single is not None else total, multi=_count(header.get("複選題數", "")))


def _count(text: str) -> int | None:
    match = _COUNT.match(half_width(text))
    return int(match[1]) if match else None


# ---------------------------------------------------------------- the remarks


def _remarks(lines: Sequence[_Line], last: int) -> dict[int, str]:
    """Question number -> the words of its remark.

    One entry may name several questions (第1題、第2題一律給分; 第1題至第3題一律給分): each gets the whole entry.
    Two entries for one question are joined by ；, which no ruling understands, so that the item ends in remark_unread.
    """
    text = re.sub(r"^備註[：:]?", "", "".join(line.text for line in lines))
    page = lines[0].page if lines else None
    heads = list(_HEAD.finditer(text))
    lead = text[: heads[0].start()] if heads else text
    if lead.strip(_BREAKS):
        raise PaperRejected(RejectionReason.KEY_INCOMPLETE, f"the remark {lead[:40]!r} names no question", page=page)
    remarks: dict[int, str] = {}
    starts = [head.start() for head in heads]
    for head, end in zip(heads, [*starts[1:], len(text)], strict=False):
        entry = text[head.start() : end].strip(_BREAKS)
        for q_no in _questions_named(head[0]):
            if not 1 <= q_no <= last:
                raise PaperRejected(
                    RejectionReason.KEY_INCOMPLETE, f"a remark for question {q_no} of {last}", page=page, q_no=q_no
                )
            remarks[q_no] = f"{remarks[q_no]}；{entry}" if q_no in remarks else entry
    return dict(sorted(remarks.items()))


def _questions_named(head: str) -> list[int]:
    """第1題、第3題 -> [1, 3]; 第1題至第3題 -> [1, 2, 3]."""
    named: list[int] = []
    for joint, number in _REFERENCE.findall(head):
        last = int(number)
        named.extend(range(named[-1] + 1, last + 1) if joint and named else [last])
    return named
