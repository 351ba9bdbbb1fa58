"""One release, rehearsed as docs/operations.md describes it, with a SIGKILL and a resume at every stage.

The ministry changes its index; the build withholds one subject, because a check found a question that asks twice; the
maintainer excludes that item; the subject passes, is published, pushed to a loopback hub, asked of a scripted model,
graded into the mart and shown on the board. Every command is `otb`, as a person types it. Beside each killed command
the same one runs undisturbed on a copy of what was there before, and both must end alike: builds and site to the byte,
replies but for the clock, the mart row by row. The loopback servers count what was asked.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.exam_store import CONSTITUTION, LIBRARY, products
from support.rehearsal import (
    ASKS_TWICE,
    SUBJECTS,
    a_night_passes,
    at_endpoint,
    at_hub,
    at_ministry,
    at_once,
    ministry,
    started_for,
    tree,
    wait_until,
    written,
)
from support.warm_otb import Ended, Moment, Started, WarmOtb

from opentwbench.board.pages import FIRST
from opentwbench.dataset.validators import BLOCKING_CHECKS
from opentwbench.evaluation.journal import read_responses
from opentwbench.evaluation.mart import open_mart
from resources.exam_products import PUBLISHED_ITEMS_STAY
from samples.hub import WRITE, HubFault, LoopbackHub
from samples.loopback import Fault, FaultKind, LoopbackMinistry
from samples.model_endpoint import ModelEndpoint

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

TOKEN = "hf_rehearsalSecret0123456789"
MODEL = "scripted/model"
KNOWS_NOT = 4
"""The scripted model is wrong about every fourth item of a data set, by its place there."""


@dataclass
class Seen:
    """What a maintainer could look at, kept stage by stage."""

    store: Path
    site: Path
    listed: Path
    ended: dict[str, Ended] = field(default_factory=dict)
    """How each stage's last command ended."""
    differing: dict[str, list[str]] = field(default_factory=dict)
    """Files in which a killed stage ended otherwise than its undisturbed twin."""
    compared: dict[str, int] = field(default_factory=dict)
    asked: dict[str, Counter[str]] = field(default_factory=dict)
    """Requests at the ministry by stage: what of an address tells papers apart -> how often."""
    paid: Counter[str] = field(default_factory=Counter)
    """Requests of the killed evaluation by the hash of their body."""
    versions: dict[str, dict[str, str]] = field(default_factory=dict)
    """Stage -> subject -> version of its data set."""
    published: dict[str, dict[str, str]] = field(default_factory=dict)
    """Stage -> subject -> version of what is published."""
    commits: dict[str, dict[str, int]] = field(default_factory=dict)
    hub_files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    tags: dict[str, list[str]] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    """Stem -> text of the option that the model chooses."""
    excluded: str = ""
    kills: int = 0

    def note_versions(self, stage: str) -> None:
        """Remember which versions are built and published now."""
        for name, kept in (("datasets", self.versions), ("publications", self.published)):
            manifests = {slug: self.store / name / slug / "manifest.json" for slug in SUBJECTS}
            kept[stage] = {s: json.loads(p.read_bytes())["version"] for s, p in manifests.items() if p.exists()}

    def rows(self, slug: str) -> list[dict[str, Any]]:
        """The published rows of a subject."""
        lines = (self.store / "publications" / slug / "benchmark.jsonl").read_bytes().splitlines()
        return [json.loads(line) for line in lines]


