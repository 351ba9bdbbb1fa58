"""Raw tables: rows from records, types held, writes atomic, versions remembered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.evaluation import boxed, make_item, make_response

from opentwbench.dataset.model import Withdrawal
from opentwbench.dataset.publication import Verdict
from opentwbench.evaluation.extraction import GRADED
from opentwbench.evaluation.model import ErrorClass, Outcome, RunRecord
from opentwbench.evaluation.protocols import BOX, PATTERN
from opentwbench.evaluation.sample import stem_hash
from opentwbench.evaluation.scoring import grade
from opentwbench.evaluation.warehouse import (
    SCHEMAS,
    Grading,
    WarehouseError,
    accounting_rows,
    check_row,
    column_of,
    ensure_tables,
    graded_rows,
    item_rows,
    keep_history,
    key_row,
    protocol_row,
    raw_digests,
    read_table,
    response_row,
    run_row,
    table_path,
    version_rows,
    withdrawal_row,
    write_table,
)
from opentwbench.exam.accounting import Accounting, PaperAccount
from opentwbench.exam.model import RejectionReason

ITEMS = [make_item(n) for n in range(8)]
RUN = RunRecord(
    run_id="run-1",
    model="made-up",
    protocol_id=BOX.protocol_id,
    benchmark="exam_sample",
    dataset_version="0123456789ab",
    item_set="scored",
    n_items=8,
    repeats=1,
    started="2026-11-30T00:00:00+00:00",
    extra={"runtime": "x", "commit": "y"},
)


def annotation(**changes: Any) -> dict[str, Any]:
    return {"model": "m", "annotation": "wrote the draft items", "note": "", **changes}


def test_every_record_is_a_row_of_its_table(tmp_path: Path) -> None:
    accounting = Accounting(
        "tw-made-bench",
        {"p1": PaperAccount(3, {"published": 2, "english": 1}), "p2": PaperAccount(2, {"published": 1, "folded": 1})},
        {"p3": RejectionReason.NO_TEXT_LAYER},
    )
    verdict = Verdict("distinct_options", True, True, {"manifest.json": "aa"}, "1.0", detail="fine")
    rows: dict[str, list[dict[str, Any]]] = {
        "items": list(item_rows(ITEMS)),
        "item_versions": version_rows("d", "v1", ITEMS, [ITEMS[0].item_id]),
        "withdrawals": [withdrawal_row("d", Withdrawal(ITEMS[0].item_id, "why", "2026-11-30", "page 1"))],
        "protocols": [protocol_row(BOX), protocol_row(PATTERN)],
        "runs": [run_row(RUN)],
        "gradings": [Grading("run-1", "v1", 8).row()],
        "build_accounting": accounting_rows(accounting),
        "key_figures": [key_row("d", {"groups": 3, "agreeing": 2, "independent_groups": 2, "independent_agreeing": 2})],
        "check_results": [check_row("d", verdict)],
        "model_annotations": [annotation()],
    }
    for table, each in rows.items():
        written = write_table(tmp_path, table, each)
        assert written.rows == len(each) > 0
        assert read_table(tmp_path, table) == [{name: row[name] for name in SCHEMAS[table].names} for row in each]
    lines = {(row["section"], row["line"]): row["count"] for row in rows["build_accounting"]}
    assert lines["papers", "total"] == lines["papers", "accepted"] + lines["papers", "no_text_layer"] == 3
    questions = [count for (section, line), count in lines.items() if section == "questions" and line != "total"]
    assert lines["questions", "total"] == sum(questions) == 5


def test_a_response_is_stored_in_original_letters() -> None:
    item = ITEMS[2]
    wrong = next(letter for letter in "ABCD" if letter != item.key)
    row = response_row(grade(make_response(item, boxed(item, wrong)), item.key), "v1")
    assert set(row) == set(SCHEMAS["responses"].names)
    assert (row["strict_answer"], row["strict_outcome"], row["lenient_rule"]) == (wrong, "wrong", "box")
    right = response_row(grade(make_response(item, boxed(item, item.key)), item.key), "v1")
    read_as_box = ("strict", "lenient", "tolerant-box", "twinkle-box")
    assert {right[f"{column_of(method)}_outcome"] for method in read_as_box} == {"correct"}


def test_a_letter_that_was_not_shown_stays_as_read_and_is_wrong() -> None:
    row = response_row(grade(make_response(ITEMS[0], "\\box{T}"), ITEMS[0].key), "v1")
    assert (row["twinkle_box_answer"], row["twinkle_box_outcome"]) == ("T", "wrong")
    assert (row["strict_answer"], row["strict_outcome"]) == (None, "unparsed")


def test_a_response_read_by_fewer_methods_is_no_row() -> None:
    graded = grade(make_response(ITEMS[0], "A"), ITEMS[0].key, methods=("strict", "lenient"))
    with pytest.raises(WarehouseError, match="lacks tolerant-box"):
        response_row(graded, "v1")


def test_nothing_is_left_out_without_being_counted(tmp_path: Path) -> None:
    renamed = replace(ITEMS[3], item_id="subject-0-000000000000")
    responses = [make_response(item, boxed(item, item.key)) for item in ITEMS]
    responses.append(make_response(ITEMS[1], "again", request_hash="f" * 64))
    responses.append(make_response(make_item(99), "a stranger"))
    responses.append(make_response(make_item(99), "a stranger", repeat=1))
    responses.append(make_response(ITEMS[2], None, repeat=1, error=ErrorClass.TIMEOUT))
    items = {item.item_id: item for item in (*ITEMS[:3], renamed, *ITEMS[4:])}
    grading = Grading("run-1", "v1")
    aliases = {ITEMS[3].item_id: renamed.item_id}
    written = write_table(tmp_path, "responses", graded_rows(responses, items, grading, aliases), "run-1")
    assert (grading.graded, grading.doubled, grading.ungraded, grading.ungraded_items) == (9, 1, 2, 1)
    assert written.rows == grading.graded == len(responses) - 3
    found = pq.read_table(table_path(tmp_path, "responses", "run-1")).to_pylist()
    assert {row["item_id"] for row in found} == set(items)
    assert [row["strict_outcome"] for row in found].count("error") == 1


def test_equal_rows_give_equal_bytes(tmp_path: Path) -> None:
    one = write_table(tmp_path / "a", "items", item_rows(ITEMS))
    two = write_table(tmp_path / "b", "items", item_rows(reversed(ITEMS)))
    other = write_table(tmp_path / "c", "items", item_rows(ITEMS[1:]))
    assert one == two
    assert one.sha256 != other.sha256
    assert raw_digests(tmp_path / "a") == {"items.parquet": one.sha256}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (annotation(note=None), "column note is null"),
        (annotation(note=7), "column note cannot hold 7"),
        (annotation(more=""), "unknown columns: more"),
        ({"model": "m", "note": ""}, "unknown columns: annotation"),
        (annotation(note="\ud800"), "column note cannot hold"),
    ],
)
def test_a_row_of_another_shape_replaces_nothing(tmp_path: Path, row: dict[str, Any], words: str) -> None:
    write_table(tmp_path, "model_annotations", [annotation()])
    before = raw_digests(tmp_path)
    with pytest.raises(WarehouseError, match=rf"model_annotations row 1: .*{words}"):
        write_table(tmp_path, "model_annotations", [annotation(), row])
    assert raw_digests(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["model_annotations.parquet"]


def test_a_number_beyond_64_bits_is_no_count(tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match="row 0: column n_items"):
        write_table(tmp_path, "runs", [{**run_row(RUN), "n_items": 2**70}])


@pytest.mark.parametrize("run_id", ["../x", "a/b", "", ".hidden", "x" * 200])
def test_a_run_id_never_leaves_the_folder(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(WarehouseError, match="no run id"):
        table_path(tmp_path, "responses", run_id)
    with pytest.raises(WarehouseError, match="no raw table"):
        table_path(tmp_path, "../items")


def test_an_id_stands_once() -> None:
    with pytest.raises(WarehouseError, match="stands twice"):
        list(item_rows([ITEMS[0], ITEMS[1], ITEMS[0]]))


def test_a_shared_stem_is_marked() -> None:
    twin = replace(ITEMS[1], item_id="subject-1-ffffffffffff")
    rows = {row["item_id"]: row for row in item_rows([*ITEMS, twin])}
    assert {item_id for item_id, row in rows.items() if row["shares_stem"]} == {ITEMS[1].item_id, twin.item_id}
    assert rows[twin.item_id]["stem_hash"] == stem_hash(ITEMS[1].question)
    assert len(rows[twin.item_id]["stem_hash"]) == 16


def test_versions_seen_before_are_remembered(tmp_path: Path) -> None:
    write_table(tmp_path, "item_versions", version_rows("d", "v1", ITEMS, []))
    corrected = [replace(ITEMS[0], key="D"), *ITEMS[1:]]
    now = version_rows("d", "v2", corrected, [ITEMS[5].item_id])
    write_table(tmp_path, "item_versions", keep_history(now, read_table(tmp_path, "item_versions")))
    rows = read_table(tmp_path, "item_versions")
    assert {(row["dataset_version"], row["is_current"]) for row in rows} == {("v1", False), ("v2", True)}
    assert len(rows) == 16
    # The same version once more changes nothing.
    write_table(tmp_path, "item_versions", keep_history(now, rows))
    assert read_table(tmp_path, "item_versions") == rows


def test_a_mart_can_be_built_before_the_first_run(tmp_path: Path) -> None:
    write_table(tmp_path, "items", item_rows(ITEMS))
    assert set(ensure_tables(tmp_path)) == set(SCHEMAS) - {"items"}
    assert ensure_tables(tmp_path) == []
    assert len(read_table(tmp_path, "items")) == len(ITEMS)
    assert read_table(tmp_path, "runs") == []


def test_a_file_that_is_no_table_is_named(tmp_path: Path) -> None:
    (tmp_path / "runs.parquet").write_bytes(b"PAR1 not")
    with pytest.raises(WarehouseError, match=r"runs\.parquet: not a readable Parquet file"):
        read_table(tmp_path, "runs")
    write_table(tmp_path, "items", item_rows(ITEMS))
    (tmp_path / "items.parquet").rename(tmp_path / "runs.parquet")
    with pytest.raises(WarehouseError, match=r"runs\.parquet: columns are item_id"):
        read_table(tmp_path, "runs")


def test_the_columns_are_those_of_the_methods() -> None:
    names = SCHEMAS["responses"].names
    assert [name for name in names if name.endswith("_outcome")] == [f"{column_of(each)}_outcome" for each in GRADED]


def test_every_outcome_and_error_is_a_word_of_the_mart() -> None:
    # The words that dbt accepts are written out there; a new one must be added in both places.
    described = (Path(__file__).parents[3] / "dbt_leaderboard/models/staging/staging.yml").read_text(encoding="utf-8")
    for word in [*(each.value for each in Outcome), *(each.value for each in ErrorClass if each.value)]:
        assert word in described
