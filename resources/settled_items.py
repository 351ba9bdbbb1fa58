"""Items settled and written subject by subject, so that a build holds the papers of one subject and never of all.

What belongs here: reading the parse records of one scope, and the order of writing. What does not: how a scope is
settled (release), and what is stale (exam_products). Parse records stand in one file a sitting year; where the rows of
each scope stand in them is found in one pass that reads no record.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any, NamedTuple

from opentwbench.exam.exclusion_lists import Lists
from opentwbench.exam.release import Settled, published_fingerprints, scope_of_row, settle, shared_items
from opentwbench.exam.sitting import RowRecord, from_line, row_of_line
from opentwbench.exam.subjects import REGISTRY
from resources.store import Store


class _Place(NamedTuple):
    """Where one line stands: bytes `start` to `end` of a year's file."""

    year: int
    start: int
    end: int


def records_by_subject(store: Store) -> Iterator[tuple[str, list[RowRecord]]]:
    """Every subject of the registry with its index rows and their parse records, one subject at a time."""
    places: dict[str, list[_Place]] = defaultdict(list)
    for year in store.years():
        start = 0
        for line in store.lines(store.papers(year)):
            places[scope_of_row(row_of_line(line))].append(_Place(year, start, start + len(line)))
            start += len(line) + 1
    for slug in REGISTRY:
        found = (store.read_range(store.papers(year), start, end) for year, start, end in places.get(slug, ()))
        yield slug, [from_line(line) for line in found]


def write_item_lines(store: Store, settled: Settled) -> str:
    """Keep every printed question of one scope; returns the sha256 of the file, for its record."""
    lines = settled.lines()
    store.write(store.items(settled.scope), lines)
    return sha256(lines).hexdigest()


def write_item_record(store: Store, settled: Settled, shared: int, inputs: str, lines_sha256: str) -> dict[str, Any]:
    """Keep the accounts and figures of one scope, after its lines; returns the record."""
    record = {**settled.record(shared), "inputs": inputs, "sha256": lines_sha256}
    store.write_json(store.accounting(settled.scope), record)
    return record


def settle_and_write(
    store: Store, lists: Lists, asked: Collection[str], inputs: Mapping[str, str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Settle every subject, write the asked ones, and yield each of those with its record.

    All are settled, because what subjects share is counted. A record is written when all lines are there: a kill leaves
    lines without their record, which are made again.
    """
    published: list[tuple[str, str]] = []
    written: dict[str, tuple[Settled, str]] = {}
    for slug, records in records_by_subject(store):
        settled = settle(slug, records, lists)
        published += published_fingerprints(settled)
        if slug in asked:
            written[slug] = (replace(settled, items=()), write_item_lines(store, settled))
    shared = shared_items(published)
    for slug, (settled, lines_sha256) in written.items():
        yield slug, write_item_record(store, settled, shared[slug], inputs[slug], lines_sha256)
