"""Lists of items to leave out: read from every format, validated, and never skipped in silence."""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.copies import copy, item, row

from opentwbench.exam import exclusion_lists, tabular_files
from opentwbench.exam.exclusion_lists import ListError, Lists, read_foreign_list, read_id_list
from opentwbench.exam.fingerprint import loose
from opentwbench.exam.items import subject_items
from opentwbench.exam.model import Exclusion
from opentwbench.exam.split_files import ColumnMap
from opentwbench.exam.subjects import REGISTRY

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
    found = read_foreign_list(TMMLU, write(tmp_path / f"l{suffix}", rows), ColumnMap("stem", ("choices",), ""))
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


GOOD = "下列何者為直轄市？,臺北市,新竹市,嘉義市,基隆市\n".encode()
HEADER = b"question,A,B,C,D\n"


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("l.csv", b"stem,A,B,C,D\n1,2,3,4,5\n", "l.csv: missing_column: no column question; there are .*stem"),
        ("l.csv", b"question,A,B,C\n1,2,3,4\n", "no column D"),
        ("l.csv", b"question,A,A,B,C,D\n1,2,3,4,5,6\n", "repeated_column: 2 columns are named A"),
        ("l.csv", HEADER + GOOD + b"\xff\xfe,2,3,4,5\n", "l.csv row 2: bad_encoding"),
        ("l.csv", HEADER + "題目？,一,二,三,四\n".encode("big5"), "l.csv row 1: bad_encoding"),
        ("l.csv", (HEADER + GOOD).decode().encode("utf-16"), "l.csv: not_utf8"),
        ("l.csv", HEADER + b'"' + b"x" * 200_000 + b'",2,3,4,5\n', "csv_broken: .*field larger"),
        ("l.csv", HEADER + GOOD + b'x?,"1,2,3,4\n' + GOOD, "csv_broken: .*record 2"),
        ("l.csv", HEADER + GOOD + b"x?,1,2\n", "l.csv row 2: cell_count: 3 cells, not 5"),
        ("l.csv", b"", "no column A; there are"),
        ("l.csv", HEADER, "none of 0 rows"),
        ("l.csv", HEADER + b",1,2,3,4\n", "none of 1 rows"),
        ("l.jsonl", b"", "none of 0 rows"),
        ("l.jsonl", b'{"question": "x"}\n', "row 1: missing_column: no column A"),
        ("l.jsonl", b"\n[1]\n", "row 2: not_json: no object"),
        ("l.jsonl", b"{\n", "row 1: not_json"),
        ("l.jsonl", b'{"question": "x", "question": "y"}\n', "row 1: not_json: a key occurs twice"),
        ("l.jsonl", b'{"question": "\xff"}\n', "row 1: bad_encoding: not UTF-8 at byte 14"),
        ("l.jsonl", b"[" * 100_000 + b"\n", "row 1: not_json"),
        ("l.parquet", b"PAR1 not really", "l.parquet: parquet_broken"),
        ("l.txt", b"question", "l.txt: not one of .csv .jsonl .parquet"),
    ],
)
def test_a_list_that_is_there_and_unreadable_stops(tmp_path: Path, name: str, data: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ListError, match=words) as caught:
        read_foreign_list(TMMLU, tmp_path / name)
    assert len(str(caught.value)) < 500 and str(caught.value).isprintable()


def test_rows_that_can_match_nothing_are_counted(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [
        ROWS[0],
        {**ROWS[0], "question": "____"},
        {**ROWS[0], "B": "", "C": None, "D": " "},
        {**ROWS[0], "B": {"text": "x"}},
        {**ROWS[0], "question": "長" * 20_001},
        {**ROWS[0], "B": ""},  # three options are a question
    ]
    found = read_foreign_list(TMMLU, write(tmp_path / "l.jsonl", records))
    assert (found.rows, found.unusable, len(found.fingerprints)) == (6, 4, 2)


def test_a_list_beyond_all_bounds_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exclusion_lists, "MAX_ROWS", 2)
    with pytest.raises(ListError, match=r"l\.csv: more than 2 rows"):
        read_foreign_list(TMMLU, write(tmp_path / "l.csv", ROWS))
    monkeypatch.setattr(tabular_files, "MAX_FILE_BYTES", 10)
    for name in ("l.csv", "l.jsonl", "l.parquet"):
        with pytest.raises(ListError, match=rf"{name}: too_large: \d+ bytes, more than the 10"):
            read_foreign_list(TMMLU, write(tmp_path / name, ROWS))
    with pytest.raises(ListError, match=r"w\.jsonl: too_large"):
        read_id_list(write(tmp_path / "w.jsonl", [ENTRY]))


