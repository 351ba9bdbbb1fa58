"""The Formosa assets over the sample articles with the scripted endpoint: a full run, an update, refusals, kills."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from support.exam_store import CONSTITUTION
from support.formosa_builds import DEAD, build_formosa, held, replies
from typer.testing import CliRunner

import assets.formosa_items
from checks.formosa import FORMOSA_CHECKS
from opentwbench.dataset.files import read_jsonl
from opentwbench.dataset.publication import Verdict, folder_hashes
from opentwbench.evaluation import replies as evaluation_replies
from opentwbench.evaluation.journal import JOURNAL_NAME, read_run
from opentwbench.formosa import output
from opentwbench.formosa.dataset_checks import CHECKS
from opentwbench.formosa.output import FOLDER_NAMES, SLUG, items_from
from opentwbench.formosa.window_files import read_windows
from orchestration import build_command
from orchestration.build import Build
from orchestration.configuration import Configuration
from orchestration.formosa_endpoint import ARTICLES, scripted_endpoint, scripted_settings
from orchestration.in_process import QUIET
from resources.formosa_places import DATASET, HISTORY, ITEMS, PUBLICATION
from resources.formosa_plan import PlanError
from resources.gated_set import PUBLISHED, WITHHELD
from resources.store import Store
from samples.model_endpoint import ModelEndpoint

ROOT = Path(__file__).resolve().parents[2]
ONE_ARTICLE = "Culture/樣本元宵.md"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The store of an undisturbed build and its report. Read only: copy it to change it."""
    store = tmp_path_factory.mktemp("formosa") / "store"
    with scripted_endpoint(str(store)) as endpoint:
        report = build_formosa(store, endpoint.base_url)
        asked = endpoint.stats()["requests"]
    return store, report.to_json() | {"requests": asked}


@pytest.fixture
def store(made: tuple[Path, dict[str, Any]], tmp_path: Path) -> Path:
    return Path(shutil.copytree(made[0], tmp_path / "store"))


@pytest.fixture
def endpoint(store: Path) -> Iterator[ModelEndpoint]:
    with scripted_endpoint(str(store)) as running:
        yield running


def test_a_full_run_ends_in_a_published_folder_through_every_check(made: tuple[Path, dict[str, Any]]) -> None:
    place, report = made
    categories = ("Culture", "Food", "Geography")
    parts = [f"{name}[{category}]" for name in ("formosa_drafts", "formosa_grounded") for category in categories]
    single = ("windows", "screens", "judge_study", "items", "difficulty", "dataset", "publication")
    assert sorted(report["ran"]) == sorted([*parts, *(f"formosa_{name}" for name in single)])
    assert report["stopped"] == "" and report["dataset"]["state"] == PUBLISHED
    assert report["asked"] == report["requests"] > 0
    hashes = folder_hashes(place / DATASET, FOLDER_NAMES)
    for name in CHECKS:
        verdict = Verdict.from_json(Store(str(place)).read_json(Store(str(place)).verdict(SLUG, name)))
        assert verdict.passed and verdict.files == hashes
    published = place / PUBLICATION
    rows = read_jsonl(published / "benchmark.jsonl")
    account = report["account"]
    assert len(rows) == report["edition"]["kept"] == report["dataset"]["items"] > 0
    assert account["grounded"] == len(read_jsonl(place / ITEMS))
    assert (published / "benchmark.jsonl").read_bytes() == (place / DATASET / "benchmark.jsonl").read_bytes()
    assert {row["judge"] for row in rows} == {"scripted/judge-careful"}
    assert report["judges"]["passed"] == ["scripted/judge-careful", "scripted/judge-twin"]
    assert report["judges"]["trials"] == 22 + 3 * 40


def test_nothing_changed_nothing_runs_and_nobody_is_asked(store: Path) -> None:
    # The settings are those that the store keeps; the endpoint is one that nobody answers at.
    again = build_formosa(store, DEAD)
    assert again.unchanged and again.asked == 0 and again.state.state == PUBLISHED


