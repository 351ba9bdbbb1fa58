"""A foreign benchmark on disk: the files of a directory of splits, and their rows as questions with options and key.

What belongs here: which files there are, which split each belongs to, and what a row says, with every file and row that
cannot be used under a named reason. What does not: what rows mean together (duplicate_audit).
Everything here comes from outside: sizes are bounded, links are not followed, nothing outside the directory is opened.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import stat
import string
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, NamedTuple

from opentwbench.dataset.contract import MAX_TEXT, excerpt
from opentwbench.dataset.files import MAX_FILE_BYTES, MAX_LINE_BYTES, unique_keys
from opentwbench.dataset.manifest import WITHDRAWN_NAME
from opentwbench.exam.fingerprint import fold_exact
from opentwbench.exam.glyphs import map_private_use, unmapped
from opentwbench.exam.workers import Lost, run_isolated

FORMATS = (".csv", ".jsonl", ".parquet")
SIDECARS = (WITHDRAWN_NAME,)
"""Files of our own data-set folder that have a format of a split and hold no questions."""

MAX_FILES = 10_000
"""Files and folders of one directory of splits. TMMLU+ has 66 subjects in three or four files each."""

MAX_SPLIT_NAME = 100
MAX_OPTIONS = 26
_LETTERS = string.ascii_uppercase
_FULL_WIDTH = str.maketrans({chr(0xFEE0 + ord(c)): c for c in _LETTERS + _LETTERS.lower() + string.digits})


class Reason(StrEnum):
    """Why a file or a row is not compared as it stands. Closed; the groups below say what each one costs."""

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


SET_ASIDE = frozenset({Reason.OTHER_FORMAT, Reason.SIDECAR, Reason.MIRROR})
"""Files that hold nothing to compare: named in the report, and the audit is complete without them."""

NOTES = frozenset(
    {
        Reason.EMPTY_OPTION,
        Reason.ANSWER_MISSING,
        Reason.ANSWER_OUT_OF_RANGE,
        Reason.ANSWER_IS_EMPTY_OPTION,
        Reason.BLANK_LINE,
    }
)
"""Faults that leave a row in the comparison; without a usable answer it has no part in the comparison of keys."""


class AuditError(Exception):
    """A directory, a mapping of columns or a rule of splits that no audit can be made with."""


class FileRefused(Exception):
    """A whole file that is not compared."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason.value}: {detail}")
        self.reason = reason
        self.detail = detail


