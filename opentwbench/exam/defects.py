"""Known kinds of damage, each planted at a named layer of the track: what a fault of ours would leave behind.

What belongs here: pure functions from sound data and a source of chance to damaged data, and the list of them.
What does not: judging damage and counting (`defect_study`), damage to a printed page (the project's typesetter).
A plant returns None where it would change nothing (no # on the sheet, four questions to swap rows of): the study counts
that as not applicable, never as caught. Source of the kinds: the methodology page ("Defects we found in ourselves"),
hazards 4, 6, 12, and the faults of published data sets elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random
from typing import Any, Generic, TypeVar

from opentwbench.dataset.contract import OPTION_COLUMNS, ItemRow
from opentwbench.dataset.files import CSV_NAME, JSONL_NAME, csv_bytes, jsonl_bytes
from opentwbench.dataset.manifest import STATS_NAME, json_bytes
from opentwbench.exam.items import FOLDED, PUBLISHED, PrintedItem
from opentwbench.exam.key_rows import RowReading
from opentwbench.exam.model import FOUR, KeySheet, Question, QuestionPaper


class Layer(StrEnum):
    """Where damage is planted, in the order in which data passes."""

    PDF = "pdf"
    PAIRING = "pairing"
    ONE_KEY_READER = "one_key_reader"
    BOTH_KEY_READERS = "both_key_readers"
    BOTH_WITH_FIRST_KEY = "both_key_readers_first_key_at_hand"
    QUESTION_READER = "question_reader"
    PARSE_RECORDS = "parse_records"
    STORED_ITEMS = "stored_items"
    ROWS = "rows"
    WRITTEN_FILES = "written_files"
    JUDGED_FILES = "judged_files"


Sound = TypeVar("Sound")


@dataclass(frozen=True, slots=True)
class Defect(Generic[Sound]):
    """One kind of damage at one layer."""

    name: str
    layer: Layer
    plant: Callable[[Sound, Random], Sound | None]
    meant: tuple[str, ...] = ()
    """Checks that are there for this kind; () where none can be sure to see it. The cross-checks of a pair stop at the
    first that fires, so there one of them is enough; the checks of a data set all run, and each of them must fire."""

    @property
    def certain(self) -> bool:
        """True when something must catch every trial; False where only another print or a statistic could see it."""
        return bool(self.meant)


KEY_READERS = "key_readers"
QUESTION_READERS = "question_readers"
FIRST_KEY = "first_key"
HEADERS = "headers"
COUNTS = "counts"
READ_OPTIONS = "read_options"
QUESTION_READER = "question_reader"
TEXT_RULES = "text_rules"
REPRINTS = "reprints"
PUBLISHER = "publisher"
FILE_CHECKS: Mapping[str, str] = {
    QUESTION_READER: "the question reader refuses the file (numbering, markers, characters accounted for)",
    KEY_READERS: "two readers of the key, cell by cell and remark by remark",
    QUESTION_READERS: "two readers of the questions, stem and options letter by letter",
    HEADERS: "headers of paper and key, and the titles of first and corrected key",
    COUNTS: "questions read, cells read, counts printed, sections printed",
    FIRST_KEY: "the corrected key against the first one: only a # may differ",
    READ_OPTIONS: "the key may name only options that were read",
    TEXT_RULES: "the question is excluded by a rule over its text or by its ruling",
    REPRINTS: "the keys of a reprint in another PDF, by answer text",
    PUBLISHER: "the publisher: bytes against manifest and verdicts",
}
"""Checks beside the blocking ones of a data set (dataset.terms.CHECKS): what each compares."""


# ---- one pair as the readers saw it ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reading:
    """What every reader saw of one pair; `rows` and `first_rows` are the second key reader's."""

    paper: QuestionPaper
    sheet: KeySheet
    rows: RowReading
    first: KeySheet | None = None


Cells = Mapping[int, str]
CellPlant = Callable[[Cells, Random], dict[int, str] | None]


