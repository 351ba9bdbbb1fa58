"""Drawings: what is refused, what is left of what Vega-Lite draws, and names that would do harm in one."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from opentwbench.board.charts import (
    EDGE,
    FORBIDDEN,
    MAX_DEPTH,
    MOST_ROOM,
    ChartError,
    Drawer,
    _make_room,
    _texts,
    check_spec,
    draw,
)

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


def test_a_label_has_room_in_a_wider_font_than_the_one_it_was_measured_with() -> None:
    """Fifty letters of 12 px are 396 px where a letter takes 0.66 of the size; they end 5 px left of the plot."""
    for name in ("m" * 50, "臺" * 25, "short"):
        root = ElementTree.fromstring(draw({**with_name(name), "encoding": LIMITED}).replace("<svg", '<svg id="x"', 1))
        left, _, width, _ = map(float, root.attrib["viewBox"].split())
        assert width == float(root.attrib["width"])
        ends = [end for text in _texts(root, (1.0, 0.0, 0.0)) for end in text]
        assert len(ends) > 4 and left <= min(ends) and max(ends) <= left + width
    assert left > -EDGE - 10, "a short one needs little"


LIMITED = {**BAR["encoding"], "y": {"field": "name", "type": "nominal", "title": None, "axis": {"labelLimit": 900}}}


def test_places_of_labels_by_hand() -> None:
    drawn = (
        '<svg><g transform="translate(10,5)"><g transform="translate(0.5,60.5)">'
        '<text text-anchor="end" transform="translate(-7,3)" font-size="10px">abcd</text>'
        '<text text-anchor="middle" x="50" font-size="20px">臺a</text>'
        '<text transform="translate(-40,30) rotate(-90)">turned</text><text opacity="0">unseen</text></g></g></svg>'
    )
    # 10 + 0.5 - 7 = 3.5, four letters of 6.6 before it; 60.5 with 20 * (1.04 + 0.66) = 34 around it.
    assert list(_texts(ElementTree.fromstring(drawn), (1.0, 0.0, 0.0))) == [
        (pytest.approx(3.5 - 26.4), pytest.approx(3.5)), (pytest.approx(43.5), pytest.approx(77.5)),
    ]  # fmt: skip
    with pytest.raises(ChartError, match="scale"):
        list(_texts(ElementTree.fromstring('<g transform="scale(2)"/>'), (1.0, 0.0, 0.0)))


@pytest.mark.parametrize(
    "inside",
    [
        '<text font-size="1e999px">a</text>', '<text font-size="NaN">a</text>', '<text font-size="large">a</text>',
        '<text x="far">a</text>', '<g transform="translate()"><text>a</text></g>',
        '<g transform="translate(1e999,0)"><text>a</text></g>', '<g transform="matrix(1,0,0,1,0,0)"><text>a</text></g>',
    ],
)  # fmt: skip
def test_places_that_are_no_numbers_are_refused(inside: str) -> None:
    with pytest.raises(ChartError):
        _make_room(ElementTree.fromstring(f'<svg width="10" height="10">{inside}</svg>'))


def test_room_is_bounded_and_a_drawing_without_a_size_is_refused() -> None:
    root = ElementTree.fromstring(f'<svg width="10" height="10"><text text-anchor="middle">{"a" * 9_000}</text></svg>')
    _make_room(root)
    assert root.attrib["viewBox"] == f"{-MOST_ROOM:g} 0 {10 + 2 * MOST_ROOM:g} 10"
    with pytest.raises(ChartError, match="no numbers"):
        _make_room(ElementTree.fromstring("<svg/>"))


def test_letters_beyond_all_bounds_are_refused() -> None:
    mark = {**with_name("a"), "mark": {"type": "text", "fontSize": 1e9, "text": "abc"}}
    with pytest.raises(ChartError, match="further than can be drawn"):
        draw(mark)
