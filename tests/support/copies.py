"""Printed copies, made by hand: index rows, paper items and parse records for tests of grouping and accounting."""

from __future__ import annotations

from collections.abc import Sequence

from opentwbench.exam.dedupe import Copy
from opentwbench.exam.model import (
    Declared,
    Exclusion,
    IndexRow,
    PaperItem,
    PaperKind,
    PaperRecord,
    RejectionReason,
)

STEM = "下列何者為直轄市？"
TEXTS = ("臺北市", "新竹市", "嘉義市", "基隆市")


def row(year: int = 110, exam: str = "", category: str = "101", subject_code: str = "0101", **fields: str) -> IndexRow:
    """One index row; its paper id is exam-category-subject_code, the exam code starts with the year."""
    values = {
        "exam_name": f"{year}年公務人員特種考試",
        "level": "三等考試",
        "category": "行政警察人員",
        "subject_name": "中華民國憲法",
        **fields,
    }
    return IndexRow(
        year_roc=year,
        exam_code=exam or f"{year}030",
        level_code="",
        exam_and_level="三等考試",
        category_code=category,
        session="01",
        kind=PaperKind.MULTIPLE_CHOICE,
        question_url="",
        key_url="",
        remark="",
        subject_code=subject_code,
        **values,
    )


def item(
    q_no: int = 1,
    stem: str = STEM,
    texts: Sequence[str] = TEXTS,
    key: str | None = "A",
    exclusions: tuple[Exclusion, ...] = (),
) -> PaperItem:
    """One question of an accepted paper."""
    return PaperItem(
        q_no=q_no,
        question=stem,
        options=dict(zip("ABCDE", texts, strict=False)),
        key=key,
        accepted=(key,) if key else (),
        exclusions=exclusions,
        page=1,
    )


def copy(of: PaperItem | None = None, on: IndexRow | None = None, pdf: str = "") -> Copy:
    """One printed copy; each row has its own question PDF unless `pdf` says otherwise."""
    on = on or row()
    return Copy(on, pdf or f"pdf-{on.paper_id}", f"key-{on.paper_id}", of or item())


def accepted(*items: PaperItem) -> PaperRecord:
    """The parse record of an accepted paper."""
    return PaperRecord("Q.pdf", "M.pdf", "accepted", None, "", Declared(len(items), 0), len(items), items)


def rejected(reason: RejectionReason | None = RejectionReason.COUNT_MISMATCH) -> PaperRecord:
    """The parse record of a rejected paper."""
    return PaperRecord("Q.pdf", "M.pdf", "rejected", reason, "declared 50, found 49", Declared(50, 0), 49, ())
