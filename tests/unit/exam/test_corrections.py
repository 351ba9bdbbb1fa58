"""The remark grammar: every real form, its neighbours, and what must stay unread."""

from __future__ import annotations

import pytest

from opentwbench.exam.corrections import MAX_REMARK, rule
from opentwbench.exam.model import Exclusion

SEVERAL, MULTI = Exclusion.SEVERAL_ANSWERS_ACCEPTED, Exclusion.MULTI_SELECT
VOIDED, BLANK, UNREAD = Exclusion.VOIDED, Exclusion.CREDITED_UNLESS_BLANK, Exclusion.REMARK_UNREAD


@pytest.mark.parametrize("cell", ["A", "B", "C", "D", "E", "Ａ"])
def test_a_letter_is_the_key(cell: str) -> None:
    ruling = rule(cell, None)
    assert ruling.key == cell.translate({ord("Ａ"): "A"})
    assert (ruling.accepted, ruling.exclusion, ruling.corrected) == ((ruling.key,), None, False)


def test_several_letters_are_multi_select() -> None:
    ruling = rule("ＡＢＥ", None)
    assert (ruling.key, ruling.accepted, ruling.exclusion) == ("ABE", ("ABE",), MULTI)


# The forms of the real corrected keys, half and full width, each with what it means.
FORMS = [
    ("第43題答Ａ給分", "A", ("A",), None),
    ("答Ｄ給分", "D", ("D",), None),
    ("答E者給分。", "E", ("E",), None),
    ("第9題一律給分", None, (), VOIDED),
    ("第1題、第2題均一律給分", None, (), VOIDED),
    ("第1題至第3題一律給分。", None, (), VOIDED),
    ("一律送分", None, (), VOIDED),
    ("第28題除未作答者不給分外，其餘均給分", None, (), BLANK),
    ("除未作答者不給分", None, (), BLANK),
    ("第17題答Ｂ或Ｄ或BD者均給分", None, ("B", "D", "BD"), SEVERAL),
    ("答Ａ或Ｃ或ＡＣ者均給分", None, ("A", "C", "AC"), SEVERAL),
    ("第１題答Ｂ或Ｃ者均給分", None, ("B", "C"), SEVERAL),
    ("第32題答Ｂ、Ｃ給分", None, ("B", "C"), SEVERAL),
    ("答Ａ或Ｂ或Ｃ或Ｄ者給分", None, ("A", "B", "C", "D"), SEVERAL),
    ("答Ａ或Ｂ或C或AB或AC或BC或ABC者均給分", None, ("A", "B", "C", "AB", "AC", "BC", "ABC"), SEVERAL),
    ("答A或B或C或D或AB者均給分", None, ("A", "B", "C", "D", "AB"), SEVERAL),
    ("第66題複選ＢＤ或複選ＢＣＤ給分", None, ("BD", "BCD"), MULTI),
    ("第70題複選ＡＥ給分", "AE", ("AE",), MULTI),
    ("答Ａ或複選ＡＣ給分", None, ("A", "AC"), MULTI),
    ("第 6 題 答 Ａ 或 Ｄ 者 均 給 分 。", None, ("A", "D"), SEVERAL),
]


@pytest.mark.parametrize(("remark", "key", "accepted", "exclusion"), FORMS)
def test_every_form_of_a_remark(
    remark: str, key: str | None, accepted: tuple[str, ...], exclusion: Exclusion | None
) -> None:
    for cell in ("#", "＃"):
        ruling = rule(cell, remark)
        assert (ruling.key, ruling.accepted, ruling.exclusion) == (key, accepted, exclusion)
        assert ruling.corrected is True
        assert ruling.remark == remark


@pytest.mark.parametrize(
    "remark",
    [
        "",
        "均給分",
        "答Ａ或Ｆ者均給分",
        "答Ａ或者均給分",
        "答給分",
        "答Ａ不給分",
        "答Ａ或Ａ者均給分",
        "答BB給分",
        "答DB給分",
        "除答Ａ者外，其餘均給分",
        "除未作答者給分",
        "第5題一律給分；第5題答Ａ給分",
        "答Ｂ或Ｄ者均給分，但書寫理由者另計",
        "題目有誤，一律給分",
        "複選給分",
        "答Ａ" * MAX_REMARK,
        None,
    ],
)
def test_what_is_not_fully_understood_stays_unread(remark: str | None) -> None:
    ruling = rule("#", remark)
    assert (ruling.key, ruling.accepted, ruling.exclusion) == (None, (), UNREAD)
    assert ruling.corrected is False
    assert ruling.remark == remark


def test_a_letter_with_a_remark_is_believed_only_when_both_say_the_same() -> None:
    same = rule("D", "第5題答Ｄ給分")
    assert (same.key, same.exclusion, same.corrected) == ("D", None, True)
    for remark in ("第5題答Ａ給分", "第5題一律給分", "第5題答Ｄ或Ａ者均給分"):
        assert rule("D", remark).exclusion is UNREAD


@pytest.mark.parametrize("cell", ["", "F", "BA", "A#", "AA", "a"])
def test_no_cell_is_an_error(cell: str) -> None:
    with pytest.raises(ValueError, match="no answer cell"):
        rule(cell, None)
