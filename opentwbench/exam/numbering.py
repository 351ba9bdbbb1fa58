"""Question numbers: which lines open the questions 1..N.

What belongs here: candidates for a number and the choice of one chain among them. What does not: stems and options.
Source of the rule: numbers run 1..N monotonically or the line is body text (methodology page), and a number stands in
the number column, left of the option column (hazards 3, 18, 20 and 31).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from opentwbench.exam.glyphs import MARKERS, NUMBER_GLYPHS, count_markers
from opentwbench.exam.layout import Line, Page, Span
from opentwbench.exam.markers import cut, images_by_page, pictures_on
from opentwbench.exam.model import PaperRejected, RejectionReason

MAX_QUESTIONS = 200
"""Real papers end at 100."""

FEWEST_MARKERS = 2
"""Between two question numbers stand at least this many option markers."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A line that may open a question: its number, line index, the characters the number takes, and its x."""

    number: int
    line: int
    characters: int
    x: float


def option_columns(lines: Sequence[Line]) -> dict[int, float]:
    """Page -> x of the option column: where most lines that open with a marker start. Key 0 is the whole paper."""
    starts: dict[int, Counter[float]] = {0: Counter()}
    for line in lines:
        if line.spans[0].text.lstrip()[:1] in MARKERS:
            x = round(line.spans[0].x0 * 2) / 2
            starts[0][x] += 1
            starts.setdefault(line.page, Counter())[x] += 1
    if not starts[0]:
        inner = [s.x0 for line in lines for s in line.spans if s.text.lstrip()[:1] in MARKERS]
        starts[0][min(inner, default=60.0)] += 1
    whole = starts[0].most_common(1)[0][0]
    columns = {0: whole}
    for page, counter in starts.items():
        # The column may shift from page to page, not within one; between equals the leftmost is the column.
        most = max(counter.values())
        x = min(x for x, n in counter.items() if n >= 0.5 * most)
        columns[page] = x if abs(x - whole) < 40 else whole
    return columns


def find_openings(lines: Sequence[Line], columns: Mapping[int, float], name: str) -> list[Opening]:
    """The chain of lines that open questions 1..N: of all candidates the longest chain with options between each two.

    A bare number inside a stem stands in the text column, so it is no candidate; one that a passage or a figure puts
    into the number column loses against the candidate that fits the paper's own number columns better.

    Raises:
        PaperRejected: numbering_broken when no chain starts at 1, or when numbered questions follow behind its end.
    """
    candidates = _candidates(lines, columns)
    chain = _best_chain(candidates, lines)
    if not chain:
        detail = "no question number 1 followed by options stands in the text layer"
        raise PaperRejected(RejectionReason.NUMBERING_BROKEN, detail, file=name, q_no=1)
    last = chain[-1]
    later = [c.number for c in candidates if c.line > last.line and c.number > last.number + 1 and _opens(lines, c)]
    if len(later) >= 2:
        detail = f"numbers run 1..{last.number}, then {later[0]}"
        page = lines[last.line].page
        raise PaperRejected(RejectionReason.NUMBERING_BROKEN, detail, file=name, page=page, q_no=last.number + 1)
    return chain


def write_pictured_numbers(lines: Sequence[Line], columns: Mapping[int, float], pages: Sequence[Page]) -> list[Line]:
    """Lines with the numbers written in that the paper places as pictures in its number column (114901/900/0004).

    The k-th picture is number k; the count is cross-checked later against the key's, like every other count.
    """
    written: list[Line] = []
    count = 0
    images = images_by_page(pages)
    for line in lines:
        column = columns.get(line.page, columns[0])
        here = [box for box in pictures_on(line, images) if box.x1 < column]
        if len(here) == 1:
            count += 1
            box = here[0]
            number = Span(box.x0, box.y0, box.x1, box.y1, line.base, line.size, "", str(count))
            line = replace(line, spans=(number, *line.spans), shifts=(0, *line.shifts))
        written.append(line)
    return written


