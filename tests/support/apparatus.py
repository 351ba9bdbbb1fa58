"""Made rows and runs for the tests of the apparatus studies: the answer of each is known by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from opentwbench.apparatus.result import Study, Table, spoken
from opentwbench.apparatus.rows import Facts, Inputs, Row, Run
from opentwbench.evaluation.extraction import GRADED
from opentwbench.evaluation.model import Graded

KINDS = {"+": "correct", "-": "wrong", "u": "unparsed", "c": "capped", "e": "empty", "r": "refused", "!": "error"}
"""One letter an outcome, so that a run is a word: '++-u' is two right, one wrong, one unread."""


def rows(word: str, prefix: str = "item", **methods: str) -> list[Row]:
    """Rows of one run, an item a letter; a method named in `methods` has outcomes of its own, in the same order."""
    made = []
    for n, letter in enumerate(word):
        outcomes = {name: KINDS[methods.get(name.replace("-", "_"), word)[n]] for name in GRADED}
        error = "timeout" if letter == "!" else ""
        made.append(Row(f"{prefix}-{n:04d}", outcomes, "length" if letter == "c" else "stop", 10, 100.0, 1, error))
    return made


def run(
    model: str,
    made: Iterable[Row] = (),
    *,
    benchmark: str = "exam",
    protocol: str = "box",
    budget: int = 4096,
    method: str = "strict",
    complete: bool = True,
    texts: Sequence[Graded] = (),
) -> Run:
    """A run of a model over made rows."""
    facts = Facts(
        f"run-{model}-{benchmark}-{protocol}-{budget}",
        model,
        benchmark,
        f"{protocol}-{budget}",
        protocol,
        budget,
        method,
        complete=complete,
    )
    return Run(facts, list(made), texts)


def card(model: str, **stated: Any) -> dict[str, Any]:
    """A model card as the raw table has it."""
    empty = dict.fromkeys(("family", "developer", "licence", "released", "open_weights", "taiwan_tuned"))
    return {"model": model, "is_sample": False, **empty, **stated}


def inputs(*runs: Run, **more: Any) -> Inputs:
    """What a study reads."""
    return Inputs(runs=runs, **more)


def cells(study: Study, table: int, *columns: str) -> list[tuple[object, ...]]:
    """These columns of one table of a study; of a cell in both languages the English."""
    found: Table = study.tables[table]
    places = [[column.name for column in found.columns].index(name) for name in columns]
    told = [[spoken(cell, "en") if isinstance(cell, str) else cell for cell in row] for row in found.rows]
    return [tuple(row[place] for place in places) for row in told]
