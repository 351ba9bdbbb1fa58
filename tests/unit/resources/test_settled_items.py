"""Items written subject by subject: the same products as from all papers at once, holding one subject's at a time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.copies import accepted, item, row

from opentwbench.exam.exclusion_lists import NO_LISTS
from opentwbench.exam.model import PaperItem
from opentwbench.exam.release import by_scope, settle
from opentwbench.exam.sitting import Hashes, RowRecord, from_line, to_line
from opentwbench.exam.subjects import REGISTRY
from resources import settled_items
from resources.settled_items import records_by_subject, settle_and_write
from resources.store import Store

LAW, LIBRARY = "tw-roc-constitution-bench", "tw-library-science-bench"


def paper(*items: PaperItem, name: str = "中華民國憲法", year: int = 110, code: str = "0101") -> RowRecord:
    on = row(year, subject_code=code, subject_name=name)
    return RowRecord(on, Hashes(f"q-{on.paper_id}", "k", ""), accepted(*items))


PAPERS = [
    paper(item(1), item(2, "下列何者為縣？")),
    paper(item(1), year=111, name=REGISTRY[LIBRARY].match_names[0], code="0202"),
    paper(item(1), item(2, "只有憲法的題目為何？"), year=111),
    paper(item(1, "未歸科的題目為何？"), year=112, name="樣本儀器操作實務", code="0909"),
]
INPUTS = dict.fromkeys(REGISTRY, "made from these")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    place = Store(str(tmp_path))
    for year in (110, 111, 112):
        lines = (to_line(each) + b"\n" for each in PAPERS if each.row.year_roc == year)
        place.write(place.papers(year), b"".join(lines))
    return place


def test_every_row_is_read_under_its_subject_and_no_other(store: Store) -> None:
    found = dict(records_by_subject(store))
    assert list(found) == list(REGISTRY)
    scopes = by_scope(PAPERS)
    assert {slug: rows for slug, rows in found.items() if rows} == {slug: scopes[slug] for slug in (LAW, LIBRARY)}


def test_lines_and_records_are_those_of_the_settled_subject(store: Store) -> None:
    records = dict(settle_and_write(store, NO_LISTS, [LAW, LIBRARY], INPUTS))
    assert list(records) == sorted([LAW, LIBRARY], key=list(REGISTRY).index)
    for slug, record in records.items():
        settled = settle(slug, by_scope(PAPERS)[slug])
        assert store.read(store.items(slug)) == settled.lines()
        # One question is published by both subjects.
        expected = {**settled.record(1), "inputs": "made from these", "sha256": record["sha256"]}
        assert store.read_json(store.accounting(slug)) == json.loads(json.dumps(expected))


def test_only_the_asked_are_written_and_what_is_shared_counts_all(store: Store) -> None:
    ((slug, record),) = settle_and_write(store, NO_LISTS, [LIBRARY], INPUTS)
    assert (slug, record["shared_with_other_subjects"]) == (LIBRARY, 1)
    assert store.slugs("items") == [LIBRARY]


def test_papers_of_one_subject_are_held_at_a_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bytes] = []

    def reading(line: bytes) -> RowRecord:
        read.append(line)
        return from_line(line)

    monkeypatch.setattr(settled_items, "from_line", reading)
    seen = {slug: len(read) for slug, records in records_by_subject(store) if records}
    assert sorted(seen.values()) == ([1, 3] if list(REGISTRY).index(LIBRARY) < list(REGISTRY).index(LAW) else [2, 3])


def test_a_kill_before_the_records_leaves_lines_without_a_record(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(settled_items, "write_item_record", killed)
    with pytest.raises(KeyboardInterrupt):
        dict(settle_and_write(store, NO_LISTS, [LAW, LIBRARY], INPUTS))
    assert store.exists(store.items(LAW)) and store.exists(store.items(LIBRARY))
    assert not store.exists(store.accounting(LAW)) and not store.exists(store.accounting(LIBRARY))
