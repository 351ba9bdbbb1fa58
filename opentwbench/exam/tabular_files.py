"""CSV, JSONL and Parquet files from outside, record by record, whatever is in them.

What belongs here: opening within bounds, cutting a file into records, and the named reason for every file and record
that cannot be read. What does not: which files there are and what a record means (split_files, exclusion_lists).
Sizes are bounded before anything is read into memory; Parquet is decoded in a process of its own, because a few bytes
of it can stand for gigabytes.
"""

from __future__ import annotations

import csv
import io
import json
import os
import stat
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, Generic, NamedTuple, Protocol, TypeVar

from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.files import MAX_FILE_BYTES, MAX_LINE_BYTES, unique_keys
from opentwbench.exam.workers import Lost, run_isolated

FORMATS = (".csv", ".jsonl", ".parquet")

SECONDS_A_FILE = 600.0
"""Most processor time for one Parquet file; 250,000 rows take about three seconds (bench/duplicate_audit.py)."""


class Reason(StrEnum):
    """Why a file or a record is not used as it stands. Closed; what each one costs is said where records are used."""

    SYMLINK = "symlink"
    NOT_REGULAR = "not_regular"
    UNREADABLE = "unreadable"
    TOO_LARGE = "too_large"
    NOT_UTF8 = "not_utf8"
    MISSING_COLUMN = "missing_column"
    REPEATED_COLUMN = "repeated_column"
    SPLIT_AMBIGUOUS = "split_ambiguous"
    CSV_BROKEN = "csv_broken"
    PARQUET_BROKEN = "parquet_broken"
    TOO_MANY_ROWS = "too_many_rows"

    OTHER_FORMAT = "other_format"
    SIDECAR = "sidecar"
    MIRROR = "mirror"

    NOT_JSON = "not_json"
    LINE_TOO_LONG = "line_too_long"
    CELL_COUNT = "cell_count"
    BAD_ENCODING = "bad_encoding"
    NOT_TEXT = "not_text"
    TEXT_TOO_LONG = "text_too_long"
    NO_SPLIT = "no_split"
    EMPTY_QUESTION = "empty_question"
    TOO_FEW_OPTIONS = "too_few_options"
    TOO_MANY_OPTIONS = "too_many_options"

    EMPTY_OPTION = "empty_option"
    ANSWER_MISSING = "answer_missing"
    ANSWER_OUT_OF_RANGE = "answer_out_of_range"
    ANSWER_IS_EMPTY_OPTION = "answer_is_empty_option"
    BLANK_LINE = "blank_line"


class FileRefused(Exception):
    """A whole file that is not used. What came of it before may not be used either."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason.value}: {detail}")
        self.reason = reason
        self.detail = detail


class RecordRefused(Exception):
    """Cuts one record short; becomes a Fault."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class Fault(NamedTuple):
    """A fault of one record. `row` counts from 1: a line of JSONL, a record of CSV (not its header) or Parquet."""

    row: int
    reason: Reason
    detail: str


class Wanted(Protocol):
    """The columns that a header was found to have for the parts that are looked for."""

    def names(self) -> list[str]:
        """Every column that is read."""


W = TypeVar("W", bound=Wanted)

Resolve = Callable[[Sequence[str]], W]
"""Names of a header -> the wanted columns; raises FileRefused. Picklable: a module's function or a partial of one."""


class Record(NamedTuple, Generic[W]):
    """One record: its values by column name, or what is wrong with it."""

    row: int
    values: Mapping[str, Any] | Fault
    wanted: W | None
    """None only beside a Fault."""


def read_tables(paths: Sequence[Path], resolve: Resolve[W]) -> Iterator[tuple[Path, Iterator[Record[W]]]]:
    """Every file in order with an iterator over its records, to be used up before the next file is asked for.

    The iterator raises FileRefused, also after some records: then nothing of the file may be used.
    """
    with TemporaryDirectory(prefix="otb-tables-") as folder:
        decoded = _decoded([path for path in paths if _is_parquet(path)], resolve, Path(folder))
        with closing(decoded):
            for path in paths:
                # Decoders and files keep step, whether or not the caller asks for this file's records.
                outcome = next(decoded) if _is_parquet(path) else None
                yield path, _records(path, outcome, resolve)
                if outcome is not None:
                    outcome.path.unlink(missing_ok=True)


