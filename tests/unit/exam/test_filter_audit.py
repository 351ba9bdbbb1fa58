"""The filter audit on questions written for this file: draw, blind sheet, verdicts, both sides of a rule."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from opentwbench.exam.filter_audit import (
    AUDITED,
    KEPT_HINT,
    KEPT_REST,
    RULE_OF,
    AuditError,
    Damage,
    Entry,
    Ground,
    Printed,
    Record,
    Round,
    Verdict,
    as_drawn,
    draw_all,
    figures,
    hint,
    plant,
    printed_items,
    read_answers,
    read_record,
    rules_on_damage,
    sheet,
    shown,
    strata,
    stratum_of_rule,
)
from opentwbench.exam.filters import text_exclusions
from opentwbench.exam.model import Declared, Exclusion, PaperItem, PaperRecord

SEED = 5
FIGURE = stratum_of_rule(Exclusion.FIGURE)


def item(q_no: int, question: str, exclusions: Sequence[Exclusion] = (), **changes: object) -> PaperItem:
    options = {letter: f"第{q_no}題之{letter}項說法" for letter in "ABCD"}
    whole = PaperItem(q_no, question, options, "A", ("A",), tuple(exclusions), 1)
    return replace(whole, **changes)  # type: ignore[arg-type]


def population(kept: int = 40, hinting: int = 20, figures_: int = 30) -> list[Printed]:
    """`figures_` questions that point at a figure, `hinting` and `kept` that do not, on one paper."""
    stems = [f"如下圖所示，第{n}號裝置之輸出為何？" for n in range(figures_)]
    stems += [f"甲向乙借款並約定分期攤還本金及利息。該借款第{n}期之利息，其時效為何？" for n in range(hinting)]
    stems += [f"某契約共有{n}項條款，則解除契約之要件，何者正確？" for n in range(kept)]
    items = [item(n, stem, text_exclusions(stem, {l: l for l in "ABCD"})) for n, stem in enumerate(stems, start=1)]  # noqa: E741
    record = PaperRecord("Q.pdf", "K.pdf", "accepted", None, "", Declared(None, None), len(items), tuple(items))
    rejected = PaperRecord("R.pdf", "K.pdf", "rejected", None, "", Declared(None, None), 1, (item(1, "下列何者？"),))
    return printed_items([("100030-101-0101", record), ("100030-101-0102", rejected)])


def judged(items: Sequence[Printed], ground: Ground, stratum: str, round_: int = 1) -> list[Verdict]:
    return [Verdict(round_, each.name, each.text, (stratum,), (ground,)) for each in items]


def record_of(items: Sequence[Printed], kept_each: int = 10, removed_each: int = 12) -> Record:
    """A round in which every drawn question was found to be what the filters say."""
    drawn = draw_all(items, SEED, 1, removed_each, kept_each)
    sizes = {name: len(members) for name, members in strata(items).items()}
    verdicts = judged(drawn[FIGURE], Ground.NEEDS_FIGURE, FIGURE)
    for stratum in (KEPT_HINT, KEPT_REST):
        verdicts += judged(drawn[stratum], Ground.STANDS_ALONE, stratum)
    return Record((Round(1, SEED, kept_each, removed_each, sizes),), tuple(verdicts))


# ---- population and draw --------------------------------------------------------------------------------------------


def test_every_question_of_accepted_papers_is_in_its_strata() -> None:
    found = {name: len(members) for name, members in strata(population()).items() if members}
    assert found == {FIGURE: 30, KEPT_HINT: 20, KEPT_REST: 40}
    assert set(strata([])) == {KEPT_HINT, KEPT_REST, *map(stratum_of_rule, AUDITED)}


def test_a_question_on_which_two_rules_fired_is_in_both_strata() -> None:
    both = Printed("100030-101-0101", "Q.pdf", item(1, "x", (Exclusion.FIGURE, Exclusion.FOLLOW_UP)))
    assert [name for name, members in strata([both]).items() if members] == [
        FIGURE,
        stratum_of_rule(Exclusion.FOLLOW_UP),
    ]


def test_every_rule_that_a_paper_shows_has_a_ground_and_no_other_is_audited() -> None:
    beyond = {
        Exclusion.CONFLICTING_KEYS,
        Exclusion.IN_LEGAL_BENCHMARK_V2,
        Exclusion.IN_TMMLU_PLUS,
        Exclusion.MAINTAINER_EXCLUDED,
    }
    assert set(AUDITED) == set(Exclusion) - beyond
    assert set(RULE_OF) == set(Ground)


def test_the_draw_is_by_seed_and_stays_when_others_come() -> None:
    items = population()
    first = draw_all(items, SEED, 1, 12, 10)
    assert {name: len(members) for name, members in first.items() if members} == {
        FIGURE: 12,
        KEPT_HINT: 10,
        KEPT_REST: 10,
    }
    assert draw_all(items[::-1], SEED, 1, 12, 10) == first
    assert draw_all(items, SEED + 1, 1, 12, 10) != first
    fewer = draw_all(items[:-1], SEED, 1, 12, 10)
    assert sum(each in first[KEPT_REST] for each in fewer[KEPT_REST]) >= 9


def test_a_later_round_draws_other_kept_questions_and_the_same_removed_ones() -> None:
    one, two = (draw_all(population(), SEED, round_, 12, 10) for round_ in (1, 2))
    assert one[FIGURE] == two[FIGURE]
    assert one[KEPT_REST] != two[KEPT_REST]


def test_a_hint_is_wider_than_any_rule() -> None:
    assert hint("甲、乙訂立契約，該契約之效力為何？")
    assert hint("依附件之規定，何者正確？")
    assert not hint("下列何者為行政處分？")
    assert all(hint(each.item.question) for each in population() if each.item.exclusions)


# ---- sheets ---------------------------------------------------------------------------------------------------------


def test_damage_of_every_kind_changes_a_kept_question_once() -> None:
    items = population()
    planted = plant(items, 3, SEED)
    assert [sum(kind is k for kind, _ in planted) for k in Damage] == [3] * len(Damage)
    whole = {each.name: each for each in items}
    assert len({each.name for _, each in planted}) == len(planted)
    assert all(each.text != whole[each.name].text and not whole[each.name].item.exclusions for _, each in planted)
    with pytest.raises(AuditError, match="could be planted"):
        plant(items, 100, SEED)
    assert len(plant(items, 100, SEED, strict=False)) < 60


def test_what_the_text_rules_make_of_damage_is_counted() -> None:
    found = rules_on_damage(population(), SEED, each_kind=5)
    assert found[Damage.TAIL_CUT.value] == (5, 5)
    assert found[Damage.OPTION_TOOK_IN.value] == (5, 5)
    assert found[Damage.OPTIONS_MERGED.value] == (5, 0)


def test_a_sheet_shows_each_question_once_and_nothing_of_its_stratum() -> None:
    items = population()
    entries = sheet(draw_all(items, SEED, 1, 12, 10), plant(items[30:], 1, SEED), SEED)
    assert len(entries) == len({(e.printed.name, e.damage) for e in entries}) == 12 + 10 + 10 + len(Damage)
    kinds = ["removed" if e.strata == (FIGURE,) else "damaged" if e.damage else "kept" for e in entries]
    assert kinds != sorted(kinds)  # shuffled
    for entry in entries:
        words = shown(entry)
        assert entry.printed.item.question in words
        assert not any(name in words for name in ("kept", "removed", *Damage))


def test_a_sheet_shows_what_no_font_shows() -> None:
    odd = Printed("p-1", "Q.pdf", item(1, "去氧核\ue123酸為何？", key=None, remark="一律給分"))
    words = shown(Entry(odd, (KEPT_REST,)))
    assert words.startswith("去氧核⟨U+E123⟩酸為何？ ▷ (A) 第1題之A項說法 (B)")
    assert words.endswith("(D) 第1題之D項說法 ▷ # 〔一律給分〕")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 stands_alone", "1 questions without an answer, the first is 2"),
        ("1 stands_alone\n1 stands_alone", "line 2"),
        ("3 stands_alone", "line 1"),
        ("1 sound\n2 stands_alone", "no ground: sound"),
        ("1\n2 stands_alone", "line 1"),
        ("x stands_alone", "line 1"),
        ("\n1 stands_alone", "line 1"),
    ],
)
def test_answers_must_be_whole(text: str, words: str) -> None:
    with pytest.raises(AuditError, match=words):
        read_answers(text, 2)


def test_answers_by_number() -> None:
    found = read_answers("2 foreign_stem needs_passage foreign_stem\n1 stands_alone\n", 2)
    assert found == {1: (Ground.STANDS_ALONE,), 2: (Ground.FOREIGN_STEM, Ground.NEEDS_PASSAGE)}
    assert read_answers("2 own_material", 2, partial=True) == {2: (Ground.OWN_MATERIAL,)}


# ---- verdicts -------------------------------------------------------------------------------------------------------


def test_a_record_comes_back_as_it_was_written_and_holds_no_text() -> None:
    items = population()
    record = record_of(items)
    lines = record.to_lines()
    assert read_record(map(json.loads, lines.decode().splitlines())).to_lines() == lines
    assert not any(each.item.question in lines.decode() for each in items)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"grounds": ["nice"]}, "line 2"),
        ({"grounds": []}, "line 2"),
        ({"strata": ["kept:all"]}, "no stratum"),
        ({"strata": [], "damage": ""}, "either strata or planted damage"),
        ({"damage": "typo"}, "line 2"),
        ({"text": "0"}, "line 2"),
        ({"item": "../../x Q1"}, "line 2"),
        ({"round": 7}, "round 7 is not described"),
        ({"amended": 1}, "line 2"),
        ({"words": "題幹"}, "fields"),
    ],
)
def test_a_bad_line_is_named(change: dict[str, object], words: str) -> None:
    lines = [json.loads(line) for line in record_of(population()).to_lines().decode().splitlines()][:2]
    lines[1] |= change
    with pytest.raises(AuditError, match=words):
        read_record(lines)


def test_a_question_is_judged_once_a_round() -> None:
    lines = [json.loads(line) for line in record_of(population()).to_lines().decode().splitlines()][:2]
    with pytest.raises(AuditError, match="a second verdict"):
        read_record([*lines, lines[1]])


# ---- sums -----------------------------------------------------------------------------------------------------------


def test_nothing_wrong_is_found_where_nothing_is() -> None:
    items = population()
    found = figures(items, record_of(items))
    rule = next(rule for rule in found.rules if rule.rule is Exclusion.FIGURE)
    assert (rule.fired, rule.removed, rule.by_words, rule.judged, rule.wrong, rule.sound) == (30, 30, 30, 12, (), ())
    assert (found.papers, found.printed, found.kept) == (1, 90, 60)
    assert found.unsound.share == 0.0
    assert 0.0 < found.unsound.interval.high < 0.3
    assert (found.stale, found.unjudged) == ((), ())


def test_a_sound_question_that_was_removed_is_a_false_positive() -> None:
    items = population()
    record = record_of(items)
    verdicts = list(record.verdicts)
    verdicts[0] = replace(verdicts[0], grounds=(Ground.DRAWING_NOT_NEEDED,))
    verdicts[1] = replace(verdicts[1], grounds=(Ground.NO_TEXT,))
    found = figures(items, replace(record, verdicts=tuple(verdicts)))
    rule = next(rule for rule in found.rules if rule.rule is Exclusion.FIGURE)
    assert rule.wrong == (verdicts[0].item, verdicts[1].item)
    assert rule.sound == (verdicts[0].item,)
    assert rule.false_positives.low < 2 / 12 < rule.false_positives.high


def test_what_was_let_through_is_weighed_by_its_stratum() -> None:
    items = population()
    record = record_of(items)
    drawn = draw_all(items, SEED, 1, 12, 10)
    missed = {each.name for each in drawn[KEPT_HINT][:2]}
    verdicts = tuple(
        replace(v, grounds=(Ground.NEEDS_EARLIER_QUESTION,)) if v.item in missed else v for v in record.verdicts
    )
    found = figures(items, replace(record, verdicts=verdicts))
    rule = next(rule for rule in found.rules if rule.rule is Exclusion.FOLLOW_UP)
    assert set(rule.missed) == missed
    assert rule.let_through.share == pytest.approx(20 / 60 * 2 / 10)
    assert found.unsound.share == rule.let_through.share
    assert next(rule for rule in found.rules if rule.rule is Exclusion.FIGURE).let_through.share == 0.0


def test_a_text_that_changed_makes_its_verdict_stale() -> None:
    items = population()
    record = record_of(items)
    name = record.verdicts[0].item
    changed = [
        replace(e, item=replace(e.item, question=e.item.question + "。")) if e.name == name else e for e in items
    ]
    found = figures(changed, record)
    assert found.stale == (name,)
    rule = next(rule for rule in found.rules if rule.rule is Exclusion.FIGURE)
    assert rule.judged == 12 - 1 or name not in found.unjudged
    gone = figures([each for each in items if each.name != name], record)
    assert gone.stale == (name,)


def test_a_drawn_question_without_a_verdict_is_named() -> None:
    items = population()
    record = record_of(items)
    lost = record.verdicts[3].item
    found = figures(items, replace(record, verdicts=tuple(v for v in record.verdicts if v.item != lost)))
    assert found.unjudged == (lost,)
    with pytest.raises(AuditError, match="no round"):
        figures(items, Record())


def test_a_round_that_mended_the_rules_does_not_flatter_them() -> None:
    items = population()
    record = record_of(items)
    second = draw_all(items, SEED, 2, 12, 10)
    verdicts = [*record.verdicts]
    for stratum in (KEPT_HINT, KEPT_REST):
        verdicts += judged(second[stratum], Ground.STANDS_ALONE, stratum, 2)
    both = Record((*record.rounds, replace(record.rounds[0], number=2)), tuple(verdicts))
    pooled = figures(items, both)
    assert pooled.strata[KEPT_REST].judged > 10
    # a kept question of the first round is removed now
    moved = next(
        v.item for v in record.verdicts if KEPT_REST in v.strata and v.item not in {e.name for e in second[KEPT_REST]}
    )
    mended = [
        replace(e, item=replace(e.item, exclusions=(Exclusion.FOLLOW_UP,))) if e.name == moved else e for e in items
    ]
    assert figures(mended, both).strata[KEPT_REST].judged == 10
    assert as_drawn(both, 1)[KEPT_REST].judged == 10
    with pytest.raises(AuditError, match="no round 3"):
        as_drawn(both, 3)


def test_the_reader_is_measured_on_planted_damage() -> None:
    items = population()
    record = record_of(items)
    (_, one), (kind, other) = plant(items, 1, SEED)[:2]
    seen = Verdict(1, one.name, one.text, (), (Ground.STEM_DAMAGED,), Damage.SCENE_CUT.value)
    missed = Verdict(1, other.name, other.text, (), (Ground.STANDS_ALONE,), kind.value)
    found = figures(items, replace(record, verdicts=(*record.verdicts, seen, missed)))
    assert found.planted == {"scene_cut": (1, 1), kind.value: (1, 0)}
    assert found.catch_rate[:2] == (2, 1)
    assert found.stale == ()  # a damaged text is no question of a paper
