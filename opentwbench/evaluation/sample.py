"""The stratified sample: drawn once by content hash, frozen as an edition, and the anchor that sets its scale.

What belongs here: the draw, the edition and its file, the anchor's re-weighting.
What does not: which items a run asks (items.py takes the ids) and scores (scoring.py).

An edition is a list of ids and nothing else. A withdrawal takes its item out of the scores and moves no other; new
sittings join the data sets and wait for the next edition. Source: facts on the published protocol, "The sample".
"""

from __future__ import annotations

import hashlib
import heapq
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opentwbench.dataset.atomic import write_file
from opentwbench.dataset.contract import ITEM_ID, excerpt
from opentwbench.dataset.files import parse_json, read_bytes
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.model import AskedItem, Rate
from opentwbench.statistics.intervals import Interval
from opentwbench.statistics.stratified import Stratum, estimate

PER_SUBJECT = 150
"""Most items of a subject in the sample: min(150, n)."""

EDITION = r"[a-z0-9](?:[a-z0-9.-]{0,38}[a-z0-9])?"
"""An edition's name, e.g. 2026-11; it is also its file's name."""

FORMAT = 1


class SampleError(ValueError):
    """A sample that cannot be drawn, or an edition file that is none. Names the file or subject and the reason."""


@dataclass(frozen=True, slots=True)
class Edition:
    """A frozen sample: per subject the item ids, in the order in which they were drawn."""

    name: str
    per_subject: int
    versions: Mapping[str, str]
    """Subject -> the data-set version that it was drawn from."""
    subjects: Mapping[str, tuple[str, ...]]

    def __len__(self) -> int:
        return sum(len(ids) for ids in self.subjects.values())

    @property
    def ids(self) -> tuple[str, ...]:
        """Every id, one subject's block after another."""
        return tuple(item_id for ids in self.subjects.values() for item_id in ids)

    @property
    def digest(self) -> str:
        """12 hex digits over the blocks: what a score on the sample names as its version."""
        blocks = "".join(f"{subject} {' '.join(ids)}\n" for subject, ids in self.subjects.items())
        return hashlib.sha256(blocks.encode()).hexdigest()[:12]


def stem_sha256(question: str) -> str:
    """sha256 of a stem, in hex: the order of the sample, and by its first 16 digits the `qh` of volunteers' files."""
    return hashlib.sha256(question.encode()).hexdigest()


STEM_DIGITS = 16
"""Hex digits of sha256(stem) that volunteers send back. Source: facts on the published protocol ("qh")."""


def stem_hash(question: str) -> str:
    """The first 16 hex digits of sha256(stem), as volunteers' files name a question."""
    return stem_sha256(question)[:STEM_DIGITS]


def draw(
    items: Iterable[AskedItem], name: str, versions: Mapping[str, str] | None = None, per_subject: int = PER_SUBJECT
) -> Edition:
    """An edition over published items: per subject the `per_subject` rows with the smallest sha256(stem) in hex order.

    Rows that share a stem are rows of their own and both appear, ordered by id. The items may come in any order and are
    not held. Raises SampleError for a name that is none, an id that stands twice and for no items.
    """
    if not re.fullmatch(EDITION, name):
        raise SampleError(f"an edition is named like 2026-11, got {excerpt(name)}")
    if per_subject < 1:
        raise SampleError(f"a sample has at least one item a subject, got {per_subject}")
    kept: dict[str, list[_Largest]] = {}
    for item in items:
        heap = kept.setdefault(item.subject, [])
        entry = _Largest((stem_sha256(item.question), item.item_id))
        if len(heap) < per_subject:
            heapq.heappush(heap, entry)
        elif heap[0] < entry:
            heapq.heapreplace(heap, entry)
    if not kept:
        raise SampleError("no items to draw from")
    blocks = {
        subject: tuple(entry.key[1] for entry in sorted(heap, reverse=True)) for subject, heap in sorted(kept.items())
    }
    twice = [item_id for item_id, times in Counter(i for ids in blocks.values() for i in ids).items() if times > 1]
    if twice:
        raise SampleError(f"item {excerpt(twice[0])} stands twice")
    return Edition(name, per_subject, dict(sorted((versions or {}).items())), blocks)


class _Largest:
    """Turns heapq's smallest-first into largest-first, so that the root is the first to leave."""

    __slots__ = ("key",)

    def __init__(self, key: tuple[str, str]) -> None:
        self.key = key

    def __lt__(self, other: _Largest) -> bool:
        return self.key > other.key


@dataclass(frozen=True, slots=True)
class Standing:
    """An edition against the data sets as they are now: every drawn id is in exactly one of the kinds."""

    scored: tuple[str, ...]
    """Ids as they are now (followed through aliases), in the edition's order."""
    withdrawn: tuple[str, ...]
    gone: tuple[str, ...]
    """Ids that no data set publishes any more: excluded since, or merged with another."""
    renamed: int = 0
    """Scored or withdrawn ids that were followed through an alias, because a text was corrected since."""


def standing(
    edition: Edition, published: Iterable[str], withdrawn: Iterable[str], aliases: Mapping[str, str] | None = None
) -> Standing:
    """What of an edition is scored today. No other item takes the place of one that left."""
    current, out, renamed = set(published), set(withdrawn), 0
    kinds: dict[str, list[str]] = {"scored": [], "withdrawn": [], "gone": []}
    taken: set[str] = set()
    for drawn in edition.ids:
        now = drawn if drawn in current else (aliases or {}).get(drawn, drawn)
        kind = "gone" if now not in current or now in taken else "withdrawn" if now in out else "scored"
        renamed += now != drawn and kind != "gone"
        kinds[kind].append(drawn if kind == "gone" else now)
        taken.add(now)
    return Standing(tuple(kinds["scored"]), tuple(kinds["withdrawn"]), tuple(kinds["gone"]), renamed)


