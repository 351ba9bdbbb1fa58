"""The interval of a judge's mean: never of no width, and inside what a metric can be."""

from __future__ import annotations

import pytest

from opentwbench.rag.model import Judged, Question
from opentwbench.rag.ragas import METRICS, RagasVerdict
from opentwbench.rag.ragas_figures import JudgedAnswer, ragas_figures
from opentwbench.statistics.intervals import mean_interval

OFFERED = ("w1", "w2", "w3", "w4")


def answers(*values: float) -> list[JudgedAnswer]:
    """Answers of which all four metrics have this value."""
    return [
        JudgedAnswer(
            Question(f"q{n}", "w1", "何者？", "何者？", ("甲",), (), "made", OFFERED, "甲"),
            "甲",
            RagasVerdict(Judged.SCORED, dict.fromkeys(METRICS, value)),
            offered=True,
        )
        for n, value in enumerate(values)
    ]


@pytest.mark.parametrize("values", [(1.0, 1.0, 1.0), (0.0, 0.0), (0.25,), (0.2, 0.4, 0.9)])
def test_a_mean_has_an_interval_with_a_width_within_the_metric(values: tuple[float, ...]) -> None:
    made = ragas_figures(answers(*values))
    expected = mean_interval(values)
    for name in METRICS:
        found = made["metrics"][name]
        assert found["n"] == len(values)
        assert (found["low"], found["high"]) == (expected.low, expected.high)
        assert 0 <= found["low"] < found["high"] <= 1 and found["low"] <= found["mean"] <= found["high"]
    error = made["context_precision"]
    assert (error["low"], error["high"]) == pytest.approx((expected.low - 0.25, expected.high - 0.25))


def test_three_of_three_are_not_certain() -> None:
    found = ragas_figures(answers(1.0, 1.0, 1.0))["metrics"][METRICS[0]]
    assert (found["low"], found["high"]) == (pytest.approx(0.4385, abs=1e-4), 1.0)


def test_no_verdict_has_no_interval() -> None:
    found = ragas_figures([])["metrics"][METRICS[0]]
    assert (found["mean"], found["n"], found["low"], found["high"]) == (None, 0, None, None)
