"""Which product of a store becomes which table of the board, and a damaged product named by file and line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.mart_rows import Tables, make_items
from support.runs import response

from opentwbench.dataset.manifest import FORMAT, sha256
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.journal import Journal, write_run
from opentwbench.evaluation.model import RunRecord
from opentwbench.evaluation.protocols import BOX
from opentwbench.evaluation.warehouse import read_table, table_path
from resources import formosa_places, rag_products
from resources.board_tables import MODEL_CARDS, asked_items, tables
from resources.store import Store
from resources.warehouse import Warehouse
from resources.warehouse_tables import Places, grade_run, write_tables

ITEMS = make_items(6, 2)
FORMOSA, RAG = formosa_places.PUBLICATION, rag_products.PUBLICATION


def made(place: Path) -> Tables:
    raw = place / "warehouse" / "raw"
    raw.mkdir(parents=True)
    found = Tables(raw, ITEMS)
    found.run("run-1", "maker/a", ["correct"] * 4, items=ITEMS[:4])
    return found


def rows(place: Path, name: str, published: list[Path] | None = None, runs: list[Path] | None = None) -> list[Any]:
    found = tables(Store(str(place)), place / "warehouse" / "raw", published or [], runs or [], place / "submissions")
    return list(found[name])


def write(place: Path, name: str, *lines: object) -> None:
    (place / name).parent.mkdir(parents=True, exist_ok=True)
    (place / name).write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")


def test_an_empty_store_has_empty_tables(tmp_path: Path) -> None:
    for name in ("item_texts", "attributions", "model_cards", "submission_provenance", "run_scores", "removed_items"):
        assert rows(tmp_path, name) == []


def test_only_items_that_a_response_names_have_texts(tmp_path: Path) -> None:
    made(tmp_path)
    folder = tmp_path / "publications" / "tw-made-000-bench"
    lines = [{"item_id": i.item_id, "question": i.question, **i.options, "answer": i.key} for i in ITEMS]
    write(tmp_path, "publications/tw-made-000-bench/benchmark.jsonl", *lines)
    assert asked_items(tmp_path / "warehouse" / "raw") == {item.item_id for item in ITEMS[:4]}
    found = rows(tmp_path, "item_texts", [folder])
    assert [row["item_id"] for row in found] == [item.item_id for item in ITEMS[:4]]
    assert {row["dataset"] for row in found} == {"tw-made-000-bench"}


def test_articles_of_every_published_item_are_named_asked_or_not(tmp_path: Path) -> None:
    line = "「條目」, Taiwan.md, CC BY-SA 4.0"
    formosa = [
        {"item_id": f"formosa-{n}", "url": f"https://example.org/{n % 2}", "attribution": line} for n in range(3)
    ]
    contexts = ["https://example.org/0", "https://example.org/0", "https://example.org/9"]
    rag = {"item_id": "rag-1", "context_urls": contexts, "context_attributions": [line] * 3}
    write(tmp_path, f"{FORMOSA}/benchmark.jsonl", *formosa)
    write(tmp_path, f"{RAG}/ragas.jsonl", rag)
    assert rows(tmp_path, "attributions") == [], "a folder without a manifest is not published"
    for folder in (FORMOSA, RAG):
        write(tmp_path, f"{folder}/manifest.json", {})
    found = [(row["dataset"], row["url"].rpartition("/")[2], row["items"]) for row in rows(tmp_path, "attributions")]
    assert found == [
        ("tw-formosa-bench", "0", 2), ("tw-formosa-bench", "1", 1), ("tw-rag-bench", "0", 1), ("tw-rag-bench", "9", 1),
    ]  # fmt: skip
    assert {row["attribution"] for row in rows(tmp_path, "attributions")} == {line}


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        ({"url": None}, "formosa-1: no https address"),
        ({"url": "javascript:alert(1)"}, "formosa-1: no https address"),
        ({"attribution": ""}, "formosa-1: no attribution of"),
        ({"attribution": "another"}, "formosa-1: another attribution of"),
        ({"context_urls": ["https://example.org/0"], "context_attributions": []}, "formosa-1: not one attribution"),
    ],
)
def test_an_item_without_its_attribution_is_refused(tmp_path: Path, planted: dict[str, Any], said: str) -> None:
    good = {"item_id": "formosa-0", "url": "https://example.org/0", "attribution": "one"}
    write(tmp_path, f"{FORMOSA}/manifest.json", {})
    write(tmp_path, f"{FORMOSA}/benchmark.jsonl", good, {**good, "item_id": "formosa-1", **planted})
    with pytest.raises(DatasetError, match=said):
        rows(tmp_path, "attributions")


def test_cards_and_a_second_card_of_one_model(tmp_path: Path) -> None:
    write(tmp_path, MODEL_CARDS, {"model": "a"}, {"model": "b", "is_sample": True})
    assert [(row["model"], row["is_sample"]) for row in rows(tmp_path, "model_cards")] == [("a", False), ("b", True)]
    write(tmp_path, MODEL_CARDS, {"model": "a"}, {"model": "a"})
    with pytest.raises(DatasetError, match="line 2: a second card"):
        rows(tmp_path, "model_cards")
    write(tmp_path, MODEL_CARDS, {"model": "a"}, {"model": "b", "size": 8})
    with pytest.raises(DatasetError, match="line 2: unknown field size"):
        rows(tmp_path, "model_cards")


def test_scores_of_a_run_are_those_of_its_ranking_method(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "run-1"
    record = RunRecord("run-1", "a", BOX.protocol_id, "exam", "v", "scored", 4, 1, "2026-11-01T00:00:00+00:00")
    write_run(folder, record, BOX)
    assert rows(tmp_path, "run_scores", runs=[folder]) == []
    methods = {"strict": {"micro": {"n": 4, "hits": 1}}, "lenient": {"micro": {"n": 4, "hits": 3}}}
    score = {"run_id": "run-1", "dataset_version": "v", "item_set": "scored", "methods": methods}
    write(tmp_path, "runs/run-1/scores/v.json", score)
    assert [(row["n"], row["hits"]) for row in rows(tmp_path, "run_scores", runs=[folder])] == [(4, 1)]
    # A start that got no reply at all scored nothing, and stops nobody's mart.
    write(tmp_path, "runs/run-1/scores/v.json", {**score, "replies": 0, "methods": {}})
    assert rows(tmp_path, "run_scores", runs=[folder]) == []
    write(tmp_path, "runs/run-1/scores/v.json", {**score, "methods": {}})
    with pytest.raises(DatasetError, match=r"run-1/scores/v.json: no score under strict"):
        rows(tmp_path, "run_scores", runs=[folder])


def test_removed_items_and_a_damaged_line(tmp_path: Path) -> None:
    (tmp_path / "datasets").mkdir()
    line = {"item_id": "i", "last_version": "v", "reason": "folded", "detail": "j"}
    write(tmp_path, "datasets/tw-made-000-bench.json", {})
    (tmp_path / "datasets" / "tw-made-000-bench").mkdir()
    write(tmp_path, "datasets/tw-made-000-bench.removed.jsonl", line)
    assert rows(tmp_path, "removed_items") == [{"dataset": "tw-made-000-bench", **line}]
    write(tmp_path, "datasets/tw-made-000-bench.removed.jsonl", line, {**line, "reason": 3})
    with pytest.raises(DatasetError, match=r"removed.jsonl line 2: needs the texts"):
        rows(tmp_path, "removed_items")


def test_formosas_published_edition_stands_in_the_mart_beside_the_examinations(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    assert Places(store).other_tracks == {}
    source = {"url": "https://example.org/a", "attribution": "「條目」, CC BY-SA 4.0"}
    lines = [{"item_id": f"formosa-{n:012x}", "question": f"題{n}", **dict.fromkeys("ABCD", "甲"), "answer": "ABC"[n],
              **source} for n in range(3)]  # fmt: skip
    write(tmp_path, "formosa/publications/tw-formosa-bench/benchmark.jsonl", *lines)
    assert Places(store).other_tracks == {}, "a folder without its manifest is no publication"
    gone = {"item_id": "formosa-000000000001", "reason": "made up", "date": "2026-11-30", "evidence": "made up"}
    write(tmp_path, "formosa/publications/tw-formosa-bench/withdrawn.jsonl", gone)
    data = (tmp_path / "formosa/publications/tw-formosa-bench/benchmark.jsonl").read_bytes()
    files = {"benchmark.jsonl": {"sha256": sha256(data), "bytes": len(data), "rows": 3}}
    write(
        tmp_path,
        "formosa/publications/tw-formosa-bench/manifest.json",
        {"format": FORMAT, "version": "v1", "files": files},
    )
    house = Warehouse(tmp_path / "warehouse")
    run = tmp_path / "runs" / "formosa-1"
    write_run(
        run, RunRecord("formosa-1", "m", BOX.protocol_id, "formosa", "v1", "scored", 2, 1, "2026-11-30T00:00:00Z"), BOX
    )
    with Journal(run) as journal:
        for n in range(3):
            name = f"formosa-{n:012x}"
            journal.append(response(n, run_id="formosa-1", item_id=name, model="m", content="\\boxed{A}"))
    graded = grade_run(Places(store), house, run)
    assert (graded.graded, graded.ungraded) == (3, 0), "a Formosa run is graded by the keys of its own track"
    answers = pq.read_table(table_path(house.raw, "responses", "formosa-1")).to_pylist()
    assert [row["strict_outcome"] for row in answers] == ["correct", "wrong", "wrong"]
    written = {name: list(read_table(house.raw, name)) for name in write_tables(Places(store), house)}
    assert [(row["item_id"], row["subject"], row["field"]) for row in written["items"]] == [
        (f"formosa-{n:012x}", "tw-formosa-bench", "formosa") for n in range(3)
    ]
    assert [
        (row["dataset"], row["dataset_version"], row["key"], row["withdrawn"]) for row in written["item_versions"]
    ] == [("tw-formosa-bench", "v1", key, key == "B") for key in "ABC"]
    assert [(row["dataset"], row["item_id"]) for row in written["withdrawals"]] == [
        ("tw-formosa-bench", gone["item_id"])
    ]
    assert {row["item_id"] for row in written["item_texts"]} == {line["item_id"] for line in lines}
    places = Places(store)
    assert places.folders_of("exam") == () and len(places.folders_of("formosa")) == 1, "no examination run asks them"
    assert places.roster["formosa-000000000002"].key == "C" and places.withdrawn == {gone["item_id"]}
