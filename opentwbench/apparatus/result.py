"""The record of a study: its question, method, finding, tables and charts, as the store keeps it and the site shows it.

What belongs here: the record, its JSON form and what may be in one. What does not: how a study is computed (one module
a study) and where its file stands (resources/apparatus.py). Every text is in 繁體中文 and English; a chart is a
Vega-Lite specification that holds its data and nothing that reaches out or is evaluated.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.files import parse_json
from opentwbench.dataset.model import DatasetError

STUDY_ID = r"[a-z0-9]+(?:_[a-z0-9]+)*"
"""What a study is called; it is a file name and the name of its page."""

MAX_TEXT = 4_000
"""Most characters of one text of a study: a page shows it whole."""

MAX_ROWS = 2_000
"""Most rows of one table: 110 models under five methods are 550."""

MAX_PARTS = 20
"""Most tables, and most charts, of one study."""

MAX_BYTES = 8 << 20
"""Most bytes of one study."""

FORBIDDEN = frozenset(("url", "href", "expr", "signal", "calculate", "transform", "usermeta", "loader"))
"""Keys that a chart may not have at any depth: what Vega-Lite fetches, links to or evaluates."""

Cell = str | int | float | None

BETWEEN = "\u2016"
"""Stands between the two languages where one text holds both; rows.shown keeps it out of names of models."""


class StudyError(ValueError):
    """A record that is no study. Names the study, the place and the reason."""


class MissingInput(Exception):
    """A study lacks what it needs; says in both languages what that is. Never answered by a number."""

    def __init__(self, zh: str, en: str) -> None:
        super().__init__(en)
        self.words = Both(zh, en)


@dataclass(frozen=True, slots=True)
class Both:
    """One text in both languages."""

    zh: str
    en: str

    def to_json(self) -> dict[str, str]:
        """As the contract with the site has it."""
        return {"zh": self.zh, "en": self.en}

    def in_one(self) -> str:
        """Both texts in one, for a cell or a text of a chart: `spoken` takes the one of a language out again."""
        return f"{self.zh}{BETWEEN}{self.en}"


NOTHING = Both("", "")

SAMPLE = Both("以樣本模型（腳本產生的回覆）製作", "made from sample models (scripted replies)")
"""What a study carries when any run in it is of a model whose card says `is_sample`."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its name, its heading and its unit ('' for none, '%', 'points', 'items', ...)."""

    name: str
    label: Both
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Figures. A cell is a text, a number or None for what cannot be said."""

    name: Both
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A Vega-Lite specification with inline data."""

    title: Both
    spec: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Study:
    """A finished study. Raises StudyError for what the site could not show."""

    study_id: str
    title: Both
    question: Both
    method: Both
    finding: Both
    n: int
    """What was counted, in the unit that the method names; 0 when the study lacks its input."""
    labelled: Both = NOTHING
    """What a reader must know before the numbers, e.g. 'reconstruction'."""
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()

    def __post_init__(self) -> None:
        """Reject what is no study."""
        if not re.fullmatch(STUDY_ID, self.study_id):
            raise StudyError(f"{excerpt(self.study_id)}: no name of a study")
        if isinstance(self.n, bool) or not isinstance(self.n, int) or self.n < 0:
            raise StudyError(f"{self.study_id}: n must be a count, got {excerpt(self.n)}")
        for name in ("title", "question", "method", "finding", "labelled"):
            _check_text(self.study_id, name, getattr(self, name), empty=name == "labelled")
        if len(self.tables) > MAX_PARTS or len(self.charts) > MAX_PARTS:
            raise StudyError(f"{self.study_id}: more than {MAX_PARTS} tables or charts")
        for table in self.tables:
            _check_table(self.study_id, table)
        for chart in self.charts:
            _check_text(self.study_id, "chart title", chart.title)
            check_spec(self.study_id, chart.spec)


def spoken(text: str, lang: str) -> str:
    """The text in 'zh' or 'en' where it holds both (`Both.in_one`), else as it is."""
    parts = text.split(BETWEEN)
    return text if len(parts) != 2 else parts[lang != "zh"]


def missing(study_id: str, title: Both, question: Both, method: Both, what: Both) -> Study:
    """The record of a study that lacks its input: what is missing in place of a finding, and not one number."""
    finding = Both(f"缺少資料，沒有結果：{what.zh}", f"Not run, input is missing: {what.en}")
    return Study(study_id, title, question, method, finding, 0)


def _check_text(study: str, where: str, text: object, *, empty: bool = False) -> None:
    if not isinstance(text, Both) or not all(isinstance(each, str) for each in (text.zh, text.en)):
        raise StudyError(f"{study}: {where}: not a text in both languages")
    for each in (text.zh, text.en):
        if len(each) > MAX_TEXT or (not empty and not each.strip()):
            raise StudyError(f"{study}: {where}: empty, or more than {MAX_TEXT} characters")


def _check_table(study: str, table: Table) -> None:
    _check_text(study, "table name", table.name)
    names = [column.name for column in table.columns]
    if not names or len(set(names)) != len(names):
        raise StudyError(f"{study}: {excerpt(table.name.en)}: no columns, or one name twice")
    for column in table.columns:
        _check_text(study, f"column {excerpt(column.name)}", column.label)
    if len(table.rows) > MAX_ROWS:
        raise StudyError(f"{study}: {excerpt(table.name.en)}: {len(table.rows)} rows, more than {MAX_ROWS}")
    for number, row in enumerate(table.rows):
        if len(row) != len(names) or not all(_is_cell(cell) for cell in row):
            raise StudyError(f"{study}: {excerpt(table.name.en)} row {number}: not {len(names)} texts and numbers")


