"""Key consistency over a whole store: how often reprints have the same official answer, and why some have not.

What belongs here: agreement over the duplicate groups of all subjects, every disagreement with its copies, and the
records of who attributed one to what. What does not: grouping and the folding of answers (dedupe), where files are.
Sources: the paper, section 3.2 (compared by answer text, never by letter; 31,312 groups, 27 flagged and each one
attributed); the design, section 3, "Paper" (groups of at least two distinct PDFs; both numbers are printed).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import date
from enum import StrEnum
from hashlib import sha256
from typing import Any

import polars as pl

from opentwbench.dataset.contract import excerpt
from opentwbench.exam.dedupe import KEYED, Grouping, answer
from opentwbench.exam.items import NO_SUBJECT, ItemLineError, PrintedItem, from_line
from opentwbench.exam.model import PaperItem
from opentwbench.exam.tables import table
from opentwbench.statistics.intervals import Interval, wilson

# ---- figures --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Agreement:
    """Duplicate groups with two or more single official answers, and how many of them name one answer text."""

    groups: int
    agreeing: int
    independent_groups: int
    """Those whose answers stand on at least two distinct question PDFs: reading one file twice proves nothing."""
    independent_agreeing: int
    by_letter: int
    """Groups whose letters differ: what a comparison of letters would call a conflict."""
    overruled: int
    """Duplicate groups that are keyed here and voided, or multiply accepted, there: no second answer to compare."""

    @property
    def disagreeing(self) -> int:
        """Groups whose answer texts differ."""
        return self.groups - self.agreeing

    @property
    def rate(self) -> float | None:
        """Share of agreeing groups, None without a group."""
        return self.agreeing / self.groups if self.groups else None

    @property
    def interval(self) -> Interval:
        """Wilson's interval of `rate`, 95 %."""
        return wilson(self.agreeing, self.groups)

    @property
    def independent_rate(self) -> float | None:
        """Share of agreeing groups among those of at least two distinct PDFs."""
        return self.independent_agreeing / self.independent_groups if self.independent_groups else None

    @property
    def independent_interval(self) -> Interval:
        """Wilson's interval of `independent_rate`, 95 %."""
        return wilson(self.independent_agreeing, self.independent_groups)

    def to_json(self) -> dict[str, Any]:
        """Counts, rates and the ends of their intervals."""
        return {
            **asdict(self),
            "disagreeing": self.disagreeing,
            "rate": self.rate,
            "interval": [self.interval.low, self.interval.high],
            "independent_rate": self.independent_rate,
            "independent_interval": [self.independent_interval.low, self.independent_interval.high],
        }


def agreement(groups: pl.DataFrame) -> Agreement:
    """The figures of groups as `judged` gives them."""
    keyed = groups.filter(pl.col("keyed") > 1)
    independent = keyed.filter(pl.col("pdfs") > 1)
    overruled = (pl.col("keyed") > 0) & (pl.col("keyed") < pl.col("copies")) & (pl.col("verdicts") > 1)
    return Agreement(
        groups=keyed.height,
        agreeing=keyed.filter(pl.col("answers") == 1).height,
        independent_groups=independent.height,
        independent_agreeing=independent.filter(pl.col("answers") == 1).height,
        by_letter=keyed.filter(pl.col("letters") > 1).height,
        overruled=groups.filter(overruled).height,
    )


