"""The planted-defect study: damage planted at every layer, what caught it, and what fired on sound data.

What belongs here: judging one planted trial by the track's own checks, counting, and the study's page and summary.
What does not: the kinds of damage (`defects`), reading papers and typesetting (the command).
A trial counts as caught when nothing wrong would be published, whatever stopped it; a paper or set that the damage
leaves as it was is not counted. Source: the design, section 4 ("A check is worth its planted defects").
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from opentwbench.dataset.atomic import replace_folder
from opentwbench.dataset.model import DatasetError, StudyFigures
from opentwbench.dataset.publication import (
    PublicationRefused,
    PublicationTarget,
    Verdict,
    folder_hashes,
    publish,
)
from opentwbench.dataset.study import CERTAIN, CHANCE, study_to_json
from opentwbench.dataset.terms import CHECKS
from opentwbench.dataset.validators import BLOCKING_CHECKS, CompareRows, run_check
from opentwbench.exam.dedupe import Copy, ItemError, copies_of, group, keys_conflict
from opentwbench.exam.defects import (
    COUNTS,
    FILE_CHECKS,
    FIRST_KEY,
    HEADERS,
    KEY_READERS,
    PUBLISHER,
    QUESTION_READER,
    QUESTION_READERS,
    READ_OPTIONS,
    REPRINTS,
    TEXT_RULES,
    Layer,
    Reading,
)
from opentwbench.exam.fingerprint import loose
from opentwbench.exam.key_rows import compare, read_rows
from opentwbench.exam.model import Exclusion, PaperItem, PaperRecord, PaperRejected, QuestionPaper, RejectionReason
from opentwbench.exam.paper import Pair, join, parse_paper, read_agreed_key
from opentwbench.exam.question_rows import doubts
from opentwbench.exam.questions import read_questions
from opentwbench.exam.release import scope_of
from opentwbench.exam.sitting import RowRecord
from opentwbench.statistics.intervals import wilson

_REASONS: Mapping[RejectionReason, str] = {
    RejectionReason.PAIR_MISMATCH: HEADERS,
    RejectionReason.COUNT_MISMATCH: COUNTS,
    RejectionReason.READERS_DISAGREE: FIRST_KEY,
    RejectionReason.OPTIONS_INCOMPLETE: READ_OPTIONS,
}
"""What `join` refuses a pair for -> the cross-check that says so. It reads nothing, so it gives no other reason."""


# ---- one pair -------------------------------------------------------------------------------------------------------

CROSS_CHECKS = (QUESTION_READER, KEY_READERS, HEADERS, COUNTS, FIRST_KEY, READ_OPTIONS)
"""Checks that can refuse a pair."""


def read_pair(pair: Pair) -> tuple[Reading | None, PaperRecord]:
    """What the readers saw of a pair and its record (without header); None beside the record of one that is refused."""
    question, key, first = pair if len(pair) == 3 else (*pair, None)
    try:
        sheet = read_agreed_key(key)
        first_sheet = read_agreed_key(first) if first else None
        reading = Reading(read_questions(question), sheet, read_rows(key), first_sheet)
        return reading, join(reading.paper, sheet, first_sheet, files=(str(question), str(key)))
    except PaperRejected:
        return None, parse_paper(question, key, first)


class Reprints:
    """Every printed question of every accepted paper by its fingerprint, for comparison with a damaged one."""

    def __init__(self, records: Iterable[RowRecord]) -> None:
        self._copies: dict[tuple[str, str], list[Copy]] = defaultdict(list)
        for each in records:
            scope = scope_of(each)
            for copy in copies_of(each.row, each.record, each.hashes.question, each.hashes.key):
                self._copies[scope, loose(copy.item.question, copy.item.options)].append(copy)

    def contradict(self, of: RowRecord, item: PaperItem) -> bool:
        """True when another PDF prints this question and the keys of the group do not agree."""
        known = self._copies.get((scope_of(of), loose(item.question, item.options)), [])
        others = [copy for copy in known if copy.question_sha256 != of.hashes.question]
        if not others:
            return False
        mine = Copy(of.row, of.hashes.question, of.hashes.key, item)
        try:
            return any(keys_conflict(each) for each in group([*others, mine]) if len(each.copies) > 1)
        except ItemError:
            return True  # the build stops at a copy that contradicts itself


def judge_reading(reading: Reading, of: RowRecord, reprints: Reprints) -> frozenset[str] | None:
    """The checks that keep everything wrong in a damaged reading from publication; empty when something gets through.

    `of` is the sound record of the same pair. None when the damage changes nothing that is published either way.
    """
    caught = {KEY_READERS} if compare(reading.sheet, reading.rows) else set()
    try:
        record = join(replace(reading.paper, second=None), reading.sheet, reading.first)
    except PaperRejected as rejection:
        return frozenset({*caught, _REASONS[rejection.reason]})
    changed = _changed(record, of)
    if changed is None:
        return frozenset(caught) or None
    wrong = {item.q_no for item in changed if item.exclusion is None}
    doubted = _newly_doubted(reading.paper, of)
    if doubted and wrong <= doubted:
        caught.add(QUESTION_READERS)
    return frozenset(caught) | _stopped_by(changed, of, reprints)


def judge_record(record: PaperRecord, of: RowRecord, reprints: Reprints) -> frozenset[str] | None:
    """As `judge_reading`, for a record that was accepted: text rules and reprints are what is left to see a fault."""
    changed = _changed(record, of)
    return None if changed is None else _stopped_by(changed, of, reprints)


def _changed(record: PaperRecord, of: RowRecord) -> list[PaperItem] | None:
    """Items that read otherwise than in the sound record; None when nothing that is published changes."""
    true = {item.q_no: item for item in of.record.items}
    changed = [item for item in record.items if _content(item) != _content(true.get(item.q_no))]
    changed = [item for item in changed if item.exclusion is None or _published(true.get(item.q_no))]
    lost = [q_no for q_no in true if q_no > len(record.items) and _published(true[q_no])]
    return changed if changed or lost else None


def _newly_doubted(paper: QuestionPaper, of: RowRecord) -> set[int]:
    """Questions that the second reader reads otherwise, and did not on the sound paper."""
    if paper.second is None:
        return set()
    before = {item.q_no for item in of.record.items if Exclusion.NOT_TEXT in item.exclusions}
    return set(doubts(paper.questions, paper.second)) - before


def _stopped_by(changed: Sequence[PaperItem], of: RowRecord, reprints: Reprints) -> frozenset[str]:
    wrong = [item for item in changed if item.exclusion is None]
    if not wrong:
        return frozenset({TEXT_RULES})
    if all(reprints.contradict(of, item) for item in wrong):
        return frozenset({REPRINTS})
    return frozenset()


def rejected_by(record: PaperRecord) -> str:
    """The check that a rejected record names."""
    if record.detail.startswith(("key:", "first key:")) or record.reason is RejectionReason.KEY_INCOMPLETE:
        return KEY_READERS
    if record.reason is None or record.detail.startswith("question paper:"):
        return QUESTION_READER
    return _REASONS.get(record.reason, QUESTION_READER)


def _content(item: PaperItem | None) -> tuple[object, ...]:
    return () if item is None else (item.question, tuple(sorted(item.options.items())), item.key)


def _published(item: PaperItem | None) -> bool:
    return item is not None and item.exclusion is None


# ---- one data-set folder --------------------------------------------------------------------------------------------


class _Nowhere:
    """A publication target that keeps nothing."""

    def put(self, files: Mapping[str, bytes]) -> bool:
        return True


def judge_folder(folder: Path, compare_rows: CompareRows) -> frozenset[str]:
    """Every blocking check that stops the folder, each run by itself; `PUBLISHER` when the manifest does.

    The publisher is asked with passing verdicts over the bytes as they are: what it then refuses, it alone sees.
    """
    blocked = {name for name in BLOCKING_CHECKS if run_check(name, folder, loose, compare_rows).blocks}
    return frozenset(blocked | publisher(folder, passing_verdicts(folder)))


def passing_verdicts(folder: Path) -> tuple[Verdict, ...]:
    """A passing verdict of every blocking check over the bytes of a folder; none when it is not a whole one."""
    try:
        hashes = folder_hashes(folder)
    except DatasetError:
        return ()
    return tuple(Verdict(name, True, True, hashes, "study") for name in BLOCKING_CHECKS)


def publisher(folder: Path, verdicts: Sequence[Verdict]) -> set[str]:
    """`PUBLISHER` when it refuses the folder with these verdicts."""
    target: PublicationTarget = _Nowhere()
    try:
        publish(folder, verdicts, target)
    except PublicationRefused:
        return {PUBLISHER}
    return set()


def damaged_folder(folder: Path, files: Mapping[str, bytes]) -> Path:
    """A folder beside `folder` that holds these files."""
    target = folder.with_name(f"{folder.name}-damaged")
    replace_folder(target, dict(files))
    return target


# ---- counting -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of damage at one layer, over all its trials."""

    name: str
    layer: Layer
    meant: tuple[str, ...]
    trials: int
    caught: int
    by: Mapping[str, int]
    """Check -> trials in which it fired. Several can fire in one trial."""

    @property
    def certain(self) -> bool:
        """True when something must catch every trial."""
        return bool(self.meant)


