"""From what somebody wants asked to a run: its id, its record and its plan; and from a run folder to its scores.

The id is a function of everything that decides what is asked, so that the same wish continues the same run and another
wish never writes into it. What does not belong here: asking (runner.py) and arguments of a command.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any

from opentwbench.dataset.atomic import write_file
from opentwbench.dataset.contract import OPTION_COLUMNS, excerpt
from opentwbench.dataset.manifest import json_bytes
from opentwbench.evaluation.items import ItemSet, Roster
from opentwbench.evaluation.journal import RUN_ID, JournalError, read_responses
from opentwbench.evaluation.model import MAX_MODEL, AskedItem, Graded, Response, RunRecord
from opentwbench.evaluation.protocols import Protocol
from opentwbench.evaluation.replies import RENAMED
from opentwbench.evaluation.runner import Plan
from opentwbench.evaluation.scoring import Scorer, Summary, grade, to_json

BENCHMARKS = ("exam", "exam_sample", "formosa", "rag")
PRECISIONS = ("native", "quantised", "unknown")

FIXED_FIELDS = frozenset(("model", "messages", "stream", "n"))
"""Request fields that nobody may add: the run sets them, or reads one whole reply a request."""

BUDGET_FIELDS = frozenset(RENAMED.keys() | RENAMED.values())
"""The token budget under each of its names: it stands in the protocol's id."""

NO_ALIASES: Mapping[str, str] = MappingProxyType({})


