"""The Dagster UI in Chromium: the asset graph, and a failed check that stops one subject's publication and no other.

With OTB_SCREENSHOTS=FOLDER the pictures are kept there (`make screenshots`), else in the test's own folder.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from support.chromium import CHROMIUM, FLAGS
from support.exam_store import CONSTITUTION

from assets.exam import subject_dataset
from assets.publication import subject_publication
from checks.exam import SUBJECT_CHECKS
from opentwbench.dataset.validators import BLOCKING_CHECKS
from orchestration.build import Build
from orchestration.definitions import Configuration
from orchestration.in_process import QUIET
from resources.store import Store

ROOT = Path(__file__).resolve().parents[2]
STARTUP_SECONDS = 120
PATIENCE_MS = 60_000
PICTURE_BYTES = 300_000

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@dataclass(frozen=True)
class Ui:
    url: str
    home: Path
    configuration: Configuration


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + STARTUP_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            pytest.fail(f"dagster dev ended by itself: {log.read_text(errors='replace')[-2000:]}")
        try:
            with urllib.request.urlopen(f"{url}/server_info", timeout=5):
                return
        except OSError:
            time.sleep(0.5)
    pytest.fail(f"dagster dev did not answer in {STARTUP_SECONDS} s: {log.read_text(errors='replace')[-2000:]}")


@pytest.fixture(scope="module")
def ui(sample_ministry: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    """The sample ministry built with its runs recorded, and `dagster dev` over it as `make ui` starts it."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: the UI is not looked at")
    folder = tmp_path_factory.mktemp("ui")
    home, log = folder / "home", folder / "dagster.log"
    home.mkdir()
    shutil.copy(ROOT / "dagster.yaml", home)
    configuration = Configuration(store=str(folder / "store"), source=str(sample_ministry))
    with dg.DagsterInstance.from_config(str(home)) as instance:
        assert Build(configuration, instance).run().errors == []
    port = free_port()
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(home),
        "OTB_STORE": configuration.store,
        "OTB_SOURCE": configuration.source,
        "DAGSTER_DISABLE_TELEMETRY": "yes",
    }
    command = [sys.executable, "-m", "dagster", "dev", "-w", "workspace.yaml", "-h", "127.0.0.1", "-p", str(port)]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            wait_for(f"http://127.0.0.1:{port}", process, log)
            yield Ui(f"http://127.0.0.1:{port}", home, configuration)
        finally:
            # dagster dev starts a web server, a daemon and code servers: all are in its own session.
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def page(ui: Ui) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        opened = browser.new_page(viewport={"width": 1900, "height": 760}, device_scale_factor=1.5)
        opened.set_default_timeout(PATIENCE_MS)
        yield opened
        browser.close()


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = os.environ.get("OTB_SCREENSHOTS")
    kept = ROOT / folder if folder else tmp_path_factory.mktemp("pictures")
    kept.mkdir(parents=True, exist_ok=True)
    return kept


def plant_an_english_stem(ui: Ui) -> None:
    """Damage one published item of one subject and run that subject's chain, its runs recorded where the UI looks."""
    store = Store(ui.configuration.store)
    items = [json.loads(line) for line in store.lines(store.items(CONSTITUTION))]
    next(item for item in items if item["bucket"] == "published")["question"] = "Which of these is right?"
    store.write(
        store.items(CONSTITUTION), "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items).encode()
    )
    with dg.DagsterInstance.from_config(str(ui.home)) as instance:
        result = dg.materialize(
            [subject_dataset, *SUBJECT_CHECKS, subject_publication],
            partition_key=CONSTITUTION,
            instance=instance,
            resources=ui.configuration.resources(),
            raise_on_error=False,
            run_config=QUIET,
        )
    assert not result.success


def test_the_asset_graph_shows_six_assets_from_index_to_release(ui: Ui, page: Any, pictures: Path) -> None:
    page.goto(f"{ui.url}/assets/exam_release?view=lineage&lineageScope=upstream&lineageDepth=6")
    for asset in ("ministry_index", "exam_papers", "subject_items", "subject_dataset", "subject_publication"):
        page.get_by_text(asset, exact=True).first.wait_for()
    checks = len(BLOCKING_CHECKS) + 1  # and the one that only warns
    page.get_by_text(f"{checks} / {checks} Passed").wait_for()
    # The third of the release asks whether it is still current, and no build runs it.
    page.get_by_text("2 / 3 Passed").wait_for()
    page.get_by_text("Loading...").first.wait_for(state="detached")
    page.wait_for_timeout(1500)  # the graph glides into place
    picture = pictures / "asset-graph.png"
    page.screenshot(path=str(picture), clip={"x": 300, "y": 340, "width": 1540, "height": 225})
    assert 5_000 < picture.stat().st_size < PICTURE_BYTES


def test_a_failed_check_of_one_subject_is_shown_and_stops_only_that_subject(
    ui: Ui, page: Any, pictures: Path, tmp_path: Path
) -> None:
    plant_an_english_stem(ui)
    page.goto(f"{ui.url}/assets/subject_dataset?view=checks&checkDetail=surviving_english")
    page.get_by_text("blocking").first.wait_for()
    page.get_by_text("Which of these is right?").wait_for()
    page.get_by_text(CONSTITUTION, exact=True).first.wait_for()
    page.screenshot(path=str(tmp_path / "check.png"))
    page.goto(f"{ui.url}/assets/subject_publication?view=partitions")
    page.get_by_text("Failed (1)").wait_for()
    page.get_by_text("Materialized (5)").wait_for()
    page.screenshot(path=str(tmp_path / "publication.png"))


def test_the_figures_of_a_subject_are_readable(ui: Ui, page: Any, tmp_path: Path) -> None:
    page.goto(f"{ui.url}/assets/subject_items?view=partitions&partition={CONSTITUTION}")
    page.get_by_role("cell", name="published", exact=True).first.wait_for()
    page.get_by_text("█").first.wait_for()
    page.screenshot(path=str(tmp_path / "items.png"))
    page.goto(f"{ui.url}/assets/exam_release?view=events")
    page.get_by_text("subjects_without_source").wait_for()
    page.get_by_role("cell", name="樣本儀器操作實務").first.wait_for()
