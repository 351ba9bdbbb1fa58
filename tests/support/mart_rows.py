"""Raw tables of the mart filled with invented runs: as many models and items as asked, drawn with a fixed seed.

No row is a real result. A model has an ability and a parse rate, an item a difficulty; answers follow the Rasch model
with a guessing floor of one in four. `RunWriter` writes runs whose counts are chosen instead of drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from opentwbench.dataset.atomic import replacing
from opentwbench.evaluation.extraction import GRADED
from opentwbench.evaluation.model import AskedItem, RunRecord
from opentwbench.evaluation.protocols import BOX, PATTERN, REASONING_BUDGET, Protocol
from opentwbench.evaluation.warehouse import (
    RESPONSES,
    SCHEMAS,
    column_of,
    ensure_tables,
    item_rows,
    protocol_row,
    run_row,
    table_path,
    version_rows,
    write_table,
)

LETTERS = np.array(list("ABCD"))
VERSION = "0123456789ab"
FIELDS = ("law", "medicine", "engineering", "humanities", "economics", "human-services")


def make_items(count: int, subjects: int, seed: int = 1, prefix: str = "made") -> list[AskedItem]:
    """`count` items spread over `subjects` as evenly as it goes; one in 500 shares its stem with the item before."""
    source = np.random.default_rng(seed)
    keys, years = LETTERS[source.integers(0, 4, count)], source.integers(100, 116, count)
    items: list[AskedItem] = []
    for n in range(count):
        subject = n * subjects // count
        stem = items[-1].question if n % 500 == 499 and items else f"題目 {prefix} {n}"
        items.append(
            AskedItem(
                item_id=f"{prefix}-{subject:03d}-{n:012x}",
                question=stem,
                options={letter: f"選項 {letter}" for letter in "ABCD"},
                key=str(keys[n]),
                subject=f"tw-made-{subject:03d}-bench",
                subject_group=FIELDS[subject % len(FIELDS)],
                year_roc=int(years[n]),
            )
        )
    return items


@dataclass
class Tables:
    """The raw tables of one warehouse while they are made up; `write` puts the small ones in place."""

    raw: Path
    items: list[AskedItem]
    runs: list[RunRecord] = field(default_factory=list)
    protocols: dict[str, Protocol] = field(default_factory=dict)
    gradings: list[dict[str, object]] = field(default_factory=list)
    withdrawn: tuple[str, ...] = ()
    annotations: list[dict[str, str]] = field(default_factory=list)
    extra: dict[str, list[dict[str, object]]] = field(default_factory=dict)
    """Rows of further tables (submissions, build_accounting, ...)."""

    def run(
        self,
        run_id: str,
        model: str,
        outcomes: Sequence[str] | np.ndarray,
        *,
        lenient: Sequence[str] | np.ndarray | None = None,
        protocol: Protocol = BOX,
        benchmark: str = "exam_sample",
        precision: str = "native",
        items: Sequence[AskedItem] | None = None,
        repeats: Sequence[Sequence[str]] = (),
        started: str = "2026-11-01T00:00:00+00:00",
        n_items: int | None = None,
        seed: int = 0,
        agreed: Mapping[int, str] | None = None,
    ) -> None:
        """Add a run with these outcomes of the ranking method, one an item; `lenient` defaults to the same.

        `agreed`: place of an item -> the letter that a wrong answer to it takes; others are drawn.
        """
        asked = self.items[: len(outcomes)] if items is None else list(items)
        count = len(asked) if n_items is None else n_items
        self.note_run(run_id, model, protocol, benchmark, count, 1 + len(repeats), precision=precision, started=started)
        tables = [
            answers(run_id, asked, np.asarray(each), None if n else lenient, n, seed + n, agreed or {})
            for n, each in enumerate((outcomes, *repeats))
        ]
        self.put(run_id, pa.concat_tables(tables))
        total = sum(map(len, tables))
        self.gradings.append(
            {
                "run_id": run_id,
                "graded_version": VERSION,
                "graded": total,
                "ungraded": 0,
                "ungraded_items": 0,
                "doubled": 0,
                "journal_bytes": 0,
            }
        )

    def note_run(
        self,
        run_id: str,
        model: str,
        protocol: Protocol,
        benchmark: str,
        n_items: int,
        repeats: int,
        *,
        precision: str = "native",
        started: str = "2026-11-01T00:00:00+00:00",
    ) -> None:
        """Record a run and its protocol; its responses are written by the caller."""
        self.protocols[protocol.protocol_id] = protocol
        record = RunRecord(
            run_id, model, protocol.protocol_id, benchmark, VERSION, "scored", n_items, repeats, started, precision
        )
        self.runs.append(record)

    def put(self, run_id: str, table: pa.Table) -> None:
        """Write the responses of one run."""
        with replacing(table_path(self.raw, RESPONSES, run_id)) as aside:
            pq.write_table(table, aside, compression="zstd")

    def write(self) -> None:
        """Write every table but the responses, which are there already."""
        for name, rows in self._rows().items():
            write_table(self.raw, name, rows)
        ensure_tables(self.raw)

    def _rows(self) -> Mapping[str, Iterable[Mapping[str, object]]]:
        return {
            "items": item_rows(self.items),
            "item_versions": version_rows("made", VERSION, self.items, self.withdrawn),
            "withdrawals": [
                {"dataset": "made", "item_id": each, "reason": "made up", "date": "2026-11-02", "evidence": "none"}
                for each in self.withdrawn
            ],
            "protocols": [protocol_row(each) for each in self.protocols.values()],
            "runs": [run_row(each) for each in self.runs],
            "gradings": self.gradings,
            "model_annotations": self.annotations,
            **self.extra,
        }


def answers(
    run_id: str,
    items: Sequence[AskedItem],
    outcomes: np.ndarray,
    lenient: Sequence[str] | np.ndarray | None,
    repeat: int,
    seed: int,
    agreed: Mapping[int, str],
) -> pa.Table:
    """Response rows with these outcomes; letters are drawn so that they fit (the key, another letter, or none)."""
    source = np.random.default_rng(seed)
    n = len(items)
    keys = np.array([item.key for item in items])
    shift = source.integers(1, 4, n)
    wrong = LETTERS[(np.searchsorted(LETTERS, keys) + shift) % 4]
    for place, letter in agreed.items():
        wrong[place] = letter
    second = outcomes if lenient is None else np.asarray(lenient)
    columns: dict[str, object] = {
        "run_id": [run_id] * n,
        "repeat": np.full(n, repeat, np.int32),
        "item_id": [item.item_id for item in items],
        "request_hash": [f"{repeat:02x}{k:062x}" for k in range(n)],
        "graded_version": [VERSION] * n,
        "option_order": ["ABCD"] * n,
        "key": keys,
        "lenient_rule": np.where(np.isin(second, ("correct", "wrong")), "boxed", "none"),
        "boxes": np.isin(outcomes, ("correct", "wrong")).astype(np.int32),
        "error": np.where(outcomes == "error", "timeout", ""),
        "finish_reason": np.where(outcomes == "capped", "length", "stop"),
        "prompt_tokens": source.integers(80, 300, n),
        "completion_tokens": source.integers(5, 900, n),
        "reasoning_tokens": [None] * n,
        "latency_ms": source.uniform(50, 900, n).astype(np.float32),
        "attempts": np.ones(n, np.int32),
    }
    for method in GRADED:
        judged = second if method == "lenient" else outcomes
        letters = np.where(judged == "correct", keys, np.where(judged == "wrong", wrong, None))
        columns[f"{column_of(method)}_answer"] = letters
        columns[f"{column_of(method)}_outcome"] = judged
    schema = SCHEMAS[RESPONSES]
    return pa.Table.from_arrays([_array(columns[each.name], each.type) for each in schema], schema=schema)


def _array(values: object, kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind):
        return pa.array(values, type=pa.string()).cast(kind)
    return pa.array(values, type=kind)


def draw(items: int, ability: float, difficulty: np.ndarray, parse_rate: float, seed: int) -> tuple[np.ndarray, ...]:
    """Outcomes under the strict and the lenient reading for one model."""
    source = np.random.default_rng(seed)
    right = source.random(items) < 0.25 + 0.75 / (1 + np.exp(difficulty - ability))
    judged = np.where(right, "correct", "wrong").astype("<U8")
    unread = source.random(items) >= parse_rate
    kinds = np.array(["unparsed", "capped", "empty", "refused"])[source.choice(4, items, p=[0.7, 0.2, 0.06, 0.04])]
    strict = np.where(unread, kinds, judged)
    # The lenient reading finds an option in six of ten texts without a box.
    found = unread & (kinds == "unparsed") & (source.random(items) < 0.6)
    return strict, np.where(unread & ~found, kinds, judged)


@dataclass(frozen=True)
class Board:
    """How large the invented board is."""

    models: int = 12
    items: int = 1_200
    subjects: int = 20
    seed: int = 20_261_130


def fill(raw: Path, size: Board) -> Tables:
    """A board of drawn runs, without anything planted. Every third model ran under the larger budget; every fourth
    is quantised. Call `write` on the result once everything else is added."""
    tables = Tables(raw, make_items(size.items, size.subjects, size.seed))
    source = np.random.default_rng(size.seed)
    difficulty = source.normal(0, 1.2, size.items)
    abilities, parse_rates = source.normal(0.5, 1.2, size.models), 1 - source.beta(0.7, 12, size.models)
    for n in range(size.models):
        strict, lenient = draw(size.items, abilities[n], difficulty, parse_rates[n], size.seed + n)
        tables.run(
            f"run-{n:03d}",
            f"maker/model-{n:03d}",
            strict,
            lenient=lenient,
            protocol=BOX.with_budget(REASONING_BUDGET) if n % 3 == 0 else BOX,
            precision="quantised" if n % 4 == 0 else "native",
            seed=n,
        )
    return tables


__all__ = ["BOX", "PATTERN", "VERSION", "Board", "Tables", "answers", "draw", "fill", "make_items"]
