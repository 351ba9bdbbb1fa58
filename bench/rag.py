"""Retrieval over Traditional Chinese and the data set tw-rag-bench, measured in one run.

    python -m bench.rag contexts --corpus FOLDER       a full-size set from scripted drafts: its checks, digest, time
    python -m bench.rag determinism --corpus FOLDER    the same set in two processes with different hash seeds
    python -m bench.rag questions --corpus FOLDER      recall@1/5/10 and MRR of BM25 variants, index and query time
    python -m bench.rag samples --rag FOLDER           the adapters' counts, recall at 5, ceilings, query time

Drafts are made by rule from the windows themselves (a figure with its unit, a title), one a window, so that every key
is a fact that stands in its window; no model has a part in any figure here.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.rag_questions import QUESTIONS
from opentwbench.exam.fingerprint import item_id
from opentwbench.formosa.corpus import read_folder
from opentwbench.formosa.folding import stands_in
from opentwbench.formosa.model import FormosaItem, Window
from opentwbench.formosa.permutation import permuted
from opentwbench.formosa.windows import cut
from opentwbench.rag.adapters import ADAPTERS, read_benchmark
from opentwbench.rag.chunking import Cut
from opentwbench.rag.evidence import Library, recall
from opentwbench.rag.metrics import mean
from opentwbench.rag.model import Passage, Question
from opentwbench.rag.prompts import show
from opentwbench.rag.retrieval.bm25 import Bm25, Index, Tokens
from opentwbench.rag.text import search_tokens
from opentwbench.rag.tw_rag.contexts import of_category
from opentwbench.rag.tw_rag.dataset_checks import CHECKS, run_check
from opentwbench.rag.tw_rag.model import account
from opentwbench.rag.tw_rag.output import FOLDER_NAMES, SLUG, Release, write_release


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
    """A whole set: what is left out, what its twelve checks say over all items, a digest of every byte, time."""
    started = time.perf_counter()
    windows = windows_of(corpus)
    read = time.perf_counter()
    items = list({item.item_id: item for item in drafts(windows)}.values())
    drafted = time.perf_counter()
    made = [of_category(name, items, windows) for name in sorted({window.category for window in windows})]
    ended = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / SLUG
        version = write_release(Release(tuple(made), "0" * 12, "bench"), folder)
        written = time.perf_counter()
        outcomes = {name: run_check(name, folder) for name in CHECKS}
        digest = hashlib.sha256(b"".join((folder / name).read_bytes() for name in FOLDER_NAMES)).hexdigest()[:16]
    judged = time.perf_counter()
    return {
        "windows": len(windows), "account": account(made).to_json(), "version": version, "digest": digest,
        "checks": {name: f"{'ok' if each.passed else 'FAILED'}: {each.detail}" for name, each in outcomes.items()},
        "seconds": {
            "windows": round(read - started, 1), "drafts": round(drafted - read, 1),
            "contexts": round(ended - drafted, 1), "folder": round(written - ended, 1),
            "twelve checks": round(judged - written, 1),
        },
    }  # fmt: skip


SEEDS = ("1", "2718281828")
"""PYTHONHASHSEED of the two processes: sets and dicts of texts are in another order in each."""

_EVERY_FILE = """
import json, sys, tempfile
from pathlib import Path
from bench.rag import full_set
from opentwbench.dataset.publication import folder_hashes
from opentwbench.rag.tw_rag.output import FOLDER_NAMES
with tempfile.TemporaryDirectory() as place:
    version, items = full_set(Path(sys.argv[1]), Path(place) / "set")
    print(json.dumps([hash("臺灣"), version, items, folder_hashes(Path(place) / "set", FOLDER_NAMES)]))
