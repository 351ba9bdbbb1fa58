"""What a cell and its remark mean: the grammar of corrected keys.

What belongs here: one cell and one remark become a `Ruling`. What does not: finding the remark on the sheet (`keys`).
Source: hazards 9-11 and the count of all forms over 76 corrected keys of ROC 100-114 (hazards list, "Remark grammar").
A remark that is not fully understood is `remark_unread`: the question is excluded and counted, never guessed.
"""

from __future__ import annotations

import re

from opentwbench.exam.glyphs import half_width
from opentwbench.exam.model import LETTERS, Exclusion, Ruling

MAX_REMARK = 300
"""Longest remark of one question that is read, in characters; real ones have at most 40."""

_SPACE = re.compile(r"\s+")
_REFERENCES = re.compile(r"^第\d{1,3}(?:題?[、，,及和與至~～－-]第?\d{1,3})*題")

# 一律給分, 均一律給分, 一律送分; a bare 均給分 is left unread, because it may lack its letters.
_VOIDED = re.compile(r"(?:均|皆)?一律(?:均)?(?:給|送)分")
# 除未作答者不給分外，其餘均給分; also 除未作答者不給分 alone
_UNLESS_BLANK = re.compile(r"除未作答者(?:不給分外?|外)[，,、]?其餘(?:均|皆|一律)?給分|除未作答者不給分")
# 答Ａ給分, 答Ｂ、Ｃ給分, 答Ｂ或Ｄ或BD者均給分, 複選ＢＤ或複選ＢＣＤ給分
_CREDITED = re.compile(
    r"(?P<answers>(?:答|複選)[A-E]{1,5}(?:(?:或|、|，|,)(?:答|複選)?[A-E]{1,5})*)者?(?:均|皆|一律)?給分"
)
_ANSWER = re.compile(r"(答|複選)?([A-E]{1,5})")


def rule(cell: str, remark: str | None) -> Ruling:
    """The ruling on one question.

    `cell` is 'A'..'E', several letters, or '#'; widths do not matter. `remark` is the question's own entry (with or
    without the leading 第N題), None where the sheet has none. The exclusion is None only when exactly one official
    single answer results:

    * a letter without a remark: that key;
    * several letters: `multi_select`;
    * # with 答D給分: the new key D, `corrected`;
    * # with 一律給分: `voided`; with 除未作答者不給分...: `credited_unless_blank`;
    * # with several accepted answers: `several_answers_accepted`; with 複選...: `multi_select`;
    * # without a remark, or with one that is not fully understood: `remark_unread`;
    * a letter with a remark that rules the same answer: that key, `corrected`. With any other remark the sheet
      contradicts itself (no real sheet does; the legend promises a # for every change): `remark_unread`.

    Raises ValueError for a cell that is neither.
    """
    cell = half_width(cell)
    if cell != "#" and not _sound(cell):
        raise ValueError(f"no answer cell: {cell[:20]!r}")
    if remark is None:
        return _unremarked(cell)
    ruling = _read(remark)
    if cell == "#" or (ruling.key == cell and ruling.exclusion in (None, Exclusion.MULTI_SELECT)):
        return ruling
    return _unread(remark)


def _unremarked(cell: str) -> Ruling:
    if cell == "#":
        return _unread(None)
    return Ruling(cell, (cell,), Exclusion.MULTI_SELECT if len(cell) > 1 else None)


def _unread(remark: str | None) -> Ruling:
    return Ruling(None, (), Exclusion.REMARK_UNREAD, remark=remark)


def _read(remark: str) -> Ruling:
    if len(remark) > MAX_REMARK:
        return _unread(remark)
    text = _SPACE.sub("", half_width(remark)).strip("，,。；;")
    text = _REFERENCES.sub("", text)
    if _VOIDED.fullmatch(text):
        return Ruling(None, (), Exclusion.VOIDED, corrected=True, remark=remark)
    if _UNLESS_BLANK.fullmatch(text):
        return Ruling(None, (), Exclusion.CREDITED_UNLESS_BLANK, corrected=True, remark=remark)
    credited = _CREDITED.fullmatch(text)
    return _credited(credited["answers"], remark) if credited else _unread(remark)


def _credited(answers: str, remark: str) -> Ruling:
    """The ruling of a list of credited answers, e.g. '答B或D或BD' or '複選BD或複選BCD'."""
    found = _ANSWER.findall(answers)
    accepted = tuple(letters for _, letters in found)
    if not all(_sound(letters) for letters in accepted) or len(set(accepted)) != len(accepted):
        return _unread(remark)
    several_to_mark = any(prefix == "複選" for prefix, _ in found) or all(len(letters) > 1 for letters in accepted)
    key = accepted[0] if len(accepted) == 1 else None
    if several_to_mark:
        return Ruling(key, accepted, Exclusion.MULTI_SELECT, corrected=True, remark=remark)
    exclusion = None if key else Exclusion.SEVERAL_ANSWERS_ACCEPTED
    return Ruling(key, accepted, exclusion, corrected=True, remark=remark)


def _sound(letters: str) -> bool:
    """Distinct letters in marker order."""
    return bool(letters) and set(letters) <= set(LETTERS) and list(letters) == sorted(set(letters))
