"""Start a run in a forked child and kill it at random moments, many times, in one warm process.

Run as a program:  python killed_runs.py BASE_URL ITEMS FOLDER KILLS SEED CONCURRENCY
For each start it prints one JSON line: whether it was killed, and what the journal held before it (request hashes).
The last start is left to end by itself.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from opentwbench.evaluation.items import item_set
from opentwbench.evaluation.journal import JOURNAL_NAME, read_responses
from support.runs import make_run


def start(items: Path, folder: Path, base_url: str, concurrency: int) -> int:
    """The child's process id; it ends with the run."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            make_run(item_set([items]), folder, base_url, concurrency=concurrency)
            status = 0
        finally:
            os._exit(status)
    return child


def size(folder: Path) -> int:
    """Bytes of the journal."""
    path = folder / JOURNAL_NAME
    return path.stat().st_size if path.exists() else 0


def main(base_url: str, items: Path, folder: Path, kills: int, seed: int, concurrency: int) -> None:
    """Kill `kills` starts at random moments after they began to write, then let one end."""
    rng = random.Random(seed)
    done = 0
    while True:
        held = [response.request_hash for response in read_responses(folder)]
        before = size(folder)
        child = start(items, folder, base_url, concurrency)
        deadline = time.monotonic() + 60
        if done < kills:
            while size(folder) == before and time.monotonic() < deadline and not ended(child):
                time.sleep(0.0005)
            time.sleep(rng.uniform(0, 0.05))
            os.kill(child, signal.SIGKILL)
        killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
        done += killed
        print(json.dumps({"killed": killed, "held": held}), flush=True)
        sys.stdin.readline()  # the test looks at the endpoint between two starts
        if not killed:
            return


def ended(child: int) -> bool:
    """Whether it has ended, without taking its status away."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


if __name__ == "__main__":
    url, file, run_folder, *numbers = sys.argv[1:]
    main(url, Path(file), Path(run_folder), *map(int, numbers))
