"""Sensors: differences of digests become runs of exactly the years and subjects that changed.

Why no declarative automation: `eager()` over a mapping to all partitions asks for all 148 subjects when one year is new
(measured; docs/architecture.md, "Incremental life"). A comparison of digests asks for what changed and nothing else.
What counts as a change is decided by `opentwbench.exam.digests.compare`; a sensor keeps the last digests as its cursor.
"""

import json
from collections.abc import Mapping

import dagster as dg

from opentwbench.exam.digests import compare, merge
from opentwbench.exam.items import NO_SUBJECT
from orchestration.jobs import papers_job, subject_job
from resources.exam_products import year_records
from resources.partitions import exam_years
from resources.settings import StoreResource
from resources.store import Store

INTERVAL_SECONDS = 300


def index_digests(store: Store) -> dict[str, str]:
    """Year (as text) -> digest of its rows in the index last seen; empty before the first index."""
    record = store.read_json_or_none(store.index_record())
    return {} if record is None else dict(record["years"])


def paper_digests(store: Store) -> dict[str, str]:
    """Slug -> digest of the papers that subject has in all recorded years. Papers of no subject have no partition."""
    digests = merge(record["subjects"] for record in year_records(store))
    return {slug: found for slug, found in digests.items() if slug != NO_SUBJECT}


def changes_since(cursor: str | None, now: Mapping[str, str]) -> tuple[str, ...]:
    """Keys added, changed or vanished since the digests in a sensor's cursor; every key when there is none yet.

    The cursor alone keeps a change from being asked for twice. A run key would swallow a change that goes back to an
    earlier state, because Dagster never repeats a run key.
    """
    return compare(json.loads(cursor) if cursor else {}, now).differing


@dg.sensor(
    job=papers_job,
    minimum_interval_seconds=INTERVAL_SECONDS,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="Index rows of a year changed: retrieve and parse that year. A new year becomes a partition.",
)
def changed_years(context: dg.SensorEvaluationContext, store: StoreResource) -> dg.SensorResult | dg.SkipReason:
    """One run for every sitting year whose index rows changed."""
    now = index_digests(store.open())
    touched = changes_since(context.cursor, now)
    if not touched:
        return dg.SkipReason("no index row changed")
    return dg.SensorResult(
        run_requests=[dg.RunRequest(partition_key=year) for year in touched],
        dynamic_partitions_requests=[exam_years.build_add_request(list(touched))],
        cursor=json.dumps(now),
    )


@dg.sensor(
    job=subject_job,
    minimum_interval_seconds=INTERVAL_SECONDS,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="Papers of a subject changed: build, check and publish that subject.",
)
def changed_subjects(context: dg.SensorEvaluationContext, store: StoreResource) -> dg.SensorResult | dg.SkipReason:
    """One run for every subject whose papers changed or vanished."""
    now = paper_digests(store.open())
    touched = changes_since(context.cursor, now)
    if not touched:
        return dg.SkipReason("no subject's papers changed")
    return dg.SensorResult(
        run_requests=[dg.RunRequest(partition_key=slug) for slug in touched],
        cursor=json.dumps(now),
    )


SENSORS = (changed_years, changed_subjects)
