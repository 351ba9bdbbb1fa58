"""From parse records to data sets: rows find their subject, subjects their items, items their data set.

What belongs here: the joining of the track's parts over all papers, and the stored record of a subject's items.
What does not: the rules themselves (subjects, items, accounting) and where anything is kept.
Source: the design, section 3 ("Subject assignment", "Accounting"): the sum over subjects plus no_subject is the total.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

from opentwbench.dataset.model import BuildStats, Dataset, DuplicateFigures, KeyFigures, ListFigures, Withdrawal
from opentwbench.dataset.study import committed_study
from opentwbench.exam.accounting import Accounting, account
from opentwbench.exam.dedupe import Disagreement, copies_of, shared_across
from opentwbench.exam.digests import code_digest, digest
from opentwbench.exam.exclusion_lists import NO_LISTS, Lists
from opentwbench.exam.items import (
    NO_SUBJECT,
    PUBLISHED,
    PrintedItem,
    SubjectItems,
    from_line,
    item_row,
    subject_items,
    to_line,
    unassigned_items,
)
from opentwbench.exam.model import IndexRow
from opentwbench.exam.sitting import RowRecord
from opentwbench.exam.sitting import to_line as row_line
from opentwbench.exam.subjects import REGISTRY, Subject, assign, exact_match


@dataclass(frozen=True, slots=True)
class Matching:
    """How the subject names of keyed rows found their subject."""

    rows: int
    exact: int
    """Rows whose name is a match name as it stands, nothing folded."""
    full: int
    """Rows whose folded full name matched."""
    head: int
    """Rows whose head before the first bracket matched."""
    unassigned: Mapping[str, tuple[int, int]]
    """科目全名 that match nothing -> (index rows, printed questions of the accepted ones)."""

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON values."""
        names = {name: {"papers": rows, "items": items} for name, (rows, items) in sorted(self.unassigned.items())}
        return {"rows": self.rows, "exact": self.exact, "full": self.full, "head": self.head, "unassigned": names}


