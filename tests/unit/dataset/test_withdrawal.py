"""Withdrawals: recorded once and whole, out of the scored set, and nothing else of the published one changes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.datasets import make_id

from opentwbench.dataset.manifest import read_withdrawals, write_dataset
from opentwbench.dataset.model import Dataset, DatasetError, Withdrawal
from opentwbench.dataset.withdrawal import WithdrawalReason, record_withdrawal, scored_rows

A = Withdrawal(make_id(1), WithdrawalReason.NEEDS_FIGURE.value, "2026-11-30", "page 3: a graph beside the question")
KNOWN = {make_id(n) for n in range(5)}


def test_withdrawals_are_added_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "lists" / "withdrawn.jsonl"
    record_withdrawal(path, A, KNOWN)
    first = path.read_bytes()
    other = replace(A, item_id=make_id(2), reason=WithdrawalReason.KEY_IN_DOUBT.value)
    record_withdrawal(path, other, KNOWN)
    assert path.read_bytes().startswith(first)
    assert read_withdrawals(path) == (A, other)
    assert [each.name for each in path.parent.iterdir()] == ["withdrawn.jsonl"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"item_id": make_id(99)}, f"{make_id(99)} is no published item"),
        ({"item_id": "no id"}, "not the shape"),
        ({"reason": "looks odd"}, "looks odd: not one of needs_figure"),
        ({"reason": ""}, "reason must be"),
        ({"evidence": " "}, "evidence must be"),
        ({"date": "30 Nov"}, "YYYY-MM-DD"),
        ({"date": "2026-02-30"}, "YYYY-MM-DD"),
        ({}, "line 1: .* is on the list already"),
    ],
)
def test_what_cannot_be_withdrawn_leaves_the_list_as_it_was(tmp_path: Path, change: dict[str, str], words: str) -> None:
    path = tmp_path / "withdrawn.jsonl"
    record_withdrawal(path, A, KNOWN)
    before = path.read_bytes()
    with pytest.raises(DatasetError, match=words):
        record_withdrawal(path, replace(A, **change), KNOWN)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("held", "words"),
    [
        (b'{"item_id": "x"}\n', "line 1"),
        (b"not json\n", "line 1: not JSON"),
        (b"\xff\n", "not UTF-8"),
        (json.dumps(A.to_json()).encode(), "cut short"),
    ],
)
def test_a_list_that_cannot_be_read_is_not_added_to(tmp_path: Path, held: bytes, words: str) -> None:
    path = tmp_path / "withdrawn.jsonl"
    path.write_bytes(held)
    with pytest.raises(DatasetError, match=words):
        record_withdrawal(path, replace(A, item_id=make_id(2)), KNOWN)
    assert path.read_bytes() == held


def test_scored_rows_are_those_that_no_withdrawal_names(sound: Dataset) -> None:
    own = replace(A, item_id=sound.rows[7].item_id)
    assert scored_rows(sound) == sound.rows
    scored = scored_rows(replace(sound, withdrawals=(own,)))
    assert len(scored) == len(sound.rows) - 1
    assert sound.rows[7] not in scored


def test_a_withdrawal_of_what_is_not_there_is_an_error_that_names_it(sound: Dataset) -> None:
    with pytest.raises(DatasetError, match=f"withdrawn and not published: {make_id(9_999)}"):
        scored_rows(replace(sound, withdrawals=(replace(A, item_id=make_id(9_999)),)))


def test_withdrawing_makes_a_version_and_leaves_the_published_bytes(tmp_path: Path, sound: Dataset) -> None:
    folder = tmp_path / sound.slug
    before = write_dataset(sound, folder)
    published = {name: (folder / name).read_bytes() for name in ("benchmark.jsonl", "benchmark.csv")}
    stats = json.loads((folder / "build_stats.json").read_text())
    assert stats["sets"] == {"published": 60, "withdrawn": 0, "scored": 60}
    own = tuple(replace(A, item_id=sound.rows[n].item_id) for n in (3, 8))
    after = write_dataset(replace(sound, withdrawals=own), folder)
    assert after.version != before.version
    assert {name: (folder / name).read_bytes() for name in published} == published
    stats = json.loads((folder / "build_stats.json").read_text())
    assert stats["sets"] == {"published": 60, "withdrawn": 2, "scored": 58}
    counts = after.manifest["counts"]
    assert (counts["items"], counts["withdrawn"], counts["scored"]) == (60, 2, 58)
    assert len(scored_rows(replace(sound, withdrawals=own))) == 58
    assert "58" in (folder / "README.md").read_text()
    again = write_dataset(sound, folder)
    assert again.version == before.version
