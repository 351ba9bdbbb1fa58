"""Schedules. Off until a person turns them on: a fresh clone must not start to crawl a public site by itself."""

from __future__ import annotations

import dagster as dg

from orchestration.formosa_jobs import formosa_windows_job
from orchestration.jobs import currency_job, index_job, papers_job
from resources import exam_products as products
from resources.partitions import exam_years
from resources.settings import StoreResource

TIMEZONE = "Asia/Taipei"


def schedules(*, running: bool = False) -> tuple[dg.ScheduleDefinition, ...]:
    """All schedules. `running` turns on the daily ones; the monthly ones are turned on by hand only."""
    daily = dg.DefaultScheduleStatus.RUNNING if running else dg.DefaultScheduleStatus.STOPPED
    daily_index = dg.ScheduleDefinition(
        name="daily_index",
        job=index_job,
        # The ministry updates its index daily; early morning in Taipei is when the fewest people need the site.
        cron_schedule="20 4 * * *",
        execution_timezone=TIMEZONE,
        default_status=daily,
        description="Looks once a day whether the ministry's index changed.",
    )
    currency = dg.ScheduleDefinition(
        name="currency",
        job=currency_job,
        # After the night's look, files that failed, and what the sensors make of them.
        cron_schedule="30 7 * * *",
        execution_timezone=TIMEZONE,
        default_status=daily,
        description="Once a day, whether every publication is what its sources give now: the checks that the UI shows.",
    )
    return (daily_index, _failed_files(daily), currency, _old_papers(), _corpus_update())


def _corpus_update() -> dg.ScheduleDefinition:
    return dg.ScheduleDefinition(
        name="corpus_update",
        job=formosa_windows_job,
        cron_schedule="40 5 1 * *",
        execution_timezone=TIMEZONE,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="Once a month, the corpus as its folder holds it now: windows that are new or gone, and items that "
        "lost their ground. No model is asked, and nothing is fetched unless OTB_CORPUS_PULL is on: bring the folder "
        "up to date before.",
    )


def _failed_files(status: dg.DefaultScheduleStatus) -> dg.ScheduleDefinition:
    @dg.schedule(
        name="failed_files",
        job=papers_job,
        cron_schedule="50 4 * * *",
        execution_timezone=TIMEZONE,
        default_status=status,
        description="Once a day, years with a file that gave no whole answer: only those files are asked for.",
    )
    def evaluate(context: dg.ScheduleEvaluationContext, store: StoreResource) -> list[dg.RunRequest] | dg.SkipReason:
        return _year_requests(context, products.failed_years(store.open())) or dg.SkipReason("no file failed")

    return evaluate


def _old_papers() -> dg.ScheduleDefinition:
    @dg.schedule(
        name="old_papers",
        job=papers_job,
        cron_schedule="0 1 1 * *",
        execution_timezone=TIMEZONE,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="Once a month, every year: papers past their maximum age are asked for again, conditionally. This "
        "finds a file that was exchanged under its old URL, at the price of a request a paper.",
    )
    def evaluate(context: dg.ScheduleEvaluationContext, store: StoreResource) -> list[dg.RunRequest] | dg.SkipReason:
        return _year_requests(context, store.open().years()) or dg.SkipReason("no year was read yet")

    return evaluate


def _year_requests(context: dg.ScheduleEvaluationContext, years: list[int]) -> list[dg.RunRequest]:
    """A run for each year, whose partitions are added where another process (`otb build exam`) read the year."""
    keys = [str(year) for year in years]
    if keys:
        context.instance.add_dynamic_partitions(str(exam_years.name), keys)
    return [dg.RunRequest(partition_key=key) for key in keys]