def judged(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The duplicate groups of a grouping's frame, one row each in order of their first copy.

    `by` is ("group",), or ("scope", "group") for copies of one subject only. Columns: copies, keyed (copies with a
    single answer), and distinct answers, letters and pdfs among those, distinct verdicts among all copies.
    """
    keyed = pl.col("kind") == KEYED
    several = frame.filter(pl.len().over(by) > 1)
    return several.group_by(by, maintain_order=True).agg(
        pl.len().alias("copies"),
        keyed.sum().alias("keyed"),
        pl.col("verdict").filter(keyed).n_unique().alias("answers"),
        pl.col("letter").filter(keyed).n_unique().alias("letters"),
        pl.col("pdf").filter(keyed).n_unique().alias("pdfs"),
        pl.col("verdict").n_unique().alias("verdicts"),
    )


# ---- attributions ---------------------------------------------------------------------------------------------------


class Kind(StrEnum):
    """What a disagreement was found to be. Source: the paper, section 3.2."""

    FIGURE = "figure"
    """The copies depend on figures that the text does not hold."""
    DETECTOR_ARTEFACT = "detector_artefact"
    """The keys agree; the comparison made the difference."""
    REWRITTEN_OPTIONS = "rewritten_options"
    OUTSIDE_VIGNETTE = "outside_vignette"
    """The stem points at a case that stands outside the question."""
    TRUE_CONFLICT = "true_conflict"


MAX_NOTE, MAX_WHO = 500, 100
MAX_ATTRIBUTIONS = 100_000
"""Lines of one file; the published release has 27 disagreements."""


class AttributionError(ValueError):
    """A file of attributions, or a new one, that breaks its rules. Names line, field and reason."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """What a person found a disagreement to be."""

    group: str
    """The disagreement's group id, 64 hex digits."""
    copies: str
    """Digest of the copies that were looked at (`Conflict.copies`): with other copies the finding is stale."""
    kind: Kind
    note: str
    date: str
    who: str = ""

    def __post_init__(self) -> None:
        _demand("group", self.group, len(self.group) == 64 and _is_hex(self.group), "not 64 hex digits")
        _demand("copies", self.copies, len(self.copies) == 16 and _is_hex(self.copies), "not 16 hex digits")
        _demand("kind", self.kind, self.kind in set(Kind), "no kind of finding")
        _demand("note", self.note, bool(self.note.strip()), "empty; say in one line what was seen")
        _demand("note", self.note, _is_line(self.note, MAX_NOTE), f"not one printable line of at most {MAX_NOTE}")
        _demand("date", self.date, _is_date(self.date), "not a day as YYYY-MM-DD")
        _demand("who", self.who, _is_line(self.who, MAX_WHO), f"not one printable line of at most {MAX_WHO}")

    def line(self) -> bytes:
        """The attribution as one line of its file, without the line feed."""
        return json.dumps(asdict(self), ensure_ascii=False).encode()


_FIELDS = {f.name for f in fields(Attribution)}


def _demand(name: str, value: object, fulfilled: bool, fault: str) -> None:
    if not fulfilled:
        raise AttributionError(f"{name}: {excerpt(value)}: {fault}" if value else f"{name}: {fault}")


def _is_hex(text: str) -> bool:
    return all(c in "0123456789abcdef" for c in text)


def _is_line(text: str, most: int) -> bool:
    return len(text) <= most and (text.isprintable() or not text)


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def read_attributions(data: bytes, name: str) -> dict[str, Attribution]:
    """Group id -> its latest attribution, from the bytes of a file that only grows: a later line replaces an earlier.

    Raises AttributionError naming `name`, line and reason for anything that `Attribution.line` did not write.
    """
    if data and not data.endswith(b"\n"):
        raise AttributionError(f"{name}: no line feed at the end; was it cut short?")
    lines = data.split(b"\n")[:-1]
    if len(lines) > MAX_ATTRIBUTIONS:
        raise AttributionError(f"{name}: {len(lines)} lines, more than {MAX_ATTRIBUTIONS}")
    found: dict[str, Attribution] = {}
    for number, line in enumerate(lines, start=1):
        try:
            entry = _attribution(line)
        except AttributionError as error:
            raise AttributionError(f"{name} line {number}: {error}") from None
        found[entry.group] = entry
    return found


def _attribution(line: bytes) -> Attribution:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise AttributionError(f"not JSON: {excerpt(str(error))}") from None
    if not isinstance(record, dict) or record.keys() != _FIELDS:
        raise AttributionError(f"fields: {excerpt(sorted(record) if isinstance(record, dict) else record, 120)}")
    for name, value in record.items():
        _demand(name, value, isinstance(value, str), "no text")
    _demand("kind", record["kind"], record["kind"] in set(Kind), "no kind of finding")
    return Attribution(**{**record, "kind": Kind(record["kind"])})


# ---- disagreements --------------------------------------------------------------------------------------------------

OPEN, ATTRIBUTED, STALE = "open", "attributed", "stale"
"""Nobody said what a disagreement is; somebody did, over these copies; somebody did, and the copies changed since."""


@dataclass(frozen=True, slots=True)
class Printing:
    """One copy of a question whose keys disagree. Only `question` and `answer` are texts of the paper."""

    scope: str
    """The subject's slug, or 'no_subject'."""
    paper_id: str
    q_no: int
    page: int
    letter: str
    """The key as printed; '' when it names no single answer."""
    answer_sha256: str
    """16 hex digits of the answer text folded for comparison: equal means the same answer. '' without one."""
    question_sha256: str
    """Content of the question PDF."""
    exclusions: tuple[str, ...]
    question: str
    answer: str

    def named(self) -> dict[str, Any]:
        """Names, hashes and verdicts alone: what may be shown where the texts may not."""
        return {key: value for key, value in asdict(self).items() if key not in ("question", "answer")}


@dataclass(frozen=True, slots=True)
class Conflict:
    """A duplicate group whose official keys name different answer texts."""

    group: str
    """Stable id: the loose fingerprint, 64 hex digits (for the blank of a cloze hashed with its place)."""
    independent: bool
    """True when the answers that differ stand on at least two distinct PDFs."""
    printings: tuple[Printing, ...]
    attribution: Attribution | None = None

    @property
    def copies(self) -> str:
        """Digest of what there is to look at: every copy with its key. 16 hex digits."""
        names = sorted(
            f"{p.scope} {p.paper_id} {p.q_no} {p.letter} {p.answer_sha256} {p.question_sha256}" for p in self.printings
        )
        return sha256("\n".join(names).encode()).hexdigest()[:16]

    @property
    def standing(self) -> str:
        """OPEN, ATTRIBUTED or STALE."""
        if self.attribution is None:
            return OPEN
        return ATTRIBUTED if self.attribution.copies == self.copies else STALE

    def to_json(self, *, texts: bool) -> dict[str, Any]:
        """The disagreement with all its copies, their texts only when asked for."""
        found = self.attribution
        return {
            "group": self.group,
            "copies": self.copies,
            "independent": self.independent,
            "standing": self.standing,
            "attribution": {**asdict(found), "kind": found.kind.value} if found else None,
            "printings": [asdict(p) if texts else p.named() for p in self.printings],
        }


@dataclass(frozen=True, slots=True)
class SameStem:
    """One stem with several sets of options: (scope, paper_id, q_no) of the first copy of each."""

    firsts: tuple[tuple[str, str, int], ...]


@dataclass(frozen=True, slots=True)
class Consistency:
    """What the official keys of a whole store say together."""

    printed: int
    distinct: int
    """Distinct questions: loose fingerprints, and blanks of a cloze by their place."""
    duplicate_groups: int
    """Questions that were printed at least twice, with or without a single answer."""
    independent_duplicates: int
    """Those printed by at least two distinct PDFs."""
    over_all: Agreement
    """Groups over all subjects together: a question that two subjects print is one group."""
    within_subjects: Agreement
    """Groups inside one subject, summed: what the cards print. Questions that no subject claims have no part in it."""
    conflicts: tuple[Conflict, ...]
    """Every group of `over_all` that disagrees, in order of its first copy."""
    same_stem: tuple[SameStem, ...]
    unknown_attributions: tuple[str, ...]
    """Group ids of attributions that no disagreement has any more."""

    def counts(self) -> dict[str, int]:
        """Standing, and for attributed disagreements their kind -> number; every one, zero or not."""
        found = dict.fromkeys((OPEN, STALE, *Kind), 0)
        for each in self.conflicts:
            attributed = each.attribution if each.standing == ATTRIBUTED else None
            found[attributed.kind if attributed else each.standing] += 1
        return found

    @property
    def settled(self) -> bool:
        """True when every disagreement is attributed as it stands."""
        return all(each.standing == ATTRIBUTED for each in self.conflicts)

    def to_json(self, *, texts: bool) -> dict[str, Any]:
        """Everything, the texts of disagreeing copies only when asked for."""
        return {
            "printed": self.printed,
            "distinct": self.distinct,
            "duplicate_groups": self.duplicate_groups,
            "independent_duplicates": self.independent_duplicates,
            "over_all": self.over_all.to_json(),
            "within_subjects": self.within_subjects.to_json(),
            "attributions": {str(name): count for name, count in self.counts().items()},
            "conflicts": [each.to_json(texts=texts) for each in self.conflicts],
            "same_stem": [[list(first) for first in each.firsts] for each in self.same_stem],
            "unknown_attributions": list(self.unknown_attributions),
        }


Lines = Callable[[], Iterable[tuple[str, bytes]]]
"""Every printed question of a store as (scope, line of items/<scope>.jsonl); called again to show what disagrees."""


def consistency(lines: Lines, attributions: Mapping[str, Attribution] | None = None) -> Consistency:
    """The agreement of all keys of a store, every disagreement with its copies.

    One pass keeps digests alone (`dedupe.Grouping`); the lines are gone through once more for the copies that are
    shown. Raises ItemLineError naming scope and line for a line that is no printed question.
    """
    grouping = Grouping()
    for scope, item in _items(lines()):
        grouping.add(item.year_roc, item.paper_id, item.question_sha256, paper_item(item), scope)
    return consistency_of(grouping, lines, attributions or {})


def consistency_of(grouping: Grouping, lines: Lines, attributions: Mapping[str, Attribution]) -> Consistency:
    """The figures of a finished grouping; `lines` is what it was made from, in the same order."""
    frame = grouping.frame()
    groups = judged(frame, ("group",))
    pdfs = frame.group_by("group").agg(pl.col("pdf").n_unique()).filter(pl.col("pdf") > 1)
    conflicts = _conflicts(grouping, frame, groups, lines, attributions)
    stems = _same_stem(grouping, frame)
    claimed = [number for number, scope in enumerate(grouping.scopes()) if scope != NO_SUBJECT]
    within = judged(frame.filter(pl.col("scope").is_in(claimed)), ("scope", "group"))
    named = {each.group for each in conflicts}
    return Consistency(
        printed=len(grouping),
        distinct=grouping.distinct,
        duplicate_groups=groups.height,
        independent_duplicates=pdfs.height,
        over_all=agreement(groups),
        within_subjects=agreement(within),
        conflicts=conflicts,
        same_stem=stems,
        unknown_attributions=tuple(sorted(set(attributions) - named)),
    )


def _items(lines: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, PrintedItem]]:
    seen: Counter[str] = Counter()
    for scope, line in lines:
        seen[scope] += 1
        try:
            yield scope, from_line(line)
        except ItemLineError as error:
            raise ItemLineError(f"{scope}, printed question {seen[scope]}: {error}") from None


