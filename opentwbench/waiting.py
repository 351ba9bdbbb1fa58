"""When to ask again: back-off with jitter, and what a Retry-After header asks for.

Both tracks that ask a server use these: the retrieval of papers (exam/polite.py) and the asking of models
(evaluation/client.py). What does not belong here: the waiting itself, and which answers are asked for again.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST = 1e9
"""Seconds: what a Retry-After of more digits than anybody means is read as. Every caller's own limit is far below."""


def backoff(
    attempt: int, base: float, most: float, draw: Callable[[], float] = random.random, kept: float = 0
) -> float:
    """Seconds to wait before attempt `attempt` + 1 (from 1): jitter over an exponentially growing range.

    `base`, `most`: the range of the first wait and of the longest, in seconds. `draw` gives a number in 0..1. `kept` is
    the share of the range that is always waited: 0 is full jitter, which spreads clients that failed together over the
    whole range; 0.5 is equal jitter, which never asks at once again. Source: M. Brooker, "Exponential backoff and
    jitter", AWS Architecture Blog, 2015.
    """
    span = min(most, base * 2.0 ** min(attempt - 1, 1_000))
    return span * (kept + (1 - kept) * draw())


_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Seconds that a Retry-After header asks for, at most LONGEST; None when it is absent or unreadable.

    Both forms of RFC 9110, section 10.2.3: seconds, or an HTTP date. A date in the past is 0. Fractions, which some
    endpoints send, are read as well.
    """
    if value is None:
        return None
    if _SECONDS.fullmatch(value.strip()):
        return min(float(value), LONGEST)
    return _until(value, now or datetime.now(UTC))


def _until(value: str, now: datetime) -> float | None:
    try:
        then = parsedate_to_datetime(value)
        if then.tzinfo is None:
            then = then.replace(tzinfo=UTC)
        return min(max(0.0, (then - now).total_seconds()), LONGEST)
    except (ValueError, TypeError, OverflowError):
        return None
