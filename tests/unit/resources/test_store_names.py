"""Places that cannot hold a store are refused before anything is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from resources.store import Store, StoreUnusableError


@pytest.mark.parametrize("name", ["", "  "])
def test_a_store_without_a_name_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreUnusableError, match="needs the name of a folder"):
        Store(name)
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_way_and_an_unknown_protocol_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for name in ("file", "file/store", "file/store/deeper"):
        with pytest.raises(StoreUnusableError, match="is none"):
            Store(str(tmp_path / name))
    with pytest.raises(StoreUnusableError, match="no store can be opened there"):
        Store("no-such-protocol://x/y")
    assert Store(str(tmp_path / "new" / "store")).is_local
