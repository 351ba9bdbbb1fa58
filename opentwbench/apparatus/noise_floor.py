"""Study 5, noise floor: how sure the official keys are, and which differences of the board lie below that.

What belongs here: the floor and the comparison with it. What does not: agreement of keys (exam.key_consistency), whose
counts the store keeps.

The floor. Of two reprints of a question whose keys err independently, each with a share e, exactly one is wrong with a
share d = 2e(1 - e). A wrong key changes the difference of two models on its item by at most two answers (one model is
robbed of a right one, the other is given a wrong one), so that keys alone move a difference by at most 2e, which is
1 - sqrt(1 - 2d). The floor is that of the upper 95 % bound of d. It is the worst case, not an estimate: most wrong keys
harm both models alike. A mistake that both prints share is not seen, and from d = 1/2 on nothing is bounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any

from opentwbench.apparatus.figures import (
    BENCHMARK,
    PROTOCOL,
    SIGNIFICANT,
    Paired,
    board_name,
    paired,
    paired_cells,
    paired_columns,
    range_chart,
    rounded,
    share,
)
from opentwbench.apparatus.result import Both, Cell, Column, MissingInput, Study, Table
from opentwbench.apparatus.rows import Inputs, Run, boards, names
from opentwbench.apparatus.two_axes import RANKED_BY
from opentwbench.statistics.intervals import Interval, wilson

OFFICIAL = ("exam", "exam_sample")
"""Benchmarks whose keys are the ministry's; the consistency of keys says nothing of others."""

TITLE = Both("鍵值雜訊底線", "The noise floor of the keys")
QUESTION = Both(
    "官方答案本身有多一致？榜上哪些差距小到落在這個雜訊之下？",
    "How consistent are the official keys, and which differences of the board lie below that noise?",
)
METHOD_TEXT = Both(
    "同一題在不同試卷重出時比較官方答案文字（至少兩份不同 PDF 才算獨立證據）。底線由不一致率的 95% Wilson 上界 d 求得："
    "若兩份答案各自獨立出錯，錯鍵對兩模型差距的影響至多 1 − √(1 − 2d)（推導見文件）；兩份都錯成一樣的，看不出來。"
    "榜上相鄰兩次執行逐題配對（一個模型的兩種長度上限是兩次執行），附 McNemar 精確檢定。n 為重出題組數。",
    "Official answers of reprints are compared by text (groups of at least two distinct PDFs are independent "
    "evidence). "
    "From the upper 95% Wilson bound d of the share that disagrees comes the floor: keys that err independently move a "
    "difference of two models by at most 1 − √(1 − 2d) (derived in the documentation); a mistake that both prints "
    "share is not seen. Neighbouring runs of a board (a model under two budgets has two) are paired by item, with "
    "McNemar's exact test. n counts groups of reprints.",
)


@dataclass(frozen=True, slots=True)
class Floor:
    """Groups of reprints and those whose keys disagree."""

    groups: int
    flagged: int

    @property
    def interval(self) -> Interval:
        """95% Wilson interval of the share that disagrees."""
        return wilson(self.flagged, self.groups)

    @property
    def points(self) -> float:
        """The floor of a difference, in percentage points: 1 - sqrt(1 - 2d) at the upper bound d, 100 from 1/2 on."""
        return 100 * (1 - math.sqrt(max(0.0, 1 - 2 * self.interval.high)))


