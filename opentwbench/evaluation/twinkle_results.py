"""Twinkle Eval's result files: ours written in its form, and its own read as a run.

What belongs here: results_*.json, eval_results_*_run<k>.jsonl, and what of a reply survives in them.
What does not: how Twinkle reads replies (twinkle_reading.py).
Source: Twinkle Eval 2.10.0, runners/standard.py and runners/evaluator.py. Its figures: unparsed replies stay in the
denominator, a data set's figure is the unweighted mean over its files, deviations are those of a population, there
are no intervals. A failed request has no row in it; ours are counted in `config`.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, pstdev
from typing import IO, Any

from opentwbench.dataset.atomic import replacing, write_file
from opentwbench.dataset.contract import excerpt
from opentwbench.dataset.files import parse_json
from opentwbench.dataset.model import DatasetError
from opentwbench.evaluation.extraction import METHODS
from opentwbench.evaluation.model import AskedItem, ErrorClass, Graded, Outcome, Response, RunRecord
from opentwbench.evaluation.prompts import ORIGINAL_ORDER, messages, shown_letter
from opentwbench.evaluation.protocols import PATTERN, Protocol

EVALUATION_METHODS: Mapping[str, str] = {"twinkle-box": "box", "twinkle-pattern": "pattern"}
"""Our method -> Twinkle's name of it."""

MAX_LINE = 1 << 25


# -- ours in its form -------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _File:
    """Counts of one file of items in one repeat."""

    right: int = 0
    unparsed: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Written:
    """The outcome of `write_results`."""

    results: Path
    details: tuple[Path, ...]
    rows: int
    errors: int
    """Responses without a reply, which Twinkle's form has no row for."""
    foreign: int
    """Responses to items that were not given."""


def write_results(
    folder: Path,
    record: RunRecord,
    protocol: Protocol,
    graded: Iterable[Graded],
    items: Iterable[AskedItem],
    method: str,
) -> Written:
    """Write a run as Twinkle Eval writes one: results_<stamp>.json and eval_results_<stamp>_run<k>.jsonl.

    `items` gives texts and the place of each item in its file (`question_id`); `method` is one of EVALUATION_METHODS
    and decides `predicted_answer`. Letters are as shown. The stamp is the run's start, so that the same run has the
    same files. Raises DatasetError for another method or a start that is no time.
    """
    if method not in EVALUATION_METHODS:
        raise DatasetError(f"no method of Twinkle: {excerpt(method)}; there are {', '.join(EVALUATION_METHODS)}")
    stamp = _stamp(record.started)
    places: dict[str, tuple[int, AskedItem]] = {}
    in_file: Counter[str] = Counter()
    for item in items:
        places[item.item_id] = (in_file[item.subject], item)
        in_file[item.subject] += 1
    counts: defaultdict[tuple[str, int], _File] = defaultdict(_File)
    rows = errors = foreign = 0
    paths: dict[int, Path] = {}
    folder.mkdir(parents=True, exist_ok=True)
    # Spooled first: `replacing` holds the folder's lock, and the repeats of a run come mixed.
    with tempfile.TemporaryDirectory(prefix=".otb-", dir=folder) as spool, ExitStack() as stack:
        out: dict[int, IO[str]] = {}
        for each in graded:
            response = each.response
            if response.item_id not in places:
                foreign += 1
                continue
            if response.error is not ErrorClass.NONE:
                errors += 1
                continue
            if response.repeat not in out:
                paths[response.repeat] = folder / f"eval_results_{stamp}_run{response.repeat}.jsonl"
                spooled = Path(spool) / paths[response.repeat].name
                out[response.repeat] = stack.enter_context(spooled.open("w", encoding="utf-8"))
            place, item = places[response.item_id]
            detail = _detail(each, item, place, protocol, method)
            out[response.repeat].write(json.dumps(detail, ensure_ascii=False) + "\n")
            of = counts[item.subject, response.repeat]
            of.total += 1
            of.right += detail["is_correct"]
            of.unparsed += detail["predicted_answer"] is None
            rows += 1
        stack.close()
        for path in paths.values():
            with replacing(path) as aside:
                (Path(spool) / path.name).replace(aside)
    details = tuple(paths[repeat] for repeat in sorted(paths))
    results = _results(record, protocol, method, stamp, counts, details, errors)
    path = folder / f"results_{stamp}.json"
    write_file(path, (json.dumps(results, ensure_ascii=False, indent=4) + "\n").encode())
    return Written(path, details, rows, errors, foreign)


