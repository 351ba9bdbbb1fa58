"""A submission's files become typed rows and a provenance record, or one refusal that says what to do.

What belongs here: both forms of a row, the provenance record, the closed list of refusals.
What does not: whether the rows fit a data-set version (submissions.py).
Everything in a submission is hostile until checked: bounded, strict JSON, closed sets of fields, never used as a path.
Source: facts on the published protocol ("Volunteers run models").
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.files import parse_json, unique_keys
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.extraction import LETTERS
from opentwbench.evaluation.sample import STEM_DIGITS

MAX_BYTES = 64 << 20
"""Largest file: 253,674 rows of the exact form are about 40 MB."""

MAX_PROVENANCE_BYTES = 64 << 10

MAX_ROWS = 300_000
"""Most rows: the published exam set has 255,854."""

MAX_LINE = 1_000
"""Most characters of one row."""

FORM_PUBLISHED, FORM_EXACT = "published", "exact"
_FIELDS = {
    frozenset(("qh", "ok", "boxp", "lenp")): FORM_PUBLISHED,
    frozenset(("qh", "ok", "boxp", "lenp", "item_id", "strict", "lenient")): FORM_EXACT,
}


class Refusal(StrEnum):
    """Why a submission is not taken in. Closed."""

    TOO_LARGE = "too_large"
    NOT_TEXT = "not_text"
    NOT_JSON = "not_json"
    BAD_ROW = "bad_row"
    MIXED_FORMS = "mixed_forms"
    NO_ROWS = "no_rows"
    UNKNOWN_ITEMS = "unknown_items"
    MISSING_ITEMS = "missing_items"
    REPEATED_ROWS = "repeated_rows"
    VERDICT_MISMATCH = "verdict_mismatch"
    BAD_PROVENANCE = "bad_provenance"
    NO_CONSENT = "no_consent"
    OTHER_VERSION = "other_version"
    OTHER_PROTOCOL = "other_protocol"


ADVICE: Mapping[Refusal, str] = {
    Refusal.TOO_LARGE: "send the result file alone, one line a question; logs and replies do not belong in it",
    Refusal.NOT_TEXT: "save the file as UTF-8 without a byte order mark",
    Refusal.NOT_JSON: "send one JSON object a line, as the runner wrote it; do not edit or cut the file",
    Refusal.BAD_ROW: "send the rows as the runner wrote them, with no field added, left out or renamed",
    Refusal.MIXED_FORMS: "send one form: either every row has item_id, strict and lenient, or none has",
    Refusal.NO_ROWS: "the file holds no row; look whether the run finished",
    Refusal.UNKNOWN_ITEMS: (
        "these questions are not in the named version: fetch the current bundle and resume the run, or name the "
        "version that was run"
    ),
    Refusal.MISSING_ITEMS: "the run is not finished: resume it, and send the file when every question has a row",
    Refusal.REPEATED_ROWS: "a question stands more often than in the data set: send one run, not several put together",
    Refusal.VERDICT_MISMATCH: (
        "the verdicts do not follow from the letters and this version's keys: run the bundle's verifier of the named "
        "version over the stored replies, and send its file"
    ),
    Refusal.BAD_PROVENANCE: "fill in the provenance record that came with the bundle; the field is named above",
    Refusal.NO_CONSENT: 'set "consent": true in the provenance record if the results may be published under its terms',
    Refusal.OTHER_VERSION: "check the file against the version that was run, or run the current one",
    Refusal.OTHER_PROTOCOL: "only results of the published protocols are compared: run the bundle as it is",
}
"""What a volunteer can do about each refusal."""


class SubmissionRefused(ValueError):
    """A submission that is not taken in: a reason of the closed list, where, and what to do."""

    def __init__(self, reason: Refusal, detail: str) -> None:
        super().__init__(f"{reason.value}: {detail}. What to do: {ADVICE[reason]}.")
        self.reason, self.detail = reason, detail


# -- provenance -------------------------------------------------------------------------------------------------------

REQUIRED = ("model", "benchmark", "dataset_version", "protocol_id", "hardware", "runtime", "consent")
OPTIONAL = ("driver", "runtime_version", "batch_settings", "serving_precision", "client_version", "started", "finished")
PRECISIONS = ("native", "quantised", "unknown")
MAX_PROVENANCE_TEXT = 500

_PERSONAL = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?:[a-z]:)?[\\/](?:home|users|root)(?![\w-])(?:[\\/][^\s\\/,;:\"']{1,64})?(?:[\\/][^\s,;\"']{0,200})?",
        # name@host, but not vllm@0.9.1 and no image@sha256:…
        r"[\w.+-]{1,64}@(?:(?:\d{1,3}\.){3}\d{1,3}|(?!\d|sha256:)[\w.-]{1,253})",
        r"\b(?:host(?:name)?|nodename|user(?:name)?|login)\s{0,4}[:=]\s{0,4}\S{1,253}",
        # host gpu-box-17, but not: host memory
        r"\bhost(?:name)?\s{1,4}(?=[^\s\d.-]{0,63}[\d.-])[a-z0-9][\w.-]{0,252}",
        r"\bnode\s{0,4}[:=]\s{0,4}(?!\d)\S{1,253}",  # one node: 8 GPUs is no name
        r"\b(?:\d{1,3}\.){3}\d{1,3}\b(?!\.\d)",
        r"\b(?:[0-9a-f]{1,4}:){4,7}[0-9a-f]{1,4}\b",
        r"\b[\w-]{1,63}\.(?:local|lan|internal|localdomain|home\.arpa)\b",
    )
)
"""What names a person or a machine inside a text: home folders, name@host, host=…, addresses, local names."""

_HOST_NAME = re.compile(r"\b(?:[a-z0-9][a-z0-9-]{0,62}\.){2,8}[a-z]{2,24}\b", re.IGNORECASE)
"""A host's full name: three labels or more. llama.cpp and 0.9.1 have fewer or end in a figure; a model's name may have
them, and is refused rather than changed when it holds one of the others."""

DROPPED = "[dropped]"

_MODEL_NAME = re.compile(r"(?=[^.\s])[^<>\\/\n]{1,200}(?:/(?=[^.\s])[^<>\\/\n]{1,200}){0,3}")
"""A public name: parts of a repository's name, none of them hidden, relative or empty; no mark-up."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a volunteer says of a run, without what names a person or a machine."""

    model: str
    benchmark: str
    dataset_version: str
    protocol_id: str
    hardware: str
    runtime: str
    details: Mapping[str, str] = field(default_factory=dict)
    """The optional fields that were filled in, except the precision."""
    serving_precision: str = "unknown"
    dropped: tuple[str, ...] = ()
    """Names of fields left out (no field of the record) or cleared of a name."""


