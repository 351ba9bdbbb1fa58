"""The limit of a pool, kept by every run of every process.

What belongs here: one process at a time takes, frees or changes places in a pool. What does not: which step is in which
pool (`orchestration.pools`), and how many places one has (`dagster.yaml`).
Dagster 1.13 asks in several statements who is waiting and which place is free, and nothing holds the others off in
between (under SQLite there are no row locks, under PostgreSQL these statements commit one by one). So two steps that
ask for the last place in the same moment both get it, and a step that asks while the last one leaves can wait for ever.
Where it does use a transaction, PostgreSQL refuses everything after the insert of a row that is there already: the
second of two that use a new pool first ends its run with an error, as does every step of a pool after `default_limit`
was changed. `python -m bench.pools` counts the first; tests/dagster/test_pool_limits.py shows each.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import sqlalchemy as db
from dagster import DagsterInstance
from dagster._core.instance.ref import InstanceRef
from dagster._core.storage.event_log import EventLogStorage, SqliteEventLogStorage
from dagster._core.storage.event_log.schema import ConcurrencyLimitsTable
from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage
from dagster._utils.concurrency import ConcurrencyClaimStatus
from dagster_postgres.event_log import PostgresEventLogStorage
from dagster_postgres.utils import create_pg_connection, create_pg_engine

ADVISORY_LOCK = 0x4F54_425F_504F_4F4C
"""Key of the lock in PostgreSQL, 64 bits: "OTB_POOL" in ASCII. Nothing else of Dagster takes an advisory lock."""
HOLDER_SECONDS = 60
"""A holder that does nothing for so long (its process was stopped) loses its connection, and the lock with it.

One that wakes up after that ends with an error, and may have written its place: the row of a place goes to one alone,
so the limit holds all the same, and Dagster frees the places of a run that has ended.
"""


class OneAtATime(SqlEventLogStorage):
    """What changes a pool, each under one lock of the instance; the lock is the subclass's."""

    def pools_held(self) -> AbstractContextManager[None]:
        """Nobody else, in whichever process, changes a pool meanwhile; not to be entered twice."""
        raise NotImplementedError

    def claim_concurrency_slot(
        self, concurrency_key: str, run_id: str, step_key: str, priority: int | None = None
    ) -> ConcurrencyClaimStatus:
        """As Dagster does; where nobody was called up for a place that is free, the next who waits is."""
        with self.pools_held():
            status = super().claim_concurrency_slot(concurrency_key, run_id, step_key, priority)
            if status.is_claimed or status.is_assigned or not self.has_unassigned_slots(concurrency_key):
                return status
            self.assign_pending_steps([concurrency_key])
            return super().claim_concurrency_slot(concurrency_key, run_id, step_key, priority)

    def free_concurrency_slots_for_run(self, run_id: str) -> None:
        """As Dagster does."""
        with self.pools_held():
            super().free_concurrency_slots_for_run(run_id)

    def free_concurrency_slot_for_step(self, run_id: str, step_key: str) -> None:
        """As Dagster does."""
        with self.pools_held():
            super().free_concurrency_slot_for_step(run_id, step_key)

    def set_concurrency_slots(self, concurrency_key: str, num: int) -> None:
        """As Dagster does."""
        with self.pools_held():
            super().set_concurrency_slots(concurrency_key, num)

    def delete_concurrency_limit(self, concurrency_key: str) -> None:
        """As Dagster does."""
        with self.pools_held():
            super().delete_concurrency_limit(concurrency_key)

    def initialize_concurrency_limit_to_default(self, concurrency_key: str) -> bool:
        """As Dagster does, where another has not done it meanwhile; another default takes the place of the older one.

        Places that are taken stay taken and count until they are free, so a lower default lets nobody in too early.
        """
        with self.pools_held():
            known = next((each for each in self.get_pool_limits() if each.name == concurrency_key), None)
            default = self._instance.global_op_concurrency_default_limit if self.has_instance else None
            if known and (not known.from_default or known.limit == default):
                return True
            if known is None or default is None:
                return super().initialize_concurrency_limit_to_default(concurrency_key)
            mine = ConcurrencyLimitsTable.c.concurrency_key == concurrency_key
            with self.index_transaction() as connection:
                connection.execute(ConcurrencyLimitsTable.update().where(mine).values(limit=default))
                self._allocate_concurrency_slots(connection, concurrency_key, default)
            return True

    def _reconcile_concurrency_limits_from_slots(self) -> None:
        """Nothing: it fills the table of limits of a Dagster that had none, and this platform is younger than that.

        Where the only pool was deleted while a step is in it, Dagster's own ends every look at the pools in an error.
        """


class SqlitePools(OneAtATime, SqliteEventLogStorage):
    """The instance of one machine: a lock on a file beside the database."""

    @contextmanager
    def pools_held(self) -> Iterator[None]:
        """Gone with its process; one that is stopped keeps the others waiting, on a machine where a person sees it.

        Opened for reading, which is all that a lock needs: another user may have made the file.
        """
        handle = os.open(Path(self._base_dir) / "pools.lock", os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            # Unlocked and not only closed: a child that was forked meanwhile has the same open file.
            fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)


class PostgresPools(OneAtATime, PostgresEventLogStorage):
    """The instance of a deployment: a lock of the database, so that it holds over machines."""

    @cached_property
    def _lock_engine(self) -> db.engine.Engine:
        """No pool of connections: the webserver's own engine has one connection, which the storage uses meanwhile."""
        return create_pg_engine(self.postgres_url, self._token_provider, poolclass=db.pool.NullPool)

    @contextmanager
    def pools_held(self) -> Iterator[None]:
        """On a connection of its own, because those of the storage commit after every statement.

        The lock is the transaction's: what goes between client and server may share connections.
        """
        with create_pg_connection(self._lock_engine) as connection, connection.begin():
            connection.execute(db.text(f"SET LOCAL idle_in_transaction_session_timeout = '{HOLDER_SECONDS}s'"))
            connection.execute(db.text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})
            yield


KEPT: Mapping[type[EventLogStorage], type[OneAtATime]] = {
    SqliteEventLogStorage: SqlitePools,
    PostgresEventLogStorage: PostgresPools,
}


class LimitKeepingInstance(DagsterInstance):
    """The instance of this platform: `instance_class` of every dagster.yaml and of the chart's values.

    An instance and no storage of its own, because the chart writes the storage and leaves this open.
    """

    def __init__(self, *args: Any, event_storage: EventLogStorage, **rest: Any) -> None:
        """Raises ValueError for a storage whose pools nobody has looked at."""
        kept = KEPT.get(type(event_storage))
        if kept is None:
            raise ValueError(
                f"{type(event_storage).__name__}: the pools of this storage are not known to keep their limits;"
                f" known are {', '.join(sorted(each.__name__ for each in KEPT))}"
            )
        # In place: the storage is made, and others of the instance hold it too.
        event_storage.__class__ = kept
        super().__init__(*args, event_storage=event_storage, **rest)

    @classmethod
    def config_schema(cls) -> dict[str, Any]:
        """No settings of its own (Dagster asks)."""
        return {}

    @classmethod
    def config_defaults(cls, base_dir: str) -> Mapping[str, Any]:
        """Dagster's own."""
        return InstanceRef.config_defaults(base_dir)
