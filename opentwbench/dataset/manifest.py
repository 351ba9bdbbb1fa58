"""A data-set folder as a whole: every file from one Dataset, the manifest over them, and the atomic write.

What belongs here: which files a folder holds, their order of making, and what is carried over from the version that is
published. What does not: judging a folder (validators.py) and publishing one (publication.py).
Source: the design, section 3 ("Data-set folder"). A rebuild of unchanged content leaves every byte as it was.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from opentwbench.dataset.atomic import recover, replace_folder
from opentwbench.dataset.card import card
from opentwbench.dataset.contract import ItemRow, excerpt, frame_of
from opentwbench.dataset.files import (
    CSV_NAME,
    JSONL_NAME,
    canonical_order,
    csv_bytes,
    jsonl_bytes,
    parse_json,
    read_bytes,
    read_jsonl,
    rows_from_jsonl,
)
from opentwbench.dataset.model import Dataset, DatasetError, Withdrawal
from opentwbench.dataset.versions import (
    Change,
    changelog_entry,
    compare,
    grow_changelog,
    merge_aliases,
    version_of,
    withdrawn_bytes,
)
from opentwbench.dataset.withdrawal import set_counts

CARD_NAME = "README.md"
STATS_NAME = "build_stats.json"
WITHDRAWN_NAME = "withdrawn.jsonl"
CHANGELOG_NAME = "CHANGELOG.md"
MANIFEST_NAME = "manifest.json"

CONTENT_NAMES: tuple[str, ...] = (JSONL_NAME, CSV_NAME, CARD_NAME, STATS_NAME, WITHDRAWN_NAME, CHANGELOG_NAME)
"""The files that the manifest lists; the folder holds these and the manifest, nothing else."""

FOLDER_NAMES: tuple[str, ...] = (*CONTENT_NAMES, MANIFEST_NAME)

FORMAT = 1
"""Version of the manifest's own layout."""

JUDGED_MANIFEST = "judged_manifest_sha256"
"""In a published manifest: the sha256 of the data-set folder's manifest that it was made from."""


@dataclass(frozen=True, slots=True)
class Written:
    """The outcome of `write_dataset`."""

    folder: Path
    version: str
    manifest: Mapping[str, Any]
    changed: bool
    """False when the folder already held exactly these bytes."""
    change: Change | None
    """Against the published version; None when there is none or its rows could not be read."""
    notes: tuple[str, ...] = ()
    """What a maintainer should know: history that could not be continued, withdrawals that name no published item."""


@dataclass(frozen=True, slots=True)
class _Before:
    """What is published: None or empty where nothing is, or nothing that its manifest vouches for."""

    version: str | None = None
    rows: tuple[ItemRow, ...] | None = None
    withdrawals: tuple[Withdrawal, ...] = ()
    changelog: str | None = None
    aliases: Mapping[str, str] | None = None
    notes: tuple[str, ...] = ()


def sha256(data: bytes) -> str:
    """Hex sha256 of bytes."""
    return hashlib.sha256(data).hexdigest()


def json_bytes(record: Mapping[str, Any]) -> bytes:
    """A mapping as readable, deterministic JSON: sorted keys, two spaces, one line feed at the end."""
    return (json.dumps(record, ensure_ascii=False, allow_nan=False, indent=2, sort_keys=True) + "\n").encode()


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a data-set or published folder; raises DatasetError naming what is wrong with it."""
    manifest = parse_json(_decoded(read_bytes(folder / MANIFEST_NAME), MANIFEST_NAME), MANIFEST_NAME)
    files = manifest.get("files")
    if manifest.get("format") != FORMAT or not isinstance(manifest.get("version"), str) or not isinstance(files, dict):
        raise DatasetError(f"{MANIFEST_NAME}: not a manifest of format {FORMAT}")
    for name, entry in files.items():
        if not isinstance(entry, dict) or not isinstance(entry.get("sha256"), str):
            raise DatasetError(f"{MANIFEST_NAME}: files.{excerpt(name)} has no sha256")
    return manifest


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise DatasetError(f"{name}: not UTF-8 at byte {error.start}") from None


def verified_bytes(folder: Path, name: str, manifest: Mapping[str, Any]) -> bytes:
    """A listed file's bytes; raises DatasetError when the manifest does not list them with this sha256."""
    data = read_bytes(folder / name)
    entry = manifest["files"].get(name)
    if entry is None or entry["sha256"] != sha256(data):
        raise DatasetError(f"{name}: its bytes are not those of {MANIFEST_NAME}")
    return data


