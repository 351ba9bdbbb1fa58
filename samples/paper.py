"""Print a question paper: `typeset_paper(spec) -> bytes`, the same bytes for the same specification.

What belongs here: the ministry's page geometry and the order in which its text layer holds the runs.
What does not: reading. This module was written from real pages (positions in points, font sizes, page headers) and
shares nothing with the parser, so that the two can disagree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from samples.fonts import BODY_GLYPHS, COMPATIBILITY, MARKERS, EmbeddedFont, TimesRoman, advance, is_private
from samples.pdf import Canvas, write_pdf
from samples.spec import (
    Block,
    EssayPart,
    Hazard,
    Layout,
    PaperSpec,
    Passage,
    PrintedQuestion,
    SectionHeading,
)

LETTERS = "ABCDE"


@dataclass(frozen=True, slots=True)
class Geometry:
    """Positions of one page style, in points. Measured on real papers, named in `geometry_of`."""

    size: float
    pitch: float
    number_right: float
    stem_x: float
    right: float
    columns: tuple[float, ...]
    """x of the four option columns; two columns use the first and the third."""
    top: float
    bottom: float
    running_y: float | None
    """Top of the running page header (代號, 頁次); None prints none."""
    running_x: tuple[float, float]
    """x of the running header on even (left) and odd (right) pages."""


EARLY = Geometry(11, 15, 58, 72.2, 549.1, (72.2, 193.7, 315.5, 436.6), 95.5, 790, 53.7, (45.9, 488.4))
"""100030/101/0102: MingLiU 11, pitch 15, options at 72.2, 193.7, 315.5, 436.6."""
LATE = Geometry(12, 17.6, 46.7, 58.1, 561.2, (58.1, 176.0, 296.5, 416.2), 86.8, 795, 42.6, (34.0, 493.1))
"""110902/900/0003: MingLiU 12, pitch 17.6, options at 58.1, 176.0, 296.5, 416.2."""
COMPUTER = Geometry(8.7, 13.8, 37.1, 37.2, 395.0, (37.2, 137.2, 237.2, 337.2), 36.8, 812, None, (0, 0))
"""101010/301/11: Arial and MingLiU 8.7, one option a line, no running header."""


def geometry_of(spec: PaperSpec) -> Geometry:
    """The page style of a specification."""
    if spec.layout is Layout.LETTER_DOT:
        return COMPUTER
    return LATE if spec.late else EARLY


@dataclass(slots=True)
class Run:
    """Characters set in one go. `order` sorts runs of one block in the text layer; equal ones keep their order."""

    x: float
    text: str
    size: float
    rise: float = 0.0
    order: int = 0


@dataclass(slots=True)
class Line:
    """A printed line: runs on one base line, strokes relative to it, and the distance to the line before."""

    runs: list[Run] = field(default_factory=list)
    height: float = 0.0
    strokes: list[tuple[float, float, float, float]] = field(default_factory=list)
    new_page: bool = False


# ----------------------------------------------------------------------------------------------------- setting text


@dataclass(frozen=True, slots=True)
class Atom:
    """The smallest thing that is never broken: one Chinese character, one Latin word, one space."""

    text: str
    script: int = 0
    """1 raised, -1 lowered, 0 on the base line, 2 a numbered blank of a cloze passage."""


_MARKUP = re.compile(r"([\^_=])\{([^}]*)\}")
_ATOM = re.compile(r"\n| |[!-~]+|.", re.S)
_CLOSERS = "，。、；：？！）」』》〉"
_OPENERS = "（「『《〈"
_SCRIPT_SIZE = 0.64
"""Raised glyphs of real papers are 7 points beside 11."""
_SCRIPT_RISE = {1: 0.46, 0: 0.0, -1: -0.2}
_SCRIPT_CODE = {"^": 1, "_": -1, "=": 2}
_BLANK_MARGIN = 1.2
"""Room on both sides of a blank's number, in em: wide enough for the text layer to break there."""
_GAP = 0.25
"""Distance between Latin and Chinese, in em."""


_RAISED = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")


def plain_text(marked: str) -> str:
    """The text without markup: raised characters as Unicode superscripts (10³ is not 103), lowered ones as plain (CO2).

    The decision is the platform's (docs/architecture.md, glyphs): a lost superscript changes a value.
    """
    return _MARKUP.sub(lambda m: m[2].translate(_RAISED) if m[1] == "^" else m[2], marked).replace("\n", "")


