"""The swap: whole or not at all, readers undisturbed, tables only, and staleness that can be seen."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from opentwbench.evaluation.mart import (
    BUILD_DATABASE,
    DATABASE,
    EXPORT,
    RAW,
    RECORD,
    SOURCES_TABLE,
    MartError,
    open_mart,
    project_digest,
    sources,
    standing,
    swap_in,
)
from opentwbench.evaluation.warehouse import write_table

READER = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1], read_only=True)
def say(): print(connection.execute("SELECT count(*) FROM leaderboard").fetchone()[0], flush=True)
say()
for line in sys.stdin: say()
"""


def build(warehouse: Path, rows: int, extra: str = "") -> None:
    """What dbt would have left: staging views, an intermediate table, one mart."""
    warehouse.mkdir(parents=True, exist_ok=True)
    (warehouse / BUILD_DATABASE).unlink(missing_ok=True)
    with duckdb.connect(str(warehouse / BUILD_DATABASE)) as connection:
        connection.execute("CREATE SCHEMA staging; CREATE SCHEMA intermediate")
        connection.execute("CREATE VIEW staging.stg_x AS SELECT 1 AS path_of_this_machine")
        connection.execute("CREATE TABLE intermediate.int_x AS SELECT * FROM range(1000)")
        connection.execute(f"CREATE TABLE leaderboard AS SELECT 'model-' || range AS model FROM range({rows})")
        connection.execute("COMMENT ON TABLE leaderboard IS 'it''s the board'")
        connection.execute("COMMENT ON COLUMN leaderboard.model IS 'who'")
        connection.execute(extra)


def ask(warehouse: Path, query: str) -> list[tuple[object, ...]]:
    with open_mart(warehouse) as connection:
        return connection.execute(query).fetchall()


def test_tables_go_over_and_nothing_else(tmp_path: Path) -> None:
    build(tmp_path, 3, "CREATE VIEW at_home AS SELECT * FROM leaderboard")
    swapped = swap_in(tmp_path, {"raw/x.parquet": "aa"})
    assert swapped.tables == {"leaderboard": 3, SOURCES_TABLE: 1}
    assert ask(tmp_path, "SELECT table_name, table_type FROM information_schema.tables ORDER BY 1") == [
        ("leaderboard", "BASE TABLE"),
        (SOURCES_TABLE, "BASE TABLE"),
    ]
    assert ask(tmp_path, f"SELECT * FROM {SOURCES_TABLE}") == [("raw/x.parquet", "aa")]
    assert ask(tmp_path, "SELECT comment FROM duckdb_tables() WHERE table_name = 'leaderboard'") == [
        ("it's the board",)
    ]
    assert ask(tmp_path, "SELECT comment FROM duckdb_columns() WHERE column_name = 'model'") == [("who",)]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([DATABASE, EXPORT, RECORD])


def test_the_export_holds_the_same_rows(tmp_path: Path) -> None:
    build(tmp_path, 5)
    swap_in(tmp_path, {})
    exported = {path.stem: pq.read_table(path).to_pylist() for path in (tmp_path / EXPORT).iterdir()}
    assert set(exported) == {"leaderboard", SOURCES_TABLE}
    assert [(row["model"],) for row in exported["leaderboard"]] == ask(tmp_path, "SELECT model FROM leaderboard")


