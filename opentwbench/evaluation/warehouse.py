"""The raw tables of the mart: their schemas, the rows that records become, and the atomic Parquet writer.

What belongs here: which columns a raw table has and how a record is written as a row.
What does not: where the tables stand and what they are read from (resources/warehouse.py), and everything that is
computed from them (dbt_leaderboard). A raw table states what was recorded; no rate, rank or interval is in one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from opentwbench.dataset.atomic import replacing
from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.model import Withdrawal
from opentwbench.dataset.publication import Verdict
from opentwbench.evaluation.extraction import GRADED
from opentwbench.evaluation.journal import RUN_ID, DigestSet, identity_digest
from opentwbench.evaluation.model import AskedItem, Graded, Response, RunRecord
from opentwbench.evaluation.prompts import original_letter
from opentwbench.evaluation.protocols import Protocol
from opentwbench.evaluation.sample import stem_hash
from opentwbench.evaluation.scoring import grade
from opentwbench.exam.accounting import Accounting

BATCH_ROWS = 20_000
"""Rows held at a time while a table is written: about 20 MB of responses."""

RESPONSES = "responses"
"""The one table that is a folder, a file a run: a new run rewrites no other's rows."""


NO_RUN = "no-run"
"""Name of the file of responses that stands there before the first run, without a row."""


class WarehouseError(ValueError):
    """A row that is none of its table, or a table that cannot be read. Names the table, the row and the column."""


def column_of(method: str) -> str:
    """The column prefix of an extraction method: 'tolerant-box' has tolerant_box_outcome."""
    return method.replace("-", "_")


def _text(name: str, *, null: bool = False) -> pa.Field:
    return pa.field(name, pa.string(), nullable=null)


def _word(name: str, *, null: bool = False) -> pa.Field:
    # A closed vocabulary: a dictionary in the file, text to every reader.
    return pa.field(name, pa.dictionary(pa.int32(), pa.string()), nullable=null)


def _count(name: str, *, null: bool = False) -> pa.Field:
    return pa.field(name, pa.int64(), nullable=null)


def _flag(name: str, *, null: bool = False) -> pa.Field:
    return pa.field(name, pa.bool_(), nullable=null)


def _number(name: str, *, null: bool = False) -> pa.Field:
    return pa.field(name, pa.float64(), nullable=null)


_READINGS = [
    each
    for method in GRADED
    for each in (_word(f"{column_of(method)}_answer", null=True), _word(f"{column_of(method)}_outcome"))
]

