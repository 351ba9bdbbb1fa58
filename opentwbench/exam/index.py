"""The ministry's open-data index: bytes become typed rows, and two indexes become a difference.

What belongs here: the 14 columns, the shape of the ministry's URLs, every reason to refuse a row, the difference
between yesterday's index and today's. What does not: fetching the index (retrieval), mapping private-use glyphs
(glyphs), subjects (subjects).
Sources: the ministry's open-data set 170565 and the mirror's README (columns, kinds, URL shape); DESIGN section 2
(what a difference names).
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from opentwbench.exam.model import IndexRow, PaperKind

INDEX_URL = "https://wwwc.moex.gov.tw/main/Exam/wHandExamQandA_CSV.ashx"
"""Where the live index is. Source: data.gov.tw data set 170565."""

PAPER_ENDPOINT = "https://wwwq.moex.gov.tw/exam/wHandExamQandA_File.ashx"
"""Where every question paper and key is, told apart by t, code, c, s and q."""

COLUMNS = (
    "考試年度",
    "考試代碼",
    "考試名稱",
    "等級代碼",
    "等級分類",
    "考試及等別",
    "類科代碼",
    "類科組別",
    "節次",
    "科目全名",
    "試題型態",
    "試題網址",
    "測驗式試題答案網址",
    "備註",
)
"""The header of the index, in its order."""

MAX_INDEX_BYTES = 200 * 1024 * 1024
"""The real index is under 45 MB; four times that is no index any more."""

MAX_CELL = 4_000
"""Characters in one cell. The longest real name is under 300; more is an unclosed quote or an attack."""

MAX_SHOWN = 300
"""Characters of a bad row that a problem repeats."""

MAX_VANISHED_SHARE = 0.2
"""Share of the keyed rows that may be gone at once before an index is not believed. Chosen, not measured: the ministry
adds sittings and hardly ever takes a row away, and an index that was cut short must not empty the data sets."""

KEYED_KINDS = frozenset({PaperKind.MULTIPLE_CHOICE, PaperKind.MIXED})
"""The kinds of paper that publish a key. Source: the mirror's README (混合題 carry one for their second part)."""

CORRECTED = "更正答案"
"""What 備註 says of a row whose key was corrected. Its key URL then has t=M. Source: the mirror's README."""

