"""The nouns of tw-rag-bench: an item with its four contexts, what became of every grounded item, and the account.

What belongs here: frozen records and closed vocabularies. What does not: how distractors are found (contexts.py), how a
reference is composed (references.py), files (output.py).
Source: the issue, "tw-rag-bench (data set)"; the published card.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

CONTEXTS = 4
"""The gold window and three distractors, as the published set has them."""

KEY = "rag"
"""What an item's id begins with."""


class LeftOut(StrEnum):
    """Why a grounded item is no item of this set. Closed; the first that holds."""

    WINDOW_MISSING = "window_missing"
    """Its window is not among those given, or has another text: the corpus moved on."""
    NEEDS_TEMPLATE = "needs_template"
    """No template composes its reference, or the composed one would still ask."""
    TOO_FEW_DISTRACTORS = "too_few_distractors"
    """Fewer than three clean windows share a token with the question."""


class Rejected(StrEnum):
    """Why a window that ranked high enough is no distractor. Closed; the first that holds."""

    OWN_ARTICLE = "own_article"
    """An adjacent window can paraphrase the fact past a look for the string."""
    HOLDS_ANSWER = "holds_answer"
    """The keyed answer stands in it under folding (台/臺, widths, spaces, 16/十六)."""
    SAME_TEXT = "same_text"
    """Its text is that of a context already taken."""
    LENGTH = "length"
    """One more context longer, or shorter, than the gold than was drawn for this item."""


@dataclass(frozen=True, slots=True)
class Context:
    """One of the four passages, with what CC BY-SA asks to be said of it."""

    window_id: str
    text: str
    url: str
    attribution: str


@dataclass(frozen=True, slots=True)
class TwRagItem:
    """One item: a question, four contexts, and the sentence that answers it."""

    formosa_id: str
    """Id of the closed-book item, the other half of the pair."""
    question: str
    options: Mapping[str, str]
    answer: str
    """The letter of the key."""
    reference: str
    form: str
    """The interrogative form that the reference was composed from (references.Form)."""
    contexts: tuple[Context, ...]
    gold_position: int
    """1 to 4."""
    category: str
    source_chunk: str
    """Window that holds the answer."""

    @property
    def answer_text(self) -> str:
        """The keyed option's text."""
        return self.options[self.answer]


@dataclass(frozen=True, slots=True)
class Dropped:
    """A grounded item that is left out."""

    formosa_id: str
    category: str
    reason: LeftOut
    detail: str
    """The interrogative form, or how many distractors were found."""


@dataclass(frozen=True, slots=True)
class Category:
    """What became of the grounded items of one category."""

    name: str
    items: tuple[TwRagItem, ...]
    dropped: tuple[Dropped, ...]
    rejected: Mapping[str, int] = field(default_factory=dict)
    """Rejected -> windows that were passed over before three were found."""

    @property
    def account(self) -> Account:
        """The counts."""
        return account([self])


@dataclass(frozen=True, slots=True)
class Account:
    """Where the grounded items went. grounded = items + dropped by reason."""

    grounded: int
    items: int
    dropped: Mapping[str, int]
    rejected: Mapping[str, int]
    forms: Mapping[str, int]
    """Interrogative form -> references composed from it."""
    needing: Mapping[str, int]
    """Interrogative form -> items that need a template."""

    def open_sums(self) -> list[str]:
        """Sums that do not close, in words."""
        found = []
        if self.grounded != self.items + sum(self.dropped.values()):
            found.append(f"{self.grounded} grounded items, {self.items} kept and {sum(self.dropped.values())} dropped")
        if self.items != sum(self.forms.values()):
            found.append(f"{self.items} items, {sum(self.forms.values())} references by form")
        if sum(self.needing.values()) != self.dropped.get(LeftOut.NEEDS_TEMPLATE, 0):
            found.append("the forms that need a template are not the items dropped for it")
        return found

    def to_json(self) -> dict[str, Any]:
        """As build_stats.json holds it."""
        return {
            name: dict(sorted(value.items())) if isinstance(value := getattr(self, name), Mapping) else value
            for name in self.__slots__
        }


def account(categories: Iterable[Category]) -> Account:
    """The counts over some categories."""
    held = list(categories)
    items = [item for each in held for item in each.items]
    dropped = [item for each in held for item in each.dropped]
    rejected: Counter[str] = Counter()
    for each in held:
        rejected.update(each.rejected)
    return Account(
        len(items) + len(dropped),
        len(items),
        Counter(each.reason.value for each in dropped),
        rejected,
        Counter(item.form for item in items),
        Counter(each.detail for each in dropped if each.reason is LeftOut.NEEDS_TEMPLATE),
    )


def gold_position(formosa_id: str) -> int:
    """Where the gold context stands, 1 to 4: the first 8 bytes of sha256('gold ' + id), big-endian, mod 4, plus 1."""
    return _draw("gold", formosa_id) + 1


def longer_contexts(formosa_id: str) -> int:
    """How many of the distractors are to be longer than the gold, 0 to 3; drawn as the position is.

    Why: what BM25 ranks first is longer than the window a question was written from (bench/rag.py: the gold the longest
    of four in 20.6 % of 2,217 items, p = 2e-6), and a reader who knows nothing could go by length.
    """
    return _draw("length", formosa_id)


def _draw(salt: str, formosa_id: str) -> int:
    digest = hashlib.sha256(f"{salt} {formosa_id}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % CONTEXTS
