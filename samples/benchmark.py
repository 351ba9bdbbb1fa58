"""The sample items as a benchmark.jsonl: what a model can be asked when nothing has been built yet.

The texts are those of items/*.csv, without what is planted to be excluded. They never passed the platform's checks and
carry only the columns that asking needs.
"""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path

ITEMS = Path(__file__).resolve().parent / "items"
SUBJECTS = {
    "chinese": "chinese-language",
    "computing": "computer-science",
    "constitution": "roc-constitution",
    "law": "legal-knowledge",
    "library": "library-science",
    "medicine": "medicine",
}
"""File -> the key of the subject, as it begins an item id."""


def benchmark_bytes() -> bytes:
    """JSON lines in the order of subjects taken in turn, so that the first few already are of every subject."""
    rows = {name: _rows(name, key) for name, key in SUBJECTS.items()}
    longest = max(map(len, rows.values()))
    ordered = [of[n] for n in range(longest) for of in rows.values() if n < len(of)]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ordered).encode()


def _rows(name: str, key: str) -> list[dict[str, str]]:
    with (ITEMS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [_row(record, key) for record in csv.DictReader(file)]


def _row(record: dict[str, str], key: str) -> dict[str, str]:
    texts = {"question": record["stem"], **{letter: record[letter] for letter in "ABCD"}}
    digest = hashlib.sha256("\0".join(texts.values()).encode()).hexdigest()[:12]
    return {**texts, "answer": record["key"], "item_id": f"{key}-{digest}"}
