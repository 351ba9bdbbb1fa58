"""What the screens of Formosa see in drafts from real articles: planted faults that must fire, and sound drafts.

    python -m bench.formosa_screens --corpus FOLDER --lexicon FOLDER [--part tuned|held-out]

One sound draft a window is written by rule (`samples.formosa_script`: a sentence of the window with a piece left out),
and every fault of the script is planted in each. Articles are split by a hash of their path: rules may be changed after
a look at the two thirds `tuned`, and what counts is `held-out`. Figures only; no text of an article is printed.
The lists of characters and terms are no part of the split: they were calibrated on the whole corpus by others.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from opentwbench.formosa.corpus import read_folder
from opentwbench.formosa.model import Draft, Exclusion, Window
from opentwbench.formosa.orthography import Lexicon, read_lexicon
from opentwbench.formosa.screens import screen
from opentwbench.formosa.windows import cut
from opentwbench.statistics.intervals import wilson
from samples.formosa_script import DRAFT_FAULTS, Written, draft

MEANT = {
    "three_options": Exclusion.OPTIONS_MALFORMED,
    "equal_options": Exclusion.OPTIONS_NOT_DISTINCT,
    "all_of_the_above": Exclusion.OPTIONS_COMBINED,
    "mixed_options": Exclusion.OPTIONS_MIXED,
    "asks_nothing": Exclusion.STEM_MALFORMED,
    "pronoun": Exclusion.NOT_SELF_CONTAINED,
    "points_at_text": Exclusion.NOT_SELF_CONTAINED,
    "document_local": Exclusion.DOCUMENT_LOCAL,
    "answer_in_stem": Exclusion.ANSWER_IN_STEM,
    "simplified": Exclusion.SIMPLIFIED_ONLY,
    "mainland": Exclusion.MAINLAND_TERM,
}
"""Fault of the script -> the screen that must see it. The others are for the judge, or no ground to exclude."""


def held_out(path: str) -> bool:
    """Whether an article belongs to the held-out third."""
    return int(sha256(path.encode()).hexdigest(), 16) % 3 == 0


def sound_drafts(windows: list[Window]) -> Iterator[tuple[Window, Written]]:
    """One draft by rule a window; windows without a fact that can be asked give none."""
    for window in windows:
        made = draft(window.text, window.title, f"bench {window.window_id}")
        if made is not None:
            yield window, made


def fired(window: Window, made: Written, lexicon: Lexicon) -> set[Exclusion]:
    """The exclusions that the screens find."""
    given = Draft(window.window_id, made.stem, dict(made.options), made.key, made.quote, "rule", "rule")
    return {finding.exclusion for finding in screen(given, window, lexicon).findings}


def measure(windows: list[Window], lexicon: Lexicon) -> tuple[int, Counter[Exclusion], dict[str, tuple[int, int]]]:
    """Sound drafts, screens that fire on them, and fault -> (planted, seen by the screen that is meant)."""
    native: Counter[Exclusion] = Counter()
    planted: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    drafts = 0
    for window, made in sound_drafts(windows):
        drafts += 1
        native.update(fired(window, made, lexicon))
        for name, _, damage in DRAFT_FAULTS:
            if name in MEANT:
                planted[name] += 1
                seen[name] += MEANT[name] in fired(window, damage(made), lexicon)
    return drafts, native, {name: (planted[name], seen[name]) for name in MEANT}


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--lexicon", type=Path, required=True)
    parser.add_argument("--part", choices=("tuned", "held-out"), default="held-out")
    given = parser.parse_args()
    articles = [a for a in read_folder(given.corpus).articles if held_out(a.path) == (given.part == "held-out")]
    windows = [window for article in articles for window in cut(article)]
    drafts, native, planted = measure(windows, read_lexicon(given.lexicon))
    print(f"{given.part}: {len(articles)} articles, {len(windows):,} windows, {drafts:,} sound drafts")
    for name, (n, seen) in planted.items():
        print(f"planted {name}: {seen:,} of {n:,} seen by {MEANT[name].value} ({wilson(seen, n).shown()})")
    for exclusion in sorted({*MEANT.values()}, key=list(Exclusion).index):
        n = native[exclusion]
        print(f"native {exclusion.value}: fires on {n:,} of {drafts:,} ({wilson(n, drafts).shown()})")


if __name__ == "__main__":
    main()
