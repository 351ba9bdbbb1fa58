"""Refused submissions, kept so that a maintainer sees what came in and why it was not taken.

What belongs here: what is recorded of a refusal, and its files. What does not: the reasons (submission_reading.py) and
judging (submissions.py). A record holds no row and no answer. Of the provenance it holds what a taken submission would
show, cleaned in the same way, and nothing at all where there is no consent or the record could not be read.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from opentwbench.dataset.atomic import write_file
from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.files import parse_json
from opentwbench.dataset.manifest import json_bytes
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.submission_reading import Provenance, Refusal, SubmissionRefused, cleared

FOLDER = "refused"
"""Beside the submissions that were taken in."""

REFUSAL_ID = r"ref-[0-9a-f]{16}"

MAX_DETAIL = 300
"""Most characters of a detail."""


@dataclass(frozen=True, slots=True)
class Refused:
    """One refused submission. Texts are '' where the provenance said nothing that may be kept."""

    refusal_id: str
    """'ref-' and 16 hex digits over both files and the reason: the same files refused again are the same refusal."""
    reason: str
    detail: str
    """Where and what, as the volunteer was told, without what names a person or a machine."""
    form: str
    """'published', 'exact', '' when no row could be read."""
    rows: int
    model: str = ""
    benchmark: str = ""
    dataset_version: str = ""
    protocol_id: str = ""
    serving_precision: str = ""
    received: str = ""
    """ISO date of the day on which it was first refused."""

    def to_row(self) -> dict[str, Any]:
        """A row of the mart's `refused_submissions`."""
        return asdict(self)


_KEPT = ("model", "benchmark", "dataset_version", "protocol_id", "serving_precision")


def refused(
    refusal: SubmissionRefused, results: bytes, record: bytes, given: Provenance | None, form: str, rows: int
) -> Refused:
    """The record of a refusal. `given` is the cleaned provenance, None when it was refused itself."""
    digests = (hashlib.sha256(data).hexdigest() for data in (results, record))
    about = "\0".join((*digests, refusal.reason.value, refusal.detail))
    kept = {name: cleared(getattr(given, name)) for name in _KEPT} if given else {}
    return Refused(
        refusal_id=f"ref-{hashlib.sha256(about.encode('utf-8', 'replace')).hexdigest()[:16]}",
        reason=refusal.reason.value,
        detail=excerpt(cleared(refusal.detail), MAX_DETAIL),
        form=form,
        rows=rows,
        **kept,
    )


def keep(refusal: Refused, folder: Path, received: str) -> bool:
    """Write the record under `folder`/refused/; False when it was there already, which changes no byte."""
    path = folder / FOLDER / f"{refusal.refusal_id}.json"
    if path.exists():
        return False
    write_file(path, json_bytes({"format": 1, **asdict(refusal), "received": received}))
    return True


def read_refusals(folder: Path) -> Iterator[Refused]:
    """Every refusal kept in the store, in the order of ids; raises DatasetError naming a file that is no record."""
    root = folder / FOLDER
    for path in sorted(root.iterdir()) if root.is_dir() else ():
        if re.fullmatch(rf"{REFUSAL_ID}\.json", path.name):
            yield _read(path)


def _read(path: Path) -> Refused:
    try:
        record = parse_json(path.read_text(encoding="utf-8"), path.name)
        del record["format"]
        found = Refused(**record)
        Refusal(found.reason)
        wrong = [each.name for each in fields(found) if type(getattr(found, each.name)) is not _TYPES[each.name]]
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise DatasetError(f"{FOLDER}/{path.name}: no refusal: {excerpt(str(error), 200)}") from None
    if wrong or found.refusal_id != path.stem:
        raise DatasetError(f"{FOLDER}/{path.name}: no refusal: {wrong[0] if wrong else 'refusal_id'} does not fit")
    return found


_TYPES: dict[str, type] = {each.name: int if each.name == "rows" else str for each in fields(Refused)}
