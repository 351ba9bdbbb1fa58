"""The four metrics of a judge's reply: read strictly for our figures, and as Twinkle Eval reads them for comparison.

Strictly: one JSON object of exactly the four metrics, numbers from 0 to 1 (a closed thought before it and one code
fence around it are the model's habit). Everything else is unparsed, asked again, counted, and never averaged in.
Twinkle's `ragas` mode (2.10.0) is more tolerant: first object anywhere, numbers in texts, values clamped to 0..1, NaN
and infinity taken for 1; a reply that is JSON and no object ends its whole file. Reproduced so that results can be
compared; source: facts on Twinkle Eval, and its recorded extractor (tests/real/test_rag_real.py).
What belongs here: reading replies. What does not: the prompt (tw_rag/standalone_judge_set.py), asking (stages.py),
means (ragas_figures.py).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opentwbench.evaluation.model import Response
from opentwbench.evaluation.twinkle_reading import read_text
from opentwbench.rag.judging import reply_object
from opentwbench.rag.model import Judged
from opentwbench.rag.tw_rag.standalone_judge_set import METRICS, judge_prompt

__all__ = ["METRICS", "Crash", "RagasVerdict", "judge_prompt", "read_like_twinkle", "read_scores", "verdict_of"]

Scores = Mapping[str, float]
"""Metric -> 0 to 1, all four."""


class Crash(Exception):
    """Twinkle's extractor would raise on this reply, and its whole file would be lost."""


def read_scores(content: str | None) -> Scores | None:
    """The four metrics of a reply; None for anything but the form asked for."""
    record = reply_object(content)
    if record is None or record.keys() != set(METRICS):
        return None
    values = {name: record[name] for name in METRICS}
    if any(type(value) not in (int, float) or not 0 <= value <= 1 for value in values.values()):
        return None
    return {name: float(value) for name, value in values.items()}


_FENCED = re.compile(r"```(?:json)?\s*(\{.*?\})\s*```", re.DOTALL)
_GROUP = re.compile(r"\{[^{}]*\}")


def read_like_twinkle(
    content: str | None, reasoning: str | None = None, reasoning_content: str | None = None
) -> Scores | None:
    """The metrics that Twinkle's evaluator reads in a reply; None when it reads none. Raises Crash where it raises."""
    text = read_text(content, reasoning, reasoning_content)
    if not text:
        return None
    found = _first_value(text.strip())
    if found is None:
        return None
    if not isinstance(found, dict):
        raise Crash(type(found).__name__)
    scores = {}
    for name in METRICS:
        value = found.get(name)
        try:
            number = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return None
        except OverflowError:
            raise Crash("a number that no float holds") from None
        scores[name] = 1.0 if math.isnan(number) else max(0.0, min(1.0, number))
    return scores


def _first_value(text: str) -> object:
    """The whole text, else the first fenced object, else the first braces without braces in them, as JSON; or None."""
    for candidate in (text, _held(_FENCED, text, 1), _held(_GROUP, text, 0)):
        if candidate is None:
            continue
        try:
            value: object = json.loads(candidate)
        except RecursionError:
            raise Crash("nested too deeply") from None
        except ValueError:
            continue
        return value
    return None


def _held(pattern: re.Pattern[str], text: str, group: int) -> str | None:
    found = pattern.search(text)
    return found[group] if found else None


@dataclass(frozen=True, slots=True)
class RagasVerdict:
    """What the attempts of one judgement came to."""

    judged: Judged
    scores: Scores | None = None
    """When SCORED."""
    attempts: int = 0
    twinkle: Scores | None = None
    """What Twinkle reads in the first reply; it asks once."""
    crash: bool = False
    """Twinkle would lose its file over the first reply."""


def verdict_of(responses: Sequence[Response]) -> RagasVerdict:
    """The first attempt that holds the four metrics, and beside it what Twinkle makes of the first reply."""
    ranked = sorted(responses, key=lambda each: each.repeat)
    replied = [each for each in ranked if not each.error]
    twinkle, crash = None, False
    if replied:
        try:
            twinkle = read_like_twinkle(replied[0].content, replied[0].reasoning)
        except Crash:
            crash = True
    for response in replied:
        scores = read_scores(response.content)
        if scores is not None:
            return RagasVerdict(Judged.SCORED, scores, response.repeat + 1, twinkle, crash)
    judged = Judged.UNPARSED if replied else Judged.ERROR
    return RagasVerdict(judged, None, len(ranked), twinkle, crash)
