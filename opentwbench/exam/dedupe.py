"""Reprints: grouping printed copies, what a group's official keys say together, and what is shared beyond a group.

What belongs here: grouping by loose fingerprint, the comparison of keys by answer text, figures over groups.
What does not: fingerprints themselves, the bucket of a copy (items).
Source: the design, section 3 ("Fingerprint", "Accounting": grouping first, then the key decides for the whole group);
the paper, section 3.2 (letters are never compared: option order varies across appearances).
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Protocol

from opentwbench.dataset.model import KeyFigures
from opentwbench.exam.fingerprint import exact_digest, fold_exact, fold_loose, item_id_of, of_folded, short_digest
from opentwbench.exam.model import Exclusion, IndexRow, PaperItem, PaperRecord

if TYPE_CHECKING:
    import polars as pl  # where the frame is made: deciding that nothing changed needs none

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


class Printed(Protocol):
    """What grouping and the comparison of keys read of a printed question."""

    @property
    def q_no(self) -> int: ...
    @property
    def question(self) -> str: ...
    @property
    def options(self) -> Mapping[str, str]: ...
    @property
    def key(self) -> str | None: ...
    @property
    def exclusions(self) -> tuple[Exclusion, ...]: ...


RULED, KEYED, UNUSABLE = 0, 1, 2
"""What the key of a copy is: a ruling without a single answer, a single answer, or no option of a clean copy."""


class _Names:
    """Names by number, each kept once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    def all(self) -> list[str]:
        return list(self._numbers)

    def ranks(self) -> list[int]:
        """Number -> place among the sorted names."""
        names = self.all()
        ranks = [0] * len(names)
        for rank, number in enumerate(sorted(range(len(names)), key=names.__getitem__)):
            ranks[number] = rank
        return ranks


_COLUMNS: dict[str, tuple[str, str]] = {
    "scope": ("I", "UInt32"),
    "year": ("I", "UInt32"),
    "paper": ("I", "UInt32"),
    "q_no": ("I", "UInt32"),
    "pdf": ("I", "UInt32"),
    "exact": ("I", "UInt32"),
    "group": ("I", "UInt32"),
    "kind": ("B", "UInt8"),
    "letter": ("B", "UInt8"),
    "verdict": ("Q", "UInt64"),
}
"""Column -> type while copies pass, type in the frame."""


