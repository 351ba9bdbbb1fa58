"""Hybrid retrieval: the lists of BM25 and of dense retrieval, fused by rank.

Reciprocal rank fusion: score = sum over lists of 1 / (60 + rank). Source: G. Cormack, C. Clarke and S. Büttcher,
"Reciprocal rank fusion outperforms Condorcet and individual rank learning methods", SIGIR 2009, which also gives 60.
Both systems cut documents in the same way, so a chunk has one id in both.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from opentwbench.rag.model import Document, Passage
from opentwbench.rag.retrieval.bm25 import Bm25
from opentwbench.rag.retrieval.dense import Dense
from opentwbench.rag.retrieval.system import Ingested, Query, Retrieved

CONSTANT = 60
DEPTH = 4
"""Each list is as many times longer than what is asked for."""


def fuse(lists: Sequence[Sequence[Passage]], k: int) -> tuple[Passage, ...]:
    """The best `k` of some ranked lists; equal ones by the rank in the first list that holds them."""
    scores: dict[str, float] = {}
    held: dict[str, Passage] = {}
    for each in lists:
        for rank, found in enumerate(each, 1):
            scores[found.source] = scores.get(found.source, 0.0) + 1 / (CONSTANT + rank)
            held.setdefault(found.source, found)
    ranked = sorted(held, key=lambda source: -scores[source])  # stable: first seen stays first
    return tuple(replace(held[source], score=round(scores[source], 6)) for source in ranked[:k])


@dataclass
class Hybrid:
    """Both built-in systems as one."""

    lexical: Bm25
    dense: Dense

    async def ingest(self, documents: Sequence[Document]) -> Ingested:
        """Ingest into both."""
        first, second = await self.lexical.ingest(documents), await self.dense.ingest(documents)
        return replace(second, seconds=first.seconds + second.seconds)

    async def retrieve(self, queries: Sequence[Query], k: int) -> AsyncIterator[Retrieved]:
        """One result a query; seconds are the sum of both searches."""
        search = await asyncio.to_thread(self.lexical.searcher)
        texts = {query.question_id: query.text for query in queries}
        async for found in self.dense.retrieve(queries, k * DEPTH):
            if found.error:
                yield found
                continue
            started = time.perf_counter()
            fused = fuse((search(texts[found.question_id], k * DEPTH), found.passages), k)
            yield replace(found, passages=fused, seconds=found.seconds + time.perf_counter() - started)

    async def delete(self) -> int:
        """Remove both."""
        return await self.lexical.delete() + await self.dense.delete()
