"""The scatter of two axes: the best are named, best first, and its caption says how many."""

from __future__ import annotations

from typing import Any

from opentwbench.board.charts import draw
from opentwbench.board.pages import LABEL_PLACES, LABELLED, _named, _scatter


def rows(*scores: tuple[float, float]) -> list[dict[str, Any]]:
    return [{"model": f"maker/model-{n}", "x": x, "y": y, "tuned": n == 0} for n, (x, y) in enumerate(scores)]


def test_a_second_best_beside_the_best_is_named_too() -> None:
    near = rows((0.80, 0.70), (0.799, 0.699), (0.60, 0.50), (0.40, 0.30), (0.30, 0.60))
    named = _named(near)
    assert [name for name, _ in named] == [f"model-{n}" for n in range(5)]
    assert named[0][1] != named[1][1], "two names at one place would stand on each other"
    svg = draw(_scatter(near, named))
    assert all(f">model-{n}<" in svg for n in range(5))


def test_nobody_is_passed_over() -> None:
    crowd = rows((0.9, 0.9), *((0.8 + n % 5 / 500, 0.5 + n // 5 / 500) for n in range(40)), (0.1, 0.1), (0.05, 0.2))
    named = [name for name, _ in _named(crowd)]
    order = [row["model"].removeprefix("maker/") for row in sorted(crowd, key=lambda row: (-row["x"], -row["y"]))]
    assert 1 <= len(named) < LABELLED and named == order[: len(named)]


def test_at_most_so_many_are_named_and_each_has_a_place() -> None:
    wide = rows(*((n / 20, n / 20) for n in range(1, 18)))
    named = _named(wide)
    assert len(named) == LABELLED
    assert all(0 <= place < len(LABEL_PLACES) for _, place in named)


def test_equal_scores_are_drawn() -> None:
    same = rows((0.5, 0.5), (0.5, 0.5), (0.5, 0.5))
    assert draw(_scatter(same, _named(same))).endswith("</svg>")
