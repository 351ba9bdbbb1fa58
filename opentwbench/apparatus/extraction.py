"""Study 1, extraction: the same replies read by four methods, and the ranks that the reader moves.

What belongs here: counting and comparing. What does not: the methods themselves (opentwbench.evaluation.extraction).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from opentwbench.apparatus.figures import (
    ACCURACY,
    BENCHMARK,
    HIGH,
    LOW,
    METHOD,
    MODEL,
    PARSED,
    PROTOCOL,
    RANK,
    RHO,
    RHO_HIGH,
    RHO_LOW,
    SIGNIFICANT,
    N,
    Paired,
    board_name,
    paired_cells,
    paired_columns,
    percent,
    places,
    range_chart,
    rho_interval,
    rounded,
    share,
)
from opentwbench.apparatus.result import Both, Cell, Chart, Column, MissingInput, Study, Table
from opentwbench.apparatus.rows import Inputs, Row, boards, names
from opentwbench.evaluation.scoring import rate
from opentwbench.statistics.ranks import spearman

METHODS = ("twinkle-pattern", "lenient", "strict", "tolerant-box")
"""Pattern, lenient, strict, tolerant: the readers that boards in the field rank by."""

READERS = {
    "twinkle-pattern": Both("樣式比對", "pattern"),
    "lenient": Both("寬鬆", "lenient"),
    "strict": Both("嚴格", "strict"),
    "tolerant-box": Both("寬容方框", "tolerant"),
}
"""What the readers are called in a chart."""

TITLE = Both("答案擷取法", "Answer extraction")
QUESTION = Both(
    "同一批回覆，換一種讀法，分數與名次會變多少？",
    "How far do scores and ranks move when the same replies are read differently?",
)
METHOD_TEXT = Both(
    "題目、模型與回覆固定，只換擷取法（pattern、lenient、strict、tolerant）。正確率附 95% Wilson 區間；"
    "每兩種讀法以 McNemar 精確檢定逐題比較；名次比較用 Spearman ρ。n 為（模型，題目）回覆數，只計第一次重複。",
    "Items, models and replies are fixed; only the reader changes (pattern, lenient, strict, tolerant). Accuracies "
    "carry 95% Wilson intervals; every two readers are compared item by item with McNemar's exact test, rankings with "
    "Spearman's rho. n counts replies (model and item), first repeat only.",
)


@dataclass(frozen=True, slots=True)
class Counts:
    """One run read by every method: replies, right and parsed by method, and right by one method of a pair only."""

    name: str
    n: int
    right: Counter[str]
    parsed: Counter[str]
    pairs: dict[tuple[str, str], Paired]

    def accuracy(self, method: str) -> float:
        """Right of all replies; 0 without one."""
        return self.right[method] / self.n if self.n else 0.0


def count(name: str, rows: Iterable[Row], methods: Sequence[str] = METHODS) -> Counts:
    """Read one run, streamed. Errors are no replies."""
    n = 0
    right: Counter[str] = Counter()
    parsed: Counter[str] = Counter()
    alone: Counter[tuple[str, str]] = Counter()
    for row in rows:
        if not row.is_reply:
            continue
        n += 1
        hit = {method: row.right(method) for method in methods}
        right.update(method for method in methods if hit[method])
        parsed.update(method for method in methods if row.read(method))
        if len(set(hit.values())) > 1:
            alone.update((one, other) for one in methods for other in methods if hit[one] and not hit[other])
    pairs = {(one, other): Paired(n, alone[one, other], alone[other, one]) for one, other in combinations(methods, 2)}
    return Counts(name, n, right, parsed, pairs)


@dataclass(frozen=True, slots=True)
class Moves:
    """Two methods over the models of one board."""

    first: str
    second: str
    models: int
    changed: int
    """Models with another place."""
    largest: int
    """The most places that one model moves."""
    significant: int
    """Models whose two scores differ by McNemar's exact test at 5%."""
    rho: float | None


def moves(board: Sequence[Counts], first: str, second: str) -> Moves:
    """How the ranking of a board changes from one method to another."""
    scores = [[each.accuracy(method) for each in board] for method in (first, second)]
    shifts = [abs(a - b) for a, b in zip(places(scores[0]), places(scores[1]), strict=True)]
    tests = [each.pairs[first, second].test.exact_p < SIGNIFICANT for each in board]
    moved, largest = sum(shift > 0 for shift in shifts), max(shifts, default=0)
    return Moves(first, second, len(board), moved, largest, sum(tests), spearman(*scores).rho)