SCHEMAS: Mapping[str, pa.Schema] = MappingProxyType(
    {
        # One row an item ever published. No text: benchmark.jsonl has it, under the same id.
        "items": pa.schema(
            [
                _text("item_id"),
                _text("subject"),
                _text("field"),
                _count("year_roc", null=True),
                _text("stem_hash"),
                _flag("shares_stem"),
            ]
        ),
        # One row an item and data-set version in which it stands, of every version seen.
        "item_versions": pa.schema(
            [
                _text("dataset"),
                _text("dataset_version"),
                _text("item_id"),
                _word("key"),
                _flag("withdrawn"),
                _flag("is_current"),
            ]
        ),
        "withdrawals": pa.schema(
            [_text("dataset"), _text("item_id"), _text("reason"), _text("date"), _text("evidence")]
        ),
        "protocols": pa.schema(
            [
                _text("protocol_id"),
                _text("name"),
                _text("system", null=True),
                _text("user_template"),
                _text("shuffle"),
                _count("max_tokens"),
                _number("temperature"),
                _text("extraction"),
                _text("decoding"),
            ]
        ),
        "runs": pa.schema(
            [
                _text("run_id"),
                _text("model"),
                _text("protocol_id"),
                _text("benchmark"),
                _text("dataset_version"),
                _text("item_set"),
                _count("n_items"),
                _count("repeats"),
                _text("started"),
                _text("serving_precision"),
                _text("client_version"),
                _text("extra"),
            ]
        ),
        # What became of a run's stored responses when they were graded: none is dropped without being counted.
        "gradings": pa.schema(
            [
                _text("run_id"),
                _text("graded_version"),
                _count("graded"),
                _count("ungraded"),
                _count("ungraded_items"),
                _count("doubled"),
                _count("journal_bytes"),
            ]
        ),
        RESPONSES: pa.schema(
            [
                _word("run_id"),
                pa.field("repeat", pa.int32(), nullable=False),
                _text("item_id"),
                _text("request_hash"),
                _word("graded_version"),
                _word("option_order"),
                _word("key"),
                *_READINGS,
                _word("lenient_rule"),
                pa.field("boxes", pa.int32(), nullable=False),
                _word("error"),
                _word("finish_reason", null=True),
                _count("prompt_tokens", null=True),
                _count("completion_tokens", null=True),
                _count("reasoning_tokens", null=True),
                pa.field("latency_ms", pa.float32(), nullable=False),
                pa.field("attempts", pa.int32(), nullable=False),
            ]
        ),
        "submissions": pa.schema(
            [
                _text("submission_id"),
                _text("model"),
                _text("benchmark"),
                _text("dataset_version"),
                _text("protocol_id"),
                _text("serving_precision"),
                _text("form"),
                _text("received"),
                _count("n_items"),
                _count("rows"),
            ]
        ),
        # What was not taken in, and why; a text is '' where the provenance said nothing that may be kept.
        "refused_submissions": pa.schema(
            [
                _text("refusal_id"),
                _text("reason"),
                _text("detail"),
                _text("form"),
                _count("rows"),
                _text("model"),
                _text("benchmark"),
                _text("dataset_version"),
                _text("protocol_id"),
                _text("serving_precision"),
                _text("received"),
            ]
        ),
        # item_id is null where the submitted hash cannot tell two rows apart.
        "submission_answers": pa.schema(
            [
                _word("submission_id"),
                _text("item_id", null=True),
                _text("stem_hash"),
                _flag("strict_correct"),
                _flag("lenient_correct"),
                _flag("strict_parsed"),
                _flag("lenient_parsed"),
                _word("strict_answer", null=True),
                _word("lenient_answer", null=True),
            ]
        ),
        "build_accounting": pa.schema([_text("scope"), _text("section"), _text("line"), _count("count")]),
        "key_figures": pa.schema(
            [
                _text("scope"),
                _count("groups"),
                _count("agreeing"),
                _count("independent_groups"),
                _count("independent_agreeing"),
            ]
        ),
        "check_results": pa.schema(
            [
                _text("dataset"),
                _text("check_name"),
                _flag("passed"),
                _flag("blocking"),
                _flag("warned"),
                _text("detail"),
                _text("code_version"),
                _text("judged_manifest"),
            ]
        ),
        "model_annotations": pa.schema([_text("model"), _text("annotation"), _text("note")]),
        # One row an apparatus study: its result as JSON (opentwbench/apparatus/result.py).
        "apparatus_studies": pa.schema([_text("study_id"), _text("payload")]),
        # The retrieval track: one row a question of a judged run, and one an answer with or without the passages.
        "rag_verdicts": pa.schema(
            [
                *(_text(name) for name in ("run", "dataset", "system", "model", "judge", "judging")),
                _flag("self_judged"),
                *(_text(name) for name in ("question_id", "category", "outcome", "judged")),
                _count("gold_position", null=True),
                *(_number(name, null=True) for name in ("faithfulness", "answer_relevancy", "context_precision")),
                *(_number(name, null=True) for name in ("context_recall", "score", "recall", "f1")),
                _flag("answer_found", null=True),
            ]
        ),
        "rag_answers": pa.schema(
            [
                *(_text(name) for name in ("side", "run_id", "model", "protocol_id", "formosa_id", "category")),
                _count("repeat"),
                _text("outcome"),
            ]
        ),
        # What the public board shows beside figures; rows: board_rows.py.
        "item_texts": pa.schema(
            [
                _text("dataset"),
                _text("item_id"),
                _text("question"),
                *(_text(f"option_{letter}") for letter in "abcd"),
                _word("key"),
                *(_text(name, null=True) for name in ("exam_name", "exam_level", "subject_group", "paper_id")),
                *(_text(name, null=True) for name in ("article", "article_url")),
                *(_count(name, null=True) for name in ("year_roc", "q_no", "n_source_papers")),
            ]
        ),
        "attributions": pa.schema([_text("dataset"), _text("url"), _text("attribution"), _count("items")]),
        "model_cards": pa.schema(
            [
                _text("model"),
                _flag("is_sample"),
                *(_text(name, null=True) for name in ("family", "developer", "licence", "released")),
                *(_number(name, null=True) for name in ("parameters_b", "active_parameters_b")),
                *(_flag(name, null=True) for name in ("open_weights", "taiwan_tuned")),
            ]
        ),
        "submission_provenance": pa.schema([_text("submission_id"), _text("field"), _text("value")]),
        "run_scores": pa.schema(
            [_text("run_id"), _text("dataset_version"), _text("item_set"), _count("n"), _count("hits")]
        ),
        "removed_items": pa.schema(
            [_text("dataset"), _text("item_id"), _text("last_version"), _text("reason"), _text("detail")]
        ),
    }
)
"""Raw table -> schema. Field order is column order; a field that is not nullable never holds null."""


