"""The nouns of a data set: its rows, its withdrawals and the figures of its making.

What belongs here: frozen records and the JSON form of build_stats.json and withdrawn.jsonl.
What does not: writing a folder (manifest.py) and judging one (validators.py).
Source: the design, section 3 ("Accounting", "Withdrawal", "Data-set folder").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from opentwbench.dataset.contract import ITEM_ID, MAX_TEXT, ItemRow, excerpt

SLUG = r"[a-z0-9]+(?:-[a-z0-9]+)*"
"""A data set's name, which is also its folder's name: lower-case words joined by hyphens."""


class DatasetError(ValueError):
    """A data set, or a file of one, that breaks its own contract. Names the file or field and the reason."""


@dataclass(frozen=True, slots=True)
class PaperFigures:
    """Papers of a subject, counted by index row; `index_rows` = accepted + every rejected."""

    index_rows: int
    accepted: int
    rejected: Mapping[str, int] = field(default_factory=dict)
    """Rejection reason -> index rows."""
    distinct_pdfs: int = 0
    """Distinct question PDFs (by content) behind the index rows; several rows can serve the same bytes."""


@dataclass(frozen=True, slots=True)
class QuestionFigures:
    """Questions printed on accepted papers; `printed` = published + folded + no_subject + every excluded."""

    printed: int
    published: int
    folded: int
    excluded: Mapping[str, int] = field(default_factory=dict)
    """Exclusion -> printed questions in that bucket."""
    no_subject: int = 0
    """Questions of papers that no subject claims. Always 0 for one subject; counted over a whole release."""


@dataclass(frozen=True, slots=True)
class KeyFigures:
    """Agreement of the official keys over duplicate groups, compared by answer text.

    `independent_*` counts only groups with at least two distinct PDFs: reading identical bytes twice proves nothing.
    """

    groups: int
    agreeing: int
    independent_groups: int
    independent_agreeing: int
    conflicting_ids: tuple[str, ...] = ()
    """Item ids of every group whose keys disagree. None of them may be published."""


@dataclass(frozen=True, slots=True)
class DuplicateFigures:
    """What deduplication saw beside the folded copies."""

    same_stem_groups: int = 0
    """Groups with the same stem and other options: kept apart, reported."""
    shared_with_other_subjects: int = 0
    """Published items that another subject publishes too."""


@dataclass(frozen=True, slots=True)
class ListFigures:
    """A list of foreign items to leave out (by fingerprint). Not applied = the list was not configured."""

    applied: bool
    entries: int = 0


@dataclass(frozen=True, slots=True)
class StudyFigures:
    """What a check was worth on planted defects and on sound data."""

    planted: int
    caught: int
    native: int
    false_alarms: int


@dataclass(frozen=True, slots=True)
class BuildStats:
    """The figures of one build: the content of build_stats.json, from which every check of sums reads."""

    papers: PaperFigures
    questions: QuestionFigures
    keys: KeyFigures
    duplicates: DuplicateFigures = DuplicateFigures()
    exclusion_lists: Mapping[str, ListFigures] = field(default_factory=dict)
    """Exclusion name (in_tmmlu_plus, ...) -> whether its list was applied."""
    broken_sums: tuple[str, ...] = ()
    """Sums that the accounting found open, per paper or per subject, each in words. Empty = everything closes."""
    study: Mapping[str, StudyFigures] = field(default_factory=dict)
    """Check -> its planted-defect study."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further figures, kept as they are (JSON values only)."""

    def to_json(self) -> dict[str, Any]:
        """The mapping written to build_stats.json."""
        return {
            "papers": {
                "index_rows": self.papers.index_rows,
                "accepted": self.papers.accepted,
                "rejected": dict(self.papers.rejected),
                "distinct_pdfs": self.papers.distinct_pdfs,
            },
            "questions": {
                "printed": self.questions.printed,
                "published": self.questions.published,
                "folded": self.questions.folded,
                "no_subject": self.questions.no_subject,
                "excluded": dict(self.questions.excluded),
            },
            "keys": {
                "groups": self.keys.groups,
                "agreeing": self.keys.agreeing,
                "independent_groups": self.keys.independent_groups,
                "independent_agreeing": self.keys.independent_agreeing,
                "conflicting_ids": sorted(self.keys.conflicting_ids),
            },
            "duplicates": {
                "same_stem_groups": self.duplicates.same_stem_groups,
                "shared_with_other_subjects": self.duplicates.shared_with_other_subjects,
            },
            "exclusion_lists": {
                name: {"applied": lst.applied, "entries": lst.entries} for name, lst in self.exclusion_lists.items()
            },
            "broken_sums": list(self.broken_sums),
            "study": {
                name: {"planted": s.planted, "caught": s.caught, "native": s.native, "false_alarms": s.false_alarms}
                for name, s in self.study.items()
            },
            "extra": dict(self.extra),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> BuildStats:
        """The figures of a build_stats.json; raises DatasetError naming the field that is missing or no count."""
        papers, questions, keys = (_section(record, name) for name in ("papers", "questions", "keys"))
        duplicates = _section(record, "duplicates")
        return cls(
            papers=PaperFigures(
                index_rows=_count(papers, "papers", "index_rows"),
                accepted=_count(papers, "papers", "accepted"),
                rejected=_counts(papers, "papers", "rejected"),
                distinct_pdfs=_count(papers, "papers", "distinct_pdfs"),
            ),
            questions=QuestionFigures(
                printed=_count(questions, "questions", "printed"),
                published=_count(questions, "questions", "published"),
                folded=_count(questions, "questions", "folded"),
                no_subject=_count(questions, "questions", "no_subject"),
                excluded=_counts(questions, "questions", "excluded"),
            ),
            keys=KeyFigures(
                groups=_count(keys, "keys", "groups"),
                agreeing=_count(keys, "keys", "agreeing"),
                independent_groups=_count(keys, "keys", "independent_groups"),
                independent_agreeing=_count(keys, "keys", "independent_agreeing"),
                conflicting_ids=_strings(keys, "keys", "conflicting_ids"),
            ),
            duplicates=DuplicateFigures(
                same_stem_groups=_count(duplicates, "duplicates", "same_stem_groups"),
                shared_with_other_subjects=_count(duplicates, "duplicates", "shared_with_other_subjects"),
            ),
            exclusion_lists={
                name: ListFigures(_flag(lst, name, "applied"), _count(lst, name, "entries"))
                for name, lst in _sections(record, "exclusion_lists").items()
            },
            broken_sums=_strings(record, "build_stats", "broken_sums"),
            study={
                name: StudyFigures(*(_count(s, name, part) for part in ("planted", "caught", "native", "false_alarms")))
                for name, s in _sections(record, "study").items()
            },
            extra=_section(record, "extra"),
        )


def _section(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = record.get(name)
    if not isinstance(value, Mapping):
        raise DatasetError(f"build_stats.json: {name} must be a mapping, got {excerpt(value)}")
    return value


def _sections(record: Mapping[str, Any], name: str) -> dict[str, Mapping[str, Any]]:
    section = _section(record, name)
    return {key: _section(section, key) for key in section}


def _count(section: Mapping[str, Any], where: str, name: str) -> int:
    value = section.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise DatasetError(f"build_stats.json: {where}.{name} must be a count, got {excerpt(value)}")
    return value


def _counts(section: Mapping[str, Any], where: str, name: str) -> dict[str, int]:
    counts = _section(section, name)
    return {str(key): _count(counts, f"{where}.{name}", key) for key in counts}


def _flag(section: Mapping[str, Any], where: str, name: str) -> bool:
    value = section.get(name)
    if not isinstance(value, bool):
        raise DatasetError(f"build_stats.json: {where}.{name} must be true or false, got {excerpt(value)}")
    return value


def _strings(section: Mapping[str, Any], where: str, name: str) -> tuple[str, ...]:
    value = section.get(name)
    if not isinstance(value, (list, tuple)) or not all(isinstance(v, str) for v in value):
        raise DatasetError(f"build_stats.json: {where}.{name} must be a list of texts, got {excerpt(value)}")
    return tuple(value)


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """An item taken out of the scored set. It stays in the published set; every score names its set."""

    item_id: str
    reason: str
    date: str
    """ISO date of the decision, e.g. 2026-11-29."""
    evidence: str

    def to_json(self) -> dict[str, str]:
        """The record as one line of withdrawn.jsonl."""
        return {"item_id": self.item_id, "reason": self.reason, "date": self.date, "evidence": self.evidence}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Withdrawal:
        """A withdrawal from a record; raises DatasetError when a field is missing, empty, too long or no ISO date."""
        if set(record) != {"item_id", "reason", "date", "evidence"}:
            raise DatasetError(f"a withdrawal has item_id, reason, date, evidence; got {excerpt(sorted(record))}")
        for name, value in record.items():
            if not isinstance(value, str) or not value.strip() or len(value) > MAX_TEXT:
                raise DatasetError(f"withdrawal {name} must be a non-empty text, got {excerpt(value)}")
        if not re.fullmatch(ITEM_ID, record["item_id"]):
            raise DatasetError(f"withdrawal item_id has not the shape of one: {excerpt(record['item_id'])}")
        try:
            valid = date.fromisoformat(record["date"]).isoformat() == record["date"]
        except ValueError:
            valid = False
        if not valid:
            raise DatasetError(f"withdrawal date must read YYYY-MM-DD, got {excerpt(record['date'])}")
        return cls(**record)


@dataclass(frozen=True, slots=True)
class Dataset:
    """Everything a data-set folder is written from. Nothing in it depends on the clock or the machine."""

    slug: str
    """Folder name, e.g. tw-roc-constitution-bench."""
    name_zh: str
    name_en: str
    field: str
    """Field of study, e.g. civics."""
    rows: tuple[ItemRow, ...]
    stats: BuildStats
    code_version: str
    """Version of the code that built it; it goes into the manifest, never into the data-set version."""
    withdrawals: tuple[Withdrawal, ...] = ()
    hub_repository: str | None = None
    """owner/name on the Hub once it is published there; the card's usage names the folder until then."""

    def __post_init__(self) -> None:
        """Raises DatasetError for a slug that could leave its folder."""
        if not re.fullmatch(SLUG, self.slug) or len(self.slug) > 120:
            raise DatasetError(f"slug must be lower-case words joined by hyphens, got {excerpt(self.slug)}")
