"""What tw-rag-bench is made by: a digest of its code and of all that it stands on, and the version of a manifest."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version

from opentwbench.exam.digests import LIBRARY, digest, sources_digest
from opentwbench.formosa.digests import FOLDERS


@cache
def track_digest() -> str:
    """Digest of the sources that decide an item, a context or a card. Computed once a process."""
    return digest([sources_digest([LIBRARY / name for name in (*FOLDERS, "rag")]).encode()])


def code_version() -> str:
    """The package's version and 12 digits of the digest of its sources."""
    return f"{version('opentwbench')}+{track_digest()[:12]}"
