"""Score answers by the real ragas library, one JSON object a line: in on standard input, out on standard output.

    tests/ragas/.venv/bin/python tests/ragas/score.py BASE_URL < rows.jsonl

A row has question, answer, contexts and reference. What the library raises is told as `error` and is no score.
It runs in the environment that `make ragas` makes, where nothing of the platform is installed.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

os.environ["RAGAS_DO_NOT_TRACK"] = "true"  # read when the library is loaded; only this spelling counts

from openai import AsyncOpenAI
from ragas.embeddings import OpenAIEmbeddings
from ragas.llms import llm_factory
from ragas.metrics.collections import AnswerRelevancy, ContextPrecisionWithReference, ContextRecall, Faithfulness


async def main(base_url: str) -> None:
    client = AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0)
    judge = llm_factory("judge", client=client)
    faithfulness, precision = Faithfulness(llm=judge), ContextPrecisionWithReference(llm=judge)
    recall = ContextRecall(llm=judge)
    relevancy = AnswerRelevancy(llm=judge, embeddings=OpenAIEmbeddings(client=client, model="vectors"))

    async def scored(row: dict[str, Any]) -> dict[str, Any]:
        asked, contexts = {"user_input": row["question"]}, {"retrieved_contexts": row["contexts"]}
        answer, reference = {"response": row["answer"]}, {"reference": row["reference"]}
        return {
            "faithfulness": await _score(faithfulness, asked | answer | contexts),
            "answer_relevancy": await _score(relevancy, asked | answer),
            "context_precision": await _score(precision, asked | reference | contexts),
            "context_recall": await _score(recall, asked | reference | contexts),
        }

    for scores in await asyncio.gather(*(scored(json.loads(line)) for line in sys.stdin)):
        print(json.dumps(scores))


async def _score(metric: Any, given: dict[str, Any]) -> Any:
    try:
        return (await metric.ascore(**given)).value
    except Exception as error:
        return {"error": type(error).__name__}


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
