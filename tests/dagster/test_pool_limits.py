"""A pool's limit holds whoever asks at once, under SQLite and PostgreSQL; Dagster's own storage breaks it."""

from __future__ import annotations

import fcntl
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import sqlalchemy as db
import yaml
from dagster._core.instance.config import dagster_instance_config
from dagster._core.storage.event_log import SqliteEventLogStorage
from dagster_postgres.event_log import PostgresEventLogStorage
from support.postgres import INSTALLED, MISSING, cluster

from orchestration import pool_limits
from orchestration.pool_limits import LimitKeepingInstance, OneAtATime, PostgresPools, SqlitePools

ROOT = Path(__file__).resolve().parents[2]
POOL = "endpoint_models.example.org_443"
KINDS = [
    pytest.param("sqlite", id="sqlite"),
    pytest.param(
        "postgres", id="postgres", marks=[pytest.mark.stack, pytest.mark.skipif(not INSTALLED, reason=MISSING)]
    ),
]
WHO_WAITS = "assigned_timestamp IS NOT NULL"
WHICH_IS_FREE = "SELECT concurrency_slots.id"


@pytest.fixture(scope="module")
def database() -> Iterator[Any]:
    with cluster() as made:
        made.create_tables()
        yield made


class Homes:
    """DAGSTER_HOMEs over one storage: the platform's, and one whose instance is Dagster's own."""

    def __init__(self, settings: Path, folder: Path, base: Path | None) -> None:
        self.settings = yaml.safe_load(settings.read_text())
        self.folder = folder
        if base is not None:
            self.settings["storage"] = {"sqlite": {"base_dir": str(base)}}

    def __call__(self, *, kept: bool, limit: int = 1) -> str:
        """A folder with these settings."""
        made = dict(self.settings)
        made["concurrency"] = {"pools": {"default_limit": limit, "granularity": "op"}}
        if not kept:
            del made["instance_class"]
        home = self.folder / f"{kept}-{limit}"
        home.mkdir(exist_ok=True)
        (home / "dagster.yaml").write_text(yaml.safe_dump(made))
        return str(home)


@pytest.fixture(params=KINDS)
def homes(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Homes]:
    """Each instance file as it is delivered, over a storage without pools."""
    if request.param == "sqlite":
        made = Homes(ROOT / "dagster.yaml", tmp_path, tmp_path / "base")
    else:
        stack = request.getfixturevalue("database")
        for name, value in stack.environment.items():
            monkeypatch.setenv(name, value)
        made = Homes(Path(stack.environment["DAGSTER_HOME"]) / "dagster.yaml", tmp_path, None)
    with dg.DagsterInstance.from_config(made(kept=True)) as instance:
        storage = instance.event_log_storage
        assert type(storage) is (SqlitePools if request.param == "sqlite" else PostgresPools)
        for name in {each.name for each in storage.get_pool_limits()}:
            for run in storage.get_concurrency_info(name).active_run_ids | storage.get_concurrency_run_ids():
                storage.free_concurrency_slots_for_run(run)
            storage.delete_concurrency_limit(name)
        assert storage.get_pool_limits() == []
    yield made


