"""A build without change loads nothing heavy, and an index that lost too much empties nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
from support.exam_store import products
from typer.testing import CliRunner

from opentwbench.exam.index import IndexShrunkError
from orchestration.build import Build
from orchestration.cli import app
from orchestration.configuration import Configuration
from orchestration.definitions import build_defs
from resources.index_versions import history
from resources.store import Store

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("dagster", "polars", "pymupdf", "httpx", "great_expectations", "pandas", "pyarrow")


def without(ministry: Path, folder: Path, *sittings: bytes) -> Path:
    """The mirror without the index rows of some exam codes."""
    shutil.copytree(ministry, folder)
    rows = (folder / "index.csv").read_bytes().splitlines(keepends=True)
    kept = [row for row in rows if not any(b"code=" + sitting in row for sitting in sittings)]
    assert 1 < len(kept) < len(rows)
    (folder / "index.csv").write_bytes(b"".join(kept))
    return folder


def test_a_build_without_change_loads_nothing_heavy(built: Path, sample_ministry: Path) -> None:
    command = ["otb", "build", "exam", "--source", str(sample_ministry), "--store", str(built), "--json"]
    program = (
        "import sys\n"
        f"sys.argv = {command!r}\n"
        "from orchestration.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "[]"
    assert json.loads(done.stdout)["unchanged"] is True


def test_an_index_that_lost_too_much_stops_the_build_and_changes_nothing(
    copied: Path, sample_ministry: Path, tmp_path: Path
) -> None:
    before = products(copied)
    ministry = without(sample_ministry, tmp_path / "ministry", b"107803", b"104802")
    with pytest.raises(IndexShrunkError, match="are gone at once"):
        Build(Configuration(store=str(copied), source=str(ministry))).run()
    command = ["build", "exam", "--source", str(ministry), "--store", str(copied)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 4
    assert "max_vanished_share" in " ".join(result.output.split())
    assert products(copied) == before
    assert len(history(Store(str(copied)))) == 1


def test_the_asset_refuses_such_an_index_too(copied: Path, sample_ministry: Path, tmp_path: Path) -> None:
    ministry = without(sample_ministry, tmp_path / "ministry", b"107803", b"104802")
    defs = build_defs(Configuration(store=str(copied), source=str(ministry)))
    with dg.DagsterInstance.ephemeral() as instance:
        done = defs.resolve_job_def("index_job").execute_in_process(instance=instance, raise_on_error=False)
    assert not done.success
    assert len(history(Store(str(copied)))) == 1


def test_a_smaller_loss_is_believed_and_a_larger_share_can_be_given(
    copied: Path, sample_ministry: Path, tmp_path: Path
) -> None:
    ministry = without(sample_ministry, tmp_path / "ministry", b"107803", b"104802")
    configuration = Configuration(store=str(copied), source=str(ministry), ministry={"max_vanished_share": 1.0})
    report = Build(configuration).run()
    assert report.years_built == [104, 107]
    versions = history(Store(str(copied)))
    assert {change.change for change in versions[-1].changes} == {"vanished"}
    listed = CliRunner().invoke(app, ["build", "index-history", "--store", str(copied), "--json"])
    assert [len(each["changes"]) for each in json.loads(listed.output)["versions"]] == [0, len(versions[-1].changes)]
    compared = ["build", "index-history", "--store", str(copied), "--from", "2", "--to", "1", "--json"]
    back = json.loads(CliRunner().invoke(app, compared).output)["changes"]
    assert {change["change"] for change in back} == {"new"}
    assert {change["paper_id"] for change in back} == {change.paper_id for change in versions[-1].changes}
    shown = CliRunner().invoke(app, ["build", "index-history", "--store", str(copied), "--rows", "2"])
    assert (shown.exit_code, f"{len(versions[-1].changes) - 2} more changed rows" in shown.output) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "status"), [(["--from", "9"], 3), (["--to", "1"], 2), (["--from", "zz"], 3), ([], 0)]
)
def test_the_history_command_says_what_it_cannot_do(built: Path, arguments: list[str], status: int) -> None:
    result = CliRunner().invoke(app, ["build", "index-history", "--store", str(built), *arguments])
    assert result.exit_code == status, result.output


def test_a_store_without_an_index_has_no_history(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["build", "index-history", "--store", str(tmp_path / "new")])
    assert result.exit_code == 3


def test_a_kill_between_the_index_and_its_record_is_mended(copied: Path, sample_ministry: Path) -> None:
    store = Store(str(copied))
    record = store.read_json(store.index_record())
    # The record still speaks of another index: years decided from it would be wrong.
    store.write_json(store.index_record(), {**record, "sha256": "0" * 64, "years": {}})
    report = Build(Configuration(store=str(copied), source=str(sample_ministry), processes=2)).run()
    assert report.unchanged
    assert store.read_json(store.index_record()) == record
    assert len(history(store)) == 1
