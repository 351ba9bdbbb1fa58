"""The processes of a deployment on one machine, without containers: what `make stack` runs.

PostgreSQL (Debian's package), two code locations, webserver and daemon, each a process of its own, over a store and a
mirror with a paper for every subject. A backfill of the subjects goes through the daemon and the queue, and on the way
each process is stopped and started again. At the end every partition is published exactly as a build without any of
this publishes it, and each has one successful run.

    python deploy/stack.py FOLDER [--partitions 148] [--keep]

FOLDER must be new. Exit status: 0 everything is there and right; 1 something is lost or different; 2 wrong arguments;
3 PostgreSQL is not installed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
USER, DATABASE = "otb", "dagster"
PATIENCE = 3600.0
"""Seconds that a job, or one partition more of a backfill, may take; a machine that is shared may stand still for
minutes, and how long 148 runs take there nobody knows."""

IDLE = 420.0
"""Seconds without a run that waits or works, while partitions are missing, after which none is expected any more: more
than Dagster's own retries and the sensor `lost_runs` need, each of which waits for a minute or two."""

ROUNDS = 2
"""How often an operator asks again for partitions whose run ended without success."""

LAUNCH = """mutation Launch($backfill: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $backfill) {
  __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
START = """mutation Start($params: ExecutionParams!) { launchRun(executionParams: $params) {
  __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
RUNS = """query Runs($filter: RunsFilter, $cursor: String) { runsOrError(filter: $filter, cursor: $cursor, limit: 200) {
  ... on Runs { results { runId status tags { key value } } } ... on PythonError { message } } }"""
LOCATIONS = """{ workspaceOrError { ... on Workspace { locationEntries { name loadStatus
  locationOrLoadError { __typename } } } } }"""


class StackError(Exception):
    """A process that did not come up, or an answer that nobody planned for."""


def postgres_bin() -> Path | None:
    """The folder of PostgreSQL's programs, where Debian puts them or on the path; None where it is not installed."""
    places = [place.parent for place in sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), reverse=True)]
    found = shutil.which("initdb")
    places += [Path(found).resolve().parent] if found else []
    return next((place for place in places if all((place / name).exists() for name in ("pg_ctl", "createdb"))), None)


