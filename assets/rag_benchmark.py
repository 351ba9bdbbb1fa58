"""The benchmark of retrieval systems: a partition is a data set and a system. Thin: open, carry out, report.

Replies and verdicts are journalled, so a partition that is started again asks only what it has no reply to.
"""

from collections.abc import Iterator

import dagster as dg

from opentwbench.evaluation.client import EndpointError
from opentwbench.evaluation.journal import JournalError
from opentwbench.rag.model import RagError
from opentwbench.rag.report import as_markdown
from resources.partitions import rag_benchmarks
from resources.pools import MODEL_ENDPOINT
from resources.rag import RagBenchmarkResource
from resources.rag_runs import carry_out
from resources.settings import StoreResource
from resources.store import StoreError


@dg.asset(group_name="rag", kinds={"json"}, partitions_def=rag_benchmarks, output_required=False, pool=MODEL_ENDPOINT)
def rag_benchmark(
    context: dg.AssetExecutionContext, store: StoreResource, rag: RagBenchmarkResource
) -> Iterator[dg.MaterializeResult]:
    """One retrieval system over one data set: answers, recall, a judge's verdicts, and the report over them."""
    dataset, system = (context.partition_key.keys_by_dimension[name] for name in ("dataset", "system"))
    try:
        run = rag.run(store.open(), dataset, system)
        if run is None:
            context.log.info(f"off: no model is named, or no original files of {dataset} are there")
            return
        carried = carry_out(run)
    except (RagError, EndpointError, JournalError, StoreError) as error:
        raise dg.Failure(f"{dataset} with {system}: {error}", allow_retries=False) from error
    if carried.stopped:
        raise dg.Failure(f"{dataset} with {system} stopped early: {carried.stopped}", allow_retries=False)
    made = carried.report
    yield dg.MaterializeResult(
        metadata={
            "run": run.plan.name,
            "questions": made["Total Queries Evaluated"],
            "asked_now": carried.sent,
            "whole": carried.is_whole,
            "self_judged": made["self_judged"],
            "report": dg.MetadataValue.md(as_markdown(made)),
        }
    )


ASSETS = (rag_benchmark,)
