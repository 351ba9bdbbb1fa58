"""Assets run in the process of a command: the instance that keeps the runs, and the resources that they get.

What belongs here: loading Dagster only when there is something to run, and running it. What does not: what must run and
what a report says of it (build.py, formosa_build.py).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import dagster as dg

    from orchestration.configuration import Configuration

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
"""The command line prints what a person needs; the events of a run are for the UI."""


def recorded_instance() -> Any:
    """Where runs are recorded: DAGSTER_HOME when it is set, so that the UI shows them; else nowhere."""
    if not os.environ.get("DAGSTER_HOME"):
        return None
    import dagster as dg

    return dg.DagsterInstance.get()


class InProcess:
    """One command's runs. `instance` (or what makes it, called when there is something to run) keeps them; without one
    they are forgotten when the command ends.
    """

    def __init__(
        self,
        configuration: Configuration,
        instance: dg.DagsterInstance | Callable[[], dg.DagsterInstance] | None = None,
    ) -> None:
        self._configuration = configuration
        self._given = instance

    # Dagster is loaded when there is something to run: a build that finds nothing to do costs a third of its import.
    @cached_property
    def _instance(self) -> dg.DagsterInstance:
        import dagster as dg

        given = self._given() if callable(self._given) else self._given
        return given or dg.DagsterInstance.ephemeral()

    @cached_property
    def _resources(self) -> dict[str, object]:
        return self._configuration.resources()

    def _run(
        self,
        definitions: list[Any],
        *,
        partition: str | None = None,
        partition_range: tuple[str, str] | None = None,
        raise_on_error: bool,
    ) -> dg.ExecuteInProcessResult:
        """Materialize assets with their checks: unpartitioned, for one partition, or for a range in one run."""
        import dagster as dg

        from orchestration.jobs import range_tags
        from orchestration.pools import pooled

        return dg.materialize(
            pooled(definitions, self._configuration),
            instance=self._instance,
            resources=self._resources,
            partition_key=partition,
            tags=range_tags(*partition_range) if partition_range else {},
            raise_on_error=raise_on_error,
            run_config=QUIET,
        )
