"""How long the duplicate audit takes and how much memory, beside reading the same files alone, in the same run.

    python -m bench.duplicate_audit [--rows 250000] [--format jsonl]

The corpus is invented: as many rows as asked in test, train, val and dev files of up to 25,000 rows, one row in ten a
reprint with its options in another order. Each measurement runs in a process of its own; memory is its largest resident
size, of which an empty process with the same imports is shown as well. Read the ratios: a shared machine is noisy.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl

from opentwbench.exam.duplicate_audit import COLUMNS, audit_folder
from opentwbench.exam.split_files import list_files, read_rows

NAMES = ("question", "A", "B", "C", "D", "answer")
SPLITS = ("test",) * 17 + ("val", "train", "dev")
ROWS_A_FILE = 25_000
_WORDS = (
    *(
        "下列",
        "何者",
        "為",
        "正確",
        "錯誤",
        "依",
        "民法",
        "規定",
        "之",
        "行政機關",
        "裁量",
        "血管",
        "病人",
        "最適當",
        "的",
    ),
    *(
        "治療",
        "濃度",
        "10.5",
        "mg/dL",
        "CO2",
        "關於",
        "敘述",
        "，",
        "、",
        "應",
        "由",
        "主管機關",
        "核定",
        "臺北",
        "會計",
    ),
)


def invented(rows: int) -> Iterator[list[str]]:
    """Rows with about 40 characters a stem and 15 an option; every tenth repeats an earlier one."""
    draw = random.Random(7)
    kept: list[list[str]] = []
    for number in range(rows):
        if number % 10 == 9:
            stem, *options, answer = kept[draw.randrange(len(kept))]
            key = options["ABCD".index(answer)]
            draw.shuffle(options)
            yield [stem, *options, "ABCD"[options.index(key)]]
            continue
        stem = "".join(draw.choices(_WORDS, k=20)) + f"{number}？"
        row = [stem, *("".join(draw.choices(_WORDS, k=6)) + str(n) for n in range(4)), draw.choice("ABCD")]
        if number % 10 == 0:
            kept.append(row)
        yield row


def write_corpus(folder: Path, rows: int, suffix: str) -> None:
    """The rows in files of ROWS_A_FILE, dealt to the splits in turn."""
    waiting: list[list[str]] = []
    number = 0
    for row in invented(rows):
        waiting.append(row)
        if len(waiting) == min(ROWS_A_FILE, max(1, rows // len(SPLITS))):
            _write(folder / f"subject{number}_{SPLITS[number % len(SPLITS)]}.{suffix}", waiting)
            waiting, number = [], number + 1
    if waiting:
        _write(folder / f"subject{number}_{SPLITS[number % len(SPLITS)]}.{suffix}", waiting)


def _write(path: Path, rows: list[list[str]]) -> None:
    if path.suffix == ".parquet":
        pl.DataFrame(rows, schema=list(NAMES), orient="row").write_parquet(path)
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".csv":
            writer = csv.writer(file)
            writer.writerow(NAMES)
            writer.writerows(rows)
        else:
            file.writelines(json.dumps(dict(zip(NAMES, row, strict=True)), ensure_ascii=False) + "\n" for row in rows)


def nothing(folder: Path) -> str:
    """The imports alone."""
    return ""


def reading(folder: Path) -> str:
    """Every row read and checked, none folded."""
    return f"{sum(1 for file in list_files(folder)[0] for _ in read_rows(file, COLUMNS)):,} rows"


def auditing(folder: Path) -> str:
    """The whole audit."""
    figures = audit_folder(folder).figures
    return (
        f"{figures.compared:,} rows, {figures.groups:,} groups of {figures.duplicated:,} rows, "
        f"{figures.conflicts_by_letter:,} conflicts by letter, {figures.true_conflicts} true, "
        f"{figures.leaked:,} of {figures.test_items:,} test items in another split"
    )


def measure(work: Callable[[Path], str], folder: Path) -> tuple[float, float, str]:
    """Seconds, largest resident size in MiB, and what the work says, in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (work, folder))


def _measured(work: Callable[[Path], str], folder: Path) -> tuple[float, float, str]:
    start = time.perf_counter()
    words = work(folder)
    return time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, words


def main() -> None:
    """Measure at the size asked and at a quarter of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=250_000)
    parser.add_argument("--format", choices=("csv", "jsonl", "parquet"), default="csv")
    options = parser.parse_args()
    for rows in (options.rows // 4, options.rows):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_corpus(folder, rows, options.format)
            _, empty, _ = measure(nothing, folder)
            bare, _, _ = measure(reading, folder)
            seconds, memory, words = measure(auditing, folder)
        print(words)
        print(
            f"  audit {seconds:.1f} s, {seconds / rows * 1e6:.0f} us a row; reading alone {bare:.1f} s, "
            f"ratio {seconds / bare:.1f}; {memory:.0f} MiB, of which {empty:.0f} MiB imports"
        )


if __name__ == "__main__":
    main()
