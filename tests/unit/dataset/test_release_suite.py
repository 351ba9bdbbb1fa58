"""The Great Expectations suite and the polars rules state the same contract: same verdicts, same counts."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest
from support.datasets import hostile_rows, make_id, make_row

from opentwbench.dataset.contract import COLUMNS, RULE_NAMES, count_violations, frame_of
from opentwbench.dataset.release_suite import RuleOutcome, release_frame, validate_release

# Fifteen defects at once, one a row, so that the suite (a second a run) runs once for all of them.
PLANTED: list[tuple[str, str, dict[str, Any]]] = [
    ("type", "answer", {"answer": None}),
    ("type", "q_no", {"q_no": "7"}),
    ("type", "A", {"A": 7}),
    ("type", "B", {"B": "\ud800"}),
    ("non_empty", "D", {"D": " "}),
    ("length", "question", {"question": "長" * 20_001}),
    ("nfc", "C", {"C": "e\u0301"}),
    ("no_private_use", "B", {"B": "\ue18c"}),
    ("no_private_use", "exam_level", {"exam_level": "\U00100000"}),
    ("no_wide_space", "A", {"A": "甲\u3000乙"}),
    ("no_control", "A", {"A": "甲\t乙"}),
    ("no_control", "question", {"question": "分\u2028行"}),
    ("answer_letter", "answer", {"answer": "Ａ"}),
    ("distinct_options", "A", {"B": "同", "D": "同"}),
    ("year", "year_ce", {"year_ce": 100}),
    ("positive", "n_source_papers", {"n_source_papers": 0}),
    ("item_id_shape", "item_id", {"item_id": make_id(1) + "\n"}),
    ("item_id_unique", "item_id", {"item_id": make_id(1)}),
]


def records(count: int = 40) -> list[dict[str, Any]]:
    return [make_row(n).to_json() for n in range(count)]


def by_suite(rows: list[dict[str, Any]]) -> dict[tuple[str, str], int]:
    return {(o.rule, o.column): o.unexpected for o in validate_release(release_frame(rows)) if not o.passed}


def by_polars(rows: list[dict[str, Any]]) -> dict[tuple[str, str], int]:
    frame, ill_typed = frame_of(rows)
    found = count_violations(frame)
    for violation in ill_typed:
        place = (violation.rule, violation.column)
        found[place] = found.get(place, 0) + 1
    return found


def test_both_agree_on_every_planted_defect_with_counts() -> None:
    rows = records()
    for n, (_, _, change) in enumerate(PLANTED, start=5):
        rows[n] |= change
    planted = {(rule, column) for rule, column, _ in PLANTED}
    assert len(planted) >= 12
    assert {rule for rule, _ in planted} | {"columns"} == set(RULE_NAMES)
    found = by_suite(rows)
    assert set(found) == planted
    assert found == by_polars(rows)


@pytest.mark.parametrize(("rule", "column", "change"), PLANTED[4::3])
def test_both_agree_on_one_defect_alone(rule: str, column: str, change: dict[str, Any]) -> None:
    rows = records()
    rows[3] |= change
    assert set(by_suite(rows)) == set(by_polars(rows)) == {(rule, column)}


def test_both_agree_on_sound_and_hostile_rows() -> None:
    rows = [row.to_json() for row in hostile_rows()] + [make_row(n).to_json() for n in range(100, 300)]
    outcomes = validate_release(release_frame(rows))
    assert [o for o in outcomes if not o.passed] == []
    assert by_polars(rows) == {}
    assert {o.rule for o in outcomes} == set(RULE_NAMES)


def test_columns_missing_unknown_or_moved_fail_columns() -> None:
    frame = release_frame(records())
    for changed in (frame.drop(columns="exam_name"), frame.assign(E="x"), frame[list(COLUMNS[::-1])]):
        failed = {o.rule for o in validate_release(changed) if not o.passed}
        assert failed == {"columns"}


def test_examples_are_the_cells_themselves_and_bounded() -> None:
    rows = [row | {"question": f"e\u0301{n}\u202e" * 40} for n, row in enumerate(records(60))]
    (outcome,) = [o for o in validate_release(release_frame(rows)) if not o.passed]
    assert isinstance(outcome, RuleOutcome)
    assert (outcome.rule, outcome.unexpected) == ("nfc", 60)
    assert len(outcome.examples) == 20
    assert outcome.examples[0].isprintable()


def test_a_release_without_rows_proves_nothing() -> None:
    with pytest.raises(ValueError, match="without rows"):
        validate_release(release_frame([]))


def test_nothing_is_reported_to_anybody_and_the_time_is_bounded() -> None:
    frame = release_frame([make_row(n) for n in range(5_000)])
    start = time.process_time()
    validate_release(frame)
    assert time.process_time() - start < 20  # about one second of work; a loaded machine is no fault
    assert os.environ["GX_ANALYTICS_ENABLED"] == "false"