def edited(folder: Path) -> tuple[str, str]:
    """The sample corpus with the last paragraph of one article changed; the paragraph before and after."""
    shutil.copytree(ARTICLES, folder)
    path = folder / "knowledge" / ONE_ARTICLE
    before, after = "猜燈謎也是元宵的傳統，廟埕會掛出謎題", "猜燈謎也是元宵的老習俗，廟埕會掛出謎題"
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after), "utf-8")
    return before, after


def test_an_update_of_one_article_asks_only_for_what_changed(
    store: Path, endpoint: ModelEndpoint, tmp_path: Path
) -> None:
    before, after = edited(tmp_path / "corpus")
    windows = read_windows(store / "formosa/windows/Culture.jsonl")
    gone = [name for name, window in windows.items() if before in window.text]
    items = items_from((store / ITEMS).read_bytes(), ITEMS)
    lost = [item.item_id for item in items if item.window_id in gone]
    assert len(gone) == 1 and len(lost) == 1
    report = build_formosa(store, endpoint.base_url, corpus=str(tmp_path / "corpus"))
    assert report.stopped == "" and report.state.state == PUBLISHED
    update = report.update
    assert (update["to_draft"], update["gone"], update["kept"]) == (1, 1, len_windows(store) - 1)
    assert [each["item_id"] for each in update["lost_ground"]] == lost
    # One draft, one judgement, and the new item before each of eight models; the judge study asks nothing again.
    now = items_from((store / ITEMS).read_bytes(), ITEMS)
    new = [item for item in now if item.item_id not in {each.item_id for each in items}]
    assert [after in item.quote or item.window_id not in windows for item in new] == [True]
    assert report.asked == endpoint.stats()["requests"] == 1 + 1 + 8
    assert "formosa_judge_study" not in report.ran and "formosa_drafts[Food]" not in report.ran
    assert lost[0] not in {item.item_id for item in now}
    assert len((store / HISTORY).read_text("utf-8").splitlines()) == 1
    # The published folder's changelog names what left and what came.
    assert report.state.version in (store / PUBLICATION / "CHANGELOG.md").read_text("utf-8")
    assert len(list((store / "formosa/editions").iterdir())) == 2


def len_windows(store: Path) -> int:
    return sum(len(read_jsonl(path)) for path in (store / "formosa/windows").glob("*.jsonl"))


def test_a_category_that_leaves_the_corpus_takes_its_partition_along(
    store: Path, endpoint: ModelEndpoint, tmp_path: Path
) -> None:
    shutil.copytree(ARTICLES, tmp_path / "corpus")
    shutil.rmtree(tmp_path / "corpus/knowledge/Geography")
    report = build_formosa(store, endpoint.base_url, corpus=str(tmp_path / "corpus"))
    assert report.stopped == "" and report.state.state == PUBLISHED
    assert not (store / "formosa/windows/Geography.jsonl").exists()
    categories = {row["category"] for row in read_jsonl(store / PUBLICATION / "benchmark.jsonl")}
    assert categories == {"Culture", "Food"} and endpoint.stats()["requests"] == 0


# -- gating -----------------------------------------------------------------------------------------------------------


@dg.asset(name="formosa_dataset")
def files_as_they_are() -> None:
    """Stands for the data set in a run that judges the files of a test as they are."""


def materialize(store: Path, *definitions: Any) -> dg.ExecuteInProcessResult:
    resources = Configuration(store=str(store), formosa=scripted_settings()).resources()
    return dg.materialize(list(definitions), resources=resources, raise_on_error=False, run_config=QUIET)


def test_a_folder_whose_bytes_no_check_passed_is_refused(store: Path) -> None:
    target = store / PUBLICATION
    before = {path.name: path.read_bytes() for path in target.iterdir()}
    csv = store / DATASET / "benchmark.csv"
    csv.write_bytes(csv.read_bytes() + b"\n")
    done = materialize(store, assets.formosa_items.formosa_publication)
    assert not done.success
    assert {path.name: path.read_bytes() for path in target.iterdir()} == before
    # The checks alone, over the damaged folder: the one that looks at it fails, and the gate stays shut.
    chosen = [each for each in FORMOSA_CHECKS if next(iter(each.check_keys)).name == "csv_mirrors_jsonl"]
    (found,) = materialize(store, files_as_they_are, *chosen).get_asset_check_evaluations()
    assert not found.passed and "csv_mirrors_jsonl" in found.check_name
    assert not materialize(store, assets.formosa_items.formosa_publication).success
    # A build makes the folder again from what it was made from, and it is published as it was.
    assert build_formosa(store, DEAD).state.state == PUBLISHED
    assert {path.name: path.read_bytes() for path in target.iterdir()} == before


