"""The raw tables of the retrieval track, filled from what a store holds: verdicts of judged runs, answers in pairs.

What belongs here: which product of the store becomes which of these tables. What does not: their schemas
(opentwbench/evaluation/warehouse.py) and every figure (dbt_leaderboard). Answers are read again from their journals, by
the method that ranks in their protocol: nothing is asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.files import JSONL_NAME, read_jsonl
from opentwbench.dataset.manifest import WITHDRAWN_NAME, read_withdrawals
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.journal import RUN_NAME, read_protocol, read_responses, read_run
from opentwbench.evaluation.scoring import grade
from opentwbench.formosa.output import items_from
from opentwbench.rag.ragas import METRICS
from opentwbench.rag.report import DETAILS_JSON, REPORT_JSON
from resources.formosa_places import ITEMS
from resources.rag_products import PUBLICATION
from resources.store import Store

Rows = Iterable[Mapping[str, Any]]

MAX_DETAILS = 1 << 30
"""Most bytes of a run's details that are read."""


def tables(store: Store, runs: Path) -> Mapping[str, Rows]:
    """Table -> rows, for both tables of the track."""
    return {"rag_verdicts": _verdicts(store), "rag_answers": _answers(store, runs)}


# -- verdicts ---------------------------------------------------------------------------------------------------------


def _verdicts(store: Store) -> Iterator[dict[str, Any]]:
    with store.folder("rag") as folder:
        withdrawn = _withdrawn(store)
        for run in sorted(folder.iterdir()) if folder.is_dir() else ():
            if (run / DETAILS_JSON).is_file() and (run / "plan.json").is_file():
                yield from (row for row in _of_run(run) if row["question_id"] not in withdrawn)


def _withdrawn(store: Store) -> frozenset[str]:
    """Ids of tw-rag-bench that a person withdrew: published, and in no score. No other data set has such ids."""
    if not store.exists(PUBLICATION):
        return frozenset()
    with store.folder(PUBLICATION) as folder:
        return frozenset(each.item_id for each in read_withdrawals(folder / WITHDRAWN_NAME))


def _of_run(run: Path) -> Iterator[dict[str, Any]]:
    plan, made, details = (_json(run / name) for name in ("plan.json", REPORT_JSON, DETAILS_JSON))
    try:
        about = {
            "run": run.name,
            "dataset": plan["benchmark"],
            "system": plan["system"],
            "model": plan["generator"],
            "judge": plan["judge"],
            "judging": plan.get("judging", "score"),
            "self_judged": _flag(made["self_judged"]),
        }
        for each in details:
            yield about | _row(each)
    except (KeyError, TypeError, AttributeError) as error:
        raise DatasetError(f"rag/{excerpt(run.name)}: no record of a run: {excerpt(str(error))}") from None


def _row(each: Mapping[str, Any]) -> dict[str, Any]:
    ragas, metrics = each.get("ragas") or {}, each["metrics"]
    scores = ragas.get("scores") or {}
    return {
        "question_id": each["question_id"],
        "category": each["category"],
        "outcome": each["outcome"],
        "judged": ragas.get("outcome") or each["llm_evaluation"]["outcome"],
        "gold_position": ragas.get("gold_position"),
        **{name: _number(scores.get(name)) for name in METRICS},
        "score": _number(metrics["Accuracy"]),
        "recall": _number(metrics["Recall"]),
        "f1": _number(metrics["F1"]),
        "answer_found": ragas.get("answer_found"),
    }


def _flag(value: Any) -> bool:
    """The report's own finding, by the names asked for and those that endpoints report: it is made in one place."""
    if not isinstance(value, bool):
        raise TypeError("self_judged is neither true nor false")
    return value


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _json(path: Path) -> Any:
    where = f"{path.parent.name}/{path.name}"
    if not path.is_file():
        raise DatasetError(f"{excerpt(where)}: not there; otb rag report writes it")
    if path.stat().st_size > MAX_DETAILS:
        raise DatasetError(f"{excerpt(where)}: more than {MAX_DETAILS:,} bytes")
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{excerpt(where)}: not JSON: {excerpt(str(error))}") from None


# -- answers with and without the passages ----------------------------------------------------------------------------


def _answers(store: Store, runs: Path) -> Iterator[dict[str, Any]]:
    """Open: runs over the published items with options. Closed: runs over the Formosa items that these are made from.

    Formosa's pool is asked its whole grounded set without a passage, so its runs are the closed halves.
    """
    if not store.exists(PUBLICATION):
        return
    with store.folder(PUBLICATION) as folder:
        rows = read_jsonl(folder / JSONL_NAME)
    withdrawn = _withdrawn(store)
    rows = [row for row in rows if row["item_id"] not in withdrawn]
    open_keys = {row["item_id"]: (row["answer"], row["formosa_id"], row["category"]) for row in rows}
    wanted = {row["formosa_id"] for row in rows}
    items = items_from(store.read(ITEMS), ITEMS) if store.exists(ITEMS) else []
    closed_keys = {i.item_id: (i.answer, i.item_id, i.category) for i in items if i.item_id in wanted}
    with store.folder("formosa/runs/pool") as pool:
        closed = [*_run_folders(runs, "formosa"), *_run_folders(pool, "")]
    for side, folders, keys in (("open", _run_folders(runs, "rag"), open_keys), ("closed", closed, closed_keys)):
        for folder in folders:
            yield from _of_journal(side, folder, keys)


def _run_folders(root: Path, benchmark: str) -> list[Path]:
    found = [path for path in sorted(root.iterdir()) if (path / RUN_NAME).is_file()] if root.is_dir() else []
    return [path for path in found if not benchmark or read_run(path).benchmark == benchmark]


def _of_journal(side: str, folder: Path, keys: Mapping[str, tuple[str, str, str]]) -> Iterator[dict[str, Any]]:
    record, method = read_run(folder), read_protocol(folder).extraction
    for response in read_responses(folder):
        known = keys.get(response.item_id)
        if known is None:
            continue
        key, formosa_id, category = known
        graded = grade(response, key, methods=(method,))
        yield {
            "side": side,
            "run_id": record.run_id,
            "model": record.model,
            "protocol_id": record.protocol_id,
            "formosa_id": formosa_id,
            "category": category,
            "repeat": response.repeat,
            "outcome": graded.outcomes[method].value,
        }
