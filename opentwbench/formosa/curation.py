"""Difficulty curation: pool results become a frozen band, and what the selection does to a model is measured.

What belongs here: who may be in a pool, the sidecar of a pool, the frozen edition, leaving one model out, an external
model, two editions side by side. What does not: the cut itself (band.py), asking models (evaluation), writing (output).

Two rules. A reply in which nothing is read is no pass, as in the published score, and is counted apart; a member with
under 95 % of its replies read is refused, because its misses would say more of the apparatus than of the items. An item
that a member of the pool was never measured on is neither kept nor dropped: a missing answer is no failure.
Source: facts on the published construction (pass <= 6 of a frozen pool of 7, leave-one-out transfer table).
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from statistics import fmean, pvariance
from types import MappingProxyType
from typing import Any

from opentwbench.dataset.contract import excerpt
from opentwbench.evaluation.model import MAX_MODEL, Graded, Outcome, Rate
from opentwbench.evaluation.scoring import rate
from opentwbench.evaluation.submissions import Answer
from opentwbench.formosa.band import CUT_KINDS, Band, CurationError, Cut, Difficulty, read_band, recut
from opentwbench.formosa.served import Served, otherwise, read_served, several
from opentwbench.statistics.intervals import Z95
from opentwbench.statistics.ranks import Agreement, spearman

LEAST_PARSED = 0.95
"""Share of replies that must be read for a model to be in a pool. Source: the issue, "Known answers"."""

DISTORTION = 0.02
"""Net bias from which selection is said to distort a model's score: 2 points, when its interval excludes 0 as well.
Ours: about the half-width of a score's own 95 % interval over 1,696 items (2.3 points at 59 %)."""


NAME = r"[a-z0-9][a-z0-9._-]{0,59}"
"""What an edition may be called."""


# -- a pool -----------------------------------------------------------------------------------------------------------


class Mark(StrEnum):
    """What one model made of one item. Closed."""

    RIGHT = "right"
    WRONG = "wrong"
    UNPARSED = "unparsed"
    """A reply in which no option was read: refused, empty, capped or only unread."""
    ERROR = "error"
    """No reply: the item is not measured for this model."""


@dataclass(frozen=True, slots=True)
class Member:
    """One model's results over the grounded set, from a run of ours or from a submission."""

    model: str
    """The exact model id, as the run or the submission records it."""
    marks: Mapping[str, Mark]
    """Item id -> mark; items that are not in it were not asked."""
    protocol_id: str
    dataset_version: str
    source: str
    """Run id or submission id."""
    serving_precision: str = "unknown"
    sha256: str = ""
    """Of what was read: the run's journal, or the submission's answers."""
    size: int = 0
    """Bytes of the journal when it was read; it only grows, so that these first bytes stay. 0 for a submission."""
    served: Served = field(default_factory=dict)
    """Names that the replies carry; {} where none does, as in a submission."""

    def counts(self) -> dict[Mark, int]:
        """Items by mark, every mark named."""
        counted = Counter(self.marks.values())
        return {mark: counted[mark] for mark in Mark}

    @property
    def parsed(self) -> Rate:
        """Replies in which an option was read, of all replies."""
        counts = self.counts()
        read = counts[Mark.RIGHT] + counts[Mark.WRONG]
        return rate(read, read + counts[Mark.UNPARSED])


def marks_of_run(graded: Iterable[Graded], method: str) -> dict[str, Mark]:
    """Marks from a run's judged responses under one extraction method; the first repeat counts.

    Repeats of an item are no independent draws, and a band needs one answer an item.
    """
    marks: dict[str, Mark] = {}
    for each in graded:
        if each.response.repeat == 0:
            marks[each.response.item_id] = _MARKS.get(each.outcomes[method], Mark.UNPARSED)
    return marks


_MARKS = {Outcome.CORRECT: Mark.RIGHT, Outcome.WRONG: Mark.WRONG, Outcome.ERROR: Mark.ERROR}


