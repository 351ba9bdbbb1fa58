"""The deployment's processes without containers: a backfill with restarts, and one on workers with a kill."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.stack,
    pytest.mark.slow,
    pytest.mark.skipif(
        not any(Path("/usr/lib/postgresql").glob("*/bin/initdb")) and shutil.which("initdb") is None,
        reason="PostgreSQL is not installed (Debian package postgresql)",
    ),
]


def rehearsed(script: str, partitions: int) -> str:
    """What a rehearsal of so many partitions printed, at whose end nothing is lost and nothing there twice."""
    # Not below pytest's folder: every pytest that starts closes it to all but its user, and PostgreSQL is another.
    folder = Path(tempfile.mkdtemp(prefix="otb-"))
    folder.chmod(0o755)
    command = [sys.executable, str(ROOT / "deploy" / script), str(folder / "stack"), "--partitions", str(partitions)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 lost, 0 different, 0 more; 0 partitions with a second successful run; 0 errors" in done.stdout
    assert "asking again" not in done.stdout  # Dagster's retries and the sensor lost_runs need no operator
    shutil.rmtree(folder)
    return done.stdout


@pytest.mark.timeout(3600)
@pytest.mark.skipif("OTB_STACK" not in os.environ, reason="takes minutes and every core: OTB_STACK=1 runs it")
def test_nothing_is_lost_and_nothing_is_there_twice() -> None:
    assert rehearsed("stack.py", 8).count("restarting") == 5


@pytest.mark.timeout(3600)
@pytest.mark.skipif("OTB_STACK" not in os.environ, reason="takes minutes and every core: OTB_STACK=1 runs it")
@pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis is not installed (Debian package redis-server)")
def test_a_worker_killed_in_the_middle_costs_nothing() -> None:
    said = rehearsed("stack_workers.py", 6)
    assert said.count("killed worker-one with 1 run under way") == 1
    assert "event log: 6 partitions published; 0 missing, 0 twice" in said
