"""A file that only grows: whole lines, nothing lost between writers, nothing written when a check objects."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from opentwbench.dataset.atomic import append_line


def test_lines_are_added_in_order_and_the_folder_is_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.jsonl"
    for line in (b"one", b"", b"three"):
        append_line(path, line)
    assert path.read_bytes() == b"one\n\nthree\n"
    assert [each.name for each in path.parent.iterdir()] == ["b.jsonl"]


def test_writers_at_once_lose_no_line(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    lines = [f"line {n}".encode() for n in range(60)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda line: append_line(path, line), lines))
    assert sorted(path.read_bytes().splitlines()) == sorted(lines)


def test_an_objection_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    append_line(path, b"one")
    seen = []

    def object_to(held: bytes) -> None:
        seen.append(held)
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        append_line(path, b"two", object_to)
    assert (seen, path.read_bytes()) == ([b"one\n"], b"one\n")


def test_a_torn_file_and_a_line_of_two_lines_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    with pytest.raises(ValueError, match="line feed inside"):
        append_line(path, b"a\nb")
    assert not path.exists()
    path.write_bytes(b"torn")
    with pytest.raises(ValueError, match=r"b\.jsonl: no line feed at the end"):
        append_line(path, b"a")
    assert path.read_bytes() == b"torn"
