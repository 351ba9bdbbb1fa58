"""tw-rag-bench: questions with four contexts, one of which is gold. File: ragas.jsonl.

Columns: question, contexts (four texts), reference, gold_position (1-4), category, source_chunk, and answer_text where
the set has it. What withdrawn.jsonl beside it names is dropped: it is published and in no score. A document is one
context, named by its hash: a context that serves several questions is one document. Source: the issue, "tw-rag-bench".
"""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.manifest import WITHDRAWN_NAME, read_withdrawals
from opentwbench.dataset.model import DatasetError
from opentwbench.rag.adapters.files import Ids, find, items, read_jsonl, text
from opentwbench.rag.model import Benchmark, Document, Evidence, Part, Question, RagError

NAME = "tw_rag"
MISSING = "資料不足"
FILES = ("ragas.jsonl", "data/ragas.jsonl")
CONTEXTS = 4


def read(data: Path) -> Benchmark:
    """The benchmark of a folder (or of the file itself). Raises RagError naming the line of a row that is none."""
    path = find(data, FILES, "the questions")
    documents: dict[str, Document] = {}
    questions, ids = [], Ids()
    dirt: Counter[str] = Counter()
    withdrawn, dropped = _withdrawn(path), Counter[str]()
    for where, row in read_jsonl(path):
        if row.get("item_id") in withdrawn:
            dropped["withdrawn"] += 1
            continue
        names = []
        for context in _contexts(row, where):
            name = "context-" + hashlib.sha256(context.encode("utf-8", "replace")).hexdigest()[:12]
            dirt["context_of_several_questions"] += name in documents
            documents.setdefault(name, Document(name, "", (Part(context, span="context"),)))
            names.append(name)
        questions.append(_question(row, names, ids, where))
    return Benchmark(
        NAME,
        tuple(documents.values()),
        tuple(questions),
        MISSING,
        len(questions) + dropped.total(),
        dict(dropped),
        dict(dirt),
    )


def _withdrawn(path: Path) -> frozenset[object]:
    """Ids of the items that a person withdrew; none where the list is not there."""
    place = path.with_name(WITHDRAWN_NAME)
    try:
        return frozenset(each.item_id for each in read_withdrawals(place)) if place.is_file() else frozenset()
    except DatasetError as error:
        raise RagError(str(error)) from None


def _contexts(row: dict[str, Any], where: str) -> list[str]:
    contexts = items(row.get("contexts"), f"{where} contexts")
    if len(contexts) != CONTEXTS or not all(isinstance(each, str) and each.strip() for each in contexts):
        raise RagError(f"{where}: contexts are not {CONTEXTS} texts")
    if len(set(contexts)) != CONTEXTS:
        raise RagError(f"{where}: two contexts are the same")
    return [each.strip() for each in contexts]


def _question(row: dict[str, Any], names: list[str], ids: Ids, where: str) -> Question:
    position = row.get("gold_position")
    if not isinstance(position, int) or isinstance(position, bool) or not 1 <= position <= CONTEXTS:
        raise RagError(f"{where}: gold_position is not 1 to {CONTEXTS}: {excerpt(position)}")
    gold, asked = names[position - 1], text(row, "question", where)
    return Question(
        question_id=text(row, "item_id", where, may_lack=True)
        or ids.of("tw-rag", asked, text(row, "source_chunk", where, may_lack=True)),
        doc_id=gold,
        question=asked,
        asked=asked,
        gold=(text(row, "reference", where),),
        evidence=(Evidence(gold, span="context"),),
        category=text(row, "category", where),
        offered=tuple(names),
        keyed=text(row, "answer_text", where, may_lack=True),
    )
