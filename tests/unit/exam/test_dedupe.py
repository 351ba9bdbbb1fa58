"""Grouping of reprints, and what the official keys of a group say together."""

from __future__ import annotations

import random
import re
import tracemalloc

import pytest
from support.copies import STEM, TEXTS, accepted, copy, item, rejected, row

from opentwbench.exam import fingerprint
from opentwbench.exam.dedupe import (
    Grouping,
    ItemError,
    answer,
    copies_of,
    group,
    key_agreement,
    keys_conflict,
    same_stem,
    shared_across,
)
from opentwbench.exam.model import Exclusion

SHUFFLED = (TEXTS[2], TEXTS[0], TEXTS[3], TEXTS[1])


def test_reprints_group_whatever_their_order_widths_and_punctuation() -> None:
    copies = [
        copy(item(), row(112)),
        copy(item(texts=SHUFFLED, key="B"), row(110)),
        copy(item(stem=" 下列何者，為直轄市?"), row(111)),
        copy(item(texts=("台北市", *TEXTS[1:])), row(109)),
        copy(item(stem="下列何者非直轄市？"), row(113)),
    ]
    groups = group(copies)
    assert [len(each.copies) for each in groups] == [4, 1]
    assert [each.row.year_roc for each in groups[0].copies] == [109, 110, 111, 112]  # the earliest sitting first
    assert groups[0].papers == 4


def test_numbers_that_differ_by_a_mark_are_other_questions() -> None:
    groups = group([copy(item(stem=f"{number} 公克之藥物如何稀釋？")) for number in ("10.5", "105", "1.05", "10,5")])
    assert len(groups) == 4


def test_blanks_of_a_cloze_are_not_one_question_and_never_a_conflict() -> None:
    words = ("gather", "scatter", "borrow", "lend")
    blanks = [item(q_no, stem="", texts=words, key=key) for q_no, key in ((41, "A"), (42, "B"))]
    copies = [copy(blank, on, pdf="one") for blank in blanks for on in (row(110), row(110, category="102"))]
    groups = group([*copies, copy(blanks[0], row(111), pdf="another")])
    assert sorted(len(each.copies) for each in groups) == [1, 2, 2]
    assert not any(keys_conflict(each) for each in groups)
    assert key_agreement(groups, "law").disagreements == ()


def test_grouping_does_not_depend_on_the_order_of_the_copies() -> None:
    copies = [copy(item(q_no=n, stem=f"題{n % 3}"), row(110 + n % 4)) for n in range(12)]
    forward, backward = group(copies), group(reversed(copies))
    assert [(each.loose, each.copies) for each in forward] == [(each.loose, each.copies) for each in backward]


def test_source_papers_are_index_rows_and_a_row_counts_once() -> None:
    on = row()
    groups = group([copy(item(1), on), copy(item(2), on), copy(item(1), row(category="102"), pdf="pdf-same")])
    assert (len(groups[0].copies), groups[0].papers) == (3, 2)


def test_keys_are_compared_by_text_and_never_by_letter() -> None:
    (same_text,) = group([copy(item(key="A"), row(110)), copy(item(texts=SHUFFLED, key="B"), row(111))])
    (same_letter,) = group([copy(item(key="A"), row(110)), copy(item(texts=SHUFFLED, key="A"), row(111))])
    assert not keys_conflict(same_text)
    assert keys_conflict(same_letter)


def test_white_space_punctuation_and_variants_never_make_a_conflict() -> None:
    texts = ("甲、乙 及丙", "台灣", "丁，戊", "己")
    others = ("甲，乙及丙。", "臺灣", "丁、戊", "己")
    (one,) = group([copy(item(texts=texts, key="A"), row(110)), copy(item(texts=others, key="A"), row(111))])
    assert not keys_conflict(one)


def test_options_that_differ_in_punctuation_only_are_compared_exactly() -> None:
    texts = ("天冷，加衣。", "天冷、加衣。", "天冷；加衣。", "天冷加衣。")
    stem = "下列標點符號何者正確？"
    (conflict,) = group([copy(item(1, stem, texts, "A"), row(110)), copy(item(1, stem, texts, "B"), row(111))])
    (agreed,) = group([copy(item(1, stem, texts, "A"), row(110)), copy(item(1, stem, texts, "A"), row(111))])
    assert keys_conflict(conflict)
    assert not keys_conflict(agreed)


@pytest.mark.parametrize(
    "ruling",
    [
        Exclusion.MULTI_SELECT,
        Exclusion.VOIDED,
        Exclusion.CREDITED_UNLESS_BLANK,
        Exclusion.SEVERAL_ANSWERS_ACCEPTED,
        Exclusion.REMARK_UNREAD,
    ],
)
def test_a_ruling_on_one_copy_decides_for_the_others(ruling: Exclusion) -> None:
    ruled = item(key=None, exclusions=(ruling,))
    (mixed,) = group([copy(item(), row(110)), copy(ruled, row(111))])
    (unanimous,) = group([copy(ruled, row(110)), copy(ruled, row(111))])
    assert keys_conflict(mixed)
    assert not keys_conflict(unanimous)


def test_a_text_exclusion_is_no_ruling() -> None:
    (one,) = group([copy(item(), row(110)), copy(item(exclusions=(Exclusion.FIGURE,)), row(111))])
    assert not keys_conflict(one)
    assert answer(one.copies[1].item) == "臺北市"


@pytest.mark.parametrize("key", [None, "E", "AB"])
def test_a_clean_copy_without_a_usable_key_stops_the_build(key: str | None) -> None:
    (lone,) = group([copy(item(q_no=7, key=key), row(110))])
    with pytest.raises(ItemError, match="110030-101-0101: question 7: key"):
        keys_conflict(lone)


