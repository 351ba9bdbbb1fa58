"""Study 8, sample against population: a sample weighs subjects alike, and how much of its shift that explains.

What belongs here: placing full runs on the sample's scale. What does not: the draw and the re-weighting itself
(opentwbench.evaluation.sample).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from opentwbench.apparatus.figures import (
    MODEL,
    PROTOCOL,
    N,
    Paired,
    paired,
    paired_cells,
    paired_columns,
    points,
    range_chart,
    share,
    signed,
)
from opentwbench.apparatus.noise_floor import right
from opentwbench.apparatus.result import Both, Cell, Column, MissingInput, Study, Table
from opentwbench.apparatus.rows import Inputs, Run, boards, names
from opentwbench.evaluation.model import Rate
from opentwbench.evaluation.sample import Anchor, anchor
from opentwbench.evaluation.scoring import rate

POPULATION, SAMPLE = "exam", "exam_sample"

TITLE = Both("抽樣與全體", "Sample against population")
QUESTION = Both(
    "分層抽樣的分數與全體題目的分數差多少？其中多少只是科目組成不同？",
    "How far is the score of the stratified sample from that of all items, and how much of it is composition?",
)
METHOD_TEXT = Both(
    "抽樣的組成取自 exam_sample 的完整執行。全體執行的各科正確率依抽樣各科題數重新加權（錨定），附 95% 區間；"
    "組成效應＝錨定分數－全體分數，總差距＝同一執行在抽樣題上的分數－全體分數，其餘為科內抽樣。"
    "同一模型兩次作答於相同題目者以 McNemar 精確檢定配對。n 為全體執行的回覆數。",
    "The composition is that of the complete exam_sample runs. A full run's accuracies by subject are re-weighted to "
    "it "
    "(the anchor), with a 95% interval. The composition shift is anchor less population; the whole shift is the same "
    "run's score on the sampled items less population; the rest is the draw within subjects. Where a model answered "
    "the "
    "same items in both runs, McNemar's exact test pairs them. n counts replies of full runs.",
)


@dataclass(frozen=True, slots=True)
class Placed:
    """A full run against the sample."""

    name: str
    protocol: str
    replies: int
    anchor: Anchor
    on_items: Rate
    """The same run on the sampled items alone."""
    again: Rate | None
    """The model's own run of the sample, None when it has none."""
    pair: Paired
    """The sampled items answered in both runs; `first` is the full run."""

    @property
    def whole(self) -> float:
        """Score on the sampled items less population, in points."""
        return 100 * ((self.on_items.value or 0.0) - self.anchor.population)

    @property
    def rest(self) -> float:
        """What composition does not explain, in points."""
        return self.whole - 100 * self.anchor.shift

    @property
    def inside(self) -> bool:
        """Whether the score on the sampled items lies in the anchor's interval."""
        return self.anchor.interval.low <= (self.on_items.value or 0.0) <= self.anchor.interval.high


def composition(runs: Iterable[Run], subjects: Mapping[str, str]) -> dict[str, str]:
    """Item id -> subject, of every item that a run of the sample asked and whose subject is known."""
    found = {row.item_id for run in runs for row in run.rows}
    return {item: subjects[item] for item in sorted(found) if subjects.get(item)}


def place(
    full: Run, name: str, drawn: Mapping[str, str], subjects: Mapping[str, str], sample: Run | None
) -> Placed | None:
    """A full run on the sample's scale; None when a drawn subject has no reply of it, which the anchor cannot weigh."""
    answered = right(full)
    by_subject: Counter[tuple[str, bool]] = Counter(
        (subjects[item], hit) for item, hit in answered.items() if subjects.get(item)
    )
    rates = {
        subject: rate(by_subject[subject, True], by_subject[subject, True] + by_subject[subject, False])
        for subject, _ in by_subject
    }
    weights = Counter(drawn.values())
    if not weights or any(subject not in rates for subject in weights):
        return None
    own = [hit for item, hit in answered.items() if item in drawn]
    second = right(sample) if sample else {}
    return Placed(
        name,
        full.facts.protocol_name,
        sum(each.n for each in rates.values()),
        anchor(rates, weights),
        rate(sum(own), len(own)),
        rate(sum(second.values()), len(second)) if second else None,
        paired(answered, second),
    )


def study(inputs: Inputs) -> Study:
    """The study; raises MissingInput without complete runs of both the population and the sample."""
    found: list[Placed] = []
    left_out = 0
    sizes: list[tuple[Cell, ...]] = []
    used: list[Run] = []
    everything = boards(inputs.runs)
    for (benchmark, protocol), runs in everything.items():
        samples = everything.get((SAMPLE, protocol), [])
        if benchmark != POPULATION or not samples:
            continue
        drawn = composition(samples, inputs.subjects)
        called = names(runs)
        for run in runs:
            placed = place(run, called[run.facts.run_id], drawn, inputs.subjects, _same(run, samples))
            left_out += placed is None
            found += [placed] if placed else []
        used += [*runs, *samples]
        sizes += _sizes(protocol, runs, drawn, inputs.subjects)
    if not found:
        raise MissingInput(
            "沒有同時具備全體（exam）與抽樣（exam_sample）的完整執行",
            "no protocol has complete runs of both the population (exam) and the sample (exam_sample)",
        )
    mean_shift = sum(100 * each.anchor.shift for each in found) / len(found)
    mean_whole = sum(each.whole for each in found) / len(found)
    told = decomposed(mean_whole, mean_shift)
    inside = sum(each.inside for each in found)
    out = f"；{left_out} 次執行缺少科目" if left_out else ""
    out_en = f"; {left_out} runs lack a drawn subject and are left out" if left_out else ""
    return Study(
        "sample_population",
        TITLE,
        QUESTION,
        METHOD_TEXT,
        Both(
            f"{len(found)} 次全體執行：{told.zh}；{inside} 次落在錨定的 95% 區間內{out}。",
            f"{len(found)} full runs: {told.en}; {inside} lie inside the 95% interval of their anchor{out_en}.",
        ),
        sum(each.replies for each in found),
        inputs.label(used),
        (
            Table(Both("全體與抽樣的分數", "Scores on population and sample"), _SCORES, tuple(map(_scores, found))),
            Table(Both("同題兩次作答", "The same items answered twice"), _TWICE, tuple(_twice(found))),
            Table(Both("科目組成", "Composition by subject"), _SIZES, tuple(sizes[:2_000])),
        ),
        (
            range_chart(
                Both("錨定分數與抽樣分數", "Anchored score and score on the sample"),
                [row for each in found for row in _marks(each)],
                Both("正確率 (%)", "accuracy (%)"),
                Both("分數", "score"),
            ),
        ),
    )


