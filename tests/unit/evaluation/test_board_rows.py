"""Rows that only the board needs: what a record becomes, and each record that is refused, by its place."""

from __future__ import annotations

from typing import Any

import pytest

from opentwbench.dataset.contract import MAX_TEXT
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.board_rows import (
    MAX_NAME,
    item_text_rows,
    model_card_row,
    provenance_rows,
    removed_row,
    score_row,
)

ITEM: dict[str, Any] = {
    "item_id": "made-1", "question": "何者？", "A": "甲", "B": "乙", "C": "丙", "D": "丁", "answer": "B",
    "exam_name": "示範考試", "paper_id": "p", "year_roc": 110, "q_no": 3, "n_source_papers": 2,
}  # fmt: skip


def test_an_asked_item_becomes_a_row_and_others_are_passed_over() -> None:
    rows = list(item_text_rows("tw-made", [ITEM, {**ITEM, "item_id": "made-2"}], frozenset({"made-1"})))
    assert [row["item_id"] for row in rows] == ["made-1"]
    assert (rows[0]["option_b"], rows[0]["key"], rows[0]["year_roc"], rows[0]["article"]) == ("乙", "B", 110, None)


def test_an_item_of_an_article_has_its_name_and_address() -> None:
    formosa = {**ITEM, "article": "Food/示範", "url": "https://example.org/a"}
    row = next(item_text_rows("tw-formosa-bench", [formosa], frozenset({"made-1"})))
    assert (row["article"], row["article_url"]) == ("Food/示範", "https://example.org/a")


def test_texts_that_look_like_nothing_stay() -> None:
    row = next(item_text_rows("d", [{**ITEM, "A": "None", "B": "NA", "C": "null", "D": "001"}], frozenset({"made-1"})))
    assert [row[f"option_{letter}"] for letter in "abcd"] == ["None", "NA", "null", "001"]


@pytest.mark.parametrize("planted", [{"question": ""}, {"A": None}, {"D": 4}, {"B": "x" * (MAX_TEXT + 1)}])
def test_an_item_without_its_texts_is_refused(planted: dict[str, Any]) -> None:
    with pytest.raises(DatasetError, match=f"tw-made: made-1: {next(iter(planted))} is no text"):
        list(item_text_rows("tw-made", [{**ITEM, **planted}], frozenset({"made-1"})))


def test_what_is_no_count_or_text_of_a_paper_is_null() -> None:
    hostile = {**ITEM, "year_roc": True, "q_no": -1, "n_source_papers": 1 << 40, "exam_name": ["x"], "paper_id": ""}
    row = next(item_text_rows("d", [hostile], frozenset({"made-1"})))
    assert [row[n] for n in ("year_roc", "q_no", "n_source_papers", "exam_name", "paper_id")] == [None] * 5


def test_a_card_states_what_it_states_and_no_more() -> None:
    row = model_card_row({"model": "m", "parameters_b": 8, "open_weights": False}, "line 1")
    assert (row["parameters_b"], row["open_weights"], row["taiwan_tuned"], row["is_sample"]) == (
        8.0,
        False,
        None,
        False,
    )


@pytest.mark.parametrize("released", ["2026-09", "2024-02-29", None])
def test_a_month_or_a_day_is_a_date_of_release(released: str | None) -> None:
    assert model_card_row({"model": "m", "released": released}, "line 1")["released"] == released


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        ({"model": ""}, "needs the text model"), ({"model": 3}, "needs the text model"),
        ({"colour": "red"}, "unknown field colour"), ({"family": ""}, "family is no text"),
        ({"licence": "x" * (MAX_NAME + 1)}, "licence is no text"), ({"parameters_b": "8"}, "is no number"),
        ({"parameters_b": True}, "is no number"), ({"parameters_b": 0}, "above 0"),
        ({"parameters_b": 8e9}, "thousand millions"), ({"parameters_b": float("nan")}, "thousand millions"),
        ({"taiwan_tuned": "yes"}, "neither true nor false"), ({"is_sample": None}, "neither true nor false"),
        ({"released": "2026-13-01"}, "released: 2026-13-01: no date"), ({"released": "2026-13"}, "no date"),
        ({"released": "2026-02-30"}, "no date"), ({"released": "November 2026"}, "as YYYY-MM or YYYY-MM-DD"),
    ],
)  # fmt: skip
def test_a_card_of_another_form_is_refused_with_its_place(planted: dict[str, Any], said: str) -> None:
    with pytest.raises(DatasetError, match=f"^cards line 7.*{said}"):
        model_card_row({"model": "m", **planted}, "cards line 7")


def test_provenance_is_sorted_bounded_and_without_empty_values() -> None:
    rows = provenance_rows("s", {"runtime": "x" * 2_000, "hardware": "1 GPU", "driver": ""})
    assert [(row["field"], len(row["value"])) for row in rows] == [("hardware", 5), ("runtime", MAX_NAME)]


SCORE: dict[str, Any] = {
    "run_id": "r", "dataset_version": "v", "item_set": "scored", "methods": {"strict": {"micro": {"n": 4, "hits": 3}}},
}  # fmt: skip


def test_a_score_becomes_a_row() -> None:
    assert score_row(SCORE, "strict", "r")["hits"] == 3


@pytest.mark.parametrize(
    "planted",
    [
        {"methods": {}}, {"methods": None}, {"methods": {"strict": {"micro": {"n": 4, "hits": 5}}}},
        {"methods": {"strict": {"micro": {"n": 4, "hits": -1}}}},
        {"methods": {"strict": {"micro": {"n": 4.0, "hits": 3}}}},
        {"methods": {"strict": {"micro": {"n": True, "hits": True}}}}, {"run_id": 7}, {"item_set": None},
    ],
)  # fmt: skip
def test_a_score_of_another_form_is_refused(planted: dict[str, Any]) -> None:
    with pytest.raises(DatasetError, match=r"^r/scores/v\.json: "):
        score_row({**SCORE, **planted}, "strict", "r/scores/v.json")


def test_removed_items() -> None:
    record = {"item_id": "i", "last_version": "v", "reason": "folded", "detail": ""}
    assert removed_row("d", record, "line 1") == {"dataset": "d", **record}
    for planted in ({"reason": None}, {"item_id": 3}):
        with pytest.raises(DatasetError, match=r"^line 1: needs the texts"):
            removed_row("d", {**record, **planted}, "line 1")
