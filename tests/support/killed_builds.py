"""Run `otb build exam` in a forked child and kill it at random moments, many times, in one warm process.

A fresh interpreter would spend most of its life importing; a fork of this one starts to build at once, so that the
kills fall into retrieval, parsing, settling, checking and publishing. Run as a program:

    python killed_builds.py SOURCE STORE KILLS SEED

Prints a JSON object: how many builds were killed in each stage.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

from orchestration import build_command


def build(source: str, store: Path) -> None:
    """What `otb build exam` does; ends the process."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        command = ["exam", "--source", source, "--store", str(store), "--delay", "0", "--processes", "1"]
        build_command.app(command, standalone_mode=True)


STAGES = ("cache", "papers", "items", "datasets", "verdicts", "publications", "release")
"""Folders of the store in the order in which a build fills them."""

PATIENCE = 30.0
"""Seconds after which a build is killed wherever it is."""


def newest(folder: Path) -> int:
    """When anything under a folder last changed, 0 for none: a build at work there is seen by it."""
    return max((entry.stat().st_mtime_ns for entry in folder.rglob("*") if entry.exists()), default=0)


def killed(source: str, store: Path, stage: str, seconds: float) -> bool:
    """Start a build and kill it `seconds` after it began to write in `stage`; False when it had ended by itself."""
    before = newest(store / stage)
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        build(source, store)
        os._exit(0)
    patience = time.monotonic() + PATIENCE
    deadline = 0.0
    while time.monotonic() < min(patience, deadline or patience):
        if os.waitpid(child, os.WNOHANG)[0]:
            return False
        try:
            if not deadline and newest(store / stage) != before:
                deadline = time.monotonic() + seconds
        except FileNotFoundError:  # a file went aside between listing and looking
            continue
        time.sleep(0.002)
    # The child alone, as the system would kill it; its parsing workers must notice by themselves.
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def begin_anew(store: Path, *, cache: bool) -> None:
    """Put a finished store aside and begin the next one, with its cache where a later stage is to be reached soon."""
    done = store.with_name(f"{store.name}-{len(list(store.parent.glob(store.name + '-*')))}")
    store.rename(done)
    if cache:
        shutil.copytree(done / "cache", store / "cache")


def main(source: str, store: Path, kills: int, seed: int) -> dict[str, int]:
    """Kill `kills` builds, at random moments in stages drawn in turn; how many were killed in each stage."""
    draw = random.Random(seed)
    seen = dict.fromkeys(STAGES, 0)
    while sum(seen.values()) < kills:
        stage = STAGES[sum(seen.values()) % len(STAGES)]
        if killed(source, store, stage, draw.uniform(0.0, 0.6)):
            seen[stage] += 1
        else:
            begin_anew(store, cache=stage != "cache")
    return seen


if __name__ == "__main__":
    # Imported before the forks, once for all: a child then works instead of importing.
    import great_expectations  # noqa: F401

    import orchestration.build
    import orchestration.definitions  # noqa: F401

    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))))
