"""The nouns of the Formosa track: articles, windows, drafts, findings and items.

What belongs here: frozen records and closed vocabularies that the corpus, the screens, the drafting, the grounding and
the output share. What does not: anything that reads a file, matches text or asks a model.
Source: the design, sections 2 and 3; facts on Taiwan.md and on the published construction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

LETTERS = "ABCD"


class LeftOut(StrEnum):
    """Why a file of the corpus is no article of the track. Closed; a file has the first that holds, in this order."""

    LINK = "link"
    """A symbolic link (never followed), or another entry that is no regular file."""
    BAD_NAME = "bad_name"
    """A path that no identity can be made of: not UTF-8, not NFC, too long, or with a control, private-use or other
    character that `corpus.BAD_IN_NAME` names."""
    HUB_PAGE = "hub_page"
    """A name that begins with an underscore: a page of links."""
    SITE_PAGE = "site_page"
    """Under About or resources: the site writes about itself."""
    STRAY_COPY = "stray_copy"
    """Under zh-TW: copies of articles that have their place elsewhere."""
    OTHER_LANGUAGE = "other_language"
    """Under a folder of another language, or with a language code before the suffix (台灣鐵道史.en.md)."""
    MISPLACED = "misplaced"
    """Not exactly one folder deep, or in a folder whose name is no category's."""
    UNREADABLE = "unreadable"
    """The system does not let it be read."""
    TOO_LARGE = "too_large"
    NOT_UTF8 = "not_utf8"
    NO_TEXT = "no_text"
    """Nothing is left of the body once it is cleaned."""
    LONG_PARAGRAPH = "long_paragraph"
    """A paragraph of more than `windows.MAX_BLOCK` characters: a window holds whole ones, and a model reads it."""
    PRIVATE_USE = "private_use"
    """Title or text hold a character of the private use areas: which one it is, only somebody's font says."""


class Fault(StrEnum):
    """What is wrong with an article's frontmatter or its characters. Counted and named; the article is used all the
    same."""

    MISSING = "frontmatter_missing"
    INVALID = "frontmatter_invalid"
    """Opened and never closed, no YAML, no mapping, above `corpus.MAX_FRONT` characters, or with an alias."""
    NO_CATEGORY = "category_missing"
    OTHER_CATEGORY = "category_differs"
    """It names another category than its folder; the folder decides."""
    NO_TITLE = "title_missing"
    """None, or one that is no single text: the file's name stands in its place."""
    CONTROL = "control_characters"
    """Title or body hold characters that are not seen and do harm (`corpus.HARMFUL`); they are deleted."""


class Exclusion(StrEnum):
    """Why a draft is no item. Closed, one list for the track; the bucket is the first that holds, in this order."""

    # What came back from the drafting model.
    MALFORMED = "malformed"
    """No JSON object of the asked shape, also after repair of syntax."""
    EMPTY = "empty"
    REFUSED = "refused"
    DUPLICATE_DRAFT = "duplicate_draft"
    """A second draft of one window."""
    UNKNOWN_WINDOW = "unknown_window"
    """The window that it names is not among those given."""
    # Options and key.
    OPTIONS_MALFORMED = "options_malformed"
    """Not exactly A to D, one of them empty or out of bounds, or a key that is none of them."""
    OPTIONS_NOT_DISTINCT = "options_not_distinct"
    """Two options are the same text once folded."""
    OPTIONS_COMBINED = "options_combined"
    """以上皆是, 以上皆非, 皆非, A 與 B: an option about the options."""
    OPTIONS_MIXED = "options_mixed"
    """Not of one kind: the key differs in kind from all others (a year among names)."""
    # The stem.
    STEM_MALFORMED = "stem_malformed"
    """Empty, out of bounds, or without a question."""
    NOT_SELF_CONTAINED = "not_self_contained"
    """Opens on a pronoun or points at a text that the reader does not see (本文, 上述, 作者, 這篇)."""
    DOCUMENT_LOCAL = "document_local"
    """Asks about the article instead of about Taiwan: its sections, its sources, its wording, its last update."""
    ANSWER_IN_STEM = "answer_in_stem"
    # Orthography.
    SIMPLIFIED_ONLY = "simplified_only"
    MAINLAND_TERM = "mainland_term"
    # Between items.
    NEAR_DUPLICATE = "near_duplicate"
    # What the judge says.
    JUDGE_SILENT = "judge_silent"
    """No readable verdict."""
    QUOTE_MISSING = "quote_missing"
    """The answer's text is not in the window, and the quoted sentence is none of the window's."""
    UNGROUNDED = "ungrounded"
    """The judge found the keyed answer not supported by the window."""
    JUDGE_REJECTED = "judge_rejected"
    """The judge rejected the item for another reason."""
    # A person.
    MAINTAINER_EXCLUDED = "maintainer_excluded"


