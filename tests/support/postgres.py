"""A PostgreSQL of its own for tests that need a real one: made by the rehearsal of a deployment (deploy/stack.py)."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.deploy_scripts import script

STACK = script("stack")
INSTALLED = STACK.postgres_bin() is not None
MISSING = "PostgreSQL is not installed (Debian package postgresql)"


@contextmanager
def cluster() -> Iterator[Any]:
    """A running cluster with an empty database, and a folder of settings for it (`Stack.environment`)."""
    # Not below pytest's folder: every pytest that starts closes that one to all but its user.
    folder = Path(tempfile.mkdtemp(prefix="otb-"))
    folder.chmod(0o755)
    made = STACK.Stack(folder / "stack", folder / "none")
    try:
        made.create_database()
        yield made
    finally:
        made.close()
        shutil.rmtree(folder)
