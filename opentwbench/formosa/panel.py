"""What a panel of judges is worth together: who agrees with whom, who decides, and how many judges it really has.

What belongs here: counting over verdicts on the same drafts. What does not: one judge's study (judge_study.py) and the
apparatus' page of it (apparatus.judge_panel).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations


@dataclass(frozen=True, slots=True)
class Decisions:
    """What the panel makes of the drafts that every judge judged."""

    drafts: int
    unanimous: int
    """Approved by every judge: what a panel that must agree lets pass."""
    alone: Mapping[str, int]
    """Judge -> drafts that all the others approve and it rejects: it alone decides them."""


def decisions(by_judge: Mapping[str, Mapping[str, bool]]) -> Decisions:
    """Who decides. Drafts that some judge did not judge are left out."""
    shared = set.intersection(*(set(of) for of in by_judge.values())) if by_judge else set()
    alone = dict.fromkeys(by_judge, 0)
    unanimous = 0
    for item in shared:
        against = [judge for judge, of in by_judge.items() if not of[item]]
        unanimous += not against
        if len(against) == 1:
            alone[against[0]] += 1
    return Decisions(len(shared), unanimous, alone)


@dataclass(frozen=True, slots=True)
class Degeneracy:
    """How far a panel is from independent judges, over the drafts that all of them judged."""

    drafts: int
    agreement: Mapping[tuple[str, str], float]
    """Pair -> share of drafts with one verdict from both."""
    correlation: Mapping[tuple[str, str], float]
    """Pair -> phi of their approvals; pairs with a constant judge have none."""
    constant: tuple[str, ...]
    """Judges that approve everything or nothing: they decide nothing, and count as no judge."""
    effective: float
    """Effective number of judges, between 0 and the number of judges that are not constant."""
    decides: Decisions


def degeneracy(by_judge: Mapping[str, Mapping[str, bool]]) -> Degeneracy:
    """A panel's verdicts (judge -> draft -> approves) as pairwise agreement, phi and the effective number of judges.

    The effective number is (sum of eigenvalues)^2 / sum of squared eigenvalues of the correlation matrix, which is
    n^2 / sum of squared correlations: n for judges without correlation, 1 for n copies of one. Source: C. S. Bretherton
    et al., "The effective number of spatial degrees of freedom of a time-varying field", Journal of Climate 12 (1999).
    """
    shared = sorted(set.intersection(*(set(of) for of in by_judge.values()))) if by_judge else []
    votes = {judge: [of[item] for item in shared] for judge, of in by_judge.items()}
    constant = tuple(judge for judge, own in votes.items() if len(set(own)) < 2)
    pairs = list(combinations(votes, 2))
    n = len(shared)
    agreement = {(a, b): sum(x == y for x, y in zip(votes[a], votes[b], strict=True)) / n for a, b in pairs if n}
    correlation = {(a, b): _phi(votes[a], votes[b]) for a, b in pairs if a not in constant and b not in constant}
    judges = len(votes) - len(constant)
    squares = judges + 2 * sum(value * value for value in correlation.values())
    effective = judges * judges / squares if judges else 0.0
    return Degeneracy(n, agreement, correlation, constant, effective, decisions(by_judge))


def _phi(first: list[bool], second: list[bool]) -> float:
    """Pearson's correlation of two lists of verdicts, neither of them constant."""
    n = len(first)
    a, b = sum(first) / n, sum(second) / n
    both = sum(x and y for x, y in zip(first, second, strict=True)) / n
    return (both - a * b) / math.sqrt(a * (1 - a) * b * (1 - b))
