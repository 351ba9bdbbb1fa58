"""Every kind of damage is caught as the study says, sound data is left alone, and the study counts what happened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support import copies

from opentwbench.dataset.contract import ItemRow
from opentwbench.dataset.manifest import write_dataset
from opentwbench.dataset.model import DatasetError, StudyFigures
from opentwbench.dataset.publication import folder_bytes
from opentwbench.dataset.study import CERTAIN, CHANCE, committed_study, study_from_json, study_to_json
from opentwbench.dataset.validators import BLOCKING_CHECKS, RowComparison
from opentwbench.exam.defect_study import (
    Reprints,
    Study,
    alarm_table,
    check_table,
    damaged_folder,
    detection_table,
    judge_folder,
    judge_reading,
    passing_verdicts,
    publisher,
    rejected_by,
    share,
    to_json,
)
from opentwbench.exam.defects import (
    COUNTS,
    FILE_CHECKS,
    FILE_DEFECTS,
    FIRST_KEY,
    HEADERS,
    ITEM_DEFECTS,
    JUDGED_DEFECTS,
    KEY_READERS,
    PUBLISHER,
    QUESTION_READER,
    QUESTION_READERS,
    READING_DEFECTS,
    REPRINTS,
    ROW_DEFECTS,
    TEXT_RULES,
    Defect,
    Layer,
    Reading,
)
from opentwbench.exam.items import to_line
from opentwbench.exam.key_rows import RowReading
from opentwbench.exam.model import Declared, Exclusion, KeySheet, Question, QuestionPaper, RejectionReason
from opentwbench.exam.paper import join
from opentwbench.exam.release import Settled, dataset_of, settle
from opentwbench.exam.row_records import compare_rows
from opentwbench.exam.sitting import Hashes, RowRecord
from opentwbench.exam.subjects import REGISTRY

SLUG = "tw-roc-constitution-bench"
SEEDS = range(12)
COUNT = 40


def names(defects: Sequence[Defect[Any]]) -> list[str]:
    return [f"{defect.layer.value}-{defect.name}" for defect in defects]


# ---- readings -------------------------------------------------------------------------------------------------------


def sheet(cells: dict[int, str], remarks: dict[int, str], *, corrected: bool) -> KeySheet:
    return KeySheet("K.pdf", Declared(COUNT, None), cells, remarks, {}, "ordinal", corrected)


def reading(*, corrected: bool) -> Reading:
    """Forty questions; the corrected key voids two of them."""
    questions = tuple(
        Question(
            n,
            f"關於第{n}號解釋所稱之原則，下列敘述何者正確？",
            {letter: f"第{n}號解釋之{word}說認為應予維持" for letter, word in zip("ABCD", "甲乙丙丁", strict=True)},
            1,
        )
        for n in range(1, COUNT + 1)
    )
    letters = dict(enumerate(Random(3).choices("ABCD", k=COUNT), start=1))
    second = {q.q_no: {"stem": q.stem, **q.options} for q in questions}
    paper = QuestionPaper("Q.pdf", questions, {}, "private_use", 4, second=second)
    if not corrected:
        return Reading(paper, sheet(letters, {}, corrected=False), RowReading(letters, ""))
    cells = {**letters, 7: "#", 30: "#"}
    remarks = {7: "第7題一律給分", 30: "第30題一律給分"}
    rows = RowReading(cells, "第7題一律給分第30題一律給分")
    return Reading(paper, sheet(cells, remarks, corrected=True), rows, sheet(letters, {}, corrected=False))


def read_once(of: Reading) -> Reading:
    """The reading without the second question reader's."""
    return replace(of, paper=replace(of.paper, second=None))


def record_of(sound: Reading, year: int = 110) -> RowRecord:
    record = join(sound.paper, sound.sheet, sound.first)
    return RowRecord(copies.row(year), Hashes(f"q{year}", f"k{year}", ""), record)


@pytest.mark.parametrize("corrected", [True, False])
def test_a_sound_reading_is_stopped_by_nothing(corrected: bool) -> None:
    sound = reading(corrected=corrected)
    assert judge_reading(sound, record_of(sound), Reprints([record_of(sound)])) is None


