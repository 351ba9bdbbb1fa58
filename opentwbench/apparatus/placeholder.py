"""Study 2, prompt placeholder: a system prompt that shows a literal placeholder in the box, against the corrected one.

What belongs here: pairing the runs under both prompts, parse rates, re-ranking. What does not: the prompts
(opentwbench.evaluation.protocols). The published defective wording is not known: ours is labelled a reconstruction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from opentwbench.apparatus.figures import (
    BENCHMARK,
    MODEL,
    RHO,
    RHO_HIGH,
    RHO_LOW,
    SIGNIFICANT,
    Paired,
    benchmark_name,
    paired,
    paired_cells,
    paired_columns,
    percent,
    places,
    range_chart,
    rho_interval,
    rounded,
    signed,
)
from opentwbench.apparatus.result import Both, Cell, Column, MissingInput, Study, Table
from opentwbench.apparatus.rows import Inputs, Run, shown
from opentwbench.evaluation.model import Rate
from opentwbench.evaluation.protocols import BOX, BOX_PLACEHOLDER
from opentwbench.evaluation.scoring import rate
from opentwbench.statistics.ranks import spearman

TITLE = Both("提示中的佔位字元", "A placeholder in the prompt")
QUESTION = Both(
    "系統提示若在方框裡寫了一個佔位字元，會有多少回覆照抄、讀不到答案？名次會變嗎？",
    "How many replies become unreadable when the system prompt shows a placeholder in the box, and do ranks move?",
)
METHOD_TEXT = Both(
    "同一模型、評測集、預算與精度，以修正後的提示與含佔位字元的提示各跑一次，逐題配對。可擷取率與正確率各附 95% "
    "Wilson 區間，"
    "並以 McNemar 精確檢定比較；名次在兩種提示都有完整執行的模型之間計算。n 為配對題數。",
    "The same model, benchmark, budget and precision under the corrected prompt and under one with a placeholder, "
    "paired "
    "by item. Parse rate and accuracy carry 95% Wilson intervals and are compared by McNemar's exact test; ranks are "
    "formed among the models with complete runs under both. n counts pairs.",
)
RECONSTRUCTION = Both(
    "重建：當時有缺陷的提示全文未公開，此處為我們的重建",
    "reconstruction: the defective wording that was in use is not published, ours stands in for it",
)


@dataclass(frozen=True, slots=True)
class Effect:
    """One model under both prompts; `first` is the corrected one."""

    model: str
    benchmark: str
    parsed: Paired
    right: Paired
    parsed_rates: tuple[Rate, Rate]
    right_rates: tuple[Rate, Rate]


def effect(name: str, corrected: Run, planted: Run) -> Effect | None:
    """Compare two runs by item, under the method that ranks; None when no item has a reply in both."""
    method = corrected.facts.method
    sides = [
        {row.item_id: (row.read(method), row.right(method)) for row in run.rows if row.is_reply}
        for run in (corrected, planted)
    ]
    shared = sides[0].keys() & sides[1].keys()
    if not shared:
        return None
    parsed, right = ([{item: side[item][n] for item in shared} for side in sides] for n in (0, 1))
    return Effect(
        name,
        corrected.facts.benchmark,
        paired(*parsed),
        paired(*right),
        (_rate(parsed[0].values()), _rate(parsed[1].values())),
        (_rate(right[0].values()), _rate(right[1].values())),
    )


def _rate(hits: Iterable[bool]) -> Rate:
    values = list(hits)
    return rate(sum(values), len(values))


def prompt_pairs(runs: Sequence[Run]) -> list[tuple[str, Run, Run]]:
    """(name, run under the corrected prompt, run under the placeholder), complete and alike in all else, in order."""
    held: dict[tuple[str, str, int, str], dict[str, Run]] = {}
    for run in runs:
        facts = run.facts
        if facts.complete and facts.protocol_name in (BOX.name, BOX_PLACEHOLDER.name):
            cell = (facts.benchmark, facts.model, facts.max_tokens, facts.serving_precision)
            held.setdefault(cell, {})[facts.protocol_name] = run
    whole = {cell: of for cell, of in sorted(held.items()) if len(of) == 2}
    twice = [cell[:2] for cell in whole]
    return [
        (
            shown(cell[1]) if twice.count(cell[:2]) == 1 else f"{shown(cell[1])} ({cell[2]}, {cell[3]})",
            of[BOX.name],
            of[BOX_PLACEHOLDER.name],
        )
        for cell, of in whole.items()
    ]


def study(inputs: Inputs) -> Study:
    """The study; raises MissingInput when no model has complete runs under both prompts."""
    compared = [(runs, effect(*runs)) for runs in prompt_pairs(inputs.runs)]
    found = [each for _, each in compared if each is not None]
    if not found:
        raise MissingInput(
            f"沒有模型在 {BOX.name} 與 {BOX_PLACEHOLDER.name} 兩種提示下都有完整執行",
            f"no model has complete runs under both {BOX.name} and {BOX_PLACEHOLDER.name} "
            f"(otb evaluate --protocol {BOX_PLACEHOLDER.name})",
        )
    n = sum(each.parsed.n for each in found)
    ranked = _ranks(found)
    label = inputs.label(run for (_, *runs), _ in compared for run in runs)
    labelled = (
        Both(f"{RECONSTRUCTION.zh}；{label.zh}", f"{RECONSTRUCTION.en}; {label.en}") if label.en else RECONSTRUCTION
    )
    return Study(
        "prompt_placeholder",
        TITLE,
        QUESTION,
        METHOD_TEXT,
        _finding(found, n, ranked),
        n,
        labelled,
        (
            Table(Both("可擷取率", "Parse rate"), _PARSED, tuple(map(_parsed, found))),
            Table(Both("正確率與名次", "Accuracy and rank"), _RIGHT, ranked),
            Table(Both("名次的一致程度", "Agreement of the rankings"), _AGREEMENT, _agreement(found)),
            Table(Both("兩種系統提示", "The two system prompts"), _PROMPTS, _prompts()),
        ),
        (
            range_chart(
                Both("兩種提示的可擷取率", "Parse rate under both prompts"),
                [mark for each in found for mark in _marks(each, found)],
                Both("可擷取率 (%)", "parse rate (%)"),
                Both("系統提示", "prompt"),
            ),
        ),
    )


def _finding(found: Sequence[Effect], n: int, ranked: Sequence[tuple[Cell, ...]]) -> Both:
    worst = min(found, key=lambda each: each.parsed.points or 0.0)
    lost = sum(each.parsed.only_first for each in found)
    gained = sum(each.parsed.only_second for each in found)
    differ = sum(each.parsed.test.exact_p < SIGNIFICANT for each in found)
    moved = sum(row[2] != row[3] for row in ranked)
    points = signed(worst.parsed.points or 0.0)
    return Both(
        f"{len(found)} 個模型、{n:,} 題配對：{lost:,} 則回覆因佔位字元讀不到、{gained:,} 則相反；{differ} "
        "個模型的可擷取率"
        f"有顯著差異，最多 {points} 個百分點；{moved} 個模型名次改變。",
        f"{len(found)} models, {n:,} paired items: {lost:,} replies become unreadable under the placeholder, "
        f"{gained:,} "
        f"readable; the parse rate differs for {differ} models (p < 0.05), by {points} points at most; "
        f"{moved} models change rank.",
    )


def _parsed(each: Effect) -> tuple[Cell, ...]:
    return each.benchmark, each.model, *(c for r in each.parsed_rates for c in percent(r)), *paired_cells(each.parsed)


def _ranks(found: Sequence[Effect]) -> tuple[tuple[Cell, ...], ...]:
    rows: list[tuple[Cell, ...]] = []
    for benchmark in sorted({each.benchmark for each in found}):
        board = [each for each in found if each.benchmark == benchmark]
        ranks = [places([each.right_rates[n].value or 0.0 for each in board]) for n in (0, 1)]
        for each, one, two in zip(board, *ranks, strict=True):
            values = (percent(each.right_rates[0])[0], percent(each.right_rates[1])[0])
            rows.append((benchmark, each.model, one, two, *values, *paired_cells(each.right)))
    return tuple(rows)


def _agreement(found: Sequence[Effect]) -> tuple[tuple[Cell, ...], ...]:
    rows: list[tuple[Cell, ...]] = []
    for benchmark in sorted({each.benchmark for each in found}):
        board = [each for each in found if each.benchmark == benchmark]
        scores = [[each.right_rates[n].value or 0.0 for each in board] for n in (0, 1)]
        agreed = spearman(*scores)
        rows.append((benchmark, agreed.n, *map(rounded, (agreed.rho, *rho_interval(agreed.rho, agreed.n)))))
    return tuple(rows)


def _prompts() -> tuple[tuple[Cell, ...], ...]:
    return tuple((each.name, each.protocol_id, each.system or "") for each in (BOX, BOX_PLACEHOLDER))


def _called(each: Effect, found: Sequence[Effect]) -> str:
    if len({other.benchmark for other in found}) == 1:
        return each.model
    name = benchmark_name(each.benchmark)
    return Both(f"{each.model}，{name.zh}", f"{each.model}, {name.en}").in_one()


def _marks(each: Effect, found: Sequence[Effect]) -> list[dict[str, Cell]]:
    return [
        {"name": _called(each, found), "series": series.in_one(), "value": value, "low": low, "high": high}
        for series, of in zip((_CORRECTED, _PLANTED), each.parsed_rates, strict=True)
        for value, low, high in (percent(of),)
    ]


_CORRECTED, _PLANTED = Both("修正後", "corrected"), Both("佔位字元", "placeholder")
_PARSED = (
    BENCHMARK,
    MODEL,
    Column("corrected", Both("修正後可擷取率", "parsed, corrected"), "%"),
    Column("corrected_low", Both("95% 下界", "95% low"), "%"),
    Column("corrected_high", Both("95% 上界", "95% high"), "%"),
    Column("placeholder", Both("佔位字元可擷取率", "parsed, placeholder"), "%"),
    Column("placeholder_low", Both("95% 下界", "95% low"), "%"),
    Column("placeholder_high", Both("95% 上界", "95% high"), "%"),
    *paired_columns(_CORRECTED, _PLANTED),
)
_RIGHT = (
    BENCHMARK,
    MODEL,
    Column("rank_corrected", Both("修正後名次", "rank, corrected")),
    Column("rank_placeholder", Both("佔位字元名次", "rank, placeholder")),
    Column("corrected", Both("修正後正確率", "accuracy, corrected"), "%"),
    Column("placeholder", Both("佔位字元正確率", "accuracy, placeholder"), "%"),
    *paired_columns(_CORRECTED, _PLANTED),
)
_AGREEMENT = (BENCHMARK, Column("models", Both("模型數", "models")), RHO, RHO_LOW, RHO_HIGH)
_PROMPTS = (
    Column("protocol", Both("協定", "protocol")),
    Column("protocol_id", Both("協定識別碼", "protocol id")),
    Column("system", Both("系統提示", "system prompt")),
)
