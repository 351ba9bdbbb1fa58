"""The record of a study: what may be in one, and that its JSON is read as hostile."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from support.apparatus import run

from opentwbench.apparatus.figures import Paired, bar_chart, places, range_chart, rho_interval, scatter
from opentwbench.apparatus.result import (
    Both,
    Chart,
    Column,
    Study,
    StudyError,
    Table,
    check_spec,
    from_json,
    missing,
    payload,
    read_payload,
    to_json,
)
from opentwbench.apparatus.rows import Facts, current

AXIS = Both("軸", "axis")
TEXT = Both("文字", "text")
CHART = bar_chart(TEXT, [{"name": "<script>", "value": 1.5}], AXIS)


def study(**changes: Any) -> Study:
    table = Table(TEXT, (Column("name", TEXT), Column("value", TEXT, "%")), (("甲", 1.5), ("乙", None)))
    made: dict[str, Any] = {"tables": (table,), "charts": (CHART,), "n": 2, **changes}
    return Study("made", TEXT, TEXT, TEXT, TEXT, **made)


def test_a_study_comes_back_from_its_payload() -> None:
    found = read_payload("made", payload(study()))
    assert to_json(found) == to_json(study())
    assert payload(found) == payload(study())
    assert set(json.loads(payload(study()))) == {
        *("title", "question", "method", "finding", "n", "labelled", "tables", "charts")
    }


def test_a_study_without_input_holds_words_and_no_number() -> None:
    found = missing("made", TEXT, TEXT, TEXT, Both("沒有回覆", "no replies"))
    assert (found.n, found.tables, found.charts) == (0, (), ())
    assert "no replies" in found.finding.en and "沒有回覆" in found.finding.zh


def set_to(path: tuple[Any, ...], value: object) -> Callable[[dict[str, Any]], None]:
    def change(record: dict[str, Any]) -> None:
        held: Any = record
        for key in path[:-1]:
            held = held[key]
        held[path[-1]] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        set_to(("n",), -1),
        set_to(("n",), True),
        set_to(("n",), "many"),
        set_to(("n",), 1.5),
        set_to(("title",), "text"),
        set_to(("title",), {"zh": "文", "en": ""}),
        set_to(("title",), {"zh": "文", "en": "x", "fr": "x"}),
        set_to(("finding",), {"zh": "文" * 5000, "en": "x"}),
        set_to(("extra",), 1),
        set_to(("tables",), {}),
        set_to(("tables", 0, "rows", 0), ["甲"]),
        set_to(("tables", 0, "rows", 0), ["甲", [1]]),
        set_to(("tables", 0, "rows", 0), ["甲", True]),
        set_to(("tables", 0, "rows"), [["甲", 1]] * 2001),
        set_to(("tables", 0, "columns", 1, "name"), "name"),
        set_to(("tables", 0, "columns"), []),
        set_to(("tables", 0, "columns", 0, "unit"), 3),
        set_to(("charts", 0, "spec", "data"), {"url": "https://example.org/x.json"}),
        set_to(("charts", 0, "spec", "data"), {}),
        set_to(("charts", 0, "spec", "params"), [{"name": "x", "expr": "1+1"}]),
        set_to(("charts", 0, "spec", "mark"), {"type": "bar", "HREF": "javascript:alert(1)"}),
        set_to(("charts", 0, "spec", "transform"), [{"calculate": "1", "as": "x"}]),
        set_to(("charts", 0, "spec", "height"), {"signal": "x"}),
        set_to(("charts", 0, "spec"), []),
        set_to(("charts",), [{"title": {"zh": "x", "en": "x"}, "spec": {"data": {"values": []}}}] * 21),
    ],
)
def test_a_payload_that_is_no_study_is_refused(change: Callable[[dict[str, Any]], None]) -> None:
    record = to_json(study())
    from_json("made", record)
    record = json.loads(json.dumps(record))
    change(record)
    with pytest.raises(StudyError, match="made"):
        from_json("made", record)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"n": NaN}', "x" * 9_000_000])
def test_a_payload_that_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(StudyError):
        read_payload("made", text)


def test_a_number_that_is_none_never_gets_into_a_table() -> None:
    table = Table(TEXT, (Column("value", TEXT),), ((float("nan"),),))
    with pytest.raises(StudyError, match="row 0"):
        study(tables=(table,))


def test_a_study_id_is_no_path() -> None:
    for name in ("../x", "A", "", "a/b", "a__b"):
        with pytest.raises(StudyError):
            Study(name, TEXT, TEXT, TEXT, TEXT, 0)


def test_every_kind_of_chart_is_inline() -> None:
    charts = [
        CHART,
        range_chart(TEXT, [{"name": "m", "value": 1, "low": 0, "high": 2, "series": "s"}], AXIS, AXIS),
        scatter(TEXT, [{"name": "m", "x": 1, "y": 2}], AXIS, AXIS),
    ]
    for chart in charts:
        check_spec("made", chart.spec)
    with pytest.raises(StudyError):
        study(charts=(Chart(TEXT, {"mark": "bar"}),))


def test_a_chart_that_holds_a_part_says_so() -> None:
    rows = [{"name": f"m{n}", "value": n, "low": n, "high": n, "x": n, "y": n} for n in range(300)]
    for chart in (
        bar_chart(TEXT, rows, AXIS),
        range_chart(TEXT, rows, AXIS),
        scatter(TEXT, rows, AXIS, AXIS),
    ):
        assert len(chart.spec["data"]["values"]) == 240
        assert "240 of 300" in chart.title.en and "共 300" in chart.title.zh


# -- shared arithmetic ------------------------------------------------------------------------------------------------


def test_the_paired_interval_is_the_published_one() -> None:
    # Bonett and Price (2012), by hand: n = 18 -> 20, only first 3 -> 4/20, only second 9 -> 10/20.
    # 0.5 - 0.2 = 0.3; variance (0.7 - 0.09) / 20 = 0.0305; half = 1.959964 * 0.174642 = 0.342293.
    pair = Paired(18, 3, 9)
    assert pair.points == pytest.approx(100 * 6 / 18)
    assert pair.interval == pytest.approx((-4.2293, 64.2293), abs=1e-3)
    # McNemar: 12 discordant, 3 and 9: p = 2 * (1 + 12 + 66 + 220) / 4096.
    assert pair.test.exact_p == pytest.approx(2 * 299 / 4096)


def test_without_an_item_nothing_is_said() -> None:
    assert (Paired(0, 0, 0).points, Paired(0, 0, 0).interval) == (None, (None, None))


def test_the_interval_of_rho() -> None:
    # z = atanh(0.5) = 0.549306; se = sqrt((1 + 0.125) / 25) = 0.212132; bounds tanh(z -+ 0.415772).
    assert rho_interval(0.5, 28) == pytest.approx((0.13275, 0.74646), abs=1e-4)
    assert rho_interval(0.5, 3) == rho_interval(None, 30) == (None, None)
    assert rho_interval(1.0, 10) == rho_interval(-1.0, 10) == (None, None)


def test_equal_scores_share_a_place() -> None:
    assert places([0.5, 0.9, 0.5, 0.1]) == [2, 1, 2, 4]


def test_a_complete_run_stands_before_a_later_one_that_lacks_items() -> None:
    def facts(run_id: str, *, complete: bool, started: str, budget: str = "box-1") -> Facts:
        return Facts(run_id, "m", "exam", budget, "box", 1, "strict", started=started, complete=complete)

    runs = [
        facts("a", complete=True, started="2026-01"),
        facts("b", complete=True, started="2026-02"),
        facts("c", complete=False, started="2026-03"),
        facts("d", complete=False, started="2026-03", budget="box-2"),
    ]
    assert [each.run_id for each in current(runs)] == ["b", "d"]
    assert run("m").facts.board == ("exam", "box")
