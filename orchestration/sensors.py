"""Sensors: what is stale becomes runs of exactly the years and subjects that it touches.

What belongs here: from the stage's staleness to run requests. What does not: deciding what is stale
(`resources.exam_products`, the same functions that `otb build exam` asks).
Why no declarative automation: `eager()` over a mapping to all partitions asks for all 148 subjects when one year is new
(measured; docs/architecture.md, "Runs").

The stages follow one another as in a build: years, items, data sets, release. A stage waits until the one before has
nothing left to read or to run, so that no data set is ever made from half of its papers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import dagster as dg

from opentwbench.dataset.model import Withdrawal
from opentwbench.exam.digests import digest
from opentwbench.exam.exclusion_lists import Lists
from opentwbench.exam.items import NO_SUBJECT
from opentwbench.exam.subjects import REGISTRY
from orchestration.jobs import dataset_job, items_job, papers_job, range_tags, release_job
from resources import exam_products as products
from resources.partitions import exam_years
from resources.publication import PublicationResource
from resources.settings import ListSettings, StoreResource
from resources.store import Store

if TYPE_CHECKING:
    from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

INTERVAL_SECONDS = 300

ALL = "all"
"""The key of a stage that is one run over everything."""

UNDER_WAY = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


@dataclass(frozen=True, slots=True)
class Holdings:
    """The store with everything that decides what is stale in it."""

    store: Store
    public: Store
    lists: Lists
    withdrawals: Mapping[str, Withdrawal]


Stale = dict[str, str]
"""Key (a year, a slug, or ALL) -> digest of what it must be made from."""


def stale_years(held: Holdings) -> Stale:
    """Years whose index rows or parser changed; the schedule `failed_files` asks for a file that failed."""
    record = held.store.read_json_or_none(held.store.index_record())
    if record is None:
        return {}
    rows = dict(record["years"])
    unread = (str(year) for year in products.unread_years(held.store, rows))
    return {year: products.year_inputs(rows.get(year, "")) for year in unread}


def stale_items(held: Holdings) -> Stale:
    """ALL when the items of any subject were made from other papers, lists or code."""
    if not held.store.years() or stale_years(held):
        return {}
    inputs = products.items_inputs(held.store, held.lists)
    if not products.stale_items(held.store, {slug: inputs[slug] for slug in REGISTRY}):
        return {}
    return {ALL: digest(f"{slug} {made_from}".encode() for slug, made_from in sorted(inputs.items()))}


def stale_subjects(held: Holdings) -> Stale:
    """Subjects whose data set, verdicts or publication are not what their items ask for."""
    if not held.store.years() or stale_years(held) or stale_items(held):
        return {}
    states = [products.subject_state(held.store, held.public, slug, held.withdrawals) for slug in REGISTRY]
    todo = [state.slug for state in states if state.state == products.UNFINISHED]
    return {slug: _inputs_of(held, slug) for slug in todo}


def _inputs_of(held: Holdings, slug: str) -> str:
    inputs = products.dataset_inputs(held.store, slug, held.withdrawals)
    return digest([json.dumps(inputs, sort_keys=True).encode()])


def stale_release(held: Holdings) -> Stale:
    """ALL when the recorded release is not what the store holds, or the suite did not judge it."""
    if not held.store.years() or stale_years(held) or stale_items(held):
        return {}
    if products.release_is_current(held.store, held.public, held.lists, held.withdrawals):
        return {}
    # What a release is made from, also before the questions of no subject were ever settled (the release does that).
    states = [products.subject_state(held.store, held.public, slug, held.withdrawals) for slug in REGISTRY]
    figures = {slug: products.figures_digest(held.store, slug) for slug in REGISTRY}
    no_subject = products.items_inputs(held.store, held.lists)[NO_SUBJECT]
    made_from = (products.year_records(held.store), [asdict(state) for state in states], figures, no_subject)
    return {ALL: digest([json.dumps(made_from, sort_keys=True).encode()])}


def by_partition(keys: Iterable[str]) -> list[dg.RunRequest]:
    """One run for every key: a year, or a subject whose failing check must stop only itself."""
    return [dg.RunRequest(partition_key=key) for key in keys]


def all_subjects(keys: Iterable[str]) -> list[dg.RunRequest]:
    """One run over all subjects: what they share is counted over all, and a file whose bytes stay is not written."""
    slugs = sorted(REGISTRY)
    return [dg.RunRequest(tags=range_tags(slugs[0], slugs[-1])) for _ in keys]


def unpartitioned(keys: Iterable[str]) -> list[dg.RunRequest]:
    """One run of a job without partitions."""
    return [dg.RunRequest() for _ in keys]


@dataclass(frozen=True, slots=True)
class Stage:
    """One step from the index to the release, as a sensor asks for it."""

    name: str
    job: UnresolvedAssetJobDefinition
    stale: Callable[[Holdings], Stale]
    requests: Callable[[Iterable[str]], list[dg.RunRequest]]
    after: tuple[UnresolvedAssetJobDefinition, ...]
    """Jobs that must not be under way: their products are what this stage is made from."""
    description: str


STAGES = (
    Stage(
        "changed_years",
        papers_job,
        stale_years,
        by_partition,
        (),
        "Index rows of a year changed or vanished: retrieve and parse that year. A new year becomes a partition.",
    ),
    Stage(
        "changed_papers",
        items_job,
        stale_items,
        all_subjects,
        (papers_job,),
        "Papers changed: settle the items of all subjects in one run.",
    ),
    Stage(
        "changed_subjects",
        dataset_job,
        stale_subjects,
        by_partition,
        (papers_job, items_job),
        "Items of a subject changed: build, check and publish that subject.",
    ),
    Stage(
        "changed_release",
        release_job,
        stale_release,
        unpartitioned,
        (papers_job, items_job, dataset_job),
        "Subjects changed: the accounts over all, and the suite over the release.",
    ),
)


def to_ask(cursor: str | None, stale: Stale) -> tuple[str, ...]:
    """The stale keys that were not asked for yet: not as they are now.

    A cursor holds what was asked for and is still stale, so a run that fails is not asked for again before what it is
    made from changes, and what changes back to an earlier state is asked for again. No run key: Dagster never repeats
    one.
    """
    asked = json.loads(cursor) if cursor else {}
    return tuple(sorted(key for key, inputs in stale.items() if asked.get(key) != inputs))


def stage_sensor(stage: Stage, *, running: bool) -> dg.SensorDefinition:
    """The sensor of one stage; off until a person turns it on unless `running`."""

    @dg.sensor(
        name=stage.name,
        job=stage.job,
        minimum_interval_seconds=INTERVAL_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING if running else dg.DefaultSensorStatus.STOPPED,
        description=stage.description,
    )
    def evaluate(
        context: dg.SensorEvaluationContext, store: StoreResource, target: PublicationResource, lists: ListSettings
    ) -> dg.SensorResult | dg.SkipReason:
        busy = sum(_under_way(context.instance, job.name) for job in stage.after)
        if busy:
            return dg.SkipReason(f"{busy} runs of the stages before are under way")
        place = store.open()
        stale = stage.stale(Holdings(place, target.open(place), lists.lists(), lists.withdrawals()))
        keys = to_ask(context.cursor, stale)
        if not keys:
            context.update_cursor(json.dumps(stale))
            waiting = f"; asked for before and still so: {', '.join(sorted(stale))}" if stale else ""
            return dg.SkipReason(f"nothing else is stale{waiting}")
        added = [exam_years.build_add_request(list(keys))] if stage.job is papers_job else []
        return dg.SensorResult(
            run_requests=stage.requests(keys), dynamic_partitions_requests=added, cursor=json.dumps(stale)
        )

    return evaluate


def _under_way(instance: dg.DagsterInstance, job: str) -> int:
    return instance.get_runs_count(dg.RunsFilter(job_name=job, statuses=UNDER_WAY))


def sensors(*, running: bool = False) -> tuple[dg.SensorDefinition, ...]:
    """The sensors of all stages, in their order."""
    return tuple(stage_sensor(stage, running=running) for stage in STAGES)
