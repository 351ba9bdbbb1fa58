"""Grounding: a judge says whether a draft's key is supported by its window, and quotes the sentence that supports it.

What belongs here: the judge's prompt, reading a judgement, and what follows from it. What does not: whether a judge may
ground at all (judge_study.py), and the screens. A judge's approval alone grounds nothing: the sentence that it quotes
must stand in the window under folding, so that what a reader checks is the corpus and no model's word.
Source: facts on the published construction: a judge checks the keyed answer against the window (256 of 2,939 dropped).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from opentwbench.dataset.contract import excerpt
from opentwbench.evaluation.model import Response
from opentwbench.formosa.asking import Ask, Prompt
from opentwbench.formosa.folding import fold
from opentwbench.formosa.json_replies import read_object
from opentwbench.formosa.model import Draft, Exclusion, Finding, Screened, Window
from opentwbench.formosa.served import Served, served_names, several

LEAST_QUOTE = 6
"""Fewest folded characters of a quotation that can support anything: a word stands in a window by chance."""

MAX_QUOTE = 2_000
"""Most characters of a quotation: a window has under 1,500."""

JUDGE_PROMPT = Prompt(
    name="formosa-judge",
    system=(
        "你是測驗的審題委員。請只依據使用者提供的材料，審查一道四選一的單選題，逐項確認：\n"
        "一、標示的答案是否由材料支持，而且是四個選項中唯一正確的一個；\n"
        "二、題幹與標示的答案所說的事實，材料中是否都有依據；\n"
        "三、四個選項是否完整、互不相同，且沒有「以上皆是」之類的選項。\n"
        "有任何一項不符就退回。通過時，從材料中一字不改抄出一句足以證明答案的原文。\n"
        "只輸出一個 JSON 物件，不加任何說明："
        '{"verdict": "approve 或 reject", "reason": "supported、wrong_key、unsupported、several_answers、'
        'malformed_options 其中一個", "quote": "材料中的一句原文，退回時可為空字串"}'
    ),
    template="材料：\n{window}\n\n題目：{question}\n{options}\n標示的答案：{answer}",
    fields=("window", "question", "options", "answer"),
    max_tokens=1_024,
)
"""The judge's prompt; ours. Nothing in it tells a planted defect from a draft."""


class Reason(StrEnum):
    """Why a judge approves or rejects. Closed."""

    SUPPORTED = "supported"
    WRONG_KEY = "wrong_key"
    UNSUPPORTED = "unsupported"
    SEVERAL_ANSWERS = "several_answers"
    MALFORMED_OPTIONS = "malformed_options"


UNGROUNDED_REASONS = frozenset((Reason.WRONG_KEY, Reason.UNSUPPORTED))
"""Rejections that say that the window does not support the key; the others are JUDGE_REJECTED."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one judge said of one draft."""

    draft_id: str
    judge: str
    approves: bool
    reason: Reason
    quote: str


def judge_values(draft: Draft, window: Window) -> dict[str, str]:
    """The values of JUDGE_PROMPT's fields."""
    options = "\n".join(f"{letter}. {text}" for letter, text in sorted(draft.options.items()))
    return {"window": window.text, "question": draft.stem, "options": options, "answer": draft.key}


def judge_ask(pairs: Iterable[tuple[str, Draft, Window]], judge: str, extra: Mapping[str, Any] | None = None) -> Ask:
    """Everything that one judge is asked: (id, draft, its window)."""
    inputs = [(identity, judge_values(draft, window)) for identity, draft, window in pairs]
    return Ask(judge, JUDGE_PROMPT, inputs, extra or {})


_FIELDS = frozenset(("verdict", "reason", "quote"))


def read_judgement(response: Response) -> Judgement | Finding:
    """One reply as a judgement; JUDGE_SILENT, with what was wrong, for anything else. An error is silence too."""
    if response.error:
        return Finding(Exclusion.JUDGE_SILENT, f"{response.error.value}: {excerpt(response.error_detail)}")
    read = read_object(response.content or "")
    if read.record is None:
        return Finding(Exclusion.JUDGE_SILENT, read.fault)
    record = read.record
    if set(record) != _FIELDS:
        return Finding(Exclusion.JUDGE_SILENT, f"fields are {excerpt(sorted(record), 100)}")
    verdict, reason, quote = record["verdict"], record["reason"], record["quote"]
    if verdict not in ("approve", "reject") or reason not in tuple(Reason):
        return Finding(Exclusion.JUDGE_SILENT, f"verdict {excerpt(verdict)}, reason {excerpt(reason)}")
    if not isinstance(quote, str) or len(quote) > MAX_QUOTE:
        return Finding(Exclusion.JUDGE_SILENT, f"quote is no text of at most {MAX_QUOTE} characters")
    approves = verdict == "approve"
    if approves != (reason == Reason.SUPPORTED):
        return Finding(Exclusion.JUDGE_SILENT, f"it says {verdict} and {reason}")
    return Judgement(response.item_id, response.model, approves, Reason(reason), quote.strip())