def _candidates(lines: Sequence[Line], columns: Mapping[int, float]) -> list[Opening]:
    """Every line that could open a question: digits (or a number glyph) left of the option column."""
    found = []
    for i, line in enumerate(lines):
        first = line.spans[0]
        column = columns.get(line.page, columns[0])
        if first.x0 >= column - 0.3 * line.size:
            continue
        stripped = first.text.lstrip()
        blank = len(first.text) - len(stripped)
        if stripped[:1] in NUMBER_GLYPHS:
            found.append(Opening(NUMBER_GLYPHS[stripped[0]], i, blank + 1, first.x0))
            continue
        run = re.match(r"[0-9０-９]+", stripped)
        if not run:
            continue
        # Every prefix of the run is a candidate: the number may be glued to a stem that starts with digits.
        for length in range(1, min(len(run.group()), 3) + 1):
            number = int(run.group()[:length])
            if 0 < number <= MAX_QUESTIONS and cut(first, 0, blank + length).x1 <= column + 0.3 * line.size:
                dot = re.match(r"\s*[.．、]", stripped[length:]) if length == len(run.group()) else None
                after = blank + length + (dot.end() if dot else 0)
                if first.text[after : after + 1].isdigit() and cut(first, 0, after).x1 > column + 0.3 * line.size:
                    after = blank + length  # a decimal point right of the number column belongs to the stem
                found.append(Opening(number, i, after, first.x0))
    return found


def _best_chain(candidates: Sequence[Opening], lines: Sequence[Line]) -> list[Opening]:
    """Dynamic programme over the candidates in order: the longest chain 1, 2, 3, ..., best aligned among equals."""
    columns: Counter[tuple[int, int]] = Counter((len(str(c.number)), round(c.x)) for c in candidates)
    seen = _markers_before(lines)
    length: list[int] = []
    score: list[float] = []
    previous: list[int] = []
    by_number: dict[int, list[int]] = {}
    for i, c in enumerate(candidates):
        own = (1.0 if _stands_alone(lines, c) else 0.0) + min(columns[(len(str(c.number)), round(c.x))], 5) / 5
        best, before = (1, own), -1
        if c.number > 1:
            reachable = [
                p
                for p in by_number.get(c.number - 1, [])
                if length[p] == c.number - 1 and seen[c.line] - seen[candidates[p].line] >= FEWEST_MARKERS
            ]
            before = max(reachable, key=lambda p: score[p], default=-1)
            best = (length[before] + 1, score[before] + own) if before >= 0 else (0, 0.0)
        length.append(best[0])
        score.append(best[1])
        previous.append(before)
        by_number.setdefault(c.number, []).append(i)
    ends = [i for i, c in enumerate(candidates) if length[i] and seen[-1] - seen[c.line] >= FEWEST_MARKERS]
    at = max(ends, key=lambda i: (length[i], score[i]), default=-1)
    chain: list[Opening] = []
    while at >= 0:
        chain.append(candidates[at])
        at = previous[at]
    return chain[::-1]


def _markers_before(lines: Sequence[Line]) -> list[int]:
    """Running count of markers before each line, and after the last."""
    seen = [0]
    for line in lines:
        seen.append(seen[-1] + count_markers(line.text))
    return seen


def _opens(lines: Sequence[Line], c: Opening) -> bool:
    """True when the number stands alone in its column and a marker follows within the next lines."""
    near = lines[c.line : c.line + 12]
    return _stands_alone(lines, c) and any(s.text.lstrip()[:1] in MARKERS for line in near for s in line.spans)


def _stands_alone(lines: Sequence[Line], c: Opening) -> bool:
    """True when a gap (or nothing) follows the number: it is not the start of a word."""
    line = lines[c.line]
    rest = line.spans[0].text[c.characters :]
    if rest.strip():
        return rest[:1].isspace() or line.spans[0].text[c.characters - 1] in ".．、"
    following = [s for s in line.spans[1:] if s.text.strip()]
    return not following or following[0].x0 - cut(line.spans[0], 0, c.characters).x1 > 0.2 * line.size
