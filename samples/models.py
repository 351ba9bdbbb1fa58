"""Scripted sample models: what each says to a question, as a pure function. No model is asked and none is imitated.

They exist so that the board and the apparatus studies can be shown before anybody has run a model: each has an ability,
ways of writing its answer, a date and the faults that the studies look for (loops under a small budget, a placeholder
copied into the box, wrong Minguo years, Simplified characters, private-use glyphs, romanised names). Names begin with
`sample/` and cards say `is_sample`, so that no page can take them for results. A made judge panel stands beside them.

What belongs here: the script. What does not: anything of the platform but its vocabulary (letters, finish reasons).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

SMALL_BUDGET, LARGE_BUDGET = 4_096, 16_384
"""Completion tokens of the two budgets."""


@dataclass(frozen=True, slots=True)
class SampleModel:
    """A scripted model. Rates are shares of replies, decided by a hash and never by chance."""

    name: str
    released: str
    ability: float
    """Share of questions of middling difficulty that it answers rightly."""
    parameters_b: float
    open_weights: bool = True
    taiwan_tuned: bool = False
    thinks: bool = False
    """Reasons at length: under the small budget some replies are cut, some while they repeat themselves."""
    unboxed: float = 0.02
    """Share of answers in words (「答案：X」) without a box."""
    wrapped: float = 0.02
    """Share of boxes with a wrapper that the strict reader refuses."""
    copies: float = 0.05
    """Share of replies that copy a placeholder out of the system prompt."""
    faults: Mapping[str, float] = field(default_factory=dict)
    """Fault of free text -> share of replies."""

    @property
    def family(self) -> str:
        """The name's first word."""
        return self.name.removeprefix("sample/").split("-")[0]


MODELS: tuple[SampleModel, ...] = (
    SampleModel("sample/azalea-large", "2026-09", 0.93, 400, open_weights=False, thinks=True, faults={"minguo": 0.01}),
    SampleModel("sample/azalea-small", "2026-03", 0.80, 9, unboxed=0.10, faults={"minguo": 0.05, "romanised": 0.02}),
    SampleModel("sample/banyan-70b", "2025-06", 0.72, 70, wrapped=0.15, copies=0.30, faults={"simplified": 0.22}),
    SampleModel("sample/banyan-120b", "2026-06", 0.86, 120, thinks=True, copies=0.22, faults={"simplified": 0.12}),
    SampleModel("sample/camphor-8b", "2024-11", 0.50, 8, unboxed=0.45, copies=0.50, faults={"romanised": 0.10}),
    SampleModel("sample/camphor-8b-tw", "2025-03", 0.56, 8, taiwan_tuned=True, unboxed=0.30, copies=0.10),
    SampleModel("sample/cypress-27b-tw", "2026-01", 0.74, 27, taiwan_tuned=True, faults={"minguo": 0.01}),
    SampleModel("sample/cypress-27b", "2025-10", 0.70, 27, wrapped=0.06, faults={"simplified": 0.06, "glyph": 0.03}),
    SampleModel("sample/laurel-2b", "2024-06", 0.33, 2, unboxed=0.25, copies=0.70, faults={"simplified": 0.3}),
    SampleModel("sample/laurel-4b", "2025-08", 0.45, 4, thinks=True, unboxed=0.08, faults={"glyph": 0.06}),
    SampleModel("sample/myrtle-pro", "2026-10", 0.95, 600, open_weights=False, faults={}),
    SampleModel("sample/myrtle-mini", "2026-02", 0.77, 20, open_weights=False, unboxed=0.12, copies=0.02),
)
"""Oldest and newest, small and large, tuned for Taiwan and not; none exists."""


def card(model: SampleModel) -> dict[str, Any]:
    """What the maintainer would state of the model."""
    return {
        "model": model.name,
        "family": model.family,
        "developer": "OpenTWBench samples",
        "licence": "none (scripted)",
        "released": model.released,
        "parameters_b": model.parameters_b,
        "open_weights": model.open_weights,
        "taiwan_tuned": model.taiwan_tuned,
        "is_sample": True,
    }


@dataclass(frozen=True, slots=True)
class Question:
    """A question as it is shown: option texts are not needed, letters are."""

    stem: str
    key: str
    """The shown letter of the right option."""
    benchmark: str
    budget: int = SMALL_BUDGET
    placeholder: bool = False
    """Whether the system prompt shows a literal placeholder in the box."""


@dataclass(frozen=True, slots=True)
class Said:
    """What came back."""

    content: str | None
    finish_reason: str | None
    completion_tokens: int | None
    latency_ms: float
    attempts: int = 1
    error: str = ""


def say(model: SampleModel, asked: Question) -> Said:
    """The reply of a model to a question; the same every time."""
    draw = _Draw(f"{model.name} {asked.stem}")
    again = _Draw(f"{model.name} {asked.stem} {asked.benchmark} {asked.budget}")
    if again("error") < 0.001:
        return Said(None, None, None, 900.0, 4, "bad_request")
    attempts = 2 if again("attempts") < 0.03 else 1
    letter = _letter(model, asked, draw, again)
    if model.thinks and (cut := _cut(asked, draw, letter)):
        return Said(cut, "length", asked.budget, 9.0 * asked.budget, attempts)
    text = _explain(model, asked, draw) + _answer(model, asked, again, letter)
    thought = 900 + int(2_400 * draw("length")) if model.thinks else 0
    if model.thinks and asked.budget > SMALL_BUDGET:
        thought = int(1.7 * thought)
    tokens = thought + len(text)
    return Said(
        f"<think>逐一檢查四個選項。</think>{text}" if model.thinks else text, "stop", tokens, 9.0 * tokens, attempts
    )


