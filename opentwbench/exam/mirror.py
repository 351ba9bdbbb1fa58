"""A mirror folder of the ministry: index.csv, urls.csv (url,path) and the files that it names.

What belongs here: finding the file of a URL without ever leaving the folder. What does not: judging the file.
Source of the form: the mirror's README. The list is treated as hostile: it comes from outside like every other input.
"""

from __future__ import annotations

import csv
import io
import os
import stat
from pathlib import Path, PurePosixPath
from typing import IO

from opentwbench.exam.index import PaperUrl, parse_paper_url

MAX_LIST_BYTES = 64 * 1024 * 1024
"""The list of the whole live index would be under 20 MB."""


class MirrorError(Exception):
    """The folder is no mirror, or its list names a file that it must not. Names the file and the line."""


class Mirror:
    """The mirror in `folder`. Raises MirrorError when the folder or its list cannot be used."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not folder.is_dir():
            raise MirrorError(f"{folder}: no such folder")
        self._root = folder.resolve()
        self._paths: dict[PaperUrl, str] | None = None

    def index_path(self) -> Path:
        """Where the index is."""
        return self._inside("index.csv")

    def path_of(self, url: str) -> Path | None:
        """The file of a ministry URL, None when the list does not name it. Raises MirrorError for one outside."""
        if self._paths is None:
            self._paths = self._read_list()
        relative = self._paths.get(parse_paper_url(url))
        return None if relative is None else self._inside(relative)

    def _inside(self, relative: str) -> Path:
        path = (self._root / relative).resolve()
        if not path.is_relative_to(self._root):
            raise MirrorError(f"{self.folder / 'urls.csv'}: {relative!r} leads out of the mirror")
        return path

    def _read_list(self) -> dict[PaperUrl, str]:
        urls = self._inside("urls.csv")
        try:
            with open_regular(urls) as file:
                data = file.read(MAX_LIST_BYTES + 1)
        except OSError as error:
            raise MirrorError(f"{urls}: {error.strerror}") from error
        if len(data) > MAX_LIST_BYTES:
            raise MirrorError(f"{urls}: more than {MAX_LIST_BYTES:,} bytes")
        try:
            return _parse_list(data.decode("utf-8-sig"))
        except (ValueError, csv.Error) as error:  # UnicodeDecodeError is a ValueError
            raise MirrorError(f"{urls}: {error}") from error


def _parse_list(text: str) -> dict[PaperUrl, str]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    if next(reader, None) != ["url", "path"]:
        raise ValueError("the header is not url,path")
    paths: dict[PaperUrl, str] = {}
    for cells in reader:
        if not cells:
            continue  # a blank line
        where = f"line {reader.line_num}"
        if len(cells) != 2:
            raise ValueError(f"{where}: {len(cells)} cells where url and path belong")
        if not _is_plain(cells[1]):
            raise ValueError(f"{where}: {cells[1]!r} is no plain relative path")
        try:
            url = parse_paper_url(cells[0])
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from error
        if paths.setdefault(url, cells[1]) != cells[1]:
            raise ValueError(f"{where}: the URL was listed before with another path")
    return paths


def _is_plain(path: str) -> bool:
    """A relative path with forward slashes that climbs nowhere."""
    parts = PurePosixPath(path).parts
    return bool(parts) and ".." not in parts and not path.startswith("/") and "\\" not in path and path.isprintable()


def open_regular(path: Path) -> IO[bytes]:
    """Open a regular file for reading; a pipe, device or symbolic link raises OSError instead of blocking."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(0, "not a regular file", str(path))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise
