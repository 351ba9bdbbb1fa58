"""The items of a run: streamed, checked, withdrawn ones left out, and the little that scores need of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.datasets import make_dataset, make_row
from support.runs import item_record, made_set, write_items

from opentwbench.dataset.manifest import write_dataset
from opentwbench.dataset.model import DatasetError, Withdrawal
from opentwbench.evaluation.items import ItemSet, Roster, combined_version, item_file, item_set


def test_a_folder_gives_version_subject_and_withdrawals(tmp_path: Path) -> None:
    rows = [make_row(n) for n in range(20)]
    left = Withdrawal(rows[4].item_id, "wrong key", "2026-11-29", "letter 7")
    dataset = make_dataset(rows, withdrawals=(left,))
    written = write_dataset(dataset, tmp_path / dataset.slug)
    scored = item_set([tmp_path / dataset.slug])
    published = replace(scored, item_set="published")
    assert scored.version == published.version == written.version
    assert {item.item_id for item in published} - {item.item_id for item in scored} == {left.item_id}
    assert {item.subject for item in scored} == {dataset.slug}
    assert len(Roster(scored)) == 19


def test_subjects_and_fields_come_from_the_registry_by_the_item_id(tmp_path: Path) -> None:
    rows = [item_record(0, item_id="roc-constitution-0123456789ab"), item_record(1)]
    path = tmp_path / "b.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    first, second = item_set([path])
    assert (first.subject, first.subject_group) == ("tw-roc-constitution-bench", "civics")
    assert (second.subject, second.subject_group) == ("sample-subject", "")


def test_a_roster_answers_as_the_items_do(tmp_path: Path) -> None:
    items = made_set(tmp_path, 3_000)
    roster = Roster(items)
    assert len(roster) == 3_000
    for item in items:
        found = roster[item.item_id]
        assert (found.key, found.subject, found.year_roc) == (item.key, item.subject, item.year_roc)
        assert found.question == ""
    assert roster.get("absent") is None
    assert "absent" not in roster
    assert 7 not in roster
    with pytest.raises(TypeError, match="holds no ids"):
        iter(roster)


def test_a_sample_and_a_bound(tmp_path: Path) -> None:
    items = made_set(tmp_path, 30)
    chosen = frozenset(item_record(n)["item_id"] for n in (3, 9, 27))
    assert {item.item_id for item in replace(items, chosen=chosen)} == chosen
    assert [item.item_id for item in replace(items, most=2)] == [item_record(n)["item_id"] for n in (0, 1)]


def test_versions_of_several_sets_are_one_whatever_their_order(tmp_path: Path) -> None:
    assert combined_version({"a": "1" * 12}) == "1" * 12
    assert combined_version({"a": "1", "b": "2"}) == combined_version({"b": "2", "a": "1"})
    assert combined_version({"a": "1", "b": "2"}) != combined_version({"a": "2", "b": "1"})


def test_a_file_that_is_not_its_manifests_is_refused(tmp_path: Path) -> None:
    dataset = make_dataset([make_row(n) for n in range(5)])
    folder = tmp_path / dataset.slug
    write_dataset(dataset, folder)
    text = (folder / "benchmark.jsonl").read_text()
    (folder / "benchmark.jsonl").write_text(text.replace('"answer": "A"', '"answer": "B"', 1))
    with pytest.raises(DatasetError, match="not those of"):
        Roster(item_set([folder]))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"answer": "a"}, "none of A-D"),
        ({"answer": None}, "answer is no text"),
        ({"B": " "}, "B is no text"),
        ({"D": 4}, "D is no text"),
        ({"question": "長" * 20_001}, "question is no text"),
        ({"item_id": "識別"}, "no item id"),
        ({"item_id": "a\nb"}, "no item id"),
        ({"item_id": "a" * 201}, "no item id"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, change: dict[str, object], said: str) -> None:
    path = tmp_path / "b.jsonl"
    path.write_text(json.dumps(item_record(0)) + "\n" + json.dumps(item_record(1, **change)) + "\n")
    with pytest.raises(DatasetError, match=said) as refused:
        Roster(item_set([path]))
    assert "b.jsonl line 2" in str(refused.value)


def test_doubled_and_absent_items_are_refused(tmp_path: Path) -> None:
    path = write_items(tmp_path / "b.jsonl", 3)
    path.write_text(path.read_text() + json.dumps(item_record(1)) + "\n")
    with pytest.raises(DatasetError, match="stands twice"):
        Roster(item_set([path]))
    with pytest.raises(DatasetError, match="no items"):
        Roster(replace(made_set(tmp_path, 3), chosen=frozenset()))
    with pytest.raises(DatasetError, match="no data-set folder"):
        item_file(tmp_path / "absent")
    with pytest.raises(DatasetError, match="no items"):
        Roster(ItemSet(()))


def test_a_year_that_is_no_number_is_no_year(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    rows = [item_record(n, year_roc=year) for n, year in enumerate(("101", True, None, 101))]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [item.year_roc for item in item_set([path])] == [None, None, None, 101]
