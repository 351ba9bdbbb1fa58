"""benchmark.jsonl and benchmark.csv: written from rows, read back without guessing a type, compared field by field.

JSONL: UTF-8, no BOM, one record a line, no blank line, exactly one line feed at the end, because the harness fails a
whole file on a blank line. CSV: RFC 4180 quoting with every text quoted, so that None, null, NA and 001 are texts to
every reader that honours quotes; records end in a line feed as in the JSONL.
What does not belong here: which rows are right (contract.py) and what a check makes of a difference (validators.py).
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from opentwbench.dataset.contract import COLUMNS, INT_COLUMNS, ItemRow, excerpt
from opentwbench.dataset.model import DatasetError

JSONL_NAME = "benchmark.jsonl"
CSV_NAME = "benchmark.csv"

MAX_FILE_BYTES = 1 << 30
"""Largest file that is read back: a release of 255,854 items is about 200 MB."""

MAX_LINE_BYTES = 1 << 21
"""Longest JSONL line: sixteen cells of MAX_TEXT characters, four bytes each, escaped."""

_COUNT = re.compile(r"0|-?[1-9][0-9]{0,18}")


def canonical_order(rows: Iterable[ItemRow]) -> list[ItemRow]:
    """Rows in the order of the files: by sitting, paper and question, then id, so that input order never shows."""
    return sorted(rows, key=lambda row: (row.year_roc, row.paper_id, row.q_no, row.item_id))


def json_line(record: Mapping[str, Any]) -> str:
    """One record as one line of JSON without its line feed; keys in the mapping's order, Chinese as itself."""
    return json.dumps(record, ensure_ascii=False, allow_nan=False)


def jsonl_bytes(records: Iterable[Mapping[str, Any]]) -> bytes:
    """Records as JSONL."""
    return "".join(json_line(record) + "\n" for record in records).encode()


def csv_bytes(rows: Sequence[ItemRow]) -> bytes:
    """Rows as CSV with a header; texts always quoted, counts bare."""
    return csv_records_bytes((row.to_json() for row in rows), COLUMNS)


def csv_records_bytes(records: Iterable[Mapping[str, str | int]], columns: Sequence[str]) -> bytes:
    """Records of other columns in the same form; each record has exactly these columns, in this order."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(record.values() for record in records)
    return out.getvalue().encode()


def read_bytes(path: Path) -> bytes:
    """A regular file's bytes; raises DatasetError when it is missing, not regular or larger than MAX_FILE_BYTES."""
    if path.is_symlink() or not path.is_file():
        raise DatasetError(f"{path.name}: missing or not a regular file")
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise DatasetError(f"{path.name}: {size} bytes, more than the {MAX_FILE_BYTES} that are read")
    return path.read_bytes()


def _text(data: bytes, name: str) -> str:
    if data.startswith(b"\xef\xbb\xbf"):
        raise DatasetError(f"{name}: starts with a byte order mark")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise DatasetError(f"{name}: not UTF-8 at byte {error.start}") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For json's object_pairs_hook: two readers may take two values of a key that stands twice, so it is refused."""
    record = dict(pairs)
    if len(record) != len(pairs):
        raise ValueError("a key occurs twice")
    return record


def parse_json(text: str, where: str) -> dict[str, Any]:
    """One strict JSON object: no NaN, no key twice. Raises DatasetError naming `where`."""
    try:
        value = json.loads(text, parse_constant=_no_constant, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{where}: not JSON: {excerpt(str(error))}") from None
    if not isinstance(value, dict):
        raise DatasetError(f"{where}: not a JSON object: {excerpt(text)}")
    return value


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """The records of a JSONL file in order; raises DatasetError naming file and line where the harness would trip."""
    data = read_bytes(path)
    if not data:
        return []
    if not data.endswith(b"\n"):
        raise DatasetError(f"{path.name}: no line feed at the end")
    # Split at line feeds only: str.splitlines would also cut at U+2028 and U+0085 inside a text.
    lines = _text(data, path.name)[:-1].split("\n")
    return [_parse_line(line, f"{path.name} line {n}") for n, line in enumerate(lines, start=1)]


def _parse_line(line: str, where: str) -> dict[str, Any]:
    if not line.strip():
        raise DatasetError(f"{where}: blank line")
    if len(line) > MAX_LINE_BYTES:
        raise DatasetError(f"{where}: {len(line)} characters, more than {MAX_LINE_BYTES}")
    return parse_json(line, where)


def read_csv(path: Path, columns: tuple[str, ...] = COLUMNS) -> list[dict[str, str]]:
    """The records of a CSV file, every cell the text it is; raises DatasetError naming file and record."""
    text = _text(read_bytes(path), path.name)
    # The csv module's own limit (131,072 characters a cell) bounds a quote that never closes; MAX_TEXT is far below.
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    return list(_csv_records(reader, path.name, columns))


def _csv_records(reader: Iterator[list[str]], name: str, columns: tuple[str, ...]) -> Iterator[dict[str, str]]:
    number = 0
    try:
        header = next(reader, [])
        if tuple(header) != columns:
            raise DatasetError(f"{name}: header is {excerpt(header, 200)}, not the contract's columns")
        for number, cells in enumerate(reader, start=1):
            if len(cells) != len(columns):
                raise DatasetError(f"{name} record {number}: {len(cells)} cells, not {len(columns)}")
            yield dict(zip(columns, cells, strict=True))
    except csv.Error as error:
        raise DatasetError(f"{name} record {number + 1}: {error}") from None


def rows_from_jsonl(path: Path) -> list[ItemRow]:
    """The rows of benchmark.jsonl; raises DatasetError naming line and column for a record that is no row."""
    rows = []
    for number, record in enumerate(read_jsonl(path), start=1):
        try:
            rows.append(ItemRow.from_json(record))
        except ValueError as error:
            raise DatasetError(f"{path.name} line {number}: {error}") from None
    return rows


def rows_from_csv(path: Path) -> list[ItemRow]:
    """The rows of benchmark.csv; counts have one canonical spelling, so 001 or 1.0 is refused, not mended."""
    rows = []
    for number, cells in enumerate(read_csv(path), start=1):
        values: dict[str, Any] = dict(cells)
        for column in INT_COLUMNS:
            if not _COUNT.fullmatch(cells[column]):
                raise DatasetError(f"{path.name} record {number}: {column} is no number: {excerpt(cells[column])}")
            values[column] = int(cells[column])
        rows.append(ItemRow.from_json(values))
    return rows


def differences(records: Sequence[Mapping[str, Any]], cells: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Where the CSV says other than the JSONL, field by field, each in words; nothing when it mirrors it.

    A JSON value mirrors a cell that is the same text; a count mirrors its decimal spelling. null mirrors nothing.
    """
    if len(records) != len(cells):
        yield f"{len(records)} records in {JSONL_NAME}, {len(cells)} in {CSV_NAME}"
    for number, (record, row) in enumerate(zip(records, cells, strict=False), start=1):
        if list(record) != list(row):
            yield f"record {number}: columns differ: {excerpt(list(record), 120)} and {excerpt(list(row), 120)}"
            continue
        for column, value in record.items():
            expected = value if isinstance(value, str) else str(value) if type(value) is int else None
            if row[column] != expected:
                both = f"{excerpt(value)} in {JSONL_NAME}, {excerpt(row[column])} in {CSV_NAME}"
                yield f"record {number} {column}: {both}"
