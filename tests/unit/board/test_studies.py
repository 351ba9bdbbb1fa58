"""How a study's cells are shown: one form a unit, intervals beside their figure, one language at a time."""

from __future__ import annotations

import pytest

from opentwbench.apparatus.result import Both, Column, Study, Table, spoken
from opentwbench.board.studies import LONG_TABLE, SHOWN_ROWS, findings_of, in_language, shown_table

NAME = Both("名", "name")


def column(name: str, unit: str = "") -> Column:
    return Column(name, Both(f"{name}中", name), unit)


def one(name: str, unit: str, value: object) -> str:
    table = Table(NAME, (column("model"), column(name, unit)), (("m", value),))  # type: ignore[arg-type]
    return shown_table(table).rows[0][1].shown.en


@pytest.mark.parametrize(
    ("name", "unit", "value", "shown"),
    [
        ("accuracy", "%", 84.76, "84.8"), ("accuracy", "%", 0.09, "0.09"), ("accuracy", "%", None, "–"),
        ("points", "points", -48.63, "−48.6"), ("points", "points", 5.99, "+6.0"), ("exact_p", "", 0.00012, "<0.001"),
        ("sign_p", "", 0.25, "0.250"), ("rho", "", 0.9612, "0.96"), ("kappa", "", -0.2, "−0.20"),
        ("n", "items", 1234, "1,234"),
        ("shift", "ranks", -2, "−2"), ("mean", "ranks", 1.5, "+1.5"), ("largest", "ranks", 4, "4"),
        ("budget", "tokens", 16384, "16,384"),
    ],
)  # fmt: skip
def test_one_form_a_unit(name: str, unit: str, value: object, shown: str) -> None:
    assert one(name, unit, value) == shown


def test_an_interval_joins_its_figure() -> None:
    columns = (
        column("model"), column("accuracy", "%"), column("low", "%"), column("high", "%"),
        column("points", "points"), column("points_low", "points"), column("points_high", "points"),
        column("rho"), column("rho_low"), column("rho_high"), column("rank"),
    )  # fmt: skip
    rows = (
        ("m", 84.76, 80.51, 88.2, -3.0, -5.44, 0.2, 0.5, 0.1, 0.9, 1),
        ("n", 1.0, None, None, 0.0, 0.0, 0.0, None, None, None, 2),
    )
    found = shown_table(Table(NAME, columns, rows))  # type: ignore[arg-type]
    assert [each.name for each in found.columns] == ["model", "accuracy", "points", "rho", "rank"]
    assert [each.label.en for each in found.columns] == ["Model", "Accuracy %", "Points (points)", "Rho", "Rank"]
    assert found.columns[2].label.zh == "Points中 (百分點)"
    assert [each.interval.en for each in found.rows[0]] == ["", "80.5–88.2", "−5.5 to +0.2", "0.10–0.90", ""]
    assert found.rows[0][2].interval.zh == "−5.5 至 +0.2"
    assert (found.rows[0][1].low, found.rows[0][1].high) == (80.51, 88.2)
    assert found.rows[1][1].interval.en == "" and found.rows[1][3].shown.en == "–"
    assert [each.goes_down for each in found.columns] == [False, True, True, True, False]


def test_words_are_of_one_language() -> None:
    columns = (column("benchmark"), column("method"), column("subject"), column("defect"), column("judge"))
    rows = (("exam_sample", "twinkle-pattern", "tw-roc-constitution-bench", Both("甲", "first").in_one(), "strict‖"),)
    cells = shown_table(Table(NAME, columns, rows)).rows[0]
    assert [cell.shown.en for cell in cells] == ["National examinations", "pattern", "ROC Constitution", "first", ""]
    assert [cell.shown.zh for cell in cells][:4] == ["國家考試", "樣式比對", "中華民國憲法", "甲"]
    assert spoken("a‖b‖c", "en") == "a‖b‖c"


def test_a_specification_is_told_in_one_language() -> None:
    spec = {"title": "軸‖axis", "data": {"values": [{"series": "甲‖one", "value": 1}]}, "layer": [{"mark": "bar"}]}
    assert in_language(spec, "en") == {
        "title": "axis", "data": {"values": [{"series": "one", "value": 1}]}, "layer": [{"mark": "bar"}],
    }  # fmt: skip
    assert in_language(spec, "zh")["title"] == "軸"


