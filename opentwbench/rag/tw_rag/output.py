"""The folder of tw-rag-bench: the primary set, the same items with four options, two scripts, card, licence, figures.

    ragas.jsonl                   question, contexts (four texts), reference, gold_position, category, source_chunk
    benchmark.jsonl .csv          config `mcq`: the same items as four-option questions with the passages in the prompt
    run_rag_generation.py make_ragas_dataset.py     the published card's scripts, standard library alone
    README.md LICENSE.md build_stats.json withdrawn.jsonl CHANGELOG.md manifest.json

The items with options are in benchmark.jsonl, as in every data set of the platform, so that runs, scores and the mart
take them as they are. An item's id is that of its content, passages included; `formosa_id` names its closed-book half.
What belongs here: rows, files, the version, reading them back. What does not: judging the folder (dataset_checks.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opentwbench.dataset.atomic import recover, replace_folder
from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.files import CSV_NAME, JSONL_NAME, csv_records_bytes, jsonl_bytes, read_jsonl
from opentwbench.dataset.manifest import (
    CARD_NAME,
    CHANGELOG_NAME,
    FORMAT,
    MANIFEST_NAME,
    STATS_NAME,
    WITHDRAWN_NAME,
    continued_changelog,
    json_bytes,
    sha256,
)
from opentwbench.dataset.model import DatasetError, Withdrawal
from opentwbench.dataset.versions import VERSION_DIGITS, withdrawn_bytes
from opentwbench.exam.fingerprint import item_id
from opentwbench.rag.tw_rag.card import LICENCE_TEXT, card
from opentwbench.rag.tw_rag.model import CONTEXTS, KEY, Account, Category, Context, Dropped, LeftOut, TwRagItem, account

SLUG = "tw-rag-bench"
RAGAS_NAME, LICENCE_NAME = "ragas.jsonl", "LICENSE.md"
SCRIPTS = {"run_rag_generation.py": "standalone_generation.py", "make_ragas_dataset.py": "standalone_judge_set.py"}
"""Name in the folder -> the module here that goes into it byte for byte."""

CONTENT_NAMES = (
    RAGAS_NAME,
    JSONL_NAME,
    CSV_NAME,
    *SCRIPTS,
    CARD_NAME,
    LICENCE_NAME,
    STATS_NAME,
    WITHDRAWN_NAME,
    CHANGELOG_NAME,
)
FOLDER_NAMES = (*CONTENT_NAMES, MANIFEST_NAME)
"""What the folder holds, and nothing else."""

RAGAS_COLUMNS = (
    "question",
    "contexts",
    "reference",
    "gold_position",
    "category",
    "source_chunk",
    "answer_text",
    "context_chunks",
    "context_urls",
    "context_attributions",
    "formosa_id",
    "item_id",
)
"""Columns of ragas.jsonl, in order. The first six are the published card's."""

COLUMNS = ("question", "A", "B", "C", "D", "answer", "category", "source_chunk", "formosa_id", "item_id")
"""Columns of benchmark.jsonl and benchmark.csv; every cell is a text."""

MCQ = "請根據下列四個段落，選出正確的答案。\n\n{passages}\n\n問題：{question}"
PASSAGE = "【段落{number}】\n{text}"


def mcq_question(question: str, contexts: Sequence[str]) -> str:
    """The stem of the item with options: the passages in their order, then the question."""
    passages = "\n\n".join(PASSAGE.format(number=n, text=text) for n, text in enumerate(contexts, 1))
    return MCQ.replace("{passages}", passages).replace("{question}", question)


def rag_item_id(item: TwRagItem) -> str:
    """'rag-' and 12 hex digits of the exact fingerprint of the item with its passages."""
    return item_id(KEY, mcq_question(item.question, [each.text for each in item.contexts]), item.options)


