"""The journal: durable, one writer, a cut line dropped and counted, any other damage named."""

from __future__ import annotations

import errno
import json
import os
import random
from dataclasses import replace
from pathlib import Path

import pytest
from support.runs import response

from opentwbench.evaluation import journal as journal_module
from opentwbench.evaluation.journal import (
    JOURNAL_NAME,
    RUN_NAME,
    DigestSet,
    Journal,
    JournalError,
    RunLocked,
    answered,
    encode_response,
    identity_digest,
    read_protocol,
    read_responses,
    read_run,
    write_run,
)
from opentwbench.evaluation.model import ErrorClass, RunRecord
from opentwbench.evaluation.protocols import BOX, PATTERN

HOSTILE = (
    "\u2028\u2029\x85",
    "a\nb\r\nc",
    '"\\',
    "\x00\x1b[31m",
    "𠮷😀",
    "</think>",
    "",
    '{"error": ""}',
    '"error": ""',
)


def record(**changes: object) -> RunRecord:
    """A run's record."""
    base = RunRecord("test-run", "m", BOX.protocol_id, "exam", "0123456789ab", "scored", 10, 1, "2026-11-30T00:00:00")
    return replace(base, **changes)  # type: ignore[arg-type]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    written = [response(n, content=text, reasoning=text or None) for n, text in enumerate(HOSTILE)]
    written.append(response(50, content=None, error=ErrorClass.TIMEOUT, error_detail="no reply in time"))
    with Journal(tmp_path) as journal:
        for each in written[:3]:
            journal.append(each)
        journal.append_all(written[3:])
        # Readers need no lock and see what is there.
        assert list(read_responses(tmp_path)) == written
    assert list(read_responses(tmp_path)) == written
    assert (tmp_path / JOURNAL_NAME).read_bytes().count(b"\n") == len(written)


def test_a_run_without_a_journal_has_no_responses(tmp_path: Path) -> None:
    assert list(read_responses(tmp_path)) == []


@pytest.mark.parametrize("cut", [1, 2, 40, 300])
def test_a_cut_last_line_is_dropped_and_counted(tmp_path: Path, cut: int) -> None:
    whole = b"".join(encode_response(response(n)) for n in range(3))
    (tmp_path / JOURNAL_NAME).write_bytes(whole[:-cut])
    assert len(list(read_responses(tmp_path))) == 2
    with Journal(tmp_path) as journal:
        assert journal.dropped == 1
        journal.append(response(7))
    assert [each.item_id for each in read_responses(tmp_path)] == [response(n).item_id for n in (0, 1, 7)]
    with Journal(tmp_path) as journal:
        assert journal.dropped == 0


def test_a_whole_journal_loses_nothing(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append_all(response(n) for n in range(500))
    before = (tmp_path / JOURNAL_NAME).read_bytes()
    with Journal(tmp_path) as journal:
        assert journal.dropped == 0
    assert (tmp_path / JOURNAL_NAME).read_bytes() == before


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (b"\x00" * 30, "line 2"),
        (b"{}", "line 2"),
        (b"[1]", "line 2"),
        (encode_response(response(1)).strip().replace(b'"error": ""', b'"error": "invented"'), "invented"),
        (encode_response(response(1)).strip().replace(b'"repeat": 0', b'"repeat": "0"'), "another type"),
        (encode_response(response(1)).strip().replace(b'"model"', b'"modell"'), "modell"),
    ],
)
def test_other_damage_is_an_error_that_names_the_line(tmp_path: Path, damage: bytes, reason: str) -> None:
    lines = [encode_response(response(0)), damage + b"\n", encode_response(response(2))]
    (tmp_path / JOURNAL_NAME).write_bytes(b"".join(lines))
    with pytest.raises(JournalError, match=reason) as raised:
        list(read_responses(tmp_path))
    assert "responses.jsonl line 2" in str(raised.value)


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with Journal(tmp_path), pytest.raises(RunLocked, match="another process"):
        Journal(tmp_path)
    Journal(tmp_path).close()  # and the lock goes with the writer


def test_a_lock_is_no_way_out_of_the_folder(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / JOURNAL_NAME).symlink_to(outside)
    with pytest.raises(JournalError):
        Journal(tmp_path / "run")
    assert not outside.exists()


