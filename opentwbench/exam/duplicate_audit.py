"""The duplicate audit over any benchmark in a directory of splits: the same question twice, with which keys, and where.

What belongs here: grouping of rows, the comparison of keys by letter and by text, figures and exact lists.
What does not: what a file or a row says (split_files), how a text is folded (fingerprint), printing.
Source: the paper, section 3.2, and section 2 for the audit of TMMLU+: order-insensitive matching, keys compared by
answer text because the order of options differs across appearances, groups across splits, test items in other splits.
Memory: about 70 bytes a row while files are read, no text is kept; a row is read and folded once.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from opentwbench.exam.dedupe import folded_answer
from opentwbench.exam.fingerprint import exact, fold_loose, loose, of_folded, short_digest
from opentwbench.exam.split_files import (
    NOTES,
    SET_ASIDE,
    AuditError,
    ColumnMap,
    FoundFile,
    Row,
    SplitRule,
    list_files,
    read_files,
    split_of,
)
from opentwbench.exam.tabular_files import Fault, FileRefused, Reason

MAX_ROWS = 4_000_000
"""Rows of one audit: 1.6 GB when the lists are made (docs/audit.md). The largest release has 255,854 rows."""

MAX_SPLITS = 1_000
"""Splits of one audit: 148 subjects that each name their own stay far below."""

MAX_DETAILS = 1_000
"""Faults of one reason that keep their detail; every further one is still counted and listed by file and row."""

MAX_DISAGREEMENTS, MAX_MEMBERS = 100, 20
"""Groups with different answer texts, and rows of each, whose words are read again; all are listed by file and row."""

PROGRESS_ROWS = 1_000
"""Rows between two calls of `progress`."""

COLUMNS, BY_WORDS = ColumnMap(), SplitRule()

FALSE, TRUE, HIDDEN = "false", "true", "hidden"
"""Verdicts on a group's keys: letters differ and texts agree; both differ; texts differ behind one letter."""

_HEX = 32  # 128 bits of a fingerprint: no two texts of any benchmark share them
_MASK = (1 << 64) - 1
_KEY = ("loose_high", "loose_low")
_PLACE = ("file", "row")


@dataclass(frozen=True, slots=True)
class AuditedFile:
    """One file of the directory and what became of it."""

    name: str
    split: str
    """'' when it was not compared, or a column names the split of each row."""
    rows: int
    """Rows read, those left out included; 0 when it was not compared."""
    reason: Reason | None = None
    """Why it was not compared, None when it was."""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """One row of a disagreement with the words that disagree."""

    file: str
    row: int
    split: str
    letter: str
    answer: str


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A duplicate group whose rows have different answers by text."""

    group: str
    verdict: str
    question: str
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class SplitFigures:
    """One split: its rows, those in duplicate groups, and the test items that were found in it."""

    rows: int
    duplicated: int
    test_items: int
    """0 for a test split itself."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of an audit. `rows` = `compared` + the sum of `left_out`; every group figure counts groups."""

    rows: int
    compared: int
    left_out: Mapping[str, int]
    """Reason -> rows that are not compared."""
    notes: Mapping[str, int]
    """Reason -> rows that are compared and have a fault."""
    groups: int
    """Duplicate groups: two or more rows with one loose fingerprint."""
    duplicated: int
    """Rows in duplicate groups."""
    verbatim_groups: int
    """Groups whose rows are all one text, white space and order of options apart."""
    keyed_groups: int
    """Groups with two or more usable keys: what the conflicts are counted over."""
    conflicts_by_letter: int
    conflicts_by_text: int
    false_conflicts: int
    """Letters differ, answer texts agree."""
    true_conflicts: int
    """Letters and answer texts differ."""
    hidden_conflicts: int
    """Answer texts differ behind one letter, because the order of options does."""
    across_splits: int
    same_stem_stems: int
    """Stems that two or more questions share, their options apart."""
    same_stem_rows: int
    test_splits: tuple[str, ...]
    test_items: int
    leaked: int
    """Test items that have a duplicate in a non-test split."""
    leaked_verbatim: int
    """Those that stand there in the same words."""
    splits: Mapping[str, SplitFigures]


