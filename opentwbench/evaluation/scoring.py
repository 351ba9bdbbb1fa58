"""Scores: a pure function of stored responses and of the keys of a data-set version. No model is asked.

What belongs here: judging a response, counting, rates with intervals, the spread of repeats, the anchor's figures.
What does not: reading replies (extraction.py), what moved after a correction (rescoring.py), tables (warehouse.py).

Three rules. An error is no answer: accuracy counts replies, errors stand beside it. A reply in which nothing is read is
wrong, as in the published score; parse rate and accuracy on parsed say how much of the score that is. A letter is
carried back by the place at which it was shown, never by the option's text, so that of two options with identical text
only the keyed one is right.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import fmean, stdev
from types import MappingProxyType
from typing import Any

from opentwbench.dataset.contract import excerpt
from opentwbench.evaluation.extraction import GRADED, LETTERS, METHODS, count_boxes, read
from opentwbench.evaluation.journal import DigestSet, identity_digest
from opentwbench.evaluation.model import AskedItem, ErrorClass, Graded, Outcome, Rate, Reading, Response
from opentwbench.evaluation.prompts import original_letter
from opentwbench.statistics.intervals import wilson
from opentwbench.statistics.stratified import Stratum, estimate

CAPPED_REASONS = frozenset(("length", "max_tokens", "max_output_tokens", "model_length"))
"""Finish reasons that mean the token budget; OpenAI says 'length', others have words of their own."""

REFUSED_REASONS = frozenset(("content_filter", "refusal", "safety"))

REFUSAL_SPAN = 400
"""Characters at the start of a reply in which a refusal is looked for: a refusal opens the reply."""

_REFUSAL = re.compile(
    r"(?:無法|不能|不便|沒辦法|拒絕)(?:回答|作答|提供答案|提供協助|協助|判斷|選擇)|恕(?:難|不)|不予(?:回答|作答)"
    r"|(?:cannot|can't|can’t|unable to|won't|not able to) (?:answer|help|assist|comply|provide|determine)",
    re.IGNORECASE,
)
"""Declared phrases of declining; only asked when the method reads no option (public report 12)."""


SHORT_REPLY = 200
"""Characters up to which a reply's readings are remembered: a model that answers with a letter writes few texts."""


class ScoringError(ValueError):
    """A key or an option order that no response can be judged against."""


def outcome(response: Response, reading: Reading, key: str, letters: str = LETTERS) -> Outcome:
    """What became of a response under one method; exactly one holds.

    An error first; then a letter is right or wrong. Of the rest, a reply that the budget cut is `CAPPED` also when it
    has no text, because the budget is why; one that the endpoint filtered is `REFUSED`; then `EMPTY`, then `REFUSED`
    by its words, then `UNPARSED`.
    """
    if response.error is not ErrorClass.NONE:
        return Outcome.ERROR
    if reading.answer is not None:
        shown = original_letter(reading.answer, response.option_order) if reading.answer in letters else None
        return Outcome.CORRECT if shown == key else Outcome.WRONG
    if response.finish_reason in CAPPED_REASONS:
        return Outcome.CAPPED
    if response.finish_reason in REFUSED_REASONS:
        return Outcome.REFUSED
    text = response.content or ""
    if not text.strip():
        return Outcome.EMPTY
    return Outcome.REFUSED if declines(text) else Outcome.UNPARSED


def declines(text: str) -> bool:
    """Whether a reply opens with a declared phrase of declining. To be asked only where nothing else was read."""
    return bool(_REFUSAL.search(text[:REFUSAL_SPAN]))


def grade(response: Response, key: str, letters: str = LETTERS, methods: Sequence[str] = GRADED) -> Graded:
    """A response read with every method and judged against the key, an original letter.

    Raises ScoringError for a key that is no option and for an option order that is no permutation of the letters.
    """
    if len(key) != 1 or key not in letters:
        raise ScoringError(f"{excerpt(response.item_id)}: the key {excerpt(key)} is none of {letters}")
    if sorted(response.option_order) != sorted(letters):
        raise ScoringError(f"{excerpt(response.item_id)}: option order {excerpt(response.option_order)} is no order")
    short = len(response.content or "") + len(response.reasoning or "") <= SHORT_REPLY
    readings, boxes = (_short_readings if short else _readings)(
        response.content, response.reasoning, letters, tuple(methods)
    )
    outcomes = {name: outcome(response, reading, key, letters) for name, reading in readings.items()}
    return Graded(response, key, readings, outcomes, boxes)


