"""The sensors ask for what is stale and for nothing else, stage after stage, and never twice for the same."""

from __future__ import annotations

import json
from pathlib import Path

import dagster as dg
import pytest
from support.exam_store import CHINESE, LIBRARY

from opentwbench.exam.subjects import REGISTRY
from orchestration.schedules import schedules
from orchestration.sensors import sensors, to_ask
from resources.publication import PublicationResource
from resources.settings import ListSettings, StoreResource
from resources.store import Store

SENSORS = {sensor.name: sensor for sensor in sensors()}
STAGES = ["changed_years", "changed_papers", "changed_subjects", "changed_release"]


def evaluate(
    name: str, store: Store, cursor: str | None = None, instance: dg.DagsterInstance | None = None
) -> tuple[list[dg.RunRequest], str | None]:
    """The requests of one look, and the cursor that it leaves."""
    resources = {"store": StoreResource(url=store.url), "target": PublicationResource(), "lists": ListSettings()}
    with (
        instance or dg.DagsterInstance.ephemeral() as used,
        dg.build_sensor_context(used, cursor=cursor, resources=resources) as context,
    ):
        found = SENSORS[name](context)
        if isinstance(found, dg.SensorResult):
            return list(found.run_requests or ()), found.cursor
        assert isinstance(found, dg.SkipReason)
        return [], context.cursor


def partitions(name: str, store: Store, cursor: str | None = None) -> list[str | None]:
    return [request.partition_key for request in evaluate(name, store, cursor)[0]]


def change_year(store: Store, year: str, rows: str | None) -> None:
    record = store.read_json(store.index_record())
    years = {key: value for key, value in {**record["years"], year: rows}.items() if value is not None}
    store.write_json(store.index_record(), {**record, "years": years})


def test_there_is_a_sensor_for_every_stage() -> None:
    assert list(SENSORS) == STAGES


@pytest.mark.parametrize("name", STAGES)
def test_before_the_first_index_nothing_is_asked(name: str, tmp_path: Path) -> None:
    assert evaluate(name, Store(str(tmp_path / "new")))[0] == []


@pytest.mark.parametrize("name", STAGES)
def test_what_a_build_made_is_not_asked_for_again(name: str, store: Store) -> None:
    assert evaluate(name, store)[0] == []


def test_changed_new_and_vanished_years_are_asked_for_once(store: Store) -> None:
    for year, rows in (("107", "other"), ("113", "new"), ("104", None)):
        change_year(store, year, rows)
    requests, cursor = evaluate("changed_years", store)
    assert [request.partition_key for request in requests] == ["104", "107", "113"]
    # The same state is not asked for again, though no run made it better: a run that fails does not repeat for ever.
    assert evaluate("changed_years", store, cursor)[0] == []
    change_year(store, "107", "yet another")
    assert partitions("changed_years", store, cursor) == ["107"]


def test_a_new_year_becomes_a_partition(store: Store) -> None:
    change_year(store, "113", "new")
    resources = {"store": StoreResource(url=store.url), "target": PublicationResource(), "lists": ListSettings()}
    with (
        dg.DagsterInstance.ephemeral() as instance,
        dg.build_sensor_context(instance, resources=resources) as context,
    ):
        found = SENSORS["changed_years"](context)
    assert isinstance(found, dg.SensorResult)
    (request,) = found.dynamic_partitions_requests or ()
    assert (request.partitions_def_name, list(request.partition_keys)) == ("exam_years", ["113"])


def test_later_stages_wait_for_the_years(store: Store) -> None:
    store.remove(store.accounting(LIBRARY))
    change_year(store, "107", "other")
    assert [len(evaluate(name, store)[0]) for name in STAGES] == [1, 0, 0, 0]


