"""A PDF page as spans and visual lines with coordinates.

What belongs here: opening a PDF safely, its text layer with positions, and the lines a reader's eye sees.
What does not: what a line means (question numbers, markers, cells).
The text layer's own order is never trusted: a line is what shares a base line, read from left to right
(hazards 1, 2, 5, 7 and 21).
"""

from __future__ import annotations

import bisect
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import pymupdf
from pymupdf import mupdf

from opentwbench.exam.glyphs import map_symbol_font
from opentwbench.exam.model import Box, PaperRejected, RejectionReason
from opentwbench.exam.painting import Painting, Word, paint

MAX_FILE_BYTES = 50 * 1024 * 1024
MAX_PAGES = 200
"""Real papers have at most 20 pages and 3 MB; a file beyond these limits is refused before it is parsed."""

MAX_KEY_PAGES = 12
"""Most pages of a key. Real ones have one; a grid of 100 cells a page never needs more."""

MAX_OBJECTS = 100_000
"""Most objects of a file; real ones have at most 1,590."""

MAX_PAGE_CONTENT = 2 * 1024 * 1024
"""Most bytes of a page's unpacked content; the largest of the 565 real files has 72,654 on a page."""

MIN_CHARACTERS_A_PAGE = 20
"""A born-digital paper has hundreds; a scan has none or a stamp."""

INVISIBLE_SIZE = 0.4
"""A span smaller than this share of the page's body size cannot be read (106901/900/0004 hides '1.' at 2 pt)."""

SAME_LINE = 0.5
"""Two spans share a line when their base lines differ by less than this share of the smaller one's size (a pitch is
above 1.1)."""

INVISIBLE = 3
"""Render mode of text that is neither filled nor stroked."""

FIRST_WIDE = 0x2460
"""From here on one character of one font is drawn by one glyph; several Latin subsets can share a font's name."""

PEN_GAP = 0.12
"""A painted run is parted where the pen moves more than this share of the size between two characters."""

UNKNOWN = "\ufffd"
"""A glyph without a character."""

RULE_HEIGHT = 2.0
"""A drawn path no higher than this (points) is a rule: an underline, a blank, a border."""

LINE_FILL = 20.0
"""A filled box no higher than this (points) that is wider than twice its height, or has text before it, lies behind a
line of text (107130/941/0707 p4 fills the last character of each option in white)."""

BLANK = "_____"
"""A blank to be filled in, drawn on the page as a rule with nothing above it."""

SHIFT = 0.6
"""Raised and lowered text stands off its line by less than this share of the line's type."""

SMALL = 0.86
"""A span below this share of its line's size is raised or lowered text, not a line of its own."""


UNREADABLE = (RuntimeError, ValueError, mupdf.FzErrorBase, MemoryError)
"""What PyMuPDF raises for a damaged or hostile file; MuPDF's own errors are no RuntimeError."""

_ACTIVE = re.compile(
    r"/S ?/(?:JavaScript|Launch|SubmitForm|ImportData|Rendition)\b|/(?:JS|XFA|RichMediaContent|EmbeddedFiles?)\b"
)
"""Scripts, actions that leave the page, forms with scripts, embedded players and files (ISO 32000-1, 12.6.4, 7.11.4).
None of the 46,016 objects of the 565 real files has one."""

_CODE_AND_GLYPH = itemgetter(0, 1)
_BASE = attrgetter("base")
_X0_AND_X1 = attrgetter("x0", "x1")

Glyph = tuple[str, int, int]
"""(font, code point, glyph number in the font)."""


class Span(NamedTuple):
    """A run of characters of one font on one base line. Coordinates in points, origin top left.

    A named tuple: a page has hundreds, and a frozen data class takes five times as long to make.
    """

    x0: float
    y0: float
    x1: float
    y1: float
    base: float
    size: float
    font: str
    text: str

    @property
    def box(self) -> Box:
        """The span's rectangle."""
        return Box(self.x0, self.y0, self.x1, self.y1)


