"""The volunteers' bundle: run as a volunteer runs it, equal to our prompts and letters, taken in as a submission."""

from __future__ import annotations

import ast
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from support.runs import answers, made_set
from typer.testing import CliRunner

from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation import volunteer
from opentwbench.evaluation.bundle import About, write_bundle
from opentwbench.evaluation.client import body_bytes
from opentwbench.evaluation.extraction import read
from opentwbench.evaluation.items import ItemSet
from opentwbench.evaluation.protocols import BOX, PATTERN
from opentwbench.evaluation.runner import Plan, questions
from opentwbench.evaluation.submission_reading import Refusal, SubmissionRefused, read_provenance, read_rows
from opentwbench.evaluation.submissions import Submission, judge
from orchestration import runner_command
from samples.model_endpoint import Kind, ModelEndpoint, Rule

N = 30


@pytest.fixture
def items(tmp_path: Path) -> ItemSet:
    """Made items."""
    return made_set(tmp_path, N)


@pytest.fixture
def bundle(items: ItemSet, tmp_path: Path) -> Path:
    """A bundle of them."""
    out = tmp_path / "bundle"
    assert write_bundle(items, About("exam", items.version, "scored", BOX), out)
    return out


def volunteer_runs(bundle: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The bundle's own runner, by a Python that sees nothing of the project (-I: isolated)."""
    command = [sys.executable, "-I", str(bundle / "run.py"), *arguments]
    surroundings = {"PATH": os.environ["PATH"], **env}
    return subprocess.run(command, cwd=bundle.parent, env=surroundings, capture_output=True, text=True, timeout=120)


def test_the_bundle_and_the_volunteers_page_name_the_same_commands(bundle: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "for-volunteers.md").read_text(encoding="utf-8")
    lines = (
        line.strip().partition("  ")[0] for line in (bundle / "README.md").read_text(encoding="utf-8").splitlines()
    )
    commands = [line for line in lines if "run.py " in line]
    assert len(commands) == 3
    assert [command for command in commands if f"`{command}`" not in page] == []


def asked(bundle: Path, endpoint: ModelEndpoint) -> subprocess.CompletedProcess[str]:
    """`run.py ask`."""
    return volunteer_runs(bundle, "ask", "--base-url", endpoint.base_url, "--model", "scripted")


def taken_in(bundle: Path, items: ItemSet) -> Submission:
    """What `otb submit check` makes of it, the provenance filled in."""
    about = json.loads((bundle / "provenance.json").read_text())
    about |= {"hardware": "a laptop", "runtime": "llama.cpp", "consent": True}
    given = read_provenance(json.dumps({k: v for k, v in about.items() if v != ""}).encode())
    form, rows = read_rows((bundle / "results.jsonl").read_bytes())
    return judge(rows, form, given, items, items.version, (BOX,))


def test_a_volunteers_way_from_the_bundle_to_the_submission(
    endpoint: ModelEndpoint, items: ItemSet, bundle: Path
) -> None:
    known = answers(items)
    endpoint.set(answers={stem: known[stem] for stem in list(known)[:20]})
    endpoint.plant(Rule(Kind.TEXT, "第25題", None, text="我認為答案是：B"), Rule(Kind.NULL_CONTENT, "第26題", None))
    endpoint.plant(Rule(Kind.STATUS, "第27題", 2, status=503))
    done = asked(bundle, endpoint)
    assert done.returncode == 0, done.stderr
    for command in ("results", "verify"):
        done = volunteer_runs(bundle, command)
        assert done.returncode == 0, done.stderr
    assert f"{N} rows, {N - 2} with a box" in done.stdout
    submission = taken_in(bundle, items)
    assert (submission.form, len(submission.answers)) == ("exact", N)
    by_id = {answer.item_id: answer for answer in submission.answers}
    assert all(by_id[item.item_id].strict_correct for item in list(items)[:20])
    asked_of_it = endpoint.stats()["requests"]
    assert asked(bundle, endpoint).returncode == 0
    assert endpoint.stats()["requests"] == asked_of_it  # nothing twice


def test_its_requests_are_ours_to_the_byte(endpoint: ModelEndpoint, items: ItemSet) -> None:
    for protocol in (BOX, PATTERN, BOX.with_budget(16_384)):
        ours = [question.payload for question in questions(Plan("r", "m", protocol, items))]
        record = protocol.to_json()
        rows = [{"item_id": i.item_id, "question": i.question, **i.options} for i in items]
        assert [body_bytes(volunteer.request_body(row, record, "m")) for row in rows] == ours


PIECES = (
    *("\\boxed{A}", "\\boxed{ 乙 }", "\\boxed{c}", "\\boxed{D\n}", "\\boxed{E}", "\\boxed{\\text{A}}", "\\box{A}"),
    *("答案", "正確選項", "正解", "答", "選", "是", "為", "：", ":", "(", "（", ".", "。", "、", " ", "\n"),
    *("A", "b", "Ｃ", "丁", "D", "</think>", "<think>", "維生素", "x", "我"),
)


def test_its_letters_are_ours() -> None:
    rng = random.Random(11)
    replies = ["".join(rng.choices(PIECES, k=rng.randint(0, 9))) for _ in range(20_000)]
    for name, theirs in (("strict", volunteer.read_strict), ("lenient", volunteer.read_lenient)):
        assert [theirs(reply) for reply in replies] == [read(name, reply).answer for reply in replies]
        assert len({theirs(reply) for reply in replies}) == 5


def test_its_letters_are_the_recorded_ones(shared: Path) -> None:
    cases = [json.loads(line) for line in (shared / "facts" / "extraction_cases.jsonl").read_text("utf-8").splitlines()]
    checked = 0
    for case in cases:
        content = case.get("content") or ""
        for column, theirs in (("otb_strict", volunteer.read_strict), ("otb_lenient", volunteer.read_lenient)):
            assert theirs(content) == case[column], case["id"]
            checked += 1
    assert checked == 2 * 185


def test_it_needs_the_standard_library_alone() -> None:
    tree = ast.parse(Path(volunteer.__file__).read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_no_prompt_is_made_from_the_keys(endpoint: ModelEndpoint, items: ItemSet, bundle: Path) -> None:
    text = (bundle / "questions.jsonl").read_text(encoding="utf-8")
    assert set(json.loads(text.splitlines()[0])) == {"item_id", "question", "A", "B", "C", "D"}
    assert (bundle / "run.py").read_bytes() == Path(volunteer.__file__).read_bytes()
    assert asked(bundle, endpoint).returncode == 0
    assert "sample-subject" not in json.dumps(endpoint.stats()["last_body"])


@pytest.mark.parametrize("name", ["questions.jsonl", "keys.json", "protocol.json", "run.py"])
def test_an_altered_bundle_does_not_run(endpoint: ModelEndpoint, bundle: Path, name: str) -> None:
    path = bundle / name
    path.write_bytes(path.read_bytes().replace(b"\n", b"\n\n", 1))
    done = asked(bundle, endpoint)
    assert done.returncode == 3
    assert f"{name} is not the file that was sent out" in done.stderr
    assert endpoint.stats()["requests"] == 0


def test_an_unfinished_run_is_said_and_a_cut_line_asked_again(endpoint: ModelEndpoint, bundle: Path) -> None:
    assert volunteer_runs(bundle, "verify").returncode == 3
    assert "30 questions have no reply" in volunteer_runs(bundle, "results").stderr
    assert asked(bundle, endpoint).returncode == 0
    path = bundle / "replies.jsonl"
    path.write_bytes(path.read_bytes()[:-5])
    assert "1 questions have no reply" in volunteer_runs(bundle, "results").stderr
    endpoint.forget()
    assert asked(bundle, endpoint).returncode == 0
    assert endpoint.stats()["requests"] == 1
    assert volunteer_runs(bundle, "results").returncode == 0


def test_edited_results_are_found_here_and_by_us(endpoint: ModelEndpoint, items: ItemSet, bundle: Path) -> None:
    assert asked(bundle, endpoint).returncode == 0
    assert volunteer_runs(bundle, "results").returncode == 0
    path = bundle / "results.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    wrong = next(n for n, row in enumerate(rows) if not row["ok"])
    rows[wrong]["ok"] = True
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "not what the replies and keys give" in volunteer_runs(bundle, "verify").stderr
    with pytest.raises(SubmissionRefused) as refused:
        taken_in(bundle, items)
    assert refused.value.reason is Refusal.VERDICT_MISMATCH


def test_a_refused_key_stops_and_is_never_written(endpoint: ModelEndpoint, bundle: Path) -> None:
    endpoint.set(api_key="right")
    where = ("ask", "--base-url", endpoint.base_url, "--model", "m", "--api-key-env", "THE_KEY")
    done = volunteer_runs(bundle, *where, THE_KEY="wrong-key-0123")
    assert done.returncode == 3
    assert "401" in done.stderr
    assert endpoint.stats()["requests"] <= 8
    written = b"".join(path.read_bytes() for path in bundle.iterdir())
    assert b"wrong-key" not in written + done.stderr.encode() + done.stdout.encode()
    assert "is not set" in volunteer_runs(bundle, *where).stderr


def test_an_export_never_overwrites_replies(items: ItemSet, bundle: Path) -> None:
    about = About("exam", items.version, "scored", BOX)
    assert not write_bundle(items, about, bundle)  # the same bytes
    (bundle / "replies.jsonl").write_text("")
    with pytest.raises(DatasetError, match=r"replies\.jsonl"):
        write_bundle(items, about, bundle)


def test_the_command(tmp_path: Path, items: ItemSet) -> None:
    (file,) = items.files
    arguments = ["export", "--out", str(tmp_path / "out"), "--items", str(file.path), "--protocol", "pattern"]
    done = CliRunner().invoke(runner_command.app, arguments)
    assert done.exit_code == 0, done.output
    assert f"{N} questions of version {items.version}, {PATTERN.protocol_id}" in " ".join(done.output.split())
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["items"] == N
    absent = CliRunner().invoke(runner_command.app, ["export", "--out", str(tmp_path / "o"), "--items", "absent"])
    assert absent.exit_code == 2
