"""The retrieval page: there only with figures, every table with its figures, nothing of a run's names acts."""

from __future__ import annotations

from typing import Any

import pytest
from markupsafe import Markup
from support.rag_board import render, tables

from opentwbench.board.rag_page import CHARTS, TABLES, has_figures, rag_pages


@pytest.mark.parametrize(
    "rag", [{}, {name: [] for name in TABLES}, {"rag_position_tests": tables()["rag_position_tests"]}]
)
def test_without_figures_there_is_no_page(rag: dict[str, list[dict[str, Any]]]) -> None:
    assert not has_figures(rag) and rag_pages(rag) == []


@pytest.mark.parametrize(
    ("lang", "words"),
    [
        ("zh", ["段落精確度", "校準誤差", "位置偏差", "McNemar 精確檢定", "只列彙總", "自評", "答案所在段落的位置"]),
        ("en", ["Context precision", "Calibration error", "Position bias", "McNemar’s exact test", "aggregates only",
                "self-judged", "Position of the passage with the answer"]),
    ],
)  # fmt: skip
def test_every_figure_stands_with_its_interval_n_and_record(lang: str, words: list[str]) -> None:
    made = render(tables(), lang)
    assert [word for word in words if word not in made] == []
    shown = ["31.0", "29.0–33.0", "+6.0", "+4.0", "+8.0", "n = 57", "96.6"]  # context precision, its error, the judge
    shown += ["88.0", "73.3", "61.0–83.0", "+23.3", "0.009", "23.40", "&lt;0.001", "12.5", "22.2", "2.40", "0.00–4.00"]
    assert [figure for figure in shown if figure not in made] == []
    assert made.count("<caption>") == 5 and made.count('<svg class="chart"') == 1
    assert made.count("<h1>") == 1 and ">None" not in made and ">nan" not in made


def test_a_table_that_the_mart_lacks_leaves_its_part_out() -> None:
    whole = tables()
    assert "rag-positions" not in render({**whole, "rag_gold_positions": [], "rag_position_tests": []}, "en")
    pairs = render({"rag_open_closed": whole["rag_open_closed"]}, "en")
    assert "rag-pairs" in pairs and "rag-judged" not in pairs and "rag-systems" not in pairs
    untested = render({name: rows for name, rows in whole.items() if name != "rag_position_tests"}, "en")
    assert "rag-positions" in untested and "23.40" not in untested


def test_names_from_outside_do_nothing_and_charts_are_bounded() -> None:
    hostile = "<script>alert(1)</script>\u202e"
    made = render(tables(model=hostile, judge=hostile), "en")
    assert "<script>alert" not in made and "\u202e" not in made and "U+202E" in made
    many: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    for n in range(CHARTS + 3):
        for name, rows in tables(f"tw_rag-contexts-{n}").items():
            many[name] += rows if n == 0 or name != "rag_open_closed" else []
    many["rag_metrics"] = list({(row["run"], row["metric"]): row for row in many["rag_metrics"]}.values())
    (page,) = rag_pages(many)
    assert len(page.context["figures"]) == CHARTS
    assert Markup(render(many, "zh")).count('<svg class="chart"') == CHARTS
