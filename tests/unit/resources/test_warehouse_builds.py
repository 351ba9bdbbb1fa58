"""One build at a time, and only a database that passed its tests is put in place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from opentwbench.evaluation.mart import BUILD_DATABASE, MartError, open_mart
from resources.store import Store, StoreError
from resources.warehouse import MartBuildError, Warehouse, warehouse_of


def made(house: Warehouse, rows: int) -> None:
    """What dbt would leave."""
    with duckdb.connect(str(house.folder / BUILD_DATABASE)) as connection:
        connection.execute(f"CREATE TABLE leaderboard AS SELECT * FROM range({rows})")


def rows(house: Warehouse) -> int:
    with open_mart(house.folder) as mart:
        found = mart.execute("SELECT count(*) FROM leaderboard").fetchone()
    assert found is not None
    return int(found[0])


def test_a_database_that_passed_is_put_in_place_once(tmp_path: Path) -> None:
    house = Warehouse(tmp_path)
    with house.building() as made_from:
        made(house, 3)
        house.note_build(made_from)
    assert house.swap().tables["leaderboard"] == 3
    assert house.standing().is_current
    with pytest.raises(MartError, match="no mart was built and tested"):
        house.swap()


def test_a_database_that_is_not_the_tested_one_is_refused(tmp_path: Path) -> None:
    house = Warehouse(tmp_path)
    for count, tested in ((3, 3), (7, 5)):
        with house.building() as made_from:
            made(house, tested)
            house.note_build(made_from)
        if count == tested:
            house.swap()
            continue
        (house.folder / BUILD_DATABASE).unlink()
        made(house, count)
        with pytest.raises(MartError, match="not the database that passed"):
            house.swap()
    assert rows(house) == 3


def test_what_a_killed_build_left_is_cleared(tmp_path: Path) -> None:
    house = Warehouse(tmp_path)
    house.folder.mkdir(exist_ok=True)
    (house.folder / BUILD_DATABASE).write_bytes(b"half a database")
    (house.folder / f"{BUILD_DATABASE}.wal").write_bytes(b"half a log")
    with house.building() as made_from:
        made(house, 2)
        house.note_build(made_from)
    house.swap()
    assert rows(house) == 2


def test_two_processes_never_build_at_once(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from resources.warehouse import Warehouse\n"
        "with Warehouse(Path(sys.argv[1])).building(): print('building', flush=True); sys.stdin.readline()\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None and other.stdout is not None
        assert other.stdout.readline() == "building\n"
        with pytest.raises(MartBuildError, match="another process builds"), Warehouse(tmp_path).building():
            pass
        other.stdin.write("\n")
        other.stdin.close()
        assert other.wait(timeout=60) == 0
    with Warehouse(tmp_path).building() as made_from:
        assert "raw/runs.parquet" in made_from


@pytest.mark.parametrize("name", ["a,b", "it's", "w[1]", "w*"])
def test_a_path_that_duckdb_would_misread_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(MartBuildError, match="cannot search a path"), Warehouse(tmp_path / name).building():
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_warehouse_is_local(tmp_path: Path) -> None:
    assert warehouse_of(Store(str(tmp_path / "store"))).folder == tmp_path / "store" / "warehouse"
    remote = Store("memory://store", tmp_path / "cache")
    assert warehouse_of(remote, str(tmp_path / "here")).folder == tmp_path / "here"
    with pytest.raises(StoreError, match="always local"):
        warehouse_of(remote)


@pytest.mark.parametrize(
    ("end", "said"), [("kill -9 $$", "dbt: ended by signal 9; run it again"), ("exit 7", "dbt: ended with status 7")]
)
def test_a_dbt_that_was_killed_or_said_nothing_is_no_empty_reason(
    end: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["/bin/sh", "-c", end], capture_output=True, text=True, check=False)

    monkeypatch.setattr("resources.warehouse._run_dbt", ended)
    with pytest.raises(MartBuildError) as error:
        Warehouse(tmp_path).dbt(["build"])
    assert str(error.value) == said
