"""`formosa_windows` pulls the corpus only where that is switched on; a pull that fails ends the run before a window."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import dagster as dg
import pytest

from assets.formosa import formosa_windows
from orchestration.definitions import Configuration, from_environment
from orchestration.formosa_endpoint import ARTICLES
from resources.formosa_places import WINDOWS
from resources.store import Store

ARTICLE = Path("knowledge", "Culture", "樣本元宵.md")


def git(folder: Path, *arguments: str) -> str:
    about = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *about, "-C", str(folder), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def corpora(tmp_path: Path) -> tuple[Path, Path]:
    """A remote with the sample articles, and a checkout that is one commit behind it."""
    remote, checkout = Path(shutil.copytree(ARTICLES, tmp_path / "remote")), tmp_path / "checkout"
    git(remote, "init", "--quiet")
    git(remote, "add", "--all")
    git(remote, "commit", "--quiet", "-m", "one")
    git(tmp_path, "clone", "--quiet", str(remote), str(checkout))
    (remote / ARTICLE).write_text((remote / ARTICLE).read_text() + "\n多一句話。\n")
    git(remote, "commit", "--quiet", "--all", "-m", "two")
    return remote, checkout


def cut(store: Path, checkout: Path, *, pull: bool) -> dg.ExecuteInProcessResult:
    settings = {"corpus": str(checkout), "limit": 60, "tail": 20, "lexicon": "own", "pull": pull}
    with dg.DagsterInstance.ephemeral() as instance:
        return dg.materialize(
            [formosa_windows],
            instance=instance,
            resources=Configuration(store=str(store), formosa=settings).resources(),
            raise_on_error=False,
        )


def test_it_pulls_where_it_is_switched_on_and_nowhere_else(corpora: tuple[Path, Path], tmp_path: Path) -> None:
    remote, checkout = corpora
    first, second = git(checkout, "rev-parse", "HEAD"), git(remote, "rev-parse", "HEAD")
    assert cut(tmp_path / "store", checkout, pull=False).success
    assert git(checkout, "rev-parse", "HEAD") == first
    before = Store(str(tmp_path / "store")).read_json(WINDOWS)
    made = cut(tmp_path / "store", checkout, pull=True)
    assert made.success
    [event] = made.get_asset_materialization_events()
    assert event.materialization.metadata["pulled"].value == f"{first[:12]} to {second[:12]}"
    assert Store(str(tmp_path / "store")).read_json(WINDOWS)["inputs"] != before["inputs"]


def test_a_pull_that_fails_leaves_the_windows_as_they_are(corpora: tuple[Path, Path], tmp_path: Path) -> None:
    remote, checkout = corpora
    assert cut(tmp_path / "store", checkout, pull=False).success
    before = Store(str(tmp_path / "store")).read(WINDOWS)
    remote.rename(tmp_path / "gone")
    made = cut(tmp_path / "store", checkout, pull=True)
    assert not made.success
    [failure] = [event for event in made.all_events if event.is_step_failure]
    assert "windows: git pull: " in str(failure.event_specific_data)
    assert Store(str(tmp_path / "store")).read(WINDOWS) == before


def test_the_switch_is_a_variable_and_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTB_CORPUS_PULL", raising=False)
    assert from_environment().formosa == {"pull": False}
    monkeypatch.setenv("OTB_CORPUS_PULL", "on")
    assert from_environment().formosa == {"pull": True}
    monkeypatch.setenv("OTB_CORPUS_PULL", "1")
    with pytest.raises(ValueError, match="OTB_CORPUS_PULL is on or off"):
        from_environment()
