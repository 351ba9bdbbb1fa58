"""The project's own data sets of the retrieval benchmark: counts that are true of them, every hazard, whole runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from opentwbench.rag.adapters import ADAPTERS, read_benchmark
from opentwbench.rag.evidence import Library, recall
from orchestration.cli import application
from samples.__main__ import main
from samples.rag.documents import COUNTS, NAMES, write
from samples.rag.script import reply


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rag")
    assert main(["rag", str(folder)]) == 0
    return folder


def test_the_same_command_gives_the_same_bytes(data: Path, tmp_path: Path) -> None:
    assert write(tmp_path) == 8
    files = sorted(path.relative_to(data) for path in data.rglob("*") if path.is_file())
    assert len(files) == 8
    assert [(tmp_path / name).read_bytes() for name in files] == [(data / name).read_bytes() for name in files]


@pytest.mark.parametrize("name", NAMES)
def test_an_adapter_reads_what_is_true_of_its_samples(data: Path, name: str) -> None:
    assert set(NAMES) == set(ADAPTERS)
    made = read_benchmark(name, data / name)
    assert {"documents": len(made.documents), "rows": made.rows, "dropped": dict(made.dropped)} == COUNTS[name]


def test_the_hazards_are_in_the_samples(data: Path) -> None:
    read = {name: read_benchmark(name, data / name) for name in NAMES}
    assert read["locomo"].dirt == {
        "evidence_with_several_turns": 1, "evidence_malformed": 1, "evidence_no_such_turn": 1,
    }  # fmt: skip
    library = Library(read["locomo"].documents)
    lease = next(each for each in read["locomo"].questions if "sign the lease for" in each.question)
    other = library["sample-hills"]
    assert other.range_of("D1:1") and other.range_of("D1:10")  # the same ids, and one that begins like another
    assert recall(library.locate(lease), {"sample-hills": ((0, len(other.text)),)}) == 0.0
    quoted = [Library(read["syllabusqa"].documents).locate(each) for each in read["syllabusqa"].questions]
    assert (sum(len(each.places) for each in quoted), sum(each.unlocated for each in quoted)) == (5, 1)
    tide = next(each.text for each in read["syllabusqa"].documents if "Tidal" in each.title)
    assert tide.index("boat shed") < tide.index("Midterm | 25 %") < tide.index("handed in late")
    caption = next(each for each in read["qasper"].questions if "harbour" in each.question)
    assert recall(Library(read["qasper"].documents).locate(caption), {}) == 0.0  # located, and not shown
    assert [part.span for part in read["financebench"].documents[0].parts] == ["p1", "p2", "p3"]
    pages = {each.question_id: each.evidence[0].span for each in read["financebench"].questions}
    assert pages == {"sample_1": "p2", "sample_2": "p2", "sample_3": "p3"}
    assert [each.offered.index(each.doc_id) + 1 for each in read["tw_rag"].questions] == [1, 2, 3, 4]


@pytest.mark.parametrize(("name", "questions"), [("syllabusqa", 6), ("financebench", 3), ("tw_rag", 4)])
def test_a_whole_run_needs_neither_network_nor_model(data: Path, tmp_path: Path, name: str, questions: int) -> None:
    given = ["rag", "run", "--dataset", name, "--data", str(data / name), "--store", str(tmp_path), "--scripted"]
    done = CliRunner().invoke(application(), [*given, "--json"])
    assert done.exit_code == 0, done.output
    made = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    assert made["outcomes"] == {"answered": questions} and made["recall"]["value"] == 1.0
    assert made["models"]["answer"] == "scripted/reader" and not made["self_judged"]
    scored = made["ragas"]["judge"]["scored"] if name == "tw_rag" else made["judge"]["scored"]
    assert scored == questions
    if name == "tw_rag":
        assert made["ragas"]["context_precision"]["exactly_on_target"] == questions
    refused = CliRunner().invoke(application(), [*given, "--base-url", "http://127.0.0.1:1/v1"])
    assert refused.exit_code == 2 and "--scripted asks no endpoint" in refused.output


def test_the_script_knows_its_prompts_and_no_others() -> None:
    assert reply({"messages": [{"role": "user", "content": "下列何者正確？"}]}) is None
    asked = 'Passages, one JSON object a line:\n(none)\n\nQuestion: "Who?"'
    assert reply({"messages": [{"role": "user", "content": asked}]}) == "Not mentioned"
