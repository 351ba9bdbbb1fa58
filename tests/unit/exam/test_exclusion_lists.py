"""Lists of items to leave out: read from every format, validated, and never skipped in silence."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from opentwbench.exam import exclusion_lists
from opentwbench.exam.exclusion_lists import Columns, ListError, Lists, read_foreign_list, read_id_list
from opentwbench.exam.fingerprint import loose
from opentwbench.exam.model import Exclusion

TMMLU, LEGAL = Exclusion.IN_TMMLU_PLUS, Exclusion.IN_LEGAL_BENCHMARK_V2
ROWS: list[dict[str, Any]] = [
    {"question": "下列何者為直轄市？", "A": "臺北市", "B": "新竹市", "C": "嘉義市", "D": "基隆市", "answer": "A"},
    {"question": "10.5 加 1 為何？", "A": "1", "B": "None", "C": "11.5", "D": "null", "answer": "C"},
    {"question": "", "A": "甲", "B": "乙", "C": "丙", "D": "丁", "answer": "A"},
]
ENTRY = {"item_id": "law-0123456789ab", "reason": "圖形缺漏", "date": "2026-11-29", "evidence": "110030-101-0101 p3"}


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    else:
        pl.DataFrame(rows).write_parquet(path)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_every_format_gives_the_same_fingerprints(tmp_path: Path, suffix: str) -> None:
    found = read_foreign_list(TMMLU, write(tmp_path / f"list{suffix}", ROWS))
    assert (found.applied, found.rows, found.unusable) == (True, 3, 1)
    options = dict(zip("ABCD", ("新竹市", "臺北市", "基隆市", "嘉義市"), strict=True))
    assert loose("下列何者 為直轄市?", options) in found.fingerprints
    numbers = dict(zip("ABCD", ("1", "None", "11.5", "null"), strict=True))
    assert loose("10.5 加 1 為何？", numbers) in found.fingerprints
    assert loose("105 加 1 為何？", numbers) not in found.fingerprints
    assert len(found.fingerprints) == 2


def test_a_folder_counts_every_split(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    write(tmp_path / "test.csv", ROWS[:1])
    write(tmp_path / "dev" / "a.parquet", ROWS[1:2])
    (tmp_path / "README.md").write_text("no list")
    found = read_foreign_list(LEGAL, tmp_path)
    assert (found.rows, len(found.fingerprints), found.exclusion) == (2, 2, LEGAL)


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_columns_are_mapped_and_a_list_column_holds_all_options(tmp_path: Path, suffix: str) -> None:
    rows = [{"stem": ROWS[0]["question"], "choices": [ROWS[0][letter] for letter in "ABCD"]}]
    found = read_foreign_list(TMMLU, write(tmp_path / f"l{suffix}", rows), Columns("stem", ("choices",)))
    assert loose(ROWS[0]["question"], {letter: ROWS[0][letter] for letter in "ABCD"}) in found.fingerprints


def test_an_absent_list_is_reported_as_not_applied(tmp_path: Path) -> None:
    for path, words in ((None, "not configured"), (tmp_path / "none.csv", "none.csv"), (tmp_path, "file there")):
        found = read_foreign_list(TMMLU, path)
        assert (found.applied, found.fingerprints) == (False, frozenset())
        assert words in found.detail
        assert found.figures().applied is False


def test_the_card_names_every_known_list_applied_or_not(tmp_path: Path) -> None:
    applied = read_foreign_list(TMMLU, write(tmp_path / "t.csv", ROWS))
    figures = Lists((applied,)).figures()
    assert {name: (each.applied, each.entries) for name, each in figures.items()} == {
        "in_legal_benchmark_v2": (False, 0),
        "in_tmmlu_plus": (True, 3),
    }


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("l.csv", b"stem,A,B,C,D\n1,2,3,4,5\n", "no column question"),
        ("l.csv", b"question,A,B,C\n1,2,3,4\n", "no column D"),
        ("l.csv", b"question,A,B,C,D\n\xff\xfe,2,3,4,5\n", "l.csv: "),
        ("l.csv", b'question,A,B,C,D\n"' + b"x" * 200_000 + b'",2,3,4,5\n', "field larger"),
        ("l.csv", b"", "no column question"),
        ("l.jsonl", b'{"question": "x"}\n', "line 1: no column A, B, C, D"),
        ("l.jsonl", b"\n[1]\n", "line 2: not a JSON object"),
        ("l.jsonl", b"{\n", "line 1: "),
        ("l.parquet", b"PAR1 not really", "l.parquet: "),
        ("l.txt", b"question", "not one of .csv .jsonl .parquet"),
    ],
)
def test_a_list_that_is_there_and_unreadable_stops(tmp_path: Path, name: str, data: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ListError, match=words):
        read_foreign_list(TMMLU, tmp_path / name)


def test_a_list_beyond_all_bounds_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exclusion_lists, "MAX_LIST_BYTES", 10)
    for name in ("l.csv", "l.jsonl", "l.parquet"):
        with pytest.raises(ListError, match="larger than 10 bytes"):
            read_foreign_list(TMMLU, write(tmp_path / name, ROWS))
    with pytest.raises(ListError, match="larger than 10 bytes"):
        read_id_list(write(tmp_path / "w.jsonl", [ENTRY]))


def test_only_list_exclusions_come_from_a_list() -> None:
    with pytest.raises(ValueError, match="figure is given by no list"):
        read_foreign_list(Exclusion.FIGURE, None)


def test_an_id_list_reads_reason_date_and_evidence(tmp_path: Path) -> None:
    other = {**ENTRY, "item_id": "medicine-ba9876543210"}
    found = read_id_list(write(tmp_path / "withdrawn.jsonl", [ENTRY, other]))
    assert list(found) == ["law-0123456789ab", "medicine-ba9876543210"]
    assert found["law-0123456789ab"].to_json() == ENTRY
    assert read_id_list(None) == {}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([ENTRY, ENTRY], "line 2: law-0123456789ab is listed twice"),
        ([{**ENTRY, "item_id": "../../etc/passwd"}], "line 1: .*shape"),
        ([{**ENTRY, "item_id": "law-0123"}], "line 1: .*shape"),
        ([{**ENTRY, "date": "29.11.2026"}], "line 1: .*YYYY-MM-DD"),
        ([{**ENTRY, "reason": " "}], "line 1: withdrawal reason"),
        ([{**ENTRY, "evidence": ""}], "line 1: withdrawal evidence"),
        ([{k: v for k, v in ENTRY.items() if k != "evidence"}], "line 1: "),
        ([{**ENTRY, "note": "x"}], "line 1: "),
    ],
)
def test_an_entry_without_its_grounds_is_refused(tmp_path: Path, rows: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(ListError, match=words):
        read_id_list(write(tmp_path / "l.jsonl", rows))


def test_a_configured_id_list_that_is_lost_stops(tmp_path: Path) -> None:
    with pytest.raises(ListError, match=r"gone\.jsonl: configured and not there"):
        read_id_list(tmp_path / "gone.jsonl")
