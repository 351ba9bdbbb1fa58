"""`otb formosa draft | judge-study | ground | curate` end to end against the scripted endpoint, and every refusal."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.evaluation import boxed, make_response
from support.formosa import draft_json, judgement_json, make_draft, make_window
from typer.testing import CliRunner

from opentwbench.dataset.files import read_jsonl
from opentwbench.evaluation.journal import Journal, write_run
from opentwbench.evaluation.model import AskedItem, RunRecord
from opentwbench.evaluation.protocols import BOX
from opentwbench.formosa.curation import Edition
from opentwbench.formosa.grounding import judge_values
from opentwbench.formosa.orthography import SIMPLIFIED_FILE, TERMS_FILE
from opentwbench.formosa.output import full_version, items_from
from opentwbench.formosa.window_files import read_windows, windows_bytes
from orchestration.formosa_command import app
from samples.model_endpoint import Kind, ModelEndpoint, Rule

N = 20


def otb(*arguments: str) -> tuple[int, str, dict[str, Any]]:
    result = CliRunner().invoke(app, arguments)
    try:
        return result.exit_code, result.output, json.loads(result.stdout)
    except ValueError:
        return result.exit_code, result.output, {}


@pytest.fixture
def endpoint() -> Iterator[ModelEndpoint]:
    with ModelEndpoint() as running:
        yield running


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "windows.jsonl").write_bytes(windows_bytes(make_window(n) for n in range(N)))
    return tmp_path


def drafted(place: Path, endpoint: ModelEndpoint) -> tuple[int, str, dict[str, Any]]:
    given = ("--model", "drafter", "--base-url", endpoint.base_url)
    folders = ("--runs", str(place / "runs"), "--out", str(place / "drafts"))
    return otb("draft", str(place / "windows.jsonl"), *given, *folders)


def studied(place: Path, endpoint: ModelEndpoint, *judges: str) -> tuple[int, str, dict[str, Any]]:
    names = [each for judge in judges for each in ("--judge", judge)]
    folders = ("--runs", str(place / "judge-runs"), "--out", str(place / "judges"))
    files = (str(place / "drafts" / "drafts.jsonl"), str(place / "windows.jsonl"))
    return otb("judge-study", *files, *names, "--base-url", endpoint.base_url, *folders)


def grounded(place: Path, endpoint: ModelEndpoint, judge: str, *more: str) -> tuple[int, str, dict[str, Any]]:
    files = (str(place / "drafts" / "drafts.jsonl"), str(place / "windows.jsonl"))
    studies = ("--studies", str(place / "judges" / "studies.jsonl"), "--base-url", endpoint.base_url)
    folders = ("--runs", str(place / "runs"), "--out", str(place / "grounded"))
    return otb("ground", *files, "--judge", judge, *studies, *folders, *more)


def knows_the_drafts(endpoint: ModelEndpoint) -> None:
    """From now on sound drafts are approved with their sentence, and everything else is rejected."""
    endpoint.heal()
    endpoint.set(reply=judgement_json("reject", "unsupported"))
    for n in range(N):
        values = judge_values(make_draft(n), make_window(n))
        sound = f"題目：{values['question']}\n{values['options']}\n標示的答案：{values['answer']}"
        text = judgement_json(quote=make_draft(n).quote)
        endpoint.plant(Rule(Kind.TEXT, re.escape(sound) + r"\Z", None, text=text))


def test_from_windows_to_an_edition(place: Path, endpoint: ModelEndpoint) -> None:
    for n in range(N):
        endpoint.plant(Rule(Kind.TEXT, f"主題：第{n}鎮\n", None, text=draft_json(make_draft(n))))
    code, said, figures = drafted(place, endpoint)
    assert code == 0 and (figures["windows"], figures["well_formed"]) == (N, N), said
    asked = endpoint.stats()["requests"]
    assert drafted(place, endpoint)[0] == 0 and endpoint.stats()["requests"] == asked

    knows_the_drafts(endpoint)
    code, said, figures = studied(place, endpoint, "sound")
    assert code == 0 and figures["judges"]["sound"]["passed"], said
    assert figures["trials"] == N + 3 * 40 and figures["judges"]["sound"]["wrong_key"][:2] == [40, 40]

    findings = place / "findings.jsonl"
    line = {"window_id": make_window(3).window_id, "exclusion": "near_duplicate", "evidence": "x"}
    findings.write_text(json.dumps(line, ensure_ascii=False) + "\n", "utf-8")
    code, said, figures = grounded(place, endpoint, "sound", "--findings", str(findings))
    assert code == 0 and (figures["grounded"], figures["items"]) == (N - 1, N - 1), said
    items = items_from((place / "grounded" / "items.jsonl").read_bytes(), "items")
    assert figures["version"] == full_version(items)

    folders = [measured(place / f"run-{n}", f"model-{n}", items, n) for n in range(4)]
    given = [each for folder in folders[:3] for each in ("--run", str(folder))]
    more = ("--band", "0-2", "--name", "first", "--date", "2026-11-30", "--out", str(place / "edition"))
    file = str(place / "grounded" / "items.jsonl")
    code, said, figures = otb("curate", file, *given, "--validate", str(folders[3]), *more)
    # Model k is wrong on each (k + 2)-th item, so an item is kept when 2, 3 or 4 divides its place.
    kept = [i.item_id for n, i in enumerate(items) if n % 2 == 0 or n % 3 == 0]
    assert code == 0 and (figures["kept"], figures["easier"]) == (len(kept), len(items) - len(kept)), said
    edition = Edition.from_json(json.loads((place / "edition" / "edition.json").read_bytes()))
    assert edition.cut.kept == tuple(kept) and edition.edition_id == figures["edition"]
    assert [row["model"] for row in figures["transfer"]] == [f"model-{n}" for n in range(4)]
    assert len(read_jsonl(place / "edition" / "difficulty.jsonl")) == len(items)
    assert otb("curate", file, *given[:2], *more)[0] == 2  # one model is no pool

    before = endpoint.stats()["requests"]
    code, said, figures = built(place, "--findings", str(findings))
    # Without a lexicon nothing says that the texts are free of Simplified characters: that check blocks, alone.
    checks = figures["checks"]
    assert code == 3 and [name for name, what in checks.items() if what != "passed"] == ["orthography"], said
    account = figures["account"]
    assert (account["windows"], account["grounded"], account["band"]["kept"]) == (N, N - 1, len(kept))
    assert account["screened_out"] == {"near_duplicate": 1}
    assert endpoint.stats()["requests"] == before
    code, said, figures = built(place, "--findings", str(findings), "--lexicon", str(lexicon(place)))
    assert code == 0 and set(figures["checks"].values()) == {"passed"}, said
    # Judgements that carry another name than the study's replies are those of no judge that passed.
    (journal,) = (place / "runs").glob("sound--*/responses.jsonl")
    whole = journal.read_bytes()
    journal.write_bytes(whole.replace(b'"served_model": "sound"', b'"served_model": "other"'))
    assert journal.read_bytes() != whole
    more = ("--findings", str(findings))
    for code, said, _ in (grounded(place, endpoint, "sound", *more), built(place, *more)):
        assert code == 2 and "not one model's" in said, said
    journal.write_bytes(whole)
    # A corpus that lost windows grounds another set than the one that the pool was measured on.
    (place / "windows.jsonl").write_bytes(windows_bytes(make_window(n) for n in range(N // 2)))
    code, said, _ = built(place)
    assert code == 2 and "grounded set" in said


def lexicon(place: Path, character: str = "这") -> Path:
    folder = place / "lexicon"
    folder.mkdir(exist_ok=True)
    (folder / SIMPLIFIED_FILE).write_text(json.dumps([character]), "utf-8")
    (folder / TERMS_FILE).write_text("{}", "utf-8")
    return folder


def test_a_draft_that_a_screen_finds_is_never_judged(place: Path, endpoint: ModelEndpoint) -> None:
    for n in range(N):
        endpoint.plant(Rule(Kind.TEXT, f"主題：第{n}鎮\n", None, text=draft_json(make_draft(n))))
    drafted(place, endpoint)
    knows_the_drafts(endpoint)
    studied(place, endpoint, "sound")
    before = endpoint.stats()["requests"]
    # A list on which a character of every stem stands: nothing is left to judge.
    code, _, figures = grounded(place, endpoint, "sound", "--lexicon", str(lexicon(place, "鎮")))
    assert (code, figures["judged"], endpoint.stats()["requests"]) == (3, 0, before)
    code, _, figures = grounded(place, endpoint, "sound", "--lexicon", str(lexicon(place)))
    assert (code, figures["grounded"]) == (0, N)


def built(place: Path, *more: str) -> tuple[int, str, dict[str, Any]]:
    given = ("--model", "drafter", "--judge", "sound", "--edition", str(place / "edition"))
    folders = ("--runs", str(place / "runs"), "--out", str(place / "tw-formosa-bench"))
    studies = ("--studies", str(place / "judges" / "studies.jsonl"))
    return otb("build", str(place / "windows.jsonl"), *given, *folders, *studies, *more)


def measured(folder: Path, model: str, items: list[Any], number: int) -> Path:
    """A run in which the model is wrong on each (number + 2)-th item."""
    about = RunRecord(folder.name, model, BOX.protocol_id, "formosa", full_version(items), "scored", len(items), 1, "")
    write_run(folder, about, BOX)
    with Journal(folder) as journal:
        for n, each in enumerate(items):
            asked = AskedItem(each.item_id, each.question, each.options, each.answer, "")
            letter = "ABCD"["ABCD".index(each.answer) - 1] if n % (number + 2) == 0 else each.answer
            journal.append_all([make_response(asked, boxed(asked, letter), run_id=folder.name, model=model)])
    return folder


def test_a_judge_that_approves_everything_may_not_ground_and_is_asked_nothing(
    place: Path, endpoint: ModelEndpoint
) -> None:
    for n in range(N):
        endpoint.plant(Rule(Kind.TEXT, f"主題：第{n}鎮\n", None, text=draft_json(make_draft(n))))
    drafted(place, endpoint)
    endpoint.heal()
    endpoint.set(reply=judgement_json())
    code, _, figures = studied(place, endpoint, "lax", "laxer")
    assert code == 3 and figures["constant"] == ["lax", "laxer"] and figures["effective_judges"] == 0
    before = endpoint.stats()["requests"]
    code, said, _ = grounded(place, endpoint, "lax")
    assert code == 2 and "lax did not pass its study" in said
    code, said, _ = grounded(place, endpoint, "stranger")
    assert code == 2 and "no stored study" in said
    assert endpoint.stats()["requests"] == before and not (place / "grounded").exists()


def test_faulty_drafts_are_counted_and_a_broken_endpoint_leaves_windows_unanswered(
    place: Path, endpoint: ModelEndpoint
) -> None:
    endpoint.set(reply="抱歉，我無法回答。")
    endpoint.plant(Rule(Kind.EMPTY), Rule(Kind.TEXT, text="{"), Rule(Kind.CONTEXT_OVERFLOW))
    code, _, figures = drafted(place, endpoint)
    assert code == 3
    assert (figures["empty"], figures["malformed"], figures["refused"], figures["unanswered"]) == (1, 1, N - 3, 1)
    assert len(read_jsonl(place / "drafts" / "rejected.jsonl")) == N - 1


@pytest.mark.parametrize("windows", [3])
def test_an_endpoint_that_nobody_answers_at_stops_the_run(place: Path, windows: int) -> None:
    """Also where there are too few windows for the runner to stop by itself."""
    (place / "windows.jsonl").write_bytes(windows_bytes(make_window(n) for n in range(windows)))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and never listening: nobody else takes the port meanwhile
        dead = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        more = ("--runs", str(place / "runs"), "--out", str(place / "drafts"))
        code, said, figures = otb("draft", str(place / "windows.jsonl"), "--model", "m", "--base-url", dead, *more)
    assert code == 4, said
    assert figures["stopped"] and (figures["well_formed"], figures["unanswered"]) == (0, windows)


def test_drafts_of_which_none_is_well_formed_are_no_success(place: Path, endpoint: ModelEndpoint) -> None:
    endpoint.set(reply="抱歉，我無法回答。")
    code, _, figures = drafted(place, endpoint)
    assert (code, figures["well_formed"], figures["refused"], figures["stopped"]) == (3, 0, N, "")


@pytest.mark.parametrize("bad", ['{"window_id": "x"}\n', "no\n", windows_bytes([make_window(0)] * 2).decode()])
def test_windows_that_are_none_are_refused_with_their_line(place: Path, bad: str) -> None:
    (place / "windows.jsonl").write_text(bad, "utf-8")
    code, said, _ = otb("draft", str(place / "windows.jsonl"), "--model", "m", "--base-url", "http://127.0.0.1:9/v1")
    assert code == 2 and "windows.jsonl line" in said


def test_windows_on_disk(place: Path) -> None:
    assert list(read_windows(place / "windows.jsonl").values()) == [make_window(n) for n in range(N)]
