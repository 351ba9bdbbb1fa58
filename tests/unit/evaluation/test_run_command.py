"""`otb run`: list, show, diff, circular, costs, and a run through batch files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from support.runs import answers, item_record, write_items
from typer.testing import CliRunner

from opentwbench.evaluation.items import item_set
from orchestration import evaluate_command, run_command
from samples.model_endpoint import Kind, ModelEndpoint, Rule

EVALUATE = typer.Typer()
EVALUATE.command()(evaluate_command.evaluate)

N = 12


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with items.jsonl and, below store, the runs."""
    write_items(tmp_path / "items.jsonl", N)
    return tmp_path


def evaluate(endpoint: ModelEndpoint, place: Path, model: str, *more: str) -> str:
    """Carry a run out; its id."""
    where = ["--base-url", endpoint.base_url, "--items", str(place / "items.jsonl"), "--store", str(place / "store")]
    done = CliRunner().invoke(EVALUATE, ["--model", model, *where, "--json", *more])
    assert done.exit_code in (0, 3), done.output
    return str(json.loads(done.stdout)["run"]["run_id"])


def run(place: Path, *arguments: str) -> Any:
    """`otb run ...` on that store."""
    return CliRunner().invoke(run_command.app, [*arguments, "--store", str(place / "store")])


def test_runs_are_listed_with_what_they_used(endpoint: ModelEndpoint, place: Path) -> None:
    endpoint.plant(Rule(Kind.CONTEXT_OVERFLOW, "第3題", None))
    name = evaluate(endpoint, place, "one")
    (found,) = json.loads(run(place, "list", "--json").stdout)
    assert (found["run_id"], found["questions"], found["answered"], found["errors"]) == (name, N, N - 1, 1)
    assert found["tokens"] > 100
    listed = run(place, "list").stdout.splitlines()
    assert listed[0] == name, "an id stands alone, so that it can be copied at any width"
    assert "11 of 12 answered" in listed[1]
    costs = json.loads(run(place, "costs", name, "--prompt-price", "1", "--completion-price", "10", "--json").stdout)
    money = (costs["prompt_tokens"] + 10 * costs["completion_tokens"]) / 1e6
    assert costs["money"] == pytest.approx(money)
    assert "prompt_tokens" in run(place, "costs", name).stdout


def test_replies_taken_from_another_run_are_answers(endpoint: ModelEndpoint, place: Path) -> None:
    evaluate(endpoint, place, "one")
    write_items(place / "items.jsonl", N + 2)
    name = evaluate(endpoint, place, "one", "--reuse", "all")
    listed = {each["run_id"]: each for each in json.loads(run(place, "list", "--json").stdout)}
    assert (listed[name]["answered"], listed[name]["questions"], listed[name]["errors"]) == (N + 2, N + 2, 0)


def test_an_item_is_shown_with_its_prompt_reply_and_readings(endpoint: ModelEndpoint, place: Path) -> None:
    hostile = "\x1b[31m紅\x07 [bold]粗[/bold] \\boxed{B}"
    endpoint.plant(Rule(Kind.TEXT, "第3題", None, text=hostile))
    name = evaluate(endpoint, place, "one", "--repeats", "2")
    item = item_record(3)["item_id"]
    items = ("--items", str(place / "items.jsonl"))
    found = json.loads(run(place, "show", name, "--item", item, *items, "--json").stdout)
    assert (found["key"], len(found["replies"])) == ("D", 2)
    reply = found["replies"][0]
    assert reply["content"] == hostile
    assert [message["role"] for message in reply["messages"]] == ["system", "user"]
    assert (reply["readings"]["strict"]["answer"], reply["readings"]["strict"]["rule"] != "") == ("B", True)
    assert reply["readings"]["strict"]["original"] == reply["option_order"][1]
    text = run(place, "show", name, "--item", item, *items).stdout
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[bold]粗[/bold]" in text
    assert run(place, "show", name, "--item", "absent").exit_code == 3
    # Without the data set the reply is shown all the same: the key was kept with the score.
    assert json.loads(run(place, "show", name, "--item", item, "--json").stdout)["replies"][0]["messages"] is None


