"""Arithmetic and charts that several studies share.

What belongs here: intervals of differences and of Spearman's rho, ranks, and chart specifications with inline data.
What does not: what is compared (one module a study) and intervals of one share (statistics.intervals).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opentwbench.apparatus.result import NOTHING, Both, Cell, Chart, Column
from opentwbench.evaluation.model import Rate
from opentwbench.evaluation.protocols import BOX
from opentwbench.statistics.intervals import Z95, rounded_outwards
from opentwbench.statistics.paired import McNemar, mcnemar

SIGNIFICANT = 0.05
"""Level of the tests, as the intervals are 95%."""

MAX_MARKS = 240
"""Most marks of one chart: beyond, it is a smear, and its title says that there are more. The table holds every row."""


@dataclass(frozen=True, slots=True)
class Paired:
    """Two conditions on the same `n` items: items right under one of them only, and what follows."""

    n: int
    only_first: int
    only_second: int

    @property
    def test(self) -> McNemar:
        """McNemar's test on the discordant items."""
        return mcnemar(self.only_first, self.only_second)

    @property
    def points(self) -> float | None:
        """Second less first, in percentage points; None without an item."""
        return 100 * (self.only_second - self.only_first) / self.n if self.n else None

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """95% interval of `points`: the adjusted Wald interval for paired proportions.

        Source: D. G. Bonett, R. M. Price, "Adjusted Wald confidence interval for a difference of binomial proportions
        based on paired data", Journal of Educational and Behavioral Statistics 37 (2012), equation 4: one discordant
        item added to each kind and two to n.
        """
        if not self.n:
            return None, None
        n = self.n + 2
        first, second = (self.only_first + 1) / n, (self.only_second + 1) / n
        half = Z95 * math.sqrt((first + second - (second - first) ** 2) / n)
        centre = second - first
        return 100 * max(-1.0, centre - half), 100 * min(1.0, centre + half)


def paired(first: Mapping[str, bool], second: Mapping[str, bool]) -> Paired:
    """Two conditions by item id -> right; items of only one are left out."""
    shared = first.keys() & second.keys()
    lost = sum(first[item] and not second[item] for item in shared)
    won = sum(second[item] and not first[item] for item in shared)
    return Paired(len(shared), lost, won)


def rho_interval(rho: float | None, n: int) -> tuple[float | None, float | None]:
    """95% interval of Spearman's rho over n pairs; None, None for fewer than four pairs, no rho, and a rho of 1
    or -1, whose z is infinite: a perfect order of five models is no certainty.

    Fisher's z with the variance (1 + rho^2 / 2) / (n - 3). Source: D. G. Bonett, T. A. Wright, "Sample size
    requirements for estimating Pearson, Kendall and Spearman correlations", Psychometrika 65 (2000), equation 3.
    """
    if rho is None or n < 4 or abs(rho) > 1 - 1e-12:
        return None, None
    z, half = math.atanh(rho), Z95 * math.sqrt((1 + rho * rho / 2) / (n - 3))
    return math.tanh(z - half), math.tanh(z + half)


def places(values: Sequence[float]) -> list[int]:
    """The place of each value; the largest is 1, equal values share a place."""
    return [1 + sum(other > value for other in values) for value in values]


def percent(of: Rate) -> tuple[Cell, Cell, Cell]:
    """A rate in percent with the ends of its interval; None where nothing was counted."""
    return (None, None, None) if of.value is None else (share(of.value), share(of.low), share(of.high))


def share(value: float | None) -> float | None:
    """A share as percent, to four digits after the point, so that a page that shows one digit rounds only once."""
    return None if value is None else round(100 * value, 4)


def points(value: float | None) -> float | None:
    """Percentage points, to a hundredth."""
    return None if value is None else round(value, 2)


def rounded(value: float | None) -> float | None:
    """A coefficient, to four digits after the point."""
    return None if value is None else round(value, 4)


def p_value(value: float) -> float:
    """A p value to four significant digits."""
    return float(f"{value:.4g}")


