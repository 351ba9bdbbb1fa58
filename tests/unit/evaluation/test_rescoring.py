"""Rescoring after planted key corrections, key lists, budgets compared, and the box-else-pattern study."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.evaluation import boxed, make_item, make_response

from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.box_study import cell, study, study_json
from opentwbench.evaluation.extraction import read
from opentwbench.evaluation.model import ErrorClass, Graded, Response
from opentwbench.evaluation.rescoring import keys_path, read_keys, rescore, rescored_json, transitions, write_keys
from opentwbench.evaluation.scoring import grade

ITEMS = [make_item(n) for n in range(40)]
KEYS = {item.item_id: item.key for item in ITEMS}


def other(key: str) -> str:
    return "A" if key != "A" else "B"


def right_except(wrong: set[int]) -> list[Response]:
    return [make_response(i, boxed(i, other(i.key) if n in wrong else i.key)) for n, i in enumerate(ITEMS)]


# -- key corrections -------------------------------------------------------------------------------------------------


def test_a_corrected_key_moves_its_item_and_names_it() -> None:
    """Item 3 was answered with what the correction says is right, item 5 with the old key."""
    responses = right_except({3})
    corrected = {**KEYS, ITEMS[3].item_id: other(ITEMS[3].key), ITEMS[5].item_id: other(ITEMS[5].key)}
    found = rescore(responses, KEYS, corrected)
    move = found.moves["strict"]
    assert found.rekeyed == {
        ITEMS[n].item_id: (ITEMS[n].key, other(ITEMS[n].key)) for n in sorted((3, 5), key=lambda n: ITEMS[n].item_id)
    }
    assert (move.before.hits, move.after.hits, move.gained, move.lost) == (39, 39, 1, 1)
    assert found.moved
    assert found.moves["strict"].after == rescore(responses, corrected, corrected).moves["strict"].before


def test_unchanged_keys_move_nothing() -> None:
    found = rescore(right_except({1, 2}), KEYS, dict(KEYS))
    assert not found.moved
    assert (found.rekeyed, found.left, found.joined, found.unanswered) == ({}, (), (), 0)
    assert rescored_json(found)["methods"]["strict"]["before"]["hits"] == 38


def test_a_withdrawal_leaves_the_other_items_as_they_were() -> None:
    responses = right_except({3})
    out = {ITEMS[0].item_id, ITEMS[3].item_id}
    after = {item_id: key for item_id, key in KEYS.items() if item_id not in out}
    found = rescore(responses, KEYS, after)
    move = found.moves["strict"]
    assert set(found.left) == out
    assert (move.before.hits, move.before.n, move.after.hits, move.after.n) == (39, 40, 38, 38)
    assert (move.gained, move.lost) == (0, 0)


def test_joined_unanswered_and_failed_items() -> None:
    responses = [*right_except(set())[:-1], make_response(ITEMS[-1], None, error=ErrorClass.TIMEOUT)]
    before = {item_id: key for item_id, key in KEYS.items() if item_id != ITEMS[0].item_id}
    found = rescore(responses, before, {**KEYS, "new-0123456789ab": "A"})
    assert found.joined == (ITEMS[0].item_id,)
    assert found.unanswered == 2  # the new item and the one whose request failed
    assert found.moves["strict"].after.n == 39


def test_keys_are_kept_beside_the_score(tmp_path: Path) -> None:
    path = write_keys(tmp_path, "0123456789ab", ITEMS)
    assert read_keys(tmp_path, "0123456789ab") == KEYS
    first = path.read_bytes()
    write_keys(tmp_path, "0123456789ab", ITEMS)
    assert path.read_bytes() == first
    assert read_keys(tmp_path, "ffffffffffff") is None
    for version in ("", "../x", "a/b", "x" * 65):
        with pytest.raises(DatasetError, match="version"):
            keys_path(tmp_path, version)


DAMAGED = (
    b"",
    b"\x1f\x8b",
    b"plain",
    gzip.compress(b"", mtime=0),
    gzip.compress(b"a-0123456789ab\n", mtime=0),
    gzip.compress(b"a-0123456789ab E\n", mtime=0),
    gzip.compress(b"a A\na B\n", mtime=0),
    gzip.compress(b"\xff A\n", mtime=0),
    gzip.compress(b"a A\n", mtime=0)[:-4],
)


@pytest.mark.parametrize("data", DAMAGED)
def test_a_damaged_key_list_is_refused(tmp_path: Path, data: bytes) -> None:
    keys_path(tmp_path, "v1").parent.mkdir()
    keys_path(tmp_path, "v1").write_bytes(data)
    with pytest.raises(DatasetError, match="key list"):
        read_keys(tmp_path, "v1")


# -- budgets ---------------------------------------------------------------------------------------------------------


def test_transitions_by_hand() -> None:
    texts_before = ["right", "right", "none", "none", "none", "wrong", "wrong"]
    texts_after = ["right", "none", "right", "wrong", "none", "right", "wrong"]

    def run(texts: list[str], ms: float) -> Iterator[Graded]:
        for item, what in zip(ITEMS, texts, strict=False):
            text = {"right": boxed(item, item.key), "wrong": boxed(item, other(item.key)), "none": "無"}[what]
            yield grade(make_response(item, text, latency_ms=ms), item.key)

    failed = grade(make_response(ITEMS[20], None, error=ErrorClass.SERVER), ITEMS[20].key)
    alone = grade(make_response(ITEMS[21], "無"), ITEMS[21].key)
    again = grade(make_response(ITEMS[0], "無", repeat=1), ITEMS[0].key)
    found = transitions([*run(texts_before, 10.0), failed], [*run(texts_after, 25.0), failed, alone, again], "strict")
    assert (found.items, found.before.hits, found.after.hits) == (7, 2, 3)
    assert (found.unparsed_before.hits, found.unparsed_after.hits) == (3, 2)
    assert (found.rescued, found.lost, found.won, found.dropped) == (2, 1, 2, 1)
    assert found.rescued - found.lost == found.unparsed_before.hits - found.unparsed_after.hits
    assert found.won - found.dropped == found.after.hits - found.before.hits
    assert found.time_ratio == pytest.approx(2.5)
    assert transitions([], [], "strict").points is None


# -- box else pattern ------------------------------------------------------------------------------------------------


def board(right: int, boxes: int) -> Iterator[Graded]:
    """A model that is right on the first items and writes a box on the first `boxes` only, else 答案：X."""
    for n, item in enumerate(ITEMS):
        text = boxed(item, item.key if n < right else other(item.key))
        yield grade(make_response(item, text if n < boxes else f"答案：{text[7]}"), item.key)


def test_the_study_by_hand() -> None:
    """The rule-abiding model knows more; read by pattern, the one that writes no box stands above it."""
    cells = [
        cell("keeps to the format", "exam", board(30, 40)),
        cell("never boxes", "exam", board(32, 0)),
        cell("half", "exam", board(20, 20)),
        cell("knows little", "exam", board(10, 40)),
        cell("alone", "formosa", board(5, 3)),
        cell("no reply", "formosa", ()),
    ]
    found = study(cells)
    at = {each.cell.model: each for each in found.ranked}
    assert (found.cells, found.moved(), found.moved(1), found.moved(10)) == (5, 2, 2, 1)
    assert at["never boxes"].cell.points == pytest.approx(80)
    assert at["half"].cell.points == 0  # its unboxed half is wrong under both readings
    assert at["alone"].cell.points == pytest.approx(5)
    assert (at["never boxes"].strict_rank, at["never boxes"].mixed_rank, at["never boxes"].places) == (4, 1, 3)
    assert found.changed_ranks == 4
    assert found.median_points == 0
    assert {(each.above, each.below) for each in found.inversions} == {
        ("never boxes", "keeps to the format"),
        ("never boxes", "half"),
        ("never boxes", "knows little"),
    }
    assert found.agreement["formosa"] is None
    assert found.agreement["exam"] == pytest.approx(-0.2)
    assert study_json(found)["moved_by_more_than_10"] == 1


def test_a_box_decides_whatever_the_lenient_rule_reads() -> None:
    """A box in the reasoning is what box-else-pattern reads too, although the lenient rule reads the one after it."""
    item = ITEMS[0]
    text = f"<think>{boxed(item, item.key)}</think>{boxed(item, other(item.key))}"
    found = cell("m", "exam", [grade(make_response(item, text), item.key)])
    assert (found.strict.hits, found.mixed.hits) == (1, 1)
    assert read("box-else-pattern", text) == read("strict", text) != read("lenient", text)


def test_boards_that_all_box_do_not_move() -> None:
    found = study([cell(f"m{n}", "exam", board(n * 7, 40)) for n in range(1, 5)])
    assert (found.moved(), found.changed_ranks, found.inversions) == (0, 0, ())
    assert found.agreement["exam"] == pytest.approx(1)


def test_two_runs_of_a_model_are_refused() -> None:
    one = cell("m", "exam", board(1, 1))
    with pytest.raises(ValueError, match="two runs"):
        study([one, replace(one)])
