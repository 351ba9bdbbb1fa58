"""`otb`: the platform on the command line, a thin front to the same assets that the UI runs.

A command's modules are imported when it is the one that was asked for: `otb --help`, and a build that finds nothing to
do, would otherwise spend most of their time on importing what the other commands need. To add a command, write its line
in COMMANDS and the function that adds it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import typer

FAULT, UNUSABLE_PLACE = 1, 2
"""Exit status: the machine cannot do it; a file or folder that was named cannot be read or written, as for wrong
arguments."""


def _build(app: typer.Typer) -> None:
    from orchestration import build_command

    app.add_typer(build_command.app, name="build")


def _paper(app: typer.Typer) -> None:
    from orchestration import paper_commands

    app.add_typer(paper_commands.app, name="paper")


def _subject(app: typer.Typer) -> None:
    from orchestration import subject_commands, withdrawal_commands

    withdrawal_commands.add_to(subject_commands.app)
    app.add_typer(subject_commands.app, name="subject")


def _study(app: typer.Typer) -> None:
    from orchestration import consistency_command, filter_audit_command, score_command, study_command

    study_command.app.command(epilog=consistency_command.STATUSES)(consistency_command.consistency)
    study_command.app.command()(consistency_command.attribute)
    filter_audit_command.add_to(study_command.app)
    study_command.app.command(epilog=score_command.STUDY_STATUSES)(score_command.box_else_pattern)
    app.add_typer(study_command.app, name="study")


def _audit(app: typer.Typer) -> None:
    from orchestration import audit_command

    app.command(name="audit", epilog=audit_command.STATUSES)(audit_command.audit)


def _evaluate(app: typer.Typer) -> None:
    from orchestration import evaluate_command

    app.command(name="evaluate", epilog=evaluate_command.STATUSES)(evaluate_command.evaluate)


def _run(app: typer.Typer) -> None:
    from orchestration import run_command

    app.add_typer(run_command.app, name="run")


def _runner(app: typer.Typer) -> None:
    from orchestration import runner_command

    app.add_typer(runner_command.app, name="runner")


def _sample(app: typer.Typer) -> None:
    from orchestration import sample_command

    app.add_typer(sample_command.app, name="sample")


def _submit(app: typer.Typer) -> None:
    from orchestration import submit_command

    app.add_typer(submit_command.app, name="submit")


def _twinkle(app: typer.Typer) -> None:
    from orchestration import twinkle_command

    app.add_typer(twinkle_command.app, name="twinkle")


def _rescore(app: typer.Typer) -> None:
    from orchestration import score_command

    app.command(name="rescore", epilog=score_command.STATUSES)(score_command.rescore_runs)


def _mart(app: typer.Typer) -> None:
    from orchestration import mart_command

    app.add_typer(mart_command.app, name="mart")


def _apparatus(app: typer.Typer) -> None:
    from orchestration import apparatus_command

    app.add_typer(apparatus_command.app, name="apparatus")


def _formosa(app: typer.Typer) -> None:
    from orchestration import formosa_command

    app.add_typer(formosa_command.app, name="formosa")


def _board(app: typer.Typer) -> None:
    from orchestration import board_command

    app.add_typer(board_command.app, name="board")


def _rag(app: typer.Typer) -> None:
    from orchestration import rag_command

    app.add_typer(rag_command.app, name="rag")


def _extract(app: typer.Typer) -> None:
    from orchestration import extract_command

    app.command(name="extract", epilog=extract_command.STATUSES)(extract_command.extract)


def _hub(app: typer.Typer) -> None:
    from orchestration import hub_command

    app.add_typer(hub_command.app, name="hub")


class Command(NamedTuple):
    """A command of `otb`: what `otb --help` says of it, and the function that imports and adds it."""

    help: str
    add: Callable[[typer.Typer], None]


COMMANDS: dict[str, Command] = {
    "build": Command("Build what changed, through the same assets and checks as the UI.", _build),
    "paper": Command("Parse question papers with their keys, and look at them.", _paper),
    "subject": Command("Look at one subject, or export its data set.", _subject),
    "study": Command("Measure what the checks are worth.", _study),
    "audit": Command("Find questions that a benchmark holds twice: with which keys, and in which splits.", _audit),
    "evaluate": Command("Ask a model every item of the published data sets and score its replies.", _evaluate),
    "run": Command("Look at runs, compare two, and carry one out through batch files.", _run),
    "runner": Command("The bundle that volunteers run.", _runner),
    "sample": Command("Draw the stratified sample, or look at an edition of it.", _sample),
    "submit": Command("Check and take in volunteers' results.", _submit),
    "twinkle": Command("Results in Twinkle Eval's form.", _twinkle),
    "rescore": Command(
        "Score stored replies against the data sets as they are now, and report what moved.",
        _rescore,
    ),
    "mart": Command("Build the mart that analysts open, or look at it.", _mart),
    "apparatus": Command("Conduct the apparatus studies over stored responses, or look at one.", _apparatus),
    "formosa": Command("Work on Formosa's difficulty band.", _formosa),
    "board": Command("Render the public site from the mart, or look at one.", _board),
    "hub": Command("Publish data sets on the Hugging Face Hub.", _hub),
    "rag": Command("Benchmark a retrieval system: answers, recall, a judge.", _rag),
    "extract": Command(
        "Read replies from standard input and print the letter that the method reads in each.",
        _extract,
    ),
}
"""By name, in the order of `otb --help`. A test holds each help to the one that the command itself gives."""


def application(arguments: Sequence[str] | None = None) -> typer.Typer:
    """The command line: whole when `arguments` is None, else only the command that they ask for, the others by name."""
    app = typer.Typer(
        name="otb",
        help="OpenTWBench: examination papers become checked, published benchmarks.",
        no_args_is_help=True,
        pretty_exceptions_show_locals=False,
    )
    asked = next((each for each in arguments or () if not each.startswith("-")), "")
    for name, command in COMMANDS.items():
        if arguments is None or name == asked:
            command.add(app)
        else:
            app.command(name=name, help=command.help)(_unasked)
    return app


def _unasked() -> None:
    """Stands for a command that was not asked for."""


def __getattr__(name: str) -> Any:
    # `app` is the whole command line, made when somebody imports it.
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    app = globals()["app"] = application()
    return app


def quiet() -> None:
    """Nothing phones home."""
    for name, value in (("DAGSTER_DISABLE_TELEMETRY", "yes"), ("GX_ANALYTICS_ENABLED", "false")):
        os.environ.setdefault(name, value)


def main() -> None:
    """The command `otb`."""
    quiet()
    # The shell's completion asks for the words of any command.
    try:
        application(None if "_OTB_COMPLETE" in os.environ else sys.argv[1:])()
    except BrokenPipeError:
        raise
    except RuntimeError as error:
        from opentwbench.exam.workers import WorkersError

        if not isinstance(error, WorkersError):
            raise
        print(f"otb: {error}", file=sys.stderr)
        raise SystemExit(FAULT) from error
    except OSError as error:
        # A place that a command was told to read or write and cannot: a folder, a read-only disk, a file for a folder.
        if error.filename is None:
            raise
        from opentwbench.dataset.contract import excerpt

        print(f"otb: {excerpt(str(error.filename), 300)}: {error.strerror}", file=sys.stderr)
        raise SystemExit(UNUSABLE_PLACE) from error


if __name__ == "__main__":
    main()
