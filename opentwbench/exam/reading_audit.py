"""The reading audit: items drawn by seed, read by eye before the parse is seen, and compared with it.

What belongs here: the draw, the fold under which two readings are the same, planted errors, differences, the sums.
What does not: pictures of pages (`bench.reading_audit`), reading a paper.

The auditor is measured too: errors are planted by seed into the parse before it is compared, and a difference is judged
without a word on whether it was planted. An error that the auditor passes over or takes for his own slip is missed.
Source of the procedure: the acceptance of the exam track (300 items, 20 planted errors, ids, hashes and verdicts only).
"""

from __future__ import annotations

import json
import random
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import sha256

from opentwbench.exam.fingerprint import fold_loose
from opentwbench.exam.glyphs import normalise
from opentwbench.exam.model import Exclusion, PaperItem
from opentwbench.statistics.intervals import Interval, wilson

STEM, KEY = "stem", "key"


class Judgement(StrEnum):
    """What a second look at the page says about a difference."""

    PARSE = "parse"
    """The page shows what was transcribed: the parse is wrong."""
    SLIP = "slip"
    """The page shows what was parsed: the transcription is wrong."""
    NORMALISATION = "normalisation"
    """Both say what the page shows; they differ by a rule that the project declares."""


class Planting(StrEnum):
    """The kinds of error that are planted."""

    OPTIONS_SWAPPED = "options_swapped"
    CHARACTER_DROPPED = "character_dropped"
    CHARACTER_REPLACED = "character_replaced"
    KEY_SHIFTED = "key_shifted"
    CUT_AT_LINE_END = "cut_at_line_end"
    SUPERSCRIPT_LOST = "superscript_lost"
    LAST_LINE_LOST = "last_line_lost"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A printed question that can be drawn. `kind` is the kind of examination, `hazards` what makes it hard to read."""

    paper_id: str
    q_no: int
    year_roc: int
    kind: str
    layout: str
    hazards: frozenset[str] = frozenset()

    @property
    def item(self) -> str:
        """Name of the printed question, e.g. '100030-101-0101 Q17'."""
        return f"{self.paper_id} Q{self.q_no}"

    @property
    def stratum(self) -> tuple[int, str, str]:
        """Year, kind of examination, layout."""
        return self.year_roc, self.kind, self.layout


@dataclass(frozen=True, slots=True)
class Drawn:
    """A drawn question and why: 'stratum', or the hazard for which it was drawn."""

    candidate: Candidate
    reason: str


@dataclass(frozen=True, slots=True)
class Reading:
    """One question as somebody read it. `lines` is the number of printed lines of a part, where that is known."""

    stem: str
    options: Mapping[str, str]
    key: str
    lines: Mapping[str, int] = field(default_factory=dict)

    @property
    def parts(self) -> dict[str, str]:
        """Part -> text: stem, each option by letter, key."""
        return {STEM: self.stem, **self.options, KEY: self.key}


@dataclass(frozen=True, slots=True)
class Planted:
    """One planted error: the item, the parts that it changed, its kind."""

    item: str
    kind: Planting
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """A part in which transcription and parse differ. `loose` is True when they agree in the loose fold."""

    item: str
    part: str
    transcribed: str
    shown: str
    loose: bool


# ---------------------------------------------------------------- the draw


def draw(candidates: Sequence[Candidate], size: int, for_hazards: int, seed: int) -> list[Drawn]:
    """`size` questions: proportional to the strata with one of each at least, `for_hazards` of them for their hazards.

    The hazards share their part equally, in order of name, as far as each has questions. Nothing is drawn twice.
    Raises ValueError when there are fewer candidates than `size`, or fewer places than strata.
    """
    if size > len(candidates):
        raise ValueError(f"{size} to draw of {len(candidates)} candidates")
    if len({c.item for c in candidates}) != len(candidates):
        raise ValueError("a candidate is given twice")
    source = random.Random(seed)
    strata: dict[tuple[int, str, str], list[Candidate]] = defaultdict(list)
    for candidate in sorted(candidates, key=lambda c: c.item):
        strata[candidate.stratum].append(candidate)
    shares = _allocate({stratum: len(members) for stratum, members in strata.items()}, size - for_hazards)
    drawn = [
        Drawn(candidate, "stratum")
        for stratum in sorted(strata)
        for candidate in source.sample(strata[stratum], shares[stratum])
    ]
    drawn += _draw_hazards(candidates, {d.candidate.item for d in drawn}, for_hazards, source)
    rest = [c for s in sorted(strata) for c in strata[s] if c.item not in {d.candidate.item for d in drawn}]
    drawn += [Drawn(candidate, "stratum") for candidate in source.sample(rest, size - len(drawn))]
    return drawn


def _allocate(sizes: Mapping[tuple[int, str, str], int], places: int) -> dict[tuple[int, str, str], int]:
    """Places by size of stratum, one each at least, by largest remainder."""
    if places < len(sizes):
        raise ValueError(f"{places} places for {len(sizes)} strata")
    total = sum(sizes.values())
    exact = {stratum: places * count / total for stratum, count in sizes.items()}
    shares = {stratum: min(sizes[stratum], max(1, int(share))) for stratum, share in exact.items()}
    by_need = sorted(exact, key=lambda s: (shares[s] - exact[s], s))
    while sum(shares.values()) < places:  # there are at least as many candidates as places
        for stratum in by_need:
            if sum(shares.values()) < places and shares[stratum] < sizes[stratum]:
                shares[stratum] += 1
    while sum(shares.values()) > places:  # many small strata took their one place
        shares[max((s for s in shares if shares[s] > 1), key=lambda s: (shares[s] - exact[s], s))] -= 1
    return shares


def _draw_hazards(candidates: Sequence[Candidate], taken: set[str], places: int, source: random.Random) -> list[Drawn]:
    pools: dict[str, list[Candidate]] = {}
    for hazard in sorted({h for c in candidates for h in c.hazards}):
        pool = sorted((c for c in candidates if hazard in c.hazards), key=lambda c: c.item)
        source.shuffle(pool)
        pools[hazard] = pool
    found: list[Drawn] = []
    while len(found) < places and any(pools.values()):
        for hazard, pool in pools.items():
            while pool and pool[-1].item in taken:
                pool.pop()
            if pool and len(found) < places:
                candidate = pool.pop()
                taken.add(candidate.item)
                found.append(Drawn(candidate, hazard))
    return found


# ---------------------------------------------------------------- readings


def printed_key(item: PaperItem) -> str:
    """What the sheet says of an item, in the auditor's notation.

    'C' or 'ABD' a plain cell; a # cell by its remark: '#D' a new single key, '#B/D' several accepted answers, '#*'
    everybody credited, '#-' credited unless blank, '#?' a remark that was not read.
    """
    if Exclusion.VOIDED in item.exclusions:
        return "#*"
    if Exclusion.CREDITED_UNLESS_BLANK in item.exclusions:
        return "#-"
    if Exclusion.REMARK_UNREAD in item.exclusions:
        return "#?"
    if item.key is None:
        return "#" + "/".join(item.accepted)
    return f"#{item.key}" if item.corrected else item.key


def fold(text: str) -> str:
    """The text for comparison by eye: normalised as published, widths folded, blanks kept between Latin words only.

    Widths are Unicode's own <wide> and <narrow> variants. Superscripts, subscripts and all other marks stay; a drawn
    blank is one underscore, whatever its length, and an ellipsis is '...'.
    """
    text = "".join(_narrow(char) for char in normalise(text)).replace("…", "...")
    text = re.sub(r"_+", "_", text)
    text = re.sub(r"\s+", " ", text)
    return re.sub(r" (?![A-Za-z0-9\u00c0-\u024f])|(?<![A-Za-z0-9\u00c0-\u024f]) ", "", text).strip()


def _narrow(char: str) -> str:
    kind, _, code = unicodedata.decomposition(char).partition(" ")
    return chr(int(code, 16)) if kind in ("<wide>", "<narrow>") else char


def reading_hash(reading: Reading) -> str:
    """First 16 hex digits of the sha256 of a reading as it stands: what the verdict is about, without its text."""
    values = [unicodedata.normalize("NFC", reading.stem), dict(reading.options), reading.key]
    return sha256(json.dumps(values, ensure_ascii=False, sort_keys=True).encode()).hexdigest()[:16]


# ---------------------------------------------------------------- planted errors

_RAISED = {ord(raised): plain for raised, plain in zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾⁼ⁿ", "0123456789+-()=n", strict=True)}


def plant_errors(readings: Mapping[str, Reading], count: int, seed: int) -> tuple[dict[str, Reading], list[Planted]]:
    """The readings with `count` errors in as many items, the kinds in turn, and the list of what was planted.

    Raises ValueError when the items do not suffice for the count.
    """
    source = random.Random(seed)
    alphabet = sorted({char for r in readings.values() for char in r.stem if "\u4e00" <= char <= "\u9fff"})
    order = sorted(readings)
    source.shuffle(order)
    kinds = list(Planting)
    shown, planted = dict(readings), list[Planted]()
    idle = 0
    while len(planted) < count:
        kind = kinds[(len(planted) + idle) % len(kinds)]
        for item in order:
            damaged = _PLANTERS[kind](readings[item], source, alphabet)
            if damaged is not None and _changed(readings[item], damaged):
                shown[item] = damaged
                planted.append(Planted(item, kind, _changed(readings[item], damaged)))
                order.remove(item)
                idle = 0
                break
        else:
            idle += 1
            if idle == len(kinds):
                raise ValueError(f"only {len(planted)} of {count} errors could be planted")
    return shown, planted


def _changed(before: Reading, after: Reading) -> tuple[str, ...]:
    return tuple(part for part, text in before.parts.items() if fold(text) != fold(after.parts.get(part, "")))


def _swap(reading: Reading, source: random.Random, _: Sequence[str]) -> Reading | None:
    if len(reading.options) < 2:
        return None
    one, other = source.sample(sorted(reading.options), 2)
    options = {**reading.options, one: reading.options[other], other: reading.options[one]}
    return replace(reading, options=options)


def _edit(
    reading: Reading, source: random.Random, edit: Callable[[str, int], str], may: Callable[[str, int], bool]
) -> Reading | None:
    """The reading with the text of one part edited. `edit` and `may` see a text and the lines it is printed on."""
    lines = {part: reading.lines.get(part, 1) for part in reading.parts}
    parts = [part for part, text in reading.parts.items() if part != KEY and text and may(text, lines[part])]
    if not parts:
        return None
    part = source.choice(sorted(parts))
    text = edit(reading.parts[part], lines[part])
    if part == STEM:
        return replace(reading, stem=text)
    return replace(reading, options={**reading.options, part: text})


def _word_places(text: str) -> list[int]:
    return [i for i, char in enumerate(text) if char.isalnum()]


def _drop(reading: Reading, source: random.Random, _: Sequence[str]) -> Reading | None:
    def edit(text: str, _: int) -> str:
        place = source.choice(_word_places(text))
        return text[:place] + text[place + 1 :]

    return _edit(reading, source, edit, lambda text, _: len(_word_places(text)) > 1)


def _replace(reading: Reading, source: random.Random, alphabet: Sequence[str]) -> Reading | None:
    def edit(text: str, _: int) -> str:
        place = source.choice(_word_places(text))
        other = str((int(text[place]) + 3) % 10) if text[place] in "0123456789" else source.choice(alphabet)
        return text[:place] + other + text[place + 1 :]

    return _edit(reading, source, edit, lambda text, _: bool(_word_places(text)))


def _shift_key(reading: Reading, source: random.Random, _: Sequence[str]) -> Reading | None:
    if reading.key not in list("ABCD"):
        return None
    return replace(reading, key=source.choice([letter for letter in "ABCD" if letter != reading.key]))


def _cut_line_end(reading: Reading, source: random.Random, _: Sequence[str]) -> Reading | None:
    """The last two characters of a part's first line are lost, lines taken as equally long."""

    def edit(text: str, lines: int) -> str:
        end = len(text) // lines
        return text[: end - 2] + text[end:]

    return _edit(reading, source, edit, _spans_lines)


