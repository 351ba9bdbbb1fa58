"""Charts: a Vega-Lite specification becomes an SVG that can stand inside a page.

What belongs here: which specifications are taken, drawing them, and what of the drawing may enter a page. Colours are
written as words of the stylesheet (static/board.css maps each to the theme), so that a chart follows light and dark.
What does not: which charts there are (figures.py).
A specification may come from outside (the studies' payloads). It may hold data and marks, never an address or an
expression; what comes out is rebuilt element by element from a list of what a drawing needs.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
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
    "axisX": {"tickCount": 6, "labelSeparation": 12},
    "padding": {"left": 8, "top": 5, "right": 12, "bottom": 5},
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
    element = ElementTree.fromstring(drawn)
    _make_room(element)
    made = _rebuilt(element)
    if not made.endswith("</svg>"):
        raise ChartError("nothing is drawn")
    return made


NARROW, WIDE = 0.66, 1.04
"""Widths of a letter and of a Chinese character in shares of the font's size, as wide as a system font draws them."""

EDGE = 4.0
"""Room kept beside a label, in the drawing's units."""

MOST_SIZE = 20_000.0
"""Largest width or height of a drawing: 240 marks of 20 pixels are a quarter of it."""

MOST_ROOM = 400.0
"""Most room that is added on a side: a text of a thousand letters must not shrink the drawing to a strip."""


def text_width(words: str, size: float) -> float:
    """How wide a text is at most in the font that a page draws it with, in the units of `size`."""
    return size * sum(WIDE if ord(char) > 0x2E7F else NARROW for char in words)


_STEP = re.compile(r"(translate|rotate|scale|matrix)\(([^()]*)\)")


def _make_room(root: ElementTree.Element) -> None:
    """Widen a drawing until every label fits in the font that the page draws it with.

    The page's font is the reader's, and may be wider than the one that labels are measured with here: a label of fifty
    letters then begins before the drawing's left edge, where it is cut. Raises ChartError for a drawing without a size,
    and for sizes and places that are no finite numbers.
    """
    try:
        width, height = (float(root.attrib[name]) for name in ("width", "height"))
        reach = [end for text in _texts(root, (1.0, 0.0, 0.0)) for end in text]
    except (KeyError, ValueError, IndexError):
        raise ChartError("a drawing whose sizes and places are no numbers") from None
    if not all(map(math.isfinite, (width, height, *reach))) or max(width, height) > MOST_SIZE:
        raise ChartError("a drawing reaches further than can be drawn")
    left = math.ceil(min(MOST_ROOM, max(0.0, EDGE - min(reach, default=EDGE))))
    right = math.ceil(min(MOST_ROOM, max(0.0, max(reach, default=0.0) + EDGE - width)))
    root.set("width", f"{width + left + right:g}")
    root.set("viewBox", f"{-left} 0 {width + left + right:g} {height:g}")


def _texts(element: ElementTree.Element, place: tuple[float, float, float]) -> Iterator[tuple[float, float]]:
    """(left, right) of every horizontal text that is seen; `place` is (a, c, e) of x' = a x + c y + e."""
    kind = element.tag.removeprefix(_SVG)
    if kind not in ("svg", "g", "text"):
        return
    place = _moved(place, element.get("transform", ""))
    if kind == "text" and element.get("opacity") != "0" and abs(place[0]) > 0.5:
        size = float((element.get("font-size") or "12").removesuffix("px"))
        long = text_width("".join(element.itertext()), size)
        start = place[0] * float(element.get("x") or 0) + place[1] * float(element.get("y") or 0) + place[2]
        before = {"end": 1.0, "middle": 0.5}.get(element.get("text-anchor", "start"), 0.0)
        yield start - before * long, start + (1 - before) * long
    for inner in element:
        yield from _texts(inner, place)


def _moved(place: tuple[float, float, float], transform: str) -> tuple[float, float, float]:
    a, c, e = place
    for kind, given in _STEP.findall(transform):
        by = [float(each) for each in re.split(r"[ ,]+", given.strip()) if each]
        if kind == "translate":
            e += a * by[0] + c * (by[1] if len(by) > 1 else 0.0)
        elif kind == "rotate" and len(by) == 1:
            cos, sin = math.cos(math.radians(by[0])), math.sin(math.radians(by[0]))
            a, c = a * cos + c * sin, c * cos - a * sin
        else:
            raise ChartError(f"a drawing is placed by {kind}, which is not known here")
    return a, c, e


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
