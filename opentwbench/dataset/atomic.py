"""Writes that a kill cannot tear: a file or a whole folder is the old one or the new one, never a mixture.

How: everything is written aside in the same directory (same file system, so a rename is atomic), synced, swapped in.
A folder is exchanged in one system call where the kernel has one (renameat2 with RENAME_EXCHANGE, Linux 3.15);
elsewhere in two renames, and `recover` puts the old folder back when a kill fell between them.
Names written aside begin with a dot; whoever writes next removes what a kill left behind.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

_RENAME_EXCHANGE = 2  # linux/fs.h
_AT_FDCWD = -100  # linux/fcntl.h


def _sync_directory(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_synced(path: Path, data: bytes) -> None:
    with path.open("xb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the directory's advisory lock: one writer at a time, released by the kernel when a writer is killed."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _aside(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.aside")


def _retired(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write_file(path: Path, data: bytes) -> None:
    """Write one file atomically; its folder is made when missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.parent):
        aside = _aside(path)
        _remove(aside)
        _write_synced(aside, data)
        aside.replace(path)
        _sync_directory(path.parent)


def append_line(path: Path, line: bytes, check: Callable[[bytes], object] = lambda held: None) -> None:
    """Add one line at the end of a file that only grows, atomically: it holds the whole line afterwards, or none of it.

    `check` is called with what the file holds, under the lock; what it raises leaves the file as it was. Raises
    ValueError for a line that holds a line feed, or a file whose last line has none.
    """
    if b"\n" in line:
        raise ValueError("a line feed inside the line")
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.parent):
        held = path.read_bytes() if path.exists() else b""
        if held and not held.endswith(b"\n"):
            raise ValueError(f"{path.name}: no line feed at the end; was it cut short?")
        check(held)
        aside = _aside(path)
        _remove(aside)
        _write_synced(aside, held + line + b"\n")
        aside.replace(path)
        _sync_directory(path.parent)


def recover(folder: Path) -> None:
    """Undo what a kill left of an earlier `replace_folder`: put a retired folder back, remove a half-built one."""
    if not folder.parent.is_dir():
        return
    with _locked(folder.parent):
        _recover(folder)


def _recover(folder: Path) -> None:
    if _retired(folder).exists() and not folder.exists():
        _retired(folder).rename(folder)
    for residue in (_aside(folder), _retired(folder)):
        _remove(residue)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two names in one system call; False where the platform or the file system cannot."""
    if sys.platform != "linux":
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    return bool(rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0)


def replace_folder(folder: Path, files: Mapping[str, bytes]) -> bool:
    """Make `folder` hold exactly `files` (plain names -> bytes), atomically; False when it held just these bytes.

    Raises ValueError for a name that is no plain file name. Anything else that was in the folder is gone afterwards.
    """
    for name in files:
        if not name or name.startswith(".") or Path(name).name != name:
            raise ValueError(f"not a plain file name: {name!r}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.parent):
        _recover(folder)
        if _holds(folder, files):
            return False
        _build_aside(folder, files)
        _swap_in(folder)
        return True


def _holds(folder: Path, files: Mapping[str, bytes]) -> bool:
    if not folder.is_dir() or {entry.name for entry in folder.iterdir()} != set(files):
        return False
    paths = {name: folder / name for name in files}
    if any(path.is_symlink() or not path.is_file() for path in paths.values()):
        return False
    return all(path.stat().st_size == len(files[n]) and path.read_bytes() == files[n] for n, path in paths.items())


def _build_aside(folder: Path, files: Mapping[str, bytes]) -> None:
    aside = _aside(folder)
    aside.mkdir()
    for name, data in files.items():
        _write_synced(aside / name, data)
    _sync_directory(aside)


def _swap_in(folder: Path) -> None:
    aside, retired = _aside(folder), _retired(folder)
    if not folder.exists():
        aside.rename(folder)
    elif _exchange(aside, folder):
        retired = aside
    else:
        folder.rename(retired)
        aside.rename(folder)
    _sync_directory(folder.parent)
    _remove(retired)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name aside to write one file to by any means; it takes the place of `path` when the block ends well.

    For files too large to hold as bytes, and for writers that want a path. Nothing is replaced when the block raises.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.parent):
        aside = _aside(path)
        _remove(aside)
        try:
            yield aside
            with aside.open("rb") as written:
                os.fsync(written.fileno())
            aside.replace(path)
            _sync_directory(path.parent)
        finally:
            _remove(aside)


@contextlib.contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """A folder aside to fill by any means; it takes the place of `folder` when the block ends well.

    For trees too large to hold as bytes. Files in it are not synced one by one: after a loss of power the folder may be
    incomplete, which is why only what can be made again is written so. Nothing is replaced when the block raises.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.parent):
        _recover(folder)
        aside = _aside(folder)
        aside.mkdir()
        try:
            yield aside
            _swap_in(folder)
        finally:
            if aside.exists():
                _remove(aside)
