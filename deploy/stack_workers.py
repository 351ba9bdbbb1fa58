"""Runs on two Celery workers, one of which is killed in the middle: what `make stack-workers` runs.

The processes of `deploy/stack.py` and, beside them, a broker (Debian's redis-server) and two workers, each in a process
group of its own as on a machine of its own. A backfill of the subjects spreads over both workers; when a third of it is
done, one of them is killed with everything that it had started, and stays away. At the end every partition is published
as a build without any of this publishes it, and has one successful run with one publication in the event log.

    python deploy/stack_workers.py FOLDER [--partitions 148]

FOLDER must be new. Exit status: 0 everything is there and right; 1 something is lost, different or there twice; 2 wrong
arguments; 3 PostgreSQL or redis-server is not installed.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import yaml
from instance import with_workers
from stack import (
    BIN,
    DATABASE,
    ROOT,
    USER,
    Stack,
    StackError,
    carry_out,
    compare,
    disturbed,
    free_port,
    parser_of,
    postgres_bin,
    prepare,
    who_restarted,
)

WORKERS = ("worker-one", "worker-two")
RECEIVED = re.compile(r"Task execute_job\[([0-9a-f-]{36})\] received")
SUCCEEDED = re.compile(r"Task execute_job\[([0-9a-f-]{36})\] succeeded")

ONE_PUBLICATION = """
select e.partition, count(*) from event_logs e join runs r on r.run_id = e.run_id
where r.status = 'SUCCESS' and e.dagster_event_type = 'ASSET_MATERIALIZATION'
and e.asset_key = '["subject_publication"]'
group by e.partition"""


class WorkersStack(Stack):
    """The processes of a deployment with workers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.names = ("redis", *WORKERS, *self.names)
        self.ports["redis"] = free_port()
        password = secrets.token_hex(16)
        self.environment["OTB_BROKER"] = f"redis://:{password}@127.0.0.1:{self.ports['redis']}/0"
        own = self.folder / "redis"
        own.mkdir()
        settings = own / "redis.conf"
        settings.touch(mode=0o600)  # the password is on no command line
        settings.write_text(
            f"bind 127.0.0.1\nport {self.ports['redis']}\nrequirepass {password}\n"
            f"dir {own}\nappendonly yes\nappendfsync everysec\nsave ''\n"
        )
        self._merge()

    def _merge(self) -> None:
        """dagster.yaml with the blocks of workers.yaml, each worker doing one run at a time."""
        home = self.folder / "home" / "dagster.yaml"
        made = with_workers(home.read_text(), (ROOT / "deploy" / "workers.yaml").read_text())
        made["concurrency"]["runs"]["max_concurrent_runs"] = len(WORKERS)
        made["run_monitoring"] |= {"poll_interval_seconds": 5, "start_timeout_seconds": 120}
        home.write_text(yaml.safe_dump(made))

    def command(self, name: str) -> list[str]:
        """What starts a process."""
        if name == "redis":
            return [str(shutil.which("redis-server")), str(self.folder / "redis" / "redis.conf")]
        if name not in WORKERS:
            return super().command(name)
        worker = [str(BIN / "celery"), "-A", "orchestration.worker_app", "worker", "-n", f"{name}@%h", "-c", "1"]
        return [*worker, "-Q", "platform,leaderboard", "--disable-prefetch", "-l", "INFO"]

    def log(self, name: str) -> str:
        """What a process printed."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def executing(self, worker: str) -> set[str]:
        """The runs that a worker has begun and not ended."""
        return set(RECEIVED.findall(self.log(worker))) - set(SUCCEEDED.findall(self.log(worker)))

    def kill_in_the_middle(self, worker: str, patience: float = 600.0) -> None:
        """Kill a worker with its children while it executes a run; it stays away."""
        end = time.monotonic() + patience
        while not (runs := self.executing(worker)):
            if time.monotonic() > end:
                raise StackError(f"{worker} executed nothing for {patience:g} s")
            time.sleep(0.1)
        time.sleep(0.5)  # into the run
        process = self.running.pop(worker)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        print(f"killed {worker} with {len(runs)} run under way", flush=True)


def publications(made: Stack) -> dict[str, int]:
    """Partition -> publications that the event log holds of successful runs."""
    import psycopg2

    about = {"host": "127.0.0.1", "port": made.ports["postgres"], "user": USER, "dbname": DATABASE}
    connection = psycopg2.connect(**about, password=made.environment["DAGSTER_PG_PASSWORD"])
    try:
        with connection.cursor() as cursor:
            cursor.execute(ONE_PUBLICATION)
            return dict(cursor.fetchall())
    finally:
        connection.close()


def summary(made: WorkersStack, partitions: list[str], statuses: Counter[str], seconds: float) -> int:
    """Print who did what, and what of the event log is not as it must be; 1 when anything is not."""
    counted = publications(made)
    missing = [each for each in partitions if each not in counted]
    twice = [each for each in partitions if counted.get(each, 0) > 1]
    done = {worker: len(set(SUCCEEDED.findall(made.log(worker)))) for worker in WORKERS}
    print(f"{'':22}{'runs received':>14}{'ended':>8}")
    for worker in WORKERS:
        print(f"{worker:22}{len(set(RECEIVED.findall(made.log(worker)))):>14}{done[worker]:>8}")
    print(f"backfill of {len(partitions)}: {seconds:.0f} s, runs {dict(statuses)}")
    print(f"event log: {len(counted)} partitions published; {len(missing)} missing, {len(twice)} twice", flush=True)
    return int(bool(missing or twice or min(done.values()) == 0))


def rehearse(made: WorkersStack, folder: Path, partitions: list[str]) -> int:
    """Index, papers and items, then the backfill with its kill, then the comparison."""
    prepare(made)
    start = time.monotonic()
    statuses = disturbed(made, partitions, [lambda: made.kill_in_the_middle(WORKERS[0])])
    wrong = summary(made, partitions, statuses, time.monotonic() - start)
    print(who_restarted(made), flush=True)
    return max(wrong, compare(folder, partitions, statuses))


def main(arguments: list[str] | None = None) -> int:
    """The rehearsal; prints what happened."""
    parser = parser_of(__doc__)
    options = parser.parse_args(arguments)
    absent = [] if postgres_bin() else ["postgresql"]
    absent += [] if shutil.which("redis-server") else ["redis-server"]
    return carry_out(parser, options, absent, WorkersStack, rehearse)


if __name__ == "__main__":
    sys.exit(main())
