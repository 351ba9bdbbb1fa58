"""Study 10, failures in free text: how often each model writes a wrong Minguo year, a glyph that is none, Simplified
characters, or a Chinese name in Latin letters.

What belongs here: counting findings over replies. What does not: the detectors (detectors.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from opentwbench.apparatus.detectors import DETECTORS, each, han, visible
from opentwbench.apparatus.figures import HIGH, LOW, MODEL, bar_chart, p_value, percent, points, share
from opentwbench.apparatus.result import Both, Cell, Column, MissingInput, Study, Table
from opentwbench.apparatus.rows import CORRECT, Inputs, Run, shown
from opentwbench.apparatus.two_axes import RANKED_BY
from opentwbench.evaluation.model import Graded
from opentwbench.evaluation.scoring import rate
from opentwbench.statistics.paired import mcnemar

TITLE = Both("自由文字裡的失誤", "Failures in free text")
QUESTION = Both(
    "模型寫出的說明裡，各有多少民國年換算錯誤、造字、簡體字，以及該寫中文卻用拼音的人名？",
    "How often do replies hold a wrong Minguo year, an invented glyph, Simplified characters or a romanised name?",
)
METHOD_TEXT = Both(
    "讀每則回覆的可見文字（最後一個 </think> 之後），以四個偵測器檢查，每個都以植入的正例與原生負例測過（次數見文件）。"
    "比例為至少一處的回覆數，附 95% Wilson 區間；簡體另計每萬個漢字的處數。同一模型各執行合併，只計第一次重複；"
    "同一模型在不同評測集遇到同一題時，以 McNemar 精確檢定比較該失誤是否出現。n 為回覆數。",
    "The visible text of every reply (after the last </think>) is read by four detectors, each tested on planted "
    "positives and native negatives (counts in the documentation). A rate is the share of replies with at least one "
    "finding, with a 95% Wilson interval; Simplified characters are also counted per 10,000 Chinese ones. A model's "
    "runs are pooled, first repeat only; where it met one item in two benchmarks, McNemar's exact test asks whether "
    "the "
    "failure comes and goes. n counts replies.",
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


@dataclass
class Counts:
    """One model's replies: how many hold at least one finding of each kind, and what they are."""

    replies: int = 0
    characters: int = 0
    """Chinese characters."""
    with_any: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    passages: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(kind, passage) -> times."""
    right: Counter[str] = field(default_factory=Counter)
    """Replies with a finding that are right."""
    all_right: int = 0
    by_item: dict[str, dict[str, tuple[bool, ...]]] = field(default_factory=dict)
    """Benchmark -> item -> whether each kind occurs, in the order of the detectors."""

    def add(self, graded: Graded, method: str, benchmark: str) -> None:
        """Count one reply; an error is none."""
        response = graded.response
        if response.error:
            return
        text = visible(response.content)
        found = dict(each(text))
        right = graded.outcomes[method] == CORRECT
        self.replies += 1
        self.characters += han(text)
        self.all_right += right
        for kind, passages in found.items():
            self.with_any[kind] += 1
            self.right[kind] += right
            self.findings[kind] += sum(len(p.text) for p in passages) if kind == "simplified" else len(passages)
            self.passages.update((kind, p.text[:EXAMPLE]) for p in passages)
        self.by_item.setdefault(benchmark, {})[response.item_id] = tuple(kind in found for kind in DETECTORS)


def count(runs: Iterable[Run]) -> dict[str, Counts]:
    """Model -> counts over its runs, models in order of their first run."""
    found: dict[str, Counts] = {}
    for run in runs:
        counts = found.setdefault(shown(run.facts.model), Counts())
        for graded in run.texts:
            counts.add(graded, run.facts.method, run.facts.benchmark)
    return {model: counts for model, counts in found.items() if counts.replies}


def comes_and_goes(counts: Counts, kind: str) -> tuple[int, int, int]:
    """(items met in the first two benchmarks, finding in the first only, in the second only)."""
    place = tuple(DETECTORS).index(kind)
    if len(counts.by_item) < 2:
        return 0, 0, 0
    first, second = (counts.by_item[name] for name in sorted(counts.by_item)[:2])
    shared = first.keys() & second.keys()
    one = sum(first[item][place] and not second[item][place] for item in shared)
    two = sum(second[item][place] and not first[item][place] for item in shared)
    return len(shared), one, two


def study(inputs: Inputs) -> Study:
    """The study over complete and incomplete runs alike; raises MissingInput when no reply is stored."""
    # One protocol a model, so that the study's own prompts do not count twice.
    runs = [run for run in inputs.runs if run.facts.protocol_name in RANKED_BY]
    found = count(runs)
    if not found:
        raise MissingInput("沒有保存任何回覆文字", "no stored reply has a text")
    n = sum(counts.replies for counts in found.values())
    table = [(model, *_row(kind, counts)) for model, counts in found.items() for kind in DETECTORS]
    return Study(
        "free_text",
        TITLE,
        QUESTION,
        METHOD_TEXT,
        _finding(found, n),
        n,
        inputs.label(runs),
        (
            Table(Both("各模型的失誤比例", "Rates by model"), _RATES, tuple(table[:2_000])),
            Table(Both("失誤與答對", "Failures and right answers"), _RIGHT, tuple(_right(found))),
            Table(Both("同題再問一次", "The same item asked again"), _AGAIN, tuple(_again(found))),
            Table(Both("最常見的片段", "Most frequent passages"), _PASSAGES, tuple(_passages(found))),
        ),
        (
            bar_chart(
                Both("至少一處失誤的回覆", "Replies with at least one finding"),
                [
                    {"name": model, "value": share(counts.with_any[kind] / counts.replies), "series": _both(kind)}
                    for model, counts in found.items()
                    for kind in DETECTORS
                ],
                Both("占回覆的比例 (%)", "share of replies (%)"),
                Both("失誤", "failure"),
            ),
        ),
    )


def _both(kind: str) -> str:
    return LABELS[kind].in_one()


def _row(kind: str, counts: Counts) -> tuple[Cell, ...]:
    density = 10_000 * counts.findings[kind] / counts.characters if counts.characters else None
    found = counts.with_any[kind]
    return _both(kind), counts.replies, found, *percent(rate(found, counts.replies)), points(density)


def _right(found: Mapping[str, Counts]) -> Iterable[tuple[Cell, ...]]:
    for kind in DETECTORS:
        having = sum(counts.with_any[kind] for counts in found.values())
        right = sum(counts.right[kind] for counts in found.values())
        others = sum(counts.replies for counts in found.values()) - having
        others_right = sum(counts.all_right for counts in found.values()) - right
        yield _both(kind), having, *percent(rate(right, having)), others, *percent(rate(others_right, others))


def _again(found: Mapping[str, Counts]) -> Iterable[tuple[Cell, ...]]:
    for model, counts in found.items():
        for kind in DETECTORS:
            shared, one, two = comes_and_goes(counts, kind)
            if shared and counts.with_any[kind]:
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


def _finding(found: Mapping[str, Counts], n: int) -> Both:
    zh: list[str] = []
    en: list[str] = []
    for kind in DETECTORS:
        total = sum(counts.with_any[kind] for counts in found.values())
        worst = max(found, key=lambda model: found[model].with_any[kind] / found[model].replies)
        most = found[worst].with_any[kind] / found[worst].replies
        zh.append(f"{LABELS[kind].zh} {total / n:.2%}（最高 {most:.1%}）")
        en.append(f"{LABELS[kind].en} {total / n:.2%} (at most {most:.1%})")
    return Both(
        f"{len(found)} 個模型、{n:,} 則回覆：" + "、".join(zh) + "。",
        f"{len(found)} models, {n:,} replies: " + ", ".join(en) + ".",
    )


_KIND = Column("failure", Both("失誤", "failure"))
_RATES = (
    MODEL,
    _KIND,
    Column("replies", Both("回覆數", "replies"), "replies"),
    Column("found", Both("有失誤的回覆", "with a finding"), "replies"),
    Column("share", Both("占比", "share"), "%"),
    LOW,
    HIGH,
    Column("density", Both("每萬漢字", "per 10,000 Chinese characters")),
)
_RIGHT = (
    _KIND,
    Column("having", Both("有失誤的回覆", "with a finding"), "replies"),
    Column("right", Both("有失誤者答對", "right, with"), "%"),
    Column("right_low", Both("95% 下界", "95% low"), "%"),
    Column("right_high", Both("95% 上界", "95% high"), "%"),
    Column("others", Both("無失誤的回覆", "without"), "replies"),
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
