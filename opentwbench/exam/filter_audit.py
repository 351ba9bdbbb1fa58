"""The filter audit: what each exclusion rule removed, what it let through, and what a reader says of both.

What belongs here: the draw, the blind sheet and its planted damage, verdicts, and the sums over them.
What does not: reading papers, files and pages of the report (`otb study filters`), and the rules themselves (filters).

A verdict says what the reader found (a `Ground`), never whether a filter was right: it is given on texts in a shuffled
sheet of removed, kept and damaged questions, and compared with the filters afterwards. It holds names, hashes and
grounds, no text; when the text of a question changes, its verdict is stale and counts for nothing.
Source of the procedure: the acceptance of the exam track, "Filters, measured on both sides".
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from itertools import pairwise
from typing import Any

from opentwbench.dataset.contract import excerpt
from opentwbench.exam.filters import text_exclusions
from opentwbench.exam.model import Exclusion, PaperItem, PaperRecord
from opentwbench.exam.reading_audit import Reading, printed_key, reading_hash
from opentwbench.statistics.intervals import Interval, wilson
from opentwbench.statistics.stratified import Estimate, Stratum, estimate

REMOVED_EACH = 60
"""Questions judged of each rule; a rule that fired on fewer is judged on all of them."""

KEPT_EACH = 200
"""Kept questions judged of each of the two strata."""


class Ground(StrEnum):
    """What the reader found in a question. Closed: a verdict has one or more of these."""

    STANDS_ALONE = "stands_alone"
    OWN_MATERIAL = "own_material"
    """It speaks of a text, table or program and prints it in its own stem."""
    DRAWING_NOT_NEEDED = "drawing_not_needed"
    """A drawing stands beside it that the words neither name nor need."""
    NEEDS_FIGURE = "needs_figure"
    NEEDS_TABLE = "needs_table"
    FIGURE_NOT_NEEDED = "figure_not_needed"
    """The stem points at a figure or table, and its words would do without."""
    NEEDS_EARLIER_QUESTION = "needs_earlier_question"
    EARLIER_NOT_NEEDED = "earlier_not_needed"
    """The stem names an earlier question, and its words would do without."""
    NEEDS_PASSAGE = "needs_passage"
    BLANK_OF_A_CLOZE = "blank_of_a_cloze"
    FOREIGN_STEM = "foreign_stem"
    """No Chinese in the stem, words of another language in it."""
    TEXT_TAKEN_IN = "text_taken_in"
    """An option holds text that is not its own."""
    STEM_DAMAGED = "stem_damaged"
    """The stem lacks its beginning or end, or holds what is not its own."""
    NO_TEXT = "no_text"
    """The stem or an option is a picture, a formula that lost its shape, or empty."""
    OPTIONS_ALIKE = "options_alike"
    NOT_FOUR_OPTIONS = "not_four_options"
    UNREADABLE_CHARACTER = "unreadable_character"
    KEY_OF_SEVERAL_LETTERS = "key_of_several_letters"
    KEY_CREDITS_EVERYBODY = "key_credits_everybody"
    KEY_CREDITS_UNLESS_BLANK = "key_credits_unless_blank"
    KEY_ACCEPTS_ALTERNATIVES = "key_accepts_alternatives"
    KEY_NOT_UNDERSTOOD = "key_not_understood"


RULE_OF: Mapping[Ground, Exclusion | None] = {
    Ground.STANDS_ALONE: None,
    Ground.OWN_MATERIAL: None,
    Ground.DRAWING_NOT_NEEDED: None,
    Ground.NEEDS_FIGURE: Exclusion.FIGURE,
    Ground.NEEDS_TABLE: Exclusion.FIGURE,
    Ground.FIGURE_NOT_NEEDED: Exclusion.FIGURE,
    Ground.NEEDS_EARLIER_QUESTION: Exclusion.FOLLOW_UP,
    Ground.EARLIER_NOT_NEEDED: Exclusion.FOLLOW_UP,
    Ground.NEEDS_PASSAGE: Exclusion.PASSAGE_GROUP,
    Ground.BLANK_OF_A_CLOZE: Exclusion.PASSAGE_GROUP,
    Ground.FOREIGN_STEM: Exclusion.ENGLISH,
    Ground.TEXT_TAKEN_IN: Exclusion.SWALLOWED_TEXT,
    Ground.STEM_DAMAGED: Exclusion.DISPLACED_STEM,
    Ground.NO_TEXT: Exclusion.NOT_TEXT,
    Ground.OPTIONS_ALIKE: Exclusion.IDENTICAL_OPTIONS,
    Ground.NOT_FOUR_OPTIONS: Exclusion.NOT_FOUR_CHOICE,
    Ground.UNREADABLE_CHARACTER: Exclusion.UNMAPPED_GLYPH,
    Ground.KEY_OF_SEVERAL_LETTERS: Exclusion.MULTI_SELECT,
    Ground.KEY_CREDITS_EVERYBODY: Exclusion.VOIDED,
    Ground.KEY_CREDITS_UNLESS_BLANK: Exclusion.CREDITED_UNLESS_BLANK,
    Ground.KEY_ACCEPTS_ALTERNATIVES: Exclusion.SEVERAL_ANSWERS_ACCEPTED,
    Ground.KEY_NOT_UNDERSTOOD: Exclusion.REMARK_UNREAD,
}
"""The rule that ought to fire on a question with this ground; None for one that ought to stay."""

AUDITED: tuple[Exclusion, ...] = tuple(rule for rule in Exclusion if rule in set(RULE_OF.values()))
"""Every rule that a paper alone can set off; groups, lists and maintainers are judged elsewhere."""


class AuditError(ValueError):
    """A verdict, sheet or answer that cannot be used. Names it and the reason."""


@dataclass(frozen=True, slots=True)
class Printed:
    """One printed question of the population: `paper` is the paper's id, `file` its PDF."""

    paper: str
    file: str
    item: PaperItem

    @property
    def name(self) -> str:
        """E.g. '100030-101-0101 Q17'."""
        return f"{self.paper} Q{self.item.q_no}"

    @property
    def text(self) -> str:
        """16 hex digits for the stem, the options and the key as printed: what a verdict is about."""
        return reading_hash(Reading(self.item.question, self.item.options, printed_key(self.item)))

    @property
    def by_words(self) -> frozenset[Exclusion]:
        """Rules that fire on the words; what else fired is a finding of the page or the key's."""
        return frozenset(text_exclusions(self.item.question, self.item.options))


