"""What is recorded of a refused submission: the reason, no person, no machine, no row; and damaged records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.refusals import MAX_DETAIL, Refused, keep, read_refusals, refused
from opentwbench.evaluation.submission_reading import DROPPED, Provenance, Refusal, SubmissionRefused
from opentwbench.evaluation.warehouse import read_table, write_table

HOME = "/" + "home"
GIVEN = Provenance("maker/model", "exam", "0123456789ab", "box-1", "2 x H100", "vLLM")


def record(detail: str, given: Provenance | None = GIVEN, results: bytes = b"rows") -> Refused:
    refusal = SubmissionRefused(Refusal.BAD_ROW, detail)
    return refused(refusal, results, b"{}", given, "exact", 3)


def test_every_reason_can_be_kept_and_read_back(tmp_path: Path) -> None:
    made = [refused(SubmissionRefused(each, "somewhere"), b"rows", b"{}", GIVEN, "", 0) for each in Refusal]
    assert all(keep(each, tmp_path, "2026-11-30") for each in made)
    found = list(read_refusals(tmp_path))
    assert {each.reason for each in found} == set(Refusal) and len(found) == len(Refusal)
    assert {each.received for each in found} == {"2026-11-30"}
    written = write_table(tmp_path, "refused_submissions", (each.to_row() for each in found))
    assert written.rows == len(Refusal) == len(read_table(tmp_path, "refused_submissions"))


def test_keeping_again_changes_no_byte(tmp_path: Path) -> None:
    assert keep(record("line 1"), tmp_path, "2026-11-30")
    (path,) = (tmp_path / "refused").iterdir()
    before = path.read_bytes()
    assert not keep(record("line 1"), tmp_path, "2026-12-24")
    assert path.read_bytes() == before
    assert keep(record("line 2"), tmp_path, "2026-12-24") and keep(record("line 1", results=b"other"), tmp_path, "")
    assert len(list(read_refusals(tmp_path))) == 3


@pytest.mark.parametrize(
    "detail", [f"bad {HOME}/anna/x", "of user=anna", "anna@gpu-17.example.org", "host gpu-17.local", "at 10.1.2.3"]
)
def test_no_person_and_no_machine_is_kept(detail: str) -> None:
    kept = record(f"line 3: {detail}, more")
    assert DROPPED in kept.detail and not {"anna", "gpu-17", "10.1.2.3"} & set(kept.detail.replace("/", " ").split())
    assert "anna" not in kept.detail and "gpu-17" not in kept.detail
    assert record("line 3: ok is true or false, not 7").detail == "line 3: ok is true or false, not 7"


def test_a_detail_is_one_bounded_printable_line() -> None:
    kept = record("x\x1b[31m\n" + "y" * 5_000)
    assert kept.detail.isprintable() and len(kept.detail) < 2 * MAX_DETAIL


def test_without_provenance_nothing_of_it_is_kept() -> None:
    kept = record("consent is False", given=None)
    assert (kept.model, kept.benchmark, kept.dataset_version, kept.protocol_id, kept.serving_precision) == ("",) * 5


@pytest.mark.parametrize(
    ("name", "value"),
    [("reason", "bored"), ("rows", "3"), ("rows", None), ("model", 1), ("refusal_id", "ref-ffffffffffffffff")],
)
def test_a_damaged_record_is_named(tmp_path: Path, name: str, value: object) -> None:
    keep(record("line 1"), tmp_path, "2026-11-30")
    (path,) = (tmp_path / "refused").iterdir()
    path.write_text(json.dumps({**json.loads(path.read_bytes()), name: value}))
    with pytest.raises(DatasetError, match=f"refused/{path.name}"):
        list(read_refusals(tmp_path))


def test_what_is_no_record_is_passed_over_or_said(tmp_path: Path) -> None:
    assert list(read_refusals(tmp_path)) == []
    (tmp_path / "refused").mkdir()
    (tmp_path / "refused" / "notes.txt").write_text("not ours")
    assert list(read_refusals(tmp_path)) == []
    (tmp_path / "refused" / "ref-0123456789abcdef.json").write_text("{")
    with pytest.raises(DatasetError, match="ref-0123456789abcdef"):
        list(read_refusals(tmp_path))
