"""`otb` imports the command that was asked for and no other, and says of each what the command says of itself."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import typer
from typer.testing import CliRunner

from opentwbench.exam.workers import WorkersError
from orchestration import variables
from orchestration.cli import COMMANDS, application, main

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


def commands_of(command: click.Command, path: str = "otb") -> Iterator[tuple[str, click.Command]]:
    """Every command below one, by what a person types."""
    yield path, command
    for name, each in getattr(command, "commands", {}).items():
        yield from commands_of(each, f"{path} {name}")


def test_every_store_option_reads_the_variable_of_the_deployment() -> None:
    # One that does not works in the folder `store` of wherever it is started, and says that all is well.
    places = {
        path: option.envvar
        for path, command in commands_of(typer.main.get_command(application()))
        for option in command.params
        if option.name == "store"
    }
    assert len(places) >= 40
    assert {path for path, variable in places.items() if variable != variables.STORE} == set()


def test_a_command_works_where_the_variable_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(variables.STORE, str(tmp_path / "elsewhere"))
    monkeypatch.setenv(variables.SOURCE, str(tmp_path / "no-mirror"))
    words = ["build", "exam"]
    refused = CliRunner().invoke(application(words), words)
    assert refused.exit_code != 0 and "no-mirror" in "".join(refused.output.split())
    assert not (tmp_path / "store").exists()
    words = ["run", "list", "--json"]
    assert CliRunner().invoke(application(words), words).exit_code == 0
    assert CliRunner().invoke(application([*words, "--store", "here"]), [*words, "--store", "here"]).exit_code == 0


def test_workers_that_cannot_begin_are_a_sentence_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(error: RuntimeError) -> None:
        def command() -> None:
            raise error

        monkeypatch.setattr("orchestration.cli.application", lambda arguments: command)

    fail(WorkersError("no worker process can begin"))
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, capsys.readouterr().err) == (1, "otb: no worker process can begin\n")
    fail(RuntimeError("a fault of ours"))
    with pytest.raises(RuntimeError, match="a fault of ours"):
        main()
