"""Exports of a data set for an evaluation harness.

Source: Twinkle Eval 2.10 scores every json, jsonl, csv, tsv and parquet file below a directory, so its directory holds
benchmark.jsonl alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from opentwbench.dataset.atomic import recover, replace_folder
from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.files import JSONL_NAME, jsonl_bytes, rows_from_jsonl
from opentwbench.dataset.manifest import WITHDRAWN_NAME, read_manifest, read_withdrawals, verified_bytes
from opentwbench.dataset.model import DatasetError


@dataclass(frozen=True, slots=True)
class Exported:
    """The outcome of an export."""

    path: Path
    """The exported benchmark.jsonl."""
    version: str
    items: int
    withdrawn_left_out: int


def export_for_twinkle(folder: Path, out: Path, *, include_withdrawn: bool = False) -> Exported:
    """Write a directory that holds `benchmark.jsonl` alone: the scored set, or the published one when asked for.

    Without withdrawals both are the data set's own bytes. Raises DatasetError when the folder's files are not those of
    its manifest, or when `out` is a file or holds anything but an earlier export.
    """
    recover(folder)
    manifest = read_manifest(folder)
    data = verified_bytes(folder, JSONL_NAME, manifest)
    verified_bytes(folder, WITHDRAWN_NAME, manifest)
    _refuse_foreign(out)
    rows = rows_from_jsonl(folder / JSONL_NAME)
    withdrawn = {w.item_id for w in read_withdrawals(folder / WITHDRAWN_NAME)}
    kept = rows if include_withdrawn else [row for row in rows if row.item_id not in withdrawn]
    if not kept:
        raise DatasetError(f"{folder.name}: no items to export")
    replace_folder(out, {JSONL_NAME: data if len(kept) == len(rows) else jsonl_bytes(row.to_json() for row in kept)})
    return Exported(out / JSONL_NAME, manifest["version"], len(kept), len(rows) - len(kept))


def _refuse_foreign(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise DatasetError(f"{excerpt(out.name)}: not a directory")
    for entry in sorted(out.iterdir()) if out.exists() else ():
        if entry.name != JSONL_NAME:
            raise DatasetError(
                f"{excerpt(out.name)} holds {excerpt(entry.name)}; the harness would score it, choose another"
            )