@dataclass(frozen=True, slots=True)
class Line:
    """One visual line: spans in order of x. `shift` holds 1 for a raised span, -1 for a lowered one, 0 else."""

    page: int
    base: float
    size: float
    spans: tuple[Span, ...]
    shifts: tuple[int, ...]
    crowded: bool = False
    """True when the line is no plain text: another stands closer than a line of text can (a fraction, a figure's
    labels), small type stands over words, or a rule is drawn over letters."""

    @property
    def x0(self) -> float:
        """Left edge of the first visible span."""
        return self.spans[0].x0

    @property
    def text(self) -> str:
        """The raw characters from left to right, without any rule applied."""
        return "".join(span.text for span in self.spans)


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its number from 1, its size in points, its visible spans, blank ones included."""

    number: int
    width: float
    height: float
    spans: tuple[Span, ...]
    rules: tuple[Box, ...] = ()
    """Thin horizontal lines that stand alone: underlines, blanks to fill in, overlines."""
    borders: tuple[Box, ...] = ()
    """Thin horizontal lines that are an edge of something drawn: a box, a table's grid."""
    drawings: tuple[Box, ...] = ()
    """Everything else that is drawn as paths: boxes, arrows, axes, table grids."""
    images: tuple[Box, ...] = ()
    """Placed pictures, also those that hold a marker."""
    words: Sequence[Word] = ()
    """The same page as MuPDF's structured text sees it: the second reader's own view."""
    glyphs: frozenset[Glyph] = frozenset()
    """Every wide glyph drawn."""


def open_pdf(path: Path) -> Any:
    """Open a PDF that came from outside; a PyMuPDF document.

    Raises:
        PaperRejected: too_large, not_a_pdf, encrypted or active_content, naming the file.
    """
    name = path.name
    try:
        if path.exists() and not path.is_file():
            raise PaperRejected(RejectionReason.NOT_A_PDF, "is no regular file", file=name)
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(1024)
            file.seek(max(0, size - 1024))
            tail = file.read(1024)
    except OSError as error:
        raise PaperRejected(RejectionReason.NOT_A_PDF, f"cannot be read ({error.strerror})", file=name) from error
    if size > MAX_FILE_BYTES:
        raise PaperRejected(RejectionReason.TOO_LARGE, f"{size} bytes, at most {MAX_FILE_BYTES}", file=name)
    if b"%PDF-" not in head:
        raise PaperRejected(RejectionReason.NOT_A_PDF, "does not start with %PDF", file=name)
    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    try:
        document = pymupdf.open(path, filetype="pdf")
    except Exception as error:  # PyMuPDF raises several unrelated classes for a broken file
        raise PaperRejected(RejectionReason.NOT_A_PDF, f"cannot be opened ({error})", file=name) from error
    if document.needs_pass:
        raise PaperRejected(RejectionReason.ENCRYPTED, "needs a password", file=name)
    # What MuPDF rebuilds from a file that was cut short can pass every count with other texts (planted: 1 of 60). None
    # of the 565 real files needs rebuilding; one that does and still has its end is left to the checks.
    if document.is_repaired and b"%%EOF" not in tail:
        raise PaperRejected(RejectionReason.NOT_A_PDF, "cut short: it has no end (%%EOF)", file=name)
    try:
        _check_structure(document, name)
    except UNREADABLE as error:
        raise unreadable(error, "is damaged", name) from error
    return document


def _check_structure(document: Any, name: str) -> None:
    """Pages, objects and what the objects may do, before any page is interpreted."""
    pages, objects = document.page_count, document.xref_length()
    if not pages:
        raise PaperRejected(RejectionReason.NOT_A_PDF, "is damaged: no page can be read", file=name)
    if pages > MAX_PAGES:
        raise PaperRejected(RejectionReason.TOO_LARGE, f"{pages} pages, at most {MAX_PAGES} can be read", file=name)
    if objects > MAX_OBJECTS:
        raise PaperRejected(RejectionReason.TOO_LARGE, f"{objects} objects, at most {MAX_OBJECTS}", file=name)
    for number in range(1, objects):
        found = _ACTIVE.search(document.xref_object(number, compressed=True))
        if found:
            detail = f"object {number} holds {found[0]}, which no paper needs"
            raise PaperRejected(RejectionReason.ACTIVE_CONTENT, detail, file=name)


def unreadable(error: BaseException, what: str, file: str, page: int | None = None) -> PaperRejected:
    """The rejection for one of UNREADABLE: too_large when memory ran out (the limit of a worker), else not_a_pdf."""
    starved = isinstance(error, MemoryError) or re.search(r"alloc\b.*failed", str(error)) is not None
    reason = RejectionReason.TOO_LARGE if starved else RejectionReason.NOT_A_PDF
    words = "needs more memory than a paper may take" if starved else f"{what} ({str(error)[:200]})"
    return PaperRejected(reason, words, file=file, page=page)


