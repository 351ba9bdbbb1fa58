"""Pictured option markers: a check that the pictures really show A, B, C, D in that order.

What belongs here: comparing rendered marker pictures with each other. What does not: where they stand.
A picture does not say its letter, so the reader gives letters in reading order. The pictures of one letter look alike
and those of two letters do not: when they do not sort that way over the whole paper, the order was wrong somewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pymupdf

from opentwbench.exam.model import Box

SCALE = 4
"""Pixels a point when a marker is rendered."""

SIZE = 12
"""Points of the square at the picture's left end that holds the marker."""

Pixels = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PicturedMarker:
    """A marker placed as a picture, the question it belongs to and the letter it was given."""

    page: int
    box: Box
    q_no: int
    letter: str


def first_misfit(path: Path, markers: Sequence[PicturedMarker]) -> PicturedMarker | None:
    """The first marker that looks more like another letter's pictures than like its own letter's; None when all fit.

    Every marker is compared with the mean picture of each letter, its own left out of its own letter's mean.
    """
    if not markers:
        return None
    with pymupdf.open(path) as document:
        pixels = [_render(document[marker.page - 1], marker.box) for marker in markers]
    letters = sorted({marker.letter for marker in markers})
    sums = {a: _total([p for p, m in zip(pixels, markers, strict=True) if m.letter == a]) for a in letters}
    counts = {a: sum(m.letter == a for m in markers) for a in letters}
    for own, marker in zip(pixels, markers, strict=True):
        if counts[marker.letter] < 2:
            continue
        distances = {}
        for letter in letters:
            itself = letter == marker.letter
            count = counts[letter] - itself
            total = sums[letter]
            distances[letter] = sum(
                (value - (sum_ - (value if itself else 0)) / count) ** 2 for value, sum_ in zip(own, total, strict=True)
            )
        if min(distances, key=distances.__getitem__) != marker.letter:
            return marker
    return None


def _render(page: pymupdf.Page, box: Box) -> Pixels:
    """The marker's square in grey, 0 to 255, row by row; always the same number of pixels."""
    side = SIZE * SCALE
    middle = (box.y0 + box.y1) / 2
    clip = pymupdf.Rect(box.x0, middle - SIZE / 2, box.x0 + SIZE, middle + SIZE / 2)
    matrix = pymupdf.Matrix(SCALE, SCALE)
    picture = page.get_pixmap(matrix=matrix, clip=clip, colorspace=pymupdf.csGRAY, alpha=False)
    rows = [picture.samples[y * picture.stride :][: picture.width] for y in range(picture.height)]
    padded = [row[:side].ljust(side, b"\xff") for row in rows[:side]]
    padded += [b"\xff" * side] * (side - len(padded))
    return tuple(b"".join(padded))


def _total(pictures: Sequence[Pixels]) -> list[int]:
    return [sum(values) for values in zip(*pictures, strict=True)]
