"""BM25 over Han unigrams and bigrams, words and numbers (bm25s).

Source of the tokens: the facts on retrieval (with unigrams beside bigrams the right window comes first more often).
Equal scores are ordered by place in the corpus, so that two processes give the same list.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from opentwbench.rag.chunking import Cut, chunks
from opentwbench.rag.model import Chunk, Document, Passage, RagError
from opentwbench.rag.retrieval.system import (
    CHUNKS_NAME,
    Ingested,
    Query,
    Retrieved,
    files_below,
    indexed_text,
    passage,
    read_chunks,
    write_chunks,
)
from opentwbench.rag.text import search_tokens

INDEX_NAME = "bm25"

Tokens = Callable[[str], list[str]]


class Index:
    """A BM25 index over texts (Lucene's variant, k1 1.5, b 0.75: bm25s's defaults)."""

    def __init__(self, engine: Any, size: int, tokens: Tokens) -> None:
        self._engine, self._size, self._tokens = engine, size, tokens

    @classmethod
    def build(cls, texts: Sequence[str], tokens: Tokens = search_tokens) -> Index:
        """Index some texts. Raises RagError when none of them holds a token."""
        import bm25s

        vocabulary: dict[str, int] = {}
        corpus = [[vocabulary.setdefault(token, len(vocabulary)) for token in tokens(text)] for text in texts]
        if not vocabulary:
            raise RagError("BM25: no token in any text")
        engine = bm25s.BM25()
        # Ids in the order of first sight: bm25s itself would take them from a set, in an order of the process.
        engine.index((corpus, vocabulary), show_progress=False)
        return cls(engine, len(texts), tokens)

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """Positions and scores of the best `k` texts that share a token with the query, best first."""
        ids = self._engine.get_tokens_ids(self._tokens(query))
        if not ids:
            return []
        scores = self._engine.get_scores_from_ids(ids)[: self._size]
        order = np.lexsort((np.arange(len(scores)), -scores))[:k]
        return [(int(n), float(scores[n])) for n in order if scores[n] > 0]

    def save(self, folder: Path) -> None:
        """Write it to a folder."""
        self._engine.save(str(folder), show_progress=False)

    @classmethod
    def load(cls, folder: Path, size: int, tokens: Tokens = search_tokens) -> Index:
        """Read it back. Raises RagError."""
        import bm25s

        try:
            return cls(bm25s.BM25.load(str(folder)), size, tokens)
        except (OSError, ValueError, KeyError) as error:
            raise RagError(f"{folder.name}: no BM25 index: {type(error).__name__}") from None


@dataclass
class Bm25:
    """The built-in lexical system."""

    folder: Path
    cut: Cut

    async def ingest(self, documents: Sequence[Document]) -> Ingested:
        """Chunk and index everything; the folder is swapped in whole, so a kill leaves the old index or none."""
        started = time.perf_counter()
        held = list(chunks(documents, self.cut))
        aside = self.folder.with_name(f".{self.folder.name}.aside")
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        write_chunks(aside / CHUNKS_NAME, held)
        Index.build([indexed_text(chunk) for chunk in held]).save(aside / INDEX_NAME)
        shutil.rmtree(self.folder, ignore_errors=True)
        aside.rename(self.folder)
        return Ingested(len(documents), len(held), time.perf_counter() - started)

    async def retrieve(self, queries: Sequence[Query], k: int) -> AsyncIterator[Retrieved]:
        """One result a query."""
        search = self.searcher()
        for query in queries:
            started = time.perf_counter()
            found = search(query.text, k)
            yield Retrieved(query.question_id, found, time.perf_counter() - started)

    def searcher(self) -> Callable[[str, int], tuple[Passage, ...]]:
        """The search over the stored index."""
        held: list[Chunk] = read_chunks(self.folder / CHUNKS_NAME)
        index = Index.load(self.folder / INDEX_NAME, len(held))
        return lambda text, k: tuple(passage(held[n], score) for n, score in index.search(text, k))

    async def delete(self) -> int:
        """Remove the index."""
        n = sum(1 for _ in files_below(self.folder)) if self.folder.is_dir() else 0
        shutil.rmtree(self.folder, ignore_errors=True)
        return n
