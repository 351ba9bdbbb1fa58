"""The duplicate audit: the published figures in small, every change of a row, keys by letter and by text, and lists."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.benchmark_splits import Line, counted, line, small_tmmlu, write_splits, write_table
from support.copies import copy, item
from support.datasets import hostile_rows, make_row

from opentwbench.dataset.files import csv_bytes, jsonl_bytes
from opentwbench.exam import duplicate_audit
from opentwbench.exam.dedupe import group, keys_conflict
from opentwbench.exam.duplicate_audit import Audit, audit_folder
from opentwbench.exam.split_files import AuditError, ColumnMap
from opentwbench.exam.tabular_files import Reason

PUBLISHED_IN_SMALL = {
    "rows": 231,
    "groups": 8,
    "duplicated": 17,
    "conflicts_by_letter": 3,
    "false_conflicts": 2,
    "true_conflicts": 1,
    "hidden_conflicts": 0,
    "conflicts_by_text": 1,
    "across_splits": 4,
    "test_items": 202,
    "leaked": 2,
    "leaked_verbatim": 1,
    "same_stem_stems": 1,
    "same_stem_rows": 2,
}


def figures(found: Audit) -> dict[str, int]:
    counts: dict[str, int] = found.to_json()["figures"]
    return counts


def audit(folder: Path, lines: list[Line], suffix: str = "csv") -> Audit:
    return audit_folder(write_splits(folder, lines, suffix))


def two(folder: Path, one: Line, other: Line) -> Audit:
    """The audit over two rows."""
    return audit(folder, [one, other])


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_the_published_audit_in_small(tmp_path: Path, suffix: str) -> None:
    found = audit(tmp_path, small_tmmlu(), suffix)
    assert {name: figures(found)[name] for name in PUBLISHED_IN_SMALL} == PUBLISHED_IN_SMALL
    splits = {name: (each.rows, each.duplicated, each.test_items) for name, each in found.figures.splits.items()}
    assert splits == {"dev": (5, 1, 0), "test": (202, 11, 0), "train": (10, 2, 1), "validation": (14, 3, 1)}
    assert found.complete and found.figures.compared == 231


def change(lines: list[Line], at: int, **changes: object) -> list[Line]:
    return [replace(each, **changes) if place == at else each for place, each in enumerate(lines)]  # type: ignore[arg-type]


CHANGES: dict[str, tuple[Callable[[list[Line]], list[Line]], dict[str, int]]] = {
    "a copy goes": (lambda rows: rows[1:], {"rows": 230, "groups": 7, "duplicated": 15, "test_items": 201}),
    "a copy gets another option": (
        lambda rows: change(rows, 1, options=("別", "敘述乙0", "敘述丙0", "敘述丁0")),
        {"groups": 7, "duplicated": 15, "same_stem_stems": 2, "same_stem_rows": 4},
    ),
    "a number in a stem changes": (
        lambda rows: change(rows, 1, question="第 0.5 題：下列何者正確？"),
        {"groups": 7, "duplicated": 15},
    ),
    "a key of an agreeing group changes": (
        lambda rows: change(rows, 1, answer="C"),
        {"conflicts_by_letter": 4, "true_conflicts": 2, "conflicts_by_text": 2},
    ),
    "the true conflict is mended": (
        lambda rows: change(rows, 8, answer="D"),
        {"conflicts_by_letter": 2, "true_conflicts": 0, "conflicts_by_text": 0},
    ),
    "a turned copy keeps its letter": (
        lambda rows: change(rows, 3, answer=rows[2].answer),
        {"conflicts_by_letter": 2, "false_conflicts": 1, "hidden_conflicts": 1, "conflicts_by_text": 2},
    ),
    "a copy moves to train": (
        lambda rows: change(rows, 1, split="train"),
        {"across_splits": 5, "test_items": 201, "leaked": 3, "leaked_verbatim": 2},
    ),
    "the copy in train moves to test": (
        lambda rows: change(rows, 8, split="test"),
        {"across_splits": 3, "test_items": 203, "leaked": 1, "leaked_verbatim": 0},
    ),
    "the copy in val is printed as in test": (
        lambda rows: change(rows, 10, question=rows[9].question),
        {"leaked_verbatim": 2},
    ),
    "a stem gets its own words": (
        lambda rows: change(rows, 18, question="第 9999 題：下列何者正確？"),
        {"same_stem_stems": 0, "same_stem_rows": 0},
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changing_a_row_changes_the_figure_and_no_other(tmp_path: Path, name: str) -> None:
    planted, differences = CHANGES[name]
    found = figures(audit(tmp_path, planted(small_tmmlu())))
    assert {name: found[name] for name in PUBLISHED_IN_SMALL} == PUBLISHED_IN_SMALL | differences


@pytest.mark.parametrize("seed", range(25))
def test_figures_are_those_of_plain_counting(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    splits = ("test", "test", "train", "val", "dev")
    kept = [line(draw.randrange(20), draw.choice(splits)) for _ in range(60)]
    lines = [
        each.turned(draw.randrange(4), answer=draw.choice("ABCD")) if draw.random() < 0.2 else each for each in kept
    ]
    lines = [each.turned(draw.randrange(4)) if draw.random() < 0.3 else each for each in lines]
    lines = [replace(each, question="共同題幹？") if draw.random() < 0.2 else each for each in lines]
    expected = counted(lines)
    found = figures(audit(tmp_path, lines))
    assert {name: found[name] for name in expected} == expected
    assert expected["conflicts_by_text"] and expected["leaked"] and expected["same_stem_stems"]  # it is put to the test


# ---- keys -----------------------------------------------------------------------------------------------------------


def test_another_order_of_options_is_a_false_conflict_only(tmp_path: Path) -> None:
    for places in (1, 2, 3):
        found = two(tmp_path / str(places), line(1, "test"), line(1, "test").turned(places)).figures
        assert (found.conflicts_by_letter, found.false_conflicts, found.conflicts_by_text) == (1, 1, 0)


def test_one_letter_for_two_answers_is_a_hidden_conflict(tmp_path: Path) -> None:
    one = line(1, "test")
    found = two(tmp_path, one, replace(one.turned(1), answer=one.answer))
    assert (found.figures.conflicts_by_letter, found.figures.hidden_conflicts) == (0, 1)
    assert [(each.verdict, {m.letter for m in each.members}) for each in found.disagreements] == [("hidden", {"B"})]
    assert {member.answer for member in found.disagreements[0].members} == {"敘述乙1", "敘述丙1"}


def test_punctuation_and_widths_make_no_conflict_and_signs_do(tmp_path: Path) -> None:
    one = replace(line(1, "test"), options=("約 10.5%，增加", "乙", "丙", "丁"), answer="A")
    same = replace(one, options=("約１０.５％增加", "乙", "丙", "丁"))
    assert two(tmp_path / "same", one, same).figures.conflicts_by_text == 0
    assert two(tmp_path / "same", one, same).figures.groups == 1
    other = replace(one, options=("約 105%，增加", "乙", "丙", "丁"))
    assert two(tmp_path / "other", one, other).figures.groups == 0


@pytest.mark.parametrize(("texts", "conflict"), [(("，", "、", "。", "；"), True), (("甲，", "乙", "丙", "丁"), False)])
def test_keys_are_compared_as_in_our_own_data_sets(tmp_path: Path, texts: tuple[str, ...], conflict: bool) -> None:
    # Options that punctuation alone tells apart are compared exactly; elsewhere punctuation is no difference.
    other = (texts[1], texts[0], *texts[2:]) if conflict else ("甲", *texts[1:])
    ours = [copy(item(texts=texts, key="A")), copy(item(texts=other, key="A"))]  # type: ignore[arg-type]
    assert [keys_conflict(each) for each in group(ours)] == [conflict]
    rows = [replace(line(1, "test"), options=each, answer="A") for each in (texts, other)]
    found = two(tmp_path, *rows).figures
    assert (found.groups, bool(found.conflicts_by_text)) == (1, conflict)


def test_an_unusable_key_takes_a_row_out_of_the_comparison_of_keys_alone(tmp_path: Path) -> None:
    one = line(1, "test")
    found = two(tmp_path, one, replace(one, split="train", answer="E")).figures
    assert (found.groups, found.leaked, found.keyed_groups, found.conflicts_by_letter) == (1, 1, 0, 0)
    assert found.notes == {"answer_out_of_range": 1} and found.left_out == {}
    found = audit(tmp_path, [one, one, replace(one, answer="E")]).figures
    assert (found.keyed_groups, found.conflicts_by_letter, found.conflicts_by_text) == (1, 0, 0)


def test_a_group_with_a_thousand_rows_shows_every_answer_and_few_rows(tmp_path: Path) -> None:
    one = replace(line(1, "test"), answer="A")
    found = audit(tmp_path, [one] * 500 + [replace(one, answer="D")] + [one] * 500)
    assert found.figures.duplicated == 1_001 and found.lists.conflicts.height == 1_001
    members = found.disagreements[0].members
    assert len(members) == duplicate_audit.MAX_MEMBERS
    assert [(member.row, member.letter) for member in members if member.letter == "D"] == [(501, "D")]


# ---- lists ----------------------------------------------------------------------------------------------------------


def test_lists_name_exactly_the_rows_behind_the_figures(tmp_path: Path) -> None:
    lists = audit(tmp_path, small_tmmlu()).lists
    assert lists.groups.height == 17 and lists.groups["group"].n_unique() == 8
    law, val = "data/law_test.csv", "data/law_val.csv"
    assert lists.leaks.drop("group").rows() == [
        (law, 7, "test", "train", "data/law_train.csv", 1, True),
        (law, 8, "test", "validation", val, 1, False),
    ]
    conflicts = lists.conflicts.select("verdict", "file", "row", "letter").rows()
    assert conflicts == [
        ("false", law, 3, "B"),
        ("false", law, 4, "A"),
        ("true", law, 7, "D"),
        ("false", law, 8, "A"),
        ("true", "data/law_train.csv", 1, "A"),
        ("false", val, 1, "C"),
    ]
    answers = lists.conflicts.group_by("group", "verdict").n_unique().select("verdict", "answer").rows()
    assert sorted(answers) == [("false", 1), ("false", 1), ("true", 2)]
    assert lists.same_stem["stem"].n_unique() == 1 and lists.same_stem["group"].n_unique() == 2
    assert lists.faults.height == 0


def test_what_disagrees_is_shown_in_its_own_words(tmp_path: Path) -> None:
    (found,) = audit(tmp_path, small_tmmlu()).disagreements
    assert (found.verdict, found.question) == ("true", "第 3 題：下列何者正確？")
    assert [(m.file, m.row, m.split, m.letter, m.answer) for m in found.members] == [
        ("data/law_test.csv", 7, "test", "D", "敘述丁3"),
        ("data/law_train.csv", 1, "train", "A", "敘述甲3"),
    ]


def test_a_file_that_changes_meanwhile_stops_the_audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = replace(line(1, "test"), answer="A")
    write_splits(tmp_path, [one, replace(one, answer="B")])
    frames = duplicate_audit._lists

    def meddle(*arguments: object) -> object:
        write_splits(tmp_path, [line(2, "test"), line(3, "test")])
        return frames(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(duplicate_audit, "_lists", meddle)
    with pytest.raises(AuditError, match=r"law_test\.csv row 1: the file changed"):
        audit_folder(tmp_path)


# ---- several files, splits and formats ------------------------------------------------------------------------------


def test_our_own_folder_is_one_table_in_two_formats(tmp_path: Path) -> None:
    rows = [make_row(n) for n in range(40)] + hostile_rows()
    records = [row.to_json() for row in rows]
    (tmp_path / "benchmark.jsonl").write_bytes(jsonl_bytes(records))
    (tmp_path / "benchmark.csv").write_bytes(csv_bytes(rows))
    (tmp_path / "withdrawn.jsonl").write_bytes(b'{"item_id": "x"}\n')
    (tmp_path / "README.md").write_text("card")
    found = audit_folder(tmp_path)
    assert {file.name: file.reason for file in found.files} == {
        "README.md": Reason.OTHER_FORMAT,
        "benchmark.csv": None,
        "benchmark.jsonl": Reason.MIRROR,
        "withdrawn.jsonl": Reason.SIDECAR,
    }
    assert found.figures.rows == len(rows)
    assert found.figures.test_splits == () and found.figures.leaked == 0


def test_a_second_format_with_another_key_is_no_mirror(tmp_path: Path) -> None:
    records = [line(n, "test").record() for n in range(10)]
    write_table(tmp_path / "test.csv", records)
    write_table(tmp_path / "test.jsonl", records)
    assert audit_folder(tmp_path).figures.rows == 10
    write_table(tmp_path / "test.jsonl", [{**records[0], "answer": "C"}, *records[1:]])
    found = audit_folder(tmp_path).figures
    assert (found.rows, found.groups, found.true_conflicts) == (20, 10, 1)


def test_a_second_format_with_a_further_bad_row_is_no_mirror(tmp_path: Path) -> None:
    records = [line(n, "test").record() for n in range(10)]
    write_table(tmp_path / "test.csv", records)
    write_table(tmp_path / "test.jsonl", records)
    with (tmp_path / "test.jsonl").open("a") as file:
        file.write("{}\n")
    found = audit_folder(tmp_path).figures
    assert (found.rows, found.compared, found.groups, found.left_out) == (21, 20, 10, {"missing_column": 1})


def test_the_same_rows_under_another_name_are_duplicates(tmp_path: Path) -> None:
    records = [line(n, "test").record() for n in range(10)]
    for name in ("test.csv", "other.jsonl"):
        write_table(tmp_path / name, records)
    found = audit_folder(tmp_path).figures
    assert (found.groups, found.across_splits, found.leaked) == (10, 10, 10)
    assert found.splits["other"].test_items == 10


def test_a_column_names_the_split_and_the_test_splits_are_chosen(tmp_path: Path) -> None:
    records = [{**line(n, "").record(), "part": part} for part in ("eval", "Train", "val") for n in (0, 1)]
    write_table(tmp_path / "all.parquet", records)
    found = audit_folder(tmp_path, ColumnMap(split="part"), test_splits=("eval", "validation")).figures
    assert list(found.splits) == ["eval", "train", "validation"]
    assert (found.test_splits, found.test_items, found.leaked) == (("eval", "validation"), 4, 4)
    assert found.splits["train"].test_items == 4


# ---- bounds and accounts --------------------------------------------------------------------------------------------


def test_rows_close_whatever_is_wrong_with_them(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_bytes(
        "question,A,B,C,D,answer\n甲？,1,2,3,4,A\n,1,2,3,4,A\n乙？,1,2\n丙？,1,,,,A\n\n丁？,1,2,,4,C\n".encode()
    )
    found = audit_folder(tmp_path).figures
    assert (found.rows, found.compared) == (5, 2)
    assert found.left_out == {"cell_count": 1, "empty_question": 1, "too_few_options": 1}
    assert found.notes == {"empty_option": 1, "answer_is_empty_option": 1, "blank_line": 1}
    assert found.rows == found.compared + sum(found.left_out.values())


def test_every_fault_is_listed_and_the_first_keep_their_detail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicate_audit, "MAX_DETAILS", 2)
    (tmp_path / "test.jsonl").write_text("[]\n" * 5)
    faults = audit_folder(tmp_path).lists.faults
    assert faults.rows() == [("test.jsonl", n, "not_json", "no object: []" if n < 3 else "") for n in range(1, 6)]


def test_a_refused_file_leaves_nothing_behind(tmp_path: Path) -> None:
    good = [line(n, "test").record() for n in range(5)]
    write_table(tmp_path / "a_test.csv", good)
    alone = figures(audit_folder(tmp_path))
    (tmp_path / "b_train.csv").write_bytes((tmp_path / "a_test.csv").read_bytes() + b'\nx?,1\n"open,1,2,3,4,A\n')
    found = audit_folder(tmp_path)
    assert figures(found) == alone
    assert [(file.name, file.reason, file.rows) for file in found.files if file.reason] == [
        ("b_train.csv", Reason.CSV_BROKEN, 0)
    ]
    assert not found.complete


def test_an_audit_beyond_its_bounds_says_which_file_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duplicate_audit, "MAX_ROWS", 12)
    for name in ("a_test.csv", "b_test.csv", "c_dev.csv"):
        write_table(tmp_path / name, [line(n, "test").record() for n in range(2 if name == "c_dev.csv" else 10)])
    found = audit_folder(tmp_path)
    assert {file.name: file.reason for file in found.files} == {
        "a_test.csv": None,
        "b_test.csv": Reason.TOO_MANY_ROWS,
        "c_dev.csv": None,
    }
    assert (found.figures.rows, found.figures.leaked, found.complete) == (12, 2, False)


def test_a_column_of_a_thousand_splits_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicate_audit, "MAX_SPLITS", 3)
    write_table(tmp_path / "all.csv", [{**line(n, "").record(), "part": f"p{n}"} for n in range(5)])
    (file,) = audit_folder(tmp_path, ColumnMap(split="part")).files
    assert (file.reason, file.rows) == (Reason.NO_SPLIT, 0)


@pytest.mark.parametrize("names", [(), ("README.md",)])
def test_nothing_to_audit_is_an_error(tmp_path: Path, names: tuple[str, ...]) -> None:
    for name in names:
        (tmp_path / name).write_text("x")
    with pytest.raises(AuditError, match=f"no .csv, .jsonl or .parquet file in it .{len(names)} other"):
        audit_folder(tmp_path)
    with pytest.raises(AuditError, match="cannot be listed"):
        audit_folder(tmp_path / "absent")


def test_files_that_all_fail_give_an_audit_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_bytes(b"")
    (tmp_path / "dev.jsonl").write_bytes(b"")
    found = audit_folder(tmp_path)
    assert (found.figures.rows, found.figures.groups, found.complete) == (0, 0, False)
    assert {file.name: file.reason for file in found.files} == {
        "test.csv": Reason.MISSING_COLUMN,
        "dev.jsonl": None,
    }


def test_progress_reports_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicate_audit, "PROGRESS_ROWS", 100)
    seen: list[int] = []
    audit_folder(write_splits(tmp_path, small_tmmlu()), progress=seen.append)
    assert seen == [100, 200]