def read_withdrawals(path: Path) -> tuple[Withdrawal, ...]:
    """The records of a withdrawn.jsonl; raises DatasetError naming line and field, and for an id withdrawn twice."""
    withdrawals = tuple(Withdrawal.from_json(record) for record in read_jsonl(path))
    _once(withdrawals)
    return withdrawals


def _once(withdrawals: Iterable[Withdrawal]) -> None:
    seen: set[str] = set()
    for withdrawal in withdrawals:
        if withdrawal.item_id in seen:
            raise DatasetError(f"{withdrawal.item_id} is withdrawn twice")
        seen.add(withdrawal.item_id)


def write_dataset(dataset: Dataset, folder: Path, published: Path | None = None) -> Written:
    """Write the whole folder of a data set, atomically: a kill leaves the old folder or the new one.

    Rows are written as they are, for the checks to judge; only what no file can hold (a wrong type, a lone surrogate)
    is refused here, by DatasetError. `published` is the publication that the new version would replace: the changelog
    and the aliases continue its own, as far as its manifest vouches for them, and begin where there is none. What the
    folder held before may be a version that was withheld: no reader can get it, so it is no part of the history.
    """
    _, unwritable = frame_of(dataset.rows)
    if unwritable:
        first = unwritable[0]
        raise DatasetError(f"{dataset.slug} row {first.row}: {first.column}: {first.rule}: {first.excerpt}")
    recover(folder)
    before = _read_before(_published_state(published, folder, JSONL_NAME))
    rows = tuple(canonical_order(dataset.rows))
    change = None if before.rows is None else compare(before.rows, rows)
    aliases = merge_aliases(before.aliases or {}, change or Change(), (row.item_id for row in rows))
    withdrawals, foreign = _withdrawals_of(dataset, rows, aliases)
    if before.rows is not None:
        change = compare(before.rows, rows, before.withdrawals, withdrawals)
    version = version_of(rows, withdrawals)
    files = _contents(replace(dataset, rows=rows), version, withdrawals, _history(before, version, len(rows), change))
    manifest = _manifest(dataset, version, files, aliases, len(withdrawals), foreign)
    changed = replace_folder(folder, files | {MANIFEST_NAME: json_bytes(manifest)})
    notes = before.notes + tuple(f"withdrawal of {item_id}, which is not published" for item_id in foreign)
    return Written(folder, version, manifest, changed, change, notes)


def _withdrawals_of(
    dataset: Dataset, rows: Iterable[ItemRow], aliases: Mapping[str, str]
) -> tuple[tuple[Withdrawal, ...], tuple[str, ...]]:
    """The withdrawals of published items, and the ids that name none.

    An old id is followed through its alias: a corrected character must not put a withdrawn item back into the scores.
    """
    current = {row.item_id for row in rows}
    followed = [replace(w, item_id=aliases.get(w.item_id, w.item_id)) for w in dataset.withdrawals]
    _once(followed)
    kept = sorted((w for w in followed if w.item_id in current), key=lambda w: w.item_id)
    return tuple(kept), tuple(sorted(w.item_id for w in followed if w.item_id not in current))


def _history(before: _Before, version: str, items: int, change: Change | None) -> str:
    if before.changelog is not None and before.version == version:
        return before.changelog
    previous = None if before.version == version else before.version  # a lost log of this version begins anew
    return grow_changelog(before.changelog, changelog_entry(version, items, change, previous))


def continued_changelog(
    folder: Path,
    published: Path | None,
    name: str,
    rows: Sequence[Mapping[str, Any]],
    version: str,
    identity: str,
    keyed: Callable[[Mapping[str, Any]], object],
    withdrawn: Iterable[str] = (),
) -> str:
    """The changelog of a folder whose rows are plain records, with the section of this version.

    It continues the log of the publication as `write_dataset` does. `name`: the file of the rows;
    `identity`: the column that names a row; `keyed`: what must be equal for scores of the older version to hold;
    `withdrawn`: item ids that are now.
    """
    first = grow_changelog(None, changelog_entry(version, len(rows), None, None))
    state = _published_state(published, folder, name)
    if state is None:
        return first
    try:
        manifest = read_manifest(state)
        lines = verified_bytes(state, name, manifest).decode().split("\n")[:-1]
        before = [parse_json(line, name) for line in lines]
        log = verified_bytes(state, CHANGELOG_NAME, manifest).decode()
        gone = {each.item_id for each in read_withdrawals(state / WITHDRAWN_NAME)}
    except (DatasetError, UnicodeDecodeError):
        return first
    if manifest["version"] == version:
        return log
    old, new = ({str(row.get(identity)): row for row in each} for each in (before, rows))
    kept = sorted(old.keys() & new.keys())
    rekeyed = tuple(each for each in kept if keyed(old[each]) != keyed(new[each]))
    other = tuple(each for each in kept if old[each] != new[each] and each not in set(rekeyed))
    change = Change(
        added=tuple(sorted(new.keys() - old.keys())),
        removed=tuple(sorted(old.keys() - new.keys())),
        rekeyed=rekeyed,
        redescribed=other,
        withdrawn=tuple(sorted(set(withdrawn) - gone)),
        reinstated=tuple(sorted(gone - set(withdrawn))),
    )
    return grow_changelog(log, changelog_entry(version, len(rows), change, manifest["version"]))


