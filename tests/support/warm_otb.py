"""`otb` started many times from one warm process, so that a test can kill it at a chosen moment without long waits.

A fresh interpreter would spend most of its life importing; a fork of this one works at once. The program
(`python -m support.warm_otb`) reads one JSON object a line: {"argv": [...], "out": FILE, "environment": {...}} starts
`otb argv` in a fork and prints its process id; {"ended": PID} prints the wait status of one that has ended. A fork
stays a zombie until then, so that its process id is never somebody else's.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

Moment = Callable[[], Callable[[], bool]]
"""Called just before a start; what it returns says when that start is to be killed."""

PATIENCE = 600.0
"""Seconds after which a moment that does not come is an error; a busy machine may need many."""


@dataclass(frozen=True)
class Ended:
    """A command that ended by itself."""

    status: int
    output: str


@dataclass(frozen=True)
class Started:
    """A command under way."""

    pid: int
    handle: int
    """A descriptor of the process: readable when it has ended, and never another process's."""
    out: Path


class WarmOtb:
    """The program as a context manager. Commands may run at the same time."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = {"COLUMNS": "200", **environment}
        self._lock = threading.Lock()
        self._starts = 0
        self.kills = 0

    def __enter__(self) -> WarmOtb:
        pipe = subprocess.PIPE
        # As a module: a script's own folder comes first where modules are looked for, and this one has a datasets.py.
        command = [sys.executable, "-m", "support.warm_otb"]
        surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests")))}
        self._process = subprocess.Popen(command, cwd=ROOT, env=surroundings, stdin=pipe, stdout=pipe, text=True)
        assert self._process.stdout is not None
        assert self._process.stdout.readline().strip() == "ready"
        return self

    def __exit__(self, *exc: object) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

    def run(self, *argv: object) -> Ended:
        """Run `otb argv` to its end."""
        return self.end(self.start(*argv))

    def start(self, *argv: object) -> Started:
        """Start `otb argv`."""
        self._starts += 1
        out = self._folder / f"otb-{self._starts}.log"
        pid = self._ask({"argv": [str(each) for each in argv], "out": str(out), "environment": self._environment})
        return Started(pid, os.pidfd_open(pid), out)

    def end(self, started: Started) -> Ended:
        """Wait for a command to end by itself."""
        status = self._wait(started)
        assert os.WIFEXITED(status), status
        return Ended(os.WEXITSTATUS(status), started.out.read_text(errors="replace"))

    def killed(self, argv: Sequence[object], moment: Moment) -> None:
        """Start `otb argv` and kill it, that process alone, when the moment has come; an error if it ended before."""
        has_come = moment()
        started = self.start(*argv)
        latest, ended = time.monotonic() + PATIENCE, False
        while not ended and time.monotonic() < latest and not has_come():
            ended = bool(select.select([started.handle], [], [], 0.001)[0])
        late = time.monotonic() >= latest
        signal.pidfd_send_signal(started.handle, signal.SIGKILL)  # does nothing where it has ended
        status = self._wait(started)
        # Killed at once, it may not have opened its output yet.
        said = started.out.read_text(errors="replace")[-2000:] if started.out.exists() else ""
        assert not late, f"otb {argv} never came to the moment of its kill: {said}"
        assert status == signal.SIGKILL, f"otb {argv} ended before it was killed: {said}"
        self.kills += 1

    def _wait(self, started: Started) -> int:
        select.select([started.handle], [], [])
        os.close(started.handle)
        return self._ask({"ended": started.pid})

    def _ask(self, wish: Mapping[str, object]) -> int:
        assert self._process.stdin is not None and self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps(wish) + "\n")
            self._process.stdin.flush()
            return int(self._process.stdout.readline())


def _child(wish: Mapping[str, object]) -> None:
    """Be `otb` with these arguments; ends the process."""
    status = 1
    try:
        os.setpgid(0, 0)
        for place in (sys.stdout, sys.stderr):
            place.flush()
        out = os.open(str(wish["out"]), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.environ.update(wish["environment"])  # type: ignore[call-overload]
        sys.argv = ["otb", *wish["argv"]]  # type: ignore[misc]
        cli.main()
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _serve() -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        wish = json.loads(line)
        if "ended" in wish:
            print(os.waitpid(wish["ended"], 0)[1], flush=True)
            continue
        child = os.fork()
        if child == 0:
            _child(wish)
        print(child, flush=True)


if __name__ == "__main__":
    # Imported before the forks, once for all: a child then works instead of importing.
    import great_expectations  # noqa: F401

    import orchestration.build
    import orchestration.definitions  # noqa: F401
    from orchestration import cli

    cli.application()
    _serve()
