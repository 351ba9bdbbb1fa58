"""What reading a reply costs, method by method, and whether a hostile reply costs more than its length.

    python -m bench.extraction

Two tables from one run. The first is CPU time a reply for replies as models write them, beside a bare limit of the same
run: one pass of one regular expression over the same text. Read the ratios. The second is the growth of the cost when
the reply grows eightfold, the largest over hostile replies: 8 is in step with the length, 64 would be quadratic.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

from opentwbench.evaluation.extraction import METHODS, read

BARE = re.compile(r"[A-D](?=\})")

REPLIES = {
    "a box": "\\boxed{C}",
    "3,000 characters and a box": "這題考的是憲法增修條文。" * 250 + "答案是 \\boxed{C}",
    "12,000 characters of thought and a box": "<think>" + "先看 (A)，不對；再看 (B)。" * 750 + "</think>\n\\boxed{C}",
    "8,000 characters without a box": "這題考的是憲法 (A) 不對 DNA. " * 400,
}

HOSTILE = (
    "\\", "\\boxed{", "\\boxed{ ", "\\boxed   ", " ", "\n", "答", "答案: ", "選 ", "正確的答案應該是:", "{", "(", "A",
    "İ", "<think>", "</think>", "<think ", "<think></think>\\boxed{",
)  # fmt: skip
SIZES = (50_000, 400_000)
ROUNDS = 5


def cpu(call: Callable[[], Any]) -> float:
    """CPU seconds of one call: the best of some rounds, each long enough for the clock."""
    best = float("inf")
    for _ in range(ROUNDS):
        calls, start = 0, time.process_time()
        while time.process_time() - start < 0.01:
            call()
            calls += 1
        best = min(best, (time.process_time() - start) / calls)
    return best


def main() -> None:
    """Both tables."""
    print(f"{'reply':42}{'bare µs':>9}" + "".join(f"{name:>17}" for name in METHODS))
    for name, text in REPLIES.items():
        bare = cpu(lambda text=text: BARE.search(text))
        costs = [cpu(lambda method=method, text=text: read(method, text)) for method in METHODS]
        print(f"{name:42}{1e6 * bare:9.1f}" + "".join(f"{1e6 * c:8.1f} ({c / bare:5.1f} x)" for c in costs))
    print(f"\nhostile: growth from {SIZES[0]:,} to {SIZES[1]:,} characters, the largest of {len(HOSTILE)} replies")
    for method in METHODS:
        growth = []
        for piece in HOSTILE:
            small, large = (cpu(lambda n=n: read(method, piece * (n // len(piece)))) for n in SIZES)  # noqa: B023
            growth.append((large / small, piece))
        most, piece = max(growth)
        print(f"  {method:18}{most:6.1f} x  at {piece!r}")


if __name__ == "__main__":
    main()
