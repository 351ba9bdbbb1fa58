"""Data sets for the tests of the data-set package, made by the project: no text of a real paper."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from opentwbench.dataset.contract import ItemRow
from opentwbench.dataset.model import (
    BuildStats,
    Dataset,
    DuplicateFigures,
    KeyFigures,
    ListFigures,
    PaperFigures,
    QuestionFigures,
)
from opentwbench.dataset.validators import CompareRows, RowComparison

LETTERS = "ABCD"

HOSTILE = (
    "None",
    "null",
    "NA",
    "N/A",
    "nan",
    "NaN",
    "001",
    "1e5",
    "-0",
    "TRUE",
    "=1+1",
    "+SUM(A1)",
    "@cmd",
    '"',
    '""',
    "'",
    ",",
    ";",
    "a,b",
    'he said "no", then left',
    "first line\nsecond line",
    "\n",
    "ends in a line feed\n",
    " spaces around ",
    "\u202eright to left\u202c",
    "\u200bzero width",
    "\u2066isolated\u2069",
    "\ufeffmark",
    "|",
    "a|b",
    "`code`",
    "<script>alert(1)</script>",
    "{{ 7*7 }}",
    "{% raw %}",
    "---",
    "# heading",
    "\\",
    "\\n",
    "\\N",
    "😀",
    "𠮷",
    "長" * 10_000,
    "#",
    "%",
    "~",
    "null,null",
    "[]",
    "{}",
)
"""Texts that loaders, tables and templates trip over. Each is a lawful option text unless it is white space alone."""


def make_id(n: int, key: str = "sample-subject") -> str:
    return f"{key}-{hashlib.sha256(str(n).encode()).hexdigest()[:12]}"


def make_row(n: int, **changes: object) -> ItemRow:
    """Row number n of a sound set: distinct texts, the key moving through the letters."""
    year = 100 + n % 12
    row = ItemRow(
        question=f"第 {n} 題範例：下列何者為編號 {n} 的正確敘述？",
        A=f"敘述甲{n}",
        B=f"敘述乙{n}",
        C=f"敘述丙{n}",
        D=f"敘述丁{n}",
        answer=LETTERS[n % 4],
        subject="範例科目",
        subject_group="範例類科甲" if n % 3 else "範例類科乙",
        exam_level="三等考試" if n % 2 else "四等考試",
        exam_name="範例考試",
        year_roc=year,
        year_ce=year + 1911,
        q_no=n % 50 + 1,
        paper_id=f"{year}030-101-{n // 50:04d}",
        n_source_papers=1 + (n % 7 == 0),
        item_id=make_id(n),
    )
    return replace(row, **changes)  # type: ignore[arg-type]


def hostile_rows() -> list[ItemRow]:
    """One row for each hostile text, which stands as stem and as an option, and in the descriptive columns."""
    texts = [text for text in HOSTILE if text.strip()]
    return [
        make_row(
            n, question=f"{text}？" if n % 2 else text, A=text, subject_group=text, exam_level=text, exam_name=text
        )
        for n, text in enumerate(texts)
    ]


def make_stats(rows: int, **changes: object) -> BuildStats:
    """Figures that close for a set of `rows` published items."""
    stats = BuildStats(
        papers=PaperFigures(index_rows=12, accepted=10, rejected={"no_text_layer": 2}, distinct_pdfs=9),
        questions=QuestionFigures(
            printed=rows + 20, published=rows, folded=8, excluded={"multi_select": 5, "figure": 7}
        ),
        keys=KeyFigures(groups=8, agreeing=7, independent_groups=5, independent_agreeing=4),
        duplicates=DuplicateFigures(same_stem_groups=1, shared_with_other_subjects=3),
        exclusion_lists={"in_tmmlu_plus": ListFigures(True, 22_000), "in_legal_benchmark_v2": ListFigures(False)},
    )
    return replace(stats, **changes)  # type: ignore[arg-type]


def make_dataset(rows: list[ItemRow], **changes: object) -> Dataset:
    dataset = Dataset(
        slug="tw-sample-subject-bench",
        name_zh="範例科目",
        name_en="Sample Subject",
        field="samples",
        rows=tuple(rows),
        stats=make_stats(len(rows)),
        code_version="test-1",
    )
    return replace(dataset, **changes)  # type: ignore[arg-type]


def same_as(expected: Sequence[ItemRow]) -> CompareRows:
    """A comparison with records that say exactly these rows."""
    known = {row.item_id: row for row in expected}

    def compare(rows: Sequence[ItemRow]) -> RowComparison:
        changed = [row.item_id for row in rows if known.get(row.item_id) != row]
        lost = sorted(known.keys() - {row.item_id for row in rows})
        return RowComparison({"rows": len(rows)}, (*changed, *lost))

    return compare