class Grouping:
    """Printed questions grouped by loose fingerprint while they pass; digests and numbers are kept, no text.

    A copy takes 38 bytes, a distinct text some 300. Two million copies of 255,854 questions fit in a few hundred
    megabytes (bench/dedupe.py). A copy without a stem (a blank of a cloze) is not known by its text: blanks of one
    passage may share their options and have different keys. Such copies group only when they are the same question of
    the same PDF. Texts are folded once for each exact text: reprints are mostly verbatim, and folding is the cost.
    """

    def __init__(self) -> None:
        self._columns = {name: array(code) for name, (code, _) in _COLUMNS.items()}
        self._appends = tuple(column.append for column in self._columns.values())
        self._scopes, self._papers, self._pdfs = _Names(), _Names(), _Names()
        self._exact: dict[bytes, int] = {}
        self._loose: dict[bytes, int] = {}
        self._groups: dict[int | tuple[int, int, int], int] = {}
        """Number of a loose fingerprint, or with PDF and question number for a blank -> number of its group."""
        self._loose_of = array("I")
        """Number of an exact text -> number of its loose fingerprint."""
        self._stems = array("Q")
        """Number of a loose fingerprint -> 64 bits of its folded stem's digest, 0 without a stem."""
        self._said: list[str] = []
        """Number of an exact text -> what the key of its first copy says, as printed."""
        self._verdicts = array("Q")
        """The same, folded for comparison, as 64 bits of a digest."""

    def __len__(self) -> int:
        return len(self._columns["group"])

    def add(self, year: int, paper_id: str, pdf: str, item: Printed, scope: str = "") -> None:
        """Take one copy: where it was printed, the content hash of its question PDF, the question itself."""
        digest = exact_digest(item.question, item.options)
        kind, said = _said(item)
        text = self._exact.get(digest)
        if text is None:
            text = self._new_text(digest, item, kind, said)
        verdict = self._verdicts[text] if said == self._said[text] else _verdict(kind, said, item, None)
        paper, file, alike = self._papers.number(paper_id), self._pdfs.number(pdf), self._loose_of[text]
        name = alike if item.question.strip() else (alike, file, item.q_no)
        group = self._groups.setdefault(name, len(self._groups))
        letter = ord(item.key) if kind == KEYED and item.key else 0
        values = (self._scopes.number(scope), year, paper, item.q_no, file, text, group, kind, letter, verdict)
        for append, value in zip(self._appends, values, strict=True):
            append(value)

    def _new_text(self, digest: bytes, item: Printed, kind: int, said: str) -> int:
        folded = [fold_loose(text) for text in item.options.values()]
        stem = fold_loose(item.question)
        alike = bytes.fromhex(of_folded(stem, folded))
        number = self._loose.get(alike)
        if number is None:
            number = self._loose[alike] = len(self._loose)
            self._stems.append(short_digest(stem) if stem else 0)
        self._loose_of.append(number)
        self._said.append(said)
        self._verdicts.append(_verdict(kind, said, item, folded))
        text = self._exact[digest] = len(self._exact)
        return text

    @property
    def texts(self) -> int:
        """Distinct texts (exact fingerprints)."""
        return len(self._exact)

    @property
    def distinct(self) -> int:
        """Distinct questions (groups)."""
        return len(self._groups)

    def frame(self) -> pl.DataFrame:
        """One row a copy in order of year, paper and question: `copy` counts from 0 as they came, the rest as numbers.

        `kind` is RULED, KEYED or UNUSABLE, `letter` the code of the key's letter (0 for none), `verdict` 64 bits of
        what the key says folded for comparison: equal within a group means the same.
        """
        import polars as pl

        frame = pl.DataFrame(
            {
                name: pl.Series(name, self._columns[name], dtype=getattr(pl, kind))
                for name, (_, kind) in _COLUMNS.items()
            }
        ).with_row_index("copy")
        ranks = pl.Series(self._papers.ranks(), dtype=pl.UInt32)
        return frame.with_columns(paper=ranks.gather(frame["paper"])).sort("year", "paper", "q_no", "copy")

    def fingerprints(self) -> list[tuple[str, int]]:
        """Group -> its loose fingerprint (64 hex digits; blanks of a cloze share one) and the digest of its stem."""
        alike = [digest.hex() for digest in self._loose]
        numbers = (name if isinstance(name, int) else name[0] for name in self._groups)
        return [(alike[number], self._stems[number]) for number in numbers]

    def names(self) -> list[str]:
        """Group -> an id that no other group has: the loose fingerprint, for a blank hashed with its place."""
        alike, pdfs = [digest.hex() for digest in self._loose], self._pdfs.all()
        return [
            alike[name]
            if isinstance(name, int)
            else sha256(f"{alike[name[0]]} {pdfs[name[1]]} {name[2]}".encode()).hexdigest()
            for name in self._groups
        ]

    def exacts(self) -> list[str]:
        """Number of an exact text -> its fingerprint, 64 hex digits."""
        return [digest.hex() for digest in self._exact]

    def scopes(self) -> list[str]:
        """Number of a scope -> its name."""
        return self._scopes.all()

    def papers(self) -> list[str]:
        """Number of a paper in the frame -> its id; numbers are in the order of ids."""
        return sorted(self._papers.all())


def _said(item: Printed) -> tuple[int, str]:
    """What the official key says of a copy, as printed: its kind, and the answer's text or the ruling's name."""
    for exclusion in item.exclusions:
        if exclusion in RULINGS:
            return RULED, exclusion.value
    if item.key is not None and item.key in item.options:
        return KEYED, item.options[item.key]
    return (RULED if item.exclusions else UNUSABLE), f"unusable {item.key}"


def _verdict(kind: int, said: str, item: Printed, folded: Sequence[str] | None) -> int:
    """64 bits of what the key says, folded for comparison across copies (`answer`)."""
    if kind != KEYED or item.key is None:
        return short_digest(f"{kind}\x1f{said}")
    return short_digest(f"{KEYED}\x1f{folded_answer(item.options, item.key, folded)}")


def folded_answer(options: Mapping[str, str], key: str, folded: Sequence[str] | None = None) -> str:
    """The text of option `key` for comparison across copies. `folded` are all options loosely folded, where known.

    Loosely folded, so that a comma is no conflict; exactly, where that would make two options of the item equal
    (questions about punctuation).
    """
    if folded is None:
        folded = [fold_loose(text) for text in options.values()]
    distinct = len(set(folded)) == len(folded)
    return folded[list(options).index(key)] if distinct else fold_exact(options[key])


