"""Printed copies become items: buckets, representatives, lists, and the line of the store."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.copies import STEM, TEXTS, copy, item, row

from opentwbench.dataset.contract import ItemRow
from opentwbench.dataset.model import Withdrawal
from opentwbench.exam import items as items_module
from opentwbench.exam.exclusion_lists import ForeignList, Lists
from opentwbench.exam.fingerprint import ItemIdCollision, item_id, loose
from opentwbench.exam.items import (
    BUCKETS,
    FOLDED,
    NO_SUBJECT,
    PUBLISHED,
    ItemLineError,
    from_line,
    item_row,
    subject_items,
    to_line,
    unassigned_items,
)
from opentwbench.exam.model import Exclusion
from opentwbench.exam.subjects import REGISTRY

LAW = REGISTRY["tw-roc-constitution-bench"]
OPTIONS = dict(zip("ABCD", TEXTS, strict=True))


def buckets(*copies: object, lists: Lists | None = None) -> list[str]:
    found = subject_items(LAW, copies, lists or Lists())  # type: ignore[arg-type]
    return [each.bucket for each in found.items]


def test_the_earliest_sitting_is_published_and_reprints_fold_into_it() -> None:
    found = subject_items(
        LAW, [copy(item(3), row(112)), copy(item(9), row(110)), copy(item(1), row(110, category="102"))]
    )
    assert [(each.paper_id, each.q_no, each.bucket) for each in found.items] == [
        ("110030-101-0101", 9, PUBLISHED),
        ("110030-102-0101", 1, FOLDED),
        ("112030-101-0101", 3, FOLDED),
    ]
    (published,) = found.published
    assert published.item_id == item_id("roc-constitution", STEM, OPTIONS)
    assert published.n_source_papers == 3
    assert {each.folded_into for each in found.items} == {"", published.item_id}
    assert (found.groups, found.duplicate_groups) == (1, 1)


def test_a_copy_that_its_page_excludes_leaves_the_next_one_as_representative() -> None:
    damaged = item(exclusions=(Exclusion.DISPLACED_STEM,))
    assert buckets(copy(damaged, row(109)), copy(item(), row(110)), copy(item(), row(111))) == [
        "displaced_stem",
        PUBLISHED,
        FOLDED,
    ]


def test_conflicting_keys_drop_the_whole_group() -> None:
    found = subject_items(LAW, [copy(item(key="A"), row(110)), copy(item(key="B"), row(111)), copy(item(), row(112))])
    assert [each.bucket for each in found.items] == ["conflicting_keys"] * 3
    assert found.conflicting_ids == [item_id("roc-constitution", STEM, OPTIONS)]
    assert found.agreement.disagreements[0].item_id == found.conflicting_ids[0]


def test_a_voided_copy_anywhere_decides_the_group_and_every_rule_is_recorded() -> None:
    voided = item(key=None, exclusions=(Exclusion.VOIDED, Exclusion.FIGURE))
    found = subject_items(LAW, [copy(item(), row(110)), copy(voided, row(111)), copy(item(), row(112))])
    assert [each.bucket for each in found.items] == ["conflicting_keys", "voided", "conflicting_keys"]
    assert found.items[1].exclusions == (Exclusion.VOIDED, Exclusion.FIGURE, Exclusion.CONFLICTING_KEYS)
    assert found.published == []


def test_the_bucket_is_the_first_rule_in_precedence_order() -> None:
    foreign = ForeignList(Exclusion.IN_TMMLU_PLUS, True, "", frozenset({loose(STEM, OPTIONS)}), 1)
    lists = Lists((foreign,), {item_id("roc-constitution", STEM, OPTIONS): withdrawal()})
    figure = item(exclusions=(Exclusion.FIGURE,))
    (found,) = subject_items(LAW, [copy(figure)], lists).items
    assert found.exclusions == (Exclusion.FIGURE, Exclusion.IN_TMMLU_PLUS, Exclusion.MAINTAINER_EXCLUDED)
    assert found.bucket == "figure"


def withdrawal(identity: str = "") -> Withdrawal:
    return Withdrawal(identity or item_id("roc-constitution", STEM, OPTIONS), "圖形缺漏", "2026-11-29", "page seen")


@pytest.mark.parametrize("exclusion", [Exclusion.IN_LEGAL_BENCHMARK_V2, Exclusion.IN_TMMLU_PLUS])
def test_a_foreign_list_takes_every_copy_of_its_question_and_no_other(exclusion: Exclusion) -> None:
    foreign = ForeignList(exclusion, True, "", frozenset({loose(STEM, OPTIONS)}), 1)
    other = item(2, stem="下列何者為縣？")
    spaced = item(stem="下列何者 為直轄市?")
    found = buckets(copy(item()), copy(other), copy(spaced, row(111)), lists=Lists((foreign,)))
    assert found == [exclusion.value, PUBLISHED, exclusion.value]


def test_a_maintainer_s_id_takes_the_whole_group_of_the_printing_it_names() -> None:
    variant = item(stem="下列何者，為直轄市？")  # another exact text, another id, the same question
    identity = item_id("roc-constitution", variant.question, OPTIONS)
    lists = Lists(maintainer={identity: withdrawal(identity)})
    assert buckets(copy(item(), row(110)), copy(variant, row(111)), lists=lists) == ["maintainer_excluded"] * 2


def test_maintainer_ids_that_match_nothing_are_reported_for_their_subject_only() -> None:
    lost = "roc-constitution-0123456789ab"
    lists = Lists(maintainer={lost: withdrawal(lost), "medicine-0123456789ab": withdrawal("medicine-0123456789ab")})
    assert subject_items(LAW, [copy()], lists).unmatched_maintainer_ids == (lost,)


def test_questions_without_a_subject_keep_their_rules_and_have_one_bucket() -> None:
    found = unassigned_items([copy(item(exclusions=(Exclusion.ENGLISH,))), copy(item(2, stem="另一題"))])
    assert [each.bucket for each in found] == [NO_SUBJECT, NO_SUBJECT]
    assert found[0].exclusions == (Exclusion.ENGLISH,)


def test_colliding_item_ids_stop_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    copies = [copy(item(1)), copy(item(2, stem="另一題"))]
    assert len(subject_items(LAW, copies).published) == 2
    monkeypatch.setattr(items_module, "item_id_of", lambda key, exact: f"{key}-000000000000")
    with pytest.raises(ItemIdCollision, match="roc-constitution-000000000000"):
        subject_items(LAW, copies)


def test_a_published_item_becomes_a_row_and_nothing_else_does() -> None:
    found = subject_items(LAW, [copy(item(5)), copy(item(6, exclusions=(Exclusion.FIGURE,), stem="如下圖，何者？"))])
    published, excluded = found.items
    assert item_row(published) == ItemRow(
        STEM, *TEXTS, "A", "中華民國憲法", "行政警察人員", "三等考試", "110年公務人員特種考試", 110, 2021, 5,
        "110030-101-0101", 1, published.item_id,
    )  # fmt: skip
    with pytest.raises(ValueError, match="question 6\\) is figure, not published"):
        item_row(excluded)


def test_names_of_the_row_are_normalised_for_the_reader() -> None:
    (found,) = subject_items(LAW, [copy(on=row(subject_name="醫學\ue129\u3000\uf99c", level="三等\u00a0考試"))]).items
    assert (found.subject, found.exam_level) == ("醫學㈠ 列", "三等 考試")


def test_a_line_reads_back_as_the_same_item() -> None:
    found = subject_items(
        LAW, [copy(item()), copy(item(2, texts=(*TEXTS[:3], 'None, "null"\n=1'), exclusions=(Exclusion.FIGURE,)))]
    )
    for each in found.items:
        line = to_line(each)
        assert b"\n" not in line
        assert from_line(line) == each
        assert to_line(from_line(line)) == line


@given(st.text(), st.lists(st.text(), min_size=4, max_size=4))
def test_every_text_survives_the_line(stem: str, texts: list[str]) -> None:
    (each,) = unassigned_items([copy(item(stem=stem, texts=texts))])
    assert from_line(to_line(each)) == each


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("bucket", "lost"),
        ("exclusions", ["figures"]),
        ("exclusions", "figure"),
        ("options", ["甲"]),
        ("options", {"Z": "甲"}),
        ("options", {"A": None}),
        ("q_no", "1"),
        ("q_no", True),
        ("q_no", -1),
        ("key", 1),
        ("corrected", "no"),
        ("question", None),
        ("accepted", [1]),
    ],
)
def test_a_line_with_a_wrong_field_is_refused_by_name(field: str, value: object) -> None:
    (each,) = subject_items(LAW, [copy()]).items
    record = json.loads(to_line(each))
    record[field] = value
    with pytest.raises(ItemLineError, match=f"^{field}: "):
        from_line(json.dumps(record).encode())


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"null", b'{"item_id": "x"}', b"\xff"])
def test_a_line_of_something_else_is_refused(line: bytes) -> None:
    with pytest.raises(ItemLineError):
        from_line(line)


def test_every_copy_is_in_a_known_bucket_and_none_is_lost() -> None:
    copies = [
        copy(
            item(n, stem=f"題{n % 7}", key="ABCD"[n % 4], exclusions=(Exclusion.FIGURE,) if n % 5 == 0 else ()),
            row(108 + n % 4),
        )
        for n in range(1, 60)
    ]
    found = subject_items(LAW, copies)
    assert len(found.items) == len(copies)
    assert {each.bucket for each in found.items} <= set(BUCKETS)
    assert sorted((e.paper_id, e.q_no) for e in found.items) == sorted((c.row.paper_id, c.item.q_no) for c in copies)


def test_a_subject_without_any_paper_has_no_items() -> None:
    found = subject_items(LAW, [])
    assert (found.items, found.groups, found.agreement.groups) == ((), 0, 0)


def test_items_do_not_depend_on_the_order_of_the_copies() -> None:
    copies = [copy(item(n, stem=f"題{n % 3}"), row(110 + n % 2)) for n in range(1, 10)]
    forward, backward = subject_items(LAW, copies), subject_items(LAW, list(reversed(copies)))
    assert forward == backward
    assert replace(forward, slug="") != forward
