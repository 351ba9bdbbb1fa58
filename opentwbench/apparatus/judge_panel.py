"""Study 4, judge panel: how judges differ on the same drafts, who decides, and what each finds of planted defects.

What belongs here: the verdict record, read as hostile, and counting. What does not: asking judges.
A verdict is a JSON object a line: {"judge", "item_id", "verdict": "approve" or "reject", "planted": null or a class}.
Where the store has Formosa's judge study, its verdicts and its counts are read; else verdicts that were handed in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from opentwbench.apparatus.figures import (
    HIGH,
    LOW,
    Paired,
    outwards,
    paired,
    paired_cells,
    paired_columns,
    percent,
    plain,
    range_chart,
    rounded,
    share,
)
from opentwbench.apparatus.result import SAMPLE, Both, Cell, Column, MissingInput, Study, StudyError, Table
from opentwbench.apparatus.rows import Inputs
from opentwbench.dataset.contract import excerpt
from opentwbench.evaluation.model import Rate
from opentwbench.evaluation.scoring import rate
from opentwbench.formosa.judge_study import (
    PASS_APPROVAL,
    PASS_DETECTION,
    PER_CLASS,
    Defect,
    JudgeResult,
    JudgeStudyError,
)
from opentwbench.formosa.panel import Decisions, Degeneracy, decisions, degeneracy
from opentwbench.formosa.served import several
from opentwbench.statistics.intervals import Z95

MAX_NAME, MAX_VERDICTS, MAX_JUDGES = 200, 500_000, 50
"""Most characters of a name, lines of a file (2,939 drafts and planted ones, under 50 judges, are fewer) and judges."""

SCRIPTED = ("sample/", "scripted/")
"""How scripted judges are named (samples/models.py, samples/formosa_script.py)."""

TITLE = Both("評審小組", "The judge panel")
QUESTION = Both(
    "換一位評審，通過的題目會差多少？一致通過時，其實是誰說了算？植入的缺陷各評審抓到多少？",
    "How much does the choice of judge change what passes, who decides a unanimous verdict, and what does each find?",
)
METHOD_TEXT = Both(
    "評審固定看同一批草稿。通過率只計未植入缺陷者，附 95% Wilson 區間；兩兩一致率附 κ 與其 95% 區間，並以 McNemar "
    "精確檢定比較通過與否；「說了算」指其餘評審全部通過、僅此一位否決的草稿。校準為三類植入缺陷的偵測率。"
    "有 Formosa 的評審研究時採其計數：讀不出裁決的回覆既非通過也非偵測到；同一題的多個植入版本並非獨立，"
    "區間以題數計。n 為未植入草稿的裁決數。",
    "All judges see the same drafts. Approval rates count drafts without a planted defect and carry 95% Wilson "
    "intervals; pairwise agreement is raw and as kappa with its 95% interval, and McNemar's exact test compares "
    "approvals; a judge decides a draft alone when every other judge approves and it does not. Calibration is the "
    "detection rate of three planted classes. Where there is Formosa's judge study, its counts are taken: a reply "
    "without a readable verdict is neither an approval nor a detection, and variants planted in one item are not "
    "independent, so the interval is that of the items. n counts verdicts on drafts without a planted defect.",
)


_WORDS = {
    Defect.WRONG_KEY: Both("答案錯誤", "wrong key"),
    Defect.UNGROUNDED_FACT: Both("無依據的敘述", "ungrounded fact"),
    Defect.MALFORMED_OPTIONS: Both("選項不良", "malformed options"),
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one judge said of one draft."""

    judge: str
    item_id: str
    approves: bool
    planted: Defect | None


_FIELDS = frozenset(("judge", "item_id", "verdict", "planted"))


