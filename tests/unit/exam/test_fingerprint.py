"""Fingerprints: what makes two printed questions the same, and what must never do so."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opentwbench.exam.fingerprint import (
    ItemIdCollision,
    check_item_ids,
    exact,
    fold_exact,
    fold_loose,
    item_id,
    item_id_of,
    loose,
)

STEM = "下列何者為我國憲法所定之中央機關？"
OPTIONS = {"A": "行政院", "B": "臺北市政府", "C": "中央研究院", "D": "農會"}

texts = st.text(max_size=40)
exam_texts = st.text(alphabet="甲乙丙台臺10.5+-/<>=，,。、（）() \n\u3000²αAbμg%:：!'", max_size=30)


@given(texts, st.lists(texts, min_size=4, max_size=4), st.permutations(range(4)))
def test_option_order_and_letters_have_no_part_in_a_fingerprint(
    stem: str, options: list[str], order: list[int]
) -> None:
    given_order = dict(zip("ABCD", options, strict=True))
    shuffled = dict(zip("ABCD", (options[n] for n in order), strict=True))
    assert exact(stem, given_order) == exact(stem, shuffled)
    assert loose(stem, given_order) == loose(stem, shuffled)


@given(exam_texts)
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold_exact(fold_exact(text)) == fold_exact(text)
    assert " " not in fold_loose(text) or any(a.isdigit() for a in fold_loose(text))


@given(exam_texts, exam_texts)
def test_what_is_exactly_the_same_is_loosely_the_same(a: str, b: str) -> None:
    if fold_exact(a) == fold_exact(b):
        assert fold_loose(a) == fold_loose(b)


@given(exam_texts, st.sampled_from(["\n", " ", "\u3000", "\u00a0"]))
def test_the_kind_of_white_space_never_matters(text: str, space: str) -> None:
    swapped = text.replace(" ", space)
    assert fold_exact(swapped) == fold_exact(text)
    assert fold_loose(swapped) == fold_loose(text)


@given(st.text(alphabet="甲乙丙丁戊", min_size=2, max_size=20), st.sampled_from("，。、；：？！「」（）《》…,;:?!"))
def test_punctuation_between_words_never_matters(text: str, mark: str) -> None:
    middle = len(text) // 2
    assert fold_loose(text[:middle] + mark + text[middle:]) == fold_loose(text) == fold_loose(text + mark)


@given(st.integers(0, 999), st.integers(0, 999), st.sampled_from([*".,:/-+<>=×÷±~^*%", "至", " "]))
def test_a_mark_between_two_numbers_always_matters(a: int, b: int, mark: str) -> None:
    assert fold_loose(f"{a}{mark}{b}") != fold_loose(f"{a}{b}")


@given(st.text(alphabet="甲乙丙", max_size=5), st.integers(0, 99), st.sampled_from("+-±<>≤≥~"))
def test_a_sign_before_a_number_always_matters(before: str, number: int, sign: str) -> None:
    assert fold_loose(f"{before}{sign}{number}") != fold_loose(f"{before}{number}")


@given(texts, texts)
def test_a_text_cannot_pass_for_two(a: str, b: str) -> None:
    """No text holds the separator: stem and options never run into one another."""
    assert exact(a + "\x1f" + b, {}) != exact(a, {"A": b})


SAME = [
    ("甲、乙", "甲，乙"),
    ("甲，乙。", "甲乙"),
    ("台灣", "臺灣"),
    ("１０．５％", "10.5%"),
    ("10‧5", "10.5"),
    ("５～１０", "5~10"),
    ("37.5℃", "37.5 °C"),
    ("5 mg", "5mg"),
    ("肝炎（hepatitis）", "肝炎(hepatitis)"),
    ("肝炎（hepatitis）", "肝炎 hepatitis"),
    ("beta-blocker", "beta blocker"),
    ("行為——結果", "行為結果"),
    ("「甲」", "『甲』"),
    ("5’→3’", "5'→3'"),
    ("≦5", "≤5"),
    ("µg", "μg"),
    ("1、2、3", "1, 2, 3"),
    ("＋１", "+1"),
    ("－１", "-1"),
    ("−1", "-1"),
    ("①、②", "①②"),
    ("可 以抑制", "可以抑制"),
]
DIFFERENT = [
    ("10.5", "105"),
    ("+5", "5"),
    ("-5", "5"),
    ("+5", "-5"),
    ("1/2", "12"),
    ("<5", ">5"),
    ("3:1", "31"),
    ("1,2", "12"),
    ("1 2", "12"),
    ("3-5", "35"),
    ("5%", "5"),
    ("5‰", "5%"),
    ("90°", "90"),
    ("10³", "103"),
    ("10³", "10"),
    ("Ca²⁺", "Ca"),
    ("Cl-", "Cl"),
    ("α受體", "β受體"),
    ("mM", "MM"),
    ("(500)", "500"),
    ("2(x+1)", "2x+1"),
    ("(x+y)z", "x+yz"),
    ("5!", "5"),
    ("f'(x)", "f(x)"),
    (".5", "5"),
    ("A-B", "AB"),
    ("甲>乙", "甲<乙"),
    ("O₂", "O₃"),
    ("$5", "5"),
    ("5'端", "5端"),
    ("甲→乙", "甲乙"),
]


def test_loose_fold_joins_printings_of_one_text_and_keeps_two_texts_apart() -> None:
    apart = [pair for pair in SAME if fold_loose(pair[0]) != fold_loose(pair[1])]
    joined = [pair for pair in DIFFERENT if fold_loose(pair[0]) == fold_loose(pair[1])]
    assert (len(SAME), apart) == (22, [])
    assert (len(DIFFERENT), joined) == (31, [])


def test_exact_fold_keeps_punctuation_and_widths() -> None:
    folded = [fold_exact(text) for text in ("甲、乙", "甲，乙", "甲,乙", "甲 乙", "甲乙", "台", "臺")]
    assert len(set(folded)) == len(folded)
    assert fold_exact("\u3000甲\u00a0\n 乙 ") == "甲 乙"
    assert fold_exact("\uf99c") == "列"  # NFC makes the compatibility ideograph the plain one


def test_item_id_is_the_key_and_twelve_hex_digits_of_the_exact_fingerprint() -> None:
    identity = item_id("roc-constitution", STEM, OPTIONS)
    assert identity == f"roc-constitution-{exact(STEM, OPTIONS)[:12]}"
    assert identity == item_id_of("roc-constitution", exact(STEM, OPTIONS))
    # frozen: an id that changes with the code orphans every stored response
    assert identity == "roc-constitution-505e1cd2dea6"
    shuffled = dict(zip("ABCD", reversed(OPTIONS.values()), strict=True))
    assert item_id("roc-constitution", STEM, shuffled) == identity
    assert item_id("roc-constitution", STEM + "？", OPTIONS) != identity


def test_a_collision_of_ids_stops_the_build_and_names_both() -> None:
    a, b = exact("甲", OPTIONS), exact("乙", OPTIONS)
    check_item_ids([("x-1", a), ("x-2", b), ("x-1", a)])
    with pytest.raises(ItemIdCollision, match=rf"x-1: {a} and {b}"):
        check_item_ids([("x-1", a), ("x-2", b), ("x-1", b)])


def test_every_pair_of_different_options_makes_another_item() -> None:
    ids = {item_id("k", STEM, {**OPTIONS, "D": text}) for text in ("10.5", "105", "+5", "5", "1/2", "12", "<5", ">5")}
    assert len(ids) == 8
    assert all(
        a != b for a, b in itertools.combinations([loose(STEM, {**OPTIONS, "D": t}) for t in ("+5", "5", "-5")], 2)
    )
