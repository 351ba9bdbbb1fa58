"""Reprints: grouping printed copies, what a group's official keys say together, and what is shared beyond a group.

What belongs here: grouping by loose fingerprint, the comparison of keys by answer text, figures over groups.
What does not: fingerprints themselves, the bucket of a copy (items).
Source: the design, section 3 ("Fingerprint", "Accounting": grouping first, then the key decides for the whole group);
the paper, section 3.2 (letters are never compared: option order varies across appearances).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from opentwbench.dataset.model import KeyFigures
from opentwbench.exam.fingerprint import exact, fold_exact, fold_loose, item_id_of, loose
from opentwbench.exam.model import Exclusion, IndexRow, PaperItem, PaperRecord

RULINGS: frozenset[Exclusion] = frozenset(
    {
        Exclusion.MULTI_SELECT,
        Exclusion.VOIDED,
        Exclusion.CREDITED_UNLESS_BLANK,
        Exclusion.SEVERAL_ANSWERS_ACCEPTED,
        Exclusion.REMARK_UNREAD,
    }
)
"""Exclusions that the key gives: there is no single official answer to compare."""


class ItemError(ValueError):
    """A printed copy that contradicts itself (no exclusion and no usable key). Names the paper and the question."""


@dataclass(frozen=True, slots=True)
class Copy:
    """One printed question on one index row."""

    row: IndexRow
    question_sha256: str
    """Content of the question PDF: two rows with one hash are one reading, not two."""
    key_sha256: str
    item: PaperItem

    @property
    def place(self) -> tuple[int, str, int]:
        """Where it was printed: year, paper and question number. Orders copies from the earliest sitting on."""
        return (self.row.year_roc, self.row.paper_id, self.item.q_no)


def copies_of(row: IndexRow, record: PaperRecord, question_sha256: str, key_sha256: str) -> list[Copy]:
    """Every printed question of an accepted paper as copies of its index row; nothing for a rejected one."""
    return [Copy(row, question_sha256, key_sha256, item) for item in record.items] if record.accepted else []


@dataclass(frozen=True, slots=True)
class Group:
    """Copies of one question, the earliest sitting first, with the exact fingerprint of each."""

    loose: str
    copies: tuple[Copy, ...]
    exacts: tuple[str, ...]
    papers: int
    """Index rows that print it. A row that prints it twice counts once."""

    @property
    def stem(self) -> str:
        """The stem of the earliest copy, loosely folded."""
        return fold_loose(self.copies[0].item.question)


def group(copies: Iterable[Copy]) -> list[Group]:
    """Copies of one subject grouped by loose fingerprint; groups and copies in order of their earliest place.

    A copy without a stem (a blank of a cloze) is not known by its text: blanks of one passage may share their options
    and have different keys. Such copies group only when they are the same question of the same PDF.
    The loose fingerprint is computed once for each exact one: reprints are mostly verbatim, and folding is the cost.
    """
    loose_of: dict[str, str] = {}
    members: dict[tuple[str, str, int], list[tuple[Copy, str]]] = {}
    for copy in sorted(copies, key=lambda copy: copy.place):
        item = copy.item
        identity = exact(item.question, item.options)
        fingerprint = loose_of.get(identity)
        if fingerprint is None:
            fingerprint = loose_of[identity] = loose(item.question, item.options)
        blank = not item.question.strip()
        name = (fingerprint, copy.question_sha256, item.q_no) if blank else (fingerprint, "", 0)
        members.setdefault(name, []).append((copy, identity))
    return [_group(fingerprint, pairs) for (fingerprint, _, _), pairs in members.items()]


def _group(fingerprint: str, pairs: list[tuple[Copy, str]]) -> Group:
    copies = tuple(copy for copy, _ in pairs)
    return Group(fingerprint, copies, tuple(exact for _, exact in pairs), len({copy.row.paper_id for copy in copies}))


def official_option(item: PaperItem) -> str | None:
    """The text of the single official answer as printed; None when the key names no single answer.

    Raises ItemError when nothing excludes the item and its key is no option: such a copy may not go on.
    """
    if not RULINGS.isdisjoint(item.exclusions):
        return None
    if item.key is not None and item.key in item.options:
        return item.options[item.key]
    if not item.exclusions:
        raise ItemError(f"question {item.q_no}: key {item.key!r} is no option of {''.join(item.options)}")
    return None


def answer(item: PaperItem) -> str | None:
    """The single official answer folded for comparison across copies, None as in `official_option`.

    Loosely folded, so that a comma is no conflict; exactly, where that would make two options of the item equal
    (questions about punctuation).
    """
    printed = official_option(item)
    if printed is None:
        return None
    folded = [fold_loose(text) for text in item.options.values()]
    return fold_loose(printed) if len(set(folded)) == len(folded) else fold_exact(printed)


def _verdict(item: PaperItem, read: Callable[[PaperItem], str | None]) -> tuple[str, str]:
    """What the official key says of a copy: a single answer's text (as `read` gives it), or the kind of ruling."""
    if (text := read(item)) is not None:
        return ("answer", text)
    ruling = next((exclusion.value for exclusion in item.exclusions if exclusion in RULINGS), "unusable")
    return (ruling, "" if ruling != "unusable" else item.key or "")


