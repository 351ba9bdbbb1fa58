"""What the second pass (`dependence`) is worth: on kept questions, and on stems that are known to depend.

What belongs here: the sets of known dependent stems and the counts. What does not: signs (dependence), verdicts
(filter_audit).

Kept questions hardly ever depend, so recall is measured where the truth is known: on stems that say 承上題 with these
words taken off, on questions that only a printed heading (請回答下列第31題至第32題) ties to their scene, and on kept
stems whose scene was cut off. The signs were written with the first two sets in view; the third was not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opentwbench.exam.dependence import BEFORE, PROPOSED_FROM, Earlier, Evidence, score, signs
from opentwbench.exam.filter_audit import Damage, Ground, Printed, Record, plant
from opentwbench.exam.filters import follow_up
from opentwbench.exam.model import Exclusion
from opentwbench.statistics.intervals import Interval, wilson

_HAN = re.compile("[\u3400-\u9fff]")
_POINTER = re.compile(
    "^[（(【]?(?:承接?|續接?|接續|延續|呈|同|依|如)?(?:[上前][一二]?小?題|第[0-9]+題|[上前]例)(?:事實|所述|之?資料)?[）)】]?[，,、：:]?"
)
PLANTED_EACH = 100
"""Stems cut for each of the two kinds of damage that take a scene away."""


@dataclass(frozen=True, slots=True)
class Share:
    """`proposed` of `stems`, with the 95 % Wilson interval."""

    stems: int
    proposed: int

    @property
    def interval(self) -> Interval:
        """95 % interval of the share."""
        return wilson(self.proposed, self.stems)


@dataclass(frozen=True, slots=True)
class Lead:
    """A kept question that was proposed; `right` is what the reader says, None when it was not read."""

    item: str
    evidence: tuple[Evidence, ...]
    right: bool | None


@dataclass(frozen=True, slots=True)
class DependenceFigures:
    """The second pass in figures."""

    kept: int
    leads: tuple[Lead, ...]
    sets: Mapping[str, Share]
    """Name of a set of known stems -> how many of them are proposed."""


def without_pointer(question: str) -> str:
    """A stem without the words at its head that name an earlier question; the stem itself when there are none."""
    return _POINTER.sub("", "".join(question.split()), count=1)


def figures(items: Sequence[Printed], record: Record, seed: int) -> DependenceFigures:
    """Proposals over the kept questions, and over the sets of stems that are known to depend or known not to."""
    places = {each.name: place for place, each in enumerate(items)}
    verdicts = {v.item: v for v in record.verdicts if not v.damage}

    def earlier(each: Printed) -> list[Earlier]:
        before = items[max(0, places[each.name] - BEFORE) : places[each.name]]
        return [Earlier(other.item.q_no, other.item.question) for other in before if other.paper == each.paper]

    def proposed(each: Printed, question: str) -> bool:
        return score(signs(question, each.item.options, earlier(each))) >= PROPOSED_FROM

    kept = [each for each in items if not each.item.exclusions]
    leads = []
    for each in kept:
        evidence = signs(each.item.question, each.item.options, earlier(each))
        if score(evidence) >= PROPOSED_FROM:
            verdict = verdicts.get(each.name)
            holds = verdict is not None and verdict.text == each.text
            leads.append(Lead(each.name, evidence, bool(verdict.rules) if verdict is not None and holds else None))
    follow_ups = [each for each in items if Exclusion.FOLLOW_UP in each.item.exclusions and each.name in verdicts]
    stripped = [(each, without_pointer(each.item.question)) for each in follow_ups]
    open_stems = [(each, stem) for each, stem in stripped if not follow_up(stem, each.item.options)]

    def judged(ground: Ground) -> Share:
        chosen = [(each, stem) for each, stem in open_stems if ground in verdicts[each.name].grounds]
        return Share(len(chosen), sum(proposed(each, stem) for each, stem in chosen))

    group = [each for each in items if _tied_by_heading(each)]
    cut = [
        each
        for kind, each in plant(items, PLANTED_EACH, seed, strict=False)
        if kind in (Damage.SCENE_CUT, Damage.HEAD_CUT)
    ]
    return DependenceFigures(
        kept=len(kept),
        leads=tuple(leads),
        sets={
            "stems that need the earlier question, its name taken off": judged(Ground.NEEDS_EARLIER_QUESTION),
            "stems that name an earlier question without need, its name taken off": judged(Ground.EARLIER_NOT_NEEDED),
            "stems that only a printed heading ties to their scene": Share(
                len(group), sum(proposed(each, each.item.question) for each in group)
            ),
            "kept stems whose scene was cut off": Share(
                len(cut), sum(proposed(each, each.item.question) for each in cut)
            ),
        },
    )


def _tied_by_heading(each: Printed) -> bool:
    """A Chinese question of a group that the page shows and its own words do not."""
    rules = each.item.exclusions
    return (
        Exclusion.PASSAGE_GROUP in rules
        and Exclusion.PASSAGE_GROUP not in each.by_words
        and bool(_HAN.search(each.item.question))
        and not follow_up(without_pointer(each.item.question), each.item.options)
    )