def read_verdicts(records: Iterable[Mapping[str, Any]], name: str = "verdicts") -> list[Verdict]:
    """Verdicts from records, hostile until checked.

    Raises StudyError naming the line (from 1) for a record of another form, a second verdict of a judge on a draft, a
    draft whose planted class differs between lines, and too many lines or judges.
    """
    found: list[Verdict] = []
    seen: set[tuple[str, str]] = set()
    planted: dict[str, Defect | None] = {}
    for number, record in enumerate(records, 1):
        if number > MAX_VERDICTS:
            raise StudyError(f"{name}: more than {MAX_VERDICTS} verdicts")
        verdict = _verdict(record, f"{name} line {number}")
        if (verdict.judge, verdict.item_id) in seen:
            raise StudyError(f"{name} line {number}: a second verdict of this judge on {excerpt(verdict.item_id)}")
        if planted.setdefault(verdict.item_id, verdict.planted) != verdict.planted:
            raise StudyError(f"{name} line {number}: {excerpt(verdict.item_id)} was planted otherwise before")
        seen.add((verdict.judge, verdict.item_id))
        found.append(verdict)
    if len({each.judge for each in found}) > MAX_JUDGES:
        raise StudyError(f"{name}: more than {MAX_JUDGES} judges")
    return found


def _verdict(record: Mapping[str, Any], where: str) -> Verdict:
    if set(record) != _FIELDS:
        raise StudyError(f"{where}: needs {', '.join(sorted(_FIELDS))}; got {excerpt(sorted(record), 200)}")
    for name in ("judge", "item_id"):
        _check_name(record[name], f"{where}: {name}")
    if record["verdict"] not in ("approve", "reject"):
        raise StudyError(f"{where}: verdict is approve or reject, not {excerpt(record['verdict'])}")
    planted = record["planted"]
    if planted is not None and planted not in list(Defect):
        raise StudyError(f"{where}: planted is null or one of {', '.join(Defect)}, not {excerpt(planted)}")
    approves = record["verdict"] == "approve"
    return Verdict(record["judge"], record["item_id"], approves, None if planted is None else Defect(planted))


def _check_name(value: object, where: str) -> None:
    if not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= MAX_NAME:
        raise StudyError(f"{where} is no printable text of 1 to {MAX_NAME} characters: {excerpt(value)}")


def read_results(records: Iterable[Mapping[str, Any]], name: str = "judge studies") -> dict[str, JudgeResult]:
    """Judge -> the counts of Formosa's study, in order of names; hostile until checked.

    Raises StudyError naming the line (from 1) for a record of another form, counts that do not add up, a second study
    of a judge, a study over other trials than the first, and too many judges.
    """
    found: dict[str, JudgeResult] = {}
    for number, record in enumerate(records, 1):
        where = f"{name} line {number}"
        try:
            result = JudgeResult.from_json(record)
        except JudgeStudyError as error:
            raise StudyError(f"{where}: {error}") from None
        _check_name(result.judge, f"{where}: judge")
        first = next(iter(found.values()), result)
        if result.judge in found:
            raise StudyError(f"{where}: a second study of {excerpt(result.judge)}")
        if (result.trials_sha256, result.prompt_id) != (first.trials_sha256, first.prompt_id):
            raise StudyError(
                f"{where}: {excerpt(result.judge)} saw other trials, or another prompt, than the first judge"
            )
        found[result.judge] = result
        if len(found) > MAX_JUDGES:
            raise StudyError(f"{name}: more than {MAX_JUDGES} judges")
    return dict(sorted(found.items()))


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two judges on the drafts that both judged."""

    pair: Paired
    both_approve: int

    @property
    def n(self) -> int:
        """Drafts that both judged."""
        return self.pair.n

    @property
    def agreeing(self) -> int:
        """Drafts with one verdict from both."""
        return self.n - self.pair.only_first - self.pair.only_second

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa; None without a draft, or where chance alone would agree always.

        Source: J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20
        (1960), equation 1.
        """
        chance = self._chance
        return None if chance is None else (self.agreeing / self.n - chance) / (1 - chance)

    @property
    def kappa_interval(self) -> tuple[float | None, float | None]:
        """95% interval of kappa with Cohen's standard error (1960, equation 7), within -1..1."""
        kappa, chance = self.kappa, self._chance
        if kappa is None or chance is None:
            return None, None
        observed = self.agreeing / self.n
        half = Z95 * math.sqrt(observed * (1 - observed) / (self.n * (1 - chance) ** 2))
        return max(-1.0, kappa - half), min(1.0, kappa + half)

    @property
    def _chance(self) -> float | None:
        if not self.n:
            return None
        first = (self.both_approve + self.pair.only_first) / self.n
        second = (self.both_approve + self.pair.only_second) / self.n
        chance = first * second + (1 - first) * (1 - second)
        return chance if chance < 1 else None


