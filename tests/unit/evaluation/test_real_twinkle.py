"""The real Twinkle Eval 2.10 reads our benchmark.jsonl as it is and gives our letters and our accuracy, item by item.

One endpoint answers both by script: the same question gets the same reply, from every kind that real models write.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.datasets import make_dataset, make_row
from support.runs import QUICK, make_run
from support.twinkle import need_twinkle, run_twinkle

from opentwbench.dataset.export import export_for_twinkle
from opentwbench.dataset.manifest import write_dataset
from opentwbench.evaluation.items import Roster, item_set
from opentwbench.evaluation.journal import read_responses
from opentwbench.evaluation.prompts import ORIGINAL_ORDER
from opentwbench.evaluation.protocols import PATTERN
from opentwbench.evaluation.runs import score
from opentwbench.evaluation.scoring import grade
from samples.model_endpoint import Kind, ModelEndpoint, Rule

pytestmark = pytest.mark.twinkle

REPLIES = (
    "\\boxed{{letter}}",
    "\\box{{letter}}",
    "先想 \\boxed{B}，不對，\\boxed{{letter}}",
    "\\boxed{ {letter} }",
    "\\boxed{\\text{{letter}}}",
    "\\boxed{e}",
    "\\boxed{Z}",
    "答案：{letter}",
    "答案: {letter}",
    "正確的答案應該是: {letter}",
    "選項{letter}",
    "{letter}",
    "The answer is {letter}.",
    "正確答案為 **{letter}**",
    "<think>也許 \\boxed{A} 答案：A </think>\n答案：{letter} \\boxed{{letter}}",
    "<think>沒有完 \\boxed{C}",
    "我無法回答。",
    "   ",
    "Which one? {letter} .",
    "答案Ａ",
)
"""One for each of the first items; the others answer as the endpoint usually does."""

N = 60
QUIRKS = {21: Kind.REASONING_ONLY, 22: Kind.REASONING_BESIDE, 23: Kind.NULL_CONTENT, 24: Kind.EMPTY, 25: Kind.LENGTH}


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    """The benchmark.jsonl of a data set, exported for the harness."""
    need_twinkle()
    folder = tmp_path / "dataset"
    write_dataset(make_dataset([make_row(n) for n in range(N)]), folder)
    return export_for_twinkle(folder, tmp_path / "export").path


def plant(endpoint: ModelEndpoint) -> None:
    """A reply of its own for each of the first questions."""
    endpoint.plant(*(Rule(Kind.TEXT, rf"編號 {n} 的", None, text=text) for n, text in enumerate(REPLIES)))
    endpoint.plant(*(Rule(kind, rf"編號 {n} 的", None) for n, kind in QUIRKS.items()))


@pytest.mark.parametrize("method", ["box", "pattern"])
def test_letters_and_accuracy_are_those_of_the_real_one(
    endpoint: ModelEndpoint, tmp_path: Path, exported: Path, method: str
) -> None:
    plant(endpoint)
    endpoint.set(reply="\\boxed{{letter}}" if method == "box" else "答案：{letter}")
    theirs = run_twinkle(tmp_path / "twinkle", exported, endpoint.base_url, method, system=None)
    sent_by_twinkle = endpoint.stats(counts=True)
    endpoint.forget()
    items = item_set([exported])
    outcome = make_run(items, tmp_path / "run", endpoint.base_url, protocol=PATTERN, endpoint=QUICK)
    assert outcome.complete
    keys = {item.item_id: item.key for item in items}
    order = {item.item_id: n for n, item in enumerate(items)}
    ours: list[str | None] = [None] * N
    for response in read_responses(tmp_path / "run"):
        assert response.option_order == ORIGINAL_ORDER
        ours[order[response.item_id]] = grade(response, keys[response.item_id]).readings[f"twinkle-{method}"].answer
    assert ours == theirs.letters
    assert sum(letter is None for letter in theirs.letters) >= 5
    assert sum(letter is not None for letter in theirs.letters) >= 30
    found = score(tmp_path / "run", Roster(items)).methods[f"twinkle-{method}"]
    assert found.micro.hits / N == pytest.approx(theirs.accuracy)
    # The bytes on the wire carry the same question: stems and options, nothing else of the row.
    assert sorted(sent_by_twinkle["tags"].values()) == sorted(endpoint.stats(counts=True)["tags"].values())


def test_it_reads_every_row_and_no_column_of_ours_reaches_its_prompt(
    endpoint: ModelEndpoint, tmp_path: Path, exported: Path
) -> None:
    theirs = run_twinkle(tmp_path / "twinkle", exported, endpoint.base_url, "box", system="請用 \\box{}")
    assert [row["question_id"] for row in theirs.rows] == list(range(N))
    assert [row["correct_answer"] for row in theirs.rows] == [item.key for item in item_set([exported])]
    body = endpoint.stats()["last_body"]
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    for planted in ("範例類科", "等考試", "sample-subject-", "answer"):
        assert planted not in body["messages"][1]["content"]