@pytest.mark.parametrize("defect", READING_DEFECTS, ids=names(READING_DEFECTS))
def test_damage_to_readings_is_caught_as_declared(defect: Defect[Reading]) -> None:
    trials = []
    corrected = reading(corrected=True)
    for sound in (corrected, replace(corrected, first=None), reading(corrected=False)):
        of = record_of(sound)
        for seed in SEEDS:
            damaged = defect.plant(sound, Random(seed))
            if damaged is not None:
                assert damaged != sound
                trials.append(judge_reading(damaged, of, Reprints([of])))
    judged = [caught for caught in trials if caught is not None]
    assert len(judged) >= len(SEEDS) // 2
    if defect.certain:
        assert all(not caught.isdisjoint(defect.meant) for caught in judged)


@pytest.mark.parametrize("corrected", [True, False])
def test_a_fault_that_nothing_contradicts_gets_through_and_is_counted(corrected: bool) -> None:
    sound = read_once(reading(corrected=corrected))
    rotated = next(d for d in READING_DEFECTS if d.name == "options_rotated").plant(sound, Random(1))
    assert rotated is not None
    assert judge_reading(rotated, record_of(sound), Reprints([record_of(sound)])) == frozenset()


def test_a_reprint_in_another_pdf_contradicts_a_rotated_option() -> None:
    sound = read_once(reading(corrected=False))
    of, reprint = record_of(sound), record_of(sound, 105)
    rotated = next(d for d in READING_DEFECTS if d.name == "options_rotated").plant(sound, Random(1))
    assert rotated is not None
    assert judge_reading(rotated, of, Reprints([of, reprint])) == {REPRINTS}
    same_bytes = replace(reprint, hashes=of.hashes)
    assert judge_reading(rotated, of, Reprints([of, same_bytes])) == frozenset()


def test_damage_to_what_is_excluded_anyway_is_no_trial() -> None:
    sound = reading(corrected=True)
    voided = sound.paper.questions[6]
    options = {**voided.options, "A": "另一說"}
    questions = (*sound.paper.questions[:6], replace(voided, options=options), *sound.paper.questions[7:])
    damaged = replace(sound, paper=replace(sound.paper, questions=questions))
    assert judge_reading(damaged, record_of(sound), Reprints([record_of(sound)])) is None


def test_the_check_that_refused_a_file_is_named() -> None:
    refused = copies.rejected(RejectionReason.COUNT_MISMATCH)
    assert rejected_by(refused) == COUNTS
    assert rejected_by(replace(refused, reason=RejectionReason.PAIR_MISMATCH)) == HEADERS
    assert rejected_by(replace(refused, reason=RejectionReason.READERS_DISAGREE)) == FIRST_KEY
    assert rejected_by(replace(refused, reason=RejectionReason.READERS_DISAGREE, detail="key: 1 diff")) == KEY_READERS
    assert rejected_by(replace(refused, reason=RejectionReason.KEY_INCOMPLETE)) == KEY_READERS
    assert rejected_by(replace(refused, reason=RejectionReason.NOT_A_PDF)) == QUESTION_READER
    assert rejected_by(replace(refused, detail="question paper: two options")) == QUESTION_READER


# ---- items, rows, files ---------------------------------------------------------------------------------------------


def records() -> list[RowRecord]:
    """Two sittings with reprints, exclusions and thirty published questions."""
    sound = record_of(reading(corrected=True), 110)
    items = list(sound.record.items)
    items[2] = replace(items[2], exclusions=(Exclusion.FIGURE,))
    first = replace(sound, record=replace(sound.record, items=tuple(items)))
    again = tuple(replace(item, q_no=n) for n, item in enumerate(items[10:14], start=1))
    second = RowRecord(copies.row(112), Hashes("q112", "k112", ""), copies.accepted(*again))
    return [first, second]


