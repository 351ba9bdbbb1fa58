"""Work for worker processes that goes wrong on purpose; importable by name, as spawned workers need it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from opentwbench.exam.model import Declared, PaperRecord


def behave(task: str) -> str:
    """Do what the task's name says."""
    if task.startswith("die"):
        os.kill(os.getpid(), signal.SIGKILL)
    if task.startswith("hang"):
        while True:
            pass
    if task.startswith("wait"):
        time.sleep(600)
    if task.startswith("work"):
        until = time.process_time() + 0.8
        while time.process_time() < until:
            pass
    if task.startswith("raise"):
        raise RuntimeError("planted")
    if task.startswith("grow"):
        return str(len(bytearray(64 * 1024**3)))
    return f"{task} done"


def late(seconds: float) -> float:
    """Wait so long; takes next to no processor time."""
    time.sleep(seconds)
    return seconds


def parse(pair: tuple[Path, Path]) -> PaperRecord:
    """A parser whose behaviour the question file's name chooses."""
    behave(pair[0].name)
    return PaperRecord(str(pair[0]), str(pair[1]), "accepted", None, str(os.getpid()), Declared(0, 0), 0, ())
