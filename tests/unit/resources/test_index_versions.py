"""Every version of the index is kept once, its history names what changed, and nothing is believed that was altered."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from opentwbench.exam.index import COLUMNS, PAPER_ENDPOINT, IndexShrunkError, read_index
from resources.index_versions import IndexVersion, difference, find_version, history, keep, read_version
from resources.store import Store, StoreError

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def line(subject: str, name: str = "科目", role: str = "S", kind: str = "測驗題") -> list[str]:
    codes = f"code=101010&c=301&s={subject}&q=1"
    key = f"{PAPER_ENDPOINT}?t={role}&{codes}" if kind == "測驗題" else ""
    head = ["101", "101010", "範例考試", "", "高等考試", "高等考試", "301", "類科", "01", name]
    return [*head, kind, f"{PAPER_ENDPOINT}?t=Q&{codes}", key, "更正答案" if role == "M" else ""]


def index(*rows: list[str]) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out).writerows([COLUMNS, *rows])
    return out.getvalue().encode()


TEN = [line(f"{number:04d}") for number in range(10)]


def seen(store: Store, data: bytes, share: float = 0.2) -> IndexVersion:
    return keep(store, data, read_index(data, "index.csv"), share, NOON)


@pytest.fixture
def place(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "store"))


def test_the_same_bytes_are_one_version(place: Store) -> None:
    first = seen(place, index(*TEN))
    assert seen(place, index(*TEN)) == first
    assert history(place) == [first]
    assert (first.seen, first.rows, first.keyed_rows, first.changes) == ("2026-11-30T12:00:00+00:00", 10, 10, ())
    assert len(list((Path(place.url) / "index" / "versions").iterdir())) == 1


def test_a_version_that_comes_back_is_a_line_and_no_file_more(place: Store) -> None:
    one, other = index(*TEN), index(*TEN, line("0010"))
    for data in (one, other, one):
        seen(place, data)
    assert [len(version.changes) for version in history(place)] == [0, 1, 1]
    assert len(list((Path(place.url) / "index" / "versions").iterdir())) == 2


def test_the_history_names_every_kind_of_change(place: Store) -> None:
    seen(place, index(*TEN))
    bad = line("0004")
    bad[0] = "102"
    rows = [line("0000", role="M"), line("0001", name="改名"), *TEN[2:4], bad, *TEN[6:], line("0011"), ["101", "x"]]
    version = seen(place, index(*rows))
    assert [(each.change, each.paper_id) for each in version.changes] == [
        ("new", "101010-301-0011"),
        ("rekeyed", "101010-301-0000"),
        ("changed", "101010-301-0001"),
        ("vanished", "101010-301-0005"),
        ("refused", ""),
        ("refused", "101010-301-0004"),
    ]
    details = [each.detail for each in version.changes]
    assert "備註:  → 更正答案" in details[1]
    assert details[2] == "科目全名: 科目 → 改名"
    assert ["wrong_column_count" in details[4], "year_disagrees_with_code" in details[5]] == [True, True]
    # Kept and read back, and compared again from the stored versions: the same.
    assert history(place)[-1] == version
    assert difference(place, "1", "-1") == version.changes
    assert difference(place, "2", "2") == ()


def test_a_row_refused_both_times_is_no_change(place: Store) -> None:
    seen(place, index(*TEN, ["101", "x"]))
    assert [each.change for each in seen(place, index(*TEN, ["101", "x"], line("0011"))).changes] == ["new"]


@pytest.mark.parametrize(
    ("kept", "share", "stops"),
    [(8, 0.2, False), (7, 0.2, True), (9, 0.0, True), (10, 0.0, False), (0, 1.0, False), (1, 0.9, False)],
)
def test_an_index_that_lost_too_many_rows_is_not_believed(place: Store, kept: int, share: float, stops: bool) -> None:
    first = seen(place, index(*TEN))
    data = index(*TEN[:kept], line("0020", kind="申論題"))
    if not stops:
        assert seen(place, data, share).keyed_rows == kept
        return
    with pytest.raises(IndexShrunkError, match=f"{10 - kept} of 10 keyed rows"):
        seen(place, data, share)
    assert history(place) == [first]
    assert len(list((Path(place.url) / "index" / "versions").iterdir())) == 1


def test_rows_that_are_refused_or_lose_their_key_count_as_lost(place: Store) -> None:
    seen(place, index(*TEN))
    refused = [replace_year(row) for row in TEN[:2]]
    essay = [line("0002", kind="申論題")]
    with pytest.raises(IndexShrunkError, match="3 of 10"):
        seen(place, index(*refused, *essay, *TEN[3:]))


def replace_year(row: list[str]) -> list[str]:
    return ["199", *row[1:]]


def test_a_store_without_a_history_adopts_its_index(place: Store) -> None:
    place.write(place.index_csv(), index(*TEN))
    seen(place, index(*TEN, line("0011")))
    adopted, now = history(place)
    assert (adopted.seen, adopted.rows, [each.change for each in now.changes]) == ("", 10, ["new"])
    place.remove(place.index_history())
    with pytest.raises(IndexShrunkError):
        seen(place, index(line("0099")))


def test_an_altered_version_or_history_is_named(place: Store) -> None:
    version = seen(place, index(*TEN))
    place.write(place.index_version(version.sha256), index(*TEN[:9]))
    with pytest.raises(StoreError, match="not the version that its name says"):
        read_version(place, "1")
    place.write(place.index_history(), place.read(place.index_history()) + b'{"sha256": 1}\n')
    with pytest.raises(StoreError, match="line 2"):
        history(place)


def test_versions_are_found_by_place_or_digits(place: Store) -> None:
    version = seen(place, index(*TEN))
    twin = replace(version, sha256=version.sha256[:8] + "0" * 56)
    assert find_version([version, twin], "2") is twin
    assert find_version([version, twin], "-2") is version
    assert find_version([version, version], version.sha256[:6]) == version
    for name in ("0", "3", "-3", version.sha256[:8], version.sha256[:5], "nothing", "../../etc"):
        with pytest.raises(StoreError):
            find_version([version, twin], name)
    with pytest.raises(StoreError):
        place.index_version("../" + "a" * 64)