class Sound:
    """A sound data set on disk."""

    def __init__(self, folder: Path) -> None:
        self.records = records()
        self.settled: Settled = settle(SLUG, self.records)
        self.dataset = self.dataset_of(self.settled.items)
        self.folder = write_dataset(self.dataset, folder / "sound").folder

    def dataset_of(self, items: Sequence[Any]) -> Any:
        return dataset_of(REGISTRY[SLUG], [to_line(item) for item in items], self.settled.record(0), {})

    def compare(self, rows: Sequence[ItemRow]) -> RowComparison:
        return compare_rows(REGISTRY[SLUG], rows, self.records, self.settled.items)


@pytest.fixture
def sound(tmp_path: Path) -> Sound:
    return Sound(tmp_path)


def test_sound_files_are_stopped_by_nothing(sound: Sound) -> None:
    assert judge_folder(sound.folder, sound.compare) == frozenset()
    assert publisher(sound.folder, passing_verdicts(sound.folder)) == set()


def assert_caught(defect: Defect[Any], trials: list[frozenset[str]]) -> None:
    """Every check that is there for the kind fires in every trial: these checks all run."""
    assert len(trials) >= 3
    for caught in trials:
        assert caught >= set(defect.meant), caught


@pytest.mark.parametrize("defect", ITEM_DEFECTS, ids=names(ITEM_DEFECTS))
def test_damage_to_stored_items_is_caught(defect: Defect[Any], sound: Sound, tmp_path: Path) -> None:
    trials = []
    for seed in range(3):
        items = defect.plant(list(sound.settled.items), Random(seed))
        folder = write_dataset(sound.dataset_of(items), tmp_path / f"damaged-{seed}").folder
        compare = lambda rows, items=items: compare_rows(REGISTRY[SLUG], rows, sound.records, items)  # noqa: E731
        trials.append(judge_folder(folder, compare))
    assert_caught(defect, trials)


@pytest.mark.parametrize("defect", ROW_DEFECTS, ids=names(ROW_DEFECTS))
def test_damage_to_rows_is_caught(defect: Defect[Any], sound: Sound, tmp_path: Path) -> None:
    trials = []
    for seed in range(3):
        rows = defect.plant(list(sound.dataset.rows), Random(seed))
        assert rows is not None, f"{defect.name} changes nothing in the sound rows"
        folder = write_dataset(replace(sound.dataset, rows=tuple(rows)), tmp_path / f"damaged-{seed}").folder
        trials.append(judge_folder(folder, sound.compare))
    assert_caught(defect, trials)


@pytest.mark.parametrize("defect", FILE_DEFECTS, ids=names(FILE_DEFECTS))
def test_damage_to_files_is_caught(defect: Defect[Any], sound: Sound) -> None:
    trials = []
    for seed in range(3):
        files = defect.plant(folder_bytes(sound.folder), Random(seed))
        trials.append(judge_folder(damaged_folder(sound.folder, files), sound.compare))
    assert_caught(defect, trials)


@pytest.mark.parametrize("defect", JUDGED_DEFECTS, ids=names(JUDGED_DEFECTS))
def test_damage_behind_the_checks_is_refused_by_the_publisher(defect: Defect[Any], sound: Sound) -> None:
    verdicts = passing_verdicts(sound.folder)
    trials = []
    for seed in range(20):
        files = defect.plant(folder_bytes(sound.folder), Random(seed))
        trials.append(frozenset(publisher(damaged_folder(sound.folder, files), verdicts)))
    assert_caught(defect, trials)


def test_every_blocking_check_has_a_kind_that_it_is_there_for() -> None:
    meant = {check for defect in (*ITEM_DEFECTS, *ROW_DEFECTS, *FILE_DEFECTS) for check in defect.meant}
    assert meant == {*BLOCKING_CHECKS, PUBLISHER}


def test_kinds_have_one_name_a_layer() -> None:
    everything = names((*READING_DEFECTS, *ITEM_DEFECTS, *ROW_DEFECTS, *FILE_DEFECTS, *JUDGED_DEFECTS))
    assert len(set(everything)) == len(everything)


# ---- counting -------------------------------------------------------------------------------------------------------


