"""Volunteers' submissions: judged against a named data-set version, folded into the store, kept apart from our runs.

What belongs here: judging the rows of both forms, the stored form, folding.
What does not: reading the files (submission_reading.py), the bundle that volunteers run, the mart (warehouse.py).

Two forms. `published` is {"qh", "ok", "boxp", "lenp"}: the first 16 hex digits of sha256(stem), the lenient verdict,
whether a box and whether the lenient reading parsed. It is a set of hashes: rows that share a stem cannot be told
apart, and strict correctness is at best `ok and boxp`, a derived figure (the two readings of one reply can differ).
`exact` adds "item_id", "strict" and "lenient", the letters as shown (null = not read), and is judged from the letters.
Source: facts on the published protocol ("Volunteers run models").
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opentwbench.dataset.atomic import recover, replace_folder
from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.files import jsonl_bytes, parse_json
from opentwbench.dataset.manifest import json_bytes
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.model import AskedItem, Graded, Rate
from opentwbench.evaluation.prompts import option_order, original_letter
from opentwbench.evaluation.protocols import Protocol
from opentwbench.evaluation.runs import BENCHMARKS
from opentwbench.evaluation.sample import stem_hash
from opentwbench.evaluation.scoring import rate
from opentwbench.evaluation.submission_reading import (
    FORM_EXACT,
    FORM_PUBLISHED,
    Provenance,
    Refusal,
    Row,
    SubmissionRefused,
)
from opentwbench.exam.subjects import REGISTRY

SUBMISSION_NAME, ANSWERS_NAME = "submission.json", "answers.jsonl"

SUBMISSION_ID = r"sub-[0-9a-f]{16}"

OF_EXAM = ("exam", "exam_sample")
"""Benchmarks whose items are of the registry's subjects."""


# -- judging ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answer:
    """One row as it is stored. `item_id` is None where the hash cannot tell rows apart."""

    item_id: str | None
    stem_hash: str
    strict_correct: bool
    """Derived as `ok and boxp` in the published form; exact in the other."""
    lenient_correct: bool
    strict_parsed: bool
    lenient_parsed: bool
    strict_answer: str | None = None
    """Original letter; None in the published form too."""
    lenient_answer: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The answer as one line of answers.jsonl."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Submission:
    """A submission that was taken in, or would be."""

    provenance: Provenance
    form: str
    n_items: int
    """Items of the set that the version scores."""
    answers: tuple[Answer, ...]

    @property
    def submission_id(self) -> str:
        """'sub-' and 16 hex digits over everything in it: the same submission has the same id."""
        head = {"form": self.form, "n_items": self.n_items, **_provenance_json(self.provenance)}
        body = json_bytes(head) + b"\0" + self.answer_bytes()
        return f"sub-{hashlib.sha256(body).hexdigest()[:16]}"

    @property
    def strict_is_derived(self) -> bool:
        """True in the published form, whose `ok` is the lenient verdict."""
        return self.form == FORM_PUBLISHED

    @property
    def indistinct(self) -> int:
        """Rows that share a stem in a form that cannot tell them apart: they are in no item-level table."""
        return sum(answer.item_id is None for answer in self.answers)

    def rates(self) -> dict[str, Rate]:
        """Over the rows answered: strict, lenient, strict_parsed, lenient_parsed."""
        names = {"strict": "strict_correct", "lenient": "lenient_correct"}
        names |= {name: name for name in ("strict_parsed", "lenient_parsed")}
        n = len(self.answers)
        return {name: rate(sum(getattr(a, of) for a in self.answers), n) for name, of in names.items()}

    def answer_bytes(self) -> bytes:
        """answers.jsonl, in an order that the file's own order does not change."""
        ordered = sorted(self.answers, key=_order)
        return jsonl_bytes(answer.to_json() for answer in ordered)


def _order(answer: Answer) -> tuple[str | bool, ...]:
    """A key over every field: answers that are equal in it are equal."""
    flags = (answer.strict_correct, answer.lenient_correct, answer.strict_parsed, answer.lenient_parsed)
    letters = (answer.strict_answer or "", answer.lenient_answer or "")
    return (answer.stem_hash, answer.item_id or "", *flags, *letters)


