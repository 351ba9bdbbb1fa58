"""The row contract once more, as a Great Expectations suite over a whole release.

What belongs here: the second, independent statement of contract.rules, and running it over a pandas frame.
What does not: the per-subject blocking check (validators.row_contract); a test holds the two statements equal on
planted defects. Great Expectations works with pandas frames only and takes five seconds to import, hence once a release
and the import inside the function. What a regular expression cannot say (NFC, types, the id's shape to its very end) is
computed into helper columns by pandas and expected to be true.
"""

from __future__ import annotations

import logging
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opentwbench.dataset.contract import (
    COLUMNS,
    CONTROL,
    INT_COLUMNS,
    ITEM_ID,
    MAX_TEXT,
    OPTION_COLUMNS,
    PRIVATE_USE,
    ROC_OFFSET,
    TEXT_COLUMNS,
    WIDE_SPACE,
    ItemRow,
    excerpt,
)

if TYPE_CHECKING:
    import pandas as pd

MAX_EXAMPLES = 20
"""Examples kept of each broken expectation."""

_YEARS_APART = "year_ce - year_roc"


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """What the suite says of one rule in one column; the names are those of contract.rules."""

    rule: str
    column: str
    passed: bool
    unexpected: int
    """Rows that break the rule; 1 for a rule about the whole table."""
    examples: tuple[str, ...] = ()


class SuiteError(RuntimeError):
    """An expectation could not be evaluated, so the suite has no verdict."""


def release_frame(rows: Iterable[ItemRow | Mapping[str, Any]]) -> pd.DataFrame:
    """Rows of any number of data sets as one frame of Python objects: no type and no missing value is guessed."""
    import pandas as pd

    records = [row.to_json() if isinstance(row, ItemRow) else dict(row) for row in rows]
    columns = list(dict.fromkeys(key for record in records for key in record)) or list(COLUMNS)
    return pd.DataFrame({c: pd.Series([r.get(c) for r in records], dtype=object) for c in columns})


def validate_release(frame: pd.DataFrame) -> tuple[RuleOutcome, ...]:
    """Every rule of the contract over a release frame, as Great Expectations sees it.

    A cell of the wrong type breaks `type` and is left out of the other rules, as in the polars statement. Raises
    SuiteError when an expectation fails to run, ValueError for a frame without rows.
    """
    if len(frame) == 0:
        raise ValueError("a release without rows proves nothing")
    os.environ["GX_ANALYTICS_ENABLED"] = "false"  # read at import
    import great_expectations as gx

    logging.getLogger("great_expectations").setLevel(logging.ERROR)
    prepared, helpers = _prepare(frame)
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False, "metric_calculations": False}
    suite = gx.ExpectationSuite(name="row_contract", expectations=_expectations(list(frame.columns), helpers))
    batches = (
        context.data_sources.add_pandas("release")
        .add_dataframe_asset("rows")
        .add_batch_definition_whole_dataframe("all")
    )
    batch = batches.get_batch(batch_parameters={"dataframe": prepared})
    result = batch.validate(suite, result_format={"result_format": "BASIC", "partial_unexpected_count": MAX_EXAMPLES})
    return tuple(_outcome(one, frame, prepared) for one in result.results)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not re.search("[\ud800-\udfff]", value)


def _is_count(value: object) -> bool:
    return type(value).__name__ in ("int", "int64") and -(2**63) <= int(value) < 2**63  # type: ignore[call-overload]


