"""What the rehearsal of a deployment refuses and reports; nothing is started (tests/e2e/test_stack.py does that)."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """deploy/stack.py, which is a script and no package."""
    found = importlib.util.spec_from_file_location("deploy_stack_script", ROOT / "deploy" / "stack.py")
    assert found and found.loader
    module = importlib.util.module_from_spec(found)
    monkeypatch.setitem(sys.modules, found.name, module)  # where dataclasses look their annotations up
    found.loader.exec_module(module)
    monkeypatch.setattr(module, "postgres_bin", lambda: Path("/nowhere"))
    return module


def test_the_settings_of_a_deployment_are_not_mixed_into_a_rehearsal(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(script, "ROOT", tmp_path)
    (tmp_path / ".env").write_text("DAGSTER_PG_PASSWORD=another")
    with pytest.raises(SystemExit, match="2"):
        script.main([str(tmp_path / "new")])
    assert ".env would take the place" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


@pytest.fixture
def rehearsed(script: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a rehearsal does after its backfill, in order."""
    seen: list[str] = []
    monkeypatch.setattr(script, "prepare", lambda made: None)
    monkeypatch.setattr(script, "disturbed", lambda *_: Counter(SUCCESS=1))
    monkeypatch.setattr(script, "compare", lambda *_: seen.append("compared") or 0)
    return seen


def test_a_location_that_did_not_come_back_is_an_error(
    script: Any, rehearsed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = SimpleNamespace(is_up=lambda: False, restart=print, ports={"webserver": 1})
    real = script.wait_for
    monkeypatch.setattr(script, "wait_for", lambda what, ready, seconds: real(what, ready, -1))
    with pytest.raises(script.StackError, match="code locations after their restarts"):
        script.rehearse(made, tmp_path, ["x"], keep=False)
    assert rehearsed == []


def test_what_is_kept_was_compared_and_ends_with_its_status(
    script: Any, rehearsed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = SimpleNamespace(is_up=lambda: True, restart=print, ports={"webserver": 1}, runs=lambda **_: [])

    def interrupted() -> None:
        rehearsed.append("kept")
        raise KeyboardInterrupt

    monkeypatch.setattr(script.signal, "pause", interrupted)
    assert script.rehearse(made, tmp_path, ["x"], keep=True) == 0
    assert rehearsed == ["compared", "kept"]


@pytest.mark.parametrize("number", ["0", "-3"])
def test_a_number_of_subjects_below_one_is_refused(
    script: Any, number: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        script.main([str(tmp_path / "new"), "--partitions", number])
    assert ended.value.code == 2 and "--partitions must be at least 1" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
