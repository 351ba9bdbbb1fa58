"""The 148 subjects and the rule that gives an index row's subject name to one of them.

What belongs here: the registry (data/subjects.csv) and name matching.
What does not: anything that reads a paper.
Sources: the registry is the project's list of academic subjects (names as the ministry prints them in 科目全名); the
matching rule is the design's section 3, "Subject assignment".
"""

from __future__ import annotations

import csv
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from types import MappingProxyType
from typing import Literal

from opentwbench.exam.glyphs import map_private_use

SUBJECT_COUNT = 148
"""How many subjects the registry holds. Source: the design, section 2 (the static `subjects` partitions)."""

_PREFIX, _SUFFIX = "tw-", "-bench"
_CORRECTED_TITLE = "試題更正"  # the ministry appends it to 科目全名 when a paper was reissued
_CHINESE_NUMBERS = "一二三四五六七八九十"

_WIDTHS = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_BRACKETS = {ord(c): "(" for c in "〔【［｛〈《﹙[{"} | {ord(c): ")" for c in "〕】］｝〉》﹚]}"}
_PARENTHESISED = {0x3220 + i: f"({number})" for i, number in enumerate(_CHINESE_NUMBERS)}  # ㈠..㈩
_FOLD = _WIDTHS | _BRACKETS | _PARENTHESISED


class RegistryError(Exception):
    """The registry cannot be used: a wrong row, a repeated slug, or a name that two subjects claim."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One academic subject, the unit of a data set."""

    slug: str
    """Data-set name, e.g. 'tw-roc-constitution-bench'. Also the partition key."""
    key: str
    """The slug without 'tw-' and '-bench'; item ids start with it."""
    name_zh: str
    name_en: str
    field: str
    """Academic field, e.g. 'civics'."""
    match_names: tuple[str, ...]
    """Full subject names (or heads of names) that belong here, as the ministry prints them."""
    status: str
    """'recovered' when the slug is known from the published suite, 'proposed' when this project chose it."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a subject name matched: `how` is 'full', 'head' or None, `head` the folded name before its first bracket."""

    subject: Subject | None
    how: Literal["full", "head"] | None
    head: str


def fold_name(name: str) -> str:
    """A subject name for comparison: NFC, private-use glyphs mapped, widths and brackets folded, blanks and a trailing
    試題更正 dropped; '㈠' becomes '(一)', because a paper prints the one and its key the other (hazard 24).
    """
    folded = unicodedata.normalize("NFC", map_private_use(name)).translate(_FOLD)
    return "".join(folded.split()).removesuffix(_CORRECTED_TITLE)


def head_of(folded: str) -> str:
    """A folded name up to its first bracket; the whole name when it has none."""
    return folded.partition("(")[0]


def read_registry(lines: Iterable[str]) -> Mapping[str, Subject]:
    """Subjects by slug, in the order of the CSV `lines` (slug, name_zh, name_en, field, match_subject_names, status).

    `match_subject_names` is separated by semicolons. Raises RegistryError for a bad slug, an empty field, a repetition.
    """
    subjects: dict[str, Subject] = {}
    for row in csv.DictReader(lines):
        subject = _subject(row)
        if subject.slug in subjects:
            raise RegistryError(f"{subject.slug}: registered twice")
        subjects[subject.slug] = subject
    return MappingProxyType(subjects)


def _subject(row: Mapping[str, str]) -> Subject:
    slug = row["slug"]
    if not (slug.startswith(_PREFIX) and slug.endswith(_SUFFIX) and slug.isascii()):
        raise RegistryError(f"{slug!r}: a slug reads tw-…-bench")
    names = tuple(name.strip() for name in row["match_subject_names"].split(";"))
    texts = (row["name_zh"], row["name_en"], row["field"], row["status"], *names)
    if not all(texts):
        raise RegistryError(f"{slug}: an empty field or match name")
    key = slug.removeprefix(_PREFIX).removesuffix(_SUFFIX)
    return Subject(slug, key, row["name_zh"], row["name_en"], row["field"], names, row["status"])


def name_table(subjects: Iterable[Subject]) -> Mapping[str, Subject]:
    """Folded match name -> subject. Raises RegistryError when two subjects claim one name: a row must have one home."""
    table: dict[str, Subject] = {}
    for subject in subjects:
        for name in subject.match_names:
            other = table.setdefault(fold_name(name), subject)
            if other.slug != subject.slug:
                raise RegistryError(f"{name}: claimed by {other.slug} and {subject.slug}")
    return MappingProxyType(table)


def _load() -> Mapping[str, Subject]:
    path = resources.files("opentwbench.exam") / "data" / "subjects.csv"
    registry = read_registry(path.read_text(encoding="utf-8").splitlines())
    if len(registry) != SUBJECT_COUNT:
        raise RegistryError(f"{len(registry)} subjects registered, {SUBJECT_COUNT} expected")
    return registry


REGISTRY: Mapping[str, Subject] = _load()
"""The 148 subjects by slug."""

_BY_NAME = name_table(REGISTRY.values())


@lru_cache(maxsize=4096)
def assign(subject_name: str) -> Assignment:
    """The subject of a 科目全名: the full name first, then the head before its first bracket.

    The full name comes first because some names carry their subject inside the bracket: 藥學(四)(包括調劑學與臨床藥學)
    has the head 藥學, which is no subject.
    """
    folded = fold_name(subject_name)
    head = head_of(folded)
    if subject := _BY_NAME.get(folded):
        return Assignment(subject, "full", head)
    if subject := _BY_NAME.get(head):
        return Assignment(subject, "head", head)
    return Assignment(None, None, head)


def exact_match(subject_name: str) -> Subject | None:
    """The subject whose match name is this very string, nothing folded. Shown beside `assign` to say what it gains."""
    return _BY_EXACT_NAME.get(subject_name)


_BY_EXACT_NAME = {name: subject for subject in REGISTRY.values() for name in subject.match_names}
