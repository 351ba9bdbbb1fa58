"""How long the index and the cache take, each beside a bare limit in the same run.

    python -m bench.retrieval [--rows 65000] [--papers 300] [--size 300000]

* read_index against csv.reader alone over the same bytes;
* a first run over the loopback ministry against httpx asking for the same bodies and throwing them away;
* a second run (everything cached) against hashing the same bytes.
Seconds are wall time, the best of three (the crawl: one run), and noisy on a shared machine: read the ratios.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from opentwbench.exam.index import COLUMNS, PAPER_ENDPOINT, read_index
from opentwbench.exam.polite import Politeness
from opentwbench.exam.retrieval import Retriever
from samples.loopback import LoopbackMinistry


def paper_url(role: str, code: str, category: str, subject: str) -> str:
    """A URL of the ministry's shape."""
    return f"{PAPER_ENDPOINT}?t={role}&code={code}&c={category}&s={subject}&q=1"


def index_bytes(rows: int) -> bytes:
    """An index of invented 測驗題 rows, every field quoted."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)
    for number in range(rows):
        code, category = f"{100 + number % 15}{number % 900 + 100}", f"{number // 900 + 100}"
        names = [code, "範例考試" * 8, "", "高等考試", "高等考試", category, "範例類科", "01", f"範例科目{number}"]
        urls = [paper_url(role, code, category, f"{number:05d}") for role in "QS"]
        writer.writerow([code[:3], *names, "測驗題", *urls, ""])
    return b"\xef\xbb\xbf" + out.getvalue().encode()


def write_mirror(folder: Path, papers: int, size: int) -> list[str]:
    """A mirror of invented PDFs; returns their URLs."""
    urls = [paper_url("Q", "101010", "301", f"{number:04d}") for number in range(papers)]
    lines = ["url,path"]
    for number, url in enumerate(urls):
        (folder / f"{number}.pdf").write_bytes(b"%PDF-1.4\n" + random.Random(number).randbytes(size) + b"\n%%EOF\n")
        lines.append(f"{url},{number}.pdf")
    (folder / "urls.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "index.csv").write_bytes(index_bytes(1))
    return urls


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """The best wall time of several runs."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def report(what: str, ours: float, limit: float, bare: str) -> None:
    """One line: our time, the bare limit, the ratio."""
    print(f"{what}: {ours:.3f} s; {bare}: {limit:.3f} s; ratio {ours / limit:.2f}")


def measure_index(rows: int) -> None:
    """read_index against the CSV reader alone."""
    data = index_bytes(rows)

    def bare() -> int:
        return sum(1 for _ in csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))

    report(
        f"read_index, {rows:,} rows, {len(data):,} bytes",
        seconds(lambda: read_index(data, "bench")),
        seconds(bare),
        "csv.reader alone",
    )


def measure_retrieval(folder: Path, papers: int, size: int) -> None:
    """A first and a second run over the loopback ministry, without the polite delay."""
    (folder / "mirror").mkdir()
    urls = write_mirror(folder / "mirror", papers, size)
    polite = Politeness(delay_seconds=0, jitter_seconds=0)
    with LoopbackMinistry(folder / "mirror") as server:

        def bare() -> None:
            with httpx.Client(trust_env=False) as client:
                for url in urls:
                    client.get(url.replace("https://wwwq.moex.gov.tw", server.base_url)).raise_for_status()

        def crawl() -> None:
            with Retriever(server.base_url, folder / "cache", polite) as retriever:
                statuses = {outcome.status.value for outcome in retriever.fetch_all(urls)}
            assert statuses in ({"fetched"}, {"cached"}), statuses

        limit = seconds(bare, 1)
        report(f"first run, {papers} papers of {size:,} bytes", seconds(crawl, 1), limit, "httpx alone")
        asked = len(server.log)
        second = seconds(crawl)
        assert len(server.log) == asked, "the second run asked for something"
    paths = sorted((folder / "cache").glob("bodies/*/*"))
    hashing = seconds(lambda: [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths])
    report("second run, everything cached, no request", second, hashing, "sha256 of the same files")


def main() -> None:
    """Run both measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=65_000)
    parser.add_argument("--papers", type=int, default=300)
    parser.add_argument("--size", type=int, default=300_000)
    options = parser.parse_args()
    measure_index(options.rows)
    with tempfile.TemporaryDirectory() as folder:
        measure_retrieval(Path(folder), options.papers, options.size)


if __name__ == "__main__":
    main()
