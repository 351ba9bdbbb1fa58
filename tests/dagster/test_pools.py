"""One pool a model endpoint: which steps are in which, and two runs at once that ask one after the other."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml
from support.hub_store import FIRST, write_subject

from assets.evaluation import model_responses
from checks.formosa import FORMOSA_CHECKS
from orchestration.definitions import ASSETS, Configuration, build_defs
from orchestration.pools import pooled
from resources.pools import MODEL_ENDPOINT, endpoint_pool
from resources.store import Store
from samples.model_endpoint import ModelEndpoint

ROOT = Path(__file__).resolve().parents[2]
ASKING = ("model_responses", "formosa_drafts", "formosa_judge_study", "formosa_grounded", "formosa_difficulty")
HERE, THERE = "http://127.0.0.1:8000/v1", "https://models.example.org/openai/v1"


def pools_of(**settings: Any) -> dict[str, str]:
    graph = build_defs(Configuration(**settings)).resolve_asset_graph()
    return {key.to_user_string(): ",".join(sorted(graph.get(key).pools)) for key in graph.materializable_asset_keys}


@pytest.mark.parametrize(
    ("address", "name"),
    [
        (HERE, "endpoint_127.0.0.1_8000"),
        (THERE, "endpoint_models.example.org_443"),
        ("https://Models.Example.org./another/v1", "endpoint_models.example.org_443"),  # one server
        ("http://[::1]:8000/v1", "endpoint_--1_8000"),
        ("https://user:secret@host/v1?key=secret#secret", "endpoint_host_443"),
        (f"http://{'a' * 400}/v1", f"endpoint_{'a' * 120}_80"),
        ("http://a b;\n模型/v1", "endpoint_a-b---_80"),
        ("", MODEL_ENDPOINT),
        ("localhost:8000/v1", MODEL_ENDPOINT),
        ("http://host:99999/v1", MODEL_ENDPOINT),
        ("http://[::1/v1", MODEL_ENDPOINT),
    ],
)
def test_a_pool_is_named_after_host_and_port_and_holds_no_secret(address: str, name: str) -> None:
    assert endpoint_pool(address) == name
    assert not any(each.isspace() for each in name)


def test_every_step_that_asks_is_in_the_pool_of_its_endpoint(tmp_path: Path) -> None:
    store = str(tmp_path)
    one = pools_of(store=store, endpoint={"base_url": HERE})
    assert {one[name] for name in (*ASKING, "rag_benchmark")} == {endpoint_pool(HERE)}
    two = pools_of(store=store, endpoint={"base_url": HERE}, rag={"base_url": THERE})
    assert {two[name] for name in ASKING} == {endpoint_pool(HERE)}
    assert two["rag_benchmark"] == endpoint_pool(THERE)
    # Unknown: what a run names could be one and the same, so they share.
    none = pools_of(store=store)
    assert {none[name] for name in (*ASKING, "rag_benchmark")} == {MODEL_ENDPOINT}
    # Nothing else moves, and what was made before has not changed.
    others = none.keys() - {*ASKING, "rag_benchmark"}
    assert {name: one[name] for name in others} == {name: none[name] for name in others}
    assert model_responses.op.pool == MODEL_ENDPOINT


def test_a_step_in_another_pool_is_the_same_step() -> None:
    given = [*ASSETS, *FORMOSA_CHECKS]
    made = pooled(given, Configuration(endpoint={"base_url": HERE}))
    assert len(made) == len(given)
    for before, after in zip(given, made, strict=True):
        assert list(after.specs) == list(before.specs)
        fields, expected = (
            {name: value for name, value in each.get_attributes_dict().items() if name not in ("node_def", "specs")}
            for each in (after, before)
        )
        assert fields == expected
        assert after.op.compute_fn is before.op.compute_fn
    assert sum(after is not before for before, after in zip(given, made, strict=True)) == len(ASKING) + 1


@pytest.mark.parametrize("limit", [1, 2])
def test_two_runs_at_once_ask_an_endpoint_as_often_at_once_as_its_pool_allows(limit: int, tmp_path: Path) -> None:
    """With the instance as it is delivered (1) and raised to 2, where both run side by side."""
    home = tmp_path / "home"
    home.mkdir()
    settings = yaml.safe_load((ROOT / "dagster.yaml").read_text())
    assert settings["concurrency"]["pools"]["default_limit"] == 1
    (home / "dagster.yaml").write_text(yaml.safe_dump(settings))
    store = Store(str(tmp_path / "store"))
    write_subject(store, FIRST, 20)
    with store.folder(store.dataset(FIRST)) as folder, store.folder(store.publication(FIRST), write=True) as out:
        shutil.copytree(folder, out, dirs_exist_ok=True)
    environment = {**os.environ, "DAGSTER_HOME": str(home), "PYTHONPATH": str(ROOT / "tests")}
    barrier = tmp_path / "barrier"
    barrier.mkdir()
    with ModelEndpoint(latency=0.2) as endpoint:
        with dg.DagsterInstance.from_config(str(home)) as instance:  # its tables are made once, before both open them
            if limit != 1:
                instance.event_log_storage.set_concurrency_slots(endpoint_pool(endpoint.base_url), limit)
        command = [sys.executable, "-m", "support.pooled_run", store.url, endpoint.base_url]
        runs = [
            subprocess.Popen(
                [*command, f"scripted/{name}", str(barrier), "2"], env=environment, stderr=subprocess.PIPE, text=True
            )
            for name in ("one", "two")
        ]
        try:
            said = [run.communicate(timeout=600)[1] for run in runs]
        finally:
            for run in runs:
                run.kill()
        assert [run.returncode for run in runs] == [0, 0], said
        stats = endpoint.stats()
    assert stats["requests"] == 2 * 20
    assert stats["most_at_once"] == limit
