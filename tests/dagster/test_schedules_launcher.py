"""A run whose process is gone is found, and one that lives or cannot be asked about is left alone."""

from __future__ import annotations

from typing import Any

import dagster as dg
import pytest
from dagster._core.errors import DagsterUserCodeUnreachableError
from dagster._core.launcher.base import WorkerStatus
from dagster._core.storage.dagster_run import DagsterRun
from dagster._grpc.types import CanCancelExecutionResult
from dagster._serdes import serialize_value

from orchestration.launcher import WatchedRunLauncher


class Location:
    """A code location that executes some runs, or none that can be reached."""

    def __init__(self, *runs: str, reachable: bool = True) -> None:
        self.runs, self.reachable = runs, reachable

    def can_cancel_execution(self, request: Any, timeout: int) -> str:
        assert timeout > 0
        if not self.reachable:
            raise DagsterUserCodeUnreachableError("planted")
        return serialize_value(CanCancelExecutionResult(can_cancel=request.run_id in self.runs))


@pytest.mark.parametrize(
    ("location", "status"),
    [
        (Location("run-1", "run-2"), WorkerStatus.RUNNING),
        (Location("run-2"), WorkerStatus.FAILED),
        (Location(), WorkerStatus.FAILED),
        (Location("run-1", reachable=False), WorkerStatus.RUNNING),
        (None, WorkerStatus.RUNNING),
    ],
)
def test_only_a_run_that_its_location_does_not_know_has_failed(
    location: Location | None, status: WorkerStatus, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = WatchedRunLauncher()
    monkeypatch.setattr(launcher, "_get_grpc_client_for_termination", lambda run_id: location)
    assert launcher.supports_check_run_worker_health
    assert launcher.check_run_worker_health(DagsterRun("job", run_id="run-1")).status == status


def test_the_default_launcher_cannot_be_asked() -> None:
    """When it can, this class has nothing left to add."""
    from dagster._core.launcher.default_run_launcher import DefaultRunLauncher

    assert not DefaultRunLauncher().supports_check_run_worker_health
    assert dg.__version__.startswith("1.13.")
