"""Study 3, thinking budget: the same model and items under two token budgets, item by item.

What belongs here: pairing the runs, cap hits, loops and cost. What does not: the transitions themselves
(opentwbench.evaluation.rescoring) and the detector of loops (loops.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from opentwbench.apparatus.figures import (
    BENCHMARK,
    MODEL,
    SIGNIFICANT,
    Paired,
    bar_chart,
    benchmark_name,
    p_value,
    paired_cells,
    paired_columns,
    percent,
    rounded,
    share,
    signed,
)
from opentwbench.apparatus.loops import loop
from opentwbench.apparatus.result import Both, Cell, Column, MissingInput, Study, Table
from opentwbench.apparatus.rows import Inputs, Run, shown
from opentwbench.evaluation.model import Graded
from opentwbench.evaluation.rescoring import Transitions, transitions
from opentwbench.evaluation.scoring import CAPPED_REASONS
from opentwbench.statistics.paired import mcnemar

TITLE = Both("思考預算", "Thinking budget")
QUESTION = Both(
    "同一模型、同一批題目，給兩倍以上的 token，多答對幾題、又少讀到幾題？",
    "What does a larger token budget win, and what does it lose, on the same items of the same model?",
)
METHOD_TEXT = Both(
    "同一模型、評測集、協定與精度，以兩種 token 預算各跑一次，逐題配對（兩邊都有回覆才計）。正確與否及可否擷取"
    "各以 McNemar 精確檢定比較；「救回／新失」是擷取狀態的轉變，其差等於未擷取數的變化，不等於答錯數的變化。"
    "迴圈為回覆結尾同一段文字"
    "連續五次以上。費用比為完成 token 總數之比。n 為配對題數。",
    "The same model, benchmark, protocol and precision under two token budgets, paired by item (a reply in both). "
    "McNemar's exact test compares right answers, and parsed replies apart from them: rescued and newly lost are "
    "transitions of parsing, and net to the change in unparsed replies, not in wrong ones. A loop is a reply that ends "
    "in one passage five times or more. The cost ratio is that of completion tokens. n counts pairs.",
)


@dataclass(frozen=True, slots=True)
class Side:
    """Replies of one budget among the paired items: how many were cut, how many of all end in a loop, and tokens."""

    capped: int
    loops: int
    tokens: int | None
    """Completion tokens, None when some reply does not say."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two budgets of one model."""

    model: str
    benchmark: str
    small: int
    large: int
    moved: Transitions
    first: Side
    second: Side

    @property
    def right(self) -> Paired:
        """Right answers, paired."""
        return Paired(self.moved.items, self.moved.dropped, self.moved.won)

    @property
    def cost_ratio(self) -> float | None:
        """Completion tokens of the large budget over those of the small one."""
        if not self.first.tokens or self.second.tokens is None:
            return None
        return self.second.tokens / self.first.tokens


def facts_of(replies: Iterable[Graded]) -> dict[str, tuple[bool, bool, int | None]]:
    """Item id -> (cut by the budget, ends in a loop, completion tokens) of every reply, first repeat; texts are not
    kept. A loop counts in the answer or in the reasoning."""
    found = {}
    for each in replies:
        response = each.response
        if response.repeat == 0 and not response.error:
            looped = loop(response.content) is not None or loop(response.reasoning) is not None
            found[response.item_id] = response.finish_reason in CAPPED_REASONS, looped, response.completion_tokens
    return found


def side(facts: Mapping[str, tuple[bool, bool, int | None]], shared: Iterable[str]) -> Side:
    """Cap hits, loops and tokens of the replies to the shared items."""
    of = [facts[item] for item in shared]
    tokens = [count for *_, count in of if count is not None]
    stated = sum(tokens) if len(tokens) == len(of) else None
    return Side(sum(cut for cut, *_ in of), sum(looped for _, looped, _ in of), stated)


def compare(small: Run, large: Run) -> Comparison:
    """Two runs that differ in their budget alone. Texts are streamed: 22,021 long thoughts are a gigabyte."""
    moved = transitions(small.texts, large.texts, small.facts.method)
    first, second = facts_of(small.texts), facts_of(large.texts)
    shared = first.keys() & second.keys()
    facts = small.facts
    return Comparison(
        shown(facts.model),
        facts.benchmark,
        facts.max_tokens,
        large.facts.max_tokens,
        moved,
        side(first, shared),
        side(second, shared),
    )


def budget_pairs(runs: Sequence[Run]) -> list[tuple[Run, Run]]:
    """Complete runs of one model, benchmark, protocol name and precision, each budget with the next larger one."""
    held: dict[tuple[str, str, str, str], list[Run]] = {}
    for run in runs:
        facts = run.facts
        if facts.complete:
            cell = (facts.benchmark, facts.model, facts.protocol_name, facts.serving_precision)
            held.setdefault(cell, []).append(run)
    ordered = (sorted(held[cell], key=lambda run: run.facts.max_tokens) for cell in sorted(held))
    return [(one, other) for of in ordered for one, other in pairwise(of)]