def read_json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any] | Fault]]:
    """Every line of a JSONL file as (number from 1, object or what is wrong with it). Raises FileRefused."""
    with open_regular(path) as stream:
        yield from _json_lines(stream)


def open_regular(path: Path) -> BinaryIO:
    """A regular file within bounds. Looked at after it is open, so that it cannot be exchanged in between.

    Raises FileRefused for a link, anything that is no regular file, and more than MAX_FILE_BYTES.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise FileRefused(Reason.UNREADABLE, f"cannot be opened: {error.strerror}") from None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE_BYTES:
        os.close(handle)
        if not stat.S_ISREG(status.st_mode):
            raise FileRefused(Reason.NOT_REGULAR, "no regular file")
        raise FileRefused(Reason.TOO_LARGE, f"{status.st_size} bytes, more than the {MAX_FILE_BYTES} that are read")
    return os.fdopen(handle, "rb")


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


def _records(path: Path, decoded: _Decoded | None, resolve: Resolve[W]) -> Iterator[Record[W]]:
    if decoded is not None and decoded.reason is not None:
        raise FileRefused(decoded.reason, decoded.detail)
    with open_regular(path if decoded is None else decoded.path) as stream:
        yield from _read_csv(stream, resolve) if path.suffix.lower() == ".csv" else _read_jsonl(stream, resolve)


# ---- CSV and JSONL --------------------------------------------------------------------------------------------------


class _Lines:
    """Lines for csv.reader, the text of one record bounded: a quote that never closes must not take the memory."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text
        self.taken = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = self._text.readline(MAX_LINE_BYTES + 1)
        if not line:
            raise StopIteration
        self.taken += len(line)
        if self.taken > MAX_LINE_BYTES:
            raise csv.Error(f"one record has more than {MAX_LINE_BYTES} characters")
        return line


def _read_csv(stream: BinaryIO, resolve: Resolve[W]) -> Iterator[Record[W]]:
    """Strict about quotes: what stands behind a broken one cannot be told apart, so the whole file is refused.

    Bytes that are not UTF-8 become lone surrogates, so that they cost their own record alone and not the file.
    """
    if stream.read(2) in (b"\xff\xfe", b"\xfe\xff"):
        raise FileRefused(Reason.NOT_UTF8, "starts with a UTF-16 byte order mark")
    stream.seek(0)
    lines = _Lines(io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline=""))
    reader = csv.reader(lines, strict=True)
    number = 0
    try:
        header = next(reader, [])
        wanted = resolve(header)
        for cells in reader:
            lines.taken = 0
            if not cells:
                yield Record(number + 1, Fault(number + 1, Reason.BLANK_LINE, f"line {reader.line_num}"), wanted)
                continue
            number += 1
            if len(cells) == len(header):
                yield Record(number, dict(zip(header, cells, strict=True)), wanted)
            else:
                fault = Fault(number, Reason.CELL_COUNT, f"{len(cells)} cells, not {len(header)}")
                yield Record(number, fault, wanted)
    except csv.Error as error:
        raise FileRefused(Reason.CSV_BROKEN, f"line {reader.line_num} (record {number + 1}): {error}") from None


def _read_jsonl(stream: BinaryIO, resolve: Resolve[W]) -> Iterator[Record[W]]:
    """Lines are independent of one another: a bad one costs itself, also when it lacks a column."""
    keys: tuple[str, ...] | None = None
    wanted: W | None = None
    for number, found in _json_lines(stream):
        if isinstance(found, Fault):
            yield Record(number, found, wanted)
            continue
        try:
            if keys != (keys := tuple(found)):
                wanted = resolve(keys)
        except FileRefused as refused:
            keys = None
            yield Record(number, Fault(number, refused.reason, refused.detail), wanted)
            continue
        yield Record(number, found, wanted)


