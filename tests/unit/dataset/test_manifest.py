"""The folder as a whole: what it holds, when its bytes change, what it carries over."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from support.datasets import hostile_rows, make_dataset, make_id, make_row

from opentwbench.dataset.manifest import FOLDER_NAMES, read_manifest, write_dataset
from opentwbench.dataset.model import BuildStats, Dataset, DatasetError, Withdrawal
from opentwbench.dataset.publication import publish


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def published(folder: Path) -> Path:
    """A publication of the folder beside it, past a gate without checks."""
    place = folder.parent / "publications" / folder.name
    publish(folder, (), place, required=())
    return place


def sections(folder: Path) -> list[str]:
    """The versions that the changelog names, newest first."""
    log = (folder / "CHANGELOG.md").read_text()
    return [line.removeprefix("## ") for line in log.split("\n") if line.startswith("## ")]


def withdrawal(n: int, **changes: str) -> Withdrawal:
    return replace(Withdrawal(make_id(n), "figure missing", "2026-11-29", "page 3 shows a figure"), **changes)


def test_the_folder_holds_its_files_and_the_manifest_vouches_for_them(tmp_path: Path, sound: Dataset) -> None:
    written = write_dataset(sound, tmp_path / sound.slug)
    files = contents(written.folder)
    assert set(files) == set(FOLDER_NAMES)
    manifest = json.loads(files["manifest.json"])
    listed = {name: (entry["sha256"], entry["bytes"]) for name, entry in manifest["files"].items()}
    assert listed == {n: (sha256(d).hexdigest(), len(d)) for n, d in files.items() if n != "manifest.json"}
    assert manifest["counts"] == {"items": 60, "withdrawn": 0, "scored": 60, "printed": 80, "index_rows": 12}
    assert manifest["version"] == written.version
    assert manifest["code_version"] == "test-1"


def test_a_rebuild_in_any_order_leaves_every_byte(tmp_path: Path, sound: Dataset) -> None:
    folder = tmp_path / sound.slug
    assert write_dataset(sound, folder).changed
    before, stamps = contents(folder), {p.name: p.stat().st_mtime_ns for p in folder.iterdir()}
    again = write_dataset(replace(sound, rows=sound.rows[::-1]), folder)
    assert (again.changed, again.change) == (False, None)
    again = write_dataset(replace(sound, rows=sound.rows[::-1]), folder, published(folder))
    assert not again.changed
    assert again.change is not None
    assert again.change.empty
    assert contents(folder) == before
    assert {p.name: p.stat().st_mtime_ns for p in folder.iterdir()} == stamps
    elsewhere = tmp_path / "elsewhere" / sound.slug
    write_dataset(sound, elsewhere)
    assert contents(elsewhere) == before


def test_nothing_in_a_folder_speaks_of_the_clock_or_the_machine(tmp_path: Path, sound: Dataset) -> None:
    write_dataset(sound, tmp_path / sound.slug)
    for name, data in contents(tmp_path / sound.slug).items():
        text = data.decode()
        assert str(tmp_path) not in text, name
        assert not re.search(r"20\d\d-\d\d-\d\d|\d\d:\d\d:\d\d", text), name


def test_a_new_version_grows_the_changelog_and_a_new_card_does_not(tmp_path: Path, sound: Dataset) -> None:
    folder = tmp_path / sound.slug
    first = write_dataset(sound, folder)
    public = published(folder)
    renamed = write_dataset(replace(sound, name_en="Another Name"), folder, public)
    assert renamed.changed
    assert renamed.version == first.version
    assert (folder / "CHANGELOG.md").read_text().count("\n## ") == 1
    rekeyed = (replace(sound.rows[0], answer="D" if sound.rows[0].answer != "D" else "A"), *sound.rows[1:])
    second = write_dataset(replace(sound, rows=rekeyed), folder, public)
    assert second.version != first.version
    assert second.change is not None
    assert second.change.rekeyed == (sound.rows[0].item_id,)
    log = (folder / "CHANGELOG.md").read_text()
    assert log.count("\n## ") == 2
    assert log.index(second.version) < log.index(first.version)


def test_an_old_id_stays_findable_and_its_withdrawal_follows(tmp_path: Path, sound: Dataset) -> None:
    folder = tmp_path / sound.slug
    old = sound.rows[5]
    withdrawn = replace(sound, withdrawals=(Withdrawal(old.item_id, "figure missing", "2026-11-29", "seen"),))
    write_dataset(withdrawn, folder)
    public = published(folder)
    mended = replace(old, question=old.question + "（更正）", item_id=make_id(5005))
    rows = tuple(mended if row is old else row for row in sound.rows)
    written = write_dataset(replace(withdrawn, rows=rows), folder, public)
    assert written.manifest["aliases"] == {old.item_id: mended.item_id}
    assert json.loads((folder / "withdrawn.jsonl").read_text())["item_id"] == mended.item_id
    for place in (public, published(folder)):
        assert not write_dataset(replace(withdrawn, rows=rows), folder, place).changed


def test_withdrawals_of_unpublished_items_are_counted_not_written(tmp_path: Path, sound: Dataset) -> None:
    dataset = replace(sound, withdrawals=(withdrawal(1), withdrawal(999)))
    written = write_dataset(dataset, tmp_path / sound.slug)
    assert written.manifest["counts"]["withdrawn"] == 1
    assert written.manifest["withdrawals_of_unpublished_items"] == [make_id(999)]
    assert make_id(999) in written.notes[0]
    with pytest.raises(DatasetError, match="withdrawn twice"):
        write_dataset(replace(sound, withdrawals=(withdrawal(1), withdrawal(1, reason="again"))), tmp_path / sound.slug)


@pytest.mark.parametrize(
    "record",
    [
        {"item_id": make_id(1), "reason": "x", "date": "2026-11-29"},
        {"item_id": make_id(1), "reason": " ", "date": "2026-11-29", "evidence": "x"},
        {"item_id": "../x", "reason": "x", "date": "2026-11-29", "evidence": "x"},
        {"item_id": make_id(1), "reason": "x", "date": "29.11.2026", "evidence": "x"},
        {"item_id": make_id(1), "reason": "x", "date": "2026-02-30", "evidence": "x"},
        {"item_id": make_id(1), "reason": "x", "date": "20261129", "evidence": "x"},
        {"item_id": make_id(1), "reason": "x", "date": "2026-11-29", "evidence": 1},
        {"item_id": make_id(1), "reason": "x", "date": "2026-11-29", "evidence": "x" * 20_001},
    ],
)
def test_a_bad_withdrawal_is_refused(record: dict[str, object]) -> None:
    with pytest.raises(DatasetError, match="withdrawal"):
        Withdrawal.from_json(record)


def test_a_damaged_folder_is_mended(tmp_path: Path, sound: Dataset) -> None:
    folder = tmp_path / sound.slug
    write_dataset(sound, folder)
    before, public = contents(folder), published(folder)
    (folder / "benchmark.jsonl").write_bytes(b"ruined")
    (folder / "CHANGELOG.md").write_bytes(b"## forged\n")
    (folder / "manifest.json").write_bytes(b"{}")
    (folder / "stray.txt").write_bytes(b"x")
    mended = write_dataset(sound, folder, public)
    assert (mended.changed, mended.notes) == (True, ())
    assert contents(folder) == before


DAMAGE = (
    ("benchmark.jsonl", b"ruined", "the change is not itemised: benchmark.jsonl"),
    ("withdrawn.jsonl", b"{}\n", "the change is not itemised: withdrawn.jsonl"),
    ("CHANGELOG.md", b"## forged\n", "the changelog starts anew: CHANGELOG.md"),
    ("manifest.json", b"{}", "history starts anew: manifest.json"),
)


@pytest.mark.parametrize(("name", "data", "note"), DAMAGE)
def test_a_damaged_publication_says_what_history_it_lost(
    name: str, data: bytes, note: str, tmp_path: Path, sound: Dataset
) -> None:
    folder = tmp_path / sound.slug
    write_dataset(sound, folder)
    public = published(folder)
    (public / name).write_bytes(data)
    # The folder holds another version than was published, so nothing vouches for the published one.
    write_dataset(replace(sound, rows=sound.rows[1:]), folder)
    written = write_dataset(replace(sound, rows=sound.rows[2:]), folder, public)
    assert written.notes[0].startswith(note)
    assert sections(folder)[0] == written.version
    assert "forged" not in (folder / "CHANGELOG.md").read_text()


@pytest.mark.parametrize(("name", "data"), [each[:2] for each in DAMAGE[:3]])
def test_a_damaged_publication_costs_no_history_while_the_folder_it_was_made_from_is_there(
    name: str, data: bytes, tmp_path: Path, sound: Dataset
) -> None:
    folder = tmp_path / sound.slug
    first = write_dataset(sound, folder)
    second = write_dataset(replace(sound, rows=sound.rows[1:]), folder, published(folder))
    public = published(folder)
    (public / name).write_bytes(data)
    third = write_dataset(replace(sound, rows=sound.rows[2:]), folder, public)
    assert third.notes == ()
    assert third.change is not None
    assert third.change.removed == (sound.rows[1].item_id,)
    assert sections(folder) == [third.version, second.version, first.version]


# -- what is published and what is not --------------------------------------------------------------------------------


def test_a_version_that_was_not_published_is_no_history(tmp_path: Path, sound: Dataset) -> None:
    folder = tmp_path / sound.slug
    first = write_dataset(sound, folder)
    public = published(folder)
    one, two, *others = sound.rows
    withheld = replace(one, question=one.question + "（誤）", item_id=make_id(5001))
    second = write_dataset(replace(sound, rows=(withheld, *others)), folder, public)
    assert second.change is not None
    assert (second.change.removed, second.manifest["aliases"]) == ((two.item_id,), {one.item_id: withheld.item_id})
    mended = replace(one, question=one.question + "（更正）", item_id=make_id(5002))
    rows = (mended, two, *others[1:])
    third = write_dataset(replace(sound, rows=rows), folder, public)
    assert third.change is not None
    assert (third.change.removed, third.change.added) == ((others[0].item_id,), ())
    assert third.change.retexted == ((one.item_id, mended.item_id),)
    assert third.manifest["aliases"] == {one.item_id: mended.item_id}
    assert sections(folder) == [third.version, first.version]
    log = (folder / "CHANGELOG.md").read_text()
    assert second.version not in log
    assert withheld.item_id not in log
    before = contents(folder)
    for place in (public, published(folder)):
        assert not write_dataset(replace(sound, rows=rows), folder, place).changed
    assert contents(folder) == before


def test_where_nothing_was_published_the_data_set_has_a_first_version(tmp_path: Path, sound: Dataset) -> None:
    folder = tmp_path / sound.slug
    write_dataset(sound, folder)
    for place in (None, tmp_path / "nowhere", tmp_path / "nowhere" / "at" / "all"):
        second = write_dataset(replace(sound, rows=sound.rows[1:]), folder, place)
        assert (second.change, second.notes, sections(folder)) == (None, (), [second.version])
        assert "First version in this log." in (folder / "CHANGELOG.md").read_text()


def test_a_version_that_comes_back_is_named_twice(tmp_path: Path, sound: Dataset) -> None:
    folder = tmp_path / sound.slug
    first = write_dataset(sound, folder)
    second = write_dataset(replace(sound, rows=sound.rows[1:]), folder, published(folder))
    third = write_dataset(sound, folder, published(folder))
    assert sections(folder) == [third.version, second.version, first.version]
    assert third.version == first.version
    assert third.change is not None
    assert third.change.added == (sound.rows[0].item_id,)
    assert not write_dataset(sound, folder, published(folder)).changed


def test_a_publication_that_a_kill_moved_aside_is_history(tmp_path: Path, sound: Dataset) -> None:
    folder = tmp_path / sound.slug
    first = write_dataset(sound, folder)
    public = published(folder)
    public.rename(public.with_name(f".{public.name}.old"))  # between the two renames of a file system without exchange
    second = write_dataset(replace(sound, rows=sound.rows[1:]), folder, public)
    assert sections(folder) == [second.version, first.version]


@pytest.mark.parametrize("slug", ["", "../x", "A", "a/b", "a--b", ".hidden", "a\n", "a" * 121])
def test_a_slug_that_could_leave_its_folder_is_refused(slug: str) -> None:
    with pytest.raises(DatasetError, match="slug"):
        make_dataset([make_row(1)], slug=slug)


def test_what_no_file_can_hold_is_refused_before_anything_is_written(tmp_path: Path, sound: Dataset) -> None:
    bad = replace(sound, rows=(make_row(1, A="\ud800"),))
    with pytest.raises(DatasetError, match="row 0: A: type"):
        write_dataset(bad, tmp_path / sound.slug)
    assert not (tmp_path / sound.slug).exists()


def test_hostile_rows_are_written_and_stable(write: Callable[[Dataset], Path]) -> None:
    folder = write(make_dataset(hostile_rows()))
    before = contents(folder)
    write(make_dataset(hostile_rows()))
    assert contents(folder) == before


def test_build_stats_round_trip_and_refuse_what_is_no_count(sound: Dataset) -> None:
    record = sound.stats.to_json()
    assert BuildStats.from_json(json.loads(json.dumps(record))).to_json() == record
    for section, name in (("papers", "accepted"), ("questions", "printed"), ("keys", "groups")):
        for value in (-1, 1.5, True, None, "3"):
            with pytest.raises(DatasetError, match=f"{section}.{name}"):
                BuildStats.from_json(record | {section: record[section] | {name: value}})
    with pytest.raises(DatasetError, match="broken_sums"):
        BuildStats.from_json(record | {"broken_sums": "none"})


def test_a_manifest_of_another_kind_is_refused(tmp_path: Path) -> None:
    for data in (b"", b"[]", b'{"format": 2}', b'{"format": 1, "version": "x", "files": {"a": 1}}', b"\xff"):
        (tmp_path / "manifest.json").write_bytes(data)
        with pytest.raises(DatasetError, match=r"manifest\.json"):
            read_manifest(tmp_path)
