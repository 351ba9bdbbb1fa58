"""The real Twinkle Eval's result files are read as a run, and ours are read by its own exporter."""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path

import pytest
from support.datasets import make_row
from support.evaluation import make_response
from support.twinkle import PROGRAM, need_twinkle, run_twinkle

from opentwbench.evaluation.items import item_set
from opentwbench.evaluation.model import RunRecord
from opentwbench.evaluation.protocols import PATTERN
from opentwbench.evaluation.scoring import grade, summarise
from opentwbench.evaluation.twinkle_results import EVALUATION_METHODS, Imported, read_details, write_results
from samples.model_endpoint import Kind, ModelEndpoint, Rule

pytestmark = pytest.mark.twinkle

N = 24
REPLIES = (
    "\\boxed{{letter}}",
    "答案：{letter}",
    "<think>\\boxed{A}</think>\\boxed{{letter}}",
    "\\boxed{Z}",
    "無",
    "選項{letter}",
)
RECORD = RunRecord("run-1", "scripted", PATTERN.protocol_id, "exam", "0123456789ab", "scored", N, 1, "2026-11-30T08:15")


@pytest.fixture
def items(tmp_path: Path) -> Path:
    need_twinkle()
    path = tmp_path / "benchmark.jsonl"
    path.write_text("".join(json.dumps(make_row(n).to_json(), ensure_ascii=False) + "\n" for n in range(N)))
    return path


@pytest.mark.parametrize("method", ["box", "pattern"])
def test_its_details_are_read_as_a_run(endpoint: ModelEndpoint, tmp_path: Path, items: Path, method: str) -> None:
    endpoint.plant(*(Rule(Kind.TEXT, rf"編號 {n} 的", None, text=text) for n, text in enumerate(REPLIES)))
    endpoint.plant(Rule(Kind.REASONING_ONLY, r"編號 7 的", None))
    endpoint.set(reply="\\boxed{{letter}}" if method == "box" else "答案：{letter}")
    theirs = run_twinkle(tmp_path / "twinkle", items, endpoint.base_url, method, system=None)
    (details,) = (tmp_path / "twinkle" / "results").glob("eval_results_*_run0.jsonl")
    counts, ours = Imported(), {name: of for of, name in EVALUATION_METHODS.items()}[method]
    asked = item_set([items])
    keys = {item.item_id: item for item in asked}
    responses = list(read_details(details, asked, RECORD, ours, counts))
    assert (counts.rows, counts.matched, counts.unmatched, counts.differing) == (N, N, 0, 0)
    found = summarise((grade(each, keys[each.item_id].key) for each in responses), keys).methods[ours]
    assert found.micro.value == pytest.approx(theirs.accuracy)
    assert 0 < found.micro.hits < N


def test_its_own_exporter_reads_our_results(tmp_path: Path, items: Path) -> None:
    asked = item_set([items])
    graded = [
        grade(make_response(item, f"答案：{'ABCD'[n % 4]}" if n % 5 else "無", PATTERN), item.key)
        for n, item in enumerate(asked)
    ]
    written = write_results(tmp_path / "out", RECORD, PATTERN, graded, asked, "twinkle-pattern")
    script = (
        "import json, sys; from twinkle_eval.exporters import ResultsExporterFactory as Factory; "
        "results = json.load(open(sys.argv[1], encoding='utf-8')); "
        "[Factory.create_exporter(form).export(results, sys.argv[2] + '.' + form) for form in ('json', 'csv', 'html')]"
    )
    python = PROGRAM.with_name("python")
    subprocess.run([python, "-c", script, written.results, tmp_path / "theirs"], check=True, timeout=300)
    with (tmp_path / "theirs.csv").open(encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    right = sum(each.outcomes["twinkle-pattern"] == "correct" for each in graded)
    assert row["config_model_name"] == "scripted"
    assert float(row["accuracy_mean"]) == pytest.approx(right / N)
    assert f"{right / N:.2%}" in (tmp_path / "theirs.html").read_text(encoding="utf-8")