def _check_content(page: Any, number: int, file: str) -> None:
    """Refuse a page that unpacks to more than MAX_PAGE_CONTENT: unpacking costs little, interpreting costs much."""
    document = mupdf.pdf_document_from_fz_document(page.parent.this)
    contents = mupdf.pdf_dict_get(mupdf.pdf_page_from_fz_page(page.this).obj(), mupdf.pdf_new_name("Contents"))
    if not contents.m_internal:
        return  # an empty page
    size = mupdf.fz_skip(mupdf.pdf_open_contents_stream(document, contents), MAX_PAGE_CONTENT + 1)
    if size > MAX_PAGE_CONTENT:
        detail = f"its content unpacks to more than {MAX_PAGE_CONTENT} bytes"
        raise PaperRejected(RejectionReason.TOO_LARGE, detail, file=file, page=number)


def read_key_pages(path: Path) -> tuple[pymupdf.TextPage, ...]:
    """MuPDF's structured text of every page of a key, for both key readers: a page is interpreted once.

    Raises:
        PaperRejected: as `open_pdf`; too_large for more than MAX_KEY_PAGES pages; not_a_pdf, with the page, when one
            cannot be read.
    """
    flags = pymupdf.TEXTFLAGS_TEXT | pymupdf.TEXT_IGNORE_ACTUALTEXT
    with open_pdf(path) as document:
        if document.page_count > MAX_KEY_PAGES:
            detail = f"{document.page_count} pages, at most {MAX_KEY_PAGES}"
            raise PaperRejected(RejectionReason.TOO_LARGE, detail, file=path.name)
        pages: list[pymupdf.TextPage] = []
        try:
            for number, page in enumerate(document, start=1):
                _check_content(page, number, path.name)
                pages.append(page.get_textpage(flags=flags))
        except UNREADABLE as error:
            raise unreadable(error, "cannot be read", path.name, len(pages) + 1) from error
    return tuple(pages)


def read_pages(path: Path) -> tuple[Page, ...]:
    """Every page's visible spans.

    Raises:
        PaperRejected: as `open_pdf`, and no_text_layer when the pages hold (nearly) no characters.
    """
    with open_pdf(path) as document:
        try:
            pages = tuple(_read_page(page, number, path.name) for number, page in enumerate(document, start=1))
        except UNREADABLE as error:
            raise unreadable(error, "a page cannot be read", path.name) from error
    characters = sum(map(len, " ".join([span.text for page in pages for span in page.spans]).split()))
    if characters < MIN_CHARACTERS_A_PAGE * len(pages):
        detail = f"{characters} characters on {len(pages)} pages: a scan"
        raise PaperRejected(RejectionReason.NO_TEXT_LAYER, detail, file=path.name)
    return pages


def _read_page(page: Any, number: int, file: str) -> Page:
    _check_content(page, number, file)
    painting = paint(page)
    spans, glyphs = _painted(painting.runs)
    thin, drawings, images = _graphics(painting, spans)
    borders = tuple(rule for rule in thin if _is_border(rule, drawings))
    return Page(
        number,
        painting.width,
        painting.height,
        _without_hidden(spans),
        rules=tuple(rule for rule in thin if rule not in borders),
        borders=borders,
        drawings=drawings,
        images=images,
        words=painting.words,
        glyphs=glyphs,
    )