def paper_item(item: PrintedItem) -> PaperItem:
    """The question of a stored item as grouping reads it."""
    return PaperItem(item.q_no, item.question, dict(item.options), item.key, item.accepted, item.exclusions, item.page)


def _chosen(lines: Lines, wanted: Iterable[int]) -> dict[int, tuple[str, PrintedItem]]:
    """The wanted copies by their number; nothing is read when none is."""
    numbers = set(wanted)
    if not numbers:
        return {}
    kept = ((number, found) for number, found in enumerate(lines()) if number in numbers)
    return {number: (scope, from_line(line)) for number, (scope, line) in kept}


def _conflicts(
    grouping: Grouping,
    frame: pl.DataFrame,
    groups: pl.DataFrame,
    lines: Lines,
    attributions: Mapping[str, Attribution],
) -> tuple[Conflict, ...]:
    disagreeing = groups.filter((pl.col("keyed") > 1) & (pl.col("answers") > 1))
    if disagreeing.is_empty():
        return ()
    members = frame.join(disagreeing.select("group"), on="group", how="semi", maintain_order="left")
    copies = _chosen(lines, members["copy"].to_list())
    by_group: dict[int, list[Printing]] = {}
    for number, copy in members.select("group", "copy").iter_rows():
        by_group.setdefault(number, []).append(_printing(*copies[copy]))
    names = grouping.names()
    independent = dict(disagreeing.select("group", pl.col("pdfs") > 1).iter_rows())
    return tuple(
        Conflict(names[number], independent[number], tuple(printings), attributions.get(names[number]))
        for number, printings in by_group.items()
    )


