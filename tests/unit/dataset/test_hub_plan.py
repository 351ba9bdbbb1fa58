"""What a push would change, and whether rows that came back are those that were sent."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.datasets import make_row

from opentwbench.dataset.hub_plan import RemoteFile, RemoteState, git_oid, moved_tag, plan, row_differences

FILES = {"README.md": b"card\n", "benchmark.jsonl": b"{}\n", "withdrawn.jsonl": b""}


def held(data: bytes, *, large: bool = False) -> RemoteFile:
    return RemoteFile(
        len(data), "0" * 40 if large else git_oid(data), hashlib.sha256(data).hexdigest() if large else ""
    )


def test_a_blob_has_the_name_that_git_gives_it(tmp_path: Path) -> None:
    for number, data in enumerate((b"", b"a\n", "憲法\n".encode())):
        path = tmp_path / str(number)
        path.write_bytes(data)
        said = subprocess.run(["git", "hash-object", str(path)], capture_output=True, text=True, check=True)
        assert git_oid(data) == said.stdout.strip()


def test_every_path_is_in_one_kind_and_the_hubs_own_file_in_none() -> None:
    there = {
        "README.md": held(b"crad\n"),
        "benchmark.jsonl": held(b"{}\n", large=True),
        "stray.csv": held(b"x"),
        ".gitattributes": held(b"*"),
    }
    found = plan(FILES, RemoteState("a" * 40, there, {}), "abc")
    kinds = (found.add, found.change, found.delete, found.same)
    assert kinds == (("withdrawn.jsonl",), ("README.md",), ("stray.csv",), ("benchmark.jsonl",))
    assert (found.create, found.commits, found.tag, found.send_bytes, found.empty) == (False, True, "vabc", 5, False)


def test_nothing_is_to_be_done_where_everything_is_there() -> None:
    there = {path: held(data) for path, data in FILES.items()}
    assert plan(FILES, RemoteState("a" * 40, there, {"vabc": "b" * 40}), "abc").empty
    assert plan(FILES, RemoteState("a" * 40, there, {"vother": "b" * 40}), "abc").tag == "vabc"
    assert plan(FILES, RemoteState(), "abc").create


@pytest.mark.parametrize("large", [False, True])
def test_equal_size_and_another_byte_is_a_change(large: bool) -> None:
    assert held(b"{}\n", large=large).holds(b"{}\n")
    assert not held(b"{}\n", large=large).holds(b"[]\n")


def test_a_tag_is_judged_by_rows_and_withdrawals_alone() -> None:
    tagged = {path: held(data) for path, data in FILES.items()}
    assert moved_tag(FILES, {**tagged, "README.md": held(b"older card")}) == ()
    assert moved_tag(FILES, {**tagged, "benchmark.jsonl": held(b"[]\n")}) == ("benchmark.jsonl",)
    assert moved_tag(FILES, {}) == ("benchmark.jsonl", "withdrawn.jsonl")


DEFECTS: list[tuple[str, Any]] = [
    ("A", None),
    ("A", 1),
    ("answer", "B "),
    ("year_roc", "101"),
    ("q_no", 2.0),
    ("q_no", True),
]


@pytest.mark.parametrize(("column", "value"), DEFECTS)
def test_a_row_that_came_back_different_is_named(column: str, value: object) -> None:
    rows = [make_row(n) for n in range(20)]
    found = [dict(row.to_json()) for row in rows]
    found[7][column] = value  # type: ignore[assignment]
    count, words = row_differences(rows, found)
    assert count == 1
    assert words[0].startswith(f"row 7 ({rows[7].item_id}): {column}: sent ")


def test_equal_rows_have_no_difference_and_lost_swapped_and_reordered_ones_do() -> None:
    rows = [make_row(n) for n in range(300)]
    found = [dict(row.to_json()) for row in rows]
    assert row_differences(rows, found) == (0, ())
    assert row_differences(rows, found[:-1]) == (1, ("300 rows were sent, 299 came back",))
    assert row_differences(rows, [found[1], found[0], *found[2:]])[0] == 2
    assert row_differences(rows, [dict(reversed(found[0].items())), *found[1:]])[0] == 1
