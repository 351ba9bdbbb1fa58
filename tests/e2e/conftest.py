"""The browser of the page tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.chromium import CHROMIUM, FLAGS


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    with sync_api.sync_playwright() as play:
        running = play.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield running
        running.close()