def printed_items(papers: Iterable[tuple[str, PaperRecord]]) -> list[Printed]:
    """Every question of the accepted papers, given as (paper id, record); a paper is given once."""
    return [
        Printed(paper, record.question_file, item)
        for paper, record in papers
        if record.accepted
        for item in record.items
    ]


# ---- the draw -------------------------------------------------------------------------------------------------------

_HINT = re.compile(
    "圖|表[中內]?[所列示為]|箭|影像|照片|如下|所附|附件|資料|"  # what a page may show
    "[上前]述|[上前]文|[上前]開|前者|後者|承|該|本題|題[幹組]|下文|文中|"  # what stands elsewhere
    "此(?![外時種類後刻])|^[其則若故而並且]|"
    "[甲乙丙丁ABCDPQRXYZabcdxyz][、與和及][甲乙丙丁ABCDPQRXYZabcdxyz]?[點區線段處端相槽桿]|區域"
)


def hint(question: str) -> bool:
    """True when a stem has any word that may point outside it. Wide on purpose: it cuts strata and excludes nothing."""
    return bool(_HINT.search("".join(question.split())))


KEPT_HINT, KEPT_REST = "kept:hint", "kept:rest"


def stratum_of_rule(rule: Exclusion) -> str:
    """The stratum of what a rule fired on, e.g. 'removed:figure'."""
    return f"removed:{rule.value}"


def strata(items: Iterable[Printed]) -> dict[str, list[Printed]]:
    """The population by stratum: what each rule fired on, and what no rule did, with and without a hint.

    A question on which two rules fired is in the stratum of both.
    """
    found: dict[str, list[Printed]] = {s: [] for s in (*map(stratum_of_rule, AUDITED), KEPT_HINT, KEPT_REST)}
    for each in items:
        if not each.item.exclusions:
            found[KEPT_HINT if hint(each.item.question) else KEPT_REST].append(each)
        for rule in each.item.exclusions:
            found[stratum_of_rule(rule)].append(each)
    return found


