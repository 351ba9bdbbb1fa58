"""The question reader: visual lines become questions numbered 1..N with stems and options.

What belongs here: what a line means (running header, number, marker, section heading, passage, debris).
What does not: keys, text filters, anything that depends on more than one paper.
Options are cut by page coordinates, never by the text layer's order (hazards 1 and 2). A paper whose numbering or
options cannot be read with confidence is rejected; a question that cannot be shown as text carries a finding.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from opentwbench.exam.glyphs import MARKERS, NUMBER_GLYPHS, normalise, unmapped
from opentwbench.exam.layout import Line, Page, Span, read_pages, visual_lines
from opentwbench.exam.model import (
    LETTERS,
    Box,
    Exclusion,
    PaperRejected,
    Question,
    QuestionPaper,
    Region,
    RejectionReason,
)
from opentwbench.exam.reading import is_wide, read_text

MAX_QUESTIONS = 200
"""Real papers end at 100."""

HEADER_SHARE = 0.30
"""Running headers stand in this top share of a page; the tallest seen (two-sided A3 sheets) ends at 0.27."""

FOOTER_SHARE = 0.92
"""Turn-over notes stand below this share of a page."""

_HEADER = re.compile(
    r"代\s*號\s*[:：]|頁\s*次\s*[:：]|全\s*[一二三四五六七八九十]+\s*張|^\s*[（(]\s*[正背]\s*面\s*[）)]"
    r"|座\s*號\s*[:：]|^\s*類\s*科|^\s*科\s*目\s*[:：]|^\s*等\s*別\s*[:：]|^\s*考\s*試\s*別\s*[:：]|^\s*考試時間"
)
_FOOTER = re.compile(r"^\s*[（(]?\s*(請\s*接\s*背\s*面|背\s*面|請接第?\s*\d+\s*頁|請以背面空白頁計算)")
_PART = re.compile(r"^\s*[甲乙丙丁]\s*、\s*.{0,12}測驗")
_NOTICE_COUNT = re.compile(r"共\s*(\d{1,3})\s*題")
_SECTION = re.compile(r"^\s*[一二三四五六七八九十甲乙丙丁]\s*、")
_MULTI_SECTION = re.compile(r"複\s*選\s*題.{0,8}第\s*(\d{1,3})\s*題\s*[至到~～\-－]\s*第?\s*(\d{1,3})\s*題")
_RANGE = re.compile(r"第?\s*(\d{1,3})\s*題?\s*(?:[至到~～\-－—]|、|及|和|與)\s*第?\s*(\d{1,3})\s*題")
_PASSAGE = re.compile(
    r"(依|閱讀|根據|回答|參考|參照).{0,30}(下文|上文|下列|下面|以下|短文|文章|資料|案例|情境|題組|所述|下表|下圖|第)"
)
_TITLE = re.compile(r"考試.{0,6}試題|試題$")


@dataclass(slots=True)
class _Marker:
    line: int
    span: int
    offset: int
    letter: str
    x0: float
    at_gap: bool


@dataclass(slots=True)
class _Draft:
    """One question while its lines are being shared out: part -> rows of (span, shift)."""

    q_no: int
    page: int
    number: Region
    rows: dict[str, list[list[tuple[Span, int]]]] = field(default_factory=dict)
    regions: list[Region] = field(default_factory=list)
    outside: list[Line] = field(default_factory=list)
    findings: set[Exclusion] = field(default_factory=set)

    def add(self, part: str, line: Line, pieces: Sequence[tuple[Span, int]]) -> None:
        """Give the pieces of one visual line to a part of the question."""
        printed = [span for span, _ in pieces if span.text.strip()]
        if not printed:
            return
        self.rows.setdefault(part, []).append(list(pieces))
        box = Box(
            min(s.x0 for s in printed),
            min(s.y0 for s in printed),
            max(s.x1 for s in printed),
            max(s.y1 for s in printed),
        )
        self.regions.append(Region(line.page, box, part))


def read_questions(path: Path) -> QuestionPaper:
    """The multiple-choice questions of one paper.

    Raises:
        PaperRejected: what `read_pages` raises; no_questions when the paper holds no option markers or no question 1;
            numbering_broken when numbers do not run 1..N; options_incomplete when a question has fewer than two options
            or a gap in its letters. The page and the question are named.
    """
    pages = read_pages(path)
    name = path.name
    lines = _content_lines(pages)
    layout = _layout(lines)
    if layout is None:
        raise PaperRejected(RejectionReason.NO_QUESTIONS, "no option markers in any known layout", file=name)
    start = _start_of_part(lines)
    preamble, body = lines[:start], lines[start:]
    reader = _Reader(name, layout, body)
    drafts = reader.drafts()
    _mark_passages(reader.before, drafts)
    heading = "".join(line.text for line in preamble) + "".join(line.text for line in reader.before)
    declared = _NOTICE_COUNT.findall(normalise(heading))
    return QuestionPaper(
        file=name,
        questions=tuple(_question(draft, name) for draft in drafts),
        header=_header(preamble + reader.before),
        layout=layout,
        pages=len(pages),
        declared_count=int(declared[-1]) if declared else None,
        multi_select_range=_multi_select_range([*reader.before, *(line for d in drafts for line in d.outside)]),
        unexplained=_unexplained(drafts),
    )


# --- which lines are content --------------------------------------------------------------------------------------


def _content_lines(pages: Sequence[Page]) -> list[Line]:
    """All visual lines in order, without running headers and turn-over notes (hazard 26: by position)."""
    kept: list[Line] = []
    for page in pages:
        lines = visual_lines(page)
        top = _header_end(page, lines) if page.number > 1 else 0.0
        for line in lines:
            footer = line.base > FOOTER_SHARE * page.height and _FOOTER.match(line.text)
            if line.base > top and not footer:
                kept.append(line)
    return kept


def _header_end(page: Page, lines: Sequence[Line]) -> float:
    """Base line of the running header's last line; 0.0 when the page starts with content."""
    end = 0.0
    for line in lines:
        if line.base > HEADER_SHARE * page.height:
            break
        if _PART.match(line.text):
            break
        if _HEADER.search(line.text):
            end = line.base
        elif end == 0.0 and line.base > 0.12 * page.height and not _TITLE.search(line.text):
            break
    return end


