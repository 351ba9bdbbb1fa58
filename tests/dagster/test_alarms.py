"""Alarm sensors say each finding once, keep what reached nobody, and do nothing until a place is configured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from support.exam_store import LIBRARY

from orchestration import alarm_sensors
from orchestration.alarm_sensors import SENSORS, STALE_HOURS, missing, overdue, stale_too_long
from resources.alarms import Alarm, AlarmError, AlarmResource
from resources.models import WarehouseResource
from resources.publication import PublicationResource
from resources.settings import ListSettings, StoreResource
from resources.store import Store

START = datetime(2026, 11, 30, tzinfo=UTC)


class Told(AlarmResource):
    """Keeps alarms instead of sending them; fails while `broken` is set."""

    @property
    def is_on(self) -> bool:
        return True

    def send(self, alarm: Alarm) -> tuple[str, ...]:
        if OUTBOX["broken"]:
            raise AlarmError("nobody")
        OUTBOX["alarms"].append(alarm)
        return ()


OUTBOX: dict[str, Any] = {}


@pytest.fixture(autouse=True)
def outbox() -> Iterator[dict[str, Any]]:
    OUTBOX.update(alarms=[], broken=False)
    yield OUTBOX
    OUTBOX.clear()


def look(
    sensor: dg.SensorDefinition, instance: dg.DagsterInstance, cursor: str | None = None, store: str = "", **more: Any
) -> str | None:
    """One evaluation; the cursor that it leaves."""
    resources = {
        "alarms": Told(),
        "store": StoreResource(url=store),
        "target": PublicationResource(),
        "lists": ListSettings(),
        "warehouse": WarehouseResource(),
        **more,
    }
    with dg.build_sensor_context(instance, cursor=cursor, resources=resources) as context:
        assert isinstance(sensor(context), dg.SkipReason)
        return context.cursor


@dg.asset
def made() -> None:
    """An asset with a check."""


def check(passed: bool, severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=made, name="row_contract", blocking=True)
    def judged() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=passed, severity=severity, metadata={"detail": "3 rows broke it"})

    return judged


@dg.asset
def broken() -> None:
    """An asset that fails."""
    raise RuntimeError("planted")


@pytest.mark.parametrize("sensor", SENSORS, ids=lambda each: each.name)
def test_off_by_default_and_silent_without_a_place(sensor: dg.SensorDefinition, tmp_path: Path) -> None:
    assert sensor.default_status == dg.DefaultSensorStatus.STOPPED
    with dg.DagsterInstance.ephemeral() as instance:
        assert look(sensor, instance, store=str(tmp_path / "none"), alarms=AlarmResource()) is None
    assert not (tmp_path / "none").exists()


@pytest.fixture(params=["memory", "sqlite"])
def record(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """An instance; in `make ui` its events are in SQLite, a file a run, where a cursor over all runs is refused."""
    kept = dg.DagsterInstance.local_temp(str(tmp_path)) if request.param == "sqlite" else dg.DagsterInstance.ephemeral()
    with kept as instance:
        yield instance


def test_failed_checks_are_said_once_from_the_first_look_on(outbox: dict[str, Any], record: dg.DagsterInstance) -> None:
    sensor = alarm_sensors.check_failed
    instance = record
    dg.materialize([made, check(False)], instance=instance, raise_on_error=False)
    cursor = look(sensor, instance)
    assert outbox["alarms"] == []  # what failed before anybody asked for alarms is no news
    dg.materialize([made, check(True)], instance=instance)
    dg.materialize([made, check(False)], instance=instance, raise_on_error=False)
    outbox["broken"] = True
    with pytest.raises(AlarmError, match="nobody"):
        look(sensor, instance, cursor)
    outbox["broken"] = False
    cursor = look(sensor, instance, cursor)
    [alarm] = outbox["alarms"]
    assert alarm.title == "1 checks did not pass"
    assert alarm.lines == ("made: row_contract (blocking): 3 rows broke it",)
    assert look(sensor, instance, cursor) == cursor
    assert len(outbox["alarms"]) == 1


def test_the_first_failure_of_a_new_record_is_said(outbox: dict[str, Any], record: dg.DagsterInstance) -> None:
    cursor = look(alarm_sensors.run_failed, record)
    cursor = look(alarm_sensors.run_failed, record, cursor)
    dg.materialize([broken], instance=record, raise_on_error=False)
    cursor = look(alarm_sensors.run_failed, record, cursor)
    assert [alarm.title for alarm in outbox["alarms"]] == ["1 runs failed"]
    look(alarm_sensors.run_failed, record, cursor)
    assert len(outbox["alarms"]) == 1


def test_failed_runs_are_said_once(outbox: dict[str, Any]) -> None:
    sensor = alarm_sensors.run_failed
    with dg.DagsterInstance.ephemeral() as instance:
        dg.materialize([broken], instance=instance, raise_on_error=False)
        cursor = look(sensor, instance)
        dg.materialize([made], instance=instance)
        failed = [dg.materialize([broken], instance=instance, raise_on_error=False) for _ in range(2)]
        cursor = look(sensor, instance, cursor)
        [alarm] = outbox["alarms"]
        assert alarm.title == "2 runs failed"
        assert [result.run_id[:8] in line for result, line in zip(failed, alarm.lines, strict=True)] == [True, True]
        look(sensor, instance, cursor)
        assert len(outbox["alarms"]) == 1


def test_overdue_names_each_once_and_again_after_a_recovery() -> None:
    due, state = overdue(None, {"mart": "x"}, 0, 100)
    assert due == ()
    assert overdue(json.dumps(state), {"mart": "x"}, 99, 100)[0] == ()
    due, state = overdue(json.dumps(state), {"mart": "x"}, 100, 100)
    assert due == ("mart",)
    assert overdue(json.dumps(state), {"mart": "x"}, 500, 100)[0] == ()
    _, state = overdue(json.dumps(state), {}, 600, 100)
    assert state == {}
    _, state = overdue(json.dumps(state), {"mart": "x"}, 700, 100)
    assert overdue(json.dumps(state), {"mart": "x"}, 800, 100)[0] == ("mart",)


def test_what_stays_stale_for_a_day_is_said(store: Store, outbox: dict[str, Any]) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        cursor = look(stale_too_long(lambda: START), instance, store=store.url)
        assert cursor == "{}", "what a build made is not stale"
        store.remove(store.verdict(LIBRARY, "row_contract"))
        cursor = look(stale_too_long(lambda: START), instance, cursor, store=store.url)
        later = START + timedelta(hours=STALE_HOURS)
        cursor = look(stale_too_long(lambda: later), instance, cursor, store=store.url)
        look(stale_too_long(lambda: later), instance, cursor, store=store.url)
    [alarm] = outbox["alarms"]
    assert "subjects" in alarm.title
    assert any(LIBRARY in line for line in alarm.lines)


def test_missing_sittings_are_said_once(store: Store, outbox: dict[str, Any]) -> None:
    """The sample index ends with the year 110 (2021): 111 is missed from July 2022 on."""
    before, after = datetime(2022, 6, 30, 12, tzinfo=UTC), datetime(2022, 7, 1, 12, tzinfo=UTC)
    with dg.DagsterInstance.ephemeral() as instance:
        cursor = look(missing(lambda: before), instance, store=store.url)
        assert outbox["alarms"] == []
        cursor = look(missing(lambda: after), instance, cursor, store=store.url)
        look(missing(lambda: after), instance, cursor, store=store.url)
    [alarm] = outbox["alarms"]
    assert alarm.lines == ("111 (2022): no paper at all is in the index",)