def agreement(first: Mapping[str, bool], second: Mapping[str, bool]) -> Agreement:
    """Two judges' approvals by draft."""
    both = sum(first[item] and second[item] for item in first.keys() & second.keys())
    return Agreement(paired(first, second), both)


def study(inputs: Inputs) -> Study:
    """The study; raises MissingInput without verdicts of two judges, StudyError for verdicts that are none."""
    verdicts = read_verdicts(inputs.verdicts or ())
    results = read_results(inputs.judge_studies or ())
    native: dict[str, dict[str, bool]] = {}
    for each in verdicts:
        if results and each.judge not in results:
            raise StudyError(f"a verdict of {excerpt(each.judge)}, of whom there is no study")
        if each.planted is None:
            native.setdefault(each.judge, {})[each.item_id] = each.approves
    native = dict(sorted(native.items()))
    if len(native) < 2:
        raise MissingInput(
            "沒有兩位以上評審的裁決（formosa/judges/verdicts.jsonl 或 judges/verdicts.jsonl）",
            "no verdicts of two judges are stored (formosa/judges/verdicts.jsonl or judges/verdicts.jsonl)",
        )
    found = decisions(native)
    pairs = {(a, b): agreement(native[a], native[b]) for a, b in combinations(native, 2)}
    approvals, planted = _counted(results) if results else _seen(native, verdicts)
    calibration = [(judge, _WORDS[kind].in_one(), *row) for (judge, kind), row in sorted(planted.items())]
    worth = (_worth(degeneracy(native), len(native)),)
    marks = calibration or [(judge, "", *row) for judge, row in approvals.items()]
    return Study(
        "judge_panel",
        TITLE,
        QUESTION,
        METHOD_TEXT,
        _finding(approvals, pairs, found, planted, _source(native, bool(results))),
        sum(map(len, native.values())),
        SAMPLE if _scripted(native) else Both("", ""),
        (
            Table(Both("通過率", "Approval rates"), _APPROVALS, tuple((j, *row) for j, row in approvals.items())),
            Table(Both("兩兩一致程度", "Pairwise agreement"), _AGREEMENT, tuple(_pair(*of) for of in pairs.items())),
            Table(Both("誰說了算", "Who decides"), _DECIDES, tuple(_decides(found))),
            Table(Both("等於幾位評審", "How many judges it is worth"), _WORTH, worth),
            Table(Both("植入缺陷的校準", "Calibration on planted defects"), _CALIBRATION, tuple(calibration)),
            *((Table(Both("能否判定有據", "Who may ground"), _PASSED, tuple(_passed(results))),) if results else ()),
        ),
        (
            range_chart(
                Both("植入缺陷的偵測率", "Planted defects found") if calibration else Both("通過率", "Approval"),
                [
                    {"name": judge, "series": kind, "value": value, "low": low, "high": high}
                    for judge, kind, _, _, _, value, low, high in marks
                ],
                Both("偵測率 (%)", "detection (%)") if calibration else Both("通過率 (%)", "approval (%)"),
                Both("缺陷", "defect"),
            ),
        ),
    )


_Row = tuple[int, int, int, Cell, Cell, Cell]
"""Drafts, hits, replies without a readable verdict, and the share of hits with its interval, in percent."""


def _seen(
    native: Mapping[str, Mapping[str, bool]], verdicts: Iterable[Verdict]
) -> tuple[dict[str, _Row], dict[tuple[str, Defect], _Row]]:
    """Approvals and detections as verdicts alone tell them: a judge that said nothing readable left no line."""
    planted: dict[tuple[str, Defect], list[bool]] = {}
    for each in verdicts:
        if each.planted is not None:
            planted.setdefault((each.judge, each.planted), []).append(not each.approves)
    approvals = {judge: _row(sum(of.values()), len(of)) for judge, of in native.items()}
    return approvals, {key: _row(sum(of), len(of)) for key, of in planted.items()}


def _row(hits: int, n: int) -> _Row:
    return (n, hits, 0, *percent(rate(hits, n)))


