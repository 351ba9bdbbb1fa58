"""The real Twinkle Eval as a process: our benchmark.jsonl as it is, an endpoint, its own letters back."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).resolve().parents[1] / "twinkle" / ".venv" / "bin" / "twinkle-eval"


@dataclass(frozen=True, slots=True)
class TwinkleRun:
    """What Twinkle wrote: a row a question, in the order of the file, and the whole results file."""

    rows: list[dict[str, Any]]
    results: dict[str, Any]

    @property
    def letters(self) -> list[str | None]:
        """The letter it read for each question."""
        return [row["predicted_answer"] for row in self.rows]

    @property
    def accuracy(self) -> float:
        """Of the one data set."""
        (dataset,) = self.results["dataset_results"].values()
        return float(dataset["average_accuracy"])


def need_twinkle() -> None:
    """Skip, saying so, where the environment is absent."""
    if not PROGRAM.exists():
        pytest.skip("no Twinkle Eval: make twinkle fetches it")


def run_twinkle(
    folder: Path,
    items: Path,
    base_url: str,
    method: str,
    *,
    system: str | None,
    model: str = "scripted",
    **decoding: Any,
) -> TwinkleRun:
    """Run it in `folder` over the bytes of `items`; `system` is the system prompt it sends, None for none."""
    data = folder / "data"
    data.mkdir(parents=True)
    (data / "benchmark.jsonl").write_bytes(items.read_bytes())
    settings = {"temperature": 0.0, "top_p": 0.9, "max_tokens": 4096, "frequency_penalty": 0.0, "presence_penalty": 0.0}
    evaluation: dict[str, Any] = {
        "dataset_paths": [str(data)],
        "evaluation_method": method,
        "datasets_prompt_map": {},
        "repeat_runs": 1,
        "shuffle_options": False,
    }
    if system is not None:
        evaluation["system_prompt"] = {"zh": system}
    api = {"base_url": base_url, "api_key": "none", "disable_ssl_verify": False, "api_rate_limit": -1}
    config = {
        "llm_api": {**api, "max_retries": 3, "timeout": 600},
        "model": {"name": model, **settings, **decoding},
        "evaluation": evaluation,
        "logging": {"level": "ERROR"},
    }
    # JSON is YAML.
    (folder / "config.yaml").write_text(json.dumps(config, ensure_ascii=False), encoding="utf-8")
    offline = {**os.environ, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [PROGRAM, "--config", "config.yaml"], cwd=folder, env=offline, capture_output=True, text=True, timeout=800
    )
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
    (details,) = (folder / "results").glob("eval_results_*_run0.jsonl")
    (results,) = (path for path in (folder / "results").glob("results_*.json"))
    rows = [json.loads(line) for line in details.read_text(encoding="utf-8").splitlines()]
    rows.sort(key=lambda row: row["question_id"])  # it writes them as they end
    return TwinkleRun(rows, json.loads(results.read_text(encoding="utf-8")))
