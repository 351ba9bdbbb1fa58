"""Accounting: every printed question is in exactly one bucket, and the sums close.

What belongs here: counts per paper, per subject and over all, and the sums that must hold between them.
What does not: what decides a bucket (items).
Source: the design, section 3, "Accounting". What was printed comes from the parse records, what became of it from the
items: two sources, so that a question lost or counted twice between them breaks a sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.model import PaperFigures, QuestionFigures
from opentwbench.exam.items import BUCKETS, FOLDED, NO_SUBJECT, PUBLISHED, PrintedItem
from opentwbench.exam.model import EXCLUSION_ORDER, PARSE_CAUSED, Exclusion, IndexRow, PaperRecord, RejectionReason

OVER_ALL = "over all"
"""The scope of an accounting of every subject and no_subject together."""


class AccountingError(ValueError):
    """A stored accounting that cannot be read, or accountings that cannot be added. Names the scope and the reason."""


@dataclass(frozen=True, slots=True)
class PaperAccount:
    """One accepted index row: the questions that its parse record printed and the buckets they ended in."""

    printed: int
    buckets: Mapping[str, int]
    question_sha256: str = ""
    """Content of the question PDF, '' when unknown."""

    @property
    def settled(self) -> int:
        """Questions in all buckets."""
        return sum(self.buckets.values())


@dataclass(frozen=True, slots=True)
class Accounting:
    """The accounts of a scope: a subject's slug, no_subject, or over all."""

    scope: str
    papers: Mapping[str, PaperAccount]
    """Paper id -> account, for every accepted index row and every row that has items."""
    rejected: Mapping[str, RejectionReason] = field(default_factory=dict)
    """Paper id -> why the paper was refused. Its questions are printed nowhere here."""
    item_faults: tuple[str, ...] = ()
    """What is wrong with single items (settled twice, folded into nothing), each in words."""

    @property
    def printed(self) -> int:
        """Questions printed on accepted papers, by the parse records."""
        return sum(paper.printed for paper in self.papers.values())

    @property
    def distinct_pdfs(self) -> int:
        """Distinct question PDFs among the accepted rows."""
        return len({paper.question_sha256 for paper in self.papers.values()} - {""})

    @property
    def buckets(self) -> dict[str, int]:
        """Printed questions by bucket, every bucket named, in the order of the card."""
        total: Counter[str] = Counter()
        for paper in self.papers.values():
            total.update(paper.buckets)
        return {bucket: total[bucket] for bucket in (*BUCKETS, *sorted(total.keys() - set(BUCKETS)))}

    @property
    def parse_caused(self) -> dict[Exclusion, int]:
        """Questions excluded because of our own reading, by exclusion."""
        buckets = self.buckets
        return {exclusion: buckets[exclusion.value] for exclusion in EXCLUSION_ORDER if exclusion in PARSE_CAUSED}

    @property
    def parse_caused_share(self) -> float:
        """Share of printed questions excluded because of our own reading, 0 to 1; 0 when nothing was printed."""
        return sum(self.parse_caused.values()) / self.printed if self.printed else 0.0

    def closes(self) -> list[str]:
        """Every broken sum in words, naming paper and counts; empty when the accounts close."""
        return [*self._broken_papers(), *self.item_faults]

    def _broken_papers(self) -> Iterator[str]:
        for paper_id, paper in sorted(self.papers.items()):
            if paper.settled != paper.printed:
                yield f"{self.scope}: {paper_id} printed {paper.printed} questions, {paper.settled} are in a bucket"
            for bucket in sorted(paper.buckets.keys() - set(BUCKETS)):
                yield f"{self.scope}: {paper_id} has {paper.buckets[bucket]} in unknown bucket {excerpt(bucket)}"
            if paper_id in self.rejected:
                yield f"{self.scope}: {paper_id} is accepted and rejected ({self.rejected[paper_id].value})"

    def question_figures(self) -> QuestionFigures:
        """The figures of a card."""
        buckets = self.buckets
        excluded = {exclusion.value: buckets[exclusion.value] for exclusion in EXCLUSION_ORDER}
        return QuestionFigures(self.printed, buckets[PUBLISHED], buckets[FOLDED], excluded, buckets[NO_SUBJECT])

    def paper_figures(self) -> PaperFigures:
        """The figures of a card: index rows, accepted and by rejection reason (reasons that occurred)."""
        reasons = Counter(reason.value for reason in self.rejected.values())
        rejected = {reason.value: reasons[reason.value] for reason in RejectionReason if reasons[reason.value]}
        return PaperFigures(len(self.papers) + len(self.rejected), len(self.papers), rejected, self.distinct_pdfs)

    def table(self) -> list[tuple[str, int]]:
        """(line, count): index rows and what became of them, then printed questions and theirs. Zero lines included."""
        papers = self.paper_figures()
        rejected = Counter(self.rejected.values())
        return [
            ("index_rows", papers.index_rows),
            ("accepted", papers.accepted),
            *((reason.value, rejected[reason]) for reason in RejectionReason),
            ("printed", self.printed),
            *self.buckets.items(),
        ]

    def to_json(self) -> dict[str, Any]:
        """The accounts as JSON values, papers in order of their id."""
        return {
            "scope": self.scope,
            "papers": {
                paper_id: {
                    "printed": paper.printed,
                    "buckets": {bucket: n for bucket, n in sorted(paper.buckets.items()) if n},
                    "question_sha256": paper.question_sha256,
                }
                for paper_id, paper in sorted(self.papers.items())
            },
            "rejected": {paper_id: reason.value for paper_id, reason in sorted(self.rejected.items())},
            "item_faults": list(self.item_faults),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Accounting:
        """The accounts of `to_json`. Raises AccountingError when a field is missing or of another kind."""
        try:
            return cls(
                scope=str(record["scope"]),
                papers={
                    paper_id: PaperAccount(
                        int(paper["printed"]),
                        {bucket: int(n) for bucket, n in paper["buckets"].items()},
                        str(paper["question_sha256"]),
                    )
                    for paper_id, paper in record["papers"].items()
                },
                rejected={paper_id: RejectionReason(reason) for paper_id, reason in record["rejected"].items()},
                item_faults=tuple(map(str, record["item_faults"])),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise AccountingError(f"not an accounting: {type(error).__name__} {excerpt(str(error))}") from None


def account(
    scope: str, papers: Iterable[tuple[IndexRow, PaperRecord, str]], items: Iterable[PrintedItem]
) -> Accounting:
    """The accounts of a scope from its index rows with their parse records and question PDF hashes, and its items.

    A row counts once whatever bytes it shares with others. Items of a paper that no accepted record printed are kept as
    an account with nothing printed, so that the sum breaks rather than hides them.
    """
    printed: dict[str, int] = {}
    rejected: dict[str, RejectionReason] = {}
    pdfs: dict[str, str] = {}
    faults = []
    for row, record, question_sha256 in papers:
        if row.paper_id in printed or row.paper_id in rejected:
            faults.append(f"{scope}: {row.paper_id} has two index rows; a paper is accounted for once")
        if record.accepted:
            printed[row.paper_id] = record.found
            pdfs[row.paper_id] = question_sha256
        elif record.reason is None:
            faults.append(f"{scope}: {row.paper_id} was rejected without a reason")
        else:
            rejected[row.paper_id] = record.reason
    buckets: dict[str, Counter[str]] = {paper_id: Counter() for paper_id in printed}
    kept = list(items)
    for item in kept:
        buckets.setdefault(item.paper_id, Counter())[item.bucket] += 1
    return Accounting(
        scope=scope,
        papers={
            paper_id: PaperAccount(printed.get(paper_id, 0), dict(count), pdfs.get(paper_id, ""))
            for paper_id, count in buckets.items()
        },
        rejected=rejected,
        item_faults=(*faults, *_item_faults(scope, kept)),
    )


def _item_faults(scope: str, items: list[PrintedItem]) -> Iterator[str]:
    """Faults that a sum alone would not show: two wrongs may add up."""
    places = Counter((item.paper_id, item.q_no) for item in items)
    for (paper_id, q_no), times in sorted(places.items()):
        if times > 1:
            yield f"{scope}: {paper_id} question {q_no} is settled {times} times"
    published = Counter(item.item_id for item in items if item.bucket == PUBLISHED)
    for identity, times in sorted(published.items()):
        if times > 1:
            yield f"{scope}: {identity} is published {times} times"
    for item in items:
        if item.bucket == FOLDED and item.folded_into not in published:
            yield f"{scope}: {item.paper_id} question {item.q_no} is folded into {item.folded_into or 'nothing'}"
        elif item.bucket != NO_SUBJECT and bool(item.exclusions) == (item.bucket in (PUBLISHED, FOLDED)):
            matched = ", ".join(item.exclusions) or "nothing"
            yield f"{scope}: {item.paper_id} question {item.q_no} is {item.bucket}, excluded by {matched}"


def over_all(parts: Iterable[Accounting], total_printed: int | None = None) -> Accounting:
    """Every subject and no_subject together. A paper in two scopes is a fault, and so is a sum that misses
    `total_printed`, the questions printed on all accepted papers as the parse stage counted them.
    """
    papers: dict[str, PaperAccount] = {}
    rejected: dict[str, RejectionReason] = {}
    home: dict[str, str] = {}
    faults: list[str] = []
    for part in parts:
        for paper_id in (*part.papers, *part.rejected):
            if home.setdefault(paper_id, part.scope) != part.scope:
                faults.append(f"{OVER_ALL}: {paper_id} is in {home[paper_id]} and in {part.scope}")
        papers.update(part.papers)
        rejected.update(part.rejected)
        faults.extend(part.item_faults)
    whole = Accounting(OVER_ALL, papers, rejected, tuple(faults))
    if total_printed is None or whole.printed == total_printed:
        return whole
    missing = f"{OVER_ALL}: the parse records print {total_printed} questions, the subjects account for {whole.printed}"
    return Accounting(OVER_ALL, papers, rejected, (*faults, missing))
