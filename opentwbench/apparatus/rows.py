"""What the studies read: runs with their judged answers, and what the maintainer and the judges recorded.

What belongs here: the records and the choice of runs that are compared. What does not: reading files
(resources/apparatus.py). Only the first repeat of a run is read: repeats of an item are no independent draws, and a
paired test needs one answer an item. Withdrawn items are left out, as in every score.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from opentwbench.apparatus.result import BETWEEN, NOTHING, SAMPLE, Both
from opentwbench.dataset.contract import excerpt
from opentwbench.evaluation.model import Graded

ERROR, CORRECT, WRONG = "error", "correct", "wrong"
"""Words of `Outcome` that the studies ask for."""


class Row(NamedTuple):
    """The judged answer to one scored item: a row of the raw table `responses`, first repeat."""

    item_id: str
    outcomes: Mapping[str, str]
    """Method -> outcome."""
    finish_reason: str | None = None
    completion_tokens: int | None = None
    latency_ms: float = 0.0
    attempts: int = 1
    error: str = ""

    def right(self, method: str) -> bool:
        """Whether the method reads the key."""
        return self.outcomes[method] == CORRECT

    def read(self, method: str) -> bool:
        """Whether the method reads an option."""
        return self.outcomes[method] in (CORRECT, WRONG)

    @property
    def is_reply(self) -> bool:
        """Whether there is a reply; an error is none."""
        return not self.error


@dataclass(frozen=True, slots=True)
class Facts:
    """A run and its protocol, as recorded."""

    run_id: str
    model: str
    benchmark: str
    protocol_id: str
    protocol_name: str
    max_tokens: int
    method: str
    """The extraction method that ranks."""
    serving_precision: str = "unknown"
    started: str = ""
    complete: bool = True

    @property
    def board(self) -> tuple[str, str]:
        """Benchmark and protocol name: what is ranked together, as in the mart."""
        return self.benchmark, self.protocol_name


_NO_ROWS: tuple[Row, ...] = ()
_NO_TEXTS: tuple[Graded, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """A run. Rows and texts are read anew each time they are iterated, so that 110 runs are never held together."""

    facts: Facts
    rows: Iterable[Row] = _NO_ROWS
    texts: Iterable[Graded] = _NO_TEXTS
    """Stored responses with their texts, graded; only the studies that need texts read them."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything that a study may read."""

    runs: Sequence[Run] = ()
    """The runs that stand for their cell of the board (`current`)."""
    subjects: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Item id -> subject."""
    key_figures: Sequence[Mapping[str, Any]] = ()
    """Rows of the raw table `key_figures`."""
    cards: Sequence[Mapping[str, Any]] = ()
    """Rows of the raw table `model_cards`: what the maintainer states of models (release, groups, sample or not)."""
    verdicts: Iterable[Mapping[str, Any]] | None = None
    """Verdict rows of a judge panel, unchecked and read when they are iterated; None when the store has none."""
    judge_studies: Iterable[Mapping[str, Any]] | None = None
    """The counts of Formosa's judge study, a record a judge, unchecked, whose verdicts are `verdicts`; None where the
    store has no such study and `verdicts` are what was handed in."""

    def card(self, model: str) -> Mapping[str, Any]:
        """What is stated of a model; empty where nothing is."""
        return next((card for card in self.cards if card["model"] == model), {})

    def label(self, runs: Iterable[Run]) -> Both:
        """What a study over these runs must carry."""
        samples = {card["model"] for card in self.cards if card["is_sample"]}
        return SAMPLE if any(run.facts.model in samples for run in runs) else NOTHING


def current(runs: Iterable[Facts]) -> list[Facts]:
    """One run a model, benchmark, protocol and precision: a complete one first, then the latest; ordered by run id.

    The rule of dbt_leaderboard/models/intermediate/int_runs.sql, which a test holds equal.
    """
    best: dict[tuple[str, str, str, str], Facts] = {}
    for run in runs:
        cell = (run.model, run.benchmark, run.protocol_id, run.serving_precision)
        if cell not in best or _standing(run) > _standing(best[cell]):
            best[cell] = run
    return sorted(best.values(), key=lambda run: run.run_id)


def _standing(run: Facts) -> tuple[bool, str, str]:
    return run.complete, run.started, run.run_id


def boards(runs: Iterable[Run]) -> dict[tuple[str, str], list[Run]]:
    """Benchmark and protocol name -> the complete runs that are ranked together, in order."""
    found: defaultdict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        if run.facts.complete:
            found[run.facts.board].append(run)
    return {board: found[board] for board in sorted(found)}


LONGEST = 120
"""Most characters of a model's name in a table: longer ones are cut, because a run's record is written by anybody."""


def shown(model: str) -> str:
    """A model's name as one bounded, printable line; a name that is changed for it carries a hash, so that two such
    names stay two."""
    if len(model) <= LONGEST and model.isprintable() and BETWEEN not in model:
        return model
    digest = hashlib.sha256(model.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{excerpt(model.replace(BETWEEN, ' '), LONGEST)} #{digest}"


def names(runs: Sequence[Run]) -> dict[str, str]:
    """Run id -> what it is called in a table: the model, with budget and precision where the model stands twice."""
    times = Counter(run.facts.model for run in runs)
    return {
        run.facts.run_id: shown(run.facts.model)
        if times[run.facts.model] == 1
        else f"{shown(run.facts.model)} ({run.facts.max_tokens}, {run.facts.serving_precision})"
        for run in runs
    }
