"""The question reader: visual lines become questions numbered 1..N with stems and options.

What belongs here: sharing the lines between two numbers out to stem, options and what stands outside.
What does not: keys, text filters, anything that depends on more than one paper.
Options are cut by page coordinates, never by the text layer's order (hazards 1 and 2). A paper whose numbering or
options cannot be read with confidence is rejected; a question that cannot be shown as text carries a finding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from opentwbench.exam.figures import at, encloses, figures, grow
from opentwbench.exam.glyphs import MARKER_GLYPHS, MARKERS, NUMBER_GLYPHS, find_markers, normalise, unmapped
from opentwbench.exam.layout import BLANK, Line, Page, Span, ambiguous_characters, read_pages
from opentwbench.exam.markers import PICTURES, WIDEST_PICTURE, cut, layout_of, lift
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
from opentwbench.exam.numbering import Opening, find_openings, option_columns, write_pictured_numbers
from opentwbench.exam.pictures import PicturedMarker, first_misfit
from opentwbench.exam.question_rows import read_second
from opentwbench.exam.reading import read_text
from opentwbench.exam.sections import (
    content_lines,
    declared_count,
    group_ranges,
    is_section,
    multi_select_range,
    opens_group,
    read_header,
    start_of_part,
)

Piece = tuple[Span, int]
"""A span and its shift: 1 raised, -1 lowered, 0 on the line."""

LONGEST_LABEL = 8
"""Characters of the longest label of a figure; longer text in a figure's area is a sentence (or a table's cell)."""

MOST_UNEXPLAINED = 0.02
"""A paper is refused when a larger share of its question area belongs to no question, heading, passage or figure."""

SMALL_LINE = 0.75
"""A line whose largest type is below this share of the part's own holds no words of a stem or option: it is the limit
of a sum or a figure's label."""

ROW_GAP = 0.5
"""A marker opens an option when this share of the type size stands free before it, or when it opens its line."""


@dataclass(frozen=True, slots=True)
class _Marker:
    row: int
    piece: int
    offset: int
    letter: str
    at_gap: bool


@dataclass(slots=True)
class _Draft:
    """One question while its lines are being shared out: part -> rows of pieces."""

    q_no: int
    page: int
    number: Region
    number_characters: int
    rows: dict[str, list[list[Piece]]] = field(default_factory=dict)
    regions: list[Region] = field(default_factory=list)
    outside: list[Line] = field(default_factory=list)
    labels: list[Span] = field(default_factory=list)
    markers: int = 0
    pictures: list[PicturedMarker] = field(default_factory=list)
    findings: set[Exclusion] = field(default_factory=set)

    def add(self, part: str, line: Line, pieces: Sequence[Piece]) -> None:
        """Give the pieces of one visual line to a part of the question."""
        printed = [span for span, _ in pieces if span.text.strip()]
        if not printed:
            return
        self.rows.setdefault(part, []).append(list(pieces))
        lefts, tops, rights, bottoms, *_ = zip(*printed, strict=True)
        box = Box(min(lefts), min(tops), max(rights), max(bottoms))
        self.regions.append(Region(line.page, box, part))


def read_questions(path: Path) -> QuestionPaper:
    """The multiple-choice questions of one paper.

    Raises:
        PaperRejected: what `read_pages` raises; no_questions when the paper holds no option markers; numbering_broken
            when numbers do not run 1..N; options_incomplete when a question has fewer than two options or option texts
            are placed as pictures. The page and the question are named.
    """
    pages = read_pages(path)
    name = path.name
    printed = content_lines(pages)
    layout = layout_of(printed, pages)
    if layout is None:
        raise PaperRejected(RejectionReason.NO_QUESTIONS, "no option markers in any known layout", file=name)
    start = start_of_part(printed)
    preamble, body = printed[:start], lift(printed[start:], layout, pages)
    columns = option_columns(body)
    _reject_pictured_text(name, layout, body, pages, columns)
    try:
        openings = find_openings(body, columns, name)
    except PaperRejected:
        body = write_pictured_numbers(body, columns, pages)
        openings = find_openings(body, columns, name)
    before = body[: openings[0].line]
    drafts = _Reader(name, layout, body, pages, columns).drafts(openings)
    _check_pictures(path, drafts)
    _mark_groups(before, drafts)
    characters = _account_characters(body[openings[0].line :], drafts)
    _reject_unread(name, characters, drafts)
    ambiguous = ambiguous_characters(pages)
    between = [*before, *(line for draft in drafts for line in draft.outside)]
    return QuestionPaper(
        file=name,
        questions=tuple(_question(draft, ambiguous) for draft in drafts),
        header=read_header([*(line for line in preamble if line.page == 1), *before]),
        layout=layout,
        pages=len(pages),
        declared_count=declared_count([*preamble, *before]),
        multi_select_range=multi_select_range(between),
        unexplained=_unexplained(drafts),
        characters=characters,
        second=read_second(pages, layout),
    )