def _changed(before: Cells, after: Mapping[int, str]) -> dict[int, str] | None:
    return None if dict(after) == dict(before) else dict(after)


def shift_by_one(cells: Cells, chance: Random) -> dict[int, str] | None:
    """Every answer stands one question too late; the last one comes first."""
    numbers = sorted(cells)
    values = [cells[n] for n in numbers]
    return _changed(cells, dict(zip(numbers, values[-1:] + values[:-1], strict=True)))


def lose_first_cell(cells: Cells, chance: Random) -> dict[int, str] | None:
    """The first cell is lost and the rest moves up by one (hazard 6: the cell glued to its label)."""
    return _without(cells, min(cells))


def drop_mark(cells: Cells, chance: Random) -> dict[int, str] | None:
    """A # is taken for no cell and the rest moves up by one (hazard 12)."""
    marks = [n for n, cell in cells.items() if cell == "#"]
    return _without(cells, chance.choice(marks)) if marks else None


def _without(cells: Cells, lost: int) -> dict[int, str] | None:
    numbers = sorted(cells)
    return _changed(cells, dict(zip(numbers, [cells[n] for n in numbers if n != lost], strict=False)))


def lose_cell(cells: Cells, chance: Random) -> dict[int, str] | None:
    """One cell is not seen; the others keep their places."""
    lost = chance.choice(sorted(cells))
    return {n: cell for n, cell in cells.items() if n != lost}


def swap_rows(cells: Cells, chance: Random) -> dict[int, str] | None:
    """Two rows of ten change places."""
    rows = [range(start, start + 10) for start in range(1, max(cells), 10) if start + 9 <= max(cells)]
    if len(rows) < 2:
        return None
    first, second = chance.sample(rows, 2)
    after = dict(cells)
    for a, b in zip(first, second, strict=True):
        after[a], after[b] = cells[b], cells[a]
    return _changed(cells, after)


def change_letter(cells: Cells, chance: Random) -> dict[int, str] | None:
    """One answer is another letter."""
    single = [n for n, cell in cells.items() if len(cell) == 1 and cell in FOUR]
    if not single:
        return None
    n = chance.choice(single)
    return {**cells, n: chance.choice([letter for letter in FOUR if letter != cells[n]])}


def lose_mark(cells: Cells, chance: Random) -> dict[int, str] | None:
    """A # is read as a letter, so that a voided question keeps an answer."""
    marks = [n for n, cell in cells.items() if cell == "#"]
    return {**cells, chance.choice(marks): chance.choice(FOUR)} if marks else None


CELL_PLANTS: Mapping[str, CellPlant] = {
    "key_shifted_by_one": shift_by_one,
    "first_cell_lost": lose_first_cell,
    "mark_dropped_rest_moves_up": drop_mark,
    "cell_lost": lose_cell,
    "key_rows_swapped": swap_rows,
    "key_letter_changed": change_letter,
    "mark_read_as_letter": lose_mark,
}

_LOSES_A_CELL = frozenset({"first_cell_lost", "mark_dropped_rest_moves_up", "cell_lost"})


def _in_first_reader(plant: CellPlant) -> Callable[[Reading, Random], Reading | None]:
    def planted(reading: Reading, chance: Random) -> Reading | None:
        cells = plant(reading.sheet.cells, chance)
        return None if cells is None else replace(reading, sheet=replace(reading.sheet, cells=cells))

    return planted


def _in_second_reader(plant: CellPlant) -> Callable[[Reading, Random], Reading | None]:
    def planted(reading: Reading, chance: Random) -> Reading | None:
        cells = plant(reading.rows.cells, chance)
        return None if cells is None else replace(reading, rows=replace(reading.rows, cells=cells))

    return planted


def _in_both_readers(plant: CellPlant, *, first_key: bool) -> Callable[[Reading, Random], Reading | None]:
    """The same fault in both readers, on sheets with (or without) a first key that is sound."""

    def planted(reading: Reading, chance: Random) -> Reading | None:
        if (reading.first is not None) != first_key:
            return None
        cells = plant(reading.sheet.cells, chance)
        if cells is None:
            return None
        sheet, rows = replace(reading.sheet, cells=cells), replace(reading.rows, cells=cells)
        return replace(reading, sheet=sheet, rows=rows)

    return planted


