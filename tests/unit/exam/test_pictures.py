"""Papers whose option markers are pictures: read in order, refused when a picture shows another letter."""

from pathlib import Path

import pymupdf
import pytest

from opentwbench.exam.model import PaperRejected, RejectionReason
from opentwbench.exam.questions import read_questions

QUESTIONS = 6
WORDS = ("alpha", "bravo", "charlie", "delta")


def marker_picture(letter: str) -> bytes:
    """A marker as the ministry's pictures show it: the letter in brackets, 24 x 12 points."""
    page = pymupdf.open().new_page(width=24, height=12)
    page.insert_text((0, 9), f"({letter})", fontsize=9)
    return page.get_pixmap(dpi=150).tobytes("png")


def pictured_paper(path: Path, order: dict[int, str], wide: bool = False) -> Path:
    """Six questions in English with pictured markers; `order` gives a question other letters than ABCD."""
    document = pymupdf.open()
    page = document.new_page()
    pictures = {letter: marker_picture(letter) for letter in "ABCD"}
    for q_no in range(1, QUESTIONS + 1):
        y = 60 + 100 * q_no
        page.insert_text((40, y), str(q_no), fontsize=12)
        page.insert_text((60, y), f"Which word is word number {q_no} of this list?", fontsize=12)
        for i, letter in enumerate(order.get(q_no, "ABCD")):
            x, base = 60 + 120 * i, y + 24
            width = 90 if wide and q_no == 3 else 24
            box = pymupdf.Rect(x, base - 10, x + width, base + 2)
            page.insert_image(box, stream=pictures[letter], keep_proportion=False)
            page.insert_text((x + 18, base), WORDS[i], fontsize=12)
    document.save(path)
    return path


def test_pictured_markers_are_read_in_order(tmp_path: Path) -> None:
    paper = read_questions(pictured_paper(tmp_path / "Q.pdf", {}))
    assert paper.layout == "pictures"
    assert [dict(q.options) for q in paper.questions] == [dict(zip("ABCD", WORDS, strict=True))] * QUESTIONS


def test_a_picture_of_another_letter_refuses_the_paper(tmp_path: Path) -> None:
    with pytest.raises(PaperRejected, match="looks like another letter's") as refused:
        read_questions(pictured_paper(tmp_path / "Q.pdf", {4: "ABDC"}))
    assert refused.value.reason is RejectionReason.OPTIONS_INCOMPLETE
    assert (refused.value.page, refused.value.q_no) == (1, 4)


def test_a_picture_that_holds_words_refuses_the_paper(tmp_path: Path) -> None:
    with pytest.raises(PaperRejected, match="placed as pictures") as refused:
        read_questions(pictured_paper(tmp_path / "Q.pdf", {}, wide=True))
    assert refused.value.reason is RejectionReason.OPTIONS_INCOMPLETE
    assert refused.value.page == 1
