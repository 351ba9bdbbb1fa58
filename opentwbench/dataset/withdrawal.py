"""The scored set: what a withdrawal takes out of it, and how one is recorded.

What belongs here: the reasons, the list of withdrawals as a file that grows, the rows that are scored.
What does not: finding what should be withdrawn (`exam.dependence`), and following an id whose text was corrected
(manifest.py).
Source: the design, section 3, "Withdrawal": withdrawn items stay in the published set and leave the scored one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from opentwbench.dataset.atomic import append_line
from opentwbench.dataset.contract import ItemRow, excerpt
from opentwbench.dataset.files import json_line, parse_json
from opentwbench.dataset.model import Dataset, DatasetError, Withdrawal


class WithdrawalReason(StrEnum):
    """Why an item leaves the scored set. Closed for what is recorded here; a list written by hand may say more."""

    NEEDS_FIGURE = "needs_figure"
    NEEDS_TABLE = "needs_table"
    NEEDS_PASSAGE = "needs_passage"
    NEEDS_EARLIER_QUESTION = "needs_earlier_question"
    TEXT_DAMAGED = "text_damaged"
    KEY_IN_DOUBT = "key_in_doubt"
    SEVERAL_ANSWERS_HOLD = "several_answers_hold"
    LAW_CHANGED = "law_changed"
    """The official key was right on the day of the sitting and is not today."""


def record_withdrawal(path: Path, withdrawal: Withdrawal, known: Collection[str]) -> None:
    """Add one withdrawal to the list at `path`, atomically; the list is made when it is missing.

    `known` are the ids that may be withdrawn. Raises DatasetError, and writes nothing, for an id that is not among
    them, a reason that is none of `WithdrawalReason`, a record that is not valid, an id that the list holds already,
    and a list that cannot be read.
    """
    Withdrawal.from_json(withdrawal.to_json())
    if withdrawal.item_id not in known:
        raise DatasetError(f"{excerpt(withdrawal.item_id, 200)} is no published item")
    if withdrawal.reason not in set(WithdrawalReason):
        raise DatasetError(f"reason {excerpt(withdrawal.reason)}: not one of {', '.join(WithdrawalReason)}")

    def check(held: bytes) -> None:
        for number, line in enumerate(_lines(held, path.name), start=1):
            if _withdrawal(line, f"{path.name} line {number}").item_id == withdrawal.item_id:
                raise DatasetError(f"{path.name} line {number}: {withdrawal.item_id} is on the list already")

    try:
        append_line(path, json_line(withdrawal.to_json()).encode(), check)
    except DatasetError:
        raise
    except ValueError as error:
        raise DatasetError(str(error)) from None


def _lines(held: bytes, name: str) -> list[str]:
    try:
        return held.decode().split("\n")[:-1]
    except UnicodeDecodeError as error:
        raise DatasetError(f"{name}: not UTF-8 at byte {error.start}") from None


def _withdrawal(line: str, where: str) -> Withdrawal:
    try:
        return Withdrawal.from_json(parse_json(line, where))
    except DatasetError as error:
        raise DatasetError(f"{where}: {error}" if where not in str(error) else str(error)) from None


def scored_rows(dataset: Dataset) -> tuple[ItemRow, ...]:
    """The rows of the scored set, in the data set's order: those that no withdrawal names.

    Raises DatasetError naming the ids that name no row: the set would not be what its list says. (`write_dataset`
    follows corrected ids first and lists the rest in the manifest.)
    """
    withdrawn = {withdrawal.item_id for withdrawal in dataset.withdrawals}
    if unknown := sorted(withdrawn - {row.item_id for row in dataset.rows}):
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        raise DatasetError(f"{dataset.slug}: withdrawn and not published: {', '.join(unknown[:5])}{more}")
    return tuple(row for row in dataset.rows if row.item_id not in withdrawn)


def set_counts(rows: Sequence[ItemRow], withdrawals: Sequence[Withdrawal]) -> Mapping[str, Any]:
    """Items of the published and of the scored set, and what lies between them, for build_stats.json.

    `withdrawals` name published rows, each once.
    """
    return {"published": len(rows), "withdrawn": len(withdrawals), "scored": len(rows) - len(withdrawals)}
