"""Fixtures shared by every test: where the real papers are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data; tests that need it skip, and say so, where it is absent."""
    folder = Path(os.environ.get("OTB_SHARED", ROOT.parent / "shared"))
    if not (folder / "ministry" / "index.csv").is_file():
        pytest.skip(f"no real data: OTB_SHARED ({folder}) has no ministry/index.csv")
    return folder


@pytest.fixture(scope="session")
def ministry(shared: Path) -> Path:
    """The mirror of the ministry's site with real papers."""
    return shared / "ministry"
