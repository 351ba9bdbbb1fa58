"""Print a key sheet: `typeset_key(spec) -> bytes`, the same bytes for the same specification.

What belongs here: the three grids of the ministry's key sheets, in points as measured on real ones, and the order of
their text layer. What does not: reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from samples.fonts import EmbeddedFont, advance
from samples.pdf import Canvas, write_pdf
from samples.spec import Grid, Hazard, KeySpec

_FULL_WIDTH = str.maketrans("ABCDE#", "ＡＢＣＤＥ＃")


@dataclass(frozen=True, slots=True)
class Word:
    """One run of a key sheet at its base line."""

    x: float
    y: float
    text: str
    size: float = 12.0


@dataclass(slots=True)
class Sheet:
    """Words by role. `words` is the text layer's order once the parts are put together."""

    labels: list[Word] = field(default_factory=list)
    numbers: dict[int, Word] = field(default_factory=dict)
    cells: dict[int, Word] = field(default_factory=dict)
    rules: list[tuple[float, float, float, float]] = field(default_factory=list)


def _width(text: str) -> float:
    return sum(advance(char, half_width=True) for char in text)


def _wrap(text: str, x: float, y: float, right: float, size: float) -> list[Word]:
    rows, width = [""], 0.0
    for char in text:
        step = advance(char, half_width=True) * size
        if width + step > right - x and char not in "，。、）":
            rows.append("")
            width = 0.0
        rows[-1] += char
        width += step
    return [Word(x, y + 14.4 * i, row, size) for i, row in enumerate(rows)]


# -------------------------------------------------------------------------------------------------------------- grids


def _twenty(spec: KeySpec, label: str, top: float, pitch: float) -> Sheet:
    """Five rows of twenty in groups of five. Measured: 100030/101/0101 (題號), 101010/301/11 (題序)."""
    sheet = Sheet()
    for row in range(5):
        y = top + pitch * row
        sheet.labels += [Word(51.5, y, label), Word(51.5, y + 21, "答案")]
        sheet.rules += [(46, y + d, 548, y + d) for d in (-14, 6, 27)]
        sheet.rules += [(x, y - 14, x, y + 27) for x in (46, *(_column(c) - 5 for c in range(20)), 548)]
    for number, cell in spec.cells.items():
        row, column = divmod(number - 1, 20)
        x, y = _column(column), top + pitch * row
        sheet.numbers[number] = Word(x, y, f"{number:02d}")
        text = _cell_text(spec, cell)
        left = x + 6 - _width(text) * 6
        if column == 0 and Hazard.GLUED_FIRST_CELL in spec.hazards:
            left = min(left, x)  # near enough to the label 答案 for the text layer to make one word of them
        sheet.cells[number] = Word(left, y + 21, text)
    return sheet


