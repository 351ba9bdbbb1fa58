"""What makes two printed questions the same: the stem and the sorted option texts, at two strengths.

What belongs here: folding of texts for comparison, fingerprints, item ids.
What does not: grouping, and what a group's keys decide (dedupe).
Source: the design, section 3, "Fingerprint". *Exact* (NFC, white space folded) is the identity of an item. *Loose* also
folds widths, punctuation between words and 台/臺, so that a reprint with another comma is still the same item; signs,
operators and marks inside numbers stay, so that 10.5 is not 105, +5 is not 5, 1/2 is not 12 and <5 is not >5.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from hashlib import sha256

ID_HEX = 12
"""Hex digits of an item id. At 255,854 items the chance that any two share 48 bits is about 1 in 8,600."""

_SEPARATOR = "\x1f"  # cannot occur in a folded text: str.split() takes it for white space


class ItemIdCollision(Exception):
    """Two different items of one subject have the same id. The build must stop: ids would no longer name one item."""


def fold_exact(text: str) -> str:
    """NFC, every run of white space one plain space, ends trimmed."""
    if not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
    return " ".join(text.split())


def exact(question: str, options: Mapping[str, str]) -> str:
    """The exact fingerprint, 64 hex digits. Option letters and option order have no part in it."""
    return exact_digest(question, options).hex()


def exact_digest(question: str, options: Mapping[str, str]) -> bytes:
    """The exact fingerprint as 32 bytes."""
    texts = sorted(map(fold_exact, options.values()))
    return sha256(_SEPARATOR.join([fold_exact(question), *texts]).encode()).digest()


def loose(question: str, options: Mapping[str, str]) -> str:
    """The loose fingerprint, 64 hex digits. Equal for reprints that differ in widths, blanks or punctuation only."""
    return of_folded(fold_loose(question), map(fold_loose, options.values()))


def of_folded(stem: str, texts: Iterable[str]) -> str:
    """The fingerprint of a stem and option texts that are folded already, exactly or loosely."""
    return sha256(_SEPARATOR.join([stem, *sorted(texts)]).encode()).hexdigest()


def short_digest(text: str) -> int:
    """64 bits of a text's sha256: enough to tell texts apart inside one group, and stems of one corpus."""
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big")


def item_id(subject_key: str, question: str, options: Mapping[str, str]) -> str:
    """Identity of an item, e.g. 'medicine-1f0c9a77b2de': subject key and 12 hex digits of the exact fingerprint."""
    return item_id_of(subject_key, exact(question, options))


def item_id_of(subject_key: str, exact_fingerprint: str) -> str:
    """The item id that belongs to an exact fingerprint already computed."""
    return f"{subject_key}-{exact_fingerprint[:ID_HEX]}"


def check_item_ids(items: Iterable[tuple[str, str]]) -> None:
    """Raise ItemIdCollision when one id stands for two exact fingerprints. `items` are (item_id, exact fingerprint)."""
    seen: dict[str, str] = {}
    for identity, fingerprint in items:
        if seen.setdefault(identity, fingerprint) != fingerprint:
            raise ItemIdCollision(f"{identity}: {seen[identity]} and {fingerprint}")


# ---- the loose fold -------------------------------------------------------------------------------------------------

_SAME = {
    # Variants of one character that a typesetter chooses, not the author.
    "台": "臺",
    **dict.fromkeys("‐‑‒–—―─━−﹣", "-"),
    **dict.fromkeys("’‘′＇", "'"),
    **dict.fromkeys("“”″＂", '"'),
    **dict.fromkeys("∼～﹏", "~"),
    **dict.fromkeys("、，﹐﹑", ","),
    **dict.fromkeys("·‧・․", "."),  # a raised dot is also a decimal mark: 10‧5
    **dict.fromkeys("：︰∶﹕", ":"),
    **dict.fromkeys("⋯‥", "…"),
    "≦": "≤",
    "≧": "≥",
    "⩽": "≤",
    "⩾": "≥",
    "µ": "μ",
    "º": "°",
    "˚": "°",
    "℃": "°C",
    "℉": "°F",
    "㎎": "mg",
    "㎏": "kg",
    "㎜": "mm",
    "㎝": "cm",
    "㎞": "km",
    "㏄": "cc",
    **dict.fromkeys("〔【［｛〈《﹙﹝「『﹁﹃", "("),
    **dict.fromkeys("〕】］｝〉》﹚﹞」』﹂﹄", ")"),
}
_ZERO_WIDTH = dict.fromkeys((0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0x00AD))
_FOLD = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | str.maketrans(_SAME) | _ZERO_WIDTH

