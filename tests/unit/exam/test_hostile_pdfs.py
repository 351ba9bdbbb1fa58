"""Hostile PDFs end as one rejected paper each, with a named reason, in every command that opens one; others go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pymupdf
import pytest
from pymupdf import mupdf
from support.hostile_pdfs import HOSTILE, plain
from typer.testing import CliRunner

from opentwbench.exam.layout import MAX_FILE_BYTES, MAX_OBJECTS, MAX_PAGE_CONTENT, open_pdf, read_pages
from opentwbench.exam.model import PaperRecord, PaperRejected, RejectionReason
from opentwbench.exam.paper import SECONDS_A_PAPER, parse_pairs
from opentwbench.exam.picture import Wanted, illustrate
from orchestration.paper_commands import app
from samples.examples import plain_key, plain_paper
from samples.key import typeset_key
from samples.paper import typeset_paper
from samples.spec import KeySpec

R = RejectionReason
BRIEF = 10.0
"""Seconds, the start of a process included, for the files of ENDLESS and UNDRAWN, which would go on for long."""

ENDS: Mapping[str, tuple[RejectionReason, str]] = {
    "web_page": (R.NOT_A_PDF, "does not start with %PDF"),
    "cut_short": (R.NOT_A_PDF, "cut short"),
    "no_objects": (R.NOT_A_PDF, "cannot be opened"),
    "encrypted": (R.ENCRYPTED, "needs a password"),
    "many_pages": (R.TOO_LARGE, "100000 pages, at most 200"),
    "false_page_count": (R.NOT_A_PDF, "Invalid number of pages"),
    "page_tree_loop": (R.NOT_A_PDF, "cycle in page tree"),
    "flate_bomb": (R.TOO_LARGE, f"unpacks to more than {MAX_PAGE_CONTENT} bytes"),
    "nested_flate_bomb": (R.TOO_LARGE, f"unpacks to more than {MAX_PAGE_CONTENT} bytes"),
    "painting_bomb": (R.TOO_LARGE, f"unpacks to more than {MAX_PAGE_CONTENT} bytes"),
    "path_bomb": (R.TOO_LARGE, f"unpacks to more than {MAX_PAGE_CONTENT} bytes"),
    "form_bomb": (R.TOO_LARGE, f"no result after {BRIEF:g} s of processor time"),
    "form_painting_bomb": (R.TOO_LARGE, ""),  # its memory, or its time where the machine has little
    "many_objects": (R.TOO_LARGE, f"at most {MAX_OBJECTS}"),
    "javascript": (R.ACTIVE_CONTENT, "/JavaScript"),
    "javascript_names": (R.ACTIVE_CONTENT, "/JavaScript"),
    "javascript_escaped": (R.ACTIVE_CONTENT, "/JavaScript"),
    "launch": (R.ACTIVE_CONTENT, "/Launch"),
    "attachment": (R.ACTIVE_CONTENT, "/EmbeddedFile"),
    "deep_arrays": (R.NOT_A_PDF, "no page can be read"),
    "deep_content": (R.NOT_A_PDF, "too many nested graphics states"),
    "xref_bomb": (R.NOT_A_PDF, "no page can be read"),
    "object_stream_loop": (R.NOT_A_PDF, "no page can be read"),
    # Nothing of these is carried out when a page's text is read, so what is left is a page that is no paper.
    "self_drawing_form": (R.NO_QUESTIONS, "no option markers"),
    "huge_image": (R.NO_QUESTIONS, "no option markers"),
    "huge_image_mask": (R.NO_QUESTIONS, "no option markers"),
    "huge_page": (R.NO_QUESTIONS, "no option markers"),
    "garbage_font": (R.NO_QUESTIONS, "no option markers"),
    "xref_loop": (R.NO_QUESTIONS, "no option markers"),
    "xref_nowhere": (R.NO_QUESTIONS, "no option markers"),
}

ENDLESS = ("form_bomb",)
ENDING = tuple(name for name in ENDS if name not in ENDLESS)
UNDRAWN = (*ENDLESS, "huge_image")
"""What is not drawn within a few seconds; the words beside a huge picture are read without unpacking it."""

DRAWN = {"self_drawing_form", "huge_image_mask", "huge_page", "garbage_font", "xref_loop", "xref_nowhere"}
"""What `otb paper show` can draw, as a rejected paper, within its limits."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every hostile file, and a sound pair Q.pdf and K.pdf."""
    made = tmp_path_factory.mktemp("hostile")
    for name, make in HOSTILE.items():
        (made / f"{name}.pdf").write_bytes(make())
    plain_sheet = plain_key()
    cells = {1: "B", 2: "C", 3: "A", 4: "B"}
    key = KeySpec(plain_sheet.exam_name, plain_sheet.category, plain_sheet.subject, cells, single=4)
    (made / "Q.pdf").write_bytes(typeset_paper(plain_paper()))
    (made / "K.pdf").write_bytes(typeset_key(key))
    return made