def free_port() -> int:
    """A port of this machine that nobody listens at now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@dataclass
class Stack:
    """The processes, by name, and where they keep things."""

    folder: Path
    source: Path
    environment: dict[str, str] = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=dict)
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    names: tuple[str, ...] = ("platform", "leaderboard", "webserver", "daemon")
    """The processes in the order in which they are started; PostgreSQL is there before them."""

    def __post_init__(self) -> None:
        self.ports = {name: free_port() for name in ("postgres", "platform", "leaderboard", "webserver")}
        home = self.folder / "home"
        home.mkdir(parents=True)
        shutil.copyfile(ROOT / "deploy" / "dagster.yaml", home / "dagster.yaml")
        settings = (home / "dagster.yaml").read_text().replace("port: 5432", f"port: {self.ports['postgres']}")
        settings = settings.replace("poll_interval_seconds: 30", "poll_interval_seconds: 5")
        (home / "dagster.yaml").write_text(settings)
        servers = [
            f"  - grpc_server:\n      host: 127.0.0.1\n      port: {self.ports[name]}\n      location_name: {name}\n"
            for name in ("platform", "leaderboard")
        ]
        (home / "workspace.yaml").write_text("load_from:\n" + "".join(servers))
        self.environment = {
            **os.environ,
            "DAGSTER_HOME": str(home),
            "DAGSTER_PG_HOST": "127.0.0.1",
            "DAGSTER_PG_USER": USER,
            "DAGSTER_PG_PASSWORD": "on-loopback-only",
            "DAGSTER_PG_DB": DATABASE,
            "OTB_ARTIFACTS": str(self.folder / "artifacts"),
            "DAGSTER_DISABLE_TELEMETRY": "yes",
            "OTB_STORE": str(self.folder / "store"),
            "OTB_SOURCE": str(self.source),
            "OTB_LOST_RUNS": "on",
        }

    def command(self, name: str) -> list[str]:
        """What starts a process."""
        port, workspace = str(self.ports.get(name, "")), str(self.folder / "home" / "workspace.yaml")
        module = {"platform": "orchestration.definitions", "leaderboard": "orchestration.leaderboard_definitions"}
        if name in module:
            return [str(BIN / "dagster"), "api", "grpc", "-h", "127.0.0.1", "-p", port, "-m", module[name]]
        if name == "webserver":
            return [str(BIN / "dagster-webserver"), "-h", "127.0.0.1", "-p", port, "-w", workspace]
        if name == "daemon":
            return [str(BIN / "dagster-daemon"), "run", "-w", workspace]
        raise ValueError(name)

    def start(self, name: str) -> None:
        """Start a process in a group of its own, which holds its runs as a container would."""
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                self.command(name), cwd=ROOT, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )

    def stop(self, name: str, patience: float = 10.0) -> None:
        """End a process with everything it started: politely, then as a container's engine does."""
        process = self.running.pop(name)
        for sent, wait in ((signal.SIGTERM, patience), (signal.SIGKILL, 30.0)):
            try:
                os.killpg(process.pid, sent)
                process.wait(wait)
            except ProcessLookupError:
                break
            except subprocess.TimeoutExpired:
                continue
        process.wait()

    def restart(self, name: str) -> None:
        """Stop and start, as a new version or a machine that went down would."""
        print(f"restarting {name}", flush=True)
        if name == "postgres":
            self.postgres("restart")
            return
        self.stop(name)
        self.start(name)

    # -- PostgreSQL: it refuses to run as root, so there its programs run as the user that Debian's package makes.

    def _as_owner(self, *command: str) -> None:
        prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        done = subprocess.run([*prefix, *command], cwd="/", capture_output=True, text=True, check=False)
        if done.returncode:
            raise StackError(f"{Path(command[0]).name}: {done.stderr.strip()[-500:]}")

    def create_database(self) -> None:
        """A cluster of its own in the folder, listening on loopback alone."""
        programs, data = postgres_bin(), self.folder / "postgres"
        assert programs is not None
        data.mkdir()
        secret = self.folder / "password"
        secret.touch(mode=0o600)
        secret.write_text(self.environment["DAGSTER_PG_PASSWORD"])
        if os.geteuid() == 0:
            shutil.chown(data, "postgres")
            shutil.chown(secret, "postgres")
        self._as_owner(
            str(programs / "initdb"), "-D", str(data), "-U", USER, "--auth=scram-sha-256", f"--pwfile={secret}",
            "--encoding=UTF8", "--locale=C",
        )  # fmt: skip
        secret.unlink()
        self.postgres("start")
        environment = {**os.environ, "PGPASSWORD": self.environment["DAGSTER_PG_PASSWORD"]}
        place = ["-h", "127.0.0.1", "-p", str(self.ports["postgres"]), "-U", USER]
        subprocess.run([programs / "createdb", *place, DATABASE], env=environment, check=True)

    def create_tables(self) -> None:
        """Dagster's tables, made by one process before the others start. Raises StackError.

        Of several that make them at once all but one may end ("type already exists", measured).
        """
        tables = [str(BIN / "dagster"), "instance", "migrate"]
        done = subprocess.run(tables, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise StackError(f"tables: {done.stderr.strip()[-500:]}")

    def postgres(self, action: str) -> None:
        """Start, stop or restart the database and wait until it is so; open connections are cut."""
        programs = postgres_bin()
        assert programs is not None
        options = f"-p {self.ports['postgres']} -c listen_addresses=127.0.0.1 -c unix_socket_directories=''"
        log = self.folder / "postgres" / "server.log"
        more = [] if action == "stop" else ["-o", options, "-l", str(log)]
        self._as_owner(str(programs / "pg_ctl"), action, "-w", "-m", "fast", "-D", str(self.folder / "postgres"), *more)

    # -- what the webserver is asked

    def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        """The data of a GraphQL answer; raises StackError when there is none."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.ports['webserver']}/graphql", body, {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                found = json.load(answer)
        except (OSError, ValueError) as error:
            raise StackError(f"the webserver does not answer: {error}") from None
        if "errors" in found:
            raise StackError(str(found["errors"])[:500])
        return dict(found["data"])

    def is_up(self) -> bool:
        """Whether the webserver answers and both locations are loaded."""
        try:
            entries = self.ask(LOCATIONS)["workspaceOrError"]["locationEntries"]
        except StackError:
            return False
        loaded = [each for each in entries if each["locationOrLoadError"]["__typename"] == "RepositoryLocation"]
        return len(loaded) == 2

    def runs(self, **tags: str) -> list[dict[str, Any]]:
        """Every run with these tags: id, status, tags."""
        found: list[dict[str, Any]] = []
        wanted = {"tags": [{"key": key, "value": value} for key, value in tags.items()]}
        while True:
            cursor = found[-1]["runId"] if found else None
            page = self.ask(RUNS, filter=wanted, cursor=cursor)["runsOrError"]["results"]
            found += page
            if len(page) < 200:
                return [{**run, "tags": {tag["key"]: tag["value"] for tag in run["tags"]}} for run in found]

    def close(self) -> None:
        """End everything, what was started last first and the database last."""
        for name in reversed(tuple(self.running)):
            self.stop(name)
        if (self.folder / "postgres" / "postmaster.pid").exists():
            self.postgres("stop")


def wait_for(what: str, ready: Callable[[], bool], seconds: float) -> None:
    """Return when it is so; raises StackError, saying what did not come."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise StackError(f"{what}: not within {seconds:g} s")
        time.sleep(1)


@contextmanager
def stack(made: Stack) -> Iterator[Stack]:
    """All processes, up; they are ended at the end whatever happens."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is ended too
    try:
        made.create_database()
        made.create_tables()
        for name in made.names:
            made.start(name)
        wait_for("webserver and code locations", made.is_up, 600)
        yield made
    finally:
        made.close()


SELECTOR = {"repositoryLocationName": "platform", "repositoryName": "__repository__"}


def run_job(made: Stack, job: str, tags: dict[str, str]) -> None:
    """One run of a job through the queue, to its success."""
    params = {
        "selector": {**SELECTOR, "pipelineName": job},
        "runConfigData": {},
        "executionMetadata": {"tags": [{"key": key, "value": value} for key, value in tags.items()]},
        "mode": "default",
    }
    answer = made.ask(START, params=params)["launchRun"]
    if "run" not in answer:
        raise StackError(f"{job}: {answer}")
    run_id = answer["run"]["runId"]

    def ended() -> bool:
        status = [run["status"] for run in made.ask(RUNS, filter={"runIds": [run_id]})["runsOrError"]["results"]]
        if status == ["FAILURE"]:
            raise StackError(f"{job}: run {run_id} failed")
        return status == ["SUCCESS"]

    wait_for(job, ended, PATIENCE)


def backfill(made: Stack, job: str, partitions: list[str]) -> str:
    """Ask for a run a partition; the id of the backfill."""
    params = {
        "selector": {"partitionSetName": f"{job}_partition_set", "repositorySelector": SELECTOR},
        "partitionNames": partitions,
    }
    answer = made.ask(LAUNCH, backfill=params)["launchPartitionBackfill"]
    if "backfillId" not in answer:
        raise StackError(f"backfill: {answer}")
    return str(answer["backfillId"])


def standing(made: Stack, backfills: list[str]) -> tuple[Counter[str], set[str]]:
    """(runs by status, partitions with a successful run) of some backfills, runs started again included."""
    runs = [run for each in backfills for run in made.runs(**{"dagster/backfill": each})]
    done = {run["tags"].get("dagster/partition", "") for run in runs if run["status"] == "SUCCESS"}
    return Counter(run["status"] for run in runs), done


def who_restarted(made: Stack) -> str:
    """By whom runs were started again, from their tags; a retry of Dagster's carries on the tags of its parent."""
    from orchestration.lost_runs import COUNT_TAG

    tags = [run["tags"].keys() for run in made.runs()]
    dagster = sum("dagster/retry_number" in each for each in tags)
    own = sum(COUNT_TAG in each and "dagster/retry_number" not in each for each in tags)
    return f"runs started again: {dagster} by Dagster, {own} by lost_runs"


RESTARTED = ("webserver", "daemon", "platform", "postgres", "leaderboard")


def disturbed(made: Stack, partitions: list[str], disturbances: Sequence[Callable[[], None]]) -> Counter[str]:
    """Backfill, with these disturbances in the middle of it, one after the other; its runs by status."""
    backfills = [backfill(made, "dataset_job", partitions)]
    restarts = list(disturbances)
    share = [len(partitions) * (n + 1) // (len(restarts) + 2) for n in range(len(restarts))]
    moved = came = time.monotonic()
    statuses, done = Counter[str](), set[str]()
    while time.monotonic() < came + PATIENCE:
        time.sleep(2)
        try:
            before = len(done)
            statuses, done = standing(made, backfills)
            came = time.monotonic() if len(done) > before else came
            if time.monotonic() > moved + IDLE and len(backfills) <= ROUNDS:
                missing = [each for each in partitions if each not in done]
                print(f"asking again for {len(missing)} partitions: {dict(statuses)}", flush=True)
                backfills.append(backfill(made, "dataset_job", missing))
                moved = time.monotonic()
            elif time.monotonic() > moved + IDLE:
                break
        except StackError:
            continue  # the webserver is on its way up
        if statuses.keys() - {"SUCCESS", "FAILURE", "CANCELED"}:
            moved = time.monotonic()
        if restarts and len(done) >= share[-len(restarts)]:
            restarts.pop(0)()
        elif not restarts and len(done) == len(partitions):
            return statuses
    raise StackError(f"{len(partitions) - len(done)} partitions without a successful run: {dict(statuses)}")


def published(store: Path) -> dict[str, bytes]:
    """Every published file by its name."""
    folder = store / "publications"
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def parser_of(about: str | None) -> argparse.ArgumentParser:
    """What every rehearsal is asked for."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--partitions", type=int, default=148, help="how many subjects (default: all)")
    return parser


Made = TypeVar("Made", bound=Stack)


def carry_out(
    parser: argparse.ArgumentParser,
    options: argparse.Namespace,
    absent: list[str],
    make: Callable[[Path, Path], Made],
    rehearse: Callable[[Made, Path, list[str]], int],
) -> int:
    """One rehearsal in the new folder of `options`; its exit status. `absent`: Debian packages that are missing."""
    if absent:
        print(f"not installed: apt-get install {' '.join(absent)}", file=sys.stderr)
        return 3
    if (ROOT / ".env").exists():
        # Dagster's code servers read it where they start, over what they were started with (measured).
        parser.error(f"{ROOT / '.env'} would take the place of the rehearsal's own settings: move it away first")
    if options.partitions < 1:
        parser.error("--partitions must be at least 1")  # a negative number would leave out the last subjects
    if options.folder.exists():
        parser.error(f"{options.folder} is there already")
    from opentwbench.exam.subjects import REGISTRY
    from samples import every_subject

    folder = options.folder.resolve()
    partitions = sorted(REGISTRY)[: options.partitions]
    folder.mkdir(parents=True)
    folder.chmod(0o755)  # the database's user must pass through
    every_subject.build(folder / "mirror", partitions)
    print(f"{len(partitions)} papers typeset", flush=True)
    try:
        made = make(folder / "stack", folder / "mirror")
        with stack(made):
            return rehearse(made, folder, partitions)
    except StackError as error:
        print(f"stack: {error}", file=sys.stderr)
        return 1


def main(arguments: list[str] | None = None) -> int:
    """The rehearsal; prints what happened."""
    parser = parser_of(__doc__)
    parser.add_argument("--keep", action="store_true", help="keep the processes up until Ctrl-C")
    options = parser.parse_args(arguments)
    absent = [] if postgres_bin() else ["postgresql"]
    return carry_out(parser, options, absent, Stack, partial(rehearse, keep=options.keep))


def prepare(made: Stack) -> None:
    """Index, papers and items: three runs, each over all."""
    from opentwbench.exam.subjects import REGISTRY
    from samples.every_subject import YEAR

    start = time.monotonic()
    slugs = sorted(REGISTRY)
    run_job(made, "index_job", {})
    run_job(made, "papers_job", {"dagster/partition": str(YEAR)})
    whole = {"dagster/asset_partition_range_start": slugs[0], "dagster/asset_partition_range_end": slugs[-1]}
    run_job(made, "items_job", whole)
    print(f"index, papers and items: {time.monotonic() - start:.0f} s", flush=True)


def rehearse(made: Stack, folder: Path, partitions: list[str], *, keep: bool) -> int:
    """Index, papers and items, then the backfill with its restarts, then the comparison."""
    prepare(made)
    start = time.monotonic()
    statuses = disturbed(made, partitions, [partial(made.restart, name) for name in RESTARTED])
    seconds = time.monotonic() - start
    print(f"backfill of {len(partitions)}: {seconds:.0f} s, runs {dict(statuses)}", flush=True)
    wait_for("webserver and code locations after their restarts", made.is_up, 600)
    print(who_restarted(made), flush=True)
    status = compare(folder, partitions, statuses)
    if keep:
        print(f"http://127.0.0.1:{made.ports['webserver']} (Ctrl-C ends)", flush=True)
        with suppress(KeyboardInterrupt):
            signal.pause()
    return status


def compare(folder: Path, partitions: list[str], statuses: Counter[str]) -> int:
    """Nothing lost: every partition as an undisturbed build publishes it. Nothing twice: one successful run each."""
    from orchestration.build import Build
    from orchestration.configuration import Configuration

    plain = folder / "plain"
    report = Build(Configuration(store=str(plain), source=str(folder / "mirror"), processes=2)).run()
    here, there = published(folder / "stack" / "store"), published(plain)
    lost, different = sorted(there.keys() - here.keys()), sorted(n for n in there if here.get(n, there[n]) != there[n])
    more = sorted(here.keys() - there.keys())
    twice = statuses["SUCCESS"] - len(partitions)
    print(f"{len(there)} published files: {len(lost)} lost, {len(different)} different, {len(more)} more; "
          f"{twice} partitions with a second successful run; {len(report.errors)} errors")  # fmt: skip
    return int(bool(lost or different or more or twice or report.errors or not there))


if __name__ == "__main__":
    sys.exit(main())
