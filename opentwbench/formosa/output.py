"""The published folder of the track: the band, the full grounded set, who found what hard, the edition, card, licence.

What belongs here: items from grounded drafts, the files of the folder and its version. What does not: judging the
folder (dataset_checks.py) and the card's words (card.py).
The full set and the sidecar are files that the harness does not score: the first is compressed, the second has neither
question nor answer (facts on Twinkle Eval). Nothing in the folder depends on the clock; the edition's date is stated.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from opentwbench.dataset.atomic import recover, replace_folder
from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.files import CSV_NAME, JSONL_NAME, csv_records_bytes, jsonl_bytes, parse_json
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
from opentwbench.exam.glyphs import normalise
from opentwbench.formosa.accounting import Account
from opentwbench.formosa.band import Difficulty
from opentwbench.formosa.card import LICENCE_TEXT, card, options_and_key, served_by_role
from opentwbench.formosa.curation import Edition, LeftOut, Transfer
from opentwbench.formosa.edition_files import EDITION_NAME, SIDECAR_NAME
from opentwbench.formosa.grounding import Grounding
from opentwbench.formosa.judge_study import JudgeResult
from opentwbench.formosa.model import Caution, FormosaItem, Notice, Window
from opentwbench.formosa.permutation import permuted
from opentwbench.formosa.served import Served
from opentwbench.formosa.shortcuts import shortcuts

SLUG = "tw-formosa-bench"

FULL_NAME, LICENCE_NAME = "grounded.jsonl.gz", "LICENSE.md"

CONTENT_NAMES = (
    JSONL_NAME,
    CSV_NAME,
    FULL_NAME,
    SIDECAR_NAME,
    EDITION_NAME,
    CARD_NAME,
    LICENCE_NAME,
    STATS_NAME,
    WITHDRAWN_NAME,
    CHANGELOG_NAME,
)
FOLDER_NAMES = (*CONTENT_NAMES, MANIFEST_NAME)
"""What the folder holds, and nothing else."""

COLUMNS = (
    "question",
    "A",
    "B",
    "C",
    "D",
    "answer",
    "category",
    "title",
    "article",
    "url",
    "attribution",
    "commit",
    "window_id",
    "drafting_model",
    "judge",
    "item_id",
)
"""Columns of benchmark.jsonl and benchmark.csv; every cell is a text."""

MAX_FULL_BYTES = 1 << 28
"""Most bytes of the full set once it is unpacked: 2,665 items are about 5 MB."""


# -- items ------------------------------------------------------------------------------------------------------------


def make_items(grounding: Grounding, windows: Mapping[str, Window]) -> list[FormosaItem]:
    """Items of the grounded drafts, options permuted, in the order of ids.

    Raises DatasetError when two drafts give one item: near-duplicates were for a screen to find.
    """
    found: dict[str, FormosaItem] = {}
    for screened, judgement in grounding.grounded:
        draft, window = screened.draft, windows[screened.draft.window_id]
        texts = {letter: normalise(text) for letter, text in draft.options.items()}
        options, answer = permuted(window.window_id, texts, draft.key)
        question = normalise(draft.stem)
        identity = item_id("formosa", question, options)
        if identity in found:
            raise DatasetError(f"{identity}: windows {found[identity].window_id} and {window.window_id} give one item")
        found[identity] = FormosaItem(
            identity,
            question,
            options,
            answer,
            window.category,
            window.article,
            window.title,
            window.window_id,
            window.start,
            window.end,
            window.url,
            window.attribution,
            window.commit,
            draft.model,
            draft.prompt_id,
            judgement.judge,
            judgement.quote,
            screened.notices,
        )
    return [found[identity] for identity in sorted(found)]


def item_record(item: FormosaItem) -> dict[str, Any]:
    """An item as one line of the full set: options as columns A to D, so that a run can ask it as it is."""
    record = asdict(item)
    options = record.pop("options")
    return {"question": record.pop("question"), **options, **record}


_FULL_FIELDS = frozenset(each.name for each in fields(FormosaItem)) - {"options"} | set("ABCD")


def item_of(record: Mapping[str, Any], where: str) -> FormosaItem:
    """An item of the full set read back; raises DatasetError naming `where` and the field."""
    if set(record) != _FULL_FIELDS:
        raise DatasetError(f"{where}: not the fields of an item: {excerpt(sorted(record), 200)}")
    try:
        notices = tuple(Notice(Caution(each["caution"]), str(each["evidence"])) for each in record["notices"])
    except (TypeError, KeyError, ValueError):
        raise DatasetError(f"{where}: notices are none: {excerpt(record['notices'])}") from None
    for name, value in record.items():
        kind: type = int if name in ("start", "end") else list if name == "notices" else str
        if type(value) is not kind:
            raise DatasetError(f"{where}: {name} is of another type: {excerpt(value)}")
    plain = {name: value for name, value in record.items() if name not in (*"ABCD", "notices")}
    return FormosaItem(**plain, options={letter: record[letter] for letter in "ABCD"}, notices=notices)


def items_bytes(items: Iterable[FormosaItem]) -> bytes:
    """The full set as JSONL."""
    return jsonl_bytes(map(item_record, items))


def items_from(data: bytes, name: str) -> list[FormosaItem]:
    """The items of a full set's JSONL; raises DatasetError naming the line."""
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError as error:
        raise DatasetError(f"{name}: not UTF-8 at byte {error.start}") from None
    if lines.pop():
        raise DatasetError(f"{name}: no line feed at the end")
    return [item_of(parse_json(line, f"{name} line {n}"), f"{name} line {n}") for n, line in enumerate(lines, 1)]


