"""A mirror of a few invented papers, for tests of retrieval: the bytes look like PDFs and mean nothing."""

from __future__ import annotations

import csv
import io
import os
import random
from pathlib import Path

from opentwbench.exam.index import COLUMNS, PAPER_ENDPOINT


class FakeClock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0
        self.sleeps: list[float] = []

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.time += seconds


def paper_url(role: str, subject: str, code: str = "101010", category: str = "301") -> str:
    return f"{PAPER_ENDPOINT}?t={role}&code={code}&c={category}&s={subject}&q=1"


def pdf(seed: str, size: int = 3_000) -> bytes:
    """Bytes that start and end as a PDF does; the same for the same seed."""
    return b"%PDF-1.4\n" + random.Random(seed).randbytes(size) + b"\n%%EOF\n"


def write_mirror(folder: Path, papers: int, size: int = 3_000) -> list[str]:
    """A mirror with that many papers, each with its question PDF and key; returns the URLs in order."""
    urls: list[str] = []
    rows, listed = [], []
    for number in range(papers):
        subject = f"{number:04d}"
        question, key = paper_url("Q", subject), paper_url("S", subject)
        names = ["101", "101010", "範例考試", "", "高等考試", "高等考試", "301", "類科", "01", f"科目{number}"]
        rows.append([*names, "測驗題", question, key, ""])
        for role, url in (("Q", question), ("S", key)):
            relative = f"files/101010/301/{subject}/{role}.pdf"
            write(folder / relative, pdf(f"{role}{number}", size))
            listed.append([url, relative])
            urls.append(url)
    write(folder / "index.csv", b"\xef\xbb\xbf" + _table(COLUMNS, rows))
    write_list(folder, listed)
    return urls


def write_list(folder: Path, listed: list[list[str]]) -> None:
    write(folder / "urls.csv", _table(("url", "path"), listed))


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def age(path: Path, seconds: int) -> None:
    """Set the time of change, so that a change within one second is seen."""
    found = path.stat()
    os.utime(path, (found.st_atime, found.st_mtime + seconds))


def _table(header: tuple[str, ...], rows: list[list[str]]) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue().encode()
