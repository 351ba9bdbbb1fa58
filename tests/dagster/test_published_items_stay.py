"""What leaves a publication although nobody decided it is said before it leaves, and stops nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import dagster as dg
import pytest
from support.exam_store import LIBRARY
from typer.testing import CliRunner

from assets.exam import subject_dataset
from assets.publication import subject_publication
from checks.exam import SUBJECT_CHECKS
from opentwbench.dataset.model import Withdrawal
from opentwbench.dataset.publication import PublicationRefused, Verdict
from opentwbench.exam.exclusion_lists import Lists
from opentwbench.exam.model import Exclusion, PaperItem, RejectionReason
from opentwbench.exam.sitting import RowRecord
from orchestration.cli import app
from orchestration.configuration import Configuration
from resources import exam_products as products
from resources.settled_items import settle_and_write
from resources.store import Store

Change = Callable[[RowRecord], Iterable[RowRecord]]


def own_papers(store: Store) -> list[str]:
    """Ids of the subject's accepted papers."""
    return sorted({each.row.paper_id for each in products.subject_records(store, LIBRARY) if each.record.accepted})


def reparsed(store: Store, change: Change) -> None:
    """The store as if every row had been read with another outcome, up to the items."""
    for year in store.years():
        before = store.read_json(store.papers_record(year))
        kept = [record for record in products.row_records(store) if record.row.year_roc == year]
        made = [new for record in kept for new in change(record)]
        products.write_year(store, year, made, before["rows"], before["failed"])
    settle(store, Lists())


def settle(store: Store, lists: Lists) -> None:
    inputs = products.items_inputs(store, lists)
    assert [slug for slug, _ in settle_and_write(store, lists, [LIBRARY], inputs)] == [LIBRARY]


@pytest.fixture
def materialized(store: Store, configured: Callable[[], Configuration]) -> Callable[[], dg.ExecuteInProcessResult]:
    """The subject's data set, checks and publication, in one run of Dagster."""

    def run() -> dg.ExecuteInProcessResult:
        with dg.DagsterInstance.ephemeral() as instance:
            return dg.materialize(
                [subject_dataset, *SUBJECT_CHECKS, subject_publication],
                partition_key=LIBRARY,
                instance=instance,
                resources=configured().resources(),
                raise_on_error=False,
                run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
            )

    return run


def the_check(result: dg.ExecuteInProcessResult) -> dg.AssetCheckEvaluation:
    (found,) = (
        each for each in result.get_asset_check_evaluations() if each.check_name == products.PUBLISHED_ITEMS_STAY
    )
    return found


def figures(found: dg.AssetCheckEvaluation) -> dict[str, Any]:
    return {name: value.value for name, value in found.metadata.items()}


def published_ids(store: Store) -> set[str]:
    lines = store.lines(f"{store.publication(LIBRARY)}/benchmark.jsonl")
    return {json.loads(line)["item_id"] for line in lines}


def rejected(paper: str) -> Change:
    def change(record: RowRecord) -> Iterator[RowRecord]:
        if record.row.paper_id != paper:
            yield record
            return
        outcome = replace(
            record.record, status="rejected", reason=RejectionReason.TOO_LARGE, detail="no result", found=0, items=()
        )
        yield replace(record, record=outcome)

    return change


def without_the_row(paper: str) -> Change:
    return lambda record: () if record.row.paper_id == paper else (record,)


def with_items(paper: str, changed: Callable[[PaperItem], Iterable[PaperItem]]) -> Change:
    def change(record: RowRecord) -> Iterator[RowRecord]:
        if record.row.paper_id != paper:
            yield record
            return
        items = tuple(new for each in record.record.items for new in changed(each))
        yield replace(record, record=replace(record.record, items=items, found=len(items)))

    return change


def excluded(each: PaperItem) -> Iterator[PaperItem]:
    yield replace(each, exclusions=(Exclusion.FIGURE,)) if each.q_no <= 3 else each


def voided(each: PaperItem) -> Iterator[PaperItem]:
    yield replace(each, exclusions=(Exclusion.VOIDED,)) if each.q_no <= 3 else each