def test_lines_without_end_stop_before_they_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tabular_files, "MAX_LINE_BYTES", 1_000)
    (tmp_path / "l.jsonl").write_bytes(b"x" * 5_000)
    (tmp_path / "l.csv").write_bytes(HEADER + GOOD + b'"a\n",' * 2_000)
    with pytest.raises(ListError, match="row 1: line_too_long"):
        read_foreign_list(TMMLU, tmp_path / "l.jsonl")
    with pytest.raises(ListError, match=r"csv_broken: .*one record has more than 1000 characters"):
        read_foreign_list(TMMLU, tmp_path / "l.csv")
    with pytest.raises(ListError, match="line 1: line_too_long"):
        read_id_list(tmp_path / "l.jsonl")


def test_a_few_bytes_that_stand_for_gigabytes_are_refused(tmp_path: Path) -> None:
    text = pa.DictionaryArray.from_arrays([0] * 2_000, ["x?" * 10_000_000])
    bomb = {"question": text, **{letter: ["1"] * 2_000 for letter in "ABCD"}}
    pq.write_table(pa.table(bomb), tmp_path / "l.parquet", compression="zstd", store_schema=False)
    assert (tmp_path / "l.parquet").stat().st_size < 1_000_000  # 40 GB of text
    with pytest.raises(ListError, match=r"l\.parquet: parquet_broken"):
        read_foreign_list(TMMLU, tmp_path / "l.parquet")


def test_what_is_no_regular_file_or_a_link_below_a_folder_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ListError, match=r"pipe\.csv: not_regular"):
        read_foreign_list(TMMLU, tmp_path / "pipe.csv")
    with pytest.raises(ListError, match=r"pipe\.csv: not_regular"):
        read_id_list(tmp_path / "pipe.csv")
    (tmp_path / "d").mkdir()
    with pytest.raises(ListError, match="d: not_regular"):
        read_id_list(tmp_path / "d")
    inside = tmp_path / "inside"
    inside.mkdir()
    write(inside / "test.csv", ROWS)
    write(tmp_path / "outside.csv", ROWS)
    (inside / "dev.csv").symlink_to(tmp_path / "outside.csv")
    with pytest.raises(ListError, match=r"inside: dev\.csv: symlink"):  # its rows would be missing without a word
        read_foreign_list(TMMLU, inside)
    (tmp_path / "list.csv").symlink_to(tmp_path / "outside.csv")
    assert read_foreign_list(TMMLU, tmp_path / "list.csv").rows == 3  # whoever configures a link means its file


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_planted_items_are_excluded_and_others_stay(tmp_path: Path, suffix: str) -> None:
    listed = [(f"第 {n} 題：何者正確？", [f"{n}甲", f"{n}乙", f"{n}丙", f"{n}丁"]) for n in range(40)]
    rows = [dict(zip(("question", *"ABCD"), (stem, *texts[1:], texts[0]), strict=True)) for stem, texts in listed]
    lists = Lists((read_foreign_list(LEGAL, write(tmp_path / f"l{suffix}", rows)),))
    native = [(stem.replace("題", ".5 題"), texts) for stem, texts in listed]
    copies = [copy(item(n, stem, texts), row()) for n, (stem, texts) in enumerate([*listed, *native], start=1)]
    buckets = Counter(each.bucket for each in subject_items(REGISTRY["tw-roc-constitution-bench"], copies, lists).items)
    assert buckets == {"in_legal_benchmark_v2": 40, "published": 40}


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
