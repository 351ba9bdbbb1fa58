"""The planted-defect study that a judge passes before it may ground: known damage in good items, by rule.

What belongs here: which items are good, the three defects, planting them, the figures of a judge, the pass mark, and
the refusal of a judge that did not reach it. What does not: asking (evaluation.runner), and what judges have in common
(panel.py).
Three classes, at least 40 trials of each. Trials on one item are no independent draws, so an interval is that of the
draws that they are worth (`ClassFigures.draws`).
Source: facts on the published construction; the issue, "Grounding judge".
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from opentwbench.dataset.contract import excerpt
from opentwbench.evaluation.model import Rate, Response
from opentwbench.formosa.folding import fold, stands_in
from opentwbench.formosa.grounding import Judgement, quoted, read_judgement
from opentwbench.formosa.model import LETTERS, Draft, Screened, Window
from opentwbench.formosa.served import Served, read_served, served_names, several
from opentwbench.statistics.intervals import mean_interval

PER_CLASS = 40
"""Fewest trials of each class. Source: the issue."""

PASS_DETECTION = 0.75
"""A judge passes when the lower end of its 95 % interval of detection reaches this in each class: 36 of 40 do, 35 do
not. Ours, stated before any judge was measured: a judge that misses one planted defect in four grounds nothing."""

PASS_APPROVAL = 0.75
"""And when the lower end of its approval of good items reaches this: a judge that rejects everything finds every
defect, and leaves no benchmark."""

ID_DIGITS = 16


class Defect(StrEnum):
    """A planted defect. Closed. Source: the design's Formosa construction (a judge passes such a study first)."""

    WRONG_KEY = "wrong_key"
    UNGROUNDED_FACT = "ungrounded_fact"
    MALFORMED_OPTIONS = "malformed_options"


class JudgeStudyError(ValueError):
    """A study that cannot be conducted or read, or a judge that may not ground; the message says why."""


class JudgeRefused(JudgeStudyError):
    """The judge has no passing study under this prompt."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One draft as it is put before every judge. The id tells nothing of what was planted."""

    trial_id: str
    draft: Draft
    window: Window
    planted: Defect | None
    variant: str = ""
    """Which form of the defect: 'B' for the key moved to B, 'repeated' for two equal options."""


# -- good items -------------------------------------------------------------------------------------------------------

MOST_GOOD = 60
"""Good items of a study that are chosen by rule: their approval then has an interval of at most 25 points."""


def good_by_rule(
    screened: Iterable[Screened], windows: Mapping[str, Window], most: int = MOST_GOOD
) -> list[tuple[Draft, Window]]:
    """Drafts that a reader can check by sight, chosen by a hash of the window: a study's good items where no person has
    looked at any.

    No finding; the quotation stands in the window and holds the keyed answer, and no other option stands in the window.
    That is a mechanical reading of "good": a draft can pass it and be bad, and a judge that rejects it loses a point of
    approval for it.
    """
    found = []
    for each in screened:
        window = windows.get(each.draft.window_id)
        if each.bucket is None and window is not None and _checkable(each.draft, window):
            found.append((each.draft, window))
    found.sort(key=lambda pair: hashlib.sha256(pair[0].window_id.encode()).hexdigest())
    return found[:most]


def _checkable(draft: Draft, window: Window) -> bool:
    if draft.key not in draft.options or not quoted(draft.quote, window.text):
        return False
    wrong = [text for letter, text in draft.options.items() if letter != draft.key]
    return stands_in(draft.options[draft.key], draft.quote) and not any(stands_in(t, window.text) for t in wrong)


# -- planting ---------------------------------------------------------------------------------------------------------


def _wrong_keys(draft: Draft) -> Iterator[tuple[str, Draft]]:
    """The key on each other letter in turn."""
    for letter in LETTERS:
        if letter != draft.key:
            yield letter, replace(draft, key=letter)


def _ungrounded(draft: Draft, window: Window, others: Sequence[tuple[Draft, Window]]) -> Iterator[tuple[str, Draft]]:
    """The keyed option replaced by the keyed answer of an item of another article that this window does not name."""
    here = fold(window.text)
    texts = {fold(text) for text in draft.options.values()}
    for other, its_window in others:
        foreign = other.options[other.key]
        folded = fold(foreign)
        if its_window.article != window.article and folded and folded not in texts and folded not in here:
            changed = replace(draft, options={**draft.options, draft.key: foreign})
            yield f"from:{hashlib.sha256(other.window_id.encode()).hexdigest()[:8]}", changed


def _malformed(draft: Draft) -> Iterator[tuple[str, Draft]]:
    """A distractor that repeats the key, says 以上皆是, is empty, or is gone."""
    spare = [letter for letter in LETTERS if letter != draft.key]
    last = spare[-1]
    yield "repeated", replace(draft, options={**draft.options, last: draft.options[draft.key]})
    yield "all_of_the_above", replace(draft, options={**draft.options, last: "以上皆是"})
    yield "empty", replace(draft, options={**draft.options, last: ""})
    yield "missing", replace(draft, options={k: text for k, text in draft.options.items() if k != last})


