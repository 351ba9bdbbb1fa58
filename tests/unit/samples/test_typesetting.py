"""The typesetter: deterministic bytes, a text layer with the code points asked for, and figures in the right places."""

from dataclasses import replace

import pymupdf
import pytest
from support.naive_parser import parse_paper

from samples import defects
from samples.examples import PLAIN, key_with, paper_with, plain_key, plain_paper
from samples.fonts import COMPATIBILITY, MARKERS, UNMAPPED_GLYPH, MissingGlyphError
from samples.key import typeset_key
from samples.paper import typeset_paper
from samples.sittings import papers
from samples.spec import KEY_HAZARDS, Grid, Hazard, Layout, PrintedQuestion


def text_of(data: bytes) -> str:
    with pymupdf.open(stream=data) as document:
        return "".join(page.get_text() for page in document)


def word_box(data: bytes, word: str) -> tuple[float, float]:
    """x and base-near y of the first span that holds the word."""
    with pymupdf.open(stream=data) as document:
        for block in document[0].get_text("dict")["blocks"]:
            for line in block["lines"]:
                for span in line["spans"]:
                    if word in span["text"]:
                        return span["origin"]
    raise AssertionError(f"{word} is not on the page")


@pytest.mark.parametrize("hazard", list(Hazard))
def test_the_same_specification_gives_the_same_bytes(hazard: Hazard) -> None:
    def print_it() -> bytes:
        return typeset_key(key_with(hazard)) if hazard in KEY_HAZARDS else typeset_paper(paper_with(hazard))

    assert print_it() == print_it()


def test_markers_are_private_use_code_points_in_their_own_face() -> None:
    data = typeset_paper(plain_paper())
    assert [text_of(data).count(marker) for marker in MARKERS] == [4, 4, 4, 4, 0]
    with pymupdf.open(stream=data) as document:
        spans = [s for b in document[0].get_text("dict")["blocks"] for line in b["lines"] for s in line["spans"]]
    assert {s["font"] for s in spans if s["text"].strip() in tuple(MARKERS)} == {"EUDC"}


def test_compatibility_ideographs_reach_the_text_layer() -> None:
    text = text_of(typeset_paper(paper_with(Hazard.COMPAT_IDEOGRAPHS)))
    assert text.count(COMPATIBILITY["列"]) == 4
    assert "列" not in text.replace(COMPATIBILITY["列"], "")


def test_an_unmapped_private_use_glyph_reaches_the_text_layer() -> None:
    question = PrintedQuestion(f"打{UNMAPPED_GLYPH}", ("甲", "乙", "丙", "丁"))
    assert UNMAPPED_GLYPH in text_of(typeset_paper(replace(plain_paper(), blocks=(question,))))


def test_a_character_without_a_glyph_is_an_error_that_names_it() -> None:
    question = PrintedQuestion("\U0001f600", ("甲", "乙", "丙", "丁"))
    with pytest.raises(MissingGlyphError, match=r"U\+1F600"):
        typeset_paper(replace(plain_paper(), blocks=(question,)))


def test_four_layouts_put_numbers_and_options_where_the_real_papers_have_them() -> None:
    early = typeset_paper(plain_paper())
    assert word_box(early, "下列何者為電腦")[0] == pytest.approx(72.2, abs=0.1)
    assert word_box(early, MARKERS[1])[0] == pytest.approx(193.7, abs=0.1)
    late = typeset_paper(plain_paper(late=True))
    assert word_box(late, MARKERS[2])[0] == pytest.approx(296.5, abs=0.1)
    dotted = typeset_paper(plain_paper(Layout.LETTER_DOT))
    assert word_box(dotted, "A.")[0] == pytest.approx(37.2, abs=0.1)
    assert "(A)" in text_of(typeset_paper(plain_paper(Layout.BRACKETED)))


def test_a_raised_script_is_small_and_high() -> None:
    spec = paper_with(Hazard.SCRIPTS)
    with pymupdf.open(stream=typeset_paper(spec)) as document:
        spans = [s for b in document[0].get_text("dict")["blocks"] for line in b["lines"] for s in line["spans"]]
    ten = next(i for i, s in enumerate(spans) if s["text"] == "10")
    assert spans[ten + 1]["text"] == "3"
    assert spans[ten + 1]["size"] == pytest.approx(0.64 * spans[ten]["size"])
    assert spans[ten]["origin"][1] - spans[ten + 1]["origin"][1] > 4