def ragas_row(item: TwRagItem) -> dict[str, Any]:
    """A line of ragas.jsonl."""
    return {
        "question": item.question,
        "contexts": [each.text for each in item.contexts],
        "reference": item.reference,
        "gold_position": item.gold_position,
        "category": item.category,
        "source_chunk": item.source_chunk,
        "answer_text": item.answer_text,
        "context_chunks": [each.window_id for each in item.contexts],
        "context_urls": [each.url for each in item.contexts],
        "context_attributions": [each.attribution for each in item.contexts],
        "formosa_id": item.formosa_id,
        "item_id": rag_item_id(item),
    }


def mcq_row(item: TwRagItem) -> dict[str, str]:
    """A line of benchmark.jsonl."""
    return {
        "question": mcq_question(item.question, [each.text for each in item.contexts]),
        **dict(item.options),
        "answer": item.answer,
        "category": item.category,
        "source_chunk": item.source_chunk,
        "formosa_id": item.formosa_id,
        "item_id": rag_item_id(item),
    }


# -- categories, as they stand between two steps ----------------------------------------------------------------------


def category_bytes(category: Category) -> bytes:
    """A category as JSONL: its counts first, then a line an item, kept or dropped."""
    head = {"category": category.name, "rejected": dict(sorted(category.rejected.items()))}
    lines: list[Mapping[str, Any]] = [head]
    for item in category.items:
        own = {"question": item.question, "options": dict(item.options), "answer": item.answer, "form": item.form}
        lines.append({"kept": {**own, **{name: value for name, value in ragas_row(item).items() if name != "item_id"}}})
    for each in category.dropped:
        lines.append({"dropped": {"formosa_id": each.formosa_id, "reason": each.reason.value, "detail": each.detail}})
    return jsonl_bytes(lines)


def read_category(path: Path) -> Category:
    """A category read back; raises DatasetError naming the line."""
    records = read_jsonl(path)
    if not records or set(records[0]) != {"category", "rejected"}:
        raise DatasetError(f"{path.name}: no category of {SLUG}")
    name, items, dropped = str(records[0]["category"]), [], []
    for number, record in enumerate(records[1:], 2):
        try:
            if "kept" in record:
                items.append(_item_of(record["kept"]))
            else:
                given = record["dropped"]
                dropped.append(Dropped(given["formosa_id"], name, LeftOut(given["reason"]), given["detail"]))
        except (KeyError, TypeError, ValueError) as error:
            raise DatasetError(f"{path.name} line {number}: {type(error).__name__}: {excerpt(str(error))}") from None
    return Category(name, tuple(items), tuple(dropped), records[0]["rejected"])


def _item_of(record: Mapping[str, Any]) -> TwRagItem:
    texts = zip(
        record["context_chunks"],
        record["contexts"],
        record["context_urls"],
        record["context_attributions"],
        strict=True,
    )
    names = ("formosa_id", "question", "options", "answer", "reference", "form")
    return TwRagItem(
        **{name: record[name] for name in names},
        contexts=tuple(Context(*each) for each in texts),
        gold_position=record["gold_position"],
        category=record["category"],
        source_chunk=record["source_chunk"],
    )


# -- the folder -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Release:
    """Everything that the folder is written from."""

    categories: tuple[Category, ...]
    grounded_version: str
    """Version of the full grounded set that the items come from (formosa.output.full_version)."""
    code_version: str
    withdrawals: tuple[Withdrawal, ...] = ()

    def items(self) -> list[TwRagItem]:
        """Every item in the order of its Formosa id. Raises DatasetError for one that stands twice."""
        found: dict[str, TwRagItem] = {}
        for item in (item for each in self.categories for item in each.items):
            if found.setdefault(item.formosa_id, item) is not item:
                raise DatasetError(f"{item.formosa_id}: stands in two categories")
        return [found[identity] for identity in sorted(found)]

    @property
    def account(self) -> Account:
        """The counts over all categories."""
        return account(self.categories)


