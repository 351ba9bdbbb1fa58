"""The planted-defect study that cards quote: figures by check, read from the file that the study's command wrote.

What belongs here: the summary's form and reading it. What does not: the study itself (it knows of papers).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from opentwbench.dataset.files import parse_json
from opentwbench.dataset.model import DatasetError, StudyFigures
from opentwbench.dataset.terms import CHECKS

SUMMARY = "defect_study.json"
"""The committed summary, under `data/`: counts only."""

CERTAIN = "certain_kinds"
"""Trials of kinds that something must catch before publication."""

CHANCE = "chance_kinds"
"""Trials of kinds that only another print of the same question, or a statistic, could see."""

_FIELDS = ("planted", "caught", "native", "false_alarms")


def study_to_json(figures: Mapping[str, StudyFigures]) -> dict[str, Any]:
    """The figures as they are stored, in build_stats.json and in the summary."""
    return {name: {field: getattr(each, field) for field in _FIELDS} for name, each in figures.items()}


def study_from_json(record: Mapping[str, Any]) -> dict[str, StudyFigures]:
    """The figures of a summary. Raises DatasetError naming what is wrong: a foreign check, no count, or caught beyond
    planted."""
    known = {*CHECKS, CERTAIN, CHANCE}
    found = {}
    for name, each in record.items():
        if name not in known or not isinstance(each, Mapping) or set(each) != set(_FIELDS):
            raise DatasetError(f"{SUMMARY}: {name!r} is no check with {', '.join(_FIELDS)}")
        counts = [each[field] for field in _FIELDS]
        if any(not isinstance(n, int) or isinstance(n, bool) or n < 0 for n in counts):
            raise DatasetError(f"{SUMMARY}: {name}: not all are counts")
        figures = StudyFigures(*counts)
        if figures.caught > figures.planted or figures.false_alarms > figures.native:
            raise DatasetError(f"{SUMMARY}: {name}: more caught than planted, or more alarms than sound data")
        found[name] = figures
    return found


@cache
def committed_study() -> Mapping[str, StudyFigures]:
    """The figures of the committed summary. Raises DatasetError when it cannot be read."""
    text = (files("opentwbench.dataset") / "data" / SUMMARY).read_text(encoding="utf-8")
    return study_from_json(parse_json(text, SUMMARY)["figures"])
