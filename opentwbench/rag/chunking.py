"""Documents become chunks: ranges of their text that an index holds.

A chunk never crosses a heading, because its label (title and heading) is shown with it: a dialogue turn without the
date of its session answers no question about time. What belongs here: cutting. What does not: indexing (retrieval).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from opentwbench.rag.model import Chunk, Document, RagError

_BREAK = re.compile(r"[.!?。！？；;]\s*|\n+|\s+")


@dataclass(frozen=True, slots=True)
class Cut:
    """How large chunks are, in characters; `overlap` is what a chunk repeats of the one before."""

    size: int = 1_000
    overlap: int = 0

    def __post_init__(self) -> None:
        """Raises RagError for sizes that would not end."""
        if not 50 <= self.size <= 100_000 or not 0 <= self.overlap <= self.size // 2:
            raise RagError(
                f"chunks: size must be 50 to 100,000 and overlap at most half of it, got {self.size}, {self.overlap}"
            )


@dataclass(frozen=True, slots=True)
class _Atom:
    start: int
    end: int
    heading: str


def chunks(documents: Iterable[Document], cut: Cut) -> Iterator[Chunk]:
    """The chunks of every document, in order; together they hold every character but line breaks between parts."""
    for document in documents:
        for number, (start, end, heading) in enumerate(_packed(document, cut)):
            label = " · ".join(piece for piece in (document.title, heading) if piece)
            yield Chunk(f"{document.doc_id}#{number}", document.doc_id, start, end, label, document.text[start:end])


def _packed(document: Document, cut: Cut) -> Iterator[tuple[int, int, str]]:
    held: list[_Atom] = []
    for atom in _atoms(document, cut.size):
        if held and (atom.heading != held[0].heading or atom.end - held[0].start > cut.size):
            yield held[0].start, held[-1].end, held[0].heading
            held = _repeated(held, atom, cut)
        held.append(atom)
    if held:
        yield held[0].start, held[-1].end, held[0].heading


def _repeated(held: list[_Atom], following: _Atom, cut: Cut) -> list[_Atom]:
    """The last atoms of a chunk that fit into the overlap, and beside the next atom into a chunk."""
    if following.heading != held[-1].heading:
        return []
    room = min(cut.overlap, cut.size - (following.end - following.start))
    return [atom for atom in held[1:] if held[-1].end - atom.start <= room]


def _atoms(document: Document, size: int) -> Iterator[_Atom]:
    for part, (start, end) in zip(document.parts, document.ranges, strict=True):
        at = start
        while end - at > size:
            stop = at + _break_before(document.text[at : at + size])
            yield _Atom(at, stop, part.heading)
            at = stop
        if at < end:
            yield _Atom(at, end, part.heading)


def _break_before(window: str) -> int:
    """Where to end: after the last sentence or white space of the window's second half, else at its end."""
    ends = [found.end() for found in _BREAK.finditer(window, len(window) // 2)]
    sentences = [end for end in ends if window[:end].rstrip()[-1:] in ".!?。！？；;"]
    return (sentences or ends or [len(window)])[-1]
