"""Pictured option markers: a check that the pictures really show A, B, C, D in that order.

What belongs here: comparing rendered marker pictures with each other. What does not: where they stand.
A picture does not say its letter, so the reader gives letters in reading order. The pictures of one letter look alike
and those of two letters do not: when they do not sort that way over the whole paper, the order was wrong somewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pymupdf

from opentwbench.exam.model import Box

SCALE = 4
"""Pixels a point when a marker is rendered."""

SIZE = 12
"""Points of the square at the picture's left end that holds the marker."""

Pixels = npt.NDArray[np.float64]
"""The square's pixels in grey, 0 to 255, one flat row."""


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
    pixels = _render_all(path, markers)
    letters = sorted({marker.letter for marker in markers})
    sums = {a: np.sum([p for p, m in zip(pixels, markers, strict=True) if m.letter == a], axis=0) for a in letters}
    counts = {a: sum(m.letter == a for m in markers) for a in letters}
    for own, marker in zip(pixels, markers, strict=True):
        if counts[marker.letter] < 2:
            continue
        distances = {}
        for letter in letters:
            itself = letter == marker.letter
            mean = (sums[letter] - own * itself) / (counts[letter] - itself)
            distances[letter] = float(np.sum((own - mean) ** 2))
        if min(distances, key=distances.__getitem__) != marker.letter:
            return marker
    return None


def _render_all(path: Path, markers: Sequence[PicturedMarker]) -> list[Pixels]:
    """The square of every marker; each page is interpreted once."""
    with pymupdf.open(path) as document:
        shown = {number: document[number - 1].get_displaylist() for number in {marker.page for marker in markers}}
        return [_render(shown[marker.page], marker.box) for marker in markers]


def _render(page: pymupdf.DisplayList, box: Box) -> Pixels:
    """The marker's square; always the same number of pixels, white where the page ends."""
    side = SIZE * SCALE
    middle = (box.y0 + box.y1) / 2
    clip = pymupdf.Rect(box.x0, middle - SIZE / 2, box.x0 + SIZE, middle + SIZE / 2)
    picture = page.get_pixmap(pymupdf.Matrix(SCALE, SCALE), colorspace=pymupdf.csGRAY, alpha=0, clip=clip)
    pixels = np.frombuffer(picture.samples, np.uint8).reshape(picture.height, picture.stride)[:side, : picture.width]
    square = np.full((side, side), 255.0)
    square[: pixels.shape[0], : min(side, pixels.shape[1])] = pixels[:, :side]
    return square.ravel()