def _readings(
    content: str | None, reasoning: str | None, letters: str, methods: tuple[str, ...]
) -> tuple[Mapping[str, Reading], int]:
    """What each method reads, and how many boxes there are; a pure function of the texts."""
    # A reply has one reasoning text, whichever field it came in; Twinkle prefers `reasoning` in the same way.
    readings = {name: read(name, content, reasoning, None, letters) for name in methods}
    return MappingProxyType(readings), count_boxes(content, letters)


_short_readings = lru_cache(maxsize=4_096)(_readings)


@lru_cache(maxsize=4_096)
def rate(hits: int, n: int, repeats: int = 1) -> Rate:
    """A share of counts with its 95 % Wilson interval; 0..1 when nothing was counted.

    `repeats`: how often each item was asked. Repeats of an item are no independent draws, so the interval is that of
    n / repeats items; the share is over all.
    """
    if repeats > 1 and n:
        items = max(1, round(n / repeats))
        bounds = wilson(min(items, round(hits * items / n)), items)
    else:
        bounds = wilson(hits, n)
    share = hits / n if n else 0.0
    return Rate(hits, n, min(bounds.low, share), max(bounds.high, share))


@dataclass(frozen=True, slots=True)
class Macro:
    """The unweighted mean of the accuracies of subjects, with a 95 % interval from the subjects' Wilson intervals."""

    value: float | None
    low: float
    high: float
    subjects: int


