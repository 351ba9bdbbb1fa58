"""What the apparatus studies read of a warehouse: first repeats, scored items, current runs, whole or not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.evaluation import boxed, make_item, make_response
from support.mart_rows import BOX, Tables, make_items

from opentwbench.apparatus.rows import Inputs
from opentwbench.evaluation.journal import Journal, write_run
from opentwbench.evaluation.model import RunRecord
from opentwbench.evaluation.warehouse import (
    Grading,
    WarehouseError,
    graded_rows,
    protocol_row,
    run_row,
    write_table,
)
from resources.apparatus import Apparatus
from resources.store import Store

ITEMS = make_items(8, 2)


def read(tmp_path: Path, tables: Tables) -> Inputs:
    tables.write()
    return Apparatus(Store(str(tmp_path)), tables.raw).inputs


def made(tmp_path: Path, **more: object) -> Tables:
    raw = tmp_path / "warehouse" / "raw"
    raw.mkdir(parents=True)
    return Tables(raw, ITEMS, **more)  # type: ignore[arg-type]


def test_first_repeats_of_scored_items(tmp_path: Path) -> None:
    tables = made(tmp_path, withdrawn=(ITEMS[3].item_id,))
    word = ["correct", "wrong", "unparsed", "correct", "error", "capped", "correct", "correct"]
    tables.run("run-1", "m", word, lenient=[*word[:2], "correct", *word[3:]], repeats=[["wrong"] * 8])
    run = read(tmp_path, tables).runs[0]
    rows = list(run.rows)
    assert [row.item_id for row in rows] == [item.item_id for n, item in enumerate(ITEMS) if n != 3]
    assert [row.outcomes["strict"] for row in rows] == [*word[:3], *word[4:]]
    assert (rows[2].right("lenient"), rows[2].read("strict")) == (True, False)
    assert (rows[3].is_reply, rows[3].error, rows[4].finish_reason) == (False, "timeout", "length")
    assert list(run.rows) == rows, "rows are read again"
    assert run.facts.complete is False, "a timeout would be asked again"


def test_a_run_is_whole_when_every_question_has_a_final_response(tmp_path: Path) -> None:
    tables = made(tmp_path)
    tables.run("run-1", "whole", ["correct"] * 8)
    tables.run("run-2", "partial", ["correct"] * 5, n_items=8)
    tables.run("run-3", "twice", ["correct"] * 8, started="2026-10-01T00:00:00+00:00")
    tables.run("run-4", "twice", ["wrong"] * 8, started="2026-11-01T00:00:00+00:00")
    facts = {run.facts.run_id: run.facts for run in read(tmp_path, tables).runs}
    assert {name: each.complete for name, each in facts.items()} == {"run-1": True, "run-2": False, "run-4": True}
    assert (facts["run-1"].board, facts["run-1"].method) == (("exam_sample", "box"), "strict")


def test_a_run_without_its_protocol_is_named(tmp_path: Path) -> None:
    tables = made(tmp_path)
    tables.run("run-1", "m", ["correct"] * 8)
    tables.write()
    write_table(tables.raw, "protocols", [])
    with pytest.raises(WarehouseError, match=BOX.protocol_id):
        _ = Apparatus(Store(str(tmp_path)), tables.raw).inputs


def test_texts_follow_an_item_whose_id_changed(tmp_path: Path) -> None:
    items = [make_item(n) for n in range(3)]
    responses = [make_response(item, boxed(item, item.key)) for item in items]
    record = RunRecord("run-1", "m", BOX.protocol_id, "exam", "v1", "scored", 3, 1, "2026-11-01T00:00:00+00:00")
    write_run(tmp_path / "runs" / "run-1", record, BOX)
    with Journal(tmp_path / "runs" / "run-1") as journal:
        journal.append_all([*responses, make_response(items[0], "again", repeat=1)])
    raw = tmp_path / "warehouse" / "raw"
    raw.mkdir(parents=True)
    renamed = replace(items[1], item_id="subject-1-0123456789ab")
    grading = Grading("run-1", "v2")
    roster = {item.item_id: item for item in (items[0], renamed, items[2])}
    rows = graded_rows(responses, roster, grading, {items[1].item_id: renamed.item_id})
    write_table(raw, "responses", rows, "run-1")
    write_table(raw, "runs", [run_row(record)])
    write_table(raw, "protocols", [protocol_row(BOX)])
    write_table(
        raw,
        "withdrawals",
        [{"dataset": "d", "item_id": items[2].item_id, "reason": "r", "date": "2026-11-02", "evidence": "e"}],
    )
    run = Apparatus(Store(str(tmp_path)), raw).inputs.runs[0]
    found = list(run.texts)
    assert [each.response.item_id for each in found] == [items[0].item_id, renamed.item_id]
    assert [each.outcomes for each in found] == [{"strict": "correct"}] * 2
    assert [row.item_id for row in run.rows] == [items[0].item_id, renamed.item_id]


def test_the_digest_follows_rows_and_verdicts(tmp_path: Path) -> None:
    tables = made(tmp_path)
    tables.write()
    store = Store(str(tmp_path))
    seen = [Apparatus(store, tables.raw).made_from()]
    tables.run("run-1", "m", ["correct"] * 8)
    tables.write()
    seen.append(Apparatus(store, tables.raw).made_from())
    store.write("judges/verdicts.jsonl", b"")
    seen.append(Apparatus(store, tables.raw).made_from())
    write_table(tables.raw, "apparatus_studies", [{"study_id": "x", "payload": "{}"}])
    assert len(set(seen)) == 3
    assert Apparatus(store, tables.raw).made_from() == seen[-1], "its own results are not what a study is made from"


def test_the_judges_are_those_of_formosas_study_where_it_was_written_to_the_end(tmp_path: Path) -> None:
    tables = made(tmp_path)
    tables.write()
    store = Store(str(tmp_path))

    def judges() -> tuple[list[object] | None, list[object] | None]:
        found = Apparatus(store, tables.raw).inputs
        return tuple(None if of is None else [each["judge"] for each in of]  # type: ignore[return-value]
                     for of in (found.verdicts, found.judge_studies))  # fmt: skip

    assert judges() == (None, None)
    store.write("judges/verdicts.jsonl", b'{"judge": "sample"}\n')
    store.write("formosa/judges/studies.jsonl", b'{"judge": "own"}\n')
    store.write("formosa/judges/verdicts.jsonl", b'{"judge": "own"}\n')
    before = Apparatus(store, tables.raw).made_from()
    assert judges() == (["sample"], None), "its record is written last"
    store.write("formosa/judges/study.json", b"{}")
    assert judges() == (["own"], ["own"])
    store.write("formosa/judges/studies.jsonl", b'{"judge": "another"}\n')
    assert Apparatus(store, tables.raw).made_from() != before
