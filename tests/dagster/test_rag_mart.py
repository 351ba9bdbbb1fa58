"""The retrieval track in the mart: verdicts and pairs from a store, the figures of SQL against those of the library."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.runs import response
from support.tw_rag import CATEGORIES, items, windows

from opentwbench.board.audit import audit
from opentwbench.board.site import build_site
from opentwbench.board.text import percent, points
from opentwbench.dataset.files import read_jsonl
from opentwbench.dataset.model import DatasetError, Withdrawal
from opentwbench.evaluation.journal import Journal, write_run
from opentwbench.evaluation.mart import DATABASE, open_mart
from opentwbench.evaluation.model import RunRecord
from opentwbench.evaluation.protocols import BOX
from opentwbench.formosa.output import items_bytes
from opentwbench.formosa.window_files import windows_bytes
from opentwbench.rag import stages
from opentwbench.rag.ragas import METRICS
from opentwbench.rag.report import write_report
from opentwbench.statistics.paired import mcnemar
from resources import rag_products as products
from resources import rag_tables
from resources.rag_settings import RagRun, settings_of
from resources.store import Store
from resources.warehouse import warehouse_of
from resources.warehouse_tables import Places, grade_run, write_tables
from samples.model_endpoint import Kind, ModelEndpoint, Rule

N = 60
OPEN_ONLY, CLOSED_ONLY, BOTH = 20, 6, 24
PRECISION = {1: 0.25, 2: 0.25, 3: 0.5, 4: 0.25}


def answered(run: Path, run_id: str, benchmark: str, letters: dict[str, str], wrong: set[str]) -> None:
    """A run that boxes the key of every item, or for the wrong ones the letter after it."""
    record = RunRecord(
        run_id, "maker/m", BOX.protocol_id, benchmark, "v", "scored", len(letters), 1, "2026-11-30T00:00:00Z"
    )
    write_run(run, record, BOX)
    with Journal(run) as journal:
        for n, (item_id, key) in enumerate(letters.items()):
            said = "ABCD"[("ABCD".index(key) + 1) % 4] if item_id in wrong else key
            content = f"\\boxed{{{said}}}"
            journal.append(response(n, run_id=run_id, item_id=item_id, model="maker/m", content=content))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store with the published set, a judged run over it, and a model's answers with and without the passages."""
    place = Store(str(tmp_path_factory.mktemp("mart") / "store"))
    held = windows(N)
    grounded = items(held)
    for name in CATEGORIES:
        place.write(f"formosa/windows/{name}.jsonl", windows_bytes(w for w in held if w.category == name))
        place.write(f"formosa/grounded/{name}.jsonl", items_bytes(i for i in grounded if i.category == name))
    place.write_json("formosa/windows.json", {"categories": list(CATEGORIES)})
    place.write("formosa/items.jsonl", items_bytes(grounded))
    assert products.build(place, place).state == "published"
    root = Path(place.url)
    rows = read_jsonl(root / products.PUBLICATION / "benchmark.jsonl")
    pairs = [(row["item_id"], row["formosa_id"]) for row in rows]
    closed_wrong = {formosa for _, formosa in pairs[:OPEN_ONLY]}
    open_wrong = {item for item, _ in pairs[OPEN_ONLY : OPEN_ONLY + CLOSED_ONLY]}
    rest = pairs[OPEN_ONLY + CLOSED_ONLY + BOTH :]
    open_wrong |= {item for item, _ in rest}
    closed_wrong |= {formosa for _, formosa in rest}
    answered(root / "runs/open-1", "open-1", "rag", {row["item_id"]: row["answer"] for row in rows}, open_wrong)
    keys = {item.item_id: item.answer for item in grounded}
    answered(root / "formosa/runs/pool/closed-1", "closed-1", "formosa", keys, closed_wrong)
    judged_run(root)
    return place


