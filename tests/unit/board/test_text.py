"""Forms of numbers and what becomes of texts from outside."""

from __future__ import annotations

import math
import re
from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opentwbench.board import text


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.8219, "82.2"), (0, "0.0"), (1, "100.0"), (0.0004, "<0.1"), (0.99999, ">99.9"), (0.0005, "0.1"),
        (None, "–"), (math.nan, "–"), (math.inf, "–"),
    ],
)  # fmt: skip
def test_percent(share: float | None, shown: str) -> None:
    assert text.percent(share) == shown


def test_percent_with_more_digits() -> None:
    assert text.percent(0.00086, 2) == "0.09"
    assert text.percent(0.99996, 2) == ">99.99"


@given(st.floats(0, 1), st.floats(0, 1))
def test_bounds_never_look_narrower(a: float, b: float) -> None:
    low, high = sorted((a, b))
    shown = [float(end) for end in text.bounds(low, high).split("–")]
    assert shown[0] <= 100 * low + 1e-6 and shown[1] >= 100 * high - 1e-6
    assert shown[0] >= 0 and shown[1] <= 100


def test_bounds_of_nothing_and_with_more_digits() -> None:
    assert text.bounds(None, 0.5) == "–"
    assert text.bounds(0.00059, 0.00125, 2) == "0.05–0.13"


@pytest.mark.parametrize(
    ("difference", "shown"), [(0.123, "+12.3"), (-0.05, "−5.0"), (0.0001, "0.0"), (-0.0001, "0.0"), (None, "–")]
)
def test_points_have_a_sign_and_the_true_minus(difference: float | None, shown: str) -> None:
    assert text.points(difference) == shown


@pytest.mark.parametrize(
    ("number", "shown"), [(3, "+3"), (-2, "−2"), (1.5, "+1.5"), (0, "0"), (-0.01, "0"), (None, "–")]
)
def test_signed(number: float | None, shown: str) -> None:
    assert text.signed(number) == shown


def test_other_numbers() -> None:
    assert [text.count(n) for n in (0, 23_717, None)] == ["0", "23,717", "–"]
    assert [text.decimal(n) for n in (-0.5, 1.777, None)] == ["−0.50", "1.78", "–"]
    assert [text.p_value(p) for p in (0.0004, 0.05, 1.0, None)] == ["<0.001", "0.050", "1.000", "–"]
    assert [text.size(b) for b in (0.27, 7, 70.6, 1_500, None)] == ["270M", "7B", "70.6B", "1.5T", "–"]
    assert (
        text.day(datetime(2026, 11, 30, 8)) == text.day(date(2026, 11, 30)) == text.day("2026-11-30T08") == "2026-11-30"
    )
    assert text.median([3, 1, 2]) == 2 and text.median([1, 2]) == 1.5 and text.median([]) is None


ACTING = "\u202e\u202c\u200f\u2067\u2069\u200b\u200d\ufeff\x00\x1b\x7f\ud800\ue000\U000f0000"


def test_acting_characters_are_named() -> None:
    for char in ACTING:
        assert text.visible(f"a{char}b") == f"aU+{ord(char):04X}b"
    assert text.visible("a\u2028b\u2029c\rd") == "a\nb\nc\nd"


def test_ordinary_texts_stay_as_they_are() -> None:
    for fine in (
        "臺灣，憲法第 20 條？",
        "naïve café",
        "a\tb\nc",
        "１２３（％）",
        "x² ≥ √2 → ∞",
        "ㄅㄆㄇ",
        "한국어",
        "𠮷野家",
    ):
        assert text.visible(fine) == fine


@given(st.text(max_size=200))
def test_what_is_visible_holds_nothing_that_acts(value: str) -> None:
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]", text.visible(value))


def test_shorten_counts_and_keeps_marks_with_their_letter() -> None:
    assert text.shorten("abc", 3) == "abc"
    assert text.shorten("abcd", 3) == "abc…"
    assert text.shorten("ab\u0301\u0301c", 2) == "ab\u0301\u0301…"
    assert len(text.shorten("長" * 10_000, 80)) == 81


@given(st.text(max_size=60), st.text(max_size=60))
def test_slugs_are_file_names_and_no_two_agree(one: str, other: str) -> None:
    made = text.slug(one)
    assert re.fullmatch(r"[a-z0-9-]{8,57}", made)
    assert (made == text.slug(other)) == (one == other)


def test_names_that_are_paths_are_none() -> None:
    assert "/" not in text.slug("../../etc/passwd") and ".." not in text.slug("../../etc/passwd")
    assert text.item_file("roc-constitution-0123456789ab") == "roc-constitution-0123456789ab"
    for hostile in ("../x", "a/b", "A", "", "x" * 101, "a\u202eb", "con.html"):
        assert text.item_file(hostile) != hostile