@dataclass(frozen=True, slots=True)
class Lists:
    """The exact rows behind the figures, each a frame in order of file and row; `group` is the loose fingerprint."""

    groups: pl.DataFrame
    """group, size, file, row, split, letter: every row of every duplicate group."""
    conflicts: pl.DataFrame
    """group, verdict, file, row, split, letter, answer (16 hex digits of the answer text): by letter or by text."""
    leaks: pl.DataFrame
    """group, file, row, split, found_in, other_file, other_row, verbatim: every leaked test item and its first copy."""
    same_stem: pl.DataFrame
    """stem, group, file, row, split: every row whose stem has other options elsewhere."""
    faults: pl.DataFrame
    """file, row, reason, detail: every row that was left out or has a fault."""

    def named(self) -> dict[str, pl.DataFrame]:
        """Name -> frame."""
        return {
            "groups": self.groups,
            "conflicts": self.conflicts,
            "leaks": self.leaks,
            "same_stem": self.same_stem,
            "faults": self.faults,
        }


@dataclass(frozen=True, slots=True)
class Audit:
    """The outcome over one directory."""

    figures: Figures
    files: tuple[AuditedFile, ...]
    lists: Lists
    disagreements: tuple[Disagreement, ...]

    @property
    def complete(self) -> bool:
        """True when every file that may hold questions and every row of it was compared."""
        files = all(file.reason is None or file.reason in SET_ASIDE for file in self.files)
        return files and not self.figures.left_out

    def to_json(self) -> dict[str, Any]:
        """Figures, files and disagreements; the lists are files of their own."""
        figures = self.figures
        return {
            "complete": self.complete,
            "figures": {
                **{name: getattr(figures, name) for name in _COUNTS},
                "left_out": dict(figures.left_out),
                "notes": dict(figures.notes),
                "test_splits": list(figures.test_splits),
            },
            "splits": {
                name: {"rows": each.rows, "duplicated": each.duplicated, "test_items": each.test_items}
                for name, each in figures.splits.items()
            },
            "files": [
                {
                    "file": each.name,
                    "split": each.split,
                    "rows": each.rows,
                    "reason": each.reason.value if each.reason else None,
                    "detail": each.detail,
                }
                for each in self.files
            ],
            "disagreements": [_disagreement_json(each) for each in self.disagreements],
        }


_COUNTS = (
    "rows",
    "compared",
    "groups",
    "duplicated",
    "verbatim_groups",
    "keyed_groups",
    "conflicts_by_letter",
    "conflicts_by_text",
    "false_conflicts",
    "true_conflicts",
    "hidden_conflicts",
    "across_splits",
    "same_stem_stems",
    "same_stem_rows",
    "test_items",
    "leaked",
    "leaked_verbatim",
)


def _disagreement_json(each: Disagreement) -> dict[str, Any]:
    members = [
        {"file": m.file, "row": m.row, "split": m.split, "letter": m.letter, "answer": m.answer} for m in each.members
    ]
    return {"group": each.group, "verdict": each.verdict, "question": each.question, "members": members}


def audit_folder(
    folder: Path,
    columns: ColumnMap = COLUMNS,
    rule: SplitRule = BY_WORDS,
    test_splits: Sequence[str] = ("test",),
    progress: Callable[[int], None] = lambda rows: None,
) -> Audit:
    """Audit every CSV, JSONL and Parquet file below `folder`; `progress` gets the rows read so far.

    A file or row that cannot be used is counted under its reason and listed. Raises AuditError when there is no file to
    audit or the directory cannot be listed.
    """
    found, aside = list_files(folder)
    if not found:
        raise AuditError(f"no .csv, .jsonl or .parquet file in it ({len(aside)} other entries)")
    reading = _Reading(columns, rule, progress)
    for file, rows in read_files(found, columns):
        reading.read(file, rows)
    files = [AuditedFile(name, "", 0, reason, detail) for name, reason, detail in aside] + reading.files
    frame = reading.store.frame(reading.splits, test_splits)
    groups = _groups(frame)
    figures = _figures(frame, groups, reading, tuple(test_splits))
    lists = _lists(frame, groups, reading)
    paths = {each.name: each for each in found}
    return Audit(
        figures,
        tuple(sorted(files, key=lambda each: each.name)),
        lists,
        _disagreements(lists.conflicts, paths, columns),
    )


