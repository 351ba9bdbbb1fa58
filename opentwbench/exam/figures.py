"""Where a page holds drawings and pictures, and which question they belong to.

What belongs here: boxes of graphics and their clusters. What does not: what a question does with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opentwbench.exam.layout import Page, Span
from opentwbench.exam.model import Box

SMALLEST = 10.0
"""A drawing or picture smaller than this (points, both sides) is a dot or a piece of a glyph (the dot of V̇O₂)."""

REACH = 14.0
"""Graphics nearer than this (points, about a line) form one figure; labels stand as near to it."""


def figures(page: Page) -> list[Box]:
    """The page's figures: drawings and pictures that stand together as one box each.

    A rule is part of one only where it is the border of something drawn; else it underlines words.
    """
    pieces = [box for box in (*page.drawings, *page.images, *page.borders) if _visible(box)]
    return _merge(pieces)


def _visible(box: Box) -> bool:
    return box.x1 - box.x0 >= SMALLEST or box.y1 - box.y0 >= SMALLEST


def _merge(boxes: Iterable[Box]) -> list[Box]:
    merged: list[Box] = []
    for box in boxes:
        near = [other for other in merged if near_to(other, box, REACH)]
        for other in near:
            merged.remove(other)
            box = union(other, box)
        merged.append(box)
    return merged


def union(a: Box, b: Box) -> Box:
    """The smallest box that holds both."""
    return Box(min(a.x0, b.x0), min(a.y0, b.y0), max(a.x1, b.x1), max(a.y1, b.y1))


def near_to(a: Box, b: Box, reach: float) -> bool:
    """True when the boxes overlap or stand within `reach` points of each other in both directions."""
    return a.x0 - reach <= b.x1 and b.x0 <= a.x1 + reach and a.y0 - reach <= b.y1 and b.y0 <= a.y1 + reach


def at(span: Span, areas: Sequence[Box], reach: float = REACH) -> bool:
    """True when the span stands in one of the areas or, as a label does, within `reach` points of it."""
    middle = (span.y0 + span.y1) / 2
    return any(
        area.x0 - reach <= span.x1 and span.x0 <= area.x1 + reach and area.y0 - reach <= middle <= area.y1 + reach
        for area in areas
    )


def grow(area: Box, labels: Sequence[Span]) -> Box:
    """The area with the labels that stand at it."""
    for span in labels:
        if near_to(area, span.box, REACH):
            area = union(area, span.box)
    return area


def encloses(area: Box, span: Span) -> bool:
    """True when the drawing surrounds or covers the middle of the span."""
    x, y = (span.x0 + span.x1) / 2, (span.y0 + span.y1) / 2
    return area.x0 <= x <= area.x1 and area.y0 <= y <= area.y1
