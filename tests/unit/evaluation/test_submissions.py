"""Volunteers' files: what is taken in, each refusal with its advice, hostile bytes, names dropped, folding."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.evaluation import boxed, make_item, make_response

from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation import submission_reading
from opentwbench.evaluation.protocols import BOX, PATTERN
from opentwbench.evaluation.sample import stem_sha256
from opentwbench.evaluation.scoring import grade
from opentwbench.evaluation.submission_reading import (
    ADVICE,
    DROPPED,
    Provenance,
    Refusal,
    SubmissionRefused,
    read_provenance,
    read_rows,
)
from opentwbench.evaluation.submissions import Submission, fold, judge, read_all, read_folded, row_of
from opentwbench.exam.subjects import REGISTRY

VERSION = "0123456789ab"
TWINS = [
    make_item(n, question="同一題幹，換了選項？", subject="twins", item_id=f"twins-{n:012x}") for n in (50, 51, 52)
]
ITEMS = [*(make_item(n) for n in range(20)), *TWINS]
QUESTIONS = {item.item_id: item.question for item in ITEMS}


def provenance(**changes: Any) -> dict[str, Any]:
    record = {
        "model": "some/model",
        "benchmark": "exam_sample",
        "dataset_version": VERSION,
        "protocol_id": BOX.protocol_id,
        "hardware": "1 x RTX 4090",
        "runtime": "vLLM",
        "runtime_version": "0.9.1",
        "driver": "570.86",
        "batch_settings": {"max_num_seqs": 64},
        "serving_precision": "native",
        "consent": True,
    }
    return {**record, **changes}


def replies() -> list[dict[str, Any]]:
    """Rows of the exact form: right, wrong, right but without a box, unread, in turn."""
    rows = []
    for n, item in enumerate(ITEMS):
        other = "A" if item.key != "A" else "B"
        letter = boxed(item, item.key)[7]
        text = (boxed(item, item.key), boxed(item, other), f"答案：{letter}", "無")[n % 4]
        rows.append(row_of(grade(make_response(item, text), item.key), item.question))
    return rows


def published() -> list[dict[str, Any]]:
    return [{name: row[name] for name in ("qh", "ok", "boxp", "lenp")} for row in replies()]


def data(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def check(rows: bytes, record: dict[str, Any] | None = None, version: str = VERSION) -> Submission:
    form, found = read_rows(rows)
    given = read_provenance(json.dumps(record or provenance()).encode())
    return judge(found, form, given, ITEMS, version, (BOX, PATTERN))


def refused(call: Callable[[], object]) -> SubmissionRefused:
    with pytest.raises(SubmissionRefused) as caught:
        call()
    assert ADVICE[caught.value.reason] in str(caught.value)
    return caught.value


# -- what is taken in ------------------------------------------------------------------------------------------------


def test_the_published_form() -> None:
    found = check(data(published()))
    rates = found.rates()
    assert (found.form, found.strict_is_derived, found.n_items, len(found.answers)) == ("published", True, 23, 23)
    assert (rates["strict"].hits, rates["lenient"].hits) == (6, 12)
    assert (rates["strict_parsed"].hits, rates["lenient_parsed"].hits) == (12, 18)
    assert found.indistinct == 3  # rows that share a stem are in no item-level table
    assert all(answer.strict_answer is None for answer in found.answers)


def test_the_exact_form() -> None:
    found = check(data(replies()))
    rates = found.rates()
    assert (found.form, found.strict_is_derived, found.indistinct) == ("exact", False, 0)
    assert (rates["strict"].hits, rates["lenient"].hits) == (6, 12)
    keys = {item.item_id: item.key for item in ITEMS}
    assert all((a.lenient_answer == keys[a.item_id or ""]) == a.lenient_correct for a in found.answers)
    assert all((a.strict_answer == keys[a.item_id or ""]) == a.strict_correct for a in found.answers)


def test_the_derived_strict_figure_can_differ_from_the_exact_one() -> None:
    """A box inside the reasoning is strict, the letter after it lenient: `ok and boxp` then says what neither says."""
    item = ITEMS[0]
    text = f"<think>{boxed(item, 'B')}</think>{boxed(item, item.key)}"
    exact = [row_of(grade(make_response(item, text), item.key), item.question), *replies()[1:]]
    derived = [{name: row[name] for name in ("qh", "ok", "boxp", "lenp")} for row in exact]
    assert check(data(exact)).rates()["strict"].hits + 1 == check(data(derived)).rates()["strict"].hits


def test_fewer_rows_of_a_shared_stem_are_taken_in_and_show() -> None:
    """Four published runs fell 9 to 36 rows short in this way."""
    found = check(data(published()[:-2]))
    assert (found.n_items, len(found.answers), found.indistinct) == (23, 21, 1)
    assert refused(lambda: check(data(replies()[:-2]))).reason is Refusal.MISSING_ITEMS


def test_an_array_and_other_spellings_of_the_same() -> None:
    rows = published()
    same = check(data(rows)).submission_id
    numbers = [{**row, "ok": int(row["ok"]), "boxp": int(row["boxp"])} for row in rows]
    assert check(json.dumps(rows).encode()).submission_id == same
    assert check(data(numbers)).submission_id == same
    assert check(data(rows).replace(b"\n", b"\r\n")).submission_id == same
    assert check(data(rows)[:-1]).submission_id == same
    shuffled = random.Random(1).sample(rows, len(rows))
    assert check(data(shuffled)).submission_id == same
    assert check(data(replies())).submission_id != same
    assert check(data(rows), provenance(model="other")).submission_id != same


# -- refusals --------------------------------------------------------------------------------------------------------


def test_every_refusal_has_its_advice() -> None:
    assert set(ADVICE) == set(Refusal)
    assert all(len(words) > 20 for words in ADVICE.values())


def changed(n: int, **changes: Any) -> bytes:
    rows = published()
    rows[n] = {**rows[n], **changes}
    return data(rows)


DEEP = b'{"qh": ' + b"[" * 100_000 + b"}\n"


@pytest.mark.parametrize(
    ("rows", "reason", "words"),
    [
        (b"", Refusal.NO_ROWS, "no row"),
        (b"[]", Refusal.NO_ROWS, "no row"),
        (b"\n", Refusal.NOT_JSON, "line 1"),
        (b"\xff\xfe", Refusal.NOT_TEXT, "byte 0"),
        (b"\xef\xbb\xbf" + data(published()), Refusal.NOT_TEXT, "byte order mark"),
        (data(published()) + b"\n", Refusal.NOT_JSON, "line 24"),
        (data(published()) + b'{"qh"', Refusal.NOT_JSON, "line 24"),
        (b"[" + b"[" * 100_000, Refusal.NOT_JSON, "not JSON"),
        (DEEP[:900] + b"\n", Refusal.NOT_JSON, "line 1"),
        (DEEP, Refusal.BAD_ROW, "characters"),
        (b"[1]", Refusal.BAD_ROW, "row 1"),
        (b"null\n", Refusal.NOT_JSON, "line 1"),
        (changed(3, ok="true"), Refusal.BAD_ROW, "line 4: ok"),
        (changed(3, ok=None), Refusal.BAD_ROW, "line 4: ok"),
        (changed(3, boxp=2), Refusal.BAD_ROW, "line 4: boxp"),
        (changed(3, lenp=1.0), Refusal.BAD_ROW, "line 4: lenp"),
        (changed(3, qh="XYZ"), Refusal.BAD_ROW, "line 4: qh"),
        (changed(3, qh="../../etc/passwd"), Refusal.BAD_ROW, "line 4: qh"),
        (changed(3, qh=10**400), Refusal.BAD_ROW, "line 4: qh"),
        (changed(3, model="x"), Refusal.BAD_ROW, "line 4: fields"),
        (data(published()).replace(b'"lenp": true', b'"lenp": NaN', 1), Refusal.NOT_JSON, "NaN"),
        (data(published()).replace(b'"ok": true', b'"ok": true, "ok": false', 1), Refusal.NOT_JSON, "twice"),
        (data(published()).replace(b'"ok": true', b'"ok": ' + b"9" * 5_000, 1), Refusal.BAD_ROW, "characters"),
        (data([*published()[:5], *replies()[5:]]), Refusal.MIXED_FORMS, "line 6"),
        (data(published()[1:]), Refusal.MISSING_ITEMS, "1 of 21 hashes"),
        (changed(3, qh="0" * 16), Refusal.UNKNOWN_ITEMS, "1 of 21 hashes"),
        (data([*published(), published()[0]]), Refusal.REPEATED_ROWS, "2 rows, the data set 1"),
        (data([*published(), published()[-1]]), Refusal.REPEATED_ROWS, "4 rows, the data set 3"),
        (changed(3, ok=True, lenp=False), Refusal.VERDICT_MISMATCH, "lenp is false"),
    ],
)
def test_a_refused_file(rows: bytes, reason: Refusal, words: str) -> None:
    found = refused(lambda: check(rows))
    assert (found.reason, words in found.detail) == (reason, True), found.detail


def exact_changed(n: int, **changes: Any) -> bytes:
    rows = replies()
    rows[n] = {**rows[n], **changes}
    return data(rows)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (exact_changed(0, ok=False), Refusal.VERDICT_MISMATCH),
        (exact_changed(0, boxp=False), Refusal.VERDICT_MISMATCH),
        (exact_changed(0, strict=None), Refusal.VERDICT_MISMATCH),
        (exact_changed(3, lenient="A"), Refusal.VERDICT_MISMATCH),
        (exact_changed(0, strict="E"), Refusal.BAD_ROW),
        (exact_changed(0, strict=""), Refusal.BAD_ROW),
        (exact_changed(0, lenient=["A"]), Refusal.BAD_ROW),
        (exact_changed(0, item_id=None), Refusal.BAD_ROW),
        (exact_changed(0, item_id="x" * 300), Refusal.BAD_ROW),
        (exact_changed(0, item_id="no-such-item"), Refusal.UNKNOWN_ITEMS),
        (exact_changed(0, item_id=ITEMS[1].item_id), Refusal.UNKNOWN_ITEMS),
        (exact_changed(22, **{k: v for k, v in replies()[21].items() if k != "x"}), Refusal.REPEATED_ROWS),
    ],
)
def test_a_refused_exact_file(rows: bytes, reason: Refusal) -> None:
    assert refused(lambda: check(rows)).reason is reason


def test_a_file_of_another_version_or_protocol() -> None:
    rows = data(published())
    assert refused(lambda: check(rows, version="ba9876543210")).reason is Refusal.OTHER_VERSION
    other = provenance(protocol_id="box-000000000000")
    assert refused(lambda: check(rows, other)).reason is Refusal.OTHER_PROTOCOL


def test_a_planted_wrong_key_is_a_mismatch() -> None:
    """The exact form was made with other keys than those of the version it names."""
    rekeyed = [replace(ITEMS[0], key="A" if ITEMS[0].key != "A" else "B"), *ITEMS[1:]]
    form, rows = read_rows(data(replies()))
    given = read_provenance(json.dumps(provenance()).encode())
    assert refused(lambda: judge(rows, form, given, rekeyed, VERSION, (BOX,))).reason is Refusal.VERDICT_MISMATCH


def test_size_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submission_reading, "MAX_BYTES", 100)
    assert refused(lambda: read_rows(b" " * 101)).reason is Refusal.TOO_LARGE
    monkeypatch.setattr(submission_reading, "MAX_BYTES", 1 << 20)
    monkeypatch.setattr(submission_reading, "MAX_ROWS", 5)
    assert refused(lambda: read_rows(data(published()))).reason is Refusal.TOO_LARGE


def test_a_large_provenance_is_no_fault_of_the_result_file() -> None:
    refusal = refused(lambda: read(host="x" * (64 << 10)))
    assert refusal.reason is Refusal.BAD_PROVENANCE
    assert "provenance: more than 65536 bytes" in str(refusal)
    assert "result file" not in str(refusal)


@settings(max_examples=60)
@given(st.binary(max_size=300))
def test_no_bytes_crash_the_reading(noise: bytes) -> None:
    for read in (read_rows, read_provenance):
        with pytest.raises(SubmissionRefused):
            read(noise)


# -- provenance ------------------------------------------------------------------------------------------------------


def read(**changes: Any) -> Provenance:
    return read_provenance(json.dumps(provenance(**changes)).encode())


def test_consent_is_asked_for() -> None:
    for consent in (False, None, "true", 1):
        assert refused(lambda consent=consent: read(consent=consent)).reason is Refusal.NO_CONSENT
    record = provenance()
    del record["consent"]
    assert refused(lambda: read_provenance(json.dumps(record).encode())).reason is Refusal.BAD_PROVENANCE


HOME = "/" + "home"
"""Written in two parts: no committed file names a place of one machine."""


def test_names_of_hosts_and_users_are_dropped() -> None:
    found = read(
        hostname="gpu-17.lab.example",
        user="mei",
        cwd=f"{HOME}/mei/eval",
        hardware="8 x H100 on host=gpu-17",
        runtime=f"vLLM from {HOME}/mei/src/vllm --port 8000",
        driver="570.86 (mei@gpu-17), ssh mei@10.1.2.3, fe80:0:0:0:21e:67ff:fe3c:1",
        batch_settings={"endpoint": "http://10.1.2.3:8000", "path": "C:\\Users\\mei\\models\\x", "box": "gpu17.local"},
    )
    shown = json.dumps([found.model, found.hardware, found.runtime, dict(found.details)], ensure_ascii=False)
    for name in ("mei", "gpu-17", "gpu17", "10.1.2.3", "21e"):
        assert name not in shown
    assert "8 x H100" in found.hardware
    assert "--port 8000" in found.runtime
    assert found.hardware.endswith(DROPPED)
    assert set(found.dropped) == {"hostname", "user", "cwd", "hardware", "runtime", "driver", "batch_settings"}


@pytest.mark.parametrize(
    "said", ["on host gpu-box-17", "at gpu-box-17.lab.example.com", "host gpu17.example.org, RAID"]
)
def test_a_host_named_in_a_sentence_is_dropped(said: str) -> None:
    found = read(hardware=f"RTX 4090 {said}")
    assert "gpu" not in found.hardware
    assert found.hardware.startswith("RTX 4090")


@pytest.mark.parametrize(
    "model", ["../", "a/../b", "/srv/model", ".hidden", "<script>alert(1)</script>", "a\nb", 5, "a  b", "x" * 201]
)
def test_a_name_that_no_model_has_is_refused(model: object) -> None:
    with pytest.raises(SubmissionRefused, match=r"public name of the model|1 to 500 characters"):
        read(model=model)


def test_the_benchmark_is_one_of_ours_and_that_of_the_version() -> None:
    assert "benchmark is one of exam" in refused(lambda: check(data(replies()), provenance(benchmark="../x"))).detail
    of_exam = [replace(item, subject=next(iter(REGISTRY))) for item in ITEMS]
    form, rows = read_rows(data(replies()))
    for benchmark, taken in (("exam", True), ("exam_sample", True), ("formosa", False), ("rag", False)):
        given = read(benchmark=benchmark)
        if taken:
            assert judge(rows, form, given, of_exam, VERSION, (BOX,)).n_items == len(ITEMS)
        else:
            said = refused(lambda given=given: judge(rows, form, given, of_exam, VERSION, (BOX,)))
            assert "this version is of examination subjects" in said.detail


def test_a_plain_record_keeps_its_words() -> None:
    """The native set: versions, sizes and model names are no names of persons."""
    found = read(
        model="org/home-assistant-7b",
        hardware="1 node: 2 x H200, 141 GB, NVLink 4.0",
        runtime="vllm@0.9.1.post1 image vllm/vllm-openai@sha256:0a1b, CUDA 12.8.1, torch 2.7.0+cu128, /rootless/x",
    )
    assert found.dropped == ()
    assert found.model == "org/home-assistant-7b"
    assert found.details["runtime_version"] == "0.9.1"


def test_optional_fields_may_be_left_blank() -> None:
    found = read(driver="", runtime_version=" ", batch_settings="", serving_precision="")
    assert (dict(found.details), found.serving_precision) == ({}, "unknown")


@pytest.mark.parametrize(
    "changes",
    [
        {"model": ""},
        {"hardware": ""},
        {"model": "x" * 501},
        {"model": None},
        {"model": f"{HOME}/mei/models/Qwen3-8B"},
        {"model": True},
        {"hardware": "line\u202ereversed"},
        {"serving_precision": "fp4"},
        {"driver": "\x00"},
    ],
)
def test_a_refused_provenance(changes: dict[str, Any]) -> None:
    found = refused(lambda: read(**changes))
    assert found.reason is Refusal.BAD_PROVENANCE
    assert next(iter(changes)) in found.detail


# -- the store -------------------------------------------------------------------------------------------------------


def test_folding_is_idempotent(tmp_path: Path) -> None:
    submission = check(data(published()))
    submission_id, new = fold(submission, tmp_path, "2026-11-30")
    assert new
    before = {path: path.read_bytes() for path in sorted(tmp_path.rglob("*.json*"))}
    assert fold(check(data(list(reversed(published())))), tmp_path, "2026-12-24") == (submission_id, False)
    assert {path: path.read_bytes() for path in sorted(tmp_path.rglob("*.json*"))} == before
    (folded,) = read_all(tmp_path)
    assert (folded.submission_id, folded.received) == (submission_id, "2026-11-30")
    assert folded.submission.rates() == submission.rates()
    assert folded.to_row() == {
        "submission_id": submission_id,
        "model": "some/model",
        "benchmark": "exam_sample",
        "dataset_version": VERSION,
        "protocol_id": BOX.protocol_id,
        "serving_precision": "native",
        "form": "published",
        "received": "2026-11-30",
        "n_items": 23,
        "rows": 23,
    }
    assert sum(row["item_id"] is None for row in folded.answer_rows()) == 3
    other, _ = fold(check(data(replies())), tmp_path, "2026-12-01")
    assert {each.submission_id for each in read_all(tmp_path)} == {submission_id, other}


def test_a_stored_submission_that_was_changed_is_noticed_and_written_again(tmp_path: Path) -> None:
    submission = check(data(published()))
    submission_id, _ = fold(submission, tmp_path, "2026-11-30")
    answers = tmp_path / submission_id / "answers.jsonl"
    sound = answers.read_bytes()
    answers.write_bytes(sound.replace(b'"lenient_correct": false', b'"lenient_correct": true', 1))
    with pytest.raises(DatasetError, match="not those of its id"):
        read_folded(tmp_path / submission_id)
    assert fold(submission, tmp_path, "2026-12-01") == (submission_id, True)
    assert answers.read_bytes() == sound


def test_no_word_of_a_person_is_stored(tmp_path: Path) -> None:
    fold(check(data(published()), provenance(user="mei", runtime=f"{HOME}/mei/vllm")), tmp_path, "2026-11-30")
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"mei" in path.read_bytes()]


def test_hashes_are_the_published_ones() -> None:
    assert replies()[0]["qh"] == stem_sha256(ITEMS[0].question)[:16]
    assert QUESTIONS[replies()[3]["item_id"]] == ITEMS[3].question


def test_the_page_lists_every_refusal_with_its_advice() -> None:
    page = (Path(__file__).parents[3] / "docs" / "evaluation.md").read_text(encoding="utf-8")
    assert [line for line in page.splitlines() if line.startswith("| `") and line.split("`")[1] in list(Refusal)] == [
        f"| `{reason.value}` | {words} |" for reason, words in ADVICE.items()
    ]
