"""Schedules. Off until a person turns them on: a fresh clone must not start to crawl a public site by itself."""

from __future__ import annotations

import dagster as dg

from orchestration.jobs import index_job

daily_index = dg.ScheduleDefinition(
    name="daily_index",
    job=index_job,
    # The ministry updates its index daily; early morning in Taipei is when the fewest people need the site.
    cron_schedule="20 4 * * *",
    execution_timezone="Asia/Taipei",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description="Looks once a day whether the ministry's index changed.",
)

SCHEDULES = (daily_index,)
