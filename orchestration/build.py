"""`otb build exam`: the same assets as the UI runs, in one process, and only for what changed.

What belongs here: deciding what must run (by `resources.exam_products`) and running it. What does not: rules.
Order matters: subjects are built when every asked year is recorded, so a killed build never leaves a data set that was
made from half of its papers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opentwbench.exam.items import NO_SUBJECT
from opentwbench.exam.subjects import REGISTRY
from orchestration.in_process import InProcess
from resources import exam_products as products
from resources.progress import Progress
from resources.store import Store

if TYPE_CHECKING:
    import dagster as dg

    from orchestration.configuration import Configuration


@dataclass(slots=True)
class BuildReport:
    """What a build did and where every subject stands afterwards."""

    asked: tuple[str, ...] = ()
    """Slugs that the build was asked for."""
    requests: int = 0
    files_fetched: int = 0
    """Files that came with new bytes."""
    files_not_modified: int = 0
    """Files that were asked for and had not changed."""
    years_built: list[int] = field(default_factory=list)
    items_written: list[str] = field(default_factory=list)
    subjects_built: list[str] = field(default_factory=list)
    failed_files: list[str] = field(default_factory=list)
    release: dict[str, Any] = field(default_factory=dict)
    suite: dict[str, Any] = field(default_factory=dict)
    lists: dict[str, str] = field(default_factory=dict)
    """File names of the lists that were applied, by list."""
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
            "files_fetched": self.files_fetched,
            "files_not_modified": self.files_not_modified,
            "years_built": self.years_built,
            "items_written": self.items_written,
            "subjects_built": self.subjects_built,
            "failed_files": self.failed_files,
            "refused_rows": self.refused_rows,
            "errors": self.errors,
            "applied_lists": self.lists,
            "suite": self.suite,
            **self.release,
        }


class UnknownSelectionError(ValueError):
    """A year or subject was asked for that the index or the registry does not have."""


class Build(InProcess):
    """One build."""

    def __init__(
        self,
        configuration: Configuration,
        instance: dg.DagsterInstance | Callable[[], dg.DagsterInstance] | None = None,
    ) -> None:
        super().__init__(configuration, instance)
        self._store: Store = configuration.open_store()
        self._public = configuration.open_target(self._store)
        self._paths = configuration.list_paths
        self._lists = self._paths.lists()
        self._withdrawals = self._paths.withdrawals()
        self._progress: Progress = configuration.progress
        self.report = BuildReport()

    def run(self, years: Sequence[int] = (), subjects: Sequence[str] = (), *, recheck: bool = False) -> BuildReport:
        """Bring the asked years and subjects (default: all) up to date and say what was done.

        With `recheck`, years with a paper that was last asked for longer ago than its maximum age are looked at too:
        the ministry could have changed a file under its old URL, which no index row tells.
        Raises UnknownSelectionError for one that is not there, IndexShrunkError for an index that lost too much,
        StoreError when a store is damaged, and what retrieval raises when it must stop.
        """
        _check(subjects)
        self._paths.keep(self._store)
        products.keep_hub_namespace(self._store, str(self._configuration.hub.get("namespace", "")))
        self.report.lists = {name: Path(path).name for name, path in asdict(self._paths).items() if path}
        self.report.asked = tuple(subjects) or tuple(sorted(REGISTRY))
        index, due = self._index(recheck=recheck)
        unknown = sorted({str(year) for year in years} - index.keys())
        if unknown:
            raise UnknownSelectionError(f"the index has no keyed paper of the year {', '.join(unknown)}")
        wanted = {year: rows for year, rows in index.items() if not years or int(year) in years}
        self._papers(wanted, due & wanted.keys(), all_years=not years)
        self._items()
        self._subjects()
        self._release()
        return self.report

    # -- stages -----------------------------------------------------------------------------------------------------

    def _index(self, *, recheck: bool) -> tuple[dict[str, str], set[str]]:
        """The digest of every year of the index, which is read (asked for when too old) and kept when it changed; and
        with `recheck` the years that have a paper due.
        """
        due: set[str] = set()
        with self._configuration.open_ministry() as retriever:
            found = retriever.fetch_index()
            self.report.requests += retriever.counters.requests
        if not products.index_is_current(self._store, found.path.read_bytes()):
            from assets.exam import ministry_index

            self._materialize([ministry_index])
        record = self._store.read_json(self._store.index_record())
        self.report.refused_rows = list(record["problems"])
        if recheck:
            with self._configuration.open_ministry() as retriever:
                due = products.due_years(self._store, retriever)
        return dict(record["years"]), due

    def _papers(self, wanted: dict[str, str], due: set[str], *, all_years: bool) -> None:
        stale = products.stale_years(self._store, wanted)
        # With a selection, a year that was not asked for is not a year that vanished.
        todo = [str(year) for year in stale if all_years or str(year) in wanted]
        todo = sorted({*todo, *due}, key=int)
        if todo:
            self._read_years(todo)
        self.report.years_built = [int(year) for year in todo]
        records = (self._store.read_json_or_none(self._store.papers_record(int(year))) for year in wanted)
        self.report.failed_files = [url for record in records if record for url in record["failed"]]

    def _read_years(self, todo: list[str]) -> None:
        from assets.exam import exam_papers
        from resources.partitions import exam_years

        self._instance.add_dynamic_partitions(str(exam_years.name), todo)
        known = self._instance.get_dynamic_partitions(str(exam_years.name))
        for first, last in ranges(todo, known):
            self._materialize([exam_papers], partition_range=(first, last))

    def _items(self) -> None:
        if not self._stale_scopes() - {NO_SUBJECT}:
            return
        from assets.exam import subject_items

        slugs = sorted(REGISTRY)
        before = {slug: products.figures_digest(self._store, slug) for slug in slugs}
        # One run over all: what subjects share is counted over all, and a file whose bytes stay is not written.
        self._materialize([subject_items], partition_range=(slugs[0], slugs[-1]))
        self.report.items_written = [s for s in slugs if products.figures_digest(self._store, s) != before[s]]

    def _stale_scopes(self) -> set[str]:
        return set(products.stale_items(self._store, products.items_inputs(self._store, self._lists)))

    def _subjects(self) -> None:
        todo = [slug for slug in self.report.asked if self._state(slug).state == products.UNFINISHED]
        self.report.subjects_built = todo
        if not todo:
            return
        from assets.exam import subject_dataset
        from assets.publication import subject_publication
        from checks.exam import SUBJECT_CHECKS

        chain = [subject_dataset, *SUBJECT_CHECKS, subject_publication]
        for done, slug in enumerate(todo, start=1):
            self._materialize(chain, partition=slug, raise_on_error=False)
            self._progress.step("subjects built", done, len(todo))

    def _state(self, slug: str) -> products.SubjectState:
        return products.subject_state(self._store, self._public, slug, self._withdrawals)

    def _release(self) -> None:
        if not products.release_is_current(self._store, self._public, self._lists, self._withdrawals):
            from assets.publication import exam_release
            from checks.exam import RELEASE_CHECKS

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
        result = self._run(
            definitions, partition=partition, partition_range=partition_range, raise_on_error=raise_on_error
        )
        for name, count in retrieval_of(result).items():
            setattr(self.report, name, getattr(self.report, name) + count)
        self.report.errors += errors_of(result, partition or "")


RETRIEVAL_FIGURES = ("requests", "files_fetched", "files_not_modified")


def retrieval_of(result: dg.ExecuteInProcessResult) -> dict[str, int]:
    """What the assets of a run say of retrieval (`sitting.retrieval_figures`), summed."""
    found = [event.materialization.metadata for event in result.get_asset_materialization_events()]
    return {name: sum(int(each[name].value) for each in found if name in each) for name in RETRIEVAL_FIGURES}


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
