"""How fast to ask: concurrency that adapts, and request and token rates.

What belongs here: waiting, on a clock that a test can replace. What does not: HTTP and what a status means (client.py),
and when to ask again (opentwbench/waiting.py).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

Clock = Callable[[], float]

DECREASE = 0.5
"""Factor on congestion. Additive increase, multiplicative decrease as in TCP (RFC 5681, section 3.1)."""

COOLDOWN = 1.0
"""Seconds in which further signs of congestion count as the same: a burst of 429 is one event, not a hundred."""

FIRST_WINDOW = 16
"""Requests at a time with which an adaptive gate begins; it doubles each round trip until the first congestion."""


class Gate:
    """Lets at most `limit` requests through at a time, and none during a pause.

    Fixed: the limit is `most`. Adaptive: it begins at FIRST_WINDOW, doubles each round trip until the first sign of
    congestion, is halved on each, and then grows by one a round trip, never above `most` and never below one.
    """

    def __init__(self, most: int, *, adaptive: bool, clock: Clock = time.monotonic) -> None:
        if most < 1:
            raise ValueError(f"concurrency must be at least 1, got {most}")
        self.most = most
        self.adaptive = adaptive
        self.limit = float(min(most, FIRST_WINDOW) if adaptive else most)
        self.inside = 0
        self.congested = 0
        """How often the limit was halved."""
        self._threshold = float(most)
        self._clock = clock
        self._last_cut = float("-inf")
        self._open_at = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        """Wait until a request may be sent."""
        while True:
            wait = self._open_at - self._clock()
            if wait > 0:
                await asyncio.sleep(wait)
            elif self.inside < int(self.limit):
                self.inside += 1
                return
            else:
                await self._turn()

    def leave(self, *, congested: bool = False, succeeded: bool = True) -> None:
        """A request has ended: well, badly, or with a sign of congestion (429, 503, a timeout)."""
        self.inside -= 1
        if self.adaptive and congested:
            self._cut()
        elif self.adaptive and succeeded:
            step = 1.0 if self.limit < self._threshold else 1.0 / self.limit
            self.limit = min(float(self.most), self.limit + step)
        self._wake()

    def pause(self, seconds: float) -> None:
        """Let nobody through for this long: the endpoint has said so for all."""
        self._open_at = max(self._open_at, self._clock() + seconds)

    def _cut(self) -> None:
        if self._clock() - self._last_cut < COOLDOWN:
            return
        self._last_cut = self._clock()
        self.congested += 1
        self.limit = max(1.0, self.limit * DECREASE)
        self._threshold = self.limit

    async def _turn(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            # Whoever gives up a turn that was given must hand it on, or the last of the queue would wait for ever.
            if turn.done() and not turn.cancelled():
                self._wake()
            raise

    def _wake(self) -> None:
        free = int(self.limit) - self.inside
        while self._waiting and free > 0:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1


class Bucket:
    """A rate: `rate` units a second on average, at most `burst` at once; None lets everything through.

    Who takes more than is there goes into debt and waits it off, so that one large request cannot starve.
    """

    def __init__(self, rate: float | None, burst: float | None = None, clock: Clock = time.monotonic) -> None:
        if rate is not None and rate <= 0:
            raise ValueError(f"a rate must be above 0, got {rate}")
        self._rate = rate
        # A tenth of a second's worth by default: smooth at high rates, one request at a time at low ones.
        self._burst = burst if burst is not None else max(1.0, (rate or 0.0) / 10)
        self._level = self._burst
        self._clock = clock
        self._seen = clock()

    async def take(self, units: float) -> None:
        """Wait until `units` may be used."""
        if self._rate is None:
            return
        self._fill()
        self._level -= units
        if self._level < 0:
            await asyncio.sleep(-self._level / self._rate)

    def settle(self, reserved: float, used: float) -> None:
        """Correct an estimate: what was reserved too much comes back, what was too little becomes debt."""
        if self._rate is not None:
            self._fill()
            self._level = min(self._burst, self._level + reserved - used)

    def _fill(self) -> None:
        now = self._clock()
        self._level = min(self._burst, self._level + (now - self._seen) * (self._rate or 0.0))
        self._seen = now
