"""Damaged original files: every adapter says which file, where and why, and none is followed, guessed or swallowed."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from docx import Document as Docx
from support import hostile_pdfs

from opentwbench.rag import readers
from opentwbench.rag.adapters import read_benchmark
from opentwbench.rag.model import RagError
from opentwbench.rag.readers import read_docx, read_files, read_pdf

ROW = {
    "question": "玉山有多高？",
    "contexts": ["甲", "乙", "丙", "丁"],
    "reference": "玉山有3,952公尺高。",
    "gold_position": 2,
    "category": "Geography",
    "source_chunk": "Geography/玉山/0f3a",
}


def tw_rag(folder: Path, *rows: Any) -> Path:
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    (folder / "ragas.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def test_a_sound_tw_rag_row_is_read_whole(tmp_path: Path) -> None:
    made = read_benchmark("tw_rag", tw_rag(tmp_path, ROW))
    (question,) = made.questions
    assert question.offered.index(question.doc_id) == 1 and len(made.documents) == 4


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"contexts": ["甲", "乙", "丙"]}, "contexts are not 4 texts"),
        ({"contexts": ["甲", "乙", "丙", ""]}, "contexts are not 4 texts"),
        ({"contexts": ["甲", "乙", "丙", 4]}, "contexts are not 4 texts"),
        ({"contexts": "甲乙丙丁"}, "not a list"),
        ({"contexts": ["甲", "甲", "丙", "丁"]}, "two contexts are the same"),
        ({"gold_position": 0}, "gold_position is not 1 to 4"),
        ({"gold_position": 5}, "gold_position is not 1 to 4"),
        ({"gold_position": True}, "gold_position is not 1 to 4"),
        ({"gold_position": "2"}, "gold_position is not 1 to 4"),
        ({"question": ""}, "question is missing or empty"),
        ({"question": None}, "question is missing or empty"),
        ({"reference": 16}, "reference is no text"),
        ({"category": " "}, "category is missing or empty"),
        ({"question": "題\ud800"}, r"lone surrogate at \.question"),
        ({"contexts": ["甲", "乙", "丙\udfff", "丁"]}, r"lone surrogate at \.contexts\[2\]"),
        ({"item_id": "\ud83d"}, r"lone surrogate at \.item_id"),
        ({"\ud800": "x"}, "lone surrogate at , a key"),
    ],
)
def test_a_damaged_tw_rag_row_names_its_line(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    with pytest.raises(RagError, match=rf"ragas.jsonl line 2.*{reason}"):
        read_benchmark("tw_rag", tw_rag(tmp_path, ROW, {**ROW, "question": "另一題？", **change}))


@pytest.mark.parametrize(
    "line", ["[]", "{", '{"question": NaN}', '{"a": 1, "a": 2}', "\ufeff{}", "null", "[" * 100_000]
)
def test_a_line_that_is_no_object_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(RagError, match=r"ragas\.jsonl"):
        read_benchmark("tw_rag", tw_rag(tmp_path, ROW, line))


def test_a_surrogate_pair_is_a_character_and_an_empty_list_has_no_question(tmp_path: Path) -> None:
    made = read_benchmark("tw_rag", tw_rag(tmp_path, {**ROW, "question": "\U0001f600 是什麼？"}))
    assert made.questions[0].question.startswith("\U0001f600")
    (tmp_path / "locomo10.json").write_text("[]")
    with pytest.raises(RagError, match=r"locomo: no question to ask in .*: 0 rows, none dropped"):
        read_benchmark("locomo", tmp_path)


def test_a_withdrawn_item_is_dropped_and_counted(tmp_path: Path) -> None:
    rows = [{**ROW, "item_id": "rag-000000000001"}, {**ROW, "item_id": "rag-000000000002", "question": "另一題？"}]
    tw_rag(tmp_path, *rows)
    gone = {
        "item_id": "rag-000000000001",
        "reason": "text_damaged",
        "date": "2026-11-30",
        "evidence": "a line is missing",
    }
    (tmp_path / "withdrawn.jsonl").write_text(json.dumps(gone) + "\n")
    made = read_benchmark("tw_rag", tmp_path)
    assert [each.question_id for each in made.questions] == ["rag-000000000002"]
    assert (made.rows, made.dropped) == (2, {"withdrawn": 1})
    (tmp_path / "withdrawn.jsonl").write_text("{}\n")
    with pytest.raises(RagError):
        read_benchmark("tw_rag", tmp_path)
    (tmp_path / "withdrawn.jsonl").write_text("")
    assert len(read_benchmark("tw_rag", tmp_path).questions) == 2


def test_an_id_that_stands_twice_and_a_file_that_is_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(RagError, match="occurs twice"):
        read_benchmark("tw_rag", tw_rag(tmp_path, {**ROW, "item_id": "rag-1"}, {**ROW, "item_id": "rag-1"}))
    (tmp_path / "empty").mkdir()
    with pytest.raises(RagError, match=r"looked for ragas\.jsonl"):
        read_benchmark("tw_rag", tmp_path / "empty")


def a_docx(path: Path) -> None:
    made = Docx()
    made.add_paragraph("The midterm counts thirty per cent.")
    made.add_table(1, 2).rows[0].cells[0].text = "Week 1"
    made.add_paragraph("Office hours follow the table.")
    made.save(str(path))


def a_pdf(path: Path) -> None:
    made = pymupdf.open()
    made.new_page().insert_text((72, 72), "Net sales were 15.7 billion.")
    made.save(str(path))


@pytest.mark.parametrize(
    ("name", "write", "read"), [("syllabus.docx", a_docx, read_docx), ("filing.pdf", a_pdf, read_pdf)]
)
def test_a_document_cut_anywhere_is_named_and_a_whole_one_read(
    tmp_path: Path, name: str, write: Callable[[Path], None], read: Callable[[Path], Any]
) -> None:
    path = tmp_path / name
    write(path)
    assert list(read(path))
    data = path.read_bytes()
    for share in (0.0, 0.1, 0.5, 0.9):
        path.write_bytes(data[: int(len(data) * share)])
        try:
            parts = list(read(path))
        except RagError as error:
            assert name in str(error)
        else:  # MuPDF mends a file whose end is gone: what it reads must be what stood there
            assert name.endswith(".pdf") and "15.7" in parts[0].text
    for junk in (b"\x00" * 5_000, b"<html>not found</html>", b"%PDF-1.7\n", b"PK\x03\x04" + b"\xff" * 500):
        path.write_bytes(junk)
        with pytest.raises(RagError, match=name):
            list(read(path))


def test_a_docx_that_unpacks_to_gigabytes_or_reaches_outside_is_refused(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.docx"
    a_docx(bomb)
    with zipfile.ZipFile(bomb) as held:
        parts = {each: held.read(each) for each in held.namelist()}
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as made:
        for each, data in parts.items():
            made.writestr(each, b" " * (600 << 20) if each == "word/document.xml" else data)
    with pytest.raises(RagError, match=r"bomb\.docx"):
        list(read_docx(bomb))
    entity = tmp_path / "entity.docx"
    secret = tmp_path / "secret.txt"
    secret.write_text("outside")
    declared = f'<?xml version="1.0"?><!DOCTYPE w [<!ENTITY x SYSTEM "file://{secret}">]>'.encode()
    body = parts["word/document.xml"].split(b"?>", 1)[1].replace(b"The midterm", b"&x;")
    with zipfile.ZipFile(entity, "w", zipfile.ZIP_DEFLATED) as made:
        for each, data in parts.items():
            made.writestr(each, declared + body if each == "word/document.xml" else data)
    try:
        told = " ".join(part.text for part in read_docx(entity))
    except RagError:
        told = ""
    assert "outside" not in told


# -- the process that reads -------------------------------------------------------------------------------------------


def test_files_are_read_in_order_by_another_process(tmp_path: Path) -> None:
    a_docx(tmp_path / "syllabus.docx")
    a_pdf(tmp_path / "filing.pdf")
    pdf, docx = tmp_path / "filing.pdf", tmp_path / "syllabus.docx"
    assert read_files([pdf, docx, pdf]) == [read_pdf(pdf), read_docx(docx), read_pdf(pdf)]
    assert read_files([]) == []


@pytest.mark.parametrize("bomb", ["flate_bomb", "form_bomb", "path_bomb"])
def test_a_pdf_that_never_ends_costs_its_seconds_and_names_itself(tmp_path: Path, bomb: str) -> None:
    a_pdf(tmp_path / "sound.pdf")
    path = tmp_path / f"{bomb}.pdf"
    path.write_bytes(getattr(hostile_pdfs, bomb)())
    with pytest.raises(RagError, match=rf"{bomb}\.pdf: reading it failed: no result after 4 s"):
        read_files([tmp_path / "sound.pdf", path], seconds=4)


@pytest.mark.parametrize(
    ("hostile", "reason"),
    [
        ("many_pages", "100000 pages, more than 5000"),
        ("encrypted", "encrypted"),
        ("page_tree_loop", "not a PDF that can be read"),
        ("deep_content", "not a PDF that can be read"),
        ("xref_bomb", "no text layer"),
        ("web_page", "not a PDF: no PDF header"),
    ],
)
def test_a_hostile_pdf_is_refused_with_its_reason(tmp_path: Path, hostile: str, reason: str) -> None:
    path = tmp_path / f"{hostile}.pdf"
    path.write_bytes(getattr(hostile_pdfs, hostile)())
    with pytest.raises(RagError, match=rf"{hostile}\.pdf: {reason}"):
        read_files([path])


def test_a_reader_that_wants_more_memory_than_it_may_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_pdf(tmp_path / "filing.pdf")
    monkeypatch.setattr(readers, "MEMORY", 48 << 20)  # less than MuPDF itself
    with pytest.raises(RagError, match=r"filing\.pdf: reading it failed"):
        read_files([tmp_path / "filing.pdf"])


def test_more_text_than_a_document_may_have_is_not_handed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_pdf(tmp_path / "filing.pdf")
    monkeypatch.setattr(readers, "MAX_TEXT", 10)
    with pytest.raises(RagError, match=r"filing\.pdf: more than 10 characters"):
        read_pdf(tmp_path / "filing.pdf")
