"""The trials of the planted-defect study over one mirror: papers are read once, then damaged at every layer.

What belongs here: which files, stores and typeset papers the trials run on. What does not: kinds of damage and judging
(`opentwbench.exam.defects`, `defect_study`), damage to a printed page (`samples.defects`).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import pymupdf

from opentwbench.dataset.contract import ItemRow
from opentwbench.dataset.manifest import write_dataset
from opentwbench.dataset.model import Dataset
from opentwbench.dataset.publication import folder_bytes
from opentwbench.dataset.validators import BLOCKING_CHECKS, CompareRows, RowComparison, run_check
from opentwbench.exam.defect_study import (
    CROSS_CHECKS,
    Reprints,
    Study,
    damaged_folder,
    judge_folder,
    judge_reading,
    judge_record,
    passing_verdicts,
    publisher,
    read_pair,
    rejected_by,
)
from opentwbench.exam.defects import (
    FILE_DEFECTS,
    ITEM_DEFECTS,
    JUDGED_DEFECTS,
    KEY_READERS,
    MATCH,
    PUBLISHER,
    QUESTION_READER,
    READING_DEFECTS,
    ROW_DEFECTS,
    TEXT_RULES,
    WRONG_KEY,
    Defect,
    Layer,
    Reading,
)
from opentwbench.exam.fingerprint import loose
from opentwbench.exam.index import first_key_url, read_index
from opentwbench.exam.items import NO_SUBJECT, PrintedItem, to_line
from opentwbench.exam.mirror import Mirror
from opentwbench.exam.model import IndexRow, PaperRecord
from opentwbench.exam.paper import SECONDS_A_PAPER, Pair, parse_pairs, parse_paper
from opentwbench.exam.release import Settled, by_scope, dataset_of, settle
from opentwbench.exam.row_records import compare_rows
from opentwbench.exam.sitting import Hashes, RowRecord
from opentwbench.exam.subjects import REGISTRY
from opentwbench.exam.workers import Lost, run_isolated
from resources import exam_products as products
from resources.progress import Progress
from resources.store import Store
from samples import defects as printed
from samples.key import typeset_key
from samples.paper import typeset_paper
from samples.sittings import Paper, papers
from samples.spec import KeySpec, PaperSpec


@dataclass(frozen=True, slots=True)
class Plan:
    """How many trials: `a_paper` of each kind on each paper's readings, `a_set` on each data set."""

    seed: int
    a_paper: int = 2
    a_set: int = 2
    files: int = 60
    """Papers whose files are damaged as files; each costs a parse."""
    processes: int = 1


# ---- papers of a mirror ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Read:
    """One pair of a mirror, read and parsed: `of` is the record of the first index row that serves it."""

    pair: Pair
    of: RowRecord
    reading: Reading | None


def read_mirror(folder: Path, plan: Plan, progress: Progress) -> tuple[list[RowRecord], list[Read]]:
    """Every keyed index row with its record, and every distinct pair with what its readers saw.

    Raises MirrorError or IndexFormatError for a folder that is no mirror.
    """
    mirror = Mirror(folder)
    index = read_index(mirror.index_path().read_bytes(), "index.csv")
    pairs = {row: pair for row in index.keyed() if (pair := _pair(row, mirror)) is not None}
    distinct = list(dict.fromkeys(pairs.values()))
    outcome: dict[Pair, tuple[Reading | None, PaperRecord]] = {}
    found = run_isolated(read_pair, distinct, _lost, processes=plan.processes, seconds=3 * SECONDS_A_PAPER)
    for pair, result in zip(distinct, found, strict=True):
        outcome[pair] = result
        progress.step("papers read", len(outcome), len(distinct))
    hashes = {pair: Hashes(*map(_sha256, pair)) for pair in distinct}
    records = [RowRecord(row, hashes[pair], outcome[pair][1]) for row, pair in pairs.items()]
    first: dict[Pair, RowRecord] = {}
    for pair, record in zip(pairs.values(), records, strict=True):
        first.setdefault(pair, record)
    return records, [Read(pair, first[pair], outcome[pair][0]) for pair in distinct]


