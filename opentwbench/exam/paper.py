"""One question paper and its key become a `PaperRecord`: accepted with items, or rejected with exactly one reason.

What belongs here: the cross-checks between the readers' results, the join of questions and rulings, the record as JSON.
What does not: reading a page (`questions`, `keys`, `key_rows`), the remark grammar (`corrections`), text rules
(`filters`).

The order of the checks is the order of blame: files, the two key readers, the header pair, counts, the first key,
options.
Sources: hazards 4, 13, 14; design, section 3 ("Paper", "Accounting").
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from opentwbench.exam.corrections import rule
from opentwbench.exam.filters import in_order, text_exclusions
from opentwbench.exam.glyphs import half_width
from opentwbench.exam.key_rows import compare, read_rows
from opentwbench.exam.keys import read_key
from opentwbench.exam.layout import read_key_pages, unreadable
from opentwbench.exam.model import (
    Declared,
    Exclusion,
    KeySheet,
    PaperItem,
    PaperRecord,
    PaperRejected,
    Question,
    QuestionPaper,
    RejectionReason,
    Ruling,
)
from opentwbench.exam.pairing import contradiction
from opentwbench.exam.question_rows import doubts
from opentwbench.exam.questions import read_questions
from opentwbench.exam.workers import Lost, run_isolated

SECONDS_A_PAPER = 120.0
"""Most processor time for one pair. The slowest real pair takes under 2 s; a hostile file must not stop a sitting."""

PAPER_MEMORY = 1024**3
"""Address space of a process that reads papers, in bytes. Reading 60 real pairs takes 0.23 GB of it."""

MOST_DOUBTFUL = 0.1
"""A paper is refused when the two question readers differ on more than one question and on a larger share. Real papers:
they differ on 2 of 7,852 questions without findings, both English, on two papers."""

NOTHING_DECLARED = Declared(None, None)

_MULTI_RANGE = re.compile(r"\(第(\d{1,3})[~～\-－至到]第?(\d{1,3})題\)")

Pair = tuple[Path, Path] | tuple[Path, Path, Path | None]
"""Question paper, key, and the first key (t=S) where the key is a corrected one (t=M) and the first one is there."""


@dataclass(frozen=True, slots=True)
class _Counts:
    """The counts that are used: `multi` questions from `first_multi` on, and what had to be said about them."""

    declared: Declared
    multi: range
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Seen:
    """What has been read so far, so that a rejection can still say it."""

    declared: Declared
    found: int = 0
    header: Mapping[str, str] | None = None


@contextmanager
def _collector_paused() -> Iterator[None]:
    """No cycle is made while a paper is read, and Python's collector would walk the page's million tuples in vain."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


@_collector_paused()
def parse_paper(question: Path, key: Path, first_key: Path | None = None) -> PaperRecord:
    """Parse one pair. Never raises for a bad paper: what cannot be trusted is a rejected record.

    `first_key` is the key before its correction; where it is given, a corrected key may differ from it at # cells only,
    every change is named in `key_changes`, and it can resolve a misprinted count. In the record, `declared` holds the
    counts that were used (a resolved misprint is in `notes`), `found` the number of questions read, and `header` the
    paper's fields plus the key's under 'key.<name>'. No path but the two given ones appears in the record.
    """
    seen = _Seen(NOTHING_DECLARED)
    try:
        paper = _of("question paper", read_questions, question)
        seen.found, seen.header = len(paper.questions), dict(paper.header)
        sheet = _of("key", read_agreed_key, key)
        seen.declared = sheet.declared
        seen.header = {**paper.header, **{f"key.{name}": value for name, value in sheet.header.items()}}
        first = _of("first key", read_agreed_key, first_key) if first_key else None
        return join(paper, sheet, first, files=(str(question), str(key)), header=seen.header)
    except PaperRejected as rejection:
        return _rejected(question, key, rejection, seen)
    except MemoryError as error:
        return _rejected(question, key, unreadable(error, "", question.name), seen)
    except Exception as error:  # a fault of ours on one paper must not stop the rest, nor be taken for a good paper
        detail = f"fault while parsing: {type(error).__name__}: {str(error)[:200]}"
        return _rejected(question, key, PaperRejected(RejectionReason.NOT_A_PDF, detail), seen)