def quoted(quote: str, window: str) -> bool:
    """Whether a quotation stands in the window under folding (widths, white space, punctuation, 台/臺, numerals)."""
    folded = fold(quote)
    return len(folded) >= LEAST_QUOTE and folded in fold(window)


def verdict_on(screened: Screened, judged: Judgement | Finding, window: Window) -> Finding | None:
    """What a judgement makes of a draft: None when it is grounded, else the one exclusion that holds.

    The quotation may be left out where the keyed answer itself stands in the window; one that is given must be real.
    """
    if isinstance(judged, Finding):
        return judged
    if not judged.approves:
        kind = Exclusion.UNGROUNDED if judged.reason in UNGROUNDED_REASONS else Exclusion.JUDGE_REJECTED
        return Finding(kind, judged.reason.value)
    if judged.quote and not quoted(judged.quote, window.text):
        return Finding(Exclusion.QUOTE_MISSING, f"not in the window: {excerpt(judged.quote)}")
    if not judged.quote and screened.needs_quote:
        return Finding(Exclusion.QUOTE_MISSING, "the answer is not in the window and nothing is quoted")
    return None


class JudgeChanged(ValueError):
    """The judgements of one run are those of several models."""


@dataclass(frozen=True, slots=True)
class Grounding:
    """The drafts that came to the judge, each with its judgement or why there is none."""

    judge: str
    prompt_id: str
    grounded: tuple[tuple[Screened, Judgement], ...]
    dropped: tuple[tuple[Screened, Finding], ...]
    unjudged: tuple[Screened, ...] = ()
    """No reply yet: the same command asks again."""
    served: Served = field(default_factory=dict)
    """Names that the judgements carry."""

    def counts(self) -> dict[str, int]:
        """Drafts by what became of them; every kind named."""
        kinds = Counter(finding.exclusion for _, finding in self.dropped)
        dropped = {kind.value: kinds[kind] for kind in JUDGE_KINDS}
        return {"judged": len(self.grounded) + len(self.dropped), "grounded": len(self.grounded), **dropped} | {
            "unjudged": len(self.unjudged)
        }


JUDGE_KINDS = (Exclusion.JUDGE_SILENT, Exclusion.QUOTE_MISSING, Exclusion.UNGROUNDED, Exclusion.JUDGE_REJECTED)
"""Why a judged draft is not grounded."""


def ground(
    screened: Sequence[Screened], responses: Iterable[Response], windows: Mapping[str, Window], judge: str, prompt: str
) -> Grounding:
    """Every draft that passed its screens against the judge's stored replies, by window id.

    Drafts with a finding of their own are passed over: they are in a bucket already. The last stored reply to a draft
    counts; an error is no reply. Raises KeyError for a draft of a window that is not given, JudgeChanged when the
    judgements carry several names: then no one judge grounded these items.
    """
    replies = {each.item_id: each for each in responses if not each.error}
    asked = {judgement_id(each.draft) for each in screened if each.bucket is None}
    served = served_names(replies.values(), asked)
    if why := several(served):
        raise JudgeChanged(f"{excerpt(judge)}: {why}; a judge is one model from its study to its last judgement")
    grounded: list[tuple[Screened, Judgement]] = []
    dropped: list[tuple[Screened, Finding]] = []
    unjudged: list[Screened] = []
    for each in screened:
        if each.bucket is not None:
            continue
        reply = replies.get(judgement_id(each.draft))
        if reply is None:
            unjudged.append(each)
            continue
        judged = read_judgement(reply)
        finding = verdict_on(each, judged, windows[each.draft.window_id])
        if finding is not None:
            dropped.append((each, finding))
        elif isinstance(judged, Judgement):
            grounded.append((each, judged))
    return Grounding(judge, prompt, tuple(grounded), tuple(dropped), tuple(unjudged), served)


def judgement_id(draft: Draft) -> str:
    """Under which id a draft is judged: its window and the model that wrote it."""
    return f"{draft.window_id}@{draft.model}"


def to_judge(screened: Iterable[Screened], windows: Mapping[str, Window]) -> Iterator[tuple[str, Draft, Window]]:
    """What a judge is asked about: the drafts without a finding, with id and window."""
    for each in screened:
        if each.bucket is None:
            yield judgement_id(each.draft), each.draft, windows[each.draft.window_id]