def judged_run(root: Path) -> None:
    data = root / products.PUBLICATION
    with ModelEndpoint() as endpoint:
        rules = [Rule(Kind.TEXT, "Passages, one JSON object a line", None, text="第1燈會")]
        for row in read_jsonl(data / "ragas.jsonl"):
            scores = {"faithfulness": 1.0, "answer_relevancy": 0.5, "context_recall": 1.0}
            scores["context_precision"] = PRECISION[row["gold_position"]]
            rules.append(Rule(Kind.TEXT, f'題目："{row["question"]}"', None, text=json.dumps(scores)))
        rules[3] = Rule(Kind.TEXT, rules[3].pattern, None, text="無法評分")
        endpoint.plant(*rules)
        model = {"base_url": endpoint.base_url, "attempts": 1}
        values = {"dataset": "tw_rag", "data": str(data), "answers": {"model": "maker/m", **model}}
        run = RagRun.of(settings_of({**values, "judge": {"model": "M", **model}}), root)

        async def carry_out() -> None:
            stages.prepare(run.plan, data, run.folder)
            system = run.settings.open_system(run.folder)
            await stages.ingest(run.plan, run.folder, system)
            await stages.generate(run.plan, run.folder, system, run.generator)
            await stages.judge(run.plan, run.folder, run.generator, run.judge)

        asyncio.run(carry_out())
        answers = stages.judged(run.plan, run.folder, run.generator, run.judge)
        benchmark = stages.read_prepared(run.folder).benchmark
        write_report(run.folder, run.plan, benchmark, stages.read_ingested(run.folder), answers)


@pytest.fixture(scope="module")
def mart(store: Store) -> Iterator[duckdb.DuckDBPyConnection]:
    house = warehouse_of(store)
    house.prepare()
    places = Places(store)
    graded = grade_run(places, house, places.runs / "open-1")
    assert (graded.graded, graded.ungraded) == (N, 0), "a retrieval run is graded by the keys of its own track"
    write_tables(places, house)
    house.build()
    with open_mart(house.folder) as connection:
        yield connection


