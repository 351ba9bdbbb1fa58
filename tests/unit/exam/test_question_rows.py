"""The second question reader: it agrees on sound papers, and a fault of the first reader is seen by it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pymupdf
import pytest

from opentwbench.exam.keys import read_key
from opentwbench.exam.model import Declared, Exclusion, PaperRejected, Question, QuestionPaper, RejectionReason
from opentwbench.exam.painting import paint
from opentwbench.exam.paper import MOST_DOUBTFUL, join
from opentwbench.exam.question_rows import doubts
from opentwbench.exam.questions import read_questions
from samples.examples import paper_with, plain_key, plain_paper
from samples.key import typeset_key
from samples.paper import typeset_paper
from samples.spec import KEY_HAZARDS, Hazard, Layout

PAPER_HAZARDS = [hazard for hazard in Hazard if hazard not in KEY_HAZARDS]


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> QuestionPaper:
    path = tmp_path_factory.mktemp("paper") / "Q.pdf"
    path.write_bytes(typeset_paper(plain_paper()))
    return read_questions(path)


@pytest.mark.parametrize("layout", list(Layout))
def test_it_agrees_on_every_sample_hazard(layout: Layout, tmp_path: Path) -> None:
    """Native: no question without findings is doubted, over every hazard, page style and gap of a layout."""
    read = 0
    for hazard in PAPER_HAZARDS:
        if (hazard, layout) == (Hazard.CLOZE_BLANKS, Layout.LETTER_DOT):
            continue
        for late in (False, True):
            path = tmp_path / "Q.pdf"
            path.write_bytes(typeset_paper(replace(paper_with(hazard), layout=layout, late=late)))
            found = read_questions(path)
            assert found.second is not None
            assert doubts(found.questions, found.second) == {}, (hazard, late)
            read += len(found.questions)
    assert read > 150


def swap(question: Question, a: str, b: str) -> dict[str, str]:
    return {**question.options, a: question.options[b], b: question.options[a]}


def rotated(question: Question) -> Question:
    texts = list(question.options.values())
    return replace(question, options=dict(zip(question.options, texts[1:] + texts[:1], strict=True)))


def swapped(question: Question) -> Question:
    return replace(question, options=swap(question, "B", "C"))


def truncated(question: Question) -> Question:
    return replace(question, options={**question.options, "D": question.options["D"][:-1]})


def head_lost(question: Question) -> Question:
    return replace(question, options={**question.options, "B": question.options["B"][1:]})


def next_swallowed(question: Question) -> Question:
    both = question.options["C"] + question.options["D"]
    return replace(question, options={**question.options, "C": both, "D": both[-1:]})


def stem_into_option(question: Question) -> Question:
    options = {**question.options, "A": question.stem[-4:] + question.options["A"]}
    return replace(question, stem=question.stem[:-4], options=options)


def first_line_lost(question: Question) -> Question:
    return replace(question, stem=question.stem[6:])


def turned_round(question: Question) -> Question:
    """The same characters in another order: 年1月6 for 1年6月."""
    return replace(question, stem=question.stem[1] + question.stem[0] + question.stem[2:])


FAULTS = [rotated, swapped, truncated, head_lost, next_swallowed, stem_into_option, first_line_lost, turned_round]


@pytest.mark.parametrize("damage", FAULTS)
def test_a_fault_of_the_first_reader_is_seen(damage: Callable[[Question], Question], paper: QuestionPaper) -> None:
    """Planted in every question in turn; only the damaged one is doubted."""
    assert paper.second is not None
    for index, question in enumerate(paper.questions):
        damaged = damage(question)
        questions = (*paper.questions[:index], damaged, *paper.questions[index + 1 :])
        assert list(doubts(questions, paper.second)) == [question.q_no]


def test_a_question_that_it_cannot_find_is_doubted(paper: QuestionPaper) -> None:
    assert paper.second is not None
    second = {q_no: reading for q_no, reading in paper.second.items() if q_no != 3}
    assert doubts(paper.questions, second) == {3: "all"}


def test_a_question_with_findings_is_left_to_them(paper: QuestionPaper) -> None:
    assert paper.second is not None
    question = replace(truncated(paper.questions[0]), findings=frozenset({Exclusion.FIGURE}))
    assert doubts([question], paper.second) == {}


def test_a_doubted_item_is_excluded_and_many_refuse_the_paper(paper: QuestionPaper, tmp_path: Path) -> None:
    path = tmp_path / "key.pdf"
    path.write_bytes(typeset_key(plain_key()))
    count = len(paper.questions)
    cells = {question.q_no: "A" for question in paper.questions}
    sheet = replace(read_key(path), cells=cells, declared=Declared(count, None), header={}, remarks={})
    one = replace(paper, questions=(truncated(paper.questions[0]), *paper.questions[1:]))
    record = join(one, sheet)
    assert [item.q_no for item in record.items if Exclusion.NOT_TEXT in item.exclusions] == [1]
    assert "question 1: the two question readers differ (D)" in record.notes
    many = max(1, int(MOST_DOUBTFUL * count)) + 1
    spoilt = (*map(truncated, paper.questions[:many]), *paper.questions[many:])
    with pytest.raises(PaperRejected) as caught:
        join(replace(paper, questions=spoilt), sheet)
    assert caught.value.reason is RejectionReason.READERS_DISAGREE
    assert caught.value.q_no == 1
    assert not [note for note in join(paper, sheet).notes if "readers differ" in note]


@pytest.mark.parametrize("hazard", [Hazard.DRAWN_OPTIONS, Hazard.MARKER_IN_TEXT])
def test_a_page_is_painted_as_pymupdf_itself_says(hazard: Hazard, tmp_path: Path) -> None:
    """One display list gives what `get_texttrace` and `get_bboxlog` give, but for runs of blanks that paint nothing."""
    path = tmp_path / "Q.pdf"
    path.write_bytes(typeset_paper(paper_with(hazard)))
    with pymupdf.open(path) as document:
        for page in document:
            painting = paint(page)
            printed = [run for run in page.get_texttrace() if any(chr(char[0]).strip() for char in run["chars"])]
            assert [r for r in painting.runs if any(chr(char[0]).strip() for char in r["chars"])] == printed
            assert painting.boxes == [box for box in page.get_bboxlog() if not box[0].endswith("text")]
            assert painting.words == page.get_text("words", flags=pymupdf.TEXTFLAGS_WORDS)


def test_options_that_only_signs_tell_apart_are_compared_by_signs(paper: QuestionPaper) -> None:
    options = {"A": "x ＞ 1", "B": "x ＜ 1", "C": "x ＝ 1", "D": "無法判斷"}
    question = replace(paper.questions[0], options=options)
    second = {question.q_no: {"stem": question.stem, **{a: "".join(text.split()) for a, text in options.items()}}}
    assert doubts([question], second) == {}
    assert doubts([replace(question, options=swap(question, "A", "B"))], second) == {question.q_no: "A, B"}
