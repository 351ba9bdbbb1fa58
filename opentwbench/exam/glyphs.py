"""Characters: private-use glyphs, normalisation, superscripts.

What belongs here: every rule that turns one character of a ministry PDF into the character a reader sees.
What does not: anything that needs a position on a page.
Sources: hazards table rows 22-24 of the project's facts, each code point looked at on the rendered page;
"NFC never NFKC" from the methodology page (NFKC would rewrite the full-width comma to an ASCII one).
"""

from __future__ import annotations

import re
import unicodedata

MARKERS: dict[str, str] = {chr(0xE18C + i): letter for i, letter in enumerate("ABCDE")}
"""The ministry's circled option markers, U+E18C..U+E190."""

MARKER_GLYPHS: dict[str, str] = {letter: glyph for glyph, letter in MARKERS.items()}
"""Letter -> its marker, for readers that write other kinds of markers as this one."""

NUMBER_GLYPHS: dict[str, int] = {chr(0xE0C6 + i): i + 1 for i in range(10)}
"""Italic '1.' to '10.' drawn as one glyph (U+E0C6..U+E0CF); an invisible plain number stands beside them."""

_CHINESE_NUMBERS = "一二三四五六七八九十"
_BODY_GLYPHS: dict[str, str] = {
    # Looked at on the page, word and English gloss agree with the glyph (paper, page):
    "\ue2cc": "疱",  # 100140/101/0101 p4, 單純疱疹病毒 (herpes)
    "\uef43": "疱",  # 100030/101/0101 p4
    "\ue2c6": "酶",  # 101030/101/0101 p4, 胸腺激酶 (thymidine kinase)
    "\ue2c8": "腭",  # 100030/101/0101 p3, 硬腭 (hard palate)
    "\ue2e2": "骶",  # 101030/101/0101 p3, 骶尾畸胎瘤 (sacrococcygeal teratoma)
    "\ue2e6": "苷",  # hazard 22
    "\ue947": "瘻",  # 101030/102/0105 p4, 瘻管 (fistula)
    "\uea99": "蟎",  # 101030/102/0104 p2, 塵蟎
    "\u2641": "⊕",  # 100110/811/1325 p4 question 17: the Earth sign's code, drawn as a circled plus
    "\ueee7": "踇",  # 100140/101/0101 p1, 伸踇長肌
    "\ue006": "⑦",  # 100110/811/1325 p2
    "\ue007": "⑧",
    "\ue008": "⑨",
    **{chr(0xE129 + i): chr(0x3220 + i) for i in range(10)},  # ㈠..㈩
    **{chr(0xE133 + i): f"（十{_CHINESE_NUMBERS[i]}）" for i in range(5)},
    **{glyph: f"{number}." for glyph, number in NUMBER_GLYPHS.items()},
}
# Left out on purpose: U+EA86 is drawn as 脲 and as 苷 on one page (101030/101/0102 p3), so no mapping can be right.

_SYMBOL_FONT: dict[str, str] = {
    # The Symbol font puts its 8-bit code at U+F000 + code (Adobe's Symbol encoding).
    "\uf02d": "−",
    "\uf0b4": "×",
    "\uf0ae": "→",
    "\uf051": "Θ",
    "\uf0b0": "°",
    "\uf0b1": "±",
    "\uf0a3": "≤",
    "\uf0b3": "≥",
    "\uf06d": "μ",
    "\uf061": "α",
    "\uf062": "β",
    "\uf067": "γ",
    "\uf06c": "λ",
    "\uf044": "Δ",
    "\uf070": "π",
}
_WINGDINGS: dict[str, str] = {"\uf06c": "●", "\uf0b7": "•"}

_TO_READER = str.maketrans({**_BODY_GLYPHS, **{g: f"({letter})" for g, letter in MARKERS.items()}})
_FOLD_SPACE = str.maketrans(
    {
        "\u00a0": " ",
        "\u3000": " ",
        "\u2002": " ",
        "\u2003": " ",
        "\u2009": " ",
        "\u200b": "",
        "\ufeff": "",
        "\u00ad": "",
        "\t": " ",
    }
)

