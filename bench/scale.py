"""How many bytes a store holds for each paper, item and response, and what that makes of many more of them.

    python -m bench.scale STORE [--models 1000] [--items 2000000] [--json]

STORE is a folder with at least one publication and one run (`make demo` leaves demo/store). Bytes are counted, nothing
is timed. The projection multiplies: it says what a product weighs if nothing else changes, not that it works; where it
stops working is in docs/scale.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Weight:
    """One kind of product: how many units it holds, in how many bytes."""

    product: str
    unit: str
    units: int
    size: int

    @property
    def each(self) -> float:
        """Bytes a unit; 0 when there is none."""
        return self.size / self.units if self.units else 0.0


def lines(paths: list[Path]) -> int:
    """Lines of some files."""
    return sum(path.read_bytes().count(b"\n") for path in paths)


def size(paths: list[Path]) -> int:
    """Bytes of some files."""
    return sum(path.stat().st_size for path in paths)


def weights(store: Path) -> list[Weight]:
    """Every product that grows with papers, items or responses."""
    found = {
        "published": sorted(store.glob("publications/*/*")),
        "rows": sorted(store.glob("publications/*/benchmark.jsonl")),
        "items": sorted(store.glob("items/*.jsonl")),
        "papers": sorted(store.glob("papers/*.jsonl")),
        "cache": sorted(path for path in store.glob("cache/**/*") if path.is_file()),
        "journals": sorted(store.glob("runs/*/responses.jsonl")),
        "raw": sorted(store.glob("warehouse/raw/responses/*.parquet")),
    }
    items, papers, responses = (lines(found[name]) for name in ("rows", "papers", "journals"))
    return [
        Weight("publications/ (JSONL, CSV, card, manifest)", "published item", items, size(found["published"])),
        Weight("items/ (every printed question)", "printed question", lines(found["items"]), size(found["items"])),
        Weight("papers/ (parse records)", "paper", papers, size(found["papers"])),
        Weight("cache/ (PDFs and parsed records)", "paper", papers, size(found["cache"])),
        Weight("runs/ (journals)", "response", responses, size(found["journals"])),
        Weight("warehouse/raw/responses/ (Parquet)", "response", responses, size(found["raw"])),
    ]


def projected(found: list[Weight], models: int, items: int) -> dict[str, float]:
    """Product -> GB for so many models and published items, papers and questions in the store's own proportion."""
    published = next(each.units for each in found if each.unit == "published item")
    counts = {each.unit: items * each.units / published for each in found if each.unit != "response"}
    counts["response"] = float(models) * items
    return {each.product: each.each * counts[each.unit] / 1e9 for each in found if each.units}


def main() -> int:
    """Print the table; status 1 for a store without an item or a response."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--models", type=int, default=1_000)
    parser.add_argument("--items", type=int, default=2_000_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = weights(options.store)
    if not all(each.units for each in found if each.unit in ("published item", "response")):
        print(f"{options.store}: no published item or no response", file=sys.stderr)
        return 1
    weight = projected(found, options.models, options.items)
    if options.json:
        print(json.dumps({each.product: [each.units, each.size, weight.get(each.product)] for each in found}))
        return 0
    print(f"{'':45}{'units':>9}{'bytes each':>12}{f'{options.models} x {options.items}':>18}")
    for each in found:
        print(f"{each.product:45}{each.units:>9}{each.each:>12.1f}{weight.get(each.product, 0):>15.1f} GB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