@pytest.fixture(params=[False, True], ids=["dagster's own", "kept"])
def kept(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@contextmanager
def two(home: str) -> Iterator[list[Any]]:
    """Two storages as two processes have them."""
    with ExitStack() as stack:
        yield [stack.enter_context(dg.DagsterInstance.from_config(home)).event_log_storage for _ in range(2)]


@contextmanager
def after_statement(words: str, then: Callable[[], None]) -> Iterator[None]:
    """Something is done between a statement with these words and the next one of the same thread.

    The statements themselves run one after the other: of two that look for a free row in the same instant PostgreSQL
    may show it to neither or to one.
    """
    one = threading.Lock()

    def begin(_: Any, __: Any, statement: str, *___: Any) -> None:
        if words in statement:
            one.acquire()

    def end(_: Any, __: Any, statement: str, *___: Any) -> None:
        if words in statement:
            one.release()
            then()

    listeners = (("before_cursor_execute", begin), ("after_cursor_execute", end))
    for moment, listener in listeners:
        db.event.listen(db.engine.Engine, moment, listener)
    try:
        yield
    finally:
        for moment, listener in listeners:
            db.event.remove(db.engine.Engine, moment, listener)


def meeting(seconds: float) -> Callable[[], None]:
    """Two threads wait here for each other, once; who waits in vain goes on."""
    barrier = threading.Barrier(2)

    def wait() -> None:
        with suppress(threading.BrokenBarrierError):
            barrier.wait(seconds)

    return wait


def at_once(*steps: Callable[[], Any]) -> list[Any]:
    """What each gives, all started together; an error is what it gives."""
    given: list[Any] = [None] * len(steps)

    def run(number: int) -> None:
        try:
            given[number] = steps[number]()
        except Exception as error:
            given[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(steps))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a lock that nobody opens"
    return given


def claimed(storage: Any, run: str) -> bool:
    return bool(storage.claim_concurrency_slot(POOL, run, "step").is_claimed)


def holders(storage: Any) -> set[str]:
    return {each.run_id for each in storage.get_concurrency_info(POOL).claimed_slots}


def test_the_last_place_goes_to_one_of_two_that_ask_in_the_same_moment(homes: Homes, kept: bool) -> None:
    with two(homes(kept=kept)) as (one, other):
        one.initialize_concurrency_limit_to_default(POOL)
        # Kept, the second never comes to the first's statement.
        seconds = 1 if kept else 30
        with after_statement(WHO_WAITS, meeting(seconds)), after_statement(WHICH_IS_FREE, meeting(seconds)):
            got = at_once(lambda: claimed(one, "a"), lambda: claimed(other, "b"))
        assert sum(got) == (1 if kept else 2)
        if kept:
            first, second = ("a", "b") if got[0] else ("b", "a")
            assert holders(one) == {first}
            one.free_concurrency_slots_for_run(first)
            assert claimed(other, second)


def test_who_asks_while_the_last_one_leaves_is_called_up(homes: Homes, kept: bool) -> None:
    with two(homes(kept=kept)) as (one, other):
        one.initialize_concurrency_limit_to_default(POOL)
        assert claimed(one, "a")
        asked, left = threading.Event(), threading.Event()

        def meanwhile() -> None:
            if threading.current_thread() is not threading.main_thread() and not asked.is_set():
                asked.set()
                left.wait(1 if kept else 30)

        def leave() -> None:
            asked.wait(10)
            one.free_concurrency_slot_for_step("a", "step")
            left.set()

        with after_statement("count(*) AS count_1 \nFROM concurrency_slots", meanwhile):
            got = at_once(leave, lambda: claimed(other, "b"))
        assert got == [None, False]
        assert [claimed(other, "b") for _ in range(3)] == ([True] * 3 if kept else [False] * 3)


def test_a_step_that_nobody_called_up_is_called_up_when_anybody_asks_and_the_first_goes_first(homes: Homes) -> None:
    """What a process that was killed between leaving and calling the next leaves behind, or an older version."""
    with two(homes(kept=True)) as (one, other):
        one.initialize_concurrency_limit_to_default(POOL)
        for run in ("a", "b"):
            one.add_pending_step(POOL, run, "step", priority={"a": 1, "b": 0}[run], should_assign=False)
        assert not claimed(other, "b")
        assert claimed(one, "a")
        assert holders(one) == {"a"}
        one.free_concurrency_slots_for_run("a")
        assert claimed(other, "b")


def is_postgres(storage: Any) -> bool:
    return isinstance(storage, PostgresEventLogStorage)


def test_two_that_use_a_new_pool_first_make_its_places_once(homes: Homes, kept: bool) -> None:
    with two(homes(kept=kept)) as (one, other):
        got = at_once(*(lambda s=storage: s.initialize_concurrency_limit_to_default(POOL) for storage in (one, other)))
        if kept or not is_postgres(one):
            assert got == [True, True]
        else:
            assert sorted(type(each).__name__ for each in got) == ["InternalError", "bool"]
        info = one.get_concurrency_info(POOL)
        assert (info.slot_count, info.limit, info.using_default_limit) == (1, 1, True)


def test_after_another_default_no_step_of_the_pool_fails(homes: Homes, kept: bool) -> None:
    with two(homes(kept=kept)) as (one, _):
        one.initialize_concurrency_limit_to_default(POOL)
    with two(homes(kept=kept, limit=2)) as (one, _):
        (got,) = at_once(lambda: one.initialize_concurrency_limit_to_default(POOL))
        if kept or not is_postgres(one):
            assert got is True
        else:
            assert "current transaction is aborted" in str(got)


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 1)])
def test_another_default_is_the_pools_limit_and_who_is_in_stays_in(homes: Homes, before: int, after: int) -> None:
    with two(homes(kept=True, limit=before)) as (one, _):
        one.initialize_concurrency_limit_to_default(POOL)
        assert [claimed(one, f"old-{number}") for number in range(before + 1)] == [True] * before + [False]
    with two(homes(kept=True, limit=after)) as (one, _):
        assert one.initialize_concurrency_limit_to_default(POOL)
        (limit,) = one.get_pool_limits()
        assert (limit.limit, limit.from_default) == (after, True)
        # The one that waited goes before who comes now.
        runs = [f"old-{before}", *(f"new-{number}" for number in range(3))]
        assert [claimed(one, run) for run in runs] == [number < after - before for number in range(4)]
        for number in range(before):
            one.free_concurrency_slots_for_run(f"old-{number}")
        # Who came in the same second has no order.
        assert sum(claimed(one, run) for run in runs) == after
        assert holders(one) <= set(runs)
        for run in runs:
            one.free_concurrency_slots_for_run(run)
        assert claimed(one, "last")


def test_a_default_does_not_touch_what_a_person_set(homes: Homes) -> None:
    with two(homes(kept=True)) as (one, _):
        one.set_concurrency_slots(POOL, 4)
        assert one.initialize_concurrency_limit_to_default(POOL)
        (limit,) = one.get_pool_limits()
        assert (limit.limit, limit.from_default) == (4, False)


