"""The retrieval cache on disk: one body a content, one record a URL, and a lock that only one process holds.

What belongs here: layout, locking, writing that survives kill -9, proving that a body is the one that was recorded.
What does not: HTTP, politeness, when a record is too old (retrieval).

    bodies/<2 hex>/<sha256><suffix>               what was fetched, named by its content
    records/<origin>/<2 hex>/<sha256 of URL>.json
                                                  what is known of one URL
    incoming/                                     files on their way in; emptied when the cache is opened
    lock                                          held (flock) while a process retrieves; holds its pid

A body gets its name only after it was written, checked and fsynced, and its record is written after it. So a process
may be killed at any moment: what has a record is whole, and what has none is asked for again.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO
from weakref import WeakSet

MAX_RECORD_BYTES = 64 * 1024
"""A record is under 2 kB; a larger file is none."""


class CacheBusyError(Exception):
    """Another process retrieves through the same cache. Names its pid."""

    def __init__(self, folder: Path, pid: str) -> None:
        super().__init__(f"{folder}: process {pid} is retrieving through this cache; wait for it or stop it")
        self.folder = folder
        self.pid = pid


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of one URL. `status` is a RetrievalStatus value; `fetched_at` is seconds since 1970 (UTC)."""

    url: str
    status: str
    sha256: str
    """The body's, '' when there is none."""
    size: int
    fetched_at: float
    """When the ministry last said so; a 304 renews it."""
    etag: str = ""
    last_modified: str = ""
    content_type: str = ""
    detail: str = ""
    before: str = ""
    """sha256 of the body that this URL had before it went missing, '' otherwise."""


