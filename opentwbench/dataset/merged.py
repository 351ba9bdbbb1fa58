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

_ASKS = re.compile(r"[？?]|何|哪|多少|幾|下列|[:：]\s*$")
"""What makes a text a question: a question mark or word, or a colon at its end that the option completes."""

_RUN = re.compile(
    r"[(（][AＡ][)）].+?[(（][BＢ][)）].+?[(（][CＣ][)）].+?[(（][DＤ][)）]"
    r"|(?<![A-Za-z0-9])[AＡ][.．].+?(?<![A-Za-z0-9])[BＢ][.．].+?(?<![A-Za-z0-9])[CＣ][.．].+?(?<![A-Za-z0-9])[DＤ][.．]",
    re.DOTALL,
)
"""Option markers A to D in order, in one of the two printed styles."""

_WHICH = re.compile(r"下列[^？?]{0,80}?何者[^？?]{0,60}[？?]")
"""The opening of most questions: 下列…何者…？"""

_MARK = r"[(（]?{letter}[)）.．]\s*"


def option_run(stem: str) -> bool:
    """A run of option markers between two questions: the options of the first, then the second."""
    run = _RUN.search(stem)
    return bool(run and _ASKS.search(stem[: run.start()]) and _ASKS.search(stem[run.end() :]))


def own_options(stem: str, options: Mapping[str, str]) -> bool:
    """The stem prints its own four options behind their markers: the cut between stem and options failed."""
    if not options or not all(text in stem for text in options.values()):
        return False  # spares a release the compilation of a pattern for each stem
    parts = [_MARK.format(letter=letter) + re.escape(text) for letter, text in options.items()]
    return re.search(r"\s*".join(parts), stem) is not None


def next_number(stem: str, q_no: int) -> bool:
    """The next question's number behind the end of a question, and a question behind it."""
    if str(q_no + 1) not in stem:
        return False
    seam = re.search(rf"[？?：:]\s*{q_no + 1}(?:[.．、]\s*|\s+)(?=[㐀-鿿])", stem)
    return bool(seam and _ASKS.search(stem[: seam.start() + 1]) and _ASKS.search(stem[seam.end() :]))


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