def marks_of_submission(answers: Iterable[Answer], method: str) -> dict[str, Mark]:
    """Marks from a submission's rows under 'strict' or 'lenient'; a row that names no one item is passed over."""
    if method not in ("strict", "lenient"):
        raise CurationError(f"a submission is read as strict or lenient, not {excerpt(method)}")
    marks: dict[str, Mark] = {}
    for answer in answers:
        if answer.item_id is not None:
            right = answer.strict_correct if method == "strict" else answer.lenient_correct
            read = answer.strict_parsed if method == "strict" else answer.lenient_parsed
            marks[answer.item_id] = Mark.RIGHT if right else Mark.WRONG if read else Mark.UNPARSED
    return marks


def admit(member: Member, dataset_version: str) -> None:
    """Raise CurationError, naming the model and the reason, for a member that may be in no pool."""
    name = excerpt(member.model)
    if not member.model.isprintable() or not 0 < len(member.model) <= MAX_MODEL:
        raise CurationError(f"a model's id is 1 to {MAX_MODEL} printable characters: {name}")
    if member.dataset_version != dataset_version:
        raise CurationError(f"{name}: measured on version {excerpt(member.dataset_version)}, this is {dataset_version}")
    if why := several(member.served):
        raise CurationError(f"{name}: {why}; a member of a pool is one model, asked under its exact name")
    parsed = member.parsed
    if not parsed.n:
        raise CurationError(f"{name}: no reply to any item")
    if parsed.hits / parsed.n < LEAST_PARSED:
        unread = parsed.n - parsed.hits
        raise CurationError(
            f"{name}: {unread:,} of {parsed.n:,} replies are unread; parse rate {parsed.hits / parsed.n:.1%}, "
            f"a pool needs {LEAST_PARSED:.0%}"
        )


def sidecar_of(items: Iterable[str], members: Sequence[Member]) -> list[Difficulty]:
    """The difficulty sidecar of items, in their order; an item that no member replied to is left out."""
    found = []
    for item in items:
        marks = {each.model: mark for each in members if (mark := each.marks.get(item)) not in (None, Mark.ERROR)}
        if marks:
            unparsed = frozenset(model for model, mark in marks.items() if mark is Mark.UNPARSED)
            found.append(Difficulty(item, {model: mark is Mark.RIGHT for model, mark in marks.items()}, unparsed))
    return found


