"""Pictures of a question paper with the boxes that the reader saw, so that a doubt can be settled by eye.

What belongs here: drawing regions, or the words of a paper that was rejected, on its own pages. What does not: reading.
A paper comes from outside, so commands use `illustrate`, which does both in a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymupdf

from opentwbench.exam.layout import UNREADABLE, open_pdf, read_pages, unreadable
from opentwbench.exam.model import Box, PaperRejected, Question, RejectionReason
from opentwbench.exam.paper import PAPER_MEMORY, SECONDS_A_PAPER
from opentwbench.exam.questions import read_questions
from opentwbench.exam.workers import Lost, run_isolated

DOTS_PER_INCH = 120
"""Small print of a real page stays readable."""

MAX_SIDE = 4000
"""Longest side of a picture in pixels; a page of hostile size is drawn smaller."""

_COLOURS: Mapping[str, tuple[float, float, float]] = {
    "number": (0.35, 0.35, 0.35),
    "stem": (0.0, 0.35, 0.85),
    "A": (0.85, 0.1, 0.1),
    "B": (0.0, 0.55, 0.15),
    "C": (0.9, 0.5, 0.0),
    "D": (0.55, 0.1, 0.7),
    "E": (0.45, 0.3, 0.1),
    "word": (0.6, 0.6, 0.6),
}
_TAGS = {"number": "", "stem": "Q", "word": ""}


class NoSuchQuestion(ValueError):
    """The number is none of the paper's."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One box to draw on a page. `part` is a region's part or 'word'."""

    page: int
    box: Box
    part: str
    tag: str


@dataclass(frozen=True, slots=True)
class Picture:
    """One page as PNG. `name` is a file name made of numbers only, never of anything the paper says."""

    name: str
    page: int
    png: bytes


@dataclass(frozen=True, slots=True)
class View:
    """What to draw of a paper: its marks, the pages to show, and the rejection when it was rejected."""

    marks: tuple[Mark, ...]
    pages: tuple[int, ...]
    questions: int
    rejection: PaperRejected | None


def view(path: Path, question: int | None = None) -> View:
    """The marks of a paper, or of one question of it; of a rejected paper the words that were seen, on every page.

    Raises:
        PaperRejected: the file has no pages to show (not_a_pdf, encrypted, too_large).
        NoSuchQuestion: the paper was read and has no such question.
    """
    with open_pdf(path) as document:
        every_page = tuple(range(1, document.page_count + 1))
    try:
        paper = read_questions(path)
    except PaperRejected as rejection:
        if rejection.reason is RejectionReason.TOO_LARGE:
            raise  # to read its words again would cost what was refused
        return View(tuple(_words(path, rejection)), every_page, 0, rejection)
    chosen = [q for q in paper.questions if question in (None, q.q_no)]
    if not chosen:
        raise NoSuchQuestion(f"no question {question}: the paper has 1 to {len(paper.questions)}")
    marks = tuple(_question_marks(chosen))
    pages = every_page if question is None else tuple(sorted({mark.page for mark in marks}))
    return View(marks, pages, len(paper.questions), None)


def draw(path: Path, what: View, prefix: str = "") -> Iterator[Picture]:
    """Each page of a view with its marks. Raises `PaperRejected` as `view` does."""
    with open_pdf(path) as document:
        for number in what.pages:
            page = document[number - 1]
            _draw_marks(page, [mark for mark in what.marks if mark.page == number])
            scale = min(DOTS_PER_INCH / 72, MAX_SIDE / max(page.rect.width, page.rect.height, 1))
            pixels = page.get_pixmap(matrix=pymupdf.Matrix(scale, scale))
            yield Picture(f"{prefix}page_{number:02d}.png", number, pixels.tobytes("png"))


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to look at: a paper, one question of it or None for all, and what the pictures' names start with."""

    path: Path
    question: int | None = None
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Illustration:
    """The pictures of what was wanted. `refused` is the reason when there are none; `no_such_question` is no fault of
    the paper."""

    pictures: tuple[Picture, ...] = ()
    questions: int = 0
    rejection: str = ""
    refused: str = ""
    no_such_question: bool = False


def illustrate(
    wanted: Sequence[Wanted], *, processes: int = 1, seconds: float = SECONDS_A_PAPER
) -> Iterator[Illustration]:
    """View and draw each, in order, in processes with the limits of parsing. A file that kills or outlasts its process
    is refused (not_a_pdf, too_large) and costs no other."""
    return run_isolated(
        _illustrate, wanted, _not_illustrated, processes=processes, seconds=seconds, memory=PAPER_MEMORY
    )


def _illustrate(wanted: Wanted) -> Illustration:
    try:
        what = view(wanted.path, wanted.question)
        prefix = wanted.prefix if what.rejection is None else ""
        pictures = tuple(draw(wanted.path, what, prefix))
    except PaperRejected as rejection:
        return Illustration(refused=str(rejection))
    except UNREADABLE as error:
        if isinstance(error, NoSuchQuestion):
            return Illustration(refused=str(error), no_such_question=True)
        return Illustration(refused=str(unreadable(error, "a page cannot be drawn", wanted.path.name)))
    return Illustration(pictures, what.questions, str(what.rejection or ""))


def _not_illustrated(wanted: Wanted, why: Lost) -> Illustration:
    reason = RejectionReason.TOO_LARGE if why.late else RejectionReason.NOT_A_PDF
    return Illustration(refused=str(PaperRejected(reason, why.detail, file=wanted.path.name)))


def _question_marks(questions: Iterable[Question]) -> Iterator[Mark]:
    for question in questions:
        for region in question.regions:
            tag = str(question.q_no) if region.part == "number" else _TAGS.get(region.part, region.part)
            yield Mark(region.page, region.box, region.part, tag)


def _words(path: Path, rejection: PaperRejected) -> Iterator[Mark]:
    if rejection.reason is RejectionReason.NO_TEXT_LAYER:
        return
    for page in read_pages(path):
        for span in page.spans:
            if span.text.strip():
                yield Mark(page.number, span.box, "word", "")


def _draw_marks(page: Any, marks: Sequence[Mark]) -> None:
    if not marks:
        return
    shape = page.new_shape()
    for mark in marks:
        colour = _COLOURS[mark.part]
        box = pymupdf.Rect(mark.box.x0 - 1, mark.box.y0 - 1, mark.box.x1 + 1, mark.box.y1 + 1)
        shape.draw_rect(box)
        shape.finish(color=colour, fill=colour, fill_opacity=0.08, width=0.8)
        if mark.tag:
            # Beside the box: a number on its left, in the margin, the rest on its right, where a line usually ends.
            x = box.x0 - 4.5 * len(mark.tag) if mark.part == "number" else box.x1 + 1
            shape.insert_text((x, box.y0 + 7), mark.tag, fontsize=7, fontname="hebo", color=colour)
    shape.commit()