# ---- reading --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Store:
    """One number a row and column: no text is kept."""

    file: array[int] = field(default_factory=lambda: array("I"))
    row: array[int] = field(default_factory=lambda: array("I"))
    split: array[int] = field(default_factory=lambda: array("I"))
    letter: array[int] = field(default_factory=lambda: array("B"))
    """Place of the key's letter from 1 on, 0 for none."""
    answer: array[int] = field(default_factory=lambda: array("Q"))
    """64 bits of the answer text's digest: compared inside one group only. 0 for none."""
    loose_high: array[int] = field(default_factory=lambda: array("Q"))
    loose_low: array[int] = field(default_factory=lambda: array("Q"))
    exact_high: array[int] = field(default_factory=lambda: array("Q"))
    exact_low: array[int] = field(default_factory=lambda: array("Q"))
    stem: array[int] = field(default_factory=lambda: array("Q"))

    def add(self, file: int, split: int, row: Row) -> None:
        """Fold one row and keep its digests."""
        texts = list(row.options.values())
        folded = [fold_loose(text) for text in texts]
        stem = fold_loose(row.question)
        alike, verbatim = int(of_folded(stem, folded)[:_HEX], 16), int(exact(row.question, row.options)[:_HEX], 16)
        self.file.append(file)
        self.row.append(row.row)
        self.split.append(split)
        self.letter.append(ord(row.letter) - ord("A") + 1 if row.letter else 0)
        self.answer.append(_answer(row, folded))
        self.loose_high.append(alike >> 64)
        self.loose_low.append(alike & _MASK)
        self.exact_high.append(verbatim >> 64)
        self.exact_low.append(verbatim & _MASK)
        self.stem.append(short_digest(stem))

    def __len__(self) -> int:
        return len(self.row)

    def _arrays(self) -> list[array[int]]:
        return [getattr(self, name) for name in self.__slots__]

    def cut(self, start: int) -> None:
        """Forget every row from `start` on."""
        for each in self._arrays():
            del each[start:]

    def same(self, one: slice, other: slice) -> bool:
        """True when two runs of rows hold the same questions with the same keys in the same order."""
        compared = (self.split, self.letter, self.exact_high, self.exact_low)
        return all(each[one] == each[other] for each in compared)

    def frame(self, splits: Sequence[str], test_splits: Sequence[str]) -> pl.DataFrame:
        """The columns as a frame, and whether a row is a test item."""
        test = [place for place, split in enumerate(splits) if split in test_splits]
        frame = pl.DataFrame({name: pl.Series(getattr(self, name), dtype=_TYPES[name]) for name in self.__slots__})
        return frame.with_columns(test=pl.col("split").is_in(test))


_TYPES: dict[str, type[pl.DataType]] = {
    "file": pl.UInt32,
    "row": pl.UInt32,
    "split": pl.UInt32,
    "letter": pl.UInt8,
    "answer": pl.UInt64,
    "loose_high": pl.UInt64,
    "loose_low": pl.UInt64,
    "exact_high": pl.UInt64,
    "exact_low": pl.UInt64,
    "stem": pl.UInt64,
}


def _answer(row: Row, folded: Sequence[str]) -> int:
    """The key's text as a number, folded as our own answers are; 0 without a key."""
    return (short_digest(folded_answer(row.options, row.letter, folded)) or 1) if row.letter else 0


class _Faults:
    """Every fault by file, row and reason, with the detail of the first MAX_DETAILS of each reason."""

    _REASONS = tuple(Reason)

    def __init__(self) -> None:
        self._file, self._row, self._reason = array("I"), array("I"), array("B")
        self._details: dict[int, str] = {}
        self.counts: Counter[Reason] = Counter()

    def __len__(self) -> int:
        return len(self._row)

    def add(self, file: int, fault: Fault) -> None:
        if self.counts[fault.reason] < MAX_DETAILS:
            self._details[len(self._row)] = fault.detail
        self.counts[fault.reason] += 1
        self._file.append(file)
        self._row.append(fault.row)
        self._reason.append(self._REASONS.index(fault.reason))

    def cut(self, start: int) -> None:
        """Forget every fault from `start` on."""
        self.counts -= Counter(self._REASONS[place] for place in self._reason[start:])
        self._details = {place: detail for place, detail in self._details.items() if place < start}
        for each in (self._file, self._row, self._reason):
            del each[start:]

    def frame(self, names: Sequence[str]) -> pl.DataFrame:
        columns = {
            "file": [names[file] for file in self._file],
            "row": list(self._row),
            "reason": [self._REASONS[place].value for place in self._reason],
            "detail": [self._details.get(place, "") for place in range(len(self))],
        }
        return pl.DataFrame(
            columns, schema={"file": pl.String, "row": pl.UInt32, "reason": pl.String, "detail": pl.String}
        )


