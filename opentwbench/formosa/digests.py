"""What the track's products are made by: a digest of its code, and the version that a manifest names.

One digest for the whole track: a changed rule makes every product anew, which asks no model anything, because replies
stay in their journals.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import version

from opentwbench.exam.digests import LIBRARY, digest, sources_digest

FOLDERS = ("dataset", "statistics", "exam", "evaluation", "formosa")
"""What decides an item, a band or a card of the track."""


@cache
def track_digest() -> str:
    """Digest of the track's sources and of those that they stand on. Computed once a process."""
    return digest([sources_digest([LIBRARY / name for name in FOLDERS]).encode()])


def code_version() -> str:
    """The package's version and 12 digits of the digest of its sources."""
    return f"{version('opentwbench')}+{track_digest()[:12]}"
