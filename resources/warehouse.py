"""The warehouse: where raw tables and the mart stand, and dbt started over them.

What belongs here: the place, its configuration, and running dbt as a process of its own. What does not: schemas
(opentwbench/evaluation/warehouse.py), the swap (opentwbench/evaluation/mart.py) and the models (dbt_leaderboard).
dbt is started as a command and never imported here: importing it costs every run of the platform several seconds.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opentwbench.dataset.atomic import write_file
from opentwbench.evaluation.mart import BUILD_DATABASE, RAW, MartError, Standing, Swapped, sources, standing, swap_in
from opentwbench.evaluation.warehouse import ensure_tables, file_digest, raw_digests
from resources.store import Store, StoreError

PROJECT = Path(__file__).resolve().parent.parent / "dbt_leaderboard"
"""The dbt project, beside the packages."""

BUILD_RECORD = "leaderboard.build.json"
"""Beside the database built aside: written when every test has passed, with what it was made from."""

UNUSABLE = frozenset(",'\"*?[]")
"""Characters that mean something else in DuckDB's `file_search_path` and globs."""

LOCK = ".build.lock"
"""Held by the one process that builds."""

TARGET = "dbt"
"""Folder of the warehouse that dbt writes its artefacts to, so that a build changes nothing in the project."""


_DBT = """
import ctypes, os, signal, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl({death_signal}, signal.SIGKILL)
    if os.getppid() != {parent}:
        os._exit(1)
from dbt.cli.main import cli
cli()
"""
"""The command `dbt` of this environment, whatever is on the path. It ends with the process that started it: left behind
by a kill, it would go on writing the files that the next build writes."""

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


QUIET = {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "DO_NOT_TRACK": "1"}
"""dbt's telemetry is off however it is started."""


class MartBuildError(Exception):
    """dbt did not build the mart, or a test failed. Names the nodes; the mart in place is the old one."""


