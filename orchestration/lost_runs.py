"""Runs that ended from outside and that nobody has started again: started again, with their partition and tags.

What belongs here: which runs those are. What does not: noticing that a run's process is gone (launcher, workers) and
Dagster's own retries, which come first. They are not always enough (measured, deploy/stack.py): the retry daemon passes
over a run whose failure it reads before the run's state is written, never starts one again that fails while its code
location is away, and none of a backfill that has ended meanwhile. A step that failed would fail again: a person looks.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import dagster as dg
from dagster._core.events import RunFailureReason
from dagster._core.storage.tags import (
    ASSET_PARTITION_RANGE_END_TAG,
    ASSET_PARTITION_RANGE_START_TAG,
    BACKFILL_ID_TAG,
    PARENT_RUN_ID_TAG,
    PARTITION_NAME_TAG,
    PARTITION_SET_TAG,
    PRIORITY_TAG,
    ROOT_RUN_ID_TAG,
    RUN_FAILURE_REASON_TAG,
)

if TYPE_CHECKING:
    from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

INTERVAL_SECONDS = 60

WAIT = timedelta(minutes=2)
"""Dagster's retry daemon looks every five seconds; what it has not started by then it will not."""

LOOK_BACK = timedelta(days=1)
"""A run that was lost longer ago than this is a person's: what it was to make may have been made otherwise."""

MOST = 2
"""Times that one run is started again from here, as often as Dagster's own retries (deploy/dagster.yaml)."""

MOST_AT_ONCE = 200
"""Failed runs looked at in one evaluation; the newest first."""

COUNT_TAG = "opentwbench/started_again"
"""How often a run's work was started again from here. Dagster's retries carry it on."""

WHERE = (PARTITION_NAME_TAG, ASSET_PARTITION_RANGE_START_TAG, ASSET_PARTITION_RANGE_END_TAG)
"""What says which partitions a run makes."""

_KEPT = frozenset((*WHERE, PARTITION_SET_TAG, BACKFILL_ID_TAG, PRIORITY_TAG))


def lost(instance: dg.DagsterInstance, jobs: Collection[str], now: datetime) -> list[dg.DagsterRun]:
    """Failed runs of these jobs that no step failed, that have no successor, and whose work no later run does."""
    failed = dg.RunsFilter(
        statuses=[dg.DagsterRunStatus.FAILURE], updated_after=now - LOOK_BACK, updated_before=now - WAIT
    )
    found = instance.get_run_records(failed, limit=MOST_AT_ONCE)
    candidates = (record for record in found if record.dagster_run.job_name in jobs and _may_start(record.dagster_run))
    return [record.dagster_run for record in candidates if not _is_done(instance, record)]


def _may_start(run: dg.DagsterRun) -> bool:
    by_itself = run.tags.get(RUN_FAILURE_REASON_TAG) == RunFailureReason.STEP_FAILURE.value
    return not by_itself and _count(run) < MOST


def _count(run: dg.DagsterRun) -> int:
    said = run.tags.get(COUNT_TAG, "0")
    return int(said) if said.isascii() and said.isdigit() else MOST


def _is_done(instance: dg.DagsterInstance, record: dg.RunRecord) -> bool:
    """Whether the run has a successor of any kind, or its job was begun anew for the same partitions."""
    run = record.dagster_run
    if instance.get_run_records(dg.RunsFilter(tags={PARENT_RUN_ID_TAG: run.run_id}), limit=1):
        return True
    same = {name: run.tags[name] for name in WHERE if name in run.tags}
    later = dg.RunsFilter(job_name=run.job_name, tags=same, created_after=record.create_timestamp)
    ended_badly = (dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED)
    others = (each.dagster_run for each in instance.get_run_records(later, limit=MOST_AT_ONCE))
    return any(other.run_id != run.run_id and other.status not in ended_badly for other in others)


def again(run: dg.DagsterRun) -> dg.RunRequest:
    """The same work once more. Its key is the run's, so that a run is started again from here once."""
    own = {name: value for name, value in run.tags.items() if name in _KEPT or not name.startswith(("dagster/", "."))}
    root = run.tags.get(ROOT_RUN_ID_TAG, run.run_id)
    return dg.RunRequest(
        run_key=f"lost {run.run_id}",
        job_name=run.job_name,
        run_config=run.run_config,
        tags={**own, PARENT_RUN_ID_TAG: run.run_id, ROOT_RUN_ID_TAG: root, COUNT_TAG: str(_count(run) + 1)},
        asset_selection=list(run.asset_selection) if run.asset_selection is not None else None,
        asset_check_keys=list(run.asset_check_selection) if run.asset_check_selection is not None else None,
    )


def lost_runs(jobs: Sequence[UnresolvedAssetJobDefinition], *, running: bool) -> dg.SensorDefinition:
    """The sensor over the jobs of one code location; off until a person turns it on unless `running`.

    Runs that were started without a job ("Materialize" on an asset's page) are in none: alarm_run_failed names them.
    """
    names = frozenset(job.name for job in jobs)

    @dg.sensor(
        name="lost_runs",
        jobs=list(jobs),
        minimum_interval_seconds=INTERVAL_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING if running else dg.DefaultSensorStatus.STOPPED,
        description="Runs that were ended from outside (a restart, a lost worker) and not started again: start them.",
    )
    def evaluate(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        found = lost(context.instance, names, datetime.now(UTC))
        if not found:
            return dg.SkipReason("no run was lost")
        return dg.SensorResult(run_requests=[again(run) for run in found])

    return evaluate