def _start_of_part(lines: Sequence[Line]) -> int:
    """Index of the first line of the multiple-choice part: after 乙、測驗題 in a mixed paper (hazard 25), else 0."""
    for i, line in enumerate(lines):
        if _PART.match(normalise(line.text)):
            return i
    return 0


# --- layouts and markers ------------------------------------------------------------------------------------------

_DOT = re.compile(r"^([A-EＡ-Ｅ])\s*[.．]")
_BRACKET = re.compile(r"^[（(]\s*([A-EＡ-Ｅ])\s*[）)]")
_TEXT_MARKERS = {"letter_dot": _DOT, "bracketed": _BRACKET}


def _layout(lines: Sequence[Line]) -> str | None:
    """The marker layout used most: 'private_use', 'letter_dot' or 'bracketed'; None when there are no markers."""
    counts: Counter[str] = Counter()
    for line in lines:
        counts["private_use"] += sum(line.text.count(glyph) for glyph in MARKERS)
        for i, span in enumerate(line.spans):
            for layout, pattern in _TEXT_MARKERS.items():
                if pattern.match(span.text.lstrip()) and (i == 0 or _gap_before(line, i) > line.size):
                    counts[layout] += 1
    layout, count = counts.most_common(1)[0] if counts else ("", 0)
    return layout if count >= 4 else None


def _gap_before(line: Line, index: int) -> float:
    """Points between span `index` and the printed span before it; a blank span counts as gap."""
    for span in reversed(line.spans[:index]):
        if span.text.strip():
            return line.spans[index].x0 - span.x1
    return line.spans[index].x0


def _width(text: str) -> float:
    """Relative width of characters: a wide one counts 1, any other 0.5."""
    return sum(1.0 if is_wide(c) else 0.5 for c in text) or 0.5


def _cut(span: Span, start: int, end: int | None = None) -> Span:
    """Characters start..end of a span, its edges placed by relative character widths."""
    end = len(span.text) if end is None else end
    unit = (span.x1 - span.x0) / _width(span.text)
    x0 = span.x0 + unit * (_width(span.text[:start]) if start else 0.0)
    x1 = span.x1 if end >= len(span.text) else span.x0 + unit * _width(span.text[:end])
    return Span(x0, span.y0, x1, span.y1, span.base, span.size, span.font, span.text[start:end])