class RunError(ValueError):
    """A wish that cannot be asked; the message names what and why."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants asked. Raises RunError for values outside the vocabulary."""

    model: str
    protocol: Protocol
    benchmark: str = "exam"
    repeats: int = 1
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of every request body."""
    circular: bool = False
    serving_precision: str = "unknown"
    notes: Mapping[str, str] = field(default_factory=dict)
    """Provenance that the maintainer states."""
    run_id: str = ""
    """'' derives it."""

    def __post_init__(self) -> None:
        """Reject what could not be recorded."""
        if not self.model or len(self.model) > MAX_MODEL or not self.model.isprintable():
            raise RunError(f"a model's name is 1 to {MAX_MODEL} printable characters: {excerpt(self.model)}")
        if self.benchmark not in BENCHMARKS:
            raise RunError(f"no benchmark {excerpt(self.benchmark)}; there are {', '.join(BENCHMARKS)}")
        if self.serving_precision not in PRECISIONS:
            raise RunError(f"serving precision is one of {', '.join(PRECISIONS)}: {excerpt(self.serving_precision)}")
        if not 1 <= self.repeats <= 1000:
            raise RunError(f"repeats must lie in 1..1000, got {self.repeats}")
        if taken := sorted(FIXED_FIELDS & self.extra.keys()):
            raise RunError(f"the request field {taken[0]} is set by the run")
        if taken := sorted((self.protocol.decoding().keys() | BUDGET_FIELDS) & self.extra.keys()):
            words = f"the request field {taken[0]} is part of the protocol {self.protocol.protocol_id}: "
            raise RunError(words + "another value is another protocol (a budget is named by --budget)")
        if self.run_id and not re.fullmatch(RUN_ID, self.run_id):
            raise RunError(f"{excerpt(self.run_id)}: no run id; it fits {RUN_ID}")


def circular_protocol(protocol: Protocol) -> Protocol:
    """The protocol of a circular-option test: a column of its own, because its score is no score of the protocol."""
    return replace(protocol, name=f"{protocol.name}-circular")


def prepare(wish: Wish, items: ItemSet, roster: Roster) -> tuple[Plan, RunRecord]:
    """The plan of a run and its record. A circular-option test asks every item once for each place of the options."""
    protocol = circular_protocol(wish.protocol) if wish.circular else wish.protocol
    repeats = len(OPTION_COLUMNS) if wish.circular else wish.repeats
    run_id = wish.run_id or _derived_id(wish, protocol, items, len(roster), repeats)
    extra = {f"note:{name}": value for name, value in wish.notes.items()}
    if wish.extra:
        extra["request"] = json.dumps(wish.extra, ensure_ascii=False, sort_keys=True)
    if wish.circular:
        extra["circular"] = "true"
    record = RunRecord(
        run_id=run_id,
        model=wish.model,
        protocol_id=protocol.protocol_id,
        benchmark=wish.benchmark,
        dataset_version=items.version,
        item_set=items.item_set,
        n_items=len(roster),
        repeats=repeats,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        serving_precision=wish.serving_precision,
        client_version=version("opentwbench"),
        extra=extra,
    )
    return Plan(run_id, wish.model, protocol, items, repeats, wish.extra, wish.circular), record


def _derived_id(wish: Wish, protocol: Protocol, items: ItemSet, n_items: int, repeats: int) -> str:
    """model--protocol--benchmark--hash; only the hash has to tell two runs apart."""
    chosen = hashlib.sha256("\n".join(sorted(items.chosen or ())).encode()).hexdigest()
    parts = (
        wish.model,
        protocol.protocol_id,
        wish.benchmark,
        items.version,
        items.item_set,
        chosen,
        str(n_items),
        str(repeats),
        json.dumps(wish.extra, sort_keys=True),
    )
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
    name = re.sub(r"[^a-z0-9._]+", "-", wish.model.lower()).strip("-._")[:48] or "model"
    return f"{name}--{protocol.name.lower()}--{wish.benchmark.replace('_', '-')}--{digest}"


def graded(folder: Path, items: Mapping[str, AskedItem]) -> Iterator[Graded]:
    """The responses of a run to items of the set, judged by the keys of that set; a stream. Others are passed over.

    For what needs judged responses themselves; `score` counts what is passed over.
    """
    for response in read_responses(folder):
        item = items.get(response.item_id)
        if item is not None:
            yield grade(response, item.key)


def score(folder: Path, items: Mapping[str, AskedItem], aliases: Mapping[str, str] = NO_ALIASES) -> Summary:
    """The scores of a run folder over a set of items; a response to any other item is counted as left out.

    `aliases`: an item id of an earlier version -> its id now (manifest.json of the data set).
    """
    scorer, watch = scoring_watch(items, aliases)
    for response in read_responses(folder):
        watch(response)
    return scorer.summary()


def scoring_watch(
    items: Mapping[str, AskedItem], aliases: Mapping[str, str] = NO_ALIASES
) -> tuple[Scorer, Callable[[Response], None]]:
    """A scorer and the `watch` of a run that feeds it: the score is ready when the last reply is.

    It equals `score` of the folder when nothing stopped the run; after a stop the folder has to be scored.
    """
    scorer = Scorer(items)

    def watch(response: Response) -> None:
        if response.item_id in aliases:
            response = replace(response, item_id=aliases[response.item_id])
        item = items.get(response.item_id)
        if item is None:
            scorer.leave_out()  # it has no key to be judged by
        else:
            scorer.add(grade(response, item.key))

    return scorer, watch


def write_scores(folder: Path, record: RunRecord, dataset_version: str, item_set: str, summary: Summary) -> Path:
    """Write scores/<dataset_version>.json of a run; returns its path. The newest computation replaces an older one."""
    if not re.fullmatch(r"[0-9a-z][0-9a-z._-]{0,63}", dataset_version):
        raise JournalError(f"{excerpt(dataset_version)}: no data-set version that can name a file")
    path = folder / "scores" / f"{dataset_version}.json"
    about = {
        "run_id": record.run_id,
        "model": record.model,
        "protocol_id": record.protocol_id,
        "benchmark": record.benchmark,
        "dataset_version": dataset_version,
        "item_set": item_set,
        "serving_precision": record.serving_precision,
    }
    write_file(path, json_bytes({**about, **to_json(summary)}))
    return path
