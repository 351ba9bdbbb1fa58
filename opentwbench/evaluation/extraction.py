"""Extraction: which option a reply names, by one declared method each.

What belongs here: the methods, each a pure function of a reply's texts. What does not: whether the option is right.
The methods are kept apart because the reader decides the score as much as the model does: the published suite saw
20.8 % and 93.9 % for the same replies' model. `strict` and `lenient` are the published rules, `twinkle-box` and
`twinkle-pattern` those of Twinkle Eval 2.10 (twinkle_reading.py), `tolerant-box` our declared wrappers
(tolerant_box.py), `box-else-pattern` what the public board did until October 2026, for the study of its effect.

Replies are hostile until read: every search here is linear in the length of the reply (possessive quantifiers, no
quantifier next to another that accepts the same character), so that a reply of megabytes costs milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from opentwbench.evaluation.model import Reading
from opentwbench.evaluation.tolerant_box import tolerant_box
from opentwbench.evaluation.twinkle_reading import read_text, twinkle_box, twinkle_pattern

ORDINALS = "甲乙丙丁戊"
"""The ordinals that stand for A, B, C, D, E in the published rules."""

LETTERS = "ABCD"

NOTHING, EMPTY = "none", "empty"
"""`Reading.rule` when no option was read: the text holds none, or there is no text."""


class ExtractionError(ValueError):
    """No such method, or letters that are no options."""


class Method(NamedTuple):
    """A way of reading replies."""

    read: Callable[[str | None, str | None, str | None, str], Reading]
    """(content, reasoning, reasoning_content, letters) -> reading."""
    title: str
    """One line for tables and for --help."""
    options_only: bool
    """True when only letters that are options count; Twinkle reads any A-Z and counts it as parsed."""


class _Rules(NamedTuple):
    box: re.Pattern[str]
    lead: re.Pattern[str]
    marked: re.Pattern[str]
    any: re.Pattern[str]


@lru_cache(maxsize=32)
def _rules(letters: str) -> _Rules:
    if not 2 <= len(letters) <= len(ORDINALS) or not "ABCDE".startswith(letters):
        raise ExtractionError(f"letters must be A, B and so on, at most {len(ORDINALS)}: {letters[:20]!r}")
    latin = letters + letters.lower()
    option = f"([{latin}{ORDINALS[: len(letters)]}])"
    return _Rules(
        box=re.compile(rf"\\boxed\{{\s*+{option}\s*+\}}"),
        lead=re.compile(rf"\s*+[(（]?{option}[)）.。、:：\s]"),
        marked=re.compile(rf"(?:答案|正確選項|正解|答|選)\s*+(?:[是為:：]\s*+)?+(?:[(（]\s*+)?+{option}"),
        any=re.compile(rf"(?<![A-Za-z])([{latin}])(?![A-Za-z])"),
    )


def _letter(option: str) -> str:
    return LETTERS_OF_ORDINALS.get(option, option.upper())


LETTERS_OF_ORDINALS: Mapping[str, str] = dict(zip(ORDINALS, "ABCDE", strict=True))


def _unread(*texts: str | None) -> Reading:
    return Reading(None, NOTHING if any(text and not text.isspace() for text in texts) else EMPTY)


def strict(content: str | None, reasoning: str | None, reasoning_content: str | None, letters: str) -> Reading:
    """The published score: the first \\boxed{X} anywhere in the raw content, a <think> block included.

    X is one of A-D, a-d or 甲乙丙丁, white space inside the braces allowed, no other wrapper. A separate reasoning
    field is not read. Source: facts on the published protocol, "Strict".
    """
    found = _rules(letters).box.search(content or "")
    return Reading(_letter(found[1]), "box") if found else _unread(content)


def lenient(content: str | None, reasoning: str | None, reasoning_content: str | None, letters: str) -> Reading:
    """The figure published beside the score: in the text after the last </think>, the first rule with a match.

    box: as strict. lead: at the start an optional bracket, a letter or ordinal, and ) ） . 。 、 : ： or white space.
    marked: 答案, 正確選項, 正解, 答 or 選, optionally 是, 為 or a colon, an optional bracket, a letter or ordinal.
    any: the first letter (no ordinal) with no Latin letter on either side. White space between the parts is allowed,
    as the recorded replies show (答案： C). Source: facts on the published protocol, "Lenient".
    """
    text = (content or "").rpartition("</think>")[2]
    rules = _rules(letters)
    found = rules.lead.match(text)
    for name, match in (
        ("box", rules.box.search(text)),
        ("lead", found),
        ("marked", None if found else rules.marked.search(text)),
    ):
        if match:
            return Reading(_letter(match[1]), name)
    found = rules.any.search(text)
    return Reading(_letter(found[1]), "any") if found else _unread(content)


def box_else_pattern(
    content: str | None, reasoning: str | None, reasoning_content: str | None, letters: str
) -> Reading:
    """What the board did until 14 October 2026: the box where there is one, else the pattern match.

    The less a model kept to the format, the more leniently it was read. Source: the OpenTWBench paper, section 5.1.
    """
    boxed = strict(content, reasoning, reasoning_content, letters)
    return boxed if boxed.answer else lenient(content, reasoning, reasoning_content, letters)


def _tolerant(content: str | None, reasoning: str | None, reasoning_content: str | None, letters: str) -> Reading:
    _rules(letters)
    read = tolerant_box(content or "", letters)
    return Reading(*read) if read else _unread(content)


def _twinkle_box(content: str | None, reasoning: str | None, reasoning_content: str | None, letters: str) -> Reading:
    text = read_text(content, reasoning, reasoning_content)
    read = twinkle_box(text or "")
    return Reading(*read) if read else _unread(text)


def _twinkle_pattern(
    content: str | None, reasoning: str | None, reasoning_content: str | None, letters: str
) -> Reading:
    text = read_text(content, reasoning, reasoning_content)
    read = twinkle_pattern(text or "")
    return Reading(*read) if read else _unread(text)


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "strict": Method(strict, "the published score: the first \\boxed{X} in the raw text", True),
        "lenient": Method(lenient, "published beside it: box, leading letter, marked letter, any letter", True),
        "tolerant-box": Method(_tolerant, "the last box outside the reasoning, declared wrappers accepted", True),
        "twinkle-box": Method(_twinkle_box, "Twinkle Eval 2.10, box", False),
        "twinkle-pattern": Method(_twinkle_pattern, "Twinkle Eval 2.10, pattern", False),
        "box-else-pattern": Method(box_else_pattern, "the public board until October 2026, for its study only", True),
    }
)
"""Name -> method. `box-else-pattern` ranks nothing."""

GRADED: tuple[str, ...] = tuple(name for name in METHODS if name != "box-else-pattern")
"""The methods that every response is read with."""


def read(
    method: str,
    content: str | None,
    reasoning: str | None = None,
    reasoning_content: str | None = None,
    letters: str = LETTERS,
) -> Reading:
    """What the method reads in a reply: the letter as shown and the rule that fired.

    Raises ExtractionError for an unknown method, and for letters that are not A, B and so on up to E at most.
    """
    try:
        chosen = METHODS[method]
    except KeyError:
        raise ExtractionError(f"no method {method[:40]!r}; there are {', '.join(METHODS)}") from None
    return chosen.read(content, reasoning, reasoning_content, letters)


def count_boxes(content: str | None, letters: str = LETTERS) -> int:
    """How many boxes the strict rule could have read in the raw content; the first one counted."""
    text = content or ""
    return sum(1 for _ in _rules(letters).box.finditer(text)) if "\\boxed" in text else 0
