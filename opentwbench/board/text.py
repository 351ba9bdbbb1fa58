"""How texts and numbers are shown: one form for every number, and texts from outside made harmless and bounded.

What belongs here: formatting and cleaning. What does not: HTML escaping, which the templates do for every expression
(templates.py), and words (words.py).
"""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Iterable
from datetime import date, datetime

from opentwbench.statistics.intervals import rounded_outwards

NOTHING = "–"
"""What stands where there is no number."""

MAX_SHOWN = 20_000
"""Most characters of one text on a page: MAX_TEXT of the row contract is lower; beyond it the rest is counted."""

SHORT = 80
"""Characters of a name in a table or a heading; the whole stands on the page of its own."""

LONG = 2_000
"""Characters of a running text that are shown before it is folded."""

MAX_SLUG = 48
"""Characters of a readable file name before its hash."""

_UNSEEN = re.compile(
    r"[^\n\t -~\u00a1-\u00ac\u00ae-\u02ff\u3001-\u302d\u3041-\u3096\u30a0-\u30ff\u4e00-\u9fff\uff01-\uff60]"
)
"""A character that is looked at one by one; the usual ones pass at once, because every text of every item is read."""

_ITEM_FILE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,98}[a-z0-9])?")


def visible(text: str) -> str:
    """A text from outside without a character that acts instead of showing.

    Control and format characters (direction marks, zero-width joins), surrogates, private-use and unassigned ones are
    named as U+XXXX; line and paragraph separators become a line feed. Line feed and tab stay.
    """
    return _UNSEEN.sub(lambda found: _named(found.group()), text)


def _named(char: str) -> str:
    category = unicodedata.category(char)
    if category in ("Zl", "Zp") or char == "\r":
        return "\n"
    return f"U+{ord(char):04X}" if category.startswith("C") else char


def shorten(text: str, limit: int) -> str:
    """The first `limit` characters and an ellipsis where there are more; no combining mark is cut from its letter."""
    if len(text) <= limit:
        return text
    end = limit
    while end < len(text) and unicodedata.combining(text[end]):
        end += 1
    return text[:end] + "…"


def slug(name: str) -> str:
    """A file name for a name from outside: readable ASCII, then 8 hex digits of its sha256, so that no two agree.

    The name itself is never a path: '../../x' becomes 'x-' and its hash.
    """
    ascii_part = re.sub(r"[^a-z0-9]+", "-", name.lower())[:MAX_SLUG].strip("-")
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{ascii_part}-{digest}" if ascii_part else digest


def item_file(item_id: str) -> str:
    """The file name of an item: its id where that is a plain name, else a slug of it."""
    return item_id if _ITEM_FILE.fullmatch(item_id) else slug(item_id)


def percent(share: float | None, digits: int = 1) -> str:
    """A share as percent without its sign, which stands in the heading: 0.8219 is 82.2.

    Something above nothing never reads as 0.0, something below everything never as 100.0.
    """
    if share is None or not math.isfinite(share):
        return NOTHING
    shown = f"{100 * share:.{digits}f}"
    least = 10.0**-digits
    if share > 0 and float(shown) == 0:
        return f"<{least:.{digits}f}"
    if share < 1 and float(shown) == 100:
        return f">{100 - least:.{digits}f}"
    return shown


def bounds(low: float | None, high: float | None, digits: int = 1) -> str:
    """The two ends of an interval in percent, rounded outwards, so that it never looks narrower than it is."""
    if low is None or high is None:
        return NOTHING
    below, above = rounded_outwards(100 * low, 100 * high, digits)
    return f"{max(below, 0):.{digits}f}–{min(above, 100):.{digits}f}"


def points(difference: float | None) -> str:
    """A difference of two shares in percentage points, with its sign."""
    if difference is None or not math.isfinite(difference):
        return NOTHING
    shown = f"{100 * difference:+.1f}"
    return "0.0" if float(shown) == 0 else shown.replace("-", "−")


def signed(number: float | None) -> str:
    """A difference of counts (places moved): its sign, the true minus, a digit after the point where it has one."""
    if number is None or not math.isfinite(number):
        return NOTHING
    shown = f"{number:+.1f}".removesuffix(".0")
    return "0" if float(shown) == 0 else shown.replace("-", "−")


def count(number: float | None) -> str:
    """A count with commas between thousands."""
    return NOTHING if number is None else f"{int(number):,}"


def decimal(number: float | None, digits: int = 2) -> str:
    """A number that is no share, with a true minus sign."""
    return NOTHING if number is None or not math.isfinite(number) else f"{number:,.{digits}f}".replace("-", "−")


def p_value(p: float | None) -> str:
    """A p value to three places; a smaller one reads <0.001."""
    if p is None or not math.isfinite(p):
        return NOTHING
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def size(billions: float | None) -> str:
    """Parameters: thousand millions as B, thousands of those as T."""
    if billions is None or not math.isfinite(billions):
        return NOTHING
    if billions >= 1000:
        return f"{billions / 1000:g}T"
    return f"{billions * 1000:.0f}M" if billions < 1 else f"{billions:.4g}B"


def day(when: datetime | date | str | None) -> str:
    """A day as YYYY-MM-DD."""
    if when is None:
        return NOTHING
    return when.strftime("%Y-%m-%d") if isinstance(when, date) else str(when)[:10]


def median(values: Iterable[float]) -> float | None:
    """The median, None of nothing."""
    ordered = sorted(values)
    if not ordered:
        return None
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
