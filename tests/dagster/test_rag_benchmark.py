"""The benchmark of retrieval systems in Dagster: one partition, one run, nothing asked twice."""

from __future__ import annotations

import json
from pathlib import Path

import dagster as dg
import pytest
from support.rag import locomo, verdict

from assets.rag_benchmark import rag_benchmark
from resources.partitions import rag_benchmarks
from resources.rag import RagBenchmarkResource
from resources.settings import StoreResource
from samples.model_endpoint import Kind, ModelEndpoint, Rule


def run(store: Path, partition: str, **settings: object) -> dg.ExecuteInProcessResult:
    resources = {"store": StoreResource(url=str(store)), "rag": RagBenchmarkResource(**settings)}
    return dg.materialize([rag_benchmark], resources=resources, partition_key=partition, raise_on_error=False)


def test_a_partition_is_carried_out_and_a_second_start_asks_nothing(tmp_path: Path) -> None:
    (tmp_path / "data" / "locomo").mkdir(parents=True)
    locomo(tmp_path / "data" / "locomo")
    with ModelEndpoint() as endpoint:
        endpoint.plant(Rule(Kind.TEXT, "<answer", None, text=verdict(3)), Rule(Kind.TEXT, "", None, text="a tea shop"))
        given = {"data": str(tmp_path / "data"), "model": "writer", "judge": "judge", "base_url": endpoint.base_url}
        made = run(tmp_path / "store", "locomo|bm25", **given)
        assert made.success
        (event,) = made.asset_materializations_for_node("rag_benchmark")
        assert event.partition == "locomo|bm25"
        assert (event.metadata["questions"].value, event.metadata["whole"].value) == (5, True)
        asked = endpoint.stats()["requests"]
        assert asked == event.metadata["asked_now"].value == 10
        again = run(tmp_path / "store", "locomo|bm25", **given)
        assert again.success and endpoint.stats()["requests"] == asked
    (report,) = (tmp_path / "store" / "rag").glob("locomo-bm25-*/benchmark_metrics_report.json")
    assert json.loads(report.read_text())["judge"]["accuracy"] == 3.0


@pytest.mark.parametrize("settings", [{}, {"model": "m"}, {"data": "nowhere", "model": "m"}])
def test_without_data_or_a_model_nothing_is_recorded(tmp_path: Path, settings: dict[str, str]) -> None:
    made = run(tmp_path / "store", "locomo|bm25", **settings)
    assert made.success and not made.asset_materializations_for_node("rag_benchmark")


def test_what_cannot_be_run_fails_with_its_reason_and_no_retry(tmp_path: Path) -> None:
    (tmp_path / "data" / "locomo").mkdir(parents=True)
    locomo(tmp_path / "data" / "locomo")
    given = {"data": str(tmp_path / "data"), "model": "writer"}
    for partition, reason in (("locomo|dense", "embedding model"), ("locomo|contexts", "offers no contexts")):
        made = run(tmp_path / "store", partition, **given)
        failure = made.failure_data_for_node("rag_benchmark")
        assert not made.success and failure and reason in failure.user_failure_data.description


def test_the_partitions_are_every_data_set_with_every_system() -> None:
    assert len(rag_benchmarks.get_partition_keys()) == 25
