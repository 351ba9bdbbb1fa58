"""`otb rescore` and `otb study box-else-pattern` over a store with runs, after a key correction and a withdrawal."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.datasets import make_dataset, make_row
from support.evaluation import boxed, make_response
from typer.testing import CliRunner

from opentwbench.dataset.contract import ItemRow
from opentwbench.dataset.manifest import write_dataset
from opentwbench.dataset.model import Withdrawal
from opentwbench.evaluation.items import ItemSet, item_file
from opentwbench.evaluation.journal import Journal, write_run
from opentwbench.evaluation.model import AskedItem, RunRecord
from opentwbench.evaluation.protocols import BOX
from opentwbench.evaluation.rescoring import write_keys
from orchestration.cli import application

RUN = CliRunner()
ROWS = [make_row(n) for n in range(24)]
SLUG = "tw-sample-subject-bench"


def publish(store: Path, rows: list[ItemRow], *withdrawn: str) -> ItemSet:
    withdrawals = tuple(Withdrawal(item_id, "圖表題", "2026-11-30", "see the paper") for item_id in withdrawn)
    folder = store / "publications" / SLUG
    write_dataset(make_dataset(rows, withdrawals=withdrawals), folder)
    return ItemSet((item_file(folder),))


def evaluated(
    store: Path, items: ItemSet, model: str, boxes: int, right: int, *, keys: bool = True, started: str = "2026-11-30"
) -> str:
    """A finished run: right on the first items, a box on the first `boxes`, 答案：X on the rest."""
    run_id = f"{model}-run-{started}"
    folder = store / "runs" / run_id
    asked = list(items)
    record = RunRecord(run_id, model, BOX.protocol_id, "exam", items.version, "scored", len(asked), 1, started)
    write_run(folder, record, BOX)
    with Journal(folder) as journal:
        journal.append_all(
            make_response(item, reply(item, n < right, n < boxes), run_id=run_id, model=model)
            for n, item in enumerate(asked)
        )
    if keys:
        write_keys(folder, items.version, items)
    return run_id


def reply(item: AskedItem, right: bool, box: bool) -> str:
    text = boxed(item, item.key if right else "ABCD"[("ABCD".index(item.key) + 1) % 4])
    return text if box else f"答案：{text[7]}"


def otb(*arguments: str, status: int = 0) -> list[dict[str, Any]]:
    result = RUN.invoke(application(arguments), [*arguments])
    assert result.exit_code == status, result.output
    return [json.loads(line) for line in result.stdout.splitlines()] if "--json" in arguments else []


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def test_a_key_correction_and_a_withdrawal(store: Path) -> None:
    run_id = evaluated(store, publish(store, ROWS), "model", boxes=24, right=20)
    rekeyed = replace(ROWS[2], answer="ABCD"[("ABCD".index(ROWS[2].answer) + 1) % 4])
    now = publish(store, [rekeyed if row.item_id == rekeyed.item_id else row for row in ROWS], ROWS[5].item_id)
    (found,) = otb("rescore", run_id, "--store", str(store), "--json")
    strict = found["changes"]["methods"]["strict"]
    assert found["changes"]["rekeyed"] == {rekeyed.item_id: [ROWS[2].answer, rekeyed.answer]}
    assert found["changes"]["left"] == [ROWS[5].item_id]
    assert strict["before"]["n"] - strict["after"]["n"] == 1
    assert strict["gained"] + strict["lost"] == 1
    written = json.loads((store / "runs" / run_id / "scores" / f"{now.version}.json").read_text())
    assert written["methods"]["strict"]["micro"]["hits"] == strict["after"]["hits"]
    assert found["scores"]["items_expected"] == 23
    again = otb("rescore", run_id, "--store", str(store), "--json")
    assert again == [found]
    shown = RUN.invoke(application(["rescore"]), ["rescore", "--store", str(store)], env={"COLUMNS": "160"})
    assert f"key {ROWS[2].answer} -> {rekeyed.answer}: {rekeyed.item_id}" in shown.stdout


def test_nothing_moves_without_a_change(store: Path) -> None:
    evaluated(store, publish(store, ROWS), "model", boxes=24, right=20)
    (found,) = otb("rescore", "--store", str(store), "--json")
    assert not found["changes"]["moved"]


def test_a_run_over_a_sample_stays_that_sample(store: Path) -> None:
    items = publish(store, ROWS)
    chosen = replace(items, chosen=frozenset(row.item_id for row in ROWS[:10]))
    evaluated(store, chosen, "model", boxes=24, right=24)
    publish(store, [*ROWS, make_row(99)])  # a new sitting joins the data set and no old sample
    (found,) = otb("rescore", "--store", str(store), "--json")
    assert (found["scores"]["items_expected"], found["changes"]["joined"]) == (10, [])


def test_without_kept_keys_the_scores_are_still_made(store: Path) -> None:
    evaluated(store, publish(store, ROWS), "model", boxes=24, right=20, keys=False)
    (found,) = otb("rescore", "--store", str(store), "--json")
    assert found["changes"] is None
    assert found["scores"]["methods"]["strict"]["micro"]["hits"] == 20
    (found,) = otb("rescore", "--store", str(store), "--json")
    assert found["changes"]["moved"] is False


def test_what_cannot_be_rescored(store: Path, tmp_path: Path) -> None:
    otb("rescore", "--store", str(store), "--items", str(tmp_path / "none"), status=3)
    items = publish(store, ROWS)
    otb("rescore", "--store", str(store), status=3)
    run_id = evaluated(store, items, "model", boxes=1, right=1)
    otb("rescore", "../runs", "--store", str(store), status=2)
    foreign = tmp_path / "foreign.jsonl"
    foreign.write_text(json.dumps(make_row(500).to_json()) + "\n")
    result = RUN.invoke(application(["rescore"]), ["rescore", run_id, "--store", str(store), "--items", str(foreign)])
    assert result.exit_code == 3
    assert "none of its items" in result.stderr


def test_the_study_over_runs(store: Path) -> None:
    items = publish(store, ROWS)
    evaluated(store, items, "keeps", boxes=24, right=18)
    evaluated(store, items, "never", boxes=0, right=20)
    evaluated(store, items, "little", boxes=24, right=4)
    (found,) = otb("study", "box-else-pattern", "--store", str(store), "--json")
    assert (found["cells"], found["moved"], found["moved_by_more_than_10"]) == (3, 1, 1)
    assert found["changed_ranks"] == 3
    assert {(each["above"], each["below"]) for each in found["inversions"]} == {("never", "keeps"), ("never", "little")}
    shown = RUN.invoke(
        application(["study"]), ["study", "box-else-pattern", "--store", str(store)], env={"COLUMNS": "200"}
    )
    assert "1 of 3 cells move" in shown.stdout