class _RowRefused(Exception):
    """Cuts one row short; becomes a Fault."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class AnswerForm(StrEnum):
    """How the answer column names the key."""

    LETTER = "letter"
    FROM_0 = "from-0"
    FROM_1 = "from-1"
    TEXT = "text"


class SplitFrom(StrEnum):
    """What names the split of a file: a split word in its name or folders, its whole name, or its first folder."""

    WORDS = "words"
    FILE = "file"
    FOLDER = "folder"


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """Where a row keeps its parts. A name that is not there as it stands is looked for without regard to case.

    No `options` means: the columns A, B, C and so on, as far as they go without a gap, or else one list named choices
    or options. No `answer`: there are no keys to compare. `split`: the column that names the split, '' for none.
    """

    question: str = "question"
    options: tuple[str, ...] = ()
    answer: str = "answer"
    answer_form: AnswerForm = AnswerForm.LETTER
    split: str = ""


@dataclass(frozen=True, slots=True)
class SplitRule:
    """How the split of a file is found: the first glob that fits its path below the directory, or else `source`."""

    source: SplitFrom = SplitFrom.WORDS
    globs: tuple[tuple[str, str], ...] = ()
    """(split, glob) pairs."""


class FoundFile(NamedTuple):
    """One entry below the directory. `name` is its path below it, printable, for reports only."""

    path: Path
    name: str


class Row(NamedTuple):
    """One question. `row` counts from 1: a line of JSONL, a record of CSV (the header apart) or Parquet."""

    row: int
    split: str
    """'' where the file names it."""
    question: str
    options: Mapping[str, str]
    """Letter -> text, empty ones left out."""
    letter: str
    """The key, one of `options`; '' when there is none to compare."""


class Fault(NamedTuple):
    """What is wrong with one row. A reason of NOTES leaves the row in; any other takes it out."""

    row: int
    reason: Reason
    detail: str


# ---- files ----------------------------------------------------------------------------------------------------------


def list_files(folder: Path) -> tuple[list[FoundFile], list[tuple[str, Reason, str]]]:
    """The files below `folder` in the order of their paths, and what is not read: (name, reason, detail).

    Raises AuditError when `folder` is no directory that can be listed or holds more than MAX_FILES entries.
    """
    found: list[FoundFile] = []
    aside: list[tuple[str, Reason, str]] = []
    waiting, seen = [folder], 0
    while waiting:
        here = waiting.pop()
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    seen += 1
                    if seen > MAX_FILES:
                        raise AuditError(f"more than {MAX_FILES} files and folders")
                    _sort_entry(folder, entry, waiting, found, aside)
        except OSError as error:
            if here == folder:
                raise AuditError(f"cannot be listed: {error.strerror}") from None
            aside.append((_shown(folder, here), Reason.UNREADABLE, f"cannot be listed: {error.strerror}"))
    return sorted(found, key=lambda file: file.name), sorted(aside)


def _sort_entry(
    folder: Path,
    entry: os.DirEntry[str],
    waiting: list[Path],
    found: list[FoundFile],
    aside: list[tuple[str, Reason, str]],
) -> None:
    path = Path(entry.path)
    name = _shown(folder, path)
    if entry.is_symlink():
        aside.append((name, Reason.SYMLINK, "links are not followed: it may lead outside"))
    elif entry.is_dir(follow_symlinks=False):
        waiting.append(path)
    elif path.suffix.lower() not in FORMATS:
        aside.append((name, Reason.OTHER_FORMAT, f"not one of {' '.join(FORMATS)}"))
    elif path.name in SIDECARS:
        aside.append((name, Reason.SIDECAR, "a list beside our own data sets, no questions"))
    elif not entry.is_file(follow_symlinks=False):
        aside.append((name, Reason.NOT_REGULAR, "no regular file"))
    else:
        found.append(FoundFile(path, name))


def _shown(folder: Path, path: Path) -> str:
    """A path below the directory that any file or terminal can hold."""
    name = os.fsencode(path.relative_to(folder).as_posix()).decode("utf-8", "backslashreplace")
    return name if name.isprintable() else name.encode("unicode_escape").decode("ascii")


_SPLIT_WORDS = {
    "train": "train",
    "training": "train",
    "val": "validation",
    "valid": "validation",
    "validation": "validation",
    "dev": "dev",
    "fewshot": "dev",
    "test": "test",
    "testing": "test",
}
_SHARD = re.compile(r"(?:[-_.]\d{1,5}(?:-of-\d{1,5})?)+$")


def split_of(name: str, rule: SplitRule) -> str:
    """The split of a file by its path below the directory.

    A split word counts as the first or last part of the file's name (law_dev, test-00000-of-00001) or as the name of
    a folder; a file without one is a split of its own name. Raises FileRefused when two words contradict each other.
    """
    for split, glob in rule.globs:
        if fnmatchcase(name, glob):
            return split
    *folders, file = name.split("/")
    base = _SHARD.sub("", file.rpartition(".")[0]) or file
    if rule.source is SplitFrom.FILE:
        return base[:MAX_SPLIT_NAME]
    if rule.source is SplitFrom.FOLDER:
        return folders[0][:MAX_SPLIT_NAME] if folders else base[:MAX_SPLIT_NAME]
    parts = re.split(r"[-_. ]+", base.casefold())
    named = {_SPLIT_WORDS[part] for part in (parts[0], parts[-1]) if part in _SPLIT_WORDS}
    named |= {_SPLIT_WORDS[part] for part in map(str.casefold, folders) if part in _SPLIT_WORDS}
    if len(named) > 1:
        raise FileRefused(Reason.SPLIT_AMBIGUOUS, f"its path says {' and '.join(sorted(named))}")
    return named.pop() if named else base[:MAX_SPLIT_NAME]


# ---- rows -----------------------------------------------------------------------------------------------------------


def read_files(files: Sequence[FoundFile], columns: ColumnMap) -> Iterator[tuple[FoundFile, Iterator[Row | Fault]]]:
    """Every file in order with an iterator over its rows, to be used up before the next file is asked for.

    Every row gives exactly one Row or one Fault that takes it out, and any notes before it. The iterator raises
    FileRefused, also after some rows: then nothing of the file may be used.
    """
    with TemporaryDirectory(prefix="otb-audit-") as folder:
        decoded = _decoded([file for file in files if _suffix(file) == ".parquet"], columns, Path(folder))
        with closing(decoded):
            for file in files:
                # Decoders and files keep step, whether or not the caller asks for this file's rows.
                outcome = next(decoded) if _suffix(file) == ".parquet" else None
                yield file, _rows(file, outcome, columns)
                if outcome is not None:
                    outcome.path.unlink(missing_ok=True)


def read_rows(file: FoundFile, columns: ColumnMap) -> Iterator[Row | Fault]:
    """The rows of one file, as in `read_files`."""
    for _, rows in read_files([file], columns):
        yield from rows


def _suffix(file: FoundFile) -> str:
    return file.path.suffix.lower()


def _rows(file: FoundFile, decoded: _Decoded | None, columns: ColumnMap) -> Iterator[Row | Fault]:
    if decoded is not None and decoded.reason is not None:
        raise FileRefused(decoded.reason, decoded.detail)
    with _open(file.path if decoded is None else decoded.path) as stream:
        records = _read_csv(stream, columns) if _suffix(file) == ".csv" else _read_jsonl(stream, columns)
        for number, record, wanted in records:
            if isinstance(record, Fault):
                yield record
                continue
            notes: list[Fault] = []
            try:
                row = _row(number, record, wanted, columns, notes)
            except _RowRefused as refused:
                yield Fault(number, refused.reason, refused.detail)
                continue
            yield from notes
            yield row


def _open(path: Path) -> BinaryIO:
    """A regular file within bounds. Looked at after it is open, so that it cannot be exchanged in between."""
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


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The column names of one header, resolved."""

    question: str
    options: tuple[str, ...]
    is_list: bool
    """True when the one option column holds a list."""
    answer: str
    split: str

    def names(self) -> list[str]:
        return [name for name in (self.question, *self.options, self.answer, self.split) if name]


