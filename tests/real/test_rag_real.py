"""The adapters over the original files: counts against their SOURCE pages, evidence located, and a search."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from opentwbench.rag.adapters import read_benchmark
from opentwbench.rag.evidence import Library
from opentwbench.rag.model import Benchmark
from opentwbench.rag.ragas import Crash, read_like_twinkle, read_scores

SHARED = Path(os.environ.get("OTB_SHARED", Path(__file__).resolve().parents[3] / "shared")) / "rag"

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not SHARED.is_dir(), reason="OTB_SHARED holds no folder rag"),
]


STRICT = ["plain", "ws", "fence_json", "fence", "fence_upper", "think", "avg_exact_half", "avg_below"]
"""Of the recorded judge replies, those that our own reading takes."""


def read(name: str) -> Benchmark:
    return read_benchmark(name, SHARED / name)


def located(made: Benchmark) -> tuple[int, int, int]:
    """Evidence located, not located, and questions without evidence."""
    found = [Library(made.documents).locate(question) for question in made.questions]
    without = sum(not question.evidence for question in made.questions)
    return sum(len(each.places) for each in found), sum(each.unlocated for each in found), without


def test_locomo() -> None:
    made = read("locomo")
    assert (len(made.documents), made.rows, len(made.questions)) == (3, 546, 411)
    assert made.dropped == {"adversarial": 135}
    assert located(made) == (586, 0, 2)


def test_syllabusqa() -> None:
    made = read("syllabusqa")
    assert (len(made.documents), made.rows, len(made.questions)) == (7, 559, 480)
    assert made.dropped == {"no_answer": 79}
    assert set(Counter(question.category for question in made.questions).values()) == {80}
    assert located(made) == (577, 131, 160)


def test_qasper() -> None:
    made = read("qasper")
    assert (len(made.documents), made.rows, len(made.questions)) == (8, 45, 41)
    assert made.dropped == {"unanswerable": 4}
    assert located(made) == (70, 1, 1)


def test_financebench() -> None:
    made = read("financebench")
    assert (len(made.documents), made.rows, len(made.questions)) == (3, 9, 9)
    assert [len(document.parts) for document in made.documents] == [85, 75, 9]
    assert located(made) == (8, 2, 0)


def test_the_recorded_judge_replies_are_read_as_twinkle_read_them(shared: Path) -> None:
    cases = [json.loads(line) for line in (shared / "facts" / "ragas_cases.jsonl").read_text("utf-8").splitlines()]
    assert len(cases) == 48
    strict = []
    for case in cases:
        if case.get("error"):
            with pytest.raises(Crash):
                read_like_twinkle(case["content"])
        else:
            assert read_like_twinkle(case["content"]) == case["scores"], case["id"]
        scores = read_scores(case["content"])
        assert scores is None or scores == case["scores"], case["id"]
        strict += [case["id"]] if scores else []
    # The form asked for and nothing else: fences and a closed thought are the model's habit.
    assert strict == STRICT
