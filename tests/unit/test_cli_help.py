"""`otb` imports the command that was asked for and no other, and says of each what the command says of itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from orchestration.cli import COMMANDS, application

ROOT = Path(__file__).resolve().parents[2]


def test_the_help_of_every_command_is_its_own() -> None:
    whole = typer.main.get_command(application())
    said = {name: command.get_short_help_str(1_000) for name, command in whole.commands.items()}  # type: ignore[attr-defined]
    assert {name: command.help for name, command in COMMANDS.items()} == said


def test_the_list_of_commands_imports_none_of_them() -> None:
    program = (
        "import sys\n"
        "sys.argv = ['otb', '--help']\n"
        "from orchestration.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'dagster', 'polars', 'pymupdf', 'httpx', 'aiohttp', 'opentwbench', 'great_expectations'}\n"
        "loaded = heavy & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_that_is_asked_for_answers(name: str) -> None:
    result = CliRunner().invoke(application([name, "--help"]), [name, "--help"])
    assert result.exit_code == 0, result.output
    assert f"{name} " in result.output


def test_an_unknown_command_is_refused() -> None:
    result = CliRunner().invoke(application(["nothing"]), ["nothing"])
    assert result.exit_code == 2
