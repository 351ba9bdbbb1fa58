"""`otb paper` from outside: output shapes, order, exit statuses, hostile lists, pictures."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pymupdf
import pytest
from typer.testing import CliRunner

from orchestration.cli import main
from orchestration.paper_commands import app
from samples.examples import paper_with, plain_key, plain_paper
from samples.key import typeset_key
from samples.paper import typeset_paper
from samples.spec import Hazard, KeySpec

RUN = CliRunner()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Q.pdf with four questions and K.pdf, its key; the working directory."""
    plain = plain_key()
    key = KeySpec(plain.exam_name, plain.category, plain.subject, {1: "B", 2: "C", 3: "A", 4: "B"}, single=4)
    (tmp_path / "Q.pdf").write_bytes(typeset_paper(plain_paper()))
    (tmp_path / "K.pdf").write_bytes(typeset_key(key))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_one_pair_as_json(folder: Path) -> None:
    result = RUN.invoke(app, ["parse", "Q.pdf", "K.pdf", "--json"])
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) == 1
    report = json.loads(lines[0])
    assert (report["question_file"], report["key_file"], report["status"]) == ("Q.pdf", "K.pdf", "accepted")
    assert report["declared"] == {"single": 4, "multi": 0}
    assert [item["key"] for item in report["items"]] == ["B", "C", "A", "B"]
    assert report["items"][1]["options"]["C"] == "主記憶體"


def test_one_rejected_pair_exits_3(folder: Path) -> None:
    for arguments in (["--json"], []):
        result = RUN.invoke(app, ["parse", "absent.pdf", "K.pdf", *arguments])
        assert result.exit_code == 3
        assert "not_a_pdf" in result.stdout


def test_a_list_gives_one_line_a_pair_in_order(folder: Path) -> None:
    names = ["Q.pdf", "absent.pdf", "Q.pdf", "K.pdf", ""]
    rows = "".join(f"{name},K.pdf,note\n" for name in names)
    (folder / "pairs.csv").write_text("question,key,remark\n" + rows, encoding="utf-8-sig")
    result = RUN.invoke(app, ["parse", "--pairs", "pairs.csv", "--json", "--processes", "2"])
    assert result.exit_code == 0, result.stderr
    reports = [json.loads(line) for line in result.stdout.splitlines()]
    assert [report["question_file"] for report in reports] == names
    assert [report["reason"] for report in reports] == [None, "not_a_pdf", None, "no_questions", "not_a_pdf"]
    strict = RUN.invoke(app, ["parse", "--pairs", "pairs.csv", "--strict"])
    assert strict.exit_code == 3
    assert "accepted 2" in strict.stdout


def test_relative_paths_start_here_or_at_the_list(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "pairs.csv").write_text("question,key\nQ.pdf,K.pdf\n")
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    result = RUN.invoke(app, ["parse", "--pairs", "../pairs.csv", "--json"])
    assert json.loads(result.stdout)["status"] == "accepted"
    (elsewhere / "Q.pdf").write_text("not a paper: the working directory comes first")
    result = RUN.invoke(app, ["parse", "--pairs", "../pairs.csv", "--json"])
    assert json.loads(result.stdout)["reason"] == "not_a_pdf"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"q,k\na,b\n", "needs one column question and one key"),
        (b"question,answer\na,b\n", "needs one column key"),
        (b"question,question,key\na,b,c\n", "needs one column question"),
        (b"", "needs one column question"),
        (b"question,key\n\xff\xfe,b\n", "cannot be read as CSV in UTF-8"),
        (b'question,key\n"Q.pdf,K.pdf\nQ.pdf,K.pdf\n', "cannot be read as CSV in UTF-8: unexpected end of data"),
        (b'question,key\n"Q.pdf,K.pdf\nQ.pdf,K.pdf"\n', "row 2 holds a name over several lines: a quote is not closed"),
    ],
)
def test_a_bad_list_exits_2_and_says_why(folder: Path, content: bytes, words: str) -> None:
    (folder / "pairs.csv").write_bytes(content)
    result = RUN.invoke(app, ["parse", "--pairs", "pairs.csv", "--json"])
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stdout == ""


def test_a_row_without_its_key_is_a_rejected_pair_and_the_rest_goes_on(folder: Path) -> None:
    (folder / "pairs.csv").write_text("question,key\nonly-one\nQ.pdf,\n,K.pdf\nQ.pdf,K.pdf\n")
    result = RUN.invoke(app, ["parse", "--pairs", "pairs.csv", "--json"])
    assert result.exit_code == 0, result.stderr
    reports = [json.loads(line) for line in result.stdout.splitlines()]
    assert [report["status"] for report in reports] == ["rejected"] * 3 + ["accepted"]
    assert [line.split(": ")[-1] for line in result.stderr.splitlines()] == [
        f"row {number} lacks a question or a key" for number in (2, 3, 4)
    ]


@pytest.mark.parametrize("arguments", [["parse"], ["parse", "Q.pdf"], ["parse", "Q.pdf", "K.pdf", "--pairs", "x.csv"]])
def test_wrong_arguments_exit_2(folder: Path, arguments: list[str]) -> None:
    assert RUN.invoke(app, arguments).exit_code == 2
    assert RUN.invoke(app, ["parse", "--pairs", "absent.csv"]).exit_code == 2


