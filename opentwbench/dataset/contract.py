"""The row contract: what one published item looks like and which rules every row must keep.

What belongs here: the columns, their types and the rules, as polars expressions.
What does not: reading or writing files (files.py) and anything that knows of a paper.
Source of columns and rules: the design, section 3 ("Item row"). The harness reads question, A-D and answer and ignores
the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Imported where rows are judged: whoever only names a column or a row does not wait for it.
    import polars as pl


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One published item. The field order is the column order of benchmark.jsonl and benchmark.csv."""

    question: str
    A: str
    B: str
    C: str
    D: str
    answer: str
    subject: str
    subject_group: str
    exam_level: str
    exam_name: str
    year_roc: int
    year_ce: int
    q_no: int
    paper_id: str
    n_source_papers: int
    item_id: str

    def to_json(self) -> dict[str, str | int]:
        """The row as a mapping in column order."""
        # Not dataclasses.asdict: it copies every value deeply, which takes fifteen times as long.
        return {column: getattr(self, column) for column in COLUMNS}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> ItemRow:
        """A row from a mapping with exactly the contract's columns and types; raises RowError naming the column."""
        problems = list(_cell_problems(record))
        if problems:
            column, rule, excerpt = problems[0]
            raise RowError(f"column {column}: {rule}: {excerpt}")
        return cls(**{column: record[column] for column in COLUMNS})


class RowError(ValueError):
    """A record that is no row of the contract: a column is missing, unknown or of another type."""


COLUMNS: tuple[str, ...] = tuple(f.name for f in fields(ItemRow))
_KNOWN = frozenset(COLUMNS)
INT_COLUMNS: tuple[str, ...] = ("year_roc", "year_ce", "q_no", "n_source_papers")
TEXT_COLUMNS: tuple[str, ...] = tuple(c for c in COLUMNS if c not in INT_COLUMNS)
OPTION_COLUMNS: tuple[str, ...] = ("A", "B", "C", "D")


@cache
def schema() -> dict[str, pl.DataType]:
    """Column -> type of a frame of the contract."""
    import polars as pl

    return {column: pl.Int64() if column in INT_COLUMNS else pl.String() for column in COLUMNS}


MAX_TEXT = 20_000
"""Most characters in one cell. The 99.9th percentile of option texts is 95; a text beyond this is no question."""

ROC_OFFSET = 1911
"""Common-era year = ROC year + 1911."""

ITEM_ID = r"^[a-z0-9]+(?:-[a-z0-9]+)*-[0-9a-f]{12}$"
"""Subject key, a hyphen and the first 12 hex digits of the exact fingerprint's sha256."""