def _printing(scope: str, item: PrintedItem) -> Printing:
    question = paper_item(item)
    folded = answer(question)
    return Printing(
        scope=scope,
        paper_id=item.paper_id,
        q_no=item.q_no,
        page=item.page,
        letter="" if folded is None else item.key or "",
        answer_sha256="" if folded is None else sha256(folded.encode()).hexdigest()[:16],
        question_sha256=item.question_sha256,
        exclusions=tuple(exclusion.value for exclusion in item.exclusions),
        question=item.question,
        answer="" if folded is None else question.options[item.key or ""],
    )


def _same_stem(grouping: Grouping, frame: pl.DataFrame) -> tuple[SameStem, ...]:
    stems = pl.Series("stem", [stem for _, stem in grouping.fingerprints()], dtype=pl.UInt64)
    firsts = frame.unique("group", keep="first", maintain_order=True)
    firsts = firsts.with_columns(stem=stems.gather(firsts["group"])).filter(pl.col("stem") > 0)
    shared = firsts.filter(pl.len().over("stem") > 1)
    scopes, papers = grouping.scopes(), grouping.papers()
    together: dict[int, list[tuple[str, str, int]]] = {}
    for stem, scope, paper, q_no in shared.select("stem", "scope", "paper", "q_no").iter_rows():
        together.setdefault(stem, []).append((scopes[scope], papers[paper], q_no))
    return tuple(SameStem(tuple(places)) for places in together.values())


