"""`otb` started many times from one warm process, so that a test can kill it at a chosen moment without long waits.

A fresh interpreter would spend most of its life importing; a fork of this one works at once. The program
(`python -m support.warm_otb`) reads one JSON object a line: {"argv": [...], "out": FILE, "environment": {...}} starts
`otb argv` in a fork and prints its process id; {} waits for it and prints its wait status. A fork that ended stays a
zombie until it is waited for, so that its process id is never somebody else's when it is killed.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

Moment = Callable[[], Callable[[], bool]]
"""Called just before a start; what it returns says when that start is to be killed."""

PATIENCE = 120.0
"""Seconds after which a moment that does not come is an error."""


@dataclass(frozen=True)
class Ended:
    """A command that ended by itself."""

    status: int
    output: str


class WarmOtb:
    """The program as a context manager. One command at a time."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._out = folder / "otb.log"
        self._environment = {"COLUMNS": "200", **environment}
        self.kills = 0

    def __enter__(self) -> WarmOtb:
        pipe = subprocess.PIPE
        # As a module: a script's own folder comes first where modules are looked for, and this one has a datasets.py.
        command = [sys.executable, "-m", "support.warm_otb"]
        surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests")))}
        self._process = subprocess.Popen(command, cwd=ROOT, env=surroundings, stdin=pipe, stdout=pipe, text=True)
        assert self._read() == "ready"
        return self

    def __exit__(self, *exc: object) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

    def run(self, *argv: object) -> Ended:
        """Run `otb argv` to its end."""
        self._start(argv)
        return self._end()

    def killed(self, argv: Sequence[object], moment: Moment) -> None:
        """Start `otb argv` and kill it, that process alone, when the moment has come; an error if it ended before."""
        has_come = moment()
        handle = os.pidfd_open(self._start(argv))
        try:
            latest = time.monotonic() + PATIENCE
            while not has_come():
                ended, _, _ = select.select([handle], [], [], 0.001)
                assert not ended, f"otb {argv} ended before it was killed: {self._end()}"
                assert time.monotonic() < latest, f"otb {argv} never came to the moment of its kill"
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        finally:
            os.close(handle)
        assert self._wait() == signal.SIGKILL, f"otb {argv} ended before it was killed"
        self.kills += 1

    def _start(self, argv: Sequence[object]) -> int:
        wish = {"argv": [str(each) for each in argv], "out": str(self._out), "environment": self._environment}
        self._write(wish)
        return int(self._read())

    def _end(self) -> Ended:
        status = self._wait()
        assert os.WIFEXITED(status), status
        return Ended(os.WEXITSTATUS(status), self._out.read_text(errors="replace"))

    def _wait(self) -> int:
        self._write({})
        return int(self._read())

    def _write(self, wish: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(wish) + "\n")
        self._process.stdin.flush()

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


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
    child = 0
    for line in sys.stdin:
        wish = json.loads(line)
        if wish:
            child = os.fork()
            if child == 0:
                _child(wish)
            print(child, flush=True)
        else:
            print(os.waitpid(child, 0)[1], flush=True)


if __name__ == "__main__":
    # Imported before the forks, once for all: a child then works instead of importing.
    import great_expectations  # noqa: F401

    import orchestration.build
    import orchestration.definitions  # noqa: F401
    from orchestration import cli

    cli.application()
    _serve()