def judge(
    rows: Sequence[Row],
    form: str,
    provenance: Provenance,
    items: Iterable[AskedItem],
    version: str,
    protocols: Iterable[Protocol],
) -> Submission:
    """A submission against the items that a data-set version scores; raises SubmissionRefused with its reason.

    The set of hashes must be the version's: none unknown, none missing, and none more often than there are rows of
    that stem. Fewer rows of a shared stem are accepted in the published form (four published runs fell 9 to 36 rows
    short) and show in `rows answered`; the exact form has every item once.
    """
    protocol = {each.protocol_id: each for each in protocols}.get(provenance.protocol_id)
    if protocol is None:
        raise SubmissionRefused(Refusal.OTHER_PROTOCOL, f"no published protocol {excerpt(provenance.protocol_id)}")
    if provenance.dataset_version != version:
        words = f"the file is of version {excerpt(provenance.dataset_version)}, this is {version}"
        raise SubmissionRefused(Refusal.OTHER_VERSION, words)
    known = {item.item_id: item for item in items}
    _check_benchmark(provenance.benchmark, known.values())
    by_stem: dict[str, list[AskedItem]] = {}
    for item in known.values():
        by_stem.setdefault(stem_hash(item.question), []).append(item)
    _check_set(Counter(row.qh for row in rows), {qh: len(same) for qh, same in by_stem.items()})
    if form == FORM_EXACT:
        answers = _exact(rows, known, protocol)
    else:
        answers = [_published(row, by_stem[row.qh]) for row in rows]
    return Submission(provenance, form, len(known), tuple(answers))


def _check_benchmark(benchmark: str, items: Iterable[AskedItem]) -> None:
    if benchmark not in BENCHMARKS:
        words = f"provenance: benchmark is one of {', '.join(BENCHMARKS)}, not {excerpt(benchmark)}"
        raise SubmissionRefused(Refusal.BAD_PROVENANCE, words)
    if benchmark not in OF_EXAM and any(item.subject in REGISTRY for item in items):
        words = f"provenance: benchmark is {benchmark}, and this version is of examination subjects"
        raise SubmissionRefused(Refusal.BAD_PROVENANCE, words)


def _check_set(sent: Mapping[str, int], expected: Mapping[str, int]) -> None:
    unknown = sorted(sent.keys() - expected.keys())
    if unknown:
        words = f"{len(unknown)} of {len(sent)} hashes are not in the version, the first is {unknown[0]}"
        raise SubmissionRefused(Refusal.UNKNOWN_ITEMS, words)
    missing = sorted(expected.keys() - sent.keys())
    if missing:
        words = f"{len(missing)} of {len(expected)} hashes have no row, the first is {missing[0]}"
        raise SubmissionRefused(Refusal.MISSING_ITEMS, words)
    often = sorted(qh for qh, times in sent.items() if times > expected[qh])
    if often:
        words = f"{often[0]} has {sent[often[0]]} rows, the data set {expected[often[0]]} ({len(often)} such hashes)"
        raise SubmissionRefused(Refusal.REPEATED_ROWS, words)


def _published(row: Row, same_stem: Sequence[AskedItem]) -> Answer:
    if row.ok and not row.lenp:
        raise SubmissionRefused(Refusal.VERDICT_MISMATCH, f"{row.qh}: ok without a lenient reading (lenp is false)")
    item_id = same_stem[0].item_id if len(same_stem) == 1 else None
    return Answer(item_id, row.qh, row.ok and row.boxp, row.ok, row.boxp, row.lenp)


def _exact(rows: Sequence[Row], known: Mapping[str, AskedItem], protocol: Protocol) -> list[Answer]:
    answers = []
    seen: set[str] = set()
    for row in rows:
        item = known.get(row.item_id or "")
        if item is None or stem_hash(item.question) != row.qh:
            raise SubmissionRefused(
                Refusal.UNKNOWN_ITEMS, f"{excerpt(row.item_id)}: no item of this version with {row.qh}"
            )
        if item.item_id in seen:
            raise SubmissionRefused(Refusal.REPEATED_ROWS, f"{item.item_id} has two rows")
        seen.add(item.item_id)
        order = option_order(item, protocol)
        strict, lenient = (letter and original_letter(letter, order) for letter in (row.strict, row.lenient))
        if (row.ok, row.boxp, row.lenp) != (lenient == item.key, strict is not None, lenient is not None):
            words = f"{item.item_id}: ok, boxp and lenp do not follow from strict, lenient and the key"
            raise SubmissionRefused(Refusal.VERDICT_MISMATCH, words)
        answers.append(Answer(item.item_id, row.qh, strict == item.key, row.ok, row.boxp, row.lenp, strict, lenient))
    if len(seen) != len(known):
        first = min(known.keys() - seen)
        raise SubmissionRefused(
            Refusal.MISSING_ITEMS, f"{len(known) - len(seen)} items have no row, the first is {first}"
        )
    return answers