def draw(members: Sequence[Printed], stratum: str, size: int, seed: int, round_: int) -> list[Printed]:
    """`size` members of a stratum, or all when it has fewer: those of the smallest hash of seed, name and text.

    What was drawn stays drawn when other questions come or go. The kept strata are drawn anew in every round, since a
    rule that was mended by a sample looks better on it than it is; the removed ones keep their draw.
    """
    salt = f"{seed}:{stratum}:{round_ if stratum in (KEPT_HINT, KEPT_REST) else ''}"
    return sorted(members, key=lambda each: sha256(f"{salt}:{each.name}:{each.text}".encode()).digest())[:size]


def draw_all(
    items: Iterable[Printed], seed: int, round_: int, removed_each: int = REMOVED_EACH, kept_each: int = KEPT_EACH
) -> dict[str, list[Printed]]:
    """The draw of a round, by stratum."""
    return {
        stratum: draw(members, stratum, kept_each if stratum in (KEPT_HINT, KEPT_REST) else removed_each, seed, round_)
        for stratum, members in strata(items).items()
    }


# ---- planted damage -------------------------------------------------------------------------------------------------


class Damage(StrEnum):
    """The kinds of damage planted among the kept questions of a sheet."""

    SCENE_CUT = "scene_cut"
    """Of a stem of several sentences only the last is left."""
    HEAD_CUT = "head_cut"
    """The stem begins after its first comma, with a word that needs what stood before it."""
    TAIL_CUT = "tail_cut"
    """The last clause of the stem, which asks, is lost."""
    OPTION_TOOK_IN = "option_took_in"
    """Option D goes on with the stem of the next question."""
    OPTIONS_MERGED = "options_merged"
    """The second half of option B stands at the head of C."""
    DEBRIS = "debris"
    """Cells of a table stand before the stem."""


def _scene_cut(each: PaperItem, _: PaperItem) -> PaperItem | None:
    sentences = [part for part in each.question.split("。") if part]
    if len(sentences) < 2 or len(sentences[0]) < 15:
        return None
    return _with(each, question=sentences[-1])


def _head_cut(each: PaperItem, _: PaperItem) -> PaperItem | None:
    head, comma, rest = each.question.partition("，")
    if not comma or len(head) < 8 or rest[:1] not in set("其則該應得若此並而亦仍故"):
        return None
    return _with(each, question=rest)


def _tail_cut(each: PaperItem, _: PaperItem) -> PaperItem | None:
    head, comma, tail = each.question.rpartition("，")
    return _with(each, question=head + comma) if len(head) >= 10 and tail else None


def _option_took_in(each: PaperItem, following: PaperItem) -> PaperItem | None:
    if len(following.question) < 10:
        return None
    return _with(each, options={**each.options, "D": each.options["D"] + following.question})


def _options_merged(each: PaperItem, _: PaperItem) -> PaperItem | None:
    text = each.options["B"]
    if len(text) < 6:
        return None
    half = len(text) // 2
    return _with(each, options={**each.options, "B": text[:half], "C": text[half:] + each.options["C"]})


def _debris(each: PaperItem, following: PaperItem) -> PaperItem | None:
    numbers = " ".join(str(n) for n in (following.q_no, following.page, len(following.question)))
    return _with(each, question=f"甲 {numbers} 乙 {each.question}")


def _with(item: PaperItem, question: str = "", options: Mapping[str, str] | None = None) -> PaperItem:
    return PaperItem(
        item.q_no, question or item.question, options or item.options, item.key, item.accepted, (), item.page
    )


_PLANTERS: Mapping[Damage, Callable[[PaperItem, PaperItem], PaperItem | None]] = {
    Damage.SCENE_CUT: _scene_cut,
    Damage.HEAD_CUT: _head_cut,
    Damage.TAIL_CUT: _tail_cut,
    Damage.OPTION_TOOK_IN: _option_took_in,
    Damage.OPTIONS_MERGED: _options_merged,
    Damage.DEBRIS: _debris,
}


