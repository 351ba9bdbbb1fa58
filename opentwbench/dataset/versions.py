"""Versions and what changed between them: the version hash, the comparison of two sets of rows, the changelog.

What belongs here: pure functions over rows, withdrawals and texts.
What does not: files and folders (manifest.py).
Source: the design, section 3 ("Fingerprint", "Data-set folder"): the version is the hash of rows and withdrawals, and
an item whose text a later parser corrects keeps its old id findable through an alias.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from opentwbench.dataset.contract import ItemRow
from opentwbench.dataset.files import canonical_order, jsonl_bytes
from opentwbench.dataset.model import Withdrawal

VERSION_DIGITS = 12
"""Hex digits of a version; as many as an item id has."""

CHANGELOG_HEADER = """# 版本紀錄 Changelog

每個版本一節，新的在上。版本是題目與撤回清單的雜湊值，不含日期。
One section a version, newest first. A version is the hash of rows and withdrawals; it holds no date.
"""

LISTED = 50
"""Item ids named for each kind of change; the rest is counted."""


def version_of(rows: Iterable[ItemRow], withdrawals: Iterable[Withdrawal]) -> str:
    """The data-set version: 12 hex digits of sha256 over the canonical rows and withdrawals.

    The two parts are separated by a NUL, which no JSONL holds, so that a line cannot move from one to the other unseen.
    """
    digest = hashlib.sha256(jsonl_bytes(row.to_json() for row in canonical_order(rows)))
    digest.update(b"\0")
    digest.update(withdrawn_bytes(withdrawals))
    return digest.hexdigest()[:VERSION_DIGITS]


def withdrawn_bytes(withdrawals: Iterable[Withdrawal]) -> bytes:
    """withdrawn.jsonl: one line a withdrawal in the order of item ids."""
    ordered = sorted(withdrawals, key=lambda w: (w.item_id, w.date, w.reason, w.evidence))
    return jsonl_bytes(withdrawal.to_json() for withdrawal in ordered)


@dataclass(frozen=True, slots=True)
class Change:
    """What differs between two versions. Every id of either version is in at most one of the kinds."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    rekeyed: tuple[str, ...] = ()
    """Same id, another answer text: scores of the older version do not hold for these."""
    retexted: tuple[tuple[str, str], ...] = ()
    """(old id, new id) of the same printed question whose text or options changed: an alias."""
    redescribed: tuple[str, ...] = ()
    """Same id and answer text; the provenance, the reprint count or the option order changed."""
    withdrawn: tuple[str, ...] = ()
    reinstated: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """True when nothing changed."""
        return self == Change()

    def counts(self) -> dict[str, int]:
        """How many items changed, by kind."""
        return {
            "added": len(self.added),
            "removed": len(self.removed),
            "rekeyed": len(self.rekeyed),
            "retexted": len(self.retexted),
            "redescribed": len(self.redescribed),
            "withdrawn": len(self.withdrawn),
            "reinstated": len(self.reinstated),
        }


def _answer_text(row: ItemRow) -> str:
    # By text, never by letter: reprints order their options differently, and a letter alone makes false conflicts.
    return {"A": row.A, "B": row.B, "C": row.C, "D": row.D}.get(row.answer, row.answer)


def compare(
    old: Sequence[ItemRow],
    new: Sequence[ItemRow],
    old_withdrawn: Iterable[Withdrawal] = (),
    new_withdrawn: Iterable[Withdrawal] = (),
) -> Change:
    """What changed from the old rows to the new ones, ids in order."""
    before, after = ({row.item_id: row for row in rows} for rows in (old, new))
    gone, come = before.keys() - after.keys(), after.keys() - before.keys()
    retexted = _same_question(before, after, gone, come)
    kept = sorted(before.keys() & after.keys())
    rekeyed = [i for i in kept if _answer_text(before[i]) != _answer_text(after[i])]
    rekeyed_ids = set(rekeyed)
    redescribed = [i for i in kept if before[i] != after[i] and i not in rekeyed_ids]
    was, now = ({w.item_id for w in ws} for ws in (old_withdrawn, new_withdrawn))
    return Change(
        added=tuple(sorted(come - {new_id for _, new_id in retexted})),
        removed=tuple(sorted(gone - {old_id for old_id, _ in retexted})),
        rekeyed=tuple(rekeyed),
        retexted=tuple(retexted),
        redescribed=tuple(redescribed),
        withdrawn=tuple(sorted(now - was)),
        reinstated=tuple(sorted(was - now)),
    )


