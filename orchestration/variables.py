"""The environment variables that say where this installation works: one name each, for every process that reads them.

What belongs here: names that code locations, workers and commands must agree on. A command that did not read them built
into another folder and said that it was well. What does not: what a variable's value may be.
"""

from __future__ import annotations

from collections.abc import Mapping

STORE, SOURCE = "OTB_STORE", "OTB_SOURCE"
"""The store (folder or URL); the ministry ('live', a base URL or a mirror folder)."""

LOST_RUNS = "OTB_LOST_RUNS"
"""On or off: whether each code location starts its runs again that were ended from outside (`lost_runs`)."""


def switch(environment: Mapping[str, str], name: str) -> bool:
    """Whether a variable says on; unset is off. Raises ValueError for what is neither."""
    said = environment.get(name) or "off"
    if said not in ("on", "off"):
        raise ValueError(f"{name} is on or off, not {said[:80]!r}")
    return said == "on"
