"""Batch-API files: the questions of a run as request files, and the result files read back into its journal.

A line of a request file is {"custom_id", "method", "url", "body"}; a line of a result file {"custom_id", "response":
{"status_code", "body"}, "error"}. Source: the OpenAI API reference, "The request input object" and "The request output
object" of the Batch API; other providers take the same form.
A custom id names a question by repeat, item and request hash, so that a result is taken only for the request that it
answers. What does not belong here: uploading, and asking one by one (runner.py).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.journal import DigestSet, Journal, read_responses
from opentwbench.evaluation.model import ErrorClass, Response
from opentwbench.evaluation.replies import MAX_DETAIL, Failure, Reply, read_completion, read_failure
from opentwbench.evaluation.runner import Plan, Question, questions, response_of

URL = "/v1/chat/completions"

MOST_REQUESTS = 50_000
"""Requests in one file. Source: OpenAI API reference, Batch."""

MOST_BYTES = 190_000_000
"""Bytes of one file; the API takes 200 MB."""

MAX_LINE = 1 << 25
"""Longest line of a result file that is read."""

GROUP = 500
"""Responses written with one sync."""


def custom_id(question: Question) -> str:
    """repeat-hash-item: the first 16 hex digits of the request hash say which request it was."""
    return f"{question.repeat}-{question.request_hash[:16]}-{question.item_id}"


def request_line(question: Question) -> bytes:
    """One line of a request file."""
    record = {"custom_id": custom_id(question), "method": "POST", "url": URL, "body": question.body}
    return (json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


def write_requests(plan: Plan, done: DigestSet, folder: Path) -> list[tuple[Path, int]]:
    """Write what a run has not got yet as requests-001.jsonl and so on; returns each file with its requests.

    Raises DatasetError when the folder already holds request files: an older batch must not be sent with a newer one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.glob("requests-*.jsonl")):
        raise DatasetError(f"{excerpt(folder.name)} already holds request files; choose another folder")
    return list(_files((each for each in questions(plan) if each.digest not in done), folder))


def _files(asked: Iterable[Question], folder: Path) -> Iterator[tuple[Path, int]]:
    lines = map(request_line, asked)
    line = next(lines, None)
    number = 0
    while line is not None:
        number += 1
        path = folder / f"requests-{number:03d}.jsonl"
        count = size = 0
        with path.open("xb") as out:
            while line is not None and count < MOST_REQUESTS and size + len(line) <= MOST_BYTES:
                out.write(line)
                count, size = count + 1, size + len(line)
                line = next(lines, None)
        if not count:
            raise DatasetError("a single request is larger than a batch file may be")
        yield path, count


@dataclass(slots=True)
class Taken:
    """What became of the lines of result files; they add up to `lines`."""

    lines: int = 0
    taken: int = 0
    known: int = 0
    """Questions that the run had answered already, or whose error it had."""
    foreign: int = 0
    """Custom ids that are no question of this run: another run, or another version of a request."""
    errors: Counter[ErrorClass] = field(default_factory=Counter)
    """Of those taken, the ones that ended in an error."""


def take_results(plan: Plan, paths: Iterable[Path], folder: Path) -> Taken:
    """Journal the results of a batch; what the run has already is left as it is.

    An error that a retry may mend is journalled as well and superseded when a later batch brings a reply. Raises
    DatasetError naming file and line for anything that is no result line, JournalError and RunLocked.
    """
    counts = Taken()
    with Journal(folder) as journal:
        held = {each.identity[1:]: each.error for each in read_responses(folder)}
        # Without their bodies: a quarter of a million of those would fill the memory.
        wanted = {custom_id(each): replace(each, body={}, payload=b"") for each in questions(plan)}
        group: list[Response] = []
        for path in paths:
            for where, record in _records(path):
                counts.lines += 1
                question = wanted.get(str(record.get("custom_id")))
                if question is None:
                    counts.foreign += 1
                    continue
                key = (question.repeat, question.item_id, question.request_hash)
                if held.get(key) is ErrorClass.NONE:
                    counts.known += 1
                    continue
                response = response_of(question, plan, _reply(record, where))
                if response.error and held.get(key) is response.error:
                    counts.known += 1  # the same error again says nothing new
                    continue
                counts.taken += 1
                counts.errors.update([response.error] if response.error else [])
                held[key] = response.error
                group.append(response)
                if len(group) >= GROUP:
                    journal.append_all(group)
                    group = []
        journal.append_all(group)
    return counts


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    with path.open("rb") as file:
        for number in range(1, 1 << 62):
            line = file.readline(MAX_LINE + 1)
            if not line:
                return
            where = f"{path.name} line {number}"
            try:
                record = json.loads(line) if len(line) <= MAX_LINE else None
            except (ValueError, RecursionError):
                record = None
            if not isinstance(record, dict) or "custom_id" not in record:
                raise DatasetError(f"{where}: no result of a batch")
            yield where, record


def _reply(record: dict[str, Any], where: str) -> Reply:
    """The reply inside a result line; a batch's own error (expired, cancelled) is one of the transport."""
    response = record.get("response")
    if isinstance(response, dict) and isinstance(response.get("status_code"), int):
        body = json.dumps(response.get("body")).encode()
        status = response["status_code"]
        found: Reply | Failure = read_completion(body) if status == 200 else read_failure(status, body)
    else:
        error = record.get("error")
        said = error.get("message", error.get("code")) if isinstance(error, dict) else "no response"
        found = Failure(ErrorClass.TRANSPORT, f"batch: {excerpt(str(said), MAX_DETAIL - 20)}")
    if isinstance(found, Failure):
        return Reply(error=found.error, error_detail=found.detail)
    return found
