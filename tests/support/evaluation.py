"""Items and responses for the tests of the evaluation track, made by the project."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from opentwbench.evaluation.model import AskedItem, Response
from opentwbench.evaluation.prompts import option_order
from opentwbench.evaluation.protocols import BOX, Protocol


def make_item(n: int, **changes: object) -> AskedItem:
    """Item number n: distinct texts, the key moving through the letters, three subjects in two fields."""
    subject = f"subject-{n % 3}"
    item = AskedItem(
        item_id=f"{subject}-{hashlib.sha256(str(n).encode()).hexdigest()[:12]}",
        question=f"第 {n} 題：下列何者正確？",
        options={"A": f"甲說{n}", "B": f"乙說{n}", "C": f"丙說{n}", "D": f"丁說{n}"},
        key="ABCD"[n % 4],
        subject=subject,
        subject_group="law" if n % 3 else "medicine",
        year_roc=100 + n % 5,
    )
    return replace(item, **changes)  # type: ignore[arg-type]


def make_response(
    item: AskedItem, content: str | None, protocol: Protocol = BOX, repeat: int = 0, **changes: object
) -> Response:
    """A reply to an item, options in the protocol's own order."""
    response = Response(
        run_id="run-1",
        repeat=repeat,
        item_id=item.item_id,
        request_hash=hashlib.sha256(f"{item.item_id} {repeat}".encode()).hexdigest(),
        protocol_id=protocol.protocol_id,
        model="made-up",
        option_order=option_order(item, protocol),
        content=content,
        reasoning=None,
        finish_reason="stop",
        prompt_tokens=100,
        completion_tokens=20,
        reasoning_tokens=None,
        latency_ms=10.0,
        attempts=1,
    )
    return replace(response, **changes)  # type: ignore[arg-type]


def boxed(item: AskedItem, original: str, protocol: Protocol = BOX) -> str:
    """A reply that boxes the place at which an original letter is shown."""
    return f"\\boxed{{{'ABCD'[option_order(item, protocol).index(original)]}}}"
