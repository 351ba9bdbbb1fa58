"""Every item that leaves has one reason, and an item that stays has none."""

from __future__ import annotations

import pytest
from support.copies import accepted, copy, item, rejected, row

from opentwbench.dataset.contract import ItemRow
from opentwbench.exam.index import RowChange
from opentwbench.exam.items import PUBLISHED, PrintedItem, item_row, subject_items
from opentwbench.exam.model import Exclusion, PaperRecord
from opentwbench.exam.removals import DECIDED, Removal, RemovalReason, removals
from opentwbench.exam.subjects import REGISTRY

SUBJECT = REGISTRY["tw-roc-constitution-bench"]
ROW = row(110)
PAPER = ROW.paper_id


def printed(*copies: object) -> tuple[PrintedItem, ...]:
    return subject_items(SUBJECT, copies).items  # type: ignore[arg-type]


BEFORE = printed(copy(item(1), ROW), copy(item(2, "另一題？"), ROW))
ROWS: list[ItemRow] = [item_row(each) for each in BEFORE if each.bucket == PUBLISHED]
(FIRST, SECOND) = sorted(BEFORE, key=lambda each: each.q_no)
KEPT: dict[str, PaperRecord] = {PAPER: accepted()}


def reasons(
    now: tuple[PrintedItem, ...], papers: dict[str, PaperRecord] = KEPT, gone: dict[str, RowChange] | None = None
) -> dict[str, tuple[RemovalReason, str]]:
    found = removals(ROWS, "v1", now, papers, gone or {})
    assert [each.item_id for each in found] == sorted(each.item_id for each in found)
    assert {each.last_version for each in found} <= {"v1"}
    return {each.item_id: (each.reason, each.detail) for each in found}


def test_an_item_that_stays_has_no_reason() -> None:
    assert len(ROWS) == 2
    assert reasons(BEFORE) == {}


def test_an_item_that_a_rule_takes_out_names_its_bucket() -> None:
    now = printed(copy(item(1, exclusions=(Exclusion.FIGURE,)), ROW), copy(item(2, "另一題？"), ROW))
    assert reasons(now) == {FIRST.item_id: (RemovalReason.EXCLUDED, "figure")}


def test_an_item_that_became_a_reprint_names_the_other() -> None:
    earlier = row(100)
    now = printed(
        copy(item(1, FIRST.question.replace("？", "?")), earlier), *(copy(item(1), ROW), copy(item(2, "另一題？"), ROW))
    )
    (other,) = (each.item_id for each in now if each.paper_id == earlier.paper_id)
    assert reasons(now) == {FIRST.item_id: (RemovalReason.FOLDED, other)}


def test_a_corrected_text_names_the_new_id() -> None:
    now = printed(copy(item(1, "更正後的題目？"), ROW), copy(item(2, "另一題？"), ROW))
    (new,) = (each.item_id for each in now if each.q_no == 1)
    assert reasons(now) == {FIRST.item_id: (RemovalReason.RETEXTED, new)}


@pytest.mark.parametrize(
    ("gone", "detail"),
    [
        ({PAPER: RowChange("vanished", PAPER, 110, "", "")}, "vanished"),
        ({PAPER: RowChange("refused", PAPER, 110, "", "line 3: bad_code")}, "refused: line 3: bad_code"),
        ({}, ""),
    ],
)
def test_a_row_that_is_gone_says_what_the_history_says(gone: dict[str, RowChange], detail: str) -> None:
    both = dict.fromkeys((FIRST.item_id, SECOND.item_id), (RemovalReason.ROW_GONE, detail))
    assert reasons((), {}, gone) == both


def test_a_rejected_paper_names_its_reason() -> None:
    found = reasons((), {PAPER: rejected()})
    assert set(found.values()) == {(RemovalReason.PAPER_REJECTED, "count_mismatch: declared 50, found 49")}


def test_a_question_that_the_paper_no_longer_prints() -> None:
    assert reasons(printed(copy(item(1), ROW))) == {SECOND.item_id: (RemovalReason.NOT_PRINTED, "")}


def test_a_removal_is_stored_with_its_place() -> None:
    (found,) = removals(ROWS, "v1", printed(copy(item(1), ROW)), KEPT, {})
    assert found.to_json() == {
        "item_id": SECOND.item_id,
        "paper_id": PAPER,
        "q_no": 2,
        "last_version": "v1",
        "reason": "not_printed",
        "detail": "",
    }


UNDECIDED = [
    (RemovalReason.ROW_GONE, "vanished"),
    (RemovalReason.PAPER_REJECTED, "too_large: no result after 60 s"),
    (RemovalReason.NOT_PRINTED, ""),
    *((RemovalReason.EXCLUDED, each.value) for each in Exclusion if each not in DECIDED),
]
SETTLED = [
    (RemovalReason.FOLDED, "another-item"),
    (RemovalReason.RETEXTED, "its-new-id"),
    *((RemovalReason.EXCLUDED, each.value) for each in sorted(DECIDED)),
]


@pytest.mark.parametrize(
    ("reason", "detail", "undecided"),
    [*((*each, True) for each in UNDECIDED), *((*each, False) for each in SETTLED)],
)
def test_what_nobody_decided_is_told_from_what_the_ministry_or_a_maintainer_did(
    reason: RemovalReason, detail: str, undecided: bool
) -> None:
    assert Removal("item", PAPER, 3, "v1", reason, detail).is_undecided is undecided


def test_a_removal_in_words_names_item_paper_and_question() -> None:
    words = str(Removal("item-1", "paper-1", 3, "v1", RemovalReason.EXCLUDED, "figure"))
    assert words == "item-1 (paper-1 question 3): excluded: figure"
    assert str(Removal("item-1", "paper-1", 3, "v1", RemovalReason.NOT_PRINTED, "")).endswith(
        "question 3): not_printed"
    )