def lose_remarks(reading: Reading, chance: Random) -> Reading | None:
    """The first reader does not see the remarks."""
    return replace(reading, sheet=replace(reading.sheet, remarks={})) if reading.sheet.remarks else None


def move_remark(reading: Reading, chance: Random) -> Reading | None:
    """The second reader reads a remark for another question."""
    digits = next((char for char in reading.rows.remark if char.isdigit()), "")
    if not digits:
        return None
    other = str((int(digits) + 1) % 10)
    return replace(reading, rows=replace(reading.rows, remark=reading.rows.remark.replace(digits, other, 1)))


def first_key_for_corrected(reading: Reading, chance: Random) -> Reading | None:
    """The first key is taken for the corrected one."""
    if reading.first is None:
        return None
    rows = RowReading(reading.first.cells, "".join(reading.first.remarks.values()))
    return replace(reading, sheet=reading.first, rows=rows)


def corrected_for_first_key(reading: Reading, chance: Random) -> Reading | None:
    """The corrected key is taken for the first one as well."""
    return None if reading.first is None else replace(reading, first=reading.sheet)


def _cell_defects() -> list[Defect[Reading]]:
    found = []
    for name, plant in CELL_PLANTS.items():
        certain = (COUNTS,) if name in _LOSES_A_CELL else ()
        found += [
            Defect(name, Layer.ONE_KEY_READER, _in_first_reader(plant), (KEY_READERS,)),
            Defect(f"{name}_by_the_second", Layer.ONE_KEY_READER, _in_second_reader(plant), (KEY_READERS,)),
        ]
        if name == "mark_read_as_letter":
            # In both readers it publishes nothing: the remark of a cell without # excludes its question.
            continue
        sure = certain or (FIRST_KEY, COUNTS)
        found += [
            Defect(name, Layer.BOTH_KEY_READERS, _in_both_readers(plant, first_key=False), certain),
            Defect(name, Layer.BOTH_WITH_FIRST_KEY, _in_both_readers(plant, first_key=True), sure),
        ]
    return found


# ---- the question reader's output -----------------------------------------------------------------------------------


def _edit(reading: Reading, index: int, *questions: Question, used: int = 1) -> Reading:
    """The reading with `used` questions from `index` on replaced, numbers closed up."""
    before = reading.paper.questions
    after = (*before[:index], *questions, *before[index + used :])
    numbered = tuple(replace(question, q_no=n) for n, question in enumerate(after, start=1))
    return replace(reading, paper=replace(reading.paper, questions=numbered))


def _sound_index(reading: Reading, chance: Random, following: int = 0) -> int | None:
    """A question of four texts that no finding keeps from publication, with `following` questions behind it."""
    good = [
        n
        for n, question in enumerate(reading.paper.questions[: len(reading.paper.questions) - following])
        if not question.findings and "".join(question.options) == FOUR and all(question.options.values())
    ]
    return chance.choice(good) if good else None


def merge_questions(reading: Reading, chance: Random) -> Reading | None:
    """A question swallows the next one: its number is lost, its words stay in the last option."""
    index = _sound_index(reading, chance, following=1)
    if index is None:
        return None
    this, after = reading.paper.questions[index : index + 2]
    options = {**this.options, "D": this.options["D"] + after.stem + "".join(after.options.values())}
    return _edit(reading, index, replace(this, options=options), used=2)


def lose_question(reading: Reading, chance: Random) -> Reading | None:
    """One question is not seen and the numbers close up."""
    index = _sound_index(reading, chance)
    return None if index is None else _edit(reading, index)