def test_the_table_has_every_hostile_file() -> None:
    assert set(ENDS) == set(HOSTILE)
    assert len(ENDS) == 30


def parsed(folder: Path, names: Sequence[str], seconds: float = SECONDS_A_PAPER) -> dict[str, PaperRecord]:
    """Each file as a question paper with a sound key."""
    pairs = [(folder / f"{name}.pdf", folder / "K.pdf") for name in names]
    return dict(zip(names, parse_pairs(pairs, 2, seconds=seconds), strict=True))


def test_each_hostile_question_paper_is_rejected_with_its_reason_and_the_others_go_on(folder: Path) -> None:
    records = {**parsed(folder, (*ENDING, "Q")), **parsed(folder, ENDLESS, BRIEF)}
    assert records["Q"].accepted and records["Q"].found == 4
    wrong = {
        name: (str(records[name].reason), records[name].detail)
        for name, (reason, words) in ENDS.items()
        if records[name].reason is not reason or words not in records[name].detail
    }
    assert wrong == {}
    assert not any("fault while parsing" in record.detail for record in records.values())


def test_each_hostile_key_is_rejected_and_the_others_go_on(folder: Path) -> None:
    sound = (folder / "Q.pdf", folder / "K.pdf")
    names = [name for name in ENDING if name != "form_painting_bomb"]  # it costs seconds, and pages are read alike
    *hostile, last = parse_pairs([*((sound[0], folder / f"{name}.pdf") for name in names), sound], 2)
    accepted = [record.key_file for record in hostile if record.accepted]
    faults = [record.detail for record in hostile if "fault while parsing" in record.detail]
    assert (len(hostile), accepted, faults) == (28, [], [])
    assert last.accepted


def test_show_refuses_or_draws_each_within_its_limits(folder: Path) -> None:
    names = tuple(name for name in ENDS if name not in UNDRAWN)
    *hostile, sound = illustrate([Wanted(folder / f"{name}.pdf") for name in (*names, "Q")], processes=2)
    assert {name for name, seen in zip(names, hostile, strict=True) if seen.pictures} == DRAWN
    assert [name for name, seen in zip(names, hostile, strict=True) if not (seen.refused or seen.rejection)] == []
    assert (sound.questions, len(sound.pictures), sound.refused) == (4, 1, "")
    (endless,) = illustrate([Wanted(folder / f"{name}.pdf") for name in ENDLESS], processes=1, seconds=BRIEF)
    assert "no result after 10 s" in endless.refused
    # A fast processor draws this one within 10 s.
    (late,) = illustrate([Wanted(folder / "huge_image.pdf")], processes=1, seconds=3)
    assert "no result after 3 s" in late.refused


def test_the_command_that_shows_a_paper_survives_one_that_would_end_it(folder: Path, tmp_path: Path) -> None:
    arguments = ["show", str(folder / "form_bomb.pdf"), "--out", str(tmp_path / "out"), "--seconds", "5"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 3
    assert "too_large: no result after 5 s" in done.stderr
    assert not (tmp_path / "out").exists()


def test_scripts_are_not_even_supported() -> None:
    """The wheel's MuPDF has no script engine, so nothing in a PDF can run before the file is refused."""
    with pymupdf.open(stream=HOSTILE["javascript"](), filetype="pdf") as document:
        assert mupdf.pdf_js_supported(mupdf.pdf_document_from_fz_document(document.this)) == 0


def test_places_that_are_no_files_are_refused(tmp_path: Path) -> None:
    import os

    (tmp_path / "folder.pdf").mkdir()
    os.mkfifo(tmp_path / "pipe.pdf")
    (tmp_path / "device.pdf").symlink_to("/dev/zero")
    for name in ("folder.pdf", "pipe.pdf", "device.pdf"):
        with pytest.raises(PaperRejected) as refused:
            open_pdf(tmp_path / name)
        assert (refused.value.reason, refused.value.detail) == (R.NOT_A_PDF, "is no regular file")
    with (tmp_path / "long.pdf").open("wb") as file:
        file.write(b"%PDF-1.7\n")
        file.truncate(MAX_FILE_BYTES + 1)  # takes no room on the disk
    with pytest.raises(PaperRejected) as refused:
        open_pdf(tmp_path / "long.pdf")
    assert refused.value.reason is R.TOO_LARGE


def test_a_page_of_words_is_read(tmp_path: Path) -> None:
    """The builder's own plain file passes every one of these limits: what is refused above is refused for its harm."""
    (tmp_path / "plain.pdf").write_bytes(plain())
    [page] = read_pages(tmp_path / "plain.pdf")
    assert "Question one" in "".join(span.text for span in page.spans)