class _Reader:
    """Shares the lines of one paper's multiple-choice part out to its questions."""

    def __init__(
        self, name: str, layout: str, lines: Sequence[Line], pages: Sequence[Page], columns: Mapping[int, float]
    ) -> None:
        self.name = name
        self.layout = layout
        self.lines = lines
        self.pages = {page.number: page for page in pages}
        self.size = _type_size(lines)
        self.content_top: dict[int, float] = {}
        for line in lines:  # what is drawn above a page's first content line is the running header's box
            self.content_top.setdefault(line.page, line.base - line.size)
        self.figures: dict[int, list[Box]] = {}
        if layout != PICTURES:
            for page in pages:
                column = columns.get(page.number, columns[0])
                self.figures[page.number] = [area for area in figures(page) if area.x1 > column]

    def drafts(self, openings: Sequence[Opening]) -> list[_Draft]:
        """Every question with the pieces of its stem and options, in order of number."""
        ends = [opening.line for opening in openings[1:]] + [len(self.lines)]
        return [self._draft(opening, end) for opening, end in zip(openings, ends, strict=True)]

    def _draft(self, opening: Opening, end: int) -> _Draft:
        lines = self.lines[opening.line : end]
        first = lines[0]
        number = cut(first.spans[0], 0, opening.characters)
        region = Region(first.page, number.box, "number")
        draft = _Draft(opening.number, first.page, region, _printed([number]))
        rows: list[list[Piece]] = [list(zip(line.spans, line.shifts, strict=True)) for line in lines]
        rest = first.spans[0].text[opening.characters :]
        rows[0] = ([(cut(first.spans[0], opening.characters), 0)] if rest.strip() else []) + rows[0][1:]
        rows[0], again = _without_number_glyph(rows[0], opening.number)
        draft.number_characters += again
        if self.layout == PICTURES:
            rows = self._letter_pictures(draft, lines, rows)
        markers = self._place_markers(draft, lines, rows)
        draft.markers = 0 if self.layout == PICTURES else len(markers)
        self._share(draft, lines, rows, markers)
        self._look_at_figures(draft, lines, end)
        return draft

    def _reject(self, draft: _Draft, detail: str) -> PaperRejected:
        reason = RejectionReason.OPTIONS_INCOMPLETE
        return PaperRejected(reason, detail, file=self.name, page=draft.page, q_no=draft.q_no)

    def _letter_pictures(
        self, draft: _Draft, lines: Sequence[Line], rows: Sequence[Sequence[Piece]]
    ) -> list[list[Piece]]:
        """Pictured markers get their letters in reading order: the ministry prints options row by row from A."""
        lettered: list[list[Piece]] = []
        count = 0
        for line, row in zip(lines, rows, strict=True):
            pieces: list[Piece] = []
            for span, shift in row:
                if span.text in MARKERS:
                    if count == len(LETTERS):
                        raise self._reject(draft, "more pictured markers than letters")
                    draft.pictures.append(PicturedMarker(line.page, span.box, draft.q_no, LETTERS[count]))
                    span = span._replace(text=MARKER_GLYPHS[LETTERS[count]])
                    count += 1
                pieces.append((span, shift))
            lettered.append(pieces)
        return lettered

    def _place_markers(
        self, draft: _Draft, lines: Sequence[Line], rows: Sequence[Sequence[Piece]]
    ) -> dict[tuple[int, int], _Marker]:
        """(row, piece) -> the marker that opens an option there.

        A marker opens an option when its letter is the next one and it stands at the start of a line or behind a gap;
        the same glyph inside running text is a reference to an option (hazard 15).
        """
        found = _all_markers(lines, rows)
        chosen: list[_Marker] = []
        for only_at_gap in (True, False):
            chosen = []
            for marker in found:
                if marker.letter == LETTERS[len(chosen) : len(chosen) + 1] and (marker.at_gap or not only_at_gap):
                    chosen.append(marker)
            if len(chosen) >= 4:
                break
        if len(chosen) < 2:
            raise self._reject(draft, f"{len(chosen)} option markers in order")
        return {(m.row, m.piece): m for m in chosen}

    def _share(
        self,
        draft: _Draft,
        lines: Sequence[Line],
        rows: Sequence[Sequence[Piece]],
        markers: Mapping[tuple[int, int], _Marker],
    ) -> None:
        """Give every piece to the stem, to an option by its column, or to what stands outside the question."""
        columns: list[tuple[float, str]] = []  # of the last row with markers: (x of marker, letter)
        seen = 0
        for r, (line, row) in enumerate(zip(lines, rows, strict=True)):
            here = {p: markers[(r, p)] for p in range(len(row)) if (r, p) in markers}
            if draft.outside or (seen == len(markers) and not here and _closes(line, columns)):
                draft.outside.append(line)
                continue
            seen += len(here)
            for part, pieces in _split(row, here, columns, line.size):
                draft.add(part, line, pieces)
            if here:
                columns = [(row[p][0].x0, marker.letter) for p, marker in here.items()]
            if line.crowded or line.size < SMALL_LINE * self.size:
                draft.findings.add(Exclusion.NOT_TEXT)

    def _look_at_figures(self, draft: _Draft, lines: Sequence[Line], end: int) -> None:
        """A question with a figure in its area depends on it; one whose options stand inside drawings is no text."""
        areas = self._areas(draft, lines, end)
        if not any(areas.values()):
            return
        draft.findings.add(Exclusion.FIGURE)
        for part, page, _, row in _rows_with_pages(draft):
            if part != "stem" and any(encloses(a, s) for a in areas[page] for s, _ in row if s.text.strip()):
                draft.findings.add(Exclusion.NOT_TEXT)
        areas = {page: [a for a in here if not _holds_text(a, page, draft)] for page, here in areas.items()}
        for _ in range(2):  # a chart's ticks stand at its axes, its titles at the ticks
            for part, page, i, row in _rows_with_pages(draft):
                kept, labels = _without_labels(row, areas[page], opens_option=part != "stem" and i == 0)
                draft.rows[part][i] = kept
                draft.labels += labels
                areas[page] = [grow(area, labels) for area in areas[page]]

    def _areas(self, draft: _Draft, lines: Sequence[Line], end: int) -> dict[int, list[Box]]:
        """Page -> the figures between the question's number and what follows it."""
        areas: dict[int, list[Box]] = {}
        top_page, top = draft.page, draft.number.box.y0 - 2
        after = draft.outside[0] if draft.outside else self.lines[end] if end < len(self.lines) else None
        last_page = after.page if after else lines[-1].page
        for page in range(top_page, last_page + 1):
            low = top if page == top_page else self.content_top.get(page, 0.0)
            high = after.base if after and page == after.page else self.pages[page].height
            areas[page] = [a for a in self.figures.get(page, []) if low <= (a.y0 + a.y1) / 2 <= high]
        return areas


