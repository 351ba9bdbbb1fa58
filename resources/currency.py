"""Whether what is published is what its sources give now, and if not, why: one answer for each publication.

What belongs here: the answer in words, made of the digests that the tracks keep beside their products. What does not:
deciding what is stale (`exam_products`, `formosa_*`, `rag_products`, `gated_set`), and clock times: a data set whose
sources did not change is current, however old it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.hub_plan import COMBINED
from opentwbench.dataset.manifest import MANIFEST_NAME, sha256
from opentwbench.dataset.model import DatasetError, Withdrawal
from opentwbench.dataset.publication import PublicationRefused
from opentwbench.exam.exclusion_lists import Lists
from opentwbench.exam.subjects import REGISTRY
from opentwbench.formosa.corpus import CorpusError
from resources import exam_products, formosa_drafts, formosa_products, rag_products
from resources.apparatus import Apparatus
from resources.formosa_places import DATASET_RECORD, PUBLICATION, WINDOWS, Track
from resources.formosa_plan import PlanError
from resources.gated_set import UNFINISHED, WITHHELD, DatasetState
from resources.hub_publishing import subject_release
from resources.store import Store
from resources.warehouse import Warehouse
from resources.warehouse_tables import Places, ungraded_runs

NOTHING = "nothing was made yet"


@dataclass(frozen=True, slots=True)
class Currency:
    """An answer. `why` names what is not current, one sentence each; without any the product is current."""

    why: tuple[str, ...] = ()
    words: str = "made from what is there now"
    """What is said of a product that is current."""

    @property
    def is_current(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.why


def exam_publications(store: Store, public: Store, lists: Lists, withdrawals: Mapping[str, Withdrawal]) -> Currency:
    """Every subject's publication: against its data set, and the stages before it against their own sources.

    A subject that a check withholds and that was never published is not out of date: nothing of it is out.
    """
    record = store.read_json_or_none(store.index_record())
    if record is None or not store.years():
        return Currency(words=NOTHING)
    unread = exam_products.unread_years(store, record["years"])
    why = [f"sitting year {year}: rows or parser changed" for year in unread]
    inputs = exam_products.items_inputs(store, lists)
    stale = exam_products.stale_items(store, {slug: inputs[slug] for slug in REGISTRY})
    why += [f"{slug}: papers, lists or code changed since its items were settled" for slug in stale]
    out = set(public.slugs("publications"))
    for slug in sorted(REGISTRY.keys() - set(stale)):
        state = exam_products.subject_state(store, public, slug, withdrawals)
        if state.state == UNFINISHED:
            why.append(f"{slug}: data set, checks or publication are not what its items give now")
        elif state.state == WITHHELD and slug in out:
            why.append(f"{slug}: an older version is out, because {excerpt('; '.join(state.against), 300)}")
    return Currency(tuple(why))


def exam_release(store: Store, public: Store, lists: Lists, withdrawals: Mapping[str, Withdrawal]) -> Currency:
    """The accounts over all, and the suite's verdict on them."""
    if not store.exists(store.release()):
        return Currency(words=NOTHING)
    if exam_products.release_is_current(store, public, lists, withdrawals):
        return Currency()
    return Currency(("subjects, lists or the suite's verdict changed since the release was recorded",))


def _ready(store: Store) -> Iterator[tuple[str, str, dict[str, str]]]:
    """(subject, version, sha256 of each file) of every subject whose bytes the gate would hand to the Hub now."""
    for slug in sorted(REGISTRY):
        try:
            release = subject_release(store, slug)
        except (PublicationRefused, DatasetError):
            continue  # withheld, or not built: `exam_publications` says so
        yield slug, release.version, {name: sha256(data) for name, data in sorted(release.files.items())}


def hub_publications(store: Store, *, is_on: bool) -> Currency:
    """Every subject's repository on the Hub, by what was read back from it last. The Hub itself is not asked."""
    if not is_on:
        return Currency(words="the Hub is off: no namespace is configured")
    why = []
    for slug, version, files in _ready(store):
        held = store.read_json_or_none(store.hub(slug))
        if held is None:
            why.append(f"{slug}: version {version} was never pushed")
        elif held["files"] != files:
            why.append(f"{slug}: the Hub has other files, of version {held['version']}, not those of {version}")
    return Currency(tuple(why))


def hub_combined(store: Store, *, is_on: bool) -> Currency:
    """The combined repository: its subjects and their versions against those that pass the gate now."""
    held = store.read_json_or_none(store.hub(COMBINED))
    if not is_on or held is None:
        return Currency(words=NOTHING if is_on else "the Hub is off: no namespace is configured")
    now, then = {slug: version for slug, version, _ in _ready(store)}, held["parts"]
    versions = {slug: (then.get(slug, "none"), now.get(slug, "none")) for slug in sorted(now.keys() | then.keys())}
    differ = [(slug, out, passes) for slug, (out, passes) in versions.items() if out != passes]
    return Currency(tuple(f"{slug}: {out} is out, {passes} passes" for slug, out, passes in differ))


def _of_state(state: DatasetState, what: str, *, is_out: bool) -> Currency:
    if state.state == UNFINISHED:
        return Currency((f"{what} changed since it was built, checked or published",))
    if state.state == WITHHELD and is_out:
        return Currency(tuple(f"an older version is out, because {excerpt(each, 300)}" for each in state.against))
    return Currency()


def formosa_windows(track: Track) -> Currency:
    """The windows against the corpus as its folder is now. Nothing is fetched."""
    if not track.store.exists(WINDOWS):
        return Currency(words=NOTHING)
    try:
        current = formosa_drafts.windows_are_current(track)
    except (CorpusError, PlanError) as error:
        return Currency((f"the corpus cannot be read: {excerpt(str(error), 300)}",))
    return Currency() if current else Currency(("the corpus or how it is cut changed since the windows were made",))


def formosa_publication(track: Track, public: Store) -> Currency:
    """tw-formosa-bench against its frozen edition: a corpus that goes on does not make an edition old."""
    if not track.store.exists(DATASET_RECORD):
        return Currency(words=NOTHING)
    is_out = public.exists(f"{PUBLICATION}/{MANIFEST_NAME}")
    return _of_state(formosa_products.dataset_state(track, public), "edition, items or code", is_out=is_out)


def rag_publication(store: Store, public: Store) -> Currency:
    """tw-rag-bench against the windows and grounded items of now."""
    if not store.exists(rag_products.DATASET_RECORD):
        return Currency(words=NOTHING)
    is_out = public.exists(f"{rag_products.PUBLICATION}/{MANIFEST_NAME}")
    return _of_state(rag_products.dataset_state(store, public), "windows, grounded items or code", is_out=is_out)


def scores(places: Places, warehouse: Warehouse) -> Currency:
    """Every run's grading against its journal and the keys that are published now."""
    waiting = ungraded_runs(places, warehouse)
    return Currency(tuple(f"run {run_id}: new responses or keys since it was graded" for run_id in waiting))


def studies(apparatus: Apparatus) -> Currency:
    """Every study that was conducted, against the tables, verdicts and code that it reads."""
    changed = "responses, keys or code changed since it was conducted"
    return Currency(tuple(f"study {study_id}: {changed}" for study_id in apparatus.stale()))
