"""The platform's readers over every hazard alone, in every layout, page style and grid: what defeats the naive parser
must not defeat them."""

from dataclasses import replace
from pathlib import Path

import pytest

from opentwbench.exam.keys import read_key
from opentwbench.exam.questions import read_questions
from samples.examples import key_with, paper_with, plain_key, plain_paper
from samples.key import typeset_key
from samples.ministry import true_text
from samples.paper import typeset_paper
from samples.spec import KEY_HAZARDS, Grid, Hazard, KeySpec, Layout, PaperSpec


def cases() -> list[object]:
    """Every hazard in every layout, but for what cannot occur: one option a line leaves no line for a cloze row."""
    found: list[object] = []
    for hazard in (h for h in Hazard if h not in KEY_HAZARDS):
        for layout in Layout:
            if (hazard, layout) == (Hazard.CLOZE_BLANKS, Layout.LETTER_DOT):
                continue
            found.append(pytest.param(hazard, layout, id=f"{hazard.value}-{layout.value}"))
    return found


def squeezed(text: str) -> str:
    return "".join(text.split())


def wrong_in_paper(spec: PaperSpec, path: Path) -> dict[int, tuple[str, str]]:
    """Question number -> (true, read) where the reader and the specification differ."""
    path.write_bytes(typeset_paper(spec))
    read = {question.q_no: question for question in read_questions(path).questions}
    wrong = {}
    for number, question in enumerate(spec.questions, 1):
        found = read.pop(number)
        true = [squeezed(true_text(text)) for text in (question.stem, *question.options)]
        seen = [squeezed(text) for text in (found.stem, *found.options.values())]
        if Hazard.DRAWN_OPTIONS in question.hazards:
            assert "not_text" in found.findings
            true, seen = true[:1], seen[:1]
        if true != seen:
            wrong[number] = (" / ".join(true), " / ".join(seen))
    assert read == {}, "questions that were never printed"
    return wrong


@pytest.mark.parametrize(("hazard", "layout"), cases())
def test_no_paper_hazard_defeats_the_question_reader(hazard: Hazard, layout: Layout, tmp_path: Path) -> None:
    for late in (False, True):
        for gap in (False, True):
            spec = replace(paper_with(hazard), layout=layout, late=late, script_gap=gap)
            assert wrong_in_paper(spec, tmp_path / "Q.pdf") == {}


@pytest.mark.parametrize("layout", list(Layout))
def test_the_question_reader_is_right_on_plain_papers(layout: Layout, tmp_path: Path) -> None:
    for late in (False, True):
        assert wrong_in_paper(plain_paper(layout, late=late), tmp_path / "Q.pdf") == {}


@pytest.mark.parametrize("grid", list(Grid))
@pytest.mark.parametrize("hazard", [None, *sorted(KEY_HAZARDS)])
def test_no_key_hazard_defeats_the_key_reader(hazard: Hazard | None, grid: Grid, tmp_path: Path) -> None:
    spec: KeySpec = replace(key_with(hazard) if hazard else plain_key(), grid=grid)
    path = tmp_path / "S.pdf"
    path.write_bytes(typeset_key(spec))
    sheet = read_key(path)
    assert dict(sheet.cells) == dict(spec.cells)
    assert sheet.grid == grid.value
