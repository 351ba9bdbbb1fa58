"""Study 10, failures in free text: how often each model writes a wrong Minguo year, a glyph that is none, Simplified
characters, or a Chinese name in Latin letters.

What belongs here: counting findings over replies. What does not: the detectors (detectors.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import fsum
from types import MappingProxyType
from typing import NamedTuple

from opentwbench.apparatus.detectors import DETECTORS, each, han, visible
from opentwbench.apparatus.figures import HIGH, LOW, MODEL, bar_chart, p_value, points, share
from opentwbench.apparatus.result import Both, Cell, Column, MissingInput, Study, Table
from opentwbench.apparatus.rows import CORRECT, Facts, Inputs, Run, shown
from opentwbench.apparatus.two_axes import RANKED_BY
from opentwbench.evaluation.model import Graded
from opentwbench.statistics.intervals import Interval, mean_interval
from opentwbench.statistics.paired import mcnemar

TITLE = Both("自由文字裡的失誤", "Failures in free text")
QUESTION = Both(
    "模型寫出的說明裡，各有多少民國年換算錯誤、造字、簡體字，以及該寫中文卻用拼音的人名？",
    "How often do replies hold a wrong Minguo year, an invented glyph, Simplified characters or a romanised name?",
)
METHOD_TEXT = Both(
    "讀每則回覆的可見文字（最後一個 </think> 之後），以四個偵測器檢查，每個都以植入的正例與原生負例測過（次數見文件）。"
    "同一題在多個評測集或長度上限下的回覆並非獨立，因此一題只計一次：先求該題各則回覆中有失誤的占比，再對題目取平均；"
    "95% 區間以題數為樣本數的 Wilson 式（Wilson, 1927；0 與 1 之間的值，變異數不超過二項分布，Bhatia & Davis, 2000，"
    "故偏保守）。簡體另計每萬個漢字的處數。只計第一次重複。同一模型以同一協定在兩個評測集遇到同一題時，"
    "以 McNemar 精確檢定比較該失誤是否出現。n 為題數，每個模型的每題計一次。",
    "The visible text of every reply (after the last </think>) is read by four detectors, each tested on planted "
    "positives and native negatives (counts in the documentation). Replies to one item under several benchmarks or "
    "budgets are not independent, so an item counts once: a rate is the mean over items of the share of an item's "
    "replies with at least one finding. Its 95% interval is Wilson's (1927) at as many trials as items, conservative "
    "because values within 0 and 1 vary no more than yes and no (Bhatia and Davis, 2000). Simplified characters are "
    "also counted per 10,000 Chinese ones. First repeat only. Where a model met one item in two benchmarks under one "
    "protocol, McNemar's exact test asks whether the failure comes and goes. n counts items, each once a model.",
)

LABELS: Mapping[str, Both] = MappingProxyType(
    {
        "minguo": Both("民國年換算錯誤", "wrong Minguo year"),
        "glyphs": Both("造字或私用區字元", "invented or private-use glyph"),
        "simplified": Both("簡體字", "Simplified characters"),
        "romanised": Both("拼音人名", "romanised name"),
    }
)

EXAMPLE = 40
"""Most characters of an example: enough to see the passage, too few to be a reply."""


class Condition(NamedTuple):
    """Under what a model answered an item once."""

    benchmark: str
    protocol_id: str
    serving_precision: str


_RIGHT_BIT = 1 << len(DETECTORS)
"""The bit of a right answer, above those of the detectors in their order."""


def _bit(kind: str) -> int:
    return 1 << tuple(DETECTORS).index(kind)


@dataclass
class Counts:
    """One model's replies under each condition, and what was found in them."""

    characters: int = 0
    """Chinese characters."""
    findings: Counter[str] = field(default_factory=Counter)
    passages: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(kind, passage) -> times."""
    answers: dict[Condition, dict[str, int]] = field(default_factory=dict)
    """Condition -> item -> one bit a detector that fired, and one for a right answer: 110 models times 23,717 items."""

    @property
    def replies(self) -> int:
        """Replies under every condition."""
        return sum(map(len, self.answers.values()))

    def add(self, graded: Graded, facts: Facts) -> None:
        """Count one reply; an error is none."""
        response = graded.response
        if response.error:
            return
        text = visible(response.content)
        found = dict(each(text))
        bits = sum(_bit(kind) for kind in found) | (_RIGHT_BIT if graded.outcomes[facts.method] == CORRECT else 0)
        self.characters += han(text)
        for kind, passages in found.items():
            self.findings[kind] += sum(len(p.text) for p in passages) if kind == "simplified" else len(passages)
            self.passages.update((kind, p.text[:EXAMPLE]) for p in passages)
        condition = Condition(facts.benchmark, facts.protocol_id, facts.serving_precision)
        self.answers.setdefault(condition, {})[response.item_id] = bits


def count(runs: Iterable[Run]) -> dict[str, Counts]:
    """Model -> counts over its runs, models in order of their first run."""
    found: dict[str, Counts] = {}
    for run in runs:
        counts = found.setdefault(shown(run.facts.model), Counts())
        for graded in run.texts:
            counts.add(graded, run.facts)
    return {model: counts for model, counts in found.items() if counts.replies}


class Tally(NamedTuple):
    """The replies to one item: of each kind, how many hold it, and how many of those are right."""

    replies: int
    right: int
    having: Counter[str]
    right_having: Counter[str]


def by_item(models: Iterable[Counts]) -> dict[str, Tally]:
    """Item -> its replies over all conditions of these models."""
    bits: dict[str, Counter[int]] = {}
    for counts in models:
        for answers in counts.answers.values():
            for item, each_bits in answers.items():
                bits.setdefault(item, Counter())[each_bits] += 1
    return {item: _tally(of) for item, of in bits.items()}


def _tally(bits: Mapping[int, int]) -> Tally:
    having: Counter[str] = Counter()
    right_having: Counter[str] = Counter()
    for found, times in bits.items():
        for kind in DETECTORS:
            if found & _bit(kind):
                having[kind] += times
                right_having[kind] += times if found & _RIGHT_BIT else 0
    right = sum(times for found, times in bits.items() if found & _RIGHT_BIT)
    return Tally(sum(bits.values()), right, having, right_having)


class Mean(NamedTuple):
    """A share in which every item counts once, with its 95% interval; None of no item."""

    items: int
    value: float | None
    low: float
    high: float

    def cells(self) -> tuple[Cell, Cell, Cell]:
        """The share in percent with the ends of its interval; None where nothing was counted."""
        return (None, None, None) if self.value is None else (share(self.value), share(self.low), share(self.high))


def mean(shares: Sequence[float]) -> Mean:
    """The mean of one share an item."""
    bounds = mean_interval(shares)
    return Mean(len(shares), fsum(shares) / len(shares) if shares else None, bounds.low, bounds.high)


def rate_of(tallies: Iterable[Tally], kind: str) -> Mean:
    """How often a failure occurs."""
    return mean([each.having[kind] / each.replies for each in tallies])


def comes_and_goes(counts: Counts, kind: str) -> tuple[int, int, int]:
    """(items met in two benchmarks under one protocol and precision, finding in the first only, in the second only)."""
    for one, two in combinations(sorted(counts.answers), 2):
        if one.benchmark != two.benchmark and one[1:] == two[1:]:
            first, second, bit = counts.answers[one], counts.answers[two], _bit(kind)
            shared = first.keys() & second.keys()
            only_first = sum(bool(first[item] & bit) and not second[item] & bit for item in shared)
            only_second = sum(bool(second[item] & bit) and not first[item] & bit for item in shared)
            return len(shared), only_first, only_second
    return 0, 0, 0


def study(inputs: Inputs) -> Study:
    """The study over complete and incomplete runs alike; raises MissingInput when no reply is stored."""
    # One protocol a model, so that the study's own prompts do not count twice.
    runs = [run for run in inputs.runs if run.facts.protocol_name in RANKED_BY]
    found = count(runs)
    if not found:
        raise MissingInput("沒有保存任何回覆文字", "no stored reply has a text")
    tallies = {model: by_item([counts]) for model, counts in found.items()}
    rates = {(model, kind): rate_of(of.values(), kind) for model, of in tallies.items() for kind in DETECTORS}
    everything = by_item(found.values())
    n = sum(map(len, tallies.values()))
    table = [(model, *_row(kind, found[model], tallies[model], rate)) for (model, kind), rate in rates.items()]
    return Study(
        "free_text",
        TITLE,
        QUESTION,
        METHOD_TEXT,
        _finding(rates, everything, n),
        n,
        inputs.label(runs),
        (
            Table(Both("各模型的失誤比例", "Rates by model"), _RATES, tuple(table[:2_000])),
            Table(Both("失誤與答對", "Failures and right answers"), _RIGHT, tuple(_right(everything.values()))),
            Table(Both("同題再問一次", "The same item asked again"), _AGAIN, tuple(_again(found))),
            Table(Both("最常見的片段", "Most frequent passages"), _PASSAGES, tuple(_passages(found))),
        ),
        (
            bar_chart(
                Both("各模型的失誤比例", "Rates of failures by model"),
                [
                    {"name": model, "value": share(rate.value), "series": _both(kind)}
                    for (model, kind), rate in rates.items()
                ],
                Both("比例 (%)，一題計一次", "rate (%), an item counts once"),
                Both("失誤", "failure"),
            ),
        ),
    )


def _both(kind: str) -> str:
    return LABELS[kind].in_one()


def _row(kind: str, counts: Counts, tallies: Mapping[str, Tally], rate: Mean) -> tuple[Cell, ...]:
    density = 10_000 * counts.findings[kind] / counts.characters if counts.characters else None
    found = sum(each.having[kind] for each in tallies.values())
    return _both(kind), rate.items, counts.replies, found, *rate.cells(), points(density)


def _right(tallies: Iterable[Tally]) -> Iterable[tuple[Cell, ...]]:
    every = list(tallies)
    for kind in DETECTORS:
        having = mean([each.right_having[kind] / each.having[kind] for each in every if each.having[kind]])
        others = [each for each in every if each.replies > each.having[kind]]
        rest = mean([(e.right - e.right_having[kind]) / (e.replies - e.having[kind]) for e in others])
        yield _both(kind), having.items, *having.cells(), rest.items, *rest.cells()


def _again(found: Mapping[str, Counts]) -> Iterable[tuple[Cell, ...]]:
    for model, counts in found.items():
        for kind in DETECTORS:
            shared, one, two = comes_and_goes(counts, kind)
            if shared and counts.findings[kind]:
                yield model, _both(kind), shared, one, two, p_value(mcnemar(one, two).exact_p)


def _passages(found: Mapping[str, Counts]) -> Iterable[tuple[Cell, ...]]:
    pooled: Counter[tuple[str, str]] = Counter()
    for counts in found.values():
        pooled.update(counts.passages)
    for kind in DETECTORS:
        own = sorted(((times, text) for (of, text), times in pooled.items() if of == kind), key=lambda x: (-x[0], x[1]))
        for times, text in own[:10]:
            codes = " ".join(f"U+{ord(char):04X}" for char in text[:8]) if kind == "glyphs" else ""
            yield _both(kind), codes or text, times


def _finding(rates: Mapping[tuple[str, str], Mean], everything: Mapping[str, Tally], n: int) -> Both:
    zh: list[str] = []
    en: list[str] = []
    for kind in DETECTORS:
        of = rate_of(everything.values(), kind)
        most = max(rate.value or 0.0 for (_, of_kind), rate in rates.items() if of_kind == kind)
        bounds = Interval(of.low, of.high).shown()
        zh.append(f"{LABELS[kind].zh} {of.value or 0.0:.2%}（95% 區間 {bounds}；最高的模型 {most:.1%}）")
        en.append(f"{LABELS[kind].en} {of.value or 0.0:.2%} (95% {bounds}; at most {most:.1%} in a model)")
    models = len({model for model, _ in rates})
    return Both(
        f"{models} 個模型、{len(everything):,} 題（每個模型的每題計一次，n = {n:,}）：" + "、".join(zh) + "。",
        f"{models} models, {len(everything):,} items (each once a model, n = {n:,}): " + ", ".join(en) + ".",
    )


_KIND = Column("failure", Both("失誤", "failure"))
_RATES = (
    MODEL,
    _KIND,
    Column("items", Both("題數", "items"), "items"),
    Column("replies", Both("回覆數", "replies"), "replies"),
    Column("found", Both("有失誤的回覆", "with a finding"), "replies"),
    Column("share", Both("比例，一題計一次", "rate, an item once"), "%"),
    LOW,
    HIGH,
    Column("density", Both("每萬漢字", "per 10,000 Chinese characters")),
)
_RIGHT = (
    _KIND,
    Column("having", Both("有失誤的題數", "items with a finding"), "items"),
    Column("right", Both("有失誤者答對", "right, with"), "%"),
    Column("right_low", Both("95% 下界", "95% low"), "%"),
    Column("right_high", Both("95% 上界", "95% high"), "%"),
    Column("others", Both("無失誤的題數", "items without"), "items"),
    Column("others_right", Both("無失誤者答對", "right, without"), "%"),
    Column("others_low", Both("95% 下界", "95% low"), "%"),
    Column("others_high", Both("95% 上界", "95% high"), "%"),
)
_AGAIN = (
    MODEL,
    _KIND,
    Column("n", Both("兩次都答的題目", "items met twice"), "items"),
    Column("only_first", Both("只在第一次", "in the first only"), "items"),
    Column("only_second", Both("只在第二次", "in the second only"), "items"),
    Column("exact_p", Both("McNemar 精確檢定 p", "McNemar, exact p")),
)
_PASSAGES = (
    _KIND,
    Column("passage", Both("片段（造字以碼位表示）", "passage (glyphs as code points)")),
    Column("times", Both("次數", "times")),
)
