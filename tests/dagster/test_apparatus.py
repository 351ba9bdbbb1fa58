"""The apparatus studies over a store: assets, the command line, the raw table and the mart, from the sample models."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import dagster as dg
import pytest
from support.apparatus import cells
from typer.testing import CliRunner

import assets.apparatus
from opentwbench.apparatus.result import StudyError, read_payload
from opentwbench.apparatus.rows import current
from opentwbench.apparatus.studies import STUDIES
from opentwbench.evaluation.mart import open_mart
from opentwbench.evaluation.warehouse import read_table
from orchestration import board_command
from orchestration.apparatus_command import app
from orchestration.definitions import Configuration
from orchestration.sample_runs import write_sample_runs
from resources import currency
from resources.apparatus import Apparatus, kept, study_rows
from resources.store import Store, StoreError
from resources.warehouse import Warehouse, warehouse_of
from resources.warehouse_tables import Places, grade_run, ungraded_runs, write_tables


def write_raw(store: Store) -> Warehouse:
    places, house = Places(store), warehouse_of(store)
    house.prepare()
    for run_id in ungraded_runs(places, house):
        grade_run(places, house, places.runs / run_id)
    write_tables(places, house)
    return house


@pytest.fixture(scope="module")
def sampled(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample store with the runs of the sample models, graded; no study was conducted."""
    path = Path(shutil.copytree(built, tmp_path_factory.mktemp("apparatus") / "store"))
    store = Store(str(path))
    assert write_sample_runs(store) == 51
    write_raw(store)
    return path


@pytest.fixture
def store(sampled: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(sampled, tmp_path / "store"))


def otb(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, arguments)
    return result.exit_code, result.output


def test_every_study_has_a_result_on_the_sample_models(store: Path) -> None:
    code, said = otb("run", "--store", str(store), "--json")
    assert code == 0, said
    assert list(json.loads(said)) == list(STUDIES) and len(STUDIES) == 10
    rows = read_table(warehouse_of(Store(str(store))).raw, "apparatus_studies")
    for row in rows:
        study = read_payload(row["study_id"], row["payload"])
        assert study.n > 0 and study.tables and study.charts, row["study_id"]
        assert "sample models" in study.labelled.en
    assert [row["study_id"] for row in rows] == list(STUDIES)
    assert "reconstruction" in read_payload("prompt_placeholder", rows[1]["payload"]).labelled.en


def test_the_mart_holds_the_studies_and_no_study_reads_the_mart(store: Path) -> None:
    assert otb("run", "extraction", "half_life", "--store", str(store))[0] == 0
    house = warehouse_of(Store(str(store)))
    assert not (house.folder / "leaderboard.duckdb").exists()
    house.build()
    with open_mart(house.folder) as mart:
        found = mart.execute("SELECT study_id, n, payload FROM apparatus_studies ORDER BY study_id").fetchall()
        board = mart.execute(
            "SELECT run_id, model, max_tokens, serving_precision, strict_accuracy, benchmark || protocol_name"
            " FROM leaderboard"
        ).fetchall()
    assert [row[0] for row in found] == ["extraction", "half_life"]
    assert all(read_payload(row[0], row[2]).n == row[1] for row in found)
    # The choice of runs is the mart's own.
    chosen = {run.facts.run_id for run in Apparatus(Store(str(store)), house.raw).inputs.runs}
    assert chosen == {row[0] for row in board}
    # And so are its scores.
    shown = cells(read_payload(*found[0][::2]), 0, "benchmark", "protocol", "model", "method", "accuracy")
    strict = {(f"{b}{p}", name): accuracy for b, p, name, method, accuracy in shown if method == "strict"}
    for _, model, budget, precision, accuracy, where in board:
        mine = strict.get((where, model), strict.get((where, f"{model} ({budget}, {precision})")))
        assert mine == pytest.approx(100 * accuracy, abs=0.0051)
    assert len(strict) == len(board) == 51


def test_running_again_changes_no_byte(store: Path) -> None:
    otb("run", "curation", "--store", str(store))
    path = store / "apparatus" / "curation.json"
    before, when = path.read_bytes(), path.stat().st_mtime_ns
    otb("run", "curation", "--store", str(store))
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (before, when)


def test_a_store_without_runs_says_what_is_missing(built: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(built, tmp_path / "store"))
    code, said = otb("run", "--store", str(path), "--json")
    assert code == 2 and "otb mart build" in said
    write_raw(Store(str(path)))
    code, said = otb("run", "--store", str(path), "--json")
    assert code == 3
    found = json.loads(said)
    assert {name: each["n"] for name, each in found.items()} == dict.fromkeys(STUDIES, 0)
    assert all(each["finding"].startswith("Not run, input is missing") for each in found.values())
    assert otb("show", "two_axes", "--store", str(path))[0] == 3


