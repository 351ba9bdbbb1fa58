"""tw-rag-bench from grounded Formosa items to its publication. Thin: read, call the library, write, report.

Contexts are partitioned by category, because a distractor is always of the gold's category. The gate of the publication
is the exam track's (`dataset.publication.publish`), also when the asset is started alone.
"""

import dagster as dg

from assets.metadata import of_publication
from opentwbench.dataset.manifest import read_manifest
from opentwbench.dataset.model import DatasetError
from opentwbench.dataset.publication import PublicationRefused
from opentwbench.exam.tables import table
from resources import rag_products as products
from resources.partitions import formosa_categories
from resources.publication import PublicationResource
from resources.settings import StoreResource
from resources.store import StoreError

GROUP = "rag"
WINDOWS, GROUNDED = dg.AssetKey("formosa_windows"), dg.AssetKey("formosa_grounded")


@dg.asset(
    group_name=GROUP,
    kinds={"jsonl"},
    partitions_def=formosa_categories,
    backfill_policy=dg.BackfillPolicy.single_run(),
    deps=[WINDOWS, GROUNDED],
)
def rag_contexts(context: dg.AssetExecutionContext, store: StoreResource) -> None:
    """Every grounded item of a category with its gold window, three distractors and a reference by template."""
    place = store.open()
    for category in context.partition_keys:
        try:
            made = products.make_contexts(place, category)
        except (DatasetError, StoreError) as error:
            raise dg.Failure(f"{category}: {error}", allow_retries=False) from error
        shown = {
            "grounded": made.grounded,
            "items": made.items,
            "left_out": dg.MetadataValue.md(table(("reason", "items"), sorted(made.dropped.items()))),
            "passed_over": dg.MetadataValue.md(table(("reason", "windows"), sorted(made.rejected.items()))),
            "forms": dg.MetadataValue.md(table(("form", "references"), sorted(made.forms.items()))),
            "need_a_template": dg.MetadataValue.md(table(("form", "items"), sorted(made.needing.items()))),
        }
        context.add_asset_metadata(shown, partition_key=category)


@dg.asset(
    group_name=GROUP,
    kinds={"jsonl", "csv"},
    deps=[dg.AssetDep(rag_contexts, partition_mapping=dg.AllPartitionMapping())],
)
def rag_dataset(store: StoreResource, target: PublicationResource) -> dg.MaterializeResult:
    """The folder of tw-rag-bench: both configs, the two scripts, card, licence and manifest, ready to be checked."""
    place = store.open()
    try:
        version = products.make_dataset(place, target.open(place))
    except (DatasetError, StoreError) as error:
        raise dg.Failure(str(error), allow_retries=False) from error
    with place.folder(products.DATASET) as folder:
        counts = read_manifest(folder)["counts"]
    return dg.MaterializeResult(metadata={**counts, "version": version})


@dg.asset(group_name="publication", kinds={"jsonl", "csv"}, deps=[rag_dataset])
def rag_publication(store: StoreResource, target: PublicationResource) -> dg.MaterializeResult:
    """Exactly the bytes of tw-rag-bench that every blocking check passed, at the publication target."""
    place = store.open()
    try:
        published = products.publish_dataset(place, target.open(place))
    except PublicationRefused as refused:
        raise dg.Failure(f"tw-rag-bench is not published: {refused}", allow_retries=False) from refused
    return dg.MaterializeResult(metadata=of_publication(published))


ASSETS = (rag_contexts, rag_dataset, rag_publication)
