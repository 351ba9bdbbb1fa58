"""`tolerant-box`: the last box outside the reasoning, with the wrappers that models really write around the letter.

What belongs here: where the reasoning ends, which box counts, and the declared wrappers.
What does not: the published rules (extraction.py). This is a further column, never the ranking one.

The rule, in full:
1. Reasoning is what stands between <think>, <thinking>, <thought>, <reason> or <reasoning> (any case, attributes
   allowed) and the closing tag of any of these; up to the last closing tag when one closes what nothing opened; from
   an opening tag that nothing closes to the end, because such a reply never left its reasoning; and, in channel
   format, everything before the last <|channel|>final<|message|>.
2. The last \\boxed with braces outside the reasoning counts, white space before the brace allowed. Braces are
   matched, so \\boxed{\\text{A}} is one box. A later box corrects an earlier one, and one that names no single option
   leaves the reply unread: an earlier letter is not taken in its place.
3. Inside, these are removed until nothing changes: white space, $, emphasis marks *, a font command with its braces
   (\\text, \\textbf, \\mathrm and so on), one pair of brackets around everything, one of 。 ． . , ， 、 ： : at the
   end, a leading 選項, 答案, option or answer with or without a colon. Full-width letters count as letters, 甲乙丙丁
   as A-D.
4. What is left is one letter, or one letter followed by . ． 、 ： : ) ） or white space and the option's text
   (E: text). A text that starts with several letters (A, C or A and B) names no single option.
Sources: public reports 11, 13 and 14; weak points 3 and 4 of the published protocol.
"""

from __future__ import annotations

import re

MAX_BOX = 2_000
"""Most characters in a box that is read; the 99.9th percentile of option texts is 95."""

MAX_DEPTH = 12
"""Most wrappers taken off one letter."""

_TAG = re.compile(r"<(/?)(?:think|thinking|thought|reason|reasoning)(?:\s[^<>]{0,200})?>", re.IGNORECASE)
_FINAL = "<|channel|>final<|message|>"
_BOX = re.compile(r"\\boxed\s{0,4}\{")

_FONT = re.compile(
    r"\\(?:text|textbf|textit|textrm|textsf|texttt|mathrm|mathbf|mathit|mathsf|mathtt|mathbb|bf|rm|boldsymbol|operatorname)"
    r"\s{0,4}\{(.*)\}",
    re.DOTALL,
)
_BRACKETS = {"(": ")", "（": "）", "[": "]", "【": "】", "「": "」", "{": "}"}
_LABEL = re.compile(r"(?:正確選項|正確答案|選項|選项|答案|选项|option|answer)\s*+(?:[是為为:：]\s*+)?+", re.IGNORECASE)
_WIDE = {ord(wide): ord(narrow) for wide, narrow in zip("ＡＢＣＤＥａｂｃｄｅ", "ABCDEabcde", strict=True)}
_ORDINALS = "甲乙丙丁戊"
_TEXT_AFTER = re.compile(r"([A-Za-z甲乙丙丁戊])(?:[.．、：:)）]|\s)\s*+(.+)", re.DOTALL)
_FURTHER = re.compile(r"(?:(?:and|or|與|和|或|及|、|,|，|&|/)\s*+)*+[A-Ea-e甲乙丙丁戊](?![A-Za-z一-鿿])")
"""Another letter right behind the first one, with or without a conjunction."""


def outside_reasoning(text: str) -> str:
    """The text without its reasoning, as rule 1 says; linear in its length."""
    text = text.rpartition(_FINAL)[2] if _FINAL in text else text
    if "<" not in text:
        return text
    kept: list[str] = []
    depth = start = 0
    for tag in _TAG.finditer(text):
        if tag[1]:
            if depth == 0:
                kept.clear()  # nothing opened it: all that came before was reasoning
            depth = max(0, depth - 1)
            start = tag.end()
        else:
            if depth == 0:
                kept.append(text[start : tag.start()])
            depth += 1
    return "".join(kept) + (text[start:] if depth == 0 else "")


def _last_box(text: str) -> str | None:
    """The content of the last box with matched braces; None when there is no box, '' when it is too long or open."""
    at = len(text)
    while (at := text.rfind("\\boxed", 0, at)) >= 0:
        opening = _BOX.match(text, at)
        if opening:
            return _braced(text, opening.end())
    return None


def _braced(text: str, start: int) -> str:
    depth = 1
    for place in range(start, min(len(text), start + MAX_BOX + 1)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[start:place]
    return ""


def _unwrap(inside: str) -> tuple[str, list[str]]:
    """The inside without wrappers, and the names of those taken off."""
    names: list[str] = []
    for _ in range(MAX_DEPTH):
        before, inside = inside, inside.strip().strip("$*").strip()
        font = _FONT.fullmatch(inside)
        if font:
            inside = font[1]
            names.append("font")
        elif len(inside) > 1 and _BRACKETS.get(inside[0]) == inside[-1]:
            inside = inside[1:-1]
            names.append("bracket")
        elif len(inside) > 1 and inside[-1] in "。．.,，、：:":
            inside = inside[:-1]
            names.append("mark")
        elif label := _LABEL.match(inside):
            inside = inside[label.end() :]
            names.append("label")
        if inside == before:
            break
    return inside, names


def tolerant_box(content: str, letters: str) -> tuple[str, str] | None:
    """The letter in the last box outside the reasoning, and 'box' or 'box+' with the wrappers it was read through."""
    if "\\boxed" not in content:
        return None
    inside = _last_box(outside_reasoning(content))
    if not inside:
        return None
    inside, names = _unwrap(inside)
    if len(inside) > 1:
        followed = _TEXT_AFTER.fullmatch(inside.translate(_WIDE))
        if not followed or _FURTHER.match(followed[2]):
            return None
        inside = followed[1]
        names.append("text")
    letter = inside.translate(_WIDE)
    if letter != inside:
        names.append("wide")
    place = _ORDINALS.find(letter) if letter else -1
    letter = "ABCDE"[place] if place >= 0 else letter.upper()
    if len(letter) != 1 or letter not in letters:
        return None
    return letter, "+".join(["box", *dict.fromkeys(names)])