@dataclass(frozen=True, slots=True)
class Warehouse:
    """The warehouse folder of a store. Always local: DuckDB writes and swaps files."""

    folder: Path

    @property
    def raw(self) -> Path:
        """The folder of raw tables."""
        return self.folder / RAW

    def prepare(self) -> None:
        """Make the folder and an empty table wherever there is none; clear what a killed or failed build left."""
        self.raw.mkdir(parents=True, exist_ok=True)
        ensure_tables(self.raw)
        for name in (BUILD_DATABASE, f"{BUILD_DATABASE}.wal", BUILD_RECORD):
            (self.folder / name).unlink(missing_ok=True)

    @property
    def target(self) -> Path:
        """dbt's artefacts of the last build."""
        return self.folder.resolve() / TARGET

    @contextmanager
    def building(self) -> Iterator[dict[str, str]]:
        """The folder prepared and held for one build; gives what the build is made from.

        Raises MartBuildError when another process builds here (two would write one file), and for a path that DuckDB
        would read as a list, a pattern or the end of a text.
        """
        if unusable := sorted(UNUSABLE.intersection(str(self.folder.resolve()))):
            raise MartBuildError(f"{self.folder}: DuckDB cannot search a path that holds {' '.join(unusable)}")
        self.folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise MartBuildError(f"{self.folder}: another process builds the mart; wait for it") from None
            self.prepare()
            self.target.mkdir(parents=True, exist_ok=True)
            yield self.sources()
        finally:
            os.close(handle)

    def note_build(self, made_from: Mapping[str, str]) -> None:
        """Record that the database built aside passed every test: its sha256, and what it was made from."""
        record = {"database": file_digest(self.folder / BUILD_DATABASE), "made_from": dict(made_from)}
        write_file(self.folder / BUILD_RECORD, json.dumps(record, sort_keys=True).encode())

    def swap(self) -> Swapped:
        """Put the database built aside in place; MartError unless `note_build` vouches for it.

        Also a swap started by hand, alone, puts in place only what was built and tested whole.
        """
        record = self.folder / BUILD_RECORD
        try:
            passed = json.loads(record.read_bytes())
            made_from = {str(name): str(digest) for name, digest in passed["made_from"].items()}
            same = passed["database"] == file_digest(self.folder / BUILD_DATABASE)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise MartError("no mart was built and tested since the last swap: build it first") from None
        if not same:
            raise MartError(f"{BUILD_DATABASE} is not the database that passed the tests: build it again")
        swapped = swap_in(self.folder, made_from)
        record.unlink(missing_ok=True)
        return swapped

    def sources(self) -> dict[str, str]:
        """Everything that the mart is made from, by name with sha256."""
        return sources(self.folder, PROJECT)

    def raw_digests(self) -> dict[str, str]:
        """Raw file -> sha256; empty before the first table."""
        return raw_digests(self.raw) if self.raw.is_dir() else {}

    def standing(self) -> Standing:
        """Whether the mart is current."""
        return standing(self.folder, PROJECT)

    def dbt(self, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run one dbt command over this warehouse; raises MartBuildError naming what failed."""
        target = self.target
        (target / "run_results.json").unlink(missing_ok=True)
        environment = {**os.environ, **QUIET, "OTB_WAREHOUSE": str(self.folder.resolve())}
        done = _run_dbt(arguments, target, environment)
        if done.returncode:
            raise MartBuildError(_what_failed(target, done.stdout + done.stderr, done.returncode))
        return done

    def build(self, *, docs: bool = False) -> Swapped:
        """Build and test the mart aside, then swap it in. Raises MartBuildError, and the old mart stays in place.

        With `docs`, dbt's pages become docs/index.html of the warehouse, one file that needs no network.
        """
        with self.building() as made_from:
            self.dbt(["build", "--quiet"])
            if docs:
                self.dbt(["docs", "generate", "--static", "--quiet"])
                write_file(self.folder / "docs" / "index.html", (self.target / "static_index.html").read_bytes())
            self.note_build(made_from)
            return self.swap()


def manifest_path() -> Path:
    """The manifest from which Dagster knows the models; git-ignored, made by `prepare_manifest`."""
    return PROJECT / "target" / "manifest.json"


def prepare_manifest() -> None:
    """Make the manifest anew from the project; offline, 4 to 8 s. Raises MartBuildError when the project is wrong."""
    done = _run_dbt(["parse", "--quiet"], PROJECT / "target", {**os.environ, **QUIET})
    if done.returncode:
        raise MartBuildError(f"dbt parse: {(done.stdout + done.stderr).strip()[-2000:]}")


def _run_dbt(
    arguments: Sequence[str], target: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    places = ["--project-dir", str(PROJECT), "--profiles-dir", str(PROJECT)]
    places += ["--target-path", str(target), "--log-path", str(target / "logs")]
    script = _DBT.format(death_signal=_PR_SET_PDEATHSIG, parent=os.getpid())
    command = [sys.executable, "-c", script, *arguments, *places]
    target.mkdir(parents=True, exist_ok=True)
    return subprocess.run(command, env=dict(environment), capture_output=True, text=True, check=False, cwd=target)


def warehouse_of(store: Store, folder: str = "") -> Warehouse:
    """The warehouse of a store: the named folder, else the folder 'warehouse' of a local store.

    Raises StoreError when the store is remote and no folder is named.
    """
    if folder:
        return Warehouse(Path(folder))
    if not store.is_local:
        raise StoreError(f"{store.url}: the warehouse is always local; name its folder")
    with store.folder("warehouse") as path:
        return Warehouse(path)


def _what_failed(target: Path, output: str, status: int) -> str:
    failed = [f"{each['unique_id']}: {each['message']}" for each in _results(target) if each["status"] in _BAD]
    if failed:
        return "; ".join(failed)[:2000]
    # A dbt that was killed (by hand, or for want of memory) names nothing and prints nothing.
    ended = f"ended by signal {-status}; run it again" if status < 0 else f"ended with status {status}"
    return f"dbt: {output.strip()[-2000:] or ended}"


_BAD = {"error", "fail", "runtime error"}


def _results(target: Path) -> list[Mapping[str, Any]]:
    try:
        return list(json.loads((target / "run_results.json").read_bytes())["results"])
    except (OSError, ValueError, KeyError):
        return []
