"""A PDF page as spans and visual lines with coordinates.

What belongs here: opening a PDF safely, its text layer with positions, and the lines a reader's eye sees.
What does not: what a line means (question numbers, markers, cells).
The text layer's own order is never trusted: a line is what shares a base line, read from left to right
(hazards 1, 2, 5, 7 and 21).
"""

from __future__ import annotations

import bisect
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymupdf

from opentwbench.exam.glyphs import map_symbol_font
from opentwbench.exam.model import Box, PaperRejected, RejectionReason

MAX_FILE_BYTES = 50 * 1024 * 1024
MAX_PAGES = 200
"""Real papers have at most 20 pages and 3 MB; a file beyond these limits is refused before it is parsed."""

MIN_CHARACTERS_A_PAGE = 20
"""A born-digital paper has hundreds; a scan has none or a stamp."""

INVISIBLE_SIZE = 0.4
"""A span smaller than this share of the page's body size cannot be read (106901/900/0004 hides '1.' at 2 pt)."""

SAME_LINE = 0.5
"""Two spans share a line when their base lines differ by less than this share of the body size (pitch is above 1.1)."""

RULE_HEIGHT = 2.0
"""A drawn path no higher than this (points) is a rule: an underline, a blank, a border."""

LINE_FILL = 20.0
"""A filled box no higher than this (points) and wider than twice its height lies behind a line of text."""

BLANK = "_____"
"""A blank to be filled in, drawn on the page as a rule with nothing above it."""

SMALL = 0.82
"""A span below this share of its line's size is raised or lowered text, not a line of its own."""


@dataclass(frozen=True, slots=True)
class Span:
    """A run of characters of one font on one base line. Coordinates in points, origin top left."""

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

    def tail(self, start: int) -> Span:
        """The span without its first `start` characters; the cut is placed by equal widths."""
        share = start / max(len(self.text), 1)
        x0 = self.x0 + (self.x1 - self.x0) * share
        return Span(x0, self.y0, self.x1, self.y1, self.base, self.size, self.font, self.text[start:])


@dataclass(frozen=True, slots=True)
class Line:
    """One visual line: spans in order of x. `shift` holds 1 for a raised span, -1 for a lowered one, 0 else."""

    page: int
    base: float
    size: float
    spans: tuple[Span, ...]
    shifts: tuple[int, ...]
    crowded: bool = False
    """True when another line stands closer than a line of text can: a fraction, a formula, a figure's labels."""

    @property
    def x0(self) -> float:
        """Left edge of the first visible span."""
        return self.spans[0].x0

    @property
    def x1(self) -> float:
        """Right edge of the last visible span."""
        return max(span.x1 for span in self.spans)

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
    """Thin horizontal lines: underlines, blanks to fill in, borders."""
    drawings: tuple[Box, ...] = ()
    """Everything else that is drawn as paths: boxes, arrows, axes, table grids."""
    images: tuple[Box, ...] = ()
    """Placed pictures, also those that hold a marker."""

    def body_size(self) -> float:
        """The size most characters have; 12.0 on a page without text."""
        sizes: Counter[float] = Counter()
        for span in self.spans:
            sizes[round(span.size, 1)] += len(span.text.strip())
        return sizes.most_common(1)[0][0] if sizes else 12.0


def open_pdf(path: Path) -> Any:
    """Open a PDF that came from outside; a PyMuPDF document.

    Raises:
        PaperRejected: too_large, not_a_pdf or encrypted, naming the file.
    """
    name = path.name
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(1024)
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
    if not 0 < document.page_count <= MAX_PAGES:
        reason = RejectionReason.TOO_LARGE if document.page_count else RejectionReason.NOT_A_PDF
        raise PaperRejected(reason, f"{document.page_count} pages, 1 to {MAX_PAGES} can be read", file=name)
    return document


def read_pages(path: Path) -> tuple[Page, ...]:
    """Every page's visible spans.

    Raises:
        PaperRejected: as `open_pdf`, and no_text_layer when the pages hold (nearly) no characters.
    """
    with open_pdf(path) as document:
        try:
            pages = tuple(_read_page(page, number) for number, page in enumerate(document, start=1))
        except (RuntimeError, ValueError) as error:
            raise PaperRejected(
                RejectionReason.NOT_A_PDF, f"a page cannot be read ({error})", file=path.name
            ) from error
    characters = sum(len(span.text.strip()) for page in pages for span in page.spans)
    if characters < MIN_CHARACTERS_A_PAGE * len(pages):
        detail = f"{characters} characters on {len(pages)} pages: a scan"
        raise PaperRejected(RejectionReason.NO_TEXT_LAYER, detail, file=path.name)
    return pages


