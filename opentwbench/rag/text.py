"""Texts as retrieval and scores compare them: folding, tokens, and where a quotation stands.

What belongs here: pure functions of strings. What does not: which texts are compared.
Source of the normaliser: the facts on retrieval for Traditional Chinese (NFKC, lower case, 臺 to 台, Han unigrams and
bigrams, numbers with their commas removed). Default tokenizers of search engines find nothing in Chinese and raise no
error.
"""

from __future__ import annotations

import re
import unicodedata

HAN = "㐀-䶿一-鿿豈-﫿\U00020000-\U0003fffd〇"
_HAN = re.compile(f"[{HAN}]")

_TOKEN = re.compile(
    rf"(?P<han>[{HAN}]+)"
    # A sign belongs to a number unless it joins it to a word or another number: 2022-23, COVID-19.
    r"|(?P<number>(?<![^\W_])(?<![\d.,])[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?\s?%?|\d+(?:\.\d+)?%?)"
    rf"|(?P<word>(?:(?![{HAN}])[^\W_\d])+(?:['’](?:(?![{HAN}])[^\W_\d])+)?)"
)

ARTICLES = frozenset(("a", "an", "the"))
"""Left out of English answers. Source: the SQuAD evaluation script's normalisation."""


def has_han(text: str) -> bool:
    """Whether it holds a Han character."""
    return _HAN.search(text) is not None


def folded(text: str) -> str:
    """NFKC, lower case, 臺 as 台."""
    return unicodedata.normalize("NFKC", text).casefold().replace("臺", "台")


def _pieces(text: str) -> list[tuple[str, str]]:
    """Kind ('han', 'number', 'word') and text of every token, runs of Han uncut."""
    found = []
    for match in _TOKEN.finditer(folded(text)):
        kind = match.lastgroup or ""
        piece = match[0]
        if kind == "number":
            piece = piece.replace(",", "").replace("−", "-").replace(" ", "")
        found.append((kind, piece))
    return found


def answer_tokens(text: str) -> list[str]:
    """Tokens by which two answers are compared: Han by character, words, and numbers with sign, point and per cent."""
    tokens: list[str] = []
    for kind, piece in _pieces(text):
        if kind == "han":
            tokens.extend(piece)
        elif piece not in ARTICLES:
            tokens.append(piece)
    return tokens


def search_tokens(text: str, *, unigrams: bool = True, bigrams: bool = True) -> list[str]:
    """Tokens by which a text is found: Han unigrams and bigrams, words, numbers."""
    tokens: list[str] = []
    for kind, piece in _pieces(text):
        if kind != "han":
            tokens.append(piece)
            continue
        if unigrams or len(piece) == 1:
            tokens.extend(piece)
        if bigrams:
            tokens.extend(piece[n : n + 2] for n in range(len(piece) - 1))
    return tokens


_LAYOUT = frozenset("|*#`_­​‌‍﻿")
"""Characters that readers of one file set differently: table rules, Markdown marks, soft hyphens, zero widths."""

_SAME = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "‑": "-", "臺": "台"})


class Places:
    """A text that quotations are looked up in, white space and layout marks aside."""

    def __init__(self, text: str) -> None:
        folded_text, self._at = _squeezed(text)
        self._text = folded_text

    def find(self, quotation: str, within: tuple[int, int] | None = None) -> tuple[int, int] | None:
        """Where the whole quotation stands first (start, end in the text); None when it does not, or is empty.

        `within` looks between two offsets of the text alone. A quotation that begins or ends in a letter or digit
        begins and ends at one: 1 is not found in 10.
        """
        wanted = _squeezed(quotation)[0]
        if not wanted:
            return None
        low, high = (0, len(self._text)) if within is None else self._inside(within)
        at = self._text.find(wanted, low, high)
        while at >= 0:
            place = self._at[at], self._at[at + len(wanted) - 1] + 1
            if self._whole(at, at + len(wanted)):
                return place
            at = self._text.find(wanted, at + 1, high)
        return None

    def _inside(self, within: tuple[int, int]) -> tuple[int, int]:
        import bisect

        return bisect.bisect_left(self._at, within[0]), bisect.bisect_left(self._at, within[1])

    def _whole(self, start: int, end: int) -> bool:
        """No digit is cut at either end. Letters may touch: the words of two cells do, once white space is gone."""
        return not (_digits_meet(self._text, start) and self._adjacent(start)) and not (
            _digits_meet(self._text, end) and self._adjacent(end)
        )

    def _adjacent(self, place: int) -> bool:
        return self._at[place] - self._at[place - 1] <= 1


def _digits_meet(text: str, place: int) -> bool:
    return 0 < place < len(text) and text[place - 1].isdigit() and text[place].isdigit()


def _squeezed(text: str) -> tuple[str, list[int]]:
    """The text folded without white space and layout marks, and the offset of each of its characters in the text."""
    kept: list[str] = []
    offsets: list[int] = []
    for offset, char in enumerate(text):
        if char.isspace() or char in _LAYOUT:
            continue
        # Character by character, so that every one keeps its offset.
        for part in unicodedata.normalize("NFKC", char).casefold().translate(_SAME):
            if not part.isspace():
                kept.append(part)
                offsets.append(offset)
    return "".join(kept), offsets
