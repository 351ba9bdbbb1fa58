"""What a Celery worker loads: `celery -A orchestration.worker_app worker -Q platform --disable-prefetch`.

The broker is named by OTB_BROKER, the instance by DAGSTER_HOME, the store by the same variables as for a code location.
"""

from __future__ import annotations

import multiprocessing.process
import os

from celery.signals import worker_process_init
from dagster_celery.make_app import make_app
from dagster_celery.tasks import create_execute_job_task

from orchestration.workers import BROKER_VARIABLE, settings

_main = multiprocessing.process.current_process()


@worker_process_init.connect
def _as_a_process_of_its_own(**_: object) -> None:
    """Let a child of Celery start processes, as parsing does; they end with it.

    Celery's billiard makes its own process object the current one of multiprocessing: marked as a daemon, which may
    have no children, and with a key that multiprocessing cannot hand to them (both measured).
    """
    multiprocessing.process._current_process = _main  # type: ignore[attr-defined]


_broker = os.environ.get(BROKER_VARIABLE, "")
if not _broker:  # an exception would be shown as a traceback by Celery's command
    raise SystemExit(f"{BROKER_VARIABLE} is not set: redis://:PASSWORD@HOST:PORT/0 (docs/deployment.md, Workers)")

app = make_app({"broker": _broker, "backend": _broker, "config_source": settings()})

execute_job = create_execute_job_task(app)
