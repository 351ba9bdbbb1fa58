"""The screens of a draft: each a pure function that returns what it saw, or None.

What belongs here: one rule, one function, one exclusion, its evidence; near-duplicates between drafts; the shortcuts.
What does not: characters and words (orthography.py), the judge's verdict (grounding.py), files.
Source: the design, "Formosa"; the published construction (facts on Taiwan.md).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from opentwbench.dataset.contract import MAX_TEXT, excerpt
from opentwbench.exam.fingerprint import fold_loose
from opentwbench.formosa import phrases
from opentwbench.formosa.folding import fold, stands_in
from opentwbench.formosa.model import LETTERS, Caution, Draft, Exclusion, Finding, Notice, Screened, Window
from opentwbench.formosa.orthography import Lexicon, mainland, simplified, warnings
from opentwbench.formosa.permutation import permuted
from opentwbench.formosa.shortcuts import Shortcut, shortcuts

SIMILAR = 0.7
"""Share of common two-character pieces from which two stems with the same answer ask the same."""
LONGER = 1.5
"""A key this many times as long as the longest other option is noticed."""

_ASKS = re.compile(r"[？?]|何|哪|誰|多少|幾|什麼|下列|以下|為__|_{2,}|＿")
_HAN = re.compile(r"[\u3400-\u9fff]")


def options_malformed(draft: Draft, window: Window) -> str:
    """Not exactly A to D, one empty or out of bounds, or a key that is none of them."""
    if tuple(draft.options) != tuple(LETTERS):
        return f"letters {excerpt(''.join(draft.options))}"
    bad = [letter for letter, text in draft.options.items() if not text.strip() or len(text) > MAX_TEXT]
    return f"option {bad[0]} is empty or too long" if bad else "" if draft.key in draft.options else "key is no option"


def options_not_distinct(draft: Draft, window: Window) -> str:
    """Two options are the same text once folded."""
    counts = Counter(fold(text) for text in draft.options.values())
    return next((excerpt(text) for text, count in counts.items() if count > 1), "")


def options_combined(draft: Draft, window: Window) -> str:
    """An option about the options, or about the text that is not there."""
    return next((excerpt(t) for t in draft.options.values() if phrases.COMBINED.search(_bare(t))), "")


def _bare(option: str) -> str:
    return re.sub(r"[()（）\s.。]", "", fold_loose(option))


def options_mixed(draft: Draft, window: Window) -> str:
    """The key differs in kind from all others, which are of one kind: it is found without knowing anything."""
    kinds = {letter: _kind(text) for letter, text in draft.options.items()}
    others = {kind for letter, kind in kinds.items() if letter != draft.key}
    own = kinds.get(draft.key, "")
    return f"key is {own}, others are {others.pop()}" if len(others) == 1 and own and own not in others else ""


_COUNTED = (
    "年代?|月|日|號|歲|世紀|時|點|分鐘?|秒鐘?|週年?|天|小時|個月|人|位|名|個|座|家|間|次|場|屆|條|件|部|本|張|種|項|隻|頭|棵|艘|"
    "(?:平方|立方)?公(?:里|尺|分|厘|頃|噸|斤|克|升)|甲|坪|噸|元|美元|度|倍|成|層|樓|票|席|級|站|集|版|校|縣|鄉|鎮|村|族|"
    "%|℃|[kcm]?m2?|k?g|ppm"
)
"""What a figure counts. A name that only begins with a numeral (十三行, 六祖壇經) does not end with it."""
_AMOUNT = r"\d[\d.]*[萬億千百多餘]*"
# Between two amounts stands a unit or a mark, so that a run of digits can be read in one way only.
_FIGURE = re.compile(
    rf"(?:約|近|超過|逾|西元|民國|第)?{_AMOUNT}(?:(?:(?:{_COUNTED})[-~到至]?|[-~到至]){_AMOUNT})*(?:{_COUNTED})?",
    re.IGNORECASE,
)


def _kind(text: str) -> str:
    folded = fold(text)
    if _FIGURE.fullmatch(folded):
        return "a figure"
    return "Chinese" if _HAN.search(folded) else "Latin"


def stem_malformed(draft: Draft, window: Window) -> str:
    """Empty, out of bounds, or without a question."""
    if not draft.stem.strip() or len(draft.stem) > MAX_TEXT:
        return "empty or too long"
    return "" if _ASKS.search(draft.stem) else f"asks nothing: {excerpt(draft.stem)}"


def not_self_contained(draft: Draft, window: Window) -> str:
    """Opens on a pronoun, or points at a text that the reader does not see."""
    found = phrases.OPENING.match(draft.stem.strip()) or phrases.POINTING.search(draft.stem)
    return found[0] if found else ""


def document_local(draft: Draft, window: Window) -> str:
    """Asks about the article instead of about Taiwan."""
    found = phrases.LOCAL.search(draft.stem)
    return found[0] if found else ""


def answer_in_stem(draft: Draft, window: Window) -> str:
    """The keyed answer stands in the stem and no other option does; single characters are no answer to find."""
    answer = draft.options.get(draft.key, "")
    others = [text for letter, text in draft.options.items() if letter != draft.key]
    if len(fold(answer)) < 2 or not stands_in(answer, draft.stem):
        return ""
    return "" if any(stands_in(text, draft.stem) for text in others) else excerpt(answer)


SCREENS: Mapping[Exclusion, Callable[[Draft, Window], str]] = {
    Exclusion.OPTIONS_MALFORMED: options_malformed,
    Exclusion.OPTIONS_NOT_DISTINCT: options_not_distinct,
    Exclusion.OPTIONS_COMBINED: options_combined,
    Exclusion.OPTIONS_MIXED: options_mixed,
    Exclusion.STEM_MALFORMED: stem_malformed,
    Exclusion.NOT_SELF_CONTAINED: not_self_contained,
    Exclusion.DOCUMENT_LOCAL: document_local,
    Exclusion.ANSWER_IN_STEM: answer_in_stem,
}
"""Exclusion -> the rule, which returns its evidence or ''. In the order of `Exclusion`."""


def screen(draft: Draft, window: Window, lexicon: Lexicon) -> Screened:
    """One draft under every rule that needs no other draft."""
    findings = [Finding(name, seen) for name, rule in SCREENS.items() if (seen := rule(draft, window))]
    texts = [draft.stem, *draft.options.values()]
    notices: list[Notice] = []
    for looked, exclusion, caution in (
        (simplified, Exclusion.SIMPLIFIED_ONLY, Caution.SIMPLIFIED_ALLOWED),
        (mainland, Exclusion.MAINLAND_TERM, Caution.MAINLAND_ALLOWED),
    ):
        hits = [hit for text in texts for hit in looked(text, lexicon)]
        wrong = sorted({hit.found for hit in hits if not hit.allowed})
        if wrong:
            findings.append(Finding(exclusion, excerpt(" ".join(wrong))))
        notices += [Notice(caution, hit.allowed) for hit in hits if hit.allowed]
    notices += [Notice(Caution.MAINLAND_WARNING, hit.found) for text in texts for hit in warnings(text)]
    answer = draft.options.get(draft.key, "")
    if not stands_in(answer, window.text):
        notices.append(Notice(Caution.ANSWER_NOT_IN_WINDOW, excerpt(answer)))
    if draft.quote and fold(draft.quote) not in fold(window.text):
        notices.append(Notice(Caution.NO_WINDOW_TEXT, excerpt(draft.quote)))
    rest = max((len(text) for letter, text in draft.options.items() if letter != draft.key), default=0)
    if answer and len(answer) >= LONGER * rest:
        notices.append(Notice(Caution.LONGEST_IS_KEY, f"{len(answer)} against {rest}"))
    return Screened(draft, tuple(findings), tuple(notices))


def screen_all(drafts: Iterable[Draft], windows: Mapping[str, Window], lexicon: Lexicon) -> list[Screened]:
    """Every draft under every screen, in order; of drafts that ask the same the first that passes otherwise stays."""
    screened = [
        screen(draft, windows[draft.window_id], lexicon)
        if draft.window_id in windows
        else Screened(draft, (Finding(Exclusion.UNKNOWN_WINDOW, excerpt(draft.window_id)),))
        for draft in drafts
    ]
    kept: dict[str, list[tuple[frozenset[str], str]]] = {}
    for place, each in enumerate(screened):
        if each.bucket is not None:
            continue
        pieces = _pieces(each.draft.stem)
        same = kept.setdefault(fold(each.draft.options[each.draft.key]), [])
        twin = next((found for other, found in same if _alike(pieces, other) >= SIMILAR), "")
        if twin:
            screened[place] = Screened(each.draft, (Finding(Exclusion.NEAR_DUPLICATE, twin),), each.notices)
        else:
            same.append((pieces, each.draft.window_id))
    return screened


def _pieces(text: str) -> frozenset[str]:
    folded = fold(text)
    return frozenset(folded[place : place + 2] for place in range(max(1, len(folded) - 1)))


def _alike(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other)


def baselines(drafts: Sequence[Draft], permute: bool = False) -> dict[str, Shortcut]:
    """Always-A and pick-longest over drafts that have four options, as drafted or after the permutation."""
    return shortcuts(
        permuted(each.window_id, each.options, each.key) if permute else (each.options, each.key) for each in drafts
    )


def with_more(screened: Iterable[Screened], findings: Mapping[str, Sequence[Finding]]) -> list[Screened]:
    """Screened drafts with further findings by window id (a maintainer's), in the order of the closed list."""
    return [
        replace(each, findings=tuple(sorted({*each.findings, *more}, key=_place)))
        if (more := findings.get(each.draft.window_id))
        else each
        for each in screened
    ]


def _place(finding: Finding) -> tuple[int, str]:
    return list(Exclusion).index(finding.exclusion), finding.evidence


def figures(screened: Sequence[Screened]) -> dict[str, Any]:
    """Every figure of the screens by name: buckets, all matches, cautions, and the shortcuts among what passes."""
    buckets = Counter(each.bucket for each in screened)
    passing = [each.draft for each in screened if each.bucket is None]
    matched = Counter(finding.exclusion for each in screened for finding in each.findings)
    cautions = Counter(notice.caution.value for each in screened for notice in each.notices)
    return {
        "drafts": len(screened),
        "pass": len(passing),
        "excluded": {name.value: buckets[name] for name in Exclusion if buckets[name]},
        "matched": {name.value: matched[name] for name in Exclusion if matched[name]},
        "cautions": dict(sorted(cautions.items())),
        "shortcuts": {
            when: {
                name: {"right": round(found.right, 2), "drafts": found.items, "interval": found.interval.shown()}
                for name, found in baselines(passing, permute).items()
            }
            for when, permute in (("before", False), ("after", True))
        },
    }
