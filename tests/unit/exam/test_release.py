"""From parse records to data sets: every row has one scope, and the figures of a card are those of the stored items."""

from __future__ import annotations

import json

import pytest
from support.copies import accepted, item, rejected, row

from opentwbench.dataset.card import card
from opentwbench.dataset.model import Withdrawal
from opentwbench.exam.accounting import Accounting, over_all
from opentwbench.exam.items import NO_SUBJECT
from opentwbench.exam.model import Exclusion, PaperItem, RejectionReason
from opentwbench.exam.release import (
    Settled,
    by_scope,
    dataset_of,
    matching,
    published_fingerprints,
    scope_digests,
    settle,
    shared_items,
    sum_of_matchings,
)
from opentwbench.exam.sitting import Hashes, RowRecord
from opentwbench.exam.subjects import REGISTRY

CONSTITUTION = "tw-roc-constitution-bench"
OTHER_NAMES = "樣本儀器操作實務"
A_DATE = "2026-11-29"


def paper(
    *items: PaperItem, name: str = "中華民國憲法", year: int = 110, code: str = "0101", sha: str = "q"
) -> RowRecord:
    return RowRecord(row(year, subject_code=code, subject_name=name), Hashes(sha, "k", ""), accepted(*items))


@pytest.fixture
def papers() -> list[RowRecord]:
    return [
        paper(item(1), item(2, stem="下列何者為縣？"), sha="q1"),
        paper(item(1), item(2, stem="下列何者為省？", exclusions=(Exclusion.VOIDED,), key=None), year=111, sha="q2"),
        paper(item(1, stem="未歸科的題目為何？"), name=OTHER_NAMES, code="0909", sha="q3"),
    ]


def settle_all(papers: list[RowRecord]) -> dict[str, Settled]:
    scopes = by_scope(papers)
    return {slug: settle(slug, scopes.get(slug, [])) for slug in REGISTRY}


def test_every_row_has_one_scope(papers: list[RowRecord]) -> None:
    scopes = by_scope(papers)
    assert {scope: len(rows) for scope, rows in scopes.items()} == {CONSTITUTION: 2, NO_SUBJECT: 1}


def test_scope_digests_see_a_change_of_their_scope_only(papers: list[RowRecord]) -> None:
    before = scope_digests(papers)
    assert scope_digests(reversed(papers)) == before
    changed = scope_digests(
        [*papers[:2], paper(item(1, stem="改了的題目為何？"), name=OTHER_NAMES, code="0909", sha="q3")]
    )
    assert changed[CONSTITUTION] == before[CONSTITUTION]
    assert changed[NO_SUBJECT] != before[NO_SUBJECT]


def test_settling_all_covers_the_registry_and_closes_with_no_subject(papers: list[RowRecord]) -> None:
    settled = settle_all(papers)
    assert settled.keys() == REGISTRY.keys()
    assert [slug for slug, each in settled.items() if each.has_source] == [CONSTITUTION]
    rest = settle(NO_SUBJECT, by_scope(papers)[NO_SUBJECT])
    printed = sum(each.record.found for each in papers)
    assert over_all([*(each.accounting for each in settled.values()), rest.accounting], printed).closes() == []
    # Without the questions of no subject the sum must not close.
    assert over_all([each.accounting for each in settled.values()], printed).closes() != []


def test_the_data_set_has_the_figures_of_the_stored_items(papers: list[RowRecord]) -> None:
    settled = settle(CONSTITUTION, papers[:2])
    stored = json.loads(json.dumps(settled.record(shared=3)))
    dataset = dataset_of(REGISTRY[CONSTITUTION], settled.lines().splitlines(), stored, {})
    questions = dataset.stats.questions
    assert (questions.printed, questions.published, questions.folded) == (4, 2, 1)
    assert questions.excluded["voided"] == 1
    assert [each.question for each in dataset.rows] == ["下列何者為直轄市？", "下列何者為縣？"]
    assert (dataset.stats.keys.groups, dataset.stats.keys.independent_groups) == (1, 1)
    assert dataset.stats.duplicates.shared_with_other_subjects == 3
    assert not any(each.applied for each in dataset.stats.exclusion_lists.values())
    assert Accounting.from_json(stored["accounting"]) == settled.accounting


@pytest.mark.parametrize(
    ("repository", "place"), [(None, f"./{CONSTITUTION}"), (f"Org/{CONSTITUTION}", f"Org/{CONSTITUTION}")]
)
def test_the_card_says_where_its_readers_load_it_from(
    papers: list[RowRecord], repository: str | None, place: str
) -> None:
    settled = settle(CONSTITUTION, papers[:2])
    lines, record = settled.lines().splitlines(), settled.record(0)
    dataset = dataset_of(REGISTRY[CONSTITUTION], lines, record, {}, repository)
    assert f'load_dataset("{place}", split="test")' in card(dataset, "0" * 12, 0)


def test_only_the_withdrawals_of_the_subject_reach_its_data_set(papers: list[RowRecord]) -> None:
    settled = settle(CONSTITUTION, papers[:2])
    own, foreign = settled.items[0].item_id, "civics-000000000000"
    withdrawals = {each: Withdrawal(each, "reason", A_DATE, "evidence") for each in (own, foreign)}
    dataset = dataset_of(REGISTRY[CONSTITUTION], settled.lines().splitlines(), settled.record(0), withdrawals)
    assert [each.item_id for each in dataset.withdrawals] == [own]


def test_conflicting_keys_are_named_and_counted_once_a_group() -> None:
    settled = settle(CONSTITUTION, [paper(item(1), sha="q1"), paper(item(1, key="B"), year=111, sha="q2")])
    assert (
        settled.keys.groups - settled.keys.agreeing
        == len(settled.keys.conflicting_ids)
        == len(settled.disagreements)
        == 1
    )
    assert {each.bucket for each in settled.items} == {"conflicting_keys"}


def test_items_that_two_subjects_publish_are_counted_in_both() -> None:
    same, other = item(1), item(1, stem="只有一科有的題目為何？")
    papers = [
        paper(same, sha="q1"),
        paper(same, name=REGISTRY["tw-library-science-bench"].match_names[0], code="0202", sha="q2"),
        paper(other, year=112, sha="q3"),
    ]
    settled = settle_all(papers)
    counts = shared_items(each for part in settled.values() for each in published_fingerprints(part))
    assert sum(counts.values()) == 2
    assert counts[CONSTITUTION] == 1


def test_a_subject_whose_papers_are_all_rejected_has_a_source() -> None:
    refused = RowRecord(row(), Hashes("q", "k", ""), rejected(RejectionReason.COUNT_MISMATCH))
    settled = settle(CONSTITUTION, [refused])
    assert settled.has_source
    assert settled.items == ()


def test_matching_counts_names_and_sums_over_years(papers: list[RowRecord]) -> None:
    found = matching([*papers, paper(item(1), name="中華民國憲法（包括增修條文）", code="0303")])
    assert (found.rows, found.full + found.head, found.unassigned) == (4, 3, {OTHER_NAMES: (1, 1)})
    twice = sum_of_matchings([found.to_json(), found.to_json()])
    assert (twice["rows"], twice["unassigned"]) == (8, {OTHER_NAMES: {"papers": 2, "items": 2}})
