"""What a page's drawings are: fills behind text show nothing, everything else does."""

from pathlib import Path

import pymupdf
import pytest

from opentwbench.exam.layout import Page, read_pages

SENTENCE = "a sentence that is long enough to be no scan of a page"


def page_with(path: Path, fill: pymupdf.Rect) -> Page:
    document = pymupdf.open()
    page = document.new_page()
    page.draw_rect(fill, color=None, fill=(1, 1, 1))
    page.insert_text((72, 100), SENTENCE, fontsize=12)
    document.save(path)
    return read_pages(path)[0]


@pytest.mark.parametrize(
    ("fill", "shown"),
    [
        pytest.param((72, 90, 84, 104), False, id="behind two characters"),
        pytest.param((72, 90, 300, 104), False, id="behind a line"),
        pytest.param((72, 110, 84, 124), True, id="below the line"),
        pytest.param((500, 90, 512, 104), True, id="right of the line"),
        pytest.param((72, 60, 300, 160), True, id="higher than a line"),
    ],
)
def test_a_fill_behind_text_shows_nothing(fill: tuple[float, ...], shown: bool, tmp_path: Path) -> None:
    assert bool(page_with(tmp_path / "Q.pdf", pymupdf.Rect(*fill)).drawings) == shown
