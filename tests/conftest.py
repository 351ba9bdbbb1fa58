"""Fixtures shared by every test: where the real papers are, and the sample ministry."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine is no fault of what is tested: no example fails for its time. Bounds on time are tests of their own.
settings.register_profile("opentwbench", deadline=None)
settings.load_profile("opentwbench")

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


@pytest.fixture(scope="session")
def sample_ministry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A mirror with the project's own sample papers, typeset once a session. Read only."""
    from samples.ministry import build

    folder = tmp_path_factory.mktemp("samples") / "ministry"
    build(folder)
    return folder
