"""Published rows against the parse records that they were made from, item by item.

What belongs here: settling a subject's parse records once more and naming every field in which the stored items or the
published rows differ from the outcome. What does not: reading files, and what a check makes of a difference
(`dataset.validators`).
Why a comparison and no statistic: a key that moved by one row, a rotated option or a lost line looks sound to every
figure over a data set; only the record of the printed question says otherwise (docs/studies/planted-defects.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields

from opentwbench.dataset.contract import COLUMNS, ItemRow, excerpt
from opentwbench.dataset.model import DatasetError
from opentwbench.dataset.validators import RowComparison
from opentwbench.exam.dedupe import copies_of
from opentwbench.exam.fingerprint import ItemIdCollision
from opentwbench.exam.items import PUBLISHED, PrintedItem, item_row, subject_items
from opentwbench.exam.model import Exclusion
from opentwbench.exam.sitting import RowRecord
from opentwbench.exam.subjects import Subject

FROM_LISTS: frozenset[Exclusion] = frozenset(
    {Exclusion.IN_LEGAL_BENCHMARK_V2, Exclusion.IN_TMMLU_PLUS, Exclusion.MAINTAINER_EXCLUDED}
)
"""Exclusions that a list gives: the parse records cannot say them, so a stored item may hold them in addition."""

_DECIDED = frozenset({"bucket", "exclusions", "folded_into"})
"""Fields of a stored item that a list may change; all others are the parse record's alone."""

Place = tuple[str, int]
"""Paper id and question number: a printed question."""


def compare_rows(
    subject: Subject, rows: Sequence[ItemRow], records: Iterable[RowRecord], items: Iterable[PrintedItem]
) -> RowComparison:
    """Compare what is published and what is stored of a subject with its parse records.

    `records` are all index rows of the subject, `items` the lines of its items file. Every printed question must be
    stored once, as its record has it; every row must be the published question of its paper and number in all columns;
    every question that is published by the records must be a row, unless a list took it out.
    Raises DatasetError when the records cannot be settled at all.
    """
    kept = list(records)
    settled = _settle(subject, kept)
    stored = list(items)
    offenders = [*_against_items(settled, stored), *_against_rows(settled, stored, rows)]
    figures = {
        "rows": len(rows),
        "papers": sum(each.record.accepted for each in kept),
        "questions": len(settled),
        "fields": len(rows) * len(COLUMNS),
    }
    return RowComparison(figures, tuple(offenders))


def _settle(subject: Subject, records: Sequence[RowRecord]) -> dict[Place, PrintedItem]:
    """What the records alone say of every printed question, without any list."""
    copies = [
        copy for each in records for copy in copies_of(each.row, each.record, each.hashes.question, each.hashes.key)
    ]
    try:
        items = subject_items(subject, copies).items
    except (ItemIdCollision, ValueError) as error:
        raise DatasetError(f"the parse records cannot be settled: {excerpt(str(error), 200)}") from None
    return {_place(item): item for item in items}


def _place(item: PrintedItem | ItemRow) -> Place:
    return (item.paper_id, item.q_no)


def _words(place: Place) -> str:
    return f"{excerpt(place[0])} question {place[1]}"


# ---- stored items ---------------------------------------------------------------------------------------------------


def _against_items(settled: Mapping[Place, PrintedItem], stored: Sequence[PrintedItem]) -> Iterator[str]:
    times = Counter(map(_place, stored))
    for place in sorted(settled.keys() | times.keys()):
        if place not in settled:
            yield f"{_words(place)}: stored, and no parse record prints it"
        elif times[place] != 1:
            yield f"{_words(place)}: printed once, stored {times[place]} times"
    for item in stored:
        expected = settled.get(_place(item))
        if expected is not None:
            yield from (f"{_words(_place(item))}: stored {difference}" for difference in _differences(expected, item))


def _differences(expected: PrintedItem, item: PrintedItem) -> Iterator[str]:
    for name in (f.name for f in fields(PrintedItem) if f.name not in _DECIDED):
        ours, theirs = getattr(item, name), getattr(expected, name)
        if ours != theirs:
            yield f"{name}: {excerpt(ours)}, by the parse record {excerpt(theirs)}"
    listed = [each for each in item.exclusions if each in FROM_LISTS]
    if [each for each in item.exclusions if each not in FROM_LISTS] != list(expected.exclusions):
        yield f"exclusions: {', '.join(item.exclusions) or 'none'}, by the parse record {_all(expected)}"
    elif item.bucket != (item.exclusions[0].value if listed else expected.bucket):
        yield f"bucket: {item.bucket}, by the parse record {expected.bucket}"
    elif not listed and item.folded_into != expected.folded_into:
        yield f"folded_into: {excerpt(item.folded_into)}, by the parse record {excerpt(expected.folded_into)}"


def _all(item: PrintedItem) -> str:
    return ", ".join(item.exclusions) or "none"


# ---- published rows -------------------------------------------------------------------------------------------------


def _against_rows(
    settled: Mapping[Place, PrintedItem], stored: Sequence[PrintedItem], rows: Sequence[ItemRow]
) -> Iterator[str]:
    published = {place for place, item in settled.items() if item.bucket == PUBLISHED}
    published -= {_place(item) for item in stored if not FROM_LISTS.isdisjoint(item.exclusions)}
    times = Counter(map(_place, rows))
    for place in sorted(published | times.keys()):
        if times[place] > 1:
            yield f"{_words(place)}: {times[place]} rows"
        elif place not in published:
            state = settled[place].bucket if place in settled else "printed by no parse record"
            yield f"{_words(place)}: a row, and it is {state if state != PUBLISHED else 'taken out by a list'}"
        elif not times[place]:
            yield f"{_words(place)}: published by the parse records, and no row"
    for row in rows:
        if _place(row) in published:
            yield from _columns(item_row(settled[_place(row)]), row)


def _columns(expected: ItemRow, row: ItemRow) -> Iterator[str]:
    for column in COLUMNS:
        ours, theirs = getattr(row, column), getattr(expected, column)
        if ours != theirs:
            yield f"{_words(_place(row))}: {column} {excerpt(ours)}, by the parse record {excerpt(theirs)}"