def test_findings_of_one_model() -> None:
    columns = (*(column(name) for name in ("model", "failure", "items", "replies", "found")), column("share", "%"))
    table = Table(NAME, columns, (("a", "x", 5, 9, 1, 5.0), ("b", "x", 5, 9, 0, 1.0), ("a", "y", 5, 9, 2, 7.0)))
    study = Study("free_text", NAME, NAME, NAME, NAME, 1, tables=(table,))
    found = [{name: cell.shown.en for name, cell in row.items()} for row in findings_of(study, "a")]
    assert [(row["failure"], row["replies"], row["share"]) for row in found] == [("x", "9", "5.0"), ("y", "9", "7.0")]
    assert findings_of(study, "c") == []
    assert findings_of(Study("free_text", NAME, NAME, NAME, NAME, 0), "a") == []


def test_a_free_text_study_of_another_form_says_nothing_of_a_model() -> None:
    table = Table(NAME, (column("model"), column("failure"), column("share", "%")), (("a", "x", 5.0),))
    assert findings_of(Study("free_text", NAME, NAME, NAME, NAME, 1, tables=(table,)), "a") == []


def test_a_symbol_in_a_heading_stays_as_it_is() -> None:
    kappa = Column("kappa", Both("κ", "kappa"))
    rho = Column("rho_low", Both("ρ 95% 下界", "rho, 95% low"))
    headings = [each.label for each in shown_table(Table(NAME, (kappa, rho), ((0.5, 0.1),))).columns]
    assert [each.zh for each in headings] == ["κ", "ρ 95% 下界"]
    assert [each.en for each in headings] == ["Kappa", "Rho, 95% low"]


def test_of_a_long_table_the_rows_that_move_most_stand_before_it() -> None:
    rows = tuple((f"m{n}", float(n), float(n % 7 - 3 if n != 20 else -9)) for n in range(LONG_TABLE + 1))
    found = shown_table(Table(NAME, (column("model"), column("share", "%"), column("points", "points")), rows))
    assert len(found.rows) == LONG_TABLE + 1 and len(found.top) == SHOWN_ROWS
    moves = [abs(float(row[2].value or 0)) for row in found.top]
    assert moves == sorted(moves, reverse=True) and moves[0] == 9 and found.top[0][0].value == "m20"
    assert found.top_by.en == "Points (points)"


def test_of_a_long_table_without_a_difference_the_first_rows_stand_before_it() -> None:
    rows = tuple((f"m{n}", float(n)) for n in range(LONG_TABLE + 1))
    found = shown_table(Table(NAME, (column("model"), column("share", "%")), rows))
    assert [row[0].value for row in found.top] == [f"m{n}" for n in range(SHOWN_ROWS)] and found.top_by.en == ""


def test_a_short_table_stands_as_a_whole() -> None:
    rows = tuple((f"m{n}", float(n)) for n in range(LONG_TABLE))
    assert shown_table(Table(NAME, (column("model"), column("points", "points")), rows)).top == []


def test_every_interval_is_rounded_outwards() -> None:
    columns = tuple(
        column(f"{kind}{end}", unit)
        for kind, unit in (("a", "%"), ("b", "points"), ("c", "ranks"), ("d", ""))
        for end in ("", "_low", "_high")
    )
    row = (70.0, 66.6667, 73.3333, 1.0, -0.1234, 2.1111, 1.0, 0.24, 1.96, 0.5, 0.1277, 0.8723)
    shown = [each.interval.en for each in shown_table(Table(NAME, columns, (row,))).rows[0]]
    assert shown == ["66.6–73.4", "−0.2 to +2.2", "+0.2 to +2", "0.12–0.88"]
    exact = (70.0, 66.6, 73.3, 1.0, -0.1, 2.1, 1.0, 0.3, 1.9, 0.5, 0.12, 0.87)
    shown = [each.interval.en for each in shown_table(Table(NAME, columns, (exact,))).rows[0]]
    assert shown == ["66.6–73.3", "−0.1 to +2.1", "+0.3 to +1.9", "0.12–0.87"]


def test_a_cell_in_both_languages_is_known_as_words() -> None:
    row = shown_table(Table(NAME, (column("group"), column("benchmark")), ((Both("甲", "a").in_one(), "exam"),))).rows[
        0
    ]
    assert [each.is_words for each in row] == [True, False]
