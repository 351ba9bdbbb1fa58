"""The two key readers on drawn sheets: every grid kind reads right, every planted fault is named."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from support.key_sheets import Mark, Sheet, draw

from opentwbench.exam import key_rows, keys, layout
from opentwbench.exam.keys import read_key
from opentwbench.exam.model import KeySheet, PaperRejected, RejectionReason

KINDS = ("ordinal", "question_number", "question_order")


def answers(count: int, **changes: str) -> dict[int, str]:
    cells = {q_no: "ABCDBDCA"[q_no % 8] for q_no in range(1, count + 1)}
    return cells | {int(name[1:]): cell for name, cell in changes.items()}


def rejected(sheet: Sheet, path: Path) -> PaperRejected:
    with pytest.raises(PaperRejected) as caught:
        read_key(sheet.draw(path))
    return caught.value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 7, 20, 40, 80, 100])
@pytest.mark.parametrize("full_width", [False, True])
def test_every_grid_kind_reads_right_and_the_readers_agree(
    tmp_path: Path, kind: str, count: int, full_width: bool
) -> None:
    cells = answers(count)
    path = Sheet(cells, kind=kind, full_width=full_width).draw(tmp_path / "key.pdf")
    sheet = read_key(path)
    assert sheet.cells == cells
    assert sheet.grid == kind
    assert sheet.declared.total == count
    assert sheet.corrected is False
    assert key_rows.compare(sheet, key_rows.read_rows(path)) == ()


def test_corrected_sheet_with_multi_letter_cells_and_remarks(tmp_path: Path) -> None:
    cells = answers(40, q5="#", q9="#", q38="AB", q39="ABCDE", q40="#")
    remark = "第5題一律給分，第9題答Ｂ或Ｄ或BD者均給分，第40題複選ＡＥ或複選ＡＢＥ給分。"
    sheet = Sheet(cells, corrected=True, remark=remark, single="37題(第1~37題)", multi="3題(第38~40題)")
    read = read_key(sheet.draw(tmp_path / "key.pdf"))
    assert read.cells == cells
    assert read.corrected is True
    assert (read.declared.single, read.declared.multi) == (37, 3)
    assert read.remarks == {
        5: "第5題一律給分",
        9: "第9題答Ｂ或Ｄ或BD者均給分",
        40: "第40題複選ＡＥ或複選ＡＢＥ給分",
    }
    assert read.header["複選題數"] == "3題(第38~40題)"
    assert key_rows.compare(read, key_rows.read_rows(tmp_path / "key.pdf")) == ()


def test_header_fields_by_position(tmp_path: Path) -> None:
    exam = "１０７年公務人員特種考試警察人員、一般警察人員考試及１０７年特種考試交通事業鐵路人員考試"
    sheet = Sheet(answers(10), exam=exam, category="資訊處理", subject="計算機概要（包括程式）", code="9311")
    header = read_key(sheet.draw(tmp_path / "key.pdf")).header
    assert header["考試名稱"] == exam
    assert header["類科名稱"] == "資訊處理"
    assert header["科目名稱"] == "計算機概要（包括程式）"
    assert header["試題代號"] == "9311"
    assert header["標題"] == "測驗式試題標準答案"


def test_exam_name_typed_over_another_is_left_out(tmp_path: Path) -> None:
    sheet = Sheet(answers(10))
    sheet.extra = [Mark(97, 73, "１１４年另一個考試名稱蓋在上面")]
    header = read_key(sheet.draw(tmp_path / "key.pdf")).header
    assert "考試名稱" not in header
    assert header["類科名稱"] == "測驗師"


def test_glued_first_cell(tmp_path: Path) -> None:
    """The label 答案 and the first cell are one run (hazard 6), drawn by one command with the gap as spaces."""
    marks = Sheet(answers(20), kind="question_order", full_width=True).marks()
    first = next(m for m in marks if m.text == "Ｂ" and m.x < 100)
    marks.remove(first)
    marks.remove(next(m for m in marks if m.text == "答案"))
    marks.append(Mark(first.x - 24, first.y, f"答案{first.text}"))
    path = draw(tmp_path / "key.pdf", marks)
    sheet = read_key(path)
    assert sheet.cells == answers(20)
    assert key_rows.compare(sheet, key_rows.read_rows(path)) == ()


def test_unused_label_row_without_numbers(tmp_path: Path) -> None:
    sheet = Sheet(answers(40), kind="question_order")
    sheet.extra = [Mark(46, 249 + 120, "題序"), Mark(46, 249 + 140, "答案")]
    sheet.remark = ""
    marks = [m if not m.text.startswith("備") else dataclasses.replace(m, y=600.0) for m in sheet.marks()]
    assert read_key(draw(tmp_path / "key.pdf", marks)).cells == answers(40)


def test_grid_over_two_pages(tmp_path: Path) -> None:
    cells = answers(40)
    marks = []
    for mark in Sheet(cells, labels=40).marks():
        late = mark.y >= Sheet(cells).y(21) - 1
        marks.append(dataclasses.replace(mark, page=2, y=mark.y - 200) if late else mark)
    marks.append(Mark(280, 800, "第1頁，共2頁"))
    path = draw(tmp_path / "key.pdf", marks)
    sheet = read_key(path)
    assert sheet.cells == cells
    assert key_rows.compare(sheet, key_rows.read_rows(path)) == ()


@pytest.mark.parametrize(
    ("remark", "expected"),
    [
        ("第3題、第5題均一律給分。", {3: "第3題、第5題均一律給分", 5: "第3題、第5題均一律給分"}),
        ("第3題至第5題一律給分。", dict.fromkeys((3, 4, 5), "第3題至第5題一律給分")),
        ("第3題一律給分；第４題答Ａ給分", {3: "第3題一律給分", 4: "第４題答Ａ給分"}),
        ("第3題一律給分，第3題答Ａ給分。", {3: "第3題一律給分；第3題答Ａ給分"}),
        ("", {}),
    ],
)
def test_remarks_are_split_by_question(tmp_path: Path, remark: str, expected: dict[int, str]) -> None:
    path = Sheet(answers(10, q3="#", q4="#", q5="#"), corrected=True, remark=remark).draw(tmp_path / "key.pdf")
    sheet = read_key(path)
    assert sheet.remarks == expected
    assert key_rows.compare(sheet, key_rows.read_rows(path)) == ()


# ---------------------------------------------------------------- planted faults of the sheet


def test_empty_cell_inside_is_rejected_with_its_question(tmp_path: Path) -> None:
    cells = answers(20)
    del cells[13]
    caught = rejected(Sheet(cells, single="20題"), tmp_path / "key.pdf")
    assert caught.reason is RejectionReason.KEY_INCOMPLETE
    assert (caught.page, caught.q_no) == (1, 13)


def test_cell_between_two_labels_is_rejected(tmp_path: Path) -> None:
    marks = Sheet(answers(20)).marks()
    cell = next(m for m in marks if m.text == "D" and m.y == 269.0)
    marks[marks.index(cell)] = dataclasses.replace(cell, x=cell.x + 25)
    with pytest.raises(PaperRejected, match="pairs with no label") as caught:
        read_key(draw(tmp_path / "key.pdf", marks))
    assert caught.value.reason is RejectionReason.KEY_INCOMPLETE


def test_cell_below_two_labels_is_rejected(tmp_path: Path) -> None:
    cells = answers(20) | {4: "ABCDE"}
    caught = rejected(Sheet(cells, kind="question_number"), tmp_path / "key.pdf")
    assert caught.reason is RejectionReason.KEY_INCOMPLETE
    assert caught.q_no in (3, 4, 5)


def test_cell_in_an_unlabelled_row_is_rejected(tmp_path: Path) -> None:
    sheet = Sheet(answers(20), kind="question_number")
    sheet.extra = [Mark(46, 309, "題號"), Mark(46, 329, "答案"), Mark(88, 329, "A")]
    marks = [m if not m.text.startswith("備") else dataclasses.replace(m, y=600.0) for m in sheet.marks()]
    with pytest.raises(PaperRejected, match="pairs with no label"):
        read_key(draw(tmp_path / "key.pdf", marks))


@pytest.mark.parametrize("cell", ["F", "BA", "AA", "A#", "Ｏ", "送分"])
def test_unknown_mark_in_a_cell_is_rejected(tmp_path: Path, cell: str) -> None:
    caught = rejected(Sheet(answers(20) | {6: cell}), tmp_path / "key.pdf")
    assert caught.reason is RejectionReason.KEY_INCOMPLETE
    assert caught.q_no == 6


def test_two_letters_over_each_other_are_rejected(tmp_path: Path) -> None:
    sheet = Sheet(answers(20) | {6: "A"})
    sheet.extra = [Mark(sheet.x(6) - 3, sheet.y(6) + 20, "B")]
    caught = rejected(sheet, tmp_path / "key.pdf")
    assert "over each other" in caught.detail
    assert caught.q_no == 6


def test_label_out_of_order_is_rejected(tmp_path: Path) -> None:
    marks = Sheet(answers(20)).marks()
    label = next(m for m in marks if m.text == "第13題")
    marks[marks.index(label)] = dataclasses.replace(label, text="第18題")
    with pytest.raises(PaperRejected, match="label 18 stands where 13 is expected") as caught:
        read_key(draw(tmp_path / "key.pdf", marks))
    assert caught.value.q_no == 13


def test_missing_answer_row_is_rejected(tmp_path: Path) -> None:
    marks = [m for m in Sheet(answers(20), labels=20).marks() if m.text != "答案"]
    with pytest.raises(PaperRejected, match="without a row of answers"):
        read_key(draw(tmp_path / "key.pdf", marks))


@pytest.mark.parametrize(
    ("remark", "words"),
    [("本科目成績另行公告。", "names no question"), ("第31題一律給分。", "question 31 of 20")],
)
def test_remark_that_fits_no_question_is_rejected(tmp_path: Path, remark: str, words: str) -> None:
    caught = rejected(Sheet(answers(20, q3="#"), corrected=True, remark=remark), tmp_path / "key.pdf")
    assert words in caught.detail


def test_sheet_without_grid_and_files_that_are_no_keys(tmp_path: Path) -> None:
    plain = draw(tmp_path / "plain.pdf", [Mark(30, 40, "申論題試題，本科目沒有測驗題，請依序作答。")])
    empty = draw(tmp_path / "empty.pdf", [Mark(30, 40, " ")])
    page = tmp_path / "page.pdf"
    page.write_bytes(b"\xef\xbb\xbf<!DOCTYPE html><html></html>")
    long = draw(tmp_path / "long.pdf", [Mark(30, 40, "題號", page=n) for n in range(1, layout.MAX_KEY_PAGES + 2)])
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.4\n" + b"\x00" * 400)
    expected = {
        plain: RejectionReason.KEY_INCOMPLETE,
        empty: RejectionReason.NO_TEXT_LAYER,
        page: RejectionReason.NOT_A_PDF,
        long: RejectionReason.TOO_LARGE,
        broken: RejectionReason.NOT_A_PDF,
        tmp_path / "absent.pdf": RejectionReason.NOT_A_PDF,
    }
    for path, reason in expected.items():
        with pytest.raises(PaperRejected) as caught:
            read_key(path)
        assert caught.value.reason is reason, path.name
        assert str(path) in str(caught.value)


# ---------------------------------------------------------------- planted faults of one reader


def _shifted(cells: dict[int, str]) -> dict[int, str]:
    """The fault of a published data set: a # dropped and the rest moved up."""
    kept = [cell for cell in cells.values() if cell != "#"]
    return dict(enumerate(kept, start=1))


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    return Sheet(answers(40, q17="#"), corrected=True, remark="第17題一律給分。").draw(tmp_path / "key.pdf")