def test_hostile_names_in_a_list_are_rejected_pairs(folder: Path) -> None:
    names = ["a\x00b.pdf", "x" * 5000, "y" * 200_000, "\x1b[2J.pdf", "[bold]x[/bold].pdf"]
    (folder / "pairs.csv").write_text("question,key\n" + "".join(f'"{name}",K.pdf\n' for name in names))
    result = RUN.invoke(app, ["parse", "--pairs", "pairs.csv", "--json"])
    assert result.exit_code == 0, result.stderr
    reports = [json.loads(line) for line in result.stdout.splitlines()]
    assert [report["reason"] for report in reports] == ["not_a_pdf"] * len(names)
    assert all("fault while parsing" not in report["detail"] for report in reports)
    table = RUN.invoke(app, ["parse", "--pairs", "pairs.csv"])
    assert table.exit_code == 0
    assert "\x1b[2J" not in table.stdout


def test_table_of_one_pair(folder: Path) -> None:
    result = RUN.invoke(app, ["parse", "Q.pdf", "K.pdf"])
    assert result.exit_code == 0
    assert "accepted" in result.stdout
    assert "usable 4" in result.stdout


def test_show_draws_what_was_seen(folder: Path) -> None:
    plain = RUN.invoke(app, ["show", "Q.pdf", "--out", "plain"])
    assert plain.exit_code == 0, plain.stderr
    assert "4 questions read" in plain.stderr
    assert [path.name for path in (folder / "plain").iterdir()] == ["page_01.png"]
    one = RUN.invoke(app, ["show", "Q.pdf", "--question", "2", "--out", "one"])
    assert one.exit_code == 0
    assert [path.name for path in (folder / "one").iterdir()] == ["question_002_page_01.png"]
    bare = pymupdf.open("Q.pdf")[0].get_pixmap(dpi=120)
    many, few = (coloured(folder / name) for name in ("plain/page_01.png", "one/question_002_page_01.png"))
    assert coloured_pixels(bare) == 0
    assert 0 < few < many


def test_show_draws_the_words_of_a_rejected_paper(folder: Path) -> None:
    (folder / "cut.pdf").write_bytes((folder / "K.pdf").read_bytes())
    result = RUN.invoke(app, ["show", "cut.pdf", "--out", "out"])
    assert result.exit_code == 0
    assert "rejected" in result.stderr
    assert "no_questions" in result.stderr
    bare = pymupdf.open("cut.pdf")[0].get_pixmap(dpi=120)
    drawn = pymupdf.Pixmap("out/page_01.png")
    assert (drawn.width, drawn.height) == (bare.width, bare.height)
    assert drawn.samples != bare.samples


def test_show_refuses_what_it_cannot_draw(folder: Path) -> None:
    (folder / "page.pdf").write_text("<!DOCTYPE html>")
    assert RUN.invoke(app, ["show", "page.pdf", "--out", "out"]).exit_code == 3
    missing = RUN.invoke(app, ["show", "Q.pdf", "--question", "9", "--out", "out"])
    assert missing.exit_code == 2
    assert "the paper has 1 to 4" in missing.stderr
    assert not (folder / "out").exists()


def coloured(path: Path) -> int:
    return coloured_pixels(pymupdf.Pixmap(str(path)))


def coloured_pixels(picture: pymupdf.Pixmap) -> int:
    """Pixels that are not grey: the boxes, on a page printed in black."""
    data, step = picture.samples, picture.n
    return sum(max(data[i : i + 3]) - min(data[i : i + 3]) > 40 for i in range(0, len(data), step * 3))


def test_json_is_alone_on_standard_output_and_survives_any_locale(folder: Path) -> None:
    command = "from orchestration.paper_commands import app; app()"
    done = subprocess.run(
        [sys.executable, "-c", command, "parse", "Q.pdf", "K.pdf", "--json"],
        capture_output=True,
        env={"PYTHONPATH": str(Path(__file__).resolve().parents[2]), "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"},
        timeout=120,
        check=True,
    )
    assert json.loads(done.stdout.decode("utf-8"))["found"] == 4


def test_doubts_lists_each_doubtful_question_with_its_page(tmp_path: Path) -> None:
    question, key = tmp_path / "<b>Q.pdf", tmp_path / "S.pdf"
    spec = paper_with(Hazard.DRAWN_OPTIONS)
    question.write_bytes(typeset_paper(spec))
    cells = {n: "ABCD"[n % 4] for n in range(1, len(spec.questions) + 1)}
    key.write_bytes(typeset_key(replace(plain_key(), cells=cells, single=len(cells))))
    listed = tmp_path / "pairs.csv"
    listed.write_text(f"question,key\n{question},{key}\n{tmp_path / 'absent.pdf'},{key}\n", encoding="utf-8")
    done = RUN.invoke(app, ["doubts", "--pairs", str(listed), "--out", str(tmp_path / "out"), "--processes", "1"])
    assert done.exit_code == 0, done.output
    assert "1 of 5 printed questions (20.00 %)" in done.output
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "question 3 (page 1)" in page and "not_text" in page
    assert "absent.pdf" in page
    assert "<b>Q.pdf" not in page, "a file name is written as text"
    pictures = list((tmp_path / "out").glob("*.png"))
    assert [p.name in page for p in pictures] == [True]


def test_a_place_that_cannot_be_written_is_named_without_a_traceback(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "file").write_text("in the way")
    monkeypatch.setattr("sys.argv", ["otb", "paper", "show", "Q.pdf", "--out", "file"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == "otb: file: File exists\n"
    assert (folder / "file").read_text() == "in the way"
