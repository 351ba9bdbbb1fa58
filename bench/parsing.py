"""How long parsing takes beside PyMuPDF's bare text extraction of the same files, and how it grows with processes.

    python -m bench.parsing [--every 1] [--processes 2]

* one process: every question paper and key of the mirror in OTB_SHARED (default ../shared) parsed, against
  `get_text("rawdict")` over the pages of the same files. The two take turns folder by folder, and which goes first
  alternates, so that a busy machine slows both;
* several processes: `parse_pairs` with one and with `--processes` workers, wall time.
Seconds are CPU time in the first part. Read the ratios.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pymupdf

from opentwbench.exam.model import PaperRejected
from opentwbench.exam.paper import Pair, parse_pairs, parse_paper
from opentwbench.exam.questions import read_questions


def folders(every: int) -> list[Path]:
    """Every `every`-th paper's folder of the mirror."""
    root = Path(os.environ.get("OTB_SHARED", "../shared")) / "ministry" / "files"
    return sorted(path.parent for path in root.glob("*/*/*/Q.pdf"))[::every]


def pair_of(folder: Path) -> Pair | None:
    """(question paper, the key that counts, the first key when that is another); None without a key."""
    first, corrected = (folder / name for name in ("S.pdf", "M.pdf"))
    if corrected.exists():
        return folder / "Q.pdf", corrected, first if first.exists() else None
    return (folder / "Q.pdf", first, None) if first.exists() else None


def parse(folder: Path) -> None:
    """Everything the track reads of a folder; a paper without a key is read as far as its rejection."""
    pair = pair_of(folder)
    if pair:
        parse_paper(*pair)
        return
    with suppress(PaperRejected):
        read_questions(folder / "Q.pdf")


def bare(folder: Path) -> None:
    """PyMuPDF's own extraction of the same files, its result thrown away."""
    for path in sorted(folder.glob("*.pdf")):
        with pymupdf.open(path) as document:
            for page in document:
                page.get_text("rawdict")


def cpu_seconds(work: Callable[[Path], None], folder: Path) -> float:
    """CPU seconds of one call."""
    start = time.process_time()
    work(folder)
    return time.process_time() - start


def one_process(given: Sequence[Path]) -> None:
    """Print both times and their ratio."""
    totals = {parse: 0.0, bare: 0.0}
    for turn, folder in enumerate(given):
        for work in (parse, bare) if turn % 2 else (bare, parse):
            totals[work] += cpu_seconds(work, folder)
    files = sum(len(list(folder.glob("*.pdf"))) for folder in given)
    print(f"one process, {files} files of {len(given)} papers (CPU seconds)")
    print(f"  get_text('rawdict')  {totals[bare]:7.2f}")
    print(f"  parse                {totals[parse]:7.2f}  ratio {totals[parse] / totals[bare]:.2f} (limit 1.6)")


def several_processes(given: Sequence[Path], processes: int) -> None:
    """Print the wall time with one and with several workers."""
    pairs = [pair for pair in map(pair_of, given) if pair]
    seconds = {}
    for count in (1, processes):
        start = time.perf_counter()
        for _ in parse_pairs(pairs, count):
            pass
        seconds[count] = time.perf_counter() - start
        print(f"{count} process(es), {len(pairs)} pairs: {seconds[count]:.2f} s wall")
    print(f"  {seconds[1] / seconds[processes]:.2f} times as fast with {processes} (perfect: {processes})")


def main() -> None:
    """Run both measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="take every n-th paper only")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    given = folders(options.every)
    if not given:
        print("no papers: set OTB_SHARED to the folder that holds ministry/")
        return
    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    one_process(given)
    if options.processes > 1:
        several_processes(given, options.processes)


if __name__ == "__main__":
    main()