def parse_pairs(
    pairs: Iterable[Pair],
    processes: int = 1,
    *,
    seconds: float = SECONDS_A_PAPER,
    progress: Callable[[int, int], None] | None = None,
    parse: Callable[[Pair], PaperRecord] | None = None,
) -> Iterator[PaperRecord]:
    """Parse many pairs in `processes` worker processes; one record a pair, in the order given.

    A pair that is given twice is parsed once. A worker that dies (not_a_pdf) or needs more than `seconds` of processor
    time (too_large) costs its own pair only. `progress(done, total)` is called after every record. `parse` replaces the
    work done in the worker and must be importable by name. Raises ValueError for fewer than one process.
    """
    given = list(pairs)
    distinct = list(dict.fromkeys(given))
    outcome: dict[Pair, PaperRecord] = {}
    work = parse or _parse_pair
    records = run_isolated(work, distinct, _lost, processes=processes, seconds=seconds, memory=PAPER_MEMORY)
    for done, pair in enumerate(given, start=1):
        while pair not in outcome:
            outcome[distinct[len(outcome)]] = next(records)
        if progress:
            progress(done, len(given))
        yield outcome[pair]


def read_agreed_key(path: Path) -> KeySheet:
    """The key as both readers see it.

    Raises `PaperRejected`: what `read_key` raises; readers_disagree when the second reader sees another cell or remark,
    naming the first difference, or cannot read the sheet at all.
    """
    pages = read_key_pages(path)
    sheet = read_key(path, pages)
    try:
        differences = compare(sheet, read_rows(path, pages))
    except PaperRejected as rejection:
        detail = f"the second reader says {rejection.reason.value}: {rejection.detail}"
        raise PaperRejected(
            RejectionReason.READERS_DISAGREE, detail, file=str(path), page=rejection.page, q_no=rejection.q_no
        ) from rejection
    if differences:
        number = re.match(r"Q(\d+)", differences[0])
        raise PaperRejected(
            RejectionReason.READERS_DISAGREE,
            f"{len(differences)} differences between the key readers: {', '.join(differences[:5])}",
            file=str(path),
            q_no=int(number[1]) if number else None,
        )
    return sheet


# ---------------------------------------------------------------- cross-checks


def join(
    paper: QuestionPaper,
    sheet: KeySheet,
    first: KeySheet | None = None,
    *,
    files: tuple[str, str] = ("", ""),
    header: Mapping[str, str] | None = None,
) -> PaperRecord:
    """What the readers saw becomes an accepted record. Raises `PaperRejected` at the first cross-check against it."""
    against = contradiction(paper, sheet)
    if against:
        raise PaperRejected(RejectionReason.PAIR_MISMATCH, against)
    counts = _counts(paper, sheet, first)
    changes = _changes(first, sheet) if first else ()
    doubtful = _doubtful(paper)
    items = tuple(_item(question, sheet, counts.multi) for question in _with_findings(paper, doubtful))
    return PaperRecord(
        question_file=files[0],
        key_file=files[1],
        status="accepted",
        reason=None,
        detail="",
        declared=counts.declared,
        found=len(items),
        items=items,
        header=header or {},
        key_changes=changes,
        notes=(*counts.notes, *_notes(paper, sheet), *(_doubt(*each) for each in doubtful.items())),
    )


def _counts(paper: QuestionPaper, sheet: KeySheet, first: KeySheet | None) -> _Counts:
    """The counts on which questions, cells and print agree; raises count_mismatch when they do not.

    What was read (questions, cells) must agree without exception. A printed total that differs from both is believed
    over nothing: it is a misprint only when another print (the first key, the paper's own count or its multi-select
    range) names the number that was read (hazard 4).
    """
    read = len(paper.questions)
    if read != len(sheet.cells):
        raise PaperRejected(
            RejectionReason.COUNT_MISMATCH,
            f"{read} questions on the paper, {len(sheet.cells)} cells on the key",
            q_no=min(read, len(sheet.cells)) + 1,
        )
    if paper.declared_count not in (None, read):
        raise PaperRejected(
            RejectionReason.COUNT_MISMATCH, f"the paper says {paper.declared_count} questions, {read} were read"
        )
    declared, notes = _settled(paper, sheet, first)
    multi = _multi_range(paper, sheet, declared, read)
    _check_sections(sheet, declared, multi)
    return _Counts(declared, multi, notes)


