"""What the configured resources open, without Dagster: a retriever, the publication target, the lists.

What belongs here: turning settings into connections, once for Dagster's resources and for a build that needs no run.
What does not: describing the settings to people (`resources.ministry`, `resources.settings`) and rules.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opentwbench.exam.exclusion_lists import ListError, Lists, read_foreign_list, read_id_list
from opentwbench.exam.index import MAX_VANISHED_SHARE
from opentwbench.exam.model import Exclusion
from opentwbench.exam.polite import Politeness
from opentwbench.exam.retrieval import DAY, LIVE, Limits, Retriever
from opentwbench.exam.subjects import REGISTRY
from resources.store import Store

if TYPE_CHECKING:
    from opentwbench.dataset.model import Withdrawal

_POLITE = Politeness()
_LIMITS = Limits()

INDEX_MAX_AGE_HOURS = _LIMITS.index_max_age_seconds / DAY * 24
"""How long the index is believed unless somebody says otherwise."""


@dataclass(frozen=True, slots=True)
class MinistryConnection:
    """Where papers come from and how politely they are asked for; `resources.ministry` says what each field means."""

    source: str = LIVE
    cache: str = "store/cache"
    delay_seconds: float = _POLITE.delay_seconds
    jitter_seconds: float = _POLITE.jitter_seconds
    attempts: int = _POLITE.attempts
    backoff_seconds: float = _POLITE.backoff_seconds
    timeout_seconds: float = _POLITE.timeout_seconds
    max_age_days: float = _LIMITS.max_age_seconds / DAY
    missing_max_age_days: float = _LIMITS.missing_max_age_seconds / DAY
    index_max_age_hours: float = INDEX_MAX_AGE_HOURS
    max_pdf_bytes: int = _LIMITS.max_pdf_bytes
    max_index_bytes: int = _LIMITS.max_index_bytes
    max_vanished_share: float = MAX_VANISHED_SHARE
    ca_bundle: str = ""
    proxy: str = ""

    def open(self) -> Retriever:
        """A retriever by these settings, to be used as a context manager or closed by the caller.

        Raises ValueError for a source that is none or a setting out of bounds, MirrorError for a folder that is no
        mirror.
        """
        return Retriever(
            self.source,
            Path(self.cache),
            Politeness(
                delay_seconds=self.delay_seconds,
                jitter_seconds=self.jitter_seconds,
                attempts=self.attempts,
                backoff_seconds=self.backoff_seconds,
                timeout_seconds=self.timeout_seconds,
            ),
            Limits(
                max_pdf_bytes=self.max_pdf_bytes,
                max_index_bytes=self.max_index_bytes,
                max_age_seconds=self.max_age_days * DAY,
                missing_max_age_seconds=self.missing_max_age_days * DAY,
                index_max_age_seconds=self.index_max_age_hours * DAY / 24,
            ),
            ca_bundle=Path(self.ca_bundle) if self.ca_bundle else None,
            proxy=self.proxy or None,
        )


NOT_APPLIED = "none"
"""In a list's place: no longer apply the one that the store keeps."""


@dataclass(frozen=True, slots=True)
class ListPaths:
    """Where the lists are that take items out; '' for one that is not applied (`resources.settings.ListSettings`)."""

    legal_benchmark: str = ""
    tmmlu: str = ""
    maintainer: str = ""
    withdrawn: str = ""

    def kept_in(self, store: Store) -> ListPaths:
        """These paths; for one that is '' the one that the store keeps from an earlier run.

        A list that one run applied and the next forgot would put items back in silence.
        """
        kept = store.read_json_or_none(store.applied_lists()) or {}
        paths = {name: given or str(kept.get(name, "")) for name, given in asdict(self).items()}
        return ListPaths(**{name: "" if path == NOT_APPLIED else path for name, path in paths.items()})

    def keep(self, store: Store) -> None:
        """Let later runs on the store apply the same lists."""
        kept = store.read_json_or_none(store.applied_lists()) or asdict(ListPaths())
        if kept != asdict(self):
            store.write_json(store.applied_lists(), asdict(self))

    def lists(self) -> Lists:
        """Everything that may leave an item out of publication; raises ListError for a list that cannot be used."""
        return Lists(
            foreign=(
                read_foreign_list(Exclusion.IN_LEGAL_BENCHMARK_V2, _path(self.legal_benchmark)),
                read_foreign_list(Exclusion.IN_TMMLU_PLUS, _path(self.tmmlu)),
            ),
            maintainer=read_id_list(_path(self.maintainer)),
        )

    def withdrawals(self) -> dict[str, Withdrawal]:
        """Items that leave the scored set, by id; raises ListError, also for an id that no subject has."""
        found = read_id_list(_path(self.withdrawn))
        keys = {subject.key for subject in REGISTRY.values()}
        for item_id in found:  # it would reach no data set, and nobody would hear of it
            if item_id.rpartition("-")[0] not in keys:
                raise ListError(f"{Path(self.withdrawn).name}: {item_id} is the id of no subject's item")
        return found


def publication_target(url: str, store: Store) -> Store:
    """The store whose `publications` folder is the target; '' names the store itself."""
    return Store(url, store.cache_folder) if url else store


def _path(text: str) -> Path | None:
    return Path(text) if text else None
