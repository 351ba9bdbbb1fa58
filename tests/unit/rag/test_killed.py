"""A run killed while it answers or judges: the same command takes it up and asks nothing twice that was kept."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.tw_rag import write_tw_rag

from samples.model_endpoint import Kind, ModelEndpoint, Rule

ROOT = Path(__file__).resolve().parents[3]
ITEMS, CONCURRENCY = 40, 4
SCORES = json.dumps({"faithfulness": 1, "answer_relevancy": 1, "context_precision": 0.25, "context_recall": 1})


def command(data: Path, store: Path, base_url: str) -> list[str]:
    config = store.parent / "settings.yaml"
    model = {"base_url": base_url, "concurrency": CONCURRENCY, "attempts": 2}
    settings = {
        "dataset": "tw_rag",
        "data": str(data),
        "answers": {"model": "writer", **model},
        "judge": {"model": "judge", **model},
    }
    config.write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML
    code = "from orchestration.cli import main; main()"
    return [sys.executable, "-c", code, "rag", "run", "--config", str(config), "--store", str(store), "--json"]


def files(store: Path) -> dict[str, bytes]:
    """What the run's reports hold, latencies aside."""
    (run,) = (store / "rag").iterdir()
    made = json.loads((run / "benchmark_metrics_report.json").read_text())
    kept = {name: made[name] for name in ("ragas", "f1", "recall", "outcomes", "refusals", "Total Queries Evaluated")}
    return {"report": json.dumps(kept, sort_keys=True).encode(), **{
        path.name: path.read_bytes() for path in sorted((run / "prepared").iterdir())
    }}  # fmt: skip


@pytest.mark.parametrize("asked_before", [15, 55])
def test_a_killed_run_is_taken_up_where_it_stood(tmp_path: Path, asked_before: int) -> None:
    write_tw_rag(tmp_path / "data", ITEMS)
    with ModelEndpoint(latency=0.02) as endpoint:
        endpoint.plant(Rule(Kind.TEXT, "評審", None, text=SCORES), Rule(Kind.TEXT, "", None, text="第1燈會"))
        whole = command(tmp_path / "data", tmp_path / "whole", endpoint.base_url)
        assert subprocess.run(whole, cwd=ROOT, capture_output=True, timeout=120).returncode == 0
        endpoint.forget()
        started = command(tmp_path / "data", tmp_path / "killed", endpoint.base_url)
        process = subprocess.Popen(started, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 100
        while endpoint.stats()["requests"] < asked_before:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        assert process.wait(timeout=20) == -signal.SIGKILL
        time.sleep(0.1)
        before = endpoint.stats()["requests"]
        assert before < 2 * ITEMS
        done = subprocess.run(started, cwd=ROOT, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        # Only what was under way when it was killed is asked a second time.
        assert 2 * ITEMS <= endpoint.stats()["requests"] <= 2 * ITEMS + CONCURRENCY
    assert files(tmp_path / "killed") == files(tmp_path / "whole")
