"""Every reader of something from outside, on made-up and on damaged input: it reads, or it raises its own error.

What is tried is valid input that was damaged (bytes changed, cut, doubled, spliced) and invented values of the right
shape, because noise alone never passes the first check. `make fuzz` tries for longer. What once broke a reader is
written into `test_found.py` as an example.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.evaluation import make_item, make_response

from opentwbench.apparatus.result import Study, StudyError, read_payload
from opentwbench.board.text import item_file, shorten, slug, visible
from opentwbench.evaluation.extraction import METHODS, read
from opentwbench.evaluation.journal import JOURNAL_NAME, JournalError, read_responses
from opentwbench.evaluation.replies import MAX_DETAIL, Failure, Reply, read_completion, read_failure
from opentwbench.evaluation.submission_reading import SubmissionRefused, read_provenance, read_rows
from opentwbench.exam.index import COLUMNS, Index, IndexFormatError, read_index
from opentwbench.exam.subjects import REGISTRY, assign
from opentwbench.formosa.corpus import HARMFUL, read_article
from opentwbench.formosa.grounding import read_judgement
from opentwbench.formosa.json_replies import read_object
from opentwbench.formosa.model import LeftOut
from opentwbench.formosa.windows import cut
from opentwbench.rag.judging import BEST, MAX_REASON, read_verdict
from opentwbench.rag.ragas import METRICS, Crash, read_like_twinkle, read_scores
from resources.partitions import model_of, partition_of

tried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
"""A deadline would fail where the machine is busy; how many examples are tried is the profile's (conftest.py)."""

