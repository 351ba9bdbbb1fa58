"""A study's record as its page shows it: one language, numbers by their unit, an interval beside the figure it is of.

What belongs here: choosing the form of a cell. What does not: how studies are computed (opentwbench.apparatus) and the
forms themselves (text.py). Records come from outside: whatever a cell is, something bounded is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from opentwbench.apparatus.result import BETWEEN, Cell, Column, Study, Table, spoken
from opentwbench.apparatus.result import Both as StudyText
from opentwbench.board import text, words
from opentwbench.board.words import Both
from opentwbench.exam.subjects import REGISTRY
from opentwbench.statistics.intervals import rounded_outwards

UNITS = {"%": Both("%", "%"), "points": Both("百分點", "points"), "tokens": Both("token", "tokens")}
"""Units that a heading states; what is counted ('items', 'replies', ...) is said by the heading itself."""

BENCHMARK_COLUMNS = frozenset(("benchmark", "first_axis"))
METHOD_COLUMNS = frozenset(("method", "first", "second"))
"""Columns whose words are the mart's; a word that is none of them (a judge's name) stays as it is."""

METHODS = {
    "strict": Both("嚴格", "strict"),
    "lenient": Both("寬鬆", "lenient"),
    "tolerant-box": Both("寬容方框", "tolerant"),
    "twinkle-pattern": Both("樣式比對", "pattern"),
}

TO = Both("至", "to")

FINE = 2
"""Digits after the point of a share below one percent: the shares of wrong keys are tenths of it."""


LONG_TABLE, SHOWN_ROWS = 30, 12
"""A table of more rows is folded, and so many of its rows stand before it: 500 rows are 30,000 pixels of a page."""


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """A heading: its name in downloads, its words with the unit, and what its cells are."""

    name: str
    label: Both
    is_number: bool
    has_interval: bool
    goes_down: bool
    """Whether the largest comes first when it is sorted."""


@dataclass(frozen=True, slots=True)
class ShownCell:
    """A cell: what is read, the interval beside it, and the raw values for sorting and downloads."""

    shown: Both
    value: str | int | float | None
    interval: Both
    low: float | int | None = None
    high: float | int | None = None

    @property
    def is_words(self) -> bool:
        """Whether the raw value holds a text in both languages, of which a download takes the one that is shown."""
        return isinstance(self.value, str) and BETWEEN in self.value


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A table of a study's page."""

    name: StudyText
    columns: list[ShownColumn]
    rows: list[list[ShownCell]]
    top: list[list[ShownCell]]
    """What a page shows of a long table before it is unfolded: the rows that move most; [] for a short one."""
    top_by: Both
    """The heading of the column that says which those are; empty where it is the first rows."""


def shown_table(table: Table) -> ShownTable:
    """The table with each interval beside the figure that it belongs to."""
    groups = _groups(table.columns)
    columns = [_column(table, *group) for group in groups]
    digits = [_digits(table, place) for place, _ in groups]
    rows = [
        [_cell(table.columns, row, *group, fine) for group, fine in zip(groups, digits, strict=True)]
        for row in table.rows
    ]
    shown = ShownTable(table.name, columns, rows, [], Both("", ""))
    return shown if len(rows) <= LONG_TABLE else replace(shown, **_top(table, groups, shown))


def _top(table: Table, groups: Sequence[tuple[int, int]], shown: ShownTable) -> dict[str, Any]:
    """The rows that move most by the first difference of the table; its first rows where it holds no difference."""
    moves = next((n for n, (place, _) in enumerate(groups) if _is_signed(table.columns[place])), None)
    if moves is None:
        return {"top": shown.rows[:SHOWN_ROWS]}
    ordered = sorted(shown.rows, key=lambda row: -_size(row[moves].value))
    return {"top": ordered[:SHOWN_ROWS], "top_by": shown.columns[moves].label}


def _size(value: Cell) -> float:
    return abs(value) if isinstance(value, int | float) else -1.0


def _digits(table: Table, place: int) -> int:
    """Digits after the point of a column of shares: one form a column, finer where every share is below one percent."""
    shares = [value for row in table.rows if isinstance(value := row[place], int | float)]
    return FINE if shares and 0 < max(shares) < 1 else 1


def _groups(columns: Sequence[Column]) -> list[tuple[int, int]]:
    """(place of a figure, 2 when the next two columns are the ends of its interval, else 0)."""
    found: list[tuple[int, int]] = []
    place = 0
    while place < len(columns):
        ends = [each.name.rpartition("_")[2] for each in columns[place + 1 : place + 3]]
        width = 2 if ends == ["low", "high"] else 0
        found.append((place, width))
        place += 1 + width
    return found


