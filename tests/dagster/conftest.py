"""The sample ministry built once, and copies of its store that a test may damage."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from dagster._core.storage.defs_state.base import _current_storage

from orchestration.build import Build
from orchestration.definitions import Configuration
from resources.store import Store


@pytest.fixture(autouse=True)
def no_instance_left_behind() -> Iterator[None]:
    """A Dagster context that is collected late puts back the storage of an instance that is gone: none may be open."""
    yield
    gc.collect()
    _current_storage.set(None)


@pytest.fixture(scope="session")
def built(sample_ministry: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of an undisturbed build of the sample ministry. Read only: copy it to change it."""
    store = tmp_path_factory.mktemp("built") / "store"
    report = Build(Configuration(store=str(store), source=str(sample_ministry), processes=2)).run()
    assert report.errors == []
    return store


@pytest.fixture
def copied(built: Path, tmp_path: Path) -> Path:
    """A copy of that store."""
    return Path(shutil.copytree(built, tmp_path / "store"))


@pytest.fixture
def store(copied: Path) -> Store:
    """The copy, opened."""
    return Store(str(copied))


@pytest.fixture
def configured(copied: Path, sample_ministry: Path) -> Callable[[], Configuration]:
    """The configuration of the copy."""
    return lambda: Configuration(store=str(copied), source=str(sample_ministry), processes=2)