def sum_of_matchings(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The stored figures (`Matching.to_json`) of several years as those of all of them."""
    total: Counter[str] = Counter()
    unassigned: dict[str, Counter[str]] = {}
    for part in parts:
        total.update({name: part[name] for name in ("rows", "exact", "full", "head")})
        for name, counts in part["unassigned"].items():
            unassigned.setdefault(name, Counter()).update(counts)
    named = {
        name: {"papers": counts["papers"], "items": counts["items"]} for name, counts in sorted(unassigned.items())
    }
    return {**{name: total[name] for name in ("rows", "exact", "full", "head")}, "unassigned": named}


def matching(records: Iterable[RowRecord]) -> Matching:
    """Count how rows matched, and name every subject name that matches nothing with its papers and items."""
    how: Counter[str] = Counter()
    papers: Counter[str] = Counter()
    items: Counter[str] = Counter()
    for each in records:
        name = each.row.subject_name
        found = assign(name)
        how[found.how or "none"] += 1
        how["exact"] += exact_match(name) is not None
        if found.subject is None:
            papers[name] += 1
            items[name] += each.record.found if each.record.accepted else 0
    rows = how["full"] + how["head"] + how["none"]
    unassigned = {name: (papers[name], items[name]) for name in papers}
    return Matching(rows, how["exact"], how["full"], how["head"], unassigned)


def scope_of(record: RowRecord) -> str:
    """The slug that a row belongs to, or 'no_subject'."""
    return scope_of_row(record.row)


def scope_of_row(row: IndexRow) -> str:
    """The slug that an index row belongs to, or 'no_subject'."""
    subject = assign(row.subject_name).subject
    return subject.slug if subject else NO_SUBJECT


def by_scope(records: Iterable[RowRecord]) -> dict[str, list[RowRecord]]:
    """Rows by slug (or 'no_subject'), in the order they came; a slug without rows has no entry."""
    scopes: dict[str, list[RowRecord]] = {}
    for record in records:
        scopes.setdefault(scope_of(record), []).append(record)
    return scopes


def scope_digests(records: Iterable[RowRecord]) -> dict[str, str]:
    """Slug (or 'no_subject') -> digest of its rows with their parse records, whatever their order."""
    return {
        scope: digest(sorted(row_line(record) for record in rows)) for scope, rows in sorted(by_scope(records).items())
    }


@dataclass(frozen=True, slots=True)
class Settled:
    """The items of one scope with their accounting: the content of items/<slug>.jsonl and its record."""

    scope: str
    items: tuple[PrintedItem, ...]
    accounting: Accounting
    keys: KeyFigures
    disagreements: tuple[Disagreement, ...]
    same_stem: int
    lists: Mapping[str, ListFigures]
    unmatched_maintainer_ids: tuple[str, ...]

    @property
    def has_source(self) -> bool:
        """False when no index row belongs to the scope."""
        return bool(self.accounting.papers or self.accounting.rejected)

    def lines(self) -> bytes:
        """The JSONL of every printed question."""
        return b"".join(to_line(item) + b"\n" for item in self.items)

    def record(self, shared: int) -> dict[str, Any]:
        """The stored record: accounts and figures. `shared` counts published items that other subjects publish too."""
        return {
            "scope": self.scope,
            "has_source": self.has_source,
            "accounting": self.accounting.to_json(),
            "keys": {
                "groups": self.keys.groups,
                "agreeing": self.keys.agreeing,
                "independent_groups": self.keys.independent_groups,
                "independent_agreeing": self.keys.independent_agreeing,
                "conflicting_ids": list(self.keys.conflicting_ids),
            },
            "disagreements": [
                {"item_id": each.item_id, "keys": [list(key) for key in each.keys]} for each in self.disagreements
            ],
            "same_stem_groups": self.same_stem,
            "shared_with_other_subjects": shared,
            "lists": {name: {"applied": each.applied, "entries": each.entries} for name, each in self.lists.items()},
            "unmatched_maintainer_ids": list(self.unmatched_maintainer_ids),
        }


def settle(scope: str, records: Sequence[RowRecord], lists: Lists = NO_LISTS) -> Settled:
    """The items and accounts of one subject, or of 'no_subject', from all its rows."""
    copies = [
        copy for each in records for copy in copies_of(each.row, each.record, each.hashes.question, each.hashes.key)
    ]
    papers = [(each.row, each.record, each.hashes.question) for each in records]
    if scope == NO_SUBJECT:
        items = tuple(unassigned_items(copies))
        return Settled(scope, items, account(scope, papers, items), KeyFigures(0, 0, 0, 0), (), 0, lists.figures(), ())
    settled: SubjectItems = subject_items(REGISTRY[scope], copies, lists)
    agreement = settled.agreement
    return Settled(
        scope=scope,
        items=settled.items,
        accounting=account(scope, papers, settled.items),
        keys=agreement.figures(each.item_id for each in agreement.disagreements),
        disagreements=agreement.disagreements,
        same_stem=len(settled.same_stem),
        lists=lists.figures(),
        unmatched_maintainer_ids=settled.unmatched_maintainer_ids,
    )


def published_fingerprints(settled: Settled) -> list[tuple[str, str]]:
    """(slug, loose fingerprint) of every item that a subject publishes."""
    return [(settled.scope, item.fingerprint) for item in settled.items if item.bucket == PUBLISHED]


def shared_items(published: Iterable[tuple[str, str]]) -> Counter[str]:
    """Slug -> published items that at least one other subject publishes too; 0 for a slug that shares nothing."""
    return Counter(slug for slugs in shared_across(published).values() for slug in slugs)


@cache
def code_version() -> str:
    """What a manifest says of the code: the package's version and 12 digits of the digest of its sources."""
    return f"{version('opentwbench')}+{code_digest()[:12]}"


def dataset_of(
    subject: Subject,
    lines: Iterable[bytes],
    record: Mapping[str, Any],
    withdrawals: Mapping[str, Withdrawal],
    hub_repository: str | None = None,
) -> Dataset:
    """The data set of a subject from its stored items and their record (`Settled.lines`, `Settled.record`).

    `hub_repository`: where the card tells its readers to load it from; None names the folder.
    """
    items = [from_line(line) for line in lines]
    accounting = Accounting.from_json(record["accounting"])
    keys = record["keys"]
    stats = BuildStats(
        papers=accounting.paper_figures(),
        questions=accounting.question_figures(),
        keys=KeyFigures(**{**keys, "conflicting_ids": tuple(keys["conflicting_ids"])}),
        duplicates=DuplicateFigures(record["same_stem_groups"], record["shared_with_other_subjects"]),
        exclusion_lists={name: ListFigures(**figures) for name, figures in record["lists"].items()},
        broken_sums=tuple(accounting.closes()),
        study=committed_study(),
    )
    own = tuple(each for each in withdrawals.values() if each.item_id.rpartition("-")[0] == subject.key)
    return Dataset(
        slug=subject.slug,
        name_zh=subject.name_zh,
        name_en=subject.name_en,
        field=subject.field,
        rows=tuple(item_row(item) for item in items if item.bucket == PUBLISHED),
        stats=stats,
        code_version=code_version(),
        withdrawals=own,
        hub_repository=hub_repository,
    )
