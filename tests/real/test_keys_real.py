"""Every real key: both readers agree on each, the eye-checked cells are right, every remark is understood."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from opentwbench.exam.corrections import rule
from opentwbench.exam.key_rows import compare, read_rows
from opentwbench.exam.keys import read_key
from opentwbench.exam.model import Exclusion, KeySheet

pytestmark = pytest.mark.real

FILES = 278
CORRECTED = 60


@pytest.fixture(scope="module")
def sheets(ministry: Path) -> dict[Path, KeySheet]:
    """Every key file as the first reader sees it; a rejection fails the module and names its file."""
    files = sorted(path for path in (ministry / "files").rglob("[SM].pdf"))
    return {path: read_key(path) for path in files}


def test_every_key_file_is_read(sheets: dict[Path, KeySheet]) -> None:
    assert len(sheets) == FILES
    assert Counter(sheet.grid for sheet in sheets.values()) == {
        "ordinal": 232, "question_number": 45, "question_order": 1,
    }  # fmt: skip


def test_golden_cells(sheets: dict[Path, KeySheet], shared: Path, ministry: Path) -> None:
    golden = json.loads((shared / "facts" / "golden_keys.json").read_text(encoding="utf-8"))
    checked = 0
    for entry in golden.values():
        path = ministry / entry["key_file"]
        true = {int(number): cell for number, cell in entry["answers"].items()}
        assert sheets[path].cells == true, entry["key_file"]
        assert read_rows(path).cells == true, entry["key_file"]
        checked += len(true)
    assert checked == 485


def test_the_readers_agree_on_every_file(sheets: dict[Path, KeySheet]) -> None:
    different = {path: found for path, sheet in sheets.items() if (found := compare(sheet, read_rows(path)))}
    assert different == {}


def test_declared_counts_are_the_cells_but_for_the_known_misprints(sheets: dict[Path, KeySheet]) -> None:
    wrong = {
        path.parts[-4] + path.parts[-2]: (sheet.declared.single, sheet.declared.multi, len(sheet.cells))
        for path, sheet in sheets.items()
        if sheet.declared.total != len(sheet.cells)
    }
    # Hazard 4: the corrected keys of three papers print the total as the number of single-answer questions.
    assert wrong == {"1031100001": (70, 10, 70), "1031100002": (74, 12, 74), "1031100004": (70, 10, 70)}


def test_corrected_sheets_are_those_of_t_m_and_every_remark_is_understood(sheets: dict[Path, KeySheet]) -> None:
    assert {path.name for path, sheet in sheets.items() if sheet.corrected} == {"M.pdf"}
    assert sum(sheet.corrected for sheet in sheets.values()) == CORRECTED
    rulings: Counter[Exclusion | None] = Counter()
    for path, sheet in sheets.items():
        marked = {q_no for q_no, cell in sheet.cells.items() if cell == "#"}
        assert set(sheet.remarks) == marked, path
        rulings.update(rule(sheet.cells[q_no], sheet.remarks[q_no]).exclusion for q_no in marked)
    assert Exclusion.REMARK_UNREAD not in rulings
    # Counted over the files of this mirror; a new single key four times (hazard 11).
    assert rulings == {
        Exclusion.SEVERAL_ANSWERS_ACCEPTED: 79,
        Exclusion.VOIDED: 35,
        None: 4,
        Exclusion.CREDITED_UNLESS_BLANK: 3,
        Exclusion.MULTI_SELECT: 3,
    }


def test_header_fields_are_found(sheets: dict[Path, KeySheet]) -> None:
    for field in ("標題", "類科名稱", "科目名稱"):
        assert [path for path, sheet in sheets.items() if not sheet.header.get(field)] == []
    # Four sheets have a new examination name typed over the old one; it is left out, not mixed.
    without = {"/".join(path.parts[-4:]) for path, sheet in sheets.items() if "考試名稱" not in sheet.header}
    assert without == {f"102121/201/{subject}/S.pdf" for subject in ("0109", "0213", "0214", "0305")}


def test_corrected_keys_differ_from_first_ones_at_marked_cells_only(sheets: dict[Path, KeySheet]) -> None:
    compared = 0
    for path, sheet in sheets.items():
        first = sheets.get(path.with_name("S.pdf"))
        if path.name != "M.pdf" or first is None:
            continue
        compared += 1
        assert len(first.cells) == len(sheet.cells), path
        changed = {q_no for q_no, cell in sheet.cells.items() if first.cells[q_no] != cell}
        assert {sheet.cells[q_no] for q_no in changed} <= {"#"}, path
    assert compared > 40
