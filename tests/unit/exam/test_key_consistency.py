"""Key consistency over a store: by answer text, over distinct PDFs, every disagreement named and attributed."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.copies import STEM, TEXTS, copy, item, row
from support.datasets import HOSTILE

from opentwbench.exam.dedupe import Copy, Grouping
from opentwbench.exam.items import ItemLineError, subject_items, to_line, unassigned_items
from opentwbench.exam.key_consistency import (
    ATTRIBUTED,
    MAX_NOTE,
    OPEN,
    STALE,
    Agreement,
    Attribution,
    AttributionError,
    Consistency,
    Kind,
    agreement,
    consistency,
    judged,
    page,
    read_attributions,
    share,
)
from opentwbench.exam.model import Exclusion
from opentwbench.exam.subjects import REGISTRY

LAW, LIBRARY = REGISTRY["tw-roc-constitution-bench"], REGISTRY["tw-library-science-bench"]
SHUFFLED = (TEXTS[2], TEXTS[0], TEXTS[3], TEXTS[1])
PUBLISHED_GROUPS, PUBLISHED_FLAGGED = 31_312, 27
"""The paper, section 3.2."""


def lines(**scopes: Sequence[Copy]) -> Callable[[], list[tuple[str, bytes]]]:
    """Copies as a store keeps them, by scope: law, library or none."""
    found = []
    for name, copies in scopes.items():
        subject = {"law": LAW, "library": LIBRARY}.get(name)
        items = subject_items(subject, copies).items if subject else unassigned_items(copies)
        found += [(subject.slug if subject else "no_subject", to_line(each)) for each in items]
    return lambda: found


def twice(key: str, texts: Sequence[str] = TEXTS, **fields: object) -> list[Copy]:
    """One question printed by two papers, first with key A, then with `key` and `texts`."""
    return [copy(item(1, **fields), row(110)), copy(item(7, texts=texts, key=key, **fields), row(111))]  # type: ignore[arg-type]


def law(*copies: Copy) -> Consistency:
    return consistency(lines(law=copies))


# ---- what is a conflict ---------------------------------------------------------------------------------------------


def test_another_letter_for_the_same_text_is_no_conflict() -> None:
    found = law(*twice("B", SHUFFLED))
    assert (found.over_all.groups, found.over_all.agreeing, found.over_all.by_letter) == (1, 1, 1)
    assert found.conflicts == () and found.settled


def test_another_text_is_a_conflict_also_behind_the_same_letter() -> None:
    for key, texts in (("B", TEXTS), ("A", SHUFFLED)):
        found = law(*twice(key, texts))
        assert (found.over_all.groups, found.over_all.disagreeing) == (1, 1)
        (conflict,) = found.conflicts
        assert conflict.independent and conflict.standing == OPEN and not found.settled
        first, second = conflict.printings
        assert (first.paper_id, first.q_no, first.letter, first.answer) == ("110030-101-0101", 1, "A", "臺北市")
        assert (second.paper_id, second.q_no, second.letter) == ("111030-101-0101", 7, key)
        assert second.answer == texts["ABCD".index(key)]
        assert first.answer_sha256 != second.answer_sha256
        assert first.question_sha256 != second.question_sha256


def test_a_pair_that_depends_on_a_figure_is_excluded_and_still_compared() -> None:
    found = law(*twice("B", stem="如圖所示，何者為直轄市？", exclusions=(Exclusion.FIGURE,)))
    (conflict,) = found.conflicts
    assert {p.exclusions for p in conflict.printings} == {("figure", "conflicting_keys")}
    assert law(*twice("A", stem="如圖所示，何者為直轄市？", exclusions=(Exclusion.FIGURE,))).conflicts == ()


def test_white_space_widths_and_variants_make_no_conflict() -> None:
    found = law(*twice("A", ("台北市 ", "新竹 市", "嘉義市。", "基隆市")))
    assert (found.over_all.groups, found.over_all.agreeing, found.conflicts) == (1, 1, ())


def test_a_ruling_is_no_second_answer() -> None:
    voided = copy(item(key=None, exclusions=(Exclusion.VOIDED,)), row(112))
    found = law(copy(item(), row(110)), voided)
    assert (found.duplicate_groups, found.over_all.groups, found.over_all.overruled) == (1, 0, 1)
    assert found.conflicts == ()
    (conflict,) = law(*twice("B"), voided).conflicts
    assert [(p.letter, p.answer, p.answer_sha256 != "") for p in conflict.printings] == [
        ("A", "臺北市", True),
        ("B", "新竹市", True),
        ("", "", False),
    ]


def test_one_pdf_read_twice_is_counted_apart() -> None:
    same = [copy(item(), row(110), pdf="one"), copy(item(), row(110, category="102"), pdf="one")]
    found = law(*same)
    assert (found.duplicate_groups, found.independent_duplicates) == (1, 0)
    assert (found.over_all.groups, found.over_all.independent_groups) == (1, 0)
    found = law(*same, copy(item(key="B"), row(111), pdf="one"))
    (conflict,) = found.conflicts
    assert not conflict.independent
    assert (found.over_all.disagreeing, found.over_all.independent_groups) == (1, 0)


def test_what_two_subjects_print_is_one_group_over_all_and_none_within() -> None:
    found = consistency(lines(law=[copy(item(), row(110))], library=[copy(item(key="B"), row(111))]))
    assert (found.printed, found.distinct) == (2, 1)
    assert (found.over_all.groups, found.over_all.disagreeing) == (1, 1)
    assert found.within_subjects.groups == 0
    assert {p.scope for p in found.conflicts[0].printings} == {LAW.slug, LIBRARY.slug}


def test_questions_of_no_subject_count_over_all_and_on_no_card() -> None:
    found = consistency(lines(law=twice("A"), none=[copy(item(stem="甲？"), row(y), pdf=str(y)) for y in (110, 111)]))
    assert (found.over_all.groups, found.within_subjects.groups) == (2, 1)


def test_figures_within_are_those_of_the_cards() -> None:
    copies = [*twice("A"), *twice("C", stem="第二題？"), *twice("B", SHUFFLED, stem="第三題？")]
    card = subject_items(LAW, copies).agreement
    within = law(*copies).within_subjects
    assert (within.groups, within.agreeing) == (card.groups, card.agreeing) == (3, 2)
    assert (within.independent_groups, within.independent_agreeing) == (
        card.independent_groups,
        card.independent_agreeing,
    )


def test_blanks_of_one_passage_are_no_conflict_and_keep_their_own_ids() -> None:
    words = ("gather", "scatter", "borrow", "lend")
    blanks = [item(q_no, stem="", texts=words, key=key) for q_no, key in ((41, "A"), (42, "B"))]
    rows = (row(110), row(110, category="102"))
    found = law(*(copy(blank, on, pdf="one") for blank in blanks for on in rows))
    assert (found.distinct, found.over_all.groups, found.conflicts) == (2, 2, ())
    # The same blank of the same PDF with two keys is one.
    other = replace(blanks[0], key="C", accepted=("C",))
    found = law(copy(blanks[0], rows[0], pdf="one"), copy(other, rows[1], pdf="one"), copy(blanks[1], pdf="two"))
    (conflict,) = found.conflicts
    assert len(conflict.group) == 64 and len(conflict.printings) == 2


def test_one_stem_with_other_options_is_reported_apart() -> None:
    others = (*TEXTS[:3], "花蓮縣")
    found = law(*twice("A"), copy(item(3, texts=others, key="B"), row(112)), copy(item(4, "另一題？"), row(112)))
    assert found.conflicts == ()
    (together,) = found.same_stem
    assert together.firsts == ((LAW.slug, "110030-101-0101", 1), (LAW.slug, "112030-101-0101", 3))


def test_a_line_that_is_no_question_stops_with_its_place() -> None:
    with pytest.raises(ItemLineError, match="law, printed question 2: not JSON"):
        consistency(lambda: [("law", lines(law=twice("A"))()[0][1]), ("law", b"{")])


# ---- known answers --------------------------------------------------------------------------------------------------


def test_the_published_rate_follows_from_the_published_counts() -> None:
    found = Agreement(PUBLISHED_GROUPS, PUBLISHED_GROUPS - PUBLISHED_FLAGGED, 0, 0, 0, 0)
    assert found.disagreeing == 27
    assert f"{found.rate:.4%}" == "99.9138%"
    assert share(found.agreeing, found.groups) == "31,285 of 31,312 = 99.9138% (95 % interval 99.8%–100.0%)"
    assert 0.99874 < found.interval.low < 0.99875 and 0.99940 < found.interval.high < 0.99941
    with pytest.raises(ValueError, match="counts out of range"):
        share(2, 1)


def test_the_published_rate_in_small_counted_from_rows() -> None:
    # A hundredth of the groups, one of them flagged; a changed row changes the rate.
    groups, flagged = PUBLISHED_GROUPS // 100, 1
    copies = [each for n in range(groups) for each in twice("B" if n < flagged else "A", stem=f"第 {n} 題？")]
    found = law(*copies).over_all
    assert (found.groups, found.disagreeing, found.independent_groups) == (313, 1, 313)
    assert found.rate == 312 / 313
    last = copies[-1]
    changed = replace(last, item=replace(last.item, key="C", accepted=("C",)))
    assert law(*copies[:-1], changed).over_all.rate == 311 / 313
    assert law().over_all.rate is None


@given(
    st.lists(
        st.tuples(
            st.integers(0, 5),
            st.sampled_from("ABCD"),
            st.integers(0, 3),
            st.sampled_from(["p", "q", "r"]),
            st.sampled_from(["law", "civics"]),
        ),
        max_size=40,
    )
)
@settings(max_examples=60, deadline=None)
def test_figures_are_those_of_plain_counting(drawn: list[tuple[int, str, int, str, str]]) -> None:
    grouping = Grouping()
    plain: dict[tuple[str, ...], list[tuple[str, str, str]]] = defaultdict(list)
    within: dict[tuple[str, ...], list[tuple[str, str, str]]] = defaultdict(list)
    for n, (number, key, turn, pdf, scope) in enumerate(drawn):
        texts = TEXTS[turn:] + TEXTS[:turn]
        grouping.add(100 + n % 7, f"paper-{n}", pdf, item(n + 1, f"第 {number} 題？", texts, key), scope)
        said = (key, texts["ABCD".index(key)], pdf)
        plain[(str(number),)].append(said)
        within[scope, str(number)].append(said)
    for by, counted in ((("group",), plain), (("scope", "group"), within)):
        found = agreement(judged(grouping.frame(), by))
        several = [group for group in counted.values() if len(group) > 1]
        agreeing = [group for group in several if len({text for _, text, _ in group}) == 1]
        assert (found.groups, found.agreeing) == (len(several), len(agreeing))
        assert found.independent_groups == sum(len({pdf for *_, pdf in group}) > 1 for group in several)
        assert found.independent_agreeing == sum(len({pdf for *_, pdf in group}) > 1 for group in agreeing)
        assert found.by_letter == sum(len({letter for letter, *_ in group}) > 1 for group in several)


# ---- attributions ---------------------------------------------------------------------------------------------------


def said_of(found: Consistency, kind: Kind = Kind.TRUE_CONFLICT, note: str = "both pages say so") -> Attribution:
    (conflict,) = found.conflicts
    return Attribution(conflict.group, conflict.copies, kind, note, "2026-11-30")


def test_an_attribution_settles_its_disagreement_until_a_copy_changes() -> None:
    copies = twice("B")
    said = said_of(law(*copies))
    known = read_attributions(said.line() + b"\n", "a.jsonl")
    found = consistency(lines(law=copies), known)
    assert found.settled and found.conflicts[0].standing == ATTRIBUTED
    assert found.counts() == {
        OPEN: 0,
        STALE: 0,
        **dict.fromkeys(Kind, 0),
        Kind.TRUE_CONFLICT: 1,
    }
    changes = {
        "a copy more": [*copies, copy(item(key="B"), row(112))],
        "another key": twice("C"),
        "another PDF": [copies[0], replace(copies[1], question_sha256="other")],
        "another place": [copies[0], copy(item(8, key="B"), row(111))],
    }
    for what, changed in changes.items():
        later = consistency(lines(law=changed), known)
        assert [each.standing for each in later.conflicts] == [STALE], what
        assert later.conflicts[0].group == said.group and not later.settled
        assert later.counts()[STALE] == 1 and later.counts()[Kind.TRUE_CONFLICT] == 0
    gone = consistency(lines(law=twice("A")), known)
    assert gone.settled and gone.unknown_attributions == (said.group,)


def test_the_order_of_copies_makes_no_attribution_stale() -> None:
    copies = [*twice("B"), copy(item(key="B"), row(112))]
    assert law(*copies).conflicts[0].copies == law(*reversed(copies)).conflicts[0].copies


def test_a_later_line_replaces_an_earlier_one() -> None:
    found = law(*twice("B"))
    data = b"".join(said_of(found, kind, kind.value).line() + b"\n" for kind in (Kind.FIGURE, Kind.TRUE_CONFLICT))
    (entry,) = read_attributions(data, "a.jsonl").values()
    assert (entry.kind, entry.note) == (Kind.TRUE_CONFLICT, "true_conflict")


GOOD = {
    "group": "a" * 64,
    "copies": "b" * 16,
    "kind": "figure",
    "note": "the table is missing",
    "date": "2026-11-30",
    "who": "",
}


def test_a_good_line_is_read_as_it_is_written() -> None:
    line = json.dumps(GOOD).encode()
    (entry,) = read_attributions(line + b"\n", "a.jsonl").values()
    assert entry.line() == line
    assert read_attributions(b"", "a.jsonl") == {}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"group": "../../etc/passwd"}, "group"),
        ({"group": "A" * 64}, "group"),
        ({"copies": "b" * 15}, "copies"),
        ({"kind": "wrong"}, "kind: wrong"),
        ({"kind": 1}, "kind: 1"),
        ({"note": ""}, "note: empty; say in one line what was seen$"),
        ({"note": " "}, "note: .*empty"),
        ({"note": "x" * (MAX_NOTE + 1)}, "note: x+…: not one printable line of at most"),
        ({"note": "a\x1b[31m"}, "note"),
        ({"note": "a\nb"}, "note"),
        ({"date": "30.11.2026"}, "date: 30.11.2026: not a day as YYYY-MM-DD"),
        ({"date": "2026-02-30"}, "date"),
        ({"date": "20261130"}, "date"),
        ({"who": "w" * 101}, "who"),
        ({"who": None}, "who"),
        ({"more": "x"}, "fields"),
    ],
)
def test_a_line_that_breaks_a_rule_is_refused_with_its_place(change: dict[str, object], words: str) -> None:
    data = json.dumps(GOOD).encode() + b"\n" + json.dumps({**GOOD, **change}).encode() + b"\n"
    with pytest.raises(AttributionError, match=rf"^a\.jsonl line 2: .*{words}"):
        read_attributions(data, "a.jsonl")


@pytest.mark.parametrize(("data", "words"), [(b"{}", "line feed"), (b"\n", "line 1: not JSON"), (b"[1]\n", "fields")])
def test_a_file_that_is_torn_or_no_such_file_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(AttributionError, match=words):
        read_attributions(data, "a.jsonl")


# ---- the page -------------------------------------------------------------------------------------------------------


def test_the_page_names_every_copy_and_holds_no_text_of_a_paper() -> None:
    copies = twice("B")
    said = said_of(law(*copies), note="| a `note` <b>")
    found = consistency(lines(law=copies), {said.group: said})
    words = page(found, "otb study consistency")
    for name in (
        said.group[:16],
        "110030-101-0101",
        "111030-101-0101",
        *(p.answer_sha256 for p in found.conflicts[0].printings),
    ):
        assert name in words
    assert "| 0 of 1 = 0.0000% (95 % interval 0.0%–79.4%) |" in words
    assert not any(text in words for text in (STEM, *TEXTS))
    assert "<b>" not in words and "\\| a \\`note\\`" in words
    assert not any(text in json.dumps(found.to_json(texts=False), ensure_ascii=False) for text in (STEM, *TEXTS))
    assert STEM in json.dumps(found.to_json(texts=True), ensure_ascii=False)


def test_the_page_says_when_nothing_disagrees() -> None:
    words = page(law(*twice("A")), "otb study consistency")
    assert "None: no two official keys" in words and "| 1 of 1 = 100.0000% (95 % interval 20.6%–100.0%) |" in words


def test_hostile_texts_are_compared_as_they_are() -> None:
    for text in (text for text in HOSTILE if text.strip()):
        texts = (text + "甲", "乙", "丙", "丁")
        assert (
            law(*twice("A", texts, stem=f"{text}？")[1:], copy(item(1, f"{text}？", texts), row(109))).conflicts == ()
        )
        (conflict,) = law(
            *twice("B", texts, stem=f"{text}？")[1:], copy(item(1, f"{text}？", texts), row(109))
        ).conflicts
        assert json.loads(json.dumps(conflict.to_json(texts=True)))["printings"][0]["question"] == f"{text}？"
