"""Each blocking check fires on damage planted in the files, passes on sound files, and proves nothing over nothing."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.datasets import hostile_rows, make_dataset, make_id, make_row, make_stats, same_as

from opentwbench.dataset.contract import ItemRow
from opentwbench.dataset.files import CSV_NAME, JSONL_NAME, jsonl_bytes, rows_from_jsonl
from opentwbench.dataset.manifest import STATS_NAME
from opentwbench.dataset.model import Dataset, KeyFigures, PaperFigures, QuestionFigures
from opentwbench.dataset.validators import BLOCKING_CHECKS, CheckOutcome, run_check
from opentwbench.exam.fingerprint import loose

Write = Callable[[Dataset], Path]


def check(name: str, folder: Path, records: Sequence[ItemRow] | None = None) -> CheckOutcome:
    """One check; `records` are the rows that the parse records say, by default those of the sound set."""
    return run_check(name, folder, loose, same_as([make_row(n) for n in range(60)] if records is None else records))


def edit_lines(folder: Path, change: Callable[[list[dict[str, Any]]], None]) -> None:
    """Damage benchmark.jsonl as a fault after writing would."""
    path = folder / JSONL_NAME
    records = [json.loads(line) for line in path.read_text().splitlines()]
    change(records)
    path.write_bytes(jsonl_bytes(records))


def edit_stats(folder: Path, section: str, **changes: Any) -> None:
    path = folder / STATS_NAME
    record = json.loads(path.read_text())
    record[section] |= changes
    path.write_text(json.dumps(record))


@pytest.fixture
def agreed(sound: Dataset) -> Dataset:
    """A sound set in which every key agrees."""
    return replace(sound, stats=replace(sound.stats, keys=KeyFigures(8, 8, 5, 5)))


@pytest.mark.parametrize("name", BLOCKING_CHECKS)
def test_every_check_passes_on_sound_files(name: str, write: Write, agreed: Dataset) -> None:
    outcome = check(name, write(agreed))
    assert outcome.passed, outcome.detail
    assert not outcome.blocks
    assert outcome.figures
    assert outcome.name == name


@pytest.mark.parametrize("seed", range(30))
def test_natives_pass_every_check(seed: int, write: Write) -> None:
    """30 sound sets of 30 to 300 rows with random keys: 0 blocks by any check."""
    chance = random.Random(seed)
    rows = [make_row(n, answer=chance.choice("ABCD")) for n in range(chance.randint(30, 300))]
    folder = write(make_dataset(rows, stats=make_stats(len(rows), keys=KeyFigures(4, 4, 2, 2))))
    assert [name for name in BLOCKING_CHECKS if check(name, folder, rows).blocks] == []


def test_rows_that_the_records_do_not_say_block(write: Write, agreed: Dataset) -> None:
    folder = write(agreed)
    edit_lines(folder, lambda records: records[3].update(answer="A" if records[3]["answer"] != "A" else "B"))
    changed = rows_from_jsonl(folder / JSONL_NAME)[3]
    outcome = check("rows_match_records", folder)
    assert outcome.blocks
    assert outcome.offenders == (changed.item_id,)
    edit_lines(folder, lambda records: records.__delitem__(3))
    assert check("rows_match_records", folder).offenders == (changed.item_id,)


def test_rows_without_records_to_compare_with_block(write: Write, agreed: Dataset) -> None:
    outcome = run_check("rows_match_records", write(agreed), loose)
    assert outcome.blocks
    assert "no parse records" in outcome.detail


def test_hostile_texts_pass_contract_and_mirror(write: Write) -> None:
    folder = write(make_dataset(hostile_rows()))
    assert check("row_contract", folder).passed
    outcome = check("csv_mirrors_jsonl", folder)
    assert outcome.passed, outcome.detail
    assert int(outcome.figures["rows_needing_quotes"]) >= 8


@pytest.mark.parametrize("name", BLOCKING_CHECKS)
def test_no_check_passes_without_a_source(name: str, write: Write) -> None:
    empty = make_stats(0, papers=PaperFigures(0, 0), questions=QuestionFigures(0, 0, 0), keys=KeyFigures(0, 0, 0, 0))
    outcome = check(name, write(make_dataset([], stats=empty)))
    assert outcome.blocks
    assert "no source" in outcome.detail


@pytest.mark.parametrize("name", [n for n in BLOCKING_CHECKS if n not in ("key_consistency", "accounting_closes")])
def test_a_check_of_rows_does_not_pass_without_rows(name: str, write: Write) -> None:
    outcome = check(name, write(make_dataset([])))
    assert outcome.blocks
    assert "no rows" in outcome.detail


@pytest.mark.parametrize("ruin", ["missing", "a folder", "no text", "a huge number"])
def test_a_ruined_csv_is_a_failed_check_that_names_it(ruin: str, write: Write, agreed: Dataset) -> None:
    folder = write(agreed)
    (folder / CSV_NAME).unlink()
    if ruin == "a folder":
        (folder / CSV_NAME).mkdir()
    elif ruin != "missing":
        (folder / CSV_NAME).write_bytes({"no text": b"\xff\x00\xfe", "a huge number": b"9" * 200_000}[ruin])
    outcome = check("csv_mirrors_jsonl", folder)
    assert not outcome.passed and outcome.severity == "error" and outcome.detail
    assert str(folder) not in outcome.detail


@pytest.mark.parametrize("name", BLOCKING_CHECKS)
@pytest.mark.parametrize("missing", [JSONL_NAME, STATS_NAME])
def test_a_missing_or_ruined_file_blocks(name: str, missing: str, write: Write, agreed: Dataset) -> None:
    folder = write(agreed)
    (folder / missing).write_bytes(b"\xff ruined")
    assert missing in check(name, folder).detail
    (folder / missing).unlink()
    outcome = check(name, folder)
    assert outcome.blocks
    assert missing in outcome.detail


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("type", {"answer": None}),
        ("type", {"q_no": "3"}),
        ("non_empty", {"A": ""}),
        ("nfc", {"question": "e\u0301"}),
        ("no_private_use", {"D": "\ue18f"}),
        ("no_wide_space", {"B": "甲\u3000"}),
        ("no_control", {"B": "甲\u0007"}),
        ("answer_letter", {"answer": "Ｃ"}),
        ("distinct_options", {"A": "同", "C": "同"}),
        ("year", {"year_ce": 2000}),
        ("positive", {"n_source_papers": 0}),
        ("item_id_shape", {"item_id": "x"}),
        ("columns", {"E": "一"}),
    ],
)
def test_row_contract_fires(rule: str, change: dict[str, Any], write: Write, agreed: Dataset) -> None:
    folder = write(agreed)
    edit_lines(folder, lambda records: records[4].update(change))
    outcome = check("row_contract", folder)
    assert outcome.blocks
    assert outcome.figures[f"broken_{rule}"] == 1
    assert "line 5" in outcome.offenders[0]


def test_row_contract_fires_on_moved_columns_and_repeated_ids(write: Write, agreed: Dataset) -> None:
    folder = write(agreed)
    edit_lines(folder, lambda records: records.__setitem__(2, dict(sorted(records[2].items()))))
    assert "line 3: columns out of order" in check("row_contract", folder).offenders
    folder = write(agreed)
    edit_lines(folder, lambda records: records[1].update(item_id=records[0]["item_id"]))
    assert check("row_contract", folder).figures["broken_item_id_unique"] == 2


def _keyed(counts: Mapping[str, int]) -> Dataset:
    letters = [letter for letter, n in counts.items() for _ in range(n)]
    return make_dataset([make_row(n, answer=letter) for n, letter in enumerate(letters)])


@pytest.mark.parametrize(
    ("counts", "passed", "severity"),
    [
        ({"A": 10, "B": 5, "C": 5, "D": 5}, True, "error"),  # 40.0 % is not over 40 %
        ({"A": 11, "B": 5, "C": 5, "D": 4}, False, "warn"),  # 44 % of 25: a sound set can be so
        ({"A": 25, "B": 25, "C": 25, "D": 25}, True, "error"),
        ({"A": 45, "B": 20, "C": 20, "D": 15}, False, "error"),  # 45 % of 100: p = 4 x 1.1e-5
        ({"A": 41, "B": 20, "C": 20, "D": 19}, False, "warn"),  # 41 % of 100: p = 4 x 2.9e-4
        ({"A": 0, "B": 0, "C": 0, "D": 20}, False, "error"),
        ({"A": 251, "B": 254, "C": 255, "D": 308}, True, "error"),  # the published constitution set
    ],
)
def test_answer_position(counts: dict[str, int], passed: bool, severity: str, write: Write) -> None:
    outcome = check("answer_position", write(_keyed(counts)))
    assert (outcome.passed, outcome.severity) == (passed, severity)
    assert outcome.blocks == (not passed and severity == "error")
    assert {letter: outcome.figures[letter] for letter in "ABCD"} == counts


def test_residual_duplicates_fires(write: Write, agreed: Dataset) -> None:
    folder = write(agreed)
    shuffled = {
        "question": "第 0 題範例 : 下列何者為編號 0 的正確敘述?",
        "A": "敘述丁0",
        "B": "敘述丙0",
        "C": "敘述乙0",
        "D": "敘述甲0",
    }
    edit_lines(folder, lambda records: records.append(records[0] | shuffled | {"item_id": make_id(777)}))
    target = json.loads((folder / JSONL_NAME).read_text().splitlines()[0])
    n = target["A"].removeprefix("敘述甲")
    edit_lines(
        folder,
        lambda records: records[-1].update(
            question=f"第 {n} 題範例 : 下列何者為編號 {n} 的正確敘述?",
            A=f"敘述丁{n}", B=f"敘述丙{n}", C=f"敘述乙{n}", D=f"敘述甲{n}",
        ),
    )  # fmt: skip
    outcome = check("residual_duplicates", folder)
    assert outcome.blocks
    assert outcome.figures["duplicate_groups"] == 1
    assert make_id(777) in outcome.offenders[0]


def test_residual_duplicates_fires_on_a_repeated_id(write: Write, agreed: Dataset) -> None:
    folder = write(agreed)
    edit_lines(folder, lambda records: records[1].update(item_id=records[0]["item_id"]))
    outcome = check("residual_duplicates", folder)
    assert outcome.blocks
    assert outcome.figures["repeated_ids"] == 1


@pytest.mark.parametrize("stem", ["Which of the following is correct?", "He ___ to school.", "ＡＢＣ ?", "a"])
def test_surviving_english_fires(stem: str, write: Write, agreed: Dataset) -> None:
    folder = write(agreed)
    edit_lines(folder, lambda records: records[9].update(question=stem))
    outcome = check("surviving_english", folder)
    assert outcome.blocks
    assert outcome.figures["offenders"] == 1


@pytest.mark.parametrize(
    "stem", ["下列何者可以抑制 ribonucleotide reductase 的活性？", "何謂 API？", "1 + 1 = ？", "𠮷 is a character"]
)
def test_surviving_english_lets_chinese_and_numbers_pass(stem: str, write: Write, agreed: Dataset) -> None:
    folder = write(agreed)
    edit_lines(folder, lambda records: records[9].update(question=stem, A="dATP", B="dGTP", C="dCTP", D="dTTP"))
    assert check("surviving_english", folder).passed


def test_merged_stems_fires(write: Write, agreed: Dataset) -> None:
    folder = write(agreed)
    two = "下列關於考試的敘述，何者正確？下列關於任期的敘述，何者錯誤？"
    edit_lines(folder, lambda records: records[9].update(question=two))
    outcome = check("merged_stems", folder)
    assert outcome.blocks
    assert "asks_twice" in outcome.offenders[0]


def _rewrite_csv(folder: Path, change: Callable[[list[list[str]]], None], **settings: Any) -> None:
    rows = list(csv.reader(io.StringIO((folder / CSV_NAME).read_text(), newline="")))
    change(rows)
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n", **settings).writerows(rows)
    (folder / CSV_NAME).write_text(out.getvalue())


CSV_DAMAGE: dict[str, Callable[[Path], None]] = {
    "a cell emptied": lambda f: _rewrite_csv(f, lambda rows: rows[3].__setitem__(1, "")),
    "None taken for missing": lambda f: _rewrite_csv(f, lambda rows: rows[3].__setitem__(2, "nan")),
    "leading zeros lost": lambda f: _rewrite_csv(f, lambda rows: rows[3].__setitem__(12, "1.0")),
    "two rows swapped": lambda f: _rewrite_csv(f, lambda rows: rows.insert(3, rows.pop(4))),
    "a row lost": lambda f: _rewrite_csv(f, lambda rows: rows.pop()),
    "a row twice": lambda f: _rewrite_csv(f, lambda rows: rows.append(rows[-1])),
    "answers shifted by one": lambda f: _rewrite_csv(
        f, lambda rows: [row.__setitem__(5, "ABCD"[("ABCD".index(row[5]) + 1) % 4]) for row in rows[1:]]
    ),
    "options rotated": lambda f: _rewrite_csv(
        f, lambda rows: rows[5].__setitem__(slice(1, 5), rows[5][2:5] + rows[5][1:2])
    ),
    "a line feed lost": lambda f: (f / CSV_NAME).write_bytes(
        (f / CSV_NAME).read_bytes().replace("甲\n".encode(), "甲 ".encode())
    ),
    "quotes not doubled": lambda f: (f / CSV_NAME).write_bytes((f / CSV_NAME).read_bytes().replace(b'""', b'"')),
    "text unquoted": lambda f: (f / CSV_NAME).write_bytes(
        (f / CSV_NAME).read_bytes().replace('"一, 二"'.encode(), "一, 二".encode())
    ),
    "a byte order mark": lambda f: (f / CSV_NAME).write_bytes(b"\xef\xbb\xbf" + (f / CSV_NAME).read_bytes()),
    "another encoding": lambda f: (f / CSV_NAME).write_bytes((f / CSV_NAME).read_bytes().decode().encode("utf-16")),
    "a column renamed": lambda f: _rewrite_csv(f, lambda rows: rows[0].__setitem__(0, "stem")),
    "a column lost": lambda f: _rewrite_csv(f, lambda rows: [row.pop() for row in rows]),
    "tabs for commas": lambda f: _rewrite_csv(f, lambda rows: None, delimiter="\t"),
    "the end cut off": lambda f: (f / CSV_NAME).write_bytes((f / CSV_NAME).read_bytes()[:-9]),
}


@pytest.mark.parametrize("damage", CSV_DAMAGE)
def test_csv_mirrors_jsonl_fires(damage: str, write: Write) -> None:
    rows = [make_row(n) for n in range(12)]
    rows[6] = replace(rows[6], question='他說「甲\n乙」是 "對" 的嗎？', A="一, 二")
    folder = write(make_dataset(rows))
    assert check("csv_mirrors_jsonl", folder).passed
    before = (folder / CSV_NAME).read_bytes()
    CSV_DAMAGE[damage](folder)
    assert (folder / CSV_NAME).read_bytes() != before
    outcome = check("csv_mirrors_jsonl", folder)
    assert outcome.blocks
    assert outcome.detail


def test_csv_in_another_lawful_quoting_still_mirrors(write: Write, agreed: Dataset) -> None:
    """What is compared is what a reader reads, not the bytes."""
    folder = write(agreed)
    _rewrite_csv(folder, lambda rows: None, quoting=csv.QUOTE_MINIMAL)
    assert check("csv_mirrors_jsonl", folder).passed


def test_key_consistency_gives_both_rates(write: Write, sound: Dataset) -> None:
    keys = KeyFigures(8, 7, 5, 4, (make_id(900),))
    outcome = check("key_consistency", write(replace(sound, stats=replace(sound.stats, keys=keys))))
    assert outcome.passed, outcome.detail
    assert outcome.figures["rate"] == 7 / 8
    assert outcome.figures["independent_rate"] == 4 / 5
    assert float(outcome.figures["low"]) < 7 / 8 < float(outcome.figures["high"])


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (KeyFigures(8, 7, 5, 4, (make_id(3),)), "is published"),
        (KeyFigures(8, 7, 5, 4, ()), "1 groups disagree, 0 are named"),
        (KeyFigures(8, 8, 5, 4, ()), "does not add up"),
        (KeyFigures(8, 7, 5, 3, (make_id(900),)), "does not add up"),
        (KeyFigures(7, 8, 5, 5, ()), "does not add up"),
    ],
)
def test_key_consistency_fires(keys: KeyFigures, said: str, write: Write, sound: Dataset) -> None:
    outcome = check("key_consistency", write(replace(sound, stats=replace(sound.stats, keys=keys))))
    assert outcome.blocks
    assert said in " ".join(outcome.offenders)


@pytest.mark.parametrize(
    ("section", "changes", "said"),
    [
        ("questions", {"printed": 81}, "81 questions printed, 80 in buckets"),
        ("questions", {"folded": 9}, "in buckets"),
        ("questions", {"published": 59, "folded": 9}, "59 questions counted as published, 60 rows"),
        ("questions", {"no_subject": 1}, "in buckets"),
        ("papers", {"accepted": 9}, "12 index rows, 9 accepted and 2 rejected"),
        ("papers", {"rejected": {"no_text_layer": 3}}, "3 rejected"),
    ],
)
def test_accounting_closes_fires(
    section: str, changes: dict[str, Any], said: str, write: Write, agreed: Dataset
) -> None:
    folder = write(agreed)
    edit_stats(folder, section, **changes)
    outcome = check("accounting_closes", folder)
    assert outcome.blocks
    assert said in " ".join(outcome.offenders)


def test_accounting_closes_fires_on_a_lost_row_and_on_an_open_paper(write: Write, agreed: Dataset) -> None:
    folder = write(agreed)
    edit_lines(folder, lambda records: records.pop() and None)
    assert check("accounting_closes", folder).blocks
    stats = replace(agreed.stats, broken_sums=("paper 100030-101-0101: 80 printed, 79 in buckets",))
    outcome = check("accounting_closes", write(replace(agreed, stats=stats)))
    assert outcome.blocks
    assert "100030-101-0101" in outcome.offenders[0]


def test_offenders_are_bounded_and_all_counted(write: Write) -> None:
    folder = write(make_dataset([make_row(n, question=f"Question {n}\u202e") for n in range(400)]))
    outcome = check("surviving_english", folder)
    assert outcome.figures["offenders"] == 400
    assert len(outcome.offenders) == 50
    assert all(text.isprintable() for text in outcome.offenders)


def test_an_unknown_check_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        run_check("no_such_check", tmp_path, loose)