def test_items_are_one_run_over_all_subjects(store: Store) -> None:
    store.write(store.items(LIBRARY), b"")
    ((request,), cursor) = evaluate("changed_papers", store)
    assert request.partition_key is None
    assert [request.tags[f"dagster/asset_partition_range_{end}"] for end in ("start", "end")] == [
        min(REGISTRY),
        max(REGISTRY),
    ]
    assert evaluate("changed_papers", store, cursor)[0] == []
    assert evaluate("changed_subjects", store)[0] == []


def test_only_subjects_that_are_not_what_their_items_ask_for_are_built(store: Store) -> None:
    store.remove(store.dataset_record(CHINESE))
    store.remove(store.verdict(LIBRARY, "rows_match_records"))
    assert partitions("changed_subjects", store) == sorted([CHINESE, LIBRARY])


def test_a_release_that_says_something_else_is_made_again(store: Store) -> None:
    record = store.read_json(store.release())
    store.write_json(store.release(), {**record, "closes": ["another sum"]})
    requests, cursor = evaluate("changed_release", store)
    assert [request.partition_key for request in requests] == [None]
    assert evaluate("changed_release", store, cursor)[0] == []


def test_a_stage_waits_while_a_run_of_an_earlier_one_is_under_way(store: Store) -> None:
    store.remove(store.dataset_record(CHINESE))
    with dg.DagsterInstance.ephemeral() as instance:
        run = dg.DagsterRun(job_name="papers_job", status=dg.DagsterRunStatus.STARTED)
        instance.add_run(run)
        assert evaluate("changed_subjects", store, instance=instance)[0] == []
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_run(dg.DagsterRun(job_name="papers_job", status=dg.DagsterRunStatus.FAILURE))
        assert len(evaluate("changed_subjects", store, instance=instance)[0]) == 1


def test_failed_files_are_asked_for_daily_and_block_nothing(store: Store) -> None:
    record = store.read_json(store.papers_record(110))
    store.write_json(store.papers_record(110), {**record, "failed": ["https://example.org/a"]})
    assert evaluate("changed_years", store)[0] == []
    assert scheduled("failed_files", store) == ["110"]
    store.write_json(store.papers_record(110), record)
    assert scheduled("failed_files", store) == []


def test_the_monthly_round_asks_for_every_year(store: Store, tmp_path: Path) -> None:
    assert scheduled("old_papers", store) == ["101", "104", "107", "110"]
    assert scheduled("old_papers", Store(str(tmp_path / "new"))) == []


def scheduled(name: str, store: Store) -> list[str | None]:
    (schedule,) = (each for each in schedules() if each.name == name)
    with (
        dg.instance_for_test() as instance,
        dg.build_schedule_context(instance, resources={"store": StoreResource(url=store.url)}) as context,
    ):
        found = schedule(context)
        asked = [request.partition_key for request in found] if isinstance(found, list) else []
        assert set(asked) <= set(instance.get_dynamic_partitions("exam_years"))
    return asked


@pytest.mark.parametrize(
    ("cursor", "stale", "asked"),
    [
        (None, {}, ()),
        (None, {"b": "1", "a": "1"}, ("a", "b")),
        ('{"a": "1"}', {"a": "1"}, ()),
        ('{"a": "1"}', {"a": "2"}, ("a",)),
        ('{"a": "1"}', {"a": "1", "b": "1"}, ("b",)),
    ],
)
def test_to_ask(cursor: str | None, stale: dict[str, str], asked: tuple[str, ...]) -> None:
    assert to_ask(cursor, stale) == asked


def test_what_is_made_leaves_the_cursor_so_that_an_earlier_state_is_asked_for_again(store: Store) -> None:
    was = store.read_json(store.index_record())["years"]["107"]
    change_year(store, "107", "other")
    _, cursor = evaluate("changed_years", store)
    assert cursor is not None and "107" in json.loads(cursor)
    change_year(store, "107", was)
    _, cursor = evaluate("changed_years", store, cursor)
    assert cursor is not None and json.loads(cursor) == {}
    change_year(store, "107", "other")
    assert partitions("changed_years", store, cursor) == ["107"]