def _atoms(marked: str) -> Iterator[Atom]:
    position = 0
    for match in _MARKUP.finditer(marked):
        yield from (Atom(a) for a in _ATOM.findall(marked[position : match.start()]))
        yield Atom(match[2], _SCRIPT_CODE[match[1]])
        position = match.end()
    yield from (Atom(a) for a in _ATOM.findall(marked[position:]))


def _clusters(marked: str) -> list[list[Atom]]:
    """Atoms grouped so that no line starts with a closing mark or a script, or ends with an opening one."""
    groups: list[list[Atom]] = []
    for atom in _atoms(marked):
        glued = groups and (abs(atom.script) == 1 or atom.text in _CLOSERS or groups[-1][-1].text in _OPENERS)
        if glued and groups[-1][-1].text != "\n":
            groups[-1].append(atom)
        else:
            groups.append([atom])
    return groups


def is_latin(char: str) -> bool:
    """True for what is set in the Latin face."""
    return " " <= char <= "~"


def _width(atom: Atom, size: float) -> float:
    scale = size * (_SCRIPT_SIZE if abs(atom.script) == 1 else 1)
    margins = 2 * _BLANK_MARGIN * size if atom.script == 2 else 0
    return sum(_char_width(char) for char in atom.text) * scale + margins


def _char_width(char: str) -> float:
    if is_private(char):
        return 1.0
    return TimesRoman.advance(char) if is_latin(char) else advance(char)


def _gap(before: str, after: str, size: float) -> float:
    """Space between Latin and Chinese letters; none beside punctuation."""
    if not before or before == " " or after == " " or is_latin(before) == is_latin(after):
        return 0.0
    chinese = after if is_latin(before) else before
    return _GAP * size if "\u4e00" <= chinese <= "\uffee" and chinese not in _CLOSERS + _OPENERS else 0.0


class Setter:
    """Sets marked text into lines of runs between two margins."""

    def __init__(self, size: float, right: float, pitch: float, *, script_gap: bool = False):
        self.size = size
        self.right = right
        self.pitch = pitch
        self.script_gap = script_gap

    def set(self, marked: str, first_x: float, next_x: float | None = None) -> list[Line]:
        """Lines of the text; the first starts at first_x, the others at next_x."""
        lines = [Line(height=self.pitch)]
        x, last = first_x, ""
        for cluster in _clusters(marked):
            if cluster[0].text == "\n":
                lines.append(Line(height=self.pitch))
                x, last = first_x if next_x is None else next_x, ""
                continue
            width = sum(_width(atom, self.size) for atom in cluster) + _gap(last, cluster[0].text[0], self.size)
            # A closing mark may hang over the margin, as it does in the real papers; a space never starts a line.
            hang = self.size if cluster[-1].text in _CLOSERS else 0
            if x + width - hang > self.right and lines[-1].runs and cluster[0].text != " ":
                lines.append(Line(height=self.pitch))
                x, last = first_x if next_x is None else next_x, ""
            for atom in cluster:
                x = self._place(lines[-1], atom, x, last)
                last = atom.text[-1]
        return lines

    def _place(self, line: Line, atom: Atom, x: float, last: str) -> float:
        if atom.script == 2:
            return self._blank(line, atom, x)
        size = self.size * (_SCRIPT_SIZE if atom.script else 1)
        rise = self.size * _SCRIPT_RISE[atom.script]
        gap = _gap(last, atom.text[0], self.size)
        text = atom.text
        if gap and is_latin(last) and self.script_gap:
            text = "\u00a0" + text  # set as a space of the Chinese face
        else:
            x += gap
        for run_text in _same_face(text):
            width = sum(_GAP if c == "\u00a0" else _char_width(c) for c in run_text) * size
            last_run = line.runs[-1] if line.runs else None
            joins = last_run and not gap and (last_run.size, last_run.rise) == (size, rise)
            joins = joins and not line.strokes  # after a blank the words stand apart
            if joins and _face(line.runs[-1].text[-1]) == _face(run_text[0]):
                line.runs[-1].text += run_text
            else:
                line.runs.append(Run(x, run_text, size, rise))
            x += width
        return x

    def _blank(self, line: Line, atom: Atom, x: float) -> float:
        """A numbered blank: the number above a rule, apart from the words around it."""
        end = x + _width(atom, self.size)
        line.runs.append(Run(x + _BLANK_MARGIN * self.size, atom.text, self.size))
        line.strokes.append((x, 2, end, 2))
        return end

    def width(self, marked: str) -> float:
        """Width of the text on one line."""
        return sum(_width(atom, self.size) for group in _clusters(marked) for atom in group) + 2 * self.size * _GAP


