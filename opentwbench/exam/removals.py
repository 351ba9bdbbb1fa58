"""Why items left a publication: nothing is deleted in silence.

What belongs here: the reason of each item that the published version holds and the next one does not.
What does not: which rows are published (items), the changelog (dataset.versions), where reasons are kept.
Source: the design, section 2 ("vanished rows are named") and section 3 ("Accounting": one named reason).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from opentwbench.dataset.contract import ItemRow
from opentwbench.exam.index import RowChange
from opentwbench.exam.items import FOLDED, PUBLISHED, PrintedItem
from opentwbench.exam.model import Exclusion, PaperRecord


class RemovalReason(StrEnum):
    """Why an item left. Closed; the first that holds, in this order."""

    FOLDED = "folded"
    """It is a reprint of another item now; `detail` is that item's id."""
    EXCLUDED = "excluded"
    """Still printed, but a rule takes it out; `detail` is its bucket."""
    RETEXTED = "retexted"
    """The same printed question reads otherwise now; `detail` is its new id."""
    ROW_GONE = "row_gone"
    """Its index row vanished, is refused, or belongs to another subject; `detail` is what the index's history says."""
    PAPER_REJECTED = "paper_rejected"
    """Its paper is rejected; `detail` is the reason."""
    NOT_PRINTED = "not_printed"
    """Its paper is accepted and prints no such question any more."""


DECIDED: frozenset[Exclusion] = frozenset(
    {
        Exclusion.MULTI_SELECT,
        Exclusion.VOIDED,
        Exclusion.CREDITED_UNLESS_BLANK,
        Exclusion.SEVERAL_ANSWERS_ACCEPTED,
        Exclusion.IN_LEGAL_BENCHMARK_V2,
        Exclusion.IN_TMMLU_PLUS,
        Exclusion.MAINTAINER_EXCLUDED,
    }
)
"""Exclusions that somebody decided: the ministry by a corrected key, or a maintainer by a list. The others are ours."""


@dataclass(frozen=True, slots=True)
class Removal:
    """One item that left: what it was, in which version it was last, and why."""

    item_id: str
    paper_id: str
    q_no: int
    last_version: str
    reason: RemovalReason
    detail: str

    @property
    def is_undecided(self) -> bool:
        """True when nobody took the item out and no other stands in its place: a person should look why it leaves."""
        if self.reason is RemovalReason.EXCLUDED:
            return self.detail not in DECIDED
        return self.reason not in (RemovalReason.FOLDED, RemovalReason.RETEXTED)

    def to_json(self) -> dict[str, Any]:
        """The line as it is stored."""
        return asdict(self)

    def __str__(self) -> str:
        where = f"{self.item_id} ({self.paper_id} question {self.q_no})"
        return f"{where}: {self.reason}" + (f": {self.detail}" if self.detail else "")


def removals(
    before: Iterable[ItemRow],
    last_version: str,
    items: Iterable[PrintedItem],
    papers: Mapping[str, PaperRecord],
    gone: Mapping[str, RowChange],
) -> list[Removal]:
    """The reason of every row of `before` that `items` (all printed questions now) do not publish, in order of ids.

    `papers` holds the parse record of every row that the subject still has, by paper id; `gone` what the history of the
    index last said of a paper.
    """
    now = list(items)
    published = {item.item_id for item in now if item.bucket == PUBLISHED}
    by_id: dict[str, PrintedItem] = {}
    for item in now:
        by_id.setdefault(item.item_id, item)
    at = {(item.paper_id, item.q_no): item for item in now}
    lost = sorted((row for row in before if row.item_id not in published), key=lambda row: row.item_id)
    return [_removal(row, last_version, by_id.get(row.item_id), at, papers, gone) for row in lost]


def _removal(
    row: ItemRow,
    last_version: str,
    item: PrintedItem | None,
    at: Mapping[tuple[str, int], PrintedItem],
    papers: Mapping[str, PaperRecord],
    gone: Mapping[str, RowChange],
) -> Removal:
    def because(reason: RemovalReason, detail: str) -> Removal:
        return Removal(row.item_id, row.paper_id, row.q_no, last_version, reason, detail)

    if item is not None:
        folded = item.bucket == FOLDED
        return because(*((RemovalReason.FOLDED, item.folded_into) if folded else (RemovalReason.EXCLUDED, item.bucket)))
    if (row.paper_id, row.q_no) in at:
        return because(RemovalReason.RETEXTED, at[row.paper_id, row.q_no].item_id)
    record = papers.get(row.paper_id)
    if record is None:
        change = gone.get(row.paper_id)
        return because(RemovalReason.ROW_GONE, f"{change.change}: {change.detail}".rstrip(": ") if change else "")
    if not record.accepted:
        reason = record.reason.value if record.reason else ""
        return because(RemovalReason.PAPER_REJECTED, f"{reason}: {record.detail}".strip(": "))
    return because(RemovalReason.NOT_PRINTED, "")
