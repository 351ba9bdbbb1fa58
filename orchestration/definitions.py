"""What Dagster loads. No network, no secret and no file is touched while it loads.

`build_defs` makes a fresh Definitions for any configuration: tests and the command line use it too. The module's `defs`
is the configuration of the environment: OTB_STORE (folder or URL), OTB_SOURCE (live, a base URL or a mirror folder),
OTB_DELAY_SECONDS (between two requests), OTB_MAX_VANISHED_SHARE (of the index's keyed rows), OTB_DAILY (on or off: the
one switch of the daily schedule and its sensors), OTB_LOST_RUNS (on or off: runs that were ended from outside are
started again), OTB_CORPUS_PULL (on or off: pull the checkout of Taiwan.md before it is cut), OTB_HUB_NAMESPACE (whom
data sets are pushed to the Hub as; unset: none is), OTB_BASE_URL (where models are asked; unset: none is),
OTB_API_KEY_ENV (which variable holds the key), and OTB_ALARM_* (where alarms go: docs/schedules.md; unset: nowhere).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import dagster as dg

import assets.apparatus
import assets.evaluation
import assets.exam
import assets.formosa
import assets.formosa_items
import assets.hub
import assets.publication
import assets.rag
import assets.rag_benchmark
import checks.currency
import checks.exam
import checks.formosa
import checks.rag
from orchestration import alarm_sensors, evaluation_jobs, formosa_jobs, variables
from orchestration.configuration import Configuration
from orchestration.jobs import JOBS
from orchestration.lost_runs import lost_runs
from orchestration.ownership import owned
from orchestration.pools import pooled
from orchestration.schedules import schedules
from orchestration.sensors import sensors

__all__ = ["Configuration", "build_defs", "defs", "from_environment"]

ASSETS = (
    *assets.exam.ASSETS,
    *assets.publication.ASSETS,
    *assets.hub.ASSETS,
    *assets.rag.ASSETS,
    *assets.rag_benchmark.ASSETS,
    *assets.evaluation.ASSETS,
    *assets.apparatus.ASSETS,
    *assets.formosa.ASSETS,
    *assets.formosa_items.ASSETS,
)
CHECKS = (
    *checks.exam.SUBJECT_CHECKS,
    *checks.exam.RELEASE_CHECKS,
    *checks.formosa.FORMOSA_CHECKS,
    *checks.rag.RAG_CHECKS,
    *checks.currency.CURRENCY_CHECKS,
)


def from_environment() -> Configuration:
    """The configuration that the environment names; the defaults are a local store and the live ministry."""
    named = {"delay_seconds": "OTB_DELAY_SECONDS", "max_vanished_share": "OTB_MAX_VANISHED_SHARE"}
    return Configuration(
        store=os.environ.get(variables.STORE, "store"),
        source=os.environ.get(variables.SOURCE, "live"),
        ministry={field: float(os.environ[name]) for field, name in named.items() if os.environ.get(name)},
        daily=variables.switch(os.environ, "OTB_DAILY"),
        lost_runs=variables.switch(os.environ, variables.LOST_RUNS),
        formosa={"pull": variables.switch(os.environ, "OTB_CORPUS_PULL")},
        endpoint={
            "base_url": os.environ.get("OTB_BASE_URL", ""),
            "api_key_env": os.environ.get("OTB_API_KEY_ENV", ""),
        },
        alarms=alarm_settings(os.environ),
        hub={"namespace": os.environ.get("OTB_HUB_NAMESPACE", ""), "sample": os.environ.get("OTB_HUB_SAMPLE", "")},
    )


def alarm_settings(environment: Mapping[str, str]) -> dict[str, Any]:
    """The fields of AlarmResource that OTB_ALARM_* names; raises ValueError for what is neither on nor off."""
    names = ("smtp_host", "smtp_port", "smtp_security", "smtp_user", "mail_from", "mail_to")
    given = {name: environment.get(f"OTB_ALARM_{name.upper()}", "") for name in names}
    settings: dict[str, Any] = {name: value for name, value in given.items() if value}
    if "smtp_port" in settings:
        settings["smtp_port"] = int(settings["smtp_port"])
    if "mail_to" in settings:
        settings["mail_to"] = [address.strip() for address in settings["mail_to"].split(",") if address.strip()]
    return {**settings, "allow_private": variables.switch(environment, "OTB_ALARM_ALLOW_PRIVATE")}


def build_defs(configuration: Configuration) -> dg.Definitions:
    """The platform's definitions under one configuration."""
    jobs = (*JOBS, *evaluation_jobs.JOBS, *formosa_jobs.JOBS)
    defs = dg.Definitions(
        assets=pooled(ASSETS, configuration),
        asset_checks=list(CHECKS),
        jobs=list(jobs),
        schedules=list(schedules(running=configuration.daily)),
        sensors=[
            *sensors(running=configuration.daily),
            *evaluation_jobs.SENSORS,
            *alarm_sensors.SENSORS,
            lost_runs(jobs, running=configuration.lost_runs),
        ],
        resources=configuration.resources(),
        # A process a step costs 15 s a subject instead of 3 (measured on two cores), and steps hand over files anyway.
        executor=dg.in_process_executor,
    )
    return owned(defs)


defs = build_defs(from_environment())
