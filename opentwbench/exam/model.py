"""The nouns of the exam track: index rows, papers, keys, questions, rulings and parse records.

What belongs here: frozen records and closed vocabularies shared by every module of the track.
What does not: anything that reads a file, matches text or knows Dagster.
Source of the vocabularies: the design, section 3 ("Contracts"); of the index columns: the ministry's open-data index.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

LETTERS = "ABCDE"
"""Option letters in marker order. E occurs in multi-select questions only."""

FOUR = "ABCD"
"""The letters of an item that can be published."""


class PaperKind(StrEnum):
    """試題型態 of the index. Only MULTIPLE_CHOICE and MIXED rows can carry a key."""

    MULTIPLE_CHOICE = "測驗題"
    ESSAY = "申論題"
    MIXED = "混合題"
    PRACTICAL = "實地考試"


class RejectionReason(StrEnum):
    """Why a whole paper is refused. Closed: a paper is accepted, or rejected with exactly one of these."""

    NOT_A_PDF = "not_a_pdf"
    NO_TEXT_LAYER = "no_text_layer"
    ENCRYPTED = "encrypted"
    NO_QUESTIONS = "no_questions"
    COUNT_MISMATCH = "count_mismatch"
    KEY_INCOMPLETE = "key_incomplete"
    READERS_DISAGREE = "readers_disagree"
    NUMBERING_BROKEN = "numbering_broken"
    OPTIONS_INCOMPLETE = "options_incomplete"
    PAIR_MISMATCH = "pair_mismatch"
    TOO_LARGE = "too_large"
    ACTIVE_CONTENT = "active_content"


class Exclusion(StrEnum):
    """Why a printed question is not published. The order is the precedence: the bucket is the first that applies."""

    MULTI_SELECT = "multi_select"
    VOIDED = "voided"
    CREDITED_UNLESS_BLANK = "credited_unless_blank"
    SEVERAL_ANSWERS_ACCEPTED = "several_answers_accepted"
    REMARK_UNREAD = "remark_unread"
    NOT_FOUR_CHOICE = "not_four_choice"
    IDENTICAL_OPTIONS = "identical_options"
    NOT_TEXT = "not_text"
    ENGLISH = "english"
    FIGURE = "figure"
    FOLLOW_UP = "follow_up"
    PASSAGE_GROUP = "passage_group"
    SWALLOWED_TEXT = "swallowed_text"
    DISPLACED_STEM = "displaced_stem"
    UNMAPPED_GLYPH = "unmapped_glyph"
    CONFLICTING_KEYS = "conflicting_keys"
    IN_LEGAL_BENCHMARK_V2 = "in_legal_benchmark_v2"
    IN_TMMLU_PLUS = "in_tmmlu_plus"
    MAINTAINER_EXCLUDED = "maintainer_excluded"


EXCLUSION_ORDER: tuple[Exclusion, ...] = tuple(Exclusion)

PARSE_CAUSED: frozenset[Exclusion] = frozenset(
    {
        Exclusion.REMARK_UNREAD,
        Exclusion.NOT_TEXT,
        Exclusion.SWALLOWED_TEXT,
        Exclusion.DISPLACED_STEM,
        Exclusion.UNMAPPED_GLYPH,
    }
)
"""Exclusions that our own reading caused, not what the paper says. Watched: under 2 % of printed questions."""


class PaperRejected(Exception):
    """A paper that cannot be read with confidence. Names the file, the page, the question and the rule."""

    def __init__(
        self,
        reason: RejectionReason,
        detail: str,
        *,
        file: str = "",
        page: int | None = None,
        q_no: int | None = None,
    ) -> None:
        where = [file] if file else []
        where += [f"page {page}"] if page is not None else []
        where += [f"question {q_no}"] if q_no is not None else []
        super().__init__(f"{' '.join(where)}: {reason.value}: {detail}" if where else f"{reason.value}: {detail}")
        self.reason = reason
        self.detail = detail
        self.file = file
        self.page = page
        self.q_no = q_no


@dataclass(frozen=True, slots=True)
class IndexRow:
    """One row of the ministry's index: one paper offered in one category of one sitting."""

    year_roc: int
    exam_code: str
    exam_name: str
    level_code: str
    level: str
    exam_and_level: str
    category_code: str
    category: str
    session: str
    subject_name: str
    kind: PaperKind
    question_url: str
    key_url: str
    remark: str
    subject_code: str = ""
    """The s= parameter of the question URL; with exam_code and category_code it names the paper."""

    @property
    def paper_id(self) -> str:
        """Stable identity of the paper: exam code, category code and subject code, e.g. '100030-101-0101'."""
        return f"{self.exam_code}-{self.category_code}-{self.subject_code}"

    @property
    def year_ce(self) -> int:
        """Common-era year of the sitting: ROC year + 1911."""
        return self.year_roc + 1911

    @property
    def has_corrected_key(self) -> bool:
        """True when the index says the key was corrected (備註 is 更正答案), so that key_url points at t=M."""
        return "更正答案" in self.remark


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on a page in PDF points, origin top left."""

    x0: float
    y0: float
    x1: float
    y1: float


@dataclass(frozen=True, slots=True)
class Region:
    """Where the reader saw a part of a question. `part` is 'number', 'stem' or an option letter; pages count from 1."""

    page: int
    box: Box
    part: str


@dataclass(frozen=True, slots=True)
class Question:
    """One printed multiple-choice question as the question reader saw it, before any key."""

    q_no: int
    stem: str
    options: Mapping[str, str]
    """Letter -> text in marker order. An option without text is kept as ''."""
    page: int
    regions: tuple[Region, ...] = ()
    findings: frozenset[Exclusion] = frozenset()
    """Structural exclusions that only the page can show (not_text, figure, passage_group, unmapped_glyph ...)."""


@dataclass(frozen=True, slots=True)
class QuestionPaper:
    """The multiple-choice part of one question PDF. `questions` are numbered 1..N without a gap."""

    file: str
    questions: tuple[Question, ...]
    header: Mapping[str, str]
    """Header fields by name as printed (考試別, 等別, 類科, 科目, 代號, ...), NFC and private-use mapped."""
    layout: str
    """Marker layout: 'private_use', 'letter_dot' or 'bracketed'."""
    pages: int
    declared_count: int | None = None
    """The count that the paper itself prints (共N題), None when it prints none."""
    multi_select_range: tuple[int, int] | None = None
    """First and last question of the multi-select section where its heading prints them (第61題至第70題)."""
    unexplained: Mapping[int, str] = field(default_factory=dict)
    """Page -> text inside the question area that the reader gave to no question (passages, section headings apart)."""
    characters: Mapping[str, int] = field(default_factory=dict)
    """Printed characters of the question area by what they were read as: number, marker, stem, option, label (of a
    figure), heading, passage, unexplained; `printed` is the area's own total, so the others sum to it."""
    second: Mapping[int, Mapping[str, str]] | None = None
    """The second reader's view (`question_rows`): question number -> part -> characters; None when it did not read."""


