"""Versions, comparisons, aliases and the changelog."""

from __future__ import annotations

from dataclasses import replace

from support.datasets import make_id, make_row

from opentwbench.dataset.model import Withdrawal
from opentwbench.dataset.versions import (
    LISTED,
    Change,
    changelog_entry,
    compare,
    grow_changelog,
    merge_aliases,
    version_of,
)


def withdrawal(n: int) -> Withdrawal:
    return Withdrawal(make_id(n), "figure missing", "2026-11-29", "the page shows a figure")


def test_the_version_is_a_hash_of_rows_and_withdrawals_only() -> None:
    rows = [make_row(n) for n in range(20)]
    version = version_of(rows, ())
    assert len(version) == 12
    assert version == version_of(rows[::-1], ())
    assert version != version_of(rows[:-1], ())
    assert version != version_of([replace(rows[0], answer="B"), *rows[1:]], ())
    assert version != version_of([replace(rows[0], n_source_papers=9), *rows[1:]], ())
    withdrawn = [withdrawal(2), withdrawal(1)]
    assert version != version_of(rows, withdrawn)
    assert version_of(rows, withdrawn) == version_of(rows, withdrawn[::-1])


def test_every_kind_of_change_is_told_apart() -> None:
    old = [make_row(n) for n in range(10)]
    new = dict(enumerate(old))
    del new[0]  # removed
    new[1] = replace(new[1], answer="A" if new[1].answer != "A" else "B")  # re-keyed
    new[2] = replace(new[2], question=new[2].question + "。", item_id=make_id(1002))  # text corrected
    new[3] = replace(new[3], n_source_papers=7)  # reprinted
    new[10] = make_row(10)  # added
    change = compare(old, list(new.values()), [withdrawal(4)], [withdrawal(5)])
    assert change == Change(
        added=(make_id(10),),
        removed=(make_id(0),),
        rekeyed=(make_id(1),),
        retexted=((make_id(2), make_id(1002)),),
        redescribed=(make_id(3),),
        withdrawn=(make_id(5),),
        reinstated=(make_id(4),),
    )
    assert set(change.counts().values()) == {1}
    assert compare(old, old[::-1]).empty


def test_another_option_order_is_no_new_key() -> None:
    """Keys are compared by answer text: the same text behind another letter is the same key."""
    old = make_row(1, answer="A")
    new = replace(old, A=old.B, B=old.A, answer="B")
    assert compare([old], [new]) == Change(redescribed=(old.item_id,))
    assert compare([old], [replace(old, A=old.B, B=old.A)]).rekeyed == (old.item_id,)


def test_aliases_lead_to_published_items_only() -> None:
    change = Change(retexted=(("b", "c"), ("x", "y")))
    assert merge_aliases({"a": "b", "g": "gone"}, change, ["c", "y"]) == {"a": "c", "b": "c", "x": "y"}
    # An id that is published again needs no alias.
    assert merge_aliases({"a": "b"}, Change(), ["a", "b"]) == {}


def test_the_changelog_grows_on_top_and_names_ids_within_bounds() -> None:
    first = grow_changelog(None, changelog_entry("v1", 3, None, None))
    assert "First version" in first
    many = Change(added=tuple(make_id(n) for n in range(LISTED + 7)), rekeyed=(make_id(900),))
    second = grow_changelog(first, changelog_entry("v2", 60, many, "v1"))
    assert second.index("## v2") < second.index("## v1")
    assert second.endswith(first[first.index("## v1") :])
    assert f"added: {LISTED + 7}" in second
    assert "7 more" in second
    assert second.count(f"`{make_id(0)}`") == 1
    assert make_id(LISTED + 1) not in second
    assert f"re-keyed: 1\n\n- `{make_id(900)}`" in second
    assert "v1" in second.split("## v1")[0]


def test_a_foreign_changelog_is_not_continued() -> None:
    assert "foreign" not in grow_changelog("# foreign text", "## v1\n")


def test_unreadable_rows_are_said_to_be_so() -> None:
    assert "could not be read" in changelog_entry("v2", 3, None, "v1")