def test_show_says_when_a_result_is_stale(store: Path) -> None:
    code, said = otb("show", "judge_panel", "--store", str(store))
    assert code == 3 and "never conducted" in said
    otb("run", "judge_panel", "--store", str(store))
    code, said = otb("show", "judge_panel", "--store", str(store))
    assert code == 0 and "Approval rates" in said and "stale" not in said, said
    verdicts = store / "judges" / "verdicts.jsonl"
    verdicts.write_bytes(verdicts.read_bytes().replace(b'"approve"', b'"reject"', 1))
    code, said = otb("show", "judge_panel", "--store", str(store), "--json")
    assert code == 4 and json.loads(said)["current"] is False


def test_a_board_and_its_check_name_the_studies_that_are_stale(store: Path, tmp_path: Path) -> None:
    site = ("--out", str(tmp_path / "site"), "--store", str(store))

    def board(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(board_command.app, [*arguments, *site])
        return result.exit_code, result.output

    conducted = ["extraction", "judge_panel"]
    assert otb("run", *conducted, "--store", str(store))[0] == 0
    house = warehouse_of(Store(str(store)))
    house.build()
    # The tables that a build writes anew are the same, and so are the studies of them.
    write_tables(Places(Store(str(store))), house)
    apparatus = Apparatus(Store(str(store)), house.raw)
    assert (apparatus.stale(), currency.studies(apparatus).is_current) == ([], True)
    code, said = board("build")
    assert code == 0 and "stale" not in said
    assert board("check")[0] == 0
    verdicts = store / "judges" / "verdicts.jsonl"
    verdicts.write_bytes(verdicts.read_bytes().replace(b'"approve"', b'"reject"', 1))
    assert [why.split(":")[0] for why in currency.studies(apparatus).why] == [f"study {each}" for each in conducted]
    code, said = board("build")
    assert code == 0 and f"stale studies: {', '.join(conducted)}; otb apparatus run" in said
    assert "stale studies: extraction, judge_panel" in board("check")[1]
    assert json.loads(board("check", "--json")[1])["stale_studies"] == conducted
    (store / "apparatus" / "extraction.json").write_text("<html>", encoding="utf-8")
    code, said = board("check")
    assert code == 2 and "extraction.json is not JSON" in said
    # A warehouse that came without its raw tables is compared with nothing.
    shutil.rmtree(house.raw)
    assert apparatus.stale() == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"judge": "x"}', "verdicts line"),
        ("<html>", "verdicts.jsonl line"),
        ('{"judge": "a", "item_id": "b", "verdict": "yes", "planted": null}', "approve or reject"),
    ],
)
def test_verdicts_that_are_none_are_refused_with_their_line(store: Path, line: str, words: str) -> None:
    with (store / "judges" / "verdicts.jsonl").open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    code, said = otb("run", "judge_panel", "--store", str(store))
    assert code == 2 and words in said, said
    assert not (store / "apparatus" / "judge_panel.json").exists()


@pytest.mark.parametrize("damage", ["{}", "[]", '{"made_from": "x", "study": {"title": 1}}', "\x00"])
def test_a_kept_result_that_is_none_stops_the_mart_and_names_the_file(store: Path, damage: str) -> None:
    otb("run", "extraction", "--store", str(store))
    (store / "apparatus" / "extraction.json").write_text(damage, encoding="utf-8")
    place = Store(str(store))
    with pytest.raises((StoreError, StudyError), match="extraction"):
        list(study_rows(place))
    with pytest.raises((StoreError, StudyError)):
        kept(place, "extraction")


def test_unknown_studies_are_refused() -> None:
    assert otb("run", "nothing")[0] == otb("show", "../x")[0] == 2


def test_the_assets_report_and_stand_between_raw_tables_and_the_raw_table_of_studies(store: Path) -> None:
    keys = {key for asset in assets.apparatus.ASSETS for key in asset.keys}
    assert keys == {dg.AssetKey(["apparatus", name]) for name in STUDIES} | {dg.AssetKey(["raw", "apparatus_studies"])}
    chosen = [each for each in assets.apparatus.STUDY_ASSETS if each.key.path[-1] in ("curation", "noise_floor")]
    result = dg.materialize(
        [*chosen, assets.apparatus.apparatus_studies], resources=Configuration(store=str(store)).resources()
    )
    assert result.success
    made = {
        event.asset_key.path[-1]: event.materialization.metadata
        for event in result.get_asset_materialization_events()
        if event.asset_key
    }
    assert made["apparatus_studies"]["rows"].value == 2
    figures = made["curation"]
    assert figures["n"].value == 7_503 and "no rank changes" in str(figures["finding"].value)
    assert "loud" in str(figures["table_3"].value) and "sample" in str(figures["labelled"].value)
    deps = {key.path[-1] for key in assets.apparatus.STUDY_ASSETS[0].dependency_keys}
    assert deps == set(assets.apparatus.READ)


def test_a_later_run_of_a_cell_takes_the_place_of_the_one_before(store: Path) -> None:
    apparatus = Apparatus(Store(str(store)), warehouse_of(Store(str(store))).raw)
    facts = [run.facts for run in apparatus.inputs.runs]
    assert len(facts) == 51 and all(each.complete for each in facts)
    assert current(facts) == sorted(facts, key=lambda each: each.run_id)
