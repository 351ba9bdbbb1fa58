"""Who is told how far a long step is. A run in the UI writes it to its log, the command line draws a bar."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told after every unit of a long step."""

    def step(self, what: str, done: int, total: int) -> None:
        """`done` of `total` units of `what` are finished."""


class Silent:
    """Tells nobody."""

    def step(self, what: str, done: int, total: int) -> None:
        """Nothing."""
