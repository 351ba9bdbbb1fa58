"""Stems that hold a second question: three signs, each narrow enough that no sound stem may show it.

What belongs here: the signs, as pure functions of one stem.
What does not: what a check makes of them (validators.py).
A false alarm stops a whole subject, so a sign asks for a question before the seam and a question after it: stems that
enumerate (A) (B) (C) (D) for the options to order, or number their statements, show at most one of the two.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_QUOTED = re.compile(r"「[^「」]*」|『[^『』]*』|“[^“”]*”")
"""What a person says inside a stem may well be a question of its own."""

_ASKS = re.compile(r"[？?]|(?<![任幾])何|哪|多少|幾|正確|錯誤|的是")
"""What makes a text a question. Not 下列 and no colon: 有下列四個步驟：(A)… only introduces a list."""

_MARKERS = (
    tuple(re.compile(f"[(（][{half}{full}][)）]") for half, full in zip("ABCD", "ＡＢＣＤ", strict=True)),
    tuple(re.compile(f"(?<![A-Za-z0-9])[{half}{full}][.．]") for half, full in zip("ABCD", "ＡＢＣＤ", strict=True)),
)
"""Option markers A to D in the two printed styles."""

_WHICH = re.compile(r"下列[^？?]{0,80}?何者[^？?]{0,60}[？?]")
"""The opening of most questions: 下列…何者…？"""

_MARK = r"[(（]?{letter}[)）.．]\s*"


def _run(stem: str, markers: tuple[re.Pattern[str], ...]) -> tuple[int, int] | None:
    """Start and end of the tightest run of markers in order that ends first; None when there is none.

    Forward to the first end, then back to the latest start: one pattern with four gaps would backtrack without bound.
    """
    end = 0
    for marker in markers:
        found = marker.search(stem, end)
        if found is None:
            return None
        end = found.end()
    start = end
    for marker in reversed(markers):
        start = max(found.start() for found in marker.finditer(stem, 0, start))
    return start, end


def _asks_to_its_end(text: str) -> bool:
    """A question, or a sentence that ends in a colon for the options to complete."""
    return bool(_ASKS.search(text)) or text.rstrip().endswith(("：", ":"))


def option_run(stem: str) -> bool:
    """A run of option markers between two questions: the options of the first, then the second."""
    runs = [run for run in (_run(stem, markers) for markers in _MARKERS) if run]
    return any(_ASKS.search(stem[:start]) and _asks_to_its_end(stem[end:]) for start, end in runs)


def own_options(stem: str, options: Mapping[str, str]) -> bool:
    """The stem prints its own four options behind their markers: the cut between stem and options failed."""
    if not options or not all(text and text in stem for text in options.values()):
        return False  # spares a release the compilation of a pattern for each stem
    parts = [_MARK.format(letter=letter) + re.escape(text) for letter, text in options.items()]
    return re.search(r"\s*".join(parts), stem) is not None


def next_number(stem: str, q_no: int) -> bool:
    """The next question's number behind the end of a question, and a question behind it."""
    if str(q_no + 1) not in stem:
        return False
    stem = _QUOTED.sub("", stem)
    seam = re.search(rf"[？?：:]\s*{q_no + 1}(?:[.．、]\s*|\s+)(?=[㐀-鿿])", stem)
    return bool(seam and _ASKS.search(stem[: seam.start() + 1]) and _asks_to_its_end(stem[seam.end() :]))


def asks_twice(stem: str) -> bool:
    """下列…何者…？ twice outside quotation marks."""
    return len(_WHICH.findall(_QUOTED.sub("", stem))) > 1


def merged_stem(stem: str, options: Mapping[str, str], q_no: int) -> str:
    """The name of the first sign of a second question in a stem, '' when there is none."""
    if option_run(stem):
        return "option_run"
    if own_options(stem, options):
        return "own_options"
    if next_number(stem, q_no):
        return "next_number"
    return "asks_twice" if asks_twice(stem) else ""