def write_release(release: Release, folder: Path, published: Path | None = None) -> str:
    """Write the whole folder atomically; returns its version, the hash of rows and withdrawals.

    `published`: the publication that it would replace, whose changelog it continues. Raises DatasetError without an
    item, for open sums, and for a withdrawal that names no item.
    """
    recover(folder)
    items = release.items()
    if not items:
        raise DatasetError(f"{SLUG}: no item in any category")
    if broken := release.account.open_sums():
        raise DatasetError(f"the accounting does not close: {broken[0]}")
    ragas, mcq = [ragas_row(item) for item in items], [mcq_row(item) for item in items]
    names = {row["item_id"] for row in mcq}
    if len(names) < len(mcq):
        raise DatasetError(f"{SLUG}: two items have one id")
    if foreign := [each.item_id for each in release.withdrawals if each.item_id not in names]:
        raise DatasetError(f"{foreign[0]}: withdrawn and not published")
    gone = [each.item_id for each in release.withdrawals]
    withdrawn = withdrawn_bytes(release.withdrawals)
    version = version_of(jsonl_bytes(ragas), jsonl_bytes(mcq), withdrawn)
    files = {
        RAGAS_NAME: jsonl_bytes(ragas),
        JSONL_NAME: jsonl_bytes(mcq),
        CSV_NAME: csv_records_bytes(mcq, COLUMNS),
        **{name: script_bytes(name) for name in SCRIPTS},
        CARD_NAME: card(SLUG, version, release.account, _by_category(release), _positions(items)).encode(),
        LICENCE_NAME: LICENCE_TEXT.encode(),
        STATS_NAME: json_bytes(_stats(release, version)),
        WITHDRAWN_NAME: withdrawn,
        CHANGELOG_NAME: continued_changelog(
            folder, published, RAGAS_NAME, ragas, version, "formosa_id", lambda row: row.get("reference"), gone
        ).encode(),
    }
    replace_folder(folder, files | {MANIFEST_NAME: json_bytes(_manifest(release, version, len(items), files))})
    return version


def version_of(ragas: bytes, mcq: bytes, withdrawn: bytes) -> str:
    """The version of a folder: the hash of both configs and of the withdrawals, as their files hold them."""
    return hashlib.sha256(ragas + b"\0" + mcq + b"\0" + withdrawn).hexdigest()[:VERSION_DIGITS]


def script_bytes(name: str) -> bytes:
    """One of the folder's scripts."""
    return Path(__file__).with_name(SCRIPTS[name]).read_bytes()


def _by_category(release: Release) -> dict[str, Account]:
    return {each.name: each.account for each in sorted(release.categories, key=lambda each: each.name)}


def _positions(items: Iterable[TwRagItem]) -> list[int]:
    counts = [0] * CONTEXTS
    for item in items:
        counts[item.gold_position - 1] += 1
    return counts


def _stats(release: Release, version: str) -> dict[str, Any]:
    dropped = [each for category in release.categories for each in category.dropped]
    needing = sorted(each.formosa_id for each in dropped if each.reason is LeftOut.NEEDS_TEMPLATE)
    return {
        "slug": SLUG,
        "version": version,
        "grounded_version": release.grounded_version,
        "account": release.account.to_json(),
        "by_category": {name: each.to_json() for name, each in _by_category(release).items()},
        "needs_template": needing,
    }


def _manifest(release: Release, version: str, items: int, files: Mapping[str, bytes]) -> dict[str, Any]:
    withdrawn = len(release.withdrawals)
    return {
        "format": FORMAT,
        "slug": SLUG,
        "version": version,
        "grounded_version": release.grounded_version,
        "code_version": release.code_version,
        "counts": {"items": items, "withdrawn": withdrawn, "scored": items - withdrawn},
        "aliases": {},
        "files": {name: {"sha256": sha256(data), "bytes": len(data)} for name, data in files.items()},
    }
