"""tw-rag-bench in Dagster: from a store with grounded Formosa items to the publication, through the gate."""

from __future__ import annotations

import json
from pathlib import Path

import dagster as dg
import pytest
from support.tw_rag import CATEGORIES, items, windows
from typer.testing import CliRunner

from assets.rag import ASSETS, rag_contexts, rag_dataset, rag_publication
from checks.rag import RAG_CHECKS
from opentwbench.dataset.model import DatasetError, Withdrawal
from opentwbench.formosa.output import items_bytes
from opentwbench.formosa.window_files import windows_bytes
from opentwbench.rag.tw_rag.dataset_checks import CHECKS
from orchestration.cli import application
from resources import rag_products as products
from resources.publication import PublicationResource
from resources.settings import StoreResource
from resources.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store as the Formosa track leaves it: windows and grounded items of three categories."""
    place = Store(str(tmp_path / "store"))
    held = windows(120)
    grounded = items(held)
    for name in CATEGORIES:
        place.write(f"formosa/windows/{name}.jsonl", windows_bytes(w for w in held if w.category == name))
        place.write(f"formosa/grounded/{name}.jsonl", items_bytes(i for i in grounded if i.category == name))
    place.write_json("formosa/windows.json", {"categories": list(CATEGORIES)})
    return place


def run(
    store: Store, *assets: dg.AssetsDefinition, checks: bool = False, partition: str | None = None
) -> dg.ExecuteInProcessResult:
    instance = dg.DagsterInstance.ephemeral()
    instance.add_dynamic_partitions("formosa_categories", list(CATEGORIES))
    resources = {"store": StoreResource(url=store.url), "target": PublicationResource()}
    specs = [dg.AssetSpec(name) for name in ("formosa_windows", "formosa_grounded")]
    given = [*assets, *(RAG_CHECKS if checks else ()), *(each for each in ASSETS if each not in assets), *specs]
    return dg.materialize(
        given,
        selection=[each.key for each in assets],
        resources=resources,
        instance=instance,
        partition_key=partition,
        raise_on_error=False,
    )


def test_from_grounded_items_to_the_publication(store: Store) -> None:
    for name in CATEGORIES:
        assert run(store, rag_contexts, partition=name).success
    made = run(store, rag_dataset, rag_publication, checks=True)
    assert made.success
    outcomes = {each.check_name: each.passed for each in made.get_asset_check_evaluations()}
    assert outcomes == dict.fromkeys(CHECKS, True)
    state = products.dataset_state(store, store)
    assert (state.state, state.items) == ("published", 120)
    with store.folder(products.PUBLICATION) as folder:
        manifest = json.loads((folder / "manifest.json").read_text())
    assert [each["check"] for each in manifest["checks"]] == list(CHECKS)


def test_a_planted_defect_withholds_the_set_also_when_the_publication_is_started_alone(store: Store) -> None:
    for name in CATEGORIES:
        products.make_contexts(store, name)
    path = products.contexts_path("Food")
    lines = store.read(path).decode().split("\n")
    record = json.loads(lines[1])
    place = record["kept"]["gold_position"] % 4
    # A distractor that holds the answer: its id is kept true, so that this one rule alone stands against it.
    import hashlib

    text = record["kept"]["contexts"][place] + record["kept"]["answer_text"]
    chunk = record["kept"]["context_chunks"][place].rpartition("/")[0]
    record["kept"]["contexts"][place] = text
    record["kept"]["context_chunks"][place] = f"{chunk}/{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    data = "\n".join([lines[0], json.dumps(record, ensure_ascii=False), *lines[2:]]).encode()
    store.write(path, data)
    kept = store.read_json(products.contexts_path("Food", ".json"))
    store.write_json(products.contexts_path("Food", ".json"), {**kept, "sha256": hashlib.sha256(data).hexdigest()})
    made = run(store, rag_dataset, rag_publication, checks=True)
    assert not made.success
    failed = [each.check_name for each in made.get_asset_check_evaluations() if not each.passed]
    assert failed == ["no_answer_in_distractors"]
    assert not run(store, rag_publication).success
    assert not store.exists(products.PUBLICATION)
    state = products.dataset_state(store, store)
    assert state.state == "withheld" and state.against[0].startswith("no_answer_in_distractors")


def test_bytes_that_no_check_judged_are_refused(store: Store) -> None:
    assert products.build(store, store).state == "published"
    with store.folder(products.DATASET) as folder:
        (folder / "README.md").write_text("another card")
    assert products.dataset_state(store, store).state == "unfinished"
    assert not run(store, rag_publication).success


def test_nothing_changed_means_nothing_is_made_and_a_changed_category_alone_is(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert products.build(store, store).state == "published"
    made: list[str] = []
    real = products.make_contexts
    monkeypatch.setattr(products, "make_contexts", lambda place, name: made.append(name) or real(place, name))
    monkeypatch.setattr(products, "write_release", None)  # a second write would call it
    assert products.build(store, store).state == "published"
    assert made == []
    monkeypatch.undo()
    monkeypatch.setattr(products, "make_contexts", lambda place, name: made.append(name) or real(place, name))
    grounded = items(windows(120))
    fewer = [each for each in grounded if each.category == "Food"][1:]
    store.write("formosa/grounded/Food.jsonl", items_bytes(fewer))
    state = products.build(store, store)
    assert (made, state.items, state.state) == (["Food"], 119, "published")


def test_a_data_set_waits_for_contexts_that_are_current(store: Store) -> None:
    made = run(store, rag_dataset)
    assert not made.success
    assert not store.exists(products.DATASET)
    empty = Store(store.url + "-empty")
    assert products.dataset_state(empty, empty).state == "unfinished"


def test_a_withdrawn_item_stays_published_and_leaves_the_scored_set(store: Store) -> None:
    given = ["--store", store.url, "--reason", "text_damaged", "--evidence", "window cut in a word"]

    def otb(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(application(), ["rag", *arguments])
        return done.exit_code, done.output

    code, said = otb("withdraw", "rag-" + "0" * 12, *given)
    assert code == 2 and "no tw-rag-bench yet" in said
    assert products.build(store, store).state == "published"
    with store.folder(products.PUBLICATION) as folder:
        before, rows = json.loads((folder / "manifest.json").read_text()), (folder / "benchmark.jsonl").read_bytes()
    chosen = json.loads(rows.splitlines()[7])["item_id"]
    for wrong, reason in (
        (["rag-" + "0" * 12, *given], "no published item"),
        ([chosen, *given, "--date", "2999-01-01"], "still to come"),
        ([chosen, *given, "--date", "yesterday"], "YYYY-MM-DD"),
        ([chosen, *given[:-1], "one line\nand another"], "one line"),
    ):
        code, said = otb("withdraw", *wrong)
        assert code == 2 and reason in said
    assert not store.exists(products.WITHDRAWN)
    assert otb("withdraw", chosen, *given)[0] == 0
    code, said = otb("withdraw", chosen, *given)
    assert code == 2 and "already" in said
    assert products.dataset_state(store, store).state == "unfinished"
    code, said = otb("build", "--store", store.url, "--json")
    assert (code, json.loads(said)["state"], json.loads(said)["items"]) == (0, "published", 120)
    with store.folder(products.PUBLICATION) as folder:
        after = json.loads((folder / "manifest.json").read_text())
        assert (folder / "benchmark.jsonl").read_bytes() == rows
        assert chosen in (folder / "withdrawn.jsonl").read_text()
    assert after["version"] != before["version"]
    assert after["counts"] == {"items": 120, "withdrawn": 1, "scored": 119}


def test_a_list_of_withdrawn_items_that_is_gone_stops_the_build(store: Store) -> None:
    assert products.build(store, store).state == "published"
    with store.folder(products.PUBLICATION) as folder:
        chosen = json.loads((folder / "benchmark.jsonl").read_bytes().splitlines()[7])["item_id"]
        before = (folder / "manifest.json").read_bytes()
    products.withdraw(store, Withdrawal(chosen, "text_damaged", "2026-11-30", "window cut in a word"))
    assert products.build(store, store).state == "published"
    with store.folder(products.PUBLICATION) as folder:
        withdrawn = (folder / "manifest.json").read_bytes()
    store.remove(products.WITHDRAWN)
    with pytest.raises(DatasetError, match=r"withdrawn\.jsonl is gone, and the data set has 1 withdrawn items"):
        products.build(store, store)
    with store.folder(products.PUBLICATION) as folder:
        assert (folder / "manifest.json").read_bytes() == withdrawn != before
    store.write(products.WITHDRAWN, b"")
    assert products.build(store, store).state == "published"
    with store.folder(products.PUBLICATION) as folder:
        manifest = json.loads((folder / "manifest.json").read_text())
        assert manifest["counts"]["withdrawn"] == 0
        assert "reinstated" in (folder / "CHANGELOG.md").read_text()
    assert products.build(store, store).state == "published"  # the file may stay empty, or be gone once all is back
