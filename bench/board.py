"""What the public site of a full board costs: build seconds, pages, bytes, and the weight of its first page.

    python -m bench.board [--models 110] [--exam 22021] [--formosa 1696] [--subjects 148] [--keep FOLDER]

The mart is invented (tests/support/board_mart.py): two axes, 23,717 items with texts, each with a page in both
languages. Beside the build stands its bare limit of the same run: the same bytes written to the same names by nothing
but file writes. Read CPU seconds and ratios: the wall time of a shared machine is noisy. With --keep the mart stays in
FOLDER, and a second start with the same folder measures the site alone.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.board_mart import Size, fill_board  # noqa: E402

from opentwbench.board.audit import audit  # noqa: E402
from opentwbench.board.site import Written, build_site  # noqa: E402
from opentwbench.evaluation.mart import DATABASE  # noqa: E402
from resources.warehouse import Warehouse  # noqa: E402

FIRST_PAGE_BYTES = 300_000
"""What the issue allows the first page with stylesheet and script."""

Result = TypeVar("Result")


def measured(work: Callable[[], Result]) -> tuple[Result, str, float]:
    """What a piece of work gives, its seconds in words, and its CPU seconds (user and system)."""
    before, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    made = work()
    after = resource.getrusage(resource.RUSAGE_SELF)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return made, f"{time.perf_counter() - wall:7.1f} s  CPU {user:6.1f} + {system:5.1f} s", user + system


def copied(site: Path, out: Path) -> float:
    """The bare limit: every file of the site, read before, written again under its name; its CPU seconds."""
    files = {path.relative_to(site): path.read_bytes() for path in site.rglob("*") if path.is_file()}

    def write() -> int:
        for name, data in files.items():
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            (out / name).write_bytes(data)
        return len(files)

    n, words, cpu = measured(write)
    print(f"bare writes             {words}   {n:,} files")
    return cpu


def run(folder: Path, size: Size) -> None:
    """Fill and build the mart where it is not kept, render twice, audit; prints a table."""
    house = Warehouse(folder / "warehouse")
    if not (house.folder / DATABASE).exists():
        fill_board(house.raw, size)
        _, words, _ = measured(house.build)
        print(f"mart                    {words}   (dbt's own CPU is not in it)")
    site = folder / "site"
    shutil.rmtree(site, ignore_errors=True)
    made, first, cpu = measured(lambda: build_site(house.folder, site))
    tell(made, site)
    print(f"site, built             {first}   {1000 * cpu / made.pages:.2f} ms CPU a page")
    _, again, _ = measured(lambda: build_site(house.folder, site))
    print(f"site, replaced          {again}")
    bare = copied(site, folder / "bare")
    print(f"the build costs {cpu / bare:.1f} times the bare writes")
    _, removed, _ = measured(lambda: shutil.rmtree(folder / "bare"))
    print(f"the same files removed  {removed}")
    found, looked, _ = measured(lambda: audit(site))
    print(f"audit                   {looked}   {found.links:,} links, {found.count} problems")
    print(f"memory                  {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:7.0f} MB at most")
    if made.first_page_bytes >= FIRST_PAGE_BYTES or not found.whole:
        sys.exit(1)


def tell(made: Written, site: Path) -> None:
    """Counts and weights."""
    print(f"{made.pages:,} pages of {made.items:,} items, {made.charts} charts, {made.bytes / 1e6:.1f} MB")
    print(f"first page with stylesheet and script {made.first_page_bytes / 1000:.0f} kB (allowed: 300 kB)")
    kinds: Counter[str] = Counter()
    heaviest: dict[str, int] = {}
    for path in (site / "zh").rglob("*.html"):
        kind = path.relative_to(site / "zh").parts[0]
        kinds[kind] += path.stat().st_size
        heaviest[kind] = max(heaviest.get(kind, 0), path.stat().st_size)
    for kind, total in kinds.most_common(8):
        print(f"  {kind:<22} {total / 1e6:8.1f} MB, heaviest page {heaviest[kind] / 1000:6.0f} kB")


def main() -> None:
    """Arguments and a folder to work in."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=110)
    parser.add_argument("--exam", type=int, default=22_021)
    parser.add_argument("--formosa", type=int, default=1_696)
    parser.add_argument("--subjects", type=int, default=148)
    parser.add_argument("--keep", type=Path, help="work here and leave it, instead of a temporary folder")
    given = parser.parse_args()
    size = Size(given.models, given.exam, given.subjects, given.formosa)
    if given.keep:
        run(given.keep, size)
        return
    with tempfile.TemporaryDirectory(prefix="otb-board-") as folder:
        run(Path(folder), size)


if __name__ == "__main__":
    main()
