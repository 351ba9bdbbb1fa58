"""Windows, screened drafts and drafts' findings as files between steps: JSONL, read as hostile.

What belongs here: writing and reading records. What does not: how windows are cut and what the screens look for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from opentwbench.dataset.contract import MAX_TEXT, excerpt
from opentwbench.dataset.files import jsonl_bytes, read_jsonl
from opentwbench.dataset.model import DatasetError
from opentwbench.formosa.folding import stands_in
from opentwbench.formosa.model import Caution, Draft, Exclusion, Finding, Notice, Screened, Window


def windows_bytes(windows: Iterable[Window]) -> bytes:
    """Windows as JSONL, one a line."""
    return jsonl_bytes(asdict(window) for window in windows)


def read_windows(path: Path) -> dict[str, Window]:
    """Windows of a JSONL file by id; raises DatasetError naming line and field, and for an id that stands twice."""
    found: dict[str, Window] = {}
    for number, record in enumerate(read_jsonl(path), 1):
        where = f"{path.name} line {number}"
        _check(record, where)
        window = Window(**record)
        if window.window_id in found:
            raise DatasetError(f"{where}: {excerpt(window.window_id)} stands twice")
        found[window.window_id] = window
    return found


def _check(record: Mapping[str, Any], where: str) -> None:
    names = {each.name for each in fields(Window)}
    if set(record) != names:
        raise DatasetError(f"{where}: a window has {', '.join(sorted(names))}; got {excerpt(sorted(record), 200)}")
    for name, value in record.items():
        fits = type(value) is int if name in ("start", "end") else isinstance(value, str) and len(value) <= MAX_TEXT
        if not fits:
            raise DatasetError(f"{where}: {name} is of another type or too long: {excerpt(value)}")


def read_findings(path: Path) -> dict[str, tuple[Finding, ...]]:
    """What the screens found, {"window_id", "exclusion", "evidence"} a line, by window id; raises DatasetError."""
    found: dict[str, tuple[Finding, ...]] = {}
    for number, record in enumerate(read_jsonl(path), 1):
        where = f"{path.name} line {number}"
        if set(record) != {"window_id", "exclusion", "evidence"} or not all(
            isinstance(v, str) for v in record.values()
        ):
            raise DatasetError(f"{where}: a finding has window_id, exclusion and evidence, all texts")
        if record["exclusion"] not in tuple(Exclusion):
            raise DatasetError(f"{where}: no exclusion {excerpt(record['exclusion'])}")
        own = found.get(record["window_id"], ())
        found[record["window_id"]] = (*own, Finding(Exclusion(record["exclusion"]), record["evidence"]))
    return found


def screened_bytes(screened: Iterable[Screened]) -> bytes:
    """Drafts after their screens as JSONL, one a line."""
    return jsonl_bytes(asdict(each) for each in screened)


def read_screened(path: Path) -> list[Screened]:
    """Drafts after their screens of a JSONL file; raises DatasetError naming the line for a record that is none."""
    found = []
    for number, record in enumerate(read_jsonl(path), 1):
        try:
            draft = Draft(**record["draft"])
            findings = tuple(Finding(Exclusion(f["exclusion"]), str(f["evidence"])) for f in record["findings"])
            notices = tuple(Notice(Caution(n["caution"]), str(n["evidence"])) for n in record["notices"])
        except (KeyError, TypeError, ValueError) as error:
            raise DatasetError(f"{path.name} line {number}: no screened draft: {excerpt(str(error))}") from None
        found.append(Screened(draft, findings, notices))
    return found


def with_findings(draft: Draft, window: Window, findings: Mapping[str, tuple[Finding, ...]]) -> Screened:
    """A draft with what the screens found, and the caution that its answer is not in the window where it is not."""
    answer = draft.options.get(draft.key, "")
    found = findings.get(draft.window_id, ())
    if not answer.strip():
        found = (*found, Finding(Exclusion.OPTIONS_MALFORMED, f"no option {excerpt(draft.key)}"))
    notices = () if stands_in(answer, window.text) else (Notice(Caution.ANSWER_NOT_IN_WINDOW, excerpt(answer)),)
    order = list(Exclusion)
    return Screened(draft, tuple(sorted(found, key=lambda each: order.index(each.exclusion))), notices)
