"""`otb study filter-sheet`, `filter-verdicts`, `filters` over the sample ministry: a whole round, and what stops it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestration.cli import app

runner = CliRunner()


def study(*arguments: object) -> tuple[int, str, str]:
    result = runner.invoke(app, ["study", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(scope="module")
def drawn(sample_ministry: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sheet and the key of a small round."""
    out = tmp_path_factory.mktemp("sheet")
    size = ("--kept-each", 4, "--removed-each", 3, "--planted", 0)
    status, words, _ = study("filter-sheet", "--mirror", sample_ministry, "--out", out, "--round", 1, *size)
    assert status == 0
    assert "stands_alone" in words
    return out


def answers(drawn: Path, path: Path) -> Path:
    """Every question answered as the key says, as a reader without fault would."""
    grounds = {"removed:figure": "needs_figure", "removed:follow_up": "needs_earlier_question"}
    lines = []
    for number, line in enumerate((drawn / "key.jsonl").read_text().splitlines()[1:], start=1):
        strata = json.loads(line)["strata"]
        lines.append(f"{number} {' '.join(grounds[s] for s in strata if s in grounds) or 'stands_alone'}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_sheet_holds_texts_and_the_key_none(drawn: Path) -> None:
    sheet = (drawn / "sheet.txt").read_text().splitlines()
    head, *key = [json.loads(line) for line in (drawn / "key.jsonl").read_text().splitlines()]
    assert len(sheet) == len(key) > 8
    assert sheet[0].startswith("1. ") and " ▷ (A) " in sheet[0]
    assert set(head) == {"round", "seed", "kept_each", "removed_each", "populations"}
    assert all(set(line) == {"item", "text", "strata", "damage"} for line in key)


def test_a_round_from_sheet_to_page(drawn: Path, sample_ministry: Path, tmp_path: Path) -> None:
    verdicts, page = tmp_path / "filters.jsonl", tmp_path / "filters.md"
    given = answers(drawn, tmp_path / "answers.txt")
    second = tmp_path / "second.txt"
    second.write_text("1 no_text\n")
    call = ("filter-verdicts", "--key", drawn / "key.jsonl", "--answers", given, "--verdicts", verdicts)
    status, words, _ = study(*call, "--amended", second)
    assert status == 0
    assert "of round 1 added" in words
    assert study(*call)[0] == 2  # a round is added once

    status, out, _ = study("filters", "--mirror", sample_ministry, "--verdicts", verdicts, "--page", page, "--json")
    found = json.loads(out)
    assert (status, found["stale"], found["unjudged"]) == (0, [], [])
    figure = found["rules"]["figure"]
    assert figure["fired"] >= figure["judged"] > 0
    text = page.read_text()
    assert f"| `figure` | {figure['fired']} |" in text
    assert "## What was let through" in text
    assert "A second look at the page or at the code" in text
    stems = [line.split(" ▷ ")[0].split(". ", 1)[1] for line in (drawn / "sheet.txt").read_text().splitlines()]
    long = [stem for stem in stems if len(stem) > 12]
    assert len(long) > 5
    assert not [stem for stem in long if stem in text or stem in verdicts.read_text()]


def test_stale_verdicts_are_named_and_are_status_3(drawn: Path, sample_ministry: Path, tmp_path: Path) -> None:
    verdicts = tmp_path / "filters.jsonl"
    study(
        "filter-verdicts",
        "--key",
        drawn / "key.jsonl",
        "--answers",
        answers(drawn, tmp_path / "a"),
        "--verdicts",
        verdicts,
    )
    lines = verdicts.read_text().splitlines()
    changed = json.loads(lines[1])
    lines[1] = json.dumps(changed | {"text": "0" * 16})
    verdicts.write_text("\n".join(lines) + "\n")
    status, _, error = study("filters", "--mirror", sample_ministry, "--verdicts", verdicts)
    assert status == 3
    assert f"1 verdicts stale: {changed['item']}" in error
    assert f"1 verdicts not judged: {changed['item']}" in error


def test_the_next_sheet_asks_again_for_what_is_stale_and_for_nothing_else_that_was_judged(
    drawn: Path, sample_ministry: Path, tmp_path: Path
) -> None:
    verdicts = tmp_path / "filters.jsonl"
    call = ("filter-verdicts", "--key", drawn / "key.jsonl", "--verdicts", verdicts)
    assert study(*call, "--answers", answers(drawn, tmp_path / "a"))[0] == 0
    lines = verdicts.read_text().splitlines()
    chosen = next(n for n, line in enumerate(lines) if '"kept:' in line and '"item"' in line)
    stale = json.loads(lines[chosen])
    lines[chosen] = json.dumps(stale | {"text": "0" * 16})
    verdicts.write_text("\n".join(lines) + "\n")
    size = ("--kept-each", 1, "--removed-each", 3, "--planted", 0)
    out = tmp_path / "second"
    given = ("--mirror", sample_ministry, "--verdicts", verdicts)
    assert study("filter-sheet", *given, "--out", out, "--round", 2, *size)[0] == 0
    asked = {json.loads(line)["item"] for line in (out / "key.jsonl").read_text().splitlines()[1:]}
    judged = {json.loads(line)["item"] for line in lines[1:]}
    assert stale["item"] in asked
    assert asked & judged == {stale["item"]}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("filters", "--verdicts", "missing.jsonl"), "missing"),
        (("filter-sheet", "--round", "1", "--out", "out", "--planted", "50"), "could be planted"),
    ],
)
def test_what_cannot_be_done_is_status_2(
    arguments: tuple[str, ...], words: str, sample_ministry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, _, error = study(*arguments, "--mirror", sample_ministry)
    assert status == 2
    assert words in error


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (b"1 nonsense\n", "answers.txt: line 1: no ground: nonsense"),
        (b"1 stands_alone\n\xa7", "answers.txt: not UTF-8 at byte 15"),
        (b"", "answers.txt: 1 questions without an answer"),
    ],
)
def test_answers_that_do_not_do_are_named_with_their_file(answers: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "key.jsonl").write_text(
        '{"round": 1, "seed": 1, "kept_each": 1, "removed_each": 1, "populations": {}}\n'
        '{"item": "100030-101-0101 Q1", "text": "0123456789abcdef", "strata": ["kept:rest"], "damage": ""}\n'
    )
    (tmp_path / "answers.txt").write_bytes(answers)
    files = ("--key", tmp_path / "key.jsonl", "--answers", tmp_path / "answers.txt", "--verdicts", tmp_path / "v.jsonl")
    status, _, error = study("filter-verdicts", *files)
    assert status == 2
    assert words in error
    assert not (tmp_path / "v.jsonl").exists()


def test_no_mirror_is_status_2(tmp_path: Path) -> None:
    (tmp_path / "v.jsonl").write_text('{"round": 1, "seed": 1, "kept_each": 1, "removed_each": 1, "populations": {}}\n')
    status, _, error = study("filters", "--mirror", tmp_path, "--verdicts", tmp_path / "v.jsonl")
    assert status == 2
    assert "otb study filters:" in error
