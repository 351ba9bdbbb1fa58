"""The published changelog, aliases and removals of a subject continue what was published, and nothing else.

A version that a check withheld, or that a kill kept from its publication, is one that no reader can get.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from support.exam_store import LIBRARY

from assets.exam import subject_dataset
from assets.publication import subject_publication
from checks.exam import SUBJECT_CHECKS
from opentwbench.dataset.manifest import Written
from opentwbench.dataset.model import Withdrawal
from opentwbench.dataset.publication import LocalTarget, PublicationRefused, judge
from opentwbench.dataset.validators import BLOCKING_CHECKS
from opentwbench.exam.exclusion_lists import Lists
from opentwbench.exam.fingerprint import loose
from opentwbench.exam.release import code_version
from orchestration.configuration import Configuration
from resources import exam_products as products
from resources.settled_items import settle_and_write
from resources.store import Store


class Killed(Exception):
    """Stands for SIGKILL at one place."""


@dataclass
class Subject:
    """One subject made version by version, as the assets do it."""

    store: Store
    public: Store

    def items(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.store.lines(self.store.items(LIBRARY))]

    def settle(self, *excluded: str) -> None:
        """The items of the subject's papers without some that a maintainer excludes."""
        lists = Lists(maintainer={each: Withdrawal(each, "text_damaged", "2026-11-30", "page 1") for each in excluded})
        inputs = products.items_inputs(self.store, lists)
        assert [slug for slug, _ in settle_and_write(self.store, lists, [LIBRARY], inputs)] == [LIBRARY]

    def damage(self, item_id: str) -> None:
        """Another text for one item, as a faulty stage would leave it: checks withhold such a data set."""
        changed = [
            {**item, "question": "Which of the following is right?"} if item["item_id"] == item_id else item
            for item in self.items()
        ]
        lines = (json.dumps(item, ensure_ascii=False) + "\n" for item in changed)
        self.store.write(self.store.items(LIBRARY), "".join(lines).encode())

    def make(self) -> Written:
        """The data set and the verdicts on it."""
        written = products.build_dataset(self.store, self.public, LIBRARY, {})
        assert written is not None
        with self.store.folder(self.store.dataset(LIBRARY)) as folder:
            for check in BLOCKING_CHECKS:
                _, verdict = judge(check, folder, loose, code_version(), products.comparison(self.store, LIBRARY))
                self.store.write_json(self.store.verdict(LIBRARY, check), verdict.to_json())
        return written

    def publish(self) -> None:
        products.publish_subject(self.store, self.public, LIBRARY)

    def released(self, *excluded: str) -> str:
        """A version without some items, published; its name."""
        self.settle(*excluded)
        written = self.make()
        self.publish()
        return written.version

    def withheld(self, damaged: str, *excluded: str) -> str:
        """A version with one damaged item and without some others, which the checks do not let through; its name."""
        self.settle(*excluded)
        self.damage(damaged)
        written = self.make()
        with pytest.raises(PublicationRefused, match="did not pass"):
            self.publish()
        return written.version

    def published(self, name: str) -> bytes:
        return self.public.read(f"{self.public.publication(LIBRARY)}/{name}")

    def version(self) -> str:
        return str(json.loads(self.published("manifest.json"))["version"])

    def log(self) -> str:
        return self.published("CHANGELOG.md").decode()

    def sections(self) -> list[str]:
        return [line.removeprefix("## ") for line in self.log().split("\n") if line.startswith("## ")]

    def removed(self) -> list[tuple[str, str]]:
        """(item, version that had it last), line by line."""
        path = self.store.removals(LIBRARY)
        lines = map(json.loads, self.store.lines(path)) if self.store.exists(path) else ()
        return [(line["item_id"], line["last_version"]) for line in lines]

    def bytes_of(self, kind: str) -> dict[str, bytes]:
        place, name = (self.store, self.store.dataset(LIBRARY)) if kind == "dataset" else self._publication()
        with place.folder(name) as folder:
            return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}

    def _publication(self) -> tuple[Store, str]:
        return self.public, self.public.publication(LIBRARY)


@pytest.fixture(params=["the store itself", "memory"])
def subject(request: pytest.FixtureRequest, store: Store, tmp_path: Path) -> Subject:
    """The sample's library science with its first version published: in its store, or in a store of objects."""
    if request.param == "memory":
        made = Subject(store, Store(f"memory://{tmp_path.name}-{id(request)}/public", tmp_path / "cache"))
        made.publish()
        return made
    return Subject(store, store)


def ids(subject: Subject, count: int) -> list[str]:
    """Some published items, each with its own text."""
    found = [item["item_id"] for item in subject.items() if item["bucket"] == "published"]
    assert len(set(found)) > count
    return found[:count]