def _face(char: str) -> str:
    if is_private(char):
        return "FE"
    return "FL" if is_latin(char) else "FC"


def _same_face(text: str) -> Iterator[str]:
    start = 0
    for i in range(1, len(text) + 1):
        if i == len(text) or _face(text[i]) != _face(text[start]):
            yield text[start:i]
            start = i


# -------------------------------------------------------------------------------------------------------- questions


def _marker(layout: Layout, index: int) -> str:
    if layout is Layout.PRIVATE_USE:
        return MARKERS[index]
    return f"{LETTERS[index]}." if layout is Layout.LETTER_DOT else f"({LETTERS[index]})"


def hazards_of(question: PrintedQuestion) -> frozenset[Hazard]:
    """The question's switches and the hazards that its content alone brings."""
    found = set(question.hazards)
    text = question.stem + "".join(question.options)
    if any(char in text for char in MARKERS):
        found.add(Hazard.MARKER_IN_TEXT)
    if any(char in text for char in BODY_GLYPHS):
        found.add(Hazard.BODY_GLYPHS)
    if _MARKUP.search(text):
        found.add(Hazard.SCRIPTS)
    return frozenset(found)


class QuestionSetter:
    """Sets questions of one paper."""

    def __init__(self, spec: PaperSpec):
        self.layout = spec.layout
        self.geometry = geometry_of(spec)
        g = self.geometry
        self.setter = Setter(g.size, g.right, g.pitch, script_gap=spec.script_gap)

    def lines(self, question: PrintedQuestion, number: int) -> list[Line]:
        """The question's lines: number and stem, figure, options."""
        if Hazard.CLOZE_BLANKS in question.hazards and not question.stem:
            return self._cloze(question, number)
        lines = self._stem(question, number)
        if Hazard.AXIS_TICKS in question.hazards:
            lines.append(_chart(self.geometry))
        drawn = Hazard.DRAWN_OPTIONS in question.hazards
        options = self._drawn(question) if drawn else self._options(question)
        if Hazard.RUNNING_HEADER in question.hazards:
            options[min(1, len(options) - 1)].new_page = True
        return lines + options

    def _number(self, number: int) -> Run:
        g = self.geometry
        text = str(number) if self.layout is Layout.PRIVATE_USE else f"{number}."
        width = sum(TimesRoman.advance(c) for c in text) * g.size
        return Run(g.number_right - width, text, g.size)

    def _stem(self, question: PrintedQuestion, number: int) -> list[Line]:
        g = self.geometry
        stem = question.stem
        if Hazard.BARE_NUMBER_LINE in question.hazards:
            stem = re.sub(r"(?<=[^\d\n{])(\d{1,3})(?!\d)", r"\n\1", stem, count=1)
        lines = self.setter.set(stem, g.stem_x)
        if Hazard.BARE_NUMBER_LINE in question.hazards:
            _spread_after_number(lines[1], g.size)
        run = self._number(number)
        if Hazard.NUMBER_GLUED in question.hazards:
            # The export ran number and stem together: spaces fill the gap, so the text layer shows one line.
            run.text += " " * int((g.stem_x - g.number_right) / (g.size * TimesRoman.advance(" ")))
        lines[0].runs.insert(0, run)
        return lines

    def _per_line(self, question: PrintedQuestion) -> int:
        g = self.geometry
        if question.per_line:
            return question.per_line
        if self.layout is Layout.LETTER_DOT:
            return 1
        widest = max(self.setter.width(option) for option in question.options) + 2 * g.size
        if widest <= g.columns[1] - g.columns[0] and len(question.options) == 4:
            return 4
        return 2 if widest <= g.columns[2] - g.columns[0] and len(question.options) == 4 else 1

    def _options(self, question: PrintedQuestion) -> list[Line]:
        g = self.geometry
        per_line = self._per_line(question)
        columns = {4: g.columns, 2: g.columns[::2], 1: g.columns[:1]}[per_line]
        lines: list[Line] = []
        for i, option in enumerate(question.options):
            cells = self._option(question, i, option, columns[i % per_line])
            if i % per_line == 0:
                lines += cells
            else:
                lines[-1].runs += cells[0].runs
                lines[-1].height = max(lines[-1].height, cells[0].height)
        return lines

    def _option(self, question: PrintedQuestion, index: int, text: str, x: float) -> list[Line]:
        g = self.geometry
        marker = Run(x, _marker(self.layout, index), g.size)
        text_x = x + sum(_char_width(c) for c in marker.text) * g.size + 0.2
        lines = self.setter.set(text, text_x) if text else [Line(height=g.pitch)]
        runs = lines[0].runs
        hazards = question.hazards
        if Hazard.RAISED_MARKER in hazards:
            marker.rise = 0.3 * g.size
            runs.append(marker)
        elif Hazard.TEXT_BEFORE_MARKER in hazards:
            runs.append(marker)
        elif Hazard.DIGIT_BEFORE_MARKER in hazards and runs and runs[0].text[0].isdigit():
            runs.insert(1, marker)
        else:
            runs.insert(0, marker)
        if Hazard.OPTIONS_SHUFFLED in hazards:
            for run in (run for line in lines for run in line.runs):
                run.order = 100 + index if run is marker else 90 - index
        return lines

    def _cloze(self, question: PrintedQuestion, number: int) -> list[Line]:
        (line,) = self._options(PrintedQuestion("", question.options, per_line=4))
        line.runs.insert(0, self._number(number))
        return [line]

    def _drawn(self, question: PrintedQuestion) -> list[Line]:
        """Options that are drawings: markers in the text layer, then the labels inside the boxes."""
        g = self.geometry
        line = Line(height=g.pitch * 2.6)
        for i, x in enumerate(g.columns[: len(question.options)]):
            line.runs.append(Run(x, _marker(self.layout, i), g.size, order=1))
            left, top = x + 1.6 * g.size, -g.size - 4
            for k in (0, 1):
                line.runs.append(Run(left + 6 + 20 * k, "ab"[k], g.size * 0.8, order=2))
                x0, x1 = left + 20 * k, left + 20 * k + 18
                line.strokes += [(x0, top, x1, top), (x1, top, x1, 2), (x1, 2, x0, 2), (x0, 2, x0, top)]
            line.strokes.append((left, top - 4 - 2 * i, left + 38, top - 4 - 2 * i))
        return [line]


