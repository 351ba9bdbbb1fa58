"""Which pages the site has, and what each shows: rows of the mart become the contexts of templates.

What belongs here: choosing, joining and ordering what a page shows. What does not: queries (queries.py), words
(templates, words.py) and forms of numbers (text.py).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from opentwbench.apparatus.result import Study, StudyError, read_payload
from opentwbench.apparatus.rows import shown
from opentwbench.apparatus.studies import STUDIES
from opentwbench.board import rag_page, text, words
from opentwbench.board.charts import ACCENT, INK, MUTED, SECOND, ChartError, check_spec, text_width
from opentwbench.board.queries import Mart, Row
from opentwbench.board.rendering import Figure, Links, Page, item_path, model_path, study_path, subject_path
from opentwbench.board.studies import findings_of, shown_table
from opentwbench.board.words import Both
from opentwbench.dataset.study import CERTAIN, CHANCE, committed_study
from opentwbench.dataset.terms import CHECKS
from opentwbench.exam.subjects import REGISTRY
from opentwbench.statistics.intervals import wilson

FIRST = "index.html"

NAVIGATION = (
    ("leaderboard", FIRST, "排行榜", "Leaderboard"),
    ("benchmarks", "benchmarks.html", "基準", "Benchmarks"),
    ("subjects", "subjects.html", "科目", "Subjects"),
    ("apparatus", "apparatus.html", "量測研究", "Apparatus"),
    ("methodology", "methodology.html", "方法", "Methodology"),
    ("changes", "changes.html", "異動", "Changes"),
    ("cite", "cite.html", "引用", "Cite"),
)
"""Section, page, and its two names; every page has a counterpart under the same name."""

AXES_MIN = 3
"""Models that a scatter of two axes needs, as the rank correlation does."""

LABELLED = 6
"""Most models named inside the scatter: the best on the first axis; the table names all."""

STRENGTHS = 6
"""Subjects listed as strengths, and as weaknesses."""

MOST_ROWS = 2_000
"""Rows of a list of changes on one page; the rest is counted."""

X, Y = "@x@", "@y@"
"""Placeholders of axis titles in drawings that both languages share."""


@dataclass(frozen=True)
class Board:
    """One leaderboard: a benchmark under one protocol name."""

    benchmark: str
    protocol_name: str
    rows: list[Row]
    path: str

    @property
    def ranked_by(self) -> str:
        """The method that ranks."""
        return str(self.rows[0]["ranked_by"])

    @property
    def versions(self) -> list[str]:
        """Every data-set version behind a row."""
        return sorted({row["dataset_version"] or "" for row in self.rows})

    @property
    def items(self) -> int:
        """Replies of the fullest run to one repeat: the items of the scored set."""
        return max(int(row["n"]) // max(int(row["repeats"]), 1) for row in self.rows)

    @property
    def domain(self) -> tuple[float, float]:
        """The shares between which intervals are drawn: tens of percent that hold every interval of a row."""
        lows = [row["accuracy_low"] for row in self.rows if row["accuracy"] is not None]
        highs = [row["accuracy_high"] for row in self.rows if row["accuracy"] is not None]
        if not lows:
            return 0.0, 1.0
        return math.floor(10 * min(lows)) / 10, math.ceil(10 * max(highs)) / 10

    @property
    def families(self) -> list[str]:
        """Families that models are said to belong to."""
        return sorted({row["family"] for row in self.rows if row["family"]})

    @property
    def others(self) -> list[str]:
        """Benchmarks of another axis on which a row has a score under the same protocol, in the order of boards."""
        found = {name for row in self.rows for name in row["elsewhere"]}
        return sorted((name for name in found if _axis_of(name) != _axis_of(self.benchmark)), key=_benchmark_place)


def _axis_of(benchmark: str) -> str:
    return words.AXES.get(benchmark, benchmark)


def _benchmark_place(name: str) -> tuple[int, str]:
    order = words.BENCHMARK_ORDER
    return (order.index(name) if name in order else len(order), name)


def run_identity(run_id: str) -> str:
    """Eight hex digits that name a run inside a page."""
    return hashlib.sha256(run_id.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def boards(mart: Mart) -> list[Board]:
    """Every board, the one that opens the site first: of a complete run, exam before Formosa, box before others."""
    grouped: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    scores: defaultdict[tuple[str, str, str], dict[str, float]] = defaultdict(dict)
    for row in mart.board:
        if row["is_complete"] and row["accuracy"] is not None:
            scores[row["model"], row["protocol_id"], row["serving_precision"]][row["benchmark"]] = row["accuracy"]
    for row in mart.board:
        elsewhere = scores[row["model"], row["protocol_id"], row["serving_precision"]]
        grouped[row["benchmark"], row["protocol_name"]].append(
            {
                **row,
                "identity": run_identity(row["run_id"]),
                "elsewhere": _Scores({n: s for n, s in elsewhere.items() if n != row["benchmark"]}),
            }
        )
    ordered = sorted(
        grouped.items(),
        key=lambda each: (
            not any(row["is_complete"] for row in each[1]),
            _benchmark_place(each[0][0]),
            each[0][1] != "box",
            each[0][1],
        ),
    )
    return [
        Board(*names, rows, FIRST if n == 0 else f"board-{text.slug(' '.join(names))}.html")
        for n, (names, rows) in enumerate(ordered)
    ]


class _Scores(dict[str, float]):
    """Benchmark -> score; None for one that a model was not asked."""

    def __missing__(self, name: str) -> None:
        return None


@dataclass(frozen=True)
class Site:
    """The pages of a mart; items are given one by one, because there are many."""

    mart: Mart
    links: Links

    def common(self) -> dict[str, Any]:
        """What every page may show."""
        latest = max((row["started"] for row in self.mart.runs if row["started"]), default=None)
        return {
            "navigation": (*NAVIGATION[:2], rag_page.ENTRY, *NAVIGATION[2:]) if self.has_rag else NAVIGATION,
            "has_rag": self.has_rag,
            "digest": self.mart.digest,
            "latest": text.day(latest),
            "sample": any(row["is_sample"] for row in self.mart.board),
            "mixed": not all(row["is_sample"] for row in self.mart.board),
            "links": self.links,
            "sizes": words.SIZES,
            "has_items": frozenset(row["item_id"] for rows in self.mart.item_index.values() for row in rows),
            "has_models": frozenset(row["model"] for row in self.mart.board)
            | frozenset(row["model"] for row in self.mart.submissions if row["model"]),
            "withdrawn": {row["item_id"]: row for row in self.mart.withdrawals},
            "rekeyed": {row["item_id"]: row for row in self.mart.key_changes},
        }

    @property
    def has_rag(self) -> bool:
        """Whether there are figures of the retrieval track, and so a page of them."""
        return rag_page.has_figures(self.mart.rag)

    def pages(self) -> Iterator[Page]:
        """Every page but those of items."""
        made = boards(self.mart)
        yield from _leaderboards(self.mart, made)
        yield _benchmarks(self.mart, made)
        yield from rag_page.rag_pages(self.mart.rag)
        yield from _subjects(self.mart, made)
        yield from _models(self.mart, made)
        yield _methodology(self.mart)
        yield from _apparatus(self.mart)
        yield _changes(self.mart)
        yield _cite(self.mart)

    def item_pages(self, items: Iterator[Row]) -> Iterator[Page]:
        """A page for each evaluated item."""
        for item in items:
            title = Both(f"試題 {item['item_id']}", f"Item {item['item_id']}")
            yield Page(item_path(item["item_id"]), "item.html.j2", "subjects", title, {"item": item})


def _leaderboards(mart: Mart, made: list[Board]) -> Iterator[Page]:
    title = Both("排行榜", "Leaderboard")
    about = Both(
        "大型語言模型的臺灣知識評測：分數附信賴區間、讀取率與執行條件。",
        "How well language models know Taiwan: scores with intervals, parse rates and how each was run.",
    )
    if not made:
        empty: dict[str, Any] = {"boards": made, "board": None, "first": True, "axes": None}
        yield Page(FIRST, "leaderboard.html.j2", "leaderboard", title, empty, about)
    for n, board in enumerate(made):
        benchmark = words.BENCHMARKS.get(board.benchmark, Both(board.benchmark, board.benchmark))
        if n:
            title = Both(f"{benchmark.zh}（{board.protocol_name}）", f"{benchmark.en} ({board.protocol_name})")
        context: dict[str, Any] = {"boards": made, "board": board, "first": n == 0, "axes": _axes(mart, board)}
        yield Page(board.path, "leaderboard.html.j2", "leaderboard", title, context, about)


def _axes(mart: Mart, board: Board) -> dict[str, Any] | None:
    """The scatter of this board's benchmark and the first other one, None with too few models on both."""
    if not board.others:
        return None
    other = board.others[0]
    rows = [
        {"model": row["model"], "x": row["accuracy"], "y": row["elsewhere"][other], "tuned": bool(row["taiwan_tuned"])}
        for row in board.rows
        if row["is_complete"] and row["accuracy"] is not None and row["elsewhere"][other] is not None
    ]
    if len(rows) < AXES_MIN:
        return None
    names = [words.BENCHMARKS.get(each, Both(each, each)) for each in (board.benchmark, other)]
    pair = sorted((board.benchmark, other))
    agreement = [
        row
        for row in mart.agreement
        if row["kind"] == "benchmark"
        and [row["benchmark_a"], row["benchmark_b"]] == pair
        and row["protocol_a"] == row["protocol_b"] == board.protocol_name
        and row["spearman"] is not None
    ]
    named = _named(rows)
    figure = Figure(
        "axes",
        _scatter(rows, named),
        Both(f"{names[0].zh}與{names[1].zh}", f"{names[0].en} and {names[1].en}"),
        Both(
            f"每個點是一個模型，共 {len(rows)} 個；橫軸與縱軸都是正確率（%），橘色為臺灣調校。"
            f"標出第一軸最高的 {len(named)} 個；旁邊的表列出全部。",
            f"Each point is one of {len(rows)} models; both axes are scores in percent; orange is Taiwan-tuned. "
            f"The best {len(named)} on the first axis {'is' if len(named) == 1 else 'are'} named; the table lists all.",
        ),
        {X: Both(f"{names[0].zh}，正確率 (%)", f"{names[0].en}, score (%)"),
         Y: Both(f"{names[1].zh}，正確率 (%)", f"{names[1].en}, score (%)")},
    )  # fmt: skip
    return {"figure": figure, "x": board.benchmark, "y": other, "rows": rows, "agreement": agreement}