def study(inputs: Inputs) -> Study:
    """The study over every board; raises MissingInput without a complete run."""
    found = boards(inputs.runs)
    scores: list[tuple[Cell, ...]] = []
    changes: list[tuple[Cell, ...]] = []
    tests: list[tuple[Cell, ...]] = []
    charts: list[Chart] = []
    total = moved = pairs = 0
    for (benchmark, protocol), runs in found.items():
        called = names(runs)
        board = [each for run in runs if (each := count(called[run.facts.run_id], run.rows)).n]
        total += sum(each.n for each in board)
        rows = _scores(board)
        scores += [(benchmark, protocol, *row) for row in rows]
        for one, other in combinations(METHODS, 2):
            change = moves(board, one, other)
            pairs, moved = pairs + change.models, moved + change.changed
            bounds = rho_interval(change.rho, change.models)
            counts = (change.models, change.changed, change.largest, change.significant)
            changes.append((benchmark, protocol, one, other, *counts, *map(rounded, (change.rho, *bounds))))
        tests += [
            (benchmark, protocol, each.name, one, other, *paired_cells(pair))
            for each in board
            for (one, other), pair in each.pairs.items()
        ]
        charts.append(_chart(benchmark, protocol, rows))
    if not total:
        raise MissingInput("沒有任何完整的評測回覆", "no complete run with replies is stored")
    widest = _widest(scores)
    return Study(
        "extraction",
        TITLE,
        QUESTION,
        METHOD_TEXT,
        Both(
            f"{total:,} 則回覆、{len(found)} 個榜。模型在兩種讀法間的 {pairs:,} 次比較中，有 {moved:,} 次名次改變；"
            f"單一模型在四種讀法間最多相差 {widest:.1f} 個百分點。",
            f"{total:,} replies on {len(found)} boards. Another reader changes the rank in {moved:,} of {pairs:,} "
            f"comparisons (a model under two readers); the four readers differ by up to {widest:.1f} points on one "
            "model.",
        ),
        total,
        inputs.label(inputs.runs),
        (
            Table(
                Both("各讀法的正確率與名次", "Accuracy and rank under each reader"),
                (BENCHMARK, PROTOCOL, MODEL, METHOD, N, ACCURACY, LOW, HIGH, PARSED, RANK),
                tuple(scores[:2_000]),
            ),
            Table(Both("兩種讀法之間的名次變動", "Ranks moved between two readers"), _CHANGES, tuple(changes[:2_000])),
            Table(Both("逐題配對檢定", "Paired by item"), _TESTS, tuple(tests[:2_000])),
        ),
        tuple(charts[:20]),
    )


_FIRST = Column("first", Both("讀法一", "first reader"))
_SECOND = Column("second", Both("讀法二", "second reader"))
_CHANGES = (
    BENCHMARK,
    PROTOCOL,
    _FIRST,
    _SECOND,
    Column("models", Both("模型數", "models")),
    Column("changed", Both("名次改變的模型", "models with another rank")),
    Column("largest", Both("最大名次變動", "largest move"), "ranks"),
    Column("significant", Both("差異顯著的模型", "models that differ (p < 0.05)")),
    RHO,
    RHO_LOW,
    RHO_HIGH,
)
_TESTS = (
    BENCHMARK,
    PROTOCOL,
    MODEL,
    _FIRST,
    _SECOND,
    *paired_columns(Both("讀法一", "first"), Both("讀法二", "second")),
)


def _scores(board: Sequence[Counts]) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    for method in METHODS:
        ranks = places([each.accuracy(method) for each in board])
        for each, rank in zip(board, ranks, strict=True):
            accuracy = percent(rate(each.right[method], each.n))
            parsed = share(each.parsed[method] / each.n)
            rows.append((each.name, method, each.n, *accuracy, parsed, rank))
    return sorted(rows, key=lambda row: (str(row[0]), METHODS.index(str(row[1]))))


def _widest(scores: Sequence[tuple[Cell, ...]]) -> float:
    by_model: dict[tuple[Cell, ...], list[float]] = {}
    for row in scores:
        by_model.setdefault(row[:3], []).append(float(row[5] or 0.0))
    return max((max(values) - min(values) for values in by_model.values()), default=0.0)


def _chart(benchmark: str, protocol: str, rows: Sequence[tuple[Cell, ...]]) -> Chart:
    marks = [
        {"name": name, "series": READERS[str(method)].in_one(), "value": value, "low": low, "high": high}
        for name, method, _, value, low, high, *_ in rows
    ]
    name = board_name(benchmark, protocol)
    title = Both(f"{name.zh}：四種讀法", f"{name.en}: four readers")
    return range_chart(title, marks, Both("正確率 (%)", "accuracy (%)"), Both("讀法", "reader"))