def _counted(results: Mapping[str, JudgeResult]) -> tuple[dict[str, _Row], dict[tuple[str, Defect], _Row]]:
    """Approvals and detections as Formosa's study counts them."""
    approvals = {
        judge: (of.good.trials, of.good.approved, of.good.silent, *percent(of.good.approval))
        for judge, of in results.items()
    }
    planted = {
        (judge, defect): (each.trials, each.rejected, each.silent, *percent(each.detection))
        for judge, of in results.items()
        for defect, each in of.planted.items()
    }
    return approvals, planted


def _scripted(judges: Iterable[str]) -> bool:
    return any(judge.startswith(SCRIPTED) for judge in judges)


def _source(judges: Iterable[str], has_study: bool) -> Both:
    """Whose verdicts these are, as a finding begins: a reader must not take samples for the benchmark's own judges."""
    if has_study:
        return Both("Formosa 的評審研究：", "Formosa's judge study: ")
    if _scripted(judges):
        return Both(
            "沒有 Formosa 的評審研究，以下是樣本裁決：",
            "There is no study of Formosa's judges; these are sample verdicts: ",
        )
    return Both(
        "沒有 Formosa 的評審研究，以下是另行提供的裁決：",
        "There is no study of Formosa's judges; these verdicts were handed in: ",
    )


def _passed(results: Mapping[str, JudgeResult]) -> Iterable[tuple[Cell, ...]]:
    for judge, of in results.items():
        short = failures(of)
        why = Both("；".join(each.zh for each in short), "; ".join(each.en for each in short))
        yield (
            judge,
            (Both("可以", "yes") if of.passed else Both("不可以", "no")).in_one(),
            why.in_one() if short else "",
        )


def failures(of: JudgeResult) -> list[Both]:
    """Why a judge may not ground, as `JudgeResult.failures` finds it, in both languages; a test holds the two equal.

    Ends of intervals are rounded outwards, as in the tables beside it.
    """
    found: list[Both] = []
    if several(of.served):
        found.append(Both("回覆出自不只一個模型", "its replies are not of one model alone"))
    if of.good.approval.low < PASS_APPROVAL:
        found.append(_short(Both("通過", "approves"), of.good.approval, PASS_APPROVAL, Both("好題", "good items")))
    for defect, words in _WORDS.items():
        figures = of.planted.get(defect)
        trials = figures.trials if figures else 0
        if figures is None or trials < PER_CLASS:
            zh = f"植入「{words.zh}」只判了 {trials} 題，需要 {PER_CLASS} 題"
            found.append(Both(zh, f"{trials} with a planted {words.en} judged, {PER_CLASS} are needed"))
        elif figures.detection.low < PASS_DETECTION:
            planted = Both(f"植入的「{words.zh}」", f"planted: {words.en}")
            found.append(_short(Both("抓到", "finds"), figures.detection, PASS_DETECTION, planted))
    return found


def _short(verb: Both, found: Rate, mark: float, what: Both) -> Both:
    low, _ = outwards(100 * found.low, 100 * found.high, 1)
    return Both(
        f"{what.zh} {found.n} 題中{verb.zh} {found.hits} 題：區間下限 {low}%，門檻 {mark:.0%}",
        f"{verb.en} {found.hits} of {found.n} ({what.en}): lower end {low}%, the mark is {mark:.0%}",
    )


