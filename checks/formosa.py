"""The blocking checks of the Formosa data set. Thin: each calls one check of the library and keeps its verdict.

What a check decides is in `opentwbench.formosa.dataset_checks`; whether something may be published is decided once more
by the publisher, from the stored verdicts.
"""

import dagster as dg

from checks.exam import result
from opentwbench.formosa.dataset_checks import CHECKS
from resources import formosa_products as products
from resources.formosa import FormosaResource
from resources.formosa_places import Track
from resources.settings import StoreResource

DATASET = dg.AssetKey("formosa_dataset")


def formosa_check(name: str) -> dg.AssetChecksDefinition:
    """One blocking check."""

    @dg.asset_check(asset=DATASET, name=name, blocking=True, description=" · ".join(CHECKS[name]))
    def check(store: StoreResource, formosa: FormosaResource) -> dg.AssetCheckResult:
        place = store.open()
        return result(products.judge_dataset(Track(place, formosa.plan(place)), name))

    return check


FORMOSA_CHECKS = tuple(formosa_check(name) for name in CHECKS)
