"""A store with judged data sets of registered subjects, for tests of the Hub: no paper, no build."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from opentwbench.dataset.files import JSONL_NAME, rows_from_jsonl
from opentwbench.dataset.manifest import write_dataset
from opentwbench.dataset.model import KeyFigures
from opentwbench.dataset.publication import judge
from opentwbench.dataset.validators import BLOCKING_CHECKS
from opentwbench.exam.fingerprint import loose
from opentwbench.exam.subjects import REGISTRY
from resources.store import Store
from support.datasets import make_dataset, make_id, make_row, same_as

FIRST, SECOND, THIRD = "tw-chinese-language-bench", "tw-library-science-bench", "tw-roc-constitution-bench"


def write_subject(store: Store, slug: str, items: int = 60, **changes: object) -> None:
    """Write one subject's data set and judge it by every blocking check. `changes` apply to its first row."""
    subject = REGISTRY[slug]
    rows = [make_row(n, item_id=make_id(n, subject.key), subject=subject.name_zh) for n in range(items)]
    # What loaders mistake for a missing value, a number or a date; no answer moves.
    texts = [{"A": "001", "B": "None", "C": "NA", "D": "2026-11-30"}, {"A": "1e5", "B": "=1+1", "C": "TRUE", "D": '"'}]
    rows[: len(texts)] = [replace(row, **text) for row, text in zip(rows, texts, strict=False)]
    rows[0] = replace(rows[0], **changes)  # type: ignore[arg-type]
    dataset = make_dataset(rows, slug=slug, name_zh=subject.name_zh, name_en=subject.name_en, field=subject.field)
    dataset = replace(dataset, stats=replace(dataset.stats, keys=KeyFigures(8, 8, 5, 5)))
    with store.folder(store.dataset(slug), write=True) as folder:
        write_dataset(dataset, folder)
        judge_all(store, slug, folder)


def judge_all(store: Store, slug: str, folder: Path) -> None:
    """Every blocking check's verdict on the folder as it is."""
    compare = same_as(rows_from_jsonl(folder / JSONL_NAME))
    for check in BLOCKING_CHECKS:
        _, verdict = judge(check, folder, loose, "test-1", compare)
        store.write_json(store.verdict(slug, check), verdict.to_json())


def hub_store(folder: Path, slugs: tuple[str, ...] = (FIRST,)) -> Store:
    """A store with these subjects, each judged and passed."""
    store = Store(str(folder))
    for number, slug in enumerate(slugs):
        write_subject(store, slug, 60 + number)
    return store
