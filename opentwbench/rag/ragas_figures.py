"""Means of the four metrics, each with its count and the judge's parse rate; position bias; what needs no judge.

What belongs here: pure functions of questions with their verdicts. What does not: reading replies (ragas.py).
A mean is over verdicts alone: errors and replies without a verdict are counted beside it and never in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opentwbench.formosa.folding import stands_in
from opentwbench.rag.metrics import mean
from opentwbench.rag.model import Judged, Question
from opentwbench.rag.ragas import METRICS, RagasVerdict, Scores
from opentwbench.statistics.intervals import mean_interval, wilson
from opentwbench.statistics.kruskal import kruskal_wallis

PRECISION_TARGET = 0.25
"""What context precision is when a judge sees that one of four contexts is relevant. It is no target of the ragas
library's metric of that name, which is rank-aware: 1/p for one relevant context at position p."""


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """One question with its answer and verdict. `offered` is whether the data set's own contexts were shown."""

    question: Question
    answer: str | None
    verdict: RagasVerdict
    offered: bool

    @property
    def gold_position(self) -> int | None:
        """Where the gold stands among the data set's contexts, from 1; None when others were shown."""
        if not self.offered or self.question.doc_id not in self.question.offered:
            return None
        return self.question.offered.index(self.question.doc_id) + 1


def ragas_figures(answers: Sequence[JudgedAnswer]) -> dict[str, Any]:
    """The section `ragas` of a report."""
    verdicts = [each.verdict for each in answers]
    by = {kind.value: sum(verdict.judged is kind for verdict in verdicts) for kind in Judged}
    replied = by[Judged.SCORED] + by[Judged.UNPARSED]
    parse_rate = by[Judged.SCORED] / replied if replied else None
    scores = [verdict.scores for verdict in verdicts if verdict.scores is not None]
    return {
        "judge": {**by, "parse_rate": parse_rate},
        "metrics": {name: {**_mean(scores, name), "judge_parse_rate": parse_rate} for name in METRICS},
        "context_precision": _calibration(answers),
        "by_gold_position": _by_position(answers),
        "position_test": _position_test(answers),
        "twinkle": _twinkle(verdicts),
        "without_a_judge": {"reference_recall": _recall(answers)},
    }


def _mean(scores: Iterable[Scores], name: str) -> dict[str, float | int | None]:
    """Mean with its 95 % interval (intervals.mean_interval: never of no width); no value has no interval."""
    values = [each[name] for each in scores]
    centre, n = mean(values), len(values)
    if centre is None:
        return {"mean": centre, "n": n, "low": None, "high": None}
    interval = mean_interval(values)
    return {"mean": centre, "n": n, "low": interval.low, "high": interval.high}


def _calibration(answers: Iterable[JudgedAnswer]) -> dict[str, float | int | None] | None:
    """How far the judge's context precision is from what it must be; None when other contexts were shown."""
    own = [each.verdict.scores for each in answers if each.offered and each.verdict.scores is not None]
    if not own:
        return None
    found = _mean(own, "context_precision")
    error = {name: None if value is None else value - PRECISION_TARGET for name, value in found.items() if name != "n"}
    exact = sum(math.isclose(each["context_precision"], PRECISION_TARGET) for each in own)
    return {
        "target": PRECISION_TARGET, "error": error["mean"], "low": error["low"], "high": error["high"],
        "exactly_on_target": exact, "n": len(own),
    }  # fmt: skip


def _positions(answers: Iterable[JudgedAnswer]) -> dict[int, list[Scores]]:
    groups: dict[int, list[Scores]] = {}
    for each in answers:
        if each.gold_position is not None and each.verdict.scores is not None:
            groups.setdefault(each.gold_position, []).append(each.verdict.scores)
    return dict(sorted(groups.items()))


def _by_position(answers: Iterable[JudgedAnswer]) -> dict[str, dict[str, Any]]:
    groups = _positions(answers)
    return {
        str(place): {"n": len(held), **{m: _mean(held, m)["mean"] for m in METRICS}} for place, held in groups.items()
    }


