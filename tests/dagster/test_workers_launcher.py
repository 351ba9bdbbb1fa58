"""The launcher of Celery workers: which runs it calls lost, and where it sends a run. No broker is needed."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import billiard
import dagster as dg
import pytest
import yaml
from dagster._config import validate_config
from dagster._core.launcher.base import WorkerStatus

from orchestration.workers import SILENCE_SECONDS, WorkersLauncher, queue_of, settings

ROOT = Path(__file__).resolve().parents[2]
RUN = "3f2b1c00-0000-4000-8000-000000000001"


class FakeCelery:
    """What the launcher asks: the state of a task, and which worker executes what."""

    def __init__(self, state: str, hostname: str, active: dict[str, list[str]] | None) -> None:
        self.state, self.hostname, self.active = state, hostname, active
        self.control = SimpleNamespace(inspect=lambda timeout: SimpleNamespace(active=self._answers))

    def AsyncResult(self, task_id: str) -> Any:  # noqa: N802 - Celery's name
        assert task_id == RUN
        info = {"pid": 1, "hostname": self.hostname} if self.state == "STARTED" else None
        return SimpleNamespace(state=self.state, info=info)

    def _answers(self) -> dict[str, list[dict[str, str]]] | None:
        if self.active is None:  # as Celery answers when nobody does
            return None
        return {worker: [{"id": task} for task in tasks] for worker, tasks in self.active.items()}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    now = SimpleNamespace(seconds=1000.0)
    monkeypatch.setattr("orchestration.workers.time.monotonic", lambda: now.seconds)
    return now


def launcher(celery: FakeCelery) -> WorkersLauncher:
    made = WorkersLauncher("memory://")
    made.celery = celery  # type: ignore[assignment]
    return made


def run(**tags: str) -> dg.DagsterRun:
    return dg.DagsterRun(job_name="dataset_job", run_id=RUN, tags=tags)


def status(celery: FakeCelery) -> WorkerStatus:
    return launcher(celery).check_run_worker_health(run()).status


def test_a_run_that_a_worker_executes_lives() -> None:
    assert status(FakeCelery("STARTED", "one@a", {"one@a": [RUN], "two@b": []})) == WorkerStatus.RUNNING


@pytest.mark.parametrize("state", ["PENDING", "STARTED", "RETRY"])
def test_what_a_worker_says_counts_more_than_the_brokers_memory(state: str) -> None:
    # A broker that was started anew has forgotten every task; the workers have not.
    assert status(FakeCelery(state, "other@c", {"one@a": [RUN]})) == WorkerStatus.RUNNING


def test_a_run_that_its_worker_no_longer_executes_is_lost_at_once() -> None:
    assert status(FakeCelery("STARTED", "one@a", {"one@a": ["another"], "two@b": []})) == WorkerStatus.FAILED


@pytest.mark.parametrize("state", ["SUCCESS", "FAILURE", "REVOKED"])
def test_a_task_that_ended_without_its_run_is_a_lost_run(state: str) -> None:
    assert status(FakeCelery(state, "", {"one@a": []})) == WorkerStatus.FAILED


@pytest.mark.parametrize("active", [None, {}, {"two@b": []}])
def test_a_silent_worker_is_asked_again_and_then_given_up(active: dict[str, list[str]] | None, clock: Any) -> None:
    made = launcher(FakeCelery("STARTED", "one@a", active))
    assert made.check_run_worker_health(run()).status == WorkerStatus.RUNNING
    clock.seconds += SILENCE_SECONDS - 1
    assert made.check_run_worker_health(run()).status == WorkerStatus.RUNNING
    clock.seconds += 1
    lost = made.check_run_worker_health(run())
    assert lost.status == WorkerStatus.FAILED
    assert "one@a" in str(lost.msg)


def test_a_worker_that_answers_again_was_never_silent(clock: Any) -> None:
    celery = FakeCelery("STARTED", "one@a", {})
    made = launcher(celery)
    made.check_run_worker_health(run())
    clock.seconds += SILENCE_SECONDS - 1
    celery.active = {"one@a": [RUN]}
    assert made.check_run_worker_health(run()).status == WorkerStatus.RUNNING
    celery.active = {}
    clock.seconds += SILENCE_SECONDS - 1
    assert made.check_run_worker_health(run()).status == WorkerStatus.RUNNING


def test_a_lost_run_is_started_again_as_a_new_run_and_never_resumed() -> None:
    made = launcher(FakeCelery("STARTED", "", None))
    assert made.supports_check_run_worker_health
    assert not made.supports_resume_run


def test_a_queue_is_a_tag_or_the_code_location() -> None:
    assert queue_of(run()) == "platform"
    assert queue_of(run(**{"dagster-celery/queue": "large"})) == "large"


def test_the_task_is_named_by_the_run_before_it_is_sent() -> None:
    sent: list[dict[str, Any]] = []
    with dg.DagsterInstance.ephemeral() as instance:
        stored = instance.add_run(run())
        made = launcher(FakeCelery("PENDING", "", None))
        made.register_instance(instance)

        def send(**options: Any) -> None:
            tags = instance.get_run_by_id(RUN)
            assert tags is not None and tags.tags["dagster-celery/task_id"] == RUN
            sent.append(options)

        made._launch_celery_task_run(stored, SimpleNamespace(apply_async=send), "execute_job")
    assert sent == [{"task_id": RUN, "queue": "platform", "routing_key": "platform"}]


def test_no_worker_holds_a_task_that_it_has_not_begun() -> None:
    # What a killed worker holds comes back after an hour; the settings and every command that starts one say so.
    assert settings()["worker_disable_prefetch"]
    for name in ("deploy/stack_workers.py", "docs/deployment.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert text.count("--disable-prefetch") >= 1, name


def _parse_in_a_child(as_own: bool, out: Path) -> None:
    from opentwbench.exam.workers import run_isolated
    from orchestration import worker_app

    if as_own:
        worker_app._as_a_process_of_its_own()
    try:
        found = run_isolated(len, ["abc", "de"], lambda task, lost: -1, processes=1, seconds=300)
        out.write_text(repr(list(found)))
    except AssertionError as error:
        out.write_text(str(error))


def test_a_worker_without_a_broker_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTB_BROKER", raising=False)
    monkeypatch.delitem(sys.modules, "orchestration.worker_app", raising=False)
    with pytest.raises(SystemExit, match="OTB_BROKER is not set"):
        importlib.import_module("orchestration.worker_app")


@pytest.mark.parametrize(("as_own", "said"), [(True, "[3, 2]"), (False, "daemonic processes are not allowed")])
def test_a_run_on_a_worker_may_parse_in_processes(
    as_own: bool, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTB_BROKER", "memory://")
    import orchestration.worker_app  # noqa: F401 - loaded before its children are, as Celery loads it

    child = billiard.Process(target=_parse_in_a_child, args=(as_own, tmp_path / "said"), daemon=True)
    child.start()
    child.join(600)
    assert said in (tmp_path / "said").read_text()


def test_the_blocks_of_workers_yaml_are_an_instances() -> None:
    from dagster._core.instance.config import dagster_instance_config_schema

    blocks = yaml.safe_load((ROOT / "deploy" / "workers.yaml").read_text(encoding="utf-8"))
    base = yaml.safe_load((ROOT / "deploy" / "dagster.yaml").read_text(encoding="utf-8"))
    assert blocks.keys() <= base.keys()
    assert blocks["concurrency"]["pools"] == base["concurrency"]["pools"]
    printed = subprocess.run(
        [sys.executable, str(ROOT / "deploy" / "instance.py")], capture_output=True, text=True, check=True
    ).stdout
    made = yaml.safe_load(printed)
    assert made == {**base, **blocks}
    checked = validate_config(dagster_instance_config_schema(), made)
    assert checked.success, checked.errors
    own = validate_config(WorkersLauncher.config_type(), blocks["run_launcher"]["config"])
    assert own.success, own.errors
    assert not validate_config(WorkersLauncher.config_type(), {"broker": "x", "silence": 1}).success
