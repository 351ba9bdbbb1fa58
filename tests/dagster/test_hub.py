"""The Hub in Dagster and in `otb hub`: off unless configured, only what passed, no token in any event or output."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import dagster as dg
import pytest
from rich.console import Console
from support.hub_store import FIRST, SECOND, hub_store
from typer.testing import CliRunner

from assets.hub import hub_combined, hub_publication
from opentwbench.dataset.hub_plan import COMBINED
from orchestration.cli import application
from orchestration.definitions import Configuration
from orchestration.hub_command import _table
from resources.store import Store
from samples.hub import WRITE, HubFault, LoopbackHub
from samples.loopback import FaultKind

TOKEN = "hf_loopbackSecret0123456789"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with LoopbackHub({TOKEN: WRITE}) as server:
        yield server


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return hub_store(tmp_path / "store", (FIRST, SECOND))


def materialize(
    asset: dg.AssetsDefinition, store: Store, settings: dict[str, object], partition: str | None = None
) -> tuple[dg.ExecuteInProcessResult, str]:
    """One run, and everything that Dagster recorded of it."""
    with dg.DagsterInstance.ephemeral() as instance:
        result = dg.materialize(
            [asset],
            partition_key=partition,
            instance=instance,
            resources=Configuration(store=store.url, hub=settings).resources(),
            raise_on_error=False,
        )
        return result, "\n".join(str(record) for record in instance.all_logs(result.run_id))


def test_it_is_off_unless_it_is_configured(hub: LoopbackHub, store: Store) -> None:
    for asset, partition in ((hub_publication, FIRST), (hub_combined, None)):
        result, _ = materialize(asset, store, {"endpoint": hub.endpoint}, partition)
        assert result.success
        assert result.get_asset_materialization_events() == []
    assert hub.log == ()


def test_a_subject_and_the_combined_set_are_published(hub: LoopbackHub, store: Store) -> None:
    settings: dict[str, object] = {"namespace": "Org", "endpoint": hub.endpoint}
    for asset, partition, name in ((hub_publication, FIRST, FIRST), (hub_combined, None, COMBINED)):
        result, said = materialize(asset, store, settings, partition)
        assert result.success
        (event,) = result.get_asset_materialization_events()
        metadata = event.step_materialization_data.materialization.metadata
        assert (
            metadata["commit"].value
            == hub.repositories[f"Org/{name}"].head.oid
            == store.read_json(store.hub(name))["commit"]
        )
        assert TOKEN not in said


def test_by_hand_nothing_goes_out_that_did_not_pass(hub: LoopbackHub, store: Store) -> None:
    store.remove(store.verdict(FIRST, "merged_stems"))
    result, said = materialize(hub_publication, store, {"namespace": "Org", "endpoint": hub.endpoint}, FIRST)
    assert not result.success
    assert "check merged_stems: no verdict" in said
    assert hub.log == ()


def test_a_refusal_is_recorded_without_the_token(hub: LoopbackHub, store: Store, tmp_path: Path) -> None:
    hub.plant(HubFault(FaultKind.STATUS, times=None, status=403, body=json.dumps({"error": f"no: {TOKEN}"})))
    result, said = materialize(hub_publication, store, {"namespace": "Org", "endpoint": hub.endpoint}, FIRST)
    assert not result.success
    assert "the token may not do this" in said
    assert TOKEN not in said
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and TOKEN.encode() in p.read_bytes()]


def test_the_command_plans_pushes_and_verifies(hub: LoopbackHub, store: Store) -> None:
    def otb(*arguments: str) -> tuple[int, str]:
        words = ["hub", *arguments, "--store", store.url, "--namespace", "Org", "--endpoint", hub.endpoint]
        ended = CliRunner().invoke(application(["hub"]), words, terminal_width=200)
        assert TOKEN not in ended.output
        return ended.exit_code, ended.output

    status, output = otb("plan", "--json")
    lines = {line["name"]: line for line in map(json.loads, output.splitlines())}
    assert (status, set(lines), lines[FIRST]["plan"]["create"]) == (3, {FIRST, SECOND}, True)
    assert hub.repositories == {}
    assert otb("verify", FIRST)[0] == 3
    assert otb("push")[0] == 0
    assert set(hub.repositories) == {f"Org/{FIRST}", f"Org/{SECOND}"}
    assert otb("plan")[0] == 0
    assert otb("verify", SECOND)[0] == 0
    store.remove(store.verdict(FIRST, "merged_stems"))
    assert otb("push", FIRST)[0] == 3
    assert otb("push", "tw-nobody-bench")[0] == 2
    asked = len(hub.log)
    status, output = otb("push", SECOND, "--token-env", "OTB_NO_SUCH_TOKEN")
    assert (status, "set OTB_NO_SUCH_TOKEN" in output) == (2, True)
    status, output = otb("push", "tw-exam-bench", "--sample", "no-such-edition.json")
    assert (status, "--sample no-such-edition.json: there is no such file" in output) == (2, True)
    assert len(hub.log) == asked
    hub.tokens.clear()
    assert otb("push", SECOND)[0] == 4


def test_a_column_without_a_cell_leaves_its_width_to_the_names() -> None:
    refused = {"name": "tw-chinese-language-bench", "refused": "a push needs a token: set HF_TOKEN"}
    shown = StringIO()
    Console(file=shown, width=80).print(_table([refused, {**refused, "name": "tw-medicine-bench"}]))
    assert "tw-chinese-language-bench" in shown.getvalue()
    assert "a push needs a token: set HF_TOKEN" in shown.getvalue()
    assert "rows" not in shown.getvalue()