def killed(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    """A publication killed when the removals are kept and nothing is replaced."""

    def put(self: LocalTarget, files: object) -> bool:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(LocalTarget, "put", put)
        with pytest.raises(Killed):
            subject.publish()


def test_the_history_leaves_a_withheld_version_out(subject: Subject) -> None:
    damaged, passing, leaving = ids(subject, 3)
    first = subject.version()
    withheld = subject.withheld(damaged, passing)
    assert (subject.version(), subject.removed()) == (first, [])
    third = subject.released(leaving)
    assert subject.sections() == [third, first]
    newest = subject.log().split(f"\n## {first}\n")[0]
    assert f"`{leaving}`" in newest
    assert "移除 removed: 1\n" in newest
    assert withheld not in subject.log()
    assert passing not in newest and damaged not in newest
    assert subject.removed() == [(leaving, first)]


def test_a_kill_between_data_set_and_publication_changes_nothing(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaving, other = ids(subject, 2)
    first = subject.version()
    subject.settle(leaving)
    second = subject.make().version
    before = subject.bytes_of("dataset")
    killed(subject, monkeypatch)
    assert subject.version() == first
    subject.make()
    assert subject.bytes_of("dataset") == before
    subject.publish()
    assert (subject.sections(), subject.removed()) == ([second, first], [(leaving, first)])
    after = subject.bytes_of("publication")
    subject.make()
    subject.publish()
    assert (subject.bytes_of("dataset"), subject.bytes_of("publication")) == (before, after)
    assert subject.removed() == [(leaving, first)]
    third = subject.released(leaving, other)
    assert (subject.sections(), subject.removed()) == ([third, second, first], [(leaving, first), (other, second)])


def test_what_a_killed_publication_would_have_removed_is_taken_back(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    staying, leaving = ids(subject, 2)
    first, published = subject.version(), subject.bytes_of("publication")
    subject.settle(staying)
    subject.make()
    killed(subject, monkeypatch)
    assert subject.removed() == [(staying, first)]  # until the next publication says otherwise
    assert subject.released() == first
    assert (subject.bytes_of("publication"), subject.removed()) == (published, [])
    assert not subject.store.exists(subject.store.removals(LIBRARY))
    subject.settle(staying)
    subject.make()
    killed(subject, monkeypatch)
    third = subject.released(leaving)
    assert (subject.sections(), subject.removed()) == ([third, first], [(leaving, first)])


def test_the_first_publication_is_the_first_version_whatever_was_withheld_before(subject: Subject) -> None:
    damaged, leaving = ids(subject, 2)
    subject.public.remove(subject.public.publication(LIBRARY))
    subject.withheld(damaged)
    second = subject.released(leaving)
    assert subject.sections() == [second]
    assert "首個版本 First version in this log." in subject.log()
    assert subject.removed() == []
    assert json.loads(subject.published("manifest.json"))["aliases"] == {}


def test_a_version_that_comes_back_is_named_again_and_what_left_stays_known(subject: Subject) -> None:
    leaving, other = ids(subject, 2)
    first = subject.version()
    second = subject.released(leaving)
    assert subject.released() == first
    assert subject.sections() == [first, second, first]
    before = subject.bytes_of("dataset")
    subject.make()
    assert subject.bytes_of("dataset") == before
    assert subject.removed() == [(leaving, first)]
    assert subject.released(leaving) == second
    assert subject.removed() == [(leaving, first)]
    assert subject.released() == first
    third = subject.released(other)
    assert subject.sections() == [third, first, second, first, second, first]
    assert subject.removed() == [(leaving, first), (other, first)]


def test_a_damaged_publication_is_mended_and_costs_no_history(subject: Subject) -> None:
    (leaving,) = ids(subject, 1)
    subject.released(leaving)
    before = subject.bytes_of("publication")
    for name in ("CHANGELOG.md", "benchmark.jsonl"):
        subject.public.write(f"{subject.public.publication(LIBRARY)}/{name}", b"ruined\n")
        written = subject.make()
        assert (written.changed, written.notes) == (False, ())
        subject.publish()
        assert subject.bytes_of("publication") == before


def test_a_data_set_that_its_items_have_left_behind_takes_nothing_out(subject: Subject) -> None:
    leaving, other = ids(subject, 2)
    before = subject.bytes_of("publication")
    subject.settle(leaving)
    subject.make()
    subject.settle(leaving, other)
    with pytest.raises(PublicationRefused, match="why items leave cannot be said"):
        subject.publish()
    assert (subject.bytes_of("publication"), subject.removed()) == (before, [])


def test_the_assets_do_so_too_with_a_target_of_its_own(
    store: Store, configured: Callable[[], Configuration], tmp_path: Path
) -> None:
    """The same in Dagster: the data set asks the configured target what is published."""
    configuration = replace(configured(), publication=str(tmp_path / "public"))
    subject = Subject(store, configuration.open_target(store))
    chain = (subject_dataset, *SUBJECT_CHECKS, subject_publication)

    def run() -> bool:
        with dg.DagsterInstance.ephemeral() as instance:
            return dg.materialize(
                chain,
                partition_key=LIBRARY,
                instance=instance,
                resources=configuration.resources(),
                raise_on_error=False,
                run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
            ).success

    damaged, passing, leaving = ids(subject, 3)
    assert run()
    first = subject.version()
    assert subject.sections() == [first]
    subject.settle(passing)
    subject.damage(damaged)
    assert not run()
    subject.settle(leaving)
    assert run()
    assert subject.sections() == [subject.version(), first]
    assert subject.removed() == [(leaving, first)]
