"""Both files hold the same rows, for every reader: the harness, the csv module, pandas and `datasets`."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.datasets import HOSTILE, hostile_rows, make_dataset, make_row

from opentwbench.dataset.contract import COLUMNS, TEXT_COLUMNS
from opentwbench.dataset.files import (
    CSV_NAME,
    JSONL_NAME,
    canonical_order,
    csv_bytes,
    differences,
    jsonl_bytes,
    read_csv,
    read_jsonl,
    rows_from_csv,
    rows_from_jsonl,
)
from opentwbench.dataset.model import Dataset, DatasetError

_TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1, max_size=30).map(
    lambda text: unicodedata.normalize("NFC", text)
)


def test_hostile_texts_survive_both_files(tmp_path: Path) -> None:
    rows = canonical_order(hostile_rows())
    (tmp_path / JSONL_NAME).write_bytes(jsonl_bytes(row.to_json() for row in rows))
    (tmp_path / CSV_NAME).write_bytes(csv_bytes(rows))
    assert rows_from_jsonl(tmp_path / JSONL_NAME) == rows
    assert rows_from_csv(tmp_path / CSV_NAME) == rows
    assert list(differences(read_jsonl(tmp_path / JSONL_NAME), read_csv(tmp_path / CSV_NAME))) == []


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(_TEXTS, min_size=4, max_size=4))
def test_any_text_survives_both_files(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    folder = tmp_path_factory.mktemp("any")
    row = make_row(1, **dict(zip("ABCD", texts, strict=True)))
    (folder / JSONL_NAME).write_bytes(jsonl_bytes([row.to_json()]))
    (folder / CSV_NAME).write_bytes(csv_bytes([row]))
    assert rows_from_jsonl(folder / JSONL_NAME) == rows_from_csv(folder / CSV_NAME) == [row]


def test_load_dataset_on_the_folder_returns_the_jsonl(
    write: Callable[[Dataset], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The card's own claim, with the real library: field by field, types included."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    import datasets

    rows = hostile_rows()
    folder = write(make_dataset(rows))
    loaded = datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    assert list(loaded) == ["test"]
    assert loaded["test"].column_names == list(COLUMNS)
    expected = read_jsonl(folder / JSONL_NAME)
    got = [dict(record) for record in loaded["test"]]
    assert len(got) == len(rows)
    assert got == expected
    assert {text for text in HOSTILE if text.strip()} <= {record["A"] for record in got}
    assert all(isinstance(record[column], str) for record in got for column in TEXT_COLUMNS)


def test_without_the_cards_yaml_the_same_csv_loses_texts(write: Callable[[Dataset], Path], tmp_path: Path) -> None:
    """The reason for the YAML: a plain reader takes None, null and NA for missing. If this fails, the YAML can go."""
    import pandas as pd

    folder = write(make_dataset(hostile_rows()))
    frame = pd.read_csv(folder / CSV_NAME)
    assert frame["A"].isna().sum() >= 5


def test_the_harness_finds_what_it_needs(write: Callable[[Dataset], Path], sound: Dataset) -> None:
    data = (write(sound) / JSONL_NAME).read_bytes()
    assert data.endswith(b"}\n")
    lines = data.decode().split("\n")[:-1]
    assert len(lines) == len(sound.rows)
    assert all(line.strip() for line in lines)
    assert all(json.loads(line)["answer"] in ("A", "B", "C", "D") for line in lines)
    single_capitals = {key for line in lines for key in json.loads(line) if len(key) == 1 and key.isupper()}
    assert single_capitals == {"A", "B", "C", "D"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"a": 1}', "no line feed at the end"),
        (b'{"a": 1}\n\n', "line 2: blank line"),
        (b'\xef\xbb\xbf{"a": 1}\n', "byte order mark"),
        (b'{"a": "\xff"}\n', "not UTF-8"),
        (b'{"a": NaN}\n', "not JSON"),
        (b'{"a": 1, "a": 2}\n', "a key occurs twice"),
        (b"[1]\n", "not a JSON object"),
        (b"[" * 100_000 + b"\n", "not JSON"),
        (b'{"a": "' + b"x" * (1 << 21) + b'"}\n', "more than"),
    ],
)
def test_a_bad_jsonl_is_refused_by_name(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / JSONL_NAME).write_bytes(data)
    with pytest.raises(DatasetError, match=message) as caught:
        read_jsonl(tmp_path / JSONL_NAME)
    assert JSONL_NAME in str(caught.value)


def _csv(rows: list[dict[str, Any]], **settings_: Any) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out, **settings_)
    writer.writerow(COLUMNS)
    writer.writerows(row.values() for row in rows)
    return out.getvalue().encode()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data.replace(b'"question"', b'"stem"', 1), "header"),
        (lambda data: data.replace(b'"A"', b'"A","extra"', 1), "header"),
        (lambda data: data + b'"one cell"\n', "1 cells"),
        (lambda data: data + b"\n", "0 cells"),
        (lambda data: data[:-2], "record"),
        (lambda data: data.replace("敘述甲1".encode(), b'say "x" here', 1), "record"),
        (lambda data: b"", "header"),
    ],
)
def test_a_bad_csv_is_refused_by_name(tmp_path: Path, damage: Callable[[bytes], bytes], message: str) -> None:
    (tmp_path / CSV_NAME).write_bytes(damage(csv_bytes([make_row(n) for n in range(5)])))
    with pytest.raises(DatasetError, match=message):
        read_csv(tmp_path / CSV_NAME)


@pytest.mark.parametrize("spelling", ["001", "1.0", "1e2", "", " 1", "１"])
def test_a_count_has_one_spelling(tmp_path: Path, spelling: str) -> None:
    record: dict[str, Any] = make_row(1).to_json() | {"q_no": spelling}
    (tmp_path / CSV_NAME).write_bytes(_csv([record], quoting=csv.QUOTE_ALL))
    with pytest.raises(DatasetError, match="q_no"):
        rows_from_csv(tmp_path / CSV_NAME)


def test_differences_name_record_and_field() -> None:
    records: list[dict[str, Any]] = [make_row(n).to_json() for n in range(4)]
    cells = [{k: str(v) for k, v in record.items()} for record in records]
    assert list(differences(records, cells)) == []
    cells[2]["C"] = "other"
    records[3]["D"] = None
    found = list(differences(records, cells[:4]))
    assert [text.split(":")[0] for text in found] == ["record 3 C", "record 4 D"]
    assert "4 records" in next(iter(differences(records, cells[:3])))


def test_links_and_missing_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "real.jsonl").write_bytes(b'{"a": 1}\n')
    (tmp_path / JSONL_NAME).symlink_to(tmp_path / "real.jsonl")
    for name in (JSONL_NAME, "absent.jsonl"):
        with pytest.raises(DatasetError, match="missing or not a regular file"):
            read_jsonl(tmp_path / name)