def _spread_after_number(line: Line, size: float) -> None:
    """A justified line: the gap after its leading number is so wide that the text layer breaks there."""
    for run in line.runs[1:]:
        run.x += size
    if len(line.runs) > 1:
        line.runs[1].text = line.runs[1].text.lstrip("\u00a0")


def _chart(g: Geometry) -> Line:
    """A bar chart whose axis ticks are bare numbers at the left margin of the stem."""
    line = Line(height=90)
    left = g.stem_x + 20
    line.strokes = [(left, -70, left, 0), (left, 0, left + 120, 0)]
    for i, tick in enumerate((10, 20, 30)):
        line.runs.append(Run(g.stem_x, str(tick), g.size * 0.8, rise=20.0 * (i + 1)))
        x = left + 15 + 35 * i
        height = (35, 60, 20)[i]
        line.strokes += [(x, 0, x, -height), (x, -height, x + 20, -height), (x + 20, -height, x + 20, 0)]
    return line


# ------------------------------------------------------------------------------------------------------ other blocks


def _heading(block: SectionHeading, g: Geometry) -> list[Line]:
    left = g.number_right - 11
    setter = Setter(12, g.right, 16)
    title = setter.set(block.title, left)
    title[0].height = 24
    return title + setter.set(f"說明：{block.explanation}", left + 24, left + 60)


_BLANK = re.compile(r"\{(\d+)\}")
"""{22} in a passage is the blank that question 22 fills."""


def _passage(block: Passage, spec: PaperSpec) -> list[Line]:
    g = geometry_of(spec)
    setter = Setter(g.size, g.right, g.pitch, script_gap=spec.script_gap)
    lines = setter.set(block.heading, g.number_right - 11)
    for paragraph in block.paragraphs:
        marked = _BLANK.sub(r"={\1}", paragraph)
        lines += setter.set(marked, g.number_right + g.size, g.number_right - 11)
    return lines


