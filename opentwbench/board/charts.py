"""Charts: a Vega-Lite specification becomes an SVG that can stand inside a page.

What belongs here: which specifications are taken, drawing them, and what of the drawing may enter a page. Colours are
written as words of the stylesheet (static/board.css maps each to the theme), so that a chart follows light and dark.
What does not: which charts there are (figures.py).
A specification may come from outside (the studies' payloads). It may hold data and marks, never an address or an
expression; what comes out is rebuilt element by element from a list of what a drawing needs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any
from xml.etree import ElementTree

import vl_convert
from markupsafe import Markup

MAX_SPEC_BYTES = 400_000
"""Largest specification as JSON: 110 models with every figure are a tenth of it."""

MAX_SVG_BYTES = 400_000
"""Largest drawing."""

MAX_DEPTH = 30

FORBIDDEN = frozenset(
    {
        "url", "href", "expr", "signal", "signals", "calculate", "filter", "labelExpr", "test", "params", "param",
        "usermeta", "datasets", "lookup", "loader", "projection", "image", "usedata", "update", "events", "on",
    }
)  # fmt: skip
"""Keys that name an address or an expression, or open a way to one. Nothing of what the board draws needs them."""

VERSION = "6.4"
"""Vega-Lite as vl-convert carries it."""

INK, MUTED, RULE, ACCENT, SECOND, THIRD, FOURTH = (
    "#1b2430", "#5c6673", "#d9dde2", "#0b6e6e", "#a4501f", "#5a4fa3", "#7a6a1e",
)  # fmt: skip
"""The light theme's colours; static/board.css gives the dark theme's for each."""

FONT = "sans-serif"
"""What labels are measured with. The page's own font draws them; measuring a list of fonts that are mostly absent takes
two to three times as long."""

CONFIG: Mapping[str, Any] = {
    "background": None,
    # The drawing has one name and description; its parts are read from the table beside it.
    "aria": False,
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "domainColor": MUTED,
        "tickColor": MUTED,
        "gridColor": RULE,
        "labelColor": MUTED,
        "titleColor": INK,
        "labelFontSize": 12,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "titlePadding": 10,
        "labelLimit": 260,
        "labelOverlap": True,
    },
    "axisX": {"tickCount": 8},
    # The page's font may be wider than the one that is measured here: room for the longest label of an axis.
    "padding": {"left": 44, "top": 5, "right": 12, "bottom": 5},
    "legend": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "orient": "bottom",
        "columnPadding": 28,
    },
    "point": {"color": ACCENT, "size": 60, "filled": True, "opacity": 0.85},
    "rule": {"color": ACCENT},
    "bar": {"color": ACCENT},
    "line": {"color": ACCENT},
    "text": {"color": INK, "fontSize": 12},
    "range": {"category": [ACCENT, SECOND, THIRD, FOURTH, MUTED]},
}

_SVG = "{http://www.w3.org/2000/svg}"
_ELEMENTS = frozenset({"svg", "g", "path", "rect", "line", "circle", "text", "tspan", "defs", "clipPath",
                       "linearGradient", "stop"})  # fmt: skip
_ATTRIBUTES = frozenset(
    {
        "width", "height", "viewBox", "transform", "d", "x", "y", "x1", "y1", "x2", "y2", "r", "cx", "cy", "rx", "ry",
        "dx", "dy", "fill", "fill-opacity", "fill-rule", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
        "stroke-dashoffset", "stroke-linecap", "stroke-linejoin", "stroke-miterlimit", "opacity", "text-anchor",
        "font-size", "font-weight", "font-style", "offset", "stop-color", "display",
    }
)  # fmt: skip


class ChartError(ValueError):
    """A specification that is not taken, or a drawing that may not enter a page. Says why."""


def check_spec(spec: object) -> None:
    """Raises ChartError for a specification with an address, an expression, too deep or too large a nesting.

    Inside `values` of inline data the keys are names of columns and free; their values are texts and numbers only.
    """
    if not isinstance(spec, Mapping):
        raise ChartError("a specification is a JSON object")
    try:
        encoded = json.dumps(spec, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise ChartError("a specification holds what JSON cannot") from None
    if len(encoded) > MAX_SPEC_BYTES:
        raise ChartError(f"a specification has more than {MAX_SPEC_BYTES} bytes")
    _walk(spec, 0)


def _walk(value: object, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ChartError(f"a specification is nested deeper than {MAX_DEPTH}")
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in FORBIDDEN:
                raise ChartError(f"a specification may not hold {key!r}: only data and marks are drawn")
            if key == "mark" and (inner == "image" or (isinstance(inner, Mapping) and inner.get("type") == "image")):
                raise ChartError("a specification may not draw a picture")
            if key == "values" and isinstance(inner, list):
                _check_values(inner)
            else:
                _walk(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _walk(inner, depth + 1)


def _check_values(values: list[Any]) -> None:
    for row in values:
        cells = row.values() if isinstance(row, Mapping) else (row,)
        if not all(cell is None or isinstance(cell, str | int | float | bool) for cell in cells):
            raise ChartError("data of a specification hold more than texts and numbers")


def draw(spec: Mapping[str, Any]) -> str:
    """The drawing of a specification as the inside of an SVG element with its size, without a name.

    Raises ChartError for a specification that is not taken or that Vega-Lite cannot draw.
    """
    check_spec(spec)
    whole = {**spec, "config": CONFIG, "$schema": f"https://vega.github.io/schema/vega-lite/v{VERSION}.json"}
    try:
        # No base URL is allowed: nothing is fetched, whatever a specification says.
        drawn = vl_convert.vegalite_to_svg(whole, vl_version=VERSION, allowed_base_urls=[])
    except ValueError as error:
        raise ChartError(f"Vega-Lite cannot draw it: {str(error).splitlines()[0][:200]}") from None
    if len(drawn) > MAX_SVG_BYTES:
        raise ChartError(f"a drawing has more than {MAX_SVG_BYTES} bytes")
    made = _rebuilt(ElementTree.fromstring(drawn))
    if not made.endswith("</svg>"):
        raise ChartError("nothing is drawn")
    return made


def _rebuilt(element: ElementTree.Element) -> str:
    name = element.tag.removeprefix(_SVG)
    if name not in _ELEMENTS:
        raise ChartError(f"a drawing may not hold {name!r}")
    kept = {key: value for key, value in element.attrib.items() if key in _ATTRIBUTES and _harmless(value)}
    if name == "path" and not kept.get("d"):
        return ""
    inside = escape(element.text or "", quote=False) + "".join(map(_rebuilt, element))
    if name == "g" and not inside:
        return ""
    if name == "g" and not kept:
        return inside
    shown = "".join(f' {key}="{escape(value)}"' for key, value in kept.items())
    return f"<{name}{shown}>{inside}</{name}>" if inside else f"<{name}{shown}/>"


def _harmless(value: str) -> bool:
    # url(#…) of a gradient or clip is the only reference a drawing makes; none is needed here.
    return "url(" not in value.lower() and ":" not in value


class Drawer:
    """Draws each specification once: pages in two languages and charts of equal figures share a drawing."""

    def __init__(self) -> None:
        self._drawn: dict[str, str] = {}
        self.asked = 0

    @property
    def drawn(self) -> int:
        """How many different charts were drawn."""
        return len(self._drawn)

    def chart(
        self, spec: Mapping[str, Any], identity: str, title: str, description: str, labels: Mapping[str, str]
    ) -> Markup:
        """An SVG for a page: `identity` is unique on the page, `title` and `description` are its name for readers.

        `labels` replace placeholders in the drawing, so that pages in two languages share it. Raises ChartError.
        """
        self.asked += 1
        key = json.dumps(spec, sort_keys=True, ensure_ascii=False)
        if key not in self._drawn:
            self._drawn[key] = draw(spec)
        attributes, _, inside = self._drawn[key].removeprefix("<svg").partition(">")
        for placeholder, words in labels.items():
            inside = inside.replace(f">{placeholder}<", f">{escape(words)}<")
        return Markup(
            f'<svg class="chart" role="img" aria-labelledby="{identity}-t {identity}-d"{attributes}>'
            f'<title id="{identity}-t">{escape(title)}</title>'
            f'<desc id="{identity}-d">{escape(description)}</desc>{inside}'
        )
