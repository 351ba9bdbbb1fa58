"""The journal of a run: every response as one line of responses.jsonl, on the disk before it counts.

A run folder holds run.json and protocol.json (what the run is and how it asks, written before the first request),
responses.jsonl (the journal), adjustments.json (what the endpoint made the client leave out) and scores/. One process
writes at a time.
A line is whole when it ends in a line feed. A kill can cut the last line alone: whoever opens the journal to write
takes that line away and counts it; readers pass over it. Any other damage is an error that names the line.
What does not belong here: asking a model, and judging a response.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, BinaryIO, Self
from typing import Protocol as Interface

from opentwbench.dataset.atomic import write_file
from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.files import json_line, parse_json
from opentwbench.dataset.manifest import json_bytes
from opentwbench.evaluation.json_reading import loads
from opentwbench.evaluation.model import MAX_MODEL, ErrorClass, Response, RunRecord
from opentwbench.evaluation.protocols import Protocol

RUN_NAME = "run.json"
PROTOCOL_NAME = "protocol.json"
JOURNAL_NAME = "responses.jsonl"
ADJUSTMENTS_NAME = "adjustments.json"
LOCK_NAME = ".lock"

RUN_ID = r"[a-z0-9][a-z0-9._-]{0,119}"
"""A run's id is the name of its folder, so it is no path and hides nothing."""

MAX_LINE_BYTES = 1 << 25
"""Longest line that is read back: a reply of 8 MB (the client's own limit), escaped."""

RETRIED = frozenset(
    (ErrorClass.TRANSPORT, ErrorClass.TIMEOUT, ErrorClass.RATE_LIMITED, ErrorClass.SERVER, ErrorClass.UNREADABLE)
)
"""Errors that say nothing about the item: a resumed run asks these again. The others would end the same way."""


class JournalError(ValueError):
    """A run folder that cannot be used; the message names file, place and reason."""


class RunLocked(JournalError):
    """Another process writes to this run."""


def identity_digest(repeat: int, item_id: str, request_hash: str) -> bytes:
    """16 bytes for the identity of a response inside one run."""
    return hashlib.blake2b(f"{repeat}\n{item_id}\n{request_hash}".encode(), digest_size=16).digest()


class DigestSet:
    """A set of 16-byte digests in one flat buffer: 24 to 64 bytes an entry, where a set of bytes takes over 100.

    It is what keeps a run over a quarter of a million items as small as one over a thousand.
    """

    _EMPTY = bytes(16)

    def __init__(self) -> None:
        self._slots = bytearray(16 * 1024)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, digest: bytes) -> bool:
        return self._slots[(place := self._place(digest)) : place + 16] == digest

    def add(self, digest: bytes) -> bool:
        """Take a digest in; False when it was there. Raises ValueError for one of another size."""
        if len(digest) != 16 or digest == self._EMPTY:
            raise ValueError("a digest has 16 bytes that are not all zero")
        place = self._place(digest)
        if self._slots[place : place + 16] == digest:
            return False
        self._slots[place : place + 16] = digest
        self._count += 1
        if self._count * 16 * 3 > len(self._slots) * 2:
            self._grow()
        return True

    def _place(self, digest: bytes) -> int:
        """Where the digest stands, or the free slot where it would (linear probing)."""
        slots, size = self._slots, len(self._slots)
        place = int.from_bytes(digest[:8], "big") * 16 % size
        while (there := slots[place : place + 16]) != digest and there != self._EMPTY:
            place = (place + 16) % size
        return place

    def _grow(self) -> None:
        before = self._slots
        self._slots = bytearray(len(before) * 2)
        for start in range(0, len(before), 16):
            digest = bytes(before[start : start + 16])
            if digest != self._EMPTY:
                place = self._place(digest)
                self._slots[place : place + 16] = digest


_FIELDS = tuple(f.name for f in fields(Response))


