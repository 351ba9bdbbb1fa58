"""Option markers: which layout a paper uses, and one kind of marker for everything that follows.

What belongs here: finding markers on a line. What does not: which marker opens which option of which question.
Layouts: private-use glyphs U+E18C..U+E190 (nearly all papers), `A.` (computer test), `(A)` (old papers), and papers
whose markers are placed as pictures, so that the text layer holds the option texts but no marker at all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from opentwbench.exam.glyphs import MARKER_GLYPHS, count_markers, half_width
from opentwbench.exam.layout import Line, Page, Span
from opentwbench.exam.model import Box
from opentwbench.exam.reading import is_wide

FEWEST = 4
"""A paper with fewer markers than one question has options holds no multiple-choice question."""

WIDEST_PICTURE = 3.0
"""A marker's picture is about two ems wide; a wider one holds the option's text, which is then no text."""

PRIVATE_USE, LETTER_DOT, BRACKETED, PICTURES = "private_use", "letter_dot", "bracketed", "pictures"

_TEXT_MARKERS = {
    LETTER_DOT: re.compile(r"\s*([A-EＡ-Ｅ])\s*[.．]"),
    BRACKETED: re.compile(r"\s*[（(]\s*([A-EＡ-Ｅ])\s*[）)]"),
}


def layout_of(lines: Sequence[Line], pages: Sequence[Page]) -> str | None:
    """The marker layout: private-use glyphs where there are enough, else what is used most; None without markers."""
    if count_markers("".join([span.text for line in lines for span in line.spans])) >= FEWEST:
        return PRIVATE_USE
    counts: Counter[str] = Counter()
    for line in lines:
        for i, span in enumerate(line.spans):
            for layout, pattern in _TEXT_MARKERS.items():
                if pattern.match(span.text) and (i == 0 or gap_before(line, i) > line.size):
                    counts[layout] += 1
    layout, count = counts.most_common(1)[0] if counts else (PRIVATE_USE, 0)
    if count >= FEWEST:
        return layout
    images = images_by_page(pages)
    placed = sum(len(pictures_on(line, images)) for line in lines)
    return PICTURES if placed >= FEWEST else None


def lift(lines: Sequence[Line], layout: str, pages: Sequence[Page]) -> list[Line]:
    """The lines with every marker as a private-use glyph of its own letter; pictures all become that of A, since a
    picture does not say its letter.
    """
    if layout == PRIVATE_USE:
        return list(lines)
    if layout == PICTURES:
        images = images_by_page(pages)
        return [_with_pictures(line, pictures_on(line, images)) for line in lines]
    return [_lift_text(line, _TEXT_MARKERS[layout]) for line in lines]


def _lift_text(line: Line, pattern: re.Pattern[str]) -> Line:
    spans: list[Span] = []
    for i, span in enumerate(line.spans):
        body = span.text.lstrip()
        match = pattern.match(body)
        if match and (i == 0 or gap_before(line, i) > 0.5 * line.size):
            glyph = MARKER_GLYPHS[half_width(match.group(1))]
            x0 = cut(span, len(span.text) - len(body)).x0
            span = span._replace(x0=x0, text=glyph + body[match.end() :])
        spans.append(span)
    return replace(line, spans=tuple(spans))


def images_by_page(pages: Sequence[Page]) -> dict[int, tuple[Box, ...]]:
    """Page number -> the pictures placed on it."""
    return {page.number: page.images for page in pages}


def pictures_on(line: Line, images: Mapping[int, Sequence[Box]]) -> list[Box]:
    """Pictures of a line's height that stand on the line, from left to right."""
    return sorted(
        (
            box
            for box in images[line.page]
            if box.y1 - box.y0 < 1.6 * line.size and box.y0 < line.base - 0.2 * line.size < box.y1
        ),
        key=lambda box: box.x0,
    )


def _with_pictures(line: Line, boxes: Sequence[Box]) -> Line:
    glyphs = [Span(b.x0, b.y0, b.x0 + 1, b.y1, line.base, line.size, "", MARKER_GLYPHS["A"]) for b in boxes]
    pairs = [*zip(line.spans, line.shifts, strict=True), *((glyph, 0) for glyph in glyphs)]
    pairs.sort(key=lambda pair: pair[0].x0)
    return replace(line, spans=tuple(s for s, _ in pairs), shifts=tuple(shift for _, shift in pairs))


def gap_before(line: Line, index: int) -> float:
    """Points between span `index` and the printed span before it; the left margin for the first."""
    for span in reversed(line.spans[:index]):
        if span.text.strip():
            return line.spans[index].x0 - span.x1
    return line.spans[index].x0


def _width(text: str) -> float:
    """Relative width of characters: a wide one counts 1, any other 0.5."""
    return sum(1.0 if is_wide(c) else 0.5 for c in text) or 0.5


def cut(span: Span, start: int, end: int | None = None) -> Span:
    """Characters start..end of a span, its edges placed by relative character widths."""
    end = len(span.text) if end is None else end
    unit = (span.x1 - span.x0) / _width(span.text)
    x0 = span.x0 + unit * (_width(span.text[:start]) if start else 0.0)
    x1 = span.x1 if end >= len(span.text) else span.x0 + unit * _width(span.text[:end])
    return span._replace(x0=x0, x1=x1, text=span.text[start:end])