# Most texts hold none of the characters of a table, and a search is several times cheaper than a translation.
_TO_READ = re.compile(f"[{''.join(map(chr, _TO_READER))}]")
_TO_FOLD = re.compile(f"[{''.join(map(chr, _FOLD_SPACE))}]")

_PRIVATE_USE = re.compile("[\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd\ufffd]")

_RARE_IDEOGRAPH = re.compile("[\u3400-\u4dbf\U00020000-\U0003ffff]")
# The one such character in 224 real papers is a wrong code: U+4181, drawn as 釋 (107130/201/0415 p2 question 21).

_PLAIN = "0123456789+-−–()="
_RAISED = dict(zip(_PLAIN, "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁽⁾⁼", strict=True))
_RAISED |= {"－": "⁻", "＋": "⁺"} | dict(zip("abcdefghijklmnoprstuvwxyz", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ", strict=True))
_LOWERED = dict(zip(_PLAIN, "₀₁₂₃₄₅₆₇₈₉₊₋₋₋₍₎₌", strict=True))


_MARKER = re.compile(f"[{''.join(MARKERS)}]")
_HALF_WIDTH = str.maketrans("ＡＢＣＤＥ＃０１２３４５６７８９", "ABCDE#0123456789")


def count_markers(text: str) -> int:
    """How many private-use marker glyphs the text holds."""
    return len(_MARKER.findall(text))


def find_markers(text: str) -> list[tuple[int, str]]:
    """(offset, letter) of every private-use marker glyph in the text."""
    return [(found.start(), MARKERS[found[0]]) for found in _MARKER.finditer(text)]


def half_width(text: str) -> str:
    """Answer letters, # and digits in half width; everything else as it is."""
    return text.translate(_HALF_WIDTH)


def map_private_use(text: str) -> str:
    """Private-use glyphs as the characters a reader sees; markers become '(A)'..'(E)', unknown glyphs stay."""
    return text.translate(_TO_READER) if _TO_READ.search(text) else text


def map_symbol_font(text: str, font: str) -> str:
    """Characters of a Symbol or Wingdings font, whose code points mean nothing without the font's name."""
    table = _SYMBOL_FONT if "Symbol" in font else _WINGDINGS if "Wingdings" in font else None
    return "".join(table.get(c, c) for c in text) if table else text


def unmapped(text: str) -> set[str]:
    """Characters whose code does not say what is drawn: an item that holds one is excluded, never cleaned.

    Private-use characters and U+FFFD that no table maps, and ideographs of the extension blocks.
    """
    return {*_PRIVATE_USE.findall(text), *_RARE_IDEOGRAPH.findall(text)}


def fold_spaces(text: str) -> str:
    """U+00A0, U+3000 and other blanks as one plain space; zero-width characters dropped. NFC leaves them alone."""
    return text.translate(_FOLD_SPACE) if _TO_FOLD.search(text) else text


def normalise(text: str) -> str:
    """Text as it is published: private use mapped, NFC, blanks folded, runs of spaces as one, ends trimmed.

    Line breaks stay. Compatibility ideographs (U+F900..) become the unified ones, which is what NFC does.
    """
    text = unicodedata.normalize("NFC", fold_spaces(map_private_use(text)))
    return re.sub(r" {2,}", " ", text).strip()


def superscript(text: str) -> str:
    """Raised text: Unicode superscripts where every character has one (10³, Ca²⁺), else ^(…), so nothing is lost."""
    core = text.strip()
    if not core:
        return text
    if all(c in _RAISED for c in core):
        return "".join(_RAISED[c] for c in core)
    return f"^({core})"


def subscript(text: str, before: str) -> str:
    """Lowered text: plain after a letter (CO2, H2O), Unicode subscripts after a digit or bracket (1011₂, not 10112)."""
    core = text.strip()
    if before[-1:].isdigit() or before[-1:] in ")）]":
        return "".join(_LOWERED.get(c, c) for c in core)
    return core
