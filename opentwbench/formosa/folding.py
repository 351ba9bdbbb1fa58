"""The fold under which an answer, option or quotation is looked up in a text: one for Formosa and what is above it.

What belongs here: numerals and digits on top of the loose fold. What does not: the loose fold itself (exam.fingerprint)
and the normaliser that retrieval scores are defined by (rag.text), which keeps to its published source.
Source: facts on Taiwan.md, the row on near-duplicate topics: 台/臺, full and half width, spaces, numerals (16/十六).
"""

from __future__ import annotations

import re

from opentwbench.exam.fingerprint import fold_loose

_NUMERAL = re.compile(r"[〇零一二兩三四五六七八九十百千]+")
_DIGITS = {
    char: digit for digit, chars in enumerate(("〇零", "一", "二兩", "三", "四", "五", *"六七八九")) for char in chars
}
_UNITS = {"十": 10, "百": 100, "千": 1_000}


def fold(text: str) -> str:
    """A text for looking up an answer: the loose fold (widths, spaces, 台/臺), numerals as digits, no 1,000 commas."""
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", fold_loose(text))
    return _NUMERAL.sub(lambda found: _number(found[0]), plain)


def _number(numeral: str) -> str:
    """'十六' -> '16', '二〇一六' -> '2016', '一百零三' -> '103'; what is no number stays as it is."""
    if not any(char in _UNITS for char in numeral):
        return "".join(str(_DIGITS[char]) for char in numeral)
    total, digit, last = 0, -1, 10_000
    for char in numeral:
        if char in _UNITS:
            if _UNITS[char] >= last:
                return numeral
            last = _UNITS[char]
            total += last * (1 if digit < 1 else digit)
            digit = -1
        elif digit > 0:
            return numeral
        else:
            digit = _DIGITS[char]
    return str(total + max(digit, 0))


def stands_in(answer: str, text: str) -> bool:
    """True when the answer stands in the text under folding. Digits are not cut: 16 is not in 2016."""
    wanted = fold(answer)
    if not wanted:
        return False
    edge = (r"(?<!\d)" if wanted[0].isdigit() else "") + re.escape(wanted) + (r"(?!\d)" if wanted[-1].isdigit() else "")
    return re.search(edge, fold(text)) is not None