def test_agreement_counts_groups_and_independent_groups() -> None:
    def twice(stem: str, keys: str, pdfs: tuple[str, str]) -> list:
        return [
            copy(item(n, stem, key=key), row(110 + n), pdf=pdf)
            for n, (key, pdf) in enumerate(zip(keys, pdfs, strict=True), start=1)
        ]

    copies = [
        *twice("甲問", "AA", ("p1", "p2")),
        *twice("乙問", "AA", ("p1", "p1")),  # one PDF read twice proves nothing
        *twice("丙問", "AB", ("p1", "p2")),
        *twice("丁問", "AB", ("p1", "p1")),
        copy(item(stem="戊問")),
        copy(item(stem="己問"), row(110)),
        copy(item(stem="己問", key=None, exclusions=(Exclusion.VOIDED,)), row(111)),
    ]
    found = key_agreement(group(copies), "law")
    assert (found.groups, found.agreeing) == (4, 2)
    assert (found.independent_groups, found.independent_agreeing) == (2, 1)
    assert found.overruled == 1
    assert len(found.disagreements) == 2
    assert found.disagreements[0].keys == (
        ("111030-101-0101", 1, "A", "臺北市"),
        ("112030-101-0101", 2, "B", "新竹市"),
    )
    assert found.figures(["law-1", "law-1"]).conflicting_ids == ("law-1",)


def test_groups_with_the_same_stem_and_other_options_are_reported_apart() -> None:
    groups = group(
        [
            copy(item(), row(110)),
            copy(item(), row(111)),
            copy(item(texts=(*TEXTS[:3], "花蓮縣")), row(112)),
            copy(item(stem="另一題"), row(112)),
            copy(item(stem="", texts=("a", "b", "c", "d")), row(112)),
            copy(item(stem="", texts=("e", "f", "g", "h")), row(112)),
        ]
    )
    (together,) = same_stem(groups)
    assert [len(each.copies) for each in together] == [2, 1]
    assert {each.copies[0].item.question for each in together} == {STEM}


def test_what_subjects_share_is_counted_once_a_subject() -> None:
    published = [("law", "f1"), ("law", "f1"), ("civics", "f1"), ("law", "f2"), ("medicine", "f3"), ("civics", "f3")]
    assert shared_across(published) == {"f1": ["civics", "law"], "f3": ["civics", "medicine"]}


def test_a_rejected_paper_has_no_copies() -> None:
    assert copies_of(row(), rejected(), "q", "k") == []
    assert [each.item.q_no for each in copies_of(row(), accepted(item(1), item(2)), "q", "k")] == [1, 2]


# ---- while copies pass ----------------------------------------------------------------------------------------------


def test_grouping_while_they_pass_gives_the_groups_that_are_held() -> None:
    copies = [
        copy(item(q_no=n, stem=f"題{n % 3}", key="ABCD"[n % 4]), row(110 + n % 4), pdf=f"p{n}") for n in range(12)
    ]
    grouping = Grouping()
    for each in copies:
        grouping.add(each.row.year_roc, each.row.paper_id, each.question_sha256, each.item)
    frame, names = grouping.frame(), grouping.fingerprints()
    passed = {
        names[number][0]: [copies[place] for place in rows["copy"]] for (number,), rows in frame.group_by("group")
    }
    assert passed == {each.loose: list(each.copies) for each in group(copies)}
    assert (len(grouping), grouping.distinct, grouping.texts) == (12, 3, 3)
    assert {loose: len(set(verdicts)) for loose, verdicts in ((g.loose, g.verdicts) for g in group(copies))} == {
        name: frame.filter(frame["group"] == number)["verdict"].n_unique() for number, (name, _) in enumerate(names)
    }
    papers = grouping.papers()
    assert [papers[number] for number in frame["paper"]] == [copies[place].row.paper_id for place in frame["copy"]]


def test_no_text_is_kept_while_copies_pass() -> None:
    def held(copies: int) -> int:
        grouping = Grouping()
        tracemalloc.start()
        for n in range(copies):
            # A new text object each time, as if read from a file.
            stem = "".join(["下列何者為直轄市？" * 50, str(n % 10)])
            grouping.add(110, f"paper-{n % 50}", f"pdf-{n % 50}", item(stem=stem))
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return size

    few, many = held(100), held(5_100)
    assert (many - few) / 5_000 < 60  # bytes a copy; its stem alone takes a thousand


def test_marks_between_words_are_judged_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(20261130)
    signs = "甲乙䷀龥豈5 10-（）()，。、．.!'?aABμ+−①㈠°％%「」\u200b\u3000—～/\\*"
    texts = ["".join(draw.choices(signs, k=draw.randrange(14))) for _ in range(20_000)]
    folded = [fingerprint.fold_loose(text) for text in texts]
    monkeypatch.setattr(fingerprint, "_BETWEEN_WORDS", re.compile(r"(?!)"))
    assert [fingerprint.fold_loose(text) for text in texts] == folded
    assert sum(text != fold for text, fold in zip(texts, folded, strict=True)) > 10_000  # it is put to the test


def test_what_a_key_says_is_folded_like_the_answer() -> None:
    # Copies that differ from the first one of their text, so that the answer is folded anew.
    one, other = item(texts=("甲 乙", "丙", "丁", "戊")), item(texts=("甲  乙", "丙", "丁", "戊"))
    (found,) = group(
        [copy(one, row(110)), copy(other, row(111)), copy(item(texts=other.options.values(), key="B"), row(112))]
    )  # type: ignore[arg-type]
    assert found.exacts[0] == found.exacts[1] and found.verdicts[0] == found.verdicts[1] != found.verdicts[2]