# -- words ------------------------------------------------------------------------------------------------------------

BENCHMARKS: Mapping[str, Both] = {
    "exam": Both("國家考試（全部）", "National examinations (all items)"),
    "exam_sample": Both("國家考試", "National examinations"),
    "formosa": Both("認識臺灣", "Everyday Taiwan"),
    "rag": Both("檢索問答", "Retrieval"),
}
"""What benchmarks are called in texts and charts; one that is not known as it is."""


def benchmark_name(benchmark: str) -> Both:
    """The name of a benchmark in both languages."""
    return BENCHMARKS.get(benchmark, Both(benchmark, benchmark))


def board_name(benchmark: str, protocol: str) -> Both:
    """The name of a board: its benchmark, and its protocol where that is not the usual one."""
    name = benchmark_name(benchmark)
    return name if protocol == BOX.name else Both(f"{name.zh}（{protocol}）", f"{name.en}, {protocol}")


def signed(value: float, digits: int = 1) -> str:
    """A difference in a sentence: its sign always, the true minus."""
    return f"{value:+.{digits}f}".replace("-", "\u2212")


def plain(value: float, digits: int = 2) -> str:
    """A coefficient in a sentence, with the true minus."""
    return f"{value:.{digits}f}".replace("-", "\u2212")


def outwards(low: float, high: float, digits: int = 2) -> tuple[str, str]:
    """The ends of an interval in a sentence, rounded outwards as in every table: it never looks narrower than it is."""
    below, above = rounded_outwards(low, high, digits)
    return plain(below, digits), plain(above, digits)


# -- columns ----------------------------------------------------------------------------------------------------------

BENCHMARK = Column("benchmark", Both("評測集", "benchmark"))
PROTOCOL = Column("protocol", Both("協定", "protocol"))
MODEL = Column("model", Both("模型", "model"))
METHOD = Column("method", Both("擷取法", "extraction"))
N = Column("n", Both("題數", "items"), "items")
ACCURACY = Column("accuracy", Both("正確率", "accuracy"), "%")
LOW = Column("low", Both("95% 下界", "95% low"), "%")
HIGH = Column("high", Both("95% 上界", "95% high"), "%")
PARSED = Column("parsed", Both("可擷取率", "parse rate"), "%")
RANK = Column("rank", Both("名次", "rank"))
POINTS = Column("points", Both("差距，後減前", "difference, second less first"), "points")
POINTS_LOW = Column("points_low", Both("差距 95% 下界", "difference, 95% low"), "points")
POINTS_HIGH = Column("points_high", Both("差距 95% 上界", "difference, 95% high"), "points")
EXACT_P = Column("exact_p", Both("McNemar 精確檢定 p", "McNemar, exact p"))
RHO = Column("rho", Both("Spearman ρ", "Spearman's rho"))
RHO_LOW = Column("rho_low", Both("ρ 95% 下界", "rho, 95% low"))
RHO_HIGH = Column("rho_high", Both("ρ 95% 上界", "rho, 95% high"))


def paired_columns(first: Both, second: Both) -> tuple[Column, ...]:
    """The seven columns of `paired_cells`."""
    only_first = Column("only_first", Both(f"只有{first.zh}答對", f"right only: {first.en}"), "items")
    only_second = Column("only_second", Both(f"只有{second.zh}答對", f"right only: {second.en}"), "items")
    return N, only_first, only_second, POINTS, POINTS_LOW, POINTS_HIGH, EXACT_P


def paired_cells(pair: Paired) -> tuple[Cell, ...]:
    """A paired comparison: n, right under one only (twice), difference in points with its interval, exact p."""
    low, high = pair.interval
    exact = p_value(pair.test.exact_p)
    # The ends keep four digits: rounded twice, an end could come to lie inside the interval.
    return pair.n, pair.only_first, pair.only_second, points(pair.points), rounded(low), rounded(high), exact


# -- charts -----------------------------------------------------------------------------------------------------------


