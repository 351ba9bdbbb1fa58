"""Replies of earlier runs, taken for byte-identical requests: a new sitting adds items, the others are not asked again.

A new data-set version is a new run, whose items are mostly those of the run before. A reply is taken only for the same
model, protocol and serving precision, the same repeat, item id and request hash, and only where it is no error.
A taken response has `attempts` 0, because this run sent no request for it; everything else stays as it was received.
What does not belong here: asking (runner.py), and scores, which are computed from stored responses anyway (scoring.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from opentwbench.evaluation.journal import (
    DigestSet,
    Journal,
    JournalError,
    answered,
    identity_digest,
    read_adjustments,
    read_responses,
    read_run,
)
from opentwbench.evaluation.model import Response, RunRecord
from opentwbench.evaluation.runner import Plan

GROUP = 2_000
"""Responses that reach the disk with one sync."""

NEUTRAL = frozenset(("request", "circular"))
"""Fields of `RunRecord.extra` that the request hash speaks for already."""


class ReuseError(ValueError):
    """A run whose replies are no replies to this run's requests; the message says in what they differ."""


@dataclass(frozen=True, slots=True)
class Reused:
    """What was taken from where."""

    by_run: dict[str, int]
    """Run id -> replies taken from it."""

    @property
    def total(self) -> int:
        """All replies taken."""
        return sum(self.by_run.values())


def difference(record: RunRecord, source: Path) -> str:
    """Why the replies of a run folder are not this run's, '' when they may be.

    Raises JournalError when the folder holds no run.
    """
    other = read_run(source)
    for name in ("model", "protocol_id", "serving_precision"):
        if getattr(other, name) != getattr(record, name):
            return f"{other.run_id}: {name} is {getattr(other, name)}, here {getattr(record, name)}"
    notes = [{k: v for k, v in each.extra.items() if k not in NEUTRAL} for each in (other, record)]
    if notes[0] != notes[1]:
        return f"{other.run_id}: its recorded provenance (notes) is another one"
    if adjusted := read_adjustments(source):
        return f"{other.run_id}: its endpoint refused {', '.join(sorted(adjusted))}, so it asked otherwise than planned"
    return ""


def take(plan: Plan, record: RunRecord, folder: Path, sources: Iterable[Path]) -> Reused:
    """Journal in `folder` what the runs in `sources` hold for requests that it has no reply to; the first one counts.

    Doing it again takes nothing. Memory: 24 to 64 bytes a question, however many there are. Raises ReuseError for a
    source that asked otherwise, before anything is taken, JournalError for a damaged one, RunLocked as the runner does.
    """
    chosen = [source for source in sources if source.resolve() != folder.resolve()]
    for source in chosen:
        if why := difference(record, source):
            raise ReuseError(why)
    if not chosen:
        return Reused({})
    with Journal(folder) as journal:
        done = answered(folder)
        if len(done) == record.n_items * record.repeats:
            return Reused(dict.fromkeys((read_run(source).run_id for source in chosen), 0))
        wanted = DigestSet()
        for question in plan.questions():
            if question.digest not in done:
                wanted.add(question.digest)
        found = {read_run(source).run_id: _taken(source, record.run_id, wanted, done) for source in chosen}
        return Reused({run_id: _journal(journal, responses) for run_id, responses in found.items()})


def _taken(source: Path, run_id: str, wanted: DigestSet, done: DigestSet) -> Iterator[Response]:
    for response in read_responses(source):
        digest = identity_digest(response.repeat, response.item_id, response.request_hash)
        if not response.error and digest in wanted and done.add(digest):
            yield replace(response, run_id=run_id, attempts=0)


def _journal(journal: Journal, responses: Iterator[Response]) -> int:
    count = 0
    while group := list(islice(responses, GROUP)):
        journal.append_all(group)
        count += len(group)
    return count


def sources_of(record: RunRecord, folders: Iterable[Path]) -> list[Path]:
    """Of many run folders, those whose replies may be taken, the latest started first; a damaged folder is none."""
    fitting: list[tuple[str, Path]] = []
    for folder in folders:
        try:
            if not difference(record, folder):
                fitting.append((read_run(folder).started, folder))
        except JournalError:
            continue
    return [folder for _, folder in sorted(fitting, reverse=True)]
