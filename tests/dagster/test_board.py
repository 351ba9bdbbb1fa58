"""The site as an asset: what it reports, what its checks see, and the commands over the same mart."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml
from support.board_mart import Size, fill_board
from typer.testing import CliRunner

from assets.board import board_site
from checks.board import site_is_current, site_is_whole
from opentwbench.board.pages import CFF
from opentwbench.board.queries import read_mart
from opentwbench.board.site import RECORD, SUMS, changed_files
from opentwbench.evaluation.mart import DATABASE, open_mart
from orchestration.board_command import app
from orchestration.leaderboard_definitions import build_defs
from resources.board import BoardResource
from resources.models import WarehouseResource
from resources.settings import StoreResource
from resources.warehouse import Warehouse

pytestmark = pytest.mark.slow

SMALL = Size(models=7, exam_items=24, subjects=3, formosa_items=12)


def evaluated() -> int:
    """Items with a page: all but the one that the invented mart withdraws."""
    return SMALL.exam_items + SMALL.formosa_items - 1


@dataclass(frozen=True)
class Mart:
    """A store with an invented mart, read only."""

    store: Path

    @property
    def warehouse(self) -> Path:
        return self.store / "warehouse"


@pytest.fixture(scope="module")
def mart(tmp_path_factory: pytest.TempPathFactory) -> Mart:
    place = Mart(tmp_path_factory.mktemp("board"))
    house = Warehouse(place.warehouse)
    fill_board(house.raw, SMALL, hostile=True)
    house.build()
    return place


def resources(store: Path, out: Path, **board: str) -> dict[str, Any]:
    return {
        "store": StoreResource(url=str(store)),
        "warehouse": WarehouseResource(),
        "board": BoardResource(out=str(out), **board),
    }


def materialized(store: Path, out: Path, **board: str) -> dg.ExecuteInProcessResult:
    return dg.materialize([board_site], resources=resources(store, out, **board), raise_on_error=False)


def checked(check: Any, store: Path, out: Path, **board: str) -> dg.AssetCheckResult:
    found: dg.AssetCheckResult = check(**resources(store, out, **board))
    return found


def failure(result: dg.ExecuteInProcessResult) -> str:
    event = next(event for event in result.all_events if event.is_step_failure)
    data: Any = event.event_specific_data
    return str(data.user_failure_data.description)


def test_the_asset_says_how_many_pages_and_where(mart: Mart, tmp_path: Path) -> None:
    out = tmp_path / "site"
    result = materialized(mart.store, out)
    assert result.success
    event = result.asset_materializations_for_node("board_site")[0]
    metadata = {name: value.value for name, value in event.metadata.items()}
    assert metadata["open"] == str(out / "index.html") and Path(str(metadata["open"])).is_file()
    assert metadata["pages"] == len(list(out.rglob("*.html")))
    assert metadata["items"] == evaluated()
    assert checked(site_is_whole, mart.store, out).passed
    assert checked(site_is_current, mart.store, out).passed


def test_the_checks_see_planted_damage(mart: Mart, tmp_path: Path) -> None:
    out = tmp_path / "site"
    assert materialized(mart.store, out).success
    page = out / "zh" / "index.html"
    whole = page.read_text(encoding="utf-8")
    planted = {
        "a link to nowhere": whole.replace("</main>", '<a href="gone.html">x</a></main>'),
        "a script of its own": whole.replace("</main>", "<script>alert(1)</script></main>"),
        "a picture from elsewhere": whole.replace("</main>", '<img src="https://example.org/x.png"></main>'),
    }
    for what, text in planted.items():
        assert text != whole
        page.write_text(text, encoding="utf-8")
        found = checked(site_is_whole, mart.store, out)
        assert not found.passed, what
        assert "zh/index.html" in str(found.metadata["first_problems"].value)
    page.write_text(whole, encoding="utf-8")
    assert checked(site_is_whole, mart.store, out).passed
    (out / "en" / "cite.html").unlink()
    assert not checked(site_is_whole, mart.store, out).passed
    record = json.loads((out / RECORD).read_text())
    (out / RECORD).write_text(json.dumps({**record, "mart": "of another day"}))
    assert not checked(site_is_current, mart.store, out).passed


def test_bytes_that_no_build_wrote_are_seen_and_never_swept_away(mart: Mart, tmp_path: Path) -> None:
    out = tmp_path / "site"
    assert materialized(mart.store, out).success
    kept = {name: (out / name).read_bytes() for name in ("en/index.html", "static/board.js", SUMS)}
    figure = next(part for part in kept["en/index.html"].split(b">") if part[:1].isdigit() and b"." in part[:5])
    planted = {
        "cut short": ("en/index.html", kept["en/index.html"][:15_000]),
        "another figure": ("en/index.html", kept["en/index.html"].replace(figure, b"99.9" + figure[4:], 1)),
        "no UTF-8": ("en/index.html", kept["en/index.html"] + b"\xff"),
        "an empty script": ("static/board.js", b""),
        "a script that fetches": ("static/board.js", kept["static/board.js"] + b"fetch('https://example.org')"),
        "sums of its own": (SUMS, kept[SUMS].replace(b"0", b"1", 1)),
    }
    for what, (name, data) in planted.items():
        (out / name).write_bytes(data)
        found = checked(site_is_whole, mart.store, out)
        assert not found.passed, what
        assert name in str(found.metadata["first_problems"].value), what
        (out / name).write_bytes(kept[name])
    assert checked(site_is_whole, mart.store, out).passed
    (out / "CNAME").write_text("board.example.org")
    (out / "a: b.txt").write_text("a name with the sign that parts name and reason")
    assert changed_files(out) == [(name, "was not written with the site") for name in ("CNAME", "a: b.txt")]
    (out / "a: b.txt").unlink()
    assert not checked(site_is_whole, mart.store, out).passed
    assert "holds CNAME, which no site wrote" in failure(materialized(mart.store, out))
    assert (out / "CNAME").read_text() == "board.example.org"
    (out / "CNAME").unlink()
    assert materialized(mart.store, out).success


def test_the_pages_name_articles_runs_ties_and_licences(mart: Mart, tmp_path: Path) -> None:
    with open_mart(mart.warehouse) as connection:
        read = read_mart(connection)
        asked = {row[0] for row in connection.execute("SELECT DISTINCT article_url FROM item_texts").fetchall()}
    assert materialized(mart.store, tmp_path / "site").success
    cite = (tmp_path / "site" / "en" / "cite.html").read_text(encoding="utf-8")
    assert len(read.articles) == 41 > len(asked - {None}), "articles of items that nobody was asked are named too"
    assert all(f'href="{row["url"]}"' in cite and row["attribution"] in unescape(cite) for row in read.articles)
    cff = yaml.safe_load(CFF)
    assert "license" not in cff and "Apache" not in CFF
    assert [each["license"] for each in cff["references"]] == ["OGDL-Taiwan-1.0", "CC-BY-SA-4.0"]
    changes = (tmp_path / "site" / "en" / "changes.html").read_text(encoding="utf-8")
    table = changes.split("<h2>Rescored runs</h2>")[1].split("<h2>")[0]
    assert len(read.score_history) == 2 and table.count('<th scope="row">') == 1, "a run that did not move is no row"
    assert "are not listed: 1<" in table
    run = next(row for row in read.board if row["run_id"] == "exam-000")
    assert f'<td class="n">{run["max_tokens"]:,}</td>' in table and run["protocol_name"] in table
    ties = 0
    for board, subjects in read.typical.items():
        for subject, typical in subjects.items():
            scores = [
                (cell["accuracy"], row["model"])
                for row in read.board
                if (row["benchmark"], row["protocol_name"]) == board and row["is_complete"]
                for cell in read.subject_scores[row["run_id"]]
                if cell["subject"] == subject
            ]
            assert typical["best_models"] == sorted({name for score, name in scores if score == max(scores)[0]})
            ties += len(typical["best_models"]) > 1
    assert ties > 0


def test_without_a_mart_the_failure_says_what_to_do(tmp_path: Path) -> None:
    result = materialized(tmp_path / "empty", tmp_path / "site")
    assert not result.success
    assert f"{DATABASE} is not there: build the mart first" in failure(result)
    assert not (tmp_path / "site").exists()
    assert not checked(site_is_whole, tmp_path / "empty", tmp_path / "site").passed
    assert not checked(site_is_current, tmp_path / "empty", tmp_path / "site").passed


def test_neither_a_foreign_folder_nor_a_foreign_address_is_taken(mart: Mart, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    assert "holds something else than a site" in failure(materialized(mart.store, tmp_path / "mine"))
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "mine"
    said = failure(materialized(mart.store, tmp_path / "site", report="javascript:alert('{item}')"))
    assert "begins with neither https:// nor mailto:" in said


def test_links_of_the_settings_reach_the_pages(mart: Mart, tmp_path: Path) -> None:
    addresses = {"cards": "https://example.org/{dataset}", "report": "mailto:a@example.org?subject={item}"}
    assert materialized(mart.store, tmp_path / "site", **addresses).success
    assert checked(site_is_current, mart.store, tmp_path / "site", **addresses).passed
    assert not checked(site_is_current, mart.store, tmp_path / "site").passed, "the addresses that are set are others"
    assert not checked(site_is_current, mart.store, tmp_path / "site", cards="no address").passed
    assert "https://example.org/tw-" in (tmp_path / "site" / "en" / "subjects.html").read_text(encoding="utf-8")
    items = list((tmp_path / "site" / "en" / "items").rglob("*.html"))
    assert len(items) == evaluated()
    assert all(f"mailto:a@example.org?subject={path.stem}" in path.read_text(encoding="utf-8") for path in items)


def test_the_code_location_holds_asset_checks_and_job(mart: Mart) -> None:
    defs = build_defs(str(mart.store))
    keys = {key.to_user_string() for key in defs.resolve_asset_graph().get_all_asset_keys()}
    assert "board_site" in keys
    names = {key.name for key in defs.resolve_asset_graph().asset_check_keys}
    assert {"site_is_whole", "site_is_current"} <= names
    assert defs.resolve_job_def("board_job").name == "board_job"


def otb(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, arguments)
    return result.exit_code, result.output


def test_the_command_builds_and_checks_with_its_statuses(mart: Mart, tmp_path: Path) -> None:
    out = tmp_path / "site"
    place = ("--out", str(out), "--store", str(mart.store))
    code, said = otb("build", *place, "--json")
    assert code == 0
    assert json.loads(said.splitlines()[-1])["open"] == str(out / "index.html")
    code, said = otb("check", *place, "--json")
    assert (code, json.loads(said)["whole"], json.loads(said)["current"]) == (0, True, True)
    cards = ("--cards", "https://example.org/{dataset}")
    assert otb("check", *place, *cards)[0] == 3, "it was built without"
    assert otb("build", *place, *cards)[0] == 0
    assert otb("check", *place, *cards)[0] == otb("check", *place)[0] == 0
    assert otb("check", *place, "--cards", "")[0] == 3
    assert otb("check", *place, "--report", "mailto:a@example.org?subject={item}")[0] == 3
    assert otb("check", *place, "--report", "javascript:{item}")[0] == 2
    (out / "static" / "board.css").unlink()
    assert otb("check", *place)[0] == 4
    assert otb("check", "--out", str(tmp_path / "none"), "--store", str(mart.store))[0] == 2
    assert otb("build", "--out", str(out), "--store", str(tmp_path / "empty"))[0] == 2
    assert otb("build", *place, "--cards", "http://example.org/{dataset}")[0] == 2
