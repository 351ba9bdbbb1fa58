"""What the UI answers of an asset: who owns it, what it is, and whether time has made it stale; and the pools."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest
import yaml

from orchestration.definitions import Configuration, alarm_settings, build_defs
from orchestration.leaderboard_definitions import build_defs as mart_defs
from orchestration.ownership import ANSWER, ANSWERS, OWNERS, PUBLISHED, owned
from orchestration.schedules import schedules

ROOT = Path(__file__).resolve().parents[2]
INSTANCES = ("dagster.yaml", "deploy/dagster.yaml")


def made(defs: dg.Definitions) -> list[dg.AssetSpec]:
    """The assets that a location makes, without those that it only reads."""
    graph = defs.resolve_asset_graph()
    return [graph.get(key).to_asset_spec() for key in graph.materializable_asset_keys]


@pytest.mark.parametrize(("location", "least"), [("platform", 40), ("mart", 40)])
def test_every_asset_has_owner_description_and_kind(location: str, least: int, tmp_path: Path) -> None:
    store = str(tmp_path)
    specs = made(build_defs(Configuration(store=store)) if location == "platform" else mart_defs(store))
    assert len(specs) >= least
    lacking = {
        spec.key.to_user_string(): [name for name in ("owners", "description", "kinds") if not getattr(spec, name)]
        for spec in specs
    }
    assert {key: names for key, names in lacking.items() if names} == {}
    assert {owner for spec in specs for owner in spec.owners} <= set(OWNERS.values())


def test_an_asset_of_a_group_that_nobody_owns_is_an_error() -> None:
    @dg.asset(group_name="orphans")
    def orphan() -> None:
        """Nobody's."""

    with pytest.raises(KeyError, match="orphans"):
        owned(dg.Definitions(assets=[orphan])).resolve_asset_graph()


def checks_of(defs: dg.Definitions) -> set[str]:
    return {f"{key.asset_key.to_user_string()}:{key.name}" for key in defs.resolve_asset_graph().asset_check_keys}


def test_every_published_asset_says_where_its_answer_is_and_the_check_is_there(tmp_path: Path) -> None:
    both = [build_defs(Configuration(store=str(tmp_path))), mart_defs(str(tmp_path))]
    checks = set().union(*(checks_of(defs) for defs in both))
    specs = [spec for defs in both for spec in made(defs)]
    published = [spec for spec in specs if spec.group_name in PUBLISHED]
    assert len(published) >= 40
    answers = {spec.key.to_user_string(): spec.metadata.get(ANSWER) for spec in specs}
    assert [spec.key.to_user_string() for spec in published if not spec.metadata.get(ANSWER)] == []
    named = {answer for answer in answers.values() if answer}
    assert named - {"freshness policy"} <= checks
    assert answers["ministry_index"] == "freshness policy"
    # An answer that is given to nothing is a name that was changed elsewhere.
    assert {name for name in ANSWERS if not name.endswith("/")} <= answers.keys()


@pytest.mark.parametrize("group", sorted(PUBLISHED))
def test_a_published_asset_without_an_answer_is_an_error(group: str) -> None:
    @dg.asset(group_name=group)
    def newcomer() -> None:
        """Added by somebody."""

    with pytest.raises(KeyError, match="newcomer is published and nothing says whether it is current"):
        owned(dg.Definitions(assets=[newcomer])).resolve_asset_graph()


def test_the_index_shows_whether_the_daily_look_took_place(tmp_path: Path) -> None:
    fresh = {
        spec.key.to_user_string()
        for spec in made(build_defs(Configuration(store=str(tmp_path))))
        if spec.freshness_policy
    }
    # Everything else is stale by what it was made from, which the sensors compare; time does not make it so.
    assert fresh == {"ministry_index"}


def test_what_asks_a_server_is_in_a_pool(tmp_path: Path) -> None:
    graph = build_defs(Configuration(store=str(tmp_path))).resolve_asset_graph()
    pools = {key.to_user_string(): graph.get(key).pools for key in graph.materializable_asset_keys}
    assert pools["ministry_index"] == pools["exam_papers"] == {"ministry"}
    assert pools["model_responses"] == pools["formosa_drafts"] == {"model_endpoint"}
    assert pools["hub_publication"] == {"hub"}
    assert pools["subject_dataset"] == set()


@pytest.mark.parametrize("name", INSTANCES)
def test_an_instance_holds_each_pool_to_one_and_retries_what_was_killed(name: str) -> None:
    settings = yaml.safe_load((ROOT / name).read_text())
    assert settings["concurrency"]["pools"] == {"default_limit": 1, "granularity": "op"}
    assert settings["run_retries"] == {"enabled": True, "max_retries": 2, "retry_on_asset_or_op_failure": False}
    assert settings["telemetry"] == {"enabled": False}
    assert settings["run_monitoring"]["enabled"] is True
    # Unset, the place that a killed run held in a pool is taken for ever: what is started again waits in the queue.
    assert settings["run_monitoring"]["free_slots_after_run_end_seconds"] == 60
    assert settings["freshness"] == {"enabled": True}


def test_the_corpus_schedule_starts_the_windows_and_is_off() -> None:
    [schedule] = [each for each in schedules(running=True) if each.name == "corpus_update"]
    assert schedule.job_name == "formosa_windows_job"
    assert schedule.default_status == dg.DefaultScheduleStatus.STOPPED


def test_alarm_settings_come_from_the_environment() -> None:
    assert alarm_settings({}) == {"allow_private": False}
    given = alarm_settings(
        {"OTB_ALARM_SMTP_HOST": "mail", "OTB_ALARM_SMTP_PORT": "25", "OTB_ALARM_MAIL_TO": "a@b.c, d@e.f"}
    )
    assert given == {"smtp_host": "mail", "smtp_port": 25, "mail_to": ["a@b.c", "d@e.f"], "allow_private": False}
    with pytest.raises(ValueError, match="on or off"):
        alarm_settings({"OTB_ALARM_ALLOW_PRIVATE": "yes"})


def test_dagster_understands_the_instance_of_a_deployment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything but the database is made as the settings say; nothing connects to one."""
    from dagster._core.instance.ref import InstanceRef
    from dagster._core.storage.compute_log_manager import ComputeLogManager

    for name in ("HOST", "USER", "PASSWORD", "DB"):
        monkeypatch.setenv(f"DAGSTER_PG_{name}", "x")
    monkeypatch.setenv("OTB_ARTIFACTS", str(tmp_path / "artifacts"))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "dagster.yaml").write_bytes((ROOT / "deploy" / "dagster.yaml").read_bytes())
    made = InstanceRef.from_dir(str(tmp_path / "home"))
    assert made.local_artifact_storage.base_dir == str(tmp_path / "artifacts")
    assert isinstance(made.compute_log_manager, ComputeLogManager)
    # Made without a complaint: the queue's settings are known ones.
    assert type(made.run_coordinator).__name__ == "QueuedRunCoordinator"
    assert made.storage_data.class_name == "DagsterPostgresStorage"
