"""LoCoMo: long conversations between two people, over many dated sessions. Original file: data/locomo10.json.

A document is one conversation. Evidence names turns ('D8:6'), and turn ids repeat in every conversation, so it is kept
as (conversation, turn). Category 5 (adversarial) is dropped, as the published benchmark does; its category names are
used: 1 factual, 2 temporal, 3 reasoning, 4 understanding. Source: facts on RAG; rag/locomo/SOURCE.md.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from opentwbench.dataset.contract import excerpt
from opentwbench.rag.adapters.files import Ids, find, items, read_json, record, text
from opentwbench.rag.model import Benchmark, Document, Evidence, Part, Question, RagError

NAME = "locomo"
MISSING = "Not mentioned"
FILES = ("data/locomo10.json", "locomo10.json")
CATEGORIES = {1: "factual", 2: "temporal", 3: "reasoning", 4: "understanding"}
ADVERSARIAL = 5

_SESSION = re.compile(r"session_(\d{1,4})")
_TURN = re.compile(r"D(\d{1,5}):(\d{1,5})")


def read(data: Path) -> Benchmark:
    """The benchmark of a folder (or of the JSON file itself). Raises RagError."""
    path = find(data, FILES, "the conversations")
    documents, questions = [], []
    dropped: Counter[str] = Counter()
    dirt: Counter[str] = Counter()
    rows, ids = 0, Ids()
    for number, entry in enumerate(items(read_json(path), path.name), 1):
        where = f"{path.name} conversation {number}"
        sample = record(entry, where)
        document = _document(sample, where)
        documents.append(document)
        for n, qa in enumerate(items(sample.get("qa"), f"{where} qa"), 1):
            rows += 1
            question = _question(record(qa, f"{where} qa {n}"), document, ids, dropped, dirt, f"{where} qa {n}")
            if question is not None:
                questions.append(question)
    return Benchmark(NAME, tuple(documents), tuple(questions), MISSING, rows, dict(dropped), dict(dirt))


def _document(sample: dict[str, Any], where: str) -> Document:
    name = text(sample, "sample_id", where)
    conversation = record(sample.get("conversation"), f"{where} conversation")
    numbers = sorted(int(found[1]) for key in conversation if (found := _SESSION.fullmatch(key)))
    parts = [part for n in numbers for part in _session(conversation, n, where)]
    speakers = " and ".join(text(conversation, key, where) for key in ("speaker_a", "speaker_b"))
    return Document(name, f"Conversation of {speakers}", tuple(parts))


def _session(conversation: dict[str, Any], number: int, where: str) -> Iterator[Part]:
    """The turns of a session; its date stands in the heading, without which half of the questions have no answer."""
    when = text(conversation, f"session_{number}_date_time", where, may_lack=True)
    heading = f"Session {number}" + (f", {when}" if when else "")
    for n, entry in enumerate(items(conversation[f"session_{number}"], f"{where} session {number}"), 1):
        place = f"{where} session {number} turn {n}"
        turn = record(entry, place)
        said = text(turn, "text", place, may_lack=True)
        caption = text(turn, "blip_caption", place, may_lack=True)
        shown = f" [image: {caption}]" if caption else ""
        dialogue = text(turn, "dia_id", place)
        yield Part(f"[{dialogue}] {text(turn, 'speaker', place)}: {said}{shown}", span=dialogue, heading=heading)


def _question(
    qa: dict[str, Any], document: Document, ids: Ids, dropped: Counter[str], dirt: Counter[str], where: str
) -> Question | None:
    category = qa.get("category")
    if category == ADVERSARIAL:
        dropped["adversarial"] += 1
        return None
    if not isinstance(category, int) or category not in CATEGORIES:
        raise RagError(f"{where}: no category of LoCoMo: {excerpt(category)}")
    answer = qa.get("answer")
    if isinstance(answer, bool) or not isinstance(answer, str | int | float) or not str(answer).strip():
        dropped["no_answer"] += 1
        return None
    asked = text(qa, "question", where)
    evidence = tuple(_evidence(items(qa.get("evidence", []), where), document, dirt))
    return Question(
        question_id=ids.of(document.doc_id, str(category), asked),
        doc_id=document.doc_id,
        question=asked,
        asked=asked,
        gold=(str(answer).strip(),),
        evidence=evidence,
        category=CATEGORIES[category],
    )


def _evidence(names: list[Any], document: Document, dirt: Counter[str]) -> Iterator[Evidence]:
    """Turns that the names mean. Several in one string are taken apart; what is no turn id is counted, not guessed."""
    seen = set()
    for name in names:
        pieces = re.split(r"[;,\s]+", name.strip()) if isinstance(name, str) else [""]
        dirt["evidence_with_several_turns"] += len(pieces) > 1
        for piece in filter(None, pieces) if isinstance(name, str) else pieces:
            found = _TURN.fullmatch(piece)
            span = f"D{int(found[1])}:{int(found[2])}" if found else ""
            if not found:
                dirt["evidence_malformed"] += 1
            elif document.range_of(span) is None:
                dirt["evidence_no_such_turn"] += 1
            elif span not in seen:
                seen.add(span)
                yield Evidence(document.doc_id, span=span)
