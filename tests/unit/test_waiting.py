"""Back-off and Retry-After, on a clock of the test's own."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from opentwbench.waiting import LONGEST, backoff, retry_after


def test_back_off_grows_to_its_bound_and_is_jittered() -> None:
    assert [backoff(n, 0.5, 60, lambda: 1.0) for n in (1, 2, 3, 10)] == [0.5, 1.0, 2.0, 60]
    drawn = {backoff(4, 0.5, 60) for _ in range(200)}
    assert len(drawn) > 150
    assert 0 <= min(drawn) < 1 < 3 < max(drawn) <= 4
    kept = {backoff(4, 0.5, 60, kept=0.5) for _ in range(200)}
    assert 2 <= min(kept) < 2.5 < 3.5 < max(kept) <= 4
    assert backoff(10**6, 0.5, 60, lambda: 1.0) == 60


NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("0", 0.0),
        ("7", 7.0),
        ("1.5", 1.5),
        ("Mon, 30 Nov 2026 12:00:20 GMT", 20.0),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 0.0),
        ("Monday, 30-Nov-26 12:00:20 GMT", 20.0),
        ("", None),
        ("-3", None),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("Mon, 99 Nov 2026 12:00:20 GMT", None),
        ("１２", None),
        ("1_000", None),
        ("1e3", None),
        (" 7 ", 7.0),
        ("9" * 400, LONGEST),
        ("Mon, 30 Nov 9999 12:00:20 GMT", LONGEST),
        ("Mon, 30 Nov 0000 12:00:20 GMT", 0.0),
    ],
)
def test_retry_after_in_both_forms(header: str | None, seconds: float | None) -> None:
    assert retry_after(header, NOW) == seconds