def read_provenance(data: bytes) -> Provenance:
    """The record, cleaned; raises SubmissionRefused naming the field.

    Unknown fields (host, user, path, …) are left out; in the known ones home folders, mail and network addresses and
    host or user names are replaced. Consent is asked for: without `"consent": true` nothing is taken in.
    """
    if len(data) > MAX_PROVENANCE_BYTES:  # not `too_large`, whose advice is about the result file
        said = f"provenance: more than {MAX_PROVENANCE_BYTES} bytes, which no record of a bundle has"
        raise SubmissionRefused(Refusal.BAD_PROVENANCE, said)
    record = _json_object(data, "provenance", MAX_PROVENANCE_BYTES)
    missing = [name for name in REQUIRED if name not in record]
    if missing:
        raise SubmissionRefused(Refusal.BAD_PROVENANCE, f"provenance: no {missing[0]}")
    if record["consent"] is not True:
        said = f"provenance: consent is {json.dumps(record['consent'])[:40]}, not true without quotation marks"
        raise SubmissionRefused(Refusal.NO_CONSENT, said)
    dropped = [name for name in record if name not in REQUIRED and name not in OPTIONAL]
    texts: dict[str, str] = {}
    for name in (*REQUIRED[:-1], *OPTIONAL):
        value = record.get(name)
        if name in OPTIONAL and (value is None or (isinstance(value, str) and not value.strip())):
            continue  # left blank in the record that came with the bundle
        given = _provenance_text(name, value)
        texts[name] = _cleared_field(name, given)
        if name == "model" and not (texts[name] == given == value and _MODEL_NAME.fullmatch(given)):
            words = "provenance: model must be the public name of the model, such as maker/Model-7B, without a path"
            raise SubmissionRefused(Refusal.BAD_PROVENANCE, words)
        if texts[name] != given:
            dropped.append(name)
    precision = texts.pop("serving_precision", "unknown")
    if precision not in PRECISIONS:
        words = f"provenance: serving_precision is one of {', '.join(PRECISIONS)}, not {excerpt(precision)}"
        raise SubmissionRefused(Refusal.BAD_PROVENANCE, words)
    details = {name: texts.pop(name) for name in OPTIONAL if name in texts}
    shown = tuple(sorted({excerpt(name, 40) for name in dropped})[:50])
    return Provenance(
        **{name: texts[name] for name in REQUIRED[:-1]}, details=details, serving_precision=precision, dropped=shown
    )


def _provenance_text(name: str, value: object) -> str:
    if isinstance(value, dict | list):
        value = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise SubmissionRefused(Refusal.BAD_PROVENANCE, f"provenance: {name} must be a text, not {excerpt(value)}")
    text = " ".join(str(value).split())
    if not text or len(text) > MAX_PROVENANCE_TEXT or not text.isprintable():
        words = f"provenance: {name} must be a printable text of 1 to {MAX_PROVENANCE_TEXT} characters"
        raise SubmissionRefused(Refusal.BAD_PROVENANCE, words)
    return text


def _cleared_field(name: str, text: str) -> str:
    if name in ("dataset_version", "protocol_id"):
        return text
    return _without(_PERSONAL, text) if name == "model" else cleared(text)


