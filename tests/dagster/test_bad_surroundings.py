"""What a newcomer does wrong, and what an index holds that nobody planned for: named, counted, and an exit status."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestration.cli import app

RUN = CliRunner()


@pytest.fixture
def mirror(sample_ministry: Path, tmp_path: Path) -> Path:
    """A copy of the sample ministry that a test may damage."""
    return Path(shutil.copytree(sample_ministry, tmp_path / "mirror"))


def test_a_store_that_is_a_file_is_a_wrong_argument(mirror: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    done = RUN.invoke(app, ["build", "exam", "--source", str(mirror), "--store", str(tmp_path / "file")])
    assert done.exit_code == 2
    assert "a store is a folder" in " ".join(done.stderr.split())
    assert "Traceback" not in done.output


def test_a_changed_header_names_columns_and_source(mirror: Path, tmp_path: Path) -> None:
    index = mirror / "index.csv"
    index.write_text(index.read_text(encoding="utf-8-sig").replace("試題網址", "題目網址", 1), encoding="utf-8-sig")
    done = RUN.invoke(app, ["build", "exam", "--source", str(mirror), "--store", str(tmp_path / "store")])
    assert done.exit_code == 2
    words = "".join(done.stderr.split())
    assert "試題網址" in words and "題目網址" in words
    assert "".join(str(mirror).split()) in words


@pytest.mark.slow
def test_refused_index_rows_are_reported(mirror: Path, tmp_path: Path) -> None:
    with (mirror / "index.csv").open("a", encoding="utf-8") as index:
        index.write("110,only,five,cells,here\n")
    arguments = ["build", "exam", "--source", str(mirror), "--store", str(tmp_path / "store"), "--subject"]
    done = RUN.invoke(app, [*arguments, "tw-library-science-bench", "--json"])
    assert done.exit_code == 0, done.stderr
    refused = json.loads(done.stdout)["refused_rows"]
    assert [each["problem"] for each in refused] == ["wrong_column_count"]
    shown = RUN.invoke(app, [*arguments, "tw-library-science-bench"])
    assert "1 index rows refused" in shown.stdout
    assert "only,five,cells" in shown.stdout
