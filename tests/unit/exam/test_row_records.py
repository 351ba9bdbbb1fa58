"""Rows and stored items against parse records: every kind of difference is named, agreement says nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from support import copies

from opentwbench.dataset.contract import COLUMNS, ItemRow
from opentwbench.dataset.model import DatasetError
from opentwbench.dataset.validators import RowComparison
from opentwbench.exam.exclusion_lists import NO_LISTS, ForeignList, Lists
from opentwbench.exam.fingerprint import loose
from opentwbench.exam.items import PUBLISHED, PrintedItem, item_row
from opentwbench.exam.model import Exclusion
from opentwbench.exam.release import settle
from opentwbench.exam.row_records import compare_rows
from opentwbench.exam.sitting import Hashes, RowRecord
from opentwbench.exam.subjects import REGISTRY

SLUG = "tw-roc-constitution-bench"
SUBJECT = REGISTRY[SLUG]


def question(n: int, key: str | None = "A", **fields: Any) -> Any:
    texts = tuple(f"第{n}號之{word}" for word in ("甲說", "乙說", "丙說", "丁說"))
    return copies.item(n, f"關於第{n}號解釋，下列何者正確？", texts, key, **fields)


def row_record(year: int, *items: Any) -> RowRecord:
    row = copies.row(year)
    return RowRecord(row, Hashes(f"q{year}", f"k{year}", ""), copies.accepted(*items))


def records() -> list[RowRecord]:
    """Two sittings: 20 questions, one figure; the later one reprints two of them and has a voided one."""
    first = [question(n, "ABCD"[n % 4]) for n in range(1, 21)]
    first[4] = question(5, "A", exclusions=(Exclusion.FIGURE,))
    second = [question(n, "ABCD"[n % 4]) for n in (1, 2, 30, 31)]
    second[3] = question(31, None, exclusions=(Exclusion.VOIDED,))
    return [row_record(100, *first), row_record(104, *[replace(q, q_no=i) for i, q in enumerate(second, 1)])]


def items_of(kept: Sequence[RowRecord], lists: Lists = NO_LISTS) -> list[PrintedItem]:
    return list(settle(SLUG, kept, lists).items)


def rows_of(items: Sequence[PrintedItem]) -> list[ItemRow]:
    return [item_row(item) for item in items if item.bucket == PUBLISHED]


def compare(
    rows: Sequence[ItemRow], items: Sequence[PrintedItem], kept: Sequence[RowRecord] | None = None
) -> RowComparison:
    return compare_rows(SUBJECT, rows, records() if kept is None else kept, items)


def test_sound_rows_match() -> None:
    items = items_of(records())
    found = compare(rows_of(items), items)
    assert found.offenders == ()
    assert found.figures == {"rows": 20, "papers": 2, "questions": 24, "fields": 20 * len(COLUMNS)}


def test_items_that_lists_took_out_match() -> None:
    taken = question(3)
    foreign = ForeignList(Exclusion.IN_TMMLU_PLUS, True, "", frozenset({loose(taken.question, taken.options)}))
    items = items_of(records(), Lists(foreign=(foreign,)))
    assert sum(item.bucket == Exclusion.IN_TMMLU_PLUS for item in items) == 1
    assert compare(rows_of(items), items).offenders == ()
    published_all_the_same = rows_of(items_of(records()))
    (offender,) = compare(published_all_the_same, items).offenders
    assert "taken out by a list" in offender


@pytest.mark.parametrize("column", [c for c in COLUMNS if c not in ("paper_id", "q_no")])
def test_a_changed_column_is_named(column: str) -> None:
    items = items_of(records())
    rows = rows_of(items)
    value = getattr(rows[7], column)
    rows[7] = replace(rows[7], **{column: value + 1 if isinstance(value, int) else f"{value}x"})
    (offender,) = compare(rows, items).offenders
    assert f": {column} " in offender
    assert f"question {rows[7].q_no}:" in offender


def rotate(row: ItemRow) -> ItemRow:
    return replace(row, A=row.D, B=row.A, C=row.B, D=row.C)


def shift(rows: list[ItemRow]) -> list[ItemRow]:
    answers = [row.answer for row in rows]
    return [replace(row, answer=a) for row, a in zip(rows, answers[1:] + answers[:1], strict=True)]


@pytest.mark.parametrize(
    ("damage", "offenders"),
    [
        (shift, 20),
        (lambda rows: [rotate(rows[0]), *rows[1:]], 4),
        (lambda rows: rows[1:], 1),
        (lambda rows: [*rows, rows[0]], 1),
        (lambda rows: [replace(rows[0], q_no=99), *rows[1:]], 2),
        (lambda rows: [replace(rows[0], paper_id="100030-101-9999"), *rows[1:]], 2),
        (lambda rows: [replace(rows[0], q_no=5), *rows[1:]], 2),
    ],
)
def test_damaged_rows_are_named_one_by_one(damage: Callable[[list[ItemRow]], list[ItemRow]], offenders: int) -> None:
    items = items_of(records())
    assert len(compare(damage(rows_of(items)), items).offenders) == offenders


def test_a_row_of_an_excluded_question_says_its_bucket() -> None:
    items = items_of(records())
    rows = [replace(rows_of(items)[0], q_no=5), *rows_of(items)[1:]]
    assert any("a row, and it is figure" in offender for offender in compare(rows, items).offenders)


STORED: dict[str, Callable[[list[PrintedItem]], list[PrintedItem]]] = {
    "key": lambda items: [replace(items[0], key="D"), *items[1:]],
    "question": lambda items: [replace(items[0], question="另一題？"), *items[1:]],
    "options": lambda items: [replace(items[0], options=items[1].options), *items[1:]],
    "bucket": lambda items: [replace(items[0], bucket="folded", folded_into=items[1].item_id), *items[1:]],
    "folded_into": lambda items: (
        [replace(i, folded_into=items[5].item_id) if i.bucket == "folded" else i for i in items[:22]] + items[22:]
    ),
    "exclusions": lambda items: [replace(i, exclusions=(), bucket="published") if i.exclusions else i for i in items],
    "n_source_papers": lambda items: [replace(items[0], n_source_papers=9), *items[1:]],
    "stored 0 times": lambda items: items[1:],
    "stored 2 times": lambda items: [*items, items[0]],
    "no parse record prints it": lambda items: [*items, replace(items[0], q_no=77)],
}


@pytest.mark.parametrize("words", STORED)
def test_damaged_stored_items_are_named(words: str) -> None:
    items = items_of(records())
    damaged = STORED[words](items)
    found = compare(rows_of(items), damaged)
    assert any(words in offender for offender in found.offenders), found.offenders


def test_an_exclusion_that_no_list_gives_is_no_excuse_for_a_missing_row() -> None:
    items = items_of(records())
    hidden = [replace(i, bucket="figure", exclusions=(Exclusion.FIGURE,)) if i.q_no == 7 else i for i in items]
    found = compare([row for row in rows_of(items) if row.q_no != 7], hidden)
    assert any("no row" in offender for offender in found.offenders)
    assert any("exclusions: figure, by the parse record none" in offender for offender in found.offenders)


def test_a_conflict_that_the_records_show_may_not_be_published() -> None:
    kept = records()
    contradicted = replace(kept[1].record.items[0], key="D", accepted=("D",))
    damaged = [
        kept[0],
        replace(kept[1], record=replace(kept[1].record, items=(contradicted, *kept[1].record.items[1:]))),
    ]
    items = items_of(kept)
    found = compare(rows_of(items), items, damaged)
    assert any("a row, and it is conflicting_keys" in offender for offender in found.offenders)


def test_records_that_cannot_be_settled_are_a_clear_error() -> None:
    broken = [row_record(100, question(1, "E"))]
    with pytest.raises(DatasetError, match="cannot be settled: 100030-101-0101: question 1: key 'E'"):
        compare([], [], broken)


def test_a_rejected_paper_prints_nothing() -> None:
    kept = records()
    kept[1] = replace(kept[1], record=copies.rejected())
    items = items_of(kept)
    assert compare(rows_of(items), items, kept).offenders == ()
    assert compare(rows_of(items), items_of(records()), kept).offenders