class Study:
    """Trials and native runs as they come, in the order in which kinds first came."""

    def __init__(self) -> None:
        self._trials: dict[tuple[Layer, str], list[frozenset[str]]] = {}
        self._meant: dict[tuple[Layer, str], tuple[str, ...]] = {}
        self.native: Counter[str] = Counter()
        """Check -> sound papers or folders that it was run on."""
        self.alarms: Counter[str] = Counter()
        """Check -> how often it fired on them."""
        self.runs = 0
        """Sound papers and folders."""
        self.runs_with_alarm = 0

    def trial(self, name: str, layer: Layer, meant: tuple[str, ...], caught_by: frozenset[str]) -> None:
        """One planted trial: the checks that caught it, none when it got through."""
        self._meant.setdefault((layer, name), meant)
        self._trials.setdefault((layer, name), []).append(caught_by)

    def sound(self, checks: Iterable[str], fired: frozenset[str]) -> None:
        """One sound paper or folder: the checks that were run and those that fired."""
        self.runs += 1
        self.runs_with_alarm += bool(fired)
        for check in checks:
            self.native[check] += 1
            self.alarms[check] += check in fired

    def kinds(self) -> list[Kind]:
        """Every kind, by layer."""
        found = []
        for (layer, name), trials in self._trials.items():
            by = Counter(check for caught in trials for check in caught)
            kind = Kind(name, layer, self._meant[layer, name], len(trials), sum(map(bool, trials)), dict(by))
            found.append(kind)
        order = list(Layer)
        return sorted(found, key=lambda kind: order.index(kind.layer))

    def summary(self) -> dict[str, StudyFigures]:
        """Check -> its figures over the kinds that it is there for, for every blocking check; and the whole track."""
        kinds = self.kinds()
        found = {}
        for check in CHECKS:
            own = [kind for kind in kinds if check in kind.meant]
            found[check] = StudyFigures(
                planted=sum(kind.trials for kind in own),
                caught=sum(kind.by.get(check, 0) for kind in own),
                native=self.native[check],
                false_alarms=self.alarms[check],
            )
        for name in (CERTAIN, CHANCE):
            own = [kind for kind in kinds if kind.certain is (name == CERTAIN)]
            planted, caught = sum(kind.trials for kind in own), sum(kind.caught for kind in own)
            found[name] = StudyFigures(planted, caught, self.runs, self.runs_with_alarm)
        return found

    def uncaught(self) -> list[Kind]:
        """Kinds that something must catch and that got through at least once."""
        return [kind for kind in self.kinds() if kind.certain and kind.caught < kind.trials]


