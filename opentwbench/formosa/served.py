"""Which model really answered: the names that an endpoint's replies carry, beside the name that was asked for.

What belongs here: counting those names, and when one is only the asked one written out. What does not: who is refused
for it (curation.py for a pool, judge_study.py and grounding.py for a judge). A reply without a name says nothing, so
that a run may have fewer named replies than replies.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from opentwbench.dataset.contract import excerpt
from opentwbench.evaluation.model import MAX_MODEL, Response

Served = Mapping[str, int]
"""Name that replies carry -> replies that carry it."""


def served_names(responses: Iterable[Response], wanted: Collection[str] | None = None) -> dict[str, int]:
    """The names that replies carry, sorted; errors are no replies. `wanted`: count the replies to these ids only."""
    counted = Counter(
        each.served_model
        for each in responses
        if each.served_model and not each.error and (wanted is None or each.item_id in wanted)
    )
    return dict(sorted(counted.items()))


def served_sum(parts: Iterable[Served]) -> dict[str, int]:
    """The names of several runs together."""
    counted: Counter[str] = Counter()
    for part in parts:
        counted.update(part)
    return dict(sorted(counted.items()))


def several(served: Collection[str]) -> str:
    """Why replies under these names are not those of one model, in words; '' when they are.

    An alias that an endpoint resolves gives one name throughout. Two names in one run mean that the model changed
    underway, and then no figure of the run is that of a model.
    """
    if len(served) < 2:
        return ""
    return f"replies came from {len(served)} models: {', '.join(excerpt(each) for each in sorted(served)[:5])}"


_EDITION = re.compile(r"[-@:](?:\d{4}-\d{2}-\d{2}|\d{8}|\d{6}|\d{4}|\d{3}|latest)")
"""What an endpoint adds when it resolves an alias: a date or a number of an edition, or Ollama's tag `latest`."""


def stands_for(asked: str, served: str) -> bool:
    """Whether a served name is the asked one: the same, without or with its organisation, or a dated edition of it.

    `gpt-x` stands for `gpt-x-2026-01-01`, `org/model` for `model`; `gpt-x` does not stand for `gpt-x-mini`.
    """
    wanted, given = (name.casefold().rpartition("/")[2].removesuffix("-latest") for name in (asked, served))
    return given == wanted or (
        given.startswith(wanted) and wanted != "" and _EDITION.fullmatch(given[len(wanted) :]) is not None
    )


def otherwise(asked: str, served: Collection[str]) -> tuple[str, ...]:
    """The served names that are not the asked model, sorted; empty when all are, or when no reply carries a name."""
    return tuple(name for name in sorted(served) if not stands_for(asked, name))


def read_served(value: object) -> dict[str, int]:
    """Counts by name as a record holds them; raises ValueError for anything else."""
    if not isinstance(value, Mapping) or not all(
        isinstance(name, str) and 0 < len(name) <= MAX_MODEL and type(count) is int and count > 0
        for name, count in value.items()
    ):
        raise ValueError(f"no counts by served name: {excerpt(value)}")
    return dict(value)
