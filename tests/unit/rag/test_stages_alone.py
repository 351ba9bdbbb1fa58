"""Each stage started alone says what is lacking, and one finding of a run is one figure everywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.rag import locomo, verdict
from typer.testing import CliRunner

from opentwbench.rag.report import REPORT_JSON
from orchestration.rag_command import app
from resources import rag_tables
from resources.store import Store
from samples.model_endpoint import Kind, ModelEndpoint, Rule

PLUM = Rule(Kind.STATUS, pattern='Question: "[^"]*plum', times=None, status=400)
JUDGE = "<answer "


def command(folder: Path, base_url: str, stage: str) -> tuple[int, dict[str, Any]]:
    """Exit status and account of a stage over the small LoCoMo: five questions."""
    config = folder / "run.yaml"
    config.write_text("dataset: locomo\nanswers: {attempts: 1}\njudge: {attempts: 1, verdict_attempts: 2}\n")
    given = ["--config", str(config), "--data", str(folder), "--model", "w", "--judge", "j", "--base-url", base_url]
    done = CliRunner().invoke(app, [stage, *given, "--store", str(folder / "store"), "--json"])
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    assert lines, done.output
    return done.exit_code, json.loads(lines[0])


def test_a_stage_alone_counts_what_is_there_and_ends_with_3_when_something_lacks(tmp_path: Path) -> None:
    locomo(tmp_path)
    with ModelEndpoint() as endpoint:
        endpoint.plant(PLUM, Rule(Kind.TEXT, JUDGE, times=1, text=verdict(3)), Rule(Kind.TEXT, JUDGE, None, text="3"))
        assert [command(tmp_path, endpoint.base_url, stage)[0] for stage in ("prepare", "ingest")] == [0, 0]
        for _ in range(2):  # the second start asks nothing, and knows as much
            status, made = command(tmp_path, endpoint.base_url, "generate")
            assert (status, made["answers"], made["without_answer"]) == (3, 4, {"answer_error": 1})
            assert made["errors"] == {"bad_request": 1}
        assert made["sent"] == 0
        status, made = command(tmp_path, endpoint.base_url, "judge")
    assert (status, made["verdicts"], made["without_verdict"]) == (3, 1, {"no_answer": 1, "unparsed": 3})


def test_a_whole_stage_ends_with_0_and_the_mart_says_what_the_report_found(tmp_path: Path) -> None:
    locomo(tmp_path)
    with ModelEndpoint() as endpoint:
        endpoint.plant(Rule(Kind.TEXT, JUDGE, None, text=verdict(3)))
        stages = ("prepare", "ingest", "generate", "judge", "report")
        made = {stage: command(tmp_path, endpoint.base_url, stage) for stage in stages}
    assert [status for status, _ in made.values()] == [0] * len(stages)
    assert made["generate"][1]["answers"] == made["judge"][1]["verdicts"] == 5
    store = Store(str(tmp_path / "store"))
    report = tmp_path / "store" / "rag" / made["report"][1]["run"] / REPORT_JSON
    for found in (False, True):  # what endpoints report of themselves is in the report alone
        report.write_text(json.dumps({**made["report"][1], "self_judged": found}))
        rows = list(rag_tables.tables(store, tmp_path / "runs")["rag_verdicts"])
        assert len(rows) == 5 and {row["self_judged"] for row in rows} == {found}
    report.write_text(json.dumps({**made["report"][1], "self_judged": "no"}))
    with pytest.raises(ValueError, match="no record of a run"):
        list(rag_tables.tables(store, tmp_path / "runs")["rag_verdicts"])


def test_a_run_without_any_answer_still_has_its_report(tmp_path: Path) -> None:
    locomo(tmp_path)
    with ModelEndpoint() as endpoint:
        endpoint.plant(Rule(Kind.STATUS, pattern='Question: "', times=None, status=400))
        status, made = command(tmp_path, endpoint.base_url, "run")
    assert status == 3 and made["outcomes"] == {"answer_error": 5}
    assert (made["judge"]["scored"], made["judge"]["not_judged"]) == (0, 5)
