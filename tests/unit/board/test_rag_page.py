"""The retrieval page: there only with figures, every table with its figures, nothing of a run's names acts."""

from __future__ import annotations

from typing import Any

import pytest
from markupsafe import Markup

from opentwbench.board.charts import Drawer
from opentwbench.board.pages import NAVIGATION
from opentwbench.board.rag_page import CHARTS, ENTRY, JUDGED, TABLES, has_figures, rag_pages
from opentwbench.board.rendering import Links, Renderer

MEANS = {"faithfulness": 0.9, "answer_relevancy": 0.8, "context_precision": 0.31, "context_recall": 0.95}


def metric(run: str, name: str, mean: float, **changes: Any) -> dict[str, Any]:
    """A row of rag_metrics."""
    return {
        "run": run, "dataset": "tw_rag", "system": "contexts", "model": "maker/m", "judge": "maker/j",
        "judging": "ragas", "self_judged": False, "metric": name, "n": 57, "mean": mean, "mean_low": mean - 0.02,
        "mean_high": mean + 0.02, "calibration_error": mean - 0.25 if name == "context_precision" else None,
        "questions": 60, "judged": 57, "judge_unparsed": 2, "judge_errors": 1, "judge_parse_rate": 57 / 59, **changes,
    }  # fmt: skip


def tables(run: str = "tw_rag-contexts-1", **changes: Any) -> dict[str, list[dict[str, Any]]]:
    """One judged run with positions, one system over a public data set, one pair of open and closed."""
    other = {"dataset": "financebench", "system": "bm25", "judging": "score", "self_judged": True, "model": "maker/k"}
    judged = [metric(run, name, mean, **changes) for name, mean in MEANS.items()]
    # The interval of a mean over few answers reaches beyond the judge's scale; the page does not show that part.
    scored = [metric("financebench-bm25-2", name, mean, **other) for name, mean in (("recall", 0.125), ("f1", 0.222))]
    scored.append(metric("financebench-bm25-2", "score", 2.4, **other, mean_low=-0.19, mean_high=4.2))
    places = [
        {"run": run, "model": "maker/m", "judge": "maker/j", "gold_position": place, "metric": name,
         "n": 15, "mean": MEANS[name] - place / 100}
        for name in JUDGED
        for place in range(1, 5)
    ]  # fmt: skip
    test = {"run": run, "metric": "context_precision", "positions": 4, "n": 57, "h": 23.4, "degrees": 3, "p": 0.00003}
    pair = {
        "model": "maker/m", "protocol_id": "box-1", "open_run": "o", "closed_run": "c", "n": 60, "open_hits": 44,
        "open_accuracy": 0.7333, "open_accuracy_low": 0.61, "open_accuracy_high": 0.83, "closed_hits": 30,
        "closed_accuracy": 0.5, "closed_accuracy_low": 0.38, "closed_accuracy_high": 0.62, "gain": 0.2333,
        "only_open": 20, "only_closed": 6, "discordant": 26, "mcnemar_exact_p": 0.0094,
    }  # fmt: skip
    found = metric(run, "answer_found", 0.88, **changes)
    return {
        "rag_metrics": [*judged, found, *scored],
        "rag_gold_positions": places,
        "rag_position_tests": [test],
        "rag_open_closed": [pair],
    }


def render(rag: dict[str, list[dict[str, Any]]], lang: str) -> str:
    (page,) = rag_pages(rag)
    common = {
        "navigation": (*NAVIGATION, ENTRY), "digest": "d" * 64, "latest": "2026-11-30", "sample": False, "mixed": False,
        "links": Links(),
    }  # fmt: skip
    return Renderer(lang, Drawer(), common).render(page).decode()


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
