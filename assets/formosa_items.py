"""The Formosa track from the full set to its publication. Thin: read, call the library, write, report.

The gate of the publication is the exam track's (`dataset.publication.publish`): it recomputes hashes and demands a
passing verdict of every check over exactly these bytes, also when the asset is started alone.
"""

import dagster as dg

from assets import formosa_metadata as metadata
from assets.formosa import GROUP, formosa_grounded, stated, track_of
from assets.metadata import of_publication
from opentwbench.dataset.manifest import read_manifest
from opentwbench.dataset.publication import PublicationRefused
from opentwbench.evaluation.protocols import find
from resources import formosa_grounds as grounds
from resources import formosa_products as products
from resources.formosa import FormosaResource
from resources.formosa_places import DATASET
from resources.models import ModelsResource
from resources.pools import MODEL_ENDPOINT
from resources.progress import Progress
from resources.publication import PublicationResource
from resources.settings import StoreResource


@dg.asset(
    group_name=GROUP,
    kinds={"jsonl"},
    deps=[dg.AssetDep(formosa_grounded, partition_mapping=dg.AllPartitionMapping())],
)
def formosa_items(
    store: StoreResource, formosa: FormosaResource, endpoints: ModelsResource, progress: dg.ResourceParam[Progress]
) -> dg.MaterializeResult:
    """The full grounded set of all categories, its version, and where every window went."""
    with stated("items"):
        record = grounds.make_full_set(track_of(store, formosa, endpoints, progress))
    return dg.MaterializeResult(metadata=metadata.of_items(record))


@dg.asset(group_name=GROUP, kinds={"jsonl"}, deps=[formosa_items], pool=MODEL_ENDPOINT)
def formosa_difficulty(
    store: StoreResource, formosa: FormosaResource, endpoints: ModelsResource, progress: dg.ResourceParam[Progress]
) -> dg.MaterializeResult:
    """Who of the pool passes which item, the frozen edition that its band gives, and what selection does to a model."""
    track = track_of(store, formosa, endpoints, progress)
    with stated("difficulty"):
        record = products.make_edition(track, find(endpoints.protocol, endpoints.budget or None))
        _, _, table, beside = products.transfer_of(track)
    return dg.MaterializeResult(metadata=metadata.of_edition(record, table, beside))


@dg.asset(group_name=GROUP, kinds={"jsonl", "csv"}, deps=[formosa_difficulty])
def formosa_dataset(
    store: StoreResource,
    formosa: FormosaResource,
    endpoints: ModelsResource,
    target: PublicationResource,
    progress: dg.ResourceParam[Progress],
) -> dg.MaterializeResult:
    """The band with the full set, the sidecar, the edition, card and manifest, ready to be checked."""
    track = track_of(store, formosa, endpoints, progress)
    with stated("data set"):
        version = products.make_dataset(track, target.open(track.store))
    counts = read_manifest(track.path(DATASET))["counts"]
    return dg.MaterializeResult(metadata={**counts, "version": version})


@dg.asset(group_name="publication", kinds={"jsonl", "csv"}, deps=[formosa_dataset])
def formosa_publication(
    store: StoreResource,
    formosa: FormosaResource,
    endpoints: ModelsResource,
    target: PublicationResource,
    progress: dg.ResourceParam[Progress],
) -> dg.MaterializeResult:
    """Exactly the bytes of the data set that every blocking check passed, at the publication target."""
    track = track_of(store, formosa, endpoints, progress)
    try:
        published = products.publish_dataset(track, target.open(track.store))
    except PublicationRefused as refused:
        raise dg.Failure(f"Formosa is not published: {refused}", allow_retries=False) from refused
    return dg.MaterializeResult(metadata=of_publication(published))


ASSETS = (formosa_items, formosa_difficulty, formosa_dataset, formosa_publication)
