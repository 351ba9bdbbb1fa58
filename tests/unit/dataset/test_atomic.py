"""Atomic writes: killed at random moments and at every step, a folder is the old one or the new one."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from opentwbench.dataset import atomic
from opentwbench.dataset.atomic import recover, replace_folder, write_file

OLD = {"a.txt": b"old a", "b.txt": b"old b"}
NEW = {"a.txt": b"new a", "c.txt": b"new c"}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


@pytest.fixture(params=["exchange", "two renames"])
def swap(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of swapping: the system call, and the renames of a platform without it."""
    if request.param == "two renames":
        monkeypatch.setattr(atomic, "_exchange", lambda one, other: False)
    return str(request.param)


def test_a_folder_holds_exactly_what_was_given(tmp_path: Path, swap: str) -> None:
    folder = tmp_path / "deep" / "set"
    assert replace_folder(folder, OLD)
    assert contents(folder) == OLD
    assert replace_folder(folder, NEW)
    assert contents(folder) == NEW
    assert not replace_folder(folder, NEW)
    (folder / "stray").write_bytes(b"x")
    assert replace_folder(folder, NEW)
    assert contents(folder) == NEW
    assert hidden(folder.parent) == []


@pytest.mark.skipif(sys.platform != "linux", reason="renameat2 is Linux's")
def test_linux_swaps_in_one_call(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    assert atomic._exchange(tmp_path / "one", tmp_path / "other")
    assert (tmp_path / "one" / "other").exists()
    assert not atomic._exchange(tmp_path / "one", tmp_path / "absent")


@pytest.mark.parametrize("name", ["", "..", ".hidden", "a/b", "/etc/passwd", "../x"])
def test_a_name_that_is_no_plain_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="not a plain file name"):
        replace_folder(tmp_path / "set", {name: b""})
    assert not (tmp_path / "set").exists()


@pytest.mark.parametrize("step", ["_write_synced", "_sync_directory", "_swap_in", "_exchange", "_remove"])
@pytest.mark.parametrize("call", [1, 2, 3])
def test_stopped_at_any_step_the_folder_is_whole(
    tmp_path: Path, swap: str, step: str, call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "set"
    replace_folder(folder, OLD)
    real, calls = getattr(atomic, step), 0

    def stop(*arguments: object) -> object:
        nonlocal calls
        calls += 1
        if calls == call:
            raise KeyboardInterrupt
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(atomic, step, stop)
        try:
            replace_folder(folder, NEW)
        except KeyboardInterrupt:
            stopped = True
        else:
            stopped = False
    assert stopped == (calls == call)
    recover(folder)
    assert contents(folder) in (OLD, NEW)
    assert hidden(tmp_path) == []
    replace_folder(folder, NEW)
    assert contents(folder) == NEW


def test_between_the_two_renames_recover_brings_the_old_folder_back(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    replace_folder(folder, OLD)
    folder.rename(tmp_path / ".set.old")
    (tmp_path / ".set.aside").mkdir()
    recover(folder)
    assert contents(folder) == OLD
    assert hidden(tmp_path) == []
    recover(tmp_path / "never" / "written")


_WRITER = """
import sys
from pathlib import Path
from opentwbench.dataset.atomic import replace_folder
folder, n = Path(sys.argv[1]), 0
print("ready", flush=True)
while True:
    n += 1
    replace_folder(folder, {f"file{k}.txt": (str(n) * 2000).encode() for k in range(6)})
"""


def test_sigkill_at_random_moments_never_leaves_a_mixture(tmp_path: Path) -> None:
    """20 kills; after each, and at every look in between, all files of the folder tell of the same write."""
    folder, chance = tmp_path / "set", random.Random(20261129)
    seen: set[bytes] = set()
    for _ in range(20):
        writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(folder)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        time.sleep(chance.uniform(0.0, 0.08))
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        if folder.exists() or (tmp_path / ".set.old").exists():
            recover(folder)
            files = contents(folder)
            assert len(files) == 6
            assert len(set(files.values())) == 1
            seen |= set(files.values())
    recover(folder)
    assert len(seen) >= 2
    assert hidden(tmp_path) == []


def test_a_file_is_written_whole_and_its_residue_does_not_pile_up(tmp_path: Path) -> None:
    (tmp_path / ".x.json.aside").write_bytes(b"half")
    write_file(tmp_path / "x.json", b"one")
    write_file(tmp_path / "x.json", b"two")
    assert contents(tmp_path) == {"x.json": b"two"}


def test_two_writers_wait_for_each_other(tmp_path: Path) -> None:
    """Were there no lock, one would remove the other's half-built folder."""
    code = _WRITER.replace("while True:", "while n < 40:")
    writers = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "set")]) for _ in range(2)]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    assert set(contents(tmp_path / "set").values()) == {b"40" * 2000}