class Caution(StrEnum):
    """What a screen saw and does not exclude for: reported with every item, never dropped silently."""

    ANSWER_NOT_IN_WINDOW = "answer_not_in_window"
    """The keyed answer does not stand in the window, also folded: the judge must quote the sentence that does."""
    MAINLAND_WARNING = "mainland_warning"
    """A word that both sides use in some sense (網絡, 質量, 信息)."""
    MAINLAND_ALLOWED = "mainland_allowed"
    """A term of the list in a place where it is allowed: a mention of the word in brackets."""
    SIMPLIFIED_ALLOWED = "simplified_allowed"
    """A Simplified-only character in an allowed context (弁当, 王添灯)."""
    LONGEST_IS_KEY = "longest_is_key"
    """The key is longer than every other option by half: no ground to exclude one item, counted over all."""
    NO_WINDOW_TEXT = "no_window_text"
    """The quotation given with the draft is not in the window."""


@dataclass(frozen=True, slots=True)
class Article:
    """One article of the corpus, cleaned. Offsets count characters (code points), not bytes."""

    path: str
    """Inside the corpus' `knowledge` folder, with forward slashes: 'Food/刈包.md'."""
    category: str
    """The folder's name: 'Food'."""
    title: str
    """The frontmatter's title; the file's name where there is none."""
    url: str
    attribution: str
    """One line naming work, authors, source and licence, as CC BY-SA 4.0 section 3(a) asks."""
    commit: str
    """The corpus' commit, 40 hex digits (or as stated); for a plain folder of which none was stated `sha256:` and the
    sha256 of the article's file."""
    sha256: str
    """Of the file's bytes."""
    body_start: int
    """Where the body begins in the file's decoded text."""
    body_end: int
    text: str
    """The cleaned body without headings: blocks joined by an empty line. Windows are slices of it."""
    blocks: tuple[tuple[int, int], ...]
    """Start and end of each block in `text`."""
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Window:
    """A run of whole blocks of one article: what one draft is written from. `text` = article.text[start:end]."""

    window_id: str
    """'Food/刈包/0f3a…': the article's path without suffix and 12 hex digits of the sha256 of the text.

    Stable: it changes when the window's own text changes, and by no edit elsewhere.
    """
    article: str
    """`Article.path`."""
    category: str
    title: str
    start: int
    end: int
    text: str
    url: str
    attribution: str
    commit: str


@dataclass(frozen=True, slots=True)
class Draft:
    """One question as a drafting model wrote it, before any screen. Texts are as they came."""

    window_id: str
    stem: str
    options: Mapping[str, str]
    """Letter -> text. Not sure to be A to D: a screen says so."""
    key: str
    quote: str
    """The sentence of the window that the model gave as support; '' when none was given."""
    model: str
    prompt_id: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One exclusion and what it was seen by: a short excerpt or a figure, never a whole text."""

    exclusion: Exclusion
    evidence: str


@dataclass(frozen=True, slots=True)
class Notice:
    """One caution and what it was seen by."""

    caution: Caution
    evidence: str


@dataclass(frozen=True, slots=True)
class Screened:
    """One draft after every screen. It passes when there is no finding; its bucket is that of the first."""

    draft: Draft
    findings: tuple[Finding, ...] = ()
    """In the order of `Exclusion`."""
    notices: tuple[Notice, ...] = ()

    @property
    def bucket(self) -> Exclusion | None:
        """The exclusion that counts, or None for a draft that passes."""
        return self.findings[0].exclusion if self.findings else None

    @property
    def needs_quote(self) -> bool:
        """True when the keyed answer is not in the window: the judge's quotation is then the only ground."""
        return any(notice.caution is Caution.ANSWER_NOT_IN_WINDOW for notice in self.notices)


@dataclass(frozen=True, slots=True)
class FormosaItem:
    """One grounded item with its permuted options: what is published, or waits for a band."""

    item_id: str
    """'formosa-' and 12 hex digits of the exact fingerprint (exam.fingerprint)."""
    question: str
    options: Mapping[str, str]
    """A to D in order, permuted by a hash of the source window."""
    answer: str
    category: str
    article: str
    title: str
    window_id: str
    start: int
    end: int
    url: str
    attribution: str
    commit: str
    drafting_model: str
    prompt_id: str
    judge: str
    """The grounding judge's exact model id."""
    quote: str
    """The sentence of the window that the judge gave as support; '' where the answer itself stands in the window."""
    notices: tuple[Notice, ...] = field(default=())