def _same_question(
    before: Mapping[str, ItemRow], after: Mapping[str, ItemRow], gone: Iterable[str], come: Iterable[str]
) -> list[tuple[str, str]]:
    """Ids that left and came at the same place: one printed question under two texts."""
    places = {(before[i].paper_id, before[i].q_no): i for i in sorted(gone)}
    pairs = ((places.get((after[i].paper_id, after[i].q_no)), i) for i in sorted(come))
    return sorted((old_id, new_id) for old_id, new_id in pairs if old_id is not None)


def merge_aliases(aliases: Mapping[str, str], change: Change, published: Iterable[str]) -> dict[str, str]:
    """Old id -> the id under which the item is published now.

    Chains are shortened, an id that is published again loses its alias, and an alias whose item has left is dropped:
    an alias always leads to a published item.
    """
    current = set(published)
    step = dict(change.retexted)
    merged = {old: step.get(new, new) for old, new in aliases.items()} | step
    return {old: new for old, new in sorted(merged.items()) if new in current and old not in current}


_KINDS = (
    ("added", "新增 added"),
    ("removed", "移除 removed"),
    ("rekeyed", "更改答案 re-keyed"),
    ("retexted", "更正文字 text corrected (old id → new id)"),
    ("redescribed", "更改出處 provenance or reprints changed"),
    ("withdrawn", "撤回 withdrawn from the scored set"),
    ("reinstated", "恢復 reinstated in the scored set"),
)


def changelog_entry(version: str, items: int, change: Change | None, previous: str | None) -> str:
    """The section of one version: counts of every kind of change, ids bounded by LISTED.

    `previous` None = the log begins here; `change` None = there was one, and its rows could not be read.
    """
    lines = [f"## {version}", "", f"{items} 題 items."]
    if previous is None:
        return "\n".join([*lines, "", "本紀錄的首個版本 First version in this log."]) + "\n"
    lines[-1] += f" 前一版 previous version: {previous}."
    if change is None:
        return (
            "\n".join([*lines, "", "無法讀取前一版的題目 The previous rows could not be read; changes not listed."])
            + "\n"
        )
    for kind, label in _KINDS:
        lines += _listed(label, getattr(change, kind))
    return "\n".join(lines) + "\n"


def _listed(label: str, ids: Sequence[str | tuple[str, str]]) -> list[str]:
    if not ids:
        return []
    shown = [" → ".join(f"`{part}`" for part in ([i] if isinstance(i, str) else i)) for i in ids[:LISTED]]
    more = [f"- 其餘 {len(ids) - LISTED} 題 and {len(ids) - LISTED} more"] if len(ids) > LISTED else []
    return ["", f"{label}: {len(ids)}", "", *(f"- {line}" for line in shown), *more]


def grow_changelog(text: str | None, entry: str) -> str:
    """The changelog with one more section on top; a text that does not start with the header is not continued."""
    if text is None or not text.startswith(CHANGELOG_HEADER):
        return f"{CHANGELOG_HEADER}\n{entry}"
    return f"{CHANGELOG_HEADER}\n{entry}{text[len(CHANGELOG_HEADER) :]}"


def changelog_versions(text: str) -> list[str]:
    """The versions that a changelog has sections of, newest first; one that came back is named each time."""
    return re.findall(r"^## (\S+)$", text, re.MULTILINE)
