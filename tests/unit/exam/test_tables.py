"""Tables for the asset pages: bounded, escaped, and bars that say what the counts say."""

from __future__ import annotations

import re

import pytest

from opentwbench.exam.tables import BAR_WIDTH, MAX_ROWS, bar, bar_chart, table


@pytest.mark.parametrize(
    ("share", "length"), [(0.0, 0), (1.0, BAR_WIDTH), (0.5, BAR_WIDTH // 2), (2.0, BAR_WIDTH), (-1.0, 0), (0.001, 0)]
)
def test_bar_is_as_long_as_its_share(share: float, length: int) -> None:
    assert len(bar(share)) == length


def test_bar_chart_scales_to_the_largest_and_names_the_shares() -> None:
    lines = bar_chart({"A": 30, "B": 10, "C": 0}).split("\n")[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [each[1] for each in cells] == ["30", "10", "0"]
    assert [len(each[3]) for each in cells] == [BAR_WIDTH, BAR_WIDTH // 3, 0]
    assert cells[0][2].startswith("75")


def test_bar_chart_of_nothing_has_no_share() -> None:
    assert "%" not in bar_chart({"A": 0})
    assert bar_chart({}) == "無 · none"


@pytest.mark.parametrize("hostile", ["a|b", "a\nb", "<script>alert(1)</script>", "[x](http://e.org)", "![](x)", "`x`"])
def test_outside_text_stays_one_inert_cell(hostile: str) -> None:
    (line,) = table(("h",), [(hostile,)]).split("\n")[2:]
    bare = re.sub(r"\\.", "", line)  # what a backslash takes the meaning from
    assert bare.count("|") == 2
    assert not set("<[]`") & set(bare)


def test_a_long_table_is_cut_and_says_so() -> None:
    shown = table(("n",), ((n,) for n in range(MAX_ROWS + 5)))
    assert "5 more rows are not shown" in shown
    assert len([line for line in shown.split("\n") if line.startswith("|")]) == MAX_ROWS + 2
