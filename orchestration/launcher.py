"""Runs as processes of their code location, with somebody looking whether they still live.

What belongs here: the answer to "is that run's process there". What does not: what follows from it (Dagster's run
monitoring marks the run as failed, and run retries start it again).
Dagster's default launcher cannot be asked, so that a run whose code location was killed stays "started" for ever
(measured: deploy/stack.py). The code location knows which runs it executes; one that cannot be reached is on its way up
and is asked again.
"""

from __future__ import annotations

from typing import Any

from dagster._core.launcher.base import CheckRunHealthResult, WorkerStatus
from dagster._core.launcher.default_run_launcher import DefaultRunLauncher
from dagster._core.storage.dagster_run import DagsterRun

SECONDS = 10
"""Longest time to ask a code location."""


class WatchedRunLauncher(DefaultRunLauncher):
    """The default launcher, whose runs can be monitored."""

    @property
    def supports_check_run_worker_health(self) -> bool:
        """Yes: that is what this class adds."""
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        """FAILED when the code location that started the run is there and does not execute it."""
        from dagster._core.errors import DagsterUserCodeUnreachableError

        client = self._get_grpc_client_for_termination(run.run_id)
        if client is None:
            return CheckRunHealthResult(WorkerStatus.RUNNING, "the run has ended or was not handed over yet")
        try:
            executing = self._is_executing(client, run.run_id)
        except DagsterUserCodeUnreachableError:
            return CheckRunHealthResult(WorkerStatus.RUNNING, "its code location cannot be reached: asked again")
        if executing:
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(WorkerStatus.FAILED, "its code location no longer executes it")

    @staticmethod
    def _is_executing(client: Any, run_id: str) -> bool:
        from dagster._grpc.types import CanCancelExecutionRequest, CanCancelExecutionResult
        from dagster._serdes import deserialize_value

        answer = client.can_cancel_execution(CanCancelExecutionRequest(run_id=run_id), timeout=SECONDS)
        return bool(deserialize_value(answer, CanCancelExecutionResult).can_cancel)