# -- rows -------------------------------------------------------------------------------------------------------------


def item_rows(items: Iterable[AskedItem]) -> Iterator[dict[str, Any]]:
    """Rows of `items`, ordered by id; of the items given only ids, names and hashes are held, no text.

    `shares_stem` is true where another of them has the same stem. Raises WarehouseError for an id that stands twice.
    """
    read = ((i.item_id, i.subject, i.subject_group, i.year_roc, stem_hash(i.question)) for i in items)
    facts = sorted(read, key=lambda fact: fact[0])
    seen = Counter(found for *_, found in facts)
    for (one, *_), (other, *_) in pairwise(facts):
        if one == other:
            raise WarehouseError(f"items: {excerpt(one)} stands twice")
    for item_id, subject, field, year, found in facts:
        yield {
            "item_id": item_id,
            "subject": subject,
            "field": field,
            "year_roc": year,
            "stem_hash": found,
            "shares_stem": seen[found] > 1,
        }


def version_rows(
    dataset: str, version: str, items: Iterable[AskedItem], withdrawn: Iterable[str]
) -> list[dict[str, Any]]:
    """Rows of `item_versions` for the version that a data set has now, ordered by item."""
    out = set(withdrawn)
    return [
        {
            "dataset": dataset,
            "dataset_version": version,
            "item_id": item_id,
            "key": key,
            "withdrawn": item_id in out,
            "is_current": True,
        }
        for item_id, key in sorted((item.item_id, item.key) for item in items)
    ]


def keep_history(
    current: Sequence[Mapping[str, Any]], before: Iterable[Mapping[str, Any]]
) -> Iterator[Mapping[str, Any]]:
    """The rows of `item_versions` as they are now, and the earlier rows of every other version, no longer current.

    A data-set folder holds its newest version only; the warehouse remembers the versions that it has seen.
    """
    now = {(row["dataset"], row["dataset_version"]) for row in current}
    for row in before:
        if (row["dataset"], row["dataset_version"]) not in now:
            yield {**row, "is_current": False}
    yield from current


def withdrawal_row(dataset: str, withdrawal: Withdrawal) -> dict[str, Any]:
    """A row of `withdrawals`."""
    return {"dataset": dataset, **withdrawal.to_json()}


def protocol_row(protocol: Protocol) -> dict[str, Any]:
    """A row of `protocols`; `decoding` is the JSON of every parameter that is sent."""
    return {
        "protocol_id": protocol.protocol_id,
        "name": protocol.name,
        "system": protocol.system,
        "user_template": protocol.user_template,
        "shuffle": protocol.shuffle,
        "max_tokens": protocol.max_tokens,
        "temperature": float(protocol.temperature),
        "extraction": protocol.extraction,
        "decoding": json.dumps(protocol.decoding(), sort_keys=True),
    }


def run_row(run: RunRecord) -> dict[str, Any]:
    """A row of `runs`; `extra` is JSON."""
    names = [name for name in SCHEMAS["runs"].names if name != "extra"]
    return {
        **{name: getattr(run, name) for name in names},
        "extra": json.dumps(dict(run.extra), ensure_ascii=False, sort_keys=True),
    }


