"""FinanceBench: questions over filings. Original files: data/financebench_open_source.jsonl, pdfs/*.pdf.

Evidence is a text on a page; the file counts pages from zero. Source: facts on RAG; rag/financebench/SOURCE.md.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from opentwbench.dataset.contract import excerpt
from opentwbench.rag.adapters.files import by_stem, find, folder, items, read_jsonl, record, text
from opentwbench.rag.model import Benchmark, Document, Evidence, Question, RagError
from opentwbench.rag.readers import read_files

NAME = "financebench"
MISSING = "Insufficient information"
FILES = ("data/financebench_open_source.jsonl", "financebench_open_source.jsonl")
TYPES = ("domain-relevant", "metrics-generated", "novel-generated")


def read(data: Path) -> Benchmark:
    """The benchmark of a folder. A question whose PDF is not there is dropped and counted. Raises RagError."""
    path = find(data, FILES, "the questions")
    files = by_stem(folder(data, ("pdfs",), "the filings"), ".pdf")
    dropped: Counter[str] = Counter()
    dirt: Counter[str] = Counter()
    names: dict[str, None] = {}
    questions, rows = [], 0
    for where, row in read_jsonl(path):
        rows += 1
        name, kind = text(row, "doc_name", where), text(row, "question_type", where)
        if kind not in TYPES:
            raise RagError(f"{where}: no question type of FinanceBench: {excerpt(kind)}")
        if name not in files:
            dropped["document_missing"] += 1
            continue
        names[name] = None
        questions.append(_question(row, name, kind, dirt, where))
    texts = zip(names, read_files(files[name] for name in names), strict=True)
    documents = tuple(Document(name, name.replace("_", " "), parts) for name, parts in texts)
    return Benchmark(NAME, documents, tuple(questions), MISSING, rows, dict(dropped), dict(dirt))


def _question(row: dict[str, Any], name: str, kind: str, dirt: Counter[str], where: str) -> Question:
    evidence = []
    for entry in items(row.get("evidence", []), where):
        each = record(entry, where)
        page = each.get("evidence_page_num")
        named = text(each, "doc_name", where, may_lack=True) or name
        if named != name:
            dirt["evidence_in_another_document"] += 1
        elif not isinstance(page, int) or isinstance(page, bool) or page < 0:
            dirt["evidence_without_page"] += 1
        else:
            evidence.append(Evidence(name, span=f"p{page + 1}", text=text(each, "evidence_text", where, may_lack=True)))
    asked = text(row, "question", where)
    return Question(
        question_id=text(row, "financebench_id", where),
        doc_id=name,
        question=asked,
        asked=asked,
        gold=(text(row, "answer", where),),
        evidence=tuple(evidence),
        category=kind,
    )
