"""Figures as Markdown for people: what the asset pages and check results show.

What belongs here: pure functions from counts to Markdown. What does not: the card of a data set (dataset.card).
Every text that comes from outside goes through `dataset.card.markdown`, so that nothing in it acts as markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from opentwbench.dataset.card import markdown

BAR_WIDTH = 24
"""Characters of the longest bar."""

MAX_ROWS = 200
"""Rows of one table; the rest is counted in a closing line, so that a page stays readable and bounded."""

_EIGHTHS = " ▏▎▍▌▋▊▉"


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; every cell escaped, at most MAX_ROWS rows. Without a row it says so in a word."""
    kept = [list(row) for row in rows]
    if not kept:
        return "無 · none"
    lines = [_line(header), _line(["---"] * len(header), escape=False), *(_line(row) for row in kept[:MAX_ROWS])]
    if len(kept) > MAX_ROWS:
        lines.append(f"\n{len(kept) - MAX_ROWS} more rows are not shown.")
    return "\n".join(lines)


def bar(share: float) -> str:
    """A horizontal bar of `share` (0 to 1, clipped) of BAR_WIDTH characters, in steps of an eighth of one."""
    eighths = round(min(max(share, 0.0), 1.0) * BAR_WIDTH * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def bar_chart(counts: Mapping[str, int]) -> str:
    """Counts as a table with their share of the total and a bar, scaled to the largest."""
    total, most = sum(counts.values()), max(counts.values(), default=0)
    rows = [
        (name, f"{count:,}", f"{count / total:.1%}" if total else "", bar(count / most if most else 0.0))
        for name, count in counts.items()
    ]
    return table(("", "count", "share", ""), rows)


def _line(cells: Iterable[object], *, escape: bool = True) -> str:
    return "| " + " | ".join(markdown(str(cell)) if escape else str(cell) for cell in cells) + " |"
