"""`otb apparatus show` into a pipe: every figure whole, however narrow the terminal is said to be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from opentwbench.apparatus.result import Both, Column, Study, Table
from orchestration import apparatus_command

COLUMNS = 14
MODEL = "maker/a-model-with-a-long-name"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Study:
    """A study with more columns than 80 characters have room for, as the one that a store keeps."""
    columns = tuple(Column(f"c{n}", Both(f"欄{n}", f"accuracy of column {n}"), "%") for n in range(COLUMNS))
    row = (MODEL, *(90 + n / 10 for n in range(1, COLUMNS)))
    text = Both("示範", "made up")
    study = Study("curation", text, text, text, text, 14, text, (Table(text, columns, (row,)),), ())
    place = SimpleNamespace(store=None, made_from=lambda: "now")
    monkeypatch.setattr(apparatus_command, "_open", lambda store, warehouse: place)
    monkeypatch.setattr(apparatus_command, "kept", lambda store, name: SimpleNamespace(study=study, made_from="now"))
    monkeypatch.setenv("COLUMNS", "80")
    return study


def test_a_pipe_of_80_columns_cuts_no_figure_and_no_name(shown: Study, tmp_path: Path) -> None:
    result = CliRunner().invoke(apparatus_command.app, ["show", "curation", "--store", str(tmp_path)])
    assert result.exit_code == 0
    assert "…" not in result.output and MODEL in result.output
    assert all(f"{cell:,}" in result.output.split() for cell in shown.tables[0].rows[0][1:])


def test_the_list_of_studies_cuts_no_finding(shown: Study, capsys: pytest.CaptureFixture[str]) -> None:
    finding = Both("在" * 60 + "56.22個百分點", "the floor is 56.22 points")
    apparatus_command._list([replace(shown, finding=finding)])
    out = capsys.readouterr().out
    assert "…" not in out and out.count("在") == 60
