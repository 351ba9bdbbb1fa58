"""Three days of the ministry over HTTP: only what changed is fetched, parsed, rebuilt, and named.

Day 1 builds. Day 2 adds a sitting (113) and corrects one key (library science of 104). On day 3 a row vanishes (Chinese
of 107) and a question paper is exchanged under its old URL (library science of 104). Each day is built twice, by
`otb build exam`'s own Build and by the schedules and sensors on an instance, into two stores that must end equal.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from support.exam_store import CHINESE, CONSTITUTION, LIBRARY, SAMPLE_SUBJECTS, products

from opentwbench.exam.fingerprint import item_id
from opentwbench.exam.index import INDEX_URL, parse_paper_url
from opentwbench.exam.subjects import REGISTRY
from orchestration.build import Build, BuildReport
from orchestration.configuration import Configuration
from orchestration.definitions import build_defs
from resources.index_versions import history
from resources.store import Store
from samples.loopback import LoggedRequest, LoopbackMinistry
from samples.ministry import build, pdfs
from samples.sittings import Entry, Paper, papers

# Nine builds of the sample ministry; on a busy machine they take minutes.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

ASSETS = ("exam_papers", "subject_items", "subject_dataset", "subject_publication")
EVERY_DAY = {"delay_seconds": 0.0, "jitter_seconds": 0.0, "index_max_age_hours": 0.0}
"""The index is asked for at every build, as the daily schedule would; papers are believed for 30 days."""
EVERY_PAPER = {**EVERY_DAY, "max_age_days": 0.0}
STAGES = ("changed_years", "changed_papers", "changed_subjects", "changed_release")

SITTING_113 = {f"113805/701/0701/{role}" for role in "QS"}
CORRECTED_KEY = "104802/401/0401/M"
EXCHANGED = "104802/401/0401/Q"
VANISHED = "107803-503-0503"


# -- the ministry's days ----------------------------------------------------------------------------------------------


def exchanged(paper: Paper) -> Paper:
    """The paper with one word changed in its first question."""
    first = next(part for part in paper.parts if isinstance(part, Entry))
    item = replace(first.item, stem=first.item.stem.replace("下列", "以下"))
    assert item.stem != first.item.stem
    parts = tuple(replace(part, item=item) if part is first else part for part in paper.parts)
    return replace(paper, parts=parts)


def third_day(second: Path, folder: Path) -> Path:
    """Day 2 without one row of the index, and with one question paper exchanged under its URL."""
    shutil.copytree(second, folder)
    rows = (folder / "index.csv").read_bytes().splitlines(keepends=True)
    kept = [row for row in rows if b"code=107803&c=503&s=0503" not in row]
    assert len(kept) == len(rows) - 1
    (folder / "index.csv").write_bytes(b"".join(kept))
    (paper,) = (each for each in papers(2) if f"{each.sitting.code}/{each.category_code}" == "104802/401")
    path = f"files/{EXCHANGED}.pdf"
    data = pdfs(exchanged(paper))[path]
    assert (folder / path).read_bytes() != data
    (folder / path).write_bytes(data)
    return folder


# -- a build of each kind ---------------------------------------------------------------------------------------------


@dataclass
class Day:
    """What one day did to one store."""

    before: dict[str, bytes]
    after: dict[str, bytes]
    requests: tuple[LoggedRequest, ...]
    materialized: dict[str, list[str]]
    """Asset -> partitions materialized, sorted."""
    report: BuildReport | None = None
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    """(schedule or sensor, partition) of every run that was requested."""

    def fetched(self) -> set[str]:
        """Papers that the server sent, as code/category/subject/role, and 'index'."""
        return {short(request.url) for request in self.requests if request.status == 200}

    def not_modified(self) -> Counter[str]:
        return Counter(short(request.url) for request in self.requests if request.status == 304)

    def changed(self) -> set[str]:
        """Products whose bytes changed, came or went."""
        names = self.before.keys() | self.after.keys()
        return {name for name in names if self.before.get(name) != self.after.get(name)}


def short(url: str) -> str:
    if url == INDEX_URL:
        return "index"
    paper = parse_paper_url(url)
    return f"{paper.exam_code}/{paper.category_code}/{paper.subject_code}/{paper.role}"


def materializations(instance: dg.DagsterInstance) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for asset in ASSETS:
        records = instance.fetch_materializations(dg.AssetKey(asset), limit=10_000).records
        found.update((asset, record.partition_key or "") for record in records)
    return found


@dataclass
class Life:
    """One store lived through days, with the instance that records its runs."""

    store: Path
    server: LoopbackMinistry
    instance: dg.DagsterInstance
    cursors: dict[str, str | None] = field(default_factory=dict)

    def configuration(self, ministry: dict[str, float]) -> Configuration:
        return Configuration(store=str(self.store), source=self.server.base_url, processes=2, ministry=ministry)

    def by_build(self, ministry: dict[str, float], *, recheck: bool = False) -> Day:
        day = self._begin()
        day.report = Build(self.configuration(ministry), self.instance).run(recheck=recheck)
        return self._end(day)

    def by_sensors(self, ministry: dict[str, float], *schedules: str) -> Day:
        day = self._begin()
        defs = build_defs(self.configuration(ministry))
        for schedule in schedules:
            self._run(defs, schedule, self._scheduled(defs, schedule), day)
        # Ticks until nobody asks; a stage that never ends would be a loop of runs.
        for _ in range(len(STAGES) + 1):
            if not sum(self._run(defs, name, self._sensed(defs, name), day) for name in STAGES):
                return self._end(day)
        raise AssertionError(f"the sensors still ask after {len(STAGES) + 1} rounds: {day.asked}")

    def _begin(self) -> Day:
        self.server.forget()
        seen = {asset: [] for asset in ASSETS}
        self._seen = materializations(self.instance)
        return Day(products(self.store), {}, (), seen)

    def _end(self, day: Day) -> Day:
        new = materializations(self.instance) - self._seen
        for (asset, partition), count in sorted(new.items()):
            day.materialized[asset] += [partition] * count
        day.after, day.requests = products(self.store), self.server.log
        return day

    def _scheduled(self, defs: dg.Definitions, name: str) -> list[dg.RunRequest]:
        schedule = defs.resolve_schedule_def(name)
        needed = _needed(defs, schedule.required_resource_keys)
        with dg.build_schedule_context(self.instance, resources=needed) as context:
            if name == "daily_index":  # a cron line and a job, no function
                return list(schedule.evaluate_tick(context).run_requests or ())
            found = schedule(context)
            return found if isinstance(found, list) else []

    def _sensed(self, defs: dg.Definitions, name: str) -> list[dg.RunRequest]:
        sensor = defs.resolve_sensor_def(name)
        needed = _needed(defs, sensor.required_resource_keys)
        with dg.build_sensor_context(self.instance, self.cursors.get(name), resources=needed) as context:
            found = sensor(context)
            if not isinstance(found, dg.SensorResult):
                self.cursors[name] = context.cursor
                return []
        self.cursors[name] = found.cursor
        for added in found.dynamic_partitions_requests or ():
            self.instance.add_dynamic_partitions(added.partitions_def_name, list(added.partition_keys))
        return list(found.run_requests or ())

    def _run(self, defs: dg.Definitions, name: str, requests: list[dg.RunRequest], day: Day) -> int:
        by_schedule = name not in STAGES
        owner = defs.resolve_schedule_def(name) if by_schedule else defs.resolve_sensor_def(name)
        job = defs.resolve_job_def(owner.job_name)
        for request in requests:
            day.asked.append((name, request.partition_key))
            tags = {k: v for k, v in request.tags.items() if k.startswith("dagster/asset_partition_range")}
            done = job.execute_in_process(
                instance=self.instance, partition_key=request.partition_key, tags=tags, raise_on_error=False
            )
            assert done.success, [event.message for event in done.all_events if event.is_failure]
        return len(requests)


def _needed(defs: dg.Definitions, keys: Iterable[str]) -> dict[str, object]:
    return {key: (defs.resources or {})[key] for key in keys}


@dataclass
class Days:
    """Both lives, day by day, as they were on each."""

    built: list[Day]
    sensed: list[Day]
    idle: Day
    """A further build on day 2: nothing has changed."""
    quiet: Day
    """A build on day 3 that asks for no old paper again."""
    folder: Path

    def manifest(self, day: int, slug: str) -> dict[str, Any]:
        return json.loads(self.built[day].after[f"datasets/{slug}/manifest.json"])

    def rows(self, day: int, slug: str) -> dict[str, dict[str, Any]]:
        lines = self.built[day].after[f"datasets/{slug}/benchmark.jsonl"].splitlines()
        return {row["item_id"]: row for row in map(json.loads, lines)}


@pytest.fixture(scope="module")
def days(sample_ministry: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Days]:
    folder = tmp_path_factory.mktemp("life")
    build(folder / "day2", day=2)
    third = third_day(folder / "day2", folder / "day3")
    with (
        LoopbackMinistry(sample_ministry) as server,
        dg.instance_for_test() as one,
        dg.instance_for_test() as other,
    ):
        by_build, by_sensors = Life(folder / "a", server, one), Life(folder / "b", server, other)
        built = [by_build.by_build(EVERY_DAY)]
        # The second life has what the first fetched and parsed: the days after are about what is asked for anew.
        shutil.copytree(folder / "a" / "cache", folder / "b" / "cache")
        sensed = [by_sensors.by_sensors(EVERY_DAY, "daily_index")]
        server.folder = folder / "day2"
        built.append(by_build.by_build(EVERY_DAY))
        sensed.append(by_sensors.by_sensors(EVERY_DAY, "daily_index"))
        idle = by_build.by_build(EVERY_DAY)
        server.folder = third
        quiet = by_build.by_build(EVERY_DAY)
        sensed.append(by_sensors.by_sensors(EVERY_DAY, "daily_index", "failed_files"))
        built.append(by_build.by_build(EVERY_PAPER, recheck=True))
        sensed.append(by_sensors.by_sensors(EVERY_PAPER, "old_papers"))
        yield Days(built, sensed, idle, quiet, folder)


# -- what the truth says ----------------------------------------------------------------------------------------------


def truth(folder: Path, paper: str) -> list[dict[str, Any]]:
    """The questions of one paper as the samples' truth has them."""
    described = json.loads((folder / "truth.json").read_bytes())["papers"]
    return next(each["questions"] for each in described if each["paper"] == paper)