def plant(good: Sequence[tuple[Draft, Window]], per_class: int = PER_CLASS) -> list[Trial]:
    """The trials of a study: every good item as it is, and `per_class` of each defect, one variant an item at a time.

    The second variant of an item is planted only when every item has its first, so that as many items as possible stand
    behind a class. Which variant comes first moves on with the item, so that no form of a defect is left out.
    Raises JudgeStudyError when the good items do not give as many.
    """
    if per_class < PER_CLASS:
        raise JudgeStudyError(f"a study plants at least {PER_CLASS} of each class, got {per_class}")
    if len({draft.window_id for draft, _ in good}) != len(good):
        raise JudgeStudyError("good items are one a window")
    ordered = sorted(good, key=lambda pair: hashlib.sha256(pair[0].window_id.encode()).hexdigest())
    trials = [_trial(draft, window, None, "") for draft, window in ordered]
    for defect in Defect:
        planted = _planted(defect, ordered, per_class)
        if len(planted) < per_class:
            raise JudgeStudyError(
                f"{len(good)} good items give {len(planted)} of {defect.value}, {per_class} are needed"
            )
        trials += planted
    return sorted(trials, key=lambda trial: trial.trial_id)


def _planted(defect: Defect, ordered: Sequence[tuple[Draft, Window]], per_class: int) -> list[Trial]:
    variants = [_variants(defect, draft, window, ordered, place) for place, (draft, window) in enumerate(ordered)]
    found: list[Trial] = []
    for turn in range(max((len(of) for of in variants), default=0)):
        for (_, window), of in zip(ordered, variants, strict=True):
            if turn < len(of) and len(found) < per_class:
                name, damaged = of[turn]
                found.append(_trial(damaged, window, defect, name))
    return found


def _variants(
    defect: Defect, draft: Draft, window: Window, ordered: Sequence[tuple[Draft, Window]], place: int
) -> list[tuple[str, Draft]]:
    if defect is Defect.WRONG_KEY:
        made = list(_wrong_keys(draft))
    elif defect is Defect.MALFORMED_OPTIONS:
        made = list(_malformed(draft))
    else:
        made = list(_ungrounded(draft, window, [*ordered[place + 1 :], *ordered[:place]]))[:4]
    turn = place % len(made) if made else 0
    return [*made[turn:], *made[:turn]]


def _trial(draft: Draft, window: Window, planted: Defect | None, variant: str) -> Trial:
    named = f"{draft.window_id}\0{planted or ''}\0{variant}"
    return Trial(hashlib.sha256(named.encode()).hexdigest()[:ID_DIGITS], draft, window, planted, variant)


