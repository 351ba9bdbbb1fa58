"""A backup is whole or not there, and a restore looks before it writes."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from support.deploy_scripts import script


@pytest.fixture(scope="module")
def tool() -> Any:
    """deploy/backup.py, which is a script and no package."""
    return script("backup")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    (folder / "datasets" / "tw-x-bench").mkdir(parents=True)
    (folder / "datasets" / "tw-x-bench" / "benchmark.jsonl").write_bytes(b'{"item_id": "x"}\n' * 100)
    (folder / "index").mkdir()
    (folder / "index" / "index.csv").write_bytes("\ufeff考試".encode())
    return folder


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_is_restored_is_what_was_there(tool: Any, store: Path, tmp_path: Path) -> None:
    (store / "cache.lock").write_text("held")
    (store / "link").symlink_to("/etc/passwd")
    assert tool.main(["backup", str(tmp_path / "kept"), "--store", str(store)]) == 0
    assert tool.main(["verify", str(tmp_path / "kept")]) == 0
    assert tool.main(["restore", str(tmp_path / "kept"), "--store", str(tmp_path / "again")]) == 0
    (store / "cache.lock").unlink()
    (store / "link").unlink()
    assert files(tmp_path / "again") == files(store)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_store_that_is_a_link_is_the_folder_behind_it(tool: Any, store: Path, tmp_path: Path) -> None:
    (tmp_path / "current").symlink_to(store)
    assert tool.main(["backup", str(tmp_path / "kept"), "--store", str(tmp_path / "current")]) == 0
    assert tool.main(["restore", str(tmp_path / "kept"), "--store", str(tmp_path / "again")]) == 0
    assert files(tmp_path / "again") == files(store) != {}


def test_a_link_is_named_and_a_second_name_of_a_file_is_kept(
    tool: Any, store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other_disk").mkdir()
    (store / "cache").symlink_to(tmp_path / "other_disk")
    (store / "index" / "same.csv").hardlink_to(store / "index" / "index.csv")
    assert tool.main(["backup", str(tmp_path / "kept"), "--store", str(store)]) == 0
    assert f"left out: ./cache is a link to {tmp_path / 'other_disk'}\n" == capsys.readouterr().err
    assert tool.main(["restore", str(tmp_path / "kept"), "--store", str(tmp_path / "again")]) == 0
    assert files(tmp_path / "again") == files(store)


@pytest.mark.parametrize(
    ("command", "folder", "named", "words"),
    [
        ("backup", "store/kept", "store", "is in the store"),
        ("backup", "file/kept", "store", "cannot be written"),
        ("restore", "kept", "file", "is no folder"),
        ("restore", "kept", "link", "is no folder"),
    ],
)
def test_a_place_that_does_not_do_is_an_error_in_words(
    tool: Any, store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    command: str, folder: str, named: str, words: str,
) -> None:  # fmt: skip
    tool.backup(tmp_path / "kept", store, database=False)
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    before = sorted(tmp_path.rglob("*"))
    assert tool.main([command, str(tmp_path / folder), "--store", str(tmp_path / named)]) == 1
    assert words in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before


def test_without_pgdatabase_the_same_database_is_dumped_and_restored(
    tool: Any, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pg_dump", "pg_restore"):
        (tmp_path / name).write_text(
            f'#!/bin/sh\necho {name} "$@" >> {tmp_path}/asked\n'
            'for each; do case $each in --file=*) echo > "${each#--file=}";; esac; done\n'
        )
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("PGDATABASE", raising=False)
    tool.backup(tmp_path / "kept", store, database=True)
    tool.restore(tmp_path / "kept", tmp_path / "new", database=True)
    dumped, restored = (tmp_path / "asked").read_text().splitlines()
    assert "--dbname=dagster " in dumped and "--dbname=dagster " in restored


def test_a_place_that_is_taken_is_left_alone(tool: Any, store: Path, tmp_path: Path) -> None:
    before = files(store)
    tool.backup(tmp_path / "kept", store, database=False)
    with pytest.raises(tool.BackupError, match="there already"):
        tool.backup(tmp_path / "kept", store, database=False)
    with pytest.raises(tool.BackupError, match="not empty"):
        tool.restore(tmp_path / "kept", store, database=False)
    with pytest.raises(tool.BackupError, match="no database"):
        tool.restore(tmp_path / "kept", tmp_path / "new", database=True)
    assert files(store) == before and not (tmp_path / "new").exists()


@pytest.mark.parametrize("broken", [False, True], ids=["sound", "an archive that leads out"])
def test_a_mount_point_is_filled_and_never_replaced(
    tool: Any, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: bool
) -> None:
    volume = tmp_path / "volume"
    (volume / "lost+found").mkdir(parents=True)
    tool.backup(tmp_path / "kept", store, database=False)
    if broken:
        with tarfile.open(tmp_path / "kept" / "store.tar", "a") as archive:
            archive.addfile(tarfile.TarInfo("../out"), io.BytesIO())
        record = {"sha256": {"store.tar": tool.digest(tmp_path / "kept" / "store.tar")}}
        (tmp_path / "kept" / "backup.json").write_text(json.dumps(record))
    monkeypatch.setattr(Path, "is_mount", lambda self: self == volume)
    place = volume.stat().st_ino
    assert tool.main(["restore", str(tmp_path / "kept"), "--store", str(volume)]) == int(broken)
    assert volume.stat().st_ino == place
    assert files(volume) == ({} if broken else files(store))
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    assert sorted(path.name for path in volume.iterdir() if path.name.startswith(".")) == []
    assert (volume / "lost+found").is_dir()


def test_a_damaged_backup_is_not_restored(tool: Any, store: Path, tmp_path: Path) -> None:
    tool.backup(tmp_path / "kept", store, database=False)
    archive = tmp_path / "kept" / "store.tar"
    archive.write_bytes(archive.read_bytes()[:-1] + b"x")
    with pytest.raises(tool.BackupError, match=r"damaged: store\.tar"):
        tool.restore(tmp_path / "kept", tmp_path / "new", database=False)
    (tmp_path / "kept" / "backup.json").write_text("[]")
    with pytest.raises(tool.BackupError, match="is no backup"):
        tool.verify(tmp_path / "kept")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["../out", "/abs/out"])
def test_an_archive_that_leads_out_is_refused(tool: Any, tmp_path: Path, name: str) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    with tarfile.open(kept / "store.tar", "w") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = 1
        archive.addfile(entry, io.BytesIO(b"x"))
    record = {"sha256": {"store.tar": tool.digest(kept / "store.tar")}}
    (kept / "backup.json").write_text(json.dumps(record))
    if name.startswith("/"):  # an absolute name loses its root: it lands inside, which is as good
        tool.restore(kept, tmp_path / "new", database=False)
        assert list(files(tmp_path / "new")) == ["abs/out"]
    else:
        with pytest.raises(tool.BackupError, match="cannot be restored"):
            tool.restore(kept, tmp_path / "new", database=False)
        assert not (tmp_path / "new").exists()
    assert not (tmp_path / "out").exists()


def test_a_program_that_is_missing_or_fails_leaves_no_backup(
    tool: Any, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(tool.BackupError, match="pg_dump is not installed"):
        tool.backup(tmp_path / "kept", store, database=True)
    (tmp_path / "pg_dump").write_text("#!/bin/sh\necho no such database >&2\nexit 1\n")
    (tmp_path / "pg_dump").chmod(0o755)
    with pytest.raises(tool.BackupError, match="no such database"):
        tool.backup(tmp_path / "kept", store, database=True)
    assert not (tmp_path / "kept").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
