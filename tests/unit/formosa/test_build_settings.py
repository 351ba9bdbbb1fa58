"""Settings of `otb build formosa` are held to their readers before anybody is asked: status 2, and nothing kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from opentwbench.formosa.orthography import SIMPLIFIED_FILE, TERMS_FILE
from orchestration import build_command
from orchestration.formosa_endpoint import scripted_settings
from resources.formosa_drafts import check_plan
from resources.formosa_plan import FormosaPlan, PlanError
from samples.model_endpoint import ModelEndpoint

NAMED = ("--corpus", str(scripted_settings()["corpus"]), "--model", "drafter", "--candidate", "judge")
WHOLE = (*NAMED, "--pool", "m1", "--pool", "m2", "--edition", "e1", "--date", "2026-11-30")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ModelEndpoint]:
    with ModelEndpoint() as running:
        yield running


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--band", "0-3"), "band: a band is LOW-HIGH"),
        (("--band", "2-1"), "band: a band is LOW-HIGH"),
        (("--band", "many"), "band: a band is LOW-HIGH"),
        (("--lexicon", "nope"), "lexicon: "),
        (("--good", "nope"), "good: "),
        (("--findings", "nope"), "findings: "),
        (("--withdrawn", "nope"), "withdrawn: "),
        (("--run", "nope"), "runs: "),
        (("--submission", "nope"), "submissions: "),
        (("--date", "30.11.2026"), "date: "),
        (("--date", "20261130"), "date: it reads YYYY-MM-DD"),
        (("--edition", "../up"), "edition: a name fits"),
        (("--stated", "HEAD"), "stated: a commit is stated as"),
        (("--pool", "m1"), "pool: m1 is named twice"),
        (("--external", "m2"), "pool: m2 is named twice"),
        (("--external", "a\x1bb"), "external: a model's name"),
        (("--corpus", "nope"), "no such folder"),
    ],
)
def test_a_setting_that_a_later_step_would_refuse_is_refused_before_anything_is_asked(
    tmp_path: Path, endpoint: ModelEndpoint, given: tuple[str, str], said: str
) -> None:
    store = tmp_path / "store"
    arguments = ("formosa", "--store", str(store), "--base-url", endpoint.base_url, *WHOLE)
    option, value = given
    if value == "nope":
        value = str(tmp_path / "nope")
    result = CliRunner().invoke(build_command.app, [*arguments, option, value])
    assert result.exit_code == 2, result.output
    assert said in " ".join(result.output.split())
    assert endpoint.stats()["requests"] == 0
    if option != "--corpus":
        assert not (store / "formosa/settings.json").exists()


def test_a_pool_that_is_none_is_refused(tmp_path: Path, endpoint: ModelEndpoint) -> None:
    arguments = ("formosa", "--store", str(tmp_path), "--base-url", endpoint.base_url, *NAMED)
    named = ("--edition", "e1", "--date", "2026-11-30")
    for pool, said in (((), "pool: no model"), (("--pool", "m1"), "at least two models")):
        result = CliRunner().invoke(build_command.app, [*arguments, *named, *pool])
        assert result.exit_code == 2 and said in " ".join(result.output.split())
    assert endpoint.stats()["requests"] == 0


def test_settings_that_every_reader_takes_pass(tmp_path: Path) -> None:
    (tmp_path / SIMPLIFIED_FILE).write_text(json.dumps(["这"]), "utf-8")
    (tmp_path / TERMS_FILE).write_text("{}", "utf-8")
    (tmp_path / "empty.jsonl").write_bytes(b"")
    empty = str(tmp_path / "empty.jsonl")
    given = {**scripted_settings(), "lexicon": str(tmp_path), "findings": empty, "good": empty, "withdrawn": empty}
    check_plan(FormosaPlan.of(given))
    check_plan(FormosaPlan.of({**scripted_settings(), "band": "0-7", "stated": "5459d7f6"}))
    check_plan(FormosaPlan())  # what is missing is said by whoever needs it
    with pytest.raises(PlanError, match="band"):
        check_plan(FormosaPlan.of({**scripted_settings(), "band": "0-8"}))
