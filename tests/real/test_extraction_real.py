"""Extraction against recorded replies: Twinkle Eval 2.10's own letters and those of the published runner."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from opentwbench.evaluation.extraction import read

pytestmark = pytest.mark.real

COLUMNS = {
    "strict": "otb_strict",
    "lenient": "otb_lenient",
    "twinkle-box": "twinkle_box",
    "twinkle-pattern": "twinkle_pattern",
}


@pytest.fixture(scope="module")
def cases(shared: Path) -> list[dict[str, Any]]:
    lines = (shared / "facts" / "extraction_cases.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize(
    ("method", "lines"), [("strict", 185), ("lenient", 185), ("twinkle-box", 165), ("twinkle-pattern", 165)]
)
def test_every_recorded_letter_is_reproduced(cases: list[dict[str, Any]], method: str, lines: int) -> None:
    column = COLUMNS[method]
    known = [case for case in cases if column in case]
    differing = {
        case["id"]: (found.answer, case[column])
        for case in known
        if (found := read(method, case["content"], case.get("reasoning"), case.get("reasoning_content"))).answer
        != case[column]
    }
    print(f"{method}: {len(known) - len(differing)} of {len(known)} recorded letters")
    assert not differing
    assert len(known) == lines


def test_every_recorded_lenient_rule_fires(cases: list[dict[str, Any]]) -> None:
    fired = {case["id"]: read("lenient", case["content"]) for case in cases}
    found = {name: reading.rule if reading.answer else None for name, reading in fired.items()}
    assert found == {case["id"]: case["otb_lenient_rule"] for case in cases}
    assert Counter(found.values()) == {"any": 61, "marked": 37, "box": 36, None: 33, "lead": 18}


def test_the_tolerant_box_never_contradicts_a_single_plain_box(cases: list[dict[str, Any]]) -> None:
    """Where a reply has one box and no reasoning, the further column may add a letter but never changes one."""
    plain = [c for c in cases if c["otb_strict"] and c["content"].count("boxed") == 1 and "<" not in c["content"]]
    assert len(plain) >= 15
    assert all(read("tolerant-box", case["content"]).answer == case["otb_strict"] for case in plain)
