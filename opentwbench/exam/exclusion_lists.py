"""Lists of items to leave out: foreign benchmarks by fingerprint, and the maintainers' own list by item id.

What belongs here: reading and validating the lists. What does not: where they are (configuration) and what is done to
an item that is on one (items).
Sources: methodology page ("Questions already in tw-legal-benchmark-v2", matched item by item); the paper, section 2
(items whose fingerprints match TMMLU+ are dropped so that the suites stay disjoint); the design, section 3
("Withdrawal"). A foreign list that is not configured or not there is reported as not applied, never skipped in silence.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from opentwbench.dataset.contract import MAX_TEXT, excerpt
from opentwbench.dataset.model import DatasetError, ListFigures, Withdrawal
from opentwbench.exam.fingerprint import loose
from opentwbench.exam.glyphs import normalise
from opentwbench.exam.model import Exclusion

MAX_LIST_BYTES = 1 << 30
"""Bytes of one list file. TMMLU+ has 23,072 rows (the paper, section 2) and takes a few megabytes."""

LIST_EXCLUSIONS = (Exclusion.IN_LEGAL_BENCHMARK_V2, Exclusion.IN_TMMLU_PLUS)
"""The exclusions that a foreign list gives, in precedence order."""

FORMATS = (".csv", ".jsonl", ".parquet")


class ListError(Exception):
    """A list that was configured and cannot be used. Names the file, the line and the reason."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Where a foreign list keeps a question: its column, and one column for each option (or a single list column)."""

    question: str = "question"
    options: tuple[str, ...] = ("A", "B", "C", "D")


@dataclass(frozen=True, slots=True)
class ForeignList:
    """The loose fingerprints of a foreign benchmark. `applied` is False when it was not there; `detail` says why."""

    exclusion: Exclusion
    applied: bool
    detail: str
    fingerprints: frozenset[str] = frozenset()
    rows: int = 0
    unusable: int = 0
    """Rows without a stem or without two options: counted, they can match nothing."""

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


def read_foreign_list(exclusion: Exclusion, path: Path | None, columns: Columns = Columns()) -> ForeignList:
    """A foreign benchmark at `path`: a CSV, JSONL or Parquet file, or a folder of them (every split counts).

    Fingerprints are loose: the foreign list has other punctuation and white space habits. An absent path gives a list
    that is not applied; a file that is there and cannot be read raises ListError.
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
    for row in (row for file in files for row in _read_rows(file, columns)):
        rows += 1
        question, options = _question_of(row, columns)
        if question and len(options) > 1:
            found.add(loose(question, options))
        else:
            unusable += 1
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
    if not path.is_file():
        raise ListError(f"{path.name}: configured and not there")
    entries: dict[str, Withdrawal] = {}
    for number, record in _read_json_lines(path):
        try:
            entry = Withdrawal.from_json(record)
        except DatasetError as error:
            raise ListError(f"{path.name} line {number}: {error}") from None
        if entry.item_id in entries:
            raise ListError(f"{path.name} line {number}: {entry.item_id} is listed twice")
        entries[entry.item_id] = entry
    return entries


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.suffix in FORMATS and file.is_file())
    return [path] if path.is_file() else []


def _read_rows(path: Path, columns: Columns) -> Iterator[Mapping[str, Any]]:
    if path.stat().st_size > MAX_LIST_BYTES:
        raise ListError(f"{path.name}: larger than {MAX_LIST_BYTES} bytes")
    wanted = [columns.question, *columns.options]
    if path.suffix == ".csv":
        yield from _read_csv(path, wanted)
    elif path.suffix == ".jsonl":
        for number, record in _read_json_lines(path):
            _require(path, f" line {number}", record, wanted)
            yield record
    elif path.suffix == ".parquet":
        yield from _read_parquet(path, wanted)
    else:
        raise ListError(f"{path.name}: not one of {' '.join(FORMATS)}")


def _read_csv(path: Path, wanted: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    # No type inference: an option that reads 1 or None is a text.
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            reader = csv.DictReader(file)
            _require(path, "", dict.fromkeys(reader.fieldnames or ()), wanted)
            yield from reader
        except (csv.Error, UnicodeDecodeError) as error:
            raise ListError(f"{path.name}: {error}") from None


def _read_json_lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if path.stat().st_size > MAX_LIST_BYTES:
        raise ListError(f"{path.name}: larger than {MAX_LIST_BYTES} bytes")
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except ValueError as error:
                raise ListError(f"{path.name} line {number}: {error}") from None
            if not isinstance(record, dict):
                raise ListError(f"{path.name} line {number}: not a JSON object: {excerpt(record)}")
            yield number, record


def _read_parquet(path: Path, wanted: list[str]) -> Iterator[Mapping[str, Any]]:
    try:
        names = pl.scan_parquet(path).collect_schema().names()
        _require(path, "", dict.fromkeys(names), wanted)
        frame = pl.read_parquet(path, columns=wanted)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ListError(f"{path.name}: {excerpt(str(error), 200)}") from None
    yield from frame.iter_rows(named=True)


def _require(path: Path, where: str, record: Mapping[str, Any], wanted: Iterable[str]) -> None:
    if missing := [column for column in wanted if column not in record]:
        raise ListError(f"{path.name}{where}: no column {', '.join(missing)}; there are {excerpt(sorted(record), 200)}")


def _question_of(row: Mapping[str, Any], columns: Columns) -> tuple[str, dict[str, str]]:
    """Stem and options of a row; a single option column that holds a list gives them all."""
    values = [row[column] for column in columns.options]
    if len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    texts = [_text(value) for value in values]
    return _text(row[columns.question]), {str(place): text for place, text in enumerate(texts) if text}


def _text(value: object) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else str(value)
    return normalise(text[:MAX_TEXT])