_Record = tuple[int, Mapping[str, Any] | Fault, _Wanted]


def _resolve(names: Sequence[str], columns: ColumnMap) -> _Wanted:
    """The names of a header that the mapping means; raises FileRefused for a missing or repeated one."""
    options, is_list = _resolve_options(names, columns)
    return _Wanted(
        question=_require(names, columns.question),
        options=options,
        is_list=is_list,
        answer=_require(names, columns.answer) if columns.answer else "",
        split=_require(names, columns.split) if columns.split else "",
    )


def _resolve_options(names: Sequence[str], columns: ColumnMap) -> tuple[tuple[str, ...], bool]:
    if columns.options:
        return tuple(_require(names, name) for name in columns.options), len(columns.options) == 1
    found: list[str] = []
    for letter in _LETTERS:
        name = _find(names, letter)
        if name is None:
            break
        found.append(name)
    if len(found) > 1:
        return tuple(found), False
    for name in ("choices", "options"):
        if (one := _find(names, name)) is not None:
            return (one,), True
    raise FileRefused(Reason.MISSING_COLUMN, f"no columns A, B ... and no list of choices; {_there(names)}")


def _require(names: Sequence[str], wanted: str) -> str:
    name = _find(names, wanted)
    if name is None:
        raise FileRefused(Reason.MISSING_COLUMN, f"no column {excerpt(wanted)}; {_there(names)}")
    return name


def _find(names: Sequence[str], wanted: str) -> str | None:
    alike = [name for name in names if name == wanted]
    alike = alike or [name for name in names if name.strip().casefold() == wanted.casefold()]
    if len(alike) > 1:
        raise FileRefused(Reason.REPEATED_COLUMN, f"{len(alike)} columns are named {excerpt(wanted)}")
    return alike[0] if alike else None


def _there(names: Sequence[str]) -> str:
    return f"there are {excerpt(list(names[:20]), 200)}"


def _row(number: int, record: Mapping[str, Any], wanted: _Wanted, columns: ColumnMap, notes: list[Fault]) -> Row:
    """What a record says. Appends what is wrong and leaves it in to `notes`; raises _RowRefused for the rest."""
    question = _text(record[wanted.question], wanted.question)
    if not any(map(str.isalnum, question)):  # marks alone (a blank of a cloze) name no question
        raise _RowRefused(Reason.EMPTY_QUESTION, "no letter or digit in its question")
    every = {_LETTERS[place]: text for place, text in enumerate(_option_texts(record, wanted))}
    options = {letter: text for letter, text in every.items() if text.strip()}
    if len(options) < 2:
        raise _RowRefused(Reason.TOO_FEW_OPTIONS, f"{len(options)} of {len(every)} options have text")
    try:
        "".join((question, *options.values())).encode()
    except UnicodeEncodeError as error:
        raise _RowRefused(Reason.BAD_ENCODING, f"not UTF-8 near {excerpt(error.object[: error.start][-20:])}") from None
    split = _split(record, wanted)
    if len(options) < len(every):
        notes.append(Fault(number, Reason.EMPTY_OPTION, "".join(letter for letter in every if letter not in options)))
    letter = _letter(number, record, every, wanted, columns.answer_form, notes) if wanted.answer else ""
    return Row(number, split, question, options, letter)


