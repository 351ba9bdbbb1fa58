"""The nouns of the evaluation track: questions asked, protocols, responses, graded responses, scores.

What belongs here: frozen records and closed vocabularies that the runner, the extraction methods, the scores, the
submissions and the mart share. What does not: anything that asks a model, matches text or computes a rate.
Source: the design, section 3 ("Response record", "Protocol"); facts on the published protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

MAX_MODEL = 200
"""Most characters of a model's name."""


class ErrorClass(StrEnum):
    """Why no usable reply came back. Closed; '' is a reply. None of these is a wrong answer."""

    NONE = ""
    TRANSPORT = "transport"
    """No reply: connection refused, reset, TLS failure."""
    TIMEOUT = "timeout"
    RATE_LIMITED = "rate_limited"
    """429 after every permitted retry."""
    SERVER = "server"
    """5xx after every permitted retry."""
    BAD_REQUEST = "bad_request"
    """A 4xx that is not about parameters or length."""
    CONTEXT_OVERFLOW = "context_overflow"
    UNREADABLE = "unreadable"
    """A reply that is no chat completion: an HTML page, broken JSON, no choices, larger than the limit."""


class Outcome(StrEnum):
    """What became of one asked question under one extraction method. Closed; exactly one holds."""

    CORRECT = "correct"
    WRONG = "wrong"
    UNPARSED = "unparsed"
    """A reply with text in which the method reads no option."""
    REFUSED = "refused"
    """Unparsed, and the text or the finish reason says that the model declines."""
    EMPTY = "empty"
    """A reply without any text."""
    CAPPED = "capped"
    """Unparsed, and the reply was cut by the token budget."""
    ERROR = "error"
    """No usable reply (see `ErrorClass`)."""


@dataclass(frozen=True, slots=True)
class AskedItem:
    """One item as the evaluation knows it. Only `question` and `options` may reach a prompt."""

    item_id: str
    question: str
    options: Mapping[str, str]
    """Original letter -> text, A-D in order."""
    key: str
    """The original letter of the right option."""
    subject: str
    """Subject slug (exam) or category (Formosa); '' when there is none."""
    subject_group: str = ""
    year_roc: int | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """One completed request: the unit that is journalled. Identity: (run_id, repeat, item_id, request_hash).

    A request that ends in an error has a record as well, so that an error is never taken for a wrong answer.
    """

    run_id: str
    repeat: int
    """From 0."""
    item_id: str
    request_hash: str
    """sha256 (hex) of the canonical JSON of the request body; no header and no secret goes into it."""
    protocol_id: str
    model: str
    option_order: str
    """The original letters in the order shown, e.g. 'CABD': the shown A is the original C."""
    content: str | None
    reasoning: str | None
    """`reasoning` or `reasoning_content` of the reply, None when it has neither."""
    finish_reason: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    latency_ms: float
    """From sending the last attempt to the end of its reply."""
    attempts: int
    """Requests sent for it; 0 for a reply that was taken from another run (reuse.py)."""
    error: ErrorClass = ErrorClass.NONE
    error_detail: str = ""
    """At most 300 characters, with credentials removed."""
    served_model: str | None = None
    """The model name that the reply carries."""

    @property
    def identity(self) -> tuple[str, int, str, str]:
        """What a resumed run must not ask twice."""
        return (self.run_id, self.repeat, self.item_id, self.request_hash)


@dataclass(frozen=True, slots=True)
class Reading:
    """What one extraction method read: the letter as shown to the model, and the rule that fired.

    `answer` is None when nothing was read, and then `rule` says why in one word ('none', 'empty').
    """

    answer: str | None
    rule: str


@dataclass(frozen=True, slots=True)
class Graded:
    """A response judged against a data-set version: one row of the mart's responses table."""

    response: Response
    key: str
    """The key of the item in the version scored, an original letter."""
    readings: Mapping[str, Reading]
    """Method name -> reading; letters as shown."""
    outcomes: Mapping[str, Outcome]
    boxes: int = 0
    """How many boxes the text holds: more than one is worth a look."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A share with its counts and its 95 % Wilson interval, all between 0 and 1."""

    hits: int
    n: int
    low: float
    high: float

    @property
    def value(self) -> float | None:
        """hits / n, None when nothing was counted."""
        return self.hits / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What a run is: written once when it starts, before the first request. Holds no secret and no host name."""

    run_id: str
    model: str
    protocol_id: str
    benchmark: str
    """'exam', 'exam_sample', 'formosa', 'rag'."""
    dataset_version: str
    item_set: str
    """'scored' or 'published'; every score names the set it was computed on."""
    n_items: int
    repeats: int
    started: str
    """ISO 8601, UTC."""
    serving_precision: str = "unknown"
    """'native', 'quantised' or 'unknown'."""
    client_version: str = ""
    extra: Mapping[str, str] = field(default_factory=dict)
    """Further provenance that the maintainer states (runtime, quantisation file, commit)."""
