"""A file of JSON lines that grows by one line at a time and survives a kill between any two of them.

A line is whole when it ends in a line feed; a kill can cut the last one alone, which whoever opens the file next takes
away. Other damage is an error that names the line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from opentwbench.rag.model import RagError

MAX_LINE = 1 << 26


class Lines:
    """The one writer of such a file."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab")
        whole = _whole(path)
        if whole != self._file.seek(0, os.SEEK_END):
            self._file.truncate(whole)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, record: Mapping[str, Any]) -> None:
        """Add a record; when this returns it is on the disk."""
        self._file.write((json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8", "replace"))
        self._file.flush()
        os.fsync(self._file.fileno())


def _whole(path: Path) -> int:
    """Length up to and with the last line feed."""
    data = path.read_bytes()
    return data.rfind(b"\n") + 1


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The whole lines of the file; none when it is not there. Raises RagError naming the line that is no record."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(MAX_LINE), b""), 1):
            if not line.endswith(b"\n"):
                return
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                raise RagError(f"{path.name} line {number}: no JSON") from None
            if not isinstance(record, dict):
                raise RagError(f"{path.name} line {number}: no record")
            yield record
