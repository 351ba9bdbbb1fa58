"""Retrieval over Traditional Chinese and the data set tw-rag-bench, measured in one run.

    python -m bench.rag contexts --corpus FOLDER       a full-size set from scripted drafts: invariants, spread, time

Drafts are made by rule from the windows themselves (a figure with its unit, a title), one a window, so that every key
is a fact that stands in its window; no model has a part in any figure here.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opentwbench.exam.fingerprint import item_id
from opentwbench.formosa.corpus import read_folder
from opentwbench.formosa.model import FormosaItem, Window
from opentwbench.formosa.permutation import permuted
from opentwbench.formosa.windows import cut
from opentwbench.rag.tw_rag.contexts import of_category
from opentwbench.rag.tw_rag.model import account
from opentwbench.statistics.chi_square import chi_square


def windows_of(corpus: Path) -> list[Window]:
    """The windows of a folder of Taiwan.md."""
    return [window for article in read_folder(corpus).articles for window in cut(article)]


_FACTS = (
    (
        re.compile(
            r"(?<![\d,.])(\d[\d,]*(?:\.\d+)?)\s?(公尺|公里|人|萬人|元|公頃|座|家|年|歲|種|個|次|%)(?!代|前|後|來)"
        ),
        "多少{unit}",
    ),
    (re.compile(r"(《[^《》]{2,20}》)()"), "哪一部作品"),
)
_SENTENCE = re.compile(r"[^。！？\n]{12,90}[。！？]")
_ASKS = re.compile(r"什麼|哪|誰|多少|幾|何|嗎|[？?]|下列")


def drafts(windows: Sequence[Window]) -> list[FormosaItem]:
    """One item a window where a sentence has a fact of these kinds: the sentence asks for it."""
    found = [(window, *fact) for window in windows if (fact := _fact(window))]
    answers = {
        kind: sorted({answer for _, _, answer, other in found if other == kind})
        for kind in ("多少{unit}", "哪一部作品")
    }
    return [_item(window, stem, answer, answers[kind]) for window, stem, answer, kind in found]


def _fact(window: Window) -> tuple[str, str, str] | None:
    for sentence in _SENTENCE.findall(window.text):
        for pattern, asked in _FACTS:
            match = pattern.search(sentence)
            if match is None or _ASKS.search(sentence) or len(pattern.findall(sentence)) > 1:
                continue
            stem = (
                sentence[: match.start()]
                + asked.format(unit=match[2])
                + sentence[match.end() :].rstrip("。！？")
                + "？"
            )
            return stem, match[0].replace(" ", ""), asked
    return None


def _item(window: Window, stem: str, answer: str, others: Sequence[str]) -> FormosaItem:
    start = int(hashlib.sha256(window.window_id.encode()).hexdigest()[:8], 16)
    wrong = [each for n in range(4) if (each := others[(start + n) % len(others)]) != answer][:3]
    options, key = permuted(window.window_id, dict(zip("ABCD", [answer, *wrong], strict=True)), "A")
    return FormosaItem(
        item_id("formosa", stem, options), stem, options, key, window.category, window.article, window.title,
        window.window_id, window.start, window.end, window.url, window.attribution, window.commit, "scripted", "rule",
        "scripted", "",
    )  # fmt: skip


def contexts(corpus: Path) -> dict[str, Any]:
    """A whole set: how long it takes, what is left out, the three invariants, where the gold stands, who is longest."""
    started = time.perf_counter()
    windows = windows_of(corpus)
    read = time.perf_counter()
    items = list({item.item_id: item for item in drafts(windows)}.values())
    drafted = time.perf_counter()
    made = [of_category(name, items, windows) for name in sorted({window.category for window in windows})]
    ended = time.perf_counter()
    rows = [item for each in made for item in each.items]
    longest = sum(_longest_share([len(c.text) for c in row.contexts], row.gold_position - 1) for row in rows)
    positions = [Counter(row.gold_position for row in rows)[n] for n in (1, 2, 3, 4)]
    digest = hashlib.sha256(repr(rows).encode()).hexdigest()[:16]
    return {
        "windows": len(windows), "account": account(made).to_json(), "positions": positions,
        "positions_p": chi_square(positions).p, "gold_longest": longest, "share": longest / len(rows),
        "longest_p": chi_square([longest, len(rows) - longest], [0.25, 0.75]).p, "digest": digest,
        "seconds": {"windows": read - started, "drafts": drafted - read, "contexts": ended - drafted},
    }  # fmt: skip


def _longest_share(sizes: Sequence[int], place: int) -> float:
    top = [n for n, size in enumerate(sizes) if size == max(sizes)]
    return (place in top) / len(top)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["contexts"])
    parser.add_argument("--corpus", type=Path, required=True)
    given = parser.parse_args()
    print(json.dumps(contexts(given.corpus), ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
