"""The row contract: every rule fires on its planted defect and on nothing else, and sound rows pass."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from support.datasets import hostile_rows, make_id, make_row

from opentwbench.dataset.contract import (
    COLUMNS,
    MAX_TEXT,
    RULE_NAMES,
    ItemRow,
    RowError,
    count_violations,
    excerpt,
    frame_of,
    rules,
    schema,
    validate_rows,
)

PLANTED: list[tuple[str, str, dict[str, Any]]] = [
    # (rule, column, what is changed in one row of a sound set)
    ("type", "answer", {"answer": None}),
    ("type", "A", {"A": 1}),
    ("type", "q_no", {"q_no": "1"}),
    ("type", "q_no", {"q_no": True}),
    ("type", "year_roc", {"year_roc": 2**63}),
    ("type", "B", {"B": "a lone surrogate \ud800"}),
    ("non_empty", "D", {"D": ""}),
    ("non_empty", "question", {"question": " \n "}),
    ("length", "question", {"question": "長" * (MAX_TEXT + 1)}),
    ("nfc", "C", {"C": "e\u0301"}),
    ("nfc", "exam_name", {"exam_name": "\uf99c"}),  # 列 as a compatibility ideograph: hazard 23
    ("no_private_use", "B", {"B": "\ue18c"}),
    ("no_private_use", "question", {"question": "第十五平面 \U000f0001"}),
    ("no_wide_space", "A", {"A": "甲\u3000乙"}),
    ("no_wide_space", "subject_group", {"subject_group": "甲\u00a0乙"}),
    ("no_control", "A", {"A": "甲\t乙"}),
    ("no_control", "A", {"A": "甲\r\n乙"}),
    ("no_control", "question", {"question": "\u0085下一行"}),
    ("no_control", "question", {"question": "分\u2028行"}),
    ("answer_letter", "answer", {"answer": "E"}),
    ("answer_letter", "answer", {"answer": "Ａ"}),
    ("answer_letter", "answer", {"answer": "a"}),
    ("answer_letter", "answer", {"answer": "AB"}),
    ("distinct_options", "A", {"B": "同", "D": "同"}),
    ("year", "year_ce", {"year_ce": 100}),
    ("positive", "n_source_papers", {"n_source_papers": 0}),
    ("positive", "q_no", {"q_no": -1}),
    ("positive", "year_roc", {"year_roc": 0, "year_ce": 1911}),
    ("item_id_shape", "item_id", {"item_id": "sample-subject-XYZ"}),
    ("item_id_shape", "item_id", {"item_id": make_id(3) + "\n"}),
    ("item_id_shape", "item_id", {"item_id": "../" + make_id(3)}),
    ("item_id_unique", "item_id", {"item_id": make_id(1)}),
]


def sound_records() -> list[dict[str, Any]]:
    return [make_row(n).to_json() for n in range(40)]


@pytest.mark.parametrize(("rule", "column", "change"), PLANTED)
def test_a_planted_defect_breaks_its_rule_alone(rule: str, column: str, change: dict[str, Any]) -> None:
    records = sound_records()
    records[3] |= change
    violations = validate_rows(records)
    assert {(v.rule, v.column) for v in violations} == {(rule, column)}
    assert 3 in {v.row for v in violations}


def test_every_rule_has_a_planted_defect() -> None:
    planted = {rule for rule, _, _ in PLANTED}
    assert planted | {"columns"} == set(RULE_NAMES)


def test_columns_missing_and_unknown_are_named() -> None:
    records = sound_records()
    del records[2]["exam_level"]
    records[5]["E"] = "a fifth option"
    assert [(v.row, v.column, v.rule) for v in validate_rows(records)] == [
        (2, "exam_level", "columns"),
        (5, "E", "columns"),
    ]


def test_natives_pass() -> None:
    """0 false alarms over 1,000 sound rows and every hostile text that is lawful."""
    rows = [make_row(n) for n in range(1_000, 2_000)] + hostile_rows()
    assert len(rows) > 1_040
    assert validate_rows(rows) == []
    assert count_violations(frame_of(rows)[0]) == {}


def test_lawful_texts_that_look_odd_stay() -> None:
    row = make_row(1, question="第一行\n第二行：x < 10.5 ㈠ ①？", A="1", B="１", C="+1", D="-1")
    assert validate_rows([row]) == []


def test_frames_are_judged_like_rows() -> None:
    records = sound_records()
    records[7]["answer"] = "Z"
    frame = pl.DataFrame(records, schema=schema())
    assert [(v.row, v.rule) for v in validate_rows(frame)] == [(7, "answer_letter")]
    holed = frame.with_columns(pl.when(pl.col("q_no") > 0).then(None).otherwise(pl.col("q_no")).alias("q_no"))
    assert {(v.rule, v.column) for v in validate_rows(holed)} >= {("type", "q_no")}
    assert {v.rule for v in validate_rows(frame.drop("B"))} == {"columns", "answer_letter"}


def test_the_listing_is_bounded_and_the_count_is_not() -> None:
    records = [record | {"answer": "Z"} for record in sound_records()]
    assert len(validate_rows(records, limit=5)) == 5
    assert count_violations(frame_of(records)[0]) == {("answer_letter", "answer"): 40}


def test_excerpts_are_bounded_and_inert() -> None:
    assert excerpt("\u202eabc") == "\\u202eabc"
    assert len(excerpt("長" * 10_000)) == 61
    assert excerpt(None) == "None"


def test_a_row_is_read_strictly() -> None:
    record = make_row(1).to_json()
    assert ItemRow.from_json(record) == make_row(1)
    assert tuple(record) == COLUMNS
    for change, named in (({"q_no": "1"}, "q_no"), ({"A": None}, "A"), ({"extra": 1}, "extra")):
        with pytest.raises(RowError, match=named):
            ItemRow.from_json(record | change)


def test_every_rule_has_its_name() -> None:
    assert ("columns", "type", *rules()) == RULE_NAMES
