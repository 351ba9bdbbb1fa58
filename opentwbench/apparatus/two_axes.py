"""Study 7, two axes: does knowing examinations rank models as knowing Taiwan does, and whom does the reader move?

What belongs here: pairing the runs of a model on two benchmarks, agreement of the two rankings, shifts of groups.
What does not: which groups there are (the cards of models state it).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from opentwbench.apparatus.extraction import METHODS, READERS, Counts, count
from opentwbench.apparatus.figures import (
    METHOD,
    MODEL,
    RHO,
    RHO_HIGH,
    RHO_LOW,
    benchmark_name,
    outwards,
    p_value,
    places,
    plain,
    points,
    rho_interval,
    rounded,
    scatter,
    share,
    signed,
)
from opentwbench.apparatus.result import Both, Cell, Chart, Column, MissingInput, Study, Table
from opentwbench.apparatus.rows import Inputs, Run, shown
from opentwbench.statistics.intervals import binomial_tail, rounded_outwards
from opentwbench.statistics.paired import mcnemar
from opentwbench.statistics.ranks import Agreement, spearman, spearman_above, spearman_top
from opentwbench.statistics.student import mean_bounds

FIRST_AXES, SECOND_AXIS = ("exam", "exam_sample"), "formosa"
TOP, ABOVE = 20, 0.8
"""The parts of the field that are also looked at alone. Source: issue 5, study 7. The mart's rank_agreement cuts by the
same two (dbt_project.yml, `rank_top` and `rank_threshold`); a test holds them equal."""

SCOPES = {
    "all": Both("全部", "all"),
    f"top_{TOP}": Both(f"前 {TOP} 名", f"top {TOP}"),
    f"above_{ABOVE:.0%}": Both(f"{ABOVE:.0%} 以上", f"{ABOVE:.0%} and above"),
}

RANKED_BY = ("box", "pattern")
"""Protocols whose boards rank; a protocol made for a study is no axis."""

TITLE = Both("兩個軸", "Two axes")
QUESTION = Both(
    "考試知識與臺灣知識排出同樣的名次嗎？換一種讀法，哪一群模型會移動？",
    "Do knowing examinations and knowing Taiwan rank models alike, and which groups does the reader move?",
)
METHOD_TEXT = Both(
    "同一模型在兩個評測集各有一次完整執行（同協定、同預算、同精度）才列入。以 Spearman ρ（附 95% 區間）"
    "比較全部、前 20 名與第一軸正確率 80% 以上的模型。群組名次移動＝第一軸名次減第二軸名次（正值：在第二軸較前），"
    "是成對比較，一個模型計一次（多次執行"
    "取平均）：平均附 Student t 區間（1908），中位數附次序統計量區間，並以符號檢定（精確）檢驗。名次彼此相依，"
    "區間因此只是近似。n 為模型數。",
    "A model counts when it has a complete run on both benchmarks under one protocol, budget and precision. Spearman's "
    "rho with a 95% interval compares all, the top 20, and those at 80% or more on the first axis. A rank shift is "
    "the place on the first axis less that on the second (positive: higher on the second), paired by model; a model "
    "counts once, with the mean of its shifts where it was run more than once. The mean carries Student's t interval "
    "(1908), the median the order-statistic interval, and the exact sign test asks whether a group moves. Places in "
    "one field depend on each other, so the intervals are approximate. n counts models.",
)

GROUPS: Mapping[str, Both] = {
    "taiwan_tuned": Both("臺灣調校", "tuned for Taiwan"),
    "not_taiwan_tuned": Both("未做臺灣調校", "not tuned for Taiwan"),
    "open_weights": Both("開放權重", "open weights"),
    "closed_weights": Both("未開放權重", "closed weights"),
}


def groups_of(card: Mapping[str, Any]) -> list[str]:
    """The named groups of a model; what its card does not state puts it in none."""
    found = []
    for field, yes, no in (
        ("taiwan_tuned", "taiwan_tuned", "not_taiwan_tuned"),
        ("open_weights", "open_weights", "closed_weights"),
    ):
        if card.get(field) is not None:
            found.append(yes if card[field] else no)
    return found


@dataclass(frozen=True, slots=True)
class Pair:
    """One model on both axes."""

    name: str
    model: str
    first: Counts
    second: Counts


def pairs(runs: Sequence[Run], first: str, protocol: str) -> list[Pair]:
    """Models with a complete run on `first` and on Formosa under one protocol, budget and precision, by name."""
    held: dict[tuple[str, int, str], dict[str, Run]] = {}
    for run in runs:
        facts = run.facts
        if facts.complete and facts.protocol_name == protocol and facts.benchmark in (first, SECOND_AXIS):
            held.setdefault((facts.model, facts.max_tokens, facts.serving_precision), {})[facts.benchmark] = run
    whole = {key: of for key, of in sorted(held.items()) if len(of) == 2}
    models = [model for model, _, _ in whole]
    found = []
    for (model, budget, precision), of in whole.items():
        name = shown(model) if models.count(model) == 1 else f"{shown(model)} ({budget}, {precision})"
        pair = Pair(name, model, count(name, of[first].rows), count(name, of[SECOND_AXIS].rows))
        if pair.first.n and pair.second.n:
            found.append(pair)
    return found


def agreements(found: Sequence[Pair], method: str) -> dict[str, Agreement]:
    """Scope -> agreement of the two axes under one method: all, top_20 and above_80 of the first axis."""
    one, two = ([getattr(pair, axis).accuracy(method) for pair in found] for axis in ("first", "second"))
    return {
        "all": spearman(one, two),
        f"top_{TOP}": spearman_top(one, two, TOP),
        f"above_{ABOVE:.0%}": spearman_above(one, two, ABOVE),
    }


@dataclass(frozen=True, slots=True)
class Shift:
    """How the models of a group move from the first axis to the second."""

    models: int
    mean: float
    mean_low: float | None
    mean_high: float | None
    median: float
    low: float | None
    high: float | None
    sign_p: float


def shifts(found: Sequence[Pair], method: str) -> dict[str, int]:
    """Name -> places gained on the second axis."""
    one, two = (places([getattr(pair, axis).accuracy(method) for pair in found]) for axis in ("first", "second"))
    return {pair.name: a - b for pair, a, b in zip(found, one, two, strict=True)}


def by_model(found: Iterable[Pair], moved: Mapping[str, int]) -> list[float]:
    """One shift a model: runs of one model under two budgets are no two models, so their mean counts."""
    own: dict[str, list[int]] = {}
    for pair in found:
        own.setdefault(pair.model, []).append(moved[pair.name])
    return [fmean(each) for each in own.values()]


def shift(moved: Sequence[float]) -> Shift:
    """The shift of a group from one value a model; raises ValueError for an empty group.

    The interval of the mean is Student's t (statistics.student), None for one model or models that all move alike. The
    sign test leaves out models that do not move. The interval of the median are the order statistics that hold it
    with 95% (W. J. Conover, "Practical Nonparametric Statistics", 3rd ed., section 3.2); None below six models.
    """
    if not moved:
        raise ValueError("a group without a model")
    ups, downs = sum(each > 0 for each in moved), sum(each < 0 for each in moved)
    low, high = median_interval(moved)
    mean_low, mean_high = mean_bounds(moved) or (None, None)
    return Shift(len(moved), fmean(moved), mean_low, mean_high, median(moved), low, high, mcnemar(ups, downs).exact_p)


def median_interval(values: Iterable[float]) -> tuple[float | None, float | None]:
    """The 95% order-statistic interval of a median; None, None where too few values can hold it."""
    ordered = sorted(values)
    n = len(ordered)
    # The largest k with P(X <= k - 1) <= 2.5% for X ~ Binomial(n, 1/2): the k-th value from either end.
    k = max((k for k in range(1, n // 2 + 1) if binomial_tail(n - k + 1, n, 0.5) <= 0.025), default=0)
    return (ordered[k - 1], ordered[n - k]) if k else (None, None)


def study(inputs: Inputs) -> Study:
    """The study over every pair of axes; raises MissingInput when no model has both."""
    boards = {
        (first, protocol): found
        for first in FIRST_AXES
        for protocol in RANKED_BY
        if (found := pairs(inputs.runs, first, protocol))
    }
    if not boards:
        raise MissingInput(
            "沒有模型在考試與 Formosa 兩軸都有完整執行",
            "no model has complete runs on both an exam benchmark and Formosa",
        )
    agreed: list[tuple[Cell, ...]] = []
    moved: list[tuple[Cell, ...]] = []
    scores: list[tuple[Cell, ...]] = []
    for (first, protocol), found in boards.items():
        for method in METHODS:
            for scope, each in agreements(found, method).items():
                bounds = rho_interval(each.rho, each.n)
                agreed.append(
                    (first, protocol, method, SCOPES[scope].in_one(), each.n, *map(rounded, (each.rho, *bounds)))
                )
            by_name = shifts(found, method)
            moved += [(first, protocol, method, *row) for row in _groups(inputs, found, by_name)]
            scores += [
                (first, protocol, method, pair.name, *(share(c.accuracy(method)) for c in (pair.first, pair.second)),
                 by_name[pair.name])
                for pair in found
            ]  # fmt: skip
    return Study(
        "two_axes",
        TITLE,
        QUESTION,
        METHOD_TEXT,
        _finding(boards, inputs),
        max(len({pair.model for pair in found}) for found in boards.values()),
        inputs.label(inputs.runs),
        (
            Table(Both("兩軸的一致程度", "Agreement of the two axes"), _AGREED, tuple(agreed)),
            Table(Both("群組的名次移動", "Rank shifts of groups"), _MOVED, tuple(moved)),
            Table(Both("各模型的兩軸分數", "Both scores of each model"), _SCORES, tuple(scores[:2_000])),
        ),
        tuple(_chart(inputs, board, found) for board, found in boards.items()),
    )


def _groups(inputs: Inputs, found: Sequence[Pair], by_name: Mapping[str, int]) -> Iterable[tuple[Cell, ...]]:
    for group in GROUPS:
        members = _members(inputs, found, by_name, group)
        if members:
            each = shift(members)
            means = points(each.mean), rounded(each.mean_low), rounded(each.mean_high)
            medians = map(points, (each.median, each.low, each.high))
            yield GROUPS[group].in_one(), each.models, *means, *medians, p_value(each.sign_p)


def _members(inputs: Inputs, found: Sequence[Pair], by_name: Mapping[str, int], group: str) -> list[float]:
    return by_model((pair for pair in found if group in groups_of(inputs.card(pair.model))), by_name)


def _finding(boards: Mapping[tuple[str, str], Sequence[Pair]], inputs: Inputs) -> Both:
    (first, protocol), found = next(iter(boards.items()))
    method = "strict" if protocol == "box" else "twinkle-pattern"
    agreement = agreements(found, method)["all"]
    tuned = _members(inputs, found, shifts(found, method), "taiwan_tuned")
    one, two = benchmark_name(first), benchmark_name(SECOND_AXIS)
    if agreement.rho is None:
        zh, en = "模型太少，無法計算 ρ", "too few models for a rho"
    else:
        low, high = rho_interval(agreement.rho, agreement.n)
        zh, en = f"ρ＝{plain(agreement.rho)}", f"rho {plain(agreement.rho)}"
        if low is not None and high is not None:
            ends = outwards(low, high)
            zh, en = f"{zh}（95% 區間 {ends[0]} 至 {ends[1]}）", f"{en} (95% {ends[0]} to {ends[1]})"
    if tuned:
        told = _told(shift(tuned))
        zh, en = f"{zh}；{told.zh}", f"{en}; {told.en}"
    models = len({pair.model for pair in found})
    return Both(
        f"{one.zh}與{two.zh}，{models} 個模型（{READERS[method].zh}）：{zh}。",
        f"{one.en} and {two.en}, {models} models ({READERS[method].en}): {en}.",
    )


def _told(each: Shift) -> Both:
    """The shift of the models tuned for Taiwan in a sentence: n, mean with its interval, paired test."""
    zh, en = f"臺灣調校模型（n = {each.models}）", f"models tuned for Taiwan (n = {each.models})"
    zh += f"在第二軸的名次平均移動 {signed(each.mean)}"
    en += f" move by a mean of {signed(each.mean)} places"
    if each.mean_low is None or each.mean_high is None:
        zh, en = f"{zh}（沒有區間：模型太少或移動全同）", f"{en} (no interval: too few models, or all move alike)"
    else:
        low, high = map(signed, rounded_outwards(each.mean_low, each.mean_high, 1))
        zh, en = f"{zh}（95% 區間 {low} 至 {high}）", f"{en} (95% {low} to {high})"
    zh += f"，中位數 {signed(each.median)}，成對符號檢定 p = {each.sign_p:.3f}"
    return Both(zh, f"{en}, median {signed(each.median)}, paired sign test p = {each.sign_p:.3f}")


_TUNED, _OTHER = Both("臺灣調校", "Taiwan-tuned").in_one(), Both("其他", "other").in_one()


def _chart(inputs: Inputs, board: tuple[str, str], found: Sequence[Pair]) -> Chart:
    first, protocol = board
    method = "strict" if protocol == "box" else "twinkle-pattern"
    marks = [
        {
            "name": pair.name,
            "x": share(pair.first.accuracy(method)),
            "y": share(pair.second.accuracy(method)),
            "series": _TUNED if inputs.card(pair.model).get("taiwan_tuned") else _OTHER,
        }
        for pair in found
    ]
    # Others first, so that models tuned for Taiwan have the second colour here as on the leaderboard.
    marks.sort(key=lambda mark: mark["series"] == _TUNED)
    one, two, reader = benchmark_name(first), benchmark_name(SECOND_AXIS), READERS[method]
    title = Both(f"{one.zh}與{two.zh}（{reader.zh}）", f"{one.en} and {two.en} ({reader.en})")
    x, y = (Both(f"{name.zh}，正確率 (%)", f"{name.en}, accuracy (%)") for name in (one, two))
    return scatter(title, marks, x, y, Both("群組", "group"))


_AXIS = Column("first_axis", Both("第一軸", "first axis"))
_PROTOCOL = Column("protocol", Both("協定", "protocol"))
_MODELS = Column("models", Both("模型數", "models"))
_AGREED = (_AXIS, _PROTOCOL, METHOD, Column("scope", Both("範圍", "scope")), _MODELS, RHO, RHO_LOW, RHO_HIGH)
_MOVED = (
    _AXIS,
    _PROTOCOL,
    METHOD,
    Column("group", Both("群組", "group")),
    _MODELS,
    Column("mean", Both("平均移動", "mean shift"), "ranks"),
    Column("mean_low", Both("平均 95% 下界", "mean, 95% low"), "ranks"),
    Column("mean_high", Both("平均 95% 上界", "mean, 95% high"), "ranks"),
    Column("median", Both("中位數移動", "median shift"), "ranks"),
    Column("median_low", Both("中位數 95% 下界", "median, 95% low"), "ranks"),
    Column("median_high", Both("中位數 95% 上界", "median, 95% high"), "ranks"),
    Column("sign_p", Both("符號檢定 p", "sign test, exact p")),
)
_SCORES = (
    _AXIS,
    _PROTOCOL,
    METHOD,
    MODEL,
    Column("first", Both("第一軸正確率", "first axis"), "%"),
    Column("second", Both("第二軸正確率", "second axis"), "%"),
    Column("shift", Both("名次移動", "rank shift"), "ranks"),
)
