"""Folders of an object store: the old files or the new ones, wherever a writer is killed."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest

from resources.object_folders import ATTEMPTS, FolderChangingError, ObjectFolder
from resources.store import Store, StoreError, StoreUnusableError

OLD = {"manifest.json": b"old", "a.jsonl": b"1", "gone.txt": b"x"}
NEW = {"manifest.json": b"new", "a.jsonl": b"2", "b.jsonl": b"3"}
CHANGES = ("pipe_file", "cp_file", "rm_file", "rm")
"""What changes something in a file system: a writer is killed before each call."""


class Killed(BaseException):
    """A kill: nothing in the code that is killed may catch it."""


class Watched:
    """A file system whose writer is killed before the nth change; `before` is called ahead of every call."""

    def __init__(self, fs: Any, kill_at: int = -1, before: Callable[[str], None] = lambda _: None) -> None:
        self.fs, self.kill_at, self.before, self.changes = fs, kill_at, before, 0

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.fs, name)

        def watched(*arguments: Any, **options: Any) -> Any:
            self.before(name)
            if name in CHANGES:
                if self.changes == self.kill_at:
                    raise Killed
                self.changes += 1
            return call(*arguments, **options)

        return watched


@pytest.fixture
def fs() -> Any:
    return fsspec.filesystem("memory")


@pytest.fixture
def path() -> str:
    return f"/{uuid.uuid4()}/datasets/tw-civics-bench"


def everything(fs: Any, path: str) -> dict[str, bytes]:
    root = path.rpartition("/")[0]
    return {name.removeprefix(f"{root}/"): fs.cat_file(name) for name in fs.find(root)}


def changes_of(fs: Any, path: str) -> int:
    """How many changes the replacement needs."""
    ObjectFolder(fs, path).replace(OLD)
    watched = Watched(fs)
    ObjectFolder(watched, path).replace(NEW)
    return watched.changes


def test_a_folder_is_replaced_and_nothing_else_is_left(fs: Any, path: str) -> None:
    folder = ObjectFolder(fs, path)
    assert folder.read() == {}
    assert folder.replace(OLD) and folder.replace(NEW)
    assert folder.read() == NEW
    assert everything(fs, path) == {f"tw-civics-bench/{name}": data for name, data in NEW.items()}


def test_equal_files_are_not_written_again(fs: Any, path: str) -> None:
    ObjectFolder(fs, path).replace(NEW)
    watched = Watched(fs)
    assert not ObjectFolder(watched, path).replace(NEW)
    assert watched.changes == 0


def test_a_writer_killed_before_any_change_leaves_the_old_files_or_the_new(fs: Any, path: str) -> None:
    seen = []
    total = changes_of(fs, path)
    assert total > 3 * len(NEW)  # each file aside and in place, the announcement, what is taken away
    for kill_at in range(total):
        ObjectFolder(fs, path).replace(OLD)
        with pytest.raises(Killed):
            ObjectFolder(Watched(fs, kill_at), path).replace(NEW)
        found = ObjectFolder(fs, path).read()
        assert found in (OLD, NEW), kill_at
        seen.append(found == NEW)
        if found == NEW:  # a reader ends what was announced, and nobody need write again for the place to be clean
            assert everything(fs, path) == {f"tw-civics-bench/{name}": data for name, data in NEW.items()}, kill_at
        ObjectFolder(fs, path).replace({**NEW, "a.jsonl": b"later"})
        expected = {**NEW, "a.jsonl": b"later"}
        assert everything(fs, path) == {f"tw-civics-bench/{name}": data for name, data in expected.items()}, kill_at
    # Up to the announcement the old files stand, and from then on the new ones.
    assert seen == sorted(seen) and {False, True} == set(seen)


def test_a_reader_never_sees_a_mixture_while_another_writes(fs: Any, path: str) -> None:
    total = changes_of(fs, path)
    seen = set()
    for pause in range(total):
        ObjectFolder(fs, path).replace(OLD)
        writer = Watched(fs, pause)
        calls = iter(range(1_000))

        def between(name: str, writer: Watched = writer, calls: Any = calls) -> None:
            # The writer gets as far as `pause` while the reader is between two of its own calls.
            if next(calls) == 3:
                with pytest.raises(Killed):
                    ObjectFolder(writer, path).replace(NEW)

        found = ObjectFolder(Watched(fs, before=between), path).read()
        assert found in (OLD, NEW), pause
        seen.add(found == NEW)
    assert seen == {False, True}


def test_a_folder_that_is_never_left_alone_is_given_up(fs: Any, path: str) -> None:
    ObjectFolder(fs, path).replace(OLD)
    calls = []

    def disturb(name: str) -> None:
        if name == "cat_file" and len(calls) < 10 * ATTEMPTS:
            calls.append(name)
            fs.pipe_file(f"{path}/a.jsonl", str(len(calls)).encode())

    with pytest.raises(FolderChangingError, match=str(ATTEMPTS)):
        ObjectFolder(Watched(fs, before=disturb), path).read()


def test_another_folder_of_a_longer_name_is_left_alone(fs: Any, path: str) -> None:
    other = ObjectFolder(fs, f"{path}-2")
    other.replace(OLD)
    with pytest.raises(Killed):
        ObjectFolder(Watched(fs, 2), f"{path}-2").replace(NEW)
    ObjectFolder(fs, path).replace(NEW)
    assert (other.read(), ObjectFolder(fs, path).read()) == (OLD, NEW)


@pytest.mark.parametrize("url", ["s3://key:hidden@bucket/x", "memory://hidden@somewhere"])
def test_a_url_with_credentials_is_refused_and_not_shown(url: str, tmp_path: Path) -> None:
    with pytest.raises(StoreUnusableError, match="environment") as refused:
        Store(url, tmp_path)
    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize("name", ["a@b", "x@y/z"])
def test_a_folder_may_have_such_a_name(name: str, tmp_path: Path) -> None:
    store = Store(str(tmp_path / name))
    store.write("index/index.csv", b"1")
    assert (tmp_path / name / "index" / "index.csv").read_bytes() == b"1"


def test_the_cache_of_a_remote_store_may_be_named_by_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTB_CACHE", str(tmp_path))
    assert Store("memory://somewhere").cache_folder == tmp_path
    assert Store(str(tmp_path / "store")).cache_folder == tmp_path / "store" / "cache"


def test_what_a_file_system_cannot_do_is_said_without_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden-key")
    store = Store(f"memory://{uuid.uuid4()}", tmp_path)

    def denied(*_: Any, **__: Any) -> None:
        raise PermissionError("not with hidden-key")

    monkeypatch.setattr(store, "_fs", type("Denying", (), {"exists": staticmethod(denied)})())
    with pytest.raises(StoreError, match=r"index/index\.csv: PermissionError: not with \*\*\*"):
        store.exists("index/index.csv")