def range_chart(title: Both, rows: Sequence[Mapping[str, Cell]], axis: Both, series: Both = NOTHING) -> Chart:
    """Points with their intervals: rows hold `name`, `value`, `low`, `high` and, with `series`, a `series` each.

    Texts in both languages are `Both.in_one`, as everywhere in a chart.
    """
    values = [dict(row) for row in rows[:MAX_MARKS]]
    y: dict[str, Any] = {"field": "name", "type": "nominal", "title": None, "sort": None, "axis": {"labelLimit": 420}}
    colour = _colour(series)
    offset = {"yOffset": {"field": "series", "type": "nominal", "sort": None}} if series.en else {}
    bounds = {"field": "low", "type": "quantitative", "title": axis.in_one(), "scale": {"zero": False}}
    spec = {
        "width": 520,
        "height": {"step": 9, "for": "offset"} if series.en else {"step": 20},
        "data": {"values": values},
        "layer": [
            {
                "mark": {"type": "rule"},
                "encoding": {"y": y, "x": bounds, "x2": {"field": "high"}, **colour, **offset},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 50},
                "encoding": {"y": y, "x": {"field": "value", "type": "quantitative"}, **colour, **offset},
            },
        ],
    }
    return Chart(_bounded(title, len(rows)), spec)


def _bounded(title: Both, marks: int) -> Both:
    if marks <= MAX_MARKS:
        return title
    return Both(f"{title.zh}（前 {MAX_MARKS} 筆，共 {marks:,} 筆）", f"{title.en} (the first {MAX_MARKS} of {marks:,})")


def _colour(series: Both) -> dict[str, Any]:
    if not series.en:
        return {}
    legend = {"labelLimit": 360}
    # In the order of the rows, so that a series has one colour in both languages.
    colour = {"field": "series", "type": "nominal", "title": series.in_one(), "legend": legend, "sort": None}
    return {"color": colour}


def _ticks(rows: Sequence[Mapping[str, Cell]]) -> dict[str, Any]:
    return {"axis": {"tickMinStep": 1}} if all(isinstance(row["value"], int) for row in rows) else {}


def bar_chart(title: Both, rows: Sequence[Mapping[str, Cell]], axis: Both, series: Both = NOTHING) -> Chart:
    """Bars: rows hold `name`, `value` and, with `series`, a `series` each (stacked)."""
    values, colour = [dict(row) for row in rows[:MAX_MARKS]], _colour(series)
    if series.en:
        # Stacked as the legend lists them; by name the order would be another one in each language.
        order = list(dict.fromkeys(row["series"] for row in values))
        values = [{**row, "order": order.index(row["series"])} for row in values]
        colour["order"] = {"field": "order", "type": "quantitative"}
    spec = {
        "width": 520,
        "data": {"values": values},
        "mark": {"type": "bar"},
        "encoding": {
            "y": {"field": "name", "type": "nominal", "title": None, "sort": None, "axis": {"labelLimit": 420}},
            # Counts have no tick between two of them.
            "x": {"field": "value", "type": "quantitative", "title": axis.in_one(), **_ticks(rows)},
            **colour,
        },
    }
    return Chart(_bounded(title, len(rows)), spec)


def scatter(title: Both, rows: Sequence[Mapping[str, Cell]], x: Both, y: Both, series: Both = NOTHING) -> Chart:
    """Points by two scores: rows hold `name`, `x`, `y` and, with `series`, a `series` each."""
    colour = _colour(series)
    spec = {
        "width": 420,
        "height": 420,
        "data": {"values": [dict(row) for row in rows[:MAX_MARKS]]},
        "mark": {"type": "point", "filled": True, "size": 60},
        "encoding": {
            "x": {"field": "x", "type": "quantitative", "title": x.in_one(), "scale": {"zero": False}},
            "y": {"field": "y", "type": "quantitative", "title": y.in_one(), "scale": {"zero": False}},
            "tooltip": {"field": "name", "type": "nominal"},
            **colour,
        },
    }
    return Chart(_bounded(title, len(rows)), spec)