def floors(figures: Iterable[Mapping[str, Any]]) -> tuple[Floor, Floor]:
    """(all groups, groups of at least two distinct PDFs) over every scope."""
    rows = list(figures)
    every = sum(row["groups"] for row in rows), sum(row["agreeing"] for row in rows)
    own = sum(row["independent_groups"] for row in rows), sum(row["independent_agreeing"] for row in rows)
    return Floor(every[0], every[0] - every[1]), Floor(own[0], own[0] - own[1])


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Two runs next to each other on a board, the better one first."""

    better: str
    worse: str
    pair: Paired
    """`first` is the better one."""


def right(run: Run) -> dict[str, bool]:
    """Item id -> right under the method that ranks; items without a reply are left out."""
    return {row.item_id: row.right(run.facts.method) for row in run.rows if row.is_reply}


def neighbours(runs: Sequence[Run]) -> tuple[list[Neighbours], dict[str, float]]:
    """The neighbours of a board in its order, and the accuracy of each run by its name; two runs are held at a time."""
    called = names(runs)
    scores = {run.facts.run_id: _accuracy(right(run)) for run in runs}
    ordered = sorted(
        (run for run in runs if scores[run.facts.run_id] is not None),
        key=lambda run: (-(scores[run.facts.run_id] or 0.0), called[run.facts.run_id]),
    )
    found: list[Neighbours] = []
    held: dict[str, bool] | None = None
    for better, worse in pairwise(ordered):
        first, second = held if held is not None else right(better), right(worse)
        names_of = called[better.facts.run_id], called[worse.facts.run_id]
        found.append(Neighbours(*names_of, paired(first, second)))
        held = second
    return found, {called[run.facts.run_id]: scores[run.facts.run_id] or 0.0 for run in ordered}


def _accuracy(of: Mapping[str, bool]) -> float | None:
    return sum(of.values()) / len(of) if of else None


def pairs_below(scores: Iterable[float], floor: float) -> tuple[int, int]:
    """(pairs of runs whose scores, shares, differ by at most the floor in points; all pairs)."""
    differences = [100 * abs(a - b) for a, b in combinations(scores, 2)]
    return sum(each <= floor for each in differences), len(differences)


def study(inputs: Inputs) -> Study:
    """The study; raises MissingInput without groups of reprints or without a board of two models."""
    every, own = floors(inputs.key_figures)
    if not own.groups:
        raise MissingInput("沒有重出題組可比較官方答案", "no group of reprints on two distinct PDFs is in the store")
    floor = own.points
    rows: list[tuple[Cell, ...]] = []
    below = total = close = unresolved = 0
    for (benchmark, protocol), runs in boards(inputs.runs).items():
        if benchmark not in OFFICIAL or protocol not in RANKED_BY:
            continue
        found, scores = neighbours(runs)
        some, of = pairs_below(scores.values(), floor)
        below, total = below + some, total + of
        for each in found:
            within = abs(each.pair.points or 0.0) <= floor
            significant = each.pair.test.exact_p < SIGNIFICANT
            close, unresolved = close + within, unresolved + (not significant)
            verdict = (Both("之下", "below") if within else Both("之上", "above")).in_one()
            cells = _better_less_next(each.pair)
            rows.append((benchmark, protocol, each.better, each.worse, *cells, verdict, _YES if significant else _NO))
    if not rows:
        raise MissingInput("榜上不足兩次執行", "no exam board has two complete runs")
    return Study(
        "noise_floor",
        TITLE,
        QUESTION,
        METHOD_TEXT,
        Both(
            f"{own.groups:,} 組獨立重出題中 {own.flagged:,} 組答案不一致，底線為 {floor:.2f} 個百分點。{total:,} "
            "對執行中有 "
            f"{below:,} 對差距不超過底線；{len(rows):,} 對相鄰執行中 {close:,} 對在底線之下，{unresolved:,} "
            "對檢定不顯著。",
            f"{own.flagged:,} of {own.groups:,} independent groups of reprints disagree: the floor is {floor:.2f} "
            "points. "
            f"{below:,} of {total:,} pairs of runs differ by no more; of {len(rows):,} neighbouring runs {close:,} lie "
            "below "
            f"the floor and {unresolved:,} do not differ by the test.",
        ),
        own.groups,
        inputs.label(inputs.runs),
        (
            Table(
                Both("官方答案的一致性", "Agreement of the official keys"),
                _KEYS,
                (
                    _key(Both("全部", "all").in_one(), every),
                    _key(Both("至少兩份不同 PDF", "at least two PDFs").in_one(), own),
                ),
            ),
            Table(Both("相鄰執行的差距", "Differences of neighbouring runs"), _NEIGHBOURS, tuple(rows[:2_000])),
        ),
        (
            range_chart(
                Both("相鄰執行差距與 95% 區間", "Differences of neighbouring runs with 95% intervals"),
                [_mark(row) for row in rows],
                Both("較前減較後（百分點）", "better less next (points)"),
                Both("榜", "board"),
            ),
        ),
    )


def _mark(row: Sequence[Cell]) -> dict[str, Cell]:
    benchmark, protocol, better, worse, *_, difference, low, high, _, _, _ = row
    value = {"value": difference, "low": low, "high": high}
    return {"name": f"{better} – {worse}", "series": board_name(str(benchmark), str(protocol)).in_one(), **value}


def _better_less_next(pair: Paired) -> tuple[Cell, ...]:
    """`paired_cells` with the difference as better less next, as the chart and the sentence have it."""
    n, better, after, difference, low, high, exact = paired_cells(pair)
    return n, better, after, _back(difference), _back(high), _back(low), exact


def _back(value: Cell) -> Cell:
    """A difference the other way round: a pair is written as second less first. No zero becomes negative."""
    return 0 - value if isinstance(value, int | float) else value


def _key(name: str, of: Floor) -> tuple[Cell, ...]:
    bounds = of.interval
    value = of.flagged / of.groups if of.groups else None
    return name, of.groups, of.flagged, share(value), rounded(100 * bounds.low), rounded(100 * bounds.high)


def _turned(label: str) -> str:
    return label.replace("second less first", "better less next")


_YES, _NO = Both("是", "yes").in_one(), Both("否", "no").in_one()
_KEYS = (
    Column("groups_of", Both("題組", "groups of")),
    Column("groups", Both("題組數", "groups"), "groups"),
    Column("flagged", Both("不一致", "disagreeing"), "groups"),
    Column("share", Both("不一致率", "share"), "%"),
    Column("low", Both("95% 下界", "95% low"), "%"),
    Column("high", Both("95% 上界", "95% high"), "%"),
)
_NEIGHBOURS = (
    BENCHMARK,
    PROTOCOL,
    Column("better", Both("較前", "better")),
    Column("worse", Both("較後", "next")),
    *(
        replace(each, label=Both(each.label.zh.replace("後減前", "較前減較後"), _turned(each.label.en)))
        for each in paired_columns(Both("較前", "better"), Both("較後", "next"))
    ),
    Column("floor", Both("相對於底線", "against the floor")),
    Column("significant", Both("檢定顯著", "differs (p < 0.05)")),
)
