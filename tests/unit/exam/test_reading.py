"""How spans join into published text."""

import pytest

from opentwbench.exam.layout import Span
from opentwbench.exam.reading import read_text


def row(*pieces: tuple[float, float, str], shifts: dict[int, int] | None = None) -> list[tuple[Span, int]]:
    """Pieces (x0, x1, text) of one line of 12 points; `shifts` raises (1) or lowers (-1) a piece."""
    return [
        (Span(x0, 0, x1, 12, 10, 12, "f", text), (shifts or {}).get(i, 0)) for i, (x0, x1, text) in enumerate(pieces)
    ]


def test_space_beside_chinese_is_the_typesetters() -> None:
    assert read_text([row((0, 24, "關於"), (27, 40, "RNA"), (43, 80, " 聚合酶之敘述"))]) == "關於RNA聚合酶之敘述"


def test_words_keep_their_spaces() -> None:
    assert read_text([row((0, 40, "summary"), (43, 90, "judgment"))]) == "summary judgment"
    assert read_text([row((0, 40, "one")), row((0, 40, "two"))]) == "one two"


def test_lines_join_without_space_in_chinese_and_after_a_hyphen() -> None:
    assert read_text([row((0, 24, "下列")), row((0, 24, "何者"))]) == "下列何者"
    assert read_text([row((0, 40, "glucose-6-phos-")), row((0, 40, "phatase"))]) == "glucose-6-phos-phatase"


def test_an_enumeration_keeps_its_gap() -> None:
    assert read_text([row((0, 48, "①安全需求"), (72, 120, "②安置需求"))]) == "①安全需求 ②安置需求"


@pytest.mark.parametrize(
    ("pieces", "shifts", "read"),
    [
        (((0, 12, "10"), (12, 18, "3"), (18, 40, " 公克")), {1: 1}, "10³公克"),
        (((0, 12, "Ca"), (12, 18, "2"), (18, 22, "+")), {1: 1, 2: 1}, "Ca²⁺"),
        (((0, 12, "CO"), (12, 18, "2")), {1: -1}, "CO2"),
        (((0, 24, "1011"), (24, 28, "2")), {1: -1}, "1011₂"),
    ],
)
def test_raised_and_lowered_text(
    pieces: tuple[tuple[float, float, str], ...], shifts: dict[int, int], read: str
) -> None:
    assert read_text([row(*pieces, shifts=shifts)]) == read


def test_a_blank_stands_free_in_english() -> None:
    assert read_text([row((0, 40, "sign an"), (42, 70, " _____ "), (72, 99, "with us."))]) == "sign an _____ with us."


def test_a_dash_parted_by_a_line_end_is_one_dash() -> None:
    assert read_text([row((0, 48, "與紀錄相反—")), row((0, 48, "—文章是以"))]) == "與紀錄相反——文章是以"
