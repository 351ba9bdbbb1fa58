"""Files of a foreign benchmark: mappings, splits, and every hostile file and row under its own reason."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.benchmark_splits import line, write_table
from support.datasets import HOSTILE

from opentwbench.exam import split_files, tabular_files
from opentwbench.exam.exclusion_lists import read_foreign_list
from opentwbench.exam.fingerprint import loose
from opentwbench.exam.model import Exclusion
from opentwbench.exam.split_files import (
    NOTES,
    AnswerForm,
    AuditError,
    ColumnMap,
    FoundFile,
    Row,
    SplitFrom,
    SplitRule,
    list_files,
    read_files,
    read_rows,
    split_of,
)
from opentwbench.exam.tabular_files import Fault, FileRefused, Reason

DEFAULT = ColumnMap()
ROW = {"question": "下列何者為直轄市？", "A": "臺北市", "B": "新竹市", "C": "嘉義市", "D": "基隆市", "answer": "A"}
HEADER = b"question,A,B,C,D,answer\n"
GOOD = "甲？,一,二,三,四,A\n".encode()


def read(path: Path, columns: ColumnMap = DEFAULT) -> tuple[list[Row], list[Fault]]:
    found = list(read_rows(FoundFile(path, path.name), columns))
    return [each for each in found if isinstance(each, Row)], [each for each in found if isinstance(each, Fault)]


def read_bytes(folder: Path, name: str, data: bytes, columns: ColumnMap = DEFAULT) -> tuple[list[Row], list[Fault]]:
    (folder / name).write_bytes(data)
    return read(folder / name, columns)


def refused(path: Path, columns: ColumnMap = DEFAULT) -> FileRefused:
    with pytest.raises(FileRefused) as caught:
        read(path, columns)
    return caught.value


# ---- mapping --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_hostile_texts_are_read_as_they_are_in_every_format(tmp_path: Path, suffix: str) -> None:
    texts = [text for text in HOSTILE if text.strip()]
    write_table(
        tmp_path / f"t{suffix}", [{**ROW, "B": text, "question": f"{n}問 {text}"} for n, text in enumerate(texts)]
    )
    rows, faults = read(tmp_path / f"t{suffix}")
    assert [row.options["B"] for row in rows] == texts
    assert faults == []
    # The fingerprints are those that our lists of foreign items use.
    listed = read_foreign_list(Exclusion.IN_TMMLU_PLUS, tmp_path / f"t{suffix}").fingerprints
    assert {loose(row.question, row.options) for row in rows} == listed


def test_private_use_glyphs_read_as_in_our_own_papers(tmp_path: Path) -> None:
    rows, _ = read_bytes(tmp_path, "t.jsonl", json.dumps({**ROW, "A": "單純\ue2cc疹"}).encode())
    assert rows[0].options["A"] == "單純疱疹"


@pytest.mark.parametrize(
    ("record", "columns", "letters"),
    [
        (ROW, DEFAULT, "ABCD"),
        ({**ROW, "E": "以上皆非"}, DEFAULT, "ABCDE"),
        ({**ROW, "F": "不連續"}, DEFAULT, "ABCD"),
        ({"Question": "問？", "A": "1", "B": "2", "Answer": "a"}, DEFAULT, "AB"),
        ({"question": "問？", "choices": ["1", "2", "3"], "answer": "A"}, DEFAULT, "ABC"),
        ({"stem": "問？", "o1": "1", "o2": "2", "gold": "A"}, ColumnMap("stem", ("o1", "o2"), "gold"), "AB"),
        ({"stem": "問？", "all": ["1", "2"]}, ColumnMap("stem", ("all",), ""), "AB"),
        ({"question": "問？", "A": 1, "B": 2.5, "C": True, "D": "4", "answer": "A"}, DEFAULT, "ABCD"),
    ],
)
def test_columns_are_found_or_mapped(tmp_path: Path, record: dict[str, Any], columns: ColumnMap, letters: str) -> None:
    rows, faults = read_bytes(tmp_path, "t.jsonl", json.dumps(record).encode(), columns)
    assert ["".join(row.options) for row in rows] == [letters]
    assert rows[0].letter == ("A" if columns.answer else "")
    assert faults == []


@pytest.mark.parametrize(
    ("form", "answer", "letter"),
    [
        ("letter", "D", "D"),
        ("letter", " ｄ ", "D"),
        ("letter", "E", None),
        ("letter", "AB", None),
        ("letter", "(A)", None),
        ("letter", 0, None),
        ("letter", "甲", None),
        ("from-0", 0, "A"),
        ("from-0", "3", "D"),
        ("from-0", 4, None),
        ("from-0", -1, None),
        ("from-0", 1.0, None),
        ("from-0", "A", None),
        ("from-1", 1, "A"),
        ("from-1", "４", "D"),
        ("from-1", 0, None),
        ("from-1", "9" * 5_000, None),
        ("text", " 新竹市", "B"),
        ("text", "高雄市", None),
        ("text", "B", None),
    ],
)
def test_the_key_is_one_option_or_none(tmp_path: Path, form: str, answer: object, letter: str | None) -> None:
    columns = ColumnMap(answer_form=AnswerForm(form))
    (row,), faults = read_bytes(tmp_path, "t.jsonl", json.dumps({**ROW, "answer": answer}).encode(), columns)
    assert row.letter == (letter or "")
    assert [fault.reason for fault in faults] == ([] if letter else [Reason.ANSWER_OUT_OF_RANGE])


def test_a_missing_key_and_the_key_of_an_empty_option_are_two_things(tmp_path: Path) -> None:
    records = [{**ROW, "answer": None}, {**ROW, "answer": " "}, {**ROW, "A": ""}, {**ROW, "A": float("nan")}]
    data = "\n".join(map(json.dumps, records)).encode()
    rows, faults = read_bytes(tmp_path, "t.jsonl", data)
    assert [row.letter for row in rows] == [""] * 4
    assert Counter(fault.reason for fault in faults) == {
        Reason.ANSWER_MISSING: 2,
        Reason.EMPTY_OPTION: 2,
        Reason.ANSWER_IS_EMPTY_OPTION: 2,
    }
    assert [list(row.options) for row in rows[2:]] == [["B", "C", "D"]] * 2


# ---- splits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("data/accounting_test.csv", "test"),
        ("accounting_val.csv", "validation"),
        ("accounting_dev.csv", "dev"),
        ("test-00000-of-00001.parquet", "test"),
        ("law/validation-00003-of-00012.parquet", "validation"),
        ("train_0.jsonl", "train"),
        ("TRAIN.csv", "train"),
        ("Dev/law.csv", "dev"),
        ("test/law/civil.csv", "test"),
        ("dev/law_dev.csv", "dev"),
        ("latest.csv", "latest"),
        ("contest_rules.csv", "contest_rules"),
        ("law_test_paper.csv", "law_test_paper"),
        ("benchmark.jsonl", "benchmark"),
        (".jsonl", ".jsonl"),
    ],
)
def test_a_split_word_is_a_whole_part_at_an_end(name: str, split: str) -> None:
    assert split_of(name, SplitRule()) == split


@pytest.mark.parametrize("name", ["test/train.csv", "test_theory_dev.csv", "dev/a/law_val.csv"])
def test_two_split_words_are_refused_not_chosen_from(name: str) -> None:
    with pytest.raises(FileRefused) as caught:
        split_of(name, SplitRule())
    assert caught.value.reason is Reason.SPLIT_AMBIGUOUS
    assert split_of(name, SplitRule(globs=(("held-out", "*.csv"),))) == "held-out"
    assert split_of(name, SplitRule(SplitFrom.FILE)) == name.split("/")[-1].removesuffix(".csv")


def test_a_file_or_its_first_folder_names_the_split() -> None:
    assert split_of("public/law/a_test.csv", SplitRule(SplitFrom.FOLDER)) == "public"
    assert split_of("a_test.csv", SplitRule(SplitFrom.FOLDER)) == "a_test"
    assert split_of("public/a_test.csv", SplitRule(SplitFrom.FILE)) == "a_test"
    assert split_of("public/a_test.csv", SplitRule(SplitFrom.FILE, (("x", "private/*"),))) == "a_test"


# ---- rows that are left out or noted --------------------------------------------------------------------------------

BAD_JSON_ROWS: list[tuple[Reason, bytes]] = [
    (Reason.NOT_JSON, b"{"),
    (Reason.NOT_JSON, b"[1]"),
    (Reason.NOT_JSON, b"[" * 100_000),
    (Reason.NOT_JSON, b'{"question": "a", "question": "b"}'),
    (Reason.NOT_JSON, b'{"year": ' + b"9" * 5_000 + b"}"),
    (Reason.BAD_ENCODING, b'{"question": "\xff"}'),
    (Reason.BAD_ENCODING, json.dumps({**ROW, "question": "x\ud800"}).encode()),
    (Reason.BAD_ENCODING, json.dumps({**ROW, "D": "\udcff"}).encode()),
    (Reason.MISSING_COLUMN, b"{}"),
    (Reason.MISSING_COLUMN, json.dumps({k: v for k, v in ROW.items() if k != "answer"}).encode()),
    (Reason.MISSING_COLUMN, b'{"question": "x?", "A": "1", "answer": "A"}'),
    (Reason.REPEATED_COLUMN, b'{"Question": "x?", "QUESTION": "y?", "A": "1", "B": "2", "answer": "A"}'),
    (Reason.EMPTY_QUESTION, json.dumps({**ROW, "question": None}).encode()),
    (Reason.EMPTY_QUESTION, json.dumps({**ROW, "question": " \u3000\u200b\n"}).encode()),
    (Reason.EMPTY_QUESTION, json.dumps({**ROW, "question": "______？"}).encode()),
    (Reason.NOT_TEXT, json.dumps({**ROW, "question": ["x"]}).encode()),
    (Reason.NOT_TEXT, json.dumps({**ROW, "B": {"text": "x"}}).encode()),
    (Reason.NOT_TEXT, b'{"question": "x?", "choices": "A,B", "answer": "A"}'),
    (Reason.TEXT_TOO_LONG, json.dumps({**ROW, "question": "長" * 20_001}).encode()),
    (Reason.TEXT_TOO_LONG, json.dumps({**ROW, "answer": "A" * 20_001}).encode()),
    (Reason.TOO_FEW_OPTIONS, json.dumps({**ROW, "B": "", "C": None, "D": " "}).encode()),
    (Reason.TOO_FEW_OPTIONS, b'{"question": "x?", "choices": [], "answer": "A"}'),
    (Reason.TOO_MANY_OPTIONS, json.dumps({"question": "x?", "choices": ["y"] * 27, "answer": "A"}).encode()),
]


@pytest.mark.parametrize(("reason", "bad"), BAD_JSON_ROWS)
def test_a_bad_json_line_costs_itself_and_nothing_else(tmp_path: Path, reason: Reason, bad: bytes) -> None:
    good = json.dumps(ROW).encode()
    rows, faults = read_bytes(tmp_path, "t.jsonl", b"\xef\xbb\xbf" + good + b"\n" + bad + b"\r\n" + good)
    assert [row.row for row in rows] == [1, 3]
    assert [(fault.row, fault.reason) for fault in faults] == [(2, reason)]
    assert reason not in NOTES
    assert len(faults[0].detail) < 400 and faults[0].detail.isprintable()


def test_lines_that_lack_the_same_column_are_each_refused(tmp_path: Path) -> None:
    good, bad = json.dumps(ROW).encode(), b'{"question": "x?", "A": "1", "B": "2"}'
    rows, faults = read_bytes(tmp_path, "t.jsonl", b"\n".join([bad, bad, good, bad, bad, good]))
    assert [row.row for row in rows] == [3, 6]
    assert [(fault.row, fault.reason) for fault in faults] == [(n, Reason.MISSING_COLUMN) for n in (1, 2, 4, 5)]


def test_good_rows_give_no_fault(tmp_path: Path) -> None:
    lines = [line(n, "test").record() for n in range(300)]
    write_table(tmp_path / "t.jsonl", lines)  # type: ignore[arg-type]
    rows, faults = read(tmp_path / "t.jsonl")
    assert (len(rows), faults) == (300, [])


def test_a_line_without_end_is_counted_and_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tabular_files, "MAX_LINE_BYTES", 1_000)
    good = json.dumps(ROW).encode()
    for length in (1_001, 2_000, 2_001, 5_000):
        rows, faults = read_bytes(tmp_path, "t.jsonl", good + b"\n" + b"x" * length + b"\n" + good + b"\n")
        assert [row.row for row in rows] == [1, 3]
        assert [(fault.row, fault.reason) for fault in faults] == [(2, Reason.LINE_TOO_LONG)]


def test_lines_break_at_line_feeds_only(tmp_path: Path) -> None:
    data = "\n".join(json.dumps({**ROW, "A": f"a{mark}b"}, ensure_ascii=False) for mark in "\u2028\u0085\u000b ")
    data = data.replace("\u000b", "\\u000b")
    rows, faults = read_bytes(tmp_path, "t.jsonl", data.encode())
    assert (len(rows), faults) == (4, [])


@pytest.mark.parametrize(
    ("reason", "bad"),
    [
        (Reason.CELL_COUNT, b"x?,1,2\n"),
        (Reason.CELL_COUNT, b"x?,1,2,3,4,A,7\n"),
        (Reason.BAD_ENCODING, "下列何者？,一,二,三,四,A\n".encode("big5")),
        (Reason.EMPTY_QUESTION, b",1,2,3,4,A\n"),
        (Reason.TOO_FEW_OPTIONS, b"x?,1,,,,A\n"),
        (Reason.TEXT_TOO_LONG, b"x?,1,2,3," + b"4" * 20_001 + b",A\n"),
    ],
)
def test_a_bad_csv_record_costs_itself(tmp_path: Path, reason: Reason, bad: bytes) -> None:
    rows, faults = read_bytes(tmp_path, "t.csv", b"\xef\xbb\xbf" + HEADER + GOOD + bad + GOOD)
    assert [row.row for row in rows] == [1, 3]
    assert [(fault.row, fault.reason) for fault in faults] == [(2, reason)]


def test_blank_lines_are_noted_and_are_no_rows(tmp_path: Path) -> None:
    rows, faults = read_bytes(tmp_path, "t.csv", HEADER + GOOD + b"\n\r\n" + GOOD)
    assert [row.row for row in rows] == [1, 2]
    assert [fault.reason for fault in faults] == [Reason.BLANK_LINE] * 2
    rows, faults = read_bytes(tmp_path, "t.jsonl", json.dumps(ROW).encode() + b"\n \n\n")
    assert (len(rows), [fault.reason for fault in faults]) == (1, [Reason.BLANK_LINE] * 2)


@pytest.mark.parametrize(
    ("value", "split"),
    [("Test", "test"), ("val", "validation"), ("甲組", "甲組"), ("", None), ("x" * 101, None), ("a\x1b", None)],
)
def test_a_split_column_gives_a_bounded_name_or_the_row_is_left_out(
    tmp_path: Path, value: str, split: str | None
) -> None:
    data = json.dumps({**ROW, "s": value}).encode()
    rows, faults = read_bytes(tmp_path, "t.jsonl", data, ColumnMap(split="s"))
    assert [row.split for row in rows] == ([] if split is None else [split])
    assert [fault.reason for fault in faults] == ([Reason.NO_SPLIT] if split is None else [])


# ---- files that are refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "data", "reason", "words"),
    [
        ("t.csv", b"", Reason.MISSING_COLUMN, "no columns A, B"),
        ("t.csv", b"question,A,B,C,D\nx,1,2,3,4\n", Reason.MISSING_COLUMN, "no column answer; there are"),
        ("t.csv", b"stem,A,B,C,D,answer\nx,1,2,3,4,A\n", Reason.MISSING_COLUMN, "no column question"),
        ("t.csv", b"question,A,B,B,answer\nx,1,2,3,A\n", Reason.REPEATED_COLUMN, "2 columns are named B"),
        ("t.csv", b"question,A,B,answer,Answer,ANSWER\nx,1,2,A,B,C\n", None, ""),
        ("t.csv", HEADER + GOOD + b'x?,"1,2,3,4,A\n' + GOOD, Reason.CSV_BROKEN, "record 2"),
        ("t.csv", HEADER + GOOD + b'x?,"1"2,2,3,4,A\n' + GOOD, Reason.CSV_BROKEN, "line 3"),
        ("t.csv", HEADER + b"x?," + b"1" * 140_000 + b",2,3,4,A\n", Reason.CSV_BROKEN, "field larger"),
        ("t.csv", HEADER.decode().encode("utf-16"), Reason.NOT_UTF8, "UTF-16"),
        ("t.parquet", b"", Reason.PARQUET_BROKEN, ""),
        ("t.parquet", b"PAR1" + b"\0" * 100 + b"PAR1", Reason.PARQUET_BROKEN, ""),
    ],
)
def test_a_file_that_cannot_be_told_apart_is_refused_whole(
    tmp_path: Path, name: str, data: bytes, reason: Reason | None, words: str
) -> None:
    (tmp_path / name).write_bytes(data)
    if reason is None:  # the exact name goes before its look-alikes
        assert read(tmp_path / name)[0][0].letter == "A"
        return
    error = refused(tmp_path / name)
    assert error.reason is reason
    assert words in error.detail
    assert len(error.detail) < 400 and error.detail.isprintable()


def test_a_record_without_end_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tabular_files, "MAX_LINE_BYTES", 1_000)
    (tmp_path / "t.csv").write_bytes(HEADER + GOOD + b"1," * 2_000)
    assert "one record has more than 1000 characters" in refused(tmp_path / "t.csv").detail
    (tmp_path / "t.csv").write_bytes(HEADER + GOOD + b'"a\n",' * 2_000)
    assert "one record has more than 1000 characters" in refused(tmp_path / "t.csv").detail
    (tmp_path / "t.csv").write_bytes(HEADER + GOOD * 2_000)
    assert len(read(tmp_path / "t.csv")[0]) == 2_000


def test_a_parquet_file_is_bounded_typed_and_checked_for_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"question": ["x?"], "choices": [["1", "2"]], "answer": [1], "extra": [b"\xff"]}).write_parquet(path)
    (row,), faults = read(path, ColumnMap(answer_form=AnswerForm.FROM_0))
    assert (row.options, row.letter, faults) == ({"A": "1", "B": "2"}, "B", [])
    assert refused(path, ColumnMap(question="stem")).reason is Reason.MISSING_COLUMN
    pl.DataFrame({"question": [b"x"], "A": ["1"], "B": ["2"], "answer": ["A"]}).write_parquet(path)
    assert [fault.reason for fault in read(path)[1]] == [Reason.NOT_TEXT]
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert refused(path).reason is Reason.PARQUET_BROKEN
    pl.DataFrame(
        {"question": ["x?"] * 10_000, "A": ["1"] * 10_000, "B": ["2"] * 10_000, "answer": ["A"] * 10_000}
    ).write_parquet(path)
    monkeypatch.setattr(tabular_files, "MAX_FILE_BYTES", path.stat().st_size + 100)
    assert refused(path).reason is Reason.TOO_LARGE


def test_damaged_parquet_files_are_refused_or_read_and_never_break_the_audit(tmp_path: Path) -> None:
    pl.DataFrame([ROW] * 50).write_parquet(tmp_path / "sound.parquet")
    whole = (tmp_path / "sound.parquet").read_bytes()
    for seed in range(60):
        data, draw = bytearray(whole), random.Random(seed)
        for _ in range(1 + seed % 8):
            data[draw.randrange(len(data))] = draw.randrange(256)
        (tmp_path / f"{seed:02d}.parquet").write_bytes(data)
    outcomes: Counter[str] = Counter()
    for file, rows in read_files(list_files(tmp_path)[0], DEFAULT):
        try:
            found = list(rows)
        except FileRefused as error:
            assert file.name != "sound.parquet"
            assert error.reason in (Reason.PARQUET_BROKEN, Reason.TOO_LARGE, Reason.MISSING_COLUMN)
            outcomes["refused"] += 1
        else:
            assert sum(isinstance(each, Row) or each.reason not in NOTES for each in found) == 50
            outcomes["read"] += 1
    assert outcomes.total() == 61 and outcomes["refused"] > 10


def test_a_few_bytes_that_stand_for_gigabytes_cost_their_file_alone(tmp_path: Path) -> None:
    text = pa.DictionaryArray.from_arrays([0] * 2_000, ["x?" * 10_000_000])
    bomb = {"question": text, "A": ["1"] * 2_000, "B": ["2"] * 2_000, "answer": ["A"] * 2_000}
    pq.write_table(pa.table(bomb), tmp_path / "a_test.parquet", compression="zstd", store_schema=False)
    assert (tmp_path / "a_test.parquet").stat().st_size < 1_000_000  # 40 GB of text
    write_table(tmp_path / "b_test.parquet", [ROW])
    outcomes = {}
    for file, rows in read_files(list_files(tmp_path)[0], DEFAULT):
        try:
            outcomes[file.name] = len(list(rows))
        except FileRefused as error:
            outcomes[file.name] = error.reason
    assert outcomes == {"a_test.parquet": Reason.PARQUET_BROKEN, "b_test.parquet": 1}


def test_a_decoder_that_dies_or_hangs_costs_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_table(tmp_path / "t.parquet", [ROW])
    monkeypatch.setattr(tabular_files, "SECONDS_A_FILE", 0.0)
    error = refused(tmp_path / "t.parquet")
    assert error.reason is Reason.PARQUET_BROKEN and "no result after 0 s" in error.detail


def test_a_file_beyond_its_size_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_bytes(HEADER + GOOD)
    monkeypatch.setattr(tabular_files, "MAX_FILE_BYTES", 20)
    assert refused(tmp_path / "t.csv").reason is Reason.TOO_LARGE


# ---- the directory --------------------------------------------------------------------------------------------------


def test_nothing_outside_the_directory_is_opened(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    for folder in (outside, inside / "a" / "b"):
        folder.mkdir(parents=True)
    write_table(outside / "secret_test.csv", [ROW])
    (inside / "a" / "b" / "law_test.CSV").write_bytes(HEADER + GOOD)
    (inside / "link").symlink_to(outside)
    (inside / "link_test.csv").symlink_to(outside / "secret_test.csv")
    (inside / "loop").symlink_to(inside)
    os.mkfifo(inside / "pipe_test.csv")
    (inside / "notes.txt").write_text("x")
    found, aside = list_files(inside)
    assert [file.name for file in found] == ["a/b/law_test.CSV"]
    assert len(read(found[0].path)[0]) == 1
    assert [(name, reason) for name, reason, _ in aside] == [
        ("link", Reason.SYMLINK),
        ("link_test.csv", Reason.SYMLINK),
        ("loop", Reason.SYMLINK),
        ("notes.txt", Reason.OTHER_FORMAT),
        ("pipe_test.csv", Reason.NOT_REGULAR),
    ]


def test_what_is_exchanged_after_listing_is_looked_at_when_open(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(HEADER + GOOD)
    (tmp_path / "link.csv").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "pipe.csv")
    assert refused(tmp_path / "link.csv").reason is Reason.UNREADABLE
    assert refused(tmp_path / "pipe.csv").reason is Reason.NOT_REGULAR
    assert refused(tmp_path / "gone.csv").reason is Reason.UNREADABLE


def test_names_are_printable_and_a_deep_tree_is_walked(tmp_path: Path) -> None:
    hostile = [os.fsencode(tmp_path) + b"/\xff\x1b[31m_test.csv", os.fsencode(tmp_path) + "/\u202e_dev.csv".encode()]
    for name in hostile:
        Path(os.fsdecode(name)).write_bytes(HEADER + GOOD)
    deep = tmp_path
    for _ in range(300):
        deep /= "d"
    deep.mkdir(parents=True)
    (deep / "x_test.csv").write_bytes(HEADER + GOOD)
    found, _ = list_files(tmp_path)
    assert len(found) == 3
    assert all(file.name.isprintable() and len(read(file.path)[0]) == 1 for file in found)


def test_too_many_files_stop_the_audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_files, "MAX_FILES", 3)
    for n in range(4):
        (tmp_path / f"{n}.txt").touch()
    with pytest.raises(AuditError, match="more than 3 files"):
        list_files(tmp_path)
