"""Prompts of the track as frozen, hashed records, and the requests that the evaluation's runner asks from them.

What belongs here: the prompt record, rendering, and a plan that `evaluation.runner.run` carries out: the same client,
journal, resumption and spending stop as a model's run. What does not: the prompts themselves (drafting.py,
grounding.py) and reading replies (json_replies.py).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from string import Formatter
from typing import Any

from opentwbench.dataset.contract import excerpt
from opentwbench.evaluation.client import body_bytes
from opentwbench.evaluation.model import MAX_MODEL, RunRecord
from opentwbench.evaluation.protocols import ID_DIGITS
from opentwbench.evaluation.runner import Question
from opentwbench.evaluation.runs import FIXED_FIELDS


class AskingError(ValueError):
    """A prompt or a wish that cannot be asked; the message names what and why."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One way of asking. Its id changes with every field. Raises AskingError for a template of other fields."""

    name: str
    system: str
    template: str
    """The user message, with every name of `fields` in braces."""
    fields: tuple[str, ...]
    max_tokens: int
    temperature: float = 0.0

    def __post_init__(self) -> None:
        """Reject what could not be rendered."""
        # Parsed rather than searched: {window.__class__} would reach beyond the text that is meant.
        parts = [part for part in Formatter().parse(self.template) if part[1] is not None]
        if {part[1] for part in parts} != set(self.fields) or any(part[2] or part[3] for part in parts):
            raise AskingError(f"{self.name}: the template must hold exactly {', '.join(self.fields)}, bare")

    @property
    def prompt_id(self) -> str:
        """The name and the first 12 hex digits of the sha256 of every field."""
        canonical = json.dumps(self.to_json(), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return f"{self.name}-{hashlib.sha256(canonical.encode()).hexdigest()[:ID_DIGITS]}"

    def to_json(self) -> dict[str, Any]:
        """Every field."""
        return asdict(self) | {"fields": list(self.fields)}

    def messages(self, values: Mapping[str, str]) -> list[dict[str, str]]:
        """The two messages of one request. Values are not parsed again: braces in a window stay braces."""
        return [
            {"role": "system", "content": self.system},
            {"role": "user", "content": self.template.format(**{name: values[name] for name in self.fields})},
        ]


@dataclass(frozen=True, slots=True)
class Ask:
    """Requests of one prompt to one model; carried out by `evaluation.runner.run`, resumed by identity like any run."""

    model: str
    prompt: Prompt
    inputs: Iterable[tuple[str, Mapping[str, str]]]
    """(id, values of the template) of each request; iterated anew for each start."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of every request body (a grammar, a response format, a seed)."""

    def __post_init__(self) -> None:
        """Reject what could not be recorded."""
        if not self.model.isprintable() or not 0 < len(self.model) <= MAX_MODEL:
            raise AskingError(f"a model's name is 1 to {MAX_MODEL} printable characters: {excerpt(self.model)}")
        if taken := sorted(FIXED_FIELDS & self.extra.keys()):
            raise AskingError(f"the request field {taken[0]} is set by the run")

    @property
    def protocol_id(self) -> str:
        """The prompt's id: what every response names."""
        return self.prompt.prompt_id

    @property
    def run_id(self) -> str:
        """model--prompt--hash, from what decides the requests except their inputs.

        Inputs are left out so that a newer corpus continues the run: an id that was asked is not asked again.
        """
        parts = (self.model, self.protocol_id, json.dumps(self.extra, sort_keys=True))
        digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:ID_DIGITS]
        name = re.sub(r"[^a-z0-9._]+", "-", self.model.lower()).strip("-._")[:48] or "model"
        return f"{name}--{self.prompt.name}--{digest}"

    def questions(self) -> Iterator[Question]:
        """Every request, in the order of the inputs."""
        decoding = {"temperature": self.prompt.temperature, "max_tokens": self.prompt.max_tokens}
        fixed = {"model": self.model, **decoding, **self.extra}
        for identity, values in self.inputs:
            body = {**fixed, "messages": self.prompt.messages(values)}
            payload = body_bytes(body)
            yield Question(identity, 0, "", body, payload, hashlib.sha256(payload).hexdigest())

    def record(self, started: str, client_version: str) -> RunRecord:
        """What run.json says. It names no number of items and no version: windows come and go under one run."""
        return RunRecord(
            run_id=self.run_id,
            model=self.model,
            protocol_id=self.protocol_id,
            benchmark="formosa",
            dataset_version="",
            item_set="windows",
            n_items=0,
            repeats=1,
            started=started,
            client_version=client_version,
            extra={"request": json.dumps(self.extra, ensure_ascii=False, sort_keys=True)} if self.extra else {},
        )