def _type_size(lines: Sequence[Line]) -> float:
    """The size that most lines of the part have."""
    return Counter(line.size for line in lines).most_common(1)[0][0]


def _rows_with_pages(draft: _Draft) -> list[tuple[str, int, int, list[Piece]]]:
    """(part, page, index, row) of every row of the question."""
    found = []
    for part, rows in draft.rows.items():
        pages = [region.page for region in draft.regions if region.part == part]
        found += [(part, page, i, row) for i, (row, page) in enumerate(zip(rows, pages, strict=True))]
    return found


def _holds_text(area: Box, page: int, draft: _Draft) -> bool:
    """True for a frame around lines of text (a program, a table of sentences): what stands in it is no label."""
    for _, at_page, _, row in _rows_with_pages(draft):
        for chunk in _chunks(row) if at_page == page else ():
            printed = [span for span, _ in chunk if span.text.strip()]
            if sum(len(span.text.strip()) for span in printed) > LONGEST_LABEL and all(
                encloses(area, span) for span in printed
            ):
                return True
    return False


def _without_labels(
    row: Sequence[Piece], areas: Sequence[Box], *, opens_option: bool
) -> tuple[list[Piece], list[Span]]:
    """The row without a figure's labels, and the labels: short pieces that stand in or at a figure.

    A sentence keeps its place even where a picture's empty margin reaches over it, and so does an option's first piece.
    """
    kept: list[Piece] = []
    labels: list[Span] = []
    for c, chunk in enumerate(_chunks(row)):
        printed = [span for span, _ in chunk if span.text.strip()]
        sentence = len("".join(span.text for span in printed).strip()) > LONGEST_LABEL
        if sentence or (opens_option and c == 0) or not all(at(span, areas) for span in printed):
            kept += chunk
        else:
            labels += printed
    return kept, labels


