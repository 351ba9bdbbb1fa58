"""A git checkout of the corpus brought up to date, where that is switched on (OTB_CORPUS_PULL): forward or not at all.

What belongs here: one pull. What does not: reading the corpus (`opentwbench.formosa.corpus`), and deciding that it is
pulled: offline is normal, so nothing else fetches.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

from opentwbench.dataset.contract import excerpt
from opentwbench.formosa.corpus import CorpusError

SECONDS = 600.0
"""Longest time for the pull. A first clone of Taiwan.md is some hundred MB; a month of it far less."""

_CREDENTIALS = re.compile(r"//[^/@\s]+@")
"""User and password in the address of a remote, which git's messages may hold."""


def pull(checkout: Path, seconds: float = SECONDS) -> tuple[str, str]:
    """(commit before, commit after) of `git pull --ff-only`; the same twice when there was nothing new.

    Raises CorpusError, and the files are those of before: the folder is no checkout of its own, local commits or
    changes stand against it, the remote does not answer or asks for a password, or it takes longer than `seconds`.
    """
    # A folder inside another repository would pull that one.
    top = _git(checkout, seconds, "rev-parse", "--show-toplevel")
    if Path(top).resolve() != checkout.resolve():
        raise CorpusError(f"{excerpt(checkout.name)} is no git checkout of its own: it is not pulled")
    before = _git(checkout, seconds, "rev-parse", "HEAD")
    _git(checkout, seconds, "pull", "--ff-only", "--quiet", "--no-recurse-submodules")
    return before, _git(checkout, seconds, "rev-parse", "HEAD")


def _git(checkout: Path, seconds: float, *arguments: str) -> str:
    # No hook of the checkout runs, and nobody is there to type a password.
    command = ["git", "-c", f"core.hooksPath={os.devnull}", "-C", str(checkout), *arguments]
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "true", "SSH_ASKPASS": "true", "LC_ALL": "C"}
    environment = {"GIT_SSH_COMMAND": "ssh -o BatchMode=yes", **os.environ, **quiet}
    pipe = subprocess.PIPE
    try:
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=environment, text=True, errors="replace",
            start_new_session=True,
        ) as process:  # fmt: skip
            try:
                out, said = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                # What git started holds its pipes, and would be waited for.
                os.killpg(process.pid, signal.SIGKILL)
                raise
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CorpusError(f"git {arguments[0]}: {type(error).__name__}") from None
    if process.returncode:
        raise CorpusError(f"git {arguments[0]}: {excerpt(_CREDENTIALS.sub('//', said.strip()), 200)}")
    return out.strip()