def ids(slug: str, questions: Iterable[dict[str, Any]]) -> set[str]:
    """Item ids of questions that no rule excludes."""
    key = REGISTRY[slug].key
    kept = (question for question in questions if not question["exclusion"])
    return {item_id(key, question["question"], question["options"]) for question in kept}


def section(changelog: bytes, version: str) -> dict[str, set[str]]:
    """Kind of change -> the ids (or 'old → new') that the section of a version lists."""
    text = changelog.decode().split(f"## {version}\n")[1].split("\n## ")[0]
    found: dict[str, set[str]] = {}
    for line in text.splitlines():
        if line.endswith(tuple("0123456789")) and ": " in line and not line.startswith("- "):
            found[kind := line.rsplit(": ", 1)[0]] = set()
        elif line.startswith("- "):
            found[kind].add(line[2:].replace("`", ""))
    return found


ADDED, REMOVED, REKEYED = "新增 added", "移除 removed", "更改答案 re-keyed"
RETEXTED, REDESCRIBED = "更正文字 text corrected (old id → new id)", "更改出處 provenance or reprints changed"


# -- day 1 ------------------------------------------------------------------------------------------------------------


def test_day_one_asks_for_every_file_once_and_builds_all(days: Days) -> None:
    day = days.built[0]
    asked = Counter(short(request.url) for request in day.requests)
    # The build looks at the index and then materializes it: believed for no time at all, it is asked for twice.
    assert asked.pop("index") == 2
    assert set(asked.values()) == {1}
    assert day.not_modified() == {"index": 1}
    assert day.report is not None
    assert day.report.subjects_built == list(SAMPLE_SUBJECTS)
    assert day.report.requests == len(day.requests)