def test_a_planted_defect_stops_only_its_data_set(
    copied: Path, configured: Callable[[], Configuration], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = output.csv_records_bytes

    def planted(rows: Any, columns: Any) -> bytes:
        return real([{**rows[0], "question": "另一題？"}, *rows[1:]], columns)

    monkeypatch.setattr(output, "csv_records_bytes", planted)
    with scripted_endpoint(str(copied)) as endpoint:
        report = build_formosa(copied, endpoint.base_url)
    assert report.state.state == WITHHELD and report.stopped == ""
    assert [each.partition(":")[0] for each in report.state.against] == ["csv_mirrors_jsonl"]
    assert not (copied / PUBLICATION).exists() and (copied / "publications" / CONSTITUTION).is_dir()
    # The exam track in the same store is as it was: nothing of it is stale, nothing of Formosa is in its release.
    exam = Build(configured()).run()
    assert exam.unchanged and SLUG not in exam.release["subjects"]


# -- what was frozen, and who answered --------------------------------------------------------------------------------


def pool_journal(store: Path, model: str) -> Path:
    """The journal of a pool member's run."""
    found = [path for path in (store / "formosa/runs/pool").iterdir() if read_run(path).model == model]
    assert len(found) == 1
    return found[0] / JOURNAL_NAME


def another_answer(store: Path) -> Path:
    path = pool_journal(store, "scripted/pool-a")
    data = path.read_bytes()
    old = next(letter for letter in "ABCD" if f"boxed{{{letter}}}".encode() in data)
    new = "BCDA"["ABCD".index(old)]
    path.write_bytes(data.replace(f"boxed{{{old}}}".encode(), f"boxed{{{new}}}".encode(), 1))
    return path


def another_pass(store: Path) -> Path:
    (folder,) = (store / "formosa/editions").iterdir()
    path = folder / "difficulty.jsonl"
    path.write_bytes(path.read_bytes().replace(b"true", b"false", 1))
    return path


def another_date(store: Path) -> Path:
    (folder,) = (store / "formosa/editions").iterdir()
    path = folder / "edition.json"
    path.write_text(path.read_text("utf-8").replace('"date": "20', '"date": "19'), "utf-8")
    return path


@pytest.mark.parametrize("change", [another_answer, another_pass, another_date])
def test_a_build_refuses_what_was_changed_since_the_freeze(store: Path, change: Callable[[Path], Path]) -> None:
    before = {path.name: path.read_bytes() for path in (store / PUBLICATION).iterdir()}
    path = change(store)
    edited_bytes = path.read_bytes()
    for _ in range(2):  # it does not heal by being started again
        report = build_formosa(store, DEAD)
        assert (report.stopped, report.kind, report.asked) == ("formosa_difficulty", "CurationError", 0)
        assert "changed" in report.reason or "not the sidecar" in report.reason
        assert path.name in report.reason or path.parent.name in report.reason
    assert path.read_bytes() == edited_bytes
    assert {path.name: path.read_bytes() for path in (store / PUBLICATION).iterdir()} == before


def test_the_edition_of_today_is_made_again_when_its_copy_was_changed(store: Path) -> None:
    path = store / "formosa/edition/difficulty.jsonl"
    before = path.read_bytes()
    path.write_bytes(before.replace(b"true", b"false", 1))
    assert build_formosa(store, DEAD).state.state == PUBLISHED
    assert path.read_bytes() == before


def test_an_edition_that_a_kill_left_half_written_is_written_again(store: Path) -> None:
    (folder,) = (store / "formosa/editions").iterdir()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    (folder / "edition.json").unlink()
    (store / "formosa/edition.json").unlink()
    assert build_formosa(store, DEAD).state.state == PUBLISHED
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def asked_again(store: Path, model: str) -> None:
    """Forget a pool member's run, and the editions that it is in."""
    shutil.rmtree(pool_journal(store, model).parent)
    shutil.rmtree(store / "formosa/editions")
    (store / "formosa/edition.json").unlink()


def serving(monkeypatch: pytest.MonkeyPatch, model: str, names: tuple[str, ...]) -> None:
    """From now on the replies to a model carry these names in turn."""
    real, turn = evaluation_replies._name, count()

    def served(value: object) -> str | None:
        return names[next(turn) % len(names)] if value == model else real(value)

    monkeypatch.setattr(evaluation_replies, "_name", served)


def test_an_endpoint_that_serves_another_model_is_said_wherever_the_edition_is_shown(
    store: Path, endpoint: ModelEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_again(store, "scripted/pool-a")
    serving(monkeypatch, "scripted/pool-a", ("cheap-model",))
    report = build_formosa(store, endpoint.base_url)
    assert report.state.state == PUBLISHED and endpoint.stats()["requests"] > 0
    assert report.edition["served_otherwise"] == {"scripted/pool-a": ["cheap-model"]}
    items = len(read_jsonl(store / ITEMS))
    manifest = json.loads((store / PUBLICATION / "manifest.json").read_bytes())
    served = manifest["served"]
    assert served["pool"]["scripted/pool-a"] == {"cheap-model": items}
    assert served["pool"]["scripted/pool-b"] == {"scripted/pool-b": items}
    judge = "scripted/judge-careful"
    assert served["studied"][judge] == {judge: 22 + 3 * 40} and list(served["judged"]) == [judge]
    assert sum(served["drafted"]["scripted/drafter"].values()) == len_windows(store)
    card = (store / PUBLICATION / "README.md").read_text("utf-8")
    assert "scripted/pool-a was asked, cheap-model answered" in card.replace("&#58;", ":")


def test_a_model_that_changes_underway_is_in_no_pool(
    store: Path, endpoint: ModelEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_again(store, "scripted/pool-a")
    serving(monkeypatch, "scripted/pool-a", ("scripted/pool-a", "cheap-model"))
    report = build_formosa(store, endpoint.base_url)
    assert (report.stopped, report.kind) == ("formosa_difficulty", "CurationError")
    assert "replies came from 2 models" in report.reason and not (store / "formosa/editions").exists()


def test_a_judge_that_is_another_one_after_its_study_does_not_ground(
    store: Path, endpoint: ModelEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(store / "formosa/grounded")
    for folder in (store / "formosa/runs").glob("*/scripted-judge-careful--*"):
        if folder.parent.name != "judge-study":
            shutil.rmtree(folder)
    serving(monkeypatch, "scripted/judge-careful", ("cheap-model",))
    report = build_formosa(store, endpoint.base_url)
    assert (report.stopped, report.kind) == ("formosa_grounded", "JudgeRefused")
    assert "not one model's" in report.reason and "cheap-model" in report.reason
    assert (bool(report.judges), bool(report.screens), report.account, report.edition) == (True, True, {}, {})


# -- what stops a build -----------------------------------------------------------------------------------------------


def test_without_an_endpoint_nothing_is_drafted_and_the_build_says_so(tmp_path: Path) -> None:
    report = build_formosa(tmp_path / "store", "")
    assert (report.stopped, report.kind) == ("formosa_drafts", "AskingStopped")
    assert "no endpoint is configured" in report.reason and report.ran == ["formosa_windows"]


def test_no_judge_that_failed_its_study_grounds(tmp_path: Path) -> None:
    place = tmp_path / "store"
    with scripted_endpoint(str(place)) as endpoint:
        report = build_formosa(place, endpoint.base_url, judges=["scripted/judge-yes", "scripted/judge-no"])
        assert (report.stopped, report.kind) == ("formosa_grounded", "JudgeRefused")
        asked = endpoint.stats()["requests"]
        named = build_formosa(place, endpoint.base_url, judges=["scripted/judge-yes"], judge="scripted/judge-yes")
        assert named.kind == "JudgeRefused" and "did not pass its study" in named.reason
        assert endpoint.stats()["requests"] == asked and not (place / "formosa/grounded").exists()


def test_without_a_lexicon_nothing_is_published(tmp_path: Path) -> None:
    place = tmp_path / "store"
    with scripted_endpoint(str(place)) as endpoint:
        report = build_formosa(place, endpoint.base_url, lexicon="")
    assert report.state.state == WITHHELD
    assert [each.partition(":")[0] for each in report.state.against] == ["orthography"]


@pytest.mark.parametrize("missing", ["corpus", "model", "judges", "edition", "date"])
def test_a_setting_that_is_missing_is_named_before_anything_runs(tmp_path: Path, missing: str) -> None:
    given = {name: value for name, value in scripted_settings().items() if name != missing}
    from orchestration.formosa_build import FormosaBuild

    with pytest.raises(PlanError, match=missing):
        FormosaBuild(Configuration(store=str(tmp_path / "store"), formosa=given)).run()
    assert not (tmp_path / "store").exists()


# -- the command ------------------------------------------------------------------------------------------------------


def otb(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(build_command.app, ["formosa", *map(str, arguments)])
    return result.exit_code, result.output


def test_the_command_reports_and_its_status_says_how_it_went(store: Path, tmp_path: Path) -> None:
    code, said = otb("--store", store, "--json")
    report = json.loads(said)
    assert (code, report["ran"], report["dataset"]["state"]) == (0, [], PUBLISHED)
    code, said = otb("--store", store)
    assert code == 0 and "nothing changed" in said and "scripted/judge-careful" in said
    code, said = otb("--store", tmp_path / "none")
    assert code == 2 and "corpus: not set" in said
    assert otb("--store", tmp_path / "none", "--scripted", "--base-url", DEAD)[0] == 2
    # Another drafting model and nobody to ask: what is there stays, and the status says that asking stopped.
    code, said = otb("--store", store, "--model", "another")
    assert code == 4 and "another: 10 of 10 unasked" in said and "nothing changed" not in said
    # What stands behind the stop is an earlier build's, and this one does not call it its own.
    assert not any(words in said for words in ("edition ", "grounded", "judges that may", "data set:"))
    assert (store / PUBLICATION / "benchmark.jsonl").is_file()


# -- kills ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed_builds_end_with_the_same_items_and_nothing_that_is_held_is_asked_twice(
    made: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    place = tmp_path / "store"
    program = str(ROOT / "tests" / "support" / "formosa_builds.py")
    with scripted_endpoint(str(place), latency=0.005) as endpoint:
        command = [sys.executable, program, str(place), endpoint.base_url, "6", "20261130"]
        environment = {
            **os.environ,
            "DAGSTER_HOME": "",
            "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests"))),
        }
        pipe = subprocess.PIPE
        asked_when_held: dict[str, int] = {}
        kills = 0
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment) as process:
            assert process.stdin is not None and process.stdout is not None
            for line in process.stdout:
                said = json.loads(line)
                kills += said["killed"]
                counts = endpoint.stats(counts=True)["asked"]
                for request in said["held"]:
                    asked_when_held.setdefault(request, counts[request])
                process.stdin.write("\n")
                process.stdin.flush()
        assert process.returncode == 0 and kills >= 4
        report = build_formosa(place, endpoint.base_url)
        counts = endpoint.stats(counts=True)["asked"]
    assert report.state.state == PUBLISHED
    # A good draft of the study is put before the same judge again when it is grounded: one request, two runs.
    final = held(place)
    once = {request: asked for request, asked in asked_when_held.items() if final[request] == 1}
    assert {request: counts[request] for request in once} == once
    assert len(once) > 100
    # Every identity has one reply, and the items are those of a build that nobody killed.
    assert final == held(made[0]) and replies(place) == replies(made[0])
    for name in (
        ITEMS,
        "formosa/drafts/Food.jsonl",
        "formosa/judges/studies.jsonl",
        "formosa/edition/difficulty.jsonl",
    ):
        assert (place / name).read_bytes() == (made[0] / name).read_bytes(), name
    bench = "benchmark.jsonl"
    assert (place / PUBLICATION / bench).read_bytes() == (made[0] / PUBLICATION / bench).read_bytes()
