"""Fixtures of the data-set package."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.datasets import make_dataset, make_row

from opentwbench.dataset.manifest import write_dataset
from opentwbench.dataset.model import Dataset


@pytest.fixture
def sound() -> Dataset:
    """Sixty rows that keep every rule."""
    return make_dataset([make_row(n) for n in range(60)])


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Dataset], Path]:
    """Write a data set into the test's own folder and give the folder."""

    def writer(dataset: Dataset) -> Path:
        return write_dataset(dataset, tmp_path / "datasets" / dataset.slug).folder

    return writer