_SYMBOLS = "/\\%‰*&@#§"  # punctuation by Unicode's word, operators and units by ours: never dropped


def _droppable() -> str:
    """Every character of a Unicode punctuation category in the basic plane, less symbols and the dash, for a class."""
    marks = (chr(code) for code in range(0x20, 0x10000) if unicodedata.category(chr(code)).startswith("P"))
    return re.escape("".join(mark for mark in marks if mark not in _SYMBOLS + "-"))


_HAN = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LATIN = "A-Za-z\u00c0-\u024f\u0370-\u03ff\u0400-\u04ff"
_LAST_LATIN = "\u04ff"
_DIGIT_GAP = re.compile(r"(?<=[0-9])\s+(?=[0-9])")
_BLANK_DASHES = re.compile(r"-{2,}(?![\d-])|(?<![\d-])-{2,}")
_WORD_DASH = re.compile(rf"(?:(?<=[{_HAN}])|(?<=[{_LATIN}]{{2}}))-(?=[{_HAN}]|[{_LATIN}]{{2}})")
_MARKS = _droppable()
_RUN = re.compile(rf"[{_MARKS}]+")
_HAN_LETTER = "\u3400-\u4dbf\u4e00-\u9fa5"  # the part of _HAN that is letters throughout
_BETWEEN_WORDS = re.compile(rf"(?:(?<=[{_HAN_LETTER}])|\A)[{_MARKS}]+(?=[{_HAN_LETTER}]|\Z)")
_GAP = "\x00"  # stands for the space between two digits while all other white space goes


def fold_loose(text: str) -> str:
    """A text for comparison across printings; signs, operators, units and marks inside numbers stay.

    White space goes, except between two digits. Punctuation goes when it stands between words or at an end, and stays
    where it can carry meaning: between two tight characters (digits, single letters, operators), a bracket beside one,
    a point before a digit, a prime or factorial after one. A dash goes only between words; a row of dashes is a blank.
    Case is kept (mM is not MM), superscripts and Greek letters too (10³ is not 103).
    """
    if not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
    text = text.translate(_FOLD)
    if _DIGIT_GAP.search(text):
        text = "".join(_DIGIT_GAP.sub(_GAP, text).split()).replace(_GAP, " ")
    else:
        text = "".join(text.split())
    if "-" in text:
        text = _WORD_DASH.sub("", _BLANK_DASHES.sub("", text))
    # Most punctuation stands between Chinese words or at an end and goes; only the rest is judged one by one.
    return _RUN.sub(_fold_run, _BETWEEN_WORDS.sub("", text))


def _fold_run(match: re.Match[str]) -> str:
    """What is kept of one run of punctuation, judged by the characters beside it."""
    text, start, end = match.string, match.start(), match.end()
    marks = match.group()
    left_tight = start > 0 and _tight(text[start - 1], text[start - 2] if start > 1 else "")
    right_tight = end < len(text) and _tight(text[end], text[end + 1] if end + 1 < len(text) else "")
    if left_tight and right_tight:
        return marks
    if not (left_tight or right_tight):
        return ""
    kept = "".join(mark for mark in marks if mark in "()")
    if left_tight and marks[0] in "!'":
        kept = marks[0] + kept
    if right_tight and marks[-1] == "." and "0" <= text[end] <= "9":
        kept += "."
    return kept


def _tight(char: str, beyond: str) -> bool:
    """True for a digit, an operator, or a letter that stands alone (`beyond` is its other neighbour).

    False for a letter of a word, a Chinese character, and a list label (①, ㈠), which separates as a word does.
    """
    if char.isalpha():
        return char <= _LAST_LATIN and not (beyond.isalpha() and beyond <= _LAST_LATIN)
    return not ("\u2460" <= char <= "\u24ff" or "\u2776" <= char <= "\u2793" or "\u3200" <= char <= "\u32ff")