class _Reading:
    """Files become rows of the store. A file that is refused, or mirrors another, leaves nothing behind."""

    def __init__(self, columns: ColumnMap, rule: SplitRule, progress: Callable[[int], None]) -> None:
        self._columns, self._rule, self._progress = columns, rule, progress
        self.store, self.faults = _Store(), _Faults()
        self.files: list[AuditedFile] = []
        self.names: list[str] = []
        self.splits: list[str] = []
        self.rows = 0
        self._numbers: dict[str, int] = {}
        self._runs: dict[str, list[tuple[str, slice, int]]] = {}
        """Path without its format -> (name, run of rows, rows read) of every file that was compared."""

    def read(self, file: FoundFile, rows: Iterable[Row | Fault]) -> None:
        """Read one file into the store, or record why not."""
        start, start_faults, start_rows = len(self.store), len(self.faults), self.rows
        split = ""
        try:
            if file.name in self.names[-1:]:  # names are sorted; escaping can make two alike
                raise FileRefused(Reason.UNREADABLE, "its name cannot be told from another's")
            self.names.append(file.name)
            split = "" if self._columns.split else split_of(file.name, self._rule)
            self._take(rows, split)
            self._refuse_mirror(file, slice(start, len(self.store)), self.rows - start_rows)
        except FileRefused as refused:
            self.store.cut(start)
            self.faults.cut(start_faults)
            self.rows = start_rows
            self.files.append(AuditedFile(file.name, "", 0, refused.reason, refused.detail))
            return
        self.files.append(AuditedFile(file.name, split, self.rows - start_rows))

    def _take(self, rows: Iterable[Row | Fault], split: str) -> None:
        number = len(self.names) - 1
        for found in rows:
            if isinstance(found, Fault):
                self.faults.add(number, found)
                self.rows += found.reason not in NOTES
            else:
                self.store.add(number, self._split(split or found.split), found)
                self.rows += 1
            if self.rows > MAX_ROWS or len(self.faults) > 2 * MAX_ROWS:
                raise FileRefused(Reason.TOO_MANY_ROWS, f"an audit holds {MAX_ROWS} rows; audit fewer files at once")
            if self.rows % PROGRESS_ROWS == 0:
                self._progress(self.rows)

    def _split(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is None:
            if len(self.splits) >= MAX_SPLITS:
                raise FileRefused(Reason.NO_SPLIT, f"more than {MAX_SPLITS} splits; is this the right column?")
            number = self._numbers[name] = len(self.splits)
            self.splits.append(name)
        return number

    def _refuse_mirror(self, file: FoundFile, run: slice, rows: int) -> None:
        """Our own folders, and others, hold one table in several formats: the same rows are no duplicates of it."""
        base = file.name.rpartition(".")[0]
        for name, other, other_rows in self._runs.get(base, ()):
            if rows == other_rows and run.stop > run.start and self.store.same(run, other):
                raise FileRefused(Reason.MIRROR, f"holds the rows of {name} in the same order")
        self._runs.setdefault(base, []).append((file.name, run, rows))


# ---- figures --------------------------------------------------------------------------------------------------------


def _groups(frame: pl.DataFrame) -> pl.DataFrame:
    """Every duplicate group with what its rows say together, in order of its first row."""
    several = frame.group_by(_KEY, maintain_order=True).agg(pl.len().alias("size")).filter(pl.col("size") > 1)
    members = frame.join(several, on=_KEY, how="semi", maintain_order="left")
    keyed = pl.col("letter") > 0
    groups = members.group_by(_KEY, maintain_order=True).agg(
        pl.len().alias("size"),
        keyed.sum().alias("keyed"),
        pl.col("letter").filter(keyed).n_unique().alias("letters"),
        pl.col("answer").filter(keyed).n_unique().alias("answers"),
        pl.col("split").n_unique().alias("splits"),
        pl.struct("exact_high", "exact_low").n_unique().alias("texts"),
        pl.col("test").any().alias("in_test"),
        (~pl.col("test")).any().alias("in_other"),
    )
    letters, answers = pl.col("letters") > 1, pl.col("answers") > 1
    verdict = (
        pl.when(letters & answers)
        .then(pl.lit(TRUE))
        .when(letters)
        .then(pl.lit(FALSE))
        .when(answers)
        .then(pl.lit(HIDDEN))
        .otherwise(pl.lit(""))
    )
    return groups.with_columns(verdict=verdict)


def _leaked(frame: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """The test items with a copy in a non-test split, and whether a copy there has the same words."""
    both = groups.filter(pl.col("in_test") & pl.col("in_other"))
    leaked = frame.filter("test").join(both, on=_KEY, how="semi", maintain_order="left")
    words = frame.filter(~pl.col("test")).select("exact_high", "exact_low").unique().with_columns(verbatim=True)
    leaked = leaked.join(words, on=("exact_high", "exact_low"), how="left", maintain_order="left")
    return leaked.with_columns(pl.col("verbatim").fill_null(False))


def _same_stem(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows whose stem stands elsewhere with other options."""
    shared = frame.select("stem", *_KEY).unique().group_by("stem").len().filter(pl.col("len") > 1)
    return frame.join(shared, on="stem", how="semi", maintain_order="left")


def _figures(frame: pl.DataFrame, groups: pl.DataFrame, reading: _Reading, test_splits: tuple[str, ...]) -> Figures:
    verdicts = Counter(groups["verdict"].to_list())
    leaked, stems = _leaked(frame, groups), _same_stem(frame)
    counts = reading.faults.counts
    return Figures(
        rows=reading.rows,
        compared=frame.height,
        left_out={reason.value: counts[reason] for reason in Reason if counts[reason] and reason not in NOTES},
        notes={reason.value: counts[reason] for reason in Reason if counts[reason] and reason in NOTES},
        groups=groups.height,
        duplicated=int(groups["size"].sum()),
        verbatim_groups=groups.filter(pl.col("texts") == 1).height,
        keyed_groups=groups.filter(pl.col("keyed") > 1).height,
        conflicts_by_letter=verdicts[FALSE] + verdicts[TRUE],
        conflicts_by_text=verdicts[TRUE] + verdicts[HIDDEN],
        false_conflicts=verdicts[FALSE],
        true_conflicts=verdicts[TRUE],
        hidden_conflicts=verdicts[HIDDEN],
        across_splits=groups.filter(pl.col("splits") > 1).height,
        same_stem_stems=stems["stem"].n_unique(),
        same_stem_rows=stems.height,
        test_splits=tuple(split for split in test_splits if split in reading.splits),
        test_items=int(frame["test"].sum()),
        leaked=leaked.height,
        leaked_verbatim=int(leaked["verbatim"].sum()),
        splits=_split_figures(frame, groups, leaked, reading.splits),
    )


def _split_figures(
    frame: pl.DataFrame, groups: pl.DataFrame, leaked: pl.DataFrame, names: Sequence[str]
) -> dict[str, SplitFigures]:
    def per_split(rows: pl.DataFrame) -> dict[int, int]:
        return dict(rows.group_by("split").len().iter_rows())

    rows = per_split(frame)
    duplicated = per_split(frame.join(groups, on=_KEY, how="semi"))
    there = frame.filter(~pl.col("test")).select("split", *_KEY).unique()
    found = per_split(leaked.select(*_KEY).join(there, on=_KEY, how="inner"))
    order = sorted((name, number) for number, name in enumerate(names) if number in rows)
    return {name: SplitFigures(rows[n], duplicated.get(n, 0), found.get(n, 0)) for name, n in order}


# ---- lists ----------------------------------------------------------------------------------------------------------


def _lists(frame: pl.DataFrame, groups: pl.DataFrame, reading: _Reading) -> Lists:
    show = _Shown(reading.names, reading.splits)
    members = frame.join(groups, on=_KEY, how="inner", maintain_order="left")
    conflicts = members.filter(pl.col("verdict") != "")
    stems = _same_stem(frame)
    return Lists(
        groups=show.rows(members).select("group", "size", *_PLACE, "split", "letter"),
        conflicts=show.rows(conflicts).select("group", "verdict", *_PLACE, "split", "letter", "answer"),
        leaks=show.leaks(_leaked(frame, groups), frame),
        same_stem=show.rows(stems).select("stem", "group", *_PLACE, "split"),
        faults=reading.faults.frame(reading.names),
    )


class _Shown:
    """Numbers of the frame as the words of a list."""

    def __init__(self, files: Sequence[str], splits: Sequence[str]) -> None:
        self._files, self._splits = pl.Series(files, dtype=pl.String), pl.Series(splits, dtype=pl.String)

    def rows(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with names for numbers, a fingerprint for a group, a letter for its place; '' for no key."""
        letters = ["" if place == 0 else chr(ord("A") + place - 1) for place in rows["letter"].to_list()]
        groups = (f"{high:016x}{low:016x}" for high, low in rows.select(_KEY).iter_rows())
        return rows.with_columns(
            self._files.gather(rows["file"]).alias("file"),
            self._splits.gather(rows["split"]).alias("split"),
            pl.Series("letter", letters, dtype=pl.String),
            pl.Series("group", list(groups), dtype=pl.String),
            pl.Series("stem", [f"{stem:016x}" for stem in rows["stem"].to_list()], dtype=pl.String),
            pl.Series("answer", [f"{a:016x}" if a else "" for a in rows["answer"].to_list()], dtype=pl.String),
        )

    def leaks(self, leaked: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
        """Each leaked test item beside the splits that hold it and its first copy there."""
        others = frame.filter(~pl.col("test")).join(leaked, on=_KEY, how="semi", maintain_order="left")
        copies = others.group_by(_KEY, maintain_order=True).agg(
            pl.col("split").unique().alias("found_in"),
            pl.col("file").first().alias("other_file"),
            pl.col("row").first().alias("other_row"),
        )
        joined = leaked.join(copies, on=_KEY, how="inner", maintain_order="left")
        found = ["+".join(sorted(self._splits[split] for split in splits)) for splits in joined["found_in"].to_list()]
        named = self.rows(joined).with_columns(
            self._files.gather(joined["other_file"]).alias("other_file"),
            pl.Series("found_in", found, dtype=pl.String),
        )
        return named.select("group", *_PLACE, "split", "found_in", "other_file", "other_row", "verbatim")


def _disagreements(
    conflicts: pl.DataFrame, paths: Mapping[str, FoundFile], columns: ColumnMap
) -> tuple[Disagreement, ...]:
    """The groups that disagree by text with their words, read again: what a person has to judge needs to be seen."""
    members: dict[str, list[dict[str, Any]]] = {}
    for row in conflicts.filter(pl.col("verdict") != FALSE).iter_rows(named=True):
        members.setdefault(row["group"], []).append(row)
    shown = {group: _some(rows) for group, rows in islice(members.items(), MAX_DISAGREEMENTS)}
    words = _words([row for rows in shown.values() for row in rows], paths, columns)
    return tuple(_disagreement(group, rows, words) for group, rows in shown.items())


def _some(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """At most MAX_MEMBERS rows in order, the first of each answer among them as far as they go."""
    first = {row["answer"]: place for place, row in reversed(list(enumerate(rows)))}
    order = sorted(range(len(rows)), key=lambda place: (first[rows[place]["answer"]] != place, place))
    return [rows[place] for place in sorted(order[:MAX_MEMBERS])]


def _disagreement(
    group: str, rows: Sequence[Mapping[str, Any]], words: Mapping[tuple[str, int], tuple[str, str]]
) -> Disagreement:
    members = tuple(
        Member(row["file"], row["row"], row["split"], row["letter"], words[row["file"], row["row"]][1]) for row in rows
    )
    return Disagreement(group, rows[0]["verdict"], words[rows[0]["file"], rows[0]["row"]][0], members)


def _words(
    rows: Sequence[Mapping[str, Any]], paths: Mapping[str, FoundFile], columns: ColumnMap
) -> dict[tuple[str, int], tuple[str, str]]:
    """(file, row) -> (question, text of its answer). Raises AuditError when a file is no longer what was audited."""
    wanted: dict[str, dict[int, str]] = {}
    for row in rows:
        wanted.setdefault(row["file"], {})[row["row"]] = row["group"]
    words: dict[tuple[str, int], tuple[str, str]] = {}
    for file, rows_again in read_files([paths[name] for name in sorted(wanted)], columns):
        groups = wanted[file.name]
        for found in _only(file, rows_again, set(groups)):
            if loose(found.question, found.options)[:_HEX] == groups[found.row]:
                words[file.name, found.row] = (found.question, found.options.get(found.letter, ""))
        if missing := [number for number in groups if (file.name, number) not in words]:
            raise AuditError(f"{file.name} row {missing[0]}: the file changed while it was audited")
    return words


def _only(file: FoundFile, rows: Iterable[Row | Fault], numbers: set[int]) -> Iterator[Row]:
    left = len(numbers)
    try:
        for found in rows:
            if isinstance(found, Row) and found.row in numbers:
                yield found
                left -= 1
                if not left:
                    return
    except FileRefused as refused:
        raise AuditError(f"{file.name}: the file changed while it was audited: {refused}") from None
