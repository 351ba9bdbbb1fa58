"""Printed copies become the items of a subject: each copy gets its exclusions, its bucket and its item id.

What belongs here: the bucket of every printed question, and its line in items/<slug>.jsonl.
What does not: grouping and keys (dedupe), sums (accounting), files of a data set.
Source: the design, section 3, "Accounting": grouping comes first, then the key decides for the whole group; all
matching rules are recorded; the bucket is published, folded, no_subject, or the first exclusion in EXCLUSION_ORDER.
"Item row": the representative of a duplicate group is its earliest sitting.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from typing import Any

from opentwbench.dataset.contract import ROC_OFFSET, ItemRow, excerpt
from opentwbench.dataset.model import DuplicateFigures
from opentwbench.exam.dedupe import Copy, Group, KeyAgreement, group, key_agreement, keys_conflict, same_stem
from opentwbench.exam.exclusion_lists import NO_LISTS, Lists
from opentwbench.exam.filters import in_order
from opentwbench.exam.fingerprint import check_item_ids, item_id_of
from opentwbench.exam.glyphs import normalise
from opentwbench.exam.model import LETTERS, Exclusion
from opentwbench.exam.subjects import Subject

PUBLISHED = "published"
FOLDED = "folded"
NO_SUBJECT = "no_subject"
BUCKETS: tuple[str, ...] = (PUBLISHED, FOLDED, NO_SUBJECT, *(exclusion.value for exclusion in Exclusion))
"""Every bucket a printed question can be in. It is in exactly one."""

NO_SUBJECT_KEY = "no-subject"
"""Stands for the subject key in the item ids of questions that no subject claims."""


class ItemLineError(ValueError):
    """A line of items/<slug>.jsonl that is no printed item. Names the field."""


@dataclass(frozen=True, slots=True)
class PrintedItem:
    """One printed question of one index row with everything that decided about it."""

    item_id: str
    bucket: str
    exclusions: tuple[Exclusion, ...]
    """Every rule that matched, in precedence order; also those of its group and of the lists."""
    folded_into: str
    """Item id of the representative when the bucket is 'folded', else ''."""
    fingerprint: str
    """Loose fingerprint: the name of its duplicate group (blanks of a cloze share one without being duplicates)."""
    n_source_papers: int
    """Index rows that print the group."""
    question: str
    options: tuple[tuple[str, str], ...]
    """(letter, text) in marker order."""
    key: str | None
    accepted: tuple[str, ...]
    corrected: bool
    remark: str | None
    q_no: int
    page: int
    paper_id: str
    question_sha256: str
    key_sha256: str
    subject: str
    """科目全名 of the index row, normalised."""
    subject_group: str
    exam_level: str
    exam_name: str
    year_roc: int


@dataclass(frozen=True, slots=True)
class SubjectItems:
    """Every printed question of one subject, ordered by sitting, paper and question number, and its groups' figures."""

    slug: str
    items: tuple[PrintedItem, ...]
    groups: int
    """Distinct questions (loose fingerprints)."""
    duplicate_groups: int
    """Groups with at least two copies."""
    agreement: KeyAgreement
    same_stem: tuple[tuple[str, ...], ...]
    """Item ids of questions that share a stem and differ in their options."""
    unmatched_maintainer_ids: tuple[str, ...]
    """Ids of the maintainers' list that start with this subject's key and match no printed question."""

    @property
    def published(self) -> list[PrintedItem]:
        """The items of the data set."""
        return [item for item in self.items if item.bucket == PUBLISHED]

    @property
    def conflicting_ids(self) -> list[str]:
        """Item ids whose group has conflicting keys, each once."""
        conflict = Exclusion.CONFLICTING_KEYS
        return sorted({item.item_id for item in self.items if conflict in item.exclusions})

    def duplicate_figures(self, shared_with_other_subjects: int = 0) -> DuplicateFigures:
        """The figures of a card; what other subjects share is known only over all subjects (dedupe.shared_across)."""
        return DuplicateFigures(len(self.same_stem), shared_with_other_subjects)


def subject_items(subject: Subject, copies: Iterable[Copy], lists: Lists = NO_LISTS) -> SubjectItems:
    """The items of one subject from every copy printed under it.

    Raises ItemIdCollision when two different questions get one id, ItemError for a copy without a usable key.
    """
    groups = group(copies)
    check_item_ids((item_id_of(subject.key, exact), exact) for each in groups for exact in each.exacts)
    items = [item for each in groups for item in _settle(each, subject.key, lists)]
    items.sort(key=lambda item: (item.year_roc, item.paper_id, item.q_no))
    ids = {item.item_id for item in items}
    return SubjectItems(
        slug=subject.slug,
        items=tuple(items),
        groups=len(groups),
        duplicate_groups=sum(len(each.copies) > 1 for each in groups),
        agreement=key_agreement(groups, subject.key),
        same_stem=tuple(
            tuple(item_id_of(subject.key, each.exacts[0]) for each in together) for together in same_stem(groups)
        ),
        unmatched_maintainer_ids=tuple(
            sorted(
                identity for identity in lists.maintainer if _key_of(identity) == subject.key and identity not in ids
            )
        ),
    )