def read_full(folder: Path) -> list[FormosaItem]:
    """The full grounded set of a folder, bounded; raises DatasetError."""
    path = folder / FULL_NAME
    if path.is_symlink() or not path.is_file():
        raise DatasetError(f"{FULL_NAME}: missing or not a regular file")
    try:
        with gzip.open(path) as file:
            data = file.read(MAX_FULL_BYTES + 1)
    except (OSError, EOFError) as error:
        raise DatasetError(f"{FULL_NAME}: not read: {excerpt(str(error))}") from None
    if len(data) > MAX_FULL_BYTES:
        raise DatasetError(f"{FULL_NAME}: more than {MAX_FULL_BYTES} bytes once unpacked")
    return items_from(data, FULL_NAME)


def full_version(items: Iterable[FormosaItem]) -> str:
    """The version of a full grounded set, which a pool is measured on: 12 hex digits of the sha256 of its JSONL."""
    ordered = sorted(items, key=lambda item: item.item_id)
    return sha256(items_bytes(ordered))[:VERSION_DIGITS]


def row_of(item: FormosaItem) -> dict[str, str]:
    """An item as a published row."""
    record = item_record(item)
    return {column: record[column] for column in COLUMNS}


# -- the folder -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Release:
    """Everything that the folder is written from."""

    items: tuple[FormosaItem, ...]
    """The full grounded set."""
    edition: Edition
    sidecar: tuple[Difficulty, ...]
    transfer: Transfer | None
    judges: tuple[JudgeResult, ...]
    """The stored study of every judge that grounded an item."""
    account: Account
    by_category: Mapping[str, Account]
    code_version: str
    external: tuple[LeftOut, ...] = ()
    withdrawals: tuple[Withdrawal, ...] = ()
    study: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Check or screen -> planted, caught, native, false_alarms."""
    served: Mapping[str, Mapping[str, Served]] = field(default_factory=dict)
    """'drafted', 'judged' -> model -> the names that its replies carry; the edition has those of the pool."""

    def published(self) -> list[FormosaItem]:
        """The band, in the order of ids. Raises DatasetError for a kept id that is no item."""
        by_id = {item.item_id: item for item in self.items}
        if unknown := [identity for identity in self.edition.cut.kept if identity not in by_id]:
            raise DatasetError(f"{excerpt(unknown[0])}: in the band and not in the grounded set")
        return [by_id[identity] for identity in sorted(self.edition.cut.kept)]


def sidecar_bytes(sidecar: Iterable[Difficulty]) -> bytes:
    """The sidecar as JSONL, in the order of ids; its sha256 stands in the edition."""
    return jsonl_bytes(each.to_json() for each in sorted(sidecar, key=lambda each: each.item_id))


def version_of(rows: Iterable[Mapping[str, Any]], withdrawn: bytes) -> str:
    """The version of a published folder: 12 hex digits of the sha256 of its rows and its withdrawals."""
    return hashlib.sha256(jsonl_bytes(rows) + b"\0" + withdrawn).hexdigest()[:VERSION_DIGITS]


def write_release(release: Release, folder: Path, published: Path | None = None) -> str:
    """Write the whole folder atomically; returns its version.

    The version is the hash of rows and withdrawals: a changed card is no other benchmark. `published`: the publication
    that it would replace, whose changelog it continues. Raises DatasetError for an edition cut from another set or
    sidecar, for a withdrawal that names no published item, and for open sums.
    """
    recover(folder)
    rows = [row_of(item) for item in release.published()]
    if release.edition.dataset_version != full_version(release.items):
        raise DatasetError(f"{release.edition.edition_id}: cut from another version of the grounded set")
    if release.edition.sidecar_sha256 != sha256(sidecar_bytes(release.sidecar)):
        raise DatasetError(f"{release.edition.edition_id}: cut from another sidecar")
    if broken := release.account.open_sums():
        raise DatasetError(f"the accounting does not close: {broken[0]}")
    names = {row["item_id"] for row in rows}
    if foreign := [each.item_id for each in release.withdrawals if each.item_id not in names]:
        raise DatasetError(f"{foreign[0]}: withdrawn and not published")
    gone = [each.item_id for each in release.withdrawals]
    withdrawn = withdrawn_bytes(release.withdrawals)
    version = version_of(rows, withdrawn)
    files = {
        JSONL_NAME: jsonl_bytes(rows),
        CSV_NAME: csv_records_bytes(rows, COLUMNS),
        # No time and no name in the header: equal items are equal bytes.
        FULL_NAME: gzip.compress(items_bytes(sorted(release.items, key=lambda item: item.item_id)), mtime=0),
        SIDECAR_NAME: sidecar_bytes(release.sidecar),
        EDITION_NAME: json_bytes(release.edition.to_json()),
        CARD_NAME: _card(release, rows, version).encode(),
        LICENCE_NAME: LICENCE_TEXT.encode(),
        STATS_NAME: json_bytes(_stats(release, version)),
        WITHDRAWN_NAME: withdrawn,
        CHANGELOG_NAME: continued_changelog(
            folder, published, JSONL_NAME, rows, version, "item_id", lambda row: row.get(str(row.get("answer"))), gone
        ).encode(),
    }
    replace_folder(folder, files | {MANIFEST_NAME: json_bytes(_manifest(release, version, files))})
    return version


def _card(release: Release, rows: Sequence[Mapping[str, str]], version: str) -> str:
    edition, transfer = release.edition, release.transfer
    return card(
        SLUG, version, rows, len(release.items), len(release.withdrawals), edition, transfer, release.external,
        release.judges, release.account, release.served,
    )  # fmt: skip


def _stats(release: Release, version: str) -> dict[str, Any]:
    return {
        "slug": SLUG,
        "version": version,
        "edition": release.edition.edition_id,
        "account": release.account.to_json(),
        "by_category": {name: each.to_json() for name, each in sorted(release.by_category.items())},
        "judges": [judge.to_json() for judge in release.judges],
        "study": {name: dict(each) for name, each in sorted(release.study.items())},
        "served": {role: {m: dict(names) for m, names in of.items()} for role, of in release.served.items()},
        "shortcuts": shortcut_figures([row_of(item) for item in release.published()], map(row_of, release.items)),
    }


def shortcut_figures(
    rows: Iterable[Mapping[str, str]], full: Iterable[Mapping[str, str]]
) -> dict[str, dict[str, dict[str, Any]]]:
    """What always-A and pick-longest score on the band and on the full set."""
    return {
        name: {rule: found.to_json() for rule, found in shortcuts(map(options_and_key, of)).items()}
        for name, of in (("band", rows), ("grounded", full))
    }


def _manifest(release: Release, version: str, files: Mapping[str, bytes]) -> dict[str, Any]:
    rows, withdrawn = len(release.edition.cut.kept), len(release.withdrawals)
    counts = {"items": rows, "withdrawn": withdrawn, "scored": rows - withdrawn, "grounded": len(release.items)}
    return {
        "format": FORMAT,
        "slug": SLUG,
        "version": version,
        "grounded_version": release.edition.dataset_version,
        "edition": release.edition.edition_id,
        "code_version": release.code_version,
        "counts": counts,
        "served": served_by_role(release.edition, release.judges, release.served),
        "aliases": {},
        "files": {name: {"sha256": sha256(data), "bytes": len(data)} for name, data in files.items()},
    }