@pytest.fixture
def study() -> Study:
    """Twenty trials of a certain kind with one miss, ten of another kind, forty sound sets with one alarm."""
    counted = Study()
    for n in range(20):
        caught = frozenset({"row_contract", PUBLISHER}) if n else frozenset()
        counted.trial("planted", Layer.ROWS, ("row_contract",), caught)
    for n in range(10):
        counted.trial("unseen", Layer.QUESTION_READER, (), frozenset({TEXT_RULES}) if n < 3 else frozenset())
    for n in range(40):
        counted.sound(BLOCKING_CHECKS, frozenset({"row_contract"}) if n == 5 else frozenset())
    return counted


def test_trials_are_counted_by_kind_and_check(study: Study) -> None:
    unseen, planted = study.kinds()
    assert (planted.trials, planted.caught, planted.by) == (20, 19, {"row_contract": 19, PUBLISHER: 19})
    assert (unseen.trials, unseen.caught, unseen.certain) == (10, 3, False)
    assert study.uncaught() == [planted]


def test_the_summary_speaks_of_checks_and_of_the_whole_track(study: Study) -> None:
    found = study.summary()
    assert found["row_contract"] == StudyFigures(20, 19, 40, 1)
    assert found["merged_stems"] == StudyFigures(0, 0, 40, 0)
    assert found[CERTAIN] == StudyFigures(20, 19, 40, 1)
    assert found[CHANCE] == StudyFigures(10, 3, 40, 1)
    stored = to_json(study, ["sample: 3 index rows"])
    assert study_from_json(stored["figures"]) == found
    assert stored["kinds"] == 2


def test_tables_hold_counts_with_their_intervals(study: Study) -> None:
    (row,) = detection_table(study, Layer.ROWS)[2:]
    assert row.startswith("| planted | 20 | 95.0% (76.3%–99.2%) | ")
    assert "`publisher` 95%" in row and row.endswith("| yes |")
    assert "| `row_contract` | 40 | 1 | 2.5% (0.4%–12.9%) |" in alarm_table(study)
    assert len(check_table()) == 2 + len(FILE_CHECKS) + len(BLOCKING_CHECKS)
    assert share(0, 0) == "-"
    assert share(8_999, 9_000) == "99.9% (99.9%–100.0%)"


# ---- the committed summary ------------------------------------------------------------------------------------------


def test_the_committed_study_caught_everything_that_must_be_caught() -> None:
    found = committed_study()
    assert set(found) == {*BLOCKING_CHECKS, CERTAIN, CHANCE}
    assert found[CERTAIN].planted == found[CERTAIN].caught > 10_000
    for check in BLOCKING_CHECKS:
        assert found[check].planted > 0, f"{check}: run the study again"
        assert found[check].native >= 100


@pytest.mark.parametrize(
    "damage",
    [
        {"no_such_check": {"planted": 1, "caught": 1, "native": 1, "false_alarms": 0}},
        {"row_contract": {"planted": 1, "caught": 1, "native": 1}},
        {"row_contract": {"planted": 1, "caught": 2, "native": 1, "false_alarms": 0}},
        {"row_contract": {"planted": 1, "caught": 1, "native": 1, "false_alarms": 2}},
        {"row_contract": {"planted": "1", "caught": 1, "native": 1, "false_alarms": 0}},
        {"row_contract": {"planted": True, "caught": 1, "native": 1, "false_alarms": 0}},
        {"row_contract": [1, 1, 1, 0]},
    ],
)
def test_a_summary_that_cannot_be_true_is_refused(damage: dict[str, Any]) -> None:
    with pytest.raises(DatasetError, match=r"defect_study\.json"):
        study_from_json(damage)


def test_a_summary_round_trips() -> None:
    figures = {"row_contract": StudyFigures(5, 4, 3, 2)}
    assert study_from_json(study_to_json(figures)) == figures


def test_the_second_question_reader_sees_what_text_rules_cannot() -> None:
    """A rotated option is caught by the comparison of the two readings."""
    sound = reading(corrected=False)
    of = record_of(sound)
    rotated = next(d for d in READING_DEFECTS if d.name == "options_rotated").plant(sound, Random(1))
    assert rotated is not None
    assert judge_reading(rotated, of, Reprints([of])) == {QUESTION_READERS}
