"""What an edition of Formosa is made from and with: corpus, models, judges, pool, band. Without Dagster.

What belongs here: the settings, which of them the store keeps, and checking them. What does not: connections
(`resources.models`), products (`resources.formosa_products`) and rules (`opentwbench.formosa`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from opentwbench.dataset.contract import excerpt
from opentwbench.formosa.band import Band, read_band
from opentwbench.formosa.windows import LIMIT, TAIL
from resources.connections import NOT_APPLIED
from resources.store import Store

SETTINGS = "formosa/settings.json"
"""What the last build was asked for, in the store: later builds, and the UI, do the same unless told otherwise."""

FILES = ("lexicon", "good", "findings", "withdrawn")
"""Settings that name a file or folder, and are given up with `none`."""


class PlanError(ValueError):
    """Settings that no edition can be made with; the message names the setting."""


@dataclass(frozen=True, slots=True)
class FormosaPlan:
    """The settings of the track. '' and () take what the store keeps; `resources.formosa.FormosaResource` says more."""

    corpus: str = ""
    commit: str = ""
    stated: str = ""
    limit: int = 0
    """0, not given: LIMIT, or what the store keeps."""
    tail: int = -1
    """-1, not given: TAIL, or what the store keeps."""
    model: str = ""
    judges: tuple[str, ...] = ()
    judge: str = ""
    pool: tuple[str, ...] = ()
    external: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    submissions: tuple[str, ...] = ()
    band: str = ""
    edition: str = ""
    date: str = ""
    lexicon: str = ""
    good: str = ""
    findings: str = ""
    withdrawn: str = ""

    def kept_in(self, store: Store) -> FormosaPlan:
        """These settings; for one that is not given the one that the store keeps from an earlier build."""
        kept = store.read_json_or_none(SETTINGS) or {}
        names = {each.name for each in fields(self)}
        if unknown := sorted(kept.keys() - names):
            raise PlanError(f"{SETTINGS}: no setting {excerpt(unknown[0])}")
        standard = FormosaPlan()
        made: dict[str, Any] = {}
        for name in names:
            given = getattr(self, name)
            made[name] = kept.get(name, given) if given == getattr(standard, name) else given
            if isinstance(made[name], list):
                made[name] = tuple(made[name])
            if name in FILES and made[name] == NOT_APPLIED:
                made[name] = ""
        return replace(self, **made)

    def keep(self, store: Store) -> None:
        """Let later builds on the store do the same."""
        store.write_json(SETTINGS, asdict(self))

    @property
    def place(self) -> Path:
        """Folder or checkout of the corpus; PlanError when none is named."""
        return Path(self._needed("corpus", self.corpus))

    @property
    def cutting(self) -> tuple[int, int]:
        """Limit and tail of the windows, in characters."""
        return self.limit or LIMIT, TAIL if self.tail < 0 else self.tail

    @property
    def drafter(self) -> str:
        """The drafting model; PlanError when none is named."""
        return self._needed("model", self.model)

    @property
    def candidates(self) -> tuple[str, ...]:
        """The judges of the study: those named, and the one that is to ground. PlanError when there is none."""
        names = (*self.judges, *((self.judge,) if self.judge and self.judge not in self.judges else ()))
        self._needed("judges", *names[:1])
        if len(set(names)) != len(names):
            raise PlanError("judges: one is named twice")
        return names

    def band_of(self, members: int) -> Band:
        """The band over so many pool members: the one named, else every item that not all of them pass.

        Source: the published construction, "pass <= 6 of 7". Raises CurationError for a band outside the pool.
        """
        return read_band(self.band or f"0-{max(0, members - 1)}", members)

    @property
    def names(self) -> tuple[str, str]:
        """Name and date of the edition; PlanError when one is not given."""
        return self._needed("edition", self.edition), self._needed("date", self.date)

    def file(self, name: str) -> Path | None:
        """A file or folder of `FILES`, None when it is not given."""
        value = str(getattr(self, name))
        return Path(value) if value else None

    @staticmethod
    def _needed(name: str, value: str = "") -> str:
        if not value:
            raise PlanError(f"{name}: not set, and the store keeps none of an earlier build")
        return value

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> FormosaPlan:
        """A plan from settings as they come out of a configuration, in which tuples are lists."""
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()})
