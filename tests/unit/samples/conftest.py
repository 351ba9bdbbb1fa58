"""Shared fixtures of the sample tests."""

from pathlib import Path

import pytest

from samples.ministry import build


@pytest.fixture(scope="session")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample ministry of day 1."""
    out = tmp_path_factory.mktemp("samples") / "mirror"
    build(out)
    return out
