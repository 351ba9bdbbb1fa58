"""The dependency report against a stand-in for uv: what is known, what is found, and a service out of reach."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("says", "seconds", "status", "words"),
    [
        ("echo 'Found no known vulnerabilities'", 120, 0, "no known vulnerabilities"),
        ("echo 'GHSA-0000 in example 1.0'; exit 1", 120, 1, "GHSA-0000"),
        ("echo 'error: error resolving DNS'; exit 2", 120, 3, "NOT AUDITED"),
        ("echo 'error sending request for url'; exit 2", 120, 3, "NOT AUDITED"),
        ("exec sleep 600", 1, 3, "NOT AUDITED"),
        ("echo 'error: uv.lock cannot be read'; exit 2", 120, 2, "cannot be read"),
    ],
)
def test_the_report_tells_found_from_not_asked(
    says: str, seconds: int, status: int, words: str, tmp_path: Path
) -> None:
    uv = tmp_path / "uv"
    uv.write_text(f"#!/bin/sh\n{says}\n")
    uv.chmod(0o755)
    surroundings = {**os.environ, "UV": str(uv), "OTB_AUDIT_SECONDS": str(seconds)}
    done = subprocess.run(
        [ROOT / "deploy" / "audit-deps"], env=surroundings, capture_output=True, text=True, check=False
    )
    assert done.returncode == status
    assert words in done.stdout + done.stderr
