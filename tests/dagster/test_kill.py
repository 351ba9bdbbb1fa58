"""`otb build exam` killed with SIGKILL at random moments: the next run ends with the bytes of an undisturbed build."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from support.exam_store import products

from orchestration.build import Build
from orchestration.definitions import Configuration
from samples.loopback import LoopbackMinistry

KILLS = 20
ROOT = Path(__file__).resolve().parents[2]
POLITE = {"delay_seconds": 0.0, "jitter_seconds": 0.0}


def two_sittings(ministry: Path, folder: Path) -> Path:
    """A mirror of two sitting years, so that every stage is reached often in little time."""
    shutil.copytree(ministry, folder)
    lines = (folder / "index.csv").read_text(encoding="utf-8-sig").splitlines(keepends=True)
    kept = [lines[0], *(line for line in lines[1:] if line.lstrip('"').startswith(("104", "110")))]
    assert 1 < len(kept) < len(lines)
    (folder / "index.csv").write_text("\ufeff" + "".join(kept), encoding="utf-8")
    return folder


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed_twenty_times_the_next_build_ends_with_identical_bytes(sample_ministry: Path, tmp_path: Path) -> None:
    with LoopbackMinistry(two_sittings(sample_ministry, tmp_path / "ministry")) as server:
        calm = Configuration(store=str(tmp_path / "calm"), source=server.base_url, processes=2, ministry=POLITE)
        Build(calm).run()
        server.forget()
        command = [sys.executable, str(ROOT / "tests" / "support" / "killed_builds.py")]
        command += [server.base_url, str(tmp_path / "killed"), str(KILLS), "20261129"]
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, "DAGSTER_HOME": ""}, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()[-2000:]
        seen: dict[str, int] = json.loads(done.stdout)
        again = Configuration(store=str(tmp_path / "killed"), source=server.base_url, processes=2, ministry=POLITE)
        report = Build(again).run()
        assert report.errors == []
        assert sum(seen.values()) == KILLS
        asked = Counter(request.url for request in server.log)
    # The kills fell into every stage, from retrieval to the release.
    assert min(seen.values()) > 0, seen
    mine, theirs = products(tmp_path / "killed"), products(tmp_path / "calm")
    assert mine.keys() == theirs.keys()
    assert [name for name in mine if mine[name] != theirs[name]] == []
    # Each kill loses the request that was under way and no other: what was here is never asked for again.
    stores = 1 + len(list(tmp_path.glob("killed-*")))
    assert sum(asked.values()) <= stores * len(asked) + KILLS
