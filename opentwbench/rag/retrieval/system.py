"""The protocol of a system under test, and what it hands back.

A system keeps what it ingested under a folder (or on its server), so that stages can run in processes of their own.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from opentwbench.dataset.files import jsonl_bytes, read_jsonl
from opentwbench.dataset.model import DatasetError
from opentwbench.rag.model import Chunk, Document, Passage, RagError

CHUNKS_NAME = "chunks.jsonl"


@dataclass(frozen=True, slots=True)
class Ingested:
    """What ingestion came to. Tokens as reported; `estimated` counts the requests that report none."""

    documents: int
    chunks: int
    seconds: float
    input_tokens: int = 0
    output_tokens: int = 0
    embedding_tokens: int = 0
    estimated: int = 0


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked up for a question."""

    question_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What a system gave for one query, best first; `error` says why there is nothing, '' when that is the answer."""

    question_id: str
    passages: tuple[Passage, ...]
    seconds: float
    error: str = ""
    tokens: int = 0
    estimated: bool = False


class System(Protocol):
    """A retrieval system under test."""

    async def ingest(self, documents: Sequence[Document]) -> Ingested:
        """Take the documents in; what an earlier start took in is not taken twice. Raises RagError."""

    def retrieve(self, queries: Sequence[Query], k: int) -> AsyncIterator[Retrieved]:
        """One result a query, in any order; a query that fails has its error and stops no other."""

    async def delete(self) -> int:
        """Remove what was ingested; how many documents or files that were."""


def write_chunks(path: Path, chunks: Iterable[Chunk]) -> int:
    """Write an index's chunks; how many there are."""
    held = [asdict(chunk) for chunk in chunks]
    path.write_bytes(jsonl_bytes(held))
    return len(held)


def read_chunks(path: Path) -> list[Chunk]:
    """The chunks of an index. Raises RagError."""
    try:
        return [Chunk(**record) for record in read_jsonl(path)]
    except (DatasetError, TypeError) as error:
        raise RagError(f"{path.name}: not the chunks of an index: {error}") from None


def passage(chunk: Chunk, score: float) -> Passage:
    """A chunk as a result."""
    ranges = ((chunk.start, chunk.end),)
    return Passage(chunk.doc_id, chunk.label, chunk.text, ranges, round(score, 6), chunk.chunk_id)


def indexed_text(chunk: Chunk) -> str:
    """What a chunk is found by: its label and its text."""
    return f"{chunk.label}\n{chunk.text}" if chunk.label else chunk.text


def read_about(path: Path) -> dict[str, object]:
    """The record beside an index. Raises RagError when there is none."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RagError(f"{path.name}: no index: {type(error).__name__}; run the stage ingest") from None
    if not isinstance(record, dict):
        raise RagError(f"{path.name}: no record of an index")
    return record


def files_below(folder: Path) -> Iterator[Path]:
    """Regular files under a folder."""
    return (path for path in sorted(folder.rglob("*")) if path.is_file())