def rows_of(mart: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    found = mart.execute(query)
    names = [each[0] for each in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def test_the_mart_has_the_metrics_of_the_report(mart: duckdb.DuckDBPyConnection, store: Store) -> None:
    (report,) = (Path(store.url) / "rag").glob("*/benchmark_metrics_report.json")
    section = json.loads(report.read_text())["ragas"]
    found = {row["metric"]: row for row in rows_of(mart, "FROM rag_metrics")}
    for name, each in section["metrics"].items():
        row = found[name]
        assert (row["n"], row["mean"]) == (each["n"], pytest.approx(each["mean"])) and row["n"] == N - 1
        assert (row["mean_low"], row["mean_high"]) == (pytest.approx(each["low"]), pytest.approx(each["high"]))
        assert 0 <= row["mean_low"] < row["mean_high"] <= 1, "no interval without a width"
        assert row["judge_parse_rate"] == pytest.approx(section["judge"]["parse_rate"]) and row["judge_unparsed"] == 1
        assert row["self_judged"], "M of one maker is one model, whatever the prefix"
    assert found["context_precision"]["calibration_error"] == pytest.approx(section["context_precision"]["error"])
    assert found["answer_found"]["mean"] == pytest.approx(section["without_a_judge"]["reference_recall"]["value"])
    places = {
        row["gold_position"]: row["mean"]
        for row in rows_of(mart, "FROM rag_gold_positions")
        if row["metric"] == "context_precision"
    }
    assert places == pytest.approx(PRECISION)
    assert section["position_test"]["context_precision"]["p"] < 1e-6


def test_the_position_test_of_sql_is_that_of_the_library(mart: duckdb.DuckDBPyConnection, store: Store) -> None:
    (report,) = (Path(store.url) / "rag").glob("*/benchmark_metrics_report.json")
    wanted = {name: each for name, each in json.loads(report.read_text())["ragas"]["position_test"].items() if each}
    found = {row["metric"]: row for row in rows_of(mart, "FROM rag_position_tests")}
    assert set(wanted) == set(found) & set(METRICS) == {"context_precision"}  # the other scores are all alike
    row = found["context_precision"]
    assert row["h"] == pytest.approx(wanted["context_precision"]["h"])
    assert row["p"] == pytest.approx(wanted["context_precision"]["p"], abs=1e-11)
    assert (row["positions"], row["degrees"], row["n"]) == (4, 3, N - 1)


def test_the_site_has_a_page_of_these_figures(mart: duckdb.DuckDBPyConnection, store: Store, tmp_path: Path) -> None:
    build_site(warehouse_of(store).folder, tmp_path / "site")
    assert audit(tmp_path / "site").whole
    (row,) = rows_of(mart, "FROM rag_metrics WHERE metric = 'context_precision'")
    for lang in ("zh", "en"):
        page = (tmp_path / "site" / lang / "rag.html").read_text(encoding="utf-8")
        assert percent(row["mean"]) in page and points(row["calibration_error"]) in page
        assert 'href="rag.html"' in (tmp_path / "site" / lang / "index.html").read_text(encoding="utf-8")


def test_a_site_without_figures_has_no_such_page_and_names_none(store: Store, tmp_path: Path) -> None:
    with duckdb.connect(str(warehouse_of(store).folder / DATABASE), read_only=True) as held:
        names = [name for (name,) in held.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        kept = [name for name in names if not name.startswith("rag_")]
        (tmp_path / "house").mkdir()
        with duckdb.connect(str(tmp_path / "house" / DATABASE)) as made:
            for name in kept:
                made.register("rows", held.sql(f"FROM {name}").to_arrow_table())
                made.execute(f"CREATE TABLE {name} AS FROM rows")
    build_site(tmp_path / "house", tmp_path / "site")
    assert audit(tmp_path / "site").whole
    assert not list((tmp_path / "site").rglob("rag.html"))
    assert not any("rag.html" in path.read_text("utf-8") for path in (tmp_path / "site").rglob("*.html"))


def test_open_and_closed_are_paired_item_by_item(mart: duckdb.DuckDBPyConnection) -> None:
    (row,) = rows_of(mart, "FROM rag_open_closed")
    assert (row["model"], row["open_run"], row["closed_run"], row["n"]) == ("maker/m", "open-1", "closed-1", N)
    assert (row["only_open"], row["only_closed"]) == (OPEN_ONLY, CLOSED_ONLY)
    assert row["gain"] == pytest.approx((OPEN_ONLY - CLOSED_ONLY) / N)
    assert row["mcnemar_exact_p"] == pytest.approx(mcnemar(OPEN_ONLY, CLOSED_ONLY).exact_p)
    differences = [each["difference"] for each in rows_of(mart, "FROM rag_open_closed_items")]
    assert (differences.count(1), differences.count(-1), differences.count(0)) == (OPEN_ONLY, CLOSED_ONLY, N - 26)


def test_the_leaderboard_has_the_answers_with_passages(mart: duckdb.DuckDBPyConnection) -> None:
    (row,) = rows_of(mart, "FROM leaderboard WHERE benchmark = 'rag'")
    both_wrong = N - OPEN_ONLY - CLOSED_ONLY - BOTH
    assert (row["n"], row["n_ungraded"]) == (N, 0)
    assert row["accuracy"] == pytest.approx((N - CLOSED_ONLY - both_wrong) / N)
    assert [each["field"] for each in rows_of(mart, "FROM subject_items")] == ["rag"]


def test_a_withdrawn_item_is_in_no_table(store: Store, tmp_path: Path) -> None:
    copy = Store(str(shutil.copytree(store.url, tmp_path / "store")))

    def rows(name: str) -> list[dict[str, Any]]:
        return [dict(row) for row in rag_tables.tables(copy, tmp_path / "store" / "runs")[name]]

    before = {name: rows(name) for name in ("rag_verdicts", "rag_answers")}
    assert (len(before["rag_verdicts"]), len(before["rag_answers"])) == (N, 2 * N)
    chosen = before["rag_verdicts"][5]["question_id"]
    products.withdraw(copy, Withdrawal(chosen, "text_damaged", "2026-11-30", "a window cut in a word"))
    assert products.build(copy, copy).state == "published"
    assert rows("rag_verdicts") == [row for row in before["rag_verdicts"] if row["question_id"] != chosen]
    left = rows("rag_answers")
    assert [sum(row["side"] == side for row in left) for side in ("open", "closed")] == [N - 1, N - 1]


def test_a_damaged_record_of_a_run_is_named(tmp_path: Path) -> None:
    place = Store(str(tmp_path / "store"))
    folder = tmp_path / "store" / "rag" / "tw_rag-contexts-0"
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text("{}")
    (folder / "qa_eval_detailed_results.json").write_text("[{}]")
    with pytest.raises(DatasetError, match="tw_rag-contexts-0"):
        list(rag_tables.tables(place, tmp_path / "runs")["rag_verdicts"])
    (folder / "plan.json").write_text("{")
    with pytest.raises(DatasetError, match="not JSON"):
        list(rag_tables.tables(place, tmp_path / "runs")["rag_verdicts"])
    empty = Store(str(tmp_path / "empty"))
    assert [list(rows) for rows in rag_tables.tables(empty, tmp_path / "runs").values()] == [[], []]
