"""The nouns of the RAG track: documents, questions, evidence, passages, answers, verdicts.

What belongs here: frozen records and closed vocabularies that adapters, systems, stages and reports share. What does
not: reading files, asking models, computing a rate.
A place is always (document, character range): dialogue ids and page numbers repeat from document to document, so a bare
one names nothing (facts on RAG, faults 1 and 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from opentwbench.rag.text import has_han

MAX_TEXT = 5_000_000
"""Most characters of one document: the longest 10-K filing has some 1.2 million."""


SYSTEMS = ("bm25", "dense", "hybrid", "openviking", "contexts")
"""Systems under test; `contexts` retrieves nothing and hands over what the data set offers."""

DATASETS = ("locomo", "syllabusqa", "qasper", "financebench", "tw_rag")
"""Data sets that have an adapter."""


class RagError(ValueError):
    """Something of the RAG track that cannot be used; the message names file, place and reason."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a document in reading order: a turn, a paragraph, a table, a page."""

    text: str
    span: str = ""
    """How evidence names it inside its document ('D1:3', 'p38'); '' when nothing does."""
    heading: str = ""
    """What a reader of the piece alone must know: the session with its date, the section, the page."""


@dataclass(frozen=True)
class Document:
    """A document: its parts joined by line feeds are `text`, and every offset counts characters of that text."""

    doc_id: str
    title: str
    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        """Raises RagError for a document without text or longer than MAX_TEXT."""
        size = sum(len(part.text) + 1 for part in self.parts)
        if not any(part.text.strip() for part in self.parts):
            raise RagError(f"document {self.doc_id!r}: no text")
        if size > MAX_TEXT:
            raise RagError(f"document {self.doc_id!r}: {size:,} characters, more than {MAX_TEXT:,}")

    @cached_property
    def text(self) -> str:
        """The whole text."""
        return "\n".join(part.text for part in self.parts)

    @cached_property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """Where each part stands: start and end."""
        found, at = [], 0
        for part in self.parts:
            found.append((at, at + len(part.text)))
            at += len(part.text) + 1
        return tuple(found)

    def range_of(self, span: str) -> tuple[int, int] | None:
        """Where the part of that name stands; None when no part, or more than one, has it."""
        found = [place for part, place in zip(self.parts, self.ranges, strict=True) if part.span == span]
        return found[0] if span and len(found) == 1 else None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What supports an answer: a named part of a document, or a text in it (`span` then narrows where to look)."""

    doc_id: str
    span: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its reference answers."""

    question_id: str
    doc_id: str
    """The document it is about."""
    question: str
    """As the data set words it."""
    asked: str
    """As it is asked of a system that holds many documents: it names its document where the data set's form does."""
    gold: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    category: str
    offered: tuple[str, ...] = ()
    """Documents that the data set hands over with the question, in its order; () where a system must find them."""
    keyed: str = ""
    """The words that an answer must hold, where the data set names them apart from its references."""

    @property
    def language(self) -> str:
        """'zh' when question or references hold a Han character, else 'en'."""
        return "zh" if has_han(self.question + "".join(self.gold)) else "en"


@dataclass(frozen=True)
class Benchmark:
    """A data set, read. `rows` = questions + dropped; `dirt` counts what was mended or passed over inside questions."""

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    missing: str
    """What a system is told to answer when the passages do not say."""
    rows: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    dirt: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises RagError when ids repeat, a question names no document, or the account of rows does not close."""
        _no_twice("document", (document.doc_id for document in self.documents))
        _no_twice("question", (question.question_id for question in self.questions))
        known = {document.doc_id for document in self.documents}
        for question in self.questions:
            if question.doc_id not in known:
                raise RagError(f"{self.name}: question {question.question_id!r} names no document of the data set")
        if self.rows != len(self.questions) + sum(self.dropped.values()):
            kept, gone = len(self.questions), sum(self.dropped.values())
            raise RagError(f"{self.name}: {self.rows} rows are not {kept} questions and {gone} dropped")


def _no_twice(kind: str, ids: Iterable[str]) -> None:
    seen: set[str] = set()
    for each in ids:
        if each in seen:
            raise RagError(f"the {kind} id {each!r} occurs twice")
        seen.add(each)


@dataclass(frozen=True, slots=True)
class Chunk:
    """What an index holds: a range of a document, and the lines that say where it comes from."""

    chunk_id: str
    doc_id: str
    start: int
    end: int
    label: str
    """Title and heading; shown above the text and indexed with it."""
    text: str


@dataclass(frozen=True, slots=True)
class Passage:
    """What a system gave for a query. `doc_id` is '' when it came from no document that was ingested.

    `ranges` are the places of its text in the document; without one (a summary that a system wrote) it covers nothing.
    """

    doc_id: str
    label: str
    text: str
    ranges: tuple[tuple[int, int], ...]
    score: float = 0.0
    source: str = ""
    """The system's own name for it: a chunk id, a URI."""


class Judged(StrEnum):
    """What became of one answer at the judge. Closed; only SCORED has a score that is averaged."""

    SCORED = "scored"
    UNPARSED = "unparsed"
    """The judge replied, and no attempt held a verdict in the form asked for."""
    ERROR = "error"
    """No reply of the judge."""
    NO_ANSWER = "no_answer"
    """There is no answer to judge: its generation ended in an error."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's reading of one answer."""

    judged: Judged
    score: int | None = None
    """0 to 4 when SCORED."""
    refusal: bool = False
    """The judge says that the answer declines or states that the passages do not tell."""
    reason: str = ""
    attempts: int = 0
