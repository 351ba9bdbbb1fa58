"""Detectors of failures in free text on native text (the Taiwan.md corpus), and our characters in OpenCC's.

What fires there is counted, not excused: a few are slips of the corpus, quotations, or names that it romanises itself.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from opentwbench.apparatus.detectors import DETECTORS, SIMPLIFIED, each
from opentwbench.apparatus.loops import loop

SHARED = Path(os.environ.get("OTB_SHARED", "../shared"))
CORPUS, LEXICON = SHARED / "taiwan-md" / "knowledge", SHARED / "lexicon" / "simplified_only_S3.json"

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not CORPUS.is_dir() or not LEXICON.is_file(), reason=f"no corpus or lexicon under {SHARED}"),
]

MOST = {"minguo": 0, "glyphs": 20, "simplified": 45, "romanised": 40}
"""Paragraphs that may fire, of more than 100,000 (measured: 0, 18, 40, 34 of 123,256). Of the glyphs 15 are decoding
faults of the corpus and 3 describe an ideograph in a book's title; the Simplified ones are slips and quoted titles."""


def paragraphs() -> list[str]:
    files = sorted(CORPUS.rglob("*.md"))
    return [line for file in files for line in file.read_text(encoding="utf-8", errors="replace").split("\n")]


def test_native_paragraphs_are_left_alone() -> None:
    found: Counter[str] = Counter()
    read = paragraphs()
    for paragraph in read:
        found.update(name for name, _ in each(paragraph))
    assert len(read) > 100_000
    assert {name: found[name] for name in DETECTORS if found[name] > MOST[name]} == {}


def test_no_native_article_ends_in_a_loop() -> None:
    read = [file.read_text(encoding="utf-8", errors="replace") for file in sorted(CORPUS.rglob("*.md"))]
    assert len(read) > 600
    assert sum(loop(text) is not None for text in read) == 0


def test_every_character_is_simplified_only_for_opencc_too() -> None:
    assert SIMPLIFIED - set(json.loads(LEXICON.read_text(encoding="utf-8"))) == set()
