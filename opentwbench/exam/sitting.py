"""One sitting: the papers of its index rows are retrieved, each distinct pair is parsed once, each row gets its record.

What belongs here: which files a row needs, the cache of parse records, and the stored line of a row.
What does not: how a file is retrieved (retrieval) or parsed (paper), and which subject a row belongs to (subjects).
Source: the design, section 3, "Paper": several rows can serve the same bytes; parse a pair once, count every row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from opentwbench.dataset.atomic import write_file
from opentwbench.exam.digests import digest
from opentwbench.exam.index import first_key_url, parse_paper_url
from opentwbench.exam.model import Declared, IndexRow, PaperKind, PaperRecord, RejectionReason
from opentwbench.exam.retrieval import Retrieved

if TYPE_CHECKING:
    # The readers load PyMuPDF: imported where a record is read or written, so that comparing digests does not pay.
    from opentwbench.exam.paper import Pair


@dataclass(frozen=True, slots=True)
class Hashes:
    """Sha256 of the files behind a row; '' for one that was not retrieved or does not exist."""

    question: str
    key: str
    first_key: str

    @property
    def pair(self) -> str:
        """One name for the three: equal bytes are parsed once."""
        return digest([self.question.encode(), self.key.encode(), self.first_key.encode()])


@dataclass(frozen=True, slots=True)
class RowRecord:
    """One index row with the outcome of its papers."""

    row: IndexRow
    hashes: Hashes
    record: PaperRecord


Parse: TypeAlias = "Callable[[Sequence[Pair]], Iterator[PaperRecord]]"
"""Parses pairs and yields one record each, in order (`paper.parse_pairs`)."""

_NOT_KEPT = frozenset({RejectionReason.NOT_A_PDF, RejectionReason.TOO_LARGE})
"""Rejections that a lost or slow worker also gives: never kept, so that a busy machine does not decide for ever."""


class ParseCache:
    """Parse records on a local disk by pair and parser: what is unchanged is never parsed again.

    A record is written when its pair is done, so a killed run loses no more than the pairs it was working on.
    """

    def __init__(self, folder: Path, parser: str) -> None:
        self._folder = folder / parser[:16]

    def get(self, hashes: Hashes) -> PaperRecord | None:
        """The record of a pair; None when it was not parsed by this parser, or its file is damaged."""
        from opentwbench.exam.paper import record_from_json

        try:
            return record_from_json(json.loads((self._folder / f"{hashes.pair}.json").read_bytes()))
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def put(self, hashes: Hashes, record: PaperRecord) -> None:
        """Keep the record of a pair, unless chance had a part in it."""
        if record.reason in _NOT_KEPT:
            return
        from opentwbench.exam.paper import record_to_json

        line = json.dumps(record_to_json(record), ensure_ascii=False, sort_keys=True)
        write_file(self._folder / f"{hashes.pair}.json", line.encode())


def needed_urls(rows: Iterable[IndexRow]) -> list[str]:
    """Every URL that rows need, each once, in order: question paper, key and, for a corrected key, the first key."""
    urls = (url for row in rows for url in (row.question_url, row.key_url, first_key_url(row)) if url)
    return list(dict.fromkeys(urls))


def retrieval_figures(files: Iterable[Retrieved]) -> dict[str, int]:
    """Requests made, files that came with new bytes, and files that the source still had as they were here."""
    kept = list(files)
    return {
        "requests": sum(file.requests for file in kept),
        "files_fetched": sum(file.status == "fetched" for file in kept),
        "files_not_modified": sum(file.status == "not_modified" for file in kept),
    }


def collect(
    rows: Sequence[IndexRow], retrieved: Mapping[str, Retrieved], parse: Parse, cache: ParseCache
) -> list[RowRecord]:
    """The record of every row, in the order of the rows. `retrieved` holds every URL of `needed_urls(rows)`."""
    hashes = [_hashes(row, retrieved) for row in rows]
    records: dict[str, PaperRecord] = {}
    todo: dict[str, tuple[Hashes, Pair]] = {}
    for row, found in zip(rows, hashes, strict=True):
        if found.pair in records or found.pair in todo or not (found.question and found.key):
            continue
        known = cache.get(found)
        if known is not None:
            records[found.pair] = known
        else:
            todo[found.pair] = (found, _pair(row, retrieved))
    for (name, (found, _)), record in zip(todo.items(), parse([pair for _, pair in todo.values()]), strict=True):
        cache.put(found, record)
        records[name] = record
    return [
        RowRecord(row, found, _of_row(row, records.get(found.pair) or _not_retrieved(row, retrieved)))
        for row, found in zip(rows, hashes, strict=True)
    ]


def to_line(record: RowRecord) -> bytes:
    """One row's record as one line of papers/<year>.jsonl, without its line feed; equal records are equal bytes."""
    from opentwbench.exam.paper import record_to_json

    value = {"row": asdict(record.row), "sha256": asdict(record.hashes), "record": record_to_json(record.record)}
    return json.dumps(value, ensure_ascii=False, sort_keys=True).encode()