# -- figures ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClassFigures:
    """Trials of one class for one judge. A reply without a readable verdict is neither an approval nor a detection."""

    trials: int
    items: int
    """Distinct good items behind the trials."""
    approved: int
    rejected: int
    silent: int

    @property
    def approval(self) -> Rate:
        """Approved of all trials."""
        return self._rate(self.approved)

    @property
    def detection(self) -> Rate:
        """Rejected of all trials."""
        return self._rate(self.rejected)

    def _rate(self, hits: int) -> Rate:
        """The observed share with the interval of as many independent draws as the trials are worth.

        The share is not rounded to whole drafts: 39 of 40 over 22 drafts is 97.5 %, not all of them.
        """
        share = hits / self.trials if self.trials else 0.0
        bounds = mean_interval([share] * self.draws)
        return Rate(hits, self.trials, bounds.low, bounds.high)

    @property
    def draws(self) -> int:
        """Independent draws that the trials are worth, rounded down: (sum of w)^2 / sum of w^2, w trials of a draft.

        `plant` gives no draft two trials more than another, so that the counts say what w is: 40 trials over 22 drafts
        are 18 drafts twice and 4 once, worth 21. Source: L. Kish, "Survey Sampling" (1965), section 11.7.
        """
        if not self.items:
            return 0
        least, more = divmod(self.trials, self.items)
        squares = more * (least + 1) ** 2 + (self.items - more) * least**2
        return self.trials**2 // squares

    def to_json(self) -> dict[str, int]:
        """The counts."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class JudgeResult:
    """One judge's study. Whether it passed is computed from the counts, never stored."""

    judge: str
    prompt_id: str
    good: ClassFigures
    planted: Mapping[Defect, ClassFigures]
    trials_sha256: str
    """Of the trial ids: which study this was."""
    served: Served = field(default_factory=dict)
    """Names that its replies carry; {} where none does, and in studies from before they were counted."""

    def failures(self) -> list[str]:
        """Why the judge does not pass, each in words; empty when it does."""
        found = [why] if (why := several(self.served)) else []
        if self.good.approval.low < PASS_APPROVAL:
            found.append(_short("approves", self.good.approval, PASS_APPROVAL, "good items"))
        for defect in Defect:
            figures = self.planted.get(defect)
            if figures is None or figures.trials < PER_CLASS:
                found.append(f"{figures.trials if figures else 0} of {defect.value} judged, {PER_CLASS} are needed")
            elif figures.detection.low < PASS_DETECTION:
                found.append(_short("finds", figures.detection, PASS_DETECTION, defect.value))
        return found

    @property
    def passed(self) -> bool:
        """Whether this judge may ground."""
        return not self.failures()

    def to_json(self) -> dict[str, Any]:
        """The counts."""
        return {
            "judge": self.judge,
            "prompt_id": self.prompt_id,
            "good": self.good.to_json(),
            "planted": {defect.value: figures.to_json() for defect, figures in self.planted.items()},
            "trials_sha256": self.trials_sha256,
            "served": dict(self.served),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> JudgeResult:
        """A stored result; raises JudgeStudyError for another form and for counts that do not add up."""
        try:
            return cls(
                _text(record["judge"]),
                _text(record["prompt_id"]),
                _figures(record["good"]),
                {Defect(name): _figures(each) for name, each in record["planted"].items()},
                _text(record["trials_sha256"]),
                read_served(record.get("served", {})),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise JudgeStudyError(f"no result of a judge: {excerpt(str(error), 100)}") from None


def _short(verb: str, found: Rate, mark: float, what: str) -> str:
    return f"{verb} {found.hits} of {found.n} {what}: lower end {found.low:.1%}, the mark is {mark:.0%}"


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"no text: {excerpt(value)}")
    return value


def _figures(record: Mapping[str, Any]) -> ClassFigures:
    counts = [record[name] for name in ClassFigures.__slots__]
    if not all(type(count) is int and count >= 0 for count in counts):
        raise ValueError(f"no counts: {excerpt(counts)}")
    figures = ClassFigures(*counts)
    if figures.approved + figures.rejected + figures.silent != figures.trials or figures.items > figures.trials:
        raise ValueError(f"counts do not add up: {excerpt(counts)}")
    return figures


def trials_digest(trials: Iterable[Trial]) -> str:
    """sha256 over the sorted trial ids."""
    return hashlib.sha256("\n".join(sorted(trial.trial_id for trial in trials)).encode()).hexdigest()


def result_of(trials: Sequence[Trial], responses: Iterable[Response], judge: str, prompt_id: str) -> JudgeResult:
    """A judge's figures from its stored replies. A trial without a reply counts as silent: it was not judged well."""
    own = [each for each in responses if each.protocol_id == prompt_id]
    said = {each.item_id: read_judgement(each) for each in own}
    return JudgeResult(
        judge,
        prompt_id,
        _count([trial for trial in trials if trial.planted is None], said),
        {defect: _count([trial for trial in trials if trial.planted is defect], said) for defect in Defect},
        trials_digest(trials),
        served_names(own, {trial.trial_id for trial in trials}),
    )


def _count(trials: Sequence[Trial], said: Mapping[str, Any]) -> ClassFigures:
    kinds: Counter[str] = Counter()
    for trial in trials:
        verdict = said.get(trial.trial_id)
        kinds["silent" if not isinstance(verdict, Judgement) else "yes" if verdict.approves else "no"] += 1
    items = len({trial.draft.window_id for trial in trials})
    return ClassFigures(len(trials), items, kinds["yes"], kinds["no"], kinds["silent"])


def verdict_records(trials: Sequence[Trial], responses: Iterable[Response], judge: str) -> list[dict[str, Any]]:
    """A judge's readable verdicts in the form that the panel study reads (apparatus.judge_panel)."""
    by_id = {trial.trial_id: trial for trial in trials}
    found = []
    for response in responses:
        trial, said = by_id.get(response.item_id), read_judgement(response)
        if trial is not None and isinstance(said, Judgement):
            word = "approve" if said.approves else "reject"
            planted = None if trial.planted is None else trial.planted.value
            found.append({"judge": judge, "item_id": trial.trial_id, "verdict": word, "planted": planted})
    return sorted(found, key=lambda record: str(record["item_id"]))


def may_ground(results: Iterable[JudgeResult], judge: str, prompt_id: str) -> JudgeResult:
    """The passing study of a judge under this prompt; raises JudgeRefused saying why there is none."""
    own = [each for each in results if each.judge == judge]
    if not own:
        raise JudgeRefused(f"{excerpt(judge)}: no stored study; a judge is studied before it grounds")
    same = [each for each in own if each.prompt_id == prompt_id]
    if not same:
        raise JudgeRefused(f"{excerpt(judge)}: studied under {excerpt(own[-1].prompt_id)}, not under {prompt_id}")
    if failures := same[-1].failures():
        raise JudgeRefused(f"{excerpt(judge)} did not pass its study: {'; '.join(failures)}")
    return same[-1]


def same_judge(study: JudgeResult, served: Served) -> None:
    """Raise JudgeRefused when the judgements carry another name than the replies of the study that was passed."""
    if why := several({*study.served, *served}):
        raise JudgeRefused(f"{excerpt(study.judge)}: the study and the judgements are not one model's; {why}")