@pytest.mark.parametrize(
    "fault", ["first cell lost", "# dropped", "two cells swapped", "one letter wrong", "tail lost"]
)
@pytest.mark.parametrize("reader", ["columns", "rows"])
def test_a_fault_in_one_reader_is_caught_by_the_other(pair: Path, fault: str, reader: str) -> None:
    sheet, rows = read_key(pair), key_rows.read_rows(pair)
    assert key_rows.compare(sheet, rows) == ()
    cells = dict(sheet.cells)
    damaged = {
        "first cell lost": {q: c for q, c in cells.items() if q != 1},
        "# dropped": _shifted(cells),
        "two cells swapped": cells | {3: cells[4], 4: cells[3]},
        "one letter wrong": cells | {9: "E"},
        "tail lost": {q: c for q, c in cells.items() if q < 40},
    }[fault]
    assert damaged != cells
    if reader == "columns":
        sheet = dataclasses.replace(sheet, cells=damaged)
    else:
        rows = dataclasses.replace(rows, cells=damaged)
    assert key_rows.compare(sheet, rows) != ()


def test_a_broken_tolerance_or_row_rule_is_caught(pair: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Faults in the code: every cell paired with the label to its left; counting off from the second word."""
    good_sheet, good_rows = read_key(pair), key_rows.read_rows(pair)

    def left_label(run: list[keys._Char], band: keys._Band, pitch: float) -> keys._Label:
        return min(band.labels, key=lambda label: abs(label.centre - run[0].x0 + pitch))

    with monkeypatch.context() as patch:
        patch.setattr(keys, "_label_of", left_label)
        patch.setattr(keys, "_check_complete", lambda cells, labels: dict(sorted(cells.items())))
        with pytest.raises(PaperRejected, match="two cells below one label"):
            read_key(pair)
    with monkeypatch.context() as patch:
        whole = key_rows._answers
        patch.setattr(key_rows, "_answers", lambda row: whole(row)[1:])
        assert key_rows.compare(good_sheet, key_rows.read_rows(pair)) != ()
    assert key_rows.compare(good_sheet, good_rows) == ()


def test_a_lost_or_changed_remark_is_caught(pair: Path) -> None:
    sheet, rows = read_key(pair), key_rows.read_rows(pair)
    other = dataclasses.replace(sheet, remarks={17: "第17題答Ａ給分"})
    assert any("remark" in words for words in key_rows.compare(other, rows))
    none = dataclasses.replace(sheet, remarks={})
    assert any("remark" in words for words in key_rows.compare(none, rows))


def test_record_is_the_shared_one(pair: Path) -> None:
    assert isinstance(read_key(pair), KeySheet)
    assert read_key(pair).file == str(pair)
