"""A task whose worker needs longer to start than the task may take: its module is slow to import there."""

from __future__ import annotations

import multiprocessing
import time

START = 6.0

if multiprocessing.current_process().name != "MainProcess":  # its parent is not yet known while a worker imports
    time.sleep(START)


def echo(task: str) -> str:
    """What was asked, at once."""
    return task
