"""A foreign benchmark on disk: the files of a directory of splits, and their rows as questions with options and key.

What belongs here: which files there are, which split each belongs to, and what a row says, with every file and row that
cannot be used under a named reason. What does not: what rows mean together (duplicate_audit).
Everything here comes from outside: sizes are bounded, links are not followed, nothing outside the directory is opened.
"""

from __future__ import annotations

import os
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from opentwbench.dataset.contract import MAX_TEXT, excerpt
from opentwbench.dataset.manifest import WITHDRAWN_NAME
from opentwbench.exam.fingerprint import fold_exact
from opentwbench.exam.glyphs import map_private_use, unmapped
from opentwbench.exam.tabular_files import (
    FORMATS,
    Fault,
    FileRefused,
    Reason,
    Record,
    RecordRefused,
    read_tables,
)

SIDECARS = (WITHDRAWN_NAME,)
"""Files of our own data-set folder that have a format of a split and hold no questions."""

MAX_FILES = 10_000
"""Files and folders of one directory of splits. TMMLU+ has 66 subjects in three or four files each."""

MAX_SPLIT_NAME = 100
MAX_OPTIONS = 26
_LETTERS = string.ascii_uppercase
_FULL_WIDTH = str.maketrans({chr(0xFEE0 + ord(c)): c for c in _LETTERS + _LETTERS.lower() + string.digits})


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
    named = {file.path: file for file in files}
    for path, records in read_tables([file.path for file in files], partial(_resolve, columns=columns)):
        yield named[path], _rows(records, columns)


def read_rows(file: FoundFile, columns: ColumnMap) -> Iterator[Row | Fault]:
    """The rows of one file, as in `read_files`."""
    for _, rows in read_files([file], columns):
        yield from rows


def _rows(records: Iterator[Record[_Wanted]], columns: ColumnMap) -> Iterator[Row | Fault]:
    for number, record, wanted in records:
        if isinstance(record, Fault):
            yield record
            continue
        assert wanted is not None  # every record that is no fault was read under a header
        notes: list[Fault] = []
        try:
            row = _row(number, record, wanted, columns, notes)
        except RecordRefused as refused:
            yield Fault(number, refused.reason, refused.detail)
            continue
        yield from notes
        yield row


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
    """What a record says. Appends what is wrong and leaves it in to `notes`; raises RecordRefused for the rest."""
    question = _text(record[wanted.question], wanted.question)
    _demand_utf8(question)
    if not any(map(str.isalnum, question)):  # marks alone (a blank of a cloze) name no question
        raise RecordRefused(Reason.EMPTY_QUESTION, "no letter or digit in its question")
    every = {_LETTERS[place]: text for place, text in enumerate(_option_texts(record, wanted))}
    options = {letter: text for letter, text in every.items() if text.strip()}
    if len(options) < 2:
        raise RecordRefused(Reason.TOO_FEW_OPTIONS, f"{len(options)} of {len(every)} options have text")
    _demand_utf8("".join(options.values()))
    split = _split(record, wanted)
    if len(options) < len(every):
        notes.append(Fault(number, Reason.EMPTY_OPTION, "".join(letter for letter in every if letter not in options)))
    letter = _letter(number, record, every, wanted, columns.answer_form, notes) if wanted.answer else ""
    return Row(number, split, question, options, letter)


def _demand_utf8(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RecordRefused(
            Reason.BAD_ENCODING, f"not UTF-8 near {excerpt(error.object[: error.start][-20:])}"
        ) from None


def _option_texts(record: Mapping[str, Any], wanted: _Wanted) -> list[str]:
    values = [record[name] for name in wanted.options]
    if wanted.is_list:
        if not isinstance(values[0], list):
            raise RecordRefused(Reason.NOT_TEXT, f"{excerpt(wanted.options[0])} is no list: {excerpt(values[0])}")
        values = values[0]
    if len(values) > MAX_OPTIONS:
        raise RecordRefused(Reason.TOO_MANY_OPTIONS, f"{len(values)} options, more than {MAX_OPTIONS}")
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
        raise RecordRefused(Reason.NOT_TEXT, f"{excerpt(name)}: {excerpt(value)}")
    if len(text) > MAX_TEXT:
        raise RecordRefused(Reason.TEXT_TOO_LONG, f"{excerpt(name)}: {len(text)} characters, more than {MAX_TEXT}")
    return map_private_use(text) if unmapped(text) else text


def _split(record: Mapping[str, Any], wanted: _Wanted) -> str:
    if not wanted.split:
        return ""
    text = _text(record[wanted.split], wanted.split).strip()
    if not text or len(text) > MAX_SPLIT_NAME or not text.isprintable():
        raise RecordRefused(Reason.NO_SPLIT, f"{excerpt(wanted.split)}: {excerpt(text)}")
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
