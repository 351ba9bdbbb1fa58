"""Articles become windows: runs of whole blocks, closed before a limit, never on a heading and never mid-sentence.

What belongs here: packing and identities. What does not: cleaning and files.
Source: facts on Taiwan.md, "Windows"; the limit of 1,180 and the tail of 300 are those of the published construction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256

from opentwbench.formosa.model import Article, Window

LIMIT = 1_180
"""Characters: a window closes before its blocks and the two line feeds between each would go past it."""
TAIL = 300
"""A last window shorter than this is joined to the one before."""
ID_HEX = 12
MAX_BLOCK = 5_000
"""Characters of one paragraph, and of paragraphs that a colon keeps together. The longest paragraph of the snapshot has
901. What is longer goes to a model as one request of unbounded price, and is a dump rather than a paragraph; so an
article with one is left out (corpus.py), and a run of announcements is cut."""
GAP = 2
"""The empty line between two blocks, as corpus.py joins them."""


def cut(article: Article, limit: int = LIMIT, tail: int = TAIL, announced: bool = True) -> list[Window]:
    """The windows of one article, in order. A block above the limit is a window of its own.

    `announced`: a block that ends on a colon stays with the next one.

    Blocks hold no headings (corpus.py) and are never split, so no window ends on a heading or inside a sentence.
    """
    seen: Counter[str] = Counter()
    windows = []
    for first, last in _packed(article, limit, tail, announced):
        start, end = article.blocks[first][0], article.blocks[last][1]
        windows.append(_window(article, start, end, seen))
    return windows


def _packed(article: Article, limit: int, tail: int, announced: bool) -> Iterator[tuple[int, int]]:
    """First and last block of each window, by index."""
    runs: list[list[int]] = []
    sizes: list[int] = []
    for first, last in _units(article, announced):
        size = article.blocks[last][1] - article.blocks[first][0]
        if runs and sizes[-1] + GAP + size <= limit:
            runs[-1].extend((first, last))
            sizes[-1] += GAP + size
        else:
            runs.append([first, last])
            sizes.append(size)
    if len(runs) > 1 and sizes[-1] < tail:
        runs[-2].extend(runs.pop())
    return ((run[0], run[-1]) for run in runs)


def _units(article: Article, announced: bool) -> Iterator[tuple[int, int]]:
    """Blocks that stay together: one that ends on a colon announces the next, as a heading does. At most MAX_BLOCK."""
    first = 0
    for place, (_, end) in enumerate(article.blocks):
        announces = announced and article.text[end - 1] in "：:" and place + 1 < len(article.blocks)
        if announces and article.blocks[place + 1][1] - article.blocks[first][0] <= MAX_BLOCK:
            continue
        yield first, place
        first = place + 1


def _window(article: Article, start: int, end: int, seen: Counter[str]) -> Window:
    text = article.text[start:end]
    digest = sha256(text.encode()).hexdigest()[:ID_HEX]
    seen[digest] += 1
    # The same text twice in one article: the second is numbered, so that an id names one window.
    again = f"-{seen[digest]}" if seen[digest] > 1 else ""
    return Window(
        window_id=f"{article.path.removesuffix('.md')}/{digest}{again}",
        article=article.path,
        category=article.category,
        title=article.title,
        start=start,
        end=end,
        text=text,
        url=article.url,
        attribution=article.attribution,
        commit=article.commit,
    )
