"""Publication of a subject and the figures of the whole release.

The gate is `dataset.publication.publish`: it recomputes hashes and demands a passing verdict of every check over
exactly these bytes, also when the asset is started alone, by hand, for one partition: blocking by Dagster acts inside
one run only.
"""

import dagster as dg

from assets import metadata
from assets.exam import subject_dataset
from opentwbench.dataset.publication import PublicationRefused
from resources import exam_products as products
from resources.key_attributions import key_consistency
from resources.partitions import subjects
from resources.publication import PublicationResource
from resources.settings import ListSettings, StoreResource


@dg.asset(group_name="publication", kinds={"jsonl", "csv"}, partitions_def=subjects, deps=[subject_dataset])
def subject_publication(
    context: dg.AssetExecutionContext, store: StoreResource, target: PublicationResource
) -> dg.MaterializeResult:
    """Exactly the bytes of the data set that every blocking check passed, at the publication target."""
    slug, place = context.partition_key, store.open()
    try:
        published = products.publish_subject(place, target.open(place), slug)
    except PublicationRefused as refused:
        raise dg.Failure(f"{slug} is not published: {refused}", allow_retries=False) from refused
    return dg.MaterializeResult(metadata=metadata.of_publication(published))


@dg.asset(
    group_name="publication",
    kinds={"json"},
    deps=[dg.AssetDep(subject_publication, partition_mapping=dg.AllPartitionMapping())],
)
def exam_release(store: StoreResource, target: PublicationResource, lists: ListSettings) -> dg.MaterializeResult:
    """The accounts of all subjects together: where every printed question went, and where every subject stands."""
    place = store.open()
    products.refresh_no_subject(place, lists.lists())
    record = products.release_record(place, target.open(place), lists.withdrawals())
    place.write_json(place.release(), record)
    agreement = metadata.of_consistency(key_consistency(place))
    return dg.MaterializeResult(metadata={**metadata.of_release(record), **agreement})


ASSETS = (subject_publication, exam_release)