def _pair(row: IndexRow, mirror: Mirror) -> Pair | None:
    question, key = mirror.path_of(row.question_url), mirror.path_of(row.key_url)
    if question is None or key is None:
        return None
    url = first_key_url(row)
    first = mirror.path_of(url) if url else None
    return (question, key, first if first and first.is_file() else None)


def _lost(pair: Pair, why: Lost) -> tuple[Reading | None, PaperRecord]:
    return None, next(parse_pairs([pair]))


def _sha256(path: Path | None) -> str:
    return sha256(path.read_bytes()).hexdigest() if path else ""


# ---- readings -------------------------------------------------------------------------------------------------------


def refused_samples() -> frozenset[str]:
    """Paper ids of the sample papers that are printed wrong on purpose: no sound papers."""
    return frozenset(_id(paper) for paper in papers() if paper.extra_cell)


def _id(paper: Paper) -> str:
    return f"{paper.sitting.code}-{paper.category_code}-{paper.subject_code}"


def plant_in_readings(
    study: Study,
    records: Sequence[RowRecord],
    read: Sequence[Read],
    plan: Plan,
    unsound: frozenset[str] = frozenset(),
) -> None:
    """Every kind of damage to what the readers saw, on every accepted pair; and every pair as it is.

    Every pair of a mirror is taken for sound but those whose paper is `unsound`: a refusal is a false alarm.
    """
    reprints = Reprints(records)
    accepted = [(each.of, each.reading) for each in read if each.reading is not None]
    for each in (each for each in read if each.of.row.paper_id not in unsound):
        fired = frozenset() if each.reading else frozenset({rejected_by(each.of.record)})
        study.sound(CROSS_CHECKS, fired)
    for defect in READING_DEFECTS:
        for of, reading in accepted:
            for n in range(plan.a_paper):
                damaged = defect.plant(reading, _chance(plan, defect, f"{of.row.paper_id} {n}"))
                if damaged is not None:
                    _count(study, defect, judge_reading(damaged, of, reprints))
    for of, reading in accepted:
        for n in range(plan.a_paper):
            other = _other_key(reading, accepted, _chance(plan, WRONG_KEY, f"{of.row.paper_id} {n}"))
            if other is not None:
                _count(study, WRONG_KEY, judge_reading(other, of, reprints))


def _other_key(reading: Reading, accepted: Sequence[tuple[RowRecord, Reading]], chance: Random) -> Reading | None:
    """The reading with another pair's key of as many cells; counts alone would see any other."""
    alike = [
        other
        for _, other in accepted
        if len(other.sheet.cells) == len(reading.sheet.cells) and other.sheet.cells != reading.sheet.cells
    ]
    if not alike:
        return None
    other = chance.choice(alike)
    return replace(reading, sheet=other.sheet, rows=other.rows, first=other.first)


def _chance(plan: Plan, defect: Defect[Any], trial: str) -> Random:
    """A source of chance for one trial alone, so that another kind or paper changes no other trial."""
    return Random(f"{plan.seed} {defect.layer} {defect.name} {trial}")


def _count(study: Study, defect: Defect[Any], caught_by: frozenset[str] | None) -> None:
    """None is damage that changes nothing that would be published: no trial."""
    if caught_by is not None:
        study.trial(defect.name, defect.layer, defect.meant, caught_by)


# ---- files of papers ------------------------------------------------------------------------------------------------


def plant_in_files(study: Study, records: Sequence[RowRecord], read: Sequence[Read], folder: Path, plan: Plan) -> None:
    """Whole files damaged: cut in half, an error page in their place, the last page lost."""
    reprints = Reprints(records)
    accepted = [each for each in read if each.reading is not None]
    chosen = Random(plan.seed).sample(accepted, min(plan.files, len(accepted)))
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "damaged.pdf"
    for name, damage in _FILE_DAMAGE.items():
        for each in chosen:
            question, key, first = each.pair if len(each.pair) == 3 else (*each.pair, None)
            data = damage(question)
            if data is None:
                continue
            target.write_bytes(data)
            record = parse_paper(target, key, first)
            caught = _judge_record(record, each.of, reprints)
            if caught is not None:
                study.trial(name, Layer.PDF, (QUESTION_READER,), caught)