def _painted(runs: Iterable[dict[str, Any]]) -> tuple[list[Span], frozenset[Glyph]]:
    """The page's painted characters as spans, and every wide glyph drawn.

    A span ends where the type changes or the pen moves away: a gap, another base line, a step back. The log of painted
    glyphs is read rather than MuPDF's structured text: that one follows /ActualText, which in 111130/601/0101 names
    other words than those painted, loses some and doubles others.
    """
    codes: list[int] = []
    heads: list[tuple[float, float, float, float, float, str]] = []
    starts: list[int] = []
    ends: list[float] = []
    drawn: dict[str, list[tuple[Any, ...]]] = {}
    font, size = "", 0.0
    right = gap = 0.0
    base = math.inf  # no span is open, so that the next character opens one
    for run in runs:
        if run["dir"][0] < 0.99 or run["type"] == INVISIBLE or run["opacity"] == 0:
            continue  # turned text is a stamp in the margin or a figure's label; invisible text is nothing to read
        if run["font"] != font or run["size"] != size:
            font, size, base = run["font"], run["size"], math.inf
            gap = PEN_GAP * size
        chars = run["chars"]
        for code, _, (_, y), (x0, y0, x1, y1) in chars:
            if not (-gap < x0 - right < gap and -0.5 <= y - base <= 0.5):
                heads.append((x0, y0, y1, y, size, font))
                starts.append(len(codes))
                ends.append(right)
                base = y
            codes.append(code)
            right = x1
        drawn.setdefault(font, []).extend(chars)
    text = "".join([chr(code) if code > 0 else UNKNOWN for code in codes])
    # The end that was noted where a span opened is that of the span before it.
    spans = [
        Span(x0, y0, x1, y1, base, size, font, map_symbol_font(text[start:end], font))
        for (x0, y0, y1, base, size, font), x1, start, end in zip(
            heads, [*ends, right][1:], starts, [*starts, len(codes)][1:], strict=True
        )
    ]
    wide = (
        (font, code, glyph)
        for font, chars in drawn.items()
        for code, glyph in set(map(_CODE_AND_GLYPH, chars))
        if code >= FIRST_WIDE
    )
    return spans, frozenset(wide)


def _graphics(painting: Painting, spans: Sequence[Span]) -> tuple[tuple[Box, ...], tuple[Box, ...], tuple[Box, ...]]:
    """(thin horizontal lines, drawings, images) of a page; the log of boxes is far cheaper than the paths."""
    rules: list[Box] = []
    drawings: list[Box] = []
    images: list[Box] = []
    for kind, (x0, y0, x1, y1) in painting.boxes:
        box = Box(x0, y0, x1, y1)
        if kind in ("fill-image", "fill-imgmask", "fill-shade"):
            images.append(box)
        else:
            width, height = x1 - x0, y1 - y0
            if height <= RULE_HEIGHT and width > 2 * RULE_HEIGHT:
                rules.append(box)
            elif height <= 0.8 * painting.height and not (kind == "fill-path" and _lies_behind_text(box, spans)):
                drawings.append(box)
    return tuple(rules), tuple(drawings), tuple(images)


def _lies_behind_text(fill: Box, spans: Sequence[Span]) -> bool:
    """True for the fill behind one line of text, or behind a few of its characters: it shows nothing."""
    width, height = fill.x1 - fill.x0, fill.y1 - fill.y0
    if height > LINE_FILL:
        return False
    return width > 2 * height or any(
        fill.y0 < span.base < fill.y1 and span.x0 < fill.x1 and fill.x0 < span.x1 and not span.text.isspace()
        for span in spans
    )


