"""The harness's directory holds benchmark.jsonl alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from opentwbench.dataset.export import export_for_twinkle
from opentwbench.dataset.manifest import write_dataset
from opentwbench.dataset.model import Dataset, DatasetError, Withdrawal


@pytest.fixture
def folder(tmp_path: Path, sound: Dataset) -> Path:
    withdrawn = Withdrawal(sound.rows[3].item_id, "figure missing", "2026-11-29", "page 3")
    return write_dataset(replace(sound, withdrawals=(withdrawn,)), tmp_path / "set").folder


def test_the_scored_set_alone(folder: Path, tmp_path: Path, sound: Dataset) -> None:
    exported = export_for_twinkle(folder, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["benchmark.jsonl"]
    ids = {json.loads(line)["item_id"] for line in exported.path.read_text().splitlines()}
    assert ids == {row.item_id for row in sound.rows} - {sound.rows[3].item_id}
    assert (exported.items, exported.withdrawn_left_out) == (59, 1)


def test_the_published_set_is_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    exported = export_for_twinkle(folder, tmp_path / "out", include_withdrawn=True)
    assert exported.path.read_bytes() == (folder / "benchmark.jsonl").read_bytes()
    assert (exported.items, exported.withdrawn_left_out) == (60, 0)
    assert export_for_twinkle(folder, tmp_path / "out").items == 59  # an earlier export is replaced


def test_a_directory_with_other_files_is_left_alone(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.csv").write_text("question,answer\n")
    with pytest.raises(DatasetError, match=r"mine\.csv"):
        export_for_twinkle(folder, out)
    assert [path.name for path in out.iterdir()] == ["mine.csv"]
    with pytest.raises(DatasetError, match="not a directory"):
        export_for_twinkle(folder, out / "mine.csv")
    with pytest.raises(DatasetError, match="holds"):
        export_for_twinkle(folder, folder)


def test_changed_bytes_are_not_exported(folder: Path, tmp_path: Path) -> None:
    (folder / "benchmark.jsonl").write_bytes((folder / "benchmark.jsonl").read_bytes()[:-1])
    with pytest.raises(DatasetError, match=r"benchmark\.jsonl"):
        export_for_twinkle(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_empty_set_is_not_exported(tmp_path: Path, sound: Dataset) -> None:
    folder = write_dataset(replace(sound, rows=()), tmp_path / "set").folder
    with pytest.raises(DatasetError, match="no items"):
        export_for_twinkle(folder, tmp_path / "out")
