"""The store: only names become paths, writes are whole, and a remote store behaves like a folder."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from resources.store import Store, StoreError


@pytest.fixture(params=["folder", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    url = str(tmp_path / "store") if request.param == "folder" else f"memory://{uuid.uuid4()}"
    return Store(url, tmp_path / "cache")


@pytest.mark.parametrize("name", ["../up", "a/b", "", "A", ".hidden", "a b", "a\n", "x" * 101, "a..b", "/etc"])
def test_a_name_that_is_no_name_never_becomes_a_path(store: Store, name: str) -> None:
    for path in (store.items, store.accounting, store.dataset, store.dataset_record, store.publication):
        with pytest.raises(StoreError, match="no name"):
            path(name)
    with pytest.raises(StoreError, match="no name"):
        store.verdict("tw-civics-bench", name)


@pytest.mark.parametrize("year", [0, -1, 1000])
def test_a_year_that_is_no_roc_year_never_becomes_a_path(store: Store, year: int) -> None:
    with pytest.raises(StoreError, match="no ROC year"):
        store.papers(year)


def test_products_are_read_back_as_they_were_written(store: Store) -> None:
    store.write(store.papers(113), b'{"a": 1}\n{"b": "\xe5\x9c\x96\xe2\x80\xa8"}\n')
    store.write_json(store.accounting("tw-civics-bench"), {"b": 2, "a": "圖"})
    assert list(store.lines(store.papers(113))) == [b'{"a": 1}', b'{"b": "\xe5\x9c\x96\xe2\x80\xa8"}']
    assert store.read_json(store.accounting("tw-civics-bench")) == {"a": "圖", "b": 2}
    assert store.years() == [113]
    assert store.slugs("items") == ["tw-civics-bench"]


def test_equal_values_are_equal_bytes(store: Store) -> None:
    store.write_json("release/a.json", {"a": 1, "b": 2})
    first = store.read("release/a.json")
    store.write_json("release/a.json", {"b": 2, "a": 1})
    assert store.read("release/a.json") == first


def test_what_is_not_there_is_named(store: Store) -> None:
    assert store.read_json_or_none("index/index.json") is None
    assert store.years() == []
    for read in (store.read, store.read_json, lambda path: list(store.lines(path))):
        with pytest.raises(StoreError, match=r"index/index\.json"):
            read("index/index.json")


def test_json_that_is_none_names_the_file(store: Store) -> None:
    store.write("index/index.json", b"{")
    with pytest.raises(StoreError, match=r"index/index\.json is not JSON"):
        store.read_json("index/index.json")


def test_remove_takes_files_and_folders_and_nothing_twice(store: Store) -> None:
    store.write(store.verdict("tw-civics-bench", "row_contract"), b"{}")
    store.remove("verdicts/tw-civics-bench")
    store.remove("verdicts/tw-civics-bench")
    assert not store.exists(store.verdict("tw-civics-bench", "row_contract"))


def test_a_folder_is_a_local_path_and_goes_back_whole(store: Store) -> None:
    folder = store.dataset("tw-civics-bench")
    store.write(f"{folder}/old.txt", b"old")
    store.write(f"{folder}/manifest.json", b"1")
    with store.folder(folder, write=True) as local:
        assert (local / "old.txt").read_bytes() == b"old"
        (local / "old.txt").unlink()
        (local / "new.txt").write_bytes(b"new")
        (local / "manifest.json").write_bytes(b"2")
    assert not store.exists(f"{folder}/old.txt")
    assert (store.read(f"{folder}/new.txt"), store.read(f"{folder}/manifest.json")) == (b"new", b"2")


def test_a_folder_opened_for_reading_is_left_as_it_was(tmp_path: Path) -> None:
    store = Store(f"memory://{uuid.uuid4()}", tmp_path / "cache")
    store.write("datasets/tw-civics-bench/a.txt", b"1")
    with store.folder("datasets/tw-civics-bench") as local:
        (local / "a.txt").write_bytes(b"2")
    assert store.read("datasets/tw-civics-bench/a.txt") == b"1"


def test_residue_of_a_killed_write_is_no_product(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    (tmp_path / "datasets" / ".tw-civics-bench.aside").mkdir(parents=True)
    assert store.slugs("datasets") == []


def test_a_remote_store_must_name_its_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTB_CACHE", raising=False)
    with pytest.raises(StoreError, match="cache"):
        Store("memory://somewhere")


def test_a_local_store_has_its_cache_inside(tmp_path: Path) -> None:
    assert Store(str(tmp_path)).cache_folder == tmp_path / "cache"
