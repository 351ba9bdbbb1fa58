"""The Formosa step of `make demo`: the sample articles to a published folder, against the scripted endpoint."""

from __future__ import annotations

from rich.console import Console

from orchestration.build_formosa_command import show
from orchestration.configuration import Configuration
from orchestration.formosa_build import FormosaBuild, FormosaReport
from orchestration.formosa_endpoint import scripted_endpoint, scripted_settings
from orchestration.in_process import recorded_instance


def show_formosa(store: str, console: Console) -> FormosaReport:
    """Build what changed of the scripted edition in a store, and print the report. No model is asked."""
    console.rule("Formosa: sample articles, scripted drafts, judges and pool, checks, publication")
    with scripted_endpoint(store) as endpoint:
        settings, ask = scripted_settings(), {"base_url": endpoint.base_url}
        report = FormosaBuild(Configuration(store=store, formosa=settings, endpoint=ask), recorded_instance()).run()
    show(report, console)
    return report
