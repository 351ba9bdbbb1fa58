"""The raw tables that only the public board needs, filled from what a store holds.

What belongs here: which product of the store becomes which of these tables. What does not: their rows
(opentwbench/evaluation/board_rows.py), their schemas (opentwbench/evaluation/warehouse.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from opentwbench.dataset.files import JSONL_NAME, parse_json, read_jsonl
from opentwbench.dataset.manifest import MANIFEST_NAME
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation import board_rows as rows
from opentwbench.evaluation.journal import read_protocol
from opentwbench.evaluation.submissions import read_all
from opentwbench.evaluation.warehouse import RESPONSES
from opentwbench.rag.tw_rag.output import RAGAS_NAME
from resources import formosa_places, rag_products
from resources.store import Store

MODEL_CARDS = "models/cards.jsonl"
"""What the maintainer states of models, in the store: family, size, licence, release; one JSON object a line."""


def tables(store: Store, raw: Path, published: Iterable[Path], runs: Iterable[Path], submissions: Path) -> _Tables:
    """Table -> rows, for every table of the board."""
    return {
        "item_texts": _item_texts(raw, published),
        "attributions": _attributions(store),
        "model_cards": _model_cards(store),
        "submission_provenance": _provenance(submissions),
        "run_scores": _scores(runs),
        "removed_items": _removed(store),
    }


_Tables = Mapping[str, Iterable[Mapping[str, Any]]]


def asked_items(raw: Path) -> frozenset[str]:
    """Every item that a graded response names."""
    found: set[str] = set()
    for path in sorted((raw / RESPONSES).glob("*.parquet")):
        found.update(pq.read_table(path, columns=["item_id"]).column(0).unique().to_pylist())
    return frozenset(found)


def _item_texts(raw: Path, published: Iterable[Path]) -> Iterator[dict[str, Any]]:
    asked = asked_items(raw)
    if not asked:
        return
    for folder in published:
        yield from rows.item_text_rows(folder.name, read_jsonl(folder / JSONL_NAME), asked)


def _attributions(store: Store) -> Iterator[dict[str, Any]]:
    """Articles of every published item of the tracks that adapt them, asked of a model or not."""
    for publication, name in ((formosa_places.PUBLICATION, JSONL_NAME), (rag_products.PUBLICATION, RAGAS_NAME)):
        with store.folder(publication) as folder:
            if (folder / MANIFEST_NAME).is_file():
                yield from rows.attribution_rows(folder.name, read_jsonl(folder / name))


def _model_cards(store: Store) -> Iterator[dict[str, Any]]:
    if not store.exists(MODEL_CARDS):
        return
    seen: set[str] = set()
    with store.folder("models") as folder:
        for number, record in enumerate(read_jsonl(folder / Path(MODEL_CARDS).name), 1):
            row = rows.model_card_row(record, f"{MODEL_CARDS} line {number}")
            if row["model"] in seen:
                raise DatasetError(f"{MODEL_CARDS} line {number}: a second card of the same model")
            seen.add(row["model"])
            yield row


def _provenance(submissions: Path) -> Iterator[dict[str, Any]]:
    for each in read_all(submissions):
        of = each.submission.provenance
        record = {"hardware": of.hardware, "runtime": of.runtime, **of.details}
        yield from rows.provenance_rows(each.submission_id, record)


def _scores(runs: Iterable[Path]) -> Iterator[dict[str, Any]]:
    for folder in runs:
        paths = sorted((folder / "scores").glob("*.json"))
        if not paths:
            continue
        ranked_by = read_protocol(folder).extraction
        for path in paths:
            where = f"{folder.name}/scores/{path.name}"
            score = parse_json(path.read_text(encoding="utf-8"), where)
            if score.get("replies") != 0:  # a start that got no reply at all has no rate
                yield rows.score_row(score, ranked_by, where)


def _removed(store: Store) -> Iterator[dict[str, Any]]:
    for slug in store.slugs("datasets"):
        name = f"datasets/{slug}.removed.jsonl"
        if store.exists(name):
            for number, line in enumerate(store.lines(name), 1):
                where = f"{name} line {number}"
                yield rows.removed_row(slug, parse_json(line, where), where)