class Body:
    """Bytes on their way in: hashed and measured as they are written, kept in any file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.restart()

    def restart(self) -> None:
        """Forget what was written: the next attempt starts from nothing."""
        self._file.seek(0)
        self._file.truncate()
        self._digest = hashlib.sha256()
        self.size = 0
        self.head = b""
        self.tail = b""

    def write(self, chunk: bytes) -> None:
        """Append bytes; the first and last 1,024 stay readable as `head` and `tail`."""
        self._file.write(chunk)
        self._digest.update(chunk)
        self.size += len(chunk)
        if len(self.head) < 1024:
            self.head = (self.head + chunk)[:1024]
        self.tail = (self.tail + chunk)[-1024:]

    @property
    def sha256(self) -> str:
        """Of what was written so far, hexadecimal."""
        return self._digest.hexdigest()

    def read(self) -> bytes:
        """Everything written so far."""
        self._file.seek(0)
        return self._file.read()


class IncomingFile(Body):
    """A body written aside in the cache, gone when its block ends unless it was moved.

    All lie in one folder on the cache's own file system, so that a rename is atomic and leftovers are found at once.
    """

    def __init__(self, file: IO[bytes], path: Path) -> None:
        super().__init__(file)
        self._path = path

    def move_to(self, path: Path, *, durable: bool = True) -> None:
        """Give the body its name, atomically; a durable one also survives a loss of power."""
        self._file.flush()
        path.parent.mkdir(parents=True, exist_ok=True)
        if durable:
            os.fsync(self._file.fileno())
        self._path.replace(path)
        if durable:
            _sync_folder(path.parent)

    def close(self) -> None:
        """Close, and remove what was not moved."""
        self._file.close()
        self._path.unlink(missing_ok=True)


class Cache:
    """The cache in `folder`. Open it (or use it as a context manager) before use; one process at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.damaged = 0
        """Records and bodies found unreadable or altered, and therefore ignored."""
        self._lock: IO[str] | None = None

    def __enter__(self) -> Cache:
        self.open()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def open(self) -> None:
        """Take the lock and clear away what a killed process left. Raises CacheBusyError; does nothing when open."""
        if self._lock is not None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = _take_lock(self.folder)
        self._incoming().mkdir(exist_ok=True)
        for left in self._incoming().iterdir():
            left.unlink()

    def close(self) -> None:
        """Give the lock back."""
        if self._lock is not None:
            # Closing alone would leave it with a forked child that has not run its hook yet.
            fcntl.flock(self._lock, fcntl.LOCK_UN)
            self._lock.close()
            self._lock = None

    @contextlib.contextmanager
    def receive(self) -> Iterator[IncomingFile]:
        """A file to write into; unless it is kept it is gone when the block ends. The cache must be open."""
        handle, name = tempfile.mkstemp(dir=self._incoming())
        aside = IncomingFile(os.fdopen(handle, "w+b"), Path(name))
        try:
            yield aside
        finally:
            aside.close()

    def keep(self, body: IncomingFile, suffix: str) -> Path:
        """Store a complete body under its content's name; returns its path."""
        path = self.body_path(body.sha256, suffix)
        body.move_to(path)
        return path

    def body_path(self, sha256: str, suffix: str) -> Path:
        """Where the body with this content is, or would be."""
        return self.folder / "bodies" / sha256[:2] / f"{sha256}{suffix}"

    def sound_body(self, record: Record, suffix: str) -> Path | None:
        """The record's body when it is there and its bytes are the recorded ones, None (and counted) otherwise."""
        if not record.sha256:
            return None
        path = self.body_path(record.sha256, suffix)
        try:
            with path.open("rb") as file:
                sound = hashlib.file_digest(file, "sha256").hexdigest() == record.sha256
        except OSError:
            sound = False
        self.damaged += not sound
        return path if sound else None

    def read_record(self, origin: str, url: str) -> Record | None:
        """What is known of the URL, None when nothing is; a record that cannot be read counts as damaged."""
        path = self._record_path(origin, url)
        try:
            with path.open("rb") as file:
                return _parse_record(file.read(MAX_RECORD_BYTES + 1), url)
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            self.damaged += 1
            return None

    def write_record(self, origin: str, record: Record, *, durable: bool = True) -> None:
        """Record what is known of a URL, atomically. One that is not durable may be damaged by a loss of power."""
        with self.receive() as aside:
            aside.write(json.dumps(asdict(record), ensure_ascii=False, sort_keys=True, indent=1).encode() + b"\n")
            aside.move_to(self._record_path(origin, record.url), durable=durable)

    def _record_path(self, origin: str, url: str) -> Path:
        name = hashlib.sha256(url.encode()).hexdigest()
        return self.folder / "records" / origin / name[:2] / f"{name}.json"

    def _incoming(self) -> Path:
        return self.folder / "incoming"


_TYPES = {"str": str, "int": int, "float": float}
_FIELDS = {field.name: _TYPES[str(field.type)] for field in fields(Record)}
_SHA256 = re.compile(r"(?:[0-9a-f]{64})?\Z", re.ASCII)


def _parse_record(data: bytes, url: str) -> Record:
    """The record in these bytes. Raises ValueError when it is none, or one of another URL."""
    if len(data) > MAX_RECORD_BYTES:
        raise ValueError("too large for a record")
    found = json.loads(data)
    if not isinstance(found, dict) or {name: type(value) for name, value in found.items()} != _FIELDS:
        raise ValueError("not a record")
    record = Record(**found)
    if record.url != url or not _SHA256.match(record.sha256):
        raise ValueError("a record of another URL, or a content that is no sha256")
    return record


_HELD: WeakSet[IO[str]] = WeakSet()


def _take_lock(folder: Path) -> IO[str]:
    """The open, locked lock file. The kernel releases it when the process ends in any way, so it is never stale."""
    lock = (folder / "lock").open("a+", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        holder = lock.read(20).strip()
        lock.close()
        raise CacheBusyError(folder, holder if holder.isdigit() else "(unknown)") from None
    lock.truncate(0)
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    _HELD.add(lock)
    return lock


def _let_go_in_child() -> None:
    """A forked child (a parsing process) shares the lock; left open there, it would outlive a killed parent."""
    for lock in list(_HELD):
        lock.close()


os.register_at_fork(after_in_child=_let_go_in_child)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
