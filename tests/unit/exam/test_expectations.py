"""Sittings that a year should have are named when it should have them, and never before."""

from __future__ import annotations

from datetime import date

import pytest

from opentwbench.exam.expectations import missing_sittings, sitting_name
from opentwbench.exam.model import IndexRow, PaperKind


def row(year: int, name: str) -> IndexRow:
    kind, words = PaperKind.MULTIPLE_CHOICE, ("101", "類科", "", "科目")
    return IndexRow(year, f"{year}801", name, "", "", "", *words, kind, "", "", "")


def rows(**years: tuple[int, ...]) -> list[IndexRow]:
    return [row(year, f"{year}年{name}") for name, held in years.items() for year in held]


FULL = rows(初等考試=(110, 111, 112), 高等考試=(110, 111, 112, 113), 舊考試=(108, 109, 110), 新考試=(111, 112))


def words(today: date, index: list[IndexRow] = FULL) -> list[str]:
    return [each.words() for each in missing_sittings(index, today)]


def test_a_sitting_of_three_years_is_missed_in_the_fourth_and_not_before_its_papers_are_due() -> None:
    assert words(date(2025, 2, 28)) == []
    assert words(date(2025, 3, 1)) == ["113 (2024): 初等考試"]
    # It ended, or was renamed: the year after, three years in a row no longer name it.
    assert words(date(2026, 3, 1), [*FULL, row(114, "114年高等考試")]) == []


def test_a_year_without_any_paper_is_missed_from_july_on() -> None:
    assert "114 (2025): no paper at all is in the index" not in words(date(2025, 6, 30))
    assert words(date(2025, 7, 1))[0] == "114 (2025): no paper at all is in the index"
    assert words(date(2026, 3, 1))[0] == "114 (2025): no paper at all is in the index"


def test_a_whole_index_misses_nothing_and_an_empty_one_says_nothing() -> None:
    whole = rows(初等考試=tuple(range(105, 115)), 高等考試=tuple(range(105, 115)))
    for month in range(1, 13):
        assert words(date(2025, month, 1), whole) == []
    assert words(date(2025, 12, 1), []) == []


@pytest.mark.parametrize(
    "name", ["110年初等考試", "中華民國110年初等考試", " 110 年度初等考試 ", "初等考試", "99年初等考試"]
)
def test_the_year_is_no_part_of_a_name(name: str) -> None:
    assert sitting_name(name) == "初等考試"
