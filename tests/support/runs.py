"""Items and runs for the tests of the runner: made texts, a loopback endpoint, no model."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from opentwbench.evaluation.client import Endpoint, Rates
from opentwbench.evaluation.items import ItemSet, Roster, item_set
from opentwbench.evaluation.model import Response
from opentwbench.evaluation.protocols import BOX, Protocol
from opentwbench.evaluation.runner import Plan, RunOutcome, Tally, run

QUICK = Endpoint("http://127.0.0.1:1/v1", backoff_base=0.001, backoff_most=0.005, attempts=4, timeout=20)
"""Settings under which a test does not wait; the base URL is put in by each test."""


def item_record(n: int, **changes: Any) -> dict[str, Any]:
    """One row as benchmark.jsonl has it."""
    return {
        "question": f"第{n}題：下列何者為{n}？",
        "A": f"甲{n}",
        "B": f"乙{n}",
        "C": f"丙{n}",
        "D": f"丁{n}",
        "answer": "ABCD"[n % 4],
        "year_roc": 100 + n % 10,
        "item_id": f"sample-subject-{n:012x}",
        **changes,
    }


def write_items(path: Path, n: int, **changes: Any) -> Path:
    """A benchmark.jsonl of `n` made items."""
    lines = (json.dumps(item_record(number, **changes), ensure_ascii=False) + "\n" for number in range(n))
    path.write_text("".join(lines), encoding="utf-8")
    return path


def made_set(folder: Path, n: int) -> ItemSet:
    """A set of `n` made items."""
    return item_set([write_items(folder / "benchmark.jsonl", n)])


def answers(items: ItemSet) -> dict[str, str]:
    """What an endpoint must know to answer everything rightly."""
    return {item.question: item.options[item.key] for item in items}


def make_run(
    items: ItemSet,
    folder: Path,
    base_url: str,
    *,
    concurrency: int = 8,
    protocol: Protocol = BOX,
    endpoint: Endpoint = QUICK,
    repeats: int = 1,
    **settings: Any,
) -> RunOutcome:
    """Carry a run out."""
    plan = Plan("test-run", "scripted", protocol, items, repeats)
    tally = Tally(len(Roster(items)) * repeats)
    return asyncio.run(run(plan, folder, replace(endpoint, base_url=base_url), Rates(concurrency), tally, **settings))


def response(n: int = 0, **changes: Any) -> Response:
    """A response to the made item `n`."""
    record: dict[str, Any] = {
        "run_id": "test-run",
        "repeat": 0,
        "item_id": f"sample-subject-{n:012x}",
        "request_hash": f"{n:064x}",
        "protocol_id": BOX.protocol_id,
        "model": "scripted",
        "option_order": "ABCD",
        "content": "\\boxed{A}",
        "reasoning": None,
        "finish_reason": "stop",
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "reasoning_tokens": None,
        "latency_ms": 1.5,
        "attempts": 1,
    }
    return Response(**{**record, **changes})
