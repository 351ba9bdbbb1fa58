"""A dump of a real PostgreSQL comes back by the commands of deploy/backup.py."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.deploy_scripts import script
from support.postgres import INSTALLED, MISSING, STACK, cluster

BACKUP = script("backup")

pytestmark = [pytest.mark.stack, pytest.mark.skipif(not INSTALLED, reason=MISSING)]


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A cluster of its own, and libpq's variables for it."""
    monkeypatch.setenv("PATH", f"{STACK.postgres_bin()}:{os.environ['PATH']}")
    with cluster() as made:
        settings = {"HOST": "127.0.0.1", "PORT": str(made.ports["postgres"]), "USER": "otb", "DATABASE": "dagster"}
        for name, value in {**settings, "PASSWORD": made.environment["DAGSTER_PG_PASSWORD"]}.items():
            monkeypatch.setenv(f"PG{name}", value)
        yield made


def sql(words: str) -> str:
    command = [str(STACK.postgres_bin() / "psql"), "-AtX", "-v", "ON_ERROR_STOP=1", "-c", words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_what_was_dumped_is_there_again(database: Any, tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    (store / "file").write_text("kept")
    sql("create table runs (id int primary key, status text); insert into runs values (1, 'SUCCESS'), (2, 'QUEUED')")
    assert BACKUP.main(["backup", str(tmp_path / "kept"), "--store", str(store), "--database"]) == 0
    sql("update runs set status = 'FAILURE'; insert into runs values (3, 'STARTED')")
    assert BACKUP.main(["restore", str(tmp_path / "kept"), "--store", str(tmp_path / "new"), "--database"]) == 0
    assert sql("select id, status from runs order by id") == "1|SUCCESS\n2|QUEUED"
    assert (tmp_path / "new" / "file").read_text() == "kept"


def test_a_wrong_password_is_an_error_and_leaves_no_backup(
    database: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PGPASSWORD", "wrong")
    (tmp_path / "store").mkdir()
    assert BACKUP.main(["backup", str(tmp_path / "kept"), "--store", str(tmp_path / "store"), "--database"]) == 1
    assert "pg_dump" in capsys.readouterr().err
    assert not (tmp_path / "kept").exists()