@dataclass(frozen=True, slots=True)
class Declared:
    """The counts that a key sheet prints (單選題數, 複選題數, 題數). None where it prints none."""

    single: int | None
    multi: int | None

    @property
    def total(self) -> int | None:
        """All questions declared, None when nothing was declared."""
        if self.single is None and self.multi is None:
            return None
        return (self.single or 0) + (self.multi or 0)


@dataclass(frozen=True, slots=True)
class KeySheet:
    """One key PDF. `cells` maps question number to 'C', 'ABD' or '#'; letters are half-width."""

    file: str
    declared: Declared
    cells: Mapping[int, str]
    remarks: Mapping[int, str]
    """Question number -> the remark's own words (第17題答Ｂ或Ｄ...), private-use mapped, one entry a question."""
    header: Mapping[str, str]
    grid: str
    """Grid kind: 'question_number' (題號), 'question_order' (題序) or 'ordinal' (第N題)."""
    corrected: bool
    """True for a corrected key (更正答案, t=M)."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the key says of one question once its remark has been read."""

    key: str | None
    """The official answer: one letter, several for multi-select, None when there is no single official answer."""
    accepted: tuple[str, ...]
    """Every answer that earns credit, each a letter or a letter string; () when everybody is credited or unread."""
    exclusion: Exclusion | None
    corrected: bool = False
    remark: str | None = None


@dataclass(frozen=True, slots=True)
class PaperItem:
    """One question of an accepted paper joined with its ruling."""

    q_no: int
    question: str
    options: Mapping[str, str]
    key: str | None
    accepted: tuple[str, ...]
    exclusions: tuple[Exclusion, ...]
    """Every exclusion that the paper alone can show, in precedence order: ruling, findings and text filters."""
    page: int
    corrected: bool = False
    remark: str | None = None

    @property
    def exclusion(self) -> Exclusion | None:
        """The bucket by precedence, None when the paper alone gives no reason to exclude."""
        return self.exclusions[0] if self.exclusions else None


@dataclass(frozen=True, slots=True)
class PaperRecord:
    """The outcome of parsing one (question PDF, key PDF) pair: accepted with items, or rejected with one reason."""

    question_file: str
    key_file: str
    status: str
    """'accepted' or 'rejected'."""
    reason: RejectionReason | None
    detail: str
    declared: Declared
    found: int
    items: tuple[PaperItem, ...]
    page: int | None = None
    q_no: int | None = None
    header: Mapping[str, str] = field(default_factory=dict)
    key_changes: tuple[str, ...] = ()
    """What the corrected key changed against the first one, e.g. 'Q17 C -> #'; () when there was none to compare."""
    notes: tuple[str, ...] = ()
    """Facts a maintainer should see that did not reject the paper (a misprint resolved, a header not found)."""

    @property
    def accepted(self) -> bool:
        """True when the items may be used."""
        return self.status == "accepted"
