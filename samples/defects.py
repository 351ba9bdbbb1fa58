"""Damage to plant in a specification before it is printed: each takes a specification and returns a damaged one.

What belongs here: faults of the printed page. What does not: faults of our own rows or files.
Every function raises ValueError when the damage would change nothing, so that no test plants air.
"""

from __future__ import annotations

from dataclasses import replace

from samples.spec import KeySpec, PaperSpec, PrintedQuestion


def _changed(before: KeySpec, cells: dict[int, str]) -> KeySpec:
    if cells == dict(before.cells):
        raise ValueError("the damage changes nothing")
    return replace(before, cells=cells)


def shift_key(spec: KeySpec) -> KeySpec:
    """Every answer stands one question too late; the last one comes first."""
    numbers = sorted(spec.cells)
    values = [spec.cells[n] for n in numbers]
    return _changed(spec, dict(zip(numbers, values[-1:] + values[:-1], strict=True)))


def drop_cell(spec: KeySpec, number: int) -> KeySpec:
    """The cell of one question is empty."""
    return _changed(spec, {n: cell for n, cell in spec.cells.items() if n != number})


def close_up(spec: KeySpec, number: int) -> KeySpec:
    """One cell is lost and the answers after it move up by one."""
    numbers = sorted(spec.cells)
    values = [spec.cells[n] for n in numbers if n != number]
    return _changed(spec, dict(zip(numbers, values, strict=False)))


def swap_rows(spec: KeySpec, first: int, second: int, width: int = 10) -> KeySpec:
    """The answers of two grid rows (counted from 0) change places."""
    cells = dict(spec.cells)
    for column in range(1, width + 1):
        a, b = first * width + column, second * width + column
        if a not in cells or b not in cells:
            raise ValueError(f"rows {first} and {second} are not both full")
        cells[a], cells[b] = cells[b], cells[a]
    return _changed(spec, cells)


def set_cell(spec: KeySpec, number: int, cell: str) -> KeySpec:
    """One answer is another."""
    return _changed(spec, {**spec.cells, number: cell})


def _questions(spec: PaperSpec, number: int) -> tuple[int, PrintedQuestion]:
    """Place in the blocks and the question itself. Raises ValueError for a number that the paper does not have."""
    places = [i for i, block in enumerate(spec.blocks) if isinstance(block, PrintedQuestion)]
    if not 1 <= number <= len(places):
        raise ValueError(f"no question {number}")
    place = places[number - 1]
    block = spec.blocks[place]
    assert isinstance(block, PrintedQuestion)
    return place, block


def _replaced(spec: PaperSpec, place: int, *blocks: PrintedQuestion) -> PaperSpec:
    return replace(spec, blocks=(*spec.blocks[:place], *blocks, *spec.blocks[place + 1 :]))


def merge_questions(spec: PaperSpec, number: int) -> PaperSpec:
    """Question `number` swallows the next one: its number and markers are lost, its words stay in the last option."""
    place, question = _questions(spec, number)
    after_place, after = _questions(spec, number + 1)
    tail = question.options[-1] + after.stem + "".join(after.options)
    merged = replace(question, options=(*question.options[:-1], tail))
    shorter = replace(spec, blocks=(*spec.blocks[:after_place], *spec.blocks[after_place + 1 :]))
    return _replaced(shorter, place, merged)


def drop_question(spec: PaperSpec, number: int) -> PaperSpec:
    """One question is not printed and the numbers after it close up."""
    place, _ = _questions(spec, number)
    return _replaced(spec, place)


def skip_number(spec: PaperSpec, number: int) -> PaperSpec:
    """The printed numbers jump over `number`."""
    place, question = _questions(spec, number)
    return _replaced(spec, place, replace(question, number=number + 1))


def rotate_options(spec: PaperSpec, number: int) -> PaperSpec:
    """The option texts of one question move on by one letter."""
    place, question = _questions(spec, number)
    rotated = question.options[-1:] + question.options[:-1]
    if rotated == question.options:
        raise ValueError("the damage changes nothing")
    return _replaced(spec, place, replace(question, options=rotated))


def drop_option(spec: PaperSpec, number: int) -> PaperSpec:
    """The last option of one question is not printed."""
    place, question = _questions(spec, number)
    return _replaced(spec, place, replace(question, options=question.options[:-1], per_line=1))