def _contents(dataset: Dataset, version: str, withdrawals: tuple[Withdrawal, ...], changelog: str) -> dict[str, bytes]:
    sets = set_counts(dataset.rows, withdrawals)
    stats = {"slug": dataset.slug, "version": version, "sets": sets, **dataset.stats.to_json()}
    return {
        JSONL_NAME: jsonl_bytes(row.to_json() for row in dataset.rows),
        CSV_NAME: csv_bytes(dataset.rows),
        CARD_NAME: card(dataset, version, len(withdrawals)).encode(),
        STATS_NAME: json_bytes(stats),
        WITHDRAWN_NAME: withdrawn_bytes(withdrawals),
        CHANGELOG_NAME: changelog.encode(),
    }


def _manifest(
    dataset: Dataset,
    version: str,
    files: Mapping[str, bytes],
    aliases: Mapping[str, str],
    withdrawn: int,
    foreign: tuple[str, ...],
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "slug": dataset.slug,
        "version": version,
        "code_version": dataset.code_version,
        "counts": {
            "items": len(dataset.rows),
            "withdrawn": withdrawn,
            "scored": len(dataset.rows) - withdrawn,
            "printed": dataset.stats.questions.printed,
            "index_rows": dataset.stats.papers.index_rows,
        },
        "aliases": dict(aliases),
        "withdrawals_of_unpublished_items": list(foreign),
        "files": {name: {"sha256": sha256(data), "bytes": len(data)} for name, data in files.items()},
    }


def _published_state(published: Path | None, folder: Path, rows_name: str) -> Path | None:
    """The folder to read what is published from: the publication, None where there is none.

    Where rows, withdrawals or changelog of the publication are damaged and the data-set folder still is the one that
    it was made from, that folder: it holds the same bytes, so damage that the next publication mends costs no history.
    """
    if published is None:
        return None
    recover(published)
    if not published.is_dir():
        return None
    try:
        manifest = read_manifest(published)
    except DatasetError:
        return published
    try:
        for name in (rows_name, WITHDRAWN_NAME, CHANGELOG_NAME):
            verified_bytes(published, name, manifest)
    except DatasetError:
        return folder if _is_judged(folder, manifest) else published
    return published


def _is_judged(folder: Path, public_manifest: Mapping[str, Any]) -> bool:
    try:
        return sha256(read_bytes(folder / MANIFEST_NAME)) == public_manifest.get(JUDGED_MANIFEST)
    except DatasetError:
        return False


def _read_before(folder: Path | None) -> _Before:
    if folder is None:
        return _Before()
    try:
        manifest = read_manifest(folder)
    except DatasetError as error:
        return _Before(notes=(f"history starts anew: {error}",))
    notes: list[str] = []
    try:
        verified_bytes(folder, JSONL_NAME, manifest)
        verified_bytes(folder, WITHDRAWN_NAME, manifest)
        rows = tuple(rows_from_jsonl(folder / JSONL_NAME))
        withdrawals = read_withdrawals(folder / WITHDRAWN_NAME)
    except DatasetError as error:
        notes.append(f"the change is not itemised: {error}")
        rows, withdrawals = None, ()
    try:
        changelog = _decoded(verified_bytes(folder, CHANGELOG_NAME, manifest), CHANGELOG_NAME)
    except DatasetError as error:
        notes.append(f"the changelog starts anew: {error}")
        changelog = None
    return _Before(manifest["version"], rows, withdrawals, changelog, _aliases(manifest), tuple(notes))


def _aliases(manifest: Mapping[str, Any]) -> dict[str, str]:
    aliases = manifest.get("aliases")
    if not isinstance(aliases, dict):
        return {}
    return {old: new for old, new in aliases.items() if isinstance(new, str)}
