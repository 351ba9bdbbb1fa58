"""Qasper: questions over research papers. Original files: qasper-{train,dev,test}-v0.3.json.

Gold answers are those of every annotator, each once; evidence is the union over annotators. A question that every
annotator calls unanswerable is dropped; an annotator who calls an answered one so adds no gold (counted). Evidence that
begins with FLOAT SELECTED is the caption of a figure or table. Source: facts on RAG; rag/qasper/SOURCE.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from opentwbench.rag.adapters.files import distinct, items, read_json, record, text
from opentwbench.rag.model import Benchmark, Document, Evidence, Part, Question, RagError

NAME = "qasper"
MISSING = "Not mentioned"
FILES = ("qasper-train-v0.3.json", "qasper-dev-v0.3.json", "qasper-test-v0.3.json")
TYPES = ("extractive", "free_form", "yes_no")
FLOAT = "FLOAT SELECTED:"


def read(data: Path) -> Benchmark:
    """The benchmark of a folder (or of one file): every split that is there. Raises RagError."""
    paths = [data] if data.is_file() else [data / name for name in FILES if (data / name).is_file()]
    if not paths:
        raise RagError(f"{data}: none of {', '.join(FILES)}")
    dropped: Counter[str] = Counter()
    dirt: Counter[str] = Counter()
    documents: list[Document] = []
    questions: list[Question] = []
    rows = 0
    for path in paths:
        for name, entry in record(read_json(path), path.name).items():
            where = f"{path.name} {name[:40]}"
            paper = record(entry, where)
            documents.append(_document(name, paper, where))
            for n, qa in enumerate(items(paper.get("qas"), f"{where} qas"), 1):
                rows += 1
                question = _question(record(qa, f"{where} qa {n}"), documents[-1], dirt, f"{where} qa {n}")
                if question is None:
                    dropped["unanswerable"] += 1
                else:
                    questions.append(question)
    return Benchmark(NAME, tuple(documents), tuple(questions), MISSING, rows, dict(dropped), dict(dirt))


def _document(name: str, paper: dict[str, Any], where: str) -> Document:
    title = text(paper, "title", where)
    return Document(
        name, title, (Part(title), *_abstract(paper, where), *_sections(paper, where), *_floats(paper, where))
    )


def _abstract(paper: dict[str, Any], where: str) -> Iterator[Part]:
    if abstract := text(paper, "abstract", where, may_lack=True):
        yield Part(abstract, heading="Abstract")


def _sections(paper: dict[str, Any], where: str) -> Iterator[Part]:
    for n, entry in enumerate(items(paper.get("full_text"), f"{where} full_text"), 1):
        place = f"{where} section {n}"
        section = record(entry, place)
        heading = text(section, "section_name", place, may_lack=True)
        for paragraph in items(section.get("paragraphs"), place):
            if isinstance(paragraph, str) and paragraph.strip():
                yield Part(paragraph.strip(), heading=heading)


def _floats(paper: dict[str, Any], where: str) -> Iterator[Part]:
    for n, entry in enumerate(items(paper.get("figures_and_tables", []), where), 1):
        if caption := text(record(entry, f"{where} float {n}"), "caption", where, may_lack=True):
            yield Part(caption, heading="Figures and tables")


def _question(qa: dict[str, Any], document: Document, dirt: Counter[str], where: str) -> Question | None:
    answers = [record(record(each, where).get("answer"), f"{where} answer") for each in items(qa.get("answers"), where)]
    told = [
        (kind, said, answer) for answer in answers if (kind := _kind(answer, where)) and (said := _said(kind, answer))
    ]
    if not told:
        return None
    dirt["unanswerable_beside_an_answer"] += len(answers) - len(told)
    quoted = distinct(
        piece.strip().removeprefix(FLOAT).strip()
        for _, _, answer in told
        for piece in items(answer.get("evidence", []), where)
        if isinstance(piece, str)
    )
    asked = text(qa, "question", where)
    return Question(
        question_id=text(qa, "question_id", where),
        doc_id=document.doc_id,
        question=asked,
        asked=f'Based on the paper "{document.title}", {asked}',
        gold=distinct(said for _, said, _ in told),
        evidence=tuple(Evidence(document.doc_id, text=piece) for piece in quoted),
        category=told[0][0],
    )


def _kind(answer: dict[str, Any], where: str) -> str:
    """Type of an annotator's answer; '' for unanswerable."""
    if answer.get("unanswerable") is True:
        return ""
    if answer.get("extractive_spans"):
        return "extractive"
    if answer.get("yes_no") is not None:
        return "yes_no"
    return "free_form" if text(answer, "free_form_answer", where, may_lack=True) else ""


def _said(kind: str, answer: dict[str, Any]) -> str:
    if kind == "extractive":
        return ", ".join(distinct(span.strip() for span in answer["extractive_spans"] if isinstance(span, str)))
    if kind == "yes_no":
        return "Yes" if answer["yes_no"] else "No"
    return str(answer["free_form_answer"]).strip()