@dataclass
class Rehearsal:
    """The players, and the stages in their order."""

    otb: WarmOtb
    server: LoopbackMinistry
    hub: LoopbackHub
    endpoint: ModelEndpoint
    folder: Path
    seen: Seen

    def build(self, store: Path, *more: object) -> tuple[object, ...]:
        polite = ("--delay", 0, "--processes", 1)
        return ("build", "exam", "--source", self.server.base_url, "--store", store, *polite, *more)

    def evaluate(self, store: Path, *more: object) -> tuple[object, ...]:
        asked = ("--model", MODEL, "--base-url", self.endpoint.base_url, "--store", store)
        return ("evaluate", *asked, "--concurrency", 1, "--fixed", *more)

    def play(self) -> None:
        """All of it."""
        self.first_release()
        a_night_passes(self.seen.store)
        self.server.folder = ministry(self.folder / "day2", 2)
        self.server.forget()
        self.recrawl()
        self.exclude()
        self.rebuild()
        self.push()
        self.ask()
        self.mart()
        self.board()
        self.seen.kills = self.otb.kills

    def first_release(self) -> None:
        """Day 1, undisturbed: built, published, on the Hub, and evaluated."""
        store = self.seen.store
        self.expect(0, *self.build(store))
        self.seen.note_versions("day 1")
        self.expect(0, "hub", "push", CONSTITUTION, "--store", store)
        self.learn()
        self.expect(0, *self.evaluate(store))

    def learn(self) -> None:
        """Teach the model what is published: what it has learnt already stays, whatever a new key says."""
        for slug in SUBJECTS:
            for place, row in enumerate(self.seen.rows(slug)):
                wrong = next(letter for letter in "ABCD" if letter != row["answer"])
                text = row[wrong if place % KNOWS_NOT == 0 else row["answer"]]
                self.seen.answers.setdefault(row["question"], text)
        self.endpoint.set(answers=self.seen.answers)

    def recrawl(self) -> None:
        """Stages 1 and 2: the index, the changed papers, items, data sets, checks. One subject is withheld."""
        store = self.seen.store
        calm, twin = self.twin("recrawl", *self.build(store))
        self.otb.end(twin)
        self.server.forget()
        self.server.plant(
            Fault(FaultKind.DELAY, "CSV.ashx", seconds=2), Fault(FaultKind.DELAY, "t=Q&code=113805", seconds=2)
        )
        # Every folder of the store, twenty times over: dagster/test_kill.py.
        stages = ("papers", "items", "verdicts", "publications")
        moments = [at_ministry(self.server, "CSV.ashx"), at_ministry(self.server, "t=Q&code=113805")]
        self.killed("recrawl", self.build(store), *moments, *(written(store / stage) for stage in stages))
        self.compare("recrawl", products(store), products(calm))
        self.seen.note_versions("withheld")
        self.seen.ended["show"] = self.otb.run("subject", "show", CONSTITUTION, "--store", store, "--json")
        self.seen.ended["push withheld"] = self.otb.run("hub", "push", CONSTITUTION, "--store", store)
        self.seen.commits["withheld"] = self.commits()

    def exclude(self) -> None:
        """Stage 3: the maintainer writes down what he saw on the page."""
        verdict = json.loads((self.seen.store / "verdicts" / CONSTITUTION / "merged_stems.json").read_bytes())
        (self.seen.excluded,) = set(re.findall(r"roc-constitution-[0-9a-f]{12}", json.dumps(verdict)))
        words = ("--reason", "text_damaged", "--evidence", "113805-701-0701 question 8, page 2: printed so")
        where = ("--maintainer", self.seen.listed, "--date", "2026-11-30", "--store", self.seen.store)
        self.killed("exclude", ("subject", "exclude", self.seen.excluded, *words, *where), at_once)

    def rebuild(self) -> None:
        """Stage 4: the checks pass, the subject is published."""
        store = self.seen.store
        more = ("--maintainer", self.seen.listed)
        calm, twin = self.twin("rebuild", *self.build(store, *more))
        self.killed("rebuild", self.build(store, *more), written(store / "verdicts"))
        self.otb.end(twin)
        self.compare("rebuild", products(store), products(calm))
        self.seen.note_versions("released")

    def push(self) -> None:
        """Stage 5: killed before a commit, and between a commit and its tag."""
        command = ("hub", "push", "--store", self.seen.store, "--jobs", 1)
        before = f"{LIBRARY}/preupload"
        self.hub.plant(HubFault(FaultKind.DELAY, before, seconds=2))
        self.otb.killed(command, at_hub(self.hub, before))
        self.otb.killed(command, self.committed)
        self.seen.ended["push"] = self.otb.run(*command)
        self.seen.commits["released"] = self.commits()
        for slug in SUBJECTS:
            self.seen.hub_files[slug] = self.hub.files(f"Org/{slug}")
            self.seen.tags[slug] = sorted(self.hub.repositories[f"Org/{slug}"].tags)

    def committed(self) -> Callable[[], bool]:
        """A moment: the Hub has carried out a commit to the subject that was withheld."""
        before = self.commits()[CONSTITUTION]
        return lambda: self.commits()[CONSTITUTION] > before

    def commits(self) -> dict[str, int]:
        """Commits of each repository, the one that made it not counted."""
        return {slug: len(held.commits) - 1 for slug in SUBJECTS if (held := self.hub.repositories.get(f"Org/{slug}"))}

    def ask(self) -> None:
        """Stage 6: the new version is asked; what an earlier run holds is not asked again."""
        store = self.seen.store
        self.learn()
        calm, twin = self.twin("evaluate", *self.evaluate(store, "--reuse", "all"))
        self.otb.end(twin)
        self.endpoint.set(latency=1.0)
        self.endpoint.forget()
        moments = (written(store / "runs"), at_endpoint(self.endpoint, 3))
        self.killed("evaluate", self.evaluate(store, "--reuse", "all"), *moments)
        self.seen.paid = Counter(self.endpoint.stats(counts=True)["asked"])
        self.compare("evaluate", _replies(store), _replies(calm))

    def mart(self) -> None:
        """Stage 7."""
        warehouse = self.seen.store / "warehouse"
        command = ("mart", "build", "--store", self.seen.store)
        calm, twin = self.twin("mart", *command)
        self.otb.killed(command, written(warehouse / "raw"))
        self.otb.killed(command, written(warehouse / "leaderboard.build.duckdb"))
        # dbt is a process of its own: left behind, it would write into the next build.
        wait_until(lambda: not started_for(warehouse))
        self.killed("mart", command)
        self.otb.end(twin)
        self.compare("mart", _tables(warehouse), _tables(calm / "warehouse"))

    def board(self) -> None:
        """Stage 8."""
        command = ("board", "build", "--store", self.seen.store, "--out")
        calm = self.folder / "calm-site"
        twin = self.otb.start(*command, calm)
        aside = self.seen.site.with_name(f".{self.seen.site.name}.aside")
        self.killed("board", (*command, self.seen.site), written(aside))
        self.otb.end(twin)
        self.compare("board", tree(self.seen.site), tree(calm))
        self.seen.ended["board check"] = self.otb.run(
            "board", "check", "--store", self.seen.store, "--out", self.seen.site
        )

    # -- playing ------------------------------------------------------------------------------------------------------

    def expect(self, status: int, *argv: object) -> None:
        ended = self.otb.run(*argv)
        assert ended.status == status, f"{argv}: {ended.output[-2000:]}"

    def twin(self, stage: str, *argv: object) -> tuple[Path, Started]:
        """A copy of the store, and the command undisturbed on it, started."""
        copy = self.folder / f"calm-{stage}"
        shutil.copytree(self.seen.store, copy)
        return copy, self.otb.start(*(copy if each == self.seen.store else each for each in argv))

    def killed(self, stage: str, argv: tuple[object, ...], *moments: Moment) -> None:
        """The command killed at each moment in turn, then run to its end."""
        for moment in moments:
            self.otb.killed(argv, moment)
        self.seen.ended[stage] = self.otb.run(*argv)
        self.seen.asked[stage] = Counter(_short(request.target) for request in self.server.log)
        self.server.forget()

    def compare(self, stage: str, mine: dict[str, Any], theirs: dict[str, Any]) -> None:
        names = mine.keys() | theirs.keys()
        self.seen.compared[stage] = len(names)
        self.seen.differing[stage] = sorted(name for name in names if mine.get(name) != theirs.get(name))


