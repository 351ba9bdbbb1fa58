"""Digests and their comparison decide what is worked on again: they must see every change and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from opentwbench.exam import digests


def test_compare_names_added_changed_and_vanished_keys() -> None:
    changes = digests.compare({"a": "1", "b": "1", "c": "1"}, {"b": "2", "c": "1", "d": "1"})
    assert changes == digests.Changes(added=("d",), changed=("b",), vanished=("a",))
    assert changes.touched == ("b", "d")


def test_compare_of_equal_digests_touches_nothing() -> None:
    assert digests.compare({"a": "1"}, {"a": "1"}) == digests.Changes((), (), ())


def test_digest_keeps_parts_apart() -> None:
    assert digests.digest([b"ab", b"c"]) != digests.digest([b"a", b"bc"])
    assert digests.digest([]) != digests.digest([b""])


def test_merge_is_blind_to_the_order_of_years_and_sees_each_year() -> None:
    one, two = {"s": "1", "t": "1"}, {"s": "2"}
    assert digests.merge([one, two]) == digests.merge([two, one])
    assert digests.merge([one])["s"] != digests.merge([one, two])["s"]
    assert digests.merge([one])["t"] == digests.merge([one, two])["t"]


def test_sources_digest_sees_content_and_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "LIBRARY", tmp_path)
    file = tmp_path / "a.py"
    file.write_text("x = 1")
    before = digests.sources_digest([tmp_path])
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_bytes(b"anything")
    assert digests.sources_digest([tmp_path]) == before
    file.write_text("x = 2")
    changed = digests.sources_digest([tmp_path])
    assert changed != before
    file.rename(tmp_path / "b.py")
    assert digests.sources_digest([tmp_path]) != changed


def test_code_digests_are_stable_within_a_process() -> None:
    assert digests.code_digest() == digests.code_digest() != digests.parser_digest()