def _option_texts(record: Mapping[str, Any], wanted: _Wanted) -> list[str]:
    values = [record[name] for name in wanted.options]
    if wanted.is_list:
        if not isinstance(values[0], list):
            raise _RowRefused(Reason.NOT_TEXT, f"{excerpt(wanted.options[0])} is no list: {excerpt(values[0])}")
        values = values[0]
    if len(values) > MAX_OPTIONS:
        raise _RowRefused(Reason.TOO_MANY_OPTIONS, f"{len(values)} options, more than {MAX_OPTIONS}")
    return [_text(value, "option") for value in values]


def _text(value: object, name: str) -> str:
    """A cell as text; null and NaN are no text. Private-use glyphs read as in our own papers, so that both compare."""
    if isinstance(value, str):
        text = value
    elif value is None or value != value:
        return ""
    elif isinstance(value, (int, float)):
        text = str(value)
    else:
        raise _RowRefused(Reason.NOT_TEXT, f"{excerpt(name)}: {excerpt(value)}")
    if len(text) > MAX_TEXT:
        raise _RowRefused(Reason.TEXT_TOO_LONG, f"{excerpt(name)}: {len(text)} characters, more than {MAX_TEXT}")
    return map_private_use(text) if unmapped(text) else text


def _split(record: Mapping[str, Any], wanted: _Wanted) -> str:
    if not wanted.split:
        return ""
    text = _text(record[wanted.split], wanted.split).strip()
    if not text or len(text) > MAX_SPLIT_NAME or not text.isprintable():
        raise _RowRefused(Reason.NO_SPLIT, f"{excerpt(wanted.split)}: {excerpt(text)}")
    return _SPLIT_WORDS.get(text.casefold(), text)


def _letter(
    number: int,
    record: Mapping[str, Any],
    every: Mapping[str, str],
    wanted: _Wanted,
    form: AnswerForm,
    notes: list[Fault],
) -> str:
    """The letter of the key; '' with a note when it names no option that has text."""
    value = record[wanted.answer]
    text = _text(value, wanted.answer).strip()
    if not text:
        notes.append(Fault(number, Reason.ANSWER_MISSING, ""))
        return ""
    letter = _letter_of(text, every, form)
    if letter not in every:
        notes.append(Fault(number, Reason.ANSWER_OUT_OF_RANGE, f"{excerpt(value)} of {''.join(every)}"))
        return ""
    if not every[letter].strip():
        notes.append(Fault(number, Reason.ANSWER_IS_EMPTY_OPTION, letter))
        return ""
    return letter


def _letter_of(text: str, every: Mapping[str, str], form: AnswerForm) -> str:
    if form is AnswerForm.LETTER:
        return text.translate(_FULL_WIDTH).upper()
    if form is AnswerForm.TEXT:
        folded = fold_exact(text)
        return next((letter for letter, option in every.items() if fold_exact(option) == folded), "")
    digits = text.translate(_FULL_WIDTH)
    if not re.fullmatch(r"[0-9]{1,3}", digits):
        return ""
    place = int(digits) - (form is AnswerForm.FROM_1)
    return _LETTERS[place] if 0 <= place < len(every) else ""


# ---- formats --------------------------------------------------------------------------------------------------------


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


def _read_csv(stream: BinaryIO, columns: ColumnMap) -> Iterator[_Record]:
    """Strict about quotes: what stands behind a broken one cannot be told apart, so the whole file is refused.

    Bytes that are not UTF-8 become lone surrogates, so that they cost their own row alone and not the file.
    """
    if stream.read(2) in (b"\xff\xfe", b"\xfe\xff"):
        raise FileRefused(Reason.NOT_UTF8, "starts with a UTF-16 byte order mark")
    stream.seek(0)
    lines = _Lines(io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline=""))
    reader = csv.reader(lines, strict=True)
    number = 0
    try:
        header = next(reader, [])
        wanted = _resolve(header, columns)
        for cells in reader:
            lines.taken = 0
            if not cells:
                yield number + 1, Fault(number + 1, Reason.BLANK_LINE, f"line {reader.line_num}"), wanted
                continue
            number += 1
            if len(cells) == len(header):
                yield number, dict(zip(header, cells, strict=True)), wanted
            else:
                yield number, Fault(number, Reason.CELL_COUNT, f"{len(cells)} cells, not {len(header)}"), wanted
    except csv.Error as error:
        raise FileRefused(Reason.CSV_BROKEN, f"line {reader.line_num} (record {number + 1}): {error}") from None


