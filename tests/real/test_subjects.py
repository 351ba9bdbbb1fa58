"""The name rule on the real index: what it finds, what an exact match would, and what stays without a subject."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from opentwbench.exam.index import read_index
from opentwbench.exam.subjects import assign, exact_match

pytestmark = pytest.mark.real

NO_SUBJECT = {
    # head -> index rows. No subject of the registry is examined under these names.
    "外國文": 62,
    "綜合法學": 56,
    "系統分析及設計與資料庫應用概要": 3,
}


def test_every_keyed_row_is_assigned_or_named(ministry: Path) -> None:
    rows = read_index((ministry / "index.csv").read_bytes(), "index.csv").keyed()
    found = [assign(row.subject_name) for row in rows]
    how = Counter(each.how for each in found)
    unassigned = Counter(each.head for each in found if each.subject is None)
    print(f"{len(rows)} keyed rows: {how['full']} by full name, {how['head']} by head, {how[None]} without a subject")
    for head, count in unassigned.most_common():
        print(f"  {count:4} {head}")
    assert len(rows) == 408
    assert sum(exact_match(row.subject_name) is not None for row in rows) == 38
    assert (how["full"], how["head"], how[None]) == (38, 249, 121)
    assert unassigned == NO_SUBJECT
