"""How Twinkle Eval 2.10.0 reads a reply, reproduced letter by letter so that scores can be compared with its own.

What belongs here: its choice of the text, its `box` and its `pattern` rules, oddities included.
What does not: any improvement on them; ours are the other methods of extraction.py.
Source: facts on Twinkle Eval, checked on its recorded evaluator (tests/real/test_extraction_real.py). Its own patterns
can take quadratic time on one rule; the search here gives the same letter in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Read = tuple[str, str] | None
"""(letter, rule), or None when nothing was read. The letter may be any of A-Z, option or not."""

_TAGS = (("<think>", "</think>"), ("<reason>", "</reason>"), ("<reasoning>", "</reasoning>"))


def read_text(content: str | None, reasoning: str | None = None, reasoning_content: str | None = None) -> str | None:
    """The text that Twinkle reads; None when the reply has none.

    The content after its last closing tag, when both tags of a kind occur (the first such kind only); if that is
    empty, `reasoning`, and only if that is missing, `reasoning_content`, tags and all.
    """
    text = _after_reasoning(content) if content else content
    if text:
        return text
    return reasoning if reasoning is not None else reasoning_content


def _after_reasoning(text: str) -> str:
    if "</" not in text:
        return text
    lower = text.lower()
    for opening, closing in _TAGS:
        if opening in lower and closing in lower:
            # Kept as it is: the place is found in the lower-cased text, which is longer than the text where a letter
            # like İ lower-cases to two characters, so the cut falls later than the tag.
            return text[lower.rfind(closing) + len(closing) :].strip()
    return text


def twinkle_box(text: str) -> Read:
    """The first \\box{X} with one ASCII capital; only if there is none, the first \\boxed{X}."""
    for rule, search in _BOXES:
        letter = search(text)
        if letter:
            return letter, rule
    return None


_ISOLATED = re.compile(r"\b([A-Z])\b")


def _lazily_after(phrase: str) -> Callable[[str], str | None]:
    """The first capital between word boundaries that follows the phrase on its line: `phrase.*?\\b([A-Z])\\b`.

    Only the first phrase of a line needs a look: what follows a later one follows the first one too. The pattern
    itself tries every phrase to the end of the line, which is quadratic in their number.
    """

    def search(text: str) -> str | None:
        start = text.find(phrase)
        while start >= 0:
            end = text.find("\n", start)
            end = len(text) if end < 0 else end
            # A boundary at the line's end is one in the whole text as well: a line feed is no word character.
            found = _ISOLATED.search(text, start + len(phrase), end)
            if found:
                return found[1]
            start = text.find(phrase, end)
        return None

    return search


def _matching(pattern: str, needs: str) -> Callable[[str], str | None]:
    """The first match of a pattern; `needs` is a text that every match contains, looked for first to save time.

    Its single characters before that: a search for one is several times faster than one for two.
    """
    compiled = re.compile(pattern)
    characters = sorted(set(needs) - set("答案是 "))

    def search(text: str) -> str | None:
        for character in characters:
            if character not in text:
                return None
        if needs not in text:
            return None
        found = compiled.search(text)
        return found[1] if found else None

    return search


# Twinkle asks for one or two backslashes; the letter is that of the last one.
_BOXES: tuple[tuple[str, Callable[[str], str | None]], ...] = (
    ("box", _matching(r"\\box{([A-Z])}", "\\box{")),
    ("boxed", _matching(r"\\boxed{([A-Z])}", "\\boxed{")),
)

_PATTERN: tuple[tuple[str, Callable[[str], str | None]], ...] = (
    ("correct-answer-is", _matching(r"correct answer is:\n\n\n([A-Z]).", "correct answer is:\n\n\n")),
    ("correct-answer-is", _matching(r"correct answer is:\n\n([A-Z]).", "correct answer is:\n\n")),
    ("correct-answer-is", _matching(r"correct answer is:\n([A-Z]).", "correct answer is:\n")),
    ("should-be", _lazily_after("正確的答案應該是:")),
    ("should-be", _lazily_after("正确的答案应该是:")),
    ("should-be", _lazily_after("正確的選項應為:")),
    ("should-be", _lazily_after("正确的选项应为:")),
    ("correct-is", _matching(r"正確的答案是（([A-Z])）", "正確的答案是（")),
    ("correct-is", _matching(r"正确的答案是（([A-Z])）", "正确的答案是（")),
    ("answer-should-be", _matching(r"答案應該是:\s?選?項?\s?([A-Z])", "答案應該是:")),
    ("answer-should-be", _matching(r"答案应该是:\s?选?项?\s?([A-Z])", "答案应该是:")),
    ("answer-is", _matching(r"答案是:\s?選?項?\s?([A-Z])", "答案是:")),
    ("answer-is", _matching(r"答案是:\s?选?项?\s?([A-Z])", "答案是:")),
    ("answer-should-be", _matching(r"答案應為:\s?選?項?\s?([A-Z])", "答案應為:")),
    ("answer-should-be", _matching(r"答案应为:\s?选?项?\s?([A-Z])", "答案应为:")),
    ("answer-wei", _matching(r"答案為:\s?([A-Z])", "答案為:")),
    ("answer-wei", _matching(r"答案应为：\s?([A-Z])", "答案应为：")),
    ("answer-wei", _matching(r"答案為：\s?([A-Z])", "答案為：")),
    ("answer-mark", _matching(r"正確答案為 \*\*([A-Z])", "正確答案為 **")),
    ("answer-mark", _matching(r"正確答案為\(([A-Z])\)", "正確答案為(")),
    ("answer-mark", _matching(r"答案是 \*\*([A-Z])", "答案是 **")),
    ("answer-mark", _matching(r"答案 ([A-Z]) 正確", "答案 ")),
    ("answer-mark", _matching(r"選項 ([A-Z]) 正確", "選項 ")),
    ("answer-mark", _matching(r"所以答案為([A-Z])", "所以答案為")),
    ("answer-mark", _matching(r"答案：\(([A-Z])\)", "答案：(")),
    ("answer-mark", _matching(r"答案:\s?([A-Z])", "答案:")),
    ("answer-mark", _matching(r"答案：\s?([A-Z])", "答案：")),
    ("answer-mark", _matching(r"答案([A-Z]) ", "答案")),
    ("start", _matching(r"\A選項([A-Z])", "選項")),
    ("start", _matching(r"\A选项([A-Z])", "选项")),
    ("start", _matching(r"\A選([A-Z])", "選")),
    ("start", _matching(r"\A选([A-Z])", "选")),
    ("letter-any-space", _matching(r"([A-Z]). ", " ")),
    ("letter-any", _matching(r"([A-Z]).", "")),
)
"""Rule and search in Twinkle's order. Patterns that an earlier one contains (答案: X with spaces) can never be the
first to match and are left out."""


_WORDS = ("correct answer is", "答案", "應為:", "应为:", "選", "选")


def twinkle_pattern(text: str) -> Read:
    """The letter of the first rule, in order, with a match anywhere; None for white space only."""
    if not text or text.isspace():
        return None
    # Most replies hold none of the words that all but the last rules need.
    for rule, search in _PATTERN if any(word in text for word in _WORDS) else _PATTERN[-2:]:
        letter = search(text)
        if letter:
            return letter, rule
    return None
