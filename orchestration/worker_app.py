"""What a Celery worker loads: `celery -A orchestration.worker_app worker -Q platform --disable-prefetch`.

The broker is named by OTB_BROKER, the instance by DAGSTER_HOME, the store by the same variables as for a code location.
"""

from __future__ import annotations

import multiprocessing
import os

from celery.signals import worker_process_init
from dagster_celery.make_app import make_app
from dagster_celery.tasks import create_execute_job_task

from orchestration.workers import BROKER_VARIABLE, settings


@worker_process_init.connect
def _may_have_children(**_: object) -> None:
    """Celery marks its children as daemons, which may start no process; parsing starts some, which end with them."""
    multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]


_broker = os.environ[BROKER_VARIABLE]

app = make_app({"broker": _broker, "backend": _broker, "config_source": settings()})

execute_job = create_execute_job_task(app)