class _Draw:
    """Numbers in 0..1 by name, from a hash."""

    def __init__(self, seed: str) -> None:
        self._seed = seed

    def __call__(self, name: str) -> float:
        digest = hashlib.sha256(f"{self._seed} {name}".encode()).digest()
        return int.from_bytes(digest[:6], "big") / 2**48


def _letter(model: SampleModel, asked: Question, draw: _Draw, again: _Draw) -> str:
    ability = model.ability
    if asked.benchmark == "formosa":
        ability += 0.13 if model.taiwan_tuned else -0.10
    # One answer in forty comes out differently when the question is asked again.
    own = (again if again("steady") < 0.025 else draw)("knows")
    # Mostly the question decides, so that models find the same questions hard.
    knows = 0.75 * _Draw(asked.stem)("difficulty") + 0.25 * own < min(0.98, max(0.25, ability))
    if knows:
        return asked.key
    others = [letter for letter in "ABCD" if letter != asked.key]
    return others[int(3 * draw("other"))]


def _cut(asked: Question, draw: _Draw, letter: str) -> str:
    """A reply that the budget cut, '' where it was long enough."""
    limit = 0.12 if asked.budget <= SMALL_BUDGET else 0.04
    # A few fall silent only under the large budget, so that some items are newly lost.
    late = asked.budget > SMALL_BUDGET and draw("late") < 0.015
    if draw("cut") >= limit and not late:
        return ""
    if draw("loop") < 0.6:
        return "<think>先看題目。" + f"選項 {letter} 看起來合理，但仍須再確認一次。" * 60
    considered = "".join(f"第 {n} 點：比對條文、用語與例外規定，第 {n * n + 7} 項尚待釐清。" for n in range(1, 40))
    return f"<think>{considered}"


def _answer(model: SampleModel, asked: Question, again: _Draw, letter: str) -> str:
    if asked.placeholder and again("copies") < model.copies:
        return "\\boxed{X}"
    style = again("style")
    if style < model.unboxed:
        return f"答案：{letter}"
    if style < model.unboxed + model.wrapped:
        return f"\\boxed{{\\text{{{letter}}}}}"
    return f"\\boxed{{{letter}}}"


_SOUND = (
    "依題意，應選敘述正確者。",
    "此制度始於民國87年（1998年），與題旨相符。",
    "民國 38 年（西元 1949 年）之後的規定與此不同。",
    "其餘選項與定義不符，逐一刪去。",
)
_FAULTY = {
    "minguo": "此法於民國87年（1997年）修正公布，故本選項成立。",
    "simplified": "根据这个规定，应该选择与题目说明相符的选项。",
    "glyph": "關鍵字為\ue2cc疹與\ue8f1，其餘選項不符。",
    "romanised": "依 Tsai Ing-wen 與 Lee Teng-hui 任內的規定判斷。",
}
"""Written by us; each is what the detector of its name must find (opentwbench/apparatus/free_text.py)."""


def _explain(model: SampleModel, asked: Question, draw: _Draw) -> str:
    fault = "".join(text for name, text in _FAULTY.items() if draw(name) < model.faults.get(name, 0.0))
    return fault or _SOUND[int(len(_SOUND) * draw("sound"))]


# -- a judge panel ----------------------------------------------------------------------------------------------------

JUDGES: Mapping[str, tuple[float, Mapping[str, float]]] = {
    "sample/judge-careful": (0.06, {"wrong_key": 0.97, "ungrounded_fact": 0.90, "malformed_options": 0.98}),
    "sample/judge-lenient": (0.01, {"wrong_key": 0.70, "ungrounded_fact": 0.45, "malformed_options": 0.80}),
    "sample/judge-fast": (0.12, {"wrong_key": 0.85, "ungrounded_fact": 0.75, "malformed_options": 0.60}),
}
"""Judge -> share of sound drafts that it rejects, and share of each planted defect that it finds."""

PLANTED_EACH = 20
"""Drafts with each defect."""


def verdicts(item_ids: Sequence[str]) -> Iterator[dict[str, str | None]]:
    """What the panel says of these drafts, and of as many planted ones a class; one row a judge and draft."""
    drafts: list[tuple[str, str | None]] = [(item_id, None) for item_id in item_ids]
    classes = next(iter(JUDGES.values()))[1]
    drafts += [(f"planted-{kind}-{n:02d}", kind) for kind in classes for n in range(PLANTED_EACH)]
    for judge, (refuses, finds) in JUDGES.items():
        for item_id, kind in drafts:
            # Half of what a judge sees lies in the draft, so that the judges agree beyond chance.
            seen = (_Draw(item_id)("draft") + _Draw(f"{judge} {item_id}")("own")) / 2
            rejects = seen < _quantile(finds[kind] if kind else refuses)
            yield {"judge": judge, "item_id": item_id, "verdict": "reject" if rejects else "approve", "planted": kind}


def _quantile(share: float) -> float:
    """The value below which the mean of two even draws falls with this probability."""
    return (share / 2) ** 0.5 if share <= 0.5 else 1 - ((1 - share) / 2) ** 0.5