def _settled(paper: QuestionPaper, sheet: KeySheet, first: KeySheet | None) -> tuple[Declared, tuple[str, ...]]:
    """The key's printed counts, or what another print says in their place."""
    read, printed = len(sheet.cells), sheet.declared
    if printed.total == read:
        return printed, ()
    if printed.total is None:
        return printed, ("the key prints no count",)
    words = f"the key prints {_words(printed)}, {read} questions were read"
    if first and first.declared.total == read and len(first.cells) == read:
        return first.declared, (f"misprint resolved from the first key ({_words(first.declared)}): {words}",)
    span = paper.multi_select_range
    if span and span[1] == read and printed.multi == span[1] - span[0] + 1:
        resolved = Declared(span[0] - 1, printed.multi)
        return resolved, (f"misprint resolved from the paper's range 第{span[0]}題至第{span[1]}題: {words}",)
    if paper.declared_count == read and not printed.multi and not span:
        return Declared(read, printed.multi), (f"misprint resolved from the paper's own count: {words}",)
    raise PaperRejected(RejectionReason.COUNT_MISMATCH, f"{words}, and no other print says which is right")


def _words(declared: Declared) -> str:
    return f"{declared.single or 0}+{declared.multi or 0}"


def _multi_range(paper: QuestionPaper, sheet: KeySheet, declared: Declared, read: int) -> range:
    """The questions of the multi-select section, from the ranges that paper and key print; empty without one."""
    spans = {}
    if paper.multi_select_range:
        spans["paper"] = paper.multi_select_range
    printed = _MULTI_RANGE.search(half_width(sheet.header.get("複選題數", "")).replace("（", "(").replace("）", ")"))
    if printed:
        spans["key"] = (int(printed[1]), int(printed[2]))
    if len(set(spans.values())) > 1:
        raise PaperRejected(
            RejectionReason.COUNT_MISMATCH,
            "multi-select section " + ", ".join(f"{a} to {b} on the {who}" for who, (a, b) in spans.items()),
        )
    for first, last in spans.values():
        if not 1 <= first <= last <= read:
            raise PaperRejected(
                RejectionReason.COUNT_MISMATCH, f"multi-select section {first} to {last} of {read} questions"
            )
        if declared.multi is not None and declared.multi != last - first + 1:
            raise PaperRejected(
                RejectionReason.COUNT_MISMATCH,
                f"{declared.multi} multi-select questions declared, section {first} to {last} printed",
            )
        return range(first, last + 1)
    return range(0)


def _check_sections(sheet: KeySheet, declared: Declared, multi: range) -> None:
    """Cells with several letters must lie where the print says that several may be marked."""
    several = [q_no for q_no, cell in sheet.cells.items() if len(cell) > 1]
    outside = [q_no for q_no in several if q_no not in multi]
    if multi and outside:
        raise PaperRejected(
            RejectionReason.COUNT_MISMATCH,
            f"cell {sheet.cells[outside[0]]} outside the multi-select section {multi[0]} to {multi[-1]}",
            q_no=outside[0],
        )
    splits = "單選題數" in sheet.header
    if splits and len(several) > (declared.multi or 0):
        raise PaperRejected(
            RejectionReason.COUNT_MISMATCH,
            f"{len(several)} cells with several letters, {declared.multi or 0} multi-select questions declared",
            q_no=several[0],
        )
    unmarked = [q_no for q_no, cell in sheet.cells.items() if len(cell) == 1 and cell != "#"]
    if not multi and declared.multi and len(unmarked) > (declared.single or 0):
        raise PaperRejected(
            RejectionReason.COUNT_MISMATCH,
            f"{len(unmarked)} single-letter cells, {declared.single} such questions declared, no range printed",
        )


