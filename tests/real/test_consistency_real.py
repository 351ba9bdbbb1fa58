"""Real reprints on distinct PDFs: every official key of one question names one answer, and a changed key is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from opentwbench.exam.index import read_index
from opentwbench.exam.items import to_line
from opentwbench.exam.key_consistency import ATTRIBUTED, OPEN, STALE, Attribution, Kind, consistency
from opentwbench.exam.paper import parse_paper
from opentwbench.exam.release import by_scope, settle
from opentwbench.exam.sitting import Hashes, RowRecord, file_name

pytestmark = pytest.mark.real

FAMILIES = {
    ("114901-900-0010", "114901-900-0020"): 40,
    ("106901-900-0005", "106901-900-0006"): 15,
}
"""Papers that print questions in common, and how many: counted from a store of all 408 rows."""


@pytest.fixture(scope="module")
def records(ministry: Path) -> list[RowRecord]:
    """Those four papers, read from their PDFs."""
    wanted = {paper for papers in FAMILIES for paper in papers}
    index = read_index((ministry / "index.csv").read_bytes(), "index.csv")
    found = []
    for row in (row for row in index.keyed() if row.paper_id in wanted):
        question, key = (ministry / "files" / file_name(url) for url in (row.question_url, row.key_url))
        hashes = Hashes(*(sha256(path.read_bytes()).hexdigest() for path in (question, key)), "")
        found.append(RowRecord(row, hashes, parse_paper(question, key)))
    assert {each.row.paper_id for each in found} == wanted
    assert all(each.record.accepted for each in found)
    return found


def lines(records: list[RowRecord]) -> Callable[[], list[tuple[str, bytes]]]:
    settled = [settle(scope, rows) for scope, rows in sorted(by_scope(records).items())]
    found = [(each.scope, to_line(item)) for each in settled for item in each.items]
    return lambda: found


def test_reprints_on_distinct_pdfs_agree(records: list[RowRecord]) -> None:
    found = consistency(lines(records))
    assert found.printed == sum(each.record.found for each in records)
    assert found.over_all.independent_groups == sum(FAMILIES.values())
    assert (found.over_all.disagreeing, found.conflicts) == (0, ())
    assert found.distinct == found.printed - sum(FAMILIES.values())


def test_a_key_that_is_changed_on_one_paper_is_found_with_both(records: list[RowRecord]) -> None:
    one, other = next(iter(FAMILIES))
    changed = [_with_another_key(each) if each.row.paper_id == other else each for each in records]
    (conflict,) = consistency(lines(changed)).conflicts
    assert conflict.independent and conflict.standing == OPEN
    assert {p.paper_id for p in conflict.printings} == {one, other}
    assert len({p.answer_sha256 for p in conflict.printings}) == 2
    said = Attribution(conflict.group, conflict.copies, Kind.DETECTOR_ARTEFACT, "planted by a test", "2026-11-30")
    known = {said.group: said}
    assert consistency(lines(changed), known).conflicts[0].standing == ATTRIBUTED
    again = [_with_another_key(each) if each.row.paper_id == other else each for each in changed]
    assert consistency(lines(again), known).conflicts[0].standing == STALE
    assert consistency(lines(records), known).unknown_attributions == (said.group,)


def _with_another_key(record: RowRecord) -> RowRecord:
    """The first question of the paper with the next letter as its key."""
    first, *rest = record.record.items
    key = "ABCD"["ABCD".index(first.key or "A") - 1]
    items = (replace(first, key=key, accepted=(key,)), *rest)
    return replace(record, record=replace(record.record, items=items))
