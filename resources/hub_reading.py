"""Reading a pushed data set back as its readers do: `datasets.load_dataset` in a process of its own.

Its own process, because the library fixes its endpoint, caches and offline switch when it is imported, and because a
loader that hangs or dies costs this reading alone. Its caches are a temporary folder, so that what is compared came
from the hub now. What does not belong here: what is expected (`resources.hub_publishing`).

    python -m resources.hub_reading     (the child; it is asked on standard input)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from opentwbench.evaluation.client import NO_SECRET, Secret

READ_SECONDS = 1800.0
"""For all configurations of one repository."""

_KEPT = ("PATH", "LANG", "LC_ALL", "SSL_CERT_FILE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy")
_ALSO_KEPT = ("https_proxy", "no_proxy", "REQUESTS_CA_BUNDLE")


class ReadBackError(Exception):
    """The data set could not be loaded; the message holds no token."""


@contextmanager
def read_back(
    endpoint: str,
    repository: str,
    revision: str,
    configs: Sequence[str],
    token: Secret = NO_SECRET,
    seconds: float = READ_SECONDS,
) -> Iterator[Mapping[str, Path]]:
    """Configuration -> a JSONL file of its rows (split test) as load_dataset gives them, while the block runs.

    Without a token the set is read as anybody reads it. Raises ReadBackError when one cannot be loaded.
    """
    with tempfile.TemporaryDirectory(prefix="otb-hub-") as temporary:
        folder = Path(temporary)
        asked = {"repository": repository, "revision": revision, "configs": list(configs), "out": str(folder)}
        failure = _run(asked, _environment(endpoint, folder, token), seconds)
        if failure:
            raise ReadBackError(failure.replace(token.reveal() or "\0", "***"))
        yield {config: folder / f"{number}.jsonl" for number, config in enumerate(configs)}


def _run(asked: Mapping[str, Any], environment: Mapping[str, str], seconds: float) -> str:
    """Why the child failed, '' when it did not."""
    command = [sys.executable, "-m", "resources.hub_reading"]
    try:
        ended = subprocess.run(
            command,
            input=json.dumps(asked),
            env=dict(environment),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"not loaded within {seconds:.0f} s"
    if ended.returncode:
        last = ended.stderr.strip().splitlines()[-1:] or [f"exit status {ended.returncode}"]
        return last[0][:500]
    return ""


def _environment(endpoint: str, folder: Path, token: Secret) -> dict[str, str]:
    kept = {name: os.environ[name] for name in (*_KEPT, *_ALSO_KEPT) if name in os.environ}
    own = {
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(folder / "home"),
        "HOME": str(folder),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        # The one hub is asked, over plain requests, and nobody is told of it.
        "HF_HUB_OFFLINE": "0",
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_UPDATE_DOWNLOAD_COUNTS": "false",
        "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
        "DO_NOT_TRACK": "1",
    }
    return {**kept, **own, **({"HF_TOKEN": token.reveal()} if token.reveal() else {})}


def _load(asked: Mapping[str, Any]) -> None:
    """The child's work: every configuration to a file of its own."""
    from datasets import load_dataset

    for number, config in enumerate(asked["configs"]):
        rows = load_dataset(asked["repository"], config, split="test", revision=asked["revision"])
        with (Path(asked["out"]) / f"{number}.jsonl").open("w", encoding="utf-8") as out:
            for row in rows:
                out.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")


if __name__ == "__main__":
    _load(json.load(sys.stdin))