def _read_page(page: Any, number: int) -> Page:
    spans: list[Span] = []
    # dict is about half the cost of rawdict; flags=0 leaves images and ligature handling out.
    for block in page.get_text("dict", flags=0)["blocks"]:
        for line in block["lines"]:
            if line["dir"][0] < 0.99:  # turned text is a figure's label or a stamp in the margin
                continue
            for raw in line["spans"]:
                text = map_symbol_font(raw["text"], raw["font"])
                x0, y0, x1, y1 = raw["bbox"]
                spans.append(Span(x0, y0, x1, y1, raw["origin"][1], raw["size"], raw["font"], text))
    rules, drawings, images = _graphics(page)
    return Page(
        number, page.rect.width, page.rect.height, _without_hidden(spans), rules=rules, drawings=drawings, images=images
    )


def _graphics(page: Any) -> tuple[tuple[Box, ...], tuple[Box, ...], tuple[Box, ...]]:
    """(rules, drawings, images) of a page; the log of boxes is far cheaper than the paths themselves."""
    rules: list[Box] = []
    drawings: list[Box] = []
    images: list[Box] = []
    for kind, (x0, y0, x1, y1) in page.get_bboxlog():
        box = Box(x0, y0, x1, y1)
        if kind in ("fill-image", "fill-imgmask", "fill-shade"):
            images.append(box)
        elif kind in ("fill-path", "stroke-path"):
            width, height = x1 - x0, y1 - y0
            if height <= RULE_HEIGHT and width > 2 * RULE_HEIGHT:
                rules.append(box)
            elif not _is_background(kind, width, height, page.rect.height):
                drawings.append(box)
    return tuple(rules), tuple(drawings), tuple(images)


def _is_background(kind: str, width: float, height: float, page_height: float) -> bool:
    """True for a page frame and for the fill behind one line of text: neither shows anything."""
    return height > 0.8 * page_height or (kind == "fill-path" and height <= LINE_FILL and width > 2 * height)