# ---- the page -------------------------------------------------------------------------------------------------------

MAX_SHOWN = 200
"""Disagreements, and stems with several sets of options, on a page; the JSON has all."""


def share(agreeing: int, groups: int) -> str:
    """'31,285 of 31,312 = 99.9138 % (95 %: 99.87 to 99.94 %)'; without a group that there is none."""
    if not groups:
        return "no group to compare"
    interval = wilson(agreeing, groups)
    return f"{agreeing:,} of {groups:,} = {agreeing / groups:.4%} (95 % interval {interval.shown()})"


def figure_rows(found: Consistency) -> list[tuple[str, str]]:
    """The figures in words, for a table of two columns."""
    everywhere, within = found.over_all, found.within_subjects
    return [
        ("printed questions", f"{found.printed:,}"),
        ("distinct questions", f"{found.distinct:,}"),
        ("printed at least twice", f"{found.duplicate_groups:,}"),
        ("… by at least two distinct PDFs", f"{found.independent_duplicates:,}"),
        ("agree, over all subjects together", share(everywhere.agreeing, everywhere.groups)),
        (
            "… of groups with two distinct PDFs",
            share(everywhere.independent_agreeing, everywhere.independent_groups),
        ),
        ("agree, inside subjects (the cards)", share(within.agreeing, within.groups)),
        ("… of groups with two distinct PDFs", share(within.independent_agreeing, within.independent_groups)),
        ("groups whose letters differ", f"{everywhere.by_letter:,}"),
        ("keyed here, voided or multiply accepted there", f"{everywhere.overruled:,}"),
        ("stems with several sets of options", f"{len(found.same_stem):,}"),
    ]


def conflict_rows(found: Consistency) -> list[tuple[object, ...]]:
    """One row a copy of each disagreement, by names and hashes."""
    rows: list[tuple[object, ...]] = []
    for each in found.conflicts[:MAX_SHOWN]:
        said = each.attribution
        verdict = f"{said.kind.value}: {said.note} ({said.date})" if said else ""
        for number, p in enumerate(each.printings):
            head = (each.group[:16], each.standing, verdict) if number == 0 else ("", "", "")
            rows.append((*head, p.scope, p.paper_id, p.q_no, p.letter, p.answer_sha256, p.question_sha256[:12]))
    return rows


CONFLICT_COLUMNS = ("group", "standing", "attribution", "subject", "paper", "question", "key", "answer", "PDF")


def page(found: Consistency, made_by: str) -> str:
    """The report as Markdown: ids, hashes, verdicts and counts, no text of a paper."""
    lines = [
        "# Key consistency: do reprints have the same official answer?",
        "",
        f"Made by `{made_by}`; do not edit.",
        "",
        "Printed questions are grouped by stem and sorted options (the loose fingerprint). Official answers of a group",
        "are compared by text, never by letter. Excluded questions take part: a key is a key. A group counts as",
        "independent when its answers stand on at least two distinct question PDFs, because reading one file twice",
        "proves nothing. Intervals are Wilson's at 95 %.",
        "",
        # Our own words and numbers: escaped they would read 100&#46;0000 in a committed page.
        "|  | figure |",
        "| --- | --- |",
        *(f"| {name} | {words} |" for name, words in figure_rows(found)),
        "",
        "## Disagreements",
        "",
    ]
    if found.conflicts:
        counts = [(str(name), count) for name, count in found.counts().items()]
        lines += [table(("attribution", "groups"), counts), "", table(CONFLICT_COLUMNS, conflict_rows(found)), ""]
    else:
        lines += ["None: no two official keys of one question name different answers.", ""]
    if found.unknown_attributions:
        names = ", ".join(name[:16] for name in found.unknown_attributions[:MAX_SHOWN])
        lines += [f"Attributions of groups that no longer disagree: {names}.", ""]
    lines += [
        "## One stem, other options",
        "",
        "Reported apart, never compared: a question whose options were rewritten, or a stem that many questions have.",
        "",
        table(("sets of options", "first printings (subject, paper, question)"), _stem_rows(found)),
        "",
    ]
    return "\n".join(lines)


def _stem_rows(found: Consistency) -> list[tuple[int, str]]:
    rows = []
    for each in found.same_stem[:MAX_SHOWN]:
        places = [f"{scope} {paper} Q{q_no}" for scope, paper, q_no in each.firsts[:4]]
        rows.append((len(each.firsts), ", ".join(places) + (" and more" if len(each.firsts) > 4 else "")))
    return rows
