"""What to print: the specifications of a question paper and of a key sheet, and the vocabulary of hazards.

What belongs here: frozen descriptions. What does not: geometry, fonts, items.
A hazard is a quirk of the ministry's text layer (or a trap in a paper's content) that defeats reading in text order;
each is a switch, so that a test can print one alone. Sources: real papers, by hazard number of hazards.md.

Markup inside a stem or option: `^{+}` raises, `_{2}` lowers, a newline forces a line break without adding a character.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Layout(StrEnum):
    """How options are marked."""

    PRIVATE_USE = "private_use"
    LETTER_DOT = "letter_dot"
    BRACKETED = "bracketed"


class Hazard(StrEnum):
    """One quirk each; the first group is of question papers, the second of key sheets."""

    TEXT_BEFORE_MARKER = "text_before_marker"
    DIGIT_BEFORE_MARKER = "digit_before_marker"
    OPTIONS_SHUFFLED = "options_shuffled"
    NUMBER_GLUED = "number_glued"
    BARE_NUMBER_LINE = "bare_number_line"
    MARKER_IN_TEXT = "marker_in_text"
    RAISED_MARKER = "raised_marker"
    RUNNING_HEADER = "running_header"
    SECTION_AFTER_D = "section_after_d"
    PASSAGE_AFTER_D = "passage_after_d"
    CLOZE_BLANKS = "cloze_blanks"
    DRAWN_OPTIONS = "drawn_options"
    AXIS_TICKS = "axis_ticks"
    SCRIPTS = "scripts"
    BODY_GLYPHS = "body_glyphs"
    COMPAT_IDEOGRAPHS = "compat_ideographs"
    HEADER_SWAPPED = "header_swapped"

    LABELS_SHUFFLED = "labels_shuffled"
    HUNDRED_LABELS = "hundred_labels"
    GLUED_FIRST_CELL = "glued_first_cell"
    FULL_WIDTH_CELLS = "full_width_cells"
    KEY_HEADER_SWAPPED = "key_header_swapped"
    MISPRINTED_COUNT = "misprinted_count"


KEY_HAZARDS: frozenset[Hazard] = frozenset(
    {
        Hazard.LABELS_SHUFFLED,
        Hazard.HUNDRED_LABELS,
        Hazard.GLUED_FIRST_CELL,
        Hazard.FULL_WIDTH_CELLS,
        Hazard.KEY_HEADER_SWAPPED,
        Hazard.MISPRINTED_COUNT,
    }
)


@dataclass(frozen=True, slots=True)
class PrintedQuestion:
    """One question. `options` in marker order: four, or five for multi-select; '' prints a marker alone."""

    stem: str
    options: tuple[str, ...]
    hazards: frozenset[Hazard] = frozenset()
    per_line: int | None = None
    """Options on a line: 1, 2 or 4; None prints as many as fit."""
    number: int | None = None
    """The printed number; None counts on from the question before."""


@dataclass(frozen=True, slots=True)
class SectionHeading:
    """A heading between questions, e.g. 二、複選題（第3題至第4題，每題3分，占6分）, and its explanation."""

    title: str
    explanation: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A text that the next questions refer to. A bare number in braces, {41}, prints a numbered blank."""

    heading: str
    paragraphs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EssayPart:
    """甲、申論題部分 of a mixed paper; 乙、測驗題部分 with its own code starts on a new page.

    With `choice_count` 0 the paper ends here: an essay-only paper.
    """

    questions: tuple[str, ...]
    choice_code: str
    choice_count: int


Block = PrintedQuestion | SectionHeading | Passage | EssayPart


@dataclass(frozen=True, slots=True)
class PaperHeader:
    """The printed head of a question paper."""

    exam_lines: tuple[str, ...]
    fields: tuple[tuple[str, str], ...]
    """(label, value) as printed, e.g. ('類科', '醫師'), ('科目', '醫學')."""
    code: str
    duration: str = "1小時"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PaperSpec:
    """A question paper. `late` chooses the page geometry of the papers since about ROC 105."""

    header: PaperHeader
    blocks: tuple[Block, ...]
    layout: Layout = Layout.PRIVATE_USE
    hazards: frozenset[Hazard] = frozenset()
    """Paper-wide ones: COMPAT_IDEOGRAPHS, HEADER_SWAPPED."""
    late: bool = False
    script_gap: bool = True
    """Print a space between a Latin run and the Chinese after it, as Word's export does; not part of the text."""

    @property
    def questions(self) -> tuple[PrintedQuestion, ...]:
        """The questions alone, in order."""
        return tuple(block for block in self.blocks if isinstance(block, PrintedQuestion))


class Grid(StrEnum):
    """The three kinds of key grid."""

    QUESTION_NUMBER = "question_number"
    QUESTION_ORDER = "question_order"
    ORDINAL = "ordinal"


@dataclass(frozen=True, slots=True)
class KeySpec:
    """A key sheet. `cells` maps question number to 'C', 'ABD' or '#'."""

    exam_name: str
    category: str
    subject: str
    cells: Mapping[int, str]
    grid: Grid = Grid.ORDINAL
    code: str = ""
    corrected: bool = False
    remarks: tuple[str, ...] = ()
    """One clause a question without the final stop, e.g. 第17題答Ｂ或Ｄ或ＢＤ者均給分."""
    single: int | None = None
    multi: int | None = None
    hazards: frozenset[Hazard] = frozenset()
