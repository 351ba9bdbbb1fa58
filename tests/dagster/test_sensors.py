"""The sensors ask for what changed and for nothing else, decided from digests and a cursor."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest
from support.exam_store import SAMPLE_SUBJECTS

from orchestration.sensors import changed_subjects, changed_years, changes_since
from resources.settings import StoreResource
from resources.store import Store


def evaluate(sensor: dg.SensorDefinition, store: Store, cursor: str | None) -> dg.SensorResult | dg.SkipReason:
    with dg.DagsterInstance.ephemeral() as instance:
        context = dg.build_sensor_context(instance, cursor=cursor, resources={"store": StoreResource(url=store.url)})
        found = sensor(context)
    assert isinstance(found, dg.SensorResult | dg.SkipReason)
    return found


def asked(found: dg.SensorResult | dg.SkipReason) -> list[str]:
    return [str(r.partition_key) for r in found.run_requests or ()] if isinstance(found, dg.SensorResult) else []


def test_before_the_first_index_nothing_is_asked(tmp_path: Path) -> None:
    for sensor in (changed_years, changed_subjects):
        assert isinstance(evaluate(sensor, Store(str(tmp_path / "new")), None), dg.SkipReason)


def test_the_first_look_asks_for_every_year_and_adds_the_partitions(store: Store) -> None:
    found = evaluate(changed_years, store, None)
    assert asked(found) == ["101", "104", "107", "110"]
    assert isinstance(found, dg.SensorResult)
    (request,) = found.dynamic_partitions_requests or ()
    assert (request.partitions_def_name, list(request.partition_keys)) == ("exam_years", asked(found))


def test_the_same_index_asks_for_nothing(store: Store) -> None:
    first = evaluate(changed_years, store, None)
    assert isinstance(first, dg.SensorResult)
    assert isinstance(evaluate(changed_years, store, first.cursor), dg.SkipReason)


def test_one_changed_year_asks_for_that_year(store: Store) -> None:
    first = evaluate(changed_years, store, None)
    assert isinstance(first, dg.SensorResult)
    record = store.read_json(store.index_record())
    store.write_json(store.index_record(), {**record, "years": {**record["years"], "107": "other", "113": "new"}})
    assert asked(evaluate(changed_years, store, first.cursor)) == ["107", "113"]


def test_subjects_are_asked_for_by_their_papers(store: Store) -> None:
    first = evaluate(changed_subjects, store, None)
    assert asked(first) == [*SAMPLE_SUBJECTS]
    assert isinstance(first, dg.SensorResult)
    assert isinstance(evaluate(changed_subjects, store, first.cursor), dg.SkipReason)
    record = store.read_json(store.papers_record(110))
    (slug, *_) = sorted(record["subjects"].keys() & set(SAMPLE_SUBJECTS))
    store.write_json(store.papers_record(110), {**record, "subjects": {**record["subjects"], slug: "another digest"}})
    assert asked(evaluate(changed_subjects, store, first.cursor)) == [slug]


def test_questions_of_no_subject_are_no_partition(store: Store) -> None:
    assert any("no_subject" in store.read_json(store.papers_record(year))["subjects"] for year in store.years())
    assert "no_subject" not in asked(evaluate(changed_subjects, store, None))


@pytest.mark.parametrize(
    ("cursor", "now", "touched"),
    [
        (None, {"a": "1"}, ("a",)),
        ('{"a": "1"}', {"a": "1"}, ()),
        ('{"a": "1"}', {"a": "2"}, ("a",)),
        ('{"a": "1", "b": "1"}', {"b": "1"}, ("a",)),
        # Back to an earlier state is a change as well.
        ('{"a": "2"}', {"a": "1"}, ("a",)),
    ],
)
def test_changes_since(cursor: str | None, now: dict[str, str], touched: tuple[str, ...]) -> None:
    assert changes_since(cursor, now) == touched