def _chunks(row: Sequence[Piece]) -> list[list[Piece]]:
    """A row's pieces, cut where a gap wider than a character stands."""
    chunks: list[list[Piece]] = []
    right: float | None = None
    for span, shift in row:
        if not chunks or (right is not None and span.x0 - right > span.size):
            chunks.append([])
        chunks[-1].append((span, shift))
        if span.text.strip():
            right = span.x1
    return chunks


def _reject_pictured_text(
    name: str, layout: str, lines: Sequence[Line], pages: Sequence[Page], columns: Mapping[int, float]
) -> None:
    """Reject a paper whose pictures hold more than a marker: the options' words are not in the text layer.

    Such a picture is as high as a line, much wider than a marker, and starts in the option column.
    """
    if layout != PICTURES:
        return
    size = _type_size(lines)
    first = lines[0].page
    for page in pages:
        for box in page.images if page.number >= first else ():
            high = 0.6 * size < box.y1 - box.y0 < 1.6 * size
            wide = box.x1 - box.x0 > WIDEST_PICTURE * size
            if high and wide and abs(box.x0 - columns.get(page.number, columns[0])) < size:
                detail = "option texts are placed as pictures, not as text"
                reason = RejectionReason.OPTIONS_INCOMPLETE
                raise PaperRejected(reason, detail, file=name, page=page.number)


def _check_pictures(path: Path, drafts: Sequence[_Draft]) -> None:
    """Reject a paper whose pictured markers do not sort into letters the way the reader gave them out."""
    misfit = first_misfit(path, [marker for draft in drafts for marker in draft.pictures])
    if misfit:
        detail = f"the picture read as marker {misfit.letter} looks like another letter's"
        reason = RejectionReason.OPTIONS_INCOMPLETE
        raise PaperRejected(reason, detail, file=path.name, page=misfit.page, q_no=misfit.q_no)


def _without_number_glyph(row: Sequence[Piece], number: int) -> tuple[list[Piece], int]:
    """The row without the number set once more as one italic glyph, and how many characters that took (0 or 1).

    106901/900/0004 and its like print the glyph and hide a plain number of 2 points, or none, before it.
    """
    for i, (span, shift) in enumerate(row):
        text = span.text.lstrip()
        if not text:
            continue
        if NUMBER_GLYPHS.get(text[0]) != number:
            break
        rest = cut(span, len(span.text) - len(text) + 1)
        return [*row[:i], *([(rest, shift)] if rest.text.strip() else []), *row[i + 1 :]], 1
    return list(row), 0


def _all_markers(lines: Sequence[Line], rows: Sequence[Sequence[Piece]]) -> list[_Marker]:
    found: list[_Marker] = []
    for r, row in enumerate(rows):
        right: float | None = None
        for p, (span, _) in enumerate(row):
            for offset, letter in find_markers(span.text):
                before = span.text[:offset]
                gap = _inner_gap(before) if before.strip() else 99.0 if right is None else span.x0 - right
                found.append(_Marker(r, p, offset, letter, gap > ROW_GAP * lines[r].size))
            if span.text.strip():
                right = span.x1
    return found


def _inner_gap(before: str) -> float:
    """Points that trailing blanks inside a span leave before a marker, taken as a quarter and a whole em of 12."""
    return 3.0 * (len(before) - len(before.rstrip(" \u00a0"))) + 12.0 * (len(before) - len(before.rstrip("\u3000")))


def _split(
    row: Sequence[Piece], here: Mapping[int, _Marker], columns: Sequence[tuple[float, str]], size: float
) -> list[tuple[str, list[Piece]]]:
    """One row's pieces by part. Left of the row's first marker, and on rows without one, the columns above rule."""
    parts: list[tuple[str, list[Piece]]] = []
    current = _column(columns, row[0][0].x0, size) if row and columns else "stem"
    pieces: list[Piece] = []
    right: float | None = None
    for p, (span, shift) in enumerate(row):
        marker = here.get(p)
        if marker:
            if span.text[: marker.offset].strip():
                pieces.append((cut(span, 0, marker.offset), shift))
            parts.append((current, pieces))
            current, pieces = marker.letter, []
            if span.text[marker.offset + 1 :].strip():
                pieces.append((cut(span, marker.offset + 1), shift))
            right = span.x1
            continue
        if not here and columns and span.text.strip() and right is not None and span.x0 - right > 2 * size:
            column = _column(columns, span.x0, size)
            if column != current:
                parts.append((current, pieces))
                current, pieces = column, []
        pieces.append((span, shift))
        if span.text.strip():
            right = span.x1
    parts.append((current, pieces))
    return [(part, kept) for part, kept in parts if kept]