def _json_lines(stream: BinaryIO) -> Iterator[tuple[int, dict[str, Any] | Fault]]:
    number = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            _skip_line(stream, line)
            yield number, Fault(number, Reason.LINE_TOO_LONG, f"more than {MAX_LINE_BYTES} bytes")
            continue
        if not line.strip():
            yield number, Fault(number, Reason.BLANK_LINE, "")
            continue
        try:
            yield number, _json_object(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line)
        except RecordRefused as refused:
            yield number, Fault(number, refused.reason, refused.detail)


def _skip_line(stream: BinaryIO, line: bytes) -> None:
    while line and not line.endswith(b"\n"):
        line = stream.readline(MAX_LINE_BYTES)


def _json_object(line: bytes) -> dict[str, Any]:
    # NaN is let through, unlike in our own files: others write it for an empty cell, and it reads as one here.
    try:
        record = json.loads(line.decode(), object_pairs_hook=unique_keys)
    except UnicodeDecodeError as error:
        raise RecordRefused(Reason.BAD_ENCODING, f"not UTF-8 at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        raise RecordRefused(Reason.NOT_JSON, excerpt(str(error))) from None
    if not isinstance(record, dict):
        raise RecordRefused(Reason.NOT_JSON, f"no object: {excerpt(record)}")
    return record


# ---- Parquet --------------------------------------------------------------------------------------------------------


class _Decoded(NamedTuple):
    """Where the records of a Parquet file are, one JSON object a line, or why there are none."""

    path: Path
    reason: Reason | None
    detail: str


class _Decoding(NamedTuple):
    """One task of the decoding process."""

    source: Path
    resolve: Resolve[Any]
    target: Path


def _decoded(files: Sequence[Path], resolve: Resolve[Any], folder: Path) -> Generator[_Decoded, None, None]:
    """Parquet files decoded one after the other, each when it is asked for.

    Each in a process of its own with bounded memory and time: the format is read by a C++ library, a few bytes can
    stand for any amount of text, and what a file beyond the bound left allocated must not fail the next one. What comes
    back is plain lines, which the reader of JSONL bounds as it bounds others.
    """
    tasks = [_Decoding(path, resolve, folder / f"{number}.jsonl") for number, path in enumerate(files)]
    for task in tasks:
        yield from run_isolated(_decode, [task], _decoder_lost, processes=1, seconds=SECONDS_A_FILE)


def _decoder_lost(task: _Decoding, lost: Lost) -> _Decoded:
    return _Decoded(task.target, Reason.PARQUET_BROKEN, f"its decoder failed: {excerpt(lost.detail, 200)}")


def _decode(task: _Decoding) -> _Decoded:
    import pyarrow as pa

    try:
        with open_regular(task.source) as stream, task.target.open("xb") as out:
            written = 0
            for record in _parquet_records(stream, task.resolve):
                # A value of another type becomes an object, which whoever wants a text refuses.
                line = json.dumps(record, ensure_ascii=False, default=lambda value: {type(value).__name__: None})
                written += out.write(line.encode("utf-8", "surrogatepass") + b"\n")
                if written > MAX_FILE_BYTES:
                    raise FileRefused(Reason.TOO_LARGE, f"more than {MAX_FILE_BYTES} bytes of text")
    except FileRefused as refused:
        return _Decoded(task.target, refused.reason, refused.detail)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        return _Decoded(task.target, Reason.PARQUET_BROKEN, excerpt(str(error), 200))
    return _Decoded(task.target, None, "")


def _parquet_records(stream: BinaryIO, resolve: Resolve[Any]) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet as pq

    table = pq.ParquetFile(stream)
    wanted = resolve(table.schema_arrow.names)
    for batch in table.iter_batches(batch_size=1_000, columns=wanted.names(), use_threads=False):
        yield from batch.to_pylist()
