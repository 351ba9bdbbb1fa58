"""Dense retrieval: embeddings of an OpenAI-compatible endpoint, vectors in DuckDB, compared exactly.

Model, dimension and normalisation are kept with the index, and another model is refused at query time: vectors of two
models compare to nothing. Every vector is stored as it came, before the index is built, so a killed ingestion asks for
none of them again.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from opentwbench.dataset.atomic import replacing
from opentwbench.evaluation.model import Response
from opentwbench.rag.asking import Ask, Asked, Service, ask_all
from opentwbench.rag.chunking import Cut, chunks
from opentwbench.rag.model import Chunk, Document, Passage, RagError
from opentwbench.rag.retrieval.embeddings import Matrix, ask_for, doubt_of, vectors_of
from opentwbench.rag.retrieval.system import Ingested, Query, Retrieved, files_below, indexed_text

INDEX_NAME = "vectors.duckdb"
NORMALISATION = "unit length"


@dataclass
class Dense:
    """The built-in vector system. `instruction` goes before a query, as embedding models ask for."""

    folder: Path
    cut: Cut
    service: Service
    batch: int = 32

    async def ingest(self, documents: Sequence[Document]) -> Ingested:
        """Chunk, embed what has no vector yet, and build the index aside."""
        started = time.perf_counter()
        held = list(chunks(documents, self.cut))
        batches = [held[n : n + self.batch] for n in range(0, len(held), self.batch)]
        asks = [self._ask(batch) for batch in batches]
        asked, parts = await self._embed(asks)
        self._build(held, np.concatenate(parts))
        spent = asked.spending
        return Ingested(
            len(documents),
            len(held),
            time.perf_counter() - started,
            embedding_tokens=spent.tokens,
            estimated=spent.estimated,
        )

    async def _embed(self, asks: Sequence[Ask]) -> tuple[Asked, list[Matrix]]:
        """The vectors of all requests, in order; replies of another dimension than most are asked for again."""
        place, wanted = self.folder / "documents", _declared(self.service)
        asked = await ask_all(self._doubting(wanted), asks, place)
        parts = [self._vectors(asked, ask) for ask in asks]
        widths = Counter(part.shape[1] for part in parts)
        if len(widths) > 1:
            again = await ask_all(self._doubting(widths.most_common(1)[0][0]), asks, place)
            asked, parts = again, [self._vectors(again, ask) for ask in asks]
        return asked, parts

    def _doubting(self, dimension: int | None) -> Service:
        """The service, in doubt of every reply that is not as many vectors as texts, all of that dimension."""
        return replace(self.service, doubt=lambda ask, content: doubt_of(ask, content, dimension))

    def _ask(self, batch: Sequence[Chunk]) -> Ask:
        name = hashlib.sha256("\n".join(chunk.chunk_id for chunk in batch).encode("utf-8", "replace")).hexdigest()[:16]
        return ask_for(self.service, name, [indexed_text(chunk) for chunk in batch])

    def _vectors(self, asked: Asked, ask: Ask) -> Matrix:
        reply = asked.replies.get(ask.key)
        if reply is None or reply.error:
            raise RagError(f"embeddings of {self.service.model}: {_why(asked, reply)}; the stage can be started again")
        return vectors_of(reply, len(ask.body["input"]))

    def _build(self, held: Sequence[Chunk], vectors: Matrix) -> None:
        if len(vectors) != len(held):
            raise RagError(f"embeddings: {len(vectors)} vectors for {len(held)} chunks")
        rows, dimension = vectors.shape
        flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), dimension)
        table = pa.table(
            {
                "place": pa.array(range(rows), pa.int64()),
                **{name: pa.array([getattr(chunk, name) for chunk in held]) for name in _COLUMNS},
                "vector": flat,
            }
        )
        with replacing(self.folder / INDEX_NAME) as aside, duckdb.connect(str(aside)) as base:
            base.register("incoming", table)
            base.execute("CREATE TABLE chunks AS SELECT * FROM incoming")
            base.execute("CREATE TABLE about (model TEXT, dimension INTEGER, normalisation TEXT)")
            base.execute("INSERT INTO about VALUES (?, ?, ?)", [self.service.model, dimension, NORMALISATION])
            base.unregister("incoming")
            base.execute("CHECKPOINT")

    async def retrieve(self, queries: Sequence[Query], k: int) -> AsyncIterator[Retrieved]:
        """One result a query. Seconds are those of its embedding and of the search."""
        with self._open() as base:
            dimension = self._check(base)
            asks = [ask_for(self.service, query.question_id, [query.text]) for query in queries]
            asked = await ask_all(self._doubting(dimension), asks, self.folder / "queries")
            for query, ask in zip(queries, asks, strict=True):
                reply = asked.replies.get(ask.key)
                if reply is None or reply.error:
                    yield Retrieved(query.question_id, (), 0.0, f"embedding: {_why(asked, reply)}")
                    continue
                vector = vectors_of(reply, 1)[0]
                started = time.perf_counter()
                found = _search(base, vector, k)
                seconds = reply.latency_ms / 1000 + time.perf_counter() - started
                tokens = reply.prompt_tokens
                yield Retrieved(query.question_id, found, seconds, "", tokens or len(query.text), tokens is None)

    def _open(self) -> duckdb.DuckDBPyConnection:
        path = self.folder / INDEX_NAME
        if not path.is_file():
            raise RagError(f"{INDEX_NAME}: no index; run the stage ingest")
        return duckdb.connect(str(path), read_only=True)

    def _check(self, base: duckdb.DuckDBPyConnection) -> int:
        """The index's dimension. Raises RagError when it is another model's."""
        row = base.execute("SELECT model, dimension, normalisation FROM about").fetchone()
        if row is None or row[0] != self.service.model or row[2] != NORMALISATION:
            there = row[0] if row else "nothing"
            raise RagError(f"the index holds vectors of {there}, not of {self.service.model}: ingest again")
        return int(row[1])

    async def delete(self) -> int:
        """Remove index and stored vectors."""
        n = sum(1 for _ in files_below(self.folder)) if self.folder.is_dir() else 0
        shutil.rmtree(self.folder, ignore_errors=True)
        return n


_COLUMNS = ("chunk_id", "doc_id", "start", "end", "label", "text")


def _declared(service: Service) -> int | None:
    """The dimension that the requests ask for, if they do."""
    wanted = service.parameters.get("dimensions")
    return wanted if type(wanted) is int else None


def _why(asked: Asked, reply: Response | None) -> str:
    """Why a request has no vectors."""
    return asked.stopped or (f"{reply.error.value}: {reply.error_detail}" if reply else "no reply")


def _search(base: duckdb.DuckDBPyConnection, vector: Matrix, k: int) -> tuple[Passage, ...]:
    """The chunks of the largest cosine (vectors have length one); equal ones by place in the corpus."""
    names = ", ".join(f'"{name}"' for name in _COLUMNS)
    rows = base.execute(
        f"SELECT {names}, array_inner_product(vector, ?::FLOAT[{len(vector)}]) AS score "
        "FROM chunks ORDER BY score DESC, place LIMIT ?",
        [vector.tolist(), k],
    ).fetchall()
    return tuple(
        Passage(doc_id, label, text, ((start, end),), round(float(score), 6), chunk_id)
        for chunk_id, doc_id, start, end, label, text, score in rows
    )
