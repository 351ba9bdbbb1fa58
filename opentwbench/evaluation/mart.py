"""The mart as files: made whole beside the old one, swapped in, exported, and told current from stale.

What belongs here: what happens to the database that dbt has built and tested. What does not: building it
(dbt_leaderboard), starting dbt and saying where the warehouse is (resources/warehouse.py).
An analyst's open reader would block a writer and a writer would block readers, so nobody ever writes the file that is
read: a reader that is open keeps the old file, one that opens later gets the new one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from opentwbench.dataset.atomic import replace_folder, replacing, write_file
from opentwbench.evaluation.warehouse import file_digest, raw_digests

DATABASE = "leaderboard.duckdb"
"""What analysts open, read-only."""

BUILD_DATABASE = "leaderboard.build.duckdb"
"""What dbt builds; nobody reads it, and it is gone after the swap."""

EXPORT = "marts"
"""Folder of the same tables as Parquet."""

RAW = "raw"
"""Folder of the tables that a mart is made from."""

RECORD = "mart.json"
"""What the mart was made from, written last: without it a mart is stale."""

SOURCES_TABLE = "made_from"
"""The table of the mart that names every file it was made from, with its sha256."""

_SOURCES_COLUMNS = {"file": "Its name in the warehouse or in the dbt project.", "sha256": "Of its bytes, in hex."}


class MartError(Exception):
    """The mart cannot be swapped in or read. Names what is wrong."""


@dataclass(frozen=True, slots=True)
class Swapped:
    """A mart that is in place."""

    tables: Mapping[str, int]
    """Table -> rows."""
    database_bytes: int
    export_bytes: int


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether the mart is what its sources would make now. `changed` names every file that differs, sorted."""

    exists: bool
    changed: tuple[str, ...]

    @property
    def is_current(self) -> bool:
        """True when there is a mart and nothing that it was made from has changed."""
        return self.exists and not self.changed

    def words(self) -> str:
        """One line for a person."""
        if not self.exists:
            return "there is no mart yet"
        if not self.changed:
            return "current"
        named = ", ".join(self.changed[:5])
        more = f" and {len(self.changed) - 5} more" if len(self.changed) > 5 else ""
        return f"stale: {named}{more} changed since it was built"


def project_digest(project: Path) -> dict[str, str]:
    """'dbt/<file>' -> sha256 of every file that says how the mart is computed."""
    kinds = {".sql", ".yml", ".md"}
    files = (path for path in project.rglob("*") if path.suffix in kinds and path.is_file())
    own = (path for path in files if not {"target", "logs"}.intersection(path.relative_to(project).parts))
    return {f"dbt/{path.relative_to(project).as_posix()}": file_digest(path) for path in sorted(own)}


def sources(warehouse: Path, project: Path) -> dict[str, str]:
    """Everything that a mart is made from: raw tables and the dbt project, by name with sha256."""
    raw = {f"{RAW}/{name}": digest for name, digest in raw_digests(warehouse / RAW).items()}
    return raw | project_digest(project)


def standing(warehouse: Path, project: Path) -> Standing:
    """Whether the mart in place was made from what is there now."""
    record = _record(warehouse / RECORD)
    if record is None or not (warehouse / DATABASE).is_file():
        return Standing(False, ())
    now, then = sources(warehouse, project), record["made_from"]
    return Standing(True, tuple(sorted(name for name in now.keys() | then.keys() if now.get(name) != then.get(name))))


def _record(path: Path) -> dict[str, Any] | None:
    try:
        record = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("made_from"), dict) else None


def swap_in(warehouse: Path, made_from: Mapping[str, str]) -> Swapped:
    """Put the mart that dbt built in place of the old one, with its Parquet export and its record.

    Only the tables of the schema `main` go over, into a fresh file: it holds no view with a path, no staging table and
    no freed block. `made_from` is what the build read; the record is written last, so a kill leaves a mart that counts
    as stale, never one believed current. Raises MartError when there is no built database or it holds no table.
    """
    built, database = warehouse / BUILD_DATABASE, warehouse / DATABASE
    if not built.is_file():
        raise MartError(f"there is no {BUILD_DATABASE}: build the mart first")
    (warehouse / RECORD).unlink(missing_ok=True)
    with replacing(database) as aside:
        tables = _copy_tables(built, aside, made_from)
    exported = _export(database, warehouse / EXPORT, tables)
    write_file(
        warehouse / RECORD,
        (json.dumps({"made_from": dict(made_from), "tables": tables}, indent=1, sort_keys=True) + "\n").encode(),
    )
    for left in (built, built.with_name(built.name + ".wal")):
        left.unlink(missing_ok=True)
    return Swapped(tables, database.stat().st_size, exported)