def response_row(graded: Graded, graded_version: str) -> dict[str, Any]:
    """A row of `responses`. Answers are original letters, so that two option orders can be compared.

    Raises WarehouseError when a method that has columns was not read.
    """
    response = graded.response
    row: dict[str, Any] = {
        "run_id": response.run_id,
        "repeat": response.repeat,
        "item_id": response.item_id,
        "request_hash": response.request_hash,
        "graded_version": graded_version,
        "option_order": response.option_order,
        "key": graded.key,
        "boxes": graded.boxes,
        "error": response.error.value,
        "finish_reason": response.finish_reason,
        "prompt_tokens": response.prompt_tokens,
        "completion_tokens": response.completion_tokens,
        "reasoning_tokens": response.reasoning_tokens,
        "latency_ms": response.latency_ms,
        "attempts": response.attempts,
    }
    for method in GRADED:
        if method not in graded.readings or method not in graded.outcomes:
            raise WarehouseError(f"{RESPONSES}: {response.item_id} of {excerpt(response.run_id)} lacks {method}")
        row[f"{column_of(method)}_answer"] = _original(graded.readings[method].answer, response.option_order)
        row[f"{column_of(method)}_outcome"] = graded.outcomes[method].value
    row["lenient_rule"] = graded.readings["lenient"].rule
    return row


def _original(shown: str | None, order: str) -> str | None:
    # Twinkle's methods read any capital letter; one that was not shown stays as it was read, and is wrong.
    return None if shown is None else original_letter(shown, order) or shown


@dataclass(slots=True)
class Grading:
    """What became of the stored responses of one run; responses = graded + ungraded + doubled."""

    run_id: str
    graded_version: str
    graded: int = 0
    ungraded: int = 0
    """Responses to items that no data set has (any more)."""
    ungraded_items: int = 0
    doubled: int = 0
    """Further responses to an item in the same repeat; the first one counts, as in every score."""
    journal_bytes: int = 0
    """Size of the journal when it was read. A journal only grows, so another size means new responses."""

    def row(self) -> dict[str, Any]:
        """A row of `gradings`."""
        return {name: getattr(self, name) for name in SCHEMAS["gradings"].names}