def _axis(field: str, title: str, **more: Any) -> dict[str, Any]:
    return {"field": field, "type": "quantitative", "title": title, **more}


PLOT = (620, 400)
"""Width and height of the scatter in its own units."""

POINT_ROOM = 12
"""Units kept free beside the outermost points."""

LABEL_SIZE = 11

LABEL_PLACES = (("right", -9, 4), ("left", 9, 4), ("center", 0, -9), ("center", 0, 17))
"""Where a name may stand at its point, in the order tried: alignment, and where its base line lies from the point."""


def _scatter(rows: Sequence[Mapping[str, Any]], named: Sequence[tuple[str, int]]) -> dict[str, Any]:
    values = [
        {"x": round(100 * row["x"], 2), "y": round(100 * row["y"], 2), "tuned": "1" if row["tuned"] else "0"}
        for row in rows
    ]
    best = _best_first(rows)
    labels = [
        {"x": round(100 * row["x"], 2), "y": round(100 * row["y"], 2), "label": label, "place": place}
        for row, (label, place) in zip(best, named, strict=False)
    ]
    # Not nice: where a name fits is reckoned from the ends of the data.
    scale = {"zero": False, "nice": False, "padding": POINT_ROOM}
    x, y = _axis("x", X, scale=scale), _axis("y", Y, scale=scale)
    colour = {"field": "tuned", "type": "nominal", "legend": None,
              "scale": {"domain": ["0", "1"], "range": [ACCENT, SECOND]}}  # fmt: skip
    names = [
        {
            "data": {"values": [each for each in labels if each["place"] == place]},
            "mark": {"type": "text", "align": align, "baseline": "alphabetic", "dx": dx, "dy": dy,
                     "fontSize": LABEL_SIZE},
            "encoding": {"x": x, "y": y, "text": {"field": "label", "type": "nominal"}},
        }
        for place, (align, dx, dy) in enumerate(LABEL_PLACES)
        if any(each["place"] == place for each in labels)
    ]  # fmt: skip
    return {
        "width": PLOT[0],
        "height": PLOT[1],
        "data": {"values": values},
        "layer": [{"mark": {"type": "point"}, "encoding": {"x": x, "y": y, "color": colour}}, *names],
    }


