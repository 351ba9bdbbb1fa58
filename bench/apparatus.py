"""What the apparatus studies cost that read graded rows, beside reading the same rows and nothing more.

    python -m bench.apparatus [--models 12] [--items 22021] [--subjects 148]

Every run is invented (tests/support/mart_rows.py): one board, reprints, dated models. Read CPU seconds and the ratio to
the bare pass: one pass over every row of every run. Studies of texts and of further runs lack their input here and are
left out. Memory is the largest resident size of this process.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.apparatus import card  # noqa: E402
from support.mart_rows import Board, fill  # noqa: E402

from opentwbench.apparatus.studies import STUDIES, conduct  # noqa: E402
from resources.apparatus import Apparatus  # noqa: E402
from resources.store import Store  # noqa: E402

GROUPS, AGREEING = 31_312, 31_285
KEYS = {
    "scope": "all",
    "groups": GROUPS,
    "agreeing": AGREEING,
    "independent_groups": GROUPS,
    "independent_agreeing": AGREEING,
}
"""The published release: 27 of 31,312 groups disagree."""


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of a piece of work."""
    before = time.process_time()
    work()
    return time.process_time() - before


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=12)
    parser.add_argument("--items", type=int, default=22_021)
    parser.add_argument("--subjects", type=int, default=148)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="otb-bench-") as folder:
        raw = Path(folder) / "warehouse" / "raw"
        raw.mkdir(parents=True)
        fill(raw, Board(given.models, given.items, given.subjects)).write()
        inputs = Apparatus(Store(folder), raw).inputs
        models = sorted({run.facts.model for run in inputs.runs})
        cards = [card(model, released=f"20{24 + n % 3}-0{1 + n % 9}") for n, model in enumerate(models)]
        inputs = replace(inputs, cards=cards, key_figures=[KEYS])
        bare = cpu(lambda: [sum(1 for _ in run.rows) for run in inputs.runs])
        rows = sum(1 for run in inputs.runs for _ in run.rows)
        each = f"{1e6 * bare / rows:.1f} µs a row"
        print(f"{len(inputs.runs)} runs, {rows:,} rows; one bare pass {bare:.1f} s CPU, {each}")
        for name in STUDIES:
            started = time.process_time()
            found = conduct(name, inputs)
            spent = time.process_time() - started
            if found.n:
                print(f"{name:18} {spent:6.1f} s CPU   {spent / bare:5.1f} x the bare pass")
    print(f"largest resident size {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