def _stamp(started: str) -> str:
    found = re.match(r"(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d))?", started)
    if not found:
        raise DatasetError(f"started is no ISO time: {excerpt(started)}")
    year, month, day, hour, minute = found.groups(default="00")
    return f"{year}{month}{day}_{hour}{minute}"


def _detail(graded: Graded, item: AskedItem, place: int, protocol: Protocol, method: str) -> dict[str, Any]:
    response = graded.response
    tokens = (response.completion_tokens, response.prompt_tokens)
    return {
        "question_id": place,
        "sample_id": 0,
        "question": messages(item, protocol, response.option_order)[-1]["content"],
        "correct_answer": shown_letter(graded.key, response.option_order),
        "llm_output": response.content,
        "llm_reasoning_output": response.reasoning,
        "predicted_answer": graded.readings[method].answer,
        "is_correct": graded.outcomes[method] is Outcome.CORRECT,
        "usage_completion_tokens": tokens[0],
        "usage_prompt_tokens": tokens[1],
        "usage_total_tokens": None if None in tokens else sum(t for t in tokens if t is not None),
        "item_id": item.item_id,
    }


def _results(
    record: RunRecord,
    protocol: Protocol,
    method: str,
    stamp: str,
    counts: Mapping[tuple[str, int], _File],
    details: Iterable[Path],
    errors: int,
) -> dict[str, Any]:
    subjects = sorted({subject for subject, _ in counts})
    names = [path.name for path in details]
    files = [
        _file(subject, [counts[key] for key in sorted(counts) if key[0] == subject], names) for subject in subjects
    ]
    return {
        "timestamp": stamp,
        "config": {
            "model": {"name": record.model, **protocol.decoding()},
            "evaluation": {
                "dataset_paths": [record.benchmark],
                "evaluation_method": EVALUATION_METHODS[method],
                "repeat_runs": record.repeats,
                "shuffle_options": protocol.shuffle != "none",
                "datasets_prompt_map": {record.benchmark: "zh"},
            },
            "opentwbench": {
                "run_id": record.run_id,
                "protocol_id": record.protocol_id,
                "dataset_version": record.dataset_version,
                "item_set": record.item_set,
                "serving_precision": record.serving_precision,
                "failed_requests": errors,
            },
        },
        "dataset_results": {
            record.benchmark: {
                "results": files,
                "average_accuracy": _mean(each["accuracy_mean"] for each in files),
                "average_std": _mean(each["accuracy_std"] for each in files),
                "average_pass_at_k": _mean(each["pass_at_k_mean"] for each in files),
                "pass_metric": "pass@1",
                "total_unparsed_count": sum(each["unparsed_count"] for each in files),
                "average_unparsed_rate": round(_mean(each["unparsed_rate"] for each in files), 4),
                "evaluation_method": EVALUATION_METHODS[method],
            }
        },
        "duration_seconds": None,
    }


def _file(subject: str, repeats: list[_File], names: list[str]) -> dict[str, Any]:
    accuracies = [each.right / each.total for each in repeats]
    unparsed, total = sum(each.unparsed for each in repeats), sum(each.total for each in repeats)
    return {
        "file": f"{subject}/benchmark.jsonl",
        "accuracy_mean": _mean(accuracies),
        "accuracy_std": pstdev(accuracies) if len(accuracies) > 1 else 0.0,
        "pass_at_k_mean": _mean(accuracies),
        "pass_metric": "pass@1",
        "unparsed_count": unparsed,
        "unparsed_rate": round(unparsed / total, 4),
        "individual_runs": {
            "accuracies": accuracies,
            "pass_at_k": accuracies,
            "unparsed_counts": [each.unparsed for each in repeats],
            "results": names[: len(repeats)],
        },
    }


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return fmean(found) if found else 0.0