# -- an edition -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Edition:
    """A frozen selection: what was cut, against whom, when and from which bytes."""

    name: str
    date: str
    """ISO date that the maintainer states; nothing here asks a clock."""
    dataset_version: str
    """Version of the full grounded set that the pool was measured on."""
    band: Band
    pool: tuple[Mapping[str, Any], ...]
    """One record a member: exact model id, protocol id, source, precision, sha256 and bytes of what was read, the names
    that replies carry, counts by mark."""
    sidecar_sha256: str
    cut: Cut
    external: tuple[Mapping[str, Any], ...] = ()
    """Models measured beside the pool, in the same form; they select nothing."""
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Model id -> 'drafted', 'judged': who had a hand in the items."""
    recut_of: str = ""
    """The edition whose measurements were cut again; '' for one that was curated from runs."""

    @property
    def models(self) -> tuple[str, ...]:
        """The pool's model ids, in order."""
        return tuple(str(each["model"]) for each in self.pool)

    @property
    def served_otherwise(self) -> dict[str, tuple[str, ...]]:
        """Model id -> the name that its replies carry, where that is another model's."""
        members = (*self.pool, *self.external)
        found = {str(each["model"]): otherwise(str(each["model"]), each.get("served", {})) for each in members}
        return {model: names for model, names in found.items() if names}

    @property
    def edition_id(self) -> str:
        """The name and 12 hex digits of the sha256 of everything else, the kept ids included."""
        body = json.dumps(self._body(), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return f"{self.name}-{hashlib.sha256(body.encode()).hexdigest()[:12]}"

    def _body(self) -> dict[str, Any]:
        cut = {kind: sorted(getattr(self.cut, kind)) for kind in CUT_KINDS}
        recut_of = {"recut_of": self.recut_of} if self.recut_of else {}
        return {
            "date": self.date,
            "dataset_version": self.dataset_version,
            "band": self.band.shown(),
            "pool": [dict(each) for each in self.pool],
            "external": [dict(each) for each in self.external],
            "roles": {model: list(roles) for model, roles in sorted(self.roles.items())},
            "sidecar_sha256": self.sidecar_sha256,
            "items": cut,
            **recut_of,
        }

    def to_json(self) -> dict[str, Any]:
        """The frozen manifest."""
        return {"name": self.name, "edition_id": self.edition_id, **self._body()}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Edition:
        """A manifest read back; raises CurationError for another form, and when its id is not that of its content."""
        try:
            cut, pool = record["items"], tuple(record["pool"])
            edition = cls(
                name=record["name"],
                date=record["date"],
                dataset_version=record["dataset_version"],
                band=read_band(record["band"], len(pool)),
                pool=pool,
                sidecar_sha256=record["sidecar_sha256"],
                cut=Cut(*(tuple(cut[kind]) for kind in CUT_KINDS)),
                external=tuple(record["external"]),
                roles={model: tuple(roles) for model, roles in record["roles"].items()},
                recut_of=record.get("recut_of", ""),
            )
            _check_members((*edition.pool, *edition.external))
            same = edition.edition_id == record["edition_id"]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CurationError(f"no edition: {excerpt(str(error), 100)}") from None
        if not same:
            raise CurationError(f"{excerpt(record['edition_id'])}: its content is another, it was changed by hand")
        return edition


def _check_members(members: Iterable[Mapping[str, Any]]) -> None:
    """Raise KeyError, TypeError or ValueError for a record that `member_record` did not write."""
    for each in members:
        counts = [each[mark.value] for mark in Mark] + [each.get("bytes", 0)]
        texts = [each[name] for name in ("model", "protocol_id", "source", "serving_precision", "sha256")]
        if not all(type(n) is int and n >= 0 for n in counts) or not all(isinstance(text, str) for text in texts):
            raise ValueError(f"no record of a member: {excerpt(each)}")
        read_served(each.get("served", {}))


def member_record(member: Member) -> dict[str, Any]:
    """What an edition keeps of a member."""
    return {
        "model": member.model,
        "protocol_id": member.protocol_id,
        "source": member.source,
        "serving_precision": member.serving_precision,
        "sha256": member.sha256,
        "bytes": member.size,
        "served": dict(member.served),
        **{mark.value: n for mark, n in member.counts().items()},
    }


def is_name(text: str) -> bool:
    """Whether a text can name an edition."""
    return re.fullmatch(NAME, text) is not None


def is_day(text: str) -> bool:
    """Whether a text is a day as an edition states it, YYYY-MM-DD."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def freeze(
    name: str,
    day: str,
    dataset_version: str,
    band: Band,
    sidecar: Sequence[Difficulty],
    sidecar_sha256: str,
    pool: Sequence[Mapping[str, Any]],
    external: Sequence[Mapping[str, Any]] = (),
    roles: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    recut_of: str = "",
) -> Edition:
    """The edition that a band of a pool gives.

    Raises CurationError for a pool under two models, for members or external models of two protocols, a model twice, an
    external model in the pool, a band outside the pool or without an item, a bad name or date.
    """
    if not is_name(name):
        raise CurationError(f"an edition's name fits {NAME}: {excerpt(name)}")
    if not is_day(day):
        raise CurationError(f"the date reads YYYY-MM-DD, got {excerpt(day)}")
    models = [str(each["model"]) for each in pool]
    if len(models) < 2:
        raise CurationError("a pool has at least two models")
    # By id and not by name: an id is the hash of everything that decides a request, and `box` has many.
    protocols = sorted({str(each["protocol_id"]) for each in (*pool, *external)})
    if len(protocols) != 1:
        raise CurationError(f"one pool, one protocol: {', '.join(map(excerpt, protocols))}")
    if both := {str(each["model"]) for each in external} & set(models):
        raise CurationError(f"{excerpt(min(both))}: in the pool and external")
    read_band(band.shown(), len(models))
    cut = recut(sidecar, models, band)
    if not cut.kept:
        raise CurationError(
            f"the band {band.shown()} keeps no item: {len(cut.easier):,} easier, {len(cut.harder):,} harder, "
            f"{len(cut.unmeasured):,} unmeasured"
        )
    by_role = dict(sorted(roles.items()))
    return Edition(
        name, day, dataset_version, band, tuple(pool), sidecar_sha256, cut, tuple(external), by_role, recut_of
    )


def recut_edition(
    before: Edition, sidecar: Sequence[Difficulty], models: Sequence[str], band: Band, name: str, day: str
) -> Edition:
    """A new edition from what another one has measured: another pool among its models, another band; nobody is asked.

    A model of the other edition that is not in the pool stays beside it, and selects nothing. Raises CurationError for
    a model that the other edition did not measure, and as `freeze`.
    """
    known = {str(each["model"]): each for each in (*before.pool, *before.external)}
    if unknown := [model for model in models if model not in known]:
        raise CurationError(
            f"{excerpt(unknown[0])}: {before.edition_id} did not measure it; otb formosa curate takes its run"
        )
    beside = [each for model, each in known.items() if model not in set(models)]
    return freeze(
        name, day, before.dataset_version, band, sidecar, before.sidecar_sha256, [known[model] for model in models],
        beside, before.roles, before.edition_id,
    )  # fmt: skip


# -- what selection does ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One model measured on a band that it had no part in selecting. Shares are between 0 and 1."""

    model: str
    full: Rate
    """Right of all measured items."""
    band: Rate
    """Right of the items that the others' band keeps; `band.n` is that band's size."""
    pool_mean: float | None
    """Mean accuracy of the others there. None on an empty band, as everything below."""
    bias: float | None
    """`band` less `pool_mean`. Part of it is that the model is better or worse than the others anyway."""
    net: float | None
    """`bias` less the same difference over all measured items: what the selection alone did."""
    net_low: float | None
    net_high: float | None
    roles: tuple[str, ...] = ()

    @property
    def distorted(self) -> bool:
        """True when the net bias reaches DISTORTION and its 95 % interval excludes 0."""
        if self.net is None or self.net_low is None or self.net_high is None:
            return False
        return abs(self.net) >= DISTORTION and not self.net_low <= 0.0 <= self.net_high


@dataclass(frozen=True, slots=True)
class Transfer:
    """The leave-one-out table of a pool."""

    band: Band
    rows: tuple[LeftOut, ...]
    measured: int
    """Items that every model of the pool was measured on; only these are in the table."""
    agreement: Agreement
    """Spearman's rho of the models' accuracies over all items and on the bands that each had no part in."""

    @property
    def distorted(self) -> tuple[str, ...]:
        """The models whose score the selection moves."""
        return tuple(row.model for row in self.rows if row.distorted)

    def verdict(self) -> str:
        """One sentence for the report."""
        if not self.distorted:
            return f"No net bias of {100 * DISTORTION:g} points or more was found in {len(self.rows)} models."
        worst = max((row for row in self.rows if row.distorted), key=lambda row: abs(row.net or 0.0))
        return (
            f"Selection distorts: the net bias of {len(self.distorted)} of {len(self.rows)} models reaches "
            f"{100 * DISTORTION:g} points, most for {worst.model} ({100 * (worst.net or 0.0):+.1f}). "
            "Scores on this band of a model of the pool and of one outside it are not comparable."
        )


def without_one(band: Band) -> Band:
    """The band of a pool that lost one model: both ends one lower, so that 0-6 of seven becomes 0-5 of six.

    Source: the issue ("items that at most five of the other six pass"). Raises CurationError where nothing is left.
    """
    if band.high < 1:
        raise CurationError(f"a band of {band.shown()} leaves nothing to a pool with one model less")
    return Band(max(0, band.low - 1), band.high - 1)


def transfer(
    sidecar: Iterable[Difficulty],
    pool: Sequence[str],
    band: Band,
    roles: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> Transfer:
    """Select with n - 1 models, measure the one left out; once for each. Raises CurationError for a pool under three.

    Only items that the whole pool was measured on count, so that all rows of the table are about the same items.
    """
    if len(pool) < 3 or len(set(pool)) != len(pool):
        raise CurationError("leaving one out needs at least three different models")
    lesser = without_one(band)
    passes = [tuple(item.passes[model] for model in pool) for item in sidecar if set(pool) <= item.passes.keys()]
    rows = tuple(_left_out(place, model, passes, lesser, roles.get(model, ())) for place, model in enumerate(pool))
    full, cut = ([getattr(row, name).value or 0.0 for row in rows] for name in ("full", "band"))
    return Transfer(lesser, rows, len(passes), spearman(full, cut))


def _left_out(
    place: int, model: str, passes: Sequence[tuple[bool, ...]], band: Band, roles: tuple[str, ...]
) -> LeftOut:
    own = [each[place] for each in passes]
    others = [sum(each) - each[place] for each in passes]
    return _measured(model, own, others, len(passes[0]) - 1 if passes else 1, band, roles)


def _measured(
    model: str, own: Sequence[bool], others: Sequence[int], n_others: int, band: Band, roles: tuple[str, ...]
) -> LeftOut:
    """One model's answers beside how many of `n_others` models passed each item."""
    inside = [band.holds(passed) for passed in others]
    full = rate(sum(own), len(own))
    cut = rate(sum(hit for hit, kept in zip(own, inside, strict=True) if kept), sum(inside))
    if not cut.n:
        return LeftOut(model, full, cut, None, None, None, None, None, roles)
    pool_mean = sum(passed for passed, kept in zip(others, inside, strict=True) if kept) / (cut.n * n_others)
    differences = [hit - passed / n_others for hit, passed in zip(own, others, strict=True)]
    net, half = _net(differences, inside)
    return LeftOut(model, full, cut, pool_mean, cut.hits / cut.n - pool_mean, net, net - half, net + half, roles)


def _net(differences: Sequence[float], inside: Sequence[bool]) -> tuple[float, float]:
    """Mean inside less mean over all, and the half-width of its 95 % interval.

    mean(in) - mean(all) = (share out) * (mean(in) - mean(out)), the two means being over disjoint items.
    """
    within = [value for value, kept in zip(differences, inside, strict=True) if kept]
    beyond = [value for value, kept in zip(differences, inside, strict=True) if not kept]
    if not beyond:
        return 0.0, 0.0
    share = len(beyond) / len(differences)
    spread = pvariance(within) / len(within) + pvariance(beyond) / len(beyond)
    return share * (fmean(within) - fmean(beyond)), Z95 * share * math.sqrt(spread)


def external(
    sidecar: Iterable[Difficulty], pool: Sequence[str], band: Band, model: str, roles: tuple[str, ...] = ()
) -> LeftOut:
    """A model outside the pool on the band that the whole pool selects: the validation that leaves nobody out.

    Raises CurationError when it is in the pool or no item was measured for it and the whole pool.
    """
    if model in pool:
        raise CurationError(f"{excerpt(model)}: in the pool, so it validates nothing")
    items = [item for item in sidecar if {*pool, model} <= item.passes.keys()]
    if not items:
        raise CurationError(f"{excerpt(model)}: no item was measured for it and the whole pool")
    own = [item.passes[model] for item in items]
    others = [sum(item.passes[each] for each in pool) for item in items]
    return _measured(model, own, others, len(pool), band, roles)


def measured_tables(edition: Edition, sidecar: Sequence[Difficulty]) -> tuple[Transfer | None, tuple[LeftOut, ...]]:
    """The leave-one-out table of an edition (None under three models), and its external models' rows.

    Raises CurationError as `transfer` and `external`.
    """
    models, band, roles = edition.models, edition.band, edition.roles
    table = transfer(sidecar, models, band, roles) if len(models) > 2 else None
    names = [str(each["model"]) for each in edition.external]
    return table, tuple(external(sidecar, models, band, name, roles.get(name, ())) for name in names)


# -- two editions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Two editions: item ids that both keep, that only one keeps, and models that are in both pools."""

    both: tuple[str, ...]
    left: tuple[str, ...]
    """Kept by the first only."""
    joined: tuple[str, ...]
    same_models: tuple[str, ...]
    models_left: tuple[str, ...]
    models_joined: tuple[str, ...]
    unmeasured: tuple[int, int]


def side_by_side(first: Edition, second: Edition) -> SideBySide:
    """What the second edition changed."""
    before, after = set(first.cut.kept), set(second.cut.kept)
    old, new = set(first.models), set(second.models)
    return SideBySide(
        tuple(sorted(before & after)),
        tuple(sorted(before - after)),
        tuple(sorted(after - before)),
        tuple(sorted(old & new)),
        tuple(sorted(old - new)),
        tuple(sorted(new - old)),
        (len(first.cut.unmeasured), len(second.cut.unmeasured)),
    )