def _is_cell(cell: object) -> bool:
    if cell is None or isinstance(cell, str):
        return cell is None or len(cell) <= MAX_TEXT
    return not isinstance(cell, bool) and isinstance(cell, int | float) and math.isfinite(cell)


def check_spec(study: str, spec: object) -> None:
    """Raise StudyError for a chart that fetches, links or evaluates, that holds no data, or that is no JSON value."""
    if not isinstance(spec, Mapping):
        raise StudyError(f"{study}: a chart is no specification")
    _walk(study, spec, 0)
    if not any(isinstance(each, Mapping) and "values" in each for each in _data(spec)):
        raise StudyError(f"{study}: a chart without inline data")


def _walk(study: str, value: object, depth: int) -> None:
    if depth > 30:
        raise StudyError(f"{study}: a chart nested deeper than 30")
    if isinstance(value, Mapping):
        for key, held in value.items():
            if not isinstance(key, str) or key.lower() in FORBIDDEN:
                raise StudyError(f"{study}: a chart may not hold {excerpt(key)}")
            _walk(study, held, depth + 1)
    elif isinstance(value, list | tuple):
        for each in value:
            _walk(study, each, depth + 1)
    elif isinstance(value, bool):
        return
    elif not _is_cell(value):
        raise StudyError(f"{study}: a chart holds {excerpt(value)}")


def _data(spec: Mapping[str, Any]) -> list[object]:
    layers = spec.get("layer", ())
    inner = [each.get("data") for each in layers if isinstance(each, Mapping)] if isinstance(layers, list) else []
    return [spec.get("data"), *inner]


# -- JSON -------------------------------------------------------------------------------------------------------------


def payload(study: Study) -> str:
    """The study as the site reads it: one JSON object, equal for equal studies. Raises StudyError if too large."""
    text = json.dumps(to_json(study), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if len(text.encode()) > MAX_BYTES:
        raise StudyError(f"{study.study_id}: {len(text.encode())} bytes, more than {MAX_BYTES}")
    return text


def to_json(study: Study) -> dict[str, Any]:
    """The study as JSON values, without its id: the id names its file and its row."""
    return {
        "title": study.title.to_json(),
        "question": study.question.to_json(),
        "method": study.method.to_json(),
        "finding": study.finding.to_json(),
        "n": study.n,
        "labelled": study.labelled.to_json(),
        "tables": [_table_json(table) for table in study.tables],
        "charts": [{"title": chart.title.to_json(), "spec": dict(chart.spec)} for chart in study.charts],
    }


def _table_json(table: Table) -> dict[str, Any]:
    columns = [{"name": each.name, "label": each.label.to_json(), "unit": each.unit} for each in table.columns]
    return {"name": table.name.to_json(), "columns": columns, "rows": [list(row) for row in table.rows]}


def from_json(study_id: str, record: object) -> Study:
    """A study from its JSON values, which are hostile until checked. Raises StudyError naming the place."""
    if not isinstance(record, Mapping) or set(record) != _KEYS:
        raise StudyError(f"{excerpt(study_id)}: a study has {', '.join(sorted(_KEYS))}")
    texts = {name: _both(study_id, record[name]) for name in ("title", "question", "method", "finding", "labelled")}
    tables = tuple(_read_table(study_id, each) for each in _list(study_id, record["tables"]))
    charts = tuple(_read_chart(study_id, each) for each in _list(study_id, record["charts"]))
    return Study(study_id, n=record["n"], tables=tables, charts=charts, **texts)


def read_payload(study_id: str, text: str) -> Study:
    """A study from its payload; raises StudyError for one that is too large or no JSON object."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise StudyError(f"{excerpt(study_id)}: more than {MAX_BYTES} bytes")
    try:
        return from_json(study_id, parse_json(text, study_id))
    except DatasetError as error:
        raise StudyError(str(error)) from None


_KEYS = frozenset(("title", "question", "method", "finding", "n", "labelled", "tables", "charts"))


def _list(study: str, value: object) -> Sequence[object]:
    if not isinstance(value, list):
        raise StudyError(f"{excerpt(study)}: tables and charts are lists")
    return value


def _both(study: str, value: object) -> Both:
    if not isinstance(value, Mapping) or set(value) != {"zh", "en"}:
        raise StudyError(f"{excerpt(study)}: not a text in both languages: {excerpt(value)}")
    return Both(value["zh"], value["en"])


def _read_table(study: str, value: object) -> Table:
    if not isinstance(value, Mapping) or set(value) != {"name", "columns", "rows"}:
        raise StudyError(f"{excerpt(study)}: no table: {excerpt(value)}")
    columns = []
    for each in _list(study, value["columns"]):
        if not isinstance(each, Mapping) or set(each) != {"name", "label", "unit"}:
            raise StudyError(f"{excerpt(study)}: no column: {excerpt(each)}")
        if not isinstance(each["name"], str) or not isinstance(each["unit"], str):
            raise StudyError(f"{excerpt(study)}: a column's name and unit are texts")
        columns.append(Column(each["name"], _both(study, each["label"]), each["unit"]))
    rows = _list(study, value["rows"])
    if not all(isinstance(row, list) for row in rows):
        raise StudyError(f"{excerpt(study)}: a row is a list")
    return Table(_both(study, value["name"]), tuple(columns), tuple(tuple(row) for row in rows))  # type: ignore[arg-type]


def _read_chart(study: str, value: object) -> Chart:
    if not isinstance(value, Mapping) or set(value) != {"title", "spec"}:
        raise StudyError(f"{excerpt(study)}: no chart: {excerpt(value)}")
    return Chart(_both(study, value["title"]), value["spec"])