def from_line(line: bytes) -> RowRecord:
    """The record of a line that `to_line` wrote."""
    from opentwbench.exam.paper import record_from_json

    value: dict[str, Any] = json.loads(line)
    return RowRecord(_row(value["row"]), Hashes(**value["sha256"]), record_from_json(value["record"]))


def row_of_line(line: bytes) -> IndexRow:
    """The index row alone of a line that `to_line` wrote, without reading its record: a hundredth of the work.

    The row's object is found by its key: inside a JSON text the quotes would be escaped, and no other object has it.
    """
    start = line.rindex(b'"row": {') + len(b'"row": ')
    return _row(json.JSONDecoder().raw_decode(line[start:].decode())[0])


def _row(value: Mapping[str, Any]) -> IndexRow:
    return IndexRow(**{**value, "kind": PaperKind(value["kind"])})


def _hashes(row: IndexRow, retrieved: Mapping[str, Retrieved]) -> Hashes:
    first = first_key_url(row)
    return Hashes(
        question=retrieved[row.question_url].sha256 or "",
        key=retrieved[row.key_url].sha256 or "",
        first_key=(retrieved[first].sha256 or "") if first else "",
    )


def _pair(row: IndexRow, retrieved: Mapping[str, Retrieved]) -> Pair:
    question, key = retrieved[row.question_url].path, retrieved[row.key_url].path
    first = first_key_url(row)
    assert question is not None and key is not None  # both have a hash, so both are files
    return (question, key, retrieved[first].path if first else None)


def _of_row(row: IndexRow, record: PaperRecord) -> PaperRecord:
    """The record under the row's own file names: local paths would make equal builds differ between machines."""
    return replace(record, question_file=file_name(row.question_url), key_file=file_name(row.key_url))


def file_name(url: str) -> str:
    """A ministry URL as the file name used in records and mirrors: '100030/101/0101/Q.pdf'."""
    paper = parse_paper_url(url)
    return f"{paper.exam_code}/{paper.category_code}/{paper.subject_code}/{paper.role}.pdf"


def _not_retrieved(row: IndexRow, retrieved: Mapping[str, Retrieved]) -> PaperRecord:
    url = row.question_url if not retrieved[row.question_url].sha256 else row.key_url
    what = "question paper" if url == row.question_url else "key"
    found = retrieved[url]
    reason = RejectionReason.TOO_LARGE if found.status == "too_large" else RejectionReason.NOT_A_PDF
    detail = (
        f"{file_name(url)} (the {what}): {found.status}: {found.detail}" if found.detail else f"{what}: {found.status}"
    )
    return PaperRecord(
        question_file="",
        key_file="",
        status="rejected",
        reason=reason,
        detail=detail,
        declared=Declared(None, None),
        found=0,
        items=(),
    )
