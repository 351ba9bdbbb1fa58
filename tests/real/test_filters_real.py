"""The filters on the real papers: both sides as the audit published them, and the verdicts behind it still hold.

Reads every pair once (about two minutes on one core). No text of a paper is kept or printed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opentwbench.dataset.files import read_jsonl
from opentwbench.exam import dependence_audit
from opentwbench.exam.filter_audit import Figures, Printed, Record, figures, read_record
from opentwbench.exam.model import Exclusion
from orchestration.filter_audit_command import read_items

pytestmark = [pytest.mark.real, pytest.mark.slow]

VERDICTS = Path(__file__).resolve().parents[2] / "docs" / "audits" / "filters.jsonl"


@pytest.fixture(scope="module")
def record() -> Record:
    return read_record(read_jsonl(VERDICTS))


@pytest.fixture(scope="module")
def population(ministry: Path) -> list[Printed]:
    return read_items(ministry, os.cpu_count() or 1)


@pytest.fixture(scope="module")
def found(population: list[Printed], record: Record) -> Figures:
    return figures(population, record)


def test_nearly_every_verdict_still_holds(found: Figures, record: Record) -> None:
    judged = sum(not v.damage for v in record.verdicts)
    assert judged > 1_000
    assert len(found.stale) < 0.02 * judged, found.stale[:20]


def test_under_two_percent_are_let_through(found: Figures) -> None:
    assert sum(stratum.judged for stratum in found.strata.values()) >= 600
    assert found.unsound.interval.high < 0.02, found.strata


def test_rules_on_the_words_remove_no_sound_question_that_was_judged(found: Figures, population: list[Printed]) -> None:
    words = {each.name: each.by_words for each in population}
    over = [(r.rule.value, name) for r in found.rules for name in r.sound if r.rule in words[name]]
    assert over == []
    sound = {name for rule in found.rules for name in rule.sound}
    assert len(sound) <= 4  # drawings that the page shows and the words do not need: a matter of the question reader


def test_the_reader_caught_most_of_what_was_planted(found: Figures) -> None:
    planted, caught, interval = found.catch_rate
    assert planted >= 36
    assert interval.low > 0.8, (planted, caught)


def test_the_second_pass_is_quiet_on_kept_questions_and_sees_half_of_the_dependent_ones(
    population: list[Printed], record: Record
) -> None:
    second = dependence_audit.figures(population, record, record.rounds[-1].seed)
    assert len(second.leads) <= 0.002 * second.kept, [lead.item for lead in second.leads]
    needing, naming, *_ = second.sets.values()
    assert needing.stems >= 40 and needing.proposed > naming.proposed
    assert needing.proposed >= 0.5 * needing.stems


def test_every_rule_that_the_papers_can_show_is_counted(found: Figures) -> None:
    fired = {rule.rule: rule.fired for rule in found.rules}
    for rule in (Exclusion.FIGURE, Exclusion.FOLLOW_UP, Exclusion.PASSAGE_GROUP, Exclusion.ENGLISH, Exclusion.VOIDED):
        assert fired[rule] > 0
