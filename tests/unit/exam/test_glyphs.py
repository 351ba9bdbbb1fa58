"""Characters: what a private-use glyph, a blank and a raised letter become."""

import pytest

from opentwbench.exam import glyphs


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ("單純\ue2cc疹", "單純疱疹"),
        ("\uef43疹", "疱疹"),
        ("胸腺激\ue2c6", "胸腺激酶"),
        ("塵\uea99", "塵蟎"),
        ("醫學\ue12a", "醫學㈡"),
        ("\ue133", "（十一）"),
        ("②\ue006", "②⑦"),
        ("承\ue18e之事實", "承(C)之事實"),
        ("\uf99c車", "列車"),
        ("甲\u00a0\u3000乙", "甲 乙"),
        ("前，（後）：", "前，（後）："),
    ],
)
def test_normalise(raw: str, read: str) -> None:
    assert glyphs.normalise(raw) == read


def test_compatibility_width_is_kept() -> None:
    """NFKC would turn ，（： into ASCII; NFC does not."""
    assert glyphs.normalise("Ａ，Ｂ（１）") == "Ａ，Ｂ（１）"


def test_an_ambiguous_glyph_is_reported_and_kept() -> None:
    assert glyphs.normalise("脫氧\uea86") == "脫氧\uea86"
    assert glyphs.unmapped("脫氧\uea86與\ufffd") == {"\uea86", "\ufffd"}
    assert glyphs.unmapped(glyphs.normalise("單純\ue2cc疹\ue12a\ue18c")) == set()


@pytest.mark.parametrize(
    ("raw", "read"), [("3", "³"), ("2+", "²⁺"), ("−", "⁻"), ("n", "ⁿ"), ("甲", "^(甲)"), (" ", " ")]
)
def test_superscript_loses_nothing(raw: str, read: str) -> None:
    assert glyphs.superscript(raw) == read


@pytest.mark.parametrize(
    ("before", "raw", "read"), [("CO", "2", "2"), ("1011", "2", "₂"), ("(AB)", "16", "₁₆"), ("V", "max", "max")]
)
def test_subscript_never_joins_a_number(before: str, raw: str, read: str) -> None:
    assert glyphs.subscript(raw, before) == read


def test_symbol_fonts_need_their_name() -> None:
    assert glyphs.map_symbol_font("A\uf0b4B", "ABCDEF+SymbolMT") == "A×B"
    assert glyphs.map_symbol_font("\uf06c", "Wingdings-Regular") == "●"
    assert glyphs.map_symbol_font("A\uf0b4B", "TimesNewRoman") == "A\uf0b4B"