ODD = "\x00\x1b[2J\u202e\ud800\ufffe\ue000\u3000\"',=@+\\/..{}[]<>&\r\n\U0001f600"
TEXT = st.text(max_size=40) | st.text(alphabet=ODD, max_size=20) | st.sampled_from(["../../etc/passwd", "=1+1", "NaN"])
VALUE: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """A file with up to five places cut out, doubled, changed or overwritten with another part of itself."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(0, 5))):
        at, length = draw(st.integers(0, len(data))), draw(st.integers(0, 30))
        piece = bytes(data[at : at + length])
        data[at : at + length] = draw(
            st.just(b"") | st.just(piece * 2) | st.binary(max_size=8) | st.just(bytes(data[:length]))
        )
    return bytes(data)


@st.composite
def like(draw: st.DrawFn, record: dict[str, Any]) -> dict[str, Any]:
    """A record with some fields exchanged for anything, lost, or added."""
    changed = {**record, **draw(st.dictionaries(st.sampled_from(sorted(record)), VALUE, max_size=3))}
    lost = draw(st.sets(st.sampled_from(sorted(record)), max_size=1))
    more = draw(st.dictionaries(TEXT, VALUE, max_size=1))
    return {**{key: value for key, value in changed.items() if key not in lost}, **more}


def encoded(record: object) -> bytes:
    return json.dumps(record).encode()


URL = "https://wwwq.moex.gov.tw/exam/wHandExamQandA_File.ashx?t={t}&code=110804&c=601&s=0601&q=1"
ROW = ["110", "110804", "範例考試", "", "初等考試", "初等考試", "601", "資訊處理", "01", "計算機大意", "測驗題",
       URL.format(t="Q"), URL.format(t="S"), ""]  # fmt: skip
INDEX = ("\ufeff" + "\n".join([",".join(COLUMNS), *[",".join(ROW)] * 2]) + "\n").encode()
CELL = TEXT | st.sampled_from([*ROW, "9" * 30, URL.format(t="Q").replace("601", "../x")])


@tried
@given(damaged(INDEX))
def test_a_damaged_index(data: bytes) -> None:
    try:
        index = read_index(data, "index.csv")
    except IndexFormatError:
        return
    check_index(index)


@tried
@given(st.lists(st.lists(CELL, min_size=13, max_size=15), min_size=1, max_size=4))
def test_an_index_of_anything(rows: list[list[str]]) -> None:
    quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    data = "\n".join([",".join(COLUMNS), *quoted]).encode("utf-8", "surrogatepass")
    try:
        index = read_index(data, "index.csv")
    except IndexFormatError:
        return
    check_index(index)


def check_index(index: Index) -> None:
    for row in index.rows:
        assert re.fullmatch(r"\d{6}", row.exam_code)
        assert re.fullmatch(r"\d+-[0-9A-Za-z]+-[0-9A-Za-z]+", row.paper_id), row.paper_id


SUBMITTED = [{"item_id": f"tw-x-{n:012x}", "response": f"\\boxed{{{'ABCD'[n % 4]}}}"} for n in range(3)]
PROVENANCE: dict[str, Any] = {
    "model": "some/model", "benchmark": "exam_sample", "dataset_version": "0123456789ab", "protocol_id": "box-0",
    "hardware": "1 x GPU", "runtime": "vLLM", "runtime_version": "0.9.1", "driver": "570.86",
    "batch_settings": {"max_num_seqs": 64}, "serving_precision": "native", "consent": True,
}  # fmt: skip


@tried
@given(damaged(b"\n".join(map(encoded, SUBMITTED))) | st.lists(like(SUBMITTED[0]), max_size=3).map(encoded))
def test_submitted_rows(data: bytes) -> None:
    try:
        form, rows = read_rows(data)
    except SubmissionRefused as refused:
        assert len(str(refused)) < 2000
        return
    assert form and rows


@tried
@given(damaged(encoded(PROVENANCE)) | like(PROVENANCE).map(encoded))
def test_provenance(data: bytes) -> None:
    try:
        read_provenance(data)
    except SubmissionRefused as refused:
        assert len(str(refused)) < 2000


MESSAGE = {"role": "assistant", "content": "答案是 \\boxed{B}"}
COMPLETION: dict[str, Any] = {
    "id": "x",
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": MESSAGE}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 5},
}
SECRET = "sk-abcdefghijklmnop"


@st.composite
def completions(draw: st.DrawFn) -> dict[str, Any]:
    """A completion with anything in its inner places too."""
    record = draw(like(COMPLETION))
    choice = draw(like(COMPLETION["choices"][0]))
    if isinstance(choice.get("message"), dict):
        choice["message"] = draw(like(choice["message"] or {"content": ""}))
    return {**record, "choices": draw(st.just([choice]) | st.just(record.get("choices")))}


@tried
@given(damaged(encoded(COMPLETION)) | completions().map(encoded), st.integers(100, 599))
def test_what_an_endpoint_answers(body: bytes, status: int) -> None:
    reply = read_completion(body, SECRET)
    assert isinstance(reply, (Reply, Failure))
    failure = read_failure(status, body + SECRET.encode(), ("temperature",), SECRET)
    assert SECRET not in failure.detail
    assert len(failure.detail) <= MAX_DETAIL


WORDS = st.sampled_from(
    ["\\boxed{", "}", "A", "(B)", "答案", "：", "</think>", "<think>", "\\text{", "{", "\n", "是", "**C**"]
)


@tried
@given(st.lists(WORDS | TEXT, max_size=20).map("".join), st.sampled_from(sorted(METHODS)))
def test_what_a_model_says(content: str, method: str) -> None:
    answer = read(method, content, content, content, "ABCD").answer
    # Twinkle's own pattern takes any letter, and its reading is kept as it is.
    assert answer is None or answer in ("ABCD" if not method.startswith("twinkle") else ascii_uppercase)


JUDGEMENT = {"verdict": "approve", "reason": "grounded", "quote": "原文", "answer": "A"}


@tried
@given(damaged(b"```json\n" + encoded(JUDGEMENT) + b"\n```") | like(JUDGEMENT).map(encoded))
def test_what_a_judge_says(data: bytes) -> None:
    content = data.decode("utf-8", "replace")
    read_object(content)
    read_judgement(make_response(make_item(1), content))


@tried
@given(st.data())
def test_a_damaged_journal(data: st.DataObject) -> None:
    from dataclasses import asdict

    lines = [encoded(asdict(make_response(make_item(n), "\\boxed{A}"))) + b"\n" for n in range(3)]
    journal = data.draw(damaged(b"".join(lines)))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / JOURNAL_NAME).write_bytes(journal)
        try:
            list(read_responses(Path(folder)))
        except JournalError as error:
            assert len(str(error)) < 2000


@tried
@given(VALUE | st.fixed_dictionaries({"tables": VALUE, "charts": VALUE, "n": VALUE, "title": VALUE}))
def test_a_study_of_anything(value: Any) -> None:
    try:
        assert isinstance(read_payload("noise_floor", json.dumps(value)), Study)
    except StudyError:
        return


@tried
@given(TEXT | st.text(max_size=200))
def test_names_never_become_paths_or_markup(name: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9._-]*", slug(name)) and not slug(name).startswith(".")
    assert "/" not in item_file(name) and ".." not in item_file(name)
    assert not set(visible(name)) & set("\x00\x1b\u202e")
    assert shorten(name, 20).startswith(name[:20])
    subject = assign(name).subject
    assert subject is None or REGISTRY[subject.slug] is subject


@tried
@given(TEXT | st.text(min_size=1, max_size=80))
def test_models_and_their_partitions(model: str) -> None:
    try:
        key = partition_of(model)
    except ValueError:
        return
    assert model_of(key) == model
    assert key.isprintable()


SCORES = dict.fromkeys(METRICS, 0.5)
VERDICT = {"score": 3, "refusal": False, "reason": "supported"}


@tried
@given(damaged(b"<think>x</think>```json\n" + encoded(VERDICT) + b"\n```") | like(VERDICT).map(encoded))
def test_what_a_judge_of_retrieval_says(data: bytes) -> None:
    verdict = read_verdict(data.decode("utf-8", "replace"))
    if verdict is not None:
        assert type(verdict.score) is int and 0 <= verdict.score <= BEST
        assert type(verdict.refusal) is bool and len(verdict.reason) <= MAX_REASON


@tried
@given(damaged(b"```json\n" + encoded(SCORES) + b"\n```") | like(SCORES).map(encoded))
def test_what_a_judge_of_four_metrics_says(data: bytes) -> None:
    content = data.decode("utf-8", "replace")
    strict = read_scores(content)
    assert strict is None or (strict.keys() == set(METRICS) and all(0 <= value <= 1 for value in strict.values()))
    try:
        like_twinkle = read_like_twinkle(content)
    except Crash:
        return  # where Twinkle itself would lose its file
    assert like_twinkle is None or all(0 <= value <= 1 for value in like_twinkle.values())


# -- articles of Taiwan.md --------------------------------------------------------------------------------------------

ARTICLE = """---
title: "鐵盒\\u9905乾"
category: Food
tags: [甲, 乙]
---

## 由來

第一段[^1]，見[《餅》(小說)](https://a.tw/w_(x))與[[糕餅|餅店]]。<!-- 註 -->

> **引文**：一句。

[^1]: 出處

## 參考資料
""".encode()
MARK = st.sampled_from(
    [
        "[[",
        "|",
        "]]",
        "](",
        ")",
        "![",
        "[^",
        "<!--",
        "-->",
        "<script",
        "</script>",
        "> ",
        "# ",
        "---\n",
        "title: ",
        "&a ",
        "*a",
    ]
)


@tried
@given(
    damaged(ARTICLE)
    | st.lists(MARK | TEXT, max_size=30).map(lambda parts: "".join(parts).encode(errors="surrogatepass"))
)
def test_an_article_is_read_or_left_out_under_a_reason(data: bytes) -> None:
    made = read_article("Food/鐵盒餅乾.md", data, "")
    if isinstance(made, LeftOut):
        return
    windows = cut(made)
    assert "\n\n".join(window.text for window in windows) == made.text
    for text in (made.title, made.attribution, made.text):
        assert not HARMFUL.search(text)
        text.encode()
