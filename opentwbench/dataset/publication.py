"""Verdicts and the publisher: only the bytes that every blocking check passed are published.

What belongs here: verdict records, the gate, and targets that a folder can be published to.
What does not: the checks (validators.py). The gate stands here and not in an orchestrator, because a blocking check
acts inside one run only: a publication started alone, by hand or from the command line must meet the same gate.
Source: the design, section 4 ("Publication").
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from opentwbench.dataset.atomic import recover, replace_folder
from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.files import read_bytes
from opentwbench.dataset.manifest import FOLDER_NAMES, JUDGED_MANIFEST, MANIFEST_NAME, json_bytes, read_manifest, sha256
from opentwbench.dataset.model import DatasetError
from opentwbench.dataset.validators import BLOCKING_CHECKS, CheckOutcome, CompareRows, Fingerprint, run_check


class PublicationRefused(Exception):
    """Nothing was published. `check` or `file` names what stood against it, '' where it is about neither."""

    def __init__(self, reason: str, *, check: str = "", file: str = "") -> None:
        where = " ".join(part for part in (check and f"check {check}:", file and f"file {file}:") if part)
        super().__init__(f"{where} {reason}".strip())
        self.reason = reason
        self.check = check
        self.file = file


class FilesChangedError(DatasetError):
    """The folder was written while a check read it, so the verdict would be about no one state of it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one check said of exactly these bytes."""

    check: str
    passed: bool
    """False only when the outcome blocks: a check that failed as a warning lets the folder through."""
    blocking: bool
    files: Mapping[str, str]
    """File name -> sha256, every file of the folder that was judged."""
    code_version: str
    severity: str = "error"
    warned: bool = False
    """True when the check did not pass and only warns."""
    detail: str = ""
    figures: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """The record as it is stored."""
        return {
            "check": self.check,
            "passed": self.passed,
            "blocking": self.blocking,
            "files": dict(self.files),
            "code_version": self.code_version,
            "severity": self.severity,
            "warned": self.warned,
            "detail": self.detail,
            "figures": dict(self.figures or {}),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Verdict:
        """A stored verdict; raises DatasetError naming the field. Anything but a plain true is no pass."""
        shape: dict[str, type] = {
            "check": str,
            "passed": bool,
            "blocking": bool,
            "files": dict,
            "code_version": str,
            "severity": str,
            "warned": bool,
            "detail": str,
            "figures": dict,
        }
        for name, kind in shape.items():
            if not isinstance(record.get(name), kind):
                raise DatasetError(f"verdict: {name} must be of type {kind.__name__}, got {excerpt(record.get(name))}")
        if not all(isinstance(v, str) for v in record["files"].values()):
            raise DatasetError("verdict: files must map names to sha256")
        return cls(**{name: record[name] for name in shape})


@dataclass(frozen=True, slots=True)
class Published:
    """The outcome of `publish`."""

    slug: str
    version: str
    files: Mapping[str, str]
    """File name -> sha256 at the target."""
    changed: bool
    """False when the target already held exactly these bytes."""


class PublicationTarget(Protocol):
    """Where a data set is published to. `put` makes it hold exactly these files, whole or not at all."""

    def put(self, files: Mapping[str, bytes]) -> bool:
        """Publish; False when the target already held exactly these bytes."""


@dataclass(frozen=True, slots=True)
class LocalTarget:
    """A folder as a publication target."""

    folder: Path

    def put(self, files: Mapping[str, bytes]) -> bool:
        """Swap the folder in as a whole."""
        return replace_folder(self.folder, files)


def folder_bytes(folder: Path, holds: Collection[str] = FOLDER_NAMES) -> dict[str, bytes]:
    """Every file of a data-set folder, which holds just these.

    Raises DatasetError for an entry that is missing, unknown or no plain file.
    """
    if not folder.is_dir():
        raise DatasetError(f"no data-set folder {folder.name}")
    names = {entry.name for entry in folder.iterdir()}
    for name in sorted(names ^ set(holds)):
        raise DatasetError(f"{excerpt(name)}: {'does not belong to a data set' if name in names else 'missing'}")
    return {name: read_bytes(folder / name) for name in holds}


def folder_hashes(folder: Path, holds: Collection[str] = FOLDER_NAMES) -> dict[str, str]:
    """File name -> sha256 of a data-set folder, as a verdict records them."""
    return {name: sha256(data) for name, data in folder_bytes(folder, holds).items()}


def judge(
    check: str, folder: Path, fingerprint: Fingerprint, code_version: str, compare: CompareRows | None = None
) -> tuple[CheckOutcome, Verdict]:
    """Run one blocking check and record its verdict on the bytes it read; `compare` is for `rows_match_records`.

    Raises FilesChangedError when the folder changed meanwhile, DatasetError when it is not a whole data-set folder.
    """
    return judge_by(lambda: run_check(check, folder, fingerprint, compare), check, folder, code_version)


def judge_by(
    look: Callable[[], CheckOutcome],
    check: str,
    folder: Path,
    code_version: str,
    holds: Collection[str] = FOLDER_NAMES,
) -> tuple[CheckOutcome, Verdict]:
    """What `look` says of a folder that holds just these files, and its verdict on the bytes that it read.

    Raises FilesChangedError when the folder changed meanwhile, DatasetError when it is not whole.
    """
    recover(folder)
    before = folder_hashes(folder, holds)
    outcome = look()
    if folder_hashes(folder, holds) != before:
        raise FilesChangedError(f"{folder.name} changed while {check} read it")
    return outcome, verdict_of(outcome, before, code_version)


def verdict_of(outcome: CheckOutcome, files: Mapping[str, str], code_version: str) -> Verdict:
    """The verdict of an outcome over files of these hashes."""
    return Verdict(
        check=outcome.name,
        passed=not outcome.blocks,
        blocking=True,
        files=dict(files),
        code_version=code_version,
        severity=outcome.severity,
        warned=not outcome.passed and not outcome.blocks,
        detail=outcome.detail,
        figures=dict(outcome.figures),
    )


def publish(
    folder: Path,
    verdicts: Iterable[Verdict],
    target: Path | PublicationTarget,
    required: tuple[str, ...] = BLOCKING_CHECKS,
    holds: Collection[str] = FOLDER_NAMES,
) -> Published:
    """Publish exactly the bytes of `folder` that every required check passed, with the verdicts in the manifest.

    The bytes are read once; what is hashed is what is written. Raises PublicationRefused, and leaves the target as it
    is, when the folder is not whole, differs from its own manifest, or lacks a passing verdict over these bytes.
    """
    recover(folder)
    try:
        files = folder_bytes(folder, holds)
        manifest = read_manifest(folder)
    except DatasetError as error:
        raise PublicationRefused(str(error)) from None
    hashes = {name: sha256(data) for name, data in files.items()}
    _refuse_unlisted(manifest, hashes)
    accepted = _gate(hashes, list(verdicts), required)
    public = files | {MANIFEST_NAME: _public_manifest(manifest, hashes[MANIFEST_NAME], accepted)}
    place = LocalTarget(target) if isinstance(target, Path) else target
    changed = place.put(public)
    sums = {name: sha256(data) for name, data in public.items()}
    return Published(str(manifest.get("slug", folder.name)), manifest["version"], sums, changed)


def is_published(folder: Path, judged: Mapping[str, str], holds: Collection[str] = FOLDER_NAMES) -> bool:
    """Whether a published folder holds exactly the judged bytes, with the manifest made from theirs."""
    try:
        found, manifest = folder_hashes(folder, holds), read_manifest(folder)
    except DatasetError:
        return False
    same = all(found[name] == expected for name, expected in judged.items() if name != MANIFEST_NAME)
    return same and manifest.get(JUDGED_MANIFEST) == judged[MANIFEST_NAME]


def _refuse_unlisted(manifest: Mapping[str, Any], hashes: Mapping[str, str]) -> None:
    listed = {name: entry["sha256"] for name, entry in manifest["files"].items()}
    for name in sorted((set(listed) | set(hashes)) - {MANIFEST_NAME}):
        if listed.get(name) != hashes.get(name):
            raise PublicationRefused(f"its bytes are not those that {MANIFEST_NAME} lists", file=name)


def _gate(hashes: Mapping[str, str], verdicts: list[Verdict], required: tuple[str, ...]) -> list[Verdict]:
    """The verdicts that open the gate, in order of checks; raises PublicationRefused at the first against it."""
    by_check: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_check.setdefault(verdict.check, []).append(verdict)
    for check in required:
        if check not in by_check:
            raise PublicationRefused("no verdict", check=check)
    accepted = []
    for check in (*required, *sorted(set(by_check) - set(required))):
        if len(by_check[check]) > 1:
            raise PublicationRefused(f"{len(by_check[check])} verdicts where one is expected", check=check)
        verdict = by_check[check][0]
        if check in required or verdict.blocking:
            _refuse(verdict, hashes)
            accepted.append(verdict)
    return accepted


def _refuse(verdict: Verdict, hashes: Mapping[str, str]) -> None:
    for name in sorted(set(verdict.files) | set(hashes)):
        if verdict.files.get(name) != hashes.get(name):
            raise PublicationRefused("the verdict is about other bytes", check=verdict.check, file=name)
    if verdict.passed is not True:
        raise PublicationRefused(f"did not pass: {verdict.detail}", check=verdict.check)


def _public_manifest(manifest: Mapping[str, Any], judged: str, verdicts: list[Verdict]) -> bytes:
    """The published manifest: the judged one, its hash, and what each check said.

    It is the one file that differs from the judged folder, so its own former hash is recorded in it.
    """
    checks = [
        {
            "check": v.check,
            "passed": v.passed,
            "warned": v.warned,
            "detail": v.detail,
            "figures": dict(v.figures or {}),
            "code_version": v.code_version,
        }
        for v in verdicts
    ]
    return json_bytes({**manifest, "checks": checks, JUDGED_MANIFEST: judged})