def _short(target: str) -> str:
    """t=Q&code=113805 of a paper's address, 'index' of the index's."""
    found = re.search(r"t=[QSM]&code=\d+", target)
    return found[0] if found else "index"


def _replies(store: Path) -> dict[str, Any]:
    """What every run of a store holds, without clock times."""
    found: dict[str, Any] = {}
    for run in sorted((store / "runs").iterdir()):
        for each in read_responses(run):
            found[f"{run.name} {each.item_id} {each.repeat}"] = (each.request_hash, each.content, each.option_order)
        for scores in (run / "scores").glob("*.json"):
            found[f"{run.name} {scores.name}"] = json.loads(scores.read_bytes())
    return found


def _tables(warehouse: Path) -> dict[str, Any]:
    """Every table of a mart as sorted rows: their order, and the last digit of a sum, are DuckDB's own affair."""
    with open_mart(warehouse) as mart:
        names = [name for (name,) in mart.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        found = {name: mart.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}
    return {name: sorted(repr([_rounded(value) for value in row]) for row in rows) for name, rows in found.items()}


def _rounded(value: Any) -> Any:
    return round(value, 9) if isinstance(value, float) else value


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    folder = tmp_path_factory.mktemp("release")
    first = ministry(folder / "day1", 1)
    with (
        LoopbackMinistry(first) as server,
        LoopbackHub({TOKEN: WRITE}) as hub,
        ModelEndpoint() as endpoint,
        WarmOtb(
            folder,
            {"DAGSTER_HOME": "", "OTB_HUB_NAMESPACE": "Org", "HF_ENDPOINT": hub.endpoint, "HF_TOKEN": TOKEN},
        ) as otb,
    ):
        players = Rehearsal(
            otb, server, hub, endpoint, folder, Seen(folder / "store", folder / "site", folder / "excluded.jsonl")
        )
        players.play()
        yield players.seen


# -- kills ------------------------------------------------------------------------------------------------------------


def test_every_killed_stage_ends_as_an_undisturbed_one(seen: Seen) -> None:
    assert seen.differing == {stage: [] for stage in ("recrawl", "rebuild", "evaluate", "mart", "board")}
    assert min(seen.compared.values()) >= 20, seen.compared
    assert seen.kills == 15
    statuses = {stage: ended.status for stage, ended in seen.ended.items()}
    assert statuses == {
        **dict.fromkeys(("exclude", "rebuild", "push", "evaluate", "mart", "board", "board check", "show"), 0),
        **dict.fromkeys(("recrawl", "push withheld"), 3),
    }, seen.ended


def test_the_ministry_is_asked_again_for_nothing_but_what_was_under_way(seen: Seen) -> None:
    cut = {"index": 2, "t=Q&code=113805": 2}
    assert seen.asked["recrawl"] == {"t=M&code=104802": 1, "t=S&code=113805": 1, **cut}
    assert seen.asked["rebuild"] == {}


def test_the_model_is_asked_for_the_new_items_alone_and_paid_once(seen: Seen) -> None:
    added = [row for row in seen.rows(CONSTITUTION) if row["paper_id"].startswith("113805")]
    # Five are new, and one reprints a question of a paper that this ministry does not have.
    assert len(seen.paid) == len(added) == 6
    # At each of the two kills at most one request was under way, for one is asked at a time.
    assert sum(seen.paid.values()) <= len(added) + 2


# -- what a maintainer looks at ---------------------------------------------------------------------------------------


def test_the_subject_with_the_fault_is_withheld_and_the_other_goes_on(seen: Seen) -> None:
    shown = json.loads(seen.ended["show"].output)
    assert shown["state"] == "withheld"
    failed = {check: verdict["passed"] for check, verdict in shown["checks"].items()}
    assert failed == dict.fromkeys((*BLOCKING_CHECKS, PUBLISHED_ITEMS_STAY), True) | {"merged_stems": False}
    assert seen.excluded in json.dumps(shown["checks"]["merged_stems"])
    before, then = seen.published["day 1"], seen.published["withheld"]
    assert then[CONSTITUTION] == before[CONSTITUTION]
    assert seen.versions["withheld"][CONSTITUTION] != before[CONSTITUTION]
    assert then[LIBRARY] == seen.versions["withheld"][LIBRARY] != before[LIBRARY]
    assert "merged_stems" in re.sub(r"[│\s]", "", seen.ended["push withheld"].output)
    assert seen.commits["withheld"] == {CONSTITUTION: 1}


def test_the_exclusion_is_on_record_and_takes_out_that_item_alone(seen: Seen) -> None:
    (line,) = seen.listed.read_text().splitlines()
    assert json.loads(line)["item_id"] == seen.excluded
    lines = (seen.store / "items" / f"{CONSTITUTION}.jsonl").read_bytes().splitlines()
    buckets = Counter(item["bucket"] for item in map(json.loads, lines) if item["item_id"] == seen.excluded)
    assert buckets == {"maintainer_excluded": 1}
    published = seen.rows(CONSTITUTION)
    assert ASKS_TWICE.stem not in {row["question"] for row in published}
    stats = json.loads((seen.store / "publications" / CONSTITUTION / "build_stats.json").read_bytes())
    assert stats["questions"]["excluded"]["maintainer_excluded"] == 1
    assert stats["questions"]["published"] == len(published)


def test_versions_and_changelog_say_what_this_release_changed(seen: Seen) -> None:
    released, before = seen.published["released"], seen.published["day 1"]
    assert released == seen.versions["released"]
    assert released[LIBRARY] == seen.published["withheld"][LIBRARY]
    new = {row["item_id"] for row in seen.rows(CONSTITUTION) if row["paper_id"].startswith("113805")}
    changelog = (seen.store / "publications" / CONSTITUTION / "CHANGELOG.md").read_text()
    assert changelog.index(released[CONSTITUTION]) < changelog.index(before[CONSTITUTION])
    assert all(item in changelog for item in new)
    # The log names what was published. The version between was withheld, and the item that was excluded from it was
    # never out: no reader had either.
    first, withheld, last = _versions(seen)
    assert re.findall(r"^## (\S+)$", changelog, re.MULTILINE) == [last, first]
    assert withheld not in changelog and seen.excluded not in changelog
    library = (seen.store / "publications" / LIBRARY / "CHANGELOG.md").read_text()
    assert library.index(released[LIBRARY]) < library.index(before[LIBRARY])
    assert "更改答案 re-keyed: 1" in library
    assert "移除 removed: 1" in library


def _versions(seen: Seen) -> list[str]:
    """Every version of the withheld subject that was built, oldest first."""
    return [seen.versions[stage][CONSTITUTION] for stage in ("day 1", "withheld", "released")]


def test_the_hub_holds_exactly_what_is_published(seen: Seen) -> None:
    for slug in SUBJECTS:
        folder = seen.store / "publications" / slug
        assert seen.hub_files[slug] == {path.name: path.read_bytes() for path in folder.iterdir()}
        record = json.loads((seen.store / "hub" / f"{slug}.json").read_bytes())
        assert record["version"] == seen.published["released"][slug]
    # Two kills, and still one commit a release: library science came to the Hub for the first time.
    assert seen.commits["released"] == {CONSTITUTION: 2, LIBRARY: 1}
    old, new = seen.published["day 1"], seen.published["released"]
    assert seen.tags[CONSTITUTION] == sorted([f"v{old[CONSTITUTION]}", f"v{new[CONSTITUTION]}"])
    assert seen.tags[LIBRARY] == [f"v{new[LIBRARY]}"]


def test_no_token_stands_in_anything_written(seen: Seen) -> None:
    files = [path for folder in (seen.store, seen.site) for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 300
    assert [path for path in files if TOKEN.encode() in path.read_bytes()] == []


def test_the_board_shows_the_figures_of_the_new_version(seen: Seen) -> None:
    rows = [row for slug in SUBJECTS for row in seen.rows(slug)]
    hits = sum(seen.answers[row["question"]] == row[row["answer"]] for row in rows)
    # The corrected key makes a right answer of day 1 wrong; nobody asked again.
    assert 0 < hits < len(rows)
    with open_mart(seen.store / "warehouse") as mart:
        asked = "SELECT n, hits, is_complete FROM leaderboard WHERE model = ? AND benchmark = 'exam'"
        assert mart.execute(asked, [MODEL]).fetchall() == [(len(rows), hits, True)]
        versions = dict(mart.execute("SELECT dataset, dataset_version FROM subject_items").fetchall())
    assert {slug: versions[slug] for slug in SUBJECTS} == seen.published["released"]
    assert (seen.site / FIRST).is_file()
    page = (seen.site / "en" / "index.html").read_text()
    assert MODEL in page
    assert f'<span class="num">{100 * hits / len(rows):.1f}</span>' in page
    subject = "".join(path.read_text() for path in (seen.site / "en").rglob(f"*{CONSTITUTION}*.html"))
    assert seen.published["released"][CONSTITUTION] in subject
    assert seen.excluded not in {path.stem for path in seen.site.rglob("*.html")}