# Written out as ranges because Python's re (the second statement of this contract) has no \p{Co}.
PRIVATE_USE = "[\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd]"
WIDE_SPACE = "[\u00a0\u3000]"
# The line feed is the one control character that may stand in a text. U+2028 and U+2029 break lines as well.
CONTROL = r"[\x00-\x09\x0b-\x1f\x7f-\x9f" + "\u2028\u2029]"


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule. `row` counts from 0, None for a rule about all rows; `excerpt` is bounded and printable."""

    row: int | None
    column: str
    rule: str
    excerpt: str


def excerpt(value: object, limit: int = 60) -> str:
    """A value as one bounded, printable ASCII-escaped line, safe in a log, a table or an error message."""
    text = value if isinstance(value, str) else repr(value)
    cut = text[:limit].encode("unicode_escape").decode("ascii") if not text[:limit].isprintable() else text[:limit]
    return cut + "…" if len(text) > limit else cut


def _is_int(value: object) -> bool:
    # A bool is an int to Python and to no reader of the files. Beyond 64 bits no reader agrees.
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _is_text(value: object) -> bool:
    if not isinstance(value, str):
        return False
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:  # a lone surrogate: no file in UTF-8 can hold it
        return False
    return True


def _cell_problems(record: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for column in COLUMNS:
        if column not in record:
            yield column, "columns", "missing"
        elif not (_is_int if column in INT_COLUMNS else _is_text)(record[column]):
            yield column, "type", excerpt(record[column])
    for column in record:
        if column not in _KNOWN:
            yield excerpt(column), "columns", "unknown column"


def frame_of(rows: Sequence[ItemRow | Mapping[str, Any]]) -> tuple[pl.DataFrame, list[Violation]]:
    """The rows as a typed frame, and the violations of `columns` and `type` that kept a cell out of it.

    A missing or wrongly typed cell is null in the frame, so that the other rules speak of real values only.
    """
    import polars as pl

    records = [row.to_json() if isinstance(row, ItemRow) else row for row in rows]
    violations = [Violation(n, *problem) for n, record in enumerate(records) for problem in _cell_problems(record)]
    bad = {(v.row, v.column) for v in violations}
    cells = {c: [None if (n, c) in bad else r[c] for n, r in enumerate(records)] for c in COLUMNS}
    return pl.DataFrame(cells, schema=schema()), violations


def _texts(rule: Callable[[pl.Expr], pl.Expr]) -> dict[str, pl.Expr]:
    import polars as pl

    return {column: rule(pl.col(column)) for column in TEXT_COLUMNS}


def _option_repeated() -> pl.Expr:
    import polars as pl

    pairs = [(a, b) for n, a in enumerate(OPTION_COLUMNS) for b in OPTION_COLUMNS[n + 1 :]]
    return pl.any_horizontal(pl.col(a) == pl.col(b) for a, b in pairs)


@cache
def rules() -> dict[str, dict[str, pl.Expr]]:
    """Rule -> column -> expression true where the rule is broken.

    `columns` and `type` are judged before a frame exists.
    """
    import polars as pl

    return {
        "non_empty": _texts(lambda text: text.str.strip_chars() == ""),
        "length": _texts(lambda text: text.str.len_chars() > MAX_TEXT),
        "nfc": _texts(lambda text: text.str.normalize("NFC") != text),
        "no_private_use": _texts(lambda text: text.str.contains(PRIVATE_USE)),
        "no_wide_space": _texts(lambda text: text.str.contains(WIDE_SPACE)),
        "no_control": _texts(lambda text: text.str.contains(CONTROL)),
        "answer_letter": {"answer": ~pl.col("answer").is_in(OPTION_COLUMNS)},
        "distinct_options": {"A": _option_repeated()},
        "year": {"year_ce": pl.col("year_ce") != pl.col("year_roc") + ROC_OFFSET},
        "positive": {column: pl.col(column) < 1 for column in ("year_roc", "q_no", "n_source_papers")},
        "item_id_shape": {"item_id": ~pl.col("item_id").str.contains(ITEM_ID)},
        "item_id_unique": {"item_id": pl.col("item_id").is_duplicated() & pl.col("item_id").is_not_null()},
    }


RULE_NAMES: tuple[str, ...] = (
    "columns",
    "type",
    "non_empty",
    "length",
    "nfc",
    "no_private_use",
    "no_wide_space",
    "no_control",
    "answer_letter",
    "distinct_options",
    "year",
    "positive",
    "item_id_shape",
    "item_id_unique",
)
"""Every rule, those of `rules` in their order."""


def count_violations(frame: pl.DataFrame) -> dict[tuple[str, str], int]:
    """How often each (rule, column) is broken in a frame of the contract's schema; unbroken rules are left out."""
    masks = [
        expr.fill_null(False).sum().alias(f"{rule}|{column}")
        for rule, columns in rules().items()
        for column, expr in columns.items()
    ]
    counts = frame.select(masks).row(0, named=True)
    return {(key.split("|")[0], key.split("|")[1]): n for key, n in counts.items() if n}


def frame_violations(frame: pl.DataFrame, limit: int = 1_000) -> list[Violation]:
    """The broken rules of a frame, at most `limit` for each (rule, column), so that a ruined file stays readable."""
    found: list[Violation] = []
    for rule, column in count_violations(frame):
        broken = frame.with_row_index("_row").filter(rules()[rule][column].fill_null(False)).head(limit)
        shown = zip(broken["_row"].to_list(), broken[column].to_list(), strict=True)
        found += [Violation(row, column, rule, excerpt(value)) for row, value in shown]
    return found


def validate_rows(rows: Sequence[ItemRow | Mapping[str, Any]] | pl.DataFrame, limit: int = 1_000) -> list[Violation]:
    """Every broken rule of rows, records read from a file, or a frame; empty when the contract holds.

    `limit` bounds the violations listed for each (rule, column). A frame of another schema is judged by its records.
    """
    import polars as pl

    if isinstance(rows, pl.DataFrame):
        if dict(rows.schema) == schema():
            nulls = [Violation(n, c, "type", "None") for c in COLUMNS for n in rows[c].is_null().arg_true()[:limit]]
            return nulls + frame_violations(rows, limit)
        return validate_rows(rows.to_dicts(), limit)
    frame, violations = frame_of(rows)
    return violations + frame_violations(frame, limit)
