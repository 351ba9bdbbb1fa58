"""Study 9, curation: what pruning the items that all models solve would have done, and which failures are loud.

What belongs here: pruning after the fact and counting failures by how they show. What does not: the band of Formosa
(half_life.py).

Pruning an item that every model has right takes one hit and one item from each, so that (h - k) / (n - k) keeps the
order and stretches every difference by n / (n - k); discordant items are never pruned, so that no paired test changes.
What it does change is the level: top scores fall, and with them what a reader takes the benchmark's difficulty to be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from opentwbench.apparatus.figures import (
    BENCHMARK,
    HIGH,
    LOW,
    MODEL,
    PROTOCOL,
    N,
    bar_chart,
    board_name,
    p_value,
    paired,
    percent,
    places,
    points,
    share,
)
from opentwbench.apparatus.result import Both, Cell, Column, MissingInput, Study, Table
from opentwbench.apparatus.rows import CORRECT, Inputs, Row, Run, boards, names
from opentwbench.apparatus.two_axes import RANKED_BY
from opentwbench.evaluation.scoring import rate

TITLE = Both("策展與可偵測的錯誤", "Curation, and failures that show")
QUESTION = Both(
    "若把每次執行都答對的題目刪掉，頂尖分數會變成多少？哪些失敗會自己現形、哪些是無聲的？",
    "What would pruning the items that every run solves do to top scores, and which failures are loud or silent?",
)
METHOD_TEXT = Both(
    "只看榜上每次執行都有回覆的題目；一個模型的兩種長度上限是兩次執行。刪去全對題只改變水準，不改變名次，也不改變任何配對檢定"
    "（相異題不會被刪；表中為與次一名的 McNemar 精確檢定）。"
    "失敗分兩類：有聲（端點報錯，可重試）與無聲（收到回覆，但讀法讀不到、被截斷、空白、拒答，或兩種讀法結果不同）。"
    "比例附 95% Wilson 區間。n 為回應數。",
    "Only items to which every run of a board replied; a model under two budgets has two runs. Pruning the items that "
    "all solve changes the level, never the order and no paired test (discordant items are not pruned; "
    "the table has McNemar's exact test against the next run). A failure is loud when the endpoint reports it "
    "and it can be asked again, silent when a reply came that is unread, cut, empty, declined, or read in two ways. "
    "Shares carry 95% Wilson intervals. n counts responses.",
)


@dataclass(frozen=True, slots=True)
class Pruned:
    """A board before and after pruning what all runs solve."""

    items: int
    """Items to which every run replied."""
    solved: int
    """Of these, solved by all."""
    unsolved: int
    """Solved by none."""
    right: dict[str, int]
    """Run id -> right of `items`."""
    next_p: dict[str, float]
    """Run id -> McNemar's exact p against the next run of the ranking, with and without the pruned items; the last
    run has none."""

    @property
    def stretch(self) -> float | None:
        """By how much pruning stretches every difference; None when nothing would be left."""
        left = self.items - self.solved
        return self.items / left if left else None


def prune(runs: Sequence[Run]) -> Pruned:
    """Two passes over the runs of a board; item counts are held, no rows."""
    replied: Counter[str] = Counter()
    solved: Counter[str] = Counter()
    for run in runs:
        for row in run.rows:
            replied[row.item_id] += row.is_reply
            solved[row.item_id] += row.right(run.facts.method)
    shared = {item for item, times in replied.items() if times == len(runs)}
    right = {
        run.facts.run_id: sum(row.right(run.facts.method) for row in run.rows if row.item_id in shared) for run in runs
    }
    ordered = sorted(runs, key=lambda run: (-right[run.facts.run_id], run.facts.run_id))
    by_all = sum(solved[item] == len(runs) for item in shared)
    by_none = sum(solved[item] == 0 for item in shared)
    return Pruned(len(shared), by_all, by_none, right, _neighbours(ordered, shared))


def _neighbours(ordered: Sequence[Run], shared: set[str]) -> dict[str, float]:
    """Each run against the one behind it; the answers of two runs are held at a time."""
    found: dict[str, float] = {}
    held: dict[str, bool] = {}
    for place, run in enumerate(ordered):
        own = {row.item_id: row.right(run.facts.method) for row in run.rows if row.item_id in shared}
        if place:
            found[ordered[place - 1].facts.run_id] = paired(held, own).test.exact_p
        held = own
    return found


class Failure(StrEnum):
    """How a response failed, or nearly. Closed; a response is in the first that holds, in this order."""

    LASTING_ERROR = "lasting_error"
    """An error that stayed after every permitted retry."""
    RETRIED = "retried"
    """A reply after at least one failed attempt."""
    CAPPED = "capped"
    EMPTY = "empty"
    REFUSED = "refused"
    UNREAD = "unread"
    """A reply with text in which the ranking method reads nothing."""
    READ_TWO_WAYS = "read_two_ways"
    """Ranking and lenient reader disagree on whether it is right."""


LOUD = frozenset((Failure.LASTING_ERROR, Failure.RETRIED))

_WORDS = {
    Failure.LASTING_ERROR: Both("重試後仍為錯誤", "error after every retry"),
    Failure.RETRIED: Both("重試後取得回覆", "reply after a retry"),
    Failure.CAPPED: Both("被預算截斷", "cut by the budget"),
    Failure.EMPTY: Both("空白", "empty"),
    Failure.REFUSED: Both("拒答", "declined"),
    Failure.UNREAD: Both("讀法讀不到", "unread"),
    Failure.READ_TWO_WAYS: Both("兩種讀法不同", "read in two ways"),
}


def failure(row: Row, method: str) -> Failure | None:
    """How a response failed under the ranking method; None for one that was answered and read at once."""
    if not row.is_reply:
        return Failure.LASTING_ERROR
    if row.attempts > 1:
        return Failure.RETRIED
    outcome = row.outcomes[method]
    named = {"capped": Failure.CAPPED, "empty": Failure.EMPTY, "refused": Failure.REFUSED, "unparsed": Failure.UNREAD}
    if outcome in named:
        return named[outcome]
    return Failure.READ_TWO_WAYS if row.right(method) != row.right("lenient") else None


@dataclass(frozen=True, slots=True)
class Tally:
    """Responses by failure, and how many of each were right: after the retry, or under the lenient reading."""

    responses: int
    failed: Counter[Failure]
    recovered: Counter[Failure]


def tally(runs: Iterable[Run]) -> Tally:
    """Count the failures of runs, streamed."""
    n = 0
    failed: Counter[Failure] = Counter()
    recovered: Counter[Failure] = Counter()
    for run in runs:
        for row in run.rows:
            n += 1
            kind = failure(row, run.facts.method)
            if kind is not None:
                failed[kind] += 1
                reader = run.facts.method if kind in LOUD else "lenient"
                recovered[kind] += row.outcomes[reader] == CORRECT
    return Tally(n, failed, recovered)


def study(inputs: Inputs) -> Study:
    """The study; raises MissingInput when no board has two complete runs over shared items."""
    ranked = {board: runs for board, runs in boards(inputs.runs).items() if board[1] in RANKED_BY and len(runs) > 1}
    pruned = {board: found for board, runs in ranked.items() if (found := prune(runs)).items}
    if not pruned:
        raise MissingInput("沒有任何榜有兩個以上的完整執行", "no board has two complete runs over shared items")
    used = [run for board in pruned for run in ranked[board]]
    counted = tally(used)
    scores = [row for board, found in pruned.items() for row in _scores(board, ranked[board], found)]
    failures = tuple(_failure_row(kind, counted) for kind in Failure)
    return Study(
        "curation",
        TITLE,
        QUESTION,
        METHOD_TEXT,
        _finding(pruned, scores, counted),
        counted.responses,
        inputs.label(used),
        (
            Table(Both("刪去全對題之後", "After pruning what all runs solve"), _SCORES, tuple(scores[:2_000])),
            Table(Both("各榜的題目", "Items of each board"), _ITEMS, tuple(map(_items, pruned.items()))),
            Table(Both("有聲與無聲的失敗", "Loud and silent failures"), _FAILURES, failures),
        ),
        (
            bar_chart(
                Both("失敗的種類", "Failures by kind"),
                [{"name": f"{row[0]}", "value": row[2], "series": row[1]} for row in failures],
                Both("回應數", "responses"),
                Both("現形", "shows"),
            ),
        ),
    )


def _scores(board: tuple[str, str], runs: Sequence[Run], found: Pruned) -> list[tuple[Cell, ...]]:
    called, left = names(runs), found.items - found.solved
    order = places([float(found.right[run.facts.run_id]) for run in runs])
    rows: list[tuple[Cell, ...]] = []
    for run, rank in zip(runs, order, strict=True):
        hits = found.right[run.facts.run_id]
        whole, after = rate(hits, found.items), rate(hits - found.solved, left)
        change = None if after.value is None else points(100 * (after.value - (whole.value or 0.0)))
        against = found.next_p.get(run.facts.run_id)
        test = None if against is None else p_value(against)
        rows.append((*board, called[run.facts.run_id], rank, *percent(whole), *percent(after), change, test))
    return sorted(rows, key=lambda row: (row[3], row[2]))


def _items(of: tuple[tuple[str, str], Pruned]) -> tuple[Cell, ...]:
    board, found = of
    stretch = None if found.stretch is None else round(found.stretch, 3)
    return *board, len(found.right), found.items, found.solved, found.unsolved, stretch


def _failure_row(kind: Failure, counted: Tally) -> tuple[Cell, ...]:
    hits = counted.failed[kind]
    recovered = counted.recovered[kind]
    rates = percent(rate(hits, counted.responses))
    words = _WORDS[kind]
    shows = (Both("有聲", "loud") if kind in LOUD else Both("無聲", "silent")).in_one()
    return words.in_one(), shows, hits, *rates, recovered, share(recovered / hits) if hits else None


def _finding(pruned: dict[tuple[str, str], Pruned], scores: Sequence[tuple[Cell, ...]], counted: Tally) -> Both:
    board, found = next(iter(pruned.items()))
    top = next(row for row in scores if row[:2] == board and row[3] == 1)
    loud = sum(counted.failed[kind] for kind in LOUD)
    silent = counted.failed.total() - loud
    saved = counted.recovered[Failure.RETRIED]
    found_again = sum(counted.recovered[kind] for kind in Failure if kind not in LOUD)
    after = "無（沒有剩餘題目）" if top[7] is None else f"{top[7]:.1f}%"
    after_en = "undefined (nothing is left)" if top[7] is None else f"{top[7]:.1f}%"
    name = board_name(*board)
    return Both(
        f"{name.zh}：{len(found.right):,} 次執行在 {found.items:,} 題中有 {found.solved:,} 題全對；"
        f"刪去後榜首由 {top[4]:.1f}% 變為 {after}，"
        "名次不變。"
        f"{counted.responses:,} 則回應中有聲失敗 {loud:,}（重試後答對 {saved:,}），無聲失敗 {silent:,}"
        f"（寬鬆讀法會判對 {found_again:,}）。",
        f"{name.en}: all {len(found.right):,} runs solve {found.solved:,} of {found.items:,} items; without them the "
        f"top score of {top[4]:.1f}% becomes {after_en}, and no rank changes. Of {counted.responses:,} responses "
        f"{loud:,} failed loudly ({saved:,} right after a retry) and {silent:,} silently ({found_again:,} right "
        "for the lenient reader).",
    )


_SCORES = (
    BENCHMARK,
    PROTOCOL,
    MODEL,
    Column("rank", Both("名次（前後相同）", "rank (before and after)")),
    Column("accuracy", Both("全部題目正確率", "accuracy, all items"), "%"),
    LOW,
    HIGH,
    Column("pruned", Both("刪題後正確率", "accuracy, pruned"), "%"),
    Column("pruned_low", Both("刪題後 95% 下界", "pruned, 95% low"), "%"),
    Column("pruned_high", Both("刪題後 95% 上界", "pruned, 95% high"), "%"),
    Column("points", Both("變化", "change"), "points"),
    Column(
        "next_p",
        Both("與次一名，McNemar 精確檢定 p", "against the next, McNemar, exact p"),
    ),
)
_ITEMS = (
    BENCHMARK,
    PROTOCOL,
    Column("runs", Both("執行數", "runs")),
    N,
    Column("solved", Both("全對", "solved by all"), "items"),
    Column("unsolved", Both("全錯", "solved by none"), "items"),
    Column("stretch", Both("差距放大倍數", "differences stretch by")),
)
_FAILURES = (
    Column("failure", Both("失敗", "failure")),
    Column("shows", Both("現形", "shows")),
    Column("responses", Both("回應數", "responses"), "responses"),
    Column("share", Both("占比", "share"), "%"),
    LOW,
    HIGH,
    Column("recovered", Both("其中可救回", "of these, right after retry or lenient reading"), "responses"),
    Column("recovered_share", Both("可救回比例", "recovered"), "%"),
)
