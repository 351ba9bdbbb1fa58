"""The adapters over the original files: counts against their SOURCE pages, evidence located, and a search."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from opentwbench.rag.adapters import read_benchmark
from opentwbench.rag.evidence import Library
from opentwbench.rag.model import Benchmark

SHARED = Path(os.environ.get("OTB_SHARED", Path(__file__).resolve().parents[3] / "shared")) / "rag"

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not SHARED.is_dir(), reason="OTB_SHARED holds no folder rag"),
]


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