def _copy_tables(built: Path, target: Path, made_from: Mapping[str, str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    # What a kill left of an earlier swap would be replayed into the fresh file.
    target.with_name(f"{target.name}.wal").unlink(missing_ok=True)
    with _connection(target) as connection:
        connection.execute(f"ATTACH '{_quoted(built)}' AS built (READ_ONLY)")
        found = connection.execute(
            "SELECT table_name, comment FROM duckdb_tables() WHERE database_name = 'built' AND schema_name = 'main'"
            " ORDER BY table_name"
        ).fetchall()
        if not found:
            raise MartError(f"{built.name} holds no table")
        for name, comment in found:
            counts[name] = _copy_table(connection, name, comment)
        connection.execute(f'CREATE TABLE "{SOURCES_TABLE}" (file VARCHAR NOT NULL, sha256 VARCHAR NOT NULL)')
        connection.execute(f"COMMENT ON TABLE \"{SOURCES_TABLE}\" IS 'Every file that this mart was made from.'")
        for column, words in _SOURCES_COLUMNS.items():
            connection.execute(f"COMMENT ON COLUMN \"{SOURCES_TABLE}\".{column} IS '{words}'")
        if made_from:
            connection.executemany(f'INSERT INTO "{SOURCES_TABLE}" VALUES (?, ?)', sorted(made_from.items()))
        counts[SOURCES_TABLE] = len(made_from)
        connection.execute("DETACH built")
        connection.execute("CHECKPOINT")
    return counts


def _copy_table(connection: duckdb.DuckDBPyConnection, name: str, comment: str | None) -> int:
    quoted = _identifier(name)
    connection.execute(f"CREATE TABLE {quoted} AS SELECT * FROM built.main.{quoted}")
    if comment:
        connection.execute(f"COMMENT ON TABLE {quoted} IS '{_literal(comment)}'")
    columns = connection.execute(
        "SELECT column_name, comment FROM duckdb_columns() WHERE database_name = 'built' AND schema_name = 'main'"
        " AND table_name = ? AND comment IS NOT NULL",
        [name],
    ).fetchall()
    for column, words in columns:
        connection.execute(f"COMMENT ON COLUMN {quoted}.{_identifier(column)} IS '{_literal(words)}'")
    counted = connection.execute(f"SELECT count(*) FROM {quoted}").fetchone()
    return int(counted[0]) if counted else 0


def _export(database: Path, folder: Path, tables: Mapping[str, int]) -> int:
    """Write every table as Parquet, the folder as a whole; bytes written."""
    staged = folder.with_name(f".{folder.name}.parquet")
    staged.mkdir(parents=True, exist_ok=True)
    try:
        with _connection(database, read_only=True) as connection:
            for name in tables:
                target = _quoted(staged / f"{name}.parquet")
                connection.execute(f"COPY {_identifier(name)} TO '{target}' (FORMAT parquet, COMPRESSION zstd)")
        files = {f"{name}.parquet": (staged / f"{name}.parquet").read_bytes() for name in tables}
        replace_folder(folder, files)
        return sum(map(len, files.values()))
    finally:
        for path in staged.glob("*"):
            path.unlink()
        staged.rmdir()


@contextmanager
def _connection(path: Path, *, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    # Nothing is fetched: an extension that is missing is an error.
    settings: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "preserve_insertion_order": True,
    }
    try:
        connection = duckdb.connect(str(path), read_only=read_only, config=settings)
    except duckdb.Error as error:
        raise MartError(f"{path.name}: {error}") from None
    try:
        yield connection
    finally:
        connection.close()


def open_mart(warehouse: Path) -> duckdb.DuckDBPyConnection:
    """The mart, read-only; a rebuild meanwhile disturbs neither side. Raises MartError when there is none."""
    path = warehouse / DATABASE
    if not path.is_file():
        raise MartError(f"{DATABASE} is not there: build the mart first")
    try:
        return duckdb.connect(str(path), read_only=True)
    except duckdb.Error as error:
        raise MartError(f"{path.name}: {error}") from None


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return text.replace("'", "''")


def _quoted(path: Path) -> str:
    return _literal(str(path))
