"""Rows of the raw tables that only the public board needs: item texts, model cards, provenance, scores by version.

What belongs here: how a record of the store becomes such a row, and what a record from outside must be. What does not:
the schemas (warehouse.py) and where the records stand (resources/board_tables.py).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any

from opentwbench.dataset.contract import MAX_TEXT, excerpt
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.warehouse import SCHEMAS

MAX_NAME = 500
"""Most characters of a name, a licence or a value of a provenance record; longer ones are refused or cut."""

MAX_PARAMETERS = 100_000.0
"""Most thousand million parameters that a card may state: beyond it the unit was mistaken."""

_OPTIONAL_TEXTS = {"exam_name": "exam_name", "exam_level": "exam_level", "subject_group": "subject_group",
                   "paper_id": "paper_id", "article": "article", "article_url": "url"}  # fmt: skip
"""Column -> its name in benchmark.jsonl."""
_OPTIONAL_COUNTS = ("year_roc", "q_no", "n_source_papers")

_CARD_TEXTS = ("family", "developer", "licence", "released")
_CARD_NUMBERS = ("parameters_b", "active_parameters_b")
_CARD_FLAGS = ("open_weights", "taiwan_tuned")
_CARD_FIELDS = frozenset({"model", *_CARD_TEXTS, *_CARD_NUMBERS, *_CARD_FLAGS, "is_sample"})


def item_text_rows(dataset: str, rows: Iterable[Mapping[str, Any]], asked: frozenset[str]) -> Iterator[dict[str, Any]]:
    """Rows of `item_texts` for the rows of a benchmark.jsonl whose id some response names; the others are passed over.

    A column that a data set does not have (Formosa has no paper, an examination no article) is null. Raises
    DatasetError for a row without the texts that every data set has.
    """
    for row in rows:
        if row.get("item_id") not in asked:
            continue
        texts = {name: row.get(name) for name in ("item_id", "question", "A", "B", "C", "D", "answer")}
        for name, value in texts.items():
            if not isinstance(value, str) or not value or len(value) > MAX_TEXT:
                raise DatasetError(f"{dataset}: {excerpt(str(row.get('item_id')))}: {name} is no text of the contract")
        made: dict[str, Any] = {"dataset": dataset, "item_id": texts["item_id"], "question": texts["question"]}
        made |= {f"option_{letter.lower()}": texts[letter] for letter in "ABCD"}
        made["key"] = texts["answer"]
        for name, given in _OPTIONAL_TEXTS.items():
            made[name] = value if isinstance(value := row.get(given), str) and value else None
        made |= {name: value if _is_count(value := row.get(name)) else None for name in _OPTIONAL_COUNTS}
        yield made


def attribution_rows(dataset: str, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of `attributions` by address: every article that an item of a data set was written from or shows.

    `rows` are those of Formosa's benchmark.jsonl (`url`, `attribution`) or of the retrieval set's ragas.jsonl
    (`context_urls`, `context_attributions`: distractors are shown too). `items` counts the items that use the article.
    Raises DatasetError for an item without an address or its line of attribution, and for one address with two lines:
    CC BY-SA 4.0, section 3(a), asks for both.
    """
    lines: dict[str, str] = {}
    items: Counter[str] = Counter()
    for row in rows:
        where = f"{dataset}: {excerpt(str(row.get('item_id')))}"
        given = _sources(row, where)
        items.update(given.keys())
        for url, line in given.items():
            if lines.setdefault(url, line) != line:
                raise DatasetError(f"{where}: another attribution of {excerpt(url)} than an item before it")
    return [{"dataset": dataset, "url": url, "attribution": lines[url], "items": items[url]} for url in sorted(lines)]


def _sources(row: Mapping[str, Any], where: str) -> dict[str, str]:
    """Address -> attribution of one item; DatasetError where one is missing."""
    urls = row.get("context_urls", [row.get("url")])
    lines = row.get("context_attributions", [row.get("attribution")])
    if not isinstance(urls, list) or not isinstance(lines, list) or len(urls) != len(lines):
        raise DatasetError(f"{where}: not one attribution for every address")
    for url, line in zip(urls, lines, strict=True):
        if not isinstance(url, str) or not url.startswith("https://") or len(url) > MAX_TEXT:
            raise DatasetError(f"{where}: no https address of an article")
        if not isinstance(line, str) or not 0 < len(line) <= MAX_TEXT:
            raise DatasetError(f"{where}: no attribution of {excerpt(url)}")
    return dict(zip(urls, lines, strict=True))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31


