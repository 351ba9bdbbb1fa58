"""Two runs item by item, and one run whose options moved: the diff and the circular-option test.

What belongs here: pairing graded responses and counting. What does not: scores of a run (scoring.py), moved keys
(rescoring.py) and the test itself (statistics.paired).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from opentwbench.dataset.contract import OPTION_COLUMNS
from opentwbench.evaluation.model import Graded, Outcome, Rate
from opentwbench.evaluation.prompts import original_letter, shown_letter
from opentwbench.evaluation.scoring import rate
from opentwbench.statistics.paired import McNemar, mcnemar


@dataclass(frozen=True, slots=True)
class Side:
    """What one run made of an item: the original letter it chose (None when nothing was read) and the outcome."""

    letter: str | None
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Differing:
    """An item, in one repeat, on which two runs differ."""

    item_id: str
    repeat: int
    first: Side
    second: Side


@dataclass(frozen=True, slots=True)
class RunDiff:
    """Two runs under one extraction method. `shared` = pairs with a reply in both; the four corners add up to it."""

    method: str
    shared: int
    only_first: int
    """Replies of the first without a partner: not asked, or an error there."""
    only_second: int
    both_right: int
    first_right: int
    second_right: int
    both_wrong: int
    same_letter: int
    """Pairs in which both chose the same original letter."""
    moves: Mapping[tuple[Outcome, Outcome], int]
    test: McNemar
    differing: tuple[Differing, ...] = field(default=())
    """Pairs whose letter or outcome differs, in the order of the second run."""

    @property
    def first(self) -> Rate:
        """Accuracy of the first run over what is shared."""
        return rate(self.both_right + self.first_right, self.shared)

    @property
    def second(self) -> Rate:
        """Accuracy of the second run over what is shared."""
        return rate(self.both_right + self.second_right, self.shared)


def side(graded: Graded, method: str) -> Side:
    """One run's part of a pair; letters are carried back to the original ones, so that shuffles do not matter."""
    answer = graded.readings[method].answer
    letter = None if answer is None else original_letter(answer, graded.response.option_order)
    return Side(letter, graded.outcomes[method])


def diff(first: Iterable[Graded], second: Iterable[Graded], method: str) -> RunDiff:
    """Compare two runs by item and repeat. Errors are no answers: a pair with one is not shared."""
    held: dict[tuple[str, int], Side] = {}
    for each in first:
        found = side(each, method)
        if found.outcome is not Outcome.ERROR:
            held[each.response.item_id, each.response.repeat] = found
    corners: Counter[tuple[bool, bool]] = Counter()
    moves: Counter[tuple[Outcome, Outcome]] = Counter()
    differing: list[Differing] = []
    same = alone = 0
    for each in second:
        one, other = held.pop((each.response.item_id, each.response.repeat), None), side(each, method)
        if other.outcome is Outcome.ERROR or one is None:
            # An error here leaves the first's reply alone as well; it was taken out of `held` above.
            alone += other.outcome is not Outcome.ERROR
            if one is not None:
                held[each.response.item_id, each.response.repeat] = one
            continue
        corners[one.outcome is Outcome.CORRECT, other.outcome is Outcome.CORRECT] += 1
        moves[one.outcome, other.outcome] += 1
        same += one.letter is not None and one.letter == other.letter
        if one != other:
            differing.append(Differing(each.response.item_id, each.response.repeat, one, other))
    return RunDiff(
        method=method,
        shared=corners.total(),
        only_first=len(held),
        only_second=alone,
        both_right=corners[True, True],
        first_right=corners[True, False],
        second_right=corners[False, True],
        both_wrong=corners[False, False],
        same_letter=same,
        moves=dict(moves),
        test=mcnemar(corners[True, False], corners[False, True]),
        differing=tuple(differing),
    )


@dataclass(frozen=True, slots=True)
class Circular:
    """A circular-option test under one method: every item asked once with its key in each place.

    A model that knows the answer is right wherever it stands; one that guesses a place is right once in four.
    """

    items: int
    """Items with a reply for every place of the key."""
    incomplete: int
    """Items left out because a reply is missing."""
    every: Rate
    """Right in every place."""
    mean: Rate
    """Right of all replies of these items."""
    by_place: Mapping[str, Rate]
    """Place of the key ('A' is the first) -> right."""
    chosen: Mapping[str, int]
    """Place chosen -> replies; '' where nothing was read. An even hand chooses each place equally often."""


def circular(graded: Iterable[Graded], method: str) -> Circular:
    """Count a run whose repeats rotate the options; raises ValueError when no item has its key in every place."""
    replies: dict[str, dict[str, tuple[bool, str]]] = {}
    for each in graded:
        place = shown_letter(each.key, each.response.option_order)
        if each.outcomes[method] is not Outcome.ERROR and place is not None:
            answer = each.readings[method].answer
            verdict = each.outcomes[method] is Outcome.CORRECT, answer if answer in OPTION_COLUMNS else ""
            replies.setdefault(each.response.item_id, {})[place] = verdict
    whole = [by_place for by_place in replies.values() if len(by_place) == len(OPTION_COLUMNS)]
    if not whole:
        raise ValueError("no item was answered with its key in every place: this is no whole circular-option test")
    n, places = len(whole), OPTION_COLUMNS
    right = {place: sum(by_place[place][0] for by_place in whole) for place in places}
    return Circular(
        items=n,
        incomplete=len(replies) - n,
        every=rate(sum(all(by_place[place][0] for place in places) for by_place in whole), n),
        mean=rate(sum(right.values()), n * len(places), len(places)),
        by_place={place: rate(count, n) for place, count in right.items()},
        chosen=dict(sorted(Counter(by_place[place][1] for by_place in whole for place in places).items())),
    )