def _finding(
    approvals: Mapping[str, _Row],
    pairs: Mapping[tuple[str, str], Agreement],
    found: Decisions,
    planted: Mapping[tuple[str, Defect], _Row],
    source: Both,
) -> Both:
    rates = [row[1] / row[0] for row in approvals.values() if row[0]]
    raw = [each.agreeing / each.n for each in pairs.values() if each.n]
    kappas = [each.kappa for each in pairs.values() if each.kappa is not None]
    zh = f"{source.zh}{len(approvals)} 位評審的通過率為 {min(rates):.1%} 至 {max(rates):.1%}"
    en = f"{source.en}{len(approvals)} judges approve {min(rates):.1%} to {max(rates):.1%}"
    if raw:
        zh += f"；兩兩一致率 {min(raw):.1%} 至 {max(raw):.1%}"
        en += f"; pairs agree on {min(raw):.1%} to {max(raw):.1%}"
    if kappas:
        least, most_alike = plain(min(kappas)), plain(max(kappas))
        zh += f"（κ {least} 至 {most_alike}）"
        en += f" (kappa {least} to {most_alike})"
    if found.drafts:
        most = max(found.alone, key=lambda judge: found.alone[judge])
        zh += f"；{found.drafts:,} 份草稿中 {found.unanimous:,} 份一致通過，{most} 單獨否決 {found.alone[most]:,} 份"
        en += f"; {found.unanimous:,} of {found.drafts:,} drafts pass unanimously"
        en += f", {most} alone stops {found.alone[most]:,}"
    detected = [row[1] / row[0] for row in planted.values() if row[0]]
    if detected:
        zh += f"；植入缺陷的偵測率 {min(detected):.1%} 至 {max(detected):.1%}"
        en += f"; planted defects are found at {min(detected):.1%} to {max(detected):.1%}"
    return Both(zh + "。", en + ".")


def _pair(names: tuple[str, str], each: Agreement) -> tuple[Cell, ...]:
    raw = percent(rate(each.agreeing, each.n))
    return *names, *raw, rounded(each.kappa), *map(rounded, each.kappa_interval), *paired_cells(each.pair)


def _decides(found: Decisions) -> Iterable[tuple[Cell, ...]]:
    for judge, alone in found.alone.items():
        # Of the drafts that the others let pass, those that this judge stops.
        others = found.unanimous + alone
        yield (
            judge,
            found.drafts,
            found.unanimous,
            alone,
            share(alone / others) if others else None,
            *percent(rate(alone, others))[1:],
        )


def _worth(of: Degeneracy, judges: int) -> tuple[Cell, ...]:
    return judges, of.drafts, len(of.constant), rounded(of.effective)


_JUDGE = Column("judge", Both("評審", "judge"))
_APPROVALS = (
    _JUDGE,
    Column("drafts", Both("草稿", "drafts"), "drafts"),
    Column("approved", Both("通過", "approved"), "drafts"),
    Column("silent", Both("讀不出裁決", "no verdict read"), "drafts"),
    Column("rate", Both("通過率", "approval"), "%"),
    LOW,
    HIGH,
)
_AGREEMENT = (
    Column("first", Both("評審一", "first judge")),
    Column("second", Both("評審二", "second judge")),
    Column("agreement", Both("一致率", "agreement"), "%"),
    LOW,
    HIGH,
    Column("kappa", Both("κ", "kappa")),
    Column("kappa_low", Both("κ 95% 下界", "kappa, 95% low")),
    Column("kappa_high", Both("κ 95% 上界", "kappa, 95% high")),
    *(
        Column(
            each.name,
            Both(each.label.zh.replace("答對", "通過"), each.label.en.replace("right", "approved")),
            each.unit,
        )
        for each in paired_columns(Both("評審一", "first"), Both("評審二", "second"))
    ),
)
_DECIDES = (
    _JUDGE,
    Column("drafts", Both("全體評過的草稿", "drafts judged by all"), "drafts"),
    Column("unanimous", Both("一致通過", "unanimous"), "drafts"),
    Column("alone", Both("單獨否決", "stopped alone"), "drafts"),
    Column("share", Both("其餘皆通過者中的否決率", "of those that all others pass"), "%"),
    LOW,
    HIGH,
)
_WORTH = (
    Column("judges", Both("評審", "judges")),
    Column("drafts", Both("全體評過的草稿", "drafts judged by all"), "drafts"),
    Column("constant", Both("只說一種話的評審", "judges that always say the same")),
    Column("effective", Both("有效評審數", "effective number of judges")),
)
_CALIBRATION = (
    _JUDGE,
    Column("defect", Both("缺陷", "defect")),
    Column("planted", Both("植入", "planted"), "drafts"),
    Column("found", Both("抓到", "found"), "drafts"),
    Column("silent", Both("讀不出裁決", "no verdict read"), "drafts"),
    Column("rate", Both("偵測率", "detection"), "%"),
    LOW,
    HIGH,
)
_PASSED = (
    _JUDGE,
    Column("passed", Both("可判定有據", "may ground")),
    Column("why_not", Both("未達標之處", "why not")),
)
