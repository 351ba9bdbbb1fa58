"""`otb build exam`: the same assets as the UI runs, in one process, and only for what changed.

What belongs here: deciding what must run (by `resources.exam_products`) and running it. What does not: rules.
Order matters: subjects are built when every asked year is recorded, so a killed build never leaves a data set that was
made from half of its papers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from opentwbench.exam.items import NO_SUBJECT
from opentwbench.exam.subjects import REGISTRY
from resources import exam_products as products
from resources.progress import Progress, Silent
from resources.store import Store

if TYPE_CHECKING:
    import dagster as dg

    from orchestration.definitions import Configuration


@dataclass(slots=True)
class BuildReport:
    """What a build did and where every subject stands afterwards."""

    asked: tuple[str, ...] = ()
    """Slugs that the build was asked for."""
    requests: int = 0
    years_built: list[int] = field(default_factory=list)
    items_written: list[str] = field(default_factory=list)
    subjects_built: list[str] = field(default_factory=list)
    failed_files: list[str] = field(default_factory=list)
    release: dict[str, Any] = field(default_factory=dict)
    suite: dict[str, Any] = field(default_factory=dict)
    refused_rows: list[dict[str, Any]] = field(default_factory=list)
    """Rows of the index that could not be used: problem, line, text, detail."""
    errors: list[str] = field(default_factory=list)
    """Faults of the program, not findings about data."""

    @property
    def unchanged(self) -> bool:
        """True when nothing had to be made again."""
        return not (self.years_built or self.items_written or self.subjects_built)

    def in_state(self, state: str) -> list[dict[str, Any]]:
        """The subjects in one state of `resources.exam_products`."""
        return [each for each in self.release["subjects"].values() if each["state"] == state]

    def asked_states(self) -> set[str]:
        """The states of the subjects that the build was asked for."""
        return {each["state"] for slug, each in self.release["subjects"].items() if slug in self.asked}

    @property
    def sound(self) -> bool:
        """True when every sum closes and the suite over the release, if anything is published, passed."""
        return not self.release["closes"] and bool(self.suite.get("passed", not self.in_state(products.PUBLISHED)))

    def to_json(self) -> dict[str, Any]:
        """The report as JSON values, for programs."""
        return {
            "unchanged": self.unchanged,
            "requests": self.requests,
            "years_built": self.years_built,
            "items_written": self.items_written,
            "subjects_built": self.subjects_built,
            "failed_files": self.failed_files,
            "refused_rows": self.refused_rows,
            "errors": self.errors,
            "suite": self.suite,
            **self.release,
        }


QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
"""The command line prints what a person needs; the events of a run are for the UI."""


class UnknownSelectionError(ValueError):
    """A year or subject was asked for that the index or the registry does not have."""


class Build:
    """One build. `instance` keeps the runs; without one they are forgotten when the build ends."""

    def __init__(self, configuration: Configuration, instance: dg.DagsterInstance | None = None) -> None:
        import dagster as dg

        self._dg = dg
        self._configuration = configuration
        self._resources = configuration.resources()
        self._instance = instance or dg.DagsterInstance.ephemeral()
        self._store: Store = configuration.open_store()
        self._lists = self._resources["lists"]
        self._public = self._resources["target"].open(self._store)
        self._progress: Progress = configuration.progress or Silent()
        self.report = BuildReport()

    def run(self, years: Sequence[int] = (), subjects: Sequence[str] = ()) -> BuildReport:
        """Bring the asked years and subjects (default: all) up to date and say what was done.

        Raises UnknownSelectionError for one that is not there, StoreError when a store is damaged, and what retrieval
        raises when it must stop.
        """
        _check(subjects)
        self.report.asked = tuple(subjects) or tuple(sorted(REGISTRY))
        index = self._index()
        unknown = sorted({str(year) for year in years} - index.keys())
        if unknown:
            raise UnknownSelectionError(f"the index has no keyed paper of the year {', '.join(unknown)}")
        wanted = {year: rows for year, rows in index.items() if not years or int(year) in years}
        self._papers(wanted, all_years=not years)
        self._items()
        self._subjects()
        self._release()
        return self.report

    # -- stages -----------------------------------------------------------------------------------------------------

    def _index(self) -> dict[str, str]:
        """The digest of every year of the index, which is read (asked for when too old) and kept when it changed."""
        from assets.exam import ministry_index

        with self._resources["ministry"].open() as retriever:
            found = retriever.fetch_index()
            self.report.requests += retriever.counters.requests
        if not products.index_is_current(self._store, found.path.read_bytes()):
            self._materialize([ministry_index])
        record = self._store.read_json(self._store.index_record())
        self.report.refused_rows = list(record["problems"])
        return dict(record["years"])

    def _papers(self, wanted: dict[str, str], *, all_years: bool) -> None:
        from assets.exam import exam_papers
        from resources.partitions import exam_years

        stale = products.stale_years(self._store, wanted)
        # With a selection, a year that was not asked for is not a year that vanished.
        todo = [str(year) for year in stale if all_years or str(year) in wanted]
        self._instance.add_dynamic_partitions(str(exam_years.name), todo)
        known = self._instance.get_dynamic_partitions(str(exam_years.name))
        for first, last in ranges(todo, known):
            self._materialize([exam_papers], partition_range=(first, last))
        self.report.years_built = [int(year) for year in todo]
        records = (self._store.read_json_or_none(self._store.papers_record(int(year))) for year in wanted)
        self.report.failed_files = [url for record in records if record for url in record["failed"]]

    def _items(self) -> None:
        from assets.exam import subject_items

        if not self._stale_scopes() - {NO_SUBJECT}:
            return
        slugs = sorted(REGISTRY)
        before = {slug: products.figures_digest(self._store, slug) for slug in slugs}
        # One run over all: what subjects share is counted over all, and a file whose bytes stay is not written.
        self._materialize([subject_items], partition_range=(slugs[0], slugs[-1]))
        self.report.items_written = [s for s in slugs if products.figures_digest(self._store, s) != before[s]]

    def _stale_scopes(self) -> set[str]:
        return set(products.stale_items(self._store, products.items_inputs(self._store, self._lists.lists())))

    def _subjects(self) -> None:
        from assets.exam import subject_dataset
        from assets.publication import subject_publication
        from checks.exam import SUBJECT_CHECKS

        chain = [subject_dataset, *SUBJECT_CHECKS, subject_publication]
        todo = [slug for slug in self.report.asked if self._state(slug).state == products.UNFINISHED]
        for done, slug in enumerate(todo, start=1):
            self._materialize(chain, partition=slug, raise_on_error=False)
            self._progress.step("subjects built", done, len(todo))
        self.report.subjects_built = todo

    def _state(self, slug: str) -> products.SubjectState:
        return products.subject_state(self._store, self._public, slug, self._lists.withdrawals())

    def _release(self) -> None:
        from assets.publication import exam_release
        from checks.exam import RELEASE_CHECKS

        lists = self._lists.lists(), self._lists.withdrawals()
        if not products.release_is_current(self._store, self._public, *lists):
            self._materialize([exam_release, *RELEASE_CHECKS], raise_on_error=False)
        self.report.release = self._store.read_json(self._store.release())
        self.report.suite = self._store.read_json_or_none(self._store.release_suite()) or {}

    # -- running ----------------------------------------------------------------------------------------------------

    def _materialize(
        self,
        definitions: list[Any],
        *,
        partition: str | None = None,
        partition_range: tuple[str, str] | None = None,
        raise_on_error: bool = True,
    ) -> None:
        tags = {}
        if partition_range:
            tags = {
                "dagster/asset_partition_range_start": partition_range[0],
                "dagster/asset_partition_range_end": partition_range[1],
            }
        result = self._dg.materialize(
            definitions,
            instance=self._instance,
            resources=self._resources,
            partition_key=partition,
            tags=tags,
            raise_on_error=raise_on_error,
            run_config=QUIET,
        )
        self.report.requests += requests_of(result)
        self.report.errors += errors_of(result, partition or "")


def requests_of(result: dg.ExecuteInProcessResult) -> int:
    """Requests that the assets of a run say they made."""
    events = result.get_asset_materialization_events()
    made = [event.materialization.metadata.get("requests") for event in events]
    return sum(int(each.value) for each in made if each is not None)


def errors_of(result: dg.ExecuteInProcessResult, partition: str) -> list[str]:
    """What broke in a run, in words. A blocking check that found something is a finding, not an error."""
    failures = [(e.step_key, e.step_failure_data.error) for e in result.all_events if e.is_step_failure]
    return [
        f"{partition} {step}: {(error.cause or error).message.strip()}"
        for step, error in failures
        if error is not None and error.cls_name != "DagsterAssetCheckFailedError"
    ]


def ranges(todo: Iterable[str], known: Sequence[str]) -> list[tuple[str, str]]:
    """The keys of `todo` as contiguous ranges of `known`, in its order: a run over a range touches nothing between.

    Raises ValueError for a key that `known` does not have.
    """
    places = sorted(known.index(key) for key in set(todo))
    found: list[list[int]] = []
    for place in places:
        if found and found[-1][1] == place - 1:
            found[-1][1] = place
        else:
            found.append([place, place])
    return [(known[first], known[last]) for first, last in found]


def _check(subjects: Sequence[str]) -> None:
    unknown = sorted(set(subjects) - REGISTRY.keys())
    if unknown:
        raise UnknownSelectionError(f"no subject {', '.join(unknown)} in the registry")