def _without_hidden(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Spans a reader can see: not drawn at an unreadable size, not the same text drawn twice for boldness."""
    smallest = INVISIBLE_SIZE * _body_size(spans)
    kept: list[Span] = []
    seen: set[tuple[str, int, int]] = set()
    for span in spans:
        x0, _, _, _, base, size, _, text = span
        if size < smallest:
            continue
        if not text.isspace():
            place = (text, round(x0 / 2), round(base / 2))
            if place in seen:
                continue
            seen.add(place)
        kept.append(span)
    return tuple(kept)


def _body_size(spans: Sequence[Span]) -> float:
    """The size most characters have; 12.0 without text."""
    exact: dict[float, int] = {}
    for span in spans:
        exact[span.size] = exact.get(span.size, 0) + len(span.text.strip())
    sizes: Counter[float] = Counter()
    for size, characters in exact.items():
        sizes[round(size, 1)] += characters
    return sizes.most_common(1)[0][0] if sizes else 12.0


def ambiguous_characters(pages: Iterable[Page]) -> frozenset[tuple[str, str]]:
    """(font, character) pairs that the paper draws with more than one glyph: the code point does not say which.

    Seen: ①, ② and ③ all coded as ① (108120/900/0003 p1), 脲 and 苷 both coded as U+EA86 (101030/101/0102 p3).
    """
    drawn = frozenset().union(*(page.glyphs for page in pages))
    glyphs = Counter((font, code) for font, code, _ in drawn)
    return frozenset((font, chr(code)) for (font, code), count in glyphs.items() if count > 1)


def visual_lines(page: Page) -> list[Line]:
    """The page's lines from top to bottom, raised and lowered spans attached to the line they belong to.

    Every measure is taken from the type at the place itself: a mixed paper prints its essay part in larger type.
    """
    printed: list[Span] = []
    blank: list[Span] = []
    for span in page.spans:
        (blank if span.text.isspace() else printed).append(span)
    printed.sort(key=_BASE)
    small = _small_spans(printed)
    rows = _rows([span for span in printed if id(span) not in small] if small else printed)
    _attach_small([span for span in printed if id(span) in small], rows)
    rows.sort(key=_BASE)
    _attach_blanks(blank, rows)
    _fill_in_blanks(page.rules, rows)
    _mark_overlines(page.rules, rows)
    return [_line(page.number, row, _crowded(i, rows)) for i, row in enumerate(rows)]


@dataclass(slots=True)
class _Row:
    """A line in the making: its base line, its largest type, its spans."""

    base: float
    size: float
    spans: list[Span]
    overlined: bool = False

    def is_over(self, rule: Box) -> bool:
        """True when the rule is drawn where an underline of this row would be."""
        return -0.1 * self.size < rule.y0 - self.base < 0.4 * self.size

    def touches(self, x0: float, x1: float, reach: float) -> bool:
        """True when a printed span of the row stands within `reach` points of x0..x1."""
        return any(s.text.strip() and s.x0 - reach <= x1 and x0 <= s.x1 + reach for s in self.spans)


def _small_spans(printed: Sequence[Span]) -> set[int]:
    """Ids of the spans that are raised or lowered from a larger span beside them. `printed` is in order of base."""
    small: set[int] = set()
    for size in {span.size for span in printed}:
        # Only larger type matters, and most sizes have little or none on the page.
        larger = [span for span in printed if size < SMALL * span.size]
        if larger:
            reach = SHIFT * max(span.size for span in larger)
            small.update(id(span) for span in printed if span.size == size and _is_set_off(span, larger, reach))
    return small


def _is_set_off(span: Span, larger: Sequence[Span], reach: float) -> bool:
    """True when the span is raised or lowered from one of the larger spans (in order of base) beside it.

    `reach` is the widest shift, in points, that the largest of them allows.
    """
    start = bisect.bisect_left(larger, span.base - reach, key=_BASE)
    for other in larger[start : bisect.bisect_right(larger, span.base + reach, key=_BASE)]:
        beside = other.x0 - 0.6 * other.size <= span.x1 and span.x0 <= other.x1 + 0.6 * other.size
        if beside and 0.05 * other.size < abs(other.base - span.base) < SHIFT * other.size:
            return True
    return False


def _rows(printed: Iterable[Span]) -> list[_Row]:
    """Spans in order of base, shared out by base line."""
    rows: list[_Row] = []
    for span in printed:
        if rows and span.base - rows[-1].base < SAME_LINE * min(span.size, rows[-1].size):
            rows[-1].spans.append(span)
            rows[-1].size = max(rows[-1].size, span.size)
        else:
            rows.append(_Row(span.base, span.size, [span]))
    return rows


def _attach_small(small: Iterable[Span], rows: list[_Row]) -> None:
    """Give each small span to the nearest line it is raised or lowered from; one that is set off from nothing but small
    type (found by tests/fuzz) becomes a line of its own, which its neighbour then crowds."""
    bases = [row.base for row in rows]
    for span in small:
        reach = 2 * span.size
        near = rows[bisect.bisect_left(bases, span.base - reach) : bisect.bisect_right(bases, span.base + reach)]
        fitting = [r for r in near if span.size < SMALL * r.size and r.touches(span.x0, span.x1, 0.6 * r.size)]
        if fitting:
            min(fitting, key=lambda r: abs(r.base - span.base)).spans.append(span)
        else:
            rows.append(_Row(span.base, span.size, [span]))  # behind those that `bases` counts


def _attach_blanks(blanks: Iterable[Span], rows: Sequence[_Row]) -> None:
    """Blank spans carry the spaces between Latin words; one that stands on no line's base is dropped."""
    if not rows:
        return
    bases = [row.base for row in rows]
    for span in blanks:
        i = bisect.bisect_left(bases, span.base)
        near = min((j for j in (i - 1, i) if 0 <= j < len(bases)), key=lambda j: abs(bases[j] - span.base))
        if abs(bases[near] - span.base) < SAME_LINE * rows[near].size:
            rows[near].spans.append(span)


def _crowded(i: int, rows: Sequence[_Row]) -> bool:
    """True when the row above or below stands closer than a line of its type can."""
    row = rows[i]
    for other in (*rows[max(0, i - 1) : i], *rows[i + 1 : i + 2]):
        size = min(row.size, other.size)
        if abs(other.base - row.base) < 0.85 * size:
            left, right = min(s.x0 for s in row.spans), max(s.x1 for s in row.spans)
            if other.touches(left, right, size):
                return True
    return False


def _fill_in_blanks(rules: Iterable[Box], rows: Sequence[_Row]) -> None:
    """Write a blank where a rule is drawn under nothing: in a gap between spans, or under spaces inside one."""
    for rule in rules:
        row = next((r for r in rows if r.is_over(rule)), None)
        if row is None or not row.size < rule.x1 - rule.x0 < 15 * row.size:
            continue
        size = row.size
        over = [s for s in row.spans if s.text.strip() and min(s.x1, rule.x1) - max(s.x0, rule.x0) > 0.3 * size]
        if not over:
            before = any(rule.x0 - 2 * size < s.x1 <= rule.x0 + size for s in row.spans)
            behind = any(rule.x1 - size <= s.x0 < rule.x1 + 2 * size for s in row.spans)
            if before or behind:
                box = (rule.x0, rule.y0 - size, rule.x1, rule.y0)
                row.spans.append(Span(*box, row.base, size, "", f" {BLANK} "))
        elif len(over) == 1:
            filled = _fill_spaces(over[0], rule)
            if filled is not None:
                row.spans[row.spans.index(over[0])] = filled


def _mark_overlines(rules: Iterable[Box], rows: Sequence[_Row]) -> None:
    """Mark rows with a rule drawn over some of their letters (a complement, a mean): the text layer does not hold it.

    A rule that underlines the row above is none.
    """
    for rule in rules:
        under = any(r.is_over(rule) and r.touches(rule.x0, rule.x1, 0.0) for r in rows)
        if under:
            continue
        for row in rows:
            if 0.6 * row.size < row.base - rule.y0 < 1.15 * row.size and row.touches(rule.x0, rule.x1, 0.0):
                row.overlined = True


def _is_border(rule: Box, drawings: Iterable[Box]) -> bool:
    """True when the rule is an edge of something drawn: a box, a table's grid."""
    return any(
        d.y0 - 2 <= rule.y0 <= d.y1 + 2 and (abs(d.x0 - rule.x0) < 3 or abs(d.x1 - rule.x1) < 3) for d in drawings
    )


def _fill_spaces(span: Span, rule: Box) -> Span | None:
    """The span with the run of spaces over the rule written as a blank; None when the rule underlines words."""
    runs = [(m.start(), m.end()) for m in re.finditer(r"[ \u00a0]{3,}", span.text)]
    if not runs:
        return None
    unit = (span.x1 - span.x0) / len(span.text)
    middle = (rule.x0 + rule.x1) / 2
    start, end = min(runs, key=lambda run: abs(span.x0 + unit * (run[0] + run[1]) / 2 - middle))
    return span._replace(text=f"{span.text[:start]} {BLANK} {span.text[end:]}")


def _line(page: int, row: _Row, crowded: bool) -> Line:
    spans = sorted(row.spans, key=_X0_AND_X1) if len(row.spans) > 1 else row.spans
    while spans and not spans[0].text.strip():
        spans.pop(0)
    while spans and not spans[-1].text.strip():
        spans.pop()
    smallest = SMALL * row.size
    shifts = tuple([0 if span.size >= smallest else _shift(span, row) for span in spans])
    over = any(shifts) and any(
        _covers_text(span, spans, shifts) for span, shift in zip(spans, shifts, strict=True) if shift
    )
    return Line(page, row.base, row.size, tuple(spans), shifts, crowded or over or row.overlined)


def _covers_text(small: Span, spans: Sequence[Span], shifts: Sequence[int]) -> bool:
    """True when a small span stands over words of its line instead of in a gap: a label, no index."""
    width = small.x1 - small.x0
    for span, shift in zip(spans, shifts, strict=True):
        if not shift and span.text.strip() and min(small.x1, span.x1) - max(small.x0, span.x0) > 0.5 * width:
            return True
    return False


def _shift(span: Span, row: _Row) -> int:
    """1 for a small span that is raised from its row, -1 for a lowered one, 0 for one on the line."""
    if not span.text.strip():
        return 0
    if span.base < row.base - 0.15 * row.size:
        return 1
    return -1 if span.base > row.base + 0.05 * row.size else 0
