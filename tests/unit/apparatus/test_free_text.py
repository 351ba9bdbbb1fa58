"""Study 10: rates by hand, and what it says without texts."""

from __future__ import annotations

from collections import Counter

import pytest
from support.apparatus import cells, inputs, run
from support.evaluation import boxed, make_item, make_response

from opentwbench.apparatus.detectors import DETECTORS
from opentwbench.apparatus.free_text import by_item, comes_and_goes, count, rate_of, study
from opentwbench.apparatus.result import MissingInput
from opentwbench.apparatus.rows import Run
from opentwbench.apparatus.studies import conduct
from opentwbench.evaluation.model import ErrorClass, Graded
from opentwbench.evaluation.scoring import grade
from opentwbench.statistics.intervals import wilson

ITEMS = [make_item(n) for n in range(8)]


def replies(*texts: str | None, right: int = 8) -> list[Graded]:
    """One reply an item: the text and a box, right for the first `right` items; None is an error."""
    made = []
    for n, (item, text) in enumerate(zip(ITEMS, texts, strict=False)):
        letter = item.key if n < right else "ABCD"["ABCD".index(item.key) - 1]
        error = ErrorClass.TIMEOUT if text is None else ErrorClass.NONE
        content = None if text is None else text + boxed(item, letter)
        made.append(grade(make_response(item, content, error=error), item.key))
    return made


FIRST = run(
    "m",
    texts=replies("民國87年（1997年）。", "民國87年（1998年）。", "这个说明", "說明", None, "字\ue000", right=2),
)
SECOND = run("m", benchmark="exam_sample", texts=replies("民國87年。", "民國87年（1999年）。", "这是"))
CLEAN = run("clean", texts=replies(*["應選敘述正確者。"] * 8))


def test_rates_by_hand() -> None:
    counts = count([FIRST])["m"]
    assert counts.replies == 5
    assert counts.findings["simplified"] == 2  # 这 and 说: 个 is written in Hakka
    tallies = by_item([counts])
    assert sum((each.having for each in tallies.values()), Counter()) == {"minguo": 1, "simplified": 1, "glyphs": 1}
    assert sum(each.right_having["minguo"] for each in tallies.values()) == 1
    assert sum(each.right for each in tallies.values()) == 2


def test_an_item_counts_once_however_often_it_is_asked() -> None:
    """The same replies under three conditions are the same items: no rate moves, and no interval gets narrower."""
    once = [each for each in FIRST.texts if not each.response.error]
    again = [run("m", benchmark=name, budget=budget, texts=once)
             for name, budget in (("exam", 4096), ("exam", 16384), ("exam_sample", 4096))]  # fmt: skip
    one, three = study(inputs(again[0])), study(inputs(*again))
    assert one.n == three.n == 5
    assert [row[0] for row in cells(three, 0, "replies")] == [15] * 4
    rates = ("failure", "items", "share", "low", "high")
    assert cells(one, 0, *rates) == cells(three, 0, *rates)
    columns = ("having", "right", "right_low", "right_high", "others", "others_right", "others_low", "others_high")
    assert cells(one, 1, *columns) == cells(three, 1, *columns)
    bounds = wilson(1, 5)
    assert cells(three, 0, "low", "high")[0] == pytest.approx((100 * bounds.low, 100 * bounds.high), abs=1e-3)


def test_the_rate_is_the_mean_of_the_items() -> None:
    # exam: item 1 of five replies; exam_sample: item 1 of three. Item 0 clean, then wrong in one of two replies.
    tallies = by_item([count([FIRST, SECOND])["m"]])
    found = rate_of(tallies.values(), "minguo")
    # Items 0 and 1 have it in one of two replies each; 2, 3 and 5 in none: (1/2 + 1/2) / 5.
    assert (found.items, found.value) == (5, pytest.approx(0.2))
    assert rate_of(tallies.values(), "simplified").value == pytest.approx(1 / 5)
    assert set(tallies[ITEMS[0].item_id].having) <= set(DETECTORS)


def test_two_models_on_one_item_are_one_item_of_the_whole() -> None:
    found = study(inputs(FIRST, run("other", texts=FIRST.texts)))
    assert found.n == 10
    assert "5 items (each once a model, n = 10)" in found.finding.en
    assert cells(found, 1, "having", "others")[0] == (1, 4)


def test_the_study() -> None:
    found = study(inputs(FIRST, CLEAN))
    assert found.n == 13
    rates = {row[:2]: row[2:] for row in cells(found, 0, "model", "failure", "found", "share")}
    assert rates["m", "wrong Minguo year"] == (1, 20.0)
    assert rates["clean", "Simplified characters"] == (0, 0.0)
    assert "U+E000" in [row[0] for row in cells(found, 3, "passage")]


def test_the_same_item_asked_again() -> None:
    counts = count([FIRST, SECOND])["m"]
    # exam: only item 0; exam_sample: only item 1. Simplified: item 2 both times.
    assert comes_and_goes(counts, "minguo") == (3, 1, 1)
    assert comes_and_goes(counts, "simplified") == (3, 0, 0)
    assert cells(study(inputs(FIRST, SECOND)), 2, "n", "only_first", "only_second", "exact_p")[0] == (3, 1, 1, 1.0)


def test_another_budget_of_one_benchmark_is_no_second_benchmark() -> None:
    longer = run("m", budget=16384, texts=SECOND.texts)
    assert comes_and_goes(count([FIRST, longer])["m"], "minguo") == (0, 0, 0)
    # exam_sample is compared with the run under its own protocol, not with the longer one.
    assert comes_and_goes(count([FIRST, longer, SECOND])["m"], "minguo") == (3, 1, 1)


def test_thinking_is_not_what_a_reader_sees() -> None:
    counts = count([run("m", texts=replies("<think>这个</think>說明"))])["m"]
    assert counts.findings == {}


@pytest.mark.parametrize(
    "runs",
    [(), (run("m"),), (run("m", texts=replies(None)),), (run("m", protocol="box-placeholder", texts=CLEAN.texts),)],
)
def test_without_texts_it_says_so(runs: tuple[Run, ...]) -> None:
    with pytest.raises(MissingInput, match="no stored reply"):
        study(inputs(*runs))
    assert conduct("free_text", inputs(*runs)).n == 0
