"""Repetition loops: a reply that ends in one passage said over and over, as models do until the budget cuts them.

What belongs here: the detector. What does not: what a loop means for a score (thinking_budget.py).
"""

from __future__ import annotations

from dataclasses import dataclass

TAIL = 4_000
"""Characters at the end of a text that are looked at; a loop that the budget cuts fills the end."""

REPEATS = 5
"""Least repetitions: two or three of a phrase occur in good prose, five without a word between do not."""

SPAN = 120
"""Least characters that the repetitions cover, so that a drawn line or 「哈哈哈哈哈」 is no loop."""

UNIT = 600
"""Longest repeated passage: five of them still fit the tail with room."""


@dataclass(frozen=True, slots=True)
class Loop:
    """The passage at the end of a text and how often it stands there, the cut one left out."""

    unit: str
    times: int


def loop(text: str | None) -> Loop | None:
    """The repetition that a text ends in, None when it ends in none. Linear in the length of the tail.

    The passage must hold a letter or a character of a script: a ruled line or dots are typography. A loop that ends
    before the text does is not found: such a reply came out of it.
    """
    tail = (text or "").rstrip()[-TAIL:][::-1]
    if len(tail) < SPAN:
        return None
    # Knuth, Morris, Pratt (1977): a prefix of length n has the period n - border; the text is read from its end.
    borders = [0] * len(tail)
    best = 0
    period = 0
    for n in range(1, len(tail)):
        border = borders[n - 1]
        while border and tail[n] != tail[border]:
            border = borders[border - 1]
        borders[n] = border + (tail[n] == tail[border])
        length, unit = n + 1, n + 1 - borders[n]
        if length >= SPAN and unit <= UNIT and length >= REPEATS * unit:
            best, period = length, unit
    passage = tail[:period][::-1]
    return Loop(passage, best // period) if period and any(c.isalnum() for c in passage) else None