def _column(table: Table, place: int, width: int) -> ShownColumn:
    column = table.columns[place]
    unit = UNITS.get(column.unit, Both("", ""))
    label = Both(*(_headed(name, told) for name, told in zip((column.label.zh, column.label.en), unit, strict=True)))
    is_number = any(isinstance(row[place], int | float) for row in table.rows)
    goes_down = is_number and not (column.name.startswith("rank") or _is_p(column.name))
    return ShownColumn(column.name, label, is_number, bool(width), goes_down)


def _headed(label: str, unit: str) -> str:
    # A Greek letter is a symbol: kappa is no capital kappa, which reads as a K.
    label = label[:1].upper() + label[1:] if label[:1].isascii() else label
    return label if not unit else f"{label} {unit}" if unit == "%" else f"{label} ({unit})"


def _cell(columns: Sequence[Column], row: Sequence[Cell], place: int, width: int, digits: int) -> ShownCell:
    column, value = columns[place], row[place]
    if not width:
        return ShownCell(_shown(column, value, digits), value, Both("", ""))
    low, high = row[place + 1], row[place + 2]
    if isinstance(low, str) or isinstance(high, str) or low is None or high is None:
        return ShownCell(_shown(column, value, digits), value, Both("", ""))
    return ShownCell(_shown(column, value, digits), value, _interval(column, low, high, digits), low, high)


def _interval(column: Column, low: float, high: float, digits: int) -> Both:
    if column.unit == "%":
        return Both(*2 * (text.bounds(low / 100, high / 100, digits),))
    ends = [_number(column, end, digits) for end in _outwards(column, low, high)]
    if not (_is_signed(column) or low < 0):
        return Both(*2 * ("–".join(ends),))
    return Both(*(f"{ends[0]} {word} {ends[1]}" for word in TO))


def _outwards(column: Column, low: float, high: float) -> tuple[float, float]:
    """The ends at the digit that is shown, rounded outwards, as those of shares are (text.bounds)."""
    digits = 1 if column.unit == "points" or (column.unit == "ranks" and _is_signed(column)) else 2
    return rounded_outwards(low, high, digits)


def _shown(column: Column, value: Cell, digits: int) -> Both:
    if isinstance(value, str):
        return _words(column.name, value)
    return Both(*2 * (_number(column, value, digits),))


def _words(name: str, value: str) -> Both:
    if name in BENCHMARK_COLUMNS:
        return words.BENCHMARKS.get(value, Both(value, value))
    if name in METHOD_COLUMNS:
        return METHODS.get(value, Both(value, value))
    if name == "subject" and value in REGISTRY:
        return Both(REGISTRY[value].name_zh, REGISTRY[value].name_en)
    return Both(spoken(value, "zh"), spoken(value, "en"))


def _is_p(name: str) -> bool:
    return name == "p" or name.endswith("_p")


def _is_signed(column: Column) -> bool:
    return column.unit == "points" or (column.unit == "ranks" and column.name != "largest")


def _number(column: Column, value: float | int | None, digits: int) -> str:
    if value is None:
        return text.NOTHING
    if _is_p(column.name):
        return text.p_value(value)
    if column.unit == "%":
        return text.percent(value / 100, digits)
    if column.unit == "points":
        return text.points(value / 100)
    if column.unit == "ranks" and _is_signed(column):
        return text.signed(value)
    return text.count(value) if isinstance(value, int) else text.decimal(value)


def in_language(value: Any, lang: str) -> Any:
    """A specification with every text in one language; keys and numbers as they are."""
    if isinstance(value, str):
        return spoken(value, lang)
    if isinstance(value, dict):
        return {key: in_language(inner, lang) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [in_language(inner, lang) for inner in value]
    return value


FREE_TEXT = frozenset(("model", "failure", "items", "replies", "found", "share"))
"""Columns of the study of free text that a model's page shows."""


def findings_of(study: Study, model: str) -> list[dict[str, ShownCell]]:
    """Rows of the free-text study that are about one model, a cell by the name of its column.

    None of a study of another form: a result comes from outside, or from before its form changed.
    """
    if not study.tables or not {column.name for column in study.tables[0].columns} >= FREE_TEXT:
        return []
    table = study.tables[0]
    place = next(n for n, column in enumerate(table.columns) if column.name == "model")
    shown = shown_table(Table(table.name, table.columns, tuple(row for row in table.rows if row[place] == model)))
    names = [column.name for column in shown.columns]
    return [dict(zip(names, row, strict=True)) for row in shown.rows]