def _prepare(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The frame with ill-typed cells emptied and the helper columns appended, and the helpers' names."""
    prepared = frame.astype(object).reset_index(drop=True)
    helpers: dict[str, Any] = {}
    for column in (c for c in COLUMNS if c in frame.columns):
        typed = prepared[column].map(_is_count if column in INT_COLUMNS else _is_text).astype(bool)
        prepared[column] = prepared[column].where(typed, None)
        helpers[f"{column} is typed"] = typed
        if column in TEXT_COLUMNS:
            helpers[f"{column} is NFC"] = _holds(prepared[column], lambda text: unicodedata.is_normalized("NFC", text))
            helpers[f"{column} is not blank"] = _holds(prepared[column], lambda text: bool(text.strip()))
    if "item_id" in frame.columns:
        helpers["item_id has its shape"] = _holds(
            prepared["item_id"], lambda text: bool(re.fullmatch(ITEM_ID[1:-1], text))
        )
    if {"year_ce", "year_roc"} <= set(frame.columns):
        apart = prepared["year_ce"] - prepared["year_roc"].where(prepared["year_ce"].notna(), None)
        helpers[_YEARS_APART] = apart
    for name, values in helpers.items():
        prepared[name] = values
    return prepared, list(helpers)


def _holds(column: pd.Series[Any], rule: Any) -> pd.Series[Any]:
    # An emptied cell is no breach of this rule: its type already is one.
    return column.map(lambda value: value is None or value != value or rule(value)).astype(bool)


def _expectations(columns: Sequence[str], helpers: list[str]) -> list[Any]:
    import great_expectations.expectations as gxe

    expectations: list[Any] = [
        _tag("columns", "", gxe.ExpectTableColumnsToMatchOrderedList, {"column_list": [*COLUMNS, *helpers]})
    ]

    def expect(rule: str, column: str, kind: Any, on: str = "", **settings: Any) -> None:
        target = {"column": on or column}
        expectations.append(_tag(rule, column, kind, target | settings))

    for column in (c for c in COLUMNS if c in columns):
        expect("type", column, gxe.ExpectColumnValuesToBeInSet, f"{column} is typed", value_set=[True])
    for column in (c for c in TEXT_COLUMNS if c in columns):
        expect("non_empty", column, gxe.ExpectColumnValuesToBeInSet, f"{column} is not blank", value_set=[True])
        expect("nfc", column, gxe.ExpectColumnValuesToBeInSet, f"{column} is NFC", value_set=[True])
        expect("length", column, gxe.ExpectColumnValueLengthsToBeBetween, max_value=MAX_TEXT)
        expect("no_private_use", column, gxe.ExpectColumnValuesToNotMatchRegex, regex=PRIVATE_USE)
        expect("no_wide_space", column, gxe.ExpectColumnValuesToNotMatchRegex, regex=WIDE_SPACE)
        expect("no_control", column, gxe.ExpectColumnValuesToNotMatchRegex, regex=CONTROL)
    for column in (c for c in ("year_roc", "q_no", "n_source_papers") if c in columns):
        expect("positive", column, gxe.ExpectColumnValuesToBeBetween, min_value=1)
    if "answer" in columns:
        expect("answer_letter", "answer", gxe.ExpectColumnValuesToBeInSet, value_set=list(OPTION_COLUMNS))
    if "item_id" in columns:
        expect("item_id_shape", "item_id", gxe.ExpectColumnValuesToBeInSet, "item_id has its shape", value_set=[True])
        expect("item_id_unique", "item_id", gxe.ExpectColumnValuesToBeUnique)
    if _YEARS_APART in helpers:
        expect("year", "year_ce", gxe.ExpectColumnValuesToBeInSet, _YEARS_APART, value_set=[ROC_OFFSET])
    if set(OPTION_COLUMNS) <= set(columns):
        options = {"column_list": list(OPTION_COLUMNS), "ignore_row_if": "any_value_is_missing"}
        distinct = gxe.ExpectSelectColumnValuesToBeUniqueWithinRecord
        expectations.append(_tag("distinct_options", "A", distinct, options))
    return expectations


def _tag(rule: str, column: str, kind: Any, settings: Mapping[str, Any]) -> Any:
    return kind(**settings, meta={"rule": rule, "column": column})


def _outcome(result: Any, frame: pd.DataFrame, prepared: pd.DataFrame) -> RuleOutcome:
    meta, found = result.expectation_config.meta, result.result or {}
    if result.exception_info and _raised(result.exception_info):
        raise SuiteError(f"{meta['rule']} {meta['column']}: {excerpt(str(result.exception_info), 300)}")
    unexpected = int(found.get("unexpected_count", 0 if result.success else 1))
    examples = list(found.get("partial_unexpected_list", ()))
    judged = result.expectation_config.kwargs.get("column", meta["column"])
    if examples and judged != meta["column"]:
        # The expectation saw a helper column; a person wants the cell it was made from.
        broken = prepared[judged] != result.expectation_config.kwargs["value_set"][0]
        examples = frame.reset_index(drop=True).loc[broken, meta["column"]].head(MAX_EXAMPLES).tolist()
    shown = tuple(excerpt(value) for value in examples[:MAX_EXAMPLES])
    return RuleOutcome(meta["rule"], meta["column"], bool(result.success), unexpected, shown)


def _raised(info: Mapping[str, Any]) -> bool:
    # One flat record, or one a metric, depending on where the exception came from.
    if "raised_exception" in info:
        return bool(info["raised_exception"])
    return any(isinstance(part, Mapping) and part.get("raised_exception") for part in info.values())
