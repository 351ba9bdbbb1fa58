"""From a run folder to the mart, through Dagster and through `otb mart`: lineage, the gate, staleness, re-grading."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.partitions.utils.base import raise_error_on_invalid_partition_key_substring
from dagster._core.definitions.sensor_definition import SensorExecutionData
from dagster._core.remote_origin import ManagedGrpcPythonEnvCodeLocationOrigin
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._grpc.impl import get_external_sensor_execution
from support.evaluation import boxed, make_response
from support.exam_store import CONSTITUTION
from typer.testing import CliRunner

from opentwbench.dataset.manifest import read_manifest
from opentwbench.evaluation.items import item_file, read_items
from opentwbench.evaluation.journal import Journal, write_run
from opentwbench.evaluation.mart import MartError, open_mart
from opentwbench.evaluation.model import AskedItem, Response, RunRecord
from opentwbench.evaluation.protocols import BOX
from opentwbench.evaluation.warehouse import read_table
from orchestration.definitions import Configuration, build_defs
from orchestration.evaluation_jobs import new_responses, new_scores
from orchestration.mart_command import app
from resources.models import ModelsResource, WarehouseResource
from resources.partitions import model_of, partition_of
from resources.settings import StoreResource
from resources.store import Store
from resources.warehouse import PROJECT, manifest_path, prepare_manifest, warehouse_of
from resources.warehouse_tables import Places, grade_run, ungraded_runs, write_tables
from samples.model_endpoint import ModelEndpoint

MODEL = "maker/model-1"


@dataclass(frozen=True)
class Runs:
    """A store with a run of MODEL over one published subject, every third answer wrong."""

    store: Path
    items: list[AskedItem]
    record: RunRecord

    @property
    def folder(self) -> Path:
        return self.store / "runs" / self.record.run_id

    def answer(self, items: list[AskedItem], *, right: bool = True) -> None:
        """Journal one more reply for each of these items."""
        replies = [reply(item, right=right, run_id=self.record.run_id) for item in items]
        with Journal(self.folder) as journal:
            journal.append_all(replies)


def reply(item: AskedItem, *, right: bool, run_id: str) -> Response:
    letter = item.key if right else "ABCD"["ABCD".index(item.key) - 1]
    return make_response(item, boxed(item, letter), run_id=run_id, model=MODEL)


@pytest.fixture(scope="module")
def with_run(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """The sample store with one run that has answered two thirds of its items."""
    store = Path(shutil.copytree(built, tmp_path_factory.mktemp("leaderboard") / "store"))
    file = item_file(store / "publications" / CONSTITUTION)
    items = list(read_items(file.path, file.subject))
    record = RunRecord(
        "run-1", MODEL, BOX.protocol_id, "exam", file.version, "scored", len(items), 1, "2026-11-30T00:00:00+00:00"
    )
    write_run(store / "runs" / "run-1", record, BOX)
    runs = Runs(store, items, record)
    part = len(items) * 2 // 3
    runs.answer(items[: part // 2])
    runs.answer(items[part // 2 : part], right=False)
    assert 0 < part // 2 < part < len(items)
    return runs


@pytest.fixture(scope="module")
def manifest() -> Path:
    """The manifest, as `make setup` prepares it: anew whenever the project changed."""
    made = manifest_path().stat().st_mtime if manifest_path().is_file() else 0.0
    files = (each for kind in ("*.sql", "*.yml", "*.md") for each in PROJECT.rglob(kind) if "target" not in each.parts)
    if any(each.stat().st_mtime > made for each in files):
        prepare_manifest()
    return manifest_path()


def materialize(
    store: Path, names: list[str], partition: str | None = None, **settings: Any
) -> dg.ExecuteInProcessResult:
    configuration = Configuration(store=str(store), **settings)
    defs = build_defs(configuration)
    assets = [
        each
        for each in defs.assets or ()
        if isinstance(each, dg.AssetsDefinition) and {key.path[-1] for key in each.keys} & set(names)
    ]
    with dg.DagsterInstance.ephemeral() as instance:
        if partition:
            instance.add_dynamic_partitions("models", [partition])
        return dg.materialize(assets, partition_key=partition, instance=instance, resources=configuration.resources())


def shown(result: dg.ExecuteInProcessResult, name: str) -> dict[str, object]:
    found = [
        each for each in result.get_asset_materialization_events() if each.asset_key and each.asset_key.path[-1] == name
    ]
    return {key: value.value for key, value in found[0].materialization.metadata.items()}


def test_responses_and_scores_name_the_data_set_they_were_computed_on(with_run: Runs) -> None:
    result = materialize(with_run.store, ["model_responses", "model_scores"], MODEL)
    assert result.success
    responses, scores = shown(result, "model_responses"), shown(result, "model_scores")
    part = len(with_run.items) * 2 // 3
    assert (responses["runs"], responses["responses"], responses["asked_now"]) == (1, part, 0)
    assert responses["dataset_versions"] == with_run.record.dataset_version
    assert (scores["graded"], scores["ungraded"]) == (part, 0)
    version = Places(Store(str(with_run.store))).items.version
    assert scores["dataset_version"] == version
    written = json.loads((with_run.folder / "scores" / f"{version}.json").read_bytes())
    assert written["methods"]["strict"]["micro"]["hits"] == part // 2


def test_raw_tables_hold_what_the_store_holds(with_run: Runs) -> None:
    result = materialize(with_run.store, ["runs"])
    assert result.success
    raw = warehouse_of(Store(str(with_run.store))).raw
    published = list((with_run.store / "publications").iterdir())
    versions = {(row["dataset"], row["dataset_version"]) for row in read_table(raw, "item_versions")}
    assert versions == {(folder.name, read_manifest(folder)["version"]) for folder in published}
    assert {row["run_id"] for row in read_table(raw, "runs")} == {"run-1"}
    assert {row["protocol_id"] for row in read_table(raw, "protocols")} >= {BOX.protocol_id}
    checks = {row["dataset"] for row in read_table(raw, "check_results")}
    assert {folder.name for folder in published} <= checks
    accounts = {row["scope"] for row in read_table(raw, "build_accounting")}
    assert CONSTITUTION in accounts and "no_subject" in accounts and len(accounts) == 149
    assert shown(result, "runs")["rows"] == 1


def otb(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, arguments)
    return result.exit_code, result.output


def test_the_mart_from_the_command_line(with_run: Runs) -> None:
    code, said = otb("status", "--store", str(with_run.store))
    assert (code, said.splitlines()[0]) == (3, "there is no mart yet")
    code, said = otb("build", "--store", str(with_run.store), "--docs", "--json")
    assert code == 0, said
    report = json.loads(said)
    house = warehouse_of(Store(str(with_run.store)))
    with open_mart(house.folder) as mart:
        row = mart.execute("SELECT model, n, hits, is_complete, rank_band FROM leaderboard").fetchall()
        closed = mart.execute("SELECT count(*) FROM build_accounting WHERE scope = 'all'").fetchone()
    part = len(with_run.items) * 2 // 3
    assert row == [(MODEL, part, part // 2, False, None)]
    assert closed is not None and closed[0] > 10
    assert report["tables"]["leaderboard"] == 1
    page = (house.folder / "docs" / "index.html").read_text(encoding="utf-8")
    assert "int_parse_cells" in page
    assert otb("status", "--store", str(with_run.store)) == (0, "current\n")


def test_new_responses_make_the_mart_stale_and_dagster_builds_it_anew(with_run: Runs, manifest: Path) -> None:
    assert manifest.is_file()
    from orchestration.leaderboard_definitions import build_defs as mart_defs
    from orchestration.leaderboard_definitions import stale_mart

    part = len(with_run.items) * 2 // 3
    with_run.answer(with_run.items[part:])
    code, said = otb("status", "--store", str(with_run.store))
    assert (code, said.splitlines()[-1]) == (3, "not graded by the published keys: run-1")
    places = Places(Store(str(with_run.store)))
    house = warehouse_of(places.store)
    grade_run(places, house, with_run.folder)
    write_tables(places, house)
    assert ungraded_runs(places, house) == []
    assert "raw/responses/run-1.parquet" in house.standing().changed
    defs = mart_defs(str(with_run.store))
    resources = {"store": StoreResource(url=str(with_run.store)), "warehouse": WarehouseResource()}
    with dg.DagsterInstance.ephemeral() as instance:
        with dg.build_sensor_context(instance=instance, resources=resources) as context:
            asked = stale_mart(context)
        assert isinstance(asked, dg.SensorResult) and len(asked.run_requests or ()) == 1
        with dg.build_sensor_context(instance=instance, resources=resources, cursor=asked.cursor) as context:
            assert isinstance(stale_mart(context), dg.SkipReason), "the same state is not built twice"
        result = defs.resolve_job_def("mart_job").execute_in_process(instance=instance, raise_on_error=False)
        assert result.success
        checks = result.get_asset_check_evaluations()
        made = {event.asset_key.path[-1] for event in result.get_asset_materialization_events() if event.asset_key}
    assert {"leaderboard", "int_answers", "stg_runs", "leaderboard_mart"} <= made
    assert len(checks) > 50
    # dbt's tests are the checks; a warning is no failure.
    assert [check.check_name for check in checks if not check.passed] == []
    with open_mart(house.folder) as mart:
        row = mart.execute("SELECT n, is_complete, rank_band FROM leaderboard").fetchall()
    assert row == [(len(with_run.items), True, 1)]
    assert house.standing().is_current


def test_a_swap_started_alone_puts_nothing_in_place(with_run: Runs, manifest: Path) -> None:
    assert manifest.is_file()
    from orchestration.leaderboard_definitions import leaderboard_mart

    resources = {"store": StoreResource(url=str(with_run.store)), "warehouse": WarehouseResource()}
    with pytest.raises(MartError, match="no mart was built and tested"):
        dg.materialize([leaderboard_mart], resources=resources)


def test_a_stale_mart_shows_in_its_check(with_run: Runs, manifest: Path) -> None:
    assert manifest.is_file()
    from checks.leaderboard import mart_is_current

    resources = {"store": StoreResource(url=str(with_run.store)), "warehouse": WarehouseResource()}
    fresh = mart_is_current(**resources)
    assert isinstance(fresh, dg.AssetCheckResult) and fresh.passed
    house = warehouse_of(Store(str(with_run.store)))
    path = house.raw / "responses" / "run-1.parquet"
    before = path.read_bytes()
    path.unlink()
    try:
        stale = mart_is_current(**resources)
    finally:
        path.write_bytes(before)
    assert isinstance(stale, dg.AssetCheckResult) and not stale.passed
    assert stale.severity is dg.AssetCheckSeverity.WARN
    assert "raw/responses/run-1.parquet" in str(stale.metadata["standing"].value)


def test_sensors_ask_once_for_what_changed(with_run: Runs) -> None:
    resources = {
        "store": StoreResource(url=str(with_run.store)),
        "warehouse": WarehouseResource(),
        "endpoints": ModelsResource(),
    }
    with dg.DagsterInstance.ephemeral() as instance:
        for sensor, key in ((new_responses, MODEL), (new_scores, None)):
            with dg.build_sensor_context(instance=instance, resources=resources) as context:
                asked = sensor(context)
            assert isinstance(asked, dg.SensorResult)
            assert [request.partition_key for request in asked.run_requests or ()] == [key]
            with dg.build_sensor_context(instance=instance, resources=resources, cursor=asked.cursor) as context:
                assert isinstance(sensor(context), dg.SkipReason)


ODD_NAMES = ("maker/a...b", "...", "a%2E%2E%2Eb", '模型 [1], "two" | 三', "with\ttab", "\u202eodd", "x" * 200)


def test_a_model_of_any_name_is_a_partition_and_is_scored(with_run: Runs, tmp_path: Path) -> None:
    store = Path(shutil.copytree(with_run.store, tmp_path / "store"))
    for n, name in enumerate(ODD_NAMES):
        record = replace(with_run.record, run_id=f"odd-{n}", model=name, started=f"2026-11-{n + 1:02d}")
        write_run(store / "runs" / record.run_id, record, BOX)
        with Journal(store / "runs" / record.run_id) as journal:
            journal.append(replace(reply(with_run.items[0], right=True, run_id=record.run_id), model=name))
    repository = build_defs(Configuration(store=str(store))).get_repository_def()
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        # As the daemon has it done: requests for partitions that this very look adds are resolved.
        origin = ManagedGrpcPythonEnvCodeLocationOrigin(LoadableTargetOrigin(module_name="orchestration.definitions"))
        asked = get_external_sensor_execution(
            repository, origin, instance.get_ref(), "new_responses", None, None, None, None, None
        )
    assert isinstance(asked, SensorExecutionData), asked
    keys = [str(request.partition_key) for request in asked.run_requests or ()]
    assert [model_of(key) for key in keys] == sorted([*ODD_NAMES, MODEL], key=partition_of)
    assert [list(each.partition_keys) for each in asked.dynamic_partitions_requests or ()] == [keys]
    raise_error_on_invalid_partition_key_substring(keys)
    for n, name in enumerate(ODD_NAMES):
        result = materialize(store, ["model_responses", "model_scores"], partition_of(name))
        assert (shown(result, "model_responses")["runs"], shown(result, "model_scores")["graded"]) == (1, 1), name
        assert list((store / "runs" / f"odd-{n}" / "scores").glob("*.json"))


def test_a_corrected_key_means_new_grades_and_no_request(with_run: Runs, tmp_path: Path) -> None:
    store = Path(shutil.copytree(with_run.store, tmp_path / "store"))
    places = Places(Store(str(store)))
    house = warehouse_of(places.store)
    before = {row["run_id"]: row["graded_version"] for row in read_table(house.raw, "gradings")}
    publish_with_another_key(store, with_run.items[0].item_id)
    places = Places(Store(str(store)))
    assert ungraded_runs(places, house) == ["run-1"]
    grading = grade_run(places, house, store / "runs" / "run-1")
    assert grading.graded_version != before["run-1"]
    write_tables(places, house)
    rows = [row for row in read_table(house.raw, "item_versions") if row["item_id"] == with_run.items[0].item_id]
    assert sorted((row["is_current"], row["key"] == with_run.items[0].key) for row in rows) == [
        (False, True),
        (True, False),
    ]
    assert ungraded_runs(places, house) == []


def publish_with_another_key(store: Path, item_id: str) -> None:
    """What a correction leaves behind: the row with another key, under a version of its own."""
    folder = store / "publications" / CONSTITUTION
    lines = (folder / "benchmark.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    for row in rows:
        if row["item_id"] == item_id:
            row["answer"] = "A" if row["answer"] != "A" else "B"
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    (folder / "benchmark.jsonl").write_bytes(data)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    manifest["files"]["benchmark.jsonl"] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    manifest["version"] = "f" * 12
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def test_with_an_endpoint_a_model_is_asked_once_and_then_never_again(with_run: Runs, tmp_path: Path) -> None:
    store = Path(shutil.copytree(with_run.store, tmp_path / "store"))
    published = [read_manifest(folder)["counts"]["scored"] for folder in (store / "publications").iterdir()]
    with ModelEndpoint() as endpoint:
        setting = {"base_url": endpoint.base_url, "concurrency": 8}
        first = materialize(store, ["model_responses"], "asked/model", endpoint=setting)
        asked = shown(first, "model_responses")
        assert (asked["asked_now"], asked["runs"], asked["stopped"]) == (sum(published), 1, "")
        again = shown(materialize(store, ["model_responses"], "asked/model", endpoint=setting), "model_responses")
    assert (again["asked_now"], again["responses"]) == (0, sum(published))
    assert Places(Store(str(store))).models() == ["asked/model", MODEL]


def test_withdrawn_items_are_graded_and_in_no_score(with_run: Runs, tmp_path: Path) -> None:
    store = Path(shutil.copytree(with_run.store, tmp_path / "store"))
    out = with_run.items[0].item_id
    line = {"item_id": out, "reason": "made up", "date": "2026-11-30", "evidence": "none"}
    folder = store / "publications" / CONSTITUTION
    (folder / "withdrawn.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    places = Places(Store(str(store)))
    house = warehouse_of(places.store)
    grading = grade_run(places, house, store / "runs" / "run-1")
    scores = json.loads((store / "runs" / "run-1" / "scores" / f"{places.version}.json").read_bytes())
    assert grading.graded == scores["responses"] + 1 > 30


def test_a_run_that_is_gone_leaves_the_warehouse(with_run: Runs, tmp_path: Path) -> None:
    store = Path(shutil.copytree(with_run.store, tmp_path / "store"))
    shutil.rmtree(store / "runs")
    places = Places(Store(str(store)))
    house = warehouse_of(places.store)
    write_tables(places, house)
    assert [path.name for path in (house.raw / "responses").iterdir()] == ["no-run.parquet"]
    assert read_table(house.raw, "gradings") == read_table(house.raw, "runs") == []


def test_a_remote_store_is_refused_in_words() -> None:
    code, said = otb("status", "--store", "memory://x")
    assert code == 2
    assert "local" in said


def test_the_platform_loads_without_dbt(tmp_path: Path) -> None:
    program = (
        "import sys, orchestration.definitions, orchestration.mart_command\n"
        "print([name for name in ('dagster_dbt', 'dbt', 'dbt.cli') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