def plant(items: Sequence[Printed], each_kind: int, seed: int, *, strict: bool = True) -> list[tuple[Damage, Printed]]:
    """`each_kind` kept questions with each kind of damage, drawn by hash; a question is damaged once.

    Raises AuditError when the population has too few that a kind applies to; with `strict` off there are fewer then.
    """
    following = {(a.paper, a.item.q_no): b.item for a, b in pairwise(items) if a.paper == b.paper}
    kept = [each for each in items if not each.item.exclusions and (each.paper, each.item.q_no) in following]
    order = sorted(kept, key=lambda each: sha256(f"{seed}:planted:{each.name}:{each.text}".encode()).digest())
    taken: set[str] = set()
    planted: list[tuple[Damage, Printed]] = []
    for kind, planter in _PLANTERS.items():
        found = 0
        for each in order:
            if found == each_kind or each.name in taken:
                continue
            damaged = planter(each.item, following[each.paper, each.item.q_no])
            if damaged is not None:
                planted.append((kind, Printed(each.paper, each.file, damaged)))
                taken.add(each.name)
                found += 1
        if strict and found < each_kind:
            raise AuditError(f"{kind.value}: {found} of {each_kind} could be planted")
    return planted


# ---- sheets ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entry:
    """One question of a blind sheet: its strata (none for a damaged one) and its planted damage ('' for none)."""

    printed: Printed
    strata: tuple[str, ...]
    damage: str = ""


def sheet(drawn: Mapping[str, Sequence[Printed]], planted: Sequence[tuple[Damage, Printed]], seed: int) -> list[Entry]:
    """Everything drawn and planted, each question once, in an order that says nothing of its stratum."""
    places: dict[str, tuple[Printed, list[str]]] = {}
    for stratum, members in drawn.items():
        for each in members:
            places.setdefault(each.name, (each, []))[1].append(stratum)
    entries = [Entry(each, tuple(names)) for each, names in places.values()]
    entries += [Entry(each, (), kind.value) for kind, each in planted]
    return sorted(
        entries, key=lambda entry: sha256(f"{seed}:sheet:{entry.printed.name}:{entry.damage}".encode()).digest()
    )


def shown(entry: Entry) -> str:
    """A question as the reader gets it: stem, options, key and remark; nothing says why it is on the sheet."""
    item = entry.printed.item
    options = " ".join(f"({letter}) {text}" for letter, text in item.options.items())
    remark = f" 〔{item.remark}〕" if item.remark else ""
    line = f"{item.question} ▷ {options} ▷ {item.key or '#'}{remark}"
    # A character that no font shows would be passed over.
    return "".join(f"⟨U+{ord(c):04X}⟩" if unicodedata.category(c).startswith("C") else c for c in line)