class _Reader:
    """Shares the lines of one paper's multiple-choice part out to its questions."""

    def __init__(self, name: str, layout: str, lines: list[Line]) -> None:
        self.name = name
        self.layout = layout
        self.lines = [self._lift_markers(line) for line in lines] if layout != "private_use" else lines
        self.before: list[Line] = []
        self.option_x = self._option_x()

    def _lift_markers(self, line: Line) -> Line:
        """Letter markers as private-use glyphs, so that everything below knows one kind of marker."""
        pattern = _TEXT_MARKERS[self.layout]
        spans: list[Span] = []
        for i, span in enumerate(line.spans):
            blank = len(span.text) - len(span.text.lstrip())
            match = pattern.match(span.text.lstrip())
            if match and (i == 0 or _gap_before(line, i) > 0.5 * line.size):
                letter = normalise_letter(match.group(1))
                text = chr(0xE18C + LETTERS.index(letter)) + span.text.lstrip()[match.end() :]
                x0 = _cut(span, blank).x0 if blank else span.x0
                span = Span(x0, span.y0, span.x1, span.y1, span.base, span.size, span.font, text)
            spans.append(span)
        return Line(line.page, line.base, line.size, tuple(spans), line.shifts, line.crowded)

    def _option_x(self) -> dict[int, float]:
        """Page -> x of the option column: where most lines that open with a marker start (0 = the whole paper)."""
        starts: dict[int, Counter[float]] = {0: Counter()}
        for line in self.lines:
            if line.spans[0].text.lstrip()[:1] in MARKERS:
                x = round(line.spans[0].x0 * 2) / 2
                starts[0][x] += 1
                starts.setdefault(line.page, Counter())[x] += 1
        if not starts[0]:
            inner = [s.x0 for line in self.lines for s in line.spans if s.text.lstrip()[:1] in MARKERS]
            starts[0][min(inner, default=60.0)] += 1
        whole = starts[0].most_common(1)[0][0]
        columns = {0: whole}
        for page, counter in starts.items():
            # The column may shift between pages, not within one; ties go to the leftmost.
            most = max(counter.values())
            x = min(x for x, n in counter.items() if n >= 0.5 * most)
            columns[page] = x if abs(x - whole) < 40 else whole
        return columns

    def _stem_x(self, line: Line) -> float:
        return self.option_x.get(line.page, self.option_x[0])

    # --- numbering ------------------------------------------------------------------------------------------------

    def _number_candidates(self) -> list[tuple[int, int, int, float]]:
        """(number, line, characters, x) of every line that could open a question: digits left of the option column."""
        found = []
        for i, line in enumerate(self.lines):
            first = line.spans[0]
            if first.x0 >= self._stem_x(line) - 0.3 * line.size:
                continue
            text = first.text
            stripped = text.lstrip()
            blank = len(text) - len(stripped)
            if stripped[:1] in NUMBER_GLYPHS:
                found.append((NUMBER_GLYPHS[stripped[0]], i, blank + 1, first.x0))
                continue
            run = re.match(r"[0-9０-９]+", stripped)
            if not run:
                continue
            for length in range(1, min(len(run.group()), 3) + 1):
                number = int(run.group()[:length])
                ends = _cut(first, 0, blank + length).x1
                if 0 < number <= MAX_QUESTIONS and ends <= self._stem_x(line) + 0.3 * line.size:
                    dot = re.match(r"\s*[.．、](?![0-9])", stripped[length:]) if length == len(run.group()) else None
                    found.append((number, i, blank + length + (dot.end() if dot else 0), first.x0))
        return found

    def _chain(self) -> list[tuple[int, int, int]]:
        """(number, line, characters) for 1..N: the longest run of candidates with options between each two.

        A bare number inside a stem stands in the text column, so it is no candidate; one that a passage or a figure puts
        into the number column loses against the candidate that fits the paper's own number columns better.
        """
        candidates = self._number_candidates()
        columns: Counter[tuple[int, int]] = Counter((len(str(n)), round(x)) for n, _, _, x in candidates)
        markers = [sum(span.text.count(g) for span in line.spans for g in MARKERS) for line in self.lines]
        total = [0]
        for count in markers:
            total.append(total[-1] + count)
        best: list[tuple[int, float, int]] = []  # (length, score, previous candidate)
        by_number: dict[int, list[int]] = {}
        for c, (number, line, chars, x) in enumerate(candidates):
            alone = 1.0 if self._stands_alone(line, chars) else 0.0
            score = alone + min(columns[(len(str(number)), round(x))], 5) / 5
            if number == 1:
                best.append((1, score, -1))
            else:
                options = [
                    (best[p][0], best[p][1], p)
                    for p in by_number.get(number - 1, [])
                    if best[p][0] == number - 1 and total[line] - total[candidates[p][1]] >= 2
                ]
                if options:
                    length, before, p = max(options)
                    best.append((length + 1, before + score, p))
                else:
                    best.append((0, 0.0, -1))
            by_number.setdefault(number, []).append(c)
        usable = [
            c for c in range(len(candidates)) if best[c][0] > 0 and total[-1] - total[candidates[c][1]] >= 2
        ]
        if not usable:
            raise PaperRejected(RejectionReason.NO_QUESTIONS, "no question 1 followed by options", file=self.name)
        c = max(usable, key=lambda c: best[c][:2])
        chain: list[tuple[int, int, int]] = []
        while c >= 0:
            number, line, chars, _ = candidates[c]
            chain.append((number, line, chars))
            c = best[c][2]
        chain.reverse()
        self._no_number_beyond(chain, candidates)
        return chain

    def _no_number_beyond(self, chain: list[tuple[int, int, int]], candidates: list[tuple[int, int, int, float]]) -> None:
        """Reject when the chain stops although later numbers with options follow: a question was missed."""
        last, last_line, _ = chain[-1]
        later = [n for n, line, chars, _ in candidates if line > last_line and n > last + 1 and self._opens(line, chars)]
        if len(later) >= 2:
            page = self.lines[last_line].page
            detail = f"numbers run 1..{last}, then {later[0]}"
            raise PaperRejected(RejectionReason.NUMBERING_BROKEN, detail, file=self.name, page=page, q_no=last + 1)

    def _opens(self, line: int, chars: int) -> bool:
        """True when markers follow within the next lines and the number stands alone in its column."""
        near = self.lines[line : line + 12]
        return self._stands_alone(line, chars) and any(s.text.lstrip()[:1] in MARKERS for one in near for s in one.spans)

    def _stands_alone(self, index: int, chars: int) -> bool:
        """True when a gap (or nothing) follows the number: it is not the start of a word."""
        line = self.lines[index]
        rest = line.spans[0].text[chars:]
        if rest.strip():
            return rest[:1].isspace() or line.spans[0].text[chars - 1] in ".．、"
        following = [s for s in line.spans[1:] if s.text.strip()]
        return not following or following[0].x0 - _cut(line.spans[0], 0, chars).x1 > 0.2 * line.size

    # --- sharing lines out ----------------------------------------------------------------------------------------

    def drafts(self) -> list[_Draft]:
        """Every question with the pieces of its stem and options, in order of number."""
        chain = self._chain()
        self.before = self.lines[: chain[0][1]]
        ends = [line for _, line, _ in chain[1:]] + [len(self.lines)]
        return [
            self._draft(number, line, chars, end) for (number, line, chars), end in zip(chain, ends, strict=True)
        ]

    def _draft(self, q_no: int, start: int, chars: int, end: int) -> _Draft:
        first = self.lines[start]
        number = _cut(first.spans[0], 0, chars)
        draft = _Draft(q_no, first.page, Region(first.page, number.box, "number"))
        lines = self.lines[start:end]
        rest = first.spans[0].text[chars:]
        head = [(_cut(first.spans[0], chars), 0)] if rest.strip() else []
        opened = [head + list(zip(first.spans[1:], first.shifts[1:], strict=True))]
        rows = opened + [list(zip(line.spans, line.shifts, strict=True)) for line in lines[1:]]
        markers = self._place_markers(draft, lines, rows)
        self._share(draft, lines, rows, markers)
        return draft

    def _place_markers(
        self, draft: _Draft, lines: Sequence[Line], rows: list[list[tuple[Span, int]]]
    ) -> dict[tuple[int, int], tuple[str, int]]:
        """(row, piece) -> (letter, character offset) of the markers that open an option.

        A marker opens an option when its letter is the next one and it stands at the start of a line or behind a gap;
        the same glyph inside running text is a reference to an option (hazard 15).
        """
        found: list[_Marker] = []
        for r, row in enumerate(rows):
            right: float | None = None
            for p, (span, _) in enumerate(row):
                for offset, char in enumerate(span.text):
                    if char in MARKERS:
                        before = span.text[:offset]
                        x0 = _cut(span, offset).x0 if before else span.x0
                        gap = _inner_gap(before) if before.strip() else (x0 - right if right is not None else 99.0)
                        found.append(_Marker(r, p, offset, MARKERS[char], x0, gap > 0.5 * lines[r].size))
                if span.text.strip():
                    right = span.x1
        for only_at_gap in (True, False):
            chosen: list[_Marker] = []
            for marker in found:
                if marker.letter == LETTERS[len(chosen) : len(chosen) + 1] and (marker.at_gap or not only_at_gap):
                    chosen.append(marker)
            if len(chosen) >= 4:
                break
        if len(chosen) < 2:
            raise PaperRejected(
                RejectionReason.OPTIONS_INCOMPLETE,
                f"{len(chosen)} option markers",
                file=self.name,
                page=draft.page,
                q_no=draft.q_no,
            )
        return {(m.line, m.span): (m.letter, m.offset) for m in chosen}

    def _share(
        self,
        draft: _Draft,
        lines: Sequence[Line],
        rows: Sequence[list[tuple[Span, int]]],
        markers: dict[tuple[int, int], tuple[str, int]],
    ) -> None:
        """Give every piece to the stem, to an option by its column, or to what stands outside the question."""
        columns: list[tuple[float, str]] = []  # the last marker row: (x of marker, letter)
        seen = 0
        closed = False
        for r, (line, row) in enumerate(zip(lines, rows, strict=True)):
            here = [(p, *markers[(r, p)]) for p in range(len(row)) if (r, p) in markers]
            closed = closed or (bool(columns) and not here and seen == len(markers) and self._closes(line, columns))
            if closed:
                draft.outside.append(line)
                continue
            if here:
                fresh = [(row[p][0].x0, letter) for p, letter, _ in here]
                seen += len(here)
            else:
                fresh = []
            for letter, pieces in self._split(row, here, fresh, columns, line):
                draft.add(letter, line, pieces)
            columns = fresh or columns
            if line.crowded:
                draft.findings.add(Exclusion.NOT_TEXT)

    def _split(
        self,
        row: Sequence[tuple[Span, int]],
        here: Sequence[tuple[int, str, int]],
        fresh: Sequence[tuple[float, str]],
        columns: Sequence[tuple[float, str]],
        line: Line,
    ) -> list[tuple[str, list[tuple[Span, int]]]]:
        """One row's pieces by part. Left of the row's first marker, and on rows without one, the columns above rule."""
        parts: list[tuple[str, list[tuple[Span, int]]]] = []
        opening = {p: (letter, offset) for p, letter, offset in here}
        current = _column(columns, row[0][0].x0, line.size) if row and columns else "stem"
        pieces: list[tuple[Span, int]] = []
        right: float | None = None
        for p, (span, shift) in enumerate(row):
            if p in opening:
                letter, offset = opening[p]
                if span.text[:offset].strip():
                    pieces.append((_cut(span, 0, offset), shift))
                parts.append((current, pieces))
                current, pieces = letter, []
                if span.text[offset + 1 :].strip():
                    pieces.append((_cut(span, offset + 1), shift))
                right = span.x1
                continue
            if not fresh and columns and span.text.strip() and right is not None and span.x0 - right > 2 * line.size:
                column = _column(columns, span.x0, line.size)
                if column != current:
                    parts.append((current, pieces))
                    current, pieces = column, []
            pieces.append((span, shift))
            if span.text.strip():
                right = span.x1
        parts.append((current, pieces))
        return [(part, kept) for part, kept in parts if kept]

    def _closes(self, line: Line, columns: Sequence[tuple[float, str]]) -> bool:
        """True for a line behind the last option that cannot belong to it: a heading, a passage (hazards 13 and 21)."""
        text = normalise(line.text)
        if line.x0 < min(x for x, _ in columns) - 0.6 * line.size:
            return True
        return bool(_PASSAGE.search(text) and _RANGE.search(text))