def study(inputs: Inputs) -> Study:
    """The study; raises MissingInput when no model has complete runs under two budgets."""
    compared = [(pair, compare(*pair)) for pair in budget_pairs(inputs.runs)]
    found = [each for _, each in compared if each.moved.items]
    if not found:
        raise MissingInput("沒有模型在兩種預算下都有完整執行", "no model has complete runs under two token budgets")
    n = sum(each.moved.items for each in found)
    return Study(
        "thinking_budget",
        TITLE,
        QUESTION,
        METHOD_TEXT,
        _finding(found, n),
        n,
        inputs.label(run for pair, _ in compared for run in pair),
        (
            Table(Both("正確率（逐題配對）", "Accuracy, paired by item"), _RIGHT, tuple(map(_right, found))),
            Table(Both("擷取狀態的轉變", "Transitions of parsing"), _PARSING, tuple(map(_parsing, found))),
            Table(Both("截斷、迴圈與費用", "Cap hits, loops and cost"), _COST, tuple(map(_cost, found))),
        ),
        (
            bar_chart(
                Both("救回與新失的回覆", "Replies rescued and newly lost"),
                [
                    {"name": _called(each, found), "value": value, "series": kind.in_one()}
                    for each in found
                    for kind, value in (
                        (Both("救回", "rescued"), each.moved.rescued),
                        (Both("新失", "newly lost"), -each.moved.lost),
                    )
                ],
                Both("題數（左為新失）", "items (newly lost to the left)"),
                Both("轉變", "transition"),
            ),
        ),
    )


def _finding(found: Sequence[Comparison], n: int) -> Both:
    won, dropped = sum(each.moved.won for each in found), sum(each.moved.dropped for each in found)
    rescued, lost = sum(each.moved.rescued for each in found), sum(each.moved.lost for each in found)
    loops = sum(each.first.loops for each in found), sum(each.second.loops for each in found)
    capped = sum(each.first.capped for each in found), sum(each.second.capped for each in found)
    ratios = [each.cost_ratio for each in found if each.cost_ratio is not None]
    cost = f"{min(ratios):.2f}–{max(ratios):.2f}" if ratios else ""
    differ = sum(each.right.test.exact_p < SIGNIFICANT for each in found)
    change = signed(100 * (won - dropped) / n)
    return Both(
        f"{len(found)} 組、{n:,} 題配對：正確率合計變化 {change} 個百分點（{differ} 組顯著）；救回 {rescued:,}、"
        f"新失 {lost:,}；截斷 {capped[0]:,}→{capped[1]:,}，迴圈 {loops[0]:,}→{loops[1]:,}"
        + (f"；token 為 {cost} 倍。" if cost else "。"),
        f"{len(found)} comparisons, {n:,} paired items: accuracy changes by {change} points in all (p < 0.05 in "
        f"{differ}); {rescued:,} replies rescued, {lost:,} newly lost; cut {capped[0]:,} before and {capped[1]:,} "
        f"after, in a loop {loops[0]:,} and {loops[1]:,}"
        + (f"; {cost} times the tokens." if cost else "; tokens were not stated."),
    )


def _called(each: Comparison, found: Sequence[Comparison]) -> str:
    if len({other.benchmark for other in found}) == 1:
        return each.model
    name = benchmark_name(each.benchmark)
    return Both(f"{each.model}，{name.zh}", f"{each.model}, {name.en}").in_one()


def _key(each: Comparison) -> tuple[Cell, ...]:
    return each.benchmark, each.model, each.small, each.large


def _right(each: Comparison) -> tuple[Cell, ...]:
    before, after = percent(each.moved.before), percent(each.moved.after)
    return *_key(each), before[0], after[0], *paired_cells(each.right)


def _parsing(each: Comparison) -> tuple[Cell, ...]:
    moved = each.moved
    test = p_value(mcnemar(moved.lost, moved.rescued).exact_p)
    unparsed = (share(moved.unparsed_before.value), share(moved.unparsed_after.value))
    return *_key(each), moved.items, *unparsed, moved.rescued, moved.lost, moved.rescued + moved.lost, test


def _cost(each: Comparison) -> tuple[Cell, ...]:
    sides = (each.first.capped, each.second.capped, each.first.loops, each.second.loops)
    return *_key(each), each.moved.items, *sides, rounded(each.cost_ratio), rounded(each.moved.time_ratio)


_KEY = (
    BENCHMARK,
    MODEL,
    Column("small", Both("小預算", "small budget"), "tokens"),
    Column("large", Both("大預算", "large budget"), "tokens"),
)
_ITEMS = Column("n", Both("配對題數", "paired items"), "items")
_RIGHT = (
    *_KEY,
    Column("before", Both("小預算正確率", "accuracy, small"), "%"),
    Column("after", Both("大預算正確率", "accuracy, large"), "%"),
    *paired_columns(Both("小預算", "small budget"), Both("大預算", "large budget")),
)
_PARSING = (
    *_KEY,
    _ITEMS,
    Column("unparsed_before", Both("小預算未擷取", "unparsed, small"), "%"),
    Column("unparsed_after", Both("大預算未擷取", "unparsed, large"), "%"),
    Column("rescued", Both("救回", "rescued"), "items"),
    Column("lost", Both("新失", "newly lost"), "items"),
    Column("churn", Both("擷取狀態改變", "unparsed churn"), "items"),
    Column("exact_p", Both("McNemar 精確檢定 p（擷取）", "McNemar, exact p (parsing)")),
)
_COST = (
    *_KEY,
    _ITEMS,
    Column("capped_before", Both("小預算截斷", "cut, small"), "items"),
    Column("capped_after", Both("大預算截斷", "cut, large"), "items"),
    Column("loops_before", Both("小預算迴圈", "loops, small"), "items"),
    Column("loops_after", Both("大預算迴圈", "loops, large"), "items"),
    Column("cost_ratio", Both("token 比", "token ratio")),
    Column("time_ratio", Both("時間比", "time ratio")),
)
