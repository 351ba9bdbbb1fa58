"""How long the duplicate audit takes and how much memory, beside reading the same files alone, in the same run.

    python -m bench.duplicate_audit [--rows 250000] [--format jsonl]

The corpus is invented: as many rows as asked in test, train, val and dev files of up to 25,000 rows, one row in ten a
reprint with its options in another order. Each measurement runs in a process of its own; memory is its largest resident
size, of which an empty process with the same imports is shown as well. Read CPU seconds and ratios: the wall time of a
shared machine is noisy.
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
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from opentwbench.exam.duplicate_audit import COLUMNS, audit_folder
from opentwbench.exam.split_files import list_files, read_files

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
    return f"{sum(1 for _, rows in read_files(list_files(folder)[0], COLUMNS) for _ in rows):,} rows"


def auditing(folder: Path) -> str:
    """The whole audit."""
    figures = audit_folder(folder).figures
    return (
        f"{figures.compared:,} rows, {figures.groups:,} groups of {figures.duplicated:,} rows, "
        f"{figures.conflicts_by_letter:,} conflicts by letter, {figures.true_conflicts} true, "
        f"{figures.leaked:,} of {figures.test_items:,} test items in another split"
    )


@dataclass(frozen=True)
class Cost:
    """What a piece of work took."""

    seconds: float
    cpu: float
    mebibytes: float
    words: str


def measure(work: Callable[[Path], str], folder: Path) -> Cost:
    """The cost of a piece of work in a process of its own; Parquet's decoder is a process beside it."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measured, work, folder).result()


def _measured(work: Callable[[Path], str], folder: Path) -> Cost:
    start, start_cpu = time.perf_counter(), time.process_time()
    words = work(folder)
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Cost(time.perf_counter() - start, time.process_time() - start_cpu, largest, words)


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
            empty, bare, ours = (measure(work, folder) for work in (nothing, reading, auditing))
        print(ours.words)
        print(
            f"  audit {ours.seconds:.1f} s ({ours.cpu:.1f} s CPU, {ours.cpu / rows * 1e6:.0f} us a row); "
            f"reading alone {bare.seconds:.1f} s ({bare.cpu:.1f} s CPU); ratio {ours.cpu / bare.cpu:.1f}; "
            f"{ours.mebibytes:.0f} MiB, of which {empty.mebibytes:.0f} MiB imports"
        )


if __name__ == "__main__":
    main()