@dataclass(frozen=True, slots=True)
class Group:
    """Copies of one question, the earliest sitting first, with the exact fingerprint of each."""

    loose: str
    copies: tuple[Copy, ...]
    exacts: tuple[str, ...]
    papers: int
    """Index rows that print it. A row that prints it twice counts once."""
    kinds: tuple[int, ...]
    """RULED, KEYED or UNUSABLE for each copy."""
    verdicts: tuple[int, ...]
    """What each copy's key says, folded, as 64 bits: equal within the group means the same."""
    stem: int
    """64 bits of the loosely folded stem's digest; 0 without a stem."""


def group(copies: Iterable[Copy]) -> list[Group]:
    """Copies of one subject grouped (`Grouping`); groups and copies in order of their earliest place."""
    held, grouping = list(copies), Grouping()
    for copy in held:
        grouping.add(copy.row.year_roc, copy.row.paper_id, copy.question_sha256, copy.item)
    members: dict[int, list[tuple[Copy, int, int, int]]] = {}
    columns = grouping.frame().select("group", "copy", "exact", "kind", "verdict")
    for number, place, text, kind, verdict in columns.iter_rows():
        members.setdefault(number, []).append((held[place], text, kind, verdict))
    exacts, names = grouping.exacts(), grouping.fingerprints()
    return [_group(*names[number], parts, exacts) for number, parts in members.items()]


def _group(loose: str, stem: int, parts: list[tuple[Copy, int, int, int]], exacts: Sequence[str]) -> Group:
    copies, texts, kinds, verdicts = zip(*parts, strict=True)
    papers = len({copy.row.paper_id for copy in copies})
    return Group(loose, copies, tuple(exacts[text] for text in texts), papers, kinds, verdicts, stem)


def official_option(item: Printed) -> str | None:
    """The text of the single official answer as printed; None when the key names no single answer.

    Raises ItemError when nothing excludes the item and its key is no option: such a copy may not go on.
    """
    kind, said = _said(item)
    if kind == UNUSABLE:
        raise ItemError(f"question {item.q_no}: key {item.key!r} is no option of {''.join(item.options)}")
    return said if kind == KEYED else None


def answer(item: Printed) -> str | None:
    """The single official answer as `folded_answer` gives it, None as in `official_option`."""
    if official_option(item) is None or item.key is None:
        return None
    return folded_answer(item.options, item.key)


def keys_conflict(group: Group) -> bool:
    """True when the official keys of a group do not all say the same: another answer, or voided here, keyed there.

    Raises ItemError as `official_option` does, with the paper's name.
    """
    if UNUSABLE in group.kinds:
        bad = group.copies[group.kinds.index(UNUSABLE)]
        try:
            official_option(bad.item)
        except ItemError as error:
            raise ItemError(f"{bad.row.paper_id}: {error}") from None
    return len(set(group.verdicts)) > 1


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
        keyed = [place for place, kind in enumerate(each.kinds) if kind == KEYED]
        if keyed and len(keyed) < len(each.copies) and keys_conflict(each):
            overruled += 1
        if len(keyed) < 2:
            continue
        agree = len({each.verdicts[place] for place in keyed}) == 1
        total[agree] += 1
        if len({each.copies[place].question_sha256 for place in keyed}) > 1:
            independent[agree] += 1
        if not agree:
            keys = tuple(_key_of(each.copies[place]) for place in keyed)
            disagreements.append(Disagreement(item_id_of(subject_key, each.exacts[0]), keys))
    return KeyAgreement(
        total.total(), total[True], independent.total(), independent[True], overruled, tuple(disagreements)
    )


def _key_of(copy: Copy) -> tuple[str, int, str, str]:
    return copy.row.paper_id, copy.item.q_no, copy.item.key or "", answer(copy.item) or ""


def same_stem(groups: Iterable[Group]) -> list[tuple[Group, ...]]:
    """Groups that share their stem and differ in their options, reported apart: reprints with rewritten options, or a
    stem that many questions have. Items without a stem (cloze blanks) are left out.
    """
    by_stem: dict[int, list[Group]] = defaultdict(list)
    for each in groups:
        if each.stem:
            by_stem[each.stem].append(each)
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