@pytest.mark.parametrize("grid", list(Grid))
def test_every_answer_stands_under_its_label(grid: Grid) -> None:
    spec = replace(plain_key(), grid=grid)
    with pymupdf.open(stream=typeset_key(spec)) as document:
        words = document[0].get_text("words")
    centres = {w[4]: ((w[0] + w[2]) / 2, w[1]) for w in words if w[4].startswith("第") or w[4].isdigit()}
    cells = [((w[0] + w[2]) / 2, w[1], w[4]) for w in words if w[4] in "ABCD"]
    assert len(cells) == 40
    for number, answer in spec.cells.items():
        x, y = centres[f"第{number}題" if grid is Grid.ORDINAL else f"{number:02d}"]
        below = [c for c in cells if abs(c[0] - x) < 6 and 0 < c[1] - y < 30]
        assert [c[2] for c in below] == [answer]


def test_a_grid_has_room_for_a_hundred_questions() -> None:
    with pytest.raises(ValueError, match="1 to 100"):
        typeset_key(replace(plain_key(), cells={101: "A"}))


def test_page_headers_count_pages() -> None:
    spec = replace(plain_paper(), blocks=PLAIN * 12)
    with pymupdf.open(stream=typeset_paper(spec)) as document:
        pages = [page.get_text() for page in document]
    assert len(pages) == 3
    assert [f"頁次：3－{n}" in page for n, page in enumerate(pages, 1)] == [True, True, True]


def test_nothing_is_printed_outside_the_page() -> None:
    seen = 0
    for paper in papers(2):
        if paper.missing:
            continue
        with pymupdf.open(stream=typeset_paper(paper.paper_spec())) as document:
            for page in document:
                for x0, y0, x1, y1, *_ in page.get_text("words"):
                    seen += 1
                    assert 20 < x0 < x1 < 580 and 15 < y0 < y1 < 835
    assert seen > 3000


# ----------------------------------------------------------------------------------------------------------- defects


def test_key_damage_does_what_it_says() -> None:
    key = plain_key()
    assert defects.shift_key(key).cells[2] == key.cells[1]
    assert 7 not in defects.drop_cell(key, 7).cells and len(defects.drop_cell(key, 7).cells) == 39
    closed = defects.close_up(key, 7)
    assert closed.cells[7] == key.cells[8] and 40 not in closed.cells
    swapped = defects.swap_rows(key, 0, 2)
    assert [swapped.cells[n] for n in range(1, 11)] == [key.cells[n] for n in range(21, 31)]
    assert defects.set_cell(key, 3, "#").cells[3] == "#"


def test_damage_that_changes_nothing_is_refused() -> None:
    key = plain_key()
    with pytest.raises(ValueError, match="changes nothing"):
        defects.set_cell(key, 3, key.cells[3])
    with pytest.raises(ValueError, match="changes nothing"):
        defects.drop_cell(key, 99)
    with pytest.raises(ValueError, match="not both full"):
        defects.swap_rows(key, 0, 9)


def test_paper_damage_shows_on_the_printed_page() -> None:
    plain = plain_paper()
    merged = parse_paper(typeset_paper(defects.merge_questions(plain, 1)))
    assert len(merged.questions) == 3 and "揮發性" in merged.questions[1].options["D"]
    assert len(parse_paper(typeset_paper(defects.drop_question(plain, 2))).questions) == 3
    assert sorted(parse_paper(typeset_paper(defects.skip_number(plain, 2))).questions) == [1, 3, 4, 5]
    rotated = parse_paper(typeset_paper(defects.rotate_options(plain, 1))).questions[1]
    assert rotated.options == {"A": "投影機", "B": "印表機", "C": "鍵盤", "D": "喇叭"}
    assert sorted(parse_paper(typeset_paper(defects.drop_option(plain, 4))).questions[4].options) == ["A", "B", "C"]
