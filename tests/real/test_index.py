"""The index of the real mirror, row by row, and every one of its files through the mirror source."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from opentwbench.exam.index import first_key_url, read_index

pytestmark = pytest.mark.real


def test_the_real_index_is_read_without_a_refusal(ministry: Path) -> None:
    data = (ministry / "index.csv").read_bytes()
    index = read_index(data, "index.csv")
    with (ministry / "index.csv").open(encoding="utf-8-sig", newline="") as file:
        plain = list(csv.DictReader(file))
    assert (len(index.rows), len(index.keyed()), index.problems) == (467, 408, ())
    assert index.counts() == {
        "測驗題": {"with_key": 151, "without_key": 0},
        "申論題": {"with_key": 0, "without_key": 59},
        "混合題": {"with_key": 257, "without_key": 0},
        "實地考試": {"with_key": 0, "without_key": 0},
    }
    assert [row.question_url for row in index.rows] == [row["試題網址"] for row in plain]
    assert index.years_roc() == tuple(range(100, 115))
    corrected = [row for row in index.rows if row.has_corrected_key]
    assert len(corrected) == 113
    assert all(first_key_url(row) for row in corrected)