# -- day 2: a sitting more, a key corrected ----------------------------------------------------------------------------


def test_day_two_fetches_the_new_sitting_and_the_corrected_key(days: Days) -> None:
    day = days.built[1]
    assert day.fetched() == {"index", *SITTING_113, CORRECTED_KEY}
    # Every other file is younger than its maximum age: nobody is asked, not even conditionally.
    assert day.not_modified() == {"index": 1}
    assert day.report is not None
    assert (day.report.requests, day.report.files_fetched) == (len(day.requests), 3) == (5, 3)


def test_day_two_rebuilds_exactly_the_touched_years_and_subjects(days: Days) -> None:
    day = days.built[1]
    assert day.materialized["exam_papers"] == ["104", "113"]
    assert day.materialized["subject_dataset"] == day.materialized["subject_publication"] == [LIBRARY, CONSTITUTION]
    assert day.report is not None
    assert (day.report.years_built, day.report.subjects_built) == ([104, 113], [LIBRARY, CONSTITUTION])
    assert day.report.items_written == [LIBRARY, CONSTITUTION]


def test_the_folders_of_untouched_subjects_keep_their_bytes(days: Days) -> None:
    touched = {LIBRARY, CONSTITUTION}
    about_subjects = ("datasets/", "publications/", "verdicts/")
    changed = {name for name in days.built[1].changed() if name.startswith(about_subjects)}
    assert {slug for slug in SAMPLE_SUBJECTS if any(slug in name for name in changed)} == touched
    papers_changed = {name for name in days.built[1].changed() if name.startswith("papers/")}
    assert {name.split("/")[1].split(".")[0] for name in papers_changed} == {"104", "113"}