def cleared(text: str) -> str:
    """The text without what names a person or a machine."""
    return _without((*_PERSONAL, _HOST_NAME), text)


def _without(patterns: Iterable[re.Pattern[str]], text: str) -> str:
    for pattern in patterns:
        text = pattern.sub(DROPPED, text)
    return text


# -- rows -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a file, its types checked and nothing else."""

    qh: str
    ok: bool
    boxp: bool
    lenp: bool
    item_id: str | None = None
    strict: str | None = None
    lenient: str | None = None


def read_rows(data: bytes) -> tuple[str, list[Row]]:
    """The form and the rows of a file: JSON lines, or one JSON array of the same objects.

    Raises SubmissionRefused naming line and field for anything that is not exactly a row of one form.
    """
    text = _text(data, "results", MAX_BYTES)
    records = _array(text) if text.lstrip(" \t\r\n").startswith("[") else _lines(text)
    form, rows = "", list[Row]()
    for where, record in records:
        found = _FIELDS.get(frozenset(record))
        if found is None:
            raise SubmissionRefused(Refusal.BAD_ROW, f"{where}: fields are {excerpt(sorted(record), 120)}")
        if form and found != form:
            raise SubmissionRefused(Refusal.MIXED_FORMS, f"{where}: a row of the {found} form after {form} ones")
        form = found
        rows.append(_row(record, where))
        if len(rows) > MAX_ROWS:
            raise SubmissionRefused(Refusal.TOO_LARGE, f"results: more than {MAX_ROWS} rows")
    if not rows:
        raise SubmissionRefused(Refusal.NO_ROWS, "results: no row")
    return form, rows


def _row(record: Mapping[str, Any], where: str) -> Row:
    flags: dict[str, bool] = {}
    for name in ("ok", "boxp", "lenp"):
        value = record[name]
        # 0 and 1 are what some JSON writers make of a flag.
        if not isinstance(value, bool) and not (isinstance(value, int) and value in (0, 1)):
            shown = json.dumps(value, ensure_ascii=False)[:40]
            raise SubmissionRefused(Refusal.BAD_ROW, f"{where}: {name} is true or false without quotes, not {shown}")
        flags[name] = bool(value)
    qh = record["qh"]
    if not isinstance(qh, str) or not re.fullmatch(rf"[0-9a-f]{{{STEM_DIGITS}}}", qh):
        raise SubmissionRefused(Refusal.BAD_ROW, f"{where}: qh is {STEM_DIGITS} hex digits, not {excerpt(qh)}")
    item_id = record.get("item_id")
    if "item_id" in record and (not isinstance(item_id, str) or len(item_id) > 200):
        raise SubmissionRefused(Refusal.BAD_ROW, f"{where}: item_id is a text, not {excerpt(item_id)}")
    letters: dict[str, str | None] = {}
    for name in ("strict", "lenient"):
        value = record.get(name)
        if value is not None and (not isinstance(value, str) or len(value) != 1 or value not in LETTERS):
            raise SubmissionRefused(
                Refusal.BAD_ROW, f"{where}: {name} is one of {LETTERS} or null, not {excerpt(value)}"
            )
        letters[name] = value
    return Row(qh, flags["ok"], flags["boxp"], flags["lenp"], item_id, letters["strict"], letters["lenient"])


def _lines(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    for number, line in enumerate(lines, start=1):
        where = f"results line {number}"
        if len(line) > MAX_LINE:
            raise SubmissionRefused(Refusal.BAD_ROW, f"{where}: {len(line)} characters, more than {MAX_LINE}")
        try:
            yield where, parse_json(line.removesuffix("\r"), where)
        except DatasetError as error:
            raise SubmissionRefused(Refusal.NOT_JSON, str(error)) from None


def _array(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        values = json.loads(text, parse_constant=_no_constant, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError) as error:
        raise SubmissionRefused(Refusal.NOT_JSON, f"results: not JSON: {excerpt(str(error))}") from None
    for number, value in enumerate(values, start=1):
        if not isinstance(value, dict):
            raise SubmissionRefused(Refusal.BAD_ROW, f"results row {number}: not an object: {excerpt(value)}")
        yield f"results row {number}", value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON value")


def _text(data: bytes, name: str, most: int) -> str:
    if len(data) > most:
        raise SubmissionRefused(Refusal.TOO_LARGE, f"{name}: {len(data)} bytes, more than {most}")
    if data.startswith(b"\xef\xbb\xbf"):
        raise SubmissionRefused(Refusal.NOT_TEXT, f"{name}: starts with a byte order mark")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise SubmissionRefused(Refusal.NOT_TEXT, f"{name}: not UTF-8 at byte {error.start}") from None


def _json_object(data: bytes, name: str, most: int) -> dict[str, Any]:
    try:
        return parse_json(_text(data, name, most), name)
    except DatasetError as error:
        raise SubmissionRefused(Refusal.NOT_JSON, str(error)) from None
