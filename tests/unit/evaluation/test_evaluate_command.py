"""`otb evaluate` as a user meets it: a store or files, resumed, stopped, and no key in anything written."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import typer
from support.datasets import make_dataset, make_row
from support.runs import item_record, write_items
from typer.testing import CliRunner

from opentwbench.dataset.manifest import write_dataset
from opentwbench.dataset.model import Withdrawal
from opentwbench.evaluation.journal import Journal, read_protocol, read_responses, read_run
from opentwbench.evaluation.protocols import BOX
from orchestration import evaluate_command
from resources import demo_model
from samples.benchmark import benchmark_bytes
from samples.model_endpoint import Kind, ModelEndpoint, Rule

APP = typer.Typer()
APP.command()(evaluate_command.evaluate)

ROOT = Path(__file__).resolve().parents[3]
KEY = "sk-not-a-real-key-0123456789"


def otb(*arguments: str, env: dict[str, str] | None = None) -> Any:
    """The command in this process."""
    return CliRunner().invoke(APP, list(arguments), env=env)


def evaluate(endpoint: ModelEndpoint, tmp_path: Path, *more: str, env: dict[str, str] | None = None) -> Any:
    """The command over made items at the loopback endpoint."""
    items = tmp_path / "items.jsonl"
    if not items.exists():
        write_items(items, 40)
    where = ("--base-url", endpoint.base_url, "--items", str(items), "--store", str(tmp_path / "store"))
    return otb("--model", "org/Model 1", *where, *more, env=env)


def only_run(tmp_path: Path) -> Path:
    """The one run folder."""
    (folder,) = (tmp_path / "store" / "runs").iterdir()
    return folder


def test_the_same_command_continues_the_same_run(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    first = evaluate(endpoint, tmp_path)
    assert first.exit_code == 0, first.output
    folder = only_run(tmp_path)
    record = read_run(folder)
    assert re.fullmatch(r"org-model-1--box--exam--[0-9a-f]{12}", record.run_id)
    assert (record.n_items, record.repeats, record.protocol_id) == (40, 1, BOX.protocol_id)
    assert read_protocol(folder) == BOX
    assert len(list(read_responses(folder))) == endpoint.stats()["requests"] == 40
    scores = json.loads((folder / "scores" / f"{record.dataset_version}.json").read_text())
    assert (scores["replies"], scores["complete"], scores["run_id"]) == (40, True, record.run_id)
    assert (folder / "scores" / f"{record.dataset_version}.keys.gz").exists()
    again = evaluate(endpoint, tmp_path)
    assert again.exit_code == 0
    assert "0 asked, 40 answered before" in " ".join(again.output.split())
    assert endpoint.stats()["requests"] == 40


@pytest.mark.parametrize(
    "change",
    [
        ("--protocol", "pattern"),
        ("--budget", "16384"),
        ("--repeats", "2"),
        ("--most", "39"),
        ("--request", '{"seed": 1}'),
        ("--circular",),
    ],
)
def test_another_wish_is_another_run(endpoint: ModelEndpoint, tmp_path: Path, change: tuple[str, ...]) -> None:
    assert evaluate(endpoint, tmp_path).exit_code == 0
    assert evaluate(endpoint, tmp_path, *change).exit_code == 0
    assert len(list((tmp_path / "store" / "runs").iterdir())) == 2


def test_other_circumstances_of_the_same_run_are_refused(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    assert evaluate(endpoint, tmp_path).exit_code == 0
    other = evaluate(endpoint, tmp_path, "--precision", "native")
    assert other.exit_code == 2
    assert "serving_precision was unknown and is now native" in other.output


def test_a_published_subject_is_asked_without_its_withdrawn_items(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    rows = [make_row(n) for n in range(12)]
    left = tuple(Withdrawal(row.item_id, "wrong key", "2026-11-29", "letter 7") for row in rows[:2])
    dataset = make_dataset(rows, withdrawals=left)
    folder = tmp_path / "store" / "publications" / dataset.slug
    written = write_dataset(dataset, folder)
    where = ("--model", "m", "--base-url", endpoint.base_url, "--store", str(tmp_path / "store"), "--json")
    scored = otb(*where)
    assert scored.exit_code == 0, scored.output
    run = json.loads(scored.stdout)["run"]
    assert (run["dataset_version"], run["n_items"]) == (written.version, 10)
    published = json.loads(otb(*where, "--published").stdout)["run"]
    assert (published["item_set"], published["n_items"]) == ("published", 12)
    assert otb(*where, "--subject", "tw-absent-bench").exit_code == 2
    (folder / "benchmark.jsonl").write_bytes((folder / "benchmark.jsonl").read_bytes() + b"\n")
    assert otb(*where).exit_code == 2


def test_a_sample_asks_its_items_alone(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    chosen = [item_record(n)["item_id"] for n in (3, 5, 8)]
    (tmp_path / "sample.txt").write_text("\n".join(chosen))
    done = evaluate(endpoint, tmp_path, "--sample", str(tmp_path / "sample.txt"), "--json")
    assert json.loads(done.stdout)["run"]["benchmark"] == "exam_sample"
    assert sorted(each.item_id for each in read_responses(only_run(tmp_path))) == sorted(chosen)


def test_a_circular_test_asks_every_place(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    assert evaluate(endpoint, tmp_path, "--circular").exit_code == 0
    found = list(read_responses(only_run(tmp_path)))
    orders: dict[str, set[str]] = {}
    for each in found:
        orders.setdefault(each.item_id, set()).add(each.option_order)
    assert len(found) == 160
    assert {len({order.index("A") for order in of}) for of in orders.values()} == {4}
    assert {each.protocol_id for each in found} != {BOX.protocol_id}


def test_no_key_in_anything_written(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    endpoint.set(api_key=KEY)
    done = evaluate(endpoint, tmp_path, "--api-key-env", "OTB_TEST_KEY", env={"OTB_TEST_KEY": KEY})
    assert done.exit_code == 0, done.output
    endpoint.plant(Rule(Kind.STATUS, status=401, text=f"Incorrect API key provided: {KEY}", times=None))
    refused = evaluate(endpoint, tmp_path, "--api-key-env", "OTB_TEST_KEY", "--repeats", "2", env={"OTB_TEST_KEY": KEY})
    assert refused.exit_code == 4
    assert "Incorrect API key provided: ***" in " ".join(refused.output.split())
    written = b"".join(path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file())
    assert len(written) > 10_000
    for text in (written.decode("utf-8", "replace"), done.output, refused.output):
        assert KEY not in text
        assert "127.0.0.1" not in text


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--model", ""), "--model is missing"),
        (("--base-url", ""), "--base-url is missing"),
        (("--base-url", "ftp://x"), "must begin with http"),
        (("--api-key-env", "OTB_ABSENT_KEY"), "OTB_ABSENT_KEY is not set"),
        (("--protocol", "none"), "no protocol none"),
        (("--budget", "0"), "max_tokens"),
        (("--items", "absent.jsonl"), "absent.jsonl"),
        (("--request", "{"), "no JSON"),
        (("--request", '{"model": "x"}'), "model is set by the run"),
        (("--request", '{"temperature": 1}'), "temperature is part of the protocol box-"),
        (("--request", '{"max_completion_tokens": 10}'), "max_completion_tokens is part of the protocol"),
        (("--precision", "fp8"), "serving precision"),
        (("--benchmark", "all"), "no benchmark all"),
        (("--note", "text"), "NAME=TEXT"),
        (("--run-id", "../up"), "no run id"),
        (("--sample", "absent.txt"), "absent.txt"),
    ],
)
def test_wrong_arguments_are_said_in_words(
    endpoint: ModelEndpoint, tmp_path: Path, more: tuple[str, ...], said: str
) -> None:
    done = evaluate(endpoint, tmp_path, *more)
    assert done.exit_code == 2
    assert said in done.output
    assert "Traceback" not in done.output
    assert endpoint.stats()["requests"] == 0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 41: not JSON"),
        ("[]", "line 41: not a JSON object"),
        (json.dumps(item_record(41, answer="E")), "line 41: answer is none of A-D"),
        (json.dumps(item_record(41, C="")), "line 41: C is no text"),
        (json.dumps(item_record(41, question=None)), "line 41: question is no text"),
        (json.dumps(item_record(3)), "stands twice"),
    ],
)
def test_broken_items_are_found_before_the_first_request(
    endpoint: ModelEndpoint, tmp_path: Path, line: str, said: str
) -> None:
    items = write_items(tmp_path / "items.jsonl", 40)
    items.write_text(items.read_text() + line + "\n")
    done = evaluate(endpoint, tmp_path)
    assert done.exit_code == 2
    assert said in done.output
    assert endpoint.stats()["requests"] == 0


def test_what_ended_in_errors_has_a_status_of_its_own(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    endpoint.plant(Rule(Kind.BROKEN_JSON, pattern="第7題", times=None))
    assert evaluate(endpoint, tmp_path, "--attempts", "1").exit_code == 3
    endpoint.heal()
    assert evaluate(endpoint, tmp_path, "--attempts", "1").exit_code == 0


def test_a_refused_parameter_is_reported(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    endpoint.plant(Rule(Kind.UNKNOWN_PARAMETER, text="temperature", times=None))
    done = evaluate(endpoint, tmp_path)
    assert done.exit_code == 0
    assert "the endpoint refused temperature: left out" in done.output


def test_a_dry_run_asks_nothing_and_shows_the_request(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    done = evaluate(endpoint, tmp_path, "--dry-run")
    assert done.exit_code == 0
    assert '"role": "system"' in done.output
    assert "40 items x 1" in done.output
    assert endpoint.stats()["requests"] == 0
    assert not (tmp_path / "store").exists()


def test_an_interrupt_ends_in_order_and_the_command_continues(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    endpoint.set(latency=0.2)
    items = write_items(tmp_path / "items.jsonl", 300)
    where = ["--model", "m", "--base-url", endpoint.base_url, "--items", str(items), "--store", str(tmp_path / "store")]
    command = [sys.executable, "-m", "orchestration.cli", "evaluate", *where, "--concurrency", "4"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        while endpoint.stats()["answered"] < 12:
            assert process.poll() is None
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command continues" in said
    assert "Traceback" not in said
    held = len(list(read_responses(only_run(tmp_path))))
    assert 8 <= held < 300
    endpoint.set(latency=0.0)
    endpoint.forget()
    assert otb(*where).exit_code == 0
    assert endpoint.stats()["requests"] == 300 - held


def test_the_sample_items_can_be_asked(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    path = tmp_path / "sample-items.jsonl"
    path.write_bytes(benchmark_bytes())
    where = ("--base-url", endpoint.base_url, "--items", str(path), "--store", str(tmp_path / "store"), "--json")
    done = otb("--model", "m", *where)
    assert done.exit_code == 0, done.output
    strict = json.loads(done.stdout)["scores"]["methods"]["strict"]
    assert set(strict["by_subject"]) >= {"tw-roc-constitution-bench", "tw-medicine-bench"}
    assert len(strict["by_subject"]) == 6


def test_without_the_demo_model_it_is_said_how_to_get_it_after_its_terms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_model, "missing", lambda: ("xllamacpp",))
    done = otb("--demo-model", "--store", str(tmp_path / "store"))
    assert done.exit_code == 2
    assert "make model fetches it" in done.output
    assert done.output.index("ai.google.dev/gemma/terms") < done.output.index("make model fetches it")
    assert not (tmp_path / "store").exists()


def test_verification_switched_off_is_recorded(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    assert evaluate(endpoint, tmp_path, "--insecure", "--note", "runtime=vLLM 0.9").exit_code == 0
    extra = read_run(only_run(tmp_path)).extra
    assert extra == {"note:runtime": "vLLM 0.9", "note:tls_verification": "off"}


def test_two_starts_at_once_are_refused(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    assert evaluate(endpoint, tmp_path).exit_code == 0
    with Journal(only_run(tmp_path)):
        second = evaluate(endpoint, tmp_path)
    assert second.exit_code == 2
    assert "another process is writing to this run" in second.output


def test_a_spending_stop_has_its_status_and_a_score(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    stopped = evaluate(endpoint, tmp_path, "--max-total-tokens", "3000", "--concurrency", "1", "--json")
    assert stopped.exit_code == 4
    found = json.loads(stopped.stdout)
    assert found["stopped"].startswith("spending stop")
    assert found["scores"]["replies"] == found["asked"] == endpoint.stats()["requests"] < 40
    money = ("--max-cost", "0.01", "--prompt-price", "1", "--completion-price", "1")
    assert evaluate(endpoint, tmp_path, *money).exit_code == 0


def test_a_later_version_takes_the_replies_of_the_run_before(endpoint: ModelEndpoint, tmp_path: Path) -> None:
    assert evaluate(endpoint, tmp_path).exit_code == 0
    before = only_run(tmp_path)
    (tmp_path / "items.jsonl").unlink()
    write_items(tmp_path / "items.jsonl", 45)
    unknown = evaluate(endpoint, tmp_path, "--reuse", "no-such-run")
    assert (unknown.exit_code, "no run no-such-run" in unknown.output) == (2, True)
    budget = evaluate(endpoint, tmp_path, "--budget", "64", "--reuse", before.name)
    assert (budget.exit_code, "protocol_id" in budget.output) == (2, True)
    assert endpoint.stats()["requests"] == 40
    again = evaluate(endpoint, tmp_path, "--reuse", "all", "--json")
    assert again.exit_code == 0, again.output
    assert f"40 replies taken from {before.name}" in again.stderr
    outcome = json.loads(again.stdout)
    assert (outcome["asked"], outcome["skipped"], outcome["scores"]["replies"]) == (5, 40, 45)
    assert endpoint.stats()["requests"] == 45