def _without_hidden(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Spans a reader can see: not drawn at an unreadable size, not the same text drawn twice for boldness."""
    visible = Page(0, 0, 0, tuple(spans))
    smallest = INVISIBLE_SIZE * visible.body_size()
    kept: list[Span] = []
    seen: set[tuple[str, int, int]] = set()
    for span in spans:
        if span.size < smallest:
            continue
        place = (span.text, round(span.x0 / 2), round(span.base / 2))
        if span.text.strip() and place in seen:
            continue
        seen.add(place)
        kept.append(span)
    return tuple(kept)


def visual_lines(page: Page) -> list[Line]:
    """The page's lines from top to bottom, raised and lowered spans attached to the line they belong to."""
    body = page.body_size()
    printed = [span for span in page.spans if span.text.strip()]
    blanks = [span for span in page.spans if not span.text.strip()]
    rows: list[list[Span]] = []
    bases: list[float] = []
    small = [span for span in printed if span.size < SMALL * body]
    for span in sorted((s for s in printed if s.size >= SMALL * body), key=lambda s: s.base):
        if bases and span.base - bases[-1] < SAME_LINE * body:
            rows[-1].append(span)
        else:
            rows.append([span])
            bases.append(span.base)
    _attach_small(small, rows, bases, body)
    order = sorted(range(len(rows)), key=bases.__getitem__)
    rows, bases = [rows[i] for i in order], [bases[i] for i in order]
    _attach_blanks(blanks, rows, bases, body)
    _fill_in_blanks([r for r in page.rules if not _borders(r, page.drawings)], rows, bases, body)
    return [
        _line(page.number, row, base, _crowded(i, rows, bases, body))
        for i, (row, base) in enumerate(zip(rows, bases, strict=True))
    ]


def _fill_in_blanks(rules: Iterable[Box], rows: list[list[Span]], bases: Sequence[float], body: float) -> None:
    """Write a blank where a rule is drawn under nothing: in a gap between spans, or under spaces inside one."""
    for rule in rules:
        if not body < rule.x1 - rule.x0 < 15 * body:
            continue
        i = next((i for i, base in enumerate(bases) if -0.1 * body < rule.y0 - base < 0.4 * body), None)
        if i is None:
            continue
        row = rows[i]
        over = [s for s in row if s.text.strip() and min(s.x1, rule.x1) - max(s.x0, rule.x0) > 0.3 * body]
        if not over:
            if any(
                rule.x0 - 2 * body < s.x1 <= rule.x0 + body or rule.x1 - body <= s.x0 < rule.x1 + 2 * body for s in row
            ):
                row.append(Span(rule.x0, rule.y0 - body, rule.x1, rule.y0, bases[i], body, "", f" {BLANK} "))
        elif len(over) == 1:
            filled = _fill_spaces(over[0], rule)
            if filled is not None:
                row[row.index(over[0])] = filled


def _borders(rule: Box, drawings: Iterable[Box]) -> bool:
    """True when the rule is an edge of something drawn: a box, a table's grid."""
    return any(
        d.y0 - 2 <= rule.y0 <= d.y1 + 2 and (abs(d.x0 - rule.x0) < 3 or abs(d.x1 - rule.x1) < 3) for d in drawings
    )


def _fill_spaces(span: Span, rule: Box) -> Span | None:
    """The span with the run of spaces over the rule written as a blank; None when the rule underlines words."""
    runs = [(m.start(), m.end()) for m in re.finditer(r"[ \u00a0]{3,}", span.text)]
    if not runs or not span.text:
        return None
    unit = (span.x1 - span.x0) / len(span.text)
    middle = (rule.x0 + rule.x1) / 2
    start, end = min(runs, key=lambda run: abs(span.x0 + unit * (run[0] + run[1]) / 2 - middle))
    text = f"{span.text[:start]} {BLANK} {span.text[end:]}"
    return Span(span.x0, span.y0, span.x1, span.y1, span.base, span.size, span.font, text)


def _attach_small(small: Iterable[Span], rows: list[list[Span]], bases: list[float], body: float) -> None:
    """Give each small span to the line it is raised or lowered from; what touches no line becomes a line of its own."""
    leftover: list[Span] = []
    mains = [list(row) for row in rows]
    for span in small:
        best, best_distance = -1, 0.9 * body
        for i, base in enumerate(bases):
            distance = abs(base - span.base)
            if distance < best_distance and _touches(span, mains[i], body):
                best, best_distance = i, distance
        if best >= 0:
            rows[best].append(span)
        else:
            leftover.append(span)
    for span in sorted(leftover, key=lambda s: s.base):
        if len(bases) > len(mains) and abs(span.base - bases[-1]) < SAME_LINE * body:
            rows[-1].append(span)
        else:
            rows.append([span])
            bases.append(span.base)


def _touches(span: Span, row: Sequence[Span], body: float) -> bool:
    return any(s.x0 - 0.6 * body <= span.x1 and span.x0 <= s.x1 + 0.6 * body for s in row)


def _attach_blanks(blanks: Iterable[Span], rows: list[list[Span]], bases: list[float], body: float) -> None:
    """Blank spans carry the spaces between Latin words; one that stands on no line's base is dropped."""
    if not bases:
        return
    for span in blanks:
        i = bisect.bisect_left(bases, span.base)
        near = min((j for j in (i - 1, i) if 0 <= j < len(bases)), key=lambda j: abs(bases[j] - span.base))
        if abs(bases[near] - span.base) < SAME_LINE * body:
            rows[near].append(span)


def _crowded(i: int, rows: Sequence[Sequence[Span]], bases: Sequence[float], body: float) -> bool:
    for j in (i - 1, i + 1):
        if 0 <= j < len(bases) and abs(bases[j] - bases[i]) < 0.85 * body and _touches_any(rows[i], rows[j], body):
            return True
    return False


def _touches_any(row: Sequence[Span], other: Sequence[Span], body: float) -> bool:
    left, right = min(s.x0 for s in row), max(s.x1 for s in row)
    other_left, other_right = min(s.x0 for s in other), max(s.x1 for s in other)
    return left - body <= other_right and other_left <= right + body


def _line(page: int, row: Sequence[Span], base: float, crowded: bool) -> Line:
    spans = sorted(row, key=lambda s: (s.x0, s.x1))
    while spans and not spans[0].text.strip():
        spans.pop(0)
    while spans and not spans[-1].text.strip():
        spans.pop()
    size = max(s.size for s in spans if s.text.strip())
    return Line(page, base, size, tuple(spans), tuple(_shift(s, base, size) for s in spans), crowded)


def _shift(span: Span, base: float, size: float) -> int:
    if span.size >= SMALL * size or not span.text.strip():
        return 0
    if span.base < base - 0.15 * size:
        return 1
    return -1 if span.base > base + 0.05 * size else 0
