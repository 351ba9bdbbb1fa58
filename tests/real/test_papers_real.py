"""Every real pair: accepted, or rejected by the question reader alone; true pairs fit, wrong ones do not."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from opentwbench.exam.keys import read_key
from opentwbench.exam.model import PARSE_CAUSED, Declared, PaperRecord, PaperRejected, QuestionPaper, RejectionReason
from opentwbench.exam.pairing import contradiction
from opentwbench.exam.paper import parse_pairs, parse_paper
from opentwbench.exam.questions import read_questions

pytestmark = [pytest.mark.real, pytest.mark.slow]

ROWS, PAIRS = 408, 228


def keyed_pairs(ministry: Path) -> Iterator[tuple[Path, Path]]:
    """(question paper, key) of every index row with a key, in the order of the index."""
    with (ministry / "urls.csv").open(encoding="utf-8-sig", newline="") as stream:
        files = {row["url"]: ministry / row["path"] for row in csv.DictReader(stream)}
    with (ministry / "index.csv").open(encoding="utf-8-sig", newline="") as stream:
        for row in csv.DictReader(stream):
            if row["測驗式試題答案網址"]:
                yield files[row["試題網址"]], files[row["測驗式試題答案網址"]]


@pytest.fixture(scope="module")
def pairs(ministry: Path) -> list[tuple[Path, Path]]:
    found = list(keyed_pairs(ministry))
    assert len(found) == ROWS
    return list(dict.fromkeys(found))


@pytest.fixture(scope="module")
def parsed(pairs: list[tuple[Path, Path]]) -> list[PaperRecord]:
    assert len(pairs) == PAIRS
    given = [
        (q, k, k.with_name("S.pdf") if k.name == "M.pdf" and k.with_name("S.pdf").is_file() else None) for q, k in pairs
    ]
    return list(parse_pairs(given, os.cpu_count() or 1))


def test_no_true_pair_is_rejected_by_its_key(parsed: list[PaperRecord]) -> None:
    blamed = {
        RejectionReason.KEY_INCOMPLETE,
        RejectionReason.READERS_DISAGREE,
        RejectionReason.PAIR_MISMATCH,
        RejectionReason.COUNT_MISMATCH,
    }
    assert [(r.question_file, r.detail) for r in parsed if r.reason in blamed] == []


def test_at_least_98_percent_are_accepted(parsed: list[PaperRecord]) -> None:
    rejected = {r.question_file: (r.reason, r.detail) for r in parsed if not r.accepted}
    assert len(rejected) <= 0.02 * PAIRS, rejected


def test_parse_caused_exclusions_stay_under_two_percent(parsed: list[PaperRecord]) -> None:
    buckets = Counter(item.exclusion for record in parsed for item in record.items)
    ours = sum(count for bucket, count in buckets.items() if bucket in PARSE_CAUSED)
    assert ours < 0.02 * buckets.total(), buckets


def test_misprinted_counts_are_resolved_with_and_without_the_first_key(
    parsed: list[PaperRecord], ministry: Path
) -> None:
    for subject, declared in (("0001", Declared(60, 10)), ("0002", Declared(62, 12)), ("0004", Declared(60, 10))):
        folder = ministry / "files/103110/900" / subject
        with_first = next(r for r in parsed if r.question_file == str(folder / "Q.pdf"))
        alone = parse_paper(folder / "Q.pdf", folder / "M.pdf")
        for record in (with_first, alone):
            assert record.accepted, record.detail
            assert record.declared == declared
            assert len(record.notes) == 1
            assert "misprint resolved" in record.notes[0]


def test_no_true_pair_contradicts_itself_and_wrong_ones_mostly_do(pairs: list[tuple[Path, Path]]) -> None:
    papers: dict[Path, QuestionPaper] = {}
    for question, _ in pairs:
        try:
            papers[question] = read_questions(question)
        except PaperRejected:
            continue
    keys = {key: read_key(key) for _, key in pairs}
    true = [(q, k) for q, k in pairs if q in papers]
    assert len(true) >= 0.98 * PAIRS
    assert [(q, k) for q, k in true if contradiction(papers[q], keys[k])] == []
    own = dict(true)
    wrong = [
        (q, k)
        for q, paper in papers.items()
        for k, sheet in keys.items()
        if len(sheet.cells) == len(paper.questions) and sheet.cells != keys[own[q]].cells
    ]
    caught = sum(bool(contradiction(papers[q], keys[k])) for q, k in wrong)
    assert len(wrong) > 5000
    assert caught >= 0.99 * len(wrong), f"{caught} of {len(wrong)}"
