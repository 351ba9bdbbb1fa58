"""The scripts of deploy/ for tests: a folder of scripts and no package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def script(name: str) -> Any:
    """A module of deploy/, which is no package."""
    found = importlib.util.spec_from_file_location(f"deploy_{name}", ROOT / "deploy" / f"{name}.py")
    assert found and found.loader
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module  # where dataclasses look their annotations up
    found.loader.exec_module(module)
    return module
