"""Accounting: sums that close on sound data, and every way in which a planted fault opens one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from support.copies import accepted, item, rejected, row

from opentwbench.exam.accounting import Accounting, AccountingError, PaperAccount, account, over_all
from opentwbench.exam.dedupe import copies_of
from opentwbench.exam.items import FOLDED, NO_SUBJECT, PUBLISHED, PrintedItem, subject_items, unassigned_items
from opentwbench.exam.model import EXCLUSION_ORDER, Exclusion, RejectionReason
from opentwbench.exam.subjects import REGISTRY

LAW = REGISTRY["tw-roc-constitution-bench"]
MEDICINE = REGISTRY["tw-medicine-bench"]

GLYPH = item(3, stem="含\ue999之題", exclusions=(Exclusion.UNMAPPED_GLYPH,))
PAPER = accepted(item(1), item(2, stem="如下圖，何者？", exclusions=(Exclusion.FIGURE,)), GLYPH)
ROWS = (row(110), row(111), row(112))
PAPERS = [(ROWS[0], PAPER, "pdf-1"), (ROWS[1], PAPER, "pdf-1"), (ROWS[2], rejected(), "pdf-2")]


def items_of(papers: Any = PAPERS) -> list[PrintedItem]:
    copies = [copy for on, record, pdf in papers for copy in copies_of(on, record, pdf, f"key-{pdf}")]
    return list(subject_items(LAW, copies).items)


@pytest.fixture
def sound() -> Accounting:
    return account(LAW.slug, PAPERS, items_of())


def test_sound_accounts_close_and_count_everything(sound: Accounting) -> None:
    assert sound.closes() == []
    assert sound.printed == 6
    assert {bucket: n for bucket, n in sound.buckets.items() if n} == {
        PUBLISHED: 1,
        FOLDED: 1,
        "figure": 2,
        "unmapped_glyph": 2,
    }
    assert sound.parse_caused[Exclusion.UNMAPPED_GLYPH] == 2
    assert sound.parse_caused_share == pytest.approx(2 / 6)
    papers = sound.paper_figures()
    assert (papers.index_rows, papers.accepted, papers.distinct_pdfs) == (3, 2, 1)
    assert papers.rejected == {"count_mismatch": 1}
    questions = sound.question_figures()
    assert (questions.printed, questions.published, questions.folded, questions.no_subject) == (6, 1, 1, 0)
    assert list(questions.excluded) == [exclusion.value for exclusion in EXCLUSION_ORDER]
    assert sum(questions.excluded.values()) == 4


def test_the_table_names_every_line_once_and_adds_up(sound: Accounting) -> None:
    table = sound.table()
    lines = dict(table)
    assert len(lines) == len(table)
    assert lines["index_rows"] == lines["accepted"] + sum(lines[reason.value] for reason in RejectionReason)
    after = [n for name, n in table[[name for name, _ in table].index("printed") + 1 :]]
    assert lines["printed"] == sum(after) == 6


def lose(items: list[PrintedItem]) -> list[PrintedItem]:
    return items[1:]


def double(items: list[PrintedItem]) -> list[PrintedItem]:
    return [*items, items[0]]


def swap_one_for_another(items: list[PrintedItem]) -> list[PrintedItem]:
    return [*items[1:], items[1]]  # one lost, one twice: the total still adds up


def misname_bucket(items: list[PrintedItem]) -> list[PrintedItem]:
    return [replace(items[0], bucket="somewhere"), *items[1:]]


def publish_an_excluded_one(items: list[PrintedItem]) -> list[PrintedItem]:
    return [replace(each, bucket=PUBLISHED) if each.bucket == "figure" else each for each in items]


def exclude_without_a_reason(items: list[PrintedItem]) -> list[PrintedItem]:
    return [replace(each, exclusions=()) for each in items]


def fold_into_nothing(items: list[PrintedItem]) -> list[PrintedItem]:
    return [replace(each, folded_into="roc-constitution-000000000000") if each.folded_into else each for each in items]


def publish_twice(items: list[PrintedItem]) -> list[PrintedItem]:
    return [replace(each, bucket=PUBLISHED, folded_into="") if each.bucket == FOLDED else each for each in items]


def move_to_another_paper(items: list[PrintedItem]) -> list[PrintedItem]:
    return [replace(items[0], paper_id="999-1-1"), *items[1:]]


PLANTED = {
    lose: "110030-101-0101 printed 3 questions, 2 are in a bucket",
    double: "question 1 is settled 2 times",
    swap_one_for_another: "question 2 is settled 2 times",
    misname_bucket: "has 1 in unknown bucket somewhere",
    publish_an_excluded_one: "question 2 is published, excluded by figure",
    exclude_without_a_reason: "question 2 is figure, excluded by nothing",
    fold_into_nothing: "question 1 is folded into roc-constitution-000000000000",
    publish_twice: "is published 2 times",
    move_to_another_paper: "999-1-1 printed 0 questions, 1 are in a bucket",
}


@pytest.mark.parametrize("fault", PLANTED, ids=lambda fault: fault.__name__)
def test_every_planted_fault_opens_a_sum(fault: Any) -> None:
    broken = account(LAW.slug, PAPERS, fault(items_of())).closes()
    assert any(PLANTED[fault] in line for line in broken), broken
    assert all(line.startswith(LAW.slug) for line in broken)


def test_faults_of_the_papers_are_named() -> None:
    twice = account(LAW.slug, [*PAPERS, PAPERS[0]], items_of())
    assert any("110030-101-0101 has two index rows" in line for line in twice.closes())
    both = account(LAW.slug, [*PAPERS, (ROWS[0], rejected(), "")], items_of())
    assert any("is accepted and rejected (count_mismatch)" in line for line in both.closes())
    silent = account(LAW.slug, [*PAPERS[:2], (ROWS[2], rejected(None), "")], items_of())
    assert any("112030-101-0101 was rejected without a reason" in line for line in silent.closes())


def test_a_paper_that_lost_questions_between_count_and_items_does_not_close() -> None:
    papers = [(ROWS[0], replace(PAPER, found=4), "pdf-1")]
    assert account(LAW.slug, papers, items_of(papers)).closes() == [
        f"{LAW.slug}: 110030-101-0101 printed 4 questions, 3 are in a bucket"
    ]


def test_no_subject_is_a_bucket_of_its_own_and_never_a_fault() -> None:
    copies = copies_of(ROWS[0], PAPER, "pdf-1", "key-1")
    found = account(NO_SUBJECT, PAPERS[:1], unassigned_items(copies))
    assert found.closes() == []
    assert found.question_figures().no_subject == 3


def test_all_subjects_together_close_against_the_parse_stage(sound: Accounting) -> None:
    other = row(113, subject_code="0909")
    stray = account(NO_SUBJECT, [(other, PAPER, "pdf-1")], unassigned_items(copies_of(other, PAPER, "pdf-1", "k")))
    whole = over_all([sound, stray], total_printed=9)
    assert whole.closes() == []
    assert (whole.printed, whole.buckets[NO_SUBJECT], whole.paper_figures().index_rows) == (9, 3, 4)
    assert whole.distinct_pdfs == 1  # the same bytes under two subjects are one PDF
    assert over_all([sound, stray], total_printed=10).closes() == [
        "over all: the parse records print 10 questions, the subjects account for 9"
    ]
    assert any("is in tw-roc" in line for line in over_all([sound, replace(sound, scope=MEDICINE.slug)]).closes())


def test_faults_of_a_subject_stay_visible_over_all() -> None:
    broken = account(LAW.slug, PAPERS, double(items_of()))
    assert any("is settled 2 times" in line for line in over_all([broken]).closes())


def test_accounts_survive_their_json(sound: Accounting) -> None:
    again = Accounting.from_json(json.loads(json.dumps(sound.to_json())))
    assert again.to_json() == sound.to_json()
    assert (again.closes(), again.buckets, again.paper_figures()) == ([], sound.buckets, sound.paper_figures())


@pytest.mark.parametrize(
    "damage",
    [
        {"papers": None},
        {"papers": {"p": {"printed": "x", "buckets": {}, "question_sha256": ""}}},
        {"papers": {"p": {"printed": 1}}},
        {"rejected": {"p": "bored"}},
        {"item_faults": None},
    ],
)
def test_a_damaged_accounting_is_refused(sound: Accounting, damage: dict[str, Any]) -> None:
    with pytest.raises(AccountingError, match="not an accounting"):
        Accounting.from_json({**sound.to_json(), **damage})


def test_nothing_printed_is_no_division_by_zero() -> None:
    empty = account(LAW.slug, [], [])
    assert (empty.printed, empty.parse_caused_share, empty.closes()) == (0, 0.0, [])
    assert PaperAccount(3, {PUBLISHED: 2, FOLDED: 1}).settled == 3