def keys_conflict(group: Group) -> bool:
    """True when the official keys of a group do not all say the same: another answer, or voided here, keyed there.

    Raises ItemError as `official_option` does, with the paper's name.
    """
    try:
        as_printed = {_verdict(copy.item, official_option) for copy in group.copies}
    except ItemError as error:
        raise ItemError(f"{' '.join(sorted({copy.row.paper_id for copy in group.copies}))}: {error}") from None
    # Most groups agree to the letter; folding is the cost, so only the others are folded.
    return len(as_printed) > 1 and len({_verdict(copy.item, answer) for copy in group.copies}) > 1


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A group whose copies have different single answers: every (paper_id, question number, letter, answer text)."""

    item_id: str
    keys: tuple[tuple[str, int, str, str], ...]


@dataclass(frozen=True, slots=True)
class KeyAgreement:
    """How often the official keys of a duplicate group name the same answer, by answer text.

    Counted are groups with at least two copies that have a single official answer; `independent_*` needs at least two
    distinct question PDFs among them, because reading identical bytes twice proves nothing. `overruled` are duplicate
    groups that a ruling decides (voided or multiply accepted somewhere, keyed elsewhere): no second answer to compare.
    """

    groups: int
    agreeing: int
    independent_groups: int
    independent_agreeing: int
    overruled: int
    disagreements: tuple[Disagreement, ...]

    def figures(self, conflicting_ids: Iterable[str] = ()) -> KeyFigures:
        """The figures of a card. `conflicting_ids` names every item whose group may not be published."""
        return KeyFigures(
            self.groups,
            self.agreeing,
            self.independent_groups,
            self.independent_agreeing,
            tuple(sorted(set(conflicting_ids))),
        )


def key_agreement(groups: Iterable[Group], subject_key: str) -> KeyAgreement:
    """Agreement over the duplicate groups of one subject, excluded items included: a key is a key."""
    total, independent = Counter[bool](), Counter[bool]()
    overruled = 0
    disagreements = []
    for each in groups:
        if len(each.copies) < 2:
            continue
        keyed = _keyed(each.copies)
        if keyed and len(keyed) < len(each.copies) and keys_conflict(each):
            overruled += 1
        if len(keyed) < 2:
            continue
        agree = len({text for _, text in keyed}) == 1
        total[agree] += 1
        if len({copy.question_sha256 for copy, _ in keyed}) > 1:
            independent[agree] += 1
        if not agree:
            keys = ((c.row.paper_id, c.item.q_no, c.item.key or "", text) for c, text in keyed)
            disagreements.append(Disagreement(item_id_of(subject_key, each.exacts[0]), tuple(keys)))
    return KeyAgreement(
        total.total(), total[True], independent.total(), independent[True], overruled, tuple(disagreements)
    )


def _keyed(copies: Sequence[Copy]) -> list[tuple[Copy, str]]:
    """The copies with a single official answer and its text; folded for comparison only where the printings differ."""
    keyed = [(copy, text) for copy in copies if (text := official_option(copy.item)) is not None]
    if len({text for _, text in keyed}) < 2:
        return keyed
    return [(copy, answer(copy.item) or "") for copy, _ in keyed]


def same_stem(groups: Iterable[Group]) -> list[tuple[Group, ...]]:
    """Groups that share their stem and differ in their options, reported apart: reprints with rewritten options, or a
    stem that many questions have. Items without a stem (cloze blanks) are left out.
    """
    by_stem: dict[str, list[Group]] = defaultdict(list)
    for each in groups:
        if stem := each.stem:
            by_stem[stem].append(each)
    return [tuple(together) for together in by_stem.values() if len(together) > 1]


def shared_across(published: Iterable[tuple[str, str]]) -> dict[str, Sequence[str]]:
    """Loose fingerprint -> slugs, for every item that more than one subject publishes. `published` are (slug, loose).

    Deduplication is within a subject; what subjects share is counted, not removed (the design, section 3).
    """
    slugs: dict[str, list[str]] = {}
    for slug, fingerprint in published:
        seen = slugs.setdefault(fingerprint, [])
        if slug not in seen:
            seen.append(slug)
    return {fingerprint: sorted(names) for fingerprint, names in slugs.items() if len(names) > 1}
