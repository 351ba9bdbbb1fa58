"""The registry and the rule from a subject name to its subject."""

from __future__ import annotations

import re

import pytest

from opentwbench.dataset.contract import ITEM_ID
from opentwbench.dataset.model import SLUG
from opentwbench.exam.subjects import (
    REGISTRY,
    SUBJECT_COUNT,
    RegistryError,
    assign,
    exact_match,
    fold_name,
    name_table,
    read_registry,
)

HEADER = "slug,name_zh,name_en,field,match_subject_names,status"
LAW = "tw-law-bench,法學,Law,law,法學;法學大意,proposed"


def test_registry_holds_every_subject_with_a_usable_key() -> None:
    assert len(REGISTRY) == SUBJECT_COUNT == 148
    for slug, subject in REGISTRY.items():
        assert slug == subject.slug == f"tw-{subject.key}-bench"
        assert re.fullmatch(SLUG, slug)
        assert re.fullmatch(ITEM_ID, f"{subject.key}-{'0' * 12}")
    assert len({subject.name_zh for subject in REGISTRY.values()}) == 148


def test_every_match_name_leads_to_its_own_subject() -> None:
    names = [(name, subject.slug) for subject in REGISTRY.values() for name in subject.match_names]
    found = [(name, slug) for name, slug in names if (home := assign(name).subject) and home.slug == slug]
    assert len(names) >= 148
    assert found == names


@pytest.mark.parametrize(
    ("name", "slug", "how"),
    [
        ("行政法", "tw-administrative-law-bench", "full"),
        ("行政法概要", "tw-administrative-law-bench", "full"),
        ("國文（作文、公文與測驗）", "tw-chinese-language-bench", "head"),
        ("國文(作文與測驗)", "tw-chinese-language-bench", "head"),
        # the subject stands inside the bracket: only the full name can match
        ("藥學(四)(包括調劑學與臨床藥學)", "tw-clinical-pharmacy-bench", "full"),
        ("藥學（四）（包括調劑學與臨床藥學）試題更正", "tw-clinical-pharmacy-bench", "full"),
        ("藥學\ue12c（包括調劑學與臨床藥學）", "tw-clinical-pharmacy-bench", "full"),  # the glyph ㈣
        ("藥學㈠（包括藥理學與藥物化學）", "tw-pharmacology-medicinal-chemistry-bench", "full"),
        ("藥學（九）（包括不存在之科目）", None, None),
        ("醫學(一)（包括解剖學、胚胎學）試題更正", "tw-medicine-bench", "head"),
        ("醫學\ue129（包括解剖學、胚胎學）", "tw-medicine-bench", "head"),
        ("牙醫學(一)（包括口腔解剖學）", "tw-dentistry-bench", "head"),
        ("國土安全概要與移民政策（包括移民人權）概要", "tw-homeland-security-immigration-policy-bench", "head"),
        ("　中華民國憲法 ", "tw-roc-constitution-bench", "full"),
        ("中華民國憲法〔大意〕", "tw-roc-constitution-bench", "head"),
        ("行\uf99c學", None, None),
        ("綜合法學(一)(憲法、行政法)", None, None),
        ("外國文（日文兼試移民專業英文）", None, None),
        ("（國文）", None, None),
        ("", None, None),
    ],
)
def test_full_name_first_then_the_head_before_the_first_bracket(name: str, slug: str | None, how: str | None) -> None:
    found = assign(name)
    assert (found.subject.slug if found.subject else None, found.how) == (slug, how)


def test_an_unassigned_name_keeps_its_head_for_the_report() -> None:
    assert assign("外國文（日文兼試移民專業英文）").head == "外國文"


def test_compatibility_ideographs_and_widths_fold_and_words_stay() -> None:
    assert fold_name("\uf99c\u3000（ＡＢ）") == "列(AB)"
    assert fold_name("法學試題更正") == "法學"
    assert fold_name("試題更正法") == "試題更正法"


def test_exact_match_folds_nothing() -> None:
    assert exact_match("行政法概要") is REGISTRY["tw-administrative-law-bench"]
    assert exact_match("國文（作文與測驗）") is None


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([LAW, LAW], "tw-law-bench: registered twice"),
        (["law,法學,Law,law,法學,proposed"], "slug"),
        (["tw-法-bench,法學,Law,law,法學,proposed"], "slug"),
        (["tw-law-bench,法學,,law,法學,proposed"], "tw-law-bench: an empty field"),
        (["tw-law-bench,法學,Law,law,法學;,proposed"], "tw-law-bench: an empty field"),
    ],
)
def test_a_broken_registry_is_refused_by_name(rows: list[str], words: str) -> None:
    with pytest.raises(RegistryError, match=words):
        read_registry([HEADER, *rows])


def test_a_name_that_two_subjects_claim_is_refused() -> None:
    other = "tw-jurisprudence-bench,法理學,Jurisprudence,law,法理學;法學　大意,proposed"  # the same once folded
    subjects = read_registry([HEADER, LAW, other])
    with pytest.raises(RegistryError, match="claimed by tw-law-bench and tw-jurisprudence-bench"):
        name_table(subjects.values())
    assert len(name_table(read_registry([HEADER, LAW]).values())) == 2