def model_card_row(record: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A row of `model_cards`: what the maintainer states of a model; what is not stated is null, never guessed.

    Only `model` must be there. `parameters_b` counts thousand millions. `is_sample` marks a scripted model that nobody
    trained. Raises DatasetError, beginning with `where`, for an unknown field or a value of another kind.
    """
    if unknown := sorted(set(record) - _CARD_FIELDS):
        raise DatasetError(f"{where}: unknown field {excerpt(unknown[0])}; there are {', '.join(sorted(_CARD_FIELDS))}")
    model = record.get("model")
    if not isinstance(model, str) or not model:
        raise DatasetError(f"{where}: needs the text model")
    row: dict[str, Any] = {"model": model, "is_sample": record.get("is_sample", False)}
    row |= {name: record.get(name) for name in (*_CARD_TEXTS, *_CARD_NUMBERS, *_CARD_FLAGS)}
    for name in _CARD_TEXTS:
        if row[name] is not None and not (isinstance(row[name], str) and 0 < len(row[name]) <= MAX_NAME):
            raise DatasetError(f"{where}: {name} is no text of 1 to {MAX_NAME} characters")
    if row["released"] is not None and not _is_date(row["released"]):
        raise DatasetError(f"{where}: released: {excerpt(row['released'])}: no date as YYYY-MM or YYYY-MM-DD")
    for name in _CARD_NUMBERS:
        row[name] = None if row[name] is None else _parameters(row[name], f"{where}: {name}")
    for name in (*_CARD_FLAGS, "is_sample"):
        if not isinstance(row[name], bool) and (row[name] is not None or name == "is_sample"):
            raise DatasetError(f"{where}: {name} is neither true nor false")
    return row


def _is_date(text: str) -> bool:
    """Whether it is a month or a day: a study would leave a model with another date out as one without any."""
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}(-[0-9]{2})?", text):
        return False
    try:
        date.fromisoformat(text if len(text) > 7 else f"{text}-01")
    except ValueError:
        return False
    return True


def _parameters(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DatasetError(f"{where} is no number")
    if not math.isfinite(value) or not 0 < value <= MAX_PARAMETERS:
        raise DatasetError(f"{where} is no number of thousand millions above 0 and up to {MAX_PARAMETERS:,.0f}")
    return float(value)


def provenance_rows(submission_id: str, record: Mapping[str, str]) -> list[dict[str, Any]]:
    """Rows of `submission_provenance` for a cleaned provenance record, by field; values are cut at MAX_NAME."""
    return [
        {"submission_id": submission_id, "field": name, "value": value[:MAX_NAME]}
        for name, value in sorted(record.items())
        if value
    ]


def score_row(score: Mapping[str, Any], ranked_by: str, where: str) -> dict[str, Any]:
    """A row of `run_scores` from scores/<dataset_version>.json of a run, under the method that its protocol ranks by.

    Raises DatasetError, beginning with `where`, for a score of another form.
    """
    try:
        micro = score["methods"][ranked_by]["micro"]
        row = {
            "run_id": score["run_id"],
            "dataset_version": score["dataset_version"],
            "item_set": score["item_set"],
            "n": micro["n"],
            "hits": micro["hits"],
        }
    except (KeyError, TypeError):
        raise DatasetError(f"{where}: no score under {excerpt(ranked_by)}") from None
    counts = (row["hits"], row["n"])
    if not all(isinstance(n, int) and not isinstance(n, bool) for n in counts) or not 0 <= counts[0] <= counts[1]:
        raise DatasetError(f"{where}: {excerpt(str(counts))} are no counts of hits and replies")
    if not all(isinstance(row[name], str) for name in ("run_id", "dataset_version", "item_set")):
        raise DatasetError(f"{where}: a name is no text")
    return row


def removed_row(dataset: str, record: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A row of `removed_items` from a line of datasets/<slug>.removed.jsonl; DatasetError for another form."""
    names = [name for name in SCHEMAS["removed_items"].names if name != "dataset"]
    row = {name: record.get(name) for name in names}
    if not all(isinstance(value, str) for value in row.values()):
        raise DatasetError(f"{where}: needs the texts {', '.join(names)}")
    return {"dataset": dataset, **row}