def _essay(block: EssayPart, spec: PaperSpec) -> list[Line]:
    g = geometry_of(spec)
    head, body = Setter(12, g.right, 14), Setter(16, g.right, 24)
    left = g.number_right - 12
    lines = head.set("甲、申論題部分：（50分）", left)
    lines[0].height = 30
    lines += head.set(
        "\ue129不必抄題，作答時請將試題題號及答案依照順序寫在申論試卷上，於本試題上作答者，不予計分。", left + 24
    )
    lines += head.set("\ue12a請以藍、黑色鋼筆或原子筆在申論試卷上作答。", left + 24)
    for mark, question in zip("一二三四五", block.questions, strict=False):
        lines += body.set(f"{mark}、{question}（25分）", left, left + 32)
    if not block.choice_count:
        return lines
    choice = head.set("乙、測驗題部分：（50分）", left)
    choice[0].new_page = True
    choice[0].runs.append(Run(430, "代號：", 12))
    choice[0].runs.append(Run(466, block.choice_code, 12))
    lines += choice
    lines += head.set(
        "\ue129本測驗試題為單一選擇題，請選出一個正確或最適當的答案，複選作答者，該題不予計分。", left + 24
    )
    note = f"\ue12a共{block.choice_count}題，須用2B鉛筆在試卡上依題號清楚劃記，於本試題或申論試卷上作答者，不予計分。"
    return lines + head.set(note, left + 24)


# ------------------------------------------------------------------------------------------------------------ header


def _spread(label: str) -> str:
    """Two-letter labels are spread to the width of four (科　　目), as printed."""
    return f"{label[0]}\u3000\u3000{label[1]}" if len(label) == 2 else label


def _head(spec: PaperSpec) -> list[Line]:
    return _computer_head(spec) if spec.layout is Layout.LETTER_DOT else _printed_head(spec)


def _printed_head(spec: PaperSpec) -> list[Line]:
    g = geometry_of(spec)
    header = spec.header
    left = g.number_right - 11.3
    swapped = Hazard.HEADER_SWAPPED in spec.hazards
    lines = []
    for text in header.exam_lines:
        (line,) = Setter(16, 2000, 24).set(text, left if not spec.late else 148)
        lines.append(line)
    for label, value in header.fields:
        text_x = left + 14 * 5
        rows = Setter(14, g.right, 18).set(value, text_x)
        rows[0].runs.insert(0, Run(left, f"{_spread(label)}：", 14, order=2 if swapped else 0))
        lines += rows
    time = Line(height=18, runs=[Run(left, "考試時間：", 14, order=2 if swapped else 0)])
    time.runs += Setter(14, g.right, 18).set(header.duration, left + 70)[0].runs
    time.runs.append(Run(g.right - 130, "座號：", 14))
    time.strokes.append((g.right - 88, 1, g.right, 1))
    lines.append(time)
    note_setter = Setter(12, g.right, 14)
    for i, note in enumerate(header.notes):
        rows = note_setter.set("\ue129\ue12a\ue12b\ue12c"[i] + note, left + 48, left + 60)
        if i == 0:
            rows[0].height = 20
            rows[0].runs.insert(0, Run(left, "※注意：", 12))
        lines += rows
    return lines


def _computer_head(spec: PaperSpec) -> list[Line]:
    header = spec.header
    swapped = Hazard.HEADER_SWAPPED in spec.hazards
    lines = []
    for text in header.exam_lines:
        (line,) = Setter(11.6, 2000, 13.2).set(text, 35.2)
        lines.append(line)
    for label, value in (("代號", header.code), *header.fields):
        rows = Setter(9.7, 545, 13.8).set(value, 40 + 9.7 * 5)
        rows[0].runs.insert(0, Run(40, f"{label}：", 9.7, order=2 if swapped else 0))
        lines += rows
    time = Setter(9.7, 545, 13.8).set(f"考試時間：{header.duration}", 40)
    time[0].runs.append(Run(452, "座號：", 9.7))
    lines += time
    for note in header.notes:
        lines += Setter(9.7, 545, 13.8).set(f"※注意：{note}", 32.3)
    return lines


# ------------------------------------------------------------------------------------------------------------- pages


@dataclass(slots=True)
class _Page:
    runs: list[tuple[int, float, Run]] = field(default_factory=list)
    """(block, base line, run)."""
    strokes: list[tuple[float, float, float, float]] = field(default_factory=list)


def _blocks(spec: PaperSpec) -> Iterator[list[Line]]:
    yield _head(spec)
    setter = QuestionSetter(spec)
    number = 0
    for block in spec.blocks:
        yield _block_lines(block, spec, setter, number := _next_number(block, number))


def _next_number(block: Block, last: int) -> int:
    if not isinstance(block, PrintedQuestion):
        return last
    return block.number if block.number is not None else last + 1


