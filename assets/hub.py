"""Publication on the Hub. Thin: ask the gate for the bytes, push, read back, report.

Off unless a namespace is configured (`HubResource`): the assets then record nothing. The gate is asked again for every
push, so that one started by hand sends nothing but bytes that every blocking check passed.
"""

from collections.abc import Callable, Iterator

import dagster as dg

from assets.publication import subject_publication
from opentwbench.dataset.model import DatasetError
from opentwbench.dataset.publication import PublicationRefused
from opentwbench.exam.tables import table
from resources.hub import HubResource
from resources.hub_client import HubError
from resources.hub_publishing import Outcome, Release, combined_release, subject_release
from resources.partitions import subjects
from resources.settings import StoreResource
from resources.store import Store

POOL = "hub"
"""The concurrency pool that bounds pushes: `dagster instance concurrency set hub 4`."""


@dg.asset(
    group_name="publication",
    kinds={"huggingface"},
    partitions_def=subjects,
    deps=[subject_publication],
    output_required=False,
    pool=POOL,
)
def hub_publication(
    context: dg.AssetExecutionContext, store: StoreResource, hub: HubResource
) -> Iterator[dg.MaterializeResult]:
    """One subject's repository on the Hub: the bytes that passed, one commit, one tag, every row read back equal."""
    if not hub.is_on:
        context.log.info("the Hub is off: no namespace is configured")
        return
    slug = context.partition_key
    yield _published(store.open(), hub, slug, lambda place: subject_release(place, slug))


@dg.asset(
    group_name="publication",
    kinds={"huggingface"},
    deps=[dg.AssetDep(subject_publication, partition_mapping=dg.AllPartitionMapping())],
    output_required=False,
    pool=POOL,
)
def hub_combined(
    context: dg.AssetExecutionContext, store: StoreResource, hub: HubResource
) -> Iterator[dg.MaterializeResult]:
    """The combined repository: every subject that passes the gate, whole, by field, by subject, and the sample."""
    if not hub.is_on:
        context.log.info("the Hub is off: no namespace is configured")
        return
    yield _published(store.open(), hub, "the combined set", lambda place: combined_release(place, hub.sample))


def _published(
    place: Store, hub: HubResource, what: str, release_of: Callable[[Store], Release]
) -> dg.MaterializeResult:
    """Push what passes the gate; a refusal of gate or hub is a failure that asking again does not mend."""
    try:
        release = release_of(place)
        outcome = hub.open().publish(place, release)
    except (PublicationRefused, DatasetError, HubError) as refused:
        failure = str(refused)
    else:
        return dg.MaterializeResult(metadata=_metadata(outcome, release))
    # Outside the handler, so that the failure is shown without the trace of what it names.
    raise dg.Failure(f"{what} is not on the Hub: {failure}", allow_retries=False)


def _metadata(outcome: Outcome, release: Release) -> dict[str, object]:
    return {
        "repository": outcome.repository,
        "version": outcome.version,
        "commit": outcome.commit,
        "changed": outcome.changed,
        "files_sent": len(outcome.plan.add) + len(outcome.plan.change),
        "files_deleted": len(outcome.plan.delete),
        "bytes_sent": outcome.plan.send_bytes,
        "retries": outcome.retries,
        "rows_read_back": dg.MetadataValue.md(table(("configuration", "rows"), sorted(outcome.rows.items()))),
        "left_out": dg.MetadataValue.md(table(("subject", "why"), sorted(release.left_out.items()))),
    }


ASSETS = (hub_publication, hub_combined)
