"""Lists of items to leave out: foreign benchmarks by fingerprint, and the maintainers' own list by item id.

What belongs here: reading and validating the lists. What does not: where they are (configuration) and what is done to
an item that is on one (items).
Sources: methodology page ("Questions already in tw-legal-benchmark-v2", matched item by item); the paper, section 2
(items whose fingerprints match TMMLU+ are dropped so that the suites stay disjoint); the design, section 3
("Withdrawal"). A foreign list that is not configured or not there is reported as not applied, never skipped in silence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from opentwbench.dataset.model import DatasetError, ListFigures, Withdrawal
from opentwbench.exam.fingerprint import loose
from opentwbench.exam.model import Exclusion
from opentwbench.exam.split_files import (
    NOTES,
    SET_ASIDE,
    AuditError,
    ColumnMap,
    FoundFile,
    Row,
    list_files,
    read_files,
)
from opentwbench.exam.tabular_files import FORMATS, Fault, FileRefused, Reason, read_json_lines

MAX_ROWS = 4_000_000
"""Rows of one list, all its files together. TMMLU+ has 23,072 (the paper, section 2)."""

LIST_EXCLUSIONS = (Exclusion.IN_LEGAL_BENCHMARK_V2, Exclusion.IN_TMMLU_PLUS)
"""The exclusions that a foreign list gives, in precedence order."""

UNUSABLE = frozenset(
    {
        Reason.EMPTY_QUESTION,
        Reason.TOO_FEW_OPTIONS,
        Reason.TOO_MANY_OPTIONS,
        Reason.NOT_TEXT,
        Reason.TEXT_TOO_LONG,
    }
)
"""Rows that are read and can match no item of ours: counted. Whatever else is wrong with a row stops: what it says is
not known, and an item that it names would be published.
"""


class ListError(Exception):
    """A list that was configured and cannot be used. Names the file, the line and the reason."""


FOUR_OPTIONS = ColumnMap(options=("A", "B", "C", "D"), answer="")
"""Where a foreign list keeps a question unless the caller says otherwise."""


@dataclass(frozen=True, slots=True)
class ForeignList:
    """The loose fingerprints of a foreign benchmark. `applied` is False when it was not there; `detail` says why."""

    exclusion: Exclusion
    applied: bool
    detail: str
    fingerprints: frozenset[str] = frozenset()
    rows: int = 0
    unusable: int = 0
    """Rows that can match nothing (UNUSABLE), counted: without a stem, without two options, too long."""

    def figures(self) -> ListFigures:
        """The figures of a card."""
        return ListFigures(self.applied, self.rows)


@dataclass(frozen=True, slots=True)
class Lists:
    """Everything that may leave an item out beside the item itself."""

    foreign: tuple[ForeignList, ...] = ()
    maintainer: Mapping[str, Withdrawal] = field(default_factory=dict)
    """Item id -> why a maintainer excluded it."""

    def figures(self) -> dict[str, ListFigures]:
        """Exclusion name -> figures, for every foreign list that the platform knows, applied or not."""
        known = {each.exclusion: each for each in self.foreign}
        return {
            exclusion.value: known[exclusion].figures() if exclusion in known else ListFigures(applied=False)
            for exclusion in LIST_EXCLUSIONS
        }


NO_LISTS = Lists()


def read_foreign_list(exclusion: Exclusion, path: Path | None, columns: ColumnMap = FOUR_OPTIONS) -> ForeignList:
    """A foreign benchmark at `path`: a CSV, JSONL or Parquet file, or a folder of them (every split counts).

    Fingerprints are loose: the foreign list has other punctuation and white space habits. An absent path gives a list
    that is not applied. Raises ListError naming file, row and reason for anything that is there and cannot be read
    whole, for more than MAX_ROWS rows, and for a list of which no row can match an item.
    """
    if exclusion not in LIST_EXCLUSIONS:
        raise ValueError(f"{exclusion.value} is given by no list")
    if path is None:
        return ForeignList(exclusion, applied=False, detail="not configured")
    files = _files(path)
    if not files:
        return ForeignList(exclusion, applied=False, detail=f"{path.name}: no {' '.join(FORMATS)} file there")
    found: set[str] = set()
    rows = unusable = 0
    for row in _rows(files, columns):
        rows += 1
        if rows > MAX_ROWS:
            raise ListError(f"{path.name}: more than {MAX_ROWS} rows")
        if row is None:
            unusable += 1
        else:
            found.add(loose(row.question, row.options))
    if not found:
        raise ListError(f"{path.name}: none of {rows} rows has a question with options; are these the right columns?")
    detail = f"{rows} rows of {len(files)} files, {unusable} without a stem or options"
    return ForeignList(exclusion, True, detail, frozenset(found), rows, unusable)


def read_id_list(path: Path | None) -> dict[str, Withdrawal]:
    """Item ids with reason, date and evidence from a JSONL file, by id; {} when `path` is None.

    The same form serves the maintainers' exclusions and the withdrawals. Raises ListError when the file is not there
    (a lost list would put items back in silence) and for a line that is no JSON object, lacks a field, has a wrong id
    or date, or repeats an id.
    """
    if path is None:
        return {}
    if not path.exists():
        raise ListError(f"{path.name}: configured and not there")
    entries: dict[str, Withdrawal] = {}
    try:
        for number, record in read_json_lines(path.resolve()):
            if isinstance(record, Fault):
                if record.reason is not Reason.BLANK_LINE:
                    raise ListError(f"{path.name} line {number}: {record.reason.value}: {record.detail}")
                continue
            entry = _entry(record, f"{path.name} line {number}")
            if entry.item_id in entries:
                raise ListError(f"{path.name} line {number}: {entry.item_id} is listed twice")
            entries[entry.item_id] = entry
    except FileRefused as refused:
        raise ListError(f"{path.name}: {refused}") from None
    return entries


def _entry(record: Mapping[str, object], where: str) -> Withdrawal:
    try:
        return Withdrawal.from_json(record)
    except DatasetError as error:
        raise ListError(f"{where}: {error}") from None


def _files(path: Path) -> list[FoundFile]:
    """The files of a list. The configured path may be a link; one below a folder is refused, not passed over."""
    if not path.is_dir():
        if path.exists() and path.suffix.lower() not in FORMATS:
            raise ListError(f"{path.name}: not one of {' '.join(FORMATS)}")
        return [FoundFile(path.resolve(), path.name)] if path.exists() else []
    try:
        found, aside = list_files(path)
    except AuditError as error:
        raise ListError(f"{path.name}: {error}") from None
    for name, reason, detail in aside:
        if reason not in SET_ASIDE:
            raise ListError(f"{path.name}: {name}: {reason.value}: {detail}")
    return found


def _rows(files: list[FoundFile], columns: ColumnMap) -> Iterator[Row | None]:
    """Every row, None for one that can match nothing."""
    for file, rows in read_files(files, columns):
        try:
            for row in rows:
                if isinstance(row, Row):
                    yield row
                elif row.reason in UNUSABLE:
                    yield None
                elif row.reason not in NOTES:
                    raise ListError(f"{file.name} row {row.row}: {row.reason.value}: {row.detail}")
        except FileRefused as refused:
            raise ListError(f"{file.name}: {refused}") from None