def normalise_letter(letter: str) -> str:
    """A full-width letter as its half-width form."""
    return chr(ord(letter) - 0xFEE0) if ord(letter) > 0xFF00 else letter


def _inner_gap(before: str) -> float:
    """Gap in points (at 12 points a space is 3) that trailing spaces inside a span leave before a marker."""
    return 3.0 * (len(before) - len(before.rstrip(" \u00a0"))) + 12.0 * (len(before) - len(before.rstrip("\u3000")))


def _column(columns: Sequence[tuple[float, str]], x: float, size: float) -> str:
    """The option whose column a piece at x continues: the rightmost marker that starts at or left of it."""
    letter = columns[0][1]
    for marker_x, candidate in columns:
        if marker_x <= x + 0.6 * size:
            letter = candidate
    return letter


# --- from drafts to questions -------------------------------------------------------------------------------------


def _question(draft: _Draft, name: str) -> Question:
    texts = {part: read_text(rows) for part, rows in draft.rows.items()}
    stem = texts.pop("stem", "")
    letters = [letter for letter in LETTERS if letter in texts]
    options = {letter: texts.get(letter, "") for letter in LETTERS[: max(_last_letter(draft), len(letters))]}
    findings = set(draft.findings)
    if unmapped(stem + "".join(options.values())):
        findings.add(Exclusion.UNMAPPED_GLYPH)
    if any(not text for text in options.values()):
        findings.add(Exclusion.NOT_TEXT)
    return Question(
        q_no=draft.q_no,
        stem=stem,
        options=options,
        page=draft.page,
        regions=(draft.number, *draft.regions),
        findings=frozenset(findings),
    )