def _block_lines(block: Block, spec: PaperSpec, setter: QuestionSetter, number: int) -> list[Line]:
    if isinstance(block, PrintedQuestion):
        return setter.lines(block, number)
    if isinstance(block, SectionHeading):
        return _heading(block, setter.geometry)
    return _passage(block, spec) if isinstance(block, Passage) else _essay(block, spec)


def _first_base(spec: PaperSpec) -> float:
    """Where the first printed line's own height starts: its base line is at 36.8, 75.5 or 57 points as measured."""
    if spec.layout is Layout.LETTER_DOT:
        return 36.8 - 13.2
    return (57.0 if spec.late else 75.5) - 24


def _paginate(spec: PaperSpec) -> list[_Page]:
    g = geometry_of(spec)
    pages = [_Page()]
    y = _first_base(spec)
    for index, lines in enumerate(_blocks(spec)):
        for i, line in enumerate(lines):
            y += line.height + (10 if index == 1 and i == 0 else 0)
            if line.new_page or y > g.bottom:
                pages.append(_Page())
                y = g.top + max(0.0, line.height - g.pitch)
            pages[-1].runs += [(index, y, run) for run in line.runs]
            pages[-1].strokes += [(x0, y + y0, x1, y + y1) for x0, y0, x1, y1 in line.strokes]
    return pages


def _running_header(spec: PaperSpec, page: int, pages: int) -> list[tuple[float, Run]]:
    g = geometry_of(spec)
    if g.running_y is None:
        return []
    x = g.running_x[page % 2]
    base = g.running_y + 10.7
    return [
        (base, Run(x, "代號：", 12)),
        (base, Run(x + 36, spec.header.code, 12)),
        (base + 12, Run(x, "頁次：", 12)),
        (base + 12, Run(x + 36, str(pages), 12)),
        (base + 12, Run(x + 36 + 6 * len(str(pages)), "－", 9.7)),
        (base + 12, Run(x + 44.6 + 6 * len(str(pages)), str(page), 12)),
    ]


def _compatible(text: str, spec: PaperSpec) -> str:
    if Hazard.COMPAT_IDEOGRAPHS not in spec.hazards:
        return text
    return "".join(COMPATIBILITY.get(char, char) for char in text)


def typeset_paper(spec: PaperSpec) -> bytes:
    """The question paper as a PDF. Raises MissingGlyphError for a character that the sample fonts cannot draw."""
    pages = _paginate(spec)
    placed: list[list[tuple[float, Run]]] = []
    for number, page in enumerate(pages, 1):
        runs = [(y, run) for _, y, run in sorted(page.runs, key=lambda item: (item[0], item[2].order))]
        running = _running_header(spec, number, len(pages))
        # On a first page the text layer holds the running header after the printed head (103110/900/0001).
        cut = sum(1 for index, _, _ in page.runs if index == 0) if number == 1 else 0
        placed.append(runs[:cut] + running + runs[cut:])
    fonts = _fonts(spec, placed)
    canvases = []
    for runs, page in zip(placed, pages, strict=True):
        canvas = Canvas()
        for y, run in runs:
            _draw_run(canvas, fonts, y, run, _compatible(run.text, spec))
        for stroke in page.strokes:
            canvas.line(*stroke)
        canvases.append(canvas)
    return write_pdf(canvases, [font for font in fonts.values() if font])


Fonts = dict[str, EmbeddedFont | TimesRoman]


def _fonts(spec: PaperSpec, placed: Sequence[Sequence[tuple[float, Run]]]) -> Fonts:
    chars = {char for runs in placed for _, run in runs for char in _compatible(run.text, spec)}
    chinese = {" " if c == "\u00a0" else c for c in chars if not is_private(c) and not is_latin(c)}
    return {
        "FC": EmbeddedFont("FC", "SampleMing", chinese),
        "FE": EmbeddedFont("FE", "EUDC", {c for c in chars if is_private(c)}, private=True),
        "FL": TimesRoman(),
    }


def _draw_run(canvas: Canvas, fonts: Fonts, y: float, run: Run, text: str) -> None:
    x = run.x
    for part in _same_face(text):
        font = fonts[_face(part[0])]
        canvas.text(font, run.size, x, y - run.rise, part.replace("\u00a0", " "))
        x += sum(_GAP if c == "\u00a0" else _char_width(c) for c in part) * run.size