# -- the file ---------------------------------------------------------------------------------------------------------


def edition_bytes(edition: Edition) -> bytes:
    """The edition as JSON, a line an item, so that a comparison of two files shows items."""
    record = {
        "format": FORMAT,
        "edition": edition.name,
        "per_subject": edition.per_subject,
        "items": len(edition),
        "digest": edition.digest,
        "versions": dict(edition.versions),
        "subjects": {subject: list(ids) for subject, ids in edition.subjects.items()},
    }
    return (json.dumps(record, ensure_ascii=False, indent=1) + "\n").encode()


def write_edition(edition: Edition, path: Path) -> bool:
    """Write an edition's file; False when it stands there already, as it is.

    Raises SampleError when another draw stands under the name: an edition is frozen, new items need a new one.
    """
    if path.exists():
        before = read_edition(path)
        if before.digest != edition.digest or before.name != edition.name:
            raise SampleError(f"{path.name}: edition {before.name} is frozen with {len(before)} items; name a new one")
        return False
    write_file(path, edition_bytes(edition))
    return True


def read_edition(path: Path) -> Edition:
    """The edition of a file; raises SampleError naming what is wrong, a changed list of items included."""
    try:
        record = parse_json(read_bytes(path).decode(), path.name)
    except (DatasetError, UnicodeDecodeError) as error:
        raise SampleError(f"{path.name}: no edition: {excerpt(str(error), 200)}") from None
    edition = _edition(record, path.name)
    if record.get("digest") != edition.digest:
        raise SampleError(f"{path.name}: its items are not those of its digest; a frozen edition was changed")
    return edition


def _edition(record: Mapping[str, Any], name: str) -> Edition:
    subjects, versions, per_subject = record.get("subjects"), record.get("versions"), record.get("per_subject")
    if record.get("format") != FORMAT or not isinstance(per_subject, int) or per_subject < 1:
        raise SampleError(f"{name}: no edition of format {FORMAT}")
    if not isinstance(record.get("edition"), str) or not re.fullmatch(EDITION, record["edition"]):
        raise SampleError(f"{name}: edition has no name: {excerpt(record.get('edition'))}")
    if not isinstance(subjects, dict) or not isinstance(versions, dict) or not subjects:
        raise SampleError(f"{name}: subjects and versions must be mappings")
    for subject, ids in subjects.items():
        if not isinstance(ids, list) or not all(isinstance(i, str) and re.fullmatch(ITEM_ID, i) for i in ids):
            raise SampleError(f"{name}: {excerpt(subject)}: not a list of item ids")
        if len(ids) > per_subject:
            raise SampleError(f"{name}: {excerpt(subject)}: {len(ids)} items, more than {per_subject}")
    found = [i for ids in subjects.values() for i in ids]
    if len(set(found)) != len(found):
        raise SampleError(f"{name}: an item stands twice")
    if not all(isinstance(version, str) for version in versions.values()):
        raise SampleError(f"{name}: a version is no text")
    return Edition(record["edition"], per_subject, versions, {s: tuple(ids) for s, ids in subjects.items()})


# -- the anchor -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Anchor:
    """A full run placed on the sample's scale: an estimate on that scale, not a measurement taken on it."""

    population: float
    """Accuracy over everything that the run answered."""
    on_sample: float
    """Its accuracies by subject, each weighted by the number of items that the sample draws from the subject."""
    interval: Interval
    """95 %, of `on_sample`."""
    subjects: int

    @property
    def shift(self) -> float:
        """What the sample's equal weighting of subjects does to the score; negative = the sample is harder."""
        return self.on_sample - self.population


def drawn_by_subject(edition: Edition, scored: Iterable[str]) -> dict[str, int]:
    """Subject -> items of the edition that are scored: the weights of `anchor`. Ids as `Standing.scored` gives them."""
    subject_of = {item_id: subject for subject, ids in edition.subjects.items() for item_id in ids}
    # A followed id is not in the edition; its subject is the one that other ids with its key have.
    of_key = {item_id.rpartition("-")[0]: subject for item_id, subject in subject_of.items()}
    found = (subject_of.get(item_id) or of_key[item_id.rpartition("-")[0]] for item_id in scored)
    return dict(Counter(found))


def anchor(full: Mapping[str, Rate], drawn: Mapping[str, int]) -> Anchor:
    """Re-weight a full-corpus run to the sample's composition.

    `full`: subject -> right of all replies; `drawn`: subject -> items of the sample that are scored. Within a subject
    items are drawn by a hash that knows nothing of answers, so the sample differs from the population by composition
    alone. Source: the OpenTWBench paper, section 6.1. Raises SampleError when a drawn subject has no reply.
    """
    weights = {subject: count for subject, count in drawn.items() if count > 0}
    missing = sorted(subject for subject in weights if subject not in full or not full[subject].n)
    if missing or not weights:
        raise SampleError(f"the full run has no reply in {', '.join(missing[:5]) or 'any subject of the sample'}")
    # estimate weights strata by their size and takes a stratum that was judged whole as exact. Here the size is a
    # weight only: scaled beyond the replies, so that none counts as judged whole.
    scale = 1 + max(full[subject].n for subject in weights)
    strata = [Stratum(count * scale, full[subject].n, full[subject].hits) for subject, count in weights.items()]
    found = estimate(strata)
    hits, n = (sum(getattr(rate, name) for rate in full.values()) for name in ("hits", "n"))
    return Anchor(hits / n, found.share, found.interval, len(weights))