def _changes(first: KeySheet, sheet: KeySheet) -> tuple[str, ...]:
    """What the corrected key changed; it may change a cell to # and nothing else ("A correction is always a #")."""
    if len(first.cells) != len(sheet.cells):
        raise PaperRejected(
            RejectionReason.COUNT_MISMATCH, f"{len(first.cells)} cells on the first key, {len(sheet.cells)} on the key"
        )
    # All 278 real keys print 更正 in their title when they are corrected ones (t=M), and only then.
    if first.corrected or not sheet.corrected:
        what = "the first key is titled as a corrected one" if first.corrected else "the key is not titled as corrected"
        raise PaperRejected(RejectionReason.PAIR_MISMATCH, f"first and corrected key are confused: {what}")
    changed = [q_no for q_no, cell in sheet.cells.items() if first.cells[q_no] != cell]
    for q_no in changed:
        if sheet.cells[q_no] != "#":
            raise PaperRejected(
                RejectionReason.READERS_DISAGREE,
                f"the corrected key says {sheet.cells[q_no]}, the first key {first.cells[q_no]}, without a #",
                q_no=q_no,
            )
    return tuple(f"Q{q_no} {first.cells[q_no]} -> #" for q_no in changed)


def _doubtful(paper: QuestionPaper) -> dict[int, str]:
    """Questions whose parts the second reader reads otherwise; raises readers_disagree when they are too many."""
    doubtful = doubts(paper.questions, paper.second) if paper.second is not None else {}
    if len(doubtful) > max(1, MOST_DOUBTFUL * len(paper.questions)):
        detail = f"the question readers differ on {len(doubtful)} of {len(paper.questions)} questions"
        raise PaperRejected(RejectionReason.READERS_DISAGREE, detail, q_no=min(doubtful))
    return doubtful


def _with_findings(paper: QuestionPaper, doubtful: Mapping[int, str]) -> Iterator[Question]:
    """The questions; one that the readers read differently cannot be shown as text."""
    for question in paper.questions:
        if question.q_no in doubtful:
            question = replace(question, findings=question.findings | {Exclusion.NOT_TEXT})
        yield question


def _doubt(q_no: int, parts: str) -> str:
    return f"question {q_no}: the two question readers differ ({parts})"


def _notes(paper: QuestionPaper, sheet: KeySheet) -> Iterator[str]:
    silent = [q_no for q_no in sheet.remarks if sheet.cells[q_no] != "#"]
    if silent:
        yield f"the key has a remark for {_listed(silent)}, whose cell is no #"
    bare = [q_no for q_no, cell in sheet.cells.items() if cell == "#" and q_no not in sheet.remarks]
    if bare:
        yield f"the key has no remark for the # of {_listed(bare)}"
    if "考試名稱" not in sheet.header:
        yield "the key's examination name could not be read"
    for page, text in paper.unexplained.items():
        yield f"page {page}: text given to no question: {text[:80]}"


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(f"Q{q_no}" for q_no in numbers)


# ---------------------------------------------------------------- items


def _item(question: Question, sheet: KeySheet, multi: range) -> PaperItem:
    ruling = rule(sheet.cells[question.q_no], sheet.remarks.get(question.q_no))
    _check_letters(question, ruling)
    exclusions = {*question.findings, *text_exclusions(question.stem, question.options)}
    if question.findings & {Exclusion.NOT_TEXT, Exclusion.UNMAPPED_GLYPH}:
        exclusions.discard(Exclusion.IDENTICAL_OPTIONS)  # options that look alike because of our reading are not alike
    if ruling.exclusion:
        exclusions.add(ruling.exclusion)
    if question.q_no in multi:
        exclusions.add(Exclusion.MULTI_SELECT)
    return PaperItem(
        q_no=question.q_no,
        question=question.stem,
        options=dict(question.options),
        key=ruling.key,
        accepted=ruling.accepted,
        exclusions=in_order(exclusions),
        page=question.page,
        corrected=ruling.corrected,
        remark=ruling.remark,
    )


def _check_letters(question: Question, ruling: Ruling) -> None:
    """The key may not name an option that was not read: then an option was lost, or the key belongs elsewhere.

    A question that has no text options anyway (drawn ones) is excluded by its own finding.
    """
    letters = set("".join((ruling.key or "", *ruling.accepted)))
    lost = letters - set(question.options)
    if lost and Exclusion.NOT_TEXT not in question.findings:
        raise PaperRejected(
            RejectionReason.OPTIONS_INCOMPLETE,
            f"the key names {''.join(sorted(lost))}, the options read are {''.join(question.options) or 'none'}",
            page=question.page,
            q_no=question.q_no,
        )


# ---------------------------------------------------------------- records


