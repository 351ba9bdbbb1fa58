"""Waiting: concurrency that adapts, and rates, on a clock of the test's own."""

from __future__ import annotations

import asyncio

import pytest

from opentwbench.evaluation import limits
from opentwbench.evaluation.limits import COOLDOWN, FIRST_WINDOW, Bucket, Gate


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that sleeping moves on."""
    ticking = Clock()
    real = asyncio.sleep

    async def sleep(seconds: float) -> None:
        ticking.now += max(0.0, seconds)
        await real(0)

    monkeypatch.setattr(limits.asyncio, "sleep", sleep)
    return ticking


def test_a_fixed_gate_lets_exactly_so_many_through() -> None:
    async def work() -> int:
        gate, most = Gate(5, adaptive=False), 0

        async def one() -> None:
            nonlocal most
            await gate.enter()
            most = max(most, gate.inside)
            await asyncio.sleep(0)
            gate.leave(congested=True)

        await asyncio.gather(*(one() for _ in range(200)))
        assert gate.inside == 0
        return most

    assert asyncio.run(work()) == 5


def test_an_adaptive_gate_doubles_then_halves_then_creeps(clock: Clock) -> None:
    async def work() -> None:
        gate = Gate(256, adaptive=True, clock=clock)
        assert gate.limit == FIRST_WINDOW
        for _ in range(FIRST_WINDOW):
            await gate.enter()
            gate.leave()
        assert gate.limit == 2 * FIRST_WINDOW  # one round trip, twice as many
        await gate.enter()
        gate.leave(congested=True, succeeded=False)
        assert (gate.limit, gate.congested) == (FIRST_WINDOW, 1)
        for _ in range(FIRST_WINDOW):
            await gate.enter()
            gate.leave()
        assert FIRST_WINDOW + 0.9 < gate.limit <= FIRST_WINDOW + 1  # one round trip, one more

    asyncio.run(work())


def test_a_burst_of_refusals_is_one_sign(clock: Clock) -> None:
    async def work() -> None:
        gate = Gate(64, adaptive=True, clock=clock)
        for _ in range(50):
            await gate.enter()
            gate.leave(congested=True, succeeded=False)
        assert gate.congested == 1
        for _ in range(20):
            clock.now += COOLDOWN
            await gate.enter()
            gate.leave(congested=True, succeeded=False)
        assert gate.limit == 1.0  # never below one

    asyncio.run(work())


def test_a_plain_failure_is_no_congestion() -> None:
    async def work() -> None:
        gate = Gate(64, adaptive=True)
        for _ in range(50):
            await gate.enter()
            gate.leave(succeeded=False)
        assert (gate.congested, gate.limit) == (0, FIRST_WINDOW)

    asyncio.run(work())


def test_a_pause_holds_for_all(clock: Clock) -> None:
    async def work() -> list[float]:
        gate, entered = Gate(4, adaptive=False, clock=clock), []
        gate.pause(30)
        gate.pause(5)  # a shorter one does not shorten it
        for _ in range(3):
            await gate.enter()
            entered.append(clock.now)
        return entered

    assert min(asyncio.run(work())) >= 130.0


def test_a_turn_given_up_is_handed_on() -> None:
    async def work() -> None:
        gate = Gate(1, adaptive=False)
        await gate.enter()
        waiting = [asyncio.create_task(gate.enter()) for _ in range(3)]
        await asyncio.sleep(0)
        gate.leave()  # gives the first its turn, which is cancelled before it can take it
        waiting[0].cancel()
        await asyncio.wait_for(waiting[1], 1)
        gate.leave()
        await asyncio.wait_for(waiting[2], 1)

    asyncio.run(work())


def test_a_bucket_keeps_its_rate(clock: Clock) -> None:
    async def work() -> float:
        bucket, start = Bucket(50.0, burst=10, clock=clock), clock.now
        for _ in range(110):
            await bucket.take(1)
        return clock.now - start

    assert asyncio.run(work()) == pytest.approx(100 / 50, abs=0.05)


def test_an_estimate_is_settled(clock: Clock) -> None:
    async def work() -> tuple[float, float]:
        bucket, start = Bucket(100.0, burst=100, clock=clock), clock.now
        await bucket.take(100)
        bucket.settle(100, 10)  # 90 come back
        await bucket.take(90)
        early = clock.now - start
        bucket.settle(0, 200)  # used more than it took
        await bucket.take(1)
        return early, clock.now - start

    early, late = asyncio.run(work())
    assert early == pytest.approx(0.0)
    assert late == pytest.approx(2.01)


def test_no_rate_is_no_wait(clock: Clock) -> None:
    asyncio.run(Bucket(None, clock=clock).take(10**9))
    assert clock.now == 100.0


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Gate(0, adaptive=False)
    with pytest.raises(ValueError, match="above 0"):
        Bucket(0.0)
