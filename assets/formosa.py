"""The Formosa track from the corpus to grounded items. Thin: read, call the library, write, report.

What is asked of a model goes through the evaluation's runner and its journals: a step that is started again asks only
what it has no reply to. Drafts and grounded items are partitioned by category; what the categories share (a
near-duplicate, the judge that may ground) is one step over all of them.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import dagster as dg

from assets import formosa_metadata as metadata
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.client import EndpointError
from opentwbench.evaluation.journal import JournalError
from opentwbench.formosa.asking import AskingError
from opentwbench.formosa.band import CurationError
from opentwbench.formosa.corpus import CorpusError
from opentwbench.formosa.grounding import JudgeChanged
from opentwbench.formosa.judge_study import JudgeStudyError
from resources import formosa_drafts as drafting
from resources import formosa_grounds as grounds
from resources.corpus_checkout import pull
from resources.formosa import FormosaResource
from resources.formosa_asking import AskingStopped
from resources.formosa_places import Track
from resources.formosa_plan import PlanError
from resources.models import ModelsResource
from resources.partitions import formosa_categories
from resources.pools import MODEL_ENDPOINT
from resources.progress import Progress
from resources.settings import StoreResource

GROUP = "formosa"

OUTCOMES = (
    AskingError,
    AskingStopped,
    CorpusError,
    CurationError,
    DatasetError,
    EndpointError,
    JournalError,
    JudgeChanged,
    JudgeStudyError,
    PlanError,
)
"""What ends a step for a reason that a person can act on, and no retry mends."""


def track_of(store: StoreResource, formosa: FormosaResource, endpoints: ModelsResource, progress: Progress) -> Track:
    """The track's products under the configuration of this run."""
    place = store.open()
    return Track(place, formosa.plan(place), endpoints.asker(progress))


@contextmanager
def stated(what: str) -> Iterator[None]:
    """An outcome as a failure that says what stopped, without a stack."""
    try:
        yield
    except OUTCOMES as error:
        raise dg.Failure(f"{what}: {error}", allow_retries=False) from error


@dg.asset(group_name=GROUP, kinds={"markdown"})
def formosa_windows(
    context: dg.AssetExecutionContext,
    store: StoreResource,
    formosa: FormosaResource,
    endpoints: ModelsResource,
    progress: dg.ResourceParam[Progress],
) -> dg.MaterializeResult:
    """The articles of Taiwan.md cut into windows, by category; each category of the corpus becomes a partition."""
    track = track_of(store, formosa, endpoints, progress)
    with stated("windows"):
        pulled = pull(track.plan.place) if formosa.pull else ()
        record = drafting.make_windows(track)
    name = str(formosa_categories.name)
    context.instance.add_dynamic_partitions(name, list(track.categories))
    for gone in set(context.instance.get_dynamic_partitions(name)) - set(track.categories):
        context.instance.delete_dynamic_partition(name, gone)
    shown = {"pulled": f"{pulled[0][:12]} to {pulled[1][:12]}"} if pulled else {}
    return dg.MaterializeResult(metadata={**metadata.of_windows(record), **shown})


def _by_category(
    context: dg.AssetExecutionContext, make: Callable[[str], dict[str, Any]], shown: Callable[..., dict[str, Any]]
) -> None:
    for category in context.partition_keys:
        with stated(category):
            record = make(category)
        context.add_asset_metadata(shown(record), partition_key=category)


@dg.asset(
    group_name=GROUP,
    kinds={"jsonl"},
    partitions_def=formosa_categories,
    backfill_policy=dg.BackfillPolicy.single_run(),
    deps=[formosa_windows],
    pool=MODEL_ENDPOINT,
)
def formosa_drafts(
    context: dg.AssetExecutionContext,
    store: StoreResource,
    formosa: FormosaResource,
    endpoints: ModelsResource,
    progress: dg.ResourceParam[Progress],
) -> None:
    """One question a window, as a drafting model proposes it; every reply in one kind."""
    track = track_of(store, formosa, endpoints, progress)
    with stated("settings"):
        drafting.check_plan(track.plan)  # once, and before anybody is asked in any category
    _by_category(context, lambda category: drafting.make_drafts(track, category), metadata.of_drafts)


@dg.asset(
    group_name=GROUP,
    kinds={"jsonl"},
    deps=[dg.AssetDep(formosa_drafts, partition_mapping=dg.AllPartitionMapping())],
)
def formosa_screens(
    store: StoreResource, formosa: FormosaResource, endpoints: ModelsResource, progress: dg.ResourceParam[Progress]
) -> dg.MaterializeResult:
    """Every draft under every screen, over all categories: a near-duplicate is one wherever its twin stands."""
    with stated("screens"):
        record = drafting.make_screens(track_of(store, formosa, endpoints, progress))
    return dg.MaterializeResult(metadata=metadata.of_screens(record))


@dg.asset(group_name=GROUP, kinds={"jsonl"}, deps=[formosa_screens], pool=MODEL_ENDPOINT)
def formosa_judge_study(
    store: StoreResource, formosa: FormosaResource, endpoints: ModelsResource, progress: dg.ResourceParam[Progress]
) -> dg.MaterializeResult:
    """Candidate judges before planted defects and good drafts: who may ground, and what the panel is worth."""
    track = track_of(store, formosa, endpoints, progress)
    with stated("judge study"):
        record = grounds.make_study(track)
    shown = metadata.of_study(record, grounds.studies(track), grounds.panel_of(track))
    return dg.MaterializeResult(metadata=shown)


@dg.asset(
    group_name=GROUP,
    kinds={"jsonl"},
    partitions_def=formosa_categories,
    backfill_policy=dg.BackfillPolicy.single_run(),
    deps=[formosa_screens, formosa_judge_study],
    pool=MODEL_ENDPOINT,
)
def formosa_grounded(
    context: dg.AssetExecutionContext,
    store: StoreResource,
    formosa: FormosaResource,
    endpoints: ModelsResource,
    progress: dg.ResourceParam[Progress],
) -> None:
    """Drafts that a judge with a passing study found supported, with the sentence of the window that supports each."""
    track = track_of(store, formosa, endpoints, progress)
    _by_category(context, lambda category: grounds.make_grounded(track, category), metadata.of_grounded)


ASSETS = (formosa_windows, formosa_drafts, formosa_screens, formosa_judge_study, formosa_grounded)
