"""Whether each publication is what its sources give now, and why not. Thin: the answers are `resources.currency`'s.

They judge no bytes and block nothing: they warn. `currency_job` runs them by themselves, daily where it is scheduled:
beside the run that makes a publication they could only say that it is new.
"""

from collections.abc import Callable

import dagster as dg

from opentwbench.exam.tables import table
from resources import currency
from resources.apparatus import TABLE, Apparatus
from resources.currency import Currency
from resources.formosa import FormosaResource
from resources.formosa_places import Track
from resources.hub import HubResource
from resources.models import WarehouseResource
from resources.publication import PublicationResource
from resources.settings import ListSettings, StoreResource
from resources.store import Store
from resources.warehouse_tables import Places

SHOWN = 200
"""Most reasons of one answer: all 148 subjects and the years before them."""


def result(found: Currency) -> dg.AssetCheckResult:
    """An answer as Dagster shows it: how many things are not current, and each by name."""
    detail = found.words if found.is_current else f"{len(found.why)} not current: {found.why[0]}"
    return dg.AssetCheckResult(
        passed=found.is_current,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={
            "detail": detail,
            "not_current": len(found.why),
            "why_not": dg.MetadataValue.md(table(("why not",), ((each,) for each in found.why[:SHOWN]))),
        },
    )


def on_disk(place: Store, answer: Callable[[], Currency]) -> Currency:
    """The answer of a track that keeps journals; a store that is no folder holds nothing of it (docs/deployment.md)."""
    return answer() if place.is_local else Currency(words="this store is no local folder and holds nothing of it")


@dg.asset_check(asset="subject_publication", description="Every subject's publication is what the index gives now")
def publications_are_current(
    store: StoreResource, target: PublicationResource, lists: ListSettings
) -> dg.AssetCheckResult:
    """Over all subjects and the stages before them, by digests."""
    place = store.open()
    return result(currency.exam_publications(place, target.open(place), lists.lists(), lists.withdrawals()))


@dg.asset_check(asset="exam_release", description="The release's accounts are those of the subjects now")
def release_is_current(store: StoreResource, target: PublicationResource, lists: ListSettings) -> dg.AssetCheckResult:
    """The record against what it would say now."""
    place = store.open()
    return result(currency.exam_release(place, target.open(place), lists.lists(), lists.withdrawals()))


@dg.asset_check(asset="hub_publication", description="The Hub has the bytes of every subject that pass the gate now")
def hub_is_current(store: StoreResource, hub: HubResource) -> dg.AssetCheckResult:
    """By what was read back last; the Hub itself is not asked (`otb hub verify` does that)."""
    return result(currency.hub_publications(store.open(), is_on=hub.is_on))


@dg.asset_check(asset="hub_combined", description="The combined repository has the subjects that pass the gate now")
def combined_is_current(store: StoreResource, hub: HubResource) -> dg.AssetCheckResult:
    """By the versions of its parts."""
    return result(currency.hub_combined(store.open(), is_on=hub.is_on))


@dg.asset_check(asset="formosa_windows", description="The windows are those of the corpus folder as it is now")
def windows_are_current(store: StoreResource, formosa: FormosaResource) -> dg.AssetCheckResult:
    """By the state of the folder; nothing is fetched."""
    place = store.open()
    return result(on_disk(place, lambda: currency.formosa_windows(Track(place, formosa.plan(place)))))


@dg.asset_check(asset="formosa_publication", description="The published edition is the one that is frozen now")
def formosa_is_current(
    store: StoreResource, formosa: FormosaResource, target: PublicationResource
) -> dg.AssetCheckResult:
    """By the bytes of data set, verdicts and publication."""
    place = store.open()
    public = target.open(place)
    return result(on_disk(place, lambda: currency.formosa_publication(Track(place, formosa.plan(place)), public)))


@dg.asset_check(asset="rag_publication", description="tw-rag-bench is what windows and grounded items give now")
def rag_is_current(store: StoreResource, target: PublicationResource) -> dg.AssetCheckResult:
    """By the bytes of contexts, data set, verdicts and publication."""
    place = store.open()
    return result(currency.rag_publication(place, target.open(place)))


@dg.asset_check(asset="model_scores", description="Every run is graded by the keys that are published now")
def scores_are_current(store: StoreResource, warehouse: WarehouseResource) -> dg.AssetCheckResult:
    """Runs with responses or published keys that no score has seen."""
    place = store.open()
    return result(on_disk(place, lambda: currency.scores(Places(place), warehouse.open(place))))


@dg.asset_check(
    asset=dg.AssetKey(["raw", TABLE]), description="Every study was conducted on the responses and keys of now"
)
def studies_are_current(store: StoreResource, warehouse: WarehouseResource) -> dg.AssetCheckResult:
    """By the digests of the raw tables and of the code."""
    place = store.open()
    return result(on_disk(place, lambda: currency.studies(Apparatus(place, warehouse.open(place).raw))))


CURRENCY_CHECKS = (
    publications_are_current,
    release_is_current,
    hub_is_current,
    combined_is_current,
    windows_are_current,
    formosa_is_current,
    rag_is_current,
    scores_are_current,
    studies_are_current,
)
