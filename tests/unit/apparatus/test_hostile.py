"""Names from outside through every study: bounded, kept apart, and never more than text."""

from __future__ import annotations

import json

import pytest
from support.apparatus import card, inputs, rows, run
from support.evaluation import boxed, make_item, make_response

from opentwbench.apparatus.result import payload, read_payload
from opentwbench.apparatus.rows import LONGEST, Inputs, shown
from opentwbench.apparatus.studies import STUDIES, conduct
from opentwbench.evaluation.scoring import grade

NAMES = [
    "<script>alert(1)</script>",
    "javascript:alert(1)",
    "../../etc/passwd",
    "maker/\u202ereversed\u202c\u200f\u2067name",
    "a\nb\x00c",
    "",
    "maker/" + "長" * 10_000,
    "maker/" + "長" * 9_999 + "短",
    '"},"url":"https://example.org/x',
    "\ud800",
]


def hostile_inputs() -> Inputs:
    items = [make_item(n) for n in range(6)]
    runs = []
    for n, name in enumerate(NAMES):
        texts = [grade(make_response(item, boxed(item, item.key)), item.key) for item in items]
        word = "+" * (n % 5 + 1) + "-" * (5 - n % 5)
        for benchmark in ("exam", "exam_sample", "formosa"):
            runs.append(run(name, rows(word), benchmark=benchmark, texts=texts))
        runs.append(run(name, rows("u" * 6), protocol="box-placeholder"))
        runs.append(run(name, rows(word), budget=16384, texts=texts))
    keys = {"scope": "s", "groups": 9, "agreeing": 8, "independent_groups": 9, "independent_agreeing": 8}
    verdicts = [
        {"judge": f"<b>{judge}</b>", "item_id": f"x{n}", "verdict": "approve", "planted": None}
        for judge in "ab"
        for n in range(3)
    ]
    return inputs(
        *runs,
        subjects={row.item_id: "<subject>" for row in rows("+" * 6)},
        key_figures=[keys],
        cards=[card(name, released="2026-01", taiwan_tuned=True) for name in NAMES],
        verdicts=verdicts,
    )


@pytest.mark.parametrize("name", list(STUDIES))
def test_hostile_names_go_through_every_study(name: str) -> None:
    found = conduct(name, hostile_inputs())
    assert found.n > 0, found.finding.en
    text = payload(found)
    assert read_payload(name, text).n == found.n
    record = json.loads(text)
    cells = [cell for table in record["tables"] for row in table["rows"] for cell in row if isinstance(cell, str)]
    assert cells and max(map(len, cells)) < 400
    assert not any("長" * (LONGEST + 1) in cell for cell in cells)


def test_two_names_stay_two() -> None:
    assert len({shown(name) for name in NAMES}) == len(NAMES)
    assert all(shown(name).isprintable() and len(shown(name)) <= 2 * LONGEST for name in NAMES)
    assert shown("maker/model-1") == "maker/model-1"
