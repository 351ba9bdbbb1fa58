"""bench/scale.py counts what a store holds, and refuses a store that says nothing about items or responses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def store(folder: Path) -> Path:
    for name, data in {
        "publications/x/benchmark.jsonl": b"1234\n1234\n",
        "publications/x/README.md": b"1" * 30,
        "items/x.jsonl": b"123456789\n" * 4,
        "papers/110.jsonl": b"1" * 99 + b"\n",
        "cache/retrieved/a": b"1" * 500,
        "runs/r/responses.jsonl": b"1" * 49 + b"\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def measure(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench.scale", str(folder), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_bytes_are_counted_and_multiplied(tmp_path: Path) -> None:
    done = measure(store(tmp_path), "--models", "10", "--items", "2000", "--json")
    found: dict[str, Any] = {name.partition("/")[0]: row for name, row in json.loads(done.stdout).items()}
    # Units, bytes, and GB of 2,000 items: 4,000 printed questions, 1,000 papers, 20,000 responses.
    assert found["publications"] == [2, 40, 2_000 * 20 / 1e9]
    assert found["items"] == [4, 40, 4_000 * 10 / 1e9]
    assert found["papers"] == [1, 100, 1_000 * 100 / 1e9]
    assert found["cache"] == [1, 500, 1_000 * 500 / 1e9]
    assert found["runs"] == [1, 50, 20_000 * 50 / 1e9]
    assert found["warehouse"] == [1, 0, 0.0]


def test_a_store_without_a_response_says_nothing(tmp_path: Path) -> None:
    made = store(tmp_path)
    (made / "runs/r/responses.jsonl").unlink()
    done = measure(made)
    assert done.returncode == 1
    assert "no published item or no response" in done.stderr