# ---- verdicts -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Round:
    """One reading: its draw, and the members of every stratum at that time."""

    number: int
    seed: int
    kept_each: int
    removed_each: int
    populations: Mapping[str, int]

    def to_json(self) -> dict[str, object]:
        """The round as a line of the verdict file."""
        return {
            "round": self.number,
            "seed": self.seed,
            "kept_each": self.kept_each,
            "removed_each": self.removed_each,
            "populations": dict(self.populations),
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the reader found in one question of a round. `damage` names what had been planted in it, '' for nothing."""

    round: int
    item: str
    text: str
    strata: tuple[str, ...]
    grounds: tuple[Ground, ...]
    damage: str = ""
    amended: bool = False
    """True when a second look, at the page or at the code points, changed what was found at first."""

    @property
    def rules(self) -> frozenset[Exclusion]:
        """The rules that ought to fire."""
        return frozenset(rule for ground in self.grounds if (rule := RULE_OF[ground]) is not None)

    @property
    def caught(self) -> bool:
        """True when planted damage was seen as anything but a sound question."""
        return bool(self.rules)

    def to_json(self) -> dict[str, object]:
        """The verdict as a line of the verdict file."""
        return {
            "round": self.round,
            "item": self.item,
            "text": self.text,
            "strata": list(self.strata),
            "grounds": [ground.value for ground in self.grounds],
            "damage": self.damage,
            "amended": self.amended,
        }


def read_answers(text: str, questions: int, *, partial: bool = False) -> dict[int, tuple[Ground, ...]]:
    """The reader's answers to a sheet of `questions`, by number; a line each: '17 needs_figure foreign_stem'.

    Raises AuditError for a number that is repeated or not on the sheet, for a word that is no ground and, unless
    `partial`, for a question without an answer.
    """
    found: dict[int, tuple[Ground, ...]] = {}
    for place, line in enumerate(text.splitlines(), start=1):
        number, *words = line.split() or [""]
        if not number.isdecimal() or not 1 <= int(number) <= questions or int(number) in found or not words:
            raise AuditError(f"line {place}: not a new question of the sheet with its grounds: {excerpt(line)}")
        unknown = [word for word in words if word not in set(Ground)]
        if unknown:
            raise AuditError(f"line {place}: no ground: {excerpt(unknown[0])}")
        found[int(number)] = tuple(Ground(word) for word in dict.fromkeys(words))
    missing = [number for number in range(1, questions + 1) if number not in found]
    if missing and not partial:
        raise AuditError(f"{len(missing)} questions without an answer, the first is {missing[0]}")
    return found


@dataclass(frozen=True, slots=True)
class Record:
    """The verdict file: the rounds in order and every verdict."""

    rounds: tuple[Round, ...] = ()
    verdicts: tuple[Verdict, ...] = ()

    def to_lines(self) -> bytes:
        """The file: the rounds first, then the verdicts by round, name and damage."""
        ordered = sorted(self.verdicts, key=lambda v: (v.round, v.item, v.damage))
        rows = [*(each.to_json() for each in self.rounds), *(each.to_json() for each in ordered)]
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


_ROUND_FIELDS = {"round", "seed", "kept_each", "removed_each", "populations"}
_VERDICT_FIELDS = {"round", "item", "text", "strata", "grounds", "damage", "amended"}


def read_record(lines: Iterable[Mapping[str, Any]]) -> Record:
    """The record of parsed lines.

    Raises AuditError naming the line: wrong fields, an unknown ground, stratum, damage or round, a question twice.
    """
    rounds: list[Round] = []
    verdicts: list[Verdict] = []
    seen: set[tuple[int, str, str]] = set()
    for place, line in enumerate(lines, start=1):
        try:
            if set(line) == _ROUND_FIELDS:
                rounds.append(_round(line))
                continue
            verdict = _verdict(line)
        except (ValueError, TypeError) as error:
            raise AuditError(f"line {place}: {excerpt(str(error), 120)}") from None
        if verdict.round not in {each.number for each in rounds}:
            raise AuditError(f"line {place}: round {verdict.round} is not described before its verdicts")
        place_of = (verdict.round, verdict.item, verdict.damage)
        if place_of in seen:
            raise AuditError(f"line {place}: a second verdict on {excerpt(verdict.item)} in round {verdict.round}")
        seen.add(place_of)
        verdicts.append(verdict)
    return Record(tuple(rounds), tuple(verdicts))


def _round(line: Mapping[str, Any]) -> Round:
    populations = line["populations"]
    counts = [line["round"], line["seed"], line["kept_each"], line["removed_each"], *populations.values()]
    if not all(isinstance(count, int) and not isinstance(count, bool) and count >= 0 for count in counts):
        raise ValueError("a round holds counts")
    return Round(line["round"], line["seed"], line["kept_each"], line["removed_each"], dict(populations))


_STRATA = {KEPT_HINT, KEPT_REST, *map(stratum_of_rule, AUDITED)}
_NAME = re.compile(r"[0-9A-Za-z]{1,12}(?:-[0-9A-Za-z]{1,12}){1,3} Q[0-9]{1,3}")
_HASH = re.compile("[0-9a-f]{16}")


def _verdict(line: Mapping[str, Any]) -> Verdict:
    if set(line) != _VERDICT_FIELDS:
        raise ValueError(f"fields {sorted(line)}")
    if not _NAME.fullmatch(line["item"]) or not _HASH.fullmatch(line["text"]):
        raise ValueError(f"item {line['item']!r} or text {line['text']!r}")
    if unknown := set(line["strata"]) - _STRATA:
        raise ValueError(f"no stratum: {sorted(unknown)}")
    if not line["grounds"] or bool(line["strata"]) == bool(line["damage"]) or not isinstance(line["amended"], bool):
        raise ValueError("a verdict has grounds, and either strata or planted damage")
    damage = Damage(line["damage"]).value if line["damage"] else ""
    grounds = tuple(map(Ground, line["grounds"]))
    return Verdict(line["round"], line["item"], line["text"], tuple(line["strata"]), grounds, damage, line["amended"])


# ---- sums -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RuleFigures:
    """One rule on both sides, in questions: it `fired` on so many, `by_words` for its text rule, `removed` are in its
    bucket; `judged` of the fired were read, of which `wrong` have no ground of this rule and `sound` none at all.
    """

    rule: Exclusion
    fired: int
    removed: int
    by_words: int
    judged: int
    wrong: tuple[str, ...]
    sound: tuple[str, ...]
    missed: tuple[str, ...]
    """Kept questions in which the reader found a ground of this rule."""
    let_through: Estimate
    """Share of the kept questions that the rule ought to have removed."""

    @property
    def false_positives(self) -> Interval:
        """95 % interval of the share of fired questions without a ground of the rule; exact when all were judged."""
        return _interval(len(self.wrong), self.judged, self.fired)

    @property
    def sound_removed(self) -> Interval:
        """95 % interval of the share of fired questions that nothing speaks against."""
        return _interval(len(self.sound), self.judged, self.fired)


def _interval(hits: int, judged: int, population: int) -> Interval:
    if judged == population and judged:
        return Interval(hits / judged, hits / judged)
    return wilson(hits, judged)


@dataclass(frozen=True, slots=True)
class Figures:
    """What the audit says of the filters as they are."""

    papers: int
    printed: int
    kept: int
    rules: tuple[RuleFigures, ...]
    strata: Mapping[str, Stratum]
    """The two kept strata; a hit is a question with a ground of any rule."""
    unsound: Estimate
    """Share of the kept questions that some rule ought to have removed."""
    stale: tuple[str, ...]
    """Judged questions whose text has changed since, or that are no longer read: their verdicts count for nothing, and
    the next sheet asks for those that are still there."""
    unjudged: tuple[str, ...]
    """Drawn questions without a verdict that holds."""
    planted: Mapping[str, tuple[int, int]]
    """Kind of damage -> (planted, caught by the reader), over all rounds."""
    on_damage: Mapping[str, tuple[int, int]]
    """Kind of damage -> (planted in kept questions, removed by a rule on the words)."""
    amended: int

    @property
    def catch_rate(self) -> tuple[int, int, Interval]:
        """Planted, caught, and the 95 % interval of the share that the reader caught."""
        planted = sum(n for n, _ in self.planted.values())
        caught = sum(n for _, n in self.planted.values())
        return planted, caught, wilson(caught, planted)


def figures(items: Sequence[Printed], record: Record) -> Figures:
    """The filters as they are now, judged by the draw of the last round and the verdicts that still hold.

    The kept questions of an earlier round are used too, unless one of them has left the kept side since: then the rules
    were mended by that sample, and it would flatter them. Raises AuditError for a record without a round.
    """
    if not record.rounds:
        raise AuditError("no round has been read")
    last = record.rounds[-1]
    population = strata(items)
    drawn = draw_all(items, last.seed, last.number, last.removed_each, last.kept_each)
    current = {each.name: each.text for each in items}
    holding = {v.item: v for v in record.verdicts if not v.damage and current.get(v.item) == v.text}
    judged = {s: [holding[each.name] for each in members if each.name in holding] for s, members in drawn.items()}
    kept = (KEPT_HINT, KEPT_REST)
    judged |= _kept_verdicts(population, record, holding, last.number)

    def over(hit: Callable[[Verdict], bool]) -> dict[str, Stratum]:
        return {s: Stratum(len(population[s]), len(judged[s]), sum(map(hit, judged[s]))) for s in kept}

    any_rule = over(lambda verdict: bool(verdict.rules))
    return Figures(
        papers=len({each.paper for each in items}),
        printed=len(items),
        kept=sum(len(population[s]) for s in kept),
        rules=tuple(
            _rule_figures(rule, items, population, judged, over(lambda v, rule=rule: rule in v.rules))  # type: ignore[misc]
            for rule in AUDITED
        ),
        strata=any_rule,
        unsound=estimate(list(any_rule.values())),
        stale=tuple(sorted({v.item for v in record.verdicts if not v.damage and v.item not in holding})),
        unjudged=tuple(sorted({e.name for members in drawn.values() for e in members if e.name not in holding})),
        planted=_planted(record),
        on_damage=rules_on_damage(items, last.seed),
        amended=sum(v.amended for v in record.verdicts),
    )


def _kept_verdicts(
    population: Mapping[str, Sequence[Printed]], record: Record, holding: Mapping[str, Verdict], last: int
) -> dict[str, list[Verdict]]:
    """The verdicts on each kept stratum of the last round and of every earlier round that mended nothing, by name."""
    place = {each.name: stratum for stratum in (KEPT_HINT, KEPT_REST) for each in population[stratum]}
    drawn = [v for v in record.verdicts if not v.damage and {KEPT_HINT, KEPT_REST} & set(v.strata)]
    holds = [v for v in drawn if v.item in holding and holding[v.item].text == v.text]
    mended = {v.round for v in holds if v.item not in place} - {last}
    found = {v.item: v for v in holds if v.round not in mended and v.item in place}
    return {
        stratum: [verdict for name, verdict in sorted(found.items()) if place[name] == stratum]
        for stratum in (KEPT_HINT, KEPT_REST)
    }


def _rule_figures(
    rule: Exclusion,
    items: Sequence[Printed],
    population: Mapping[str, Sequence[Printed]],
    judged: Mapping[str, Sequence[Verdict]],
    kept: Mapping[str, Stratum],
) -> RuleFigures:
    fired, own = population[stratum_of_rule(rule)], judged[stratum_of_rule(rule)]
    return RuleFigures(
        rule=rule,
        fired=len(fired),
        removed=sum(each.item.exclusion is rule for each in items),
        by_words=sum(rule in each.by_words for each in fired),
        judged=len(own),
        wrong=tuple(verdict.item for verdict in own if rule not in verdict.rules),
        sound=tuple(verdict.item for verdict in own if not verdict.rules),
        missed=tuple(v.item for stratum in kept for v in judged[stratum] if rule in v.rules),
        let_through=estimate(list(kept.values())),
    )


DAMAGED_EACH = 100
"""Kept questions damaged in each way to see what the rules make of it."""


def rules_on_damage(items: Sequence[Printed], seed: int, each_kind: int = DAMAGED_EACH) -> dict[str, tuple[int, int]]:
    """Kind of damage -> (kept questions damaged, of them removed by a text rule).

    What the rules are worth where the real papers hold nothing for them. Two signs (a stem that breaks off or begins
    with cells, an option that ends by asking) were written after these kinds of damage, so their rates flatter.
    """
    planted = plant(items, each_kind, seed, strict=False)
    total = Counter(kind.value for kind, _ in planted)
    fired = Counter(kind.value for kind, each in planted if each.by_words)
    return {kind.value: (total[kind.value], fired[kind.value]) for kind in Damage if total[kind.value]}


def _planted(record: Record) -> dict[str, tuple[int, int]]:
    planted = Counter(v.damage for v in record.verdicts if v.damage)
    caught = Counter(v.damage for v in record.verdicts if v.damage and v.caught)
    return {kind.value: (planted[kind.value], caught[kind.value]) for kind in Damage if planted[kind.value]}


def as_drawn(record: Record, number: int) -> Mapping[str, Stratum]:
    """The kept strata of a round as they were when it was drawn; a hit has a ground of any rule.

    Raises AuditError for a round that is not there.
    """
    found = next((each for each in record.rounds if each.number == number), None)
    if found is None:
        raise AuditError(f"no round {number}")
    own = [v for v in record.verdicts if v.round == number and not v.damage]
    result = {}
    for stratum in (KEPT_HINT, KEPT_REST):
        members = [v for v in own if stratum in v.strata]
        result[stratum] = Stratum(found.populations[stratum], len(members), sum(bool(v.rules) for v in members))
    return result


def grounds_of(verdicts: Iterable[Verdict]) -> Iterator[tuple[Ground, int]]:
    """How often each ground was found, in the order of the vocabulary."""
    counts = Counter(ground for verdict in verdicts for ground in verdict.grounds)
    yield from ((ground, counts[ground]) for ground in Ground if counts[ground])
