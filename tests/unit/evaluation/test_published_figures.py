"""Published figures, computed from generated rows: change a row and the figure changes.

Source: facts on the published protocol ("Published numbers that a correct implementation reproduces").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from support.evaluation import make_item, make_response

from opentwbench.evaluation.model import AskedItem, Graded, Outcome, Reading
from opentwbench.evaluation.rescoring import Transitions, transitions
from opentwbench.evaluation.scoring import MethodScore, grade, summarise

READINGS = {"strict": Reading("A", "box")}
UNREAD = {"strict": Reading(None, "none")}
RIGHT, WRONG, NOTHING = (
    {"strict": Outcome.CORRECT},
    {"strict": Outcome.WRONG},
    {"strict": Outcome.UNPARSED},
)
RESPONSE = make_response(make_item(0), "\\boxed{A}")


def judged(item_id: str, outcome: dict[str, Outcome], ms: float = 10.0) -> Graded:
    """A graded response as the mart holds it; what it says was decided here, not read."""
    readings = UNREAD if outcome is NOTHING else READINGS
    return Graded(replace(RESPONSE, item_id=item_id, latency_ms=ms), "A", readings, outcome)


def scored(n: int, right: int, left_out: int = 0) -> MethodScore:
    """`n` published items of which the last `left_out` are withdrawn; right on the first ones of those left."""
    one = make_item(0)
    items = {f"i-{k:012x}": one for k in range(n - left_out)}
    found = summarise((judged(f"i-{k:012x}", RIGHT if k < right else WRONG) for k in range(n)), items)
    assert (found.items_expected, found.left_out) == (n - left_out, left_out)
    return found.methods["strict"]


def percent(share: float | None, digits: int = 1) -> float:
    assert share is not None
    return round(100 * share, digits)


def test_the_anchor_over_the_scored_exam_set() -> None:
    """255,854 published, 2,180 withdrawn, 253,674 scored; 82.19 % with 82.04-82.34. One right answer less shows."""
    micro = scored(255_854, 208_495, left_out=2_180).micro
    assert micro.n == 253_674
    assert (percent(micro.value, 2), percent(micro.low, 2), percent(micro.high, 2)) == (82.19, 82.04, 82.34)
    assert micro.hits == 208_495


@pytest.mark.parametrize(
    ("n", "right", "share", "low", "high"),
    [
        (1_696, 1_000, 59.0, 56.6, 61.3),
        (1_696, 784, 46.2, 43.9, 48.6),
        (1_696, 658, 38.8, 36.5, 41.1),
        (20, 0, 0.0, 0.0, 16.1),
    ],
)
def test_published_intervals(n: int, right: int, share: float, low: float, high: float) -> None:
    micro = scored(n, right).micro
    assert (percent(micro.value), percent(micro.low), percent(micro.high)) == (share, low, high)
    assert scored(n, right + 1).micro != micro


ITEMS = 1_428
"""Items of the budget study: 130 rescued less 103 lost are 27, which is 1.9 points of 15.9 % unparsed."""


def budget_runs(rescued: int = 130, lost: int = 103) -> Transitions:
    """Two budgets on the same items, built so that 227 are unparsed before; the rescued ones gain 3 right in net."""
    unparsed = 227
    before, after = [], []
    for n in range(ITEMS):
        item = f"accounting-audit-law-{n:012x}"
        if n < unparsed:
            first = NOTHING
            second = (RIGHT if n < 53 else WRONG) if n < rescued else NOTHING
        elif n < unparsed + lost:
            first, second = (RIGHT if n < unparsed + 50 else WRONG), NOTHING
        else:
            first = second = RIGHT if n < 900 else WRONG
        before.append(judged(item, first, ms=1_000.0))
        after.append(judged(item, second, ms=1_720.0))
    return transitions(before, after, "strict")


def test_the_thinking_budget_table() -> None:
    found = budget_runs()
    assert found.items == ITEMS
    assert found.points is not None
    assert round(found.points, 2) == 0.21
    assert (percent(found.unparsed_before.value), percent(found.unparsed_after.value)) == (15.9, 14.0)
    assert (found.rescued, found.lost) == (130, 103)
    assert found.rescued - found.lost == found.unparsed_before.hits - found.unparsed_after.hits == 27
    assert found.time_ratio == pytest.approx(1.72)
    # +-2.6 is the half-width of one run's interval, not of the paired change.
    assert round(50 * (found.after.high - found.after.low), 1) == 2.6
    assert found.won - found.dropped == 3


def test_one_rescued_item_more_changes_the_budget_table() -> None:
    assert budget_runs(rescued=131).unparsed_after.hits == budget_runs().unparsed_after.hits - 1
    assert budget_runs(lost=102).lost == 102


def test_figures_come_from_readings_of_text_as_well() -> None:
    """The same counts from replies in text: 1,000 of 1,696 right by the box, read and graded one by one."""

    def replies() -> Iterator[Graded]:
        for n, item in enumerate(items.values()):
            order = make_response(item, "").option_order
            letter = "ABCD"[order.index(item.key if n < 1_000 else "A" if item.key != "A" else "B")]
            yield grade(make_response(item, f"想一想，\\boxed{{{letter}}}"), item.key)

    items: dict[str, AskedItem] = {item.item_id: item for item in (make_item(n) for n in range(1_696))}
    micro = summarise(replies(), items).methods["strict"].micro
    assert (micro.hits, percent(micro.low), percent(micro.high)) == (1_000, 56.6, 61.3)