def unassigned_items(copies: Iterable[Copy]) -> list[PrintedItem]:
    """Every printed question that no subject claims: bucket no_subject, whatever else matched."""
    items = []
    for each in group(copies):
        for copy, exact in zip(each.copies, each.exacts, strict=True):
            identity = item_id_of(NO_SUBJECT_KEY, exact)
            items.append(_printed(copy, each, identity, copy.item.exclusions, NO_SUBJECT, ""))
    return sorted(items, key=lambda item: (item.year_roc, item.paper_id, item.q_no))


def _key_of(item_id: str) -> str:
    return item_id.rpartition("-")[0]


def _settle(each: Group, subject_key: str, lists: Lists) -> Iterator[PrintedItem]:
    """The copies of one group with their buckets: what the group and the lists say holds for all of them."""
    ids = [item_id_of(subject_key, exact) for exact in each.exacts]
    shared = [Exclusion.CONFLICTING_KEYS] if keys_conflict(each) else []
    shared += [foreign.exclusion for foreign in lists.foreign if each.loose in foreign.fingerprints]
    # A maintainer names one printing; a reprint with another comma has another id and is the same question.
    shared += [Exclusion.MAINTAINER_EXCLUDED] if any(identity in lists.maintainer for identity in ids) else []
    representative = ""
    for copy, identity in zip(each.copies, ids, strict=True):
        exclusions = in_order([*copy.item.exclusions, *shared]) if shared else copy.item.exclusions
        if exclusions:
            yield _printed(copy, each, identity, exclusions, exclusions[0].value, "")
        elif not representative:
            representative = identity
            yield _printed(copy, each, identity, (), PUBLISHED, "")
        else:
            yield _printed(copy, each, identity, (), FOLDED, representative)


_name = lru_cache(maxsize=1 << 14)(normalise)
"""Names of index rows as published; an index has few, printed once a question."""


def _printed(
    copy: Copy, each: Group, identity: str, exclusions: tuple[Exclusion, ...], bucket: str, folded_into: str
) -> PrintedItem:
    row, item = copy.row, copy.item
    return PrintedItem(
        item_id=identity,
        bucket=bucket,
        exclusions=exclusions,
        folded_into=folded_into,
        fingerprint=each.loose,
        n_source_papers=each.papers,
        question=item.question,
        options=tuple(item.options.items()),
        key=item.key,
        accepted=item.accepted,
        corrected=item.corrected,
        remark=item.remark,
        q_no=item.q_no,
        page=item.page,
        paper_id=row.paper_id,
        question_sha256=copy.question_sha256,
        key_sha256=copy.key_sha256,
        subject=_name(row.subject_name),
        subject_group=_name(row.category),
        exam_level=_name(row.level),
        exam_name=_name(row.exam_name),
        year_roc=row.year_roc,
    )


def item_row(item: PrintedItem) -> ItemRow:
    """A published item as a row of the data set. Raises ValueError for any other bucket."""
    if item.bucket != PUBLISHED or item.key is None:
        raise ValueError(f"{item.item_id} ({item.paper_id} question {item.q_no}) is {item.bucket}, not published")
    texts = dict(item.options)
    return ItemRow(
        question=item.question,
        A=texts["A"],
        B=texts["B"],
        C=texts["C"],
        D=texts["D"],
        answer=item.key,
        subject=item.subject,
        subject_group=item.subject_group,
        exam_level=item.exam_level,
        exam_name=item.exam_name,
        year_roc=item.year_roc,
        year_ce=item.year_roc + ROC_OFFSET,
        q_no=item.q_no,
        paper_id=item.paper_id,
        n_source_papers=item.n_source_papers,
        item_id=item.item_id,
    )


# ---- the store's form -----------------------------------------------------------------------------------------------

_TYPES = {f.name: f.type for f in fields(PrintedItem)}


def to_line(item: PrintedItem) -> bytes:
    """One printed item as one line of items/<slug>.jsonl, without its line feed; equal items are equal bytes."""
    return json.dumps({**asdict(item), "options": dict(item.options)}, ensure_ascii=False).encode()


def from_line(line: bytes) -> PrintedItem:
    """The printed item of a line that `to_line` wrote. Raises ItemLineError naming the field that is wrong."""
    try:
        record = json.loads(line)
    except ValueError as error:
        raise ItemLineError(f"not JSON: {error}") from None
    if not isinstance(record, dict) or record.keys() != _TYPES.keys():
        raise ItemLineError(f"fields: {excerpt(sorted(record) if isinstance(record, dict) else record)}")
    for name, value in record.items():
        if not _is_valid(name, value):
            raise ItemLineError(f"{name}: {excerpt(value)}")
    return PrintedItem(
        **{
            **record,
            "exclusions": tuple(map(Exclusion, record["exclusions"])),
            "options": tuple(record["options"].items()),
            "accepted": tuple(record["accepted"]),
        }
    )


def _is_valid(name: str, value: Any) -> bool:
    if _TYPES[name] == "str":
        return isinstance(value, str) and (name != "bucket" or value in BUCKETS)
    if _TYPES[name] == "int":
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if _TYPES[name] == "bool":
        return isinstance(value, bool)
    if _TYPES[name] == "str | None":
        return value is None or isinstance(value, str)
    if name == "options":
        return isinstance(value, dict) and all(k in LETTERS and isinstance(v, str) for k, v in value.items())
    members = set(Exclusion) if name == "exclusions" else None
    return isinstance(value, list) and all(isinstance(v, str) and (not members or v in members) for v in value)
