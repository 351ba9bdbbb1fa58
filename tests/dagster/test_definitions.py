"""What Dagster loads: without network, files or secrets, and with exactly the graph and gating that is documented."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from assets.apparatus import READ
from opentwbench.apparatus.studies import STUDIES
from opentwbench.dataset.validators import BLOCKING_CHECKS
from opentwbench.evaluation.warehouse import SCHEMAS
from opentwbench.formosa.dataset_checks import CHECKS as FORMOSA_CHECKS
from opentwbench.rag.tw_rag.dataset_checks import CHECKS as RAG_CHECKS
from orchestration.definitions import Configuration, build_defs, from_environment
from orchestration.schedules import schedules
from orchestration.sensors import sensors
from resources.exam_products import PUBLISHED_ITEMS_STAY

RELEASE = ("release_accounting_closes", "release_is_current", "release_suite")

# The last one only warns; it is blocking in Dagster's sense, so that the publication waits for it.
OF_A_SUBJECT = tuple(sorted((*BLOCKING_CHECKS, PUBLISHED_ITEMS_STAY)))

GRAPH = {
    # asset: (depends on, partitions, backfill in one run, blocking checks, other checks)
    "ministry_index": ((), "", False, (), ()),
    "exam_papers": (("ministry_index",), "exam_years", True, (), ()),
    "subject_items": (("exam_papers",), "148 subjects", True, (), ()),
    "subject_dataset": (("subject_items",), "148 subjects", False, OF_A_SUBJECT, ()),
    "subject_publication": (("subject_dataset",), "148 subjects", False, (), ("publications_are_current",)),
    "exam_release": (("subject_publication",), "", False, (), RELEASE),
    "hub_publication": (("subject_publication",), "148 subjects", False, (), ("hub_is_current",)),
    "hub_combined": (("subject_publication",), "", False, (), ("combined_is_current",)),
    "model_responses": (("subject_publication",), "models", False, (), ()),
    "model_scores": (("model_responses", "subject_publication"), "models", False, (), ("scores_are_current",)),
    **{f"raw/{name}": (("model_scores", "subject_publication"), "", False, (), ()) for name in SCHEMAS},
    # The studies read raw tables; their own table is made from them, so that no cycle runs through the mart.
    **{f"apparatus/{name}": (tuple(f"raw/{of}" for of in READ), "", False, (), ()) for name in STUDIES},
    # Of the judges that this study compares, Formosa's are those of its own study.
    "apparatus/judge_panel": (("formosa_judge_study", *(f"raw/{of}" for of in READ)), "", False, (), ()),
    "raw/apparatus_studies": (
        tuple(sorted(f"apparatus/{name}" for name in STUDIES)),
        "",
        False,
        (),
        ("studies_are_current",),
    ),
    "formosa_windows": ((), "", False, (), ("windows_are_current",)),
    "formosa_drafts": (("formosa_windows",), "formosa_categories", True, (), ()),
    "formosa_screens": (("formosa_drafts",), "", False, (), ()),
    "formosa_judge_study": (("formosa_screens",), "", False, (), ()),
    "formosa_grounded": (("formosa_judge_study", "formosa_screens"), "formosa_categories", True, (), ()),
    "formosa_items": (("formosa_grounded",), "", False, (), ()),
    "formosa_difficulty": (("formosa_items",), "", False, (), ()),
    "formosa_dataset": (("formosa_difficulty",), "", False, tuple(sorted(FORMOSA_CHECKS)), ()),
    "formosa_publication": (("formosa_dataset",), "", False, (), ("formosa_is_current",)),
    "rag_contexts": (("formosa_grounded", "formosa_windows"), "formosa_categories", True, (), ()),
    "rag_dataset": (("rag_contexts",), "", False, tuple(sorted(RAG_CHECKS)), ()),
    "rag_publication": (("rag_dataset",), "", False, (), ("rag_is_current",)),
    "rag_benchmark": ((), "5 data sets with 5 systems", False, (), ()),
}


def partitions_of(definition: dg.PartitionsDefinition | None) -> str:
    if definition is None:
        return ""
    if isinstance(definition, dg.DynamicPartitionsDefinition):
        return str(definition.name)
    if isinstance(definition, dg.MultiPartitionsDefinition):
        sizes = {each.name: len(each.partitions_def.get_partition_keys()) for each in definition.partitions_defs}
        return f"{sizes['dataset']} data sets with {sizes['system']} systems"
    return f"{len(definition.get_partition_keys())} subjects"


def graph(defs: dg.Definitions) -> dict[str, tuple[object, ...]]:
    nodes = defs.resolve_asset_graph()
    seen: dict[str, tuple[object, ...]] = {}
    for key in nodes.get_all_asset_keys():
        node = nodes.get(key)
        checks = [nodes.get(check) for check in node.check_keys]
        seen[key.to_user_string()] = (
            tuple(sorted(parent.to_user_string() for parent in node.parent_keys)),
            partitions_of(node.partitions_def),
            node.backfill_policy is not None and node.backfill_policy.max_partitions_per_run is None,
            tuple(sorted(check.key.name for check in checks if check.blocking)),
            tuple(sorted(check.key.name for check in checks if not check.blocking)),
        )
    return seen


def test_the_graph_is_the_documented_one(tmp_path: Path) -> None:
    assert graph(build_defs(Configuration(store=str(tmp_path)))) == GRAPH


def test_every_blocking_check_is_partitioned_by_subject(tmp_path: Path) -> None:
    nodes = build_defs(Configuration(store=str(tmp_path))).resolve_asset_graph()
    checks = [nodes.get(check) for check in nodes.get(dg.AssetKey("subject_dataset")).check_keys]
    # Without partitions the verdict of one subject would overwrite that of another.
    assert [partitions_of(check.partitions_def) for check in checks] == ["148 subjects"] * len(OF_A_SUBJECT)


def test_definitions_load_without_network_or_files(tmp_path: Path) -> None:
    program = (
        "import socket\n"
        "def refuse(*a, **k): raise AssertionError('network while definitions load')\n"
        "socket.socket.connect = refuse; socket.getaddrinfo = refuse\n"
        "import dagster as dg\n"
        "from orchestration.definitions import defs\n"
        "dg.Definitions.validate_loadable(defs)\n"
    )
    environment = {**os.environ, "OTB_STORE": str(tmp_path / "never"), "OTB_SOURCE": "live", "DAGSTER_HOME": ""}
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert list(tmp_path.iterdir()) == []


def test_nothing_starts_by_itself() -> None:
    assert {schedule.default_status for schedule in schedules()} == {dg.DefaultScheduleStatus.STOPPED}
    assert {sensor.default_status for sensor in sensors()} == {dg.DefaultSensorStatus.STOPPED}


def test_one_switch_turns_the_daily_life_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OTB_DAILY", "on")
    monkeypatch.setenv("OTB_STORE", str(tmp_path))
    defs = build_defs(from_environment())
    on = {s.name for s in defs.schedules or () if s.default_status == dg.DefaultScheduleStatus.RUNNING}  # type: ignore[union-attr]
    on |= {s.name for s in defs.sensors or () if s.default_status == dg.DefaultSensorStatus.RUNNING}
    # Asking for every old paper again is a decision of its own.
    everything = {each.name for each in (*schedules(), *sensors())}
    assert everything - on == {"old_papers", "corpus_update"}
    monkeypatch.setenv("OTB_DAILY", "perhaps")
    with pytest.raises(ValueError, match="on or off"):
        from_environment()


def test_a_wrong_setting_is_found_when_the_definitions_are_made(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="delay_seconds"):
        build_defs(Configuration(store=str(tmp_path), ministry={"delay_seconds": -1.0}))
