"""The build runs what changed and nothing else, and what it makes does not depend on when or where it ran."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest
from support.exam_store import LIBRARY, SAMPLE_SUBJECTS, products

from opentwbench.exam.mirror import MirrorError
from orchestration.build import Build, BuildReport, UnknownSelectionError, ranges
from orchestration.definitions import Configuration
from resources.store import Store
from samples.loopback import LoopbackMinistry

Configured = Callable[[], Configuration]
POLITE = {"delay_seconds": 0.0, "jitter_seconds": 0.0}


def states(report: BuildReport) -> dict[str, str]:
    return {slug: each["state"] for slug, each in report.release["subjects"].items() if each["state"] != "no source"}


def test_the_sample_ministry_is_published_whole(configured: Configured) -> None:
    report = Build(configured()).run()
    assert states(report) == dict.fromkeys(SAMPLE_SUBJECTS, "published")
    assert len(report.in_state("no source")) == 148 - len(SAMPLE_SUBJECTS)
    assert report.release["closes"] == []
    assert report.suite["passed"] is True
    table = dict(report.release["table"])
    assert table["index_rows"] == table["accepted"] + sum(
        1 for each in report.release["rejected"] if each["reason"] and each["detail"]
    )
    assert report.release["matching"]["unassigned"] == {"樣本儀器操作實務": {"papers": 1, "items": 12}}


def test_a_second_build_rebuilds_nothing_and_writes_nothing(copied: Path, configured: Configured) -> None:
    def stamps() -> dict[str, int]:
        kept = (file for file in copied.rglob("*") if file.is_file() and "cache" not in file.parts)
        return {str(file): file.stat().st_mtime_ns for file in kept}

    before = stamps()
    report = Build(configured()).run()
    assert report.unchanged
    assert stamps() == before


def test_a_second_build_over_http_asks_for_nothing(sample_ministry: Path, tmp_path: Path) -> None:
    with LoopbackMinistry(sample_ministry) as server:
        configuration = Configuration(
            store=str(tmp_path / "store"), source=server.base_url, processes=2, ministry=POLITE
        )
        first = Build(configuration).run(years=[110])
        asked = len(server.log)
        second = Build(configuration).run(years=[110])
        assert asked == first.requests > 0
        assert len(server.log) == asked
    assert (second.requests, second.unchanged, second.years_built) == (0, True, [])


def test_two_builds_are_the_same_bytes(built: Path, sample_ministry: Path, tmp_path: Path) -> None:
    with LoopbackMinistry(sample_ministry) as server:
        configuration = Configuration(
            store=str(tmp_path / "other"), source=server.base_url, processes=1, ministry=POLITE
        )
        Build(configuration).run()
    mine, theirs = products(built), products(tmp_path / "other")
    assert mine.keys() == theirs.keys()
    assert [name for name in mine if mine[name] != theirs[name] and not _says_how_it_was_missing(name)] == []


def _says_how_it_was_missing(name: str) -> bool:
    # A mirror folder and a server name a missing file in other words; the words are in the record of its year.
    return name.startswith(("papers/107", "release/")) or "library-science" in name


def test_a_damaged_data_set_is_built_again(copied: Path, configured: Configured, built: Path) -> None:
    (copied / "datasets" / LIBRARY / "benchmark.csv").write_bytes(b"nothing")
    (copied / "publications" / LIBRARY / "README.md").unlink()
    report = Build(configured()).run()
    assert report.subjects_built == [LIBRARY]
    assert (report.years_built, report.items_written) == ([], [])
    published = f"publications/{LIBRARY}/benchmark.csv"
    assert (copied / published).read_bytes() == (built / published).read_bytes()


def test_a_damaged_year_is_collected_again_and_parses_nothing(
    copied: Path, configured: Configured, built: Path
) -> None:
    (copied / "papers" / "104.jsonl").write_bytes(b"{}\n")
    parsed: list[int] = []
    configuration = configured()

    class Seen:
        def step(self, what: str, done: int, total: int) -> None:
            if what == "papers parsed":
                parsed.append(done)

    object.__setattr__(configuration, "progress", Seen())
    report = Build(configuration).run()
    assert (report.years_built, report.subjects_built, parsed) == ([104], [], [])
    assert (copied / "papers" / "104.jsonl").read_bytes() == (built / "papers" / "104.jsonl").read_bytes()


def without_rows_of(year: str, ministry: Path) -> None:
    file = ministry / "index.csv"
    rows = list(csv.reader(io.StringIO(file.read_text(encoding="utf-8-sig"))))
    out = io.StringIO()
    csv.writer(out).writerows([row for row in rows if row[0] != year])
    file.write_text("\ufeff" + out.getvalue(), encoding="utf-8")


def test_a_sitting_that_left_the_index_leaves_the_data_sets(
    copied: Path, sample_ministry: Path, tmp_path: Path
) -> None:
    ministry = Path(shutil.copytree(sample_ministry, tmp_path / "ministry"))
    without_rows_of("110", ministry)
    before = {slug: Store(str(copied)).read_json(f"datasets/{slug}/manifest.json") for slug in SAMPLE_SUBJECTS}
    report = Build(Configuration(store=str(copied), source=str(ministry), processes=2)).run()
    assert report.years_built == [110]
    assert (copied / "papers" / "110.jsonl").read_bytes() == b""
    after = {slug: Store(str(copied)).read_json(f"datasets/{slug}/manifest.json") for slug in SAMPLE_SUBJECTS}
    changed = [slug for slug in SAMPLE_SUBJECTS if after[slug] != before[slug]]
    assert changed == report.subjects_built != []
    assert set(changed) != set(SAMPLE_SUBJECTS)
    again = Build(Configuration(store=str(copied), source=str(ministry), processes=2)).run()
    assert again.unchanged


def test_one_subject_of_one_year(sample_ministry: Path, tmp_path: Path) -> None:
    configuration = Configuration(store=str(tmp_path / "store"), source=str(sample_ministry), processes=2)
    report = Build(configuration).run(years=[104], subjects=[LIBRARY])
    assert (report.years_built, report.subjects_built) == ([104], [LIBRARY])
    assert Store(str(tmp_path / "store")).slugs("publications") == [LIBRARY]


def test_what_is_not_there_is_named(configured: Configured, tmp_path: Path) -> None:
    with pytest.raises(UnknownSelectionError, match="tw-nothing-bench"):
        Build(configured()).run(subjects=["tw-nothing-bench"])
    with pytest.raises(UnknownSelectionError, match="999"):
        Build(configured()).run(years=[999])
    with pytest.raises((MirrorError, ValueError)):
        Build(Configuration(store=str(tmp_path / "s"), source=str(tmp_path / "nowhere"))).run()


def test_runs_are_kept_in_an_instance_that_is_given(copied: Path, configured: Configured, tmp_path: Path) -> None:
    (copied / "datasets" / LIBRARY / "benchmark.csv").write_bytes(b"nothing")
    with dg.DagsterInstance.ephemeral() as instance:
        Build(configured(), instance).run()
        record = instance.get_latest_materialization_event(dg.AssetKey("subject_publication"))
        assert record is not None
        assert record.dagster_event.partition == LIBRARY


@pytest.mark.parametrize(
    ("todo", "expected"),
    [
        ([], []),
        (["a"], [("a", "a")]),
        (["a", "b", "c"], [("a", "c")]),
        (["d", "a", "b"], [("a", "b"), ("d", "d")]),
    ],
)
def test_ranges(todo: list[str], expected: list[tuple[str, str]]) -> None:
    assert ranges(todo, ["a", "b", "c", "d"]) == expected


def test_ranges_refuses_an_unknown_key() -> None:
    with pytest.raises(ValueError):
        ranges(["z"], ["a"])
