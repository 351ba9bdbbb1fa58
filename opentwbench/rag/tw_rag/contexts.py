"""Four contexts for every grounded item: its own window and what a mediocre retriever would put beside it.

Distractors are windows of the same category in the order of BM25 (Han unigrams and bigrams, words, numbers) against the
question; equal scores stand in the order of window ids. Passed over and counted: the gold's own article, a window that
holds the keyed answer under folding, a text that was taken already, and one more longer (or shorter) than the gold than
the item's hash drew, so that length tells nothing. Nothing is random: the same items and windows give the same contexts
in any process.
What belongs here: choosing contexts. What does not: composing references (references.py) and files (output.py).
Source: the issue, "tw-rag-bench"; the published card, "Construction guarantees".
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from opentwbench.formosa.folding import stands_in
from opentwbench.formosa.model import FormosaItem, Window
from opentwbench.rag.retrieval.bm25 import Index
from opentwbench.rag.tw_rag.model import (
    CONTEXTS,
    Category,
    Context,
    Dropped,
    LeftOut,
    Rejected,
    TwRagItem,
    gold_position,
    longer_contexts,
)
from opentwbench.rag.tw_rag.references import compose

DISTRACTORS = CONTEXTS - 1


@dataclass(frozen=True, slots=True)
class Chosen:
    """The distractors of one item, best first, and what was passed over before there were three."""

    windows: tuple[Window, ...]
    rejected: Mapping[Rejected, int]


class Pool:
    """The windows of one category, ready to be searched."""

    def __init__(self, windows: Iterable[Window]) -> None:
        """Raises RagError when no window holds a token."""
        self._windows = sorted(windows, key=lambda window: window.window_id)
        self._index = Index.build([window.text for window in self._windows])

    def distractors(self, question: str, answer: str, gold: Window, longer: int) -> Chosen:
        """Up to three windows that share a token with the question and neither article nor answer with the gold.

        `longer` of them are longer than the gold and the others are not, as far as there are such; the rest is filled
        in the order of the ranking.
        """
        taken: list[tuple[int, Window]] = []
        waiting: list[tuple[int, Window]] = []
        room = {True: longer, False: DISTRACTORS - longer}
        rejected: Counter[Rejected] = Counter()
        for rank, window in enumerate(self._ranked(question)):
            if len(taken) == DISTRACTORS:
                break
            if window.window_id == gold.window_id:
                continue
            side = len(window.text) > len(gold.text)
            if not room[side]:
                waiting.append((rank, window))
            elif self._takes(window, answer, gold, taken, rejected):
                room[side] -= 1
                taken.append((rank, window))
        for passed, (rank, window) in enumerate(waiting):
            if len(taken) == DISTRACTORS:
                rejected[Rejected.LENGTH] += len(waiting) - passed
                break
            if self._takes(window, answer, gold, taken, rejected):
                taken.append((rank, window))
        return Chosen(tuple(window for _, window in sorted(taken, key=lambda each: each[0])), rejected)

    @staticmethod
    def _takes(
        window: Window, answer: str, gold: Window, taken: Sequence[tuple[int, Window]], rejected: Counter[Rejected]
    ) -> bool:
        reason = _against(window, answer, gold, [each for _, each in taken])
        if reason is not None:
            rejected[reason] += 1
        return reason is None

    def _ranked(self, question: str) -> Iterator[Window]:
        return (self._windows[n] for n, _ in self._index.search(question, len(self._windows)))


def _against(window: Window, answer: str, gold: Window, taken: Sequence[Window]) -> Rejected | None:
    if window.article == gold.article:
        return Rejected.OWN_ARTICLE
    if any(window.text == other.text for other in (gold, *taken)):
        return Rejected.SAME_TEXT
    return Rejected.HOLDS_ANSWER if stands_in(answer, window.text) else None


def of_category(name: str, items: Iterable[FormosaItem], windows: Iterable[Window]) -> Category:
    """What becomes of the grounded items of one category, given the category's windows; in the order of item ids.

    Items of other categories are not looked at, and windows of other categories are no candidates.
    """
    own = [window for window in windows if window.category == name]
    by_id = {window.window_id: window for window in own}
    wanted = sorted((item for item in items if item.category == name), key=lambda item: item.item_id)
    pool = Pool(own) if own and wanted else None
    made: list[TwRagItem] = []
    dropped: list[Dropped] = []
    rejected: Counter[str] = Counter()
    for item in wanted:
        gold = by_id.get(item.window_id)
        if gold is None or pool is None or not _is_its_text(gold):
            dropped.append(Dropped(item.item_id, name, LeftOut.WINDOW_MISSING, item.window_id))
            continue
        composed = compose(item.question, item.options[item.answer])
        if not composed.reference:
            dropped.append(Dropped(item.item_id, name, LeftOut.NEEDS_TEMPLATE, composed.form.value))
            continue
        chosen = pool.distractors(item.question, item.options[item.answer], gold, longer_contexts(item.item_id))
        rejected.update({reason.value: n for reason, n in chosen.rejected.items()})
        if len(chosen.windows) < DISTRACTORS:
            found = f"{len(chosen.windows)} of {DISTRACTORS}"
            dropped.append(Dropped(item.item_id, name, LeftOut.TOO_FEW_DISTRACTORS, found))
            continue
        made.append(_item(item, gold, chosen.windows, composed.form.value, composed.reference))
    return Category(name, tuple(made), tuple(dropped), dict(sorted(rejected.items())))


def _is_its_text(window: Window) -> bool:
    """Whether the window's text is the one that its id names (formosa.windows: 12 hex digits of its sha256)."""
    return hashlib.sha256(window.text.encode()).hexdigest()[:12] == digest_of(window.window_id)


def digest_of(window_id: str) -> str:
    """The digits of the text's hash in a window id: 'Food/刈包/0f3a…', with '-2' for a text that stands twice."""
    return window_id.rpartition("/")[2].partition("-")[0]


def article_of(window_id: str) -> str:
    """The article of a window id, without its suffix: 'Food/刈包'."""
    return window_id.rpartition("/")[0]


def _item(item: FormosaItem, gold: Window, distractors: Sequence[Window], form: str, reference: str) -> TwRagItem:
    position = gold_position(item.item_id)
    shown = [*distractors[: position - 1], gold, *distractors[position - 1 :]]
    return TwRagItem(
        formosa_id=item.item_id,
        question=item.question,
        options=dict(item.options),
        answer=item.answer,
        reference=reference,
        form=form,
        contexts=tuple(Context(w.window_id, w.text, w.url, w.attribution) for w in shown),
        gold_position=position,
        category=item.category,
        source_chunk=gold.window_id,
    )
