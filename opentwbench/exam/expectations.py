"""Which sittings a year should have: those that were held in each of the years before it.

What belongs here: the rule, from index rows alone. What does not: when somebody asks, and whom the answer is sent to.
The index has no dates, so nothing can be expected of a year before it is over; of the whole year one row is expected
once half of it has passed (the ministry holds sittings from January on).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from opentwbench.exam.model import IndexRow

YEARS_BEFORE = 3
"""A sitting of each of so many years in a row is expected in the next. One that ended is missed once, then no more."""

HALF_YEAR_MONTH = 7
GRACE_MONTHS = 2
"""Papers of a December sitting are in the index by the end of February."""

ROC = 1911
"""Years between the two calendars."""

_YEAR_WORDS = re.compile(r"^\s*(?:中華民國)?\s*\d{2,3}\s*年(?:度)?\s*")


@dataclass(frozen=True, slots=True)
class MissingSitting:
    """A sitting that a year should have: its name without the year, '' for the year as a whole."""

    year_roc: int
    name: str

    @property
    def key(self) -> str:
        """What tells it from every other."""
        return f"{self.year_roc} {self.name}".rstrip()

    def words(self) -> str:
        """For a message."""
        what = self.name or "no paper at all is in the index"
        return f"{self.year_roc} ({self.year_roc + ROC}): {what}"


def sitting_name(exam_name: str) -> str:
    """The name of an examination without the year that it begins with."""
    return _YEAR_WORDS.sub("", exam_name).strip()


def missing_sittings(rows: Iterable[IndexRow], today: date) -> tuple[MissingSitting, ...]:
    """What the index lacks on a day, in order: this year from July on, and sittings of the last year from March on."""
    held: dict[str, set[int]] = {}
    years: set[int] = set()
    for row in rows:
        years.add(row.year_roc)
        held.setdefault(sitting_name(row.exam_name), set()).add(row.year_roc)
    if not years:
        return ()
    now = today.year - ROC
    missing = []
    if today.month >= HALF_YEAR_MONTH and now not in years:
        missing.append(MissingSitting(now, ""))
    last = now - 1
    if today.month > GRACE_MONTHS:
        if last not in years:
            missing.append(MissingSitting(last, ""))
        before = {last - back for back in range(1, YEARS_BEFORE + 1)}
        names = sorted(name for name, seen in held.items() if before <= seen and last not in seen)
        missing += [MissingSitting(last, name) for name in names]
    return tuple(missing)
