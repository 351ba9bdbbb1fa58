"""Runs on Celery workers: the launcher that hands a run over, and what launcher and workers agree on.

What belongs here: queues, settings of the broker, and the answer to "does a worker still execute that run". What does
not: what follows from it (run monitoring marks a lost run as failed, run retries start it again as a new run, so that
the record says so). A run is one task, whose id is the run's: steps hand over files and share a process, and a worker's
child is warm after its first run. The queue is the name of the code location, so that a worker takes the runs that its
machine can do (the mart's need the disk with the warehouse).
Source: dagster_celery.launcher (0.29). Its own health check believes a task that is "started" for ever when its worker
was killed (measured: deploy/stack_workers.py), so here the workers themselves are asked.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from dagster import DagsterRun, Field, StringSource
from dagster._core.events import EngineEventData
from dagster._core.launcher.base import CheckRunHealthResult, WorkerStatus
from dagster._serdes import ConfigurableClassData
from dagster_celery.config import TASK_EXECUTE_JOB_NAME
from dagster_celery.launcher import CeleryRunLauncher
from dagster_celery.tags import DAGSTER_CELERY_QUEUE_TAG, DAGSTER_CELERY_TASK_ID_TAG

BROKER_VARIABLE = "OTB_BROKER"
"""The environment variable with the broker's URL, password included."""

ANSWER_SECONDS = 5.0
"""How long workers may take to say what they execute."""

SILENCE_SECONDS = 60
"""How long the worker of a run may not answer until the run counts as lost: a machine that is busy answers late."""

WEEK = 7 * 24 * 3600


def settings() -> dict[str, Any]:
    """What launcher and workers agree on."""
    return {
        "result_expires": WEEK,  # Celery's day would make a longer run one that nobody knows of
        "worker_prefetch_multiplier": 1,
        # A task that a worker holds and has not begun is lost with it for an hour; so it holds none.
        "worker_disable_prefetch": True,
        # A worker's child is warm, and memory that a run kept goes with the child.
        "worker_max_tasks_per_child": 50,
        "broker_connection_retry_on_startup": True,
        "worker_hijack_root_logger": False,
        "broker_transport_options": {"max_retries": 3, "interval_start": 0, "interval_step": 0.2, "interval_max": 0.5},
    }


def queue_of(run: DagsterRun) -> str:
    """The queue of a run: its tag, or the name of its code location."""
    origin = run.remote_job_origin
    location = origin.repository_origin.code_location_origin.location_name if origin else "platform"
    return run.tags.get(DAGSTER_CELERY_QUEUE_TAG, location)


class WorkersLauncher(CeleryRunLauncher):
    """Hands runs to Celery workers and knows which of them are lost."""

    def __init__(
        self,
        broker: str,
        silence_seconds: int = SILENCE_SECONDS,
        inst_data: ConfigurableClassData | None = None,
    ) -> None:
        super().__init__(
            default_queue="platform", broker=broker, backend=broker, config_source=settings(), inst_data=inst_data
        )
        self._silence_seconds = silence_seconds
        self._silent_since: dict[str, float] = {}

    @classmethod
    def config_type(cls) -> Mapping[str, Any]:
        """The fields of `run_launcher.config`."""
        return {
            "broker": Field(StringSource, description="URL of the broker, which keeps the results too"),
            "silence_seconds": Field(int, is_required=False, default_value=SILENCE_SECONDS),
        }

    @property
    def supports_resume_run(self) -> bool:
        """No: a run that was lost is started again as a new run, which the record shows."""
        return False

    def _launch_celery_task_run(self, run: DagsterRun, task_signature: Any, routing_key: str) -> None:
        # The id is known before the task is sent: a daemon that is killed in between leaves no run without one.
        queue = queue_of(run)
        self._instance.add_run_tags(run.run_id, {DAGSTER_CELERY_TASK_ID_TAG: run.run_id})
        task_signature.apply_async(task_id=run.run_id, queue=queue, routing_key=queue)
        about = EngineEventData({"queue": queue, "task": routing_key})
        self._instance.report_engine_event("Handed to the broker.", run, about, cls=self.__class__)

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        """RUNNING while a worker says so; FAILED when the task ended, its worker does not execute it, or is silent."""
        # Asked first: a task that ends in between has its result when that is looked at.
        working = self._working()
        result = self.celery.AsyncResult(run.run_id)
        if result.state in ("SUCCESS", "FAILURE", "REVOKED"):
            self._silent_since.pop(run.run_id, None)
            return CheckRunHealthResult(WorkerStatus.FAILED, f"its task ended ({result.state}) and the run did not")
        if any(run.run_id in tasks for tasks in working.values()):
            self._silent_since.pop(run.run_id, None)
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        worker = result.info.get("hostname", "") if isinstance(result.info, dict) else ""
        if worker in working:
            return CheckRunHealthResult(WorkerStatus.FAILED, f"{worker} no longer executes it")
        since = self._silent_since.setdefault(run.run_id, time.monotonic())
        if time.monotonic() - since < self._silence_seconds:
            return CheckRunHealthResult(WorkerStatus.RUNNING, f"{worker or 'its worker'} does not answer: asked again")
        del self._silent_since[run.run_id]
        silent = f"{worker or 'its worker'} has not answered for {self._silence_seconds} s"
        return CheckRunHealthResult(WorkerStatus.FAILED, silent)

    def get_run_worker_debug_info(self, run: DagsterRun, include_container_logs: bool | None = True) -> str | None:
        """What the broker knows of the task."""
        return f"task {TASK_EXECUTE_JOB_NAME}[{run.run_id}]: {self.celery.AsyncResult(run.run_id).state}"

    def _working(self) -> dict[str, set[str]]:
        """Worker -> ids of the tasks that it executes now."""
        answers = self.celery.control.inspect(timeout=ANSWER_SECONDS).active() or {}
        return {worker: {str(task["id"]) for task in tasks} for worker, tasks in answers.items()}
