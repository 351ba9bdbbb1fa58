"""Drawings: what is refused, what is left of what Vega-Lite draws, and names that would do harm in one."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from opentwbench.board.charts import FORBIDDEN, MAX_DEPTH, ChartError, Drawer, check_spec, draw

BAR: dict[str, Any] = {
    "width": 120,
    "data": {"values": [{"name": "a", "value": 3}, {"name": "b", "value": 1}]},
    "mark": "bar",
    "encoding": {
        "x": {"field": "value", "type": "quantitative", "title": "@x@"},
        "y": {"field": "name", "type": "nominal", "title": None},
    },
}


def with_name(name: str) -> dict[str, Any]:
    return {**BAR, "data": {"values": [{"name": name, "value": 1}]}}


def test_a_chart_is_drawn_with_its_name_and_words() -> None:
    drawer = Drawer()
    svg = str(drawer.chart(BAR, "c", "A & B", "Two <bars>.", {"@x@": "Count"}))
    ElementTree.fromstring(svg)
    assert '<title id="c-t">A &amp; B</title>' in svg and "Two &lt;bars&gt;." in svg
    assert ">Count<" in svg and "@x@" not in svg
    drawer.chart(BAR, "d", "again", "again", {"@x@": "數量"})
    assert (drawer.asked, drawer.drawn) == (2, 1)


@pytest.mark.parametrize("key", sorted(FORBIDDEN))
def test_what_reaches_out_or_is_evaluated_is_refused(key: str) -> None:
    for planted in ({**BAR, key: "x"}, {**BAR, "encoding": {**BAR["encoding"], "opacity": {"value": 1, key: "x"}}}):
        with pytest.raises(ChartError, match=key):
            check_spec(planted)


@pytest.mark.parametrize(
    "spec",
    [
        "text", None, [BAR], {**BAR, "mark": "image"}, {**BAR, "mark": {"type": "image"}},
        {**BAR, "data": {"values": [{"a": {"b": 1}}]}}, {**BAR, "width": float("nan")},
        {**BAR, "data": {"values": [{"a": "x" * 500_000}]}},
    ],
)  # fmt: skip
def test_no_other_specification_is_taken(spec: object) -> None:
    with pytest.raises(ChartError):
        check_spec(spec)


def test_depth_is_bounded() -> None:
    deep: dict[str, Any] = {}
    for _ in range(MAX_DEPTH + 2):
        deep = {"layer": [deep]}
    with pytest.raises(ChartError, match="nested"):
        check_spec(deep)
    # Columns of data are free to have any name.
    check_spec({**BAR, "data": {"values": [{"url": "x", "expr": "y"}]}})


def test_what_vega_cannot_draw_is_said() -> None:
    with pytest.raises(ChartError, match="cannot draw"):
        draw({**BAR, "mark": "no such mark"})


@pytest.mark.parametrize(
    "name",
    ["<script>alert(1)</script>", "</text><image href='x'/>", "javascript:alert(1)", '"><g onload=x>', "url(#x)"],
)
def test_names_stay_text(name: str) -> None:
    svg = draw(with_name(name))
    root = ElementTree.fromstring(svg)
    names = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert names <= {"svg", "g", "path", "text", "rect", "line", "circle", "tspan", "defs", "clipPath"}
    assert not any(key.startswith("on") or "href" in key for element in root.iter() for key in element.attrib)
    assert not any("url(" in value.lower() for element in root.iter() for value in element.attrib.values())
