"""A judge's reply becomes a verdict, or none: only the exact form counts.

The reply comes from outside: it is one JSON object with exactly the three fields, or it is unparsed. Nothing is fished
out of a sentence: the first digit of "on a scale of 0 to 4, I give 3" is 0 (fault 7). What is unparsed, or an error, is
asked again, counted, and never averaged in.
What does not belong here: asking (stages.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from opentwbench.dataset.files import parse_json
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.model import Response
from opentwbench.rag.model import Judged, Verdict

BEST = 4
FIELDS = frozenset(("score", "refusal", "reason"))
MAX_REPLY = 20_000
MAX_REASON = 1_000

_FENCED = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL | re.IGNORECASE)
_THOUGHT = "</think>"


def read_verdict(content: str | None) -> Verdict | None:
    """The verdict of a reply; None for anything but the form asked for.

    A closed thought before it and one code fence around it are allowed: both are the model's habit, not its verdict.
    """
    record = reply_object(content)
    if record is None:
        return None
    score, refusal, reason = record.get("score"), record.get("refusal"), record.get("reason")
    if record.keys() != FIELDS or type(score) is not int or not 0 <= score <= BEST:
        return None
    if type(refusal) is not bool or not isinstance(reason, str):
        return None
    return Verdict(Judged.SCORED, score, refusal, reason[:MAX_REASON])


def reply_object(content: str | None) -> dict[str, Any] | None:
    """The one JSON object that a judge's reply is; None for a reply that is anything else, or longer than MAX_REPLY."""
    if content is None or len(content) > MAX_REPLY:
        return None
    try:
        return parse_json(_bare_reply(content), "verdict")
    except DatasetError:
        return None


def _bare_reply(content: str) -> str:
    """A reply without a closed thought before it and without one code fence around it."""
    text = content.rpartition(_THOUGHT)[2].strip() if content.lstrip().startswith("<think>") else content.strip()
    fenced = _FENCED.fullmatch(text)
    return fenced[1].strip() if fenced else text


def verdict_of(responses: Sequence[Response]) -> Verdict:
    """What the attempts of one judgement come to: the first that holds a verdict, by attempt."""
    ranked = sorted(responses, key=lambda each: each.repeat)
    for response in ranked:
        verdict = None if response.error else read_verdict(response.content)
        if verdict is not None:
            return Verdict(Judged.SCORED, verdict.score, verdict.refusal, verdict.reason, response.repeat + 1)
    replied = any(not response.error for response in ranked)
    return Verdict(Judged.UNPARSED if replied else Judged.ERROR, attempts=len(ranked))


@dataclass(frozen=True, slots=True)
class JudgeFigures:
    """Counts over judged answers."""

    scored: int
    unparsed: int
    errors: int
    not_judged: int
    refusals: int
    """Answers that the judge calls a refusal."""
    approved: int
    """Answers with the best score: a judge that approves nearly everything judges nothing."""

    @property
    def parse_rate(self) -> float | None:
        """Share of the judge's replies that hold a verdict; None without replies."""
        replied = self.scored + self.unparsed
        return self.scored / replied if replied else None


def judge_figures(verdicts: Iterable[Verdict]) -> JudgeFigures:
    """The counts of some verdicts."""
    held = list(verdicts)
    by = {kind: sum(verdict.judged is kind for verdict in held) for kind in Judged}
    return JudgeFigures(
        by[Judged.SCORED],
        by[Judged.UNPARSED],
        by[Judged.ERROR],
        by[Judged.NO_ANSWER],
        sum(verdict.refusal for verdict in held if verdict.judged is Judged.SCORED),
        sum(verdict.score == BEST for verdict in held),
    )


def same_model(first: str, second: str) -> bool:
    """Whether two names mean one model: case and the maker's prefix aside (maker/model-1 is Model-1)."""
    return _bare(first) == _bare(second)


def _bare(name: str) -> str:
    return name.strip().casefold().rpartition("/")[2]