# ---- the page -------------------------------------------------------------------------------------------------------


def share(hits: int, trials: int) -> str:
    """A share with its 95 % Wilson interval, '-' without trials. Only all is 100 %: one miss of 9,000 is 99.9 %."""
    if not trials:
        return "-"
    return f"{hits / trials if hits == trials else min(hits / trials, 0.999):.1%} ({wilson(hits, trials).shown()})"


LAYERS: Mapping[Layer, str] = {
    Layer.PDF: "The printed page, in papers that the project typesets; whole files also in real ones",
    Layer.PAIRING: "Which key is taken for a paper",
    Layer.ONE_KEY_READER: "What one of the two key readers saw",
    Layer.BOTH_KEY_READERS: "The same fault in both key readers, no other print of the key",
    Layer.BOTH_WITH_FIRST_KEY: "The same fault in both key readers, the key before its correction at hand",
    Layer.QUESTION_READER: (
        "What the first question reader saw. Within itself it counts characters printed against characters read; the "
        "second reader's view of the same pages stands beside it. Its error rate is measured by eye "
        "(docs/audits/reading.md)"
    ),
    Layer.PARSE_RECORDS: "papers/<year>.jsonl, behind the parse stage",
    Layer.STORED_ITEMS: "items/<slug>.jsonl, data set made from it",
    Layer.ROWS: "The rows of a data set before its files are written",
    Layer.WRITTEN_FILES: "The files before they are judged",
    Layer.JUDGED_FILES: "The files after every check passed",
}


def detection_table(study: Study, layer: Layer) -> list[str]:
    """Markdown lines: one row a kind, with what caught it."""
    lines = ["| damage | trials | caught before publication | by | must be caught |", "|---|---:|---|---|---|"]
    for kind in study.kinds():
        if kind.layer is layer:
            by = ", ".join(f"`{check}` {n / kind.trials:.0%}" for check, n in sorted(kind.by.items()))
            sure = "yes" if kind.certain else "no"
            lines.append(f"| {kind.name} | {kind.trials} | {share(kind.caught, kind.trials)} | {by or '-'} | {sure} |")
    return lines


def alarm_table(study: Study) -> list[str]:
    """Markdown lines: every check on sound papers and folders."""
    lines = ["| check | sound | fired | share |", "|---|---:|---:|---|"]
    for check, n in study.native.items():
        lines.append(f"| `{check}` | {n} | {study.alarms[check]} | {share(study.alarms[check], n)} |")
    return lines


def check_table() -> list[str]:
    """Markdown lines: what each check compares."""
    lines = ["| check | what it compares |", "|---|---|"]
    lines += [f"| `{name}` | {words} |" for name, words in FILE_CHECKS.items()]
    lines += [f"| `{name}` | {en} (blocking check of a data set) |" for name, (_, en) in CHECKS.items()]
    return lines


def to_json(study: Study, sources: Sequence[str]) -> dict[str, Any]:
    """The summary that cards are made from: counts only."""
    return {"sources": list(sources), "kinds": len(study.kinds()), "figures": study_to_json(study.summary())}