def graded_rows(
    responses: Iterable[Response], items: Mapping[str, AskedItem], grading: Grading, aliases: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Rows of `responses`, streamed; `grading` counts what was left out once the stream has ended.

    `aliases`: an item id of an earlier version -> its id now (manifest.json of the data set); rows carry the id of now.
    """
    seen, missing = DigestSet(), DigestSet()
    for response in responses:
        item_id = aliases.get(response.item_id, response.item_id)
        item = items.get(item_id)
        if item is None:
            grading.ungraded += 1
            grading.ungraded_items += missing.add(identity_digest(0, item_id, ""))
        elif not seen.add(identity_digest(response.repeat, item_id, "")):
            grading.doubled += 1
        else:
            grading.graded += 1
            yield {**response_row(grade(response, item.key), grading.graded_version), "item_id": item_id}


def accounting_rows(accounting: Accounting) -> list[dict[str, Any]]:
    """Rows of `build_accounting`: index rows and what became of them, then printed questions and theirs.

    `line` is 'total' for the sum that the other lines of its section add up to.
    """
    papers, questions = accounting.paper_figures(), accounting.question_figures()
    lines = [
        ("papers", "total", papers.index_rows),
        ("papers", "accepted", papers.accepted),
        *(("papers", reason, count) for reason, count in papers.rejected.items()),
        ("questions", "total", questions.printed),
        ("questions", "published", questions.published),
        ("questions", "folded", questions.folded),
        ("questions", "no_subject", questions.no_subject),
        *(("questions", exclusion, count) for exclusion, count in questions.excluded.items()),
    ]
    return [
        {"scope": accounting.scope, "section": section, "line": line, "count": count} for section, line, count in lines
    ]


def key_row(scope: str, keys: Mapping[str, Any]) -> dict[str, Any]:
    """A row of `key_figures` from the key section of a stored accounting record."""
    names = [name for name in SCHEMAS["key_figures"].names if name != "scope"]
    return {"scope": scope, **{name: keys.get(name) for name in names}}


def check_row(dataset: str, verdict: Verdict) -> dict[str, Any]:
    """A row of `check_results`; `judged_manifest` says which bytes were judged, '' when there was no manifest."""
    return {
        "dataset": dataset,
        "check_name": verdict.check,
        "passed": verdict.passed,
        "blocking": verdict.blocking,
        "warned": verdict.warned,
        "detail": verdict.detail,
        "code_version": verdict.code_version,
        "judged_manifest": verdict.files.get("manifest.json", ""),
    }


# -- files ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WrittenTable:
    """One raw table on disk: how many rows, and the sha256 of its file. Equal rows give equal bytes."""

    name: str
    rows: int
    sha256: str


def table_path(folder: Path, table: str, run_id: str = "") -> Path:
    """Where a table stands under the folder of raw tables; `responses` has a file for each run.

    Raises WarehouseError for an unknown table, and for a run id that could leave the folder.
    """
    if table not in SCHEMAS:
        raise WarehouseError(f"no raw table {excerpt(table)}; there are {', '.join(SCHEMAS)}")
    if table != RESPONSES:
        return folder / f"{table}.parquet"
    if not re.fullmatch(RUN_ID, run_id):
        raise WarehouseError(f"{excerpt(run_id)} is no run id")
    return folder / RESPONSES / f"{run_id}.parquet"


def write_table(folder: Path, table: str, rows: Iterable[Mapping[str, Any]], run_id: str = "") -> WrittenTable:
    """Write a raw table, atomically and a batch at a time; the old file stays until the new one is whole.

    Raises WarehouseError naming table, row (from 0) and column for a row with a missing, unknown, wrongly typed or
    null value; nothing is replaced then.
    """
    path = table_path(folder, table, run_id)
    source = iter(rows)
    count = 0
    with replacing(path) as aside:
        with pq.ParquetWriter(aside, SCHEMAS[table], compression="zstd") as writer:
            while batch := list(islice(source, BATCH_ROWS)):
                writer.write_table(_arrow(table, batch, count))
                count += len(batch)
        digest = file_digest(aside)
    return WrittenTable(table, count, digest)


def _arrow(table: str, rows: Sequence[Mapping[str, Any]], first: int) -> pa.Table:
    schema = SCHEMAS[table]
    names = set(schema.names)
    for n, row in enumerate(rows):
        if set(row) != names:
            wrong = sorted(names.symmetric_difference(row))
            raise WarehouseError(f"{table} row {first + n}: missing or unknown columns: {excerpt(', '.join(wrong))}")
    columns = [_column(table, field, [row[field.name] for row in rows], first) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _column(table: str, field: pa.Field, values: Sequence[Any], first: int) -> pa.Array:
    if not field.nullable and None in values:
        raise WarehouseError(f"{table} row {first + values.index(None)}: column {field.name} is null")
    try:
        return pa.array(values, type=field.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, UnicodeEncodeError, OverflowError):
        bad = next((n for n, value in enumerate(values) if not _fits(field, value)), 0)
        raise WarehouseError(
            f"{table} row {first + bad}: column {field.name} cannot hold {excerpt(values[bad])}"
        ) from None


def _fits(field: pa.Field, value: Any) -> bool:
    try:
        pa.array([value], type=field.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, UnicodeEncodeError, OverflowError):
        return False
    return True


def read_table(folder: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a raw table, [] when it was never written; WarehouseError when the file has another schema.

    Not for `responses`, which is read a file at a time by the mart.
    """
    path = table_path(folder, table)
    if not path.exists():
        return []
    try:
        found = pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise WarehouseError(f"{path.name}: not a readable Parquet file: {excerpt(str(error), 200)}") from None
    if found.schema.names != SCHEMAS[table].names:
        raise WarehouseError(f"{path.name}: columns are {excerpt(', '.join(found.schema.names), 200)}")
    rows: list[dict[str, Any]] = found.to_pylist()
    return rows


def file_digest(path: Path) -> str:
    """Hex sha256 of a file, read a piece at a time."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def ensure_tables(folder: Path) -> list[str]:
    """Write an empty table wherever there is none, so that the mart can be built before the first run; their names."""
    missing = [name for name in SCHEMAS if name != RESPONSES and not table_path(folder, name).exists()]
    for name in missing:
        write_table(folder, name, ())
    if not any((folder / RESPONSES).glob("*.parquet")):
        write_table(folder, RESPONSES, (), NO_RUN)
        missing.append(RESPONSES)
    return missing


def raw_digests(folder: Path) -> dict[str, str]:
    """File name under the folder -> sha256, of every raw table: what a mart is made from."""
    files = sorted(path for path in folder.rglob("*.parquet") if not path.name.startswith("."))
    return {path.relative_to(folder).as_posix(): file_digest(path) for path in files}
