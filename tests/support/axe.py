"""axe-core, the accessibility rules of the browser tests: fetched once into a cache outside the tree, by `make axe`.

    python tests/support/axe.py      # fetch it through npm's configured registry; says why when it cannot be had

One version is pinned, by number and by the sha256 of its package; nothing of it is committed. Tests only read the
cache.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "4.14.1"
SHA256 = "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745"
"""Of the package as the registry gives it."""

SCRIPT = "package/axe.min.js"
MOST_BYTES = 20_000_000
SECONDS = 120


def cached() -> Path:
    """Where the script stands once it was fetched."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "opentwbench" / f"axe-core-{VERSION}.min.js"


def fetch() -> str:
    """Fetch the script into the cache; '' when it is there, else why it cannot be had."""
    if cached().is_file():
        return ""
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed"
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", f"axe-core@{VERSION}", "--silent", "--pack-destination", folder]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False, cwd=folder)
        except subprocess.TimeoutExpired:
            return f"npm did not answer in {SECONDS} s"
        package = Path(folder) / f"axe-core-{VERSION}.tgz"
        if done.returncode or not package.is_file():
            return f"npm pack failed: {done.stderr.strip()[-300:]}"
        if hashlib.sha256(package.read_bytes()).hexdigest() != SHA256:
            return "the package is not the pinned one: its sha256 differs"
        with tarfile.open(package) as archive:
            held = archive.extractfile(SCRIPT)
            script = held.read(MOST_BYTES) if held else b""
    if not script:
        return f"the package holds no {SCRIPT}"
    cached().parent.mkdir(parents=True, exist_ok=True)
    aside = cached().with_suffix(f".{os.getpid()}")
    aside.write_bytes(script)
    aside.replace(cached())
    return ""


if __name__ == "__main__":
    if why := fetch():
        # The tests skip, saying so, where it is absent: a build machine without a registry is no failure.
        print(f"axe-core {VERSION} cannot be had: {why}", file=sys.stderr)
