"""Rows of the mart's retrieval tables, invented, and the page that they make."""

from __future__ import annotations

from typing import Any

from opentwbench.board.charts import Drawer
from opentwbench.board.pages import NAVIGATION
from opentwbench.board.rag_page import ENTRY, JUDGED, rag_pages
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
    """The page in a language."""
    (page,) = rag_pages(rag)
    common = {
        "navigation": (*NAVIGATION, ENTRY), "digest": "d" * 64, "latest": "2026-11-30", "sample": False, "mixed": False,
        "links": Links(),
    }  # fmt: skip
    return Renderer(lang, Drawer(), common).render(page).decode()
