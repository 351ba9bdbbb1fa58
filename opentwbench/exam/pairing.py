"""Do a question paper and a key belong together? Only a clear contradiction between two printed headers says no.

What belongs here: comparing what both headers print: code, sitting, examination, subject. What does not: counts and
cells (`paper`).
One key can serve twelve language papers, lists their names in no order and sometimes not all of them (106901/900/0006);
half of the corrected keys print no code. So a field that one side does not print says nothing, and names are compared
by what they share. The bounds are measured on the 228 real pairs: see each constant.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from opentwbench.exam.glyphs import map_private_use
from opentwbench.exam.model import KeySheet, QuestionPaper

EXAM_SHARED = 0.5
"""Least share of the key's examination name, in pairs of letters, that the paper's header holds; real pairs: 0.67."""

SUBJECT_SHARED = 0.6
"""Least share of the shorter subject's details that both sides print; real pairs: 0.77 (twelve languages in a key)."""

_ORDINAL = re.compile(r"\(([一二三四五六七八九十]{1,3}|\d{1,2}|[IVX]{1,4})\)")
_ORDINAL_SIGNS = frozenset("一二三四五六七八九十甲乙丙丁0123456789IVX")
_SESSION = re.compile(r"第([一二三四五1-5])次")
_YEAR = re.compile(r"(1\d\d|(?<!\d)[89]\d)(?=年)")
_PAPER_CODE = re.compile(r"(\d{4})(?!\d)|(\d{4})(?=1\d\d年)")


def contradiction(paper: QuestionPaper, sheet: KeySheet) -> str:
    """Why the two cannot belong together, '' when nothing printed contradicts it."""
    checks = (
        _code(paper.header, sheet.header),
        _sitting(paper.header, sheet.header),
        _exam(paper.header, sheet.header),
        _subject(paper.header.get("科目", ""), sheet.header.get("科目名稱", "")),
    )
    return "; ".join(words for words in checks if words)


def _code(paper: Mapping[str, str], key: Mapping[str, str]) -> str:
    """試題代號 of the key against 測驗代號 of a mixed paper, else 代號.

    A mixed paper's own 代號 has five digits (91140, 10110-11410) and is no multiple-choice code.
    """
    theirs = key.get("試題代號", "")
    printed = [_fold(paper.get(field, "")) for field in ("測驗代號", "代號")]
    if not theirs or any(code.startswith(theirs) for code in printed):
        return ""
    found = _PAPER_CODE.match(printed[0] or printed[1])
    ours = (found[1] or found[2]) if found else ""
    return f"code {ours} on the paper, {theirs} on the key" if len(ours) == len(theirs) else ""


def _sitting(paper: Mapping[str, str], key: Mapping[str, str]) -> str:
    """Year and session (第二次) that both sides print somewhere in the examination's name."""
    ours, theirs = _fold(" ".join(paper.values())), _fold(key.get("考試名稱", ""))
    for what, pattern in (("year", _YEAR), ("session", _SESSION)):
        here, there = set(pattern.findall(ours)), set(pattern.findall(theirs))
        if here and there and not here & there:
            return f"{what} {'/'.join(sorted(here))} on the paper, {'/'.join(sorted(there))} on the key"
    return ""


def _exam(paper: Mapping[str, str], key: Mapping[str, str]) -> str:
    """The key's examination name against all header text: the paper's title is broken by its code and page number."""
    name = _letters(key.get("考試名稱", ""))
    header = _letters(" ".join(value for field, value in paper.items() if field != "科目"))
    if len(name) < 4 or "考試" not in header:
        return ""
    shared = len(_pairs(name) & _pairs(header)) / len(_pairs(name))
    return f"only {shared:.0%} of the key's examination name stand on the paper" if shared < EXAM_SHARED else ""


def _subject(ours: str, theirs: str) -> str:
    if not _letters(ours) or not _letters(theirs) or _letters(ours) == _letters(theirs):
        return ""
    our_head, our_details = _head(ours)
    their_head, their_details = _head(theirs)
    if not _same_head(our_head, their_head):
        return f"subject {our_head[:30]} on the paper, {their_head[:30]} on the key"
    a, b = _pairs(_letters(our_details)), _pairs(_letters(their_details))
    if not a or not b:
        return ""
    shared = len(a & b) / min(len(a), len(b))
    return f"subject details of {our_head[:30]} share only {shared:.0%}" if shared < SUBJECT_SHARED else ""


def _head(name: str) -> tuple[str, str]:
    """The name before its first bracket, ordinals kept (醫學㈠（包括…） -> 醫學一), and what follows."""
    text = _ORDINAL.sub(r"\1", _fold(name))
    head, _, details = text.partition("(")
    return head, details


def _same_head(a: str, b: str) -> bool:
    """Equal, or one letter apart that is no ordinal: 醫學一 and 醫學二 are two subjects."""
    if a == b:
        return True
    if abs(len(a) - len(b)) > 1 or min(len(a), len(b)) < 4:
        return False
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    same_length = len(a) == len(b)
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    rest = a[start + 1 :] == b[start + 1 :] if same_length else longer[start + 1 :] == shorter[start:]
    differing = {longer[start], shorter[start]} if same_length else {longer[start]}
    return rest and not differing & _ORDINAL_SIGNS


def _fold(text: str) -> str:
    """Widths, brackets, blanks and 臺 folded, for comparison only: nothing folded is ever kept."""
    folded = unicodedata.normalize("NFKC", map_private_use(text)).replace("臺", "台").replace("試題更正", "")
    return "".join(folded.split())


def _letters(text: str) -> str:
    return "".join(char for char in _fold(text) if char.isalnum())


def _pairs(text: str) -> set[str]:
    return {text[i : i + 2] for i in range(len(text) - 1)}
