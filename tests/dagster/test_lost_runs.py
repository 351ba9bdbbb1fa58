"""A run that was ended from outside and that nobody started again is started again: once, and as it was."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.test_utils import create_run_for_test

from opentwbench.exam.subjects import REGISTRY
from orchestration import definitions, leaderboard_definitions
from orchestration.configuration import Configuration
from orchestration.definitions import build_defs
from orchestration.jobs import dataset_job, items_job, range_tags
from orchestration.lost_runs import COUNT_TAG, LOOK_BACK, MOST, WAIT, again, lost

FAILURE, SUCCESS, STARTED = dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.STARTED
SUBJECT = "tw-library-science-bench"
PARTITION = {"dagster/partition": SUBJECT}
KILLED = {"dagster/failure_reason": "UNEXPECTED_TERMINATION"}
JOB = dataset_job.name


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


def a_run(
    instance: dg.DagsterInstance, *tags: dict[str, str], status: dg.DagsterRunStatus = FAILURE, job: str = JOB
) -> dg.DagsterRun:
    together = {name: value for each in tags for name, value in each.items()}
    return create_run_for_test(instance, job_name=job, status=status, tags=together)


def found(
    instance: dg.DagsterInstance, jobs: tuple[str, ...] = (JOB,), after: timedelta = WAIT + timedelta(seconds=5)
) -> list[str]:
    return [run.run_id for run in lost(instance, jobs, datetime.now(UTC) + after)]


@pytest.mark.parametrize(
    "said",
    [
        KILLED,
        # Dagster marked it and did not start it: its daemon had read the failure before the run's state was written.
        {**KILLED, "dagster/will_retry": "true"},
        # Dagster tried while the code location was away, and gave it up.
        {"dagster/failure_reason": "UNKNOWN", "dagster/will_retry": "false"},
        {"dagster/failure_reason": "START_TIMEOUT"},
        {},
    ],
)
def test_a_run_that_nobody_started_again_is_found(instance: dg.DagsterInstance, said: dict[str, str]) -> None:
    run = a_run(instance, PARTITION, said)
    a_run(instance, {"dagster/partition": "tw-medicine-bench"}, status=SUCCESS)
    assert found(instance) == [run.run_id]


def test_a_run_is_left_alone_that_is_not_lost(instance: dg.DagsterInstance) -> None:
    a_run(instance, PARTITION, {"dagster/failure_reason": "STEP_FAILURE"})  # it would fail again: a person looks
    a_run(instance, {"dagster/partition": "tw-medicine-bench"}, KILLED, job="another_job")
    a_run(instance, {"dagster/partition": "tw-chinese-language-bench"}, KILLED, status=dg.DagsterRunStatus.CANCELED)
    a_run(instance, {"dagster/partition": "tw-legal-knowledge-bench"}, KILLED, {COUNT_TAG: str(MOST)})
    a_run(instance, {"dagster/partition": "tw-computer-science-bench"}, KILLED, {COUNT_TAG: "many"})
    assert found(instance) == []


def test_dagster_has_the_first_turn_and_a_person_the_last(instance: dg.DagsterInstance) -> None:
    run = a_run(instance, PARTITION, KILLED)
    assert found(instance, after=timedelta(0)) == []
    assert found(instance) == [run.run_id]
    assert found(instance, after=LOOK_BACK + timedelta(minutes=1)) == []


@pytest.mark.parametrize("status", [FAILURE, SUCCESS, STARTED])
def test_a_run_with_a_successor_is_its_successors_matter(
    instance: dg.DagsterInstance, status: dg.DagsterRunStatus
) -> None:
    run = a_run(instance, PARTITION, KILLED)
    child = a_run(instance, PARTITION, KILLED, {"dagster/parent_run_id": run.run_id}, status=status)
    assert found(instance) == ([child.run_id] if status is FAILURE else [])


@pytest.mark.parametrize(("status", "is_done"), [(SUCCESS, True), (STARTED, True), (FAILURE, False)])
def test_work_that_was_begun_anew_is_not_begun_a_third_time(
    instance: dg.DagsterInstance, status: dg.DagsterRunStatus, is_done: bool
) -> None:
    a_run(instance, PARTITION, status=SUCCESS)  # of the version before
    run = a_run(instance, PARTITION, KILLED)
    a_run(instance, {"dagster/partition": "tw-medicine-bench"}, status=SUCCESS)
    later = a_run(instance, PARTITION, {"dagster/failure_reason": "STEP_FAILURE"}, status=status)
    assert found(instance) == ([] if is_done else [run.run_id])
    assert later.run_id != run.run_id


def test_it_is_asked_for_as_it_was(instance: dg.DagsterInstance) -> None:
    first = {
        **KILLED,
        "dagster/backfill": "abc",
        "opentwbench/note": "x",
        "dagster/will_retry": "true",
        ".dagster/x": "y",
    }
    run = a_run(instance, PARTITION, first)
    asked = again(run)
    assert (asked.job_name, asked.run_key) == (JOB, f"lost {run.run_id}")
    assert dict(asked.tags) == {
        **PARTITION,
        "dagster/backfill": "abc",
        "opentwbench/note": "x",
        "dagster/parent_run_id": run.run_id,
        "dagster/root_run_id": run.run_id,
        COUNT_TAG: "1",
    }
    child = a_run(instance, dict(asked.tags), KILLED)
    once_more = again(child)
    assert once_more.tags["dagster/root_run_id"] == run.run_id
    assert (once_more.tags["dagster/parent_run_id"], once_more.tags[COUNT_TAG]) == (child.run_id, "2")
    a_run(instance, dict(once_more.tags), KILLED)
    assert found(instance) == []  # as often as Dagster's own retries, and not more


def test_a_run_over_a_range_keeps_its_range(instance: dg.DagsterInstance) -> None:
    slugs = sorted(REGISTRY)
    whole = range_tags(slugs[0], slugs[-1])
    run = a_run(instance, whole, KILLED, job=items_job.name)
    a_run(instance, range_tags(slugs[0], slugs[1]), status=SUCCESS, job=items_job.name)
    assert found(instance, (items_job.name,)) == [run.run_id]
    assert whole.items() <= dict(again(run).tags).items()


def test_the_sensor_asks_for_them_and_is_off_by_itself(
    instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestration.lost_runs.WAIT", timedelta(seconds=-5))
    for restart, status in ((False, dg.DefaultSensorStatus.STOPPED), (True, dg.DefaultSensorStatus.RUNNING)):
        defs = build_defs(Configuration(store=str(tmp_path), lost_runs=restart))
        repository = defs.get_repository_def()
        sensor = repository.get_sensor_def("lost_runs")
        assert sensor.default_status is status
    with dg.build_sensor_context(instance=instance, repository_def=repository) as context:
        assert sensor.evaluate_tick(context).run_requests == []
        run = a_run(instance, PARTITION, KILLED)
        (asked,) = sensor.evaluate_tick(context).run_requests or ()
    assert (asked.job_name, asked.tags["dagster/parent_run_id"]) == (JOB, run.run_id)


def test_each_location_has_one_for_its_own_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [
        {target.job_name for target in defs.get_repository_def().get_sensor_def("lost_runs").targets}
        for defs in (
            build_defs(Configuration(store=str(tmp_path))),
            leaderboard_definitions.build_defs(str(tmp_path), restart_lost=True),
        )
    ]
    assert JOB in jobs[0] and leaderboard_definitions.mart_job.name in jobs[1]
    assert not jobs[0] & jobs[1]  # a name in both would start one run twice
    monkeypatch.setenv("OTB_LOST_RUNS", "on")
    assert definitions.from_environment().lost_runs
    monkeypatch.setenv("OTB_LOST_RUNS", "yes")
    with pytest.raises(ValueError, match="OTB_LOST_RUNS is on or off"):
        definitions.from_environment()
