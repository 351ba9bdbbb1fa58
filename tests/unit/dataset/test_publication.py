"""The gate: exactly the bytes that every blocking check passed, or nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from support.datasets import make_dataset, make_row, same_as

from opentwbench.dataset import publication
from opentwbench.dataset.files import JSONL_NAME, rows_from_jsonl
from opentwbench.dataset.manifest import FOLDER_NAMES, write_dataset
from opentwbench.dataset.model import Dataset, DatasetError, KeyFigures
from opentwbench.dataset.publication import (
    FilesChangedError,
    PublicationRefused,
    Verdict,
    folder_hashes,
    judge,
    publish,
)
from opentwbench.dataset.validators import BLOCKING_CHECKS
from opentwbench.exam.fingerprint import loose


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def verdicts_on(folder: Path) -> list[Verdict]:
    compare = same_as(rows_from_jsonl(folder / JSONL_NAME))
    return [judge(name, folder, loose, "test-1", compare)[1] for name in BLOCKING_CHECKS]


@pytest.fixture
def folder(tmp_path: Path, sound: Dataset) -> Path:
    agreed = replace(sound, stats=replace(sound.stats, keys=KeyFigures(8, 8, 5, 5)))
    return write_dataset(agreed, tmp_path / "datasets" / sound.slug).folder


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "publications" / "tw-sample-subject-bench"


def test_exactly_the_judged_bytes_are_published_with_their_verdicts(folder: Path, target: Path) -> None:
    published = publish(folder, verdicts_on(folder), target)
    assert published.changed
    judged, public = contents(folder), contents(target)
    assert set(public) == set(FOLDER_NAMES)
    for name in set(FOLDER_NAMES) - {"manifest.json"}:
        assert public[name] == judged[name]
    manifest = json.loads(public["manifest.json"])
    assert [c["check"] for c in manifest["checks"]] == list(BLOCKING_CHECKS)
    assert all(c["passed"] for c in manifest["checks"])
    assert manifest["judged_manifest_sha256"] == sha256(judged["manifest.json"]).hexdigest()
    assert published.files == {name: sha256(data).hexdigest() for name, data in public.items()}
    for name, entry in manifest["files"].items():
        assert entry["sha256"] == published.files[name]


def test_the_same_version_twice_changes_nothing(folder: Path, target: Path) -> None:
    publish(folder, verdicts_on(folder), target)
    before = {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in target.iterdir()}
    assert not publish(folder, verdicts_on(folder), target).changed
    assert {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in target.iterdir()} == before


@pytest.mark.parametrize("name", BLOCKING_CHECKS)
def test_a_missing_verdict_refuses(name: str, folder: Path, target: Path) -> None:
    verdicts = [v for v in verdicts_on(folder) if v.check != name]
    with pytest.raises(PublicationRefused, match="no verdict") as caught:
        publish(folder, verdicts, target)
    assert caught.value.check == name
    assert not target.exists()


@pytest.mark.parametrize("name", BLOCKING_CHECKS)
def test_a_failed_verdict_refuses(name: str, folder: Path, target: Path) -> None:
    verdicts = [replace(v, passed=v.check != name) for v in verdicts_on(folder)]
    with pytest.raises(PublicationRefused, match="did not pass") as caught:
        publish(folder, verdicts, target)
    assert caught.value.check == name
    assert not target.exists()


@pytest.mark.parametrize("name", FOLDER_NAMES)
def test_a_byte_changed_after_the_verdicts_refuses(name: str, folder: Path, target: Path) -> None:
    verdicts = verdicts_on(folder)
    (folder / name).write_bytes((folder / name).read_bytes() + b" ")
    with pytest.raises(PublicationRefused) as caught:
        publish(folder, verdicts, target)
    assert caught.value.file == name
    assert not target.exists()


def test_a_whole_new_version_with_old_verdicts_refuses(folder: Path, target: Path, sound: Dataset) -> None:
    verdicts = verdicts_on(folder)
    write_dataset(replace(sound, rows=sound.rows[:-1], stats=sound.stats), folder)
    with pytest.raises(PublicationRefused, match="other bytes") as caught:
        publish(folder, verdicts, target)
    assert caught.value.check == "row_contract"
    assert not target.exists()


def test_verdicts_of_another_folder_refuse(folder: Path, target: Path, tmp_path: Path) -> None:
    other = write_dataset(make_dataset([make_row(n) for n in range(70, 130)]), tmp_path / "other").folder
    with pytest.raises(PublicationRefused, match="other bytes"):
        publish(folder, verdicts_on(other), target)


def test_a_refusal_leaves_what_was_published(folder: Path, target: Path) -> None:
    publish(folder, verdicts_on(folder), target)
    before = contents(target)
    (folder / "benchmark.csv").write_bytes(b"changed")
    with pytest.raises(PublicationRefused):
        publish(folder, [], target)
    assert contents(target) == before


def _stray(folder: Path) -> str:
    (folder / "notes.txt").write_bytes(b"x")
    return "notes.txt"


def _missing(folder: Path) -> str:
    (folder / "README.md").unlink()
    return "README.md"


def _link(folder: Path) -> str:
    data = (folder / "README.md").read_bytes()
    (folder.parent / "outside").write_bytes(data)
    (folder / "README.md").unlink()
    (folder / "README.md").symlink_to(folder.parent / "outside")
    return "README.md"


def _subfolder(folder: Path) -> str:
    (folder / "deep").mkdir()
    return "deep"


def _no_manifest(folder: Path) -> str:
    (folder / "manifest.json").unlink()
    return "manifest.json"


@pytest.mark.parametrize("damage", [_stray, _missing, _link, _subfolder, _no_manifest])
def test_a_folder_that_is_not_whole_refuses(damage: Callable[[Path], str], folder: Path, target: Path) -> None:
    verdicts = verdicts_on(folder)
    name = damage(folder)
    with pytest.raises(PublicationRefused, match=name):
        publish(folder, verdicts, target)
    assert not target.exists()


def test_no_folder_refuses(tmp_path: Path, target: Path) -> None:
    with pytest.raises(PublicationRefused, match="no data-set folder"):
        publish(tmp_path / "absent", [], target)


def test_two_verdicts_of_one_check_refuse(folder: Path, target: Path) -> None:
    verdicts = verdicts_on(folder)
    with pytest.raises(PublicationRefused, match="2 verdicts"):
        publish(folder, [*verdicts, verdicts[0]], target)


def test_a_further_blocking_check_counts_and_an_advisory_one_does_not(folder: Path, target: Path) -> None:
    verdicts = verdicts_on(folder)
    extra = replace(verdicts[0], check="house_rule", passed=False)
    with pytest.raises(PublicationRefused) as caught:
        publish(folder, [*verdicts, extra], target)
    assert caught.value.check == "house_rule"
    assert publish(folder, [*verdicts, replace(extra, blocking=False)], target).changed


def test_a_warning_lets_the_folder_through_and_is_recorded(tmp_path: Path, target: Path) -> None:
    letters = "A" * 11 + "B" * 5 + "C" * 5 + "D" * 4
    rows = [make_row(n, answer=letter) for n, letter in enumerate(letters)]
    stats = replace(make_dataset(rows).stats, keys=KeyFigures(8, 8, 5, 5))
    folder = write_dataset(make_dataset(rows, stats=stats), tmp_path / "skewed").folder
    publish(folder, verdicts_on(folder), target)
    checks = {c["check"]: c for c in json.loads((target / "manifest.json").read_text())["checks"]}
    assert checks["answer_position"]["warned"]
    assert checks["answer_position"]["passed"]


def test_a_folder_that_a_check_blocks_cannot_be_published(tmp_path: Path, target: Path) -> None:
    rows = [make_row(n, answer="A") for n in range(40)]
    folder = write_dataset(make_dataset(rows), tmp_path / "shifted").folder
    with pytest.raises(PublicationRefused) as caught:
        publish(folder, verdicts_on(folder), target)
    assert caught.value.check == "answer_position"


def test_a_folder_that_changes_under_a_check_gets_no_verdict(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = publication.run_check

    def meddle(name: str, where: Path, *given: Any) -> Any:
        outcome = real(name, where, *given)
        (where / "README.md").write_bytes(b"changed")
        return outcome

    monkeypatch.setattr(publication, "run_check", meddle)
    with pytest.raises(FilesChangedError):
        judge("row_contract", folder, loose, "test-1")


def test_verdicts_round_trip(folder: Path) -> None:
    for verdict in verdicts_on(folder):
        assert Verdict.from_json(json.loads(json.dumps(verdict.to_json()))) == verdict
        assert verdict.files == folder_hashes(folder)


@pytest.mark.parametrize(
    "change", [{"passed": "true"}, {"passed": 1}, {"passed": None}, {"files": []}, {"files": {"a": 1}}, {"check": 3}]
)
def test_a_malformed_verdict_is_no_pass(change: Mapping[str, Any], folder: Path) -> None:
    record = verdicts_on(folder)[0].to_json()
    with pytest.raises(DatasetError, match="verdict"):
        Verdict.from_json(record | change)


def test_another_target_gets_the_same_bytes(folder: Path, target: Path) -> None:
    class Memory:
        def __init__(self) -> None:
            self.files: Mapping[str, bytes] = {}

        def put(self, files: Mapping[str, bytes]) -> bool:
            changed = files != self.files
            self.files = dict(files)
            return changed

    memory = Memory()
    assert publish(folder, verdicts_on(folder), memory).changed
    publish(folder, verdicts_on(folder), target)
    assert memory.files == contents(target)