def test_a_full_disk_is_said_and_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Journal(tmp_path) as journal:
        journal.append(response(0))
        real = os.fsync

        def full(handle: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(journal_module.os, "fsync", full)
        with pytest.raises(JournalError, match="No space left"):
            journal.append(response(1))
        monkeypatch.setattr(journal_module.os, "fsync", real)
        journal.append(response(2))
    assert [each.item_id for each in read_responses(tmp_path)] == [response(0).item_id, response(2).item_id]


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match="cannot be written"):
        Journal(tmp_path / "file" / "run")


def test_a_later_record_supersedes_an_error(tmp_path: Path) -> None:
    failed = response(1, content=None, error=ErrorClass.TIMEOUT)
    lines = [response(0), failed, response(2, content=None, error=ErrorClass.SERVER), response(1)]
    with Journal(tmp_path) as journal:
        journal.append_all(lines)
    read = list(read_responses(tmp_path))
    assert read == [lines[0], lines[2], lines[3]]
    assert len({each.identity for each in read}) == 3


def test_what_a_resumed_run_asks_again(tmp_path: Path) -> None:
    errors = {n: error for n, error in enumerate(ErrorClass) if error}
    with Journal(tmp_path) as journal:
        journal.append_all([response(0), *(response(n, content=None, error=e) for n, e in errors.items())])
    again = answered(tmp_path)
    kept = {n for n in (0, *errors) if identity_digest(0, response(n).item_id, response(n).request_hash) in again}
    assert {errors.get(n, ErrorClass.NONE) for n in kept} == {
        ErrorClass.NONE,
        ErrorClass.BAD_REQUEST,
        ErrorClass.CONTEXT_OVERFLOW,
    }
    assert len(answered(tmp_path, retry_errors=False)) == len(errors) + 1


def test_a_digest_set_is_a_set() -> None:
    rng = random.Random(4)
    ours, theirs = DigestSet(), set()
    for _ in range(20_000):
        digest = rng.randbytes(2) * 8 if rng.random() < 0.3 else rng.randbytes(16)
        if digest == bytes(16):
            continue
        assert ours.add(digest) == (digest not in theirs)
        theirs.add(digest)
    assert len(ours) == len(theirs)
    assert all(digest in ours for digest in theirs)
    assert not any(rng.randbytes(16) in ours for _ in range(5_000))
    with pytest.raises(ValueError, match="16 bytes"):
        ours.add(bytes(16))


def test_the_same_run_goes_on_and_another_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path, record(), BOX)
    write_run(tmp_path, record(started="2027-01-01T00:00:00", client_version="9"), BOX)
    assert read_run(tmp_path).started == "2026-11-30T00:00:00"
    assert read_protocol(tmp_path) == BOX
    for field, value in (("model", "other"), ("n_items", 11), ("dataset_version", "f" * 12), ("extra", {"a": "b"})):
        with pytest.raises(JournalError, match=field):
            write_run(tmp_path, record(**{field: value}), BOX)


@pytest.mark.parametrize("run_id", ["", "../up", "a/b", ".hidden", "A", "a" * 121, "a\n"])
def test_a_run_id_is_no_path(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(JournalError, match="no run id"):
        write_run(tmp_path / "x", record(run_id=run_id), BOX)


def test_a_foreign_protocol_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path, record(), PATTERN)
    with pytest.raises(JournalError, match="not the protocol"):
        read_protocol(tmp_path)


def test_a_broken_run_record_is_said(tmp_path: Path) -> None:
    for text in ("", "{", "[]", json.dumps({"run_id": "x"}), json.dumps({"unknown": 1})):
        (tmp_path / RUN_NAME).write_text(text)
        with pytest.raises(JournalError, match=r"run\.json"):
            read_run(tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model", None),
        ("model", ""),
        ("model", "x" * 201),
        ("n_items", "10"),
        ("n_items", True),
        ("repeats", -1),
        ("extra", {"a": 1}),
        ("extra", []),
        ("started", 2026),
        ("run_id", ["x"]),
    ],
)
def test_a_run_record_with_a_field_of_another_type_is_said(tmp_path: Path, name: str, value: object) -> None:
    write_run(tmp_path, record(), BOX)
    whole = json.loads((tmp_path / RUN_NAME).read_bytes())
    (tmp_path / RUN_NAME).write_text(json.dumps({**whole, name: value}))
    with pytest.raises(JournalError, match=rf"run\.json: {name} is"):
        read_run(tmp_path)
