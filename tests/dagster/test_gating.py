"""One bad subject stops only itself; nothing but the bytes that passed is published, however publication is started."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from support.exam_store import CHINESE, CONSTITUTION, LIBRARY

from assets.exam import subject_dataset
from assets.publication import subject_publication
from checks.exam import SUBJECT_CHECKS
from opentwbench.dataset.validators import BLOCKING_CHECKS
from orchestration.definitions import Configuration
from resources import exam_products
from resources.partitions import subjects
from resources.store import Store

CHAIN = (subject_dataset, *SUBJECT_CHECKS, subject_publication)
Configured = Callable[[], Configuration]


def run(
    definitions: tuple[Any, ...], slug: str, configuration: Configuration, instance: dg.DagsterInstance
) -> dg.ExecuteInProcessResult:
    return dg.materialize(
        definitions,
        partition_key=slug,
        instance=instance,
        resources=configuration.resources(),
        raise_on_error=False,
        run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
    )


@dg.asset(name="subject_dataset", partitions_def=subjects)
def files_as_they_are() -> None:
    """Stands for the data set in a run that judges the files of a test as they are."""


def check_alone(name: str, slug: str, configuration: Configuration) -> dg.AssetCheckEvaluation:
    with dg.DagsterInstance.ephemeral() as instance:
        chosen = next(check for check in SUBJECT_CHECKS if next(iter(check.check_keys)).name == name)
        result = run((files_as_they_are, chosen), slug, configuration, instance)
    (evaluation,) = result.get_asset_check_evaluations()
    return evaluation


def edit_items(store: Store, slug: str, edit: Callable[[dict[str, Any]], None]) -> None:
    """Damage the first published item of a subject in the store, as a faulty earlier stage would."""
    lines = [json.loads(line) for line in store.lines(store.items(slug))]
    edit(next(item for item in lines if item["bucket"] == "published"))
    store.write(store.items(slug), "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in lines).encode())


def test_one_bad_subject_of_three_is_withheld_and_the_others_are_published(
    store: Store, configured: Configured
) -> None:
    for slug in (CHINESE, CONSTITUTION, LIBRARY):
        store.remove(store.publication(slug))
    edit_items(store, CONSTITUTION, lambda item: item.update(question="Which of the following is right?"))
    published: dict[str, bool] = {}
    with dg.DagsterInstance.ephemeral() as instance:
        for slug in (CHINESE, CONSTITUTION, LIBRARY):
            result = run(CHAIN, slug, configured(), instance)
            keys = {event.asset_key.to_user_string() for event in result.get_asset_materialization_events()}
            published[slug] = "subject_publication" in keys
        key = dg.AssetCheckKey(dg.AssetKey("subject_dataset"), "surviving_english")
        records = instance.event_log_storage.get_asset_check_execution_history(key, limit=10)
    assert published == {CHINESE: True, CONSTITUTION: False, LIBRARY: True}
    assert [store.exists(store.publication(slug)) for slug in published] == [True, False, True]
    # The UI shows the state of each subject: one verdict a partition, none stored without its partition.
    verdicts = {record.partition: record.status.value for record in records}
    assert verdicts == {CHINESE: "SUCCEEDED", CONSTITUTION: "FAILED", LIBRARY: "SUCCEEDED"}


def refused(slug: str, configuration: Configuration) -> str:
    """Start publication alone, by hand; the words of its refusal."""
    with dg.DagsterInstance.ephemeral() as instance:
        result = run((subject_publication,), slug, configuration, instance)
    assert not result.success
    assert result.get_asset_materialization_events() == []
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    return str(failure.step_failure_data.user_failure_data.description)


def test_publication_by_hand_passes_over_verified_bytes(store: Store, configured: Configured) -> None:
    store.remove(store.publication(LIBRARY))
    with dg.DagsterInstance.ephemeral() as instance:
        assert run((subject_publication,), LIBRARY, configured(), instance).success
    assert store.exists(store.publication(LIBRARY))


@pytest.mark.parametrize("check", BLOCKING_CHECKS)
def test_publication_by_hand_refuses_without_a_verdict(check: str, store: Store, configured: Configured) -> None:
    store.remove(store.publication(LIBRARY))
    store.remove(store.verdict(LIBRARY, check))
    assert f"check {check}: no verdict" in refused(LIBRARY, configured())
    assert not store.exists(store.publication(LIBRARY))


def test_publication_by_hand_refuses_a_verdict_that_did_not_pass(store: Store, configured: Configured) -> None:
    verdict = store.read_json(store.verdict(LIBRARY, "merged_stems"))
    store.write_json(store.verdict(LIBRARY, "merged_stems"), {**verdict, "passed": False, "detail": "1 stem"})
    assert "check merged_stems: did not pass: 1 stem" in refused(LIBRARY, configured())


@pytest.mark.parametrize("name", ["benchmark.jsonl", "benchmark.csv", "README.md", "manifest.json", "withdrawn.jsonl"])
def test_publication_by_hand_refuses_changed_bytes(
    name: str, copied: Path, store: Store, configured: Configured
) -> None:
    before = store.read(f"{store.publication(LIBRARY)}/{name}")
    file = copied / store.dataset(LIBRARY) / name
    file.write_bytes(file.read_bytes() + b"\n")
    assert refused(LIBRARY, configured())
    assert store.read(f"{store.publication(LIBRARY)}/{name}") == before


def test_publication_of_a_subject_without_a_paper_is_refused(store: Store, configured: Configured) -> None:
    slug = "tw-dentistry-bench"
    assert exam_products.has_source(store, slug) is False
    refused(slug, configured())
    assert not store.exists(store.publication(slug))


def test_a_subject_without_a_paper_is_no_source_and_passes_no_check(store: Store, configured: Configured) -> None:
    slug = "tw-dentistry-bench"
    with dg.DagsterInstance.ephemeral() as instance:
        result = run(CHAIN, slug, configured(), instance)
        (event,) = result.get_asset_materialization_events()
        assert event.materialization.metadata["source"].value == "no source"
    evaluations = {each.check_name: each for each in result.get_asset_check_evaluations()}
    assert sorted(evaluations) == sorted((*BLOCKING_CHECKS, exam_products.PUBLISHED_ITEMS_STAY))
    assert [name for name, each in evaluations.items() if each.passed] == [exam_products.PUBLISHED_ITEMS_STAY]
    assert all("no source" in str(each.metadata["detail"].value) for each in evaluations.values())
    assert not store.exists(store.dataset(slug))


# -- every check, over files, as Dagster runs it ----------------------------------------------------------------------


def edit_rows(folder: Path, edit: Callable[[list[dict[str, Any]]], None]) -> None:
    file = folder / "benchmark.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n")[:-1]]
    edit(rows)
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def edit_stats(folder: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    file = folder / "build_stats.json"
    stats = json.loads(file.read_text(encoding="utf-8"))
    edit(stats)
    file.write_text(json.dumps(stats), encoding="utf-8")


def all_answers_a(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        row["answer"] = "A"


def two_stems(rows: list[dict[str, Any]]) -> None:
    first, second = rows[0], rows[1]
    options = "".join(f"({letter}){first[letter]}" for letter in "ABCD")
    first["question"] = f"{first['question']}{options}{second['q_no']}.{second['question']}"


def conflict(folder: Path) -> None:
    published = json.loads((folder / "benchmark.jsonl").read_text(encoding="utf-8").split("\n")[0])["item_id"]
    edit_stats(folder, lambda stats: stats["keys"]["conflicting_ids"].append(published))


def answers_moved(rows: list[dict[str, Any]]) -> None:
    """The answer column shifted by one row: every figure over the set stays as it was."""
    answers = [row["answer"] for row in rows]
    for row, answer in zip(rows, answers[1:] + answers[:1], strict=True):
        row["answer"] = answer


PLANTED: dict[str, Callable[[Path], None]] = {
    "rows_match_records": lambda folder: edit_rows(folder, answers_moved),
    "row_contract": lambda folder: edit_rows(folder, lambda rows: rows[0].update(answer="E")),
    "answer_position": lambda folder: edit_rows(folder, all_answers_a),
    "residual_duplicates": lambda folder: edit_rows(
        folder, lambda rows: rows.append({**rows[0], "item_id": "library-science-000000000000"})
    ),
    "surviving_english": lambda folder: edit_rows(folder, lambda rows: rows[0].update(question="Which one?")),
    "merged_stems": lambda folder: edit_rows(folder, two_stems),
    "csv_mirrors_jsonl": lambda folder: edit_rows(folder, lambda rows: rows[0].update(A=rows[0]["A"] + "。")),
    "key_consistency": conflict,
    "accounting_closes": lambda folder: edit_stats(folder, lambda stats: stats["questions"].update(printed=1)),
}


def test_every_blocking_check_has_a_planted_defect() -> None:
    assert PLANTED.keys() == set(BLOCKING_CHECKS)


@pytest.mark.parametrize("name", BLOCKING_CHECKS)
def test_check_fires_on_a_planted_defect_and_keeps_its_verdict(
    name: str, copied: Path, store: Store, configured: Configured
) -> None:
    PLANTED[name](copied / store.dataset(LIBRARY))
    evaluation = check_alone(name, LIBRARY, configured())
    assert (evaluation.passed, evaluation.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert store.read_json(store.verdict(LIBRARY, name))["passed"] is False


@pytest.mark.parametrize("name", BLOCKING_CHECKS)
def test_check_does_not_fire_on_good_files_and_says_what_it_saw(
    name: str, store: Store, configured: Configured
) -> None:
    store.remove(store.verdict(LIBRARY, name))
    evaluation = check_alone(name, LIBRARY, configured())
    assert evaluation.passed
    assert len(evaluation.metadata) > 2
    verdict = store.read_json(store.verdict(LIBRARY, name))
    assert verdict["passed"] is True
    assert verdict["files"].keys() >= {"benchmark.jsonl", "benchmark.csv", "manifest.json"}


@pytest.mark.parametrize("product", ["papers/110.jsonl", "items"])
def test_records_changed_behind_the_parse_stage_are_no_records(
    product: str, copied: Path, store: Store, configured: Configured
) -> None:
    file = copied / (store.items(LIBRARY) if product == "items" else product)
    data = file.read_bytes()
    file.write_bytes(data.replace("圖書".encode(), "畫書".encode(), 1))
    assert file.read_bytes() != data
    evaluation = check_alone("rows_match_records", LIBRARY, configured())
    assert not evaluation.passed


def test_a_check_that_breaks_off_leaves_no_older_verdict(copied: Path, store: Store, configured: Configured) -> None:
    (copied / store.dataset(LIBRARY) / "stray.txt").write_text("x")
    assert not check_alone("row_contract", LIBRARY, configured()).passed
    assert not store.exists(store.verdict(LIBRARY, "row_contract"))


def test_the_answer_distribution_is_drawn(configured: Configured) -> None:
    drawn = str(check_alone("answer_position", LIBRARY, configured()).metadata["answer_distribution"].value)
    assert [line.split("|")[1].strip() for line in drawn.split("\n")[2:]] == list("ABCD")
    assert "█" in drawn


def test_a_warning_does_not_withhold(copied: Path, store: Store, configured: Configured) -> None:
    # 6 of 12 answers on one letter is over 40 % and no evidence: p is far above 1e-4.
    def few(rows: list[dict[str, Any]]) -> None:
        del rows[12:]
        for place, row in enumerate(rows):
            row["answer"] = "ABCD"[place % 4] if place < 8 else "A"

    edit_rows(copied / store.dataset(LIBRARY), few)
    evaluation = check_alone("answer_position", LIBRARY, configured())
    assert (evaluation.passed, evaluation.severity) == (False, dg.AssetCheckSeverity.WARN)
    verdict = store.read_json(store.verdict(LIBRARY, "answer_position"))
    assert (verdict["passed"], verdict["warned"]) == (True, True)