def _best_first(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(rows, key=lambda row: (-row["x"], -row["y"], row["model"]))


def _named(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """(name, index of LABEL_PLACES) of the best on the first axis, best first, until one finds no free place.

    Nobody is passed over: a reader takes the first without a name to be worse than every one that has one.
    """
    sides = []
    for field, size in zip(("x", "y"), PLOT, strict=True):
        least, most = min(row[field] for row in rows), max(row[field] for row in rows)
        sides.append((least, (size - 2 * POINT_ROOM) / (most - least or 1.0)))
    (left, wide), (low, high) = sides

    def at(row: Mapping[str, Any]) -> tuple[float, float]:
        return POINT_ROOM + (row["x"] - left) * wide, PLOT[1] - POINT_ROOM - (row["y"] - low) * high

    points = [(x - 5, y - 5, x + 5, y + 5) for x, y in map(at, rows)]
    taken: list[tuple[float, float, float, float]] = []
    found: list[tuple[str, int]] = []
    for row in _best_first(rows)[:LABELLED]:
        label = text.shorten(text.visible(row["model"]).replace("\n", " ").rpartition("/")[2], 24)
        boxes = [_label_box(at(row), label, place) for place in LABEL_PLACES]
        free = (n for n, box in enumerate(boxes) if box[0] >= 0 and not any(_meet(box, o) for o in [*points, *taken]))
        place = next(free, None)
        if place is None:
            break
        taken.append(boxes[place])
        found.append((label, place))
    return found


def _label_box(
    point: tuple[float, float], label: str, place: tuple[str, int, int]
) -> tuple[float, float, float, float]:
    (x, y), (align, dx, dy) = point, place
    long = text_width(label, LABEL_SIZE)
    start = x + dx - {"right": 1.0, "center": 0.5, "left": 0.0}[align] * long
    return start, y + dy - LABEL_SIZE, start + long, y + dy + 3


def _meet(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _decoding(recorded: str) -> str:
    """What a protocol asks of decoding besides its budget, in words: 'temperature 0.0'."""
    try:
        found = json.loads(recorded)
    except ValueError:
        return recorded
    if not isinstance(found, dict):
        return recorded
    return ", ".join(f"{name} {value}" for name, value in sorted(found.items()) if name != "max_tokens")


def _benchmarks(mart: Mart, made: list[Board]) -> Page:
    spread = Counter[str]()
    exam = [row for row in mart.subject_items if row["field"] not in words.OTHER_TRACKS]
    names = {row["dataset"] for row in exam}
    for row in mart.versions:
        # The other tracks put options in order by a hash: their spread is made, not found.
        if row["is_current"] and row["dataset"] in names:
            spread.update({letter: row[f"key_{letter}"] for letter in "abcd"})
    keyed = sum(spread.values())
    context = {
        "boards": made,
        "datasets": exam,
        "formosa": next((row for row in mart.subject_items if row["dataset"] == words.FORMOSA), None),
        "formosa_path": subject_path(words.FORMOSA),
        "items": sum(row["items"] for row in exam),
        "scored": sum(row["scored"] for row in exam),
        "protocols": [
            {**row, "decoding": _decoding(row["decoding"])}
            for row in sorted(mart.protocols.values(), key=lambda row: (row["name"], row["max_tokens"]))
        ],
        "keys": [(letter.upper(), spread[letter], spread[letter] / keyed if keyed else None) for letter in "abcd"],
    }
    title = Both("基準與協定", "Benchmarks and protocols")
    return Page("benchmarks.html", "benchmarks.html.j2", "benchmarks", title, context)


def _subjects(mart: Mart, made: list[Board]) -> Iterator[Page]:
    board = made[0] if made else None
    typical = mart.typical.get((board.benchmark, board.protocol_name), {}) if board else {}
    known = {row["dataset"]: row for row in mart.subject_items}
    asked = {name for of in mart.typical.values() for name in of} | set(mart.item_index)
    fields: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    without: defaultdict[str, list[str]] = defaultdict(list)
    for slug in [*REGISTRY, *sorted((asked | set(known)) - set(REGISTRY))]:
        field = REGISTRY[slug].field if slug in REGISTRY else (known[slug]["field"] if slug in known else "")
        if slug in asked or slug in known:
            fields[field].append({"slug": slug, "set": known.get(slug), "typical": typical.get(slug)})
        else:
            without[field].append(slug)
    context = {
        "fields": sorted(fields.items(), key=_field_place),
        "without": sorted(without.items(), key=_field_place),
        "missing": sum(map(len, without.values())),
        "board": board,
    }
    yield Page("subjects.html", "subjects.html.j2", "subjects", Both("科目", "Subjects"), context)
    for entries in fields.values():
        for entry in entries:
            yield _subject(mart, made, entry["slug"], entry["set"])


def _field_place(entry: tuple[str, object]) -> tuple[bool, bool, str]:
    """Fields by name, what is no field of study after them."""
    return (entry[0] not in words.FIELDS, entry[0] in ("", *words.OTHER_TRACKS), entry[0])


def _subject(mart: Mart, made: list[Board], slug: str, dataset: Row | None) -> Page:
    tables: list[dict[str, Any]] = []
    for board in made:
        typical = mart.typical.get((board.benchmark, board.protocol_name), {}).get(slug)
        rows = []
        for row in board.rows:
            cell = next((c for c in mart.subject_scores.get(row["run_id"], ()) if c["subject"] == slug), None)
            if cell is not None:
                rows.append({**row, "cell": cell})
        if rows:
            rows.sort(key=lambda row: (row["cell"]["accuracy"] is None, -(row["cell"]["accuracy"] or 0), row["model"]))
            tables.append(
                {"board": board, "rows": rows, "typical": typical, "figure": _distribution(rows, typical, len(tables))}
            )
    found = REGISTRY.get(slug)
    title = Both(found.name_zh, found.name_en) if found else words.DATA_SETS.get(slug, Both(slug, slug))
    context = {
        "slug": slug,
        "names": found,
        "dataset": dataset,
        "tables": tables,
        "accounting": _account(mart.accounting.get(slug, ())),
        "keys": mart.key_consistency.get(slug),
        "checks": [row for row in mart.checks if row["dataset"] == slug],
        "items": mart.item_index.get(slug, []),
    }
    return Page(subject_path(slug), "subject.html.j2", "subjects", title, context)


def _distribution(rows: Sequence[Row], typical: Row | None, number: int) -> Figure | None:
    scores = [row["cell"]["accuracy"] for row in rows if row["is_complete"] and row["cell"]["accuracy"] is not None]
    if len(scores) < AXES_MIN or typical is None:
        return None
    axis = _axis("x", X, scale={"domain": [0, 100]})
    spec = {
        "width": 620,
        "height": 46,
        "layer": [
            {
                "data": {"values": [{"x": round(100 * score, 2)} for score in sorted(scores)]},
                "mark": {"type": "tick", "color": ACCENT, "thickness": 2, "size": 26, "opacity": 0.75},
                "encoding": {"x": axis},
            },
            {
                "data": {"values": [{"x": round(100 * typical["typical"], 2)}]},
                "mark": {"type": "tick", "color": SECOND, "thickness": 3, "size": 46},
                "encoding": {"x": axis},
            },
        ],
    }
    return Figure(
        f"spread-{number}",
        spec,
        Both("各模型的正確率", "Scores of all models"),
        Both(
            f"每條短線是一個模型，共 {len(scores)} 個；橘線是中位數 {text.percent(typical['typical'])}%。數字見下表。",
            f"Each line is one of {len(scores)} models; the orange line is the median, "
            f"{text.percent(typical['typical'])}%. The table below has the figures.",
        ),
        {X: Both("正確率 (%)", "Score (%)")},
    )


def _account(lines: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Section -> its total and its parts, the largest first; nothing that counts zero."""
    made: dict[str, dict[str, Any]] = {}
    for section in ("questions", "papers"):
        of = [row for row in lines if row["section"] == section]
        total = next((row["count"] for row in of if row["line"] == "total"), 0)
        if total:
            parts = sorted(
                (row for row in of if row["line"] != "total" and row["count"]), key=lambda row: -row["count"]
            )
            made[section] = {"total": total, "parts": parts}
    return made


def _models(mart: Mart, made: list[Board]) -> Iterator[Page]:
    runs: defaultdict[str, list[tuple[Board, Row]]] = defaultdict(list)
    for board in made:
        for row in board.rows:
            runs[row["model"]].append((board, row))
    places = {row["run_id"]: row for board in made for row in board.rows}
    for name in {row["model"] for row in mart.submissions if row["model"]}:
        runs.setdefault(name, [])
    logged = _grouped(mart.runs, "model")
    failures = _free_text(mart)
    stated = [{**row, "provenance": mart.provenance.get(row["submission_id"], [])} for row in mart.submissions]
    sent = _grouped(stated, "model")
    for model, own in sorted(runs.items()):
        context = {
            "model": model,
            "card": own[0][1] if own else None,
            "runs": [_run(mart, board, row, places, n) for n, (board, row) in enumerate(own)],
            "log": logged.get(model, []),
            "submissions": [
                {**row, "provenance": mart.provenance.get(row["submission_id"], [])} for row in sent.get(model, [])
            ],
            "protocols": mart.protocols,
            "free_text": findings_of(failures, shown(model)) if failures else [],
            "free_text_page": study_path("free_text"),
        }
        yield Page(model_path(model), "model.html.j2", "leaderboard", Both(model, model), context)


def _free_text(mart: Mart) -> Study | None:
    """The study of failures in free text, None where the mart has none that can be read."""
    payload = next((row["payload"] for row in mart.studies if row["study_id"] == "free_text"), None)
    if payload is None:
        return None
    try:
        return read_payload("free_text", payload)
    except StudyError:
        return None


def _grouped(rows: Sequence[Row], column: str) -> dict[str, list[Row]]:
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row[column]].append(row)
    return found


def _run(mart: Mart, board: Board, row: Row, places: Mapping[str, Row], number: int) -> dict[str, Any]:
    key = (board.benchmark, board.protocol_name)
    typical, fields = mart.typical.get(key, {}), mart.field_typical.get(key, {})
    cells = []
    for cell in mart.subject_scores.get(row["run_id"], ()):
        usual = typical[cell["subject"]]["typical"] if cell["subject"] in typical else None
        beside = None if usual is None or cell["accuracy"] is None else cell["accuracy"] - usual
        cells.append({**cell, "usual": usual, "beside": beside})
    clear = [cell for cell in cells if cell["beside"] is not None]
    above = sorted((c for c in clear if c["accuracy_low"] > c["usual"]), key=lambda c: -c["beside"])
    below = sorted((c for c in clear if c["accuracy_high"] < c["usual"]), key=lambda c: c["beside"])
    pairs = [
        {**pair, "accuracy": places[pair["run_id"]]["accuracy"], "band": places[pair["run_id"]]["rank_band"]}
        for pair in mart.pairs.get(row["run_id"], ())
        if pair["run_id"] in places
    ]
    return {
        "board": board,
        "row": row,
        "cells": cells,
        "above": above[:STRENGTHS],
        "below": below[:STRENGTHS],
        "fields": [{**each, "usual": fields.get(each["field"])} for each in mart.field_scores.get(row["run_id"], ())],
        "alarms": mart.alarms.get(row["run_id"], []),
        "failures": mart.failures.get(row["run_id"], []),
        "pairs": sorted(pairs, key=lambda pair: (-(pair["accuracy"] or 0), pair["model"])),
        "years": _years(mart.year_scores.get(row["run_id"], []), number),
        "protocol": mart.protocols.get(row["protocol_id"]),
    }


def _years(rows: Sequence[Row], number: int) -> dict[str, Any] | None:
    rows = [row for row in rows if row["accuracy"] is not None]
    if len(rows) < AXES_MIN:
        return None
    values = [
        {"x": row["year_ce"], "y": round(100 * row["accuracy"], 2), "low": round(100 * row["accuracy_low"], 2),
         "high": round(100 * row["accuracy_high"], 2)}
        for row in rows
    ]  # fmt: skip
    x = _axis("x", X, axis={"format": "d", "tickMinStep": 1}, scale={"zero": False, "padding": 10})
    y = _axis("y", Y, scale={"domain": [0, 100]})
    spec = {
        "width": 620,
        "height": 190,
        "data": {"values": values},
        "layer": [
            {"mark": {"type": "rule", "color": MUTED},
             "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}}},
            {"mark": {"type": "line", "color": ACCENT, "strokeWidth": 1.5}, "encoding": {"x": x, "y": y}},
            {"mark": {"type": "point", "color": INK, "size": 34}, "encoding": {"x": x, "y": y}},
        ],
    }  # fmt: skip
    figure = Figure(
        f"years-{number}",
        spec,
        Both("依考試年度", "By sitting year"),
        Both(
            "每點是一個考試年度的正確率（%），直線是 95% 信賴區間。"
            "在模型訓練之後的年度明顯下降，可能表示較早的題目曾被看過。",
            "Each point is the score (%) on one sitting year, the bar its 95% interval. A fall after a model was "
            "trained may mean that earlier items had been seen.",
        ),
        {X: Both("考試年度（西元）", "Sitting year (CE)"), Y: Both("正確率 (%)", "Score (%)")},
    )
    return {"figure": figure, "rows": rows}


def _interval(hits: int, n: int) -> str:
    found = wilson(hits, n)
    return text.bounds(found.low, found.high)


def _methodology(mart: Mart) -> Page:
    study = committed_study()
    checks = []
    for name in CHECKS:
        verdicts = [row for row in mart.checks if row["check_name"] == name]
        of = study.get(name)
        checks.append(
            {
                "name": name,
                "judged": len(verdicts),
                "passed": sum(bool(row["passed"]) for row in verdicts),
                "study": of,
                "caught": _interval(of.caught, of.planted) if of else "",
                "alarms": _interval(of.false_alarms, of.native) if of else "",
            }
        )
    context = {
        "accounting": _account(mart.accounting.get("all", ())),
        "keys": mart.key_consistency.get("all"),
        "checks": checks,
        "certain": study.get(CERTAIN),
        "chance": study.get(CHANCE),
        "rates": {n: _interval(s.caught, s.planted) for n in (CERTAIN, CHANCE) if (s := study.get(n))},
        "suspects": sum(row["key_is_suspect"] for rows in mart.item_index.values() for row in rows),
        "evaluated": sum(map(len, mart.item_index.values())),
        "withdrawals": len(mart.withdrawals),
    }
    title = Both("資料如何製成", "How the data are made")
    return Page("methodology.html", "methodology.html.j2", "methodology", title, context)


def _apparatus(mart: Mart) -> Iterator[Page]:
    readable, refused = [], []
    order = {name: place for place, name in enumerate(STUDIES)}
    for row in sorted(mart.studies, key=lambda row: (order.get(row["study_id"], len(order)), row["study_id"])):
        try:
            readable.append((row["study_id"], read_payload(row["study_id"], row["payload"])))
        except StudyError as error:
            refused.append((row["study_id"], str(error)))
    title = Both("量測研究", "Apparatus studies")
    context = {"studies": readable, "refused": refused}
    yield Page("apparatus.html", "apparatus.html.j2", "apparatus", title, context)
    for study_id, study in readable:
        figures, broken = study_figures(study)
        name = Both(study.title.zh, study.title.en)
        tables = [shown_table(table) for table in study.tables]
        context = {"study": study, "tables": tables, "figures": figures, "broken": broken}
        yield Page(study_path(study_id), "study.html.j2", "apparatus", name, context)


def study_figures(study: Study) -> tuple[list[Figure], list[str]]:
    """The charts of a study that are taken, and why each of the others is not."""
    figures, broken = [], []
    for n, chart in enumerate(study.charts):
        try:
            check_spec(chart.spec)
        except ChartError as error:
            broken.append(str(error))
            continue
        title = Both(chart.title.zh, chart.title.en)
        about = Both("數字見下方的表。", "The tables below hold the figures.")
        figures.append(Figure(f"study-{n}", chart.spec, title, about))
    return figures, broken


def _changes(mart: Mart) -> Page:
    # A run whose score no version moved says nothing of a change: it is counted. No score now is no zero.
    history = [row for row in mart.score_history if row["beside_current"] != 0]
    context = {
        "versions": mart.versions,
        "version_changes": {(row["dataset"], row["dataset_version"]): row for row in mart.version_changes},
        "key_changes": mart.key_changes[:MOST_ROWS],
        "withdrawals": mart.withdrawals[:MOST_ROWS],
        "removed": mart.removed[:MOST_ROWS],
        "history": history[:MOST_ROWS],
        "unmoved": len(mart.score_history) - len(history),
        "more": {
            "keys": max(0, len(mart.key_changes) - MOST_ROWS),
            "withdrawals": max(0, len(mart.withdrawals) - MOST_ROWS),
            "removed": max(0, len(mart.removed) - MOST_ROWS),
            "history": max(0, len(history) - MOST_ROWS),
        },
    }
    return Page("changes.html", "changes.html.j2", "changes", Both("異動", "Changes"), context)


def _cite(mart: Mart) -> Page:
    sent = mart.submissions
    context = {"articles": mart.articles, "submissions": sent, "bibtex": BIBTEX, "cff": CFF}
    return Page("cite.html", "cite.html.j2", "cite", Both("引用與出處", "Citation and attribution"), context)


BIBTEX = """@misc{opentwbench2026,
  title  = {OpenTWBench: An Open Evaluation Suite for Taiwan-Domain Knowledge},
  author = {Huang, Liang-Hsun},
  year   = {2026},
  url    = {https://opentwbench.ai}
}
"""
"""As the published data cards have it."""

CFF = """cff-version: 1.2.0
message: If you use these data or results, please cite them as below.
title: "OpenTWBench: An Open Evaluation Suite for Taiwan-Domain Knowledge"
type: dataset
authors:
  - family-names: Huang
    given-names: Liang-Hsun
date-released: "2026-11-30"
url: "https://opentwbench.ai"
references:
  - type: data
    title: "tw-exam-bench and its data sets by subject"
    authors:
      - name: "Ministry of Examination, Taiwan"
    license: OGDL-Taiwan-1.0
    license-url: "https://data.gov.tw/license"
  - type: data
    title: "tw-formosa-bench and tw-rag-bench, adapted from Taiwan.md"
    authors:
      - name: "Che-Yu Wu and the contributors of Taiwan.md"
    license: CC-BY-SA-4.0
    license-url: "https://creativecommons.org/licenses/by-sa/4.0/"
"""
"""The data sets have two licences, those of their cards, so each is stated where it holds: a list under `license` would
offer a choice (Citation File Format 1.2.0, `license`). The code's licence is another, and no data set is under it."""


def without_figures(page: Page, reasons: list[str]) -> Page:
    """A study's page whose charts could not be drawn: its tables stay, and it says why the charts are missing."""
    return replace(page, context={**page.context, "figures": [], "broken": reasons})