def _options_plant(
    change: Callable[[dict[str, str], Random], dict[str, str] | None],
) -> Callable[[Reading, Random], Reading | None]:
    def planted(reading: Reading, chance: Random) -> Reading | None:
        index = _sound_index(reading, chance)
        if index is None:
            return None
        question = reading.paper.questions[index]
        options = change(dict(question.options), chance)
        return None if options is None else _edit(reading, index, replace(question, options=options))

    return planted


def rotate(options: dict[str, str], chance: Random) -> dict[str, str] | None:
    """The texts move on by one letter."""
    texts = list(options.values())
    rotated = dict(zip(options, texts[-1:] + texts[:-1], strict=True))
    return None if rotated == options else rotated


def truncate(options: dict[str, str], chance: Random) -> dict[str, str] | None:
    """One text loses its second half."""
    long = [letter for letter, text in options.items() if len(text) > 1]
    if not long:
        return None
    letter = chance.choice(long)
    return {**options, letter: options[letter][: (len(options[letter]) + 1) // 2].rstrip()}


def empty(options: dict[str, str], chance: Random) -> dict[str, str] | None:
    """One text is lost."""
    return {**options, chance.choice(list(options)): ""}


def swallow_next_stem(reading: Reading, chance: Random) -> Reading | None:
    """The last option takes in the next question's stem, which is left without one."""
    index = _sound_index(reading, chance, following=1)
    if index is None:
        return None
    this, after = reading.paper.questions[index : index + 2]
    options = {**this.options, "D": this.options["D"] + after.stem}
    return _edit(reading, index, replace(this, options=options), replace(after, stem=""), used=2)


def swallow_next_option(reading: Reading, chance: Random) -> Reading | None:
    """The last option takes in the next question's first option, which is left empty."""
    index = _sound_index(reading, chance, following=1)
    if index is None:
        return None
    this, after = reading.paper.questions[index : index + 2]
    options = {**this.options, "D": this.options["D"] + after.options.get("A", "")}
    return _edit(
        reading, index, replace(this, options=options), replace(after, options={**after.options, "A": ""}), used=2
    )


def displace_stem(reading: Reading, chance: Random) -> Reading | None:
    """The second half of a stem stands before its first option."""
    index = _sound_index(reading, chance)
    if index is None:
        return None
    question = reading.paper.questions[index]
    half = len(question.stem) // 2
    options = {**question.options, "A": question.stem[half:] + question.options["A"]}
    return _edit(reading, index, replace(question, stem=question.stem[:half], options=options)) if half else None


READING_DEFECTS: tuple[Defect[Reading], ...] = (
    *_cell_defects(),
    Defect("remarks_lost", Layer.ONE_KEY_READER, lose_remarks, (KEY_READERS,)),
    Defect("remark_of_another_question", Layer.ONE_KEY_READER, move_remark, (KEY_READERS,)),
    Defect("first_key_for_corrected", Layer.PAIRING, first_key_for_corrected, (HEADERS,)),
    Defect("corrected_for_first_key", Layer.PAIRING, corrected_for_first_key, (HEADERS,)),
    Defect("questions_merged", Layer.QUESTION_READER, merge_questions, (COUNTS,)),
    Defect("question_lost", Layer.QUESTION_READER, lose_question, (COUNTS,)),
    Defect("option_lost", Layer.QUESTION_READER, _options_plant(empty), (TEXT_RULES, QUESTION_READERS)),
    Defect("options_rotated", Layer.QUESTION_READER, _options_plant(rotate), (QUESTION_READERS,)),
    Defect("option_truncated", Layer.QUESTION_READER, _options_plant(truncate), (QUESTION_READERS,)),
    Defect("next_stem_swallowed", Layer.QUESTION_READER, swallow_next_stem, (QUESTION_READERS,)),
    Defect("next_option_swallowed", Layer.QUESTION_READER, swallow_next_option, (QUESTION_READERS,)),
    Defect("stem_displaced", Layer.QUESTION_READER, displace_stem, (QUESTION_READERS,)),
)
"""Damage to what the readers saw. A key of another paper is planted by the study, which has the other papers."""

WRONG_KEY: Defect[Reading] = Defect("key_of_another_paper", Layer.PAIRING, lambda reading, chance: None)
"""Stands for the kind in tables: the other key comes from the study's pool. Headers see nearly all of them, not all:
two papers of one subject and sitting may print the same."""


# ---- stored items and rows ------------------------------------------------------------------------------------------

MATCH = "rows_match_records"


def _one(
    items: list[PrintedItem], chance: Random, change: Callable[[PrintedItem], PrintedItem], bucket: str = PUBLISHED
) -> list[PrintedItem] | None:
    places = [n for n, item in enumerate(items) if item.bucket == bucket]
    if not places:
        return None
    place = chance.choice(places)
    return [*items[:place], change(items[place]), *items[place + 1 :]]


def _other(letter: str, chance: Random) -> str:
    return chance.choice([each for each in FOUR if each != letter])


def _turned(item: PrintedItem) -> PrintedItem:
    letters, texts = zip(*item.options, strict=True)
    return replace(item, options=tuple(zip(letters, texts[-1:] + texts[:-1], strict=True)))


def _publishable(item: PrintedItem) -> bool:
    return "".join(letter for letter, _ in item.options) == FOUR and item.key in tuple(FOUR)


def publish_excluded(items: list[PrintedItem], chance: Random) -> list[PrintedItem] | None:
    """An exclusion is forgotten: the question is published."""
    places = [n for n, item in enumerate(items) if item.exclusions and _publishable(item)]
    if not places:
        return None
    place = chance.choice(places)
    shown = replace(items[place], bucket=PUBLISHED, exclusions=())
    return [*items[:place], shown, *items[place + 1 :]]


def lose_item(items: list[PrintedItem], chance: Random) -> list[PrintedItem] | None:
    """A line of a published question is lost."""
    places = [n for n, item in enumerate(items) if item.bucket == PUBLISHED]
    lost = chance.choice(places) if places else None
    return None if lost is None else [item for n, item in enumerate(items) if n != lost]


ITEM_DEFECTS: tuple[Defect[list[PrintedItem]], ...] = (
    Defect(
        "key_letter_changed",
        Layer.STORED_ITEMS,
        lambda items, chance: _one(items, chance, lambda i: replace(i, key=_other(i.key or "", chance))),
        (MATCH,),
    ),
    Defect("options_rotated", Layer.STORED_ITEMS, lambda items, chance: _one(items, chance, _turned), (MATCH,)),
    Defect(
        "stem_changed",
        Layer.STORED_ITEMS,
        lambda items, chance: _one(items, chance, lambda i: replace(i, question=i.question[1:] + "？")),
        (MATCH,),
    ),
    Defect("question_lost", Layer.STORED_ITEMS, lose_item, (MATCH, "accounting_closes")),
    Defect("exclusion_forgotten", Layer.STORED_ITEMS, publish_excluded, (MATCH, "accounting_closes")),
    Defect(
        "reprint_published_again",
        Layer.STORED_ITEMS,
        lambda items, chance: _one(items, chance, lambda i: replace(i, bucket=PUBLISHED, folded_into=""), FOLDED),
        (MATCH, "residual_duplicates", "accounting_closes"),
    ),
)

Rows = list[ItemRow]


def _answers(rows: Rows, answers: list[str]) -> Rows | None:
    after = [replace(row, answer=answer) for row, answer in zip(rows, answers, strict=True)]
    return None if after == rows else after


def shift_answers(rows: Rows, chance: Random) -> Rows | None:
    """The answer column moves by one row."""
    answers = [row.answer for row in rows]
    return _answers(rows, answers[-1:] + answers[:-1])


def permute_answers(rows: Rows, chance: Random) -> Rows | None:
    """The answer column is shuffled: every count over it stays."""
    answers = [row.answer for row in rows]
    chance.shuffle(answers)
    return _answers(rows, answers)


def all_answers_a(rows: Rows, chance: Random) -> Rows | None:
    """The answer column is lost and filled with one letter."""
    return _answers(rows, ["A"] * len(rows))


def _row(rows: Rows, chance: Random, change: Callable[[ItemRow], ItemRow]) -> Rows | None:
    if not rows:
        return None
    place = chance.randrange(len(rows))
    changed = change(rows[place])
    return None if changed == rows[place] else [*rows[:place], changed, *rows[place + 1 :]]


def _options(row: ItemRow) -> dict[str, str]:
    return {letter: getattr(row, letter) for letter in OPTION_COLUMNS}


def _with_options(row: ItemRow, options: dict[str, str] | None) -> ItemRow:
    return row if options is None else replace(row, A=options["A"], B=options["B"], C=options["C"], D=options["D"])


def _row_options(
    change: Callable[[dict[str, str], Random], dict[str, str] | None],
) -> Callable[[Rows, Random], Rows | None]:
    def planted(rows: Rows, chance: Random) -> Rows | None:
        return _row(rows, chance, lambda row: _with_options(row, change(_options(row), chance)))

    return planted


def swap_rows_places(rows: Rows, chance: Random) -> Rows | None:
    """Two rows exchange paper and number: each names the other's source."""
    if len(rows) < 2:
        return None
    a, b = chance.sample(range(len(rows)), 2)
    after = list(rows)
    after[a] = replace(rows[a], paper_id=rows[b].paper_id, q_no=rows[b].q_no)
    after[b] = replace(rows[b], paper_id=rows[a].paper_id, q_no=rows[a].q_no)
    return after


def shift_stems(rows: Rows, chance: Random) -> Rows | None:
    """The stem column moves by one row."""
    stems = [row.question for row in rows]
    after = [replace(row, question=stem) for row, stem in zip(rows, stems[-1:] + stems[:-1], strict=True)]
    return None if after == rows else after


def merge_stems(rows: Rows, chance: Random) -> Rows | None:
    """A stem holds its own options and the next question's stem as well."""
    if len(rows) < 2:
        return None
    place = chance.randrange(len(rows) - 1)
    row, after = rows[place], rows[place + 1]
    own = "".join(f"({letter}){text}" for letter, text in _options(row).items())
    return [*rows[:place], replace(row, question=row.question + own + after.question), *rows[place + 1 :]]


def twin(rows: Rows, chance: Random) -> Rows | None:
    """A row stands twice under two ids, options in another order: a reprint that was not folded."""
    if not rows:
        return None
    row = chance.choice(rows)
    turned = _with_options(row, rotate(_options(row), chance))
    key, _, digest = row.item_id.rpartition("-")
    return [*rows, replace(turned, item_id=f"{key}-{digest[::-1]}", q_no=row.q_no + 1000)]


def lose_row(rows: Rows, chance: Random) -> Rows | None:
    """A row is lost before the files are written."""
    if len(rows) < 2:
        return None
    lost = chance.randrange(len(rows))
    return [row for n, row in enumerate(rows) if n != lost]


ROW_DEFECTS: tuple[Defect[Rows], ...] = (
    Defect("answers_shifted_by_one", Layer.ROWS, shift_answers, (MATCH,)),
    Defect("answers_permuted", Layer.ROWS, permute_answers, (MATCH,)),
    Defect("answers_all_one_letter", Layer.ROWS, all_answers_a, (MATCH, "answer_position")),
    Defect(
        "key_letter_changed",
        Layer.ROWS,
        lambda rows, chance: _row(rows, chance, lambda row: replace(row, answer=_other(row.answer, chance))),
        (MATCH,),
    ),
    Defect("options_rotated", Layer.ROWS, _row_options(rotate), (MATCH,)),
    Defect("option_truncated", Layer.ROWS, _row_options(truncate), (MATCH,)),
    Defect("option_lost", Layer.ROWS, _row_options(empty), (MATCH, "row_contract")),
    Defect("stems_shifted_by_one", Layer.ROWS, shift_stems, (MATCH,)),
    Defect("stem_holds_two_questions", Layer.ROWS, merge_stems, (MATCH, "merged_stems")),
    Defect(
        "english_stem",
        Layer.ROWS,
        lambda rows, chance: _row(rows, chance, lambda row: replace(row, question="Which of these is right?")),
        (MATCH, "surviving_english"),
    ),
    Defect("sources_swapped", Layer.ROWS, swap_rows_places, (MATCH,)),
    Defect("duplicate_not_folded", Layer.ROWS, twin, (MATCH, "residual_duplicates", "accounting_closes")),
    Defect("row_lost", Layer.ROWS, lose_row, (MATCH, "accounting_closes")),
)


# ---- written files --------------------------------------------------------------------------------------------------

Files = Mapping[str, bytes]


def _lines(data: bytes) -> list[bytes]:
    return data[:-1].split(b"\n")


def _joined(lines: list[bytes]) -> bytes:
    return b"\n".join(lines) + b"\n"


def _records(files: Files) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _lines(files[JSONL_NAME])]


def _both(files: Files, records: list[dict[str, Any]]) -> Files:
    """JSONL and CSV written anew from records: consistent with each other, not with the build."""
    rows = [ItemRow.from_json(record) for record in records]
    return {**files, JSONL_NAME: jsonl_bytes(records), CSV_NAME: csv_bytes(rows)}


def unquote_csv(files: Files, chance: Random) -> Files | None:
    """A record loses its quotes and holds a comma: the fields behind it move by one."""
    records = _records(files)
    place = chance.randrange(len(records))
    cells = [str(value).replace("\n", " ").replace('"', "") for value in records[place].values()]
    cells[1] += ",x"
    rows = csv_bytes([ItemRow.from_json(record) for record in records]).split(b"\n")
    if len(rows) != len(records) + 2:  # a text with a line feed: lines are no records
        return None
    rows[place + 1] = ",".join(cells).encode()
    return {**files, CSV_NAME: b"\n".join(rows)}


def lose_csv_row(files: Files, chance: Random) -> Files | None:
    """A record is lost from the CSV alone."""
    records = _records(files)
    lost = chance.randrange(len(records))
    rows = [ItemRow.from_json(record) for n, record in enumerate(records) if n != lost]
    return {**files, CSV_NAME: csv_bytes(rows)} if rows else None


def lose_both_rows(files: Files, chance: Random) -> Files | None:
    """A record is lost from both files."""
    records = _records(files)
    lost = chance.randrange(len(records))
    return _both(files, [record for n, record in enumerate(records) if n != lost]) if len(records) > 1 else None


def lose_rows_and_counts(files: Files, chance: Random) -> Files | None:
    """A record is lost from both files, and the counts say that it never was: every sum closes."""
    fewer = lose_both_rows(files, chance)
    if fewer is None:
        return None
    stats = json.loads(files[STATS_NAME])
    stats["questions"]["published"] -= 1
    stats["questions"]["printed"] -= 1
    return {**fewer, STATS_NAME: json_bytes(stats)}


def _edit_record(files: Files, chance: Random, change: Callable[[dict[str, Any]], None]) -> Files:
    records = _records(files)
    change(records[chance.randrange(len(records))])
    return _both(files, records)


def change_text(files: Files, chance: Random) -> Files | None:
    """One character of a stem is another in both files."""

    def change(record: dict[str, Any]) -> None:
        text = record["question"]
        place = chance.randrange(len(text))
        record["question"] = text[:place] + ("異" if text[place] != "異" else "同") + text[place + 1 :]

    return _edit_record(files, chance, change)


def change_answer(files: Files, chance: Random) -> Files | None:
    """One answer is another letter in both files."""
    return _edit_record(files, chance, lambda record: record.update(answer=_other(record["answer"], chance)))


def permute_answer_column(files: Files, chance: Random) -> Files | None:
    """The answer column is shuffled in both files."""
    records = _records(files)
    answers = [record["answer"] for record in records]
    chance.shuffle(answers)
    if answers == [record["answer"] for record in records]:
        return None
    return _both(files, [{**record, "answer": answer} for record, answer in zip(records, answers, strict=True)])


def lose_none_csv(files: Files, chance: Random) -> Files | None:
    """A text that reads None is empty in the CSV: what a loader that guesses leaves of it."""
    records = _records(files)
    place = chance.randrange(len(records))
    rows = [ItemRow.from_json(record) for record in records]
    rows[place] = replace(rows[place], C="")
    return {**files, CSV_NAME: csv_bytes(rows)}


def lose_none_jsonl(files: Files, chance: Random) -> Files | None:
    """A text is null in the JSONL."""
    records = _records(files)
    records[chance.randrange(len(records))]["C"] = None
    return {**files, JSONL_NAME: jsonl_bytes(records)}


def publish_conflict(files: Files, chance: Random) -> Files | None:
    """The figures name a published item among those whose keys conflict."""
    stats = json.loads(files[STATS_NAME])
    stats["keys"]["conflicting_ids"].append(chance.choice(_records(files))["item_id"])
    return {**files, STATS_NAME: json_bytes(stats)}


def break_sum(files: Files, chance: Random) -> Files | None:
    """One question more is printed than the buckets hold."""
    stats = json.loads(files[STATS_NAME])
    stats["questions"]["printed"] += 1
    return {**files, STATS_NAME: json_bytes(stats)}


FILE_DEFECTS: tuple[Defect[Files], ...] = (
    Defect("csv_quotes_lost_fields_shifted", Layer.WRITTEN_FILES, unquote_csv, ("csv_mirrors_jsonl", PUBLISHER)),
    Defect("row_lost_from_csv", Layer.WRITTEN_FILES, lose_csv_row, ("csv_mirrors_jsonl", PUBLISHER)),
    Defect("none_lost_from_csv", Layer.WRITTEN_FILES, lose_none_csv, ("csv_mirrors_jsonl", PUBLISHER)),
    Defect(
        "null_in_jsonl", Layer.WRITTEN_FILES, lose_none_jsonl, ("row_contract", "csv_mirrors_jsonl", MATCH, PUBLISHER)
    ),
    Defect("row_lost_from_both_files", Layer.WRITTEN_FILES, lose_both_rows, (MATCH, "accounting_closes", PUBLISHER)),
    Defect("row_lost_and_counts_adjusted", Layer.WRITTEN_FILES, lose_rows_and_counts, (MATCH, PUBLISHER)),
    Defect("text_changed_in_both_files", Layer.WRITTEN_FILES, change_text, (MATCH, PUBLISHER)),
    Defect("answer_changed_in_both_files", Layer.WRITTEN_FILES, change_answer, (MATCH, PUBLISHER)),
    Defect("answers_permuted_in_both_files", Layer.WRITTEN_FILES, permute_answer_column, (MATCH, PUBLISHER)),
    Defect("conflicting_item_published", Layer.WRITTEN_FILES, publish_conflict, ("key_consistency", PUBLISHER)),
    Defect("sum_left_open", Layer.WRITTEN_FILES, break_sum, ("accounting_closes", PUBLISHER)),
)


def change_any_byte(files: Files, chance: Random) -> Files | None:
    """One byte of any file changes."""
    name = chance.choice(sorted(files))
    data = bytearray(files[name])
    if not data:
        return {**files, name: b"\n"}
    place = chance.randrange(len(data))
    data[place] ^= 1
    return {**files, name: bytes(data)}


JUDGED_DEFECTS: tuple[Defect[Files], ...] = (
    Defect("byte_changed", Layer.JUDGED_FILES, change_any_byte, (PUBLISHER,)),
    Defect("text_changed_in_both_files", Layer.JUDGED_FILES, change_text, (PUBLISHER,)),
    Defect("answers_permuted_in_both_files", Layer.JUDGED_FILES, permute_answer_column, (PUBLISHER,)),
    Defect("row_lost_from_both_files", Layer.JUDGED_FILES, lose_both_rows, (PUBLISHER,)),
)
"""Damage after the checks have judged the files: only the publisher is left to see it."""