def encode_response(response: Response) -> bytes:
    """One line of the journal."""
    record = {name: getattr(response, name) for name in _FIELDS}
    return (json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n").encode()


def decode_response(line: bytes, where: str) -> Response:
    """A line of the journal; raises JournalError naming `where` for anything else."""
    try:
        record = loads(line)
        record["error"] = ErrorClass(record["error"])
        response = Response(**record)
        if not _typed(response):
            raise ValueError("a field is of another type")
        return response
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise JournalError(f"{where}: no response record: {excerpt(str(error), 200)}") from None


def _typed(response: Response) -> bool:
    """Whether the fields that others rely on are what they must be; a journal may come from elsewhere."""
    texts = (response.item_id, response.request_hash, response.protocol_id, response.model, response.option_order)
    return (
        type(response.repeat) is int
        and all(type(text) is str for text in texts)
        and (response.content is None or type(response.content) is str)
        and (response.reasoning is None or type(response.reasoning) is str)
    )


class Journal:
    """The one writer of a run folder; holds the folder's lock until it is closed.

    Raises RunLocked when another process writes there and JournalError when the folder cannot be written.
    `dropped` counts the cut line (0 or 1) that a kill had left.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / JOURNAL_NAME
        self.dropped = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = _lock(folder)
            self._file = self._open()
            self._synced = self._file.tell()
        except OSError as error:
            raise JournalError(f"{self.path}: cannot be written: {error.strerror}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file and the lock."""
        self._file.close()
        os.close(self._lock)

    def append(self, response: Response) -> None:
        """Add one response; when this returns it is on the disk."""
        self.append_all((response,))

    def append_all(self, responses: Iterable[Response]) -> None:
        """Add responses with one sync for all of them; when this returns they are on the disk.

        Raises JournalError when the disk is full or gone. What was half-written then is taken away again.
        """
        self.put(responses)
        self.sync()

    def put(self, responses: Iterable[Response]) -> None:
        """Add responses that count only after `sync`. Raises JournalError as `append_all` does.

        Two steps, because a sync waits for the disk and belongs on another thread, and the rest does not: a thread that
        encodes and writes beside a busy event loop waits milliseconds for Python's lock at every call.
        """
        with self._all_or_nothing():
            _write_whole(self._file, b"".join(encode_response(response) for response in responses))

    def sync(self) -> None:
        """Return when everything that was put is on the disk; raises JournalError when it cannot get there."""
        with self._all_or_nothing():
            end = self._file.tell()
            os.fsync(self._file.fileno())
            self._synced = end

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """A failure of the disk takes away what was put since the last sync."""
        try:
            yield
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(self._synced)
                self._file.seek(self._synced)
            raise JournalError(f"{self.path}: cannot be written: {error.strerror}; the run can be resumed") from None

    def _open(self) -> BinaryIO:
        fresh = not self.path.exists()
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        file = os.fdopen(handle, "r+b", buffering=0)
        whole = _whole_length(file)
        if whole != os.fstat(handle).st_size:
            self.dropped = 1
            file.truncate(whole)
            os.fsync(handle)
        file.seek(whole)
        if fresh:
            _sync_folder(self.path.parent)
        return file


def _write_whole(file: BinaryIO, data: bytes) -> None:
    """Write all of it: one call may take a part when the disk is nearly full."""
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


def _lock(folder: Path) -> int:
    handle = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise RunLocked(f"{folder}: another process is writing to this run; wait for it or stop it") from None
    return handle


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _whole_length(file: BinaryIO) -> int:
    """Length up to and with the last line feed."""
    size = file.seek(0, os.SEEK_END)
    end = size
    while end > 0:
        start = max(0, end - 65_536)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Number and bytes of every whole line, a last one without a line feed left out."""
    with path.open("rb") as file:
        for number in range(1, 1 << 62):
            line = file.readline(MAX_LINE_BYTES)
            if not line.endswith(b"\n"):
                if len(line) == MAX_LINE_BYTES:
                    raise JournalError(f"{path.name} line {number}: more than {MAX_LINE_BYTES} bytes")
                return
            yield number, line


def read_responses(folder: Path) -> Iterator[Response]:
    """The responses of a run, in the order of completion, one for each identity; a stream.

    A response that ended in an error and was asked again by a resumed run is superseded by its later record.
    A run without a journal has none. Raises JournalError naming the line for anything that is no response.
    """
    path = folder / JOURNAL_NAME
    if not path.exists():
        return
    last_error = _last_errors(path)
    superseded = _superseded(path, last_error) if last_error else frozenset()
    for number, line in _lines(path):
        if number not in superseded:
            yield decode_response(line, f"{path.name} line {number}")


def _is_error(line: bytes) -> bool:
    """Whether the line may hold an error; a look that spares the parsing of the many that hold none."""
    return b'"error": ""' not in line


def _last_errors(path: Path) -> dict[tuple[int, str, str], list[int]]:
    """Identity -> the lines on which it ended in an error."""
    found: dict[tuple[int, str, str], list[int]] = {}
    for number, line in _lines(path):
        if _is_error(line):
            response = decode_response(line, f"{path.name} line {number}")
            if response.error:
                found.setdefault(response.identity[1:], []).append(number)
    return found


def _superseded(path: Path, errors: Mapping[tuple[int, str, str], Sequence[int]]) -> frozenset[int]:
    """Lines with an error whose identity has a later line."""
    old: set[int] = set()
    for number, line in _lines(path):
        response = decode_response(line, f"{path.name} line {number}")
        old.update(n for n in errors.get(response.identity[1:], ()) if n < number)
    return frozenset(old)


def answered(folder: Path, *, retry_errors: bool = True) -> DigestSet:
    """Identities (`identity_digest`) that a resumed run must not ask again.

    With `retry_errors`, those that ended in an error of `RETRIED` are not among them.
    """
    done = DigestSet()
    for response in read_responses(folder):
        if not (retry_errors and response.error in RETRIED):
            done.add(identity_digest(response.repeat, response.item_id, response.request_hash))
    return done


class Recorded(Interface):
    """What stands in protocol.json: a protocol, or the prompt of another track."""

    def to_json(self) -> dict[str, Any]:
        """Every field."""


def write_run(folder: Path, record: RunRecord, protocol: Recorded) -> None:
    """Write run.json and protocol.json of a new run, or check that the run there is the same.

    `started` and `client_version` stay those of the first start. Raises JournalError naming the first field in which
    they differ: two runs never share a folder.
    """
    if not re.fullmatch(RUN_ID, record.run_id):
        raise JournalError(f"{excerpt(record.run_id)}: no run id; it fits {RUN_ID}")
    if not (folder / RUN_NAME).exists():
        try:
            write_file(folder / PROTOCOL_NAME, json_bytes(protocol.to_json()))
            write_file(folder / RUN_NAME, json_bytes(asdict(record)))
        except OSError as error:
            raise JournalError(f"{folder / RUN_NAME}: cannot be written: {error.strerror}") from None
        return
    before, now = asdict(read_run(folder)), asdict(record)
    for name in before:
        if name not in ("started", "client_version") and before[name] != now[name]:
            raise JournalError(
                f"{folder / RUN_NAME}: {name} was {excerpt(before[name])} and is now {excerpt(now[name])}; "
                "a changed run needs another id"
            )


def read_run(folder: Path) -> RunRecord:
    """What run.json says; raises JournalError naming what is wrong with it."""
    path = folder / RUN_NAME
    try:
        record = RunRecord(**parse_json(path.read_text(encoding="utf-8"), path.name))
        _check_types(record)
        return record
    except OSError as error:
        raise JournalError(f"{path}: {error.strerror}") from None
    except (TypeError, ValueError) as error:
        raise JournalError(f"{path}: {excerpt(str(error), 200)}") from None


def _check_types(record: RunRecord) -> None:
    """Raise ValueError naming the first field of another type; a run may come from elsewhere."""
    for name, value in asdict(record).items():
        if name in ("n_items", "repeats"):
            fits = type(value) is int and value >= 0
        elif name == "extra":
            fits = isinstance(value, dict) and all(isinstance(text, str) for text in value.values())
        else:
            fits = isinstance(value, str)
        if not fits:
            raise ValueError(f"{name} is of another type: {excerpt(value)}")
    if not 0 < len(record.model) <= MAX_MODEL:
        raise ValueError(f"model is no name of 1 to {MAX_MODEL} characters")


def read_protocol(folder: Path) -> Protocol:
    """The protocol of a run; raises JournalError when protocol.json is none or not the one of run.json."""
    path = folder / PROTOCOL_NAME
    try:
        protocol = Protocol.from_json(parse_json(path.read_text(encoding="utf-8"), path.name))
    except OSError as error:
        raise JournalError(f"{path}: {error.strerror}") from None
    except (TypeError, ValueError) as error:
        raise JournalError(f"{path}: {excerpt(str(error), 200)}") from None
    if protocol.protocol_id != read_run(folder).protocol_id:
        raise JournalError(f"{path}: not the protocol of {RUN_NAME}")
    return protocol


def read_adjustments(folder: Path) -> dict[str, str]:
    """Parameter -> what became of it ('' left out, else its new name), as an earlier start of this run learnt it."""
    path = folder / ADJUSTMENTS_NAME
    if not path.exists():
        return {}
    try:
        record: dict[str, Any] = parse_json(path.read_text(encoding="utf-8"), path.name)
    except (OSError, ValueError) as error:
        raise JournalError(f"{path}: {excerpt(str(error), 200)}") from None
    return {str(name): str(value) for name, value in record.items()}


def write_adjustments(folder: Path, adjustments: Mapping[str, str]) -> None:
    """Record what the endpoint made the client change in its requests."""
    write_file(folder / ADJUSTMENTS_NAME, (json_line(dict(sorted(adjustments.items()))) + "\n").encode())
