"""What is measured of one answer, and of many: F1, refusals, percentiles.

What belongs here: pure functions. What does not: recall (evidence.py) and what a judge says (judging.py).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from opentwbench.rag.text import answer_tokens, folded


def f1(answer: str, references: Sequence[str]) -> float:
    """Token F1 against the best of the references, 0 to 1; two texts without tokens agree.

    The formula is that of the SQuAD script; tokens are Han characters, words and whole numbers, because white space
    makes one token of a Chinese sentence and 15.7 is not 157 (fault 6). Raises ValueError without a reference.
    """
    if not references:
        raise ValueError("F1 needs a reference")
    said = answer_tokens(answer)
    return max(_f1(said, answer_tokens(reference)) for reference in references)


def _f1(said: Sequence[str], wanted: Sequence[str]) -> float:
    if not said or not wanted:
        return float(said == wanted)
    common = (Counter(said) & Counter(wanted)).total()
    return 2 * common / (len(said) + len(wanted))


REFUSALS = (
    "not mentioned",
    "it is not mentioned",
    "not mentioned in the passages",
    "insufficient information",
    "there is insufficient information",
    "the passages do not say",
    "i don't know",
    "i do not know",
    "i cannot answer this question",
    "cannot be determined from the passages",
    "資料不足",
    "資料中未提及",
    "未提及",
    "我不知道",
    "無法回答",
    "無法從資料中得知",
)
"""Whole answers that decline. Closed: a sentence that holds 'none' or 'unknown' is an answer (fault 9)."""

_END = " \t\n.。!！,，;；\"'「」()（）*"


def is_refusal(answer: str, missing: str = "") -> bool:
    """Whether the whole answer is one of REFUSALS or the data set's own sentence for a missing answer."""
    bare = _bare(answer)
    return bare in {_bare(each) for each in (*REFUSALS, missing) if each}


def _bare(text: str) -> str:
    return " ".join(folded(text).replace("’", "'").split()).strip(_END)


def percentile(values: Iterable[float], share: float) -> float | None:
    """The smallest value that at least `share` of the values do not exceed (nearest rank); None without values."""
    ranked = sorted(values)
    if not 0 < share <= 1:
        raise ValueError(f"a share must lie in (0, 1], got {share}")
    return ranked[max(0, math.ceil(share * len(ranked)) - 1)] if ranked else None


def mean(values: Iterable[float]) -> float | None:
    """The arithmetic mean; None without values, so that nothing is taken for 0 (fault 5)."""
    held = list(values)
    return math.fsum(held) / len(held) if held else None