def test_the_changelog_names_the_added_items(days: Days) -> None:
    version = days.manifest(1, CONSTITUTION)["version"]
    assert version != days.manifest(0, CONSTITUTION)["version"]
    named = section(days.built[1].after[f"datasets/{CONSTITUTION}/CHANGELOG.md"], version)
    printed = ids(CONSTITUTION, truth(days.folder / "day2", "113805-701-0701"))
    before = set(days.rows(0, CONSTITUTION))
    assert named[ADDED] == printed - before
    assert len(named[ADDED]) == 5
    # Its two reprints are no new items: the items that they repeat say now that one paper more prints them.
    assert named[REDESCRIBED] <= before
    assert len(named[REDESCRIBED]) == 2
    assert named.keys() == {ADDED, REDESCRIBED}


def test_the_changelog_names_the_re_keyed_and_the_voided_item(days: Days) -> None:
    before = truth_of_first(days)
    after = truth(days.folder / "day2", "104802-401-0401")
    pairs = list(zip(before, after, strict=True))
    rekeyed = ids(LIBRARY, (new for old, new in pairs if not new["exclusion"] and new["key"] != old["key"]))
    voided = ids(LIBRARY, (old for old, new in pairs if new["exclusion"] != old["exclusion"]))
    assert (len(rekeyed), len(voided)) == (1, 1)
    version = days.manifest(1, LIBRARY)["version"]
    assert version != days.manifest(0, LIBRARY)["version"]
    named = section(days.built[1].after[f"datasets/{LIBRARY}/CHANGELOG.md"], version)
    assert named == {REKEYED: rekeyed, REMOVED: voided}
    (line,) = days.built[1].after[f"datasets/{LIBRARY}.removed.jsonl"].splitlines()
    removal = json.loads(line)
    assert ({removal["item_id"]}, removal["reason"], removal["detail"]) == (voided, "excluded", "voided")
    assert removal["last_version"] == days.manifest(0, LIBRARY)["version"]


def truth_of_first(days: Days) -> list[dict[str, Any]]:
    first = days.folder / "day1-truth"
    if not first.is_dir():
        build(first, day=1)
    return truth(first, "104802-401-0401")


def test_all_other_items_keep_their_id_and_their_row(days: Days) -> None:
    kept = 0
    for slug in SAMPLE_SUBJECTS:
        named = section(days.built[1].after[f"datasets/{slug}/CHANGELOG.md"], days.manifest(1, slug)["version"])
        touched = set().union(*named.values()) if slug in (LIBRARY, CONSTITUTION) else set()
        before, after = days.rows(0, slug), days.rows(1, slug)
        same = before.keys() - touched
        assert same == after.keys() - touched
        assert {key: before[key] for key in same} == {key: after[key] for key in same}
        kept += len(same)
    assert kept > 200


def test_a_further_look_asks_for_the_index_only(days: Days) -> None:
    assert days.idle.not_modified() == {"index": 1}
    assert len(days.idle.requests) == 1
    assert days.idle.changed() == set()
    assert days.idle.materialized == {asset: [] for asset in ASSETS}
    assert days.idle.report is not None and days.idle.report.unchanged


# -- day 3: a row vanishes, a file is exchanged under its URL ----------------------------------------------------------


