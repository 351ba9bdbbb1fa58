"""SyllabusQA: questions over course syllabi in docx. Original files: data/dataset_split/*.csv, syllabi/.../word/*.docx.

Evidence are the answer spans; reasoning steps are no text of the document and no evidence. Rows of the type 'no answer'
are dropped, as the published benchmark does. Source: facts on RAG; rag/syllabusqa/SOURCE.md.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from opentwbench.dataset.contract import excerpt
from opentwbench.rag.adapters.files import by_stem, folder, read_csv
from opentwbench.rag.model import Benchmark, Document, Evidence, Question, RagError
from opentwbench.rag.readers import read_files

NAME = "syllabusqa"
MISSING = "Not mentioned"
TYPES = ("single factual", "multi factual", "single reasoning", "multi reasoning", "summarization", "yes/no")
NO_ANSWER = "no answer"
SPANS = tuple(f"answer_span_{n}" for n in range(1, 6))
COLUMNS = ("id", "syllabus_name", "question_type", "question", "answer", *SPANS)
SPLITS = ("train", "val", "test")


def read(data: Path) -> Benchmark:
    """The benchmark of a folder: every split that is there. Raises RagError."""
    tables = folder(data, ("data/dataset_split", "dataset_split"), "the splits")
    word = folder(data, ("syllabi/syllabi_redacted/word", "syllabi_redacted/word"), "the syllabi in docx")
    files = by_stem(word, ".docx")
    paths = [tables / f"{split}.csv" for split in SPLITS if (tables / f"{split}.csv").is_file()]
    if not paths:
        raise RagError(f"{tables}: none of {', '.join(f'{split}.csv' for split in SPLITS)}")
    dropped: Counter[str] = Counter()
    dirt: Counter[str] = Counter()
    names: dict[str, None] = {}
    questions, rows = [], 0
    for path in paths:
        for where, cells in read_csv(path, COLUMNS):
            rows += 1
            name, kind = cells["syllabus_name"].strip(), cells["question_type"].strip()
            if kind == NO_ANSWER:
                dropped["no_answer"] += 1
            elif kind not in TYPES:
                raise RagError(f"{where}: no question type of SyllabusQA: {excerpt(kind)}")
            elif name not in files:
                dropped["document_missing"] += 1
            elif not cells["question"].strip() or not cells["answer"].strip():
                dropped["empty_question_or_answer"] += 1
            else:
                names[name] = None
                questions.append(_question(cells, name, kind, dirt))
    texts = zip(names, read_files(files[name] for name in names), strict=True)
    documents = tuple(Document(name, name, parts) for name, parts in texts)
    return Benchmark(NAME, documents, tuple(questions), MISSING, rows, dict(dropped), dict(dirt))


def _question(cells: dict[str, str], name: str, kind: str, dirt: Counter[str]) -> Question:
    spans = dict.fromkeys(cells[column].strip() for column in SPANS if cells[column].strip())
    dirt["question_without_evidence"] += not spans
    asked = cells["question"].strip()
    return Question(
        question_id=cells["id"].strip(),
        doc_id=name,
        question=asked,
        asked=f'Based on the syllabus "{name}", {asked}',
        gold=(cells["answer"].strip(),),
        evidence=tuple(Evidence(name, text=span) for span in spans),
        category=kind,
    )