@dataclass(frozen=True, slots=True)
class Spread:
    """One accuracy a repeat: mean, sample standard deviation (None for one repeat), lowest and highest."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float | None:
        """None without a repeat."""
        return fmean(self.values) if self.values else None

    @property
    def deviation(self) -> float | None:
        """None for fewer than two repeats."""
        return stdev(self.values) if len(self.values) > 1 else None


@dataclass(frozen=True, slots=True)
class Cell:
    """One subject, field or year: right of all replies, and replies in which a letter was read."""

    correct: Rate
    parsed: Rate

    @property
    def on_parsed(self) -> Rate:
        """Right of the replies in which a letter was read."""
        return rate(self.correct.hits, self.parsed.hits)


@dataclass(frozen=True, slots=True)
class MethodScore:
    """The score of a run under one extraction method."""

    micro: Rate
    """Right of all replies."""
    macro: Macro
    clustered_error: float | None
    """Standard error of micro with the items of a subject as one cluster; None for fewer than two subjects."""
    parsed: Rate
    on_parsed: Rate
    outcomes: Mapping[Outcome, int]
    rules: Mapping[str, int]
    """Rule that fired -> replies: how often a letter came from a guess ('any')."""
    by_subject: Mapping[str, Cell]
    by_field: Mapping[str, Cell]
    by_year: Mapping[int, Cell]
    """ROC year -> cell; items without a year are in none."""
    repeats: Spread


@dataclass(frozen=True, slots=True)
class Summary:
    """Everything that is counted over a run against one set of items.

    `responses` = replies + errors; `left_out` and `doubled` come on top and are in no rate.
    """

    responses: int
    replies: int
    errors: Mapping[ErrorClass, int]
    error_rate: Rate
    errors_by_subject: Mapping[str, int]
    cap_hits: Rate
    """Replies that the token budget cut, whether or not a letter was read in them."""
    several_boxes: Rate
    """Replies with more than one box of the strict rule."""
    items_asked: int
    """Items with a response, an error included, in the repeat that has most."""
    items_expected: int
    left_out: int
    """Responses to items outside the set: withdrawn ones, or those of another version."""
    doubled: int
    """Further responses to an item in the same repeat; the first one counts."""
    repeats: int
    methods: Mapping[str, MethodScore]

    @property
    def complete(self) -> bool:
        """Every item of the set has a reply in every repeat."""
        return self.replies == self.items_expected * self.repeats > 0


@dataclass(slots=True)
class _Tally:
    """Counts of one (repeat, subject, field, year): small, so that a run of any length needs little memory."""

    replies: int = 0
    correct: Counter[str] = field(default_factory=Counter)
    parsed: Counter[str] = field(default_factory=Counter)


_Group = tuple[int, str, str, int | None]


class Scorer:
    """Counts graded responses one by one and forgets them; `summary` may be asked at any time.

    `items`: item id -> item of the set that is scored. A response to any other item is left out and counted.
    """

    def __init__(self, items: Mapping[str, AskedItem]) -> None:
        self._items = items
        self._groups: defaultdict[_Group, _Tally] = defaultdict(_Tally)
        self._outcomes: defaultdict[str, Counter[Outcome]] = defaultdict(Counter)
        self._rules: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._errors: Counter[ErrorClass] = Counter()
        self._errors_by_subject: Counter[str] = Counter()
        self._seen = DigestSet()
        self._asked: Counter[int] = Counter()
        self._capped = self._boxes = self._left_out = self._doubled = 0

    def add(self, graded: Graded) -> None:
        """Count one graded response."""
        response = graded.response
        item = self._items.get(response.item_id)
        if item is None:
            self.leave_out()
            return
        if not self._seen.add(identity_digest(response.repeat, response.item_id, "")):
            self._doubled += 1
            return
        self._asked[response.repeat] += 1
        outcomes = graded.outcomes
        for method, what in outcomes.items():
            self._outcomes[method][what] += 1
        if response.error is not ErrorClass.NONE:
            self._errors[response.error] += 1
            self._errors_by_subject[item.subject] += 1
            return
        self._capped += response.finish_reason in CAPPED_REASONS
        self._boxes += graded.boxes > 1
        tally = self._groups[response.repeat, item.subject, item.subject_group, item.year_roc]
        tally.replies += 1
        for method, reading in graded.readings.items():
            self._rules[method][reading.rule] += 1
            if reading.answer is not None:
                tally.parsed[method] += 1
                if outcomes[method] is Outcome.CORRECT:
                    tally.correct[method] += 1

    def leave_out(self) -> None:
        """Count a response to an item outside the set, which no key of the set can judge."""
        self._left_out += 1

    def summary(self) -> Summary:
        """What was counted so far."""
        replies, errors = sum(tally.replies for tally in self._groups.values()), self._errors.total()
        repeats = len(self._asked)
        return Summary(
            responses=replies + errors,
            replies=replies,
            errors=dict(self._errors),
            error_rate=rate(errors, replies + errors, repeats),
            errors_by_subject=dict(sorted(self._errors_by_subject.items())),
            cap_hits=rate(self._capped, replies, repeats),
            several_boxes=rate(self._boxes, replies, repeats),
            items_asked=max(self._asked.values(), default=0),
            items_expected=len(self._items),
            left_out=self._left_out,
            doubled=self._doubled,
            repeats=repeats,
            methods={method: self._score(method, repeats) for method in METHODS if method in self._outcomes},
        )

    def _score(self, method: str, repeats: int) -> MethodScore:
        subjects = self._cells(method, 1, repeats)
        correct = sum(cell.correct.hits for cell in subjects.values())
        parsed = sum(cell.parsed.hits for cell in subjects.values())
        replies = sum(cell.correct.n for cell in subjects.values())
        return MethodScore(
            micro=rate(correct, replies, repeats),
            macro=_macro([cell.correct for cell in subjects.values()], repeats),
            clustered_error=_clustered_error([cell.correct for cell in subjects.values()]),
            parsed=rate(parsed, replies, repeats),
            on_parsed=rate(correct, parsed, repeats),
            outcomes=dict(self._outcomes[method]),
            rules=dict(self._rules[method]),
            by_subject=subjects,
            by_field=self._cells(method, 2, repeats),
            by_year={year: cell for year, cell in self._cells(method, 3, repeats).items() if year is not None},
            repeats=Spread(tuple(c.correct.hits / c.correct.n for c in self._cells(method, 0, 1).values())),
        )

    def _cells(self, method: str, part: int, repeats: int) -> dict[Any, Cell]:
        """The counts by one part of the group (0 repeat, 1 subject, 2 field, 3 year), in order."""
        counts: defaultdict[Any, list[int]] = defaultdict(lambda: [0, 0, 0])
        for group, tally in self._groups.items():
            of = counts[group[part]]
            of[0] += tally.correct[method]
            of[1] += tally.parsed[method]
            of[2] += tally.replies
        ordered = sorted(
            counts.items(), key=lambda each: (each[0] is None, each[0] or 0 if part in (0, 3) else each[0])
        )
        return {name: Cell(rate(c, n, repeats), rate(p, n, repeats)) for name, (c, p, n) in ordered}


def summarise(graded: Iterable[Graded], items: Mapping[str, AskedItem]) -> Summary:
    """The scores of graded responses over a set of items; the responses are streamed, not held."""
    scorer = Scorer(items)
    for each in graded:
        scorer.add(each)
    return scorer.summary()


_EQUAL = 10**12
"""A size for strata of equal weight, beyond any number of items judged, so that none counts as judged whole."""


def _macro(rates: Sequence[Rate], repeats: int) -> Macro:
    """Subjects as strata of equal weight (statistics.stratified); the interval counts items, not repeats of them."""
    counted = [each for each in rates if each.n]
    if not counted:
        return Macro(None, 0.0, 1.0, 0)
    value = fmean(each.hits / each.n for each in counted)
    items = [max(1, round(each.n / max(1, repeats))) for each in counted]
    strata = [Stratum(_EQUAL, n, min(n, round(each.hits * n / each.n))) for each, n in zip(counted, items, strict=True)]
    bounds = estimate(strata).interval
    return Macro(value, min(bounds.low, value), max(bounds.high, value), len(counted))


def _clustered_error(rates: Sequence[Rate]) -> float | None:
    """Cluster-robust standard error of the share over all, one cluster a subject.

    sqrt(k/(k-1) * sum over clusters of (hits - n * share)^2) / n. Source: Miller, "Adding error bars to evals"
    (arXiv 2411.00640), section 2.2, with the usual correction for k clusters.
    """
    counted = [each for each in rates if each.n]
    k, n = len(counted), sum(each.n for each in counted)
    if k < 2:
        return None
    share = sum(each.hits for each in counted) / n
    return math.sqrt(k / (k - 1) * sum((each.hits - each.n * share) ** 2 for each in counted)) / n


def to_json(summary: Summary) -> dict[str, Any]:
    """The summary as JSON values, for scores/<dataset_version>.json and --json."""
    return {
        "responses": summary.responses,
        "replies": summary.replies,
        "complete": summary.complete,
        "items_asked": summary.items_asked,
        "items_expected": summary.items_expected,
        "left_out": summary.left_out,
        "doubled": summary.doubled,
        "repeats": summary.repeats,
        "errors": {error.value: count for error, count in sorted(summary.errors.items())},
        "error_rate": rate_json(summary.error_rate),
        "errors_by_subject": dict(summary.errors_by_subject),
        "cap_hits": rate_json(summary.cap_hits),
        "several_boxes": rate_json(summary.several_boxes),
        "methods": {name: _method_json(score) for name, score in summary.methods.items()},
    }


def rate_json(of: Rate) -> dict[str, float | int | None]:
    """A rate with its counts and bounds."""
    return {"hits": of.hits, "n": of.n, "value": of.value, "low": of.low, "high": of.high}


def _method_json(score: MethodScore) -> dict[str, Any]:
    macro = score.macro
    return {
        "micro": rate_json(score.micro),
        "macro": {"value": macro.value, "low": macro.low, "high": macro.high, "subjects": macro.subjects},
        "clustered_error": score.clustered_error,
        "parsed": rate_json(score.parsed),
        "on_parsed": rate_json(score.on_parsed),
        "outcomes": {each.value: score.outcomes.get(each, 0) for each in Outcome},
        "rules": dict(sorted(score.rules.items())),
        "by_subject": {name: _cell_json(cell) for name, cell in score.by_subject.items()},
        "by_field": {name: _cell_json(cell) for name, cell in score.by_field.items()},
        "by_year": {str(year): _cell_json(cell) for year, cell in score.by_year.items()},
        "repeats": {
            "values": list(score.repeats.values),
            "mean": score.repeats.mean,
            "deviation": score.repeats.deviation,
        },
    }


def _cell_json(cell: Cell) -> dict[str, Any]:
    return {"correct": rate_json(cell.correct), "parsed": rate_json(cell.parsed)}
