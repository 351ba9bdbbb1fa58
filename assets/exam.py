"""The exam track from the ministry's index to a subject's data set. Thin: read, call the library, write, report.

`exam_papers` and `subject_items` are heavy and ungated, so a backfill is one run over the range; `subject_dataset` and
what follows is gated by checks for each subject and has no backfill policy, because with one the check results would be
stored without their partition (measured; docs/architecture.md, "Gating").
"""

import dagster as dg

from assets import metadata
from assets.index_metadata import of_index_version
from opentwbench.exam.digests import parser_digest
from opentwbench.exam.paper import parse_pairs
from opentwbench.exam.sitting import ParseCache, collect, needed_urls, retrieval_figures
from resources import exam_products as products
from resources.ministry import MinistryResource
from resources.partitions import exam_years, subjects
from resources.progress import Progress
from resources.publication import PublicationResource
from resources.settings import ListSettings, ParsingSettings, StoreResource
from resources.settled_items import settle_and_write

MINISTRY = "ministry"
"""Concurrency pool: one crawl at a time."""


@dg.asset(group_name="exam", kinds={"csv"}, pool=MINISTRY)
def ministry_index(
    context: dg.AssetExecutionContext, ministry: MinistryResource, store: StoreResource
) -> dg.MaterializeResult:
    """The ministry's open-data index as last seen: typed rows, refused rows by reason, sitting years as partitions."""
    with ministry.open() as retriever:
        data = retriever.fetch_index().path.read_bytes()
        asked = {"requests": retriever.counters.requests}
    index, version = products.write_index(store.open(), data, ministry.max_vanished_share)
    context.instance.add_dynamic_partitions(str(exam_years.name), list(products.keyed_years(index)))
    return dg.MaterializeResult(metadata={**metadata.of_index(index), **of_index_version(version), **asked})


@dg.asset(
    group_name="exam",
    kinds={"pdf"},
    partitions_def=exam_years,
    backfill_policy=dg.BackfillPolicy.single_run(),
    deps=[ministry_index],
    pool=MINISTRY,
)
def exam_papers(
    context: dg.AssetExecutionContext,
    ministry: MinistryResource,
    store: StoreResource,
    parsing: ParsingSettings,
    progress: dg.ResourceParam[Progress],
) -> None:
    """A sitting year's papers: retrieved, parsed, cross-checked; every keyed index row accepted or rejected by name."""
    place = store.open()
    index = products.stored_index(place)
    digests = products.keyed_years(index)
    rows = [row for row in index.keyed() if str(row.year_roc) in context.partition_keys]
    with ministry.open() as retriever:
        files = retriever.fetch_all(
            needed_urls(rows), lambda seen: progress.step("files retrieved", seen.done, seen.total)
        )
        retrieved = {file.url: file for file in files}
    records = collect(
        rows,
        retrieved,
        lambda pairs: parse_pairs(
            pairs, parsing.workers, progress=lambda done, total: progress.step("papers parsed", done, total)
        ),
        ParseCache(place.cache_folder / "parsed", parser_digest()),
    )
    failed = {url for url, file in retrieved.items() if file.status == "failed"}
    for key in context.partition_keys:
        own = [each for each in records if str(each.row.year_roc) == key]
        urls = needed_urls(each.row for each in own)
        record = products.write_year(place, int(key), own, digests.get(key, ""), failed.intersection(urls))
        asked = retrieval_figures([retrieved[url] for url in urls])
        context.add_asset_metadata({**metadata.of_year(record), **asked}, partition_key=key)


@dg.asset(
    group_name="exam",
    kinds={"jsonl"},
    partitions_def=subjects,
    backfill_policy=dg.BackfillPolicy.single_run(),
    deps=[dg.AssetDep(exam_papers, partition_mapping=dg.AllPartitionMapping())],
)
def subject_items(context: dg.AssetExecutionContext, store: StoreResource, lists: ListSettings) -> None:
    """Every printed question of a subject in its bucket: published, folded, or excluded for named reasons.

    All subjects are settled, one after the other, because what they share is counted; only the asked ones are written.
    """
    place, applied = store.open(), lists.lists()
    inputs = products.items_inputs(place, applied)
    for slug, record in settle_and_write(place, applied, context.partition_keys, inputs):
        context.add_asset_metadata(metadata.of_items(record), partition_key=slug)


@dg.asset(group_name="exam", kinds={"jsonl", "csv"}, partitions_def=subjects, deps=[subject_items])
def subject_dataset(
    context: dg.AssetExecutionContext, store: StoreResource, target: PublicationResource, lists: ListSettings
) -> dg.MaterializeResult:
    """A subject's benchmark files, card and manifest, ready to be checked. Without a paper: no source, no files.

    Its changelog continues what is published at the target.
    """
    place = store.open()
    written = products.build_dataset(place, target.open(place), context.partition_key, lists.withdrawals())
    return dg.MaterializeResult(metadata=metadata.of_dataset(written))


ASSETS = (ministry_index, exam_papers, subject_items, subject_dataset)