def _column(column: int) -> float:
    return 85.0 + 22.0 * column + 9.0 * (column // 5)


def _ordinal(spec: KeySpec) -> Sheet:
    """Ten rows of ten, 第N題. Measured: 107070/809/1311, 103110/900/0001."""
    sheet = Sheet()
    hundred = Hazard.HUNDRED_LABELS in spec.hazards
    for row in range(10):
        y = 252.2 + 45.2 * row
        sheet.labels += [Word(36, y, "題號"), Word(36, y + 19, "答案")]
        sheet.rules += [(32, y + d, 563, y + d) for d in (-13, 6, 25)]
        sheet.rules += [(x, y - 13, x, y + 25) for x in (32, *(64 + 50 * c for c in range(10)), 563)]
    for number in range(1, 101):
        row, column = divmod(number - 1, 10)
        centre, y = 89.0 + 50.0 * column, 252.2 + 45.2 * row
        if hundred or number in spec.cells:
            text = f"第{number}題"
            sheet.numbers[number] = Word(centre - _width(text) * 6, y, text)
        if number in spec.cells:
            text = _cell_text(spec, spec.cells[number])
            sheet.cells[number] = Word(centre - _width(text) * 6, y + 19, text)
    return sheet


def _cell_text(spec: KeySpec, cell: str) -> str:
    return cell.translate(_FULL_WIDTH) if Hazard.FULL_WIDTH_CELLS in spec.hazards else cell


def _grid(spec: KeySpec) -> Sheet:
    limit = 100
    if any(not 1 <= number <= limit for number in spec.cells):
        raise ValueError(f"a key grid holds questions 1 to {limit}")
    if spec.grid is Grid.QUESTION_NUMBER:
        return _twenty(spec, "題號", 246, 60.5)
    return _twenty(spec, "題序", 207, 63) if spec.grid is Grid.QUESTION_ORDER else _ordinal(spec)


def _in_order(sheet: Sheet, spec: KeySpec) -> Iterator[Word]:
    """The grid's words in text-layer order."""
    numbers, cells = dict(sheet.numbers), dict(sheet.cells)
    if Hazard.LABELS_SHUFFLED in spec.hazards:
        # As in 107070/809/1311: the first answer behind the first label, 第13題 behind 第40題, 12 and 33 at the end.
        yield from sheet.labels
        late = [n for n in (12, 33) if n in cells]
        first = [n for n in (1,) if n in cells]
        order = [n for n in numbers if n != 13]
        if 13 in numbers:
            order.insert(order.index(40) + 1 if 40 in numbers else len(order), 13)
        for number in order:
            yield numbers[number]
            if number in first:
                yield cells[number]
        rest = [n for n in cells if n not in late + first]
        yield from (cells[n] for n in rest + late)
        return
    if Hazard.GLUED_FIRST_CELL in spec.hazards:
        # As in 101010/301/11: the row's answers follow their label 答案 at once, the numbers come last.
        for label in sheet.labels:
            yield label
            yield from (word for word in cells.values() if word.y == label.y)
        yield from numbers.values()
        return
    yield from sheet.labels
    yield from numbers.values()
    yield from cells.values()


# ------------------------------------------------------------------------------------------------------ head and foot


def _head(spec: KeySpec, top: float) -> list[list[Word]]:
    """Groups of the head: title, exam name, category, subject (label and value each)."""
    title = "測驗題標準答案更正" if spec.corrected else "測驗式試題標準答案"
    code = f"(試題代號：{spec.code})" if spec.code else ""
    category, subject = top - (107 if spec.grid is Grid.QUESTION_ORDER else 126), top - 87
    return [
        [Word(30, 33.5, title, 14)],
        [Word(32.5, 62.2, "考試名稱：")],
        _wrap(spec.exam_name, 95, 62.2, 563, 12),
        [Word(32.5, category, "類科名稱：")],
        _wrap(spec.category, 95, category, 563, 12),
        [Word(32.5, subject, "科目名稱：")],
        _wrap(spec.subject + code, 95, subject, 563, 12),
    ]


def _ordered_head(spec: KeySpec, groups: list[list[Word]]) -> list[Word]:
    if Hazard.KEY_HEADER_SWAPPED in spec.hazards:
        # As in 103110/900/0001: 類科名稱, the exam's name, the subject, the title, 考試名稱, the category.
        groups = [groups[i] for i in (3, 2, 5, 6, 0, 1, 4)]
    return [word for group in groups for word in group]


def _counts(spec: KeySpec, y: float) -> list[Word]:
    single, multi = spec.single, spec.multi
    if single is None and multi is None:
        return []
    total = (single or 0) + (multi or 0)
    if spec.grid is not Grid.ORDINAL:
        return [Word(32.5, y, f"題\u3000\u3000數：{total}題")]
    ranges = bool(multi)
    # As in 103110/900/0001 M: the official misprint gives the total as the number of single-answer questions.
    misprint = Hazard.MISPRINTED_COUNT in spec.hazards
    shown = total if misprint else single
    span = f"(第1~{total - 1 if misprint else single}題)" if ranges else ""
    return [
        Word(30, y, f"單選題數：{shown}題{span}"),
        Word(242, y, "單選每題配分：2.00分"),
        Word(30, y + 19, f"複選題數：{multi}題(第{(single or 0) + 1}~{total}題)" if multi else "複選題數："),
        Word(242, y + 19, "複選每題配分：3.00分" if multi else "複選每題配分："),
    ]


def _legend(spec: KeySpec, y: float) -> list[Word]:
    if not spec.corrected:
        return [Word(32.5, y, "標準答案：")]
    return [Word(32.5, y, "標準答案：答案標註#者，表該題有更正答案，其更正內容詳見備註。")]


def _remarks(spec: KeySpec, y: float) -> list[Word]:
    if not spec.corrected:
        return []
    text = "，".join(spec.remarks)
    return [Word(32.5, y, "備\u3000\u3000註："), *_wrap(f"{text}。" if text else "", 95, y, 563, 12)]


def typeset_key(spec: KeySpec) -> bytes:
    """The key sheet as a PDF. Raises ValueError for a question number that no grid has room for."""
    sheet = _grid(spec)
    top = min(word.y for word in sheet.labels)
    bottom = max(word.y for word in sheet.labels)
    ordinal = spec.grid is Grid.ORDINAL
    words = _ordered_head(spec, _head(spec, top))
    counts, legend = _counts(spec, top - (59 if ordinal else 47)), _legend(spec, top - 21)
    words += counts[:2] + ([] if ordinal else legend)
    words += _in_order(sheet, spec)
    words += counts[2:] + _remarks(spec, bottom + 23) + (legend if ordinal else [])
    return _print(words, sheet.rules)


def _print(words: Iterable[Word], rules: Iterable[tuple[float, float, float, float]]) -> bytes:
    words = [word for word in words if word.text]
    font = EmbeddedFont("FK", "SampleKai", {char for word in words for char in word.text}, half_width=True)
    canvas = Canvas(width=595.0)
    for rule in rules:
        canvas.line(*rule, width=0.4)
    for word in words:
        canvas.text(font, word.size, word.x, word.y, word.text)
    return write_pdf([canvas], [font])
