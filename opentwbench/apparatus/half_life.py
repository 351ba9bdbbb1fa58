"""Study 6, half-life: how long a benchmark tells new models apart, and a band of items cut again against a newer pool.

What belongs here: models by date against a stated band of scores, and what a cut by a newer pool leaves.
What does not: the sidecar and the cut themselves (formosa.band).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from opentwbench.apparatus.figures import (
    BENCHMARK,
    MODEL,
    PROTOCOL,
    Paired,
    bar_chart,
    board_name,
    paired_cells,
    paired_columns,
    percent,
    share,
)
from opentwbench.apparatus.noise_floor import right
from opentwbench.apparatus.result import Both, Cell, Chart, Column, MissingInput, Study, Table
from opentwbench.apparatus.rows import Inputs, Run, boards, names
from opentwbench.apparatus.two_axes import RANKED_BY
from opentwbench.evaluation.scoring import rate
from opentwbench.formosa.band import Band, Cut, Difficulty, recut

LOW, HIGH = 0.40, 0.80
"""The band that the study states: between them a score tells models apart. 80% is where the board's own comparison
takes the top of the field to begin (study 7); 40% leaves the guessing floor of 25% and what is near it below."""

TITLE = Both("半衰期", "Half-life")
QUESTION = Both(
    "隨著新模型推出，還有多少模型落在評測能區辨的範圍內？以較新的模型群重新切帶，題目還剩多少？",
    "As models appear, how many still lie where the benchmark tells them apart, and what does a newer pool leave of "
    "a band?",
)
METHOD_TEXT = Both(
    f"有發布日期的模型依半年分組，統計分數在 {LOW:.0%}–{HIGH:.0%} 範圍內、以上、以下的比例（附 95% Wilson 區間）；"
    "半衰期為首個半數以上模型高於範圍的時期。另將有日期的模型依發布先後分為兩半，分別作為舊池與新池："
    "帶內題目為池中至少一個模型答錯者，兩次切帶逐題以 McNemar 精確檢定比較。n 為有日期的模型數。",
    f"Dated models are grouped by half-year; shares inside, above and below {LOW:.0%} to {HIGH:.0%} carry 95% Wilson "
    "intervals, and the half-life is the first period in which at least half lie above. The dated models are also cut "
    "into an older and a newer half as pools: an item is in the band when at least one model of the pool has it wrong, "
    "and the two cuts are compared item by item with McNemar's exact test. n counts dated models.",
)

_DATE = re.compile(r"(\d{4})-(\d{2})(?:-\d{2})?")

INSIDE, ABOVE, BELOW = "inside", "above", "below"
STANDINGS = {INSIDE: Both("範圍內", "inside"), ABOVE: Both("以上", "above"), BELOW: Both("以下", "below")}


def period(released: object) -> str | None:
    """The half-year of a release date ('2026-03' or '2026-03-01' -> '2026 H1'); None for what is no date."""
    match = _DATE.fullmatch(released) if isinstance(released, str) else None
    if match is None or not 1 <= int(match[2]) <= 12:
        return None
    return f"{match[1]} H{1 if int(match[2]) <= 6 else 2}"


def period_name(when: str) -> Both:
    """A half-year as it is read: '2026 H1' is 2026 上半年."""
    year, _, half = when.partition(" ")
    return Both(f"{year} {'上' if half == 'H1' else '下'}半年", when)


def standing(score: float, low: float = LOW, high: float = HIGH) -> str:
    """Where a score lies; both ends belong to the band."""
    return BELOW if score < low else ABOVE if score > high else INSIDE


@dataclass(frozen=True, slots=True)
class Dated:
    """A model with its date and score."""

    name: str
    released: str
    period: str
    score: float
    run: Run


def half_life(dated: Iterable[Dated]) -> str | None:
    """The first period of which at least half the models lie above the band; None when there is none yet."""
    by_period: defaultdict[str, list[bool]] = defaultdict(list)
    for each in dated:
        by_period[each.period].append(standing(each.score) == ABOVE)
    return next((name for name in sorted(by_period) if 2 * sum(by_period[name]) >= len(by_period[name])), None)


# -- the band ---------------------------------------------------------------------------------------------------------


def sidecar_of(runs: Iterable[tuple[str, Run]]) -> list[Difficulty]:
    """The difficulty sidecar of named runs: who answered which item rightly, items in order."""
    passes: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    for name, run in runs:
        for item, hit in right(run).items():
            passes[item][name] = hit
    return [Difficulty(item, passes[item]) for item in sorted(passes)]


def cuts(dated: Sequence[Dated]) -> tuple[Cut, Cut, int] | None:
    """The band cut by the older and by the newer half of dated models, and the size of a pool; None below four models.

    Both pools have the same size (of an odd number the middle model is in neither), so that the bands are alike: at
    least one model has the item wrong.
    """
    ordered = sorted(dated, key=lambda each: (each.released, each.name))
    size = len(ordered) // 2
    if size < 2:
        return None
    items = sidecar_of((each.name, each.run) for each in ordered)
    band = Band(0, size - 1)
    older, newer = ([each.name for each in of] for of in (ordered[:size], ordered[-size:]))
    return recut(items, older, band), recut(items, newer, band), size


def survival(older: Cut, newer: Cut) -> tuple[Paired, int, int]:
    """(items measured by both pools, paired by being in the band; in the older band; of these still in the newer)."""
    measured = set(older.kept + older.easier + older.harder) & set(newer.kept + newer.easier + newer.harder)
    first, second = set(older.kept) & measured, set(newer.kept) & measured
    return Paired(len(measured), len(first - second), len(second - first)), len(first), len(first & second)


# -- the study --------------------------------------------------------------------------------------------------------


def dated_models(inputs: Inputs, runs: Sequence[Run]) -> list[Dated]:
    """The models of a board whose card states a release date, with their score; the others are left out.

    A model counts once: of several budgets or precisions its run under the largest budget stands, the first by id.
    """
    chosen: dict[str, Run] = {}
    for run in sorted(runs, key=lambda run: (-run.facts.max_tokens, run.facts.run_id)):
        chosen.setdefault(run.facts.model, run)
    kept = [run for run in runs if chosen[run.facts.model] is run]
    called = names(kept)
    found = []
    for run in kept:
        released = inputs.card(run.facts.model).get("released")
        when = period(released)
        if when is not None and (answers := right(run)):
            score = sum(answers.values()) / len(answers)
            found.append(Dated(called[run.facts.run_id], str(released), when, score, run))
    return found


def study(inputs: Inputs) -> Study:
    """The study over every board; raises MissingInput when no card dates a model with a complete run."""
    found = {
        board: dated
        for board, runs in boards(inputs.runs).items()
        if board[1] in RANKED_BY and (dated := dated_models(inputs, runs))
    }
    if not found:
        raise MissingInput(
            "沒有任何有發布日期（models/cards.jsonl 的 released）且完整執行的模型",
            "no model with a complete run has a release date (`released` in models/cards.jsonl)",
        )
    periods = [row for board, dated in found.items() for row in _periods(board, dated)]
    survived = [row for board, dated in found.items() if (row := _survived(board, dated)) is not None]
    models = [
        (*board, each.name, each.released, share(each.score), STANDINGS[standing(each.score)].in_one())
        for board, dated in found.items()
        for each in sorted(dated, key=lambda each: (each.released, each.name))
    ]
    n = len({each.run.facts.model for dated in found.values() for each in dated})
    return Study(
        "half_life",
        TITLE,
        QUESTION,
        METHOD_TEXT,
        _finding(found, survived, n),
        n,
        inputs.label(each.run for dated in found.values() for each in dated),
        (
            Table(Both("各時期的分布", "Shares by period"), _PERIODS, tuple(periods)),
            Table(Both("以較新的模型群重新切帶", "The band cut again by a newer pool"), _SURVIVED, tuple(survived)),
            Table(Both("有日期的模型", "Dated models"), _MODELS, tuple(models[:2_000])),
        ),
        tuple(_chart(board, dated) for board, dated in found.items()),
    )


def _periods(board: tuple[str, str], dated: Sequence[Dated]) -> Iterable[tuple[Cell, ...]]:
    by_period: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for each in dated:
        by_period[each.period][standing(each.score)] += 1
    for name in sorted(by_period):
        counts, n = by_period[name], by_period[name].total()
        shares = (cell for where in (INSIDE, ABOVE, BELOW) for cell in percent(rate(counts[where], n)))
        yield *board, period_name(name).in_one(), n, *shares


def _survived(board: tuple[str, str], dated: Sequence[Dated]) -> tuple[Cell, ...] | None:
    made = cuts(dated)
    if made is None:
        return None
    older, newer, size = made
    pair, before, still = survival(older, newer)
    left_out = len(set(older.unmeasured) | set(newer.unmeasured))
    return *board, size, before, still, *percent(rate(still, before)), left_out, *paired_cells(pair)


def _finding(found: Mapping[tuple[str, str], Sequence[Dated]], survived: Sequence[tuple[Cell, ...]], n: int) -> Both:
    zh, en = [], []
    for (benchmark, protocol), dated in found.items():
        when, name = half_life(dated), board_name(benchmark, protocol)
        zh.append(f"{name.zh}半衰期{f'：{period_name(when).zh}' if when else '尚未到達'}")
        en.append(f"{name.en}: {f'half-life reached in {when}' if when else 'half-life not reached'}")
    for row in survived:
        if row[5] is not None:
            name = board_name(str(row[0]), str(row[1]))
            zh.append(f"{name.zh}舊帶 {row[3]:,} 題中 {row[4]:,} 題（{row[5]:.1f}%）仍在新帶")
            en.append(f"{name.en}: {row[4]:,} of {row[3]:,} items of the older band ({row[5]:.1f}%) stay in the newer")
    return Both(f"{n} 個有日期的模型。" + "；".join(zh) + "。", f"{n} dated models. " + "; ".join(en) + ".")


def _chart(board: tuple[str, str], dated: Sequence[Dated]) -> Chart:
    by_period: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for each in dated:
        by_period[each.period][standing(each.score)] += 1
    marks: list[dict[str, Cell]] = [
        {"name": period_name(name).in_one(), "value": by_period[name][where], "series": STANDINGS[where].in_one()}
        for name in sorted(by_period)
        for where in (BELOW, INSIDE, ABOVE)
    ]
    called = board_name(*board)
    title = Both(f"{called.zh}：各時期的模型", f"{called.en}: models by period")
    return bar_chart(title, marks, Both("模型數", "models"), Both("相對於範圍", "against the band"))


_ENDS = (("", "", ""), ("_low", " 95% 下界", ", 95% low"), ("_high", " 95% 上界", ", 95% high"))
_PERIODS = (
    BENCHMARK,
    PROTOCOL,
    Column("period", Both("時期", "period")),
    Column("models", Both("模型數", "models")),
    *(
        Column(f"{name}{suffix}", Both(f"{zh}{zh_end}", f"{en}{en_end}"), "%")
        for name, zh, en in ((INSIDE, "範圍內", "inside"), (ABOVE, "以上", "above"), (BELOW, "以下", "below"))
        for suffix, zh_end, en_end in _ENDS
    ),
)
_SURVIVED = (
    BENCHMARK,
    PROTOCOL,
    Column("pool", Both("每池模型數", "models a pool")),
    Column("before", Both("舊帶題數", "items in the older band"), "items"),
    Column("still", Both("仍在新帶", "still in the newer"), "items"),
    Column("survival", Both("存留率", "survival"), "%"),
    Column("low", Both("95% 下界", "95% low"), "%"),
    Column("high", Both("95% 上界", "95% high"), "%"),
    Column("unmeasured", Both("未全部測過", "not measured by all"), "items"),
    *(
        replace(each, label=Both(each.label.zh.replace("答對", ""), each.label.en.replace("right only", "only in")))
        for each in paired_columns(Both("舊帶", "older band"), Both("新帶", "newer band"))
    ),
)
_MODELS = (
    BENCHMARK,
    PROTOCOL,
    MODEL,
    Column("released", Both("發布", "released")),
    Column("score", Both("正確率", "accuracy"), "%"),
    Column("standing", Both("位置", "against the band")),
)
