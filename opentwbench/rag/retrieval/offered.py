"""The system `contexts`: no retrieval, every question is answered from the contexts that its data set offers with it.

It is how tw-rag-bench is meant to be run: what differs between two runs is the model that answers, not what was found.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from opentwbench.rag.model import Benchmark, Document, Passage
from opentwbench.rag.retrieval.system import Ingested, Query, Retrieved


@dataclass(frozen=True)
class Offered:
    """The contexts of a prepared benchmark."""

    benchmark: Benchmark

    async def ingest(self, documents: Sequence[Document]) -> Ingested:
        """Nothing is taken in: the contexts stand beside their questions."""
        return Ingested(len(documents), len(documents), 0.0)

    async def retrieve(self, queries: Sequence[Query], k: int) -> AsyncIterator[Retrieved]:
        """The contexts of each question in the data set's order, `k` at most; a question without any has its error."""
        texts = {document.doc_id: document for document in self.benchmark.documents}
        offered = {question.question_id: question.offered for question in self.benchmark.questions}
        for query in queries:
            started = time.perf_counter()
            held = [texts[name] for name in offered[query.question_id][:k]]
            passages = tuple(
                Passage(each.doc_id, each.title, each.text, ((0, len(each.text)),), source=each.doc_id) for each in held
            )
            error = "" if passages else "the data set offers no contexts with this question"
            yield Retrieved(query.question_id, passages, time.perf_counter() - started, error)

    async def delete(self) -> int:
        """There is nothing to remove."""
        return 0
