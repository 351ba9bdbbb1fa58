"""The question reader on typeset papers: every hazard is read right, every planted fault is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from opentwbench.exam.layout import MAX_FILE_BYTES
from opentwbench.exam.model import Exclusion, PaperRejected, QuestionPaper, RejectionReason
from opentwbench.exam.questions import read_questions
from samples import defects
from samples.examples import paper_with, plain_paper
from samples.ministry import true_text
from samples.paper import typeset_paper
from samples.spec import KEY_HAZARDS, Hazard, Layout, PaperSpec, Passage

NOT_TEXT = {Hazard.DRAWN_OPTIONS}
PAPER_HAZARDS = [hazard for hazard in Hazard if hazard not in KEY_HAZARDS]


def read(spec: PaperSpec, folder: Path) -> QuestionPaper:
    path = folder / "Q.pdf"
    path.write_bytes(typeset_paper(spec))
    return read_questions(path)


def squeeze(text: str) -> str:
    return "".join(text.split())


def assert_reads_as_meant(spec: PaperSpec, paper: QuestionPaper) -> None:
    """Every number, stem and option as a person reads them, white space apart."""
    assert [q.q_no for q in paper.questions] == list(range(1, len(spec.questions) + 1))
    for meant, seen in zip(spec.questions, paper.questions, strict=True):
        assert squeeze(seen.stem) == squeeze(true_text(meant.stem)), seen.q_no
        if Exclusion.NOT_TEXT in seen.findings:
            continue
        options = {"ABCDE"[i]: squeeze(true_text(text)) for i, text in enumerate(meant.options)}
        assert {letter: squeeze(text) for letter, text in seen.options.items()} == options, seen.q_no


@pytest.mark.parametrize("layout", list(Layout))
@pytest.mark.parametrize("late", [False, True])
def test_plain_paper_in_every_layout(layout: Layout, late: bool, tmp_path: Path) -> None:
    spec = plain_paper(layout, late=late)
    paper = read(spec, tmp_path)
    assert_reads_as_meant(spec, paper)
    assert paper.layout == layout.value
    assert not any(question.findings for question in paper.questions)
    assert paper.unexplained == {}


@pytest.mark.parametrize("hazard", PAPER_HAZARDS)
def test_every_hazard_is_read_right(hazard: Hazard, tmp_path: Path) -> None:
    spec = paper_with(hazard)
    paper = read(spec, tmp_path)
    assert_reads_as_meant(spec, paper)
    excluded = [q.q_no for q in paper.questions if Exclusion.NOT_TEXT in q.findings]
    assert excluded == ([3] if hazard in NOT_TEXT else [])


def test_what_only_the_page_shows_is_found(tmp_path: Path) -> None:
    figure = read(paper_with(Hazard.AXIS_TICKS), tmp_path)
    assert [q.q_no for q in figure.questions if Exclusion.FIGURE in q.findings] == [3]
    passage = read(paper_with(Hazard.PASSAGE_AFTER_D), tmp_path)
    assert [q.q_no for q in passage.questions if Exclusion.PASSAGE_GROUP in q.findings] == [4]
    cloze = read(paper_with(Hazard.CLOZE_BLANKS), tmp_path)
    assert [q.q_no for q in cloze.questions if Exclusion.PASSAGE_GROUP in q.findings] == [5, 6]
    section = read(paper_with(Hazard.SECTION_AFTER_D), tmp_path)
    assert section.multi_select_range == (4, 4)


@pytest.mark.parametrize("hazard", PAPER_HAZARDS)
def test_every_character_is_accounted_for_once(hazard: Hazard, tmp_path: Path) -> None:
    characters = dict(read(paper_with(hazard), tmp_path).characters)
    printed = characters.pop("printed")
    assert sum(characters.values()) == printed > 50
    assert characters.get("unexplained", 0) == 0


def test_text_that_belongs_to_nothing_refuses_the_paper(tmp_path: Path) -> None:
    plain = plain_paper()
    stray = Passage("庫存盤點紀錄如後", ("這一段文字不屬於任何題目，也沒有說明用途。",))
    spec = replace(plain, blocks=(*plain.blocks[:3], stray, *plain.blocks[3:]))
    with pytest.raises(PaperRejected, match="stand outside every question") as refused:
        read(spec, tmp_path)
    assert (refused.value.page, refused.value.q_no) == (1, 3)


def test_regions_name_every_part(tmp_path: Path) -> None:
    paper = read(plain_paper(), tmp_path)
    for question in paper.questions:
        assert {region.part for region in question.regions} == {"number", "stem", "A", "B", "C", "D"}
        assert all(region.box.x0 < region.box.x1 and region.box.y0 < region.box.y1 for region in question.regions)


@pytest.mark.parametrize(
    ("spec", "reason", "q_no"),
    [
        (defects.skip_number(plain_paper(), 2), RejectionReason.NUMBERING_BROKEN, 2),
        (defects.skip_number(plain_paper(), 1), RejectionReason.NUMBERING_BROKEN, 2),
    ],
)
def test_broken_numbering_is_refused(spec: PaperSpec, reason: RejectionReason, q_no: int, tmp_path: Path) -> None:
    with pytest.raises(PaperRejected) as refused:
        read(spec, tmp_path)
    assert (refused.value.reason, refused.value.q_no) == (reason, q_no)
    assert "Q.pdf" in str(refused.value)


def test_a_lost_option_is_seen(tmp_path: Path) -> None:
    paper = read(defects.drop_option(plain_paper(), 2), tmp_path)
    assert len([text for text in paper.questions[1].options.values() if text]) == 3
    assert Exclusion.NOT_TEXT in paper.questions[1].findings


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", RejectionReason.NOT_A_PDF),
        (b"\xef\xbb\xbf<!DOCTYPE html><html>no such file</html>", RejectionReason.NOT_A_PDF),
        (b"%PDF-1.4\nrubbish that is no PDF at all", RejectionReason.NOT_A_PDF),
    ],
)
def test_what_is_no_pdf_is_refused(content: bytes, reason: RejectionReason, tmp_path: Path) -> None:
    path = tmp_path / "Q.pdf"
    path.write_bytes(content)
    with pytest.raises(PaperRejected) as refused:
        read_questions(path)
    assert refused.value.reason is reason
    assert refused.value.file == "Q.pdf"


def test_encrypted_scanned_and_oversized_files_are_refused(tmp_path: Path) -> None:
    pymupdf = pytest.importorskip("pymupdf")
    path = tmp_path / "Q.pdf"
    document = pymupdf.open(stream=typeset_paper(plain_paper()))
    document.save(path, encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="u", owner_pw="o")
    with pytest.raises(PaperRejected) as refused:
        read_questions(path)
    assert refused.value.reason is RejectionReason.ENCRYPTED

    scan = pymupdf.open()
    scan.new_page()
    scan.save(path)
    with pytest.raises(PaperRejected) as refused:
        read_questions(path)
    assert refused.value.reason is RejectionReason.NO_TEXT_LAYER

    with path.open("r+b") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(PaperRejected) as refused:
        read_questions(path)
    assert refused.value.reason is RejectionReason.TOO_LARGE


def test_prose_without_markers_holds_no_questions(tmp_path: Path) -> None:
    pymupdf = pytest.importorskip("pymupdf")
    path = tmp_path / "Q.pdf"
    document = pymupdf.open()
    page = document.new_page()
    for i in range(20):
        page.insert_text((72, 72 + 20 * i), "1 This is prose without any option at all.")
    document.save(path)
    with pytest.raises(PaperRejected) as refused:
        read_questions(path)
    assert refused.value.reason is RejectionReason.NO_QUESTIONS
