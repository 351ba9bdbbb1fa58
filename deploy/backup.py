"""Backup and restore of a deployment: the store and Dagster's database, in one folder that says what is in it.

    python deploy/backup.py backup FOLDER --store STORE [--database]
    python deploy/backup.py restore FOLDER --store STORE [--database]
    python deploy/backup.py verify FOLDER

The store is what counts: everything that is published can be made from it, and it says itself what is stale. The
database holds the history of runs and the cursors of sensors; with `--database` it is dumped by pg_dump, with the
connection of libpq's variables (PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE). The database is taken first, so that
the store is never older than what the database says of it. A backup is whole or not there: it is written aside and
renamed. Links are not followed, so what stands behind one is not in it: each is named on stderr. A restore looks at
every hash before it writes; the store goes into an empty place only (a mount point too), the database in place of
the one that is there.

Exit status: 0 done; 1 damaged, or a place that is not empty, or a program that failed; 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

STORE, DATABASE, RECORD = "store.tar", "dagster.dump", "backup.json"
RESTORING = ".restoring"
"""Where a restore unpacks on a mount point. A killed one leaves it, and the next says that the place is not empty."""
LOST = "lost+found"
"""What a new file system holds."""
CHUNK = 1 << 20


class BackupError(Exception):
    """Why there is no backup, or why one is not restored."""


def digest(path: Path) -> str:
    """sha256 of a file."""
    found = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            found.update(chunk)
    return found.hexdigest()


def backup(target: Path, store: Path, *, database: bool) -> dict[str, str]:
    """Write the backup; the hashes of its files. Raises BackupError."""
    if target.exists():
        raise BackupError(f"{target} is there already")
    if not store.is_dir():
        raise BackupError(f"{store} is no folder")
    if target.resolve().is_relative_to(store.resolve()):
        raise BackupError(f"{target} is in the store that it is to be a backup of")
    store = store.resolve()  # a store that is a link is the folder behind it; the archive would hold the bare link
    aside = target.with_name(f".{target.name}.{os.getpid()}.writing")
    try:
        aside.mkdir(parents=True)
        if database:
            _run("pg_dump", "--format=custom", "--no-owner", f"--dbname={_database()}", f"--file={aside / DATABASE}")
        with tarfile.open(aside / STORE, "w") as archive:  # what is large in a store is compressed or compresses badly
            archive.add(store, arcname=".", filter=_kept)
        hashes = {path.name: digest(path) for path in sorted(aside.iterdir())}
        (aside / RECORD).write_text(json.dumps({"sha256": hashes}, indent=1) + "\n")
        for path in aside.iterdir():
            _sync(path)
        aside.rename(target)
        _sync(target.parent)
    except OSError as error:
        raise BackupError(f"{target} cannot be written: {error}") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return hashes


def _database() -> str:
    """The database that is dumped and restored: without PGDATABASE libpq would take one called as the user."""
    return os.environ.get("PGDATABASE") or "dagster"


def _kept(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Files and folders without owner; locks and half-written files of a running store are none of its content."""
    name = Path(entry.name).name
    if entry.issym():
        print(f"left out: {entry.name} is a link to {entry.linkname}", file=sys.stderr)
    if not (entry.isfile() or entry.isdir() or entry.islnk()) or name.endswith((".lock", ".tmp")):
        return None
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def verify(source: Path) -> dict[str, str]:
    """The hashes of a backup whose files are as they were written. Raises BackupError."""
    try:
        hashes = json.loads((source / RECORD).read_text())["sha256"]
        wrong = [name for name, sha256 in hashes.items() if digest(source / Path(name).name) != sha256]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BackupError(f"{source} is no backup: {type(error).__name__}: {str(error)[:200]}") from None
    if STORE not in hashes:
        raise BackupError(f"{source} holds no store")
    if wrong:
        raise BackupError(f"{source}: damaged: {', '.join(wrong)}")
    return dict(hashes)


def restore(source: Path, store: Path, *, database: bool) -> dict[str, str]:
    """Put a backup back into an empty place. Raises BackupError, and then the store is as it was."""
    hashes = verify(source)
    if store.is_symlink() or (store.exists() and not store.is_dir()):
        raise BackupError(f"{store} is no folder")
    if store.exists() and any(entry.name != LOST for entry in store.iterdir()):
        raise BackupError(f"{store} is not empty: move it away first")
    if database and DATABASE not in hashes:
        raise BackupError(f"{source} holds no database")
    # Nothing can take the place of a mount point (a volume, a disk), so there the files go beside where they belong.
    mounted = store.is_mount()
    aside = store / RESTORING if mounted else store.with_name(f".{store.name}.{os.getpid()}.restoring")
    try:
        with tarfile.open(source / STORE) as archive:
            archive.extractall(aside, filter="data")  # refuses links and paths that lead out of the folder
        if database:
            _run("pg_restore", "--clean", "--if-exists", "--no-owner", "--single-transaction",
                 f"--dbname={_database()}", str(source / DATABASE))  # fmt: skip
        if mounted:
            for entry in aside.iterdir():
                entry.rename(store / entry.name)
        else:
            if store.exists():
                store.rmdir()
            aside.rename(store)
    except (tarfile.TarError, OSError) as error:
        raise BackupError(f"the store cannot be restored: {error}") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return hashes


def _run(program: str, *arguments: str) -> None:
    try:
        done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise BackupError(f"{program} is not installed (Debian: postgresql-client)") from None
    if done.returncode:
        raise BackupError(f"{program}: {done.stderr.strip()[-500:]}")


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("backup", "restore", "verify"):
        command = commands.add_parser(name)
        command.add_argument("folder", type=Path)
        if name != "verify":
            command.add_argument("--store", type=Path, required=True)
            command.add_argument("--database", action="store_true")
    given = parser.parse_args(arguments)
    try:
        if given.command == "verify":
            hashes = verify(given.folder)
        else:
            work = backup if given.command == "backup" else restore
            hashes = work(given.folder.absolute(), given.store.absolute(), database=given.database)
    except BackupError as error:
        print(f"{given.command}: {error}", file=sys.stderr)
        return 1
    print("\n".join(f"{sha256}  {name}" for name, sha256 in hashes.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