# The ministry's own order of parameters, in one match: an index has 130,000 URLs.
_PAPER_URL = re.compile(
    re.escape(PAPER_ENDPOINT)
    + r"\?t=([QSM])&code=([A-Za-z0-9]{1,16})&c=([A-Za-z0-9]{1,16})&s=([A-Za-z0-9]{1,16})&q=([A-Za-z0-9]{1,16})\Z",
    re.ASCII,
)
_YEAR = re.compile(r"[0-9]{1,3}\Z", re.ASCII)
_CODE = re.compile(r"[A-Za-z0-9]{1,16}\Z", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_KINDS = {kind.value: kind for kind in PaperKind}


class IndexFormatError(Exception):
    """The bytes are not the ministry's index: too large, not UTF-8, HTML, another header, a quote never closed."""

    def __init__(
        self,
        name: str,
        detail: str,
        *,
        missing: tuple[str, ...] = (),
        unknown: tuple[str, ...] = (),
        moved: tuple[str, ...] = (),
    ) -> None:
        super().__init__(f"{name}: {detail}")
        self.name = name
        self.detail = detail
        self.missing = missing
        self.unknown = unknown
        self.moved = moved


class IndexShrunkError(Exception):
    """So many keyed rows are gone at once that the index is not believed: the data sets would be emptied by it."""

    def __init__(self, name: str, gone: int, before: int, limit: float) -> None:
        super().__init__(
            f"{name}: {gone} of {before} keyed rows ({gone / before:.1%}) are gone at once, more than the share of "
            f"{limit:.1%} that is believed (max_vanished_share); nothing was changed. Look at the index, and raise the "
            "share for one run if it is right"
        )
        self.gone = gone
        self.before = before
        self.limit = limit


class Problem(StrEnum):
    """Why a row of the index is refused. Closed; a row gets the first that the checks find."""

    MALFORMED_QUOTING = "malformed_quoting"
    WRONG_COLUMN_COUNT = "wrong_column_count"
    CELL_TOO_LONG = "cell_too_long"
    CONTROL_CHARACTER = "control_character"
    YEAR_NOT_A_NUMBER = "year_not_a_number"
    UNKNOWN_KIND = "unknown_kind"
    BAD_CODE = "bad_code"
    YEAR_DISAGREES_WITH_CODE = "year_disagrees_with_code"
    NAME_MISSING = "name_missing"
    QUESTION_URL_MISSING = "question_url_missing"
    NOT_A_MINISTRY_URL = "not_a_ministry_url"
    WRONG_URL_TYPE = "wrong_url_type"
    CODES_DISAGREE_WITH_URL = "codes_disagree_with_url"
    KEY_URL_MISSING = "key_url_missing"
    KEY_ON_UNKEYED_KIND = "key_on_unkeyed_kind"
    KEY_OF_ANOTHER_PAPER = "key_of_another_paper"
    REMARK_DISAGREES_WITH_KEY = "remark_disagrees_with_key"
    REPEATED_ROW = "repeated_row"
    CONFLICTING_ROWS = "conflicting_rows"


@dataclass(frozen=True, slots=True)
class IndexProblem:
    """One refused row: why, the physical line it starts on (counted from 1), and its text, escaped and cut."""

    problem: Problem
    line: int
    text: str
    detail: str = ""
    paper_id: str = ""
    """The paper that the row's question URL names, '' when that cannot be read."""


class PaperUrl(NamedTuple):
    """The parameters of one ministry URL. `role` is Q (question paper), S (key) or M (corrected key)."""

    role: str
    exam_code: str
    category_code: str
    subject_code: str
    part: str
    """The q= parameter, '1' in every URL seen."""

    @property
    def paper(self) -> tuple[str, str, str, str]:
        """Everything but the role: two URLs with the same value belong to one paper."""
        return (self.exam_code, self.category_code, self.subject_code, self.part)

    def with_role(self, role: str) -> str:
        """The URL of the same paper in another role, in the ministry's own order of parameters."""
        codes = f"code={self.exam_code}&c={self.category_code}&s={self.subject_code}"
        return f"{PAPER_ENDPOINT}?t={role}&{codes}&q={self.part}"

    @property
    def paper_id(self) -> str:
        """The same identity as `IndexRow.paper_id`."""
        return f"{self.exam_code}-{self.category_code}-{self.subject_code}"


def parse_paper_url(url: str) -> PaperUrl:
    """Read a ministry URL `...wHandExamQandA_File.ashx?t=Q|S|M&code=..&c=..&s=..&q=..`, parameters in any order.

    Raises ValueError naming what is wrong for any other host, path or parameter; nothing is repaired.
    """
    usual = _PAPER_URL.match(url)
    if usual:
        return PaperUrl(*usual.groups())
    head, separator, query = url.partition("?")
    if head != PAPER_ENDPOINT or not separator:
        raise ValueError(f"not under {PAPER_ENDPOINT}")
    pairs = [part.partition("=")[::2] for part in query.split("&")]
    values = dict(pairs)
    if len(pairs) != 5 or values.keys() != {"t", "code", "c", "s", "q"}:
        raise ValueError("the parameters are not exactly t, code, c, s and q")
    if values["t"] not in ("Q", "S", "M"):
        raise ValueError("t is not Q, S or M")
    if not all(_CODE.match(value) for value in values.values()):
        raise ValueError("a parameter is not 1 to 16 Latin letters or digits")
    return PaperUrl(values["t"], values["code"], values["c"], values["s"], values["q"])


def first_key_url(row: IndexRow) -> str | None:
    """The t=S URL of a row whose key was corrected (t=M), None when the row already points at its first key.

    The ministry usually keeps the first key beside the corrected one; it may be missing.
    """
    if not row.key_url:
        return None
    key = parse_paper_url(row.key_url)
    return key.with_role("S") if key.role == "M" else None


@dataclass(frozen=True, slots=True)
class Index:
    """The index as read: sound rows in file order, refused rows apart."""

    name: str
    rows: tuple[IndexRow, ...]
    problems: tuple[IndexProblem, ...]

    def keyed(self) -> tuple[IndexRow, ...]:
        """The 測驗題 and 混合題 rows; each has a key URL, because one without is a problem."""
        return tuple(row for row in self.rows if row.kind in KEYED_KINDS)

    def counts(self) -> dict[str, dict[str, int]]:
        """Sound rows by 試題型態 and key: {'測驗題': {'with_key': 151, 'without_key': 0}, ...}, every kind listed."""
        seen = Counter((row.kind, bool(row.key_url)) for row in self.rows)
        return {kind.value: {"with_key": seen[kind, True], "without_key": seen[kind, False]} for kind in PaperKind}

    def problem_counts(self) -> dict[str, int]:
        """Refused rows by problem, only those that occurred, in the order of `Problem`."""
        seen = Counter(problem.problem for problem in self.problems)
        return {problem.value: seen[problem] for problem in Problem if seen[problem]}

    def years_roc(self) -> tuple[int, ...]:
        """The ROC years that have a sound row, ascending."""
        return tuple(sorted({row.year_roc for row in self.rows}))

    def digest(self) -> str:
        """sha256 over the sound rows in the order of their paper ids: quoting, BOM and row order do not change it."""
        return _digest(self.rows)

    def year_digests(self) -> dict[int, str]:
        """The same digest a year, so that a sensor can ask which years changed."""
        by_year: dict[int, list[IndexRow]] = {}
        for row in self.rows:
            by_year.setdefault(row.year_roc, []).append(row)
        return {year: _digest(by_year[year]) for year in sorted(by_year)}


class RowChange(NamedTuple):
    """One row of a difference, ready to be shown or kept."""

    change: str
    """new, rekeyed, changed, vanished or refused."""
    paper_id: str
    """'' for a refused row whose question URL cannot be read."""
    year_roc: int
    """0 for a row that was never sound."""
    subject_name: str
    detail: str
    """The columns that changed, or why the row is refused."""


@dataclass(frozen=True, slots=True)
class IndexDiff:
    """What changed between two indexes, by paper id. Pairs are (old row, new row)."""

    new: tuple[IndexRow, ...]
    rekeyed: tuple[tuple[IndexRow, IndexRow], ...]
    """Rows whose 備註 became 更正答案: the key changed."""
    changed: tuple[tuple[IndexRow, IndexRow], ...]
    """Rows that changed in any other way."""
    vanished: tuple[IndexRow, ...]
    refused: tuple[IndexRow, ...] = field(default=())
    """Rows that were sound before and are refused now: still in the index, but not usable."""
    problems: tuple[IndexProblem, ...] = field(default=())
    """Refused rows of the new index that the old one did not refuse for the same reason and text."""

    @property
    def empty(self) -> bool:
        """True when the two indexes hold the same rows."""
        return not (self.new or self.rekeyed or self.changed or self.vanished or self.refused)

    def years_roc(self) -> tuple[int, ...]:
        """The sitting years that the difference touches, ascending; both years of a row that moved."""
        years = {row.year_roc for row in (*self.new, *self.vanished, *self.refused)}
        years.update(row.year_roc for pair in (*self.rekeyed, *self.changed) for row in pair)
        return tuple(sorted(years))

    def counts(self) -> dict[str, int]:
        """The number of rows of each sort of change."""
        return {
            "new": len(self.new),
            "rekeyed": len(self.rekeyed),
            "changed": len(self.changed),
            "vanished": len(self.vanished),
            "refused": len(self.refused),
        }

    def changes(self) -> tuple[RowChange, ...]:
        """Every row that differs, by kind of change and paper id; also rows that were refused from the first."""
        pairs = [("rekeyed", pair) for pair in self.rekeyed] + [("changed", pair) for pair in self.changed]
        why = {problem.paper_id: _reason(problem) for problem in self.problems if problem.paper_id}
        known = {row.paper_id for row in self.refused}
        found = [_change("new", row) for row in self.new]
        found += [_change(kind, new, ", ".join(_differing(old, new))) for kind, (old, new) in pairs]
        found += [_change("vanished", row) for row in self.vanished]
        found += [_change("refused", row, why.get(row.paper_id, "")) for row in self.refused]
        found += [
            RowChange("refused", problem.paper_id, 0, "", _reason(problem))
            for problem in self.problems
            if problem.paper_id not in known
        ]
        return tuple(sorted(found, key=lambda each: (CHANGES.index(each.change), each.paper_id, each.detail)))


CHANGES = ("new", "rekeyed", "changed", "vanished", "refused")
"""The kinds of a `RowChange` in their order."""


def _change(kind: str, row: IndexRow, detail: str = "") -> RowChange:
    return RowChange(kind, row.paper_id, row.year_roc, row.subject_name, detail)


def _differing(old: IndexRow, new: IndexRow) -> list[str]:
    cells = zip(COLUMNS, _values(old), _values(new), strict=True)
    return [f"{column}: {before} → {after}" for column, before, after in cells if before != after]


def _reason(problem: IndexProblem) -> str:
    return f"line {problem.line}: {problem.problem.value}" + (f" ({problem.detail})" if problem.detail else "")


def read_index(data: bytes, name: str) -> Index:
    """Read the index: UTF-8 with or without BOM, cells quoted or not, exactly the 14 columns of `COLUMNS` in order.

    `name` is what errors call the file. A row that is not sound is dropped, counted and kept in `Index.problems`;
    of rows with one paper id and different content all are dropped, because nothing says which is right.
    Names become NFC and lose outer white space; private-use characters stay (glyphs maps them later).
    Raises IndexFormatError when the whole is not an index or holds no row at all.
    """
    reader = csv.reader(io.StringIO(_decode(data, name), newline=""), strict=True)
    _check_header(reader, name)
    sound: list[tuple[int, IndexRow]] = []
    problems: list[IndexProblem] = []
    for line, cells in _rows(reader, name):
        if isinstance(cells, str):
            problems.append(IndexProblem(Problem.MALFORMED_QUOTING, line, "", cells))
            continue
        try:
            sound.append((line, _read_row(cells)))
        except _Refused as refused:
            shown, detail = _shown(",".join(cells)), _shown(refused.detail)
            problems.append(IndexProblem(refused.problem, line, shown, detail, _named_paper(cells)))
    if not sound and not problems:
        raise IndexFormatError(name, "the header is right but there is no row")
    rows = _without_duplicates(sound, problems)
    problems.sort(key=lambda problem: problem.line)
    return Index(name, rows, tuple(problems))


def diff(old: Index, new: Index) -> IndexDiff:
    """Name every row that differs between two indexes. Source: DESIGN section 2 (new, re-keyed, vanished).

    A row is found again by its paper id. When 更正答案 appears in 備註 the row is `rekeyed`, whatever else changed.
    """
    before = {row.paper_id: row for row in old.rows}
    after = {row.paper_id: row for row in new.rows}
    refused_now = {problem.paper_id for problem in new.problems if problem.paper_id}
    pairs = [(before[key], row) for key, row in after.items() if key in before and before[key] != row]
    gone = [row for key, row in before.items() if key not in after]
    refused_before = {(problem.paper_id, problem.problem, problem.text) for problem in old.problems}
    return IndexDiff(
        new=tuple(row for key, row in after.items() if key not in before),
        rekeyed=tuple(pair for pair in pairs if _rekeyed(*pair)),
        changed=tuple(pair for pair in pairs if not _rekeyed(*pair)),
        vanished=tuple(row for row in gone if row.paper_id not in refused_now),
        refused=tuple(row for row in gone if row.paper_id in refused_now),
        problems=tuple(p for p in new.problems if (p.paper_id, p.problem, p.text) not in refused_before),
    )


def check_not_shrunk(old: Index, new: Index, limit: float) -> None:
    """Refuse an index that lost more than a share of the keyed rows that the one before had.

    A row is lost when its paper id is no keyed row any more, whether it vanished, is refused or became another kind.
    `limit` is a share between 0 and 1; 1 believes everything. Raises IndexShrunkError, ValueError for another limit.
    """
    if not 0 <= limit <= 1:
        raise ValueError(f"a share lies between 0 and 1, not {limit}")
    before = {row.paper_id for row in old.keyed()}
    gone = len(before - {row.paper_id for row in new.keyed()})
    if gone > limit * len(before):
        raise IndexShrunkError(new.name, gone, len(before), limit)


def _rekeyed(old: IndexRow, new: IndexRow) -> bool:
    return new.has_corrected_key and not old.has_corrected_key


class _Refused(Exception):
    """A row that is not sound; caught in read_index."""

    def __init__(self, problem: Problem, detail: str = "") -> None:
        super().__init__(problem.value)
        self.problem = problem
        self.detail = detail


def _decode(data: bytes, name: str) -> str:
    if len(data) > MAX_INDEX_BYTES:
        raise IndexFormatError(name, f"{len(data):,} bytes are more than the cap of {MAX_INDEX_BYTES:,}")
    start = data[:256].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if start.startswith(b"<"):
        raise IndexFormatError(name, f"HTML or XML, not CSV: it starts with {_shown(start[:60].decode('latin-1'))}")
    try:
        # Once over the whole is cheaper than 910,000 cells; no separator composes with what follows it.
        return unicodedata.normalize("NFC", data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise IndexFormatError(name, f"not UTF-8: {error.reason} at byte {error.start}") from error


def _check_header(reader: Iterator[list[str]], name: str) -> None:
    try:
        header = [cell.strip() for cell in next(reader)]
    except StopIteration:
        raise IndexFormatError(name, "empty") from None
    except csv.Error as error:
        raise IndexFormatError(name, f"the header is no CSV: {error}") from error
    if tuple(header) == COLUMNS:
        return
    missing = tuple(column for column in COLUMNS if column not in header)
    unknown = tuple(_shown(cell) or "(empty)" for cell in header if cell not in COLUMNS)[:20]
    repeated = tuple(column for column in COLUMNS if header.count(column) > 1)
    # A missing column shifts all that follow; only a changed order of the columns that are there is a move.
    common = [column for column in COLUMNS if column in header]
    found = [cell for cell in dict.fromkeys(header) if cell in COLUMNS]
    moved = tuple(was for was, now in zip(common, found, strict=True) if was != now)
    said = [
        f"{word}: {', '.join(names)}"
        for word, names in (("missing", missing), ("unknown", unknown), ("repeated", repeated), ("moved", moved))
        if names
    ]
    raise IndexFormatError(
        name,
        f"the header is not the ministry's {len(COLUMNS)} columns; {'; '.join(said)}",
        missing=missing,
        unknown=unknown,
        moved=moved,
    )


def _rows(reader: Iterator[list[str]], name: str) -> Iterator[tuple[int, list[str] | str]]:
    """Each row with its first physical line; a row that the CSV reader refuses comes as the reader's words.

    Blank lines are no rows. An unclosed quote would swallow the rest of the file, so that is an error of the whole.
    """
    while True:
        line = reader.line_num + 1  # type: ignore[attr-defined]  # csv.reader has it, Iterator does not
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            last = reader.line_num  # type: ignore[attr-defined]
            if "unexpected end of data" in str(error) or "field larger than field limit" in str(error):
                raise IndexFormatError(name, f"a quote opened on line {line} is not closed") from error
            yield line, f"lines {line} to {last}: {error}"
            continue
        if cells:
            yield line, cells


def _read_row(cells: list[str]) -> IndexRow:
    if len(cells) != len(COLUMNS):
        raise _Refused(Problem.WRONG_COLUMN_COUNT, f"{len(cells)} cells")
    joined = "".join(cells)
    if len(joined) > MAX_CELL and max(map(len, cells)) > MAX_CELL:
        raise _Refused(Problem.CELL_TOO_LONG, f"more than {MAX_CELL} characters")
    if not joined.isprintable() and _CONTROL.search(joined):
        raise _Refused(Problem.CONTROL_CHARACTER)
    year, exam_code, exam_name, level_code, level, exam_and_level, category_code, category, session, *rest = map(
        str.strip, cells
    )
    subject_name, kind, question_url, key_url, remark = rest
    question = _read_question_url(question_url)
    row = IndexRow(
        year_roc=_read_year(year),
        exam_code=exam_code,
        exam_name=exam_name,
        level_code=level_code,
        level=level,
        exam_and_level=exam_and_level,
        category_code=category_code,
        category=category,
        session=session,
        subject_name=subject_name,
        kind=_read_kind(kind),
        question_url=question_url,
        key_url=key_url,
        remark=remark,
        subject_code=question.subject_code,
    )
    _check_row(row, question)
    _check_key(row, question)
    return row


@lru_cache(maxsize=1_000)
def _read_year(text: str) -> int:
    if not _YEAR.match(text) or int(text) == 0:
        raise _Refused(Problem.YEAR_NOT_A_NUMBER, text)
    return int(text)


def _read_kind(text: str) -> PaperKind:
    if text not in _KINDS:
        raise _Refused(Problem.UNKNOWN_KIND, text)
    return _KINDS[text]


def _check_row(row: IndexRow, question: PaperUrl) -> None:
    """Refuse a row whose columns contradict each other or its question URL."""
    if question.exam_code != row.exam_code or question.category_code != row.category_code:
        _refuse_codes(row)
    # Exam codes start with the ROC year in three digits (101010 is of year 101). Source: every row of the mirror.
    if not row.exam_code.startswith(f"{row.year_roc:03d}"):
        raise _Refused(Problem.YEAR_DISAGREES_WITH_CODE, f"{row.year_roc} and {row.exam_code}")
    if not row.subject_name or not row.exam_name:
        raise _Refused(Problem.NAME_MISSING, "科目全名" if row.exam_name else "考試名稱")


def _refuse_codes(row: IndexRow) -> None:
    """The codes of the URL are sound; say whether the columns hold no codes at all or other ones."""
    for code in (row.exam_code, row.category_code):
        if not _CODE.match(code):
            raise _Refused(Problem.BAD_CODE, code)
    raise _Refused(Problem.CODES_DISAGREE_WITH_URL, f"{row.exam_code} {row.category_code}: {row.question_url}")


def _check_key(row: IndexRow, question: PaperUrl) -> None:
    if not row.key_url:
        if row.kind in KEYED_KINDS:
            raise _Refused(Problem.KEY_URL_MISSING, row.kind.value)
        return
    if row.kind not in KEYED_KINDS:
        raise _Refused(Problem.KEY_ON_UNKEYED_KIND, row.kind.value)
    role = _key_role(row.key_url, question)
    # Reading the first key of a paper whose key was corrected would publish wrong answers.
    if (role == "M") != row.has_corrected_key:
        raise _Refused(Problem.REMARK_DISAGREES_WITH_KEY, f"備註 {row.remark or '(empty)'} and t={role}")


def _key_role(key_url: str, question: PaperUrl) -> str:
    if key_url == question.with_role("S"):
        return "S"
    key = _read_url(key_url, "SM")
    if key.paper != question.paper:
        raise _Refused(Problem.KEY_OF_ANOTHER_PAPER, key_url)
    return key.role


def _named_paper(cells: list[str]) -> str:
    """The paper id that a refused row speaks of, so that a difference can tell 'refused' from 'vanished'."""
    try:
        return parse_paper_url(cells[COLUMNS.index("試題網址")].strip()).paper_id
    except (IndexError, ValueError):
        return ""


def _read_question_url(url: str) -> PaperUrl:
    if not url:
        raise _Refused(Problem.QUESTION_URL_MISSING)
    return _read_url(url, "Q")


def _read_url(url: str, roles: str) -> PaperUrl:
    try:
        parsed = parse_paper_url(url)
    except ValueError as error:
        raise _Refused(Problem.NOT_A_MINISTRY_URL, f"{error}: {url}") from error
    if parsed.role not in roles:
        raise _Refused(Problem.WRONG_URL_TYPE, f"t={parsed.role} where {' or '.join(roles)} belongs")
    return parsed


def _without_duplicates(sound: list[tuple[int, IndexRow]], problems: list[IndexProblem]) -> tuple[IndexRow, ...]:
    """The rows with one paper id each. An exact repetition is dropped once, a contradiction drops every copy."""
    if len({row.paper_id for _, row in sound}) == len(sound):
        return tuple(row for _, row in sound)
    copies: dict[str, list[tuple[int, IndexRow]]] = {}
    for line, row in sound:
        copies.setdefault(row.paper_id, []).append((line, row))
    kept: list[IndexRow] = []
    for paper_id, same in copies.items():
        conflict = any(row != same[0][1] for _, row in same)
        kept += [] if conflict else [same[0][1]]
        problem = Problem.CONFLICTING_ROWS if conflict else Problem.REPEATED_ROW
        lines = ", ".join(str(line) for line, _ in same[:20])
        for line, row in same if conflict else same[1:]:
            text = _shown(",".join(_values(row)))
            problems.append(IndexProblem(problem, line, text, f"{paper_id} is on lines {lines}", paper_id))
    return tuple(kept)


def _values(row: IndexRow) -> list[str]:
    """The row in the order of COLUMNS, as text."""
    return [
        str(row.year_roc),
        row.exam_code,
        row.exam_name,
        row.level_code,
        row.level,
        row.exam_and_level,
        row.category_code,
        row.category,
        row.session,
        row.subject_name,
        row.kind.value,
        row.question_url,
        row.key_url,
        row.remark,
    ]


def row_mapping(row: IndexRow) -> Mapping[str, str]:
    """The row under the index's own column names, as text: what the store writes and the reader would read again."""
    return dict(zip(COLUMNS, _values(row), strict=True))


def _digest(rows: Iterable[IndexRow]) -> str:
    digest = hashlib.sha256()
    for row in sorted(rows, key=lambda row: row.paper_id):
        digest.update(json.dumps(_values(row), ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    return digest.hexdigest()


def _shown(text: str) -> str:
    """Hostile text made safe to print: cut, and every character that does not print as its code point."""
    cut = text[:MAX_SHOWN]
    shown = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in cut)
    return shown + ("…" if len(text) > MAX_SHOWN else "")