def test_a_reader_is_not_disturbed_by_a_rebuild_and_does_not_disturb_it(tmp_path: Path) -> None:
    build(tmp_path, 3)
    swap_in(tmp_path, {})
    command = [sys.executable, "-c", READER, str(tmp_path / DATABASE)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdin is not None and reader.stdout is not None
        assert reader.stdout.readline() == "3\n"
        for rows in (7, 11):
            build(tmp_path, rows)
            swap_in(tmp_path, {})
            reader.stdin.write("\n")
            reader.stdin.flush()
            assert reader.stdout.readline() == "3\n", "an open reader keeps what it opened"
            # A reader in another process that opens now sees the new mart.
            late = subprocess.run(command, input="", capture_output=True, text=True, check=True)
            assert late.stdout == f"{rows}\n"
        reader.stdin.close()
        assert reader.wait(timeout=30) == 0


def test_without_a_built_database_the_old_mart_stays(tmp_path: Path) -> None:
    with pytest.raises(MartError, match="build the mart first"):
        open_mart(tmp_path)
    build(tmp_path, 3)
    swap_in(tmp_path, {})
    with pytest.raises(MartError, match=r"no leaderboard\.build\.duckdb"):
        swap_in(tmp_path, {})
    assert ask(tmp_path, "SELECT count(*) FROM leaderboard") == [(3,)]


def test_a_built_database_without_a_table_replaces_nothing(tmp_path: Path) -> None:
    build(tmp_path, 3)
    swap_in(tmp_path, {})
    build(tmp_path, 1, "DROP TABLE leaderboard")
    with pytest.raises(MartError, match="holds no table"):
        swap_in(tmp_path, {})
    assert ask(tmp_path, "SELECT count(*) FROM leaderboard") == [(3,)]
    assert not [path.name for path in tmp_path.iterdir() if path.name.endswith("aside")]


def test_a_file_that_is_no_database_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_bytes(b"not a database" * 400)
    with pytest.raises(MartError, match=r"leaderboard\.duckdb"):
        open_mart(tmp_path)


def test_a_kill_during_the_swap_leaves_a_whole_mart(tmp_path: Path) -> None:
    raw, project = tmp_path / RAW, tmp_path / "project"
    project.mkdir()
    write_table(raw, "model_annotations", [])
    build(tmp_path, 3)
    swap_in(tmp_path, sources(tmp_path, project))
    program = (
        "import os, signal, sys; from pathlib import Path; import opentwbench.evaluation.mart as mart\n"
        "def die(*a): os.kill(os.getpid(), signal.SIGKILL)\n"
        "setattr(mart, sys.argv[2], die); mart.swap_in(Path(sys.argv[1]), mart.sources(Path(sys.argv[1]), Path('x')))\n"
    )
    for step, rows in (("_copy_tables", 3), ("_export", 7), ("write_file", 7)):
        build(tmp_path, 7)
        killed = subprocess.run([sys.executable, "-c", program, str(tmp_path), step], check=False)
        assert killed.returncode == -signal.SIGKILL
        assert ask(tmp_path, "SELECT count(*) FROM leaderboard") == [(rows,)]
        # Half done is never believed to be done.
        assert not standing(tmp_path, project).is_current
    build(tmp_path, 9)
    swap_in(tmp_path, sources(tmp_path, project))
    assert standing(tmp_path, project).is_current


def test_a_stale_mart_says_what_changed(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "models").mkdir(parents=True)
    (project / "target").mkdir()
    (project / "models" / "a.sql").write_text("select 1")
    write_table(tmp_path / RAW, "model_annotations", [])
    assert standing(tmp_path, project).words() == "there is no mart yet"
    build(tmp_path, 3)
    swap_in(tmp_path, sources(tmp_path, project))
    assert standing(tmp_path, project).words() == "current"
    (project / "target" / "compiled.sql").write_text("select 2")
    assert standing(tmp_path, project).is_current
    (project / "models" / "a.sql").write_text("select 2")
    write_table(tmp_path / RAW, "model_annotations", [{"model": "m", "annotation": "x", "note": ""}])
    found = standing(tmp_path, project)
    assert found.changed == ("dbt/models/a.sql", "raw/model_annotations.parquet")
    assert found.words().startswith("stale: dbt/models/a.sql, raw/model_annotations.parquet")
    (project / "models" / "a.sql").unlink()
    assert "dbt/models/a.sql" in standing(tmp_path, project).changed
    record = json.loads((tmp_path / RECORD).read_text())
    (tmp_path / RECORD).write_text("{")
    assert not standing(tmp_path, project).exists
    assert record["tables"]["leaderboard"] == 3


def test_the_digest_of_the_project_is_that_of_its_sources() -> None:
    project = Path(__file__).parents[3] / "dbt_leaderboard"
    names = project_digest(project)
    assert "dbt/models/marts/leaderboard.sql" in names and "dbt/macros/statistics.sql" in names
    assert not [name for name in names if "target" in name or os.sep + "logs" in name]
