"""The retrieval page: what the mart holds of retrieval runs, as one page that is there only when there are figures.

What belongs here: which tables of the mart the page reads, choosing and joining what it shows. What does not: the
figures themselves (dbt_leaderboard) and running text (templates/rag.html.j2).
Of data sets that may not be redistributed the mart holds aggregates alone, and no question is named here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from opentwbench.apparatus.result import BETWEEN
from opentwbench.board import text
from opentwbench.board.charts import ACCENT, FOURTH, SECOND, THIRD
from opentwbench.board.rendering import Figure, Page
from opentwbench.board.words import Both

Row = Mapping[str, Any]

TABLES = ("rag_metrics", "rag_gold_positions", "rag_position_tests", "rag_open_closed")
"""Tables of the mart that the page shows. One that is not there is shown as if it had no row."""

SECTION, PATH = "rag", "rag.html"
NAME = Both("檢索問答", "Retrieval")
ENTRY = (SECTION, PATH, NAME.zh, NAME.en)
"""In the navigation, when there are figures."""

JUDGED = ("faithfulness", "answer_relevancy", "context_precision", "context_recall")

METRICS = {
    "faithfulness": Both("忠實度", "Faithfulness"),
    "answer_relevancy": Both("切題度", "Answer relevancy"),
    "context_precision": Both("段落精確度", "Context precision"),
    "context_recall": Both("段落召回率", "Context recall"),
    "answer_found": Both("參考答案召回率", "Reference recall"),
    "score": Both("評審 0–4", "Judge 0–4"),
    "recall": Both("證據召回率", "Evidence recall"),
    "f1": Both("F1", "F1"),
}

DATASETS = {
    "tw_rag": Both("tw-rag-bench", "tw-rag-bench"),
    "locomo": Both("LoCoMo（只列彙總）", "LoCoMo (aggregates only)"),
    "syllabusqa": Both("SyllabusQA（只列彙總）", "SyllabusQA (aggregates only)"),
    "qasper": Both("Qasper", "Qasper"),
    "financebench": Both("FinanceBench（只列彙總）", "FinanceBench (aggregates only)"),
}

CHARTS = 6
"""Runs whose positions are drawn; the table holds all."""

X, Y = "@x@", "@y@"
"""Placeholders of axis titles; both languages share a drawing."""

COLOURS = {"faithfulness": ACCENT, "answer_relevancy": SECOND, "context_precision": THIRD, "context_recall": FOURTH}


def has_figures(rag: Mapping[str, Sequence[Row]]) -> bool:
    """Whether there is anything to show."""
    return any(rag.get(name) for name in ("rag_metrics", "rag_open_closed"))


def rag_pages(rag: Mapping[str, Sequence[Row]]) -> list[Page]:
    """The page of these tables' rows; none without figures."""
    if not has_figures(rag):
        return []
    runs = _runs(rag)
    context = {
        "judged": [run for run in runs if run["judging"] == "ragas"],
        "systems": [run for run in runs if run["system"] != "contexts"],
        "found": [run for run in runs if "answer_found" in run["metrics"]],
        "pairs": rag.get("rag_open_closed", ()),
        "positions": [run for run in runs if run["positions"]],
        "figures": _figures([run for run in runs if run["positions"] and run["judging"] == "ragas"]),
        "broken": [],
        "metrics": METRICS,
        "names": JUDGED,
        "datasets": DATASETS,
    }
    about = Both(
        "檢索問答：評審的四項指標與校準誤差、不需評審的正確率、位置偏差，以及各檢索系統。",
        "Retrieval: a judge's four metrics with its calibration error, what needs no judge, position bias, systems.",
    )
    return [Page(PATH, "rag.html.j2", SECTION, NAME, context, about)]


def _runs(rag: Mapping[str, Sequence[Row]]) -> list[dict[str, Any]]:
    """A run with its metrics and what is known of each by position, in the order of data set, system and model."""
    rows: defaultdict[str, dict[str, Row]] = defaultdict(dict)
    for row in rag.get("rag_metrics", ()):
        rows[row["run"]][row["metric"]] = row
    by_place: defaultdict[str, defaultdict[str, dict[int, Row]]] = defaultdict(lambda: defaultdict(dict))
    for row in rag.get("rag_gold_positions", ()):
        by_place[row["run"]][row["metric"]][row["gold_position"]] = row
    tests = {(row["run"], row["metric"]): row for row in rag.get("rag_position_tests", ())}
    made = []
    for run, metrics in rows.items():
        first = next(iter(metrics.values()))
        shared = ("dataset", "system", "model", "judge", "judging", "self_judged", "questions", "judged",
                  "judge_unparsed", "judge_errors", "judge_parse_rate")  # fmt: skip
        positions = [
            {
                "metric": name,
                "places": [by_place[run][name].get(place) for place in range(1, 5)],
                "test": tests.get((run, name)),
            }
            for name in (*JUDGED, "answer_found")
            if name in by_place[run]
        ]
        made.append({"run": run, **{name: first[name] for name in shared}, "metrics": metrics, "positions": positions})
    return sorted(made, key=lambda each: (each["dataset"], each["system"], each["model"], each["judge"], each["run"]))


def _figures(runs: Sequence[Mapping[str, Any]]) -> list[Figure]:
    """A drawing a run: each metric's mean by where the gold stood."""
    return [_figure(run, number) for number, run in enumerate(runs[:CHARTS])]


def _figure(run: Mapping[str, Any], number: int) -> Figure:
    values = [
        {"x": place, "y": round(100 * row["mean"], 2), "metric": _in_one(each["metric"])}
        for each in run["positions"]
        if each["metric"] in COLOURS
        for place, row in enumerate(each["places"], 1)
        if row is not None
    ]
    x = {"field": "x", "type": "ordinal", "title": X, "axis": {"labelAngle": 0}}
    y = {"field": "y", "type": "quantitative", "title": Y, "scale": {"domain": [0, 100]}}
    colour = {
        "field": "metric",
        "type": "nominal",
        "title": None,
        "scale": {"domain": [_in_one(name) for name in COLOURS], "range": list(COLOURS.values())},
    }
    spec = {
        "width": 620,
        "height": 200,
        "data": {"values": values},
        "layer": [
            {"mark": {"type": "line", "strokeWidth": 1.5}, "encoding": {"x": x, "y": y, "color": colour}},
            {"mark": {"type": "point", "size": 44}, "encoding": {"x": x, "y": y, "color": colour}},
        ],
    }
    model, judge = (text.shorten(text.visible(run[name]).replace("\n", " "), 44) for name in ("model", "judge"))
    return Figure(
        f"positions-{number}",
        spec,
        Both(f"{model}，評審 {judge}", f"{model}, judged by {judge}"),
        Both(
            "答案所在段落的位置與四項指標的平均（%）。不受位置影響時，四條線都是水平的。數字見下表。",
            "Where the passage with the answer stood, and the mean of the four metrics (%). Where position does not "
            "matter, all four lines are level. The table below has the figures.",
        ),
        {X: Both("答案所在段落的位置", "Position of the passage with the answer"), Y: Both("平均 (%)", "Mean (%)")},
    )


def _in_one(metric: str) -> str:
    """A name of the legend in both languages, of which the renderer takes one (studies.in_language)."""
    return f"{METRICS[metric].zh}{BETWEEN}{METRICS[metric].en}"
