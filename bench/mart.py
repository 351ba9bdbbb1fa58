"""How long the mart takes to build, how large it is, and how long each analyst's question takes.

    python -m bench.mart [--models 110] [--items 23717] [--subjects 148] [--keep FOLDER]

Every run is invented (tests/support/mart_rows.py). Beside the build stands a bare limit of the same run: DuckDB
alone counting the right answers of every model and subject from the same Parquet files. Read CPU seconds and ratios:
the wall time of a shared machine is noisy. Memory is the largest resident size of the dbt process. The questions are
those of docs/analysts.md, each asked with a fresh connection (opening included) and again with a warm one.
"""

from __future__ import annotations

import argparse
import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import duckdb

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.mart_rows import Board, fill  # noqa: E402

from opentwbench.evaluation.mart import DATABASE, EXPORT, open_mart  # noqa: E402
from resources.warehouse import Warehouse  # noqa: E402

ROUNDS = 7

BARE = """
SELECT r.run_id, i.subject, count(*) AS n, count(*) FILTER (WHERE strict_outcome = 'correct') AS hits
FROM read_parquet('{raw}/responses/*.parquet') AS r JOIN read_parquet('{raw}/items.parquet') AS i USING (item_id)
GROUP BY ALL
"""

QUESTION = re.compile(r"^### (\d+\. .+?)\n.*?```sql\n(.*?)```", re.M | re.S)


def measured(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds (child processes included) of a piece of work."""
    before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    own = time.process_time()
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    children = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - wall, time.process_time() - own + children


def bare(raw: Path) -> None:
    """The limit: every model and subject counted straight from the files."""
    with duckdb.connect(config={"threads": 2}) as connection:
        connection.execute(BARE.format(raw=raw)).fetchall()


def milliseconds(work: Callable[[], object]) -> float:
    """Median of ROUNDS."""
    taken = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return 1000 * median(taken)


def fresh(folder: Path, query: str) -> None:
    with open_mart(folder) as connection:
        connection.execute(query).fetchall()


def size(path: Path) -> int:
    """Bytes of a file, or of every file of a folder."""
    return path.stat().st_size if path.is_file() else sum(each.stat().st_size for each in path.rglob("*.parquet"))


def run(folder: Path, board: Board) -> None:
    """Fill, build and ask; prints a table."""
    house = Warehouse(folder)
    wall, cpu = measured(lambda: fill(house.raw, board).write())
    rows = board.models * board.items
    print(f"{board.models} models x {board.items:,} items = {rows:,} responses in {board.subjects} subjects")
    print(f"raw tables written      {wall:7.1f} s  CPU {cpu:7.1f} s   {size(house.raw) / 1e6:8.1f} MB of Parquet")
    limit_wall, limit_cpu = measured(lambda: bare(house.raw))
    print(f"bare DuckDB count       {limit_wall:7.1f} s  CPU {limit_cpu:7.1f} s")
    first_wall, first_cpu = measured(house.build)
    again_wall, again_cpu = measured(house.build)
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"build, tests and swap   {first_wall:7.1f} s  CPU {first_cpu:7.1f} s   {first_cpu / limit_cpu:8.1f} x bare")
    print(f"the same again          {again_wall:7.1f} s  CPU {again_cpu:7.1f} s   {again_cpu / limit_cpu:8.1f} x bare")
    print(f"memory of dbt           {memory:7.0f} MB")
    print(
        f"{DATABASE}     {size(folder / DATABASE) / 1e6:8.1f} MB; Parquet export {size(folder / EXPORT) / 1e6:.1f} MB"
    )
    print(f"{'question':<88}{'fresh ms':>9}{'warm ms':>9}{'rows':>8}")
    questions = QUESTION.findall((ROOT / "docs" / "analysts.md").read_text(encoding="utf-8"))
    with open_mart(folder) as connection:
        for title, query in questions:
            count = len(connection.execute(query).fetchall())
            opened = milliseconds(lambda query=query: fresh(folder, query))
            warm = milliseconds(lambda query=query: connection.execute(query).fetchall())
            print(f"{title[:86]:<88}{opened:9.1f}{warm:9.1f}{count:8,}")


def main() -> None:
    """Arguments and a folder to work in."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=110)
    parser.add_argument("--items", type=int, default=23_717)
    parser.add_argument("--subjects", type=int, default=148)
    parser.add_argument("--keep", type=Path, help="build here and leave it, instead of a temporary folder")
    given = parser.parse_args()
    board = Board(given.models, given.items, given.subjects)
    if given.keep:
        run(given.keep, board)
        return
    with tempfile.TemporaryDirectory(prefix="otb-mart-") as folder:
        run(Path(folder) / "warehouse", board)


if __name__ == "__main__":
    main()