def _position_test(answers: Iterable[JudgedAnswer]) -> dict[str, dict[str, float] | None]:
    """Kruskal-Wallis over the positions, a metric at a time; None where there is nothing to test."""
    groups = _positions(answers)
    found = {name: kruskal_wallis([[each[name] for each in held] for held in groups.values()]) for name in METRICS}
    return {name: None if each is None else {"h": each.statistic, "p": each.p} for name, each in found.items()}


def _twinkle(verdicts: Sequence[RagasVerdict]) -> dict[str, Any]:
    """The same replies as Twinkle reads them: its accuracy is the share whose four metrics have a mean of 0.5 or more.

    Unparsed ones stay in its denominator; a crash loses its file.
    """
    asked = [verdict for verdict in verdicts if verdict.judged in (Judged.SCORED, Judged.UNPARSED)]
    read = [verdict.twinkle for verdict in asked if verdict.twinkle is not None]
    right = sum(math.fsum(each.values()) / len(METRICS) >= 0.5 for each in read)
    return {
        "asked": len(asked),
        "parsed": len(read),
        "crashes": sum(verdict.crash for verdict in asked),
        "accuracy": right / len(asked) if asked else None,
        **{name: mean(each[name] for each in read) for name in METRICS},
    }


def _recall(answers: Iterable[JudgedAnswer]) -> dict[str, float | int | None]:
    """Share of the answers in which the keyed answer stands under folding; no judge has a part in it."""
    given = [each for each in answers if each.answer is not None and each.question.keyed]
    hits = sum(stands_in(each.question.keyed, each.answer or "") for each in given)
    interval = wilson(hits, len(given))
    share = hits / len(given) if given else None
    return {"value": share, "n": len(given), "low": interval.low, "high": interval.high}


def as_markdown(section: Mapping[str, Any], shown: Callable[[float | None], str]) -> list[str]:
    """The section as lines of Markdown."""
    judge, calibration = section["judge"], section["context_precision"]
    lines = ["", f"| metric | mean (n) | 95 % | judge's parse rate | {_heads(section)}position test p |"]
    lines.append("|---" * (5 + len(section["by_gold_position"])) + "|")
    for name, each in section["metrics"].items():
        test = section["position_test"][name]
        cells = "".join(f"{shown(group[name])} ({group['n']}) | " for group in section["by_gold_position"].values())
        lines.append(
            f"| {name} | {shown(each['mean'])} ({each['n']}) | {shown(each['low'])} to {shown(each['high'])} "
            f"| {shown(each['judge_parse_rate'])} | {cells}{shown(test['p'] if test else None)} |"
        )
    lines += [
        "",
        f"Judge: {judge['scored']} verdicts, {judge['unparsed']} without the four metrics, {judge['error']} errors, "
        f"{judge['no_answer']} answers that were not there. None of these is in a mean.",
    ]
    if calibration:
        lines.append(
            f"Context precision must be 1/4: the judge is off by {shown(calibration['error'])} "
            f"({shown(calibration['low'])} to {shown(calibration['high'])}), and exact on "
            f"{calibration['exactly_on_target']} of {calibration['n']}. It is no rank-aware precision (ragas library)."
        )
    recall, twinkle = section["without_a_judge"]["reference_recall"], section["twinkle"]
    lines.append(
        f"Without a judge: the keyed answer stands in {shown(recall['value'])} of {recall['n']} answers "
        f"({shown(recall['low'])} to {shown(recall['high'])})."
    )
    lines.append(
        f"As Twinkle Eval reads the same replies: {twinkle['parsed']} of {twinkle['asked']} parsed, accuracy "
        f"{shown(twinkle['accuracy'])}, {twinkle['crashes']} replies that end its file."
    )
    return lines


def _heads(section: Mapping[str, Any]) -> str:
    return "".join(f"gold at {place} (n) | " for place in section["by_gold_position"])
