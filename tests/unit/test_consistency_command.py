"""`otb study consistency` and `otb study attribute` over a small store: words, JSON, page, statuses, the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.copies import STEM, copy, item, row
from typer.testing import CliRunner

from opentwbench.exam.items import subject_items, to_line
from opentwbench.exam.key_consistency import AttributionError
from opentwbench.exam.subjects import REGISTRY
from orchestration.cli import app
from resources import key_attributions
from resources.key_attributions import attributions_of, keep, key_consistency, stored_attributions
from resources.store import Store

LAW = REGISTRY["tw-roc-constitution-bench"]
RUNNER = CliRunner()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A store whose one subject printed two questions twice, one of them with two answers."""
    fill(tmp_path / "store", "B")
    return tmp_path / "store"


def fill(folder: Path, key: str) -> None:
    copies = [copy(item(n, stem), row(year)) for n, stem in ((1, STEM), (2, "第二題？")) for year in (110, 111)]
    copies[1] = copy(item(1, key=key), row(111))
    lines = b"".join(to_line(each) + b"\n" for each in subject_items(LAW, copies).items)
    Store(str(folder)).write(f"items/{LAW.slug}.jsonl", lines)


def run(*arguments: str | Path) -> tuple[int, str, str]:
    result = RUNNER.invoke(app, ["study", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def report(place: Path, *more: str | Path) -> tuple[int, dict]:
    status, out, _ = run("consistency", "--store", place, "--json", *more)
    return status, json.loads(out)


def test_a_disagreement_is_shown_with_both_papers_and_their_words(place: Path) -> None:
    status, out, _ = run("consistency", "--store", place)
    assert status == 3
    for words in ("1 of 2", "110030-101-0101", "111030-101-0101", STEM, "臺北市", "新竹市", "1 open"):
        assert words in out
    status, found = report(place)
    assert status == 3
    assert [p["answer"] for p in found["conflicts"][0]["printings"]] == ["臺北市", "新竹市"]
    fill(place, "A")
    status, found = report(place)
    assert (status, found["conflicts"]) == (0, [])


def test_an_attribution_is_kept_settles_and_goes_stale(place: Path) -> None:
    group = report(place)[1]["conflicts"][0]["group"]
    status, out, _ = run(
        "attribute", group[:12], "figure", "--store", place, "--note", "the table is missing", "--date", "2026-11-30"
    )
    assert (status, out) == (0, f"{group[:16]} is recorded as figure over 2 copies\n")
    status, found = report(place)
    assert status == 0
    assert found["conflicts"][0]["attribution"]["kind"] == "figure" and found["attributions"]["figure"] == 1
    assert report(place, "--strict")[0] == 3
    before = (place / "release/key_attributions.jsonl").read_bytes()
    assert run("attribute", group, "true_conflict", "--store", place, "--note", "looked again")[0] == 0
    after = (place / "release/key_attributions.jsonl").read_bytes()
    assert after.startswith(before) and after.count(b"\n") == 2  # what was said stays
    assert report(place)[1]["attributions"]["true_conflict"] == 1
    fill(place, "C")
    status, found = report(place)
    assert (status, found["conflicts"][0]["standing"]) == (3, "stale")


def test_a_file_of_attributions_may_stand_elsewhere(place: Path, tmp_path: Path) -> None:
    file, group = tmp_path / "said" / "keys.jsonl", report(place)[1]["conflicts"][0]["group"]
    note = ("--note", "both pages say so", "--attributions", file)
    assert run("attribute", group, "true_conflict", "--store", place, *note)[0] == 0
    assert report(place, "--attributions", file)[0] == 0
    assert report(place)[0] == 3 and not (place / "release").exists()
    assert list(attributions_of(file)) == [group] and stored_attributions(Store(str(place))) == {}


def test_the_page_is_written_without_a_text(place: Path, tmp_path: Path) -> None:
    run("consistency", "--store", place, "--page", tmp_path / "page.md")
    words = (tmp_path / "page.md").read_text()
    assert "111030-101-0101" in words and "Made by `otb study consistency --store STORE --page " in words
    assert STEM not in words and "臺北市" not in words


@pytest.mark.parametrize(
    ("group", "more", "words"),
    [
        ("abc", (), "at least 8 digits"),
        ("0123456789ab", (), "no disagreement has this group id"),
        ("", ("--note", " "), "note"),
        ("", ("--note", "x" * 501), "note"),
        ("", ("--date", "today"), "date"),
    ],
)
def test_a_bad_attribution_writes_nothing(place: Path, group: str, more: tuple[str, ...], words: str) -> None:
    group = group or report(place)[1]["conflicts"][0]["group"]
    status, _, error = run("attribute", group, "figure", "--store", place, "--note", "n", *more)
    assert (status, words in error) == (2, True), error
    assert not (place / "release").exists()


def test_an_unknown_kind_is_a_wrong_argument(place: Path) -> None:
    assert run("attribute", "0" * 64, "nonsense", "--store", place, "--note", "n")[0] == 2


@pytest.mark.parametrize("data", [b"{", b"{}\n", b'{"group": "x"}\n'])
def test_a_broken_file_is_named_and_not_added_to(place: Path, data: bytes) -> None:
    store, file = Store(str(place)), place / "release/key_attributions.jsonl"
    (conflict,) = key_consistency(store).conflicts
    file.parent.mkdir()
    file.write_bytes(data)
    status, _, error = run("consistency", "--store", place)
    assert status == 2 and "key_attributions.jsonl" in error
    status, _, error = run("attribute", conflict.group, "figure", "--store", place, "--note", "n")
    assert status == 2 and file.read_bytes() == data


def test_a_file_that_broke_since_it_was_read_is_not_added_to(place: Path) -> None:
    from opentwbench.exam.key_consistency import Attribution, Kind

    store, file = Store(str(place)), place / "release/key_attributions.jsonl"
    (conflict,) = key_consistency(store).conflicts
    said = Attribution(conflict.group, conflict.copies, Kind.FIGURE, "n", "2026-11-30")
    keep(store, None, said)
    good = file.read_bytes()
    file.write_bytes(good + b"{}\n")
    with pytest.raises(AttributionError, match=r"key_attributions\.jsonl line 2"):
        keep(store, None, said)
    assert file.read_bytes() == good + b"{}\n"


def test_no_store_is_a_wrong_argument(tmp_path: Path) -> None:
    status, _, error = run("consistency", "--store", tmp_path / "none")
    assert status == 2 and "no items there" in error
    Store(str(tmp_path)).write(f"items/{LAW.slug}.jsonl", b"{}\n")
    status, _, error = run("consistency", "--store", tmp_path)
    assert status == 2 and LAW.slug in error


def test_progress_counts_printed_questions(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_attributions, "PROGRESS_QUESTIONS", 2)
    seen: list[int] = []
    fill(place, "A")
    key_consistency(Store(str(place)), None, seen.append)
    assert seen == [2, 4]


def test_a_file_of_attributions_that_is_not_there_is_refused(place: Path, tmp_path: Path) -> None:
    status, _, err = run("consistency", "--store", place, "--attributions", tmp_path / "absent.jsonl")
    assert status == 2 and "no such file" in err