def test_a_vanished_row_takes_its_items_along_and_says_why(days: Days) -> None:
    day = days.quiet
    assert day.fetched() == {"index"}
    assert day.materialized["exam_papers"] == ["107"]
    assert day.materialized["subject_dataset"] == [CHINESE]
    printed = ids(CHINESE, truth(days.folder / "day2", VANISHED))
    before = {
        row["item_id"]: row for row in map(json.loads, day.before[f"datasets/{CHINESE}/benchmark.jsonl"].splitlines())
    }
    after = {
        row["item_id"]: row for row in map(json.loads, day.after[f"datasets/{CHINESE}/benchmark.jsonl"].splitlines())
    }
    gone = {key for key, row in before.items() if row["paper_id"] == VANISHED} - after.keys()
    assert gone == printed & (before.keys() - after.keys())
    assert len(gone) > 10
    assert before.keys() - after.keys() == gone
    version = json.loads(day.after[f"datasets/{CHINESE}/manifest.json"])["version"]
    assert section(day.after[f"datasets/{CHINESE}/CHANGELOG.md"], version)[REMOVED] == gone
    lines = [json.loads(line) for line in day.after[f"datasets/{CHINESE}.removed.jsonl"].splitlines()]
    assert {line["item_id"] for line in lines} == gone
    assert {(line["paper_id"], line["reason"], line["detail"]) for line in lines} == {
        (VANISHED, "row_gone", "vanished")
    }


def test_a_file_exchanged_under_its_url_is_found_by_asking_again(days: Days) -> None:
    day = days.built[2]
    assert day.report is not None
    # Every file is asked for, conditionally; the missing paper has no body, so its page comes anew each time.
    assert day.fetched() == {EXCHANGED, "107803/506/0506/Q", "107803/506/0506/S"}
    assert day.report.files_fetched == 1
    asked = Counter(short(request.url) for request in day.requests if request.url != INDEX_URL)
    assert set(asked.values()) == {1}
    assert day.not_modified() == {"index": 1} | {name: 1 for name in asked if name not in day.fetched()}
    assert day.report.files_not_modified == len(asked) - 3 > 25
    assert day.materialized["subject_dataset"] == [LIBRARY]
    named = section(day.after[f"datasets/{LIBRARY}/CHANGELOG.md"], days.manifest(2, LIBRARY)["version"])
    assert named.keys() == {RETEXTED}
    ((old, new),) = (pair.split(" → ") for pair in named[RETEXTED])
    assert days.rows(1, LIBRARY)[old]["question"].replace("下列", "以下") == days.rows(2, LIBRARY)[new]["question"]
    removal = json.loads(day.after[f"datasets/{LIBRARY}.removed.jsonl"].splitlines()[-1])
    assert (removal["item_id"], removal["reason"], removal["detail"]) == (old, "retexted", new)


# -- the history, and the other way of life ----------------------------------------------------------------------------


def test_the_history_names_what_each_day_changed(days: Days) -> None:
    versions = history(Store(str(days.folder / "a")))
    seen = [[(each.change, each.paper_id) for each in version.changes] for version in versions]
    assert seen == [
        [],
        [("new", "113805-701-0701"), ("rekeyed", "104802-401-0401")],
        [("vanished", VANISHED)],
    ]
    assert [version.sha256 for version in history(Store(str(days.folder / "b")))] == [v.sha256 for v in versions]


def test_schedules_and_sensors_end_with_the_bytes_of_a_build(days: Days) -> None:
    pairs = zip([days.built[0], days.built[1], days.quiet, days.built[2]], days.sensed, strict=True)
    for number, (built, sensed) in enumerate(pairs):
        assert built.after.keys() == sensed.after.keys(), number
        assert [name for name in built.after if built.after[name] != sensed.after[name]] == [], number


def test_sensors_ask_for_exactly_what_is_touched(days: Days) -> None:
    second = days.sensed[1]
    assert second.asked == [
        ("daily_index", None),
        ("changed_years", "104"),
        ("changed_years", "113"),
        ("changed_papers", None),
        ("changed_subjects", LIBRARY),
        ("changed_subjects", CONSTITUTION),
        ("changed_release", None),
    ]
    assert second.fetched() == {"index", *SITTING_113, CORRECTED_KEY}
    assert days.sensed[2].asked == [
        ("daily_index", None),
        ("changed_years", "107"),
        ("changed_papers", None),
        ("changed_subjects", CHINESE),
        ("changed_release", None),
    ]
    assert [name for name, _ in days.sensed[3].asked] == [
        *["old_papers"] * 5,
        "changed_papers",
        "changed_subjects",
        "changed_release",
    ]