def _half(path: Path) -> bytes:
    data = path.read_bytes()
    return data[: len(data) // 2]


def _error_page(path: Path) -> bytes:
    return b"\xef\xbb\xbf<!DOCTYPE html><html><body>" + path.name.encode() + b"</body></html>"


def _without_last_page(path: Path) -> bytes | None:
    with pymupdf.open(path) as document:
        if document.page_count < 2:
            return None
        document.delete_page(document.page_count - 1)
        data: bytes = document.tobytes()
        return data


_FILE_DAMAGE: Mapping[str, Callable[[Path], bytes | None]] = {
    "file_cut_in_half": _half,
    "error_page_for_paper": _error_page,
    "last_page_lost": _without_last_page,
}


def _judge_record(record: PaperRecord, of: RowRecord, reprints: Reprints) -> frozenset[str] | None:
    return judge_record(record, of, reprints) if record.accepted else frozenset({rejected_by(record)})


# ---- printed pages --------------------------------------------------------------------------------------------------

KeyDamage = Callable[[KeySpec, int], KeySpec]
PageDamage = Callable[[PaperSpec, int], PaperSpec]

_SURE = (QUESTION_READER, KEY_READERS, TEXT_RULES)
_KEY_LOSES: Mapping[str, KeyDamage] = {
    "cell_not_printed": printed.drop_cell,
    "cell_lost_rest_moves_up": printed.close_up,
}
_KEY_CHANGES: Mapping[str, KeyDamage] = {
    "key_shifted_by_one": lambda spec, n: printed.shift_key(spec),
    "key_rows_swapped": lambda spec, n: printed.swap_rows(spec, 0, 1),
    "key_letter_changed": lambda spec, n: printed.set_cell(spec, n, "ABCD"["BCDA".index(_letter(spec, n))]),
}
_PAGE_LOSES: Mapping[str, PageDamage] = {
    "questions_merged": printed.merge_questions,
    "question_not_printed": printed.drop_question,
    "number_skipped": printed.skip_number,
    "option_not_printed": printed.drop_option,
}


def _letter(spec: KeySpec, n: int) -> str:
    if spec.cells[n] not in tuple("ABCD"):
        raise ValueError(f"the cell of {n} is no single letter")
    return spec.cells[n]


@dataclass(frozen=True, slots=True)
class _Printed:
    """One sample paper to print damaged: its specifications and its sound record."""

    paper: PaperSpec
    key: KeySpec
    first: KeySpec | None
    of: RowRecord


def plant_in_print(study: Study, records: Sequence[RowRecord], folder: Path, plan: Plan, progress: Progress) -> None:
    """Every kind of damage to the printed page of every sample paper that is accepted as it is.

    What the only print of a key says wrong is what the ministry says; only a reprint could contradict it.
    """
    reprints = Reprints(records)
    folder.mkdir(parents=True, exist_ok=True)
    sound = list(_sound_prints(records))
    for done, each in enumerate(sound, start=1):
        for name, meant, spec in _damaged_prints(each, Random(f"{plan.seed} {each.of.row.paper_id}"), plan):
            record = _parse(spec, folder)
            caught = _judge_record(record, each.of, reprints)
            if caught is not None:
                study.trial(name, Layer.PDF, meant, caught)
        progress.step("papers printed damaged", done, len(sound))


def _sound_prints(records: Sequence[RowRecord]) -> Iterator[_Printed]:
    by_paper = {each.row.paper_id: each for each in records if each.record.accepted}
    for paper in papers():
        of = by_paper.get(_id(paper))
        if of is not None:
            yield _of_paper(paper, of)


def _of_paper(paper: Paper, of: RowRecord) -> _Printed:
    corrected = paper.corrected_key()
    first = paper.first_key()
    return _Printed(paper.paper_spec(), corrected or first, first if corrected else None, of)


def _damaged_prints(each: _Printed, chance: Random, plan: Plan) -> Iterator[tuple[str, tuple[str, ...], _Printed]]:
    numbers = range(1, len(each.paper.questions))
    picked = [chance.choice(numbers) for _ in range(plan.a_paper)]
    suffix = "_in_corrected_key_alone" if each.first else "_in_the_only_key"
    for n in picked:
        kinds: list[tuple[str, tuple[str, ...], Callable[[], _Printed]]] = [
            *(
                (name, _SURE, lambda damage=damage, n=n: replace(each, key=damage(each.key, n)))
                for name, damage in _KEY_LOSES.items()
            ),
            *(
                (
                    name + suffix,
                    _SURE if each.first else (),
                    lambda damage=damage, n=n: replace(each, key=damage(each.key, n)),
                )
                for name, damage in _KEY_CHANGES.items()
            ),
            *(
                (name, _SURE, lambda damage=damage, n=n: replace(each, paper=damage(each.paper, n)))
                for name, damage in _PAGE_LOSES.items()
            ),
            ("options_printed_rotated", (), lambda n=n: replace(each, paper=printed.rotate_options(each.paper, n))),
        ]
        for name, meant, plant in kinds:
            try:
                yield name, meant, plant()
            except ValueError:
                continue  # the typesetter says that it would change nothing


def _parse(spec: _Printed, folder: Path) -> PaperRecord:
    files = {"Q.pdf": typeset_paper(spec.paper), "K.pdf": typeset_key(spec.key)}
    if spec.first:
        files["S.pdf"] = typeset_key(spec.first)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return parse_paper(folder / "Q.pdf", folder / "K.pdf", folder / "S.pdf" if spec.first else None)


# ---- items, rows and files of data sets -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Set:
    """One sound data set on disk with all that it was made from."""

    records: Sequence[RowRecord]
    settled: Settled
    dataset: Dataset
    folder: Path

    def compare(self, items: Sequence[PrintedItem] | None = None) -> CompareRows:
        """How its rows are compared with its records; `items` stand for the stored ones when those are damaged."""
        subject, stored = REGISTRY[self.settled.scope], self.settled.items if items is None else items

        def compare(rows: Sequence[ItemRow]) -> RowComparison:
            return compare_rows(subject, rows, self.records, stored)

        return compare


def plant_in_sets(study: Study, records: Sequence[RowRecord], folder: Path, plan: Plan, progress: Progress) -> None:
    """Every kind of damage to stored items, rows and files, on every data set; and every set as it is.

    Data sets are those of every subject, and of every subject's single years: more sets, smaller ones. Those of single
    index rows are judged as they are too: the rate of false alarms needs hundreds of sets.
    """
    scopes = {slug: rows for slug, rows in by_scope(records).items() if slug != NO_SUBJECT}
    for done, (slug, rows) in enumerate(sorted(scopes.items()), start=1):
        parts = {str(year): [r for r in rows if r.row.year_roc == year] for year in {r.row.year_roc for r in rows}}
        for part, own in {"all": rows, **dict(sorted(parts.items()))}.items():
            written = _write(slug, own, folder / part)
            if _judge_sound(study, written):
                for n in range(plan.a_set):
                    _plant_in_set(study, written, plan, f"{slug} {part} {n}")
        for row in rows:
            _judge_sound(study, _write(slug, [row], folder / row.row.paper_id))
        progress.step("data sets damaged", done, len(scopes))


def _write(slug: str, records: Sequence[RowRecord], folder: Path) -> _Set:
    settled = settle(slug, records)
    dataset = dataset_of(REGISTRY[slug], settled.lines().splitlines(), settled.record(0), {})
    write_dataset(dataset, folder / slug)
    return _Set(records, settled, dataset, folder / slug)


def _judge_sound(study: Study, of: _Set) -> bool:
    """Count a sound set; False when it holds no row or is stopped as it is, so that nothing can be planted in it.

    A set without a row is no sound set: every check of rows refuses it, as it must.
    """
    if not of.dataset.rows:
        return False
    fired = judge_folder(of.folder, of.compare())
    study.sound((*BLOCKING_CHECKS, PUBLISHER), fired)
    return not fired


def _plant_in_set(study: Study, of: _Set, plan: Plan, trial: str) -> None:
    for items_defect in ITEM_DEFECTS:
        items = items_defect.plant(list(of.settled.items), _chance(plan, items_defect, trial))
        if items is not None:
            dataset = dataset_of(
                REGISTRY[of.settled.scope], [to_line(item) for item in items], of.settled.record(0), {}
            )
            _count(study, items_defect, _judge_dataset(of, dataset, items))
    for rows_defect in ROW_DEFECTS:
        rows = rows_defect.plant(list(of.dataset.rows), _chance(plan, rows_defect, trial))
        if rows is not None:
            _count(study, rows_defect, _judge_dataset(of, replace(of.dataset, rows=tuple(rows)), None))
    sound, verdicts = folder_bytes(of.folder), passing_verdicts(of.folder)
    for file_defect in (*FILE_DEFECTS, *JUDGED_DEFECTS):
        files = file_defect.plant(sound, _chance(plan, file_defect, trial))
        if files is None:
            continue
        damaged = damaged_folder(of.folder, files)
        judged = file_defect.layer is Layer.JUDGED_FILES
        found = frozenset(publisher(damaged, verdicts)) if judged else judge_folder(damaged, of.compare())
        _count(study, file_defect, found)


def _judge_dataset(of: _Set, dataset: Dataset, items: Sequence[PrintedItem] | None) -> frozenset[str]:
    folder = of.folder.with_name(f"{of.folder.name}-rewritten")
    shutil.rmtree(folder, ignore_errors=True)  # a history of damage is no part of the trial
    write_dataset(dataset, folder)
    return judge_folder(folder, of.compare(items))


# ---- parse records in a store ---------------------------------------------------------------------------------------

_RECORD_DEFECTS: tuple[Defect[bytes], ...] = (
    Defect("key_letter_changed", Layer.PARSE_RECORDS, lambda data, chance: _rekey(data), (MATCH,)),
    Defect("record_lost", Layer.PARSE_RECORDS, lambda data, chance: _less(data), (MATCH,)),
)


def plant_in_store(study: Study, records: Sequence[RowRecord], folder: Path, plan: Plan) -> None:
    """Parse records changed in the store behind the parse stage, for every subject and year that has them."""
    store = Store(str(folder))
    years = sorted({each.row.year_roc for each in records})
    for year in years:
        products.write_year(store, year, [each for each in records if each.row.year_roc == year], "", ())
    for slug, rows in sorted(by_scope(records).items()):
        if slug == NO_SUBJECT:
            continue
        written = _write(slug, rows, folder / "sets")
        if not written.dataset.rows:
            continue
        products.write_items(store, written.settled, 0, "")
        for year in sorted({each.row.year_roc for each in rows if each.record.accepted}):
            _plant_in_year(study, store, slug, year, written.folder)


def _plant_in_year(study: Study, store: Store, slug: str, year: int, folder: Path) -> None:
    path = store.papers(year)
    sound = store.read(path)
    for defect in _RECORD_DEFECTS:
        damaged = defect.plant(sound, Random(0))
        if damaged is None:
            continue
        store.write(path, damaged)
        outcome = run_check(MATCH, folder, loose, products.comparison(store, slug))
        _count(study, defect, frozenset({MATCH} if outcome.blocks else ()))
        store.write(path, sound)


def _rekey(data: bytes) -> bytes | None:
    """The first published question of a year gets another key."""
    lines = data.splitlines()
    for n, line in enumerate(lines):
        value = json.loads(line)
        for item in value["record"]["items"]:
            if not item["exclusions"] and item["key"]:
                item["key"] = "ABCD"["BCDA".index(item["key"])]
                lines[n] = json.dumps(value, ensure_ascii=False, sort_keys=True).encode()
                return b"\n".join(lines) + b"\n"
    return None


def _less(data: bytes) -> bytes | None:
    """The first index row of a year is lost."""
    lines = data.splitlines()
    return b"".join(line + b"\n" for line in lines[1:]) if lines else None
