"""The question reader on the real papers: golden items, counts, and what its findings cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opentwbench.exam.model import Exclusion, QuestionPaper
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


def test_findings_of_hazards(ministry: Path) -> None:
    """Hazards 16, 18, 20 to 22: what must not be published carries the finding that keeps it out."""
    expected = {
        ("101080/811/1523", 7): Exclusion.NOT_TEXT,
        ("101080/811/1523", 8): Exclusion.FIGURE,
        ("100140/101/0101", 79): Exclusion.FIGURE,
        ("108901/900/0025", 41): Exclusion.PASSAGE_GROUP,
        ("108901/900/0025", 46): Exclusion.PASSAGE_GROUP,
        ("101030/101/0102", 29): Exclusion.UNMAPPED_GLYPH,
    }
    for (folder, q_no), exclusion in expected.items():
        paper = read_questions(ministry / "files" / folder / "Q.pdf")
        assert exclusion in next(q for q in paper.questions if q.q_no == q_no).findings, (folder, q_no)
