"""A real model from question to score: Gemma 3 270M through llama.cpp, 20 items, and the real Twinkle Eval on it.

It is a base model: with a grammar it writes a box and nothing else, without one it goes on with the text. Which letters
it chooses is no matter here; that they are read, scored and repeated exactly is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from support.runs import make_run
from support.twinkle import need_twinkle, run_twinkle
from typer.testing import CliRunner

from opentwbench.evaluation.client import Endpoint
from opentwbench.evaluation.extraction import read
from opentwbench.evaluation.items import ItemSet, Roster, item_set
from opentwbench.evaluation.journal import read_responses, read_run
from opentwbench.evaluation.model import ErrorClass
from opentwbench.evaluation.protocols import PATTERN
from opentwbench.evaluation.runs import score
from orchestration import evaluate_command
from resources.demo_model import BUDGET, GRAMMAR, MODEL, TERMS, DemoModel, missing
from samples.benchmark import benchmark_bytes

# A minute on an idle machine; a busy one has been seen to take twenty times as long.
pytestmark = [pytest.mark.model, pytest.mark.slow, pytest.mark.timeout(2_400)]

N = 20
PATIENT = Endpoint("http://127.0.0.1:1/v1", timeout=600, attempts=2)


@pytest.fixture(scope="module")
def model() -> Iterator[DemoModel]:
    """The running model."""
    if absent := missing():
        pytest.skip(f"no demo model ({', '.join(absent)}): make model fetches it")
    with DemoModel() as running:
        yield running


@pytest.fixture
def items(tmp_path: Path) -> ItemSet:
    """The first sample items, of every subject."""
    path = tmp_path / "benchmark.jsonl"
    path.write_bytes(b"".join(benchmark_bytes().splitlines(keepends=True)[:N]))
    return item_set([path])


def test_the_demo_command_scores_a_box_forced_by_a_grammar(tmp_path: Path) -> None:
    if absent := missing():
        pytest.skip(f"no demo model ({', '.join(absent)}): make model fetches it")
    app = typer.Typer()
    app.command()(evaluate_command.evaluate)
    found: dict[int, dict[str, str | None]] = {}
    for most in (N, 5):
        store = tmp_path / str(most)
        done = CliRunner().invoke(app, ["--demo-model", "--store", str(store), "--json", "--most", str(most)])
        assert done.exit_code == 0, done.output
        assert TERMS in done.stderr
        strict = json.loads(done.stdout)["scores"]["methods"]["strict"]
        assert (strict["parsed"]["hits"], strict["parsed"]["n"]) == (most, most)
        (folder,) = (store / "runs").iterdir()
        record = read_run(folder)
        assert (record.model, record.serving_precision) == (MODEL, "quantised")
        assert json.loads(record.extra["request"]) == {"grammar": GRAMMAR}
        assert "sha256" in record.extra["note:weights"]
        found[most] = {each.item_id: each.content for each in read_responses(folder)}
    assert found[5].items() <= found[N].items()  # deterministic at temperature 0, one after the other
    assert all(re.fullmatch(r"\\boxed\{[A-D]\}", content or "") for content in found[N].values())


def test_without_a_grammar_most_is_unread_and_nothing_is_an_error(
    model: DemoModel, items: ItemSet, tmp_path: Path
) -> None:
    short = PATTERN.with_budget(BUDGET)
    make_run(items, tmp_path / "run", model.base_url, protocol=short, endpoint=PATIENT, concurrency=1)
    found = list(read_responses(tmp_path / "run"))
    assert len(found) == N
    assert all(each.error is ErrorClass.NONE and each.content and each.completion_tokens for each in found)
    assert {each.finish_reason for each in found} <= {"stop", "length"}
    summary = score(tmp_path / "run", Roster(items))
    assert summary.replies == N
    # The base model answers no question; what it writes on is mostly the options again.
    assert summary.methods["strict"].parsed.hits == 0


def test_our_letters_are_those_of_the_real_twinkle_on_the_same_replies(
    model: DemoModel, items: ItemSet, tmp_path: Path
) -> None:
    need_twinkle()
    (file,) = items.files
    theirs = run_twinkle(
        tmp_path / "twinkle", file.path, model.base_url, "pattern", system=None, model=MODEL, max_tokens=BUDGET
    )
    assert len(theirs.rows) == N
    ours = [read("twinkle-pattern", row["llm_output"], row["llm_reasoning_output"]).answer for row in theirs.rows]
    assert ours == theirs.letters
