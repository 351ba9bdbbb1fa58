"""The environment variables that say where this installation works: one name each, for every process that reads them.

What belongs here: names that code locations, workers and commands must agree on. A command that did not read them built
into another folder and said that it was well. What does not: what a variable's value may be.
"""

from __future__ import annotations

STORE, SOURCE = "OTB_STORE", "OTB_SOURCE"
"""The store (folder or URL); the ministry ('live', a base URL or a mirror folder)."""
