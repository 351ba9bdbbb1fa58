"""A loopback S3 (moto's server) as a process of its own, and buckets in it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

SECONDS = 120.0
"""How long the server may take to come up on a machine that is busy."""

ADDRESS = re.compile(rb"Running on (http://127\.0\.0\.1:\d+)")


@dataclass(frozen=True, slots=True)
class LoopbackS3:
    """Where the server listens."""

    endpoint: str
    secret: str = field(default_factory=lambda: f"secret-{uuid.uuid4().hex}")

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to ask it, as a deployment's environment would hold it."""
        return {
            "AWS_ENDPOINT_URL_S3": self.endpoint,
            "AWS_ACCESS_KEY_ID": "loopback",
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def bucket(self) -> str:
        """The name of a new, empty bucket."""
        name = f"otb-{uuid.uuid4().hex[:12]}"
        urllib.request.urlopen(urllib.request.Request(f"{self.endpoint}/{name}", method="PUT"), timeout=60).close()
        return name


@contextmanager
def loopback_s3(folder: Path) -> Iterator[LoopbackS3]:
    """The server, up; it is ended at the end. Its log is in `folder`."""
    log = folder / "s3.log"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with log.open("wb") as out:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment)
    try:
        end = time.monotonic() + SECONDS
        while (found := ADDRESS.search(log.read_bytes())) is None:
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"moto's server did not come up: {log.read_text()[-500:]}")
            time.sleep(0.1)
        yield LoopbackS3(found[1].decode())
    finally:
        process.kill()
        process.wait()
