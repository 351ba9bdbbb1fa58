"""One mart for every test of the dbt project: a native board, one with planted faults, and published counts.

The boards are told apart by their benchmark. A dbt build costs 30 s of processor time, so there is one a session; tests
that damage it work on a copy.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pytest
from support.evaluation import boxed, make_item, make_response
from support.mart_rows import BOX, PATTERN, VERSION, Board, Tables, draw, fill, make_items

from opentwbench.evaluation.mart import BUILD_DATABASE, Swapped, open_mart
from opentwbench.evaluation.model import AskedItem, ErrorClass, Graded
from opentwbench.evaluation.sample import stem_hash
from opentwbench.evaluation.scoring import grade
from opentwbench.evaluation.warehouse import Grading, graded_rows, item_rows, write_table
from resources.warehouse import Warehouse

NATIVE, PLANTED, SCRIPTED = "exam_sample", "exam", "rag"
SIZE = Board(models=12, items=1_200, subjects=20)
BANDS = "bands"
"""The benchmark on which one model has runs under two budgets."""

WRONG_KEY = 5
"""The item of the planted board whose key is wrong: all ten runs agree on another letter."""

QUIET_RUN, HARD_SUBJECT, LONE_RUN, LONE_SUBJECT = "planted-005", 11, "planted-003", 7
"""A run that reads badly everywhere, a subject that reads badly for all, and the one cell that is a fault."""

LARGE = 255_854
WITHDRAWN = 2_180
"""The published exam set: 255,854 items, 2,180 of them withdrawn."""


@dataclass(frozen=True)
class Built:
    """The mart, what is known of its making, and the database before the swap."""

    warehouse: Warehouse
    tables: Tables
    swapped: Swapped
    made: Path
    """A copy of the database as dbt left it, staging and intermediate schemas included."""
    graded: list[Graded]
    """The responses of the run 'scripted', graded one by one."""
    scripted: dict[str, AskedItem]
    withdrawn: tuple[str, ...]


def outcomes(right: int, wrong: int, unparsed: int = 0) -> np.ndarray:
    return np.array(["correct"] * right + ["wrong"] * wrong + ["unparsed"] * unparsed)


def plant_alarms(tables: Tables) -> None:
    """Ten runs over the native items: one bad cell, one hard subject, one run that is bad everywhere."""
    source = np.random.default_rng(5)
    difficulty = source.normal(0, 1.2, SIZE.items)
    subject = np.arange(SIZE.items) * SIZE.subjects // SIZE.items
    agreed = {WRONG_KEY: next(letter for letter in "ABCD" if letter != tables.items[WRONG_KEY].key)}
    for n in range(10):
        run_id = f"planted-{n:03d}"
        strict, _ = draw(SIZE.items, 0.3 * n - 1, difficulty, 0.99, 100 + n)
        strict[WRONG_KEY] = "wrong"
        spoilt = np.zeros(SIZE.items, bool)
        spoilt |= (subject == HARD_SUBJECT) & (source.random(SIZE.items) < 0.4)
        if run_id == QUIET_RUN:
            spoilt |= source.random(SIZE.items) < 0.6
        if run_id == LONE_RUN:
            spoilt |= (subject == LONE_SUBJECT) & (source.random(SIZE.items) < 0.5)
        tables.run(
            run_id,
            f"maker/model-{n:03d}",
            np.where(spoilt, "unparsed", strict),
            benchmark=PLANTED,
            seed=n,
            agreed=agreed,
        )


def published_counts(tables: Tables) -> None:
    """Runs whose counts are the published ones, and the large set with its withdrawals."""
    large = make_items(LARGE, 148, seed=3, prefix="large")
    few = large[200_000:201_696]  # none of them withdrawn
    for right in (1_000, 784, 658):
        tables.run(
            f"of-1696-{right}", f"counted/{right}", outcomes(right, 1_696 - right), benchmark="formosa", items=few
        )
    tables.run("zero-of-20", "counted/zero", outcomes(0, 20), benchmark="twenty", items=few[:20])
    withdrawn = [item.item_id for item in (*large[:179], *large[30_000 : 30_000 + WITHDRAWN - 179])]
    right, out = 208_495, set(withdrawn)  # 82.19 % of 253,674
    scored = np.array([item.item_id not in out for item in large])
    verdicts = np.full(LARGE, "correct", dtype="<U8")
    verdicts[scored] = outcomes(right, LARGE - WITHDRAWN - right)
    tables.run("large", "counted/large", verdicts, benchmark="whole", items=large)
    tables.run("sample", "counted/sample", np.full(22_200, "wrong"), benchmark="sample", items=large[:22_200])
    tables.items += large
    tables.withdrawn = tuple(withdrawn)
    # 1,421 answers under two thinking budgets: 226 unparsed become 199, 130 rescued and 103 newly lost.
    short = outcomes(700, 495, 226)
    long = short.copy()
    long[700:803], long[1195:1325] = "unparsed", "correct"
    tables.run(
        "budget-8192", "counted/budget", short, benchmark="budget", items=few[:1_421], protocol=BOX.with_budget(8_192)
    )
    tables.run(
        "budget-16384", "counted/budget", long, benchmark="budget", items=few[:1_421], protocol=BOX.with_budget(16_384)
    )
    # One model under two budgets, far apart, and two others: by models the bands are 1, 2, 2 and 3; by runs 1, 2, 3, 4.
    for run_id, model, right, budget in (
        ("twice-16384", "counted/twice", 1_100, 16_384),
        ("between", "counted/between", 800, 8_192),
        ("twice-8192", "counted/twice", 500, 8_192),
        ("below", "counted/below", 200, 8_192),
    ):
        verdicts, protocol = outcomes(right, 1_421 - right), BOX.with_budget(budget)
        tables.run(run_id, model, verdicts, benchmark=BANDS, items=few[:1_421], protocol=protocol)


def odd_runs(tables: Tables) -> None:
    """What a board must not show as if it were whole: an older run, one cut short, one with errors; and repeats."""
    many = SIZE.items
    tables.run("old", "maker/model-001", outcomes(many, 0), started="2026-01-01T00:00:00+00:00")
    tables.run("part", "maker/model-002", outcomes(600, 0), started="2026-11-20T00:00:00+00:00", n_items=many)
    # A trial over a few items, complete in itself and later than the whole run of its model.
    tables.run("trial", "maker/model-002", outcomes(20, 0), started="2026-11-21T00:00:00+00:00")
    failed = np.array(["correct"] * 900 + ["error"] * 300)
    tables.run("failed", "maker/broken", failed, n_items=many)
    tables.run(
        "repeated", "maker/repeated", outcomes(700, 500), repeats=(outcomes(710, 490), outcomes(690, 510)), seed=9
    )
    difficulty = np.random.default_rng(8).normal(0, 1, many)
    for n in range(1, 7):
        bare, _ = draw(many, 0.4 * n - 1, difficulty, 0.8, 300 + n)
        tables.run(f"bare-{n:03d}", f"maker/model-{n:03d}", bare, protocol=PATTERN)
    tables.annotations = [{"model": "maker/model-001", "annotation": "wrote the draft items", "note": "made up"}]


def scripted_run(tables: Tables) -> tuple[list[Graded], dict[str, AskedItem]]:
    """A run of real response texts through the real grading, for comparison with `scoring.summarise`."""
    items = {item.item_id: item for item in (make_item(n) for n in range(120))}
    texts = ["\\boxed{A}", "\\boxed{B} then \\boxed{C}", "答案是 C", "", None, "無法回答", "維生素 D", "\\boxed{(A)}"]
    responses = []
    for n, item in enumerate(items.values()):
        for repeat in range(2):
            right = (n + repeat) % 3 == 0
            text = boxed(item, item.key) if right else texts[(n * 5 + repeat) % len(texts)]
            changes: dict[str, object] = {"run_id": "scripted"}
            if n % 17 == 5:
                changes |= {"finish_reason": "length"}
            if n % 29 == 7:
                changes |= {"error": ErrorClass.CONTEXT_OVERFLOW, "finish_reason": None}
            responses.append(make_response(item, text, repeat=repeat, **changes))
    grading = Grading("scripted", VERSION)
    write_table(tables.raw, "responses", graded_rows(responses, items, grading, {}), "scripted")
    tables.items += items.values()
    tables.note_run("scripted", "maker/scripted", BOX, SCRIPTED, len(items), 2)
    tables.gradings.append(grading.row())
    return [grade(each, items[each.item_id].key) for each in responses], items


def other_tables(tables: Tables) -> None:
    """Accounts of the published constitution data set, keys of the whole corpus, a submission of either form."""
    buckets = {
        "published": 1_068,
        "voided": 9,
        "english": 1_062,
        "follow_up": 1,
        "not_four_choice": 105,
        "folded": 1_300,
    }
    lines = [("papers", "total", 164), ("papers", "accepted", 141), ("papers", "no_text_layer", 23)]
    lines += [("questions", line, count) for line, count in buckets.items()]
    lines.append(("questions", "total", sum(buckets.values())))
    tables.extra["build_accounting"] = [
        {"scope": "tw-roc-constitution-bench", "section": section, "line": line, "count": count}
        for section, line, count in lines
    ]
    tables.extra["key_figures"] = [
        {"scope": scope, "groups": groups, "agreeing": agreeing, "independent_groups": 0, "independent_agreeing": 0}
        for scope, groups, agreeing in (("tw-roc-constitution-bench", 724, 724), ("rest", 30_588, 30_561))
    ]
    protocol = BOX.protocol_id
    tables.extra["submissions"] = [
        {
            "submission_id": form,
            "model": "maker/model-001",
            "benchmark": NATIVE,
            "dataset_version": VERSION,
            "protocol_id": protocol,
            "serving_precision": "native",
            "form": form,
            "received": "2026-11-10T00:00:00+00:00",
            "n_items": SIZE.items,
            "rows": SIZE.items if form == "exact" else SIZE.items - 2,
        }
        for form in ("published", "exact")
    ]
    tables.extra["submission_answers"] = [*submitted(tables, "published"), *submitted(tables, "exact")]
    tables.extra["refused_submissions"] = [
        refusal("ref-0000000000000001", "missing_items", form="published", rows=900, model="maker/model-002"),
        refusal("ref-0000000000000002", "no_consent"),
    ]
    tables.extra["check_results"] = [
        {
            "dataset": "made",
            "check_name": "distinct_options",
            "passed": True,
            "blocking": True,
            "warned": False,
            "detail": "",
            "code_version": "1",
            "judged_manifest": "aa",
        }
    ]


def refusal(refusal_id: str, reason: str, **given: object) -> dict[str, object]:
    """A refused submission; what is not given stands empty, as where there is no consent to keep it."""
    empty = dict.fromkeys(("form", "model", "benchmark", "dataset_version", "protocol_id", "serving_precision"), "")
    fixed = {"refusal_id": refusal_id, "reason": reason, "detail": "made up", "received": "2026-11-11", "rows": 0}
    return {**empty, **fixed, **given}


def submitted(tables: Tables, form: str) -> Iterator[dict[str, object]]:
    """A volunteer's rows over the native items; the published form sends a shared stem once."""
    native = tables.items[: SIZE.items]
    shared = {row["item_id"] for row in item_rows(native) if row["shares_stem"]}
    sent: set[str] = set()
    for n, item in enumerate(native):
        found = stem_hash(item.question)
        if form == "published" and found in sent:
            continue
        sent.add(found)
        ambiguous = form == "published" and item.item_id in shared
        yield {
            "submission_id": form,
            "item_id": None if ambiguous else item.item_id,
            "stem_hash": found,
            "strict_correct": n % 3 == 0,
            "lenient_correct": n % 2 == 0 or n % 3 == 0,
            "strict_parsed": n % 3 == 0,
            "lenient_parsed": True,
            "strict_answer": "A" if form == "exact" and n % 3 == 0 else None,
            "lenient_answer": "A" if form == "exact" else None,
        }


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The mart over everything above. Read only."""
    warehouse = Warehouse(tmp_path_factory.mktemp("mart") / "warehouse")
    tables = fill(warehouse.raw, SIZE)
    plant_alarms(tables)
    odd_runs(tables)
    other_tables(tables)
    graded, scripted = scripted_run(tables)
    published_counts(tables)
    tables.write()
    made = warehouse.folder.parent / "made" / BUILD_DATABASE
    made.parent.mkdir()
    with warehouse.building() as made_from:
        warehouse.dbt(["build", "--quiet"])
        shutil.copy(warehouse.folder / BUILD_DATABASE, made)
        warehouse.note_build(made_from)
        swapped = warehouse.swap()
    return Built(warehouse, tables, swapped, made, graded, scripted, tables.withdrawn)


@pytest.fixture
def mart(built: Built) -> Iterator[duckdb.DuckDBPyConnection]:
    """The mart, open as an analyst opens it."""
    with open_mart(built.warehouse.folder) as connection:
        yield connection