def _last_letter(draft: _Draft) -> int:
    return max((LETTERS.index(part) + 1 for part in draft.rows if part in LETTERS), default=0)


def _mark_passages(before: Sequence[Line], drafts: Sequence[_Draft]) -> None:
    """Mark the questions that a passage heading names: they cannot be answered from their own text."""
    for lines in [list(before)] + [draft.outside for draft in drafts]:
        text = " ".join(normalise(line.text) for line in lines)
        for match in _RANGE.finditer(text):
            around = text[max(0, match.start() - 30) : match.end() + 30]
            first, last = int(match.group(1)), int(match.group(2))
            if "選題" in around or not _PASSAGE.search(around) or last - first > 20:
                continue
            for draft in drafts:
                if first <= draft.q_no <= last:
                    draft.findings.add(Exclusion.PASSAGE_GROUP)


def _multi_select_range(lines: Iterable[Line]) -> tuple[int, int] | None:
    match = _MULTI_SECTION.search(" ".join(normalise(line.text) for line in lines))
    return (int(match.group(1)), int(match.group(2))) if match else None


def _unexplained(drafts: Sequence[_Draft]) -> dict[int, str]:
    """Page -> text behind a question's last option that is neither a section heading nor a passage."""
    left: dict[int, str] = {}
    for draft in drafts:
        text = " ".join(normalise(line.text) for line in draft.outside)
        if not text or _SECTION.match(text) or _PASSAGE.search(text):
            continue
        for line in draft.outside:
            left[line.page] = (left.get(line.page, "") + " " + normalise(line.text)).strip()
    return left