def row_of(graded: Graded, question: str) -> dict[str, Any]:
    """A graded response of our own runner as a row of the exact form: what the volunteers' verifier writes.

    An error has no row: the question has to be asked again.
    """
    strict, lenient = graded.readings["strict"].answer, graded.readings["lenient"].answer
    return {
        "qh": stem_hash(question),
        "ok": lenient is not None and original_letter(lenient, graded.response.option_order) == graded.key,
        "boxp": strict is not None,
        "lenp": lenient is not None,
        "item_id": graded.response.item_id,
        "strict": strict,
        "lenient": lenient,
    }


# -- the store --------------------------------------------------------------------------------------------------------


def _provenance_json(provenance: Provenance) -> dict[str, Any]:
    return {
        "model": provenance.model,
        "benchmark": provenance.benchmark,
        "dataset_version": provenance.dataset_version,
        "protocol_id": provenance.protocol_id,
        "hardware": provenance.hardware,
        "runtime": provenance.runtime,
        "serving_precision": provenance.serving_precision,
        "details": dict(sorted(provenance.details.items())),
    }


@dataclass(frozen=True, slots=True)
class Folded:
    """A submission in the store."""

    submission_id: str
    received: str
    """ISO date of the day on which it was first folded."""
    submission: Submission

    def to_row(self) -> dict[str, Any]:
        """A row of the mart's `submissions`."""
        of = self.submission.provenance
        return {
            "submission_id": self.submission_id,
            "model": of.model,
            "benchmark": of.benchmark,
            "dataset_version": of.dataset_version,
            "protocol_id": of.protocol_id,
            "serving_precision": of.serving_precision,
            "form": self.submission.form,
            "received": self.received,
            "n_items": self.submission.n_items,
            "rows": len(self.submission.answers),
        }

    def answer_rows(self) -> Iterator[dict[str, Any]]:
        """Rows of the mart's `submission_answers`; `item_id` is None where rows share a stem."""
        for answer in self.submission.answers:
            yield {"submission_id": self.submission_id, **answer.to_json()}


def fold(submission: Submission, folder: Path, received: str) -> tuple[str, bool]:
    """Take a submission into `folder`/<submission_id>/, atomically: its id, and False when it was there already.

    Folding again changes no byte, the day of the first folding stays.
    """
    submission_id = submission.submission_id
    target = folder / submission_id
    recover(target)
    if target.is_dir() and _whole(target):
        return submission_id, False
    record = {
        "format": 1,
        "submission_id": submission_id,
        "received": received,
        "form": submission.form,
        "strict_is_derived": submission.strict_is_derived,
        "n_items": submission.n_items,
        "rows": len(submission.answers),
        "rows_without_item": submission.indistinct,
        "provenance": _provenance_json(submission.provenance),
    }
    replace_folder(target, {SUBMISSION_NAME: json_bytes(record), ANSWERS_NAME: submission.answer_bytes()})
    return submission_id, True


def _whole(folder: Path) -> bool:
    try:
        read_folded(folder)
    except DatasetError:
        return False
    return True


def read_folded(folder: Path) -> Folded:
    """A submission of the store; raises DatasetError when its files are not the ones that its id was made from."""
    try:
        record = parse_json((folder / SUBMISSION_NAME).read_text(encoding="utf-8"), SUBMISSION_NAME)
        lines = (folder / ANSWERS_NAME).read_text(encoding="utf-8").splitlines()
        answers = tuple(Answer(**json.loads(line)) for line in lines)
        submission = Submission(Provenance(**record["provenance"]), record["form"], record["n_items"], answers)
        submission_id, received = str(record["submission_id"]), str(record["received"])
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise DatasetError(f"{folder.name}: no submission: {excerpt(str(error), 200)}") from None
    if submission.submission_id != submission_id or folder.name != submission_id:
        raise DatasetError(f"{folder.name}: its files are not those of its id")
    return Folded(submission_id, received, submission)


def read_all(folder: Path) -> Iterator[Folded]:
    """Every submission of the store, in the order of ids; raises DatasetError as `read_folded`."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if re.fullmatch(SUBMISSION_ID, path.name):
            yield read_folded(path)