def test_two_runs_are_compared(endpoint: ModelEndpoint, place: Path) -> None:
    known = answers(item_set([place / "items.jsonl"]))
    endpoint.set(answers=known)
    first = evaluate(endpoint, place, "knows-all")
    endpoint.plant(*(Rule(Kind.TEXT, f"第{n}題", None, text="不知道") for n in range(4)))
    second = evaluate(endpoint, place, "knows-most")
    found = json.loads(run(place, "diff", first, second, "--json").stdout)
    assert (found["shared"], found["both_right"], found["first_right"], found["second_right"]) == (N, N - 4, 4, 0)
    assert found["moves"] == {"correct>correct": N - 4, "correct>unparsed": 4}
    assert (found["mcnemar"]["discordant"], found["rekeyed"]) == (4, 0)
    assert {each["item_id"] for each in found["differing"]} == {item_record(n)["item_id"] for n in range(4)}
    text = " ".join(run(place, "diff", first, second).stdout.split())
    assert "only A 4" in text
    assert "p = 0.1250 (exact)" in text
    assert run(place, "diff", first, "absent").exit_code == 3
    assert run(place, "diff", first, second, "--method", "absent").exit_code == 2


def test_items_with_another_key_are_left_out_of_a_diff(endpoint: ModelEndpoint, place: Path) -> None:
    first = evaluate(endpoint, place, "m")
    rows = [item_record(n, **({"answer": "A"} if n == 3 else {})) for n in range(N)]
    (place / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    second = evaluate(endpoint, place, "m")
    assert first != second
    found = json.loads(run(place, "diff", first, second, "--json").stdout)
    assert (found["shared"], found["rekeyed"]) == (N - 1, 1)


def test_a_circular_run_is_read(endpoint: ModelEndpoint, place: Path) -> None:
    endpoint.set(answers=answers(item_set([place / "items.jsonl"])))
    name = evaluate(endpoint, place, "knows", "--circular")
    found = json.loads(run(place, "circular", name, "--json").stdout)
    assert (found["items"], found["every"]["hits"], found["mean"]["hits"]) == (N, N, 4 * N)
    endpoint.set(answers={}, reply="\\boxed{A}")
    biased = evaluate(endpoint, place, "always-a", "--circular")
    found = json.loads(run(place, "circular", biased, "--json").stdout)
    assert (found["every"]["hits"], found["mean"]["hits"], found["chosen"]) == (0, N, {"A": 4 * N})
    assert "right in every place: 0.00 %" in run(place, "circular", biased).stdout
    plain = evaluate(endpoint, place, "plain")
    assert run(place, "circular", plain).exit_code == 3


def test_a_run_through_batch_files(endpoint: ModelEndpoint, place: Path) -> None:
    items = ("--items", str(place / "items.jsonl"))
    out = place / "batch"
    done = run(place, "batch-export", "--model", "batched", "--out", str(out), *items)
    assert done.exit_code == 0, done.output
    name = done.stdout.splitlines()[-1].split()[1].rstrip(":")
    results = []
    for line in (out / "requests-001.jsonl").read_text(encoding="utf-8").splitlines():
        message = {"message": {"content": "\\boxed{A}"}, "finish_reason": "stop"}
        response = {"status_code": 200, "body": {"choices": [message]}}
        results.append({"custom_id": json.loads(line)["custom_id"], "response": response})
    (place / "results.jsonl").write_text("".join(json.dumps(each) + "\n" for each in results))
    taken = run(place, "batch-import", name, str(place / "results.jsonl"), *items)
    assert taken.exit_code == 0, taken.output
    assert "12 taken" in taken.stdout
    (path,) = (place / "store" / "runs" / name / "scores").glob("*.json")
    assert json.loads(path.read_text())["complete"]
    assert "0 taken" in run(place, "batch-import", name, str(place / "results.jsonl"), *items).stdout
    assert evaluate(endpoint, place, "batched") == name  # the same wish is the same run, and nothing is left to ask
    assert endpoint.stats()["requests"] == 0
    write_items(place / "items.jsonl", N, year_roc=99)
    assert run(place, "batch-import", name, str(place / "results.jsonl"), *items).exit_code == 2


@pytest.mark.parametrize("name", ["../store", "..", "absent", "a/b", ""])
def test_a_run_is_named_and_is_no_path(place: Path, name: str) -> None:
    (place / "store" / "runs").mkdir(parents=True)
    (place / "run.json").write_text("{}")
    assert run(place, "costs", name).exit_code == 3


def test_a_damaged_run_is_said_with_its_place(endpoint: ModelEndpoint, place: Path) -> None:
    name = evaluate(endpoint, place, "one")
    journal = place / "store" / "runs" / name / "responses.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[:4], b"damage\n", *lines[5:]]))
    item = item_record(3)["item_id"]
    for command in (
        ("list",),
        ("costs", name),
        ("show", name, "--item", item),
        ("diff", name, name),
        ("circular", name),
    ):
        done = run(place, *command)
        assert done.exit_code == 3, command
        assert "responses.jsonl line 5" in done.output
    (journal.parent / "run.json").write_text("{}")
    done = run(place, "list")
    assert (done.exit_code, "run.json" in done.output) == (3, True)
