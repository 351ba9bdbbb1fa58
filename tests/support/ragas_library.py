"""The real ragas library as a process, and a judge by script that answers its prompts and our one from the same view.

What a judge thinks of an answer is an `Opinion`; `rules` says it in the form that each prompt asks for.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from samples.model_endpoint import Kind, Rule

FOLDER = Path(__file__).resolve().parents[1] / "ragas"
PYTHON = FOLDER / ".venv" / "bin" / "python"


def need_ragas() -> None:
    """Skip, saying so, where the environment is absent."""
    if not PYTHON.exists():
        pytest.skip("no ragas library: make ragas fetches it")


def score(rows: Iterable[Mapping[str, Any]], base_url: str) -> list[dict[str, Any]]:
    """The library's four metrics of each row, in order; {"error": ...} where it raises."""
    told = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    done = subprocess.run(
        [PYTHON, FOLDER / "score.py", base_url], input=told, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one judge thinks of one answer."""

    question: str
    answer: str
    contexts: tuple[str, ...]
    useful: tuple[bool, ...]
    """By context: whether it helps to the reference."""
    supported: tuple[bool, ...]
    """By statement of the answer."""
    attributed: tuple[bool, ...]
    """By statement of the reference."""
    relevancy: float
    asked_back: str
    """The question that the answer seems to answer."""
    evasive: bool = False
    speaks: bool = True
    """False: it never replies in the form asked for."""


def ours(opinion: Opinion) -> dict[str, float]:
    """The opinion as our prompt asks for it."""
    return {
        "faithfulness": _share(opinion.supported),
        "answer_relevancy": opinion.relevancy,
        "context_precision": _share(opinion.useful),
        "context_recall": _share(opinion.attributed),
    }


def _share(views: Sequence[bool]) -> float:
    return sum(views) / len(views)


def rules(opinion: Opinion) -> list[Rule]:
    """The replies of a judge of this opinion, to our prompt and to those of the library."""
    asked = rf'"question": {_literal(opinion.question)}'
    statements = [f"{opinion.answer}之{n}" for n in range(1, len(opinion.supported) + 1)]
    told: list[tuple[str, object]] = [(f"題目：{_literal(opinion.question)}", ours(opinion))]
    for context, useful in zip(opinion.contexts, opinion.useful, strict=True):
        told.append((rf'useful in arriving.*{asked},\s+"context": {_literal(context)}', {"verdict": int(useful)}))
    told += [
        (f"analyze the complexity.*{asked}", {"statements": statements}),
        (rf'judge the faithfulness.*"statements": \[\s+{_literal(statements[0])}', {"statements": [
            {"statement": statement, "verdict": int(held)}
            for statement, held in zip(statements, opinion.supported, strict=True)
        ]}),
        (f"can be attributed to the given context.*{asked}", {"classifications": [
            {"statement": str(n), "attributed": int(held)} for n, held in enumerate(opinion.attributed)
        ]}),
        (rf'noncommittal.*"response": {_literal(opinion.answer)}',
         {"question": opinion.asked_back, "noncommittal": int(opinion.evasive)}),
    ]  # fmt: skip
    return [
        Rule(Kind.TEXT, f"(?s){pattern}", None, text=_with_reasons(reply) if opinion.speaks else "無法評分")
        for pattern, reply in told
    ]


def _literal(text: str) -> str:
    return re.escape(json.dumps(text, ensure_ascii=False))


def _with_reasons(reply: object) -> str:
    """The reply as JSON; every verdict of the library's forms wants its reason."""

    def mended(value: object) -> object:
        if isinstance(value, list):
            return [mended(each) for each in value]
        if isinstance(value, dict):
            more = {"reason": "because"} if value.keys() & {"verdict", "attributed"} else {}
            return {**more, **{name: mended(each) for name, each in value.items()}}
        return value

    return json.dumps(mended(reply), ensure_ascii=False)
