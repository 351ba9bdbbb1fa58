"""`otb`: the platform on the command line, a thin front to the same assets that the UI runs."""

from __future__ import annotations

import os

import typer

from orchestration import (
    audit_command,
    build_command,
    consistency_command,
    evaluate_command,
    extract_command,
    filter_audit_command,
    paper_commands,
    sample_command,
    score_command,
    study_command,
    subject_commands,
    submit_command,
    withdrawal_commands,
)

app = typer.Typer(
    name="otb",
    help="OpenTWBench: examination papers become checked, published benchmarks.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)
app.add_typer(build_command.app, name="build")
app.add_typer(paper_commands.app, name="paper")
withdrawal_commands.add_to(subject_commands.app)
app.add_typer(subject_commands.app, name="subject")
study_command.app.command(epilog=consistency_command.STATUSES)(consistency_command.consistency)
study_command.app.command()(consistency_command.attribute)
filter_audit_command.add_to(study_command.app)
app.add_typer(study_command.app, name="study")
app.command(name="audit", epilog=audit_command.STATUSES)(audit_command.audit)
app.command(name="evaluate", epilog=evaluate_command.STATUSES)(evaluate_command.evaluate)
app.add_typer(sample_command.app, name="sample")
app.add_typer(submit_command.app, name="submit")
study_command.app.command(epilog=score_command.STUDY_STATUSES)(score_command.box_else_pattern)
app.command(name="rescore", epilog=score_command.STATUSES)(score_command.rescore_runs)
app.command(name="extract", epilog=extract_command.STATUSES)(extract_command.extract)


def quiet() -> None:
    """Nothing phones home."""
    for name, value in (("DAGSTER_DISABLE_TELEMETRY", "yes"), ("GX_ANALYTICS_ENABLED", "false")):
        os.environ.setdefault(name, value)


def main() -> None:
    """The command `otb`."""
    quiet()
    app()


if __name__ == "__main__":
    main()
