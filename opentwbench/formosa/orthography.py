"""Simplified-only characters and mainland vocabulary in a text, under lists that are given.

What belongs here: the lexicon's files, contexts in which a hit is allowed. What does not: which draft is judged.
Source: facts on the screens calibrated on Taiwan.md. The lists are data with licences of their own (OpenCC Apache-2.0,
Taiwan.md CC BY-SA 4.0) and are read from a folder; `OWN` is a small list of the project's own, for its samples.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opentwbench.dataset.model import DatasetError

SIMPLIFIED_FILE, TERMS_FILE = "simplified_only_S3.json", "calibrated_mainland_terms.json"
MAX_BYTES = 2_000_000
MAX_TERM = 40

WARNINGS = ("網絡", "質量", "信息", "打印", "數據", "智能", "水平", "優化", "默認", "渠道", "支持")
"""Words that both sides use in some sense: reported, never a reason to exclude."""
ALLOWED = ("弁当", "王添灯", "糍", "腭", "个儕", "个人客")
"""Where a Simplified-only character is no slip: a Japanese word, a name, Hakka characters, an anatomical term."""
TRAPS = {
    "視頻": ("電視頻",),
    "算法": ("演算法", "計算法"),
    "博客": ("博客來",),
    "初中": ("當初中",),
    "航天": ("慈航天",),
    "外賣": ("對外賣",),
    "土豆": ("土豆仁", "土豆糖", "土豆粉"),
}
"""Term -> longer words that hold it by accident. They come on top of the list's own exceptions."""
_MENTIONS = (("「", "」"), ("『", "』"), ("《", "》"), ("〈", "〉"))


@dataclass(frozen=True, slots=True)
class Lexicon:
    """What is looked for."""

    simplified: frozenset[str]
    terms: Mapping[str, tuple[str, ...]]
    """Mainland term -> longer words in which it is none."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One character or term at a place; `allowed` says why it is no ground to exclude, '' that it is one."""

    found: str
    place: int
    allowed: str = ""


OWN = Lexicon(
    frozenset("为们这说时发关东车学习飞话说"),
    {"軟件": (), "視頻": (), "出租車": (), "公交車": (), "土豆絲": (), "幼兒園教師證": (), "互聯網": ()},
)


def read_lexicon(folder: Path) -> Lexicon:
    """The lists of a folder; raises DatasetError naming the file and what is wrong with it."""
    characters = _json(folder / SIMPLIFIED_FILE)
    if not isinstance(characters, list) or not all(isinstance(each, str) and len(each) == 1 for each in characters):
        raise DatasetError(f"{SIMPLIFIED_FILE}: not a list of single characters")
    terms = _json(folder / TERMS_FILE)
    if not isinstance(terms, dict):
        raise DatasetError(f"{TERMS_FILE}: not an object")
    return Lexicon(frozenset(characters), {term: _exceptions(term, about) for term, about in terms.items()})


def _exceptions(term: str, about: Any) -> tuple[str, ...]:
    listed = about.get("except") if isinstance(about, dict) else None
    if not 0 < len(term) <= MAX_TERM or not isinstance(listed, list) or not all(isinstance(x, str) for x in listed):
        raise DatasetError(f"{TERMS_FILE}: {term[:MAX_TERM]!r} needs a list under 'except'")
    return tuple(listed)


def _json(path: Path) -> Any:
    try:
        with path.open("rb") as source:
            data = source.read(MAX_BYTES + 1)
    except OSError as error:
        raise DatasetError(f"{path.name}: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise DatasetError(f"{path.name}: more than {MAX_BYTES} bytes")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{path.name}: no JSON") from error


def simplified(text: str, lexicon: Lexicon) -> list[Hit]:
    """Simplified-only characters of a text in order."""
    hits = [Hit(char, place) for place, char in enumerate(text) if char in lexicon.simplified]
    return [Hit(hit.found, hit.place, _within(text, hit, ALLOWED) or _japanese(text, hit)) for hit in hits]


def mainland(text: str, lexicon: Lexicon) -> list[Hit]:
    """Mainland terms of a text in order: none inside a longer local word; one mentioned in brackets is allowed."""
    hits = []
    for term, exceptions in lexicon.terms.items():
        for place in places(text, term):
            hit = Hit(term, place)
            if not _within(text, hit, (*exceptions, *TRAPS.get(term, ()))):
                hits.append(Hit(term, place, _mentioned(text, hit)))
    return sorted(hits, key=lambda hit: hit.place)


def warnings(text: str) -> list[Hit]:
    """Words of `WARNINGS` in a text."""
    return [Hit(word, place, "both sides use it") for word in WARNINGS for place in places(text, word)]


def slips(text: str, lexicon: Lexicon) -> list[str]:
    """What the screen finds wrong with a text, each in words; empty for a sound one."""
    hits = [*simplified(text, lexicon), *mainland(text, lexicon)]
    return [hit.found for hit in hits if not hit.allowed]


def places(text: str, word: str) -> Iterator[int]:
    """Where a word begins in a text, overlaps included."""
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + 1)


def _within(text: str, hit: Hit, longer: tuple[str, ...]) -> str:
    end = hit.place + len(hit.found)
    for word in longer:
        for place in places(text, word):
            if place <= hit.place and end <= place + len(word):
                return word
    return ""


_KANA = re.compile(r"[\u3041-\u3096\u30a1-\u30fa]")
MAX_TITLE = 60
"""Characters between two brackets from which they hold no title any more."""


def _japanese(text: str, hit: Hit) -> str:
    """The brackets around a character when they also hold kana: a Japanese title writes 台湾 and 状, and stays so."""
    for opening, closing in _MENTIONS:
        start = text.rfind(opening, max(0, hit.place - MAX_TITLE), hit.place)
        end = text.find(closing, hit.place, hit.place + MAX_TITLE)
        if start >= 0 and end >= 0 and closing not in text[start : hit.place]:
            title = text[start : end + 1]
            if _KANA.search(title):
                return title
    return ""


def _mentioned(text: str, hit: Hit) -> str:
    """The brackets that hold the term and nothing else: the word is spoken of, not used."""
    before, after = text[: hit.place], text[hit.place + len(hit.found) :]
    for opening, closing in _MENTIONS:
        if before.endswith(opening) and after.startswith(closing):
            return opening + hit.found + closing
    return ""