def _of(role: str, read: Callable[[Path], Any], path: Path) -> Any:
    """Read a file, naming its role instead of its path: equal papers make equal records on every machine."""
    try:
        return read(path)
    except PaperRejected as rejection:
        detail = f"{role}: {rejection.detail}".replace(str(path), path.name)
        raise PaperRejected(rejection.reason, detail, page=rejection.page, q_no=rejection.q_no) from rejection


def _rejected(question: Path, key: Path, rejection: PaperRejected, seen: _Seen) -> PaperRecord:
    return PaperRecord(
        question_file=str(question),
        key_file=str(key),
        status="rejected",
        reason=rejection.reason,
        detail=rejection.detail,
        declared=seen.declared,
        found=seen.found,
        items=(),
        page=rejection.page,
        q_no=rejection.q_no,
        header=seen.header or {},
    )


def _parse_pair(pair: Pair) -> PaperRecord:
    return parse_paper(*pair)


def _lost(pair: Pair, why: Lost) -> PaperRecord:
    reason = RejectionReason.TOO_LARGE if why.late else RejectionReason.NOT_A_PDF
    return _rejected(pair[0], pair[1], PaperRejected(reason, why.detail), _Seen(NOTHING_DECLARED))


def record_to_json(record: PaperRecord) -> dict[str, Any]:
    """The record as JSON values, nothing lost; `record_from_json` gives an equal record back."""
    return {
        "question_file": record.question_file,
        "key_file": record.key_file,
        "status": record.status,
        "reason": record.reason.value if record.reason else None,
        "detail": record.detail,
        "declared": {"single": record.declared.single, "multi": record.declared.multi},
        "found": record.found,
        "items": [_item_to_json(item) for item in record.items],
        "page": record.page,
        "q_no": record.q_no,
        "header": dict(record.header),
        "key_changes": list(record.key_changes),
        "notes": list(record.notes),
    }


def _item_to_json(item: PaperItem) -> dict[str, Any]:
    return {
        "q_no": item.q_no,
        "question": item.question,
        "options": dict(item.options),
        "key": item.key,
        "accepted": list(item.accepted),
        "exclusions": [exclusion.value for exclusion in item.exclusions],
        "page": item.page,
        "corrected": item.corrected,
        "remark": item.remark,
    }


def record_from_json(value: Mapping[str, Any]) -> PaperRecord:
    """The record that `record_to_json` wrote. Raises KeyError, TypeError or ValueError for anything else."""
    return PaperRecord(
        **{
            **value,
            "reason": RejectionReason(value["reason"]) if value["reason"] is not None else None,
            "declared": Declared(**value["declared"]),
            "items": tuple(_item_from_json(item) for item in value["items"]),
            "header": dict(value["header"]),
            "key_changes": tuple(value["key_changes"]),
            "notes": tuple(value["notes"]),
        }
    )


def _item_from_json(value: Mapping[str, Any]) -> PaperItem:
    return PaperItem(
        **{
            **value,
            "options": dict(value["options"]),
            "accepted": tuple(value["accepted"]),
            "exclusions": tuple(Exclusion(name) for name in value["exclusions"]),
        }
    )


def record_to_report(record: PaperRecord) -> dict[str, Any]:
    """The record in the shape that `otb paper parse --json` promises, exactly those keys.

    `declared` counts 0 multi-select questions where a count of single-answer ones is printed alone, and null for both
    where the key printed none or was not read. `exclusion` is the item's bucket or null.
    """
    single = record.declared.single
    multi = record.declared.multi
    return {
        "question_file": record.question_file,
        "key_file": record.key_file,
        "status": record.status,
        "reason": record.reason.value if record.reason else None,
        "detail": _report_detail(record),
        "declared": {"single": single, "multi": 0 if multi is None and single is not None else multi},
        "found": record.found,
        "items": [
            {
                "q_no": item.q_no,
                "question": item.question,
                "options": dict(item.options),
                "key": item.key,
                "accepted": list(item.accepted),
                "exclusion": item.exclusion.value if item.exclusion else None,
            }
            for item in record.items
        ],
    }


def _report_detail(record: PaperRecord) -> str:
    """The detail with page and question, which have no field of their own in the report; an accepted record's notes."""
    if record.accepted:
        return "; ".join(record.notes)
    where = [f"page {record.page}"] if record.page is not None else []
    where += [f"question {record.q_no}"] if record.q_no is not None else []
    return f"{record.detail} ({', '.join(where)})" if where else record.detail