def _closes(line: Line, columns: Sequence[tuple[float, str]]) -> bool:
    """True for a line behind the last option that cannot belong to it: a heading, a passage (hazards 13 and 21)."""
    if line.x0 < min(x for x, _ in columns) - 0.6 * line.size:
        return True
    return opens_group(normalise(line.text))


def _column(columns: Sequence[tuple[float, str]], x: float, size: float) -> str:
    """The option whose column a piece at x continues: the rightmost marker that starts at or left of it."""
    letter = columns[0][1]
    for marker_x, candidate in columns:
        if marker_x <= x + 0.6 * size:
            letter = candidate
    return letter


def _question(draft: _Draft, ambiguous: frozenset[tuple[str, str]]) -> Question:
    texts = {part: read_text(rows) for part, rows in draft.rows.items()}
    stem = texts.pop("stem", "")
    last = max((LETTERS.index(letter) for letter in texts), default=-1)
    options = {letter: texts.get(letter, "") for letter in LETTERS[: max(last + 1, 4)]}
    findings = set(draft.findings)
    pieces = (span for rows in draft.rows.values() for row in rows for span, _ in row) if ambiguous else ()
    doubtful = any((span.font, char) in ambiguous for span in pieces for char in span.text)
    if doubtful or unmapped(stem + "".join(options.values())):
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


def _mark_groups(before: Sequence[Line], drafts: Sequence[_Draft]) -> None:
    """Mark the questions that a passage heading names: they cannot be answered from their own text."""
    for lines in [before, *(draft.outside for draft in drafts)]:
        for first, last in group_ranges(lines):
            for draft in drafts:
                if first <= draft.q_no <= last:
                    draft.findings.add(Exclusion.PASSAGE_GROUP)


def _unexplained(drafts: Sequence[_Draft]) -> dict[int, str]:
    """Page -> text behind a question's last option that is neither a section heading nor a passage."""
    left: dict[int, str] = {}
    for draft in drafts:
        if _kind_of_outside(draft.outside) == "unexplained":
            for line in draft.outside:
                left[line.page] = (left.get(line.page, "") + " " + normalise(line.text)).strip()
    return left


def _kind_of_outside(lines: Sequence[Line]) -> str:
    """What the lines behind a question's last option are: a heading, a passage, or unexplained."""
    if group_ranges(lines):
        return "passage"
    text = " ".join(normalise(line.text) for line in lines)
    return "heading" if is_section(text) else "unexplained"


def _account_characters(lines: Sequence[Line], drafts: Sequence[_Draft]) -> dict[str, int]:
    """Printed characters of the question area by what they were read as, and their own total as `printed`.

    The total is counted from the lines, the classes from what the questions hold: a character lost or doubled between
    the two shows as a difference.
    """
    counts: Counter[str] = Counter(printed=_printed(span for line in lines for span in line.spans))
    for draft in drafts:
        counts["number"] += draft.number_characters
        counts["marker"] += draft.markers
        counts["label"] += _printed(draft.labels)
        counts[_kind_of_outside(draft.outside)] += _printed(span for line in draft.outside for span in line.spans)
        for part, rows in draft.rows.items():
            counts["stem" if part == "stem" else "option"] += _printed(span for row in rows for span, _ in row)
    return dict(counts)


def _printed(spans: Iterable[Span]) -> int:
    """Characters of the text layer in spans: blanks, and what the reader itself wrote in, do not count."""
    return sum(map(len, " ".join([span.text for span in spans if span.font]).replace(BLANK, "").split()))


def _reject_unread(name: str, characters: Mapping[str, int], drafts: Sequence[_Draft]) -> None:
    """Reject a paper of whose question area too much is unexplained, or where characters were lost or read twice."""
    read = sum(count for kind, count in characters.items() if kind != "printed")
    printed = characters["printed"]
    if read != printed:
        detail = f"{printed} characters are printed in the question area, {read} were read"
        raise PaperRejected(RejectionReason.NUMBERING_BROKEN, detail, file=name)
    left = characters.get("unexplained", 0)
    if left > MOST_UNEXPLAINED * printed:
        draft = next(d for d in drafts if d.outside and _kind_of_outside(d.outside) == "unexplained")
        detail = f"{left} of {printed} characters stand outside every question"
        page = draft.outside[0].page
        raise PaperRejected(RejectionReason.NUMBERING_BROKEN, detail, file=name, page=page, q_no=draft.q_no)