_NOTHING = _Wanted("", (), False, "", "")


def _read_jsonl(stream: BinaryIO, columns: ColumnMap) -> Iterator[_Record]:
    """Lines are independent of one another: a bad one costs itself."""
    keys: tuple[str, ...] | None = None
    wanted = _NOTHING
    number = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            _skip_line(stream, line)
            yield number, Fault(number, Reason.LINE_TOO_LONG, f"more than {MAX_LINE_BYTES} bytes"), wanted
            continue
        if not line.strip():
            yield number, Fault(number, Reason.BLANK_LINE, ""), wanted
            continue
        try:
            record = _json_object(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line)
            if keys != (keys := tuple(record)):
                wanted = _resolve(keys, columns)
        except (_RowRefused, FileRefused) as refused:
            keys = None
            yield number, Fault(number, refused.reason, refused.detail), wanted
            continue
        yield number, record, wanted


def _skip_line(stream: BinaryIO, line: bytes) -> None:
    while line and not line.endswith(b"\n"):
        line = stream.readline(MAX_LINE_BYTES)


def _json_object(line: bytes) -> dict[str, Any]:
    # NaN is let through, unlike in our own files: others write it for an empty cell, and it reads as one here.
    try:
        record = json.loads(line.decode(), object_pairs_hook=unique_keys)
    except UnicodeDecodeError as error:
        raise _RowRefused(Reason.BAD_ENCODING, f"not UTF-8 at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        raise _RowRefused(Reason.NOT_JSON, excerpt(str(error))) from None
    if not isinstance(record, dict):
        raise _RowRefused(Reason.NOT_JSON, f"no object: {excerpt(record)}")
    return record


# ---- Parquet --------------------------------------------------------------------------------------------------------

SECONDS_A_FILE = 600.0
"""Longest decoding of one Parquet file; the 250,000 rows of the measurement take about three seconds."""


class _Decoded(NamedTuple):
    """Where the records of a Parquet file are, one JSON object a line, or why there are none."""

    path: Path
    reason: Reason | None
    detail: str


class _Decoding(NamedTuple):
    """One task of the decoding process."""

    source: Path
    columns: ColumnMap
    target: Path


def _decoded(files: Sequence[FoundFile], columns: ColumnMap, folder: Path) -> Generator[_Decoded, None, None]:
    """Parquet files decoded one after the other, each when it is asked for.

    Each in a process of its own with bounded memory and time: the format is read by a C++ library, a few bytes can
    stand for any amount of text, and what a file beyond the bound left allocated must not fail the next one. What comes
    back is plain lines, which the reader of JSONL bounds as it bounds others.
    """
    tasks = [_Decoding(file.path, columns, folder / f"{number}.jsonl") for number, file in enumerate(files)]
    for task in tasks:
        yield from run_isolated(_decode, [task], _decoder_lost, processes=1, seconds=SECONDS_A_FILE)


def _decoder_lost(task: _Decoding, lost: Lost) -> _Decoded:
    return _Decoded(task.target, Reason.PARQUET_BROKEN, f"its decoder failed: {excerpt(lost.detail, 200)}")


def _decode(task: _Decoding) -> _Decoded:
    import pyarrow as pa

    try:
        with _open(task.source) as stream, task.target.open("xb") as out:
            written = 0
            for record in _parquet_records(stream, task.columns):
                # A value of another type becomes an object, which the reader refuses as no text.
                line = json.dumps(record, ensure_ascii=False, default=lambda value: {type(value).__name__: None})
                written += out.write(line.encode("utf-8", "surrogatepass") + b"\n")
                if written > MAX_FILE_BYTES:
                    raise FileRefused(Reason.TOO_LARGE, f"more than {MAX_FILE_BYTES} bytes of text")
    except FileRefused as refused:
        return _Decoded(task.target, refused.reason, refused.detail)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        return _Decoded(task.target, Reason.PARQUET_BROKEN, excerpt(str(error), 200))
    return _Decoded(task.target, None, "")


def _parquet_records(stream: BinaryIO, columns: ColumnMap) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet as pq

    table = pq.ParquetFile(stream)
    wanted = _resolve(table.schema_arrow.names, columns)
    for batch in table.iter_batches(batch_size=1_000, columns=wanted.names(), use_threads=False):
        yield from batch.to_pylist()
