"""A sample of a benchmark: by documents, by questions, or both, the same on every machine.

Who is drawn depends on the seed and on ids alone: candidates are ranked by a hash of both. No random generator, no set
and no order of files has a part in it (fault 12: a sample that changed with PYTHONHASHSEED despite its seed).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from opentwbench.rag.model import Benchmark, Question, RagError


@dataclass(frozen=True, slots=True)
class Sampling:
    """What to draw; None draws all. Documents are drawn first, then questions among theirs."""

    documents: int | None = None
    questions: int | None = None
    stratified: bool = True
    """Questions in proportion to the categories, at least one of each where there is room."""
    seed: int = 42

    def __post_init__(self) -> None:
        """Raises RagError for a size below 1."""
        for name, value in (("documents", self.documents), ("questions", self.questions)):
            if value is not None and value < 1:
                raise RagError(f"sampling: {name} must be at least 1, got {value}")


def draw(benchmark: Benchmark, sampling: Sampling) -> Benchmark:
    """The drawn part of the benchmark, in the order of the whole. What is not drawn is counted in `dropped`.

    With only questions drawn every document stays: a system then searches among all of them, as with the whole set.
    Raises RagError when more is asked for than is there.
    """
    documents = benchmark.documents
    if sampling.documents is not None:
        kept = _first([d.doc_id for d in documents], sampling.documents, f"{sampling.seed} document", "documents")
        documents = tuple(document for document in documents if document.doc_id in kept)
    names = {document.doc_id for document in documents}
    questions = tuple(question for question in benchmark.questions if question.doc_id in names)
    if sampling.questions is not None:
        chosen = _chosen(questions, sampling)
        questions = tuple(question for question in questions if question.question_id in chosen)
    left_out = len(benchmark.questions) - len(questions)
    dropped = {**benchmark.dropped, **({"not_sampled": left_out} if left_out else {})}
    return replace(benchmark, documents=documents, questions=questions, dropped=dropped)


def _chosen(questions: Sequence[Question], sampling: Sampling) -> frozenset[str]:
    assert sampling.questions is not None
    salt = f"{sampling.seed} question"
    if not sampling.stratified:
        return _first([q.question_id for q in questions], sampling.questions, salt, "questions")
    counts = Counter(question.category for question in questions)
    chosen: set[str] = set()
    for category, n in quotas(counts, sampling.questions).items():
        chosen |= _first([q.question_id for q in questions if q.category == category], n, salt, "questions")
    return frozenset(chosen)


def _first(ids: Sequence[str], n: int, salt: str, what: str) -> frozenset[str]:
    if n > len(ids):
        raise RagError(f"sampling: {n} {what} asked for, there are {len(ids)}")
    return frozenset(sorted(ids, key=lambda each: (rank(salt, each), each))[:n])


def rank(salt: str, name: str) -> bytes:
    """Where a name stands in the draw of this salt."""
    return hashlib.sha256(f"{salt}\n{name}".encode("utf-8", "replace")).digest()


def quotas(counts: Mapping[str, int], n: int) -> dict[str, int]:
    """How many of each category make `n`: in proportion, by largest remainder, at least one where `n` allows it.

    Raises RagError when there are fewer than `n`.
    """
    total = sum(counts.values())
    if n > total:
        raise RagError(f"sampling: {n} questions asked for, there are {total}")
    names = sorted(counts)
    least = 1 if n >= len(names) else 0
    shares = {name: n * counts[name] / total for name in names}
    given = {name: min(counts[name], max(least, int(shares[name]))) for name in names}
    while sum(given.values()) < n:
        able = [name for name in names if given[name] < counts[name]]
        given[max(able, key=lambda name: (shares[name] - given[name], name))] += 1
    while sum(given.values()) > n:
        able = [name for name in names if given[name] > least]
        given[max(able, key=lambda name: (given[name] - shares[name], name))] -= 1
    return given
