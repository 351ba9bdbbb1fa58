"""Builds of the Formosa track over the sample articles against the scripted endpoint, and killed ones.

Run as a program it forks a build per start and kills it after a random number of further replies:

    python formosa_builds.py STORE BASE_URL KILLS SEED
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from opentwbench.evaluation.journal import JOURNAL_NAME, read_responses
from orchestration.configuration import Configuration
from orchestration.formosa_build import FormosaBuild, FormosaReport
from orchestration.formosa_endpoint import scripted_settings

DEAD = "http://127.0.0.1:9/v1"
"""An endpoint that nobody answers at."""


def build_formosa(store: Path, base_url: str, corpus: str = "", **settings: Any) -> FormosaReport:
    """One build; settings beyond the scripted ones override them."""
    given = scripted_settings() | ({"corpus": corpus} if corpus else {}) | settings
    return FormosaBuild(Configuration(store=str(store), endpoint={"base_url": base_url}, formosa=given)).run()


def journals(store: Path) -> list[Path]:
    """The folders of every run of the track."""
    return sorted(path.parent for path in (store / "formosa" / "runs").rglob(JOURNAL_NAME))


def held(store: Path) -> Counter[str]:
    """Request hash -> replies that the journals hold."""
    return Counter(response.request_hash for folder in journals(store) for response in read_responses(folder))


def replies(store: Path) -> int:
    """Lines of all journals."""
    return sum((folder / JOURNAL_NAME).read_bytes().count(b"\n") for folder in journals(store))


def killed(store: Path, base_url: str, after: int) -> bool:
    """Start a build and kill it when it has written `after` further replies; False when it had ended by itself."""
    before = replies(store)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 1 if build_formosa(store, base_url).stopped else 0
        finally:
            os._exit(status)
    deadline = time.monotonic() + 60
    while replies(store) < before + after and time.monotonic() < deadline:
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            break
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def main(store: Path, base_url: str, kills: int, seed: int) -> None:
    """Kill `kills` builds; prints what the journals held after each, one JSON object a line, and waits for a line."""
    import orchestration.definitions  # noqa: F401 - once, before the forks

    draw = random.Random(seed)
    for _ in range(kills):
        done = killed(store, base_url, draw.randint(3, 260))
        print(json.dumps({"killed": done, "held": held(store)}), flush=True)
        sys.stdin.readline()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