"""


def full_set(corpus: Path, folder: Path) -> tuple[str, int]:
    """Write the whole set from scripted drafts, as `contexts` does; its version and how many items it has."""
    windows = windows_of(corpus)
    items = list({item.item_id: item for item in drafts(windows)}.values())
    made = tuple(of_category(name, items, windows) for name in sorted({window.category for window in windows}))
    return write_release(Release(made, "0" * 12, "bench"), folder), sum(len(each.items) for each in made)


def determinism(corpus: Path) -> dict[str, Any]:
    """The sha256 of every file of the full-size set, from two processes whose hash seeds differ."""
    told = []
    for seed in SEEDS:
        done = subprocess.run(
            [sys.executable, "-c", _EVERY_FILE, str(corpus)],
            env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        told.append(json.loads(done.stdout.splitlines()[-1]))
    (hash_one, *first), (hash_two, *second) = told
    return {
        "hash seeds differ": hash_one != hash_two, "version": first[0], "items": first[1], "files": len(first[2]),
        "files that differ": sorted(name for name in first[2] if first[2][name] != second[2].get(name)),
        "equal": first == second,
    }  # fmt: skip


# -- natural questions ------------------------------------------------------------------------------------------------

VARIANTS: dict[str, Tokens] = {
    "Han unigrams and bigrams": search_tokens,
    "Han bigrams": partial(search_tokens, unigrams=False),
    "Han unigrams": partial(search_tokens, bigrams=False),
    "white space (a default tokenizer)": lambda text: text.lower().split(),
}


def questions(corpus: Path) -> dict[str, Any]:
    """How often the right window is among the first 1, 5 and 10, and the mean reciprocal rank, by variant."""
    windows = windows_of(corpus)
    right = [_right(windows, *asked[1:]) for asked in QUESTIONS]
    found = {name: _variant(windows, tokens, right) for name, tokens in VARIANTS.items()}
    return {"windows": len(windows), "questions": len(QUESTIONS), "variants": found}


def _right(windows: Sequence[Window], answer: str, also: str, article: str) -> frozenset[int]:
    held = frozenset(
        n
        for n, window in enumerate(windows)
        if window.article == article and stands_in(answer, window.text) and stands_in(also, window.text)
    )
    if not held:
        raise SystemExit(f"{article}: no window holds {answer}")
    return held


def _variant(windows: Sequence[Window], tokens: Tokens, right: Sequence[frozenset[int]]) -> dict[str, Any]:
    started = time.perf_counter()
    index = Index.build([f"{window.title}\n{window.text}" for window in windows], tokens)
    built = time.perf_counter()
    ranks = [_rank(index.search(asked[0], 10), wanted) for asked, wanted in zip(QUESTIONS, right, strict=True)]
    ended = time.perf_counter()
    hits = {f"recall@{k}": sum(rank is not None and rank <= k for rank in ranks) / len(ranks) for k in (1, 5, 10)}
    mrr = sum(1 / rank for rank in ranks if rank) / len(ranks)
    return {
        **{name: round(value, 3) for name, value in hits.items()}, "mrr@10": round(mrr, 3),
        "index_seconds": round(built - started, 2), "query_ms": round(1000 * (ended - built) / len(ranks), 2),
    }  # fmt: skip


def _rank(found: Sequence[tuple[int, float]], wanted: frozenset[int]) -> int | None:
    return next((place for place, (n, _) in enumerate(found, 1) if n in wanted), None)


# -- the samples of the public data sets ------------------------------------------------------------------------------


def samples(folder: Path) -> dict[str, Any]:
    """Every adapter over its original files: counts, recall at 5 under 8,000 characters, the ceiling, time."""
    return {name: _sample(name, folder / name) for name in ADAPTERS if (folder / name).is_dir()}


def _sample(name: str, data: Path) -> dict[str, Any]:
    made = read_benchmark(name, data)
    library, started = Library(made.documents), time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        system = Bm25(Path(place) / "bm25", Cut())
        ingested = asyncio.run(system.ingest(made.documents))
        search = system.searcher()
        measured = {
            "recall@5": lambda question: _recall(library, question, search(question.asked, 5)),
            "recall@5, question without its document's name": lambda question: _recall(
                library, question, search(question.question, 5)
            ),
            "ceiling": lambda question: recall(located := library.locate(question), {located.doc_id: ((0, 8_000),)}),
        }
        figures = {label: _mean(map(of, made.questions)) for label, of in measured.items()}
        seconds = time.perf_counter() - started - ingested.seconds
    return {
        "documents": len(made.documents), "rows": made.rows, "questions": len(made.questions),
        "dropped": dict(made.dropped), **figures, "chunks": ingested.chunks,
        "ingest_seconds": round(ingested.seconds, 2), "three_lookups_seconds": round(seconds, 2),
    }  # fmt: skip


def _recall(library: Library, question: Question, passages: Sequence[Passage]) -> float | None:
    return recall(library.locate(question), show(passages, 8_000, library).ranges)


def _mean(values: Iterable[float | None]) -> float | None:
    held = mean([value for value in values if value is not None])
    return None if held is None else round(held, 3)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["contexts", "determinism", "questions", "samples"])
    parser.add_argument("--corpus", type=Path, default=Path("../shared/taiwan-md"))
    parser.add_argument("--rag", type=Path, default=Path("../shared/rag"))
    given = parser.parse_args()
    made = samples(given.rag) if given.what == "samples" else globals()[given.what](given.corpus)
    print(json.dumps(made, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