def _lose_last_line(reading: Reading, source: random.Random, _: Sequence[str]) -> Reading | None:
    """A part's last line is lost, lines taken as equally long."""
    return _edit(reading, source, lambda text, lines: text[: len(text) * (lines - 1) // lines], _spans_lines)


def _spans_lines(text: str, lines: int) -> bool:
    return lines > 1 and len(text) > 4 * lines


def _lower(reading: Reading, source: random.Random, _: Sequence[str]) -> Reading | None:
    def raised(text: str, _: int) -> bool:
        return any(ord(char) in _RAISED for char in text)

    return _edit(reading, source, lambda text, _: text.translate(_RAISED), raised)


_PLANTERS: Mapping[Planting, Callable[[Reading, random.Random, Sequence[str]], Reading | None]] = {
    Planting.OPTIONS_SWAPPED: _swap,
    Planting.CHARACTER_DROPPED: _drop,
    Planting.CHARACTER_REPLACED: _replace,
    Planting.KEY_SHIFTED: _shift_key,
    Planting.CUT_AT_LINE_END: _cut_line_end,
    Planting.SUPERSCRIPT_LOST: _lower,
    Planting.LAST_LINE_LOST: _lose_last_line,
}


# ---------------------------------------------------------------- comparison


def differences(item: str, transcribed: Reading, shown: Reading) -> list[Difference]:
    """Every part in which the two readings are not the same under `fold`; a part that one lacks is ''."""
    found = []
    for part in dict.fromkeys([*transcribed.parts, *shown.parts]):
        one, other = transcribed.parts.get(part, ""), shown.parts.get(part, "")
        if fold(one) != fold(other):
            found.append(Difference(item, part, one, other, part != KEY and fold_loose(one) == fold_loose(other)))
    return found


# ---------------------------------------------------------------- sums

Place = tuple[str, str]
"""Item and part: what a judgement is about."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the audit found. `wrong` maps an item that the parse has wrong to its wrong parts, planted errors apart;
    `slips` and `normalisations` count differing parts.
    """

    items: int
    planted: int
    caught: int
    wrong: Mapping[str, tuple[str, ...]]
    slips: int
    normalisations: int

    @property
    def catch_rate(self) -> Interval:
        """95 % Wilson interval of the share of planted errors that the auditor caught."""
        return wilson(self.caught, self.planted)

    @property
    def error_rate(self) -> Interval:
        """95 % Wilson interval of the share of audited items that the parse has wrong."""
        return wilson(len(self.wrong), self.items)


def is_caught(plant: Planted, judgements: Mapping[Place, Judgement]) -> bool:
    """True when a part that the planted error changed was judged wrong in the parse."""
    return any(judgements.get((plant.item, part)) is Judgement.PARSE for part in plant.parts)


def settle(
    items: int, found: Sequence[Difference], planted: Sequence[Planted], judgements: Mapping[Place, Judgement]
) -> Outcome:
    """The sums over `items` audited items.

    Raises ValueError when a difference has no judgement, or a judgement no difference.
    """
    asked = {(d.item, d.part) for d in found}
    if asked != set(judgements):
        missing, extra = sorted(asked - set(judgements)), sorted(set(judgements) - asked)
        raise ValueError(f"differences not judged: {missing[:5]}; judgements of no difference: {extra[:5]}")
    ours = {(p.item, part) for p in planted for part in p.parts}
    wrong: dict[str, tuple[str, ...]] = {}
    for item, part in sorted(place for place, j in judgements.items() if j is Judgement.PARSE and place not in ours):
        wrong[item] = (*wrong.get(item, ()), part)
    return Outcome(
        items=items,
        planted=len(planted),
        caught=sum(is_caught(p, judgements) for p in planted),
        wrong=wrong,
        slips=sum(j is Judgement.SLIP for j in judgements.values()),
        normalisations=sum(j is Judgement.NORMALISATION for j in judgements.values()),
    )
