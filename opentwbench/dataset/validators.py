"""The blocking checks of a data-set folder. Each reads the files that will be published, never what is in memory.

What belongs here: one function a check, its threshold and the source of the threshold.
What does not: gating and hashes (publication.py), the release-wide statement of the row contract (release_suite.py).
A check over nothing proves nothing: no check passes on a subject without a source paper, and those that judge rows do
not pass on a set without rows. Sources: the methodology page ("Checks before publishing"); the design, sections 3, 4.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opentwbench.dataset.contract import (
    COLUMNS,
    OPTION_COLUMNS,
    ItemRow,
    count_violations,
    excerpt,
    frame_of,
    validate_rows,
)
from opentwbench.dataset.files import (
    CSV_NAME,
    JSONL_NAME,
    differences,
    parse_json,
    read_bytes,
    read_csv,
    read_jsonl,
    rows_from_jsonl,
)
from opentwbench.dataset.manifest import STATS_NAME
from opentwbench.dataset.merged import merged_stem
from opentwbench.dataset.model import BuildStats, DatasetError
from opentwbench.dataset.terms import CHECKS
from opentwbench.statistics.intervals import binomial_tail, wilson

Fingerprint = Callable[[str, Mapping[str, str]], Hashable]
"""question, options -> what two copies of one item share (the exam track's loose fingerprint)."""


@dataclass(frozen=True, slots=True)
class RowComparison:
    """Rows as published against the records that they were made from: figures, and every difference in words."""

    figures: Mapping[str, int | float | str]
    offenders: tuple[str, ...]


CompareRows = Callable[[Sequence[ItemRow]], RowComparison]
"""rows -> their comparison with the source records (the exam track's parse records); DatasetError when there are none
to compare with, or they cannot be read."""

MAX_OFFENDERS = 50
"""Offenders named in an outcome; all of them are counted."""

SKEW_SHARE = 0.40
"""Share above which a letter is suspicious. Source: methodology page, "Answer-position skew"."""

SKEW_P = 1e-4
"""Probability under a uniform key below which the skew blocks. 40 % alone would stop 12 % of sound sets of 25 items."""


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """What a check found in a folder. It blocks publication when it did not pass and its severity is 'error'."""

    name: str
    passed: bool
    severity: str
    """'error' or 'warn'; a failed check that only warns does not block."""
    figures: Mapping[str, int | float | str] = field(default_factory=dict)
    detail: str = ""
    offenders: tuple[str, ...] = ()
    """At most MAX_OFFENDERS item ids or places, each bounded and printable."""

    @property
    def blocks(self) -> bool:
        """True when nothing of this folder may be published."""
        return not self.passed and self.severity == "error"


def outcome_of(
    name: str, offenders: Iterable[str], figures: Mapping[str, int | float | str], what: str, total: int | None = None
) -> CheckOutcome:
    """Passed without offenders, an error with any."""
    named = list(offenders)
    count = len(named) if total is None else total
    detail = f"{count} {what}" + (f", first: {named[0]}" if named else "")
    return CheckOutcome(
        name, count == 0, "error", {**figures, "offenders": count}, detail, tuple(named[:MAX_OFFENDERS])
    )


def _judging(name: str, judge: Callable[[BuildStats], CheckOutcome], folder: Path) -> CheckOutcome:
    """Run a check, unless there is nothing to judge; a file that cannot be read fails it, naming the file."""
    try:
        stats = read_stats(folder)
        if stats.papers.index_rows == 0:
            return CheckOutcome(name, False, "error", {"index_rows": 0}, "no source: the subject has no paper")
        return judge(stats)
    except Exception as error:
        return damaged(name, folder, error)


def damaged(name: str, folder: Path, error: Exception) -> CheckOutcome:
    """The failed check of a folder that is damaged in whatever way: what was wrong, and no path of the machine."""
    if isinstance(error, DatasetError):
        why = str(error)
    elif isinstance(error, OSError):
        why = f"{Path(str(error.filename or folder.name)).name}: {error.strerror or type(error).__name__}"
    else:
        # Files come from outside, and what is wrong with them is no closed list.
        why = f"not readable as {name} reads it: {type(error).__name__}: {excerpt(str(error), 200)}"
    return CheckOutcome(name, False, "error", {}, why)


def read_stats(folder: Path) -> BuildStats:
    """The figures in build_stats.json; raises DatasetError naming the field."""
    data = read_bytes(folder / STATS_NAME)
    return BuildStats.from_json(parse_json(data.decode(errors="replace"), STATS_NAME))


def _rows(folder: Path) -> list[ItemRow]:
    rows = rows_from_jsonl(folder / JSONL_NAME)
    if not rows:
        raise DatasetError(f"{JSONL_NAME}: no rows to judge")
    return rows


def _options(row: ItemRow) -> dict[str, str]:
    return {"A": row.A, "B": row.B, "C": row.C, "D": row.D}


def row_contract(folder: Path) -> CheckOutcome:
    """Every row keeps every rule of the contract; the columns stand in order; there is at least one row."""

    def judge(_: BuildStats) -> CheckOutcome:
        records = read_jsonl(folder / JSONL_NAME)
        if not records:
            raise DatasetError(f"{JSONL_NAME}: no rows to judge")
        misplaced = [n for n, record in enumerate(records) if list(record) != list(ItemRow.__dataclass_fields__)]
        violations = validate_rows(records, limit=MAX_OFFENDERS)
        frame, ill_typed = frame_of(records)
        broken: Counter[str] = Counter(v.rule for v in ill_typed)
        for (rule, _column), count in count_violations(frame).items():
            broken[rule] += count
        offenders = [f"line {(v.row or 0) + 1} {v.column}: {v.rule}: {v.excerpt}" for v in violations]
        offenders += [f"line {n + 1}: columns out of order" for n in misplaced]
        total = sum(broken.values()) + len(misplaced)
        figures = {"rows": len(records), **{f"broken_{rule}": n for rule, n in sorted(broken.items())}}
        return outcome_of("row_contract", offenders, figures, "breaches of the row contract", total)

    return _judging("row_contract", judge, folder)


def answer_position(folder: Path) -> CheckOutcome:
    """No letter holds more than 40 % of the answers.

    It blocks when a uniform key would be so skewed with p < 1e-4, and warns otherwise. p is the exact binomial tail
    P(X >= largest count | n, 1/4) times four letters (Bonferroni), at most 1: the test of the largest share itself,
    and an upper bound, so that it errs towards warning.
    """

    def judge(_: BuildStats) -> CheckOutcome:
        return letter_skew([row.answer for row in _rows(folder)])

    return _judging("answer_position", judge, folder)


def letter_skew(answers: Sequence[str]) -> CheckOutcome:
    """`answer_position` over the keys of a set, at least one; other tracks judge their own rows by it."""
    n, counts = len(answers), Counter(answers)
    letter, most = max(((x, counts[x]) for x in OPTION_COLUMNS), key=lambda pair: pair[1])
    p = min(1.0, len(OPTION_COLUMNS) * binomial_tail(most, n, 1 / len(OPTION_COLUMNS)))
    figures = {"rows": n, **{x: counts[x] for x in OPTION_COLUMNS}, "share": most / n, "p": p}
    passed = most / n <= SKEW_SHARE
    severity = "error" if passed or p < SKEW_P else "warn"
    detail = f"{letter} holds {most} of {n} answers ({most / n:.1%}), p = {p:.2g} under a uniform key"
    return CheckOutcome("answer_position", passed, severity, figures, detail)


def residual_duplicates(folder: Path, fingerprint: Fingerprint) -> CheckOutcome:
    """No two rows are the same item by `fingerprint`, and no id occurs twice."""

    def judge(_: BuildStats) -> CheckOutcome:
        rows = _rows(folder)
        same: dict[Hashable, list[str]] = defaultdict(list)
        for row in rows:
            same[fingerprint(row.question, _options(row))].append(row.item_id)
        groups = [ids for ids in same.values() if len(ids) > 1]
        twice = [i for i, n in Counter(row.item_id for row in rows).items() if n > 1]
        offenders = [" = ".join(excerpt(i) for i in ids[:5]) for ids in groups]
        offenders += [f"{excerpt(i)} occurs twice" for i in twice]
        figures = {"rows": len(rows), "duplicate_groups": len(groups), "repeated_ids": len(twice)}
        return outcome_of("residual_duplicates", offenders, figures, "duplicates left")

    return _judging("residual_duplicates", judge, folder)


_LATIN = re.compile("[A-Za-zＡ-Ｚａ-ｚ]")
_CHINESE = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


def surviving_english(folder: Path) -> CheckOutcome:
    """No stem with Latin letters is without a Chinese character. Options do not count (methodology page)."""

    def judge(_: BuildStats) -> CheckOutcome:
        rows = _rows(folder)
        english = [r for r in rows if _LATIN.search(r.question) and not _CHINESE.search(r.question)]
        offenders = [f"{excerpt(row.item_id)}: {excerpt(row.question)}" for row in english]
        return outcome_of("surviving_english", offenders, {"rows": len(rows)}, "stems without Chinese")

    return _judging("surviving_english", judge, folder)


def merged_stems(folder: Path) -> CheckOutcome:
    """No stem shows a sign of a second question inside it (merged.py)."""

    def judge(_: BuildStats) -> CheckOutcome:
        rows = _rows(folder)
        signs = [(row, merged_stem(row.question, _options(row), row.q_no)) for row in rows]
        offenders = [f"{excerpt(row.item_id)}: {sign}: {excerpt(row.question)}" for row, sign in signs if sign]
        return outcome_of("merged_stems", offenders, {"rows": len(rows)}, "stems holding a second question")

    return _judging("merged_stems", judge, folder)


def pandas_cells(path: Path) -> list[dict[str, Any]]:
    """The CSV through the parser behind pandas and `datasets`, types and missing values not guessed."""
    import pandas as pd  # half a second to import

    try:
        frame = pd.read_csv(path, dtype=object, keep_default_na=False, na_filter=False, encoding="utf-8")
    except (ValueError, pd.errors.ParserError) as error:
        raise DatasetError(f"{path.name}: not read by pandas: {excerpt(str(error), 120)}") from None
    records: list[dict[str, Any]] = frame.to_dict("records")
    return records


def csv_differences(records: Sequence[Mapping[str, Any]], path: Path, columns: tuple[str, ...] = COLUMNS) -> list[str]:
    """Where a CSV does not say field by field what the records say, through two CSV parsers; each in words.

    The standard library's parser in strict mode, and the one that `load_dataset` uses: a quoting fault that one
    forgives shows in the other.
    """
    loader = (f"pandas: {each}" for each in differences(records, pandas_cells(path)))
    return [*differences(records, read_csv(path, columns)), *loader]


def csv_mirrors_jsonl(folder: Path) -> CheckOutcome:
    """benchmark.csv says field by field what benchmark.jsonl says, through two CSV parsers."""

    def judge(_: BuildStats) -> CheckOutcome:
        records = read_jsonl(folder / JSONL_NAME)
        if not records:
            raise DatasetError(f"{JSONL_NAME}: no rows to judge")
        found = csv_differences(records, folder / CSV_NAME)
        figures = {
            "rows": len(records),
            "fields": sum(len(record) for record in records),
            "rows_needing_quotes": sum(_needs_quotes(record) for record in records),
        }
        return outcome_of("csv_mirrors_jsonl", found, figures, "fields that differ")

    return _judging("csv_mirrors_jsonl", judge, folder)


def _needs_quotes(record: Mapping[str, Any]) -> bool:
    return any(isinstance(value, str) and any(c in value for c in '",\n') for value in record.values())


def key_consistency(folder: Path) -> CheckOutcome:
    """No published item belongs to a duplicate group whose keys disagree, and every disagreement is named.

    Figures: agreement over all groups and over groups with at least two distinct PDFs, each with its 95 % Wilson
    interval. `rows_reprinted` counts the published items that these groups vouch for.
    """

    def judge(stats: BuildStats) -> CheckOutcome:
        rows = rows_from_jsonl(folder / JSONL_NAME)
        keys, conflicting = stats.keys, set(stats.keys.conflicting_ids)
        offenders = [f"{row.item_id} is published, its keys disagree" for row in rows if row.item_id in conflicting]
        disagreeing = keys.groups - keys.agreeing
        if not 0 <= keys.independent_groups - keys.independent_agreeing <= disagreeing:
            offenders.append(f"{keys} does not add up: independent groups are some of all groups")
        if len(conflicting) != disagreeing:
            offenders.append(f"{disagreeing} groups disagree, {len(conflicting)} are named")
        figures: dict[str, int | float | str] = {"rows": len(rows), "groups": keys.groups, "agreeing": keys.agreeing}
        figures |= {"independent_groups": keys.independent_groups, "independent_agreeing": keys.independent_agreeing}
        figures["rows_reprinted"] = sum(row.n_source_papers > 1 for row in rows)
        figures |= _agreement("", keys.agreeing, keys.groups)
        figures |= _agreement("independent_", keys.independent_agreeing, keys.independent_groups)
        return outcome_of("key_consistency", offenders, figures, "inconsistencies")

    return _judging("key_consistency", judge, folder)


def _agreement(prefix: str, agreeing: int, groups: int) -> dict[str, float]:
    if not groups or agreeing > groups:
        return {}
    interval = wilson(agreeing, groups)
    return {f"{prefix}rate": agreeing / groups, f"{prefix}low": interval.low, f"{prefix}high": interval.high}


def accounting_closes(folder: Path) -> CheckOutcome:
    """Every printed question is in one bucket and every index row accepted or rejected: the sums close.

    The sums are made again from build_stats.json and the published rows counted in benchmark.jsonl; sums that the
    accounting itself found open (per paper) block as well.
    """

    def judge(stats: BuildStats) -> CheckOutcome:
        published = len(read_jsonl(folder / JSONL_NAME))
        q, p = stats.questions, stats.papers
        buckets = q.published + q.folded + q.no_subject + sum(q.excluded.values())
        offenders = [excerpt(broken, 200) for broken in stats.broken_sums]
        if buckets != q.printed:
            offenders.append(f"{q.printed} questions printed, {buckets} in buckets")
        if q.published != published:
            offenders.append(f"{q.published} questions counted as published, {published} rows in {JSONL_NAME}")
        if p.accepted + sum(p.rejected.values()) != p.index_rows:
            offenders.append(
                f"{p.index_rows} index rows, {p.accepted} accepted and {sum(p.rejected.values())} rejected"
            )
        figures = {"printed": q.printed, "published": q.published, "folded": q.folded, "no_subject": q.no_subject}
        figures |= {"excluded": sum(q.excluded.values()), "index_rows": p.index_rows, "accepted": p.accepted}
        return outcome_of("accounting_closes", offenders, figures, "sums that do not close")

    return _judging("accounting_closes", judge, folder)


def rows_match_records(folder: Path, compare: CompareRows | None) -> CheckOutcome:
    """Every row says what the parse record of its paper and question says, and no publishable question is missing.

    Statistics over rows see none of the faults that this is for (a key shifted by one, a rotated option, a lost row).
    Without records to compare with it does not pass.
    """

    def judge(_: BuildStats) -> CheckOutcome:
        rows = _rows(folder)
        if compare is None:
            raise DatasetError("no parse records to compare with")
        found = compare(rows)
        return outcome_of("rows_match_records", found.offenders, found.figures, "differences from the parse records")

    return _judging("rows_match_records", judge, folder)


def run_check(name: str, folder: Path, fingerprint: Fingerprint, compare: CompareRows | None = None) -> CheckOutcome:
    """One blocking check by its name (terms.CHECKS); raises KeyError for another name."""
    if name == "rows_match_records":
        return rows_match_records(folder, compare)
    if name == "residual_duplicates":
        return residual_duplicates(folder, fingerprint)
    return _PLAIN[name](folder)


_PLAIN: dict[str, Callable[[Path], CheckOutcome]] = {
    "row_contract": row_contract,
    "answer_position": answer_position,
    "surviving_english": surviving_english,
    "merged_stems": merged_stems,
    "csv_mirrors_jsonl": csv_mirrors_jsonl,
    "key_consistency": key_consistency,
    "accounting_closes": accounting_closes,
}

BLOCKING_CHECKS: tuple[str, ...] = tuple(CHECKS)
"""Every check that must pass before a data set is published."""
