"""Alarms: what people should hear of without looking. All off until a person turns them on in the UI.

What belongs here: what there is to say, once for each finding. What does not: how it is sent (`resources.alarms`).
A finding is noted in the sensor's cursor after it was sent: what reached nobody is said again at the next look, and
what was said is not repeated. (Dagster's `run_failure_sensor` counts a run as handled even when its function fails.)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import dagster as dg
from dagster._core.storage.event_log import SqlEventLogStorage

from opentwbench.exam.expectations import missing_sittings
from orchestration.schedules import TIMEZONE
from orchestration.sensors import Holdings, stale_items, stale_release, stale_subjects, stale_years
from resources import exam_products as products
from resources.alarms import Alarm, AlarmResource
from resources.models import WarehouseResource
from resources.publication import PublicationResource
from resources.settings import ListSettings, StoreResource

INTERVAL_SECONDS = 300
DAY_SECONDS = 86_400

STALE_HOURS = 24.0
"""The sensors of a stage, where they are on, need minutes; what stays stale for a day has failed or is turned off."""

MAX_EVENTS = 500
"""Check results looked at in one evaluation; the cursor goes on from there."""

BEGINNING = "beginning"
"""The cursor after a first look at an empty record, so that the first failure there ever is is told of."""

OFF = dg.SkipReason("no place for alarms is configured (OTB_ALARM_WEBHOOK, OTB_ALARM_SMTP_HOST)")

Clock = Callable[[], datetime]


def _now() -> datetime:
    return datetime.now(UTC)


def send(context: dg.SensorEvaluationContext, alarms: AlarmResource, alarm: Alarm) -> str:
    """Send and say how it went, without a secret. Raises AlarmError when it reached nobody."""
    failed = alarms.send(alarm)
    for each in failed:
        context.log.warning(f"alarm not sent everywhere: {each}")
    return f"alarm sent: {alarm.title}" + (f" ({len(failed)} places failed)" if failed else "")


@dg.sensor(
    name="alarm_run_failed",
    minimum_interval_seconds=INTERVAL_SECONDS,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="Runs that failed since the last look, of any code location: job, partition, first line of the error.",
)
def run_failed(context: dg.SensorEvaluationContext, alarms: AlarmResource) -> dg.SkipReason:
    """One alarm for all runs that failed since the cursor. The first look only notes where the record ends."""
    if not alarms.is_on:
        return OFF
    failure = dg.DagsterEventType.RUN_FAILURE
    if not context.cursor:
        newest = context.instance.fetch_run_status_changes(failure, limit=1)
        context.update_cursor(newest.cursor if newest.records else BEGINNING)
        return dg.SkipReason("failures from now on are looked at")
    after = None if context.cursor == BEGINNING else context.cursor
    found = context.instance.fetch_run_status_changes(failure, limit=MAX_EVENTS, cursor=after, ascending=True)
    lines = tuple(_failure_line(context.instance, record) for record in found.records)
    words = send(context, alarms, Alarm("run_failed", f"{len(lines)} runs failed", lines)) if lines else "no run failed"
    if found.records:
        context.update_cursor(found.cursor)
    return dg.SkipReason(words)


def _failure_line(instance: dg.DagsterInstance, record: dg.EventLogRecord) -> str:
    entry = record.event_log_entry
    run = instance.get_run_by_id(entry.run_id)
    partition = run.tags.get("dagster/partition", "") if run else ""
    where = f" of {partition}" if partition else ""
    message = (entry.dagster_event.message if entry.dagster_event else "") or ""
    return f"{run.job_name if run else 'a run'}{where} ({entry.run_id[:8]}): {message.strip().partition(chr(10))[0]}"


@dg.sensor(
    name="alarm_check_failed",
    minimum_interval_seconds=INTERVAL_SECONDS,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="Checks that did not pass since the last look, blocking and warning ones, in one message.",
)
def check_failed(context: dg.SensorEvaluationContext, alarms: AlarmResource) -> dg.SkipReason:
    """One alarm for all checks that failed since the cursor. The first look only notes where the record ends."""
    if not alarms.is_on:
        return OFF
    if context.cursor is None:
        newest = _check_events(context.instance, after=None, limit=1)
        context.update_cursor(str(newest[0].storage_id) if newest else "0")
        return dg.SkipReason("checks from now on are looked at")
    events = _check_events(context.instance, after=int(context.cursor), limit=MAX_EVENTS)
    failed = [line for event in events for line in _failed_line(event)]
    words = "no check failed"
    if failed:
        words = send(context, alarms, Alarm("check_failed", f"{len(failed)} checks did not pass", tuple(failed)))
    if events:
        context.update_cursor(str(max(event.storage_id for event in events)))
    return dg.SkipReason(words)


def _check_events(instance: dg.DagsterInstance, after: int | None, limit: int) -> list[dg.EventLogRecord]:
    asked = dg.EventRecordsFilter(event_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION, after_cursor=after)
    storage, ascending = instance.event_log_storage, after is not None
    if isinstance(storage, SqlEventLogStorage) and storage.is_run_sharded:
        # SQLite, as `make ui` has it: its own method looks run by run and refuses a cursor. The results of checks are
        # mirrored in its index, with ids over all runs, as those of assets are, which Dagster asks for in this way.
        return list(SqlEventLogStorage.get_event_records(storage, asked, limit, ascending))
    return list(instance.get_event_records(asked, limit=limit, ascending=ascending))


def _failed_line(record: dg.EventLogRecord) -> Iterable[str]:
    event = record.event_log_entry.dagster_event
    result = event.asset_check_evaluation_data if event else None
    if result is None or result.passed:
        return
    detail = result.metadata.get("detail")
    where = f" of {result.partition}" if getattr(result, "partition", None) else ""
    words = f": {detail.value}" if detail and isinstance(detail.value, str) and detail.value else ""
    grade = "blocking" if result.blocking else "warning" if result.severity == dg.AssetCheckSeverity.WARN else "error"
    yield f"{result.asset_key.to_user_string()}: {result.check_name}{where} ({grade}){words}"


def overdue(
    cursor: str | None, stale: Mapping[str, str], now: float, patience: float
) -> tuple[tuple[str, ...], dict[str, dict[str, object]]]:
    """(names to alarm now, the next state). `stale` maps a name to words; a name is alarmed once, when it has been
    stale for `patience` seconds without a break. `cursor` is the state as JSON, `now` seconds of any clock."""
    before: dict[str, dict[str, object]] = json.loads(cursor) if cursor else {}
    state: dict[str, dict[str, object]] = {}
    due = []
    for name in sorted(stale):
        known = before.get(name, {"since": now, "said": False})
        late = now - float(str(known["since"])) >= patience
        if late and not known["said"]:
            due.append(name)
        state[name] = {"since": known["since"], "said": bool(known["said"]) or late}
    return tuple(due), state


def stale_too_long(clock: Clock = _now) -> dg.SensorDefinition:
    """The sensor for products that stay stale; `clock` gives the time."""

    @dg.sensor(
        name="alarm_stale",
        minimum_interval_seconds=INTERVAL_SECONDS,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description=f"The mart or a stage of the exam track has been stale for more than {STALE_HOURS:g} hours.",
    )
    def evaluate(
        context: dg.SensorEvaluationContext,
        alarms: AlarmResource,
        store: StoreResource,
        target: PublicationResource,
        lists: ListSettings,
        warehouse: WarehouseResource,
    ) -> dg.SkipReason:
        if not alarms.is_on:
            return OFF
        place = store.open()
        stale = _stale_stages(Holdings(place, target.open(place), lists.lists(), lists.withdrawals()))
        house = warehouse.open(place)
        if house.raw_digests() and not (standing := house.standing()).is_current:
            stale["mart"] = standing.words()
        due, state = overdue(context.cursor, stale, clock().timestamp(), STALE_HOURS * 3600)
        words = f"{len(stale)} products are stale" if stale else "nothing is stale"
        if due:
            title = f"{', '.join(due)} stale for more than {STALE_HOURS:g} hours"
            words = send(context, alarms, Alarm("stale", title, tuple(f"{name}: {stale[name]}" for name in due)))
        context.update_cursor(json.dumps(state))
        return dg.SkipReason(words)

    return evaluate


def _stale_stages(held: Holdings) -> dict[str, str]:
    """Each stage that has something to do, with how much; a later stage is not asked while an earlier one is stale."""
    stages = {"years": stale_years, "items": stale_items, "subjects": stale_subjects, "release": stale_release}
    found = {}
    for name, stage in stages.items():
        todo = stage(held)
        if todo:
            found[name] = f"{len(todo)} to be made again: {', '.join(sorted(todo)[:10])}"
    return found


def missing(clock: Clock = _now) -> dg.SensorDefinition:
    """The sensor for sittings that do not appear; `clock` gives the time."""

    @dg.sensor(
        name="alarm_missing_sitting",
        minimum_interval_seconds=DAY_SECONDS,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="A year, or a sitting that was held in each of three years, is not in the index when it should be.",
    )
    def evaluate(context: dg.SensorEvaluationContext, alarms: AlarmResource, store: StoreResource) -> dg.SkipReason:
        if not alarms.is_on:
            return OFF
        place = store.open()
        if place.read_json_or_none(place.index_record()) is None:
            return dg.SkipReason("no index was read yet")
        today = clock().astimezone(ZoneInfo(TIMEZONE)).date()
        found = {each.key: each.words() for each in missing_sittings(products.stored_index(place).rows, today)}
        said = set(json.loads(context.cursor)) if context.cursor else set()
        new = sorted(found.keys() - said)
        words = f"{len(found)} sittings are missing, all of them said" if found else "every sitting is there"
        if new:
            title = f"{len(new)} expected sittings are not in the ministry's index"
            words = send(context, alarms, Alarm("missing_sitting", title, tuple(found[key] for key in new)))
        context.update_cursor(json.dumps(sorted(found)))
        return dg.SkipReason(words)

    return evaluate


SENSORS = (run_failed, check_failed, stale_too_long(), missing())
