"""A benchmark in splits, made by the project, with the properties of the published audit of TMMLU+ in small.

The published figures (the paper, section 2) and the small ones, about a hundredth: 23,072 rows and 231; 821 duplicate
groups of 1,720 rows and 8 of 17; 322 conflicts by letter, 321 false and 1 true, and 3, 2 false and 1 true; 431 groups
across splits and 4; 136 of 20,160 test items in another split and 2 of 202.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

NAMES = ("question", "A", "B", "C", "D", "answer")


@dataclass(frozen=True)
class Line:
    """One row of a split."""

    subject: str
    split: str
    question: str
    options: tuple[str, str, str, str]
    answer: str

    def turned(self, places: int, **changes: str) -> Line:
        """The same question with its options moved on and the same answer text."""
        options = self.options[places:] + self.options[:places]
        text = self.options["ABCD".index(self.answer)]
        turned = replace(self, options=options, answer="ABCD"[options.index(text)])
        return replace(turned, **changes)  # type: ignore[arg-type]

    def record(self) -> dict[str, str]:
        return dict(zip(NAMES, (self.question, *self.options, self.answer), strict=True))


def line(number: int, split: str, subject: str = "law") -> Line:
    """Row number n: texts that no other number has, the key moving through the letters."""
    options = tuple(f"敘述{letter}{number}" for letter in "甲乙丙丁")
    return Line(subject, split, f"第 {number} 題：下列何者正確？", options, "ABCD"[number % 4])  # type: ignore[arg-type]


def small_tmmlu() -> list[Line]:
    """231 rows: 202 test, 14 validation, 10 train and 5 dev; the first seventeen are the duplicate groups."""
    one, two, three, four, five, six, seven, eight = (line(n, "test") for n in range(8))
    planted = [
        *(one, one),  # the same row twice
        *(two, two.turned(1)),  # false: another letter, the same answer text
        *(three, replace(three, subject="civics"), replace(three, question="第 2 題: 下列何者 正確?")),
        *(four, replace(four, split="train", answer="A")),  # true, and a leak into train
        *(five, five.turned(2, split="val", question="第 4 題：下列何者，正確？")),  # false, and a leak into val
        *(replace(six, split="train"), replace(six, split="val")),  # across splits and no leak
        *(replace(seven, split="val"), replace(seven, split="dev", subject="civics")),
        *(eight, eight),
    ]
    sizes = {"test": 191, "val": 11, "train": 8, "dev": 4}
    single = [
        line(1_000 * place + n, split, "civics" if n % 2 else "law")
        for place, (split, size) in enumerate(sizes.items(), start=1)
        for n in range(size)
    ]
    # One stem with two sets of options.
    single[1] = replace(single[1], question=single[0].question)
    return planted + single


def write_splits(folder: Path, lines: Iterable[Line], suffix: str = "csv") -> Path:
    """The rows as TMMLU+ lays them out: data/<subject>_<split>.<suffix>."""
    files: dict[str, list[dict[str, str]]] = defaultdict(list)
    for each in lines:
        files[f"{each.subject}_{each.split}"].append(each.record())
    for name, records in files.items():
        write_table(folder / "data" / f"{name}.{suffix}", records)
    return folder


def write_table(path: Path, records: list[dict[str, str]]) -> None:
    """Records with the same keys as CSV, JSONL or Parquet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(records[0]))
            writer.writeheader()
            writer.writerows(records)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in records), encoding="utf-8")
    else:
        pl.DataFrame(records).write_parquet(path)


def counted(lines: Iterable[Line]) -> dict[str, int]:
    """The figures of an audit by plain counting over rows that differ in order of options alone: no fold, no frame."""
    groups: dict[tuple[str, tuple[str, ...]], list[Line]] = defaultdict(list)
    for each in lines:
        groups[each.question, tuple(sorted(each.options))].append(each)
    several = [rows for rows in groups.values() if len(rows) > 1]
    letters = [len({row.answer for row in rows}) > 1 for rows in several]
    texts = [len({row.options["ABCD".index(row.answer)] for row in rows}) > 1 for rows in several]
    stems: dict[str, list[int]] = defaultdict(list)
    for (question, _), rows in groups.items():
        stems[question].append(len(rows))
    shared = [sizes for sizes in stems.values() if len(sizes) > 1]
    leaked = [sum(row.split == "test" for row in rows) for rows in several if any(row.split != "test" for row in rows)]
    return {
        "rows": sum(map(len, groups.values())),
        "groups": len(several),
        "duplicated": sum(map(len, several)),
        "conflicts_by_letter": sum(letters),
        "conflicts_by_text": sum(texts),
        "false_conflicts": sum(a and not b for a, b in zip(letters, texts, strict=True)),
        "true_conflicts": sum(a and b for a, b in zip(letters, texts, strict=True)),
        "hidden_conflicts": sum(b and not a for a, b in zip(letters, texts, strict=True)),
        "across_splits": sum(len({row.split for row in rows}) > 1 for rows in several),
        "test_items": sum(row.split == "test" for rows in groups.values() for row in rows),
        "leaked": sum(leaked),
        "same_stem_stems": len(shared),
        "same_stem_rows": sum(map(sum, shared)),
    }