# -- its own read as a run --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Imported:
    """What became of the rows of Twinkle's detail files; rows = matched + unmatched."""

    rows: int = 0
    matched: int = 0
    unmatched: int = 0
    """Rows whose question is that of no item given: another data set, another version, or shuffled options."""
    differing: int = 0
    """Matched rows in which our reading of the stored text is not Twinkle's letter."""
    examples: list[str] = field(default_factory=list)
    """Item ids of the first differing rows."""


def read_details(
    path: Path, items: Iterable[AskedItem], run: RunRecord, method: str, counts: Imported, repeat: int = 0
) -> Iterator[Response]:
    """The rows of an eval_results_*.jsonl as responses of a run; `counts` says what became of every row.

    A row is known by its whole question text, options included, so rows that share a stem stay apart; of items with
    the same text in two files each is matched once. What Twinkle did not keep is missing: the finish reason, the
    latency, and the reasoning inside the content, which it cuts off before writing, so that `strict` may read another
    box than the reply's first. Raises DatasetError naming file and line for anything that is no such row.
    """
    by_text: defaultdict[bytes, list[str]] = defaultdict(list)
    for item in items:
        text = messages(item, PATTERN, ORIGINAL_ORDER)[-1]["content"]
        by_text[hashlib.sha256(text.encode()).digest()].append(item.item_id)
    with path.open("rb") as lines:
        for number in range(1, 1 << 62):
            line = lines.readline(MAX_LINE + 1)
            if not line:
                return
            where = f"{path.name} line {number}"
            if len(line) > MAX_LINE:
                raise DatasetError(f"{where}: more than {MAX_LINE} bytes")
            counts.rows += 1
            response = _response(_row(line, where), by_text, run, repeat, where)
            if response is None:
                counts.unmatched += 1
                continue
            counts.matched += 1
            yield response[0]
            read = METHODS[method].read(response[0].content, response[0].reasoning, None, ORIGINAL_ORDER).answer
            if read != response[1]:
                counts.differing += 1
                counts.examples += [response[0].item_id] if len(counts.examples) < 20 else []


def _row(line: bytes, where: str) -> dict[str, Any]:
    try:
        return parse_json(line.decode(), where)
    except UnicodeDecodeError as error:
        raise DatasetError(f"{where}: not UTF-8 at byte {error.start}") from None


def _response(
    row: Mapping[str, Any], by_text: Mapping[bytes, list[str]], run: RunRecord, repeat: int, where: str
) -> tuple[Response, str | None] | None:
    question = row.get("question")
    if not isinstance(question, str):
        raise DatasetError(f"{where}: no question")
    texts = {name: row.get(name) for name in ("llm_output", "llm_reasoning_output", "predicted_answer")}
    if not all(value is None or isinstance(value, str) for value in texts.values()):
        raise DatasetError(f"{where}: a text is no text")
    digest = hashlib.sha256(question.encode("utf-8", "replace")).digest()
    waiting = by_text.get(digest)
    if not waiting:
        return None
    tokens = [row.get(f"usage_{name}_tokens") for name in ("prompt", "completion")]
    prompt, completion = (t if isinstance(t, int) and not isinstance(t, bool) else None for t in tokens)
    response = Response(
        run_id=run.run_id,
        repeat=repeat,
        item_id=waiting.pop(0),
        request_hash=digest.hex(),
        protocol_id=run.protocol_id,
        model=run.model,
        option_order=ORIGINAL_ORDER,
        content=texts["llm_output"],
        reasoning=texts["llm_reasoning_output"],
        finish_reason=None,
        prompt_tokens=prompt,
        completion_tokens=completion,
        reasoning_tokens=None,
        latency_ms=0.0,
        attempts=1,
    )
    return response, texts["predicted_answer"]
