"""A task whose worker maps much memory while it starts: its module does so there, as large libraries do."""

from __future__ import annotations

import mmap
import multiprocessing

START = 1024**3

if multiprocessing.current_process().name != "MainProcess":  # its parent is not yet known while a worker imports
    HELD = mmap.mmap(-1, START)


def take(size: int) -> int:
    """Take so many bytes, and say how many they were."""
    return len(bytearray(size))
