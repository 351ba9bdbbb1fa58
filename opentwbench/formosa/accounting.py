"""Accounting: every window ends in exactly one place, from the corpus to the band, and the sums say so.

windows = drafts that are none, by kind + unanswered + well-formed drafts;
well-formed = excluded by a screen, by name + dropped by the judge, by name + unjudged + grounded;
grounded = in the band + easier + harder + unmeasured.
What belongs here: the sums. What does not: deciding where a window ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from opentwbench.dataset.contract import excerpt
from opentwbench.formosa.band import CUT_KINDS, CurationError, Cut
from opentwbench.formosa.drafting import DRAFT_KINDS, Drafted
from opentwbench.formosa.grounding import JUDGE_KINDS, Grounding
from opentwbench.formosa.model import Exclusion, Screened


@dataclass(frozen=True, slots=True)
class Account:
    """Where the windows of a category, or of all of them, went."""

    windows: int
    not_drafted: Mapping[str, int] = field(default_factory=dict)
    """MALFORMED, EMPTY, REFUSED -> windows."""
    unanswered: int = 0
    well_formed: int = 0
    screened_out: Mapping[str, int] = field(default_factory=dict)
    """Exclusion -> drafts; those of a screen or of a person."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Exclusion -> drafts; those of the judge."""
    unjudged: int = 0
    grounded: int = 0
    band: Mapping[str, int] = field(default_factory=dict)
    """CUT_KINDS -> items; empty before an edition is cut."""

    def open_sums(self) -> list[str]:
        """Sums that do not close, in words; empty when everything closes."""
        drafts = sum(self.not_drafted.values()) + self.unanswered + self.well_formed
        settled = sum(self.screened_out.values()) + sum(self.dropped.values()) + self.unjudged + self.grounded
        found = []
        if drafts != self.windows:
            found.append(f"{self.windows} windows, {drafts} drafted, not drafted or unanswered")
        if settled != self.well_formed:
            found.append(f"{self.well_formed} well-formed drafts, {settled} in buckets")
        if self.band and sum(self.band.values()) != self.grounded:
            found.append(f"{self.grounded} grounded items, {sum(self.band.values())} cut")
        return found

    def to_json(self) -> dict[str, Any]:
        """The account as build_stats.json holds it."""
        return {
            name: dict(value) if isinstance(value := getattr(self, name), Mapping) else value for name in self.__slots__
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Account:
        """An account read back; raises CurationError for what is no count."""
        if set(record) != set(cls.__slots__):
            raise CurationError(f"an account has {', '.join(cls.__slots__)}; got {excerpt(sorted(record), 200)}")
        for name, value in record.items():
            counts = value.values() if isinstance(value, Mapping) else [value]
            if not all(type(count) is int and count >= 0 for count in counts):
                raise CurationError(f"account: {name} is no count: {excerpt(value)}")
        return cls(**record)


def account(drafted: Drafted, screened: Sequence[Screened], grounding: Grounding, cut: Cut | None = None) -> Account:
    """The account of what one drafting, its screens, its judge and, once there is one, its band made."""
    apart = (Exclusion.DUPLICATE_DRAFT, Exclusion.UNKNOWN_WINDOW)
    kinds = Counter(finding.exclusion for _, finding in drafted.rejected)
    screens = Counter(each.bucket for each in screened if each.bucket is not None)
    judged = Counter(finding.exclusion for _, finding in grounding.dropped)
    return Account(
        windows=drafted.windows,
        not_drafted={kind.value: kinds[kind] for kind in DRAFT_KINDS if kind not in apart},
        unanswered=len(drafted.unanswered),
        well_formed=len(drafted.drafts),
        screened_out={kind.value: n for kind, n in sorted(screens.items())},
        dropped={kind.value: judged[kind] for kind in JUDGE_KINDS},
        unjudged=len(grounding.unjudged),
        grounded=len(grounding.grounded),
        band={} if cut is None else {kind: len(getattr(cut, kind)) for kind in CUT_KINDS},
    )


def banded(account: Account, cut: Cut, items: Collection[str]) -> Account:
    """An account with the part of a cut that lies among these items."""
    known = frozenset(items)
    return replace(account, band={kind: sum(each in known for each in getattr(cut, kind)) for kind in CUT_KINDS})


def total(accounts: Iterable[Account]) -> Account:
    """The sum of accounts; every name that one of them has."""
    given = [Account(0), *accounts]
    summed: dict[str, Any] = {}
    for name in Account.__slots__:
        values = [getattr(each, name) for each in given]
        if all(isinstance(value, int) for value in values):
            summed[name] = sum(values)
        else:
            counted: Counter[str] = Counter()
            for value in values:
                counted.update(value)
            summed[name] = dict(sorted(counted.items()))
    return Account(**summed)
