"""The blocking checks of tw-rag-bench. Thin: each calls one check of the library and keeps its verdict.

What a check decides is in `opentwbench.rag.tw_rag.dataset_checks`; whether something may be published is decided once
more by the publisher, from the stored verdicts.
"""

import dagster as dg

from checks.exam import result
from opentwbench.rag.tw_rag.dataset_checks import CHECKS
from resources import rag_products as products
from resources.settings import StoreResource

DATASET = dg.AssetKey("rag_dataset")


def rag_check(name: str) -> dg.AssetChecksDefinition:
    """One blocking check."""

    @dg.asset_check(asset=DATASET, name=name, blocking=True, description=" · ".join(CHECKS[name]))
    def check(store: StoreResource) -> dg.AssetCheckResult:
        return result(products.judge_dataset(store.open(), name))

    return check


RAG_CHECKS = tuple(rag_check(name) for name in CHECKS)
