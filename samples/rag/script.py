"""What a model endpoint without a model says in the retrieval benchmark: an answer from the passages, and a verdict.

Everything is a pure function of the request: the writer gives the sentence of the passages that shares most with the
question, a judge looks the reference up in the answer and the answer up in the passages. Both are told apart by the
words of their prompts. Their figures show how the benchmark works and are no result of a model.
What does not belong here: HTTP (model_endpoint.py) and anything of the platform.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

WRITER, JUDGE = "scripted/reader", "scripted/judge"

_SENTENCE = re.compile(r"[^.!?。！？\n]+(?:[.!?。！？](?!\d)|\n|$)|[^.!?。！？\n]+[.]\d[^\n]*")
_TOKEN = re.compile(r"[0-9]+(?:[.,][0-9]+)*|[a-z]+|[\u4e00-\u9fff]")


def reply(body: Mapping[str, Any]) -> str | None:
    """What is said to a request of the retrieval benchmark; None to any other."""
    asked = str(body["messages"][-1]["content"])
    if "Passages, one JSON object a line" in asked:
        return _answer(asked)
    if "\nReferences: " in asked and "<answer " in asked:
        return _score(asked)
    if "\n參考答案：" in asked and "<回答 " in asked:
        return _metrics(asked)
    return None


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text.lower().replace("臺", "台"))


def _share(wanted: Sequence[str], held: Sequence[str]) -> float:
    """The share of the wanted tokens that are held."""
    there = set(held)
    return sum(token in there for token in wanted) / len(wanted) if wanted else 0.0


def _objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.split("\n") if line.startswith("{")]


def _field(text: str, name: str) -> Any:
    """The JSON value of the last line that begins with the name: earlier ones may stand in what others wrote."""
    line = next(line for line in reversed(text.split("\n")) if line.startswith(name))
    return json.loads(line.removeprefix(name))


def _between(text: str, mark: str) -> str:
    """The JSON string on the line after the last opening mark."""
    lines = text.split("\n")
    opening = max(n for n, line in enumerate(lines) if line.startswith(f"<{mark} "))
    return str(json.loads(lines[opening + 1]))


def _answer(asked: str) -> str:
    wanted = _tokens(_field(asked, "Question: "))
    sentences = [found.strip() for each in _objects(asked) for found in _SENTENCE.findall(each["text"])]
    best = max(sentences, key=lambda sentence: _share(wanted, _tokens(sentence)), default="")
    return best or "Not mentioned"


def _score(asked: str) -> str:
    answer = _tokens(_between(asked, "answer"))
    share = max((_share(_tokens(each), answer) for each in _field(asked, "References: ")), default=0.0)
    refusal = answer == ["not", "mentioned"]
    return json.dumps({"score": 0 if refusal else int(4 * share), "refusal": refusal, "reason": "words in common"})


def _metrics(asked: str) -> str:
    question, reference, answer = _field(asked, "題目："), _field(asked, "參考答案："), _between(asked, "回答")
    passages = [each["內容"] for each in _objects(asked) if "內容" in each]
    told = [token for text in passages for token in _tokens(text)]
    relevant = sum(_share(_tokens(reference), _tokens(text)) > 0.9 for text in passages)
    values = {
        "faithfulness": max((_share(_tokens(answer), _tokens(text)) for text in passages), default=0.0),
        "answer_relevancy": _share(_tokens(reference), _tokens(answer)) if question else 0.0,
        "context_precision": relevant / len(passages) if passages else 0.0,
        "context_recall": _share(_tokens(reference), told),
    }
    return json.dumps({name: round(value, 3) for name, value in values.items()})