_FIELDS = {
    "考試別": r"考試別",
    "等別": r"等別",
    "類科": r"類科(?:組別?|組|名稱|別)?",
    "科目": r"科目(?:名稱)?",
    "代號": r"代號",
    "考試時間": r"考試時間",
}


def _header(lines: Sequence[Line]) -> dict[str, str]:
    """Header fields by name, spaces dropped; the lines above the first field are the examination's name."""
    header: dict[str, str] = {}
    title: list[str] = []
    current = ""
    for line in lines:
        text = re.sub(r"\s+", "", normalise(line.text))
        if re.match(r"※|[甲乙丙]、", text):
            current = ""
            if re.match(r"[甲乙丙]、", text) and "代號" in text:
                header["測驗代號"] = re.sub(r"\D+", "", text.split("代號", 1)[1])
            continue
        pieces = re.split(rf"({'|'.join(_FIELDS.values())})[:：]", text)
        if pieces[0]:
            if current:
                header[current] += pieces[0]
            elif not header:
                title.append(pieces[0])
        for label, value in zip(pieces[1::2], pieces[2::2], strict=True):
            current = next(name for name, pattern in _FIELDS.items() if re.fullmatch(pattern, label))
            value = re.split(r"座號", value)[0]
            header[current] = f"{header[current]} {value}" if current in header else value
    if title:
        header["考試名稱"] = "".join(title)
    return header
