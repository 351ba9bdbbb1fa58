"""Carrying a retrieval run out, once for the command line and for Dagster.

What belongs here: the stages in their order, from settings to a written report. What does not: settings
(rag_settings.py), what the command line says, and rules (`opentwbench.rag`).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opentwbench.rag import report, stages
from opentwbench.rag.asking import Asked
from opentwbench.rag.model import Judged, RagError
from resources.rag_settings import RagRun


def prepare(run: RagRun) -> stages.Prepared:
    """Read the original files and draw the sample. Raises RagError."""
    if not run.settings.data:
        raise RagError("name the folder of the original files with --data")
    return stages.prepare(run.plan, Path(run.settings.data), run.folder)


def ingest(run: RagRun) -> Any:
    """Hand the documents to the system, unless it holds them. Raises RagError or EndpointError."""
    return asyncio.run(stages.ingest(run.plan, run.folder, run.settings.open_system(run.folder)))


def generate(run: RagRun) -> Asked:
    """Answer what has no answer yet. With offered contexts nothing is retrieved, so the data set is read here too."""
    if run.plan.system == "contexts" and run.settings.data:
        prepare(run)
        ingest(run)
    system = run.settings.open_system(run.folder)
    return asyncio.run(stages.generate(run.plan, run.folder, system, run.generator))


def judge(run: RagRun) -> Asked:
    """Judge what has no verdict yet. Raises RagError when no judge is named."""
    if not run.plan.judge:
        raise RagError("name a judge with --judge")
    return asyncio.run(stages.judge(run.plan, run.folder, run.generator, run.judge))


def outcomes(run: RagRun) -> Mapping[str, int]:
    """What became of every question of the run up to now, by outcome."""
    return Counter(report.outcome_of(each) for each in stages.answered(run.plan, run.folder, run.generator))


def verdicts(run: RagRun) -> Mapping[Judged, int]:
    """What became of every question of the run at the judge up to now."""
    held = stages.judged(run.plan, run.folder, run.generator, run.judge)
    return Counter(each.judged for answer in held if (each := answer.ragas or answer.verdict) is not None)


def write_report(run: RagRun) -> dict[str, Any]:
    """The report of what is stored; nothing is asked."""
    answers = stages.judged(run.plan, run.folder, run.generator, run.judge)
    benchmark, ingested = stages.read_prepared(run.folder).benchmark, stages.read_ingested(run.folder)
    return report.write_report(run.folder, run.plan, benchmark, ingested, answers)


@dataclass(frozen=True, slots=True)
class Carried:
    """A run that was carried out as far as it went."""

    report: dict[str, Any]
    sent: int
    """Requests of this start."""
    stopped: str
    """Why it ended early; '' when it did not."""

    @property
    def is_whole(self) -> bool:
        """Whether every question has its answer and, where there is a judge, its verdict."""
        made = self.report
        asked = made["Total Queries Evaluated"]
        scored = made["ragas"]["judge"]["scored"] if "ragas" in made else made["judge"]["scored"]
        judged = not made["models"]["judge"] or scored == asked
        return not self.stopped and judged and made["outcomes"].get("answered", 0) == asked


def carry_out(run: RagRun) -> Carried:
    """Every stage but delete, then the report. Raises RagError, EndpointError or JournalError."""
    prepare(run)
    ingest(run)
    rounds = [generate(run)]
    # Where no question has an answer there is nothing to judge, and the report says so.
    if run.plan.judge and not rounds[0].stopped and outcomes(run).get("answered"):
        rounds.append(judge(run))
    stopped = next((asked.stopped for asked in rounds if asked.stopped), "")
    return Carried(write_report(run), sum(asked.sent for asked in rounds), stopped)
