"""The reading audit: the draw, the fold, planted errors against their natives, the sums, and what is committed."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from opentwbench.exam.model import Exclusion, PaperItem
from opentwbench.exam.reading_audit import (
    Candidate,
    Difference,
    Judgement,
    Planted,
    Planting,
    Reading,
    differences,
    draw,
    fold,
    is_caught,
    plant_errors,
    printed_key,
    reading_hash,
    settle,
)

RECORDS = Path(__file__).resolve().parents[3] / "docs" / "audits" / "reading.jsonl"


def candidates(count: int = 200) -> list[Candidate]:
    """Invented questions: two thirds of one stratum, a third spread over four, every tenth with a hazard."""
    found = []
    for n in range(count):
        year = 100 if n % 3 else 101 + n % 4
        hazards = frozenset({"page_break"} if n % 10 == 0 else {"blank"} if n % 25 == 1 else ())
        found.append(Candidate(f"P{n // 50}", n, year, "bar", "private_use", hazards))
    return found


# ---------------------------------------------------------------- the draw


def test_the_draw_is_proportional_and_reaches_every_stratum() -> None:
    drawn = draw(candidates(), 60, 0, seed=1)
    years = Counter(d.candidate.year_roc for d in drawn)
    assert sum(years.values()) == 60
    assert years[100] == 40
    assert set(years) == {100, 101, 102, 103, 104}


def test_a_stratum_of_one_question_is_drawn() -> None:
    alone = Candidate("X", 1, 114, "police", "letter_dot")
    assert alone in {d.candidate for d in draw([*candidates(), alone], 30, 0, seed=3)}


def test_hazards_share_their_places_equally_and_nothing_is_drawn_twice() -> None:
    drawn = draw(candidates(), 60, 12, seed=2)
    reasons = Counter(d.reason for d in drawn)
    assert len({d.candidate.item for d in drawn}) == len(drawn) == 60
    assert reasons == {"stratum": 48, "page_break": 6, "blank": 6}
    assert all(d.reason in {"stratum", *d.candidate.hazards} for d in drawn)


def test_hazards_with_too_few_questions_leave_their_places_to_the_strata() -> None:
    drawn = draw(candidates(), 100, 40, seed=2)
    reasons = Counter(d.reason for d in drawn)
    assert len(drawn) == 100
    assert reasons["page_break"] + reasons["blank"] < 40


def test_the_draw_depends_on_its_seed_alone() -> None:
    given = candidates()
    assert draw(given, 60, 12, seed=5) == draw(list(reversed(given)), 60, 12, seed=5)
    assert draw(given, 60, 12, seed=5) != draw(given, 60, 12, seed=6)


@pytest.mark.parametrize(
    ("size", "hazards", "extra", "message"),
    [
        (201, 0, 0, "of 200 candidates"),
        (4, 0, 0, "4 places for 5 strata"),
        (10, 0, 1, "given twice"),
    ],
)
def test_an_impossible_draw_says_why(size: int, hazards: int, extra: int, message: str) -> None:
    given = candidates()
    with pytest.raises(ValueError, match=message):
        draw([*given, *given[:extra]], size, hazards, seed=1)


def test_many_small_strata_do_not_exceed_the_places() -> None:
    small = [Candidate(f"S{n}", 1, 100 + n, "bar", "private_use") for n in range(12)]
    large = [Candidate("L", n, 200 + n % 2, "bar", "private_use") for n in range(90)]
    assert len(draw([*small, *large], 15, 0, seed=1)) == 15


# ---------------------------------------------------------------- readings


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("電壓（V）", "電壓(V)"),
        ("共 5 題", "共5題"),
        ("第５題", "第5題"),
        ("a  b\u3000c", "a b c"),
        ("is _____ open", "is ___ open"),
        ("等……", "等......"),
        ("\uf99c", "列"),
    ],
)
def test_the_fold_makes_variants_equal(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("10³", "103"),
        ("K⁺", "K+"),
        ("1011₂", "10112"),
        ("red blood", "redblood"),
        ("甲、乙", "甲，乙"),
        ("x>5", "x<5"),
        ("is _____ open", "is open"),
        ("B\u0304", "B"),
        ("己", "已"),
        ("mM", "MM"),
    ],
)
def test_the_fold_keeps_what_a_reader_would_miss(one: str, other: str) -> None:
    assert fold(one) != fold(other)


def item(key: str | None, accepted: tuple[str, ...], *exclusions: Exclusion, corrected: bool = False) -> PaperItem:
    return PaperItem(1, "問", dict.fromkeys("ABCD", "項"), key, accepted, exclusions, 1, corrected)


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        (item("C", ("C",)), "C"),
        (item("ABD", ("ABD",), Exclusion.MULTI_SELECT), "ABD"),
        (item("D", ("D",), corrected=True), "#D"),
        (item(None, ("B", "D"), Exclusion.SEVERAL_ANSWERS_ACCEPTED), "#B/D"),
        (item(None, ("AC", "ACE"), Exclusion.MULTI_SELECT, corrected=True), "#AC/ACE"),
        (item(None, (), Exclusion.VOIDED), "#*"),
        (item(None, (), Exclusion.CREDITED_UNLESS_BLANK), "#-"),
        (item(None, (), Exclusion.REMARK_UNREAD), "#?"),
    ],
)
def test_the_key_as_the_sheet_prints_it(given: PaperItem, printed: str) -> None:
    assert printed_key(given) == printed


def test_the_hash_names_text_order_and_key() -> None:
    one = Reading("問", {"A": "甲", "B": "乙"}, "A")
    others = [
        replace(one, stem="問？"),
        replace(one, options={"A": "乙", "B": "甲"}),
        replace(one, key="B"),
    ]
    assert len({reading_hash(r) for r in [one, *others]}) == 4
    assert reading_hash(one) == reading_hash(replace(one, lines={"stem": 2}))


# ---------------------------------------------------------------- planted errors

STEMS = ("關於水的密度與溫度的關係，下列敘述何者正確", "某河川每秒流量為", "下列何種礦物的硬度最高而且不溶於水")


def readings(count: int = 60) -> dict[str, Reading]:
    """Invented questions with stems of two lines, wrapped options and superscripts in every third."""
    found = {}
    for n in range(count):
        stem = f"{STEMS[n % 3]}{'10³立方公尺' if n % 3 == 1 else '？'}" * 2
        options = {letter: f"第{n}項{letter}的說明文字共有若干行可讀" for letter in "ABCD"}
        found[f"P Q{n}"] = Reading(stem, options, "ABCD"[n % 4], {"stem": 2, "A": 2, "B": 1})
    return found


@pytest.mark.parametrize("seed", range(5))
def test_every_planted_error_shows_and_nothing_else(seed: int) -> None:
    true = readings()
    shown, planted = plant_errors(true, 20, seed)
    found = [d for name in true for d in differences(name, true[name], shown[name])]
    assert len({p.item for p in planted}) == len(planted) == 20
    assert {(d.item, d.part) for d in found} == {(p.item, part) for p in planted for part in p.parts}
    assert set(Planting) == {p.kind for p in planted}
    assert [name for name in true if shown[name] != true[name]] == [n for n in true if n in {p.item for p in planted}]


def test_undamaged_readings_show_no_difference() -> None:
    true = readings()
    assert [d for name in true for d in differences(name, true[name], true[name])] == []


def test_each_kind_of_error_does_what_its_name_says() -> None:
    true = readings()
    shown, planted = plant_errors(true, 42, seed=9)
    for one in planted:
        before, after = true[one.item], shown[one.item]
        part = one.parts[0]
        lost = len(before.parts[part]) - len(after.parts[part])
        if one.kind is Planting.OPTIONS_SWAPPED:
            assert len(one.parts) == 2
            assert sorted(before.options.values()) == sorted(after.options.values())
        elif one.kind is Planting.CHARACTER_DROPPED:
            assert lost == 1
        elif one.kind is Planting.CHARACTER_REPLACED:
            assert lost == 0 and part != "key"
        elif one.kind is Planting.KEY_SHIFTED:
            assert one.parts == ("key",) and after.key in "ABCD"
        elif one.kind is Planting.CUT_AT_LINE_END:
            assert lost == 2 and after.parts[part][-5:] == before.parts[part][-5:]
        elif one.kind is Planting.SUPERSCRIPT_LOST:
            assert "³" in before.parts[part] and "³" not in after.parts[part]
        else:
            assert before.parts[part].startswith(after.parts[part]) and lost > 2


def test_planting_depends_on_its_seed_alone() -> None:
    assert plant_errors(readings(), 20, 4) == plant_errors(readings(), 20, 4)
    assert plant_errors(readings(), 20, 4) != plant_errors(readings(), 20, 5)


def test_a_kind_without_a_place_is_passed_over() -> None:
    plain = {name: replace(r, stem="問題", lines={}) for name, r in readings().items()}
    _, planted = plant_errors(plain, 20, 1)
    kinds = {p.kind for p in planted}
    assert len(planted) == 20
    assert kinds.isdisjoint({Planting.SUPERSCRIPT_LOST, Planting.CUT_AT_LINE_END, Planting.LAST_LINE_LOST})


def test_too_few_items_to_plant_in_are_named() -> None:
    with pytest.raises(ValueError, match="only 6 of 20"):
        plant_errors(readings(6), 20, 1)


# ---------------------------------------------------------------- differences and sums


def test_a_difference_of_punctuation_alone_is_marked_loose() -> None:
    one = Reading("甲、乙", {"A": "一，二"}, "A")
    other = Reading("甲乙", {"A": "一，三"}, "B")
    assert [(d.part, d.loose) for d in differences("P Q1", one, other)] == [
        ("stem", True),
        ("A", False),
        ("key", False),
    ]


def test_an_option_that_one_reading_lacks_is_a_difference() -> None:
    one = Reading("問", {"A": "一", "B": "二"}, "A")
    other = Reading("問", {"A": "一"}, "A")
    assert differences("P Q1", one, other) == [Difference("P Q1", "B", "二", "", False)]
    assert differences("P Q1", other, one) == [Difference("P Q1", "B", "", "二", False)]


def judged() -> tuple[list[Difference], list[Planted], dict[tuple[str, str], Judgement]]:
    """A caught plant, one taken for a slip, one without a difference, a fault, a slip and a normalisation."""
    places = [("Q1", "A"), ("Q1", "B"), ("Q2", "key"), ("Q4", "stem"), ("Q4", "D"), ("Q5", "stem"), ("Q6", "C")]
    calls = ["parse", "parse", "slip", "parse", "parse", "slip", "normalisation"]
    found = [Difference(item, part, "x", "y", False) for item, part in places]
    planted = [
        Planted("Q1", Planting.OPTIONS_SWAPPED, ("A", "B")),
        Planted("Q2", Planting.KEY_SHIFTED, ("key",)),
        Planted("Q3", Planting.CHARACTER_DROPPED, ("stem",)),
    ]
    return found, planted, dict(zip(places, map(Judgement, calls), strict=True))


def test_a_plant_is_caught_only_when_it_was_judged_a_fault() -> None:
    found, planted, judgements = judged()
    outcome = settle(100, found, planted, judgements)
    assert (outcome.caught, outcome.planted) == (1, 3)
    assert [is_caught(p, judgements) for p in planted] == [True, False, False]
    assert dict(outcome.wrong) == {"Q4": ("D", "stem")}
    assert (outcome.slips, outcome.normalisations) == (2, 1)
    assert 0.0 < outcome.error_rate.low < 0.01 < outcome.error_rate.high < 0.06
    assert outcome.catch_rate.low < 1 / 3 < outcome.catch_rate.high


@pytest.mark.parametrize("change", ["missing", "extra"])
def test_judgements_must_match_the_differences(change: str) -> None:
    found, planted, judgements = judged()
    if change == "missing":
        del judgements[("Q4", "D")]
    else:
        judgements[("Q9", "A")] = Judgement.SLIP
    with pytest.raises(ValueError, match="Q4" if change == "missing" else "Q9"):
        settle(100, found, planted, judgements)


# ---------------------------------------------------------------- what is committed


def test_the_committed_records_hold_no_text_of_any_item() -> None:
    lines = RECORDS.read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    names = {"item", "year_roc", "kind", "layout", "reason", "hazards", "reading", "exclusion", "verdict"}
    names |= {"wrong_parts", "causes", "slips", "planted"}
    assert {frozenset(r) for r in records} == {frozenset(names)}
    assert all(line.isascii() for line in lines)
    assert len({r["item"] for r in records}) == len(records) >= 300
    assert sum(len(r["planted"]) for r in records) == 20