PLANTED = {
    "paper_rejected": rejected,
    "row_gone": without_the_row,
    "figure": lambda paper: with_items(paper, excluded),
}


@pytest.mark.parametrize("reason", PLANTED)
def test_it_warns_before_they_leave_and_the_publication_goes_on(
    store: Store, materialized: Callable[[], dg.ExecuteInProcessResult], reason: str
) -> None:
    before, paper = published_ids(store), own_papers(store)[0]
    reparsed(store, PLANTED[reason](paper))
    result = materialized()
    found = the_check(result)
    assert (result.success, found.passed, found.severity) == (True, False, dg.AssetCheckSeverity.WARN)
    left = before - published_ids(store)
    said = figures(found)
    assert left and said[reason] == said["undecided"] == said["leaving"] == len(left)
    assert said["published"] == len(before)
    assert f"{len(left)} of {len(before)} published items leave and nobody decided it ({len(left)} {reason})" in str(
        said["detail"]
    )
    assert all(each in str(said["offenders_named"]) for each in left)
    # It was judged before the publication was replaced, and stands in the record of the subject.
    warnings = products.subject_state(store, store, LIBRARY, {}).warnings
    assert f"{products.PUBLISHED_ITEMS_STAY}: {said['detail']}" in warnings
    shown = CliRunner().invoke(app, ["subject", "show", LIBRARY, "--store", store.url, "--json"])
    assert json.loads(shown.stdout)["checks"][products.PUBLISHED_ITEMS_STAY]["warned"] is True
    # The same data set again leaves nothing behind any more.
    assert the_check(materialized()).passed


def test_what_the_ministry_or_a_maintainer_takes_out_is_no_warning(
    store: Store, materialized: Callable[[], dg.ExecuteInProcessResult]
) -> None:
    before, paper = published_ids(store), own_papers(store)[0]
    reparsed(store, with_items(paper, voided))
    found = the_check(materialized())
    gone = before - published_ids(store)
    assert (found.passed, figures(found)["leaving"], figures(found)["undecided"]) == (True, len(gone), 0)
    assert gone
    chosen = sorted(published_ids(store))[0]
    settle(store, Lists(maintainer={chosen: Withdrawal(chosen, "text_damaged", "2026-11-30", "page 1")}))
    found = the_check(materialized())
    assert (found.passed, figures(found)["leaving"], figures(found)["undecided"]) == (True, 1, 0)


def test_a_first_publication_and_an_unchanged_one_pass(
    store: Store, materialized: Callable[[], dg.ExecuteInProcessResult]
) -> None:
    found = the_check(materialized())
    assert (found.passed, figures(found)["leaving"]) == (True, 0)
    assert figures(found)["published"] == len(published_ids(store)) > 0
    store.remove(store.publication(LIBRARY))
    found = the_check(materialized())
    assert (found.passed, figures(found)["detail"]) == (True, "nothing is published yet")


def test_what_leaves_cannot_be_told_of_items_that_are_newer(store: Store) -> None:
    """The asset check says so as a warning; the gate refuses such a data set for its own reasons."""
    paper = own_papers(store)[0]
    reparsed(store, rejected(paper))
    assert products.build_dataset(store, store, LIBRARY, {}) is not None
    settle(store, Lists())
    store.write(store.items(LIBRARY), store.read(store.items(LIBRARY)) + b"\n")
    with pytest.raises(PublicationRefused, match="why items leave cannot be said"):
        products.published_items_stay(store, store, LIBRARY)


def test_its_verdict_is_no_part_of_the_gate(
    store: Store, materialized: Callable[[], dg.ExecuteInProcessResult]
) -> None:
    materialized()
    verdict = Verdict.from_json(store.read_json(store.verdict(LIBRARY, products.PUBLISHED_ITEMS_STAY)))
    assert (verdict.blocking, verdict.passed, verdict.warned) == (False, True, False)
    store.remove(store.verdict(LIBRARY, products.PUBLISHED_ITEMS_STAY))
    assert products.publish_subject(store, store, LIBRARY).slug == LIBRARY
    assert products.subject_state(store, store, LIBRARY, {}).state == products.PUBLISHED
