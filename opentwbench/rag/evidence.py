"""Where evidence stands, and how much of it a model was shown.

Evidence is found when COVERED of its characters lie inside passages of its own document that were shown. Characters
are counted at their place in the document, so that unrelated passages never add up to a hit (fault 3), the same words
in another document are no hit (fault 1), and what was cut off the prompt is not counted (fault 4).
What does not belong here: which passages a prompt shows (prompts.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from opentwbench.rag.model import Document, Evidence, Question
from opentwbench.rag.text import Places

Range = tuple[int, int]

COVERED = 0.9
"""Share of an evidence's characters that must be shown. Below 1, because a chunk may end before a full stop."""

LOCATED = 0.8
"""Share of a quotation's characters that must be found when it is looked up piece by piece."""

SHORTEST = 12
"""Characters of a piece that is looked up alone: a shorter one stands in many places."""

_LINE_START = re.compile(r"^\s*(?:[•●○▪■◦·*–—-]+|\(?(?:\d{1,2}|[a-zA-Z]|[ivxIVX]{1,4})[.)])\s+")
"""A bullet or number, which word processors draw without its being text of the document."""

_SENTENCE = re.compile(r"(?<=[.!?;:。！？；])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Located:
    """A question's evidence as places in its document."""

    doc_id: str
    places: tuple[tuple[Range, ...], ...]
    """One entry an evidence that was located: the ranges it stands in."""
    unlocated: int
    """Evidence whose text the document does not hold as the data set quotes it; left out of recall and counted."""


class Library:
    """The documents of a benchmark, ready for evidence to be looked up."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._documents: dict[str, Document] = {document.doc_id: document for document in documents}
        self._places: dict[str, Places] = {}

    def __getitem__(self, doc_id: str) -> Document:
        return self._documents[doc_id]

    def __contains__(self, doc_id: str) -> bool:
        return doc_id in self._documents

    def __iter__(self) -> Iterator[str]:
        return iter(self._documents)

    def places(self, doc_id: str) -> Places:
        """The document's text, folded once."""
        if doc_id not in self._places:
            self._places[doc_id] = Places(self._documents[doc_id].text)
        return self._places[doc_id]

    def locate(self, question: Question) -> Located:
        """Where the question's evidence stands."""
        found = [self._of(evidence) for evidence in question.evidence]
        places = tuple(ranges for ranges in found if ranges)
        return Located(question.doc_id, places, len(found) - len(places))

    def ranges(self, doc_id: str, text: str) -> tuple[Range, ...]:
        """Where a text that a system returned stands in the document: as a whole, else line by line.

        Lines that the document does not hold (a heading that was set above it) cover nothing.
        """
        if doc_id not in self:
            return ()
        places = self.places(doc_id)
        if whole := places.find(text):
            return (whole,)
        lines = (line for line in text.splitlines() if len(line.strip()) >= SHORTEST)
        return merged(place for line in lines if (place := places.find(line)))

    def _of(self, evidence: Evidence) -> tuple[Range, ...]:
        document = self._documents.get(evidence.doc_id)
        if document is None:
            return ()
        part = document.range_of(evidence.span) if evidence.span else None
        if not evidence.text:
            return (part,) if part else ()
        places = self.places(evidence.doc_id)
        whole = places.find(evidence.text, part)
        return (whole,) if whole else _piecewise(places, evidence.text, part)


def _piecewise(places: Places, text: str, within: Range | None) -> tuple[Range, ...]:
    """A quotation line by line, then sentence by sentence; () unless LOCATED of its characters are found."""
    for pieces in (_lines(text), _sentences(text)):
        wanted = sum(len(piece) for piece in pieces)
        found = [(piece, places.find(piece, within)) for piece in pieces if len(piece) >= SHORTEST]
        held = [(piece, place) for piece, place in found if place]
        if held and sum(len(piece) for piece, _ in held) >= LOCATED * wanted:
            return merged(place for _, place in held)
    return ()


def _lines(text: str) -> list[str]:
    return [piece for line in text.splitlines() if (piece := _LINE_START.sub("", line).strip())]


def _sentences(text: str) -> list[str]:
    flat = " ".join(_lines(text))
    return [piece.strip() for piece in _SENTENCE.split(flat) if piece.strip()]


def merged(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """The ranges in order, those that touch or overlap as one."""
    joined: list[Range] = []
    for start, end in sorted(each for each in ranges if each[0] < each[1]):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return tuple(joined)


def covered(place: Sequence[Range], shown: Sequence[Range]) -> float:
    """The share of the places' characters that lie in `shown`; both merged."""
    wanted = sum(end - start for start, end in place)
    held = sum(max(0, min(e1, e2) - max(s1, s2)) for s1, e1 in place for s2, e2 in shown)
    return held / wanted if wanted else 0.0


def recall(located: Located, shown: Mapping[str, Sequence[Range]]) -> float | None:
    """Share of the located evidence that is found in what was shown (document -> ranges); None without any evidence."""
    if not located.places:
        return None
    ranges = merged(shown.get(located.doc_id, ()))
    return sum(covered(place, ranges) >= COVERED for place in located.places) / len(located.places)