def decomposed(whole: float, composition_shift: float) -> Both:
    """A mean shift in points as the sum of its two parts, in words that hold whatever their signs and sizes.

    A part is no share of the whole: of +0.3 composition may be +0.6, and of 0.0 it may be -1.2. The rest is what the
    two printed figures leave, so that the sentence adds up to the tenth.
    """
    total, part = round(whole, 1), round(composition_shift, 1)
    rest = round(total - part, 1) + 0.0  # no minus nought
    total, part = total + 0.0, part + 0.0
    zh = f"抽樣分數平均偏移 {signed(total)} 個百分點，為組成效應 {signed(part)} 與其餘 {signed(rest)} 之和"
    en = f"the sample shifts scores by {signed(total)} points on average, the sum of {signed(part)} by composition and "
    en += f"{signed(rest)} by everything else"
    if part * rest < 0:
        zh, en = f"{zh}（兩者方向相反，部分抵銷）", f"{en} (opposite directions that partly cancel)"
    return Both(zh, en)


def _same(full: Run, samples: Sequence[Run]) -> Run | None:
    facts = full.facts
    key = (facts.model, facts.max_tokens, facts.serving_precision)
    return next((s for s in samples if (s.facts.model, s.facts.max_tokens, s.facts.serving_precision) == key), None)


def _sizes(
    protocol: str, runs: Sequence[Run], drawn: Mapping[str, str], subjects: Mapping[str, str]
) -> list[tuple[Cell, ...]]:
    asked = {row.item_id for run in runs for row in run.rows}
    population = Counter(subjects[item] for item in asked if subjects.get(item))
    sample = Counter(drawn.values())
    return [
        (protocol, subject, population[subject], share(population[subject] / population.total()), sample[subject],
         share(sample[subject] / sample.total()))
        for subject in sorted(population | sample)
    ]  # fmt: skip


def _scores(each: Placed) -> tuple[Cell, ...]:
    of = each.anchor
    again = None if each.again is None else share(each.again.value)
    figures = (share(of.population), share(of.on_sample), share(of.interval.low), share(of.interval.high))
    moves = (points(each.whole), points(100 * of.shift), points(each.rest))
    inside = (Both("是", "yes") if each.inside else Both("否", "no")).in_one()
    return each.protocol, each.name, each.replies, *figures, share(each.on_items.value), again, *moves, inside


def _twice(found: Sequence[Placed]) -> list[tuple[Cell, ...]]:
    return [(each.protocol, each.name, *paired_cells(each.pair)) for each in found if each.pair.n]


def _marks(each: Placed) -> list[dict[str, Cell]]:
    of, own = each.anchor, each.on_items
    anchored = (of.on_sample, of.interval.low, of.interval.high)
    return [
        {"name": each.name, "series": series, "value": share(value), "low": share(low), "high": share(high)}
        for series, (value, low, high) in (
            (Both("錨定", "anchor").in_one(), anchored),
            (Both("抽樣題", "sampled items").in_one(), (own.value, own.low, own.high)),
        )
    ]


_SCORES = (
    PROTOCOL,
    MODEL,
    N,
    Column("population", Both("全體正確率", "population"), "%"),
    Column("anchored", Both("錨定正確率", "anchored"), "%"),
    Column("low", Both("錨定 95% 下界", "anchored, 95% low"), "%"),
    Column("high", Both("錨定 95% 上界", "anchored, 95% high"), "%"),
    Column("on_items", Both("同一執行在抽樣題", "same run, sampled items"), "%"),
    Column("again", Both("另一次抽樣執行", "own run of the sample"), "%"),
    Column("whole", Both("總差距", "whole shift"), "points"),
    Column("composition", Both("組成效應", "composition shift"), "points"),
    Column("rest", Both("其餘", "rest"), "points"),
    Column("inside", Both("在錨定區間內", "inside the interval")),
)
_TWICE = (PROTOCOL, MODEL, *paired_columns(Both("全體執行", "full run"), Both("抽樣執行", "sample run")))
_SIZES = (
    PROTOCOL,
    Column("subject", Both("科目", "subject")),
    Column("population_items", Both("全體題數", "items, population"), "items"),
    Column("population_share", Both("全體占比", "share, population"), "%"),
    Column("sample_items", Both("抽樣題數", "items, sample"), "items"),
    Column("sample_share", Both("抽樣占比", "share, sample"), "%"),
)
