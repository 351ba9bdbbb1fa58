"""The question reader on the real papers: golden items, counts, and what its findings cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opentwbench.exam.model import Exclusion, PaperRejected, QuestionPaper
from opentwbench.exam.question_rows import doubts
from opentwbench.exam.questions import read_questions

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def golden(shared: Path) -> list[dict[str, Any]]:
    return json.loads((shared / "facts" / "golden_items.json").read_text(encoding="utf-8"))


def test_golden_items(golden: list[dict[str, Any]], ministry: Path) -> None:
    """17 of 17 eye-checked items: stems and options to the letter."""
    papers: dict[str, QuestionPaper] = {}
    right = 0
    for item in golden:
        paper = papers.setdefault(item["file"], read_questions(ministry / item["file"]))
        question = next(q for q in paper.questions if q.q_no == item["q"])
        where = f"{item['file']} question {item['q']}"
        assert question.page == item["page"] or "承上題" in question.stem, where
        assert question.stem == item.get("stem", question.stem), where
        for letter, text in item.get("options", {}).items():
            assert question.options[letter] == text, where
        for letter, tail in item.get("options_tail", {}).items():
            assert question.options[letter].endswith(tail), where
        assert len(question.options) == item.get("n_options", len(question.options)), where
        right += 1
    assert right == len(golden) == 17


@pytest.mark.parametrize(
    ("folder", "q_no", "words"),
    [
        # /ActualText names other words than those painted; structured text loses and doubles some.
        ("111130/601/0101", 1, "過不了好久，它又會穿破雲層，大放光明。一粒種子撒在泥土裡，不必擔心它會不會活"),
        ("101010/301/11", 19, "12對腦神經"),  # the stem starts with digits behind the number's dot
        ("100030/102/0104", 25, "血氯[Cl⁻]109"),  # a sign raised over a typed space
        ("100140/101/0102", 89, "10⁵/μL"),
        ("100110/811/1325", 17, "x⊕y"),
    ],
)
def test_words_as_painted(folder: str, q_no: int, words: str, ministry: Path) -> None:
    question = next(q for q in read_questions(ministry / "files" / folder / "Q.pdf").questions if q.q_no == q_no)
    assert words in question.stem + "".join(question.options.values())


@pytest.mark.parametrize("folder", ["106901/900/0004", "106901/900/0020", "106901/900/0027"])
def test_a_number_drawn_as_one_glyph_is_no_part_of_the_stem(folder: str, ministry: Path) -> None:
    questions = read_questions(ministry / "files" / folder / "Q.pdf").questions
    assert len(questions) == 10
    assert [q.q_no for q in questions if q.stem.startswith(f"{q.q_no}.")] == []


def test_every_character_of_every_paper_is_accounted_for(ministry: Path) -> None:
    """The share of the question area that no question, heading, passage or figure explains: none, on 224 papers."""
    printed = unexplained = papers = 0
    for path in sorted(ministry.glob("files/*/*/*/Q.pdf")):
        try:
            characters = dict(read_questions(path).characters)
        except PaperRejected:
            continue
        papers += 1
        printed += characters["printed"]
        unexplained += characters.get("unexplained", 0)
        assert sum(characters.values()) == 2 * characters["printed"], path
    assert papers >= 224
    assert printed > 1_000_000
    assert unexplained / printed < 0.001


def test_findings_of_hazards(ministry: Path) -> None:
    """Hazards 16, 18, 20 to 22: what must not be published carries the finding that keeps it out."""
    expected = {
        ("101080/811/1523", 7): Exclusion.NOT_TEXT,
        ("101080/811/1523", 8): Exclusion.FIGURE,
        ("100140/101/0101", 79): Exclusion.FIGURE,
        ("108901/900/0025", 41): Exclusion.PASSAGE_GROUP,
        ("108901/900/0025", 46): Exclusion.PASSAGE_GROUP,
        ("101030/101/0102", 29): Exclusion.UNMAPPED_GLYPH,
        ("101030/101/0102", 38): Exclusion.UNMAPPED_GLYPH,  # the other word spelt with the same ambiguous code
        ("108120/900/0003", 1): Exclusion.UNMAPPED_GLYPH,  # ①, ② and ③ are all coded as ①
        ("100110/811/1325", 33): Exclusion.NOT_TEXT,  # a sum with its limits
        ("101080/811/1523", 16): Exclusion.NOT_TEXT,  # complements: rules drawn over letters
        ("107130/201/0415", 21): Exclusion.UNMAPPED_GLYPH,  # a rare ideograph's code, drawn as a common one
    }
    for (folder, q_no), exclusion in expected.items():
        paper = read_questions(ministry / "files" / folder / "Q.pdf")
        assert exclusion in next(q for q in paper.questions if q.q_no == q_no).findings, (folder, q_no)


def test_the_two_readers_agree_on_all_but_two_questions(ministry: Path) -> None:
    """Of 7,852 questions without findings; both are English ones whose first letter is a word of its own."""
    doubted, compared = {}, 0
    for path in sorted(ministry.glob("files/*/*/*/Q.pdf")):
        try:
            paper = read_questions(path)
        except PaperRejected:
            continue
        assert paper.second is not None
        compared += sum(not question.findings for question in paper.questions)
        for q_no, parts in doubts(paper.questions, paper.second).items():
            doubted[path.parent.relative_to(ministry / "files").as_posix(), q_no] = parts
    assert compared > 7_800
    assert doubted == {("107130/904/0210", 9): "B", ("110902/900/0024", 41): "A"}


def test_a_fill_behind_a_character_is_no_figure(ministry: Path) -> None:
    """107130/941/0707 fills the last character of each option of question 25 in white."""
    questions = read_questions(ministry / "files" / "107130/941/0707/Q.pdf").questions
    assert not questions[24].findings
