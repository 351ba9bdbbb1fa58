"""Pool members from runs, from runs that go on over editions, and from submissions; editions side by side."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.evaluation import boxed, make_response
from support.formosa import make_formosa_item
from typer.testing import CliRunner

from opentwbench.dataset.files import jsonl_bytes
from opentwbench.evaluation.journal import JOURNAL_NAME, Journal, write_run
from opentwbench.evaluation.prompts import option_order
from opentwbench.evaluation.protocols import BOX, REGISTRY
from opentwbench.evaluation.scoring import grade
from opentwbench.evaluation.submission_reading import Provenance, read_rows
from opentwbench.evaluation.submissions import fold, judge, row_of
from opentwbench.formosa.band import Band, CurationError
from opentwbench.formosa.curation import Mark, freeze, member_record, sidecar_of
from opentwbench.formosa.edition_files import hold_to_journals
from opentwbench.formosa.model import FormosaItem
from opentwbench.formosa.output import full_version, items_bytes, sidecar_bytes
from opentwbench.formosa.pool import asked_item, member_of_run, member_of_submission, pool_run, roles
from orchestration.formosa_command import app

ITEMS = sorted((make_formosa_item(n) for n in range(40)), key=lambda item: item.item_id)
VERSION = full_version(ITEMS)
STARTED = ("2026-11-30T00:00:00+00:00", "test")
KNOWN = {each.protocol_id: each for each in REGISTRY.values()}


def wrong(letter: str) -> str:
    return "ABCD"["ABCD".index(letter) - 1]


def run_of(folder: Path, items: list[FormosaItem], model: str = "m", unread: int = 0) -> Path:
    """A pool run that is wrong on every fourth item and unread on the first `unread`."""
    plan, about = pool_run(model, BOX, items, STARTED)
    write_run(folder, about, BOX)
    with Journal(folder) as journal:
        for n, item in enumerate(plan.items):
            said = "？" if n < unread else boxed(item, item.key if n % 4 else wrong(item.key))
            journal.append(make_response(item, said, run_id=folder.name, model=model))
    return folder


def test_a_pool_run_goes_on_over_editions(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "run", ITEMS[:30])
    before = member_of_run(folder, ITEMS[:30], full_version(ITEMS[:30]))
    assert before.counts() == {Mark.RIGHT: 22, Mark.WRONG: 8, Mark.UNPARSED: 0, Mark.ERROR: 0}
    # The same run under a newer set: what it was asked counts, what it was not asked is not measured.
    after = member_of_run(folder, ITEMS[20:], full_version(ITEMS[20:]))
    assert set(after.marks) == {item.item_id for item in ITEMS[20:30]}
    assert pool_run("m", BOX, ITEMS, STARTED)[1].run_id == pool_run("m", BOX, ITEMS[:3], STARTED)[1].run_id
    assert pool_run("n", BOX, ITEMS, STARTED)[1].run_id != pool_run("m", BOX, ITEMS, STARTED)[1].run_id


def test_a_pool_run_under_95_percent_parsed_is_refused(tmp_path: Path) -> None:
    assert member_of_run(run_of(tmp_path / "good", ITEMS, unread=2), ITEMS, VERSION).counts()[Mark.UNPARSED] == 2
    with pytest.raises(CurationError, match="parse rate"):
        member_of_run(run_of(tmp_path / "bad", ITEMS, unread=3), ITEMS, VERSION)


def submission_of(folder: Path, model: str = "volunteer", version: str = VERSION, shift: int = 0) -> Path:
    """A submission in the exact form that is wrong on every fourth item."""
    asked = [asked_item(item) for item in ITEMS]
    rows = []
    for n, item in enumerate(asked):
        letter = item.key if (n + shift) % 4 else wrong(item.key)
        response = make_response(item, boxed(item, letter), run_id="r", model=model)
        response = replace(response, option_order=option_order(item, BOX))
        rows.append(row_of(grade(response, item.key), item.question))
    form, read = read_rows(jsonl_bytes(rows))
    about = Provenance(model, "formosa", version, BOX.protocol_id, "laptop", "llama.cpp")
    made = judge(read, form, about, asked, version, [BOX])
    return folder / fold(made, folder, "2026-11-30")[0]


def test_a_submission_is_a_pool_member(tmp_path: Path) -> None:
    member = member_of_submission(submission_of(tmp_path), KNOWN, VERSION)
    run = member_of_run(run_of(tmp_path / "run", ITEMS), ITEMS, VERSION)
    assert (member.model, member.marks) == ("volunteer", run.marks)
    with pytest.raises(CurationError, match="measured on version"):
        member_of_submission(submission_of(tmp_path, version="old"), KNOWN, VERSION)
    with pytest.raises(CurationError, match="no protocol"):
        member_of_submission(submission_of(tmp_path), {}, VERSION)


def test_curate_takes_runs_and_submissions(tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_bytes(items_bytes(ITEMS))
    given = ["--run", str(run_of(tmp_path / "run", ITEMS)), "--submission", str(submission_of(tmp_path / "s", shift=1))]
    more = ["--band", "0-1", "--name", "mixed", "--date", "2026-11-30", "--out", str(tmp_path / "edition")]
    result = CliRunner().invoke(app, ["curate", str(tmp_path / "items.jsonl"), *given, *more])
    assert result.exit_code == 0, result.output
    # Wrong on different quarters: the band of what not both pass is half of the items.
    assert json.loads(result.stdout)["kept"] == 20
    pool = json.loads((tmp_path / "edition" / "edition.json").read_text("utf-8"))["pool"]
    assert [each["model"] for each in pool] == ["m", "volunteer"] and pool[1]["source"].startswith("sub-")
    # Frozen once more into the same folder: the run behind the edition is what it was, or nothing is written.
    arguments = ["curate", str(tmp_path / "items.jsonl"), *given, *more]
    before = (tmp_path / "edition" / "edition.json").read_bytes()
    assert CliRunner().invoke(app, arguments).exit_code == 0
    journal = tmp_path / "run" / JOURNAL_NAME
    whole = journal.read_bytes()
    journal.write_bytes(whole.replace(b"boxed{A}", b"boxed{B}", 1))
    refused = CliRunner().invoke(app, arguments)
    assert refused.exit_code == 2 and "run/responses.jsonl: changed since mixed-" in refused.output
    journal.write_bytes(whole)
    sidecar = tmp_path / "edition" / "difficulty.jsonl"
    sidecar.write_bytes(sidecar.read_bytes().replace(b"true", b"false", 1))
    refused = CliRunner().invoke(app, arguments)
    assert refused.exit_code == 2 and "not the sidecar of mixed-" in refused.output
    assert (tmp_path / "edition" / "edition.json").read_bytes() == before


def test_who_had_a_hand_in_the_items_is_said() -> None:
    assert roles(ITEMS) == {"drafter": ("drafted",), "judge": ("judged",)}
    assert roles([replace(ITEMS[0], judge="drafter")]) == {"drafter": ("drafted", "judged")}


def answered_as(folder: Path, names: list[str]) -> Path:
    """The run with its replies carrying these names in turn."""
    lines = (folder / JOURNAL_NAME).read_bytes().splitlines()
    changed = [json.loads(line) | {"served_model": names[n % len(names)]} for n, line in enumerate(lines)]
    (folder / JOURNAL_NAME).write_bytes(jsonl_bytes(changed))
    return folder


def test_an_endpoint_that_serves_another_model_is_said_and_one_that_changes_is_refused(tmp_path: Path) -> None:
    lying = member_of_run(answered_as(run_of(tmp_path / "lying", ITEMS), ["cheap-model"]), ITEMS, VERSION)
    assert lying.served == {"cheap-model": len(ITEMS)}
    dated = member_of_run(answered_as(run_of(tmp_path / "dated", ITEMS, "n"), ["n-2026-01-01"]), ITEMS, VERSION)
    sidecar = sidecar_of([item.item_id for item in ITEMS], [lying, dated])
    records = [member_record(each) for each in (lying, dated)]
    made = freeze("x", "2026-11-30", VERSION, Band(0, 1), sidecar, "0" * 64, records)
    assert made.served_otherwise == {"m": ("cheap-model",)}
    assert [each["served"] for each in made.to_json()["pool"]] == [lying.served, dated.served]
    with pytest.raises(CurationError, match="replies came from 2 models"):
        member_of_run(answered_as(run_of(tmp_path / "two", ITEMS), ["m", "cheap-model"]), ITEMS, VERSION)


def test_a_journal_is_held_to_the_bytes_of_the_freeze(tmp_path: Path) -> None:
    folders = {name: run_of(tmp_path / f"run-{name}", ITEMS[:30], name) for name in "ab"}
    members = [member_of_run(folder, ITEMS, VERSION) for folder in folders.values()]
    runs = {member.source: folder for member, folder in zip(members, folders.values(), strict=True)}
    sidecar = sidecar_of([item.item_id for item in ITEMS], members)
    records = [member_record(each) for each in members]
    made = freeze("x", "2026-11-30", VERSION, Band(0, 1), sidecar, "0" * 64, records)
    assert made.pool[0]["bytes"] == (folders["a"] / JOURNAL_NAME).stat().st_size
    assert hold_to_journals([made, made], runs) == 4
    # It grows with a newer edition, and the older one still holds.
    run_of(folders["a"], ITEMS[30:], "a")
    later = [member_record(member_of_run(folders["a"], ITEMS, VERSION)), records[1]]
    newer = freeze("y", "2026-12-31", VERSION, Band(0, 1), sidecar, "0" * 64, later)
    assert newer.pool[0]["bytes"] > made.pool[0]["bytes"] and hold_to_journals([newer, made], runs) == 4
    # A run that is not there, and an edition from before sizes were kept, are passed over.
    assert hold_to_journals([made], {}) == 0
    old = replace(made, pool=tuple({k: v for k, v in each.items() if k != "bytes"} for each in made.pool))
    assert hold_to_journals([old], runs) == 0
    whole = (folders["a"] / JOURNAL_NAME).read_bytes()
    for damaged in (whole.replace(b"boxed{A}", b"boxed{B}", 1), whole[: made.pool[0]["bytes"] - 1], b""):
        (folders["a"] / JOURNAL_NAME).write_bytes(damaged)
        with pytest.raises(CurationError, match=rf"run-a/responses.jsonl: changed since {made.edition_id}.*backup"):
            hold_to_journals([made], runs)
    # What was added after the freeze is no part of it.
    (folders["a"] / JOURNAL_NAME).write_bytes(whole + b"{}\n")
    assert hold_to_journals([made], runs) == 2


def test_two_editions_are_compared_by_the_command(tmp_path: Path) -> None:
    members = [member_of_run(run_of(tmp_path / name, ITEMS, name), ITEMS, VERSION) for name in ("a", "b")]
    members.append(member_of_submission(submission_of(tmp_path / "s", shift=1), KNOWN, VERSION))
    for name, pool in (("one", members[:2]), ("two", members[1:])):
        sidecar = sidecar_of([item.item_id for item in ITEMS], pool)
        records = [member_record(each) for each in pool]
        made = freeze(name, "2026-11-30", VERSION, Band(0, 1), sidecar, "0" * 64, records)
        (tmp_path / f"{name}.json").write_text(json.dumps(made.to_json()), "utf-8")
    assert sidecar_bytes(sidecar)
    files = [str(tmp_path / "one.json"), str(tmp_path / "two.json")]
    result = CliRunner().invoke(app, ["side-by-side", *files, "--json"])
    found = json.loads(result.stdout)
    assert (len(found["both"]), len(found["left"]), len(found["joined"])) == (10, 0, 10)
    assert (found["same_models"], found["models_left"], found["models_joined"]) == (["b"], ["a"], ["volunteer"])
    shown = CliRunner().invoke(app, ["side-by-side", *files])
    assert shown.exit_code == 0 and "kept by both: 10; left: 0; joined: 10" in shown.stdout
    (tmp_path / "one.json").write_text("{}", "utf-8")
    refused = CliRunner().invoke(app, ["side-by-side", *files])
    assert refused.exit_code == 2 and "no edition" in refused.output