def test_the_only_pool_is_deleted_while_somebody_is_in_it(homes: Homes, kept: bool) -> None:
    with two(homes(kept=kept)) as (one, other):
        one.set_concurrency_slots(POOL, 1)
        assert claimed(one, "a")
        one.delete_concurrency_limit(POOL)
        if not kept:
            with pytest.raises(db.exc.IntegrityError):
                one.get_pool_limits()
            one.free_concurrency_slots_for_run("a")
            return
        assert one.get_pool_limits() == []
        assert other.initialize_concurrency_limit_to_default(POOL)
        assert not claimed(other, "b")
        one.free_concurrency_slots_for_run("a")
        assert claimed(other, "b")


def modes_of(path: Path) -> list[int]:
    """How this process has the file open."""
    found = [each for each in Path("/proc/self/fd").iterdir() if each.is_symlink() and each.resolve() == path]
    return [fcntl.fcntl(int(each.name), fcntl.F_GETFL) & os.O_ACCMODE for each in found]


@pytest.mark.parametrize("homes", [KINDS[0]], indirect=True)
def test_the_file_of_the_lock_may_be_another_users_and_a_forked_child_does_not_keep_the_lock(homes: Homes) -> None:
    with two(homes(kept=True)) as (one, other):
        one.initialize_concurrency_limit_to_default(POOL)
        lock = Path(one._base_dir).resolve() / "pools.lock"
        with one.pools_held():
            assert modes_of(lock) == [os.O_RDONLY]
            child = os.fork()
            if child == 0:
                signal.pause()
                os._exit(0)
        try:
            assert modes_of(lock) == []
            assert at_once(lambda: claimed(other, "b")) == [True]
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


@pytest.mark.parametrize("homes", [KINDS[1]], indirect=True)
def test_a_holder_that_stands_still_does_not_keep_the_others_out(homes: Homes, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL ends its connection. A file's lock has no limit: on one machine a stopped process is seen."""
    monkeypatch.setattr(pool_limits, "HOLDER_SECONDS", 1)
    with two(homes(kept=True)) as (one, other):
        one.initialize_concurrency_limit_to_default(POOL)
        with pytest.raises(db.exc.DBAPIError), one.pools_held():
            assert claimed(other, "b")
        assert claimed(other, "b")


READS = frozenset(
    (
        "supports_global_concurrency_limits", "has_concurrency_limits_table", "has_default_pool_limit_col",
        "get_concurrency_keys", "get_concurrency_info", "get_concurrency_infos", "get_concurrency_run_ids",
        "get_pool_limits", "get_pool_config", "check_concurrency_claim", "can_claim_from_pending", "has_pending_step",
        "has_unassigned_slots",
    )
)  # fmt: skip
PARTS = frozenset(("add_pending_step", "assign_pending_steps"))
"""Written by what is kept alone: nothing else of Dagster calls them."""


def test_what_changes_a_pool_in_dagster_is_kept_here() -> None:
    """A newer Dagster with another way to change a pool fails here and is looked at."""
    words = ("concurrency", "pool", "slot", "pending_step")
    for storage in (SqliteEventLogStorage, PostgresEventLogStorage):
        found = {name for name in dir(storage) if name[0] != "_" and any(word in name for word in words)}
        assert found - READS - PARTS == {name for name in vars(OneAtATime) if "concurrency" in name and name[0] != "_"}
    for path in Path(dg.__file__).parent.rglob("*.py"):
        if path.name not in ("sql_event_log.py", "legacy_storage.py", "base.py", "in_memory.py"):
            assert not any(f".{name}(" in path.read_text(encoding="utf-8") for name in PARTS), path


@pytest.mark.parametrize("name", ["dagster.yaml", "deploy/dagster.yaml", "deploy/kubernetes/values.yaml"])
def test_every_instance_that_is_delivered_keeps_its_limits(name: str, tmp_path: Path) -> None:
    settings = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
    settings = settings.get("additionalInstanceConfig", settings)
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump({"instance_class": settings["instance_class"]}))
    _, made = dagster_instance_config(str(tmp_path))
    assert made is LimitKeepingInstance


def test_an_instance_over_a_storage_that_is_not_known_is_refused(tmp_path: Path) -> None:
    (tmp_path / "dagster.yaml").write_text(
        yaml.safe_dump(
            {
                "instance_class": {"module": "orchestration.pool_limits", "class": "LimitKeepingInstance"},
                "event_log_storage": {
                    "module": "dagster._core.storage.event_log",
                    "class": "ConsolidatedSqliteEventLogStorage",
                    "config": {"base_dir": str(tmp_path)},
                },
            }
        )
    )
    with pytest.raises(ValueError, match=r"ConsolidatedSqliteEventLogStorage.*PostgresEventLogStorage, SqliteEvent"):
        dg.DagsterInstance.from_config(str(tmp_path))
