"""The instance of a deployment with workers: dagster.yaml with the blocks of workers.yaml in place of its own.

    python deploy/instance.py > DAGSTER_HOME/dagster.yaml

Webserver, daemon, code locations and every worker have the same file.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).resolve().parent


def with_workers(base: str, blocks: str) -> dict[str, Any]:
    """The settings of an instance, from the texts of both files; a block is replaced as a whole."""
    return dict(yaml.safe_load(base)) | dict(yaml.safe_load(blocks))


if __name__ == "__main__":
    made = with_workers((FOLDER / "dagster.yaml").read_text(), (FOLDER / "workers.yaml").read_text())
    yaml.safe_dump(made, sys.stdout, sort_keys=False)
