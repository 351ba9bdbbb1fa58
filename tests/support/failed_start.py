"""A function whose worker ends while it arrives, before the worker can begin: some times, or always."""

from __future__ import annotations

import os
import time
from pathlib import Path


class Stillborn:
    """Answers a task with itself; the first `times` processes that receive it end at once."""

    def __init__(self, folder: Path, times: int) -> None:
        self._folder = folder
        self._times = times

    def __call__(self, task: str) -> str:
        return task

    def __reduce__(self) -> tuple[object, ...]:
        return _arrive, (str(self._folder), self._times)


def starts(folder: Path) -> int:
    """Processes that ended so."""
    return sum(1 for _ in folder.iterdir())


def _arrive(folder: str, times: int) -> Stillborn:
    for n in range(times):
        try:
            os.close(os.open(Path(folder) / str(n), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        time.sleep(0.2)  # so that the task was handed over when the worker ends
        os._exit(9)
    return Stillborn(Path(folder), times)
