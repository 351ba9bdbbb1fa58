"""Study 10: rates by hand, and what it says without texts."""

from __future__ import annotations

import pytest
from support.apparatus import cells, inputs, run
from support.evaluation import boxed, make_item, make_response

from opentwbench.apparatus.free_text import comes_and_goes, count, study
from opentwbench.apparatus.result import MissingInput
from opentwbench.apparatus.rows import Run
from opentwbench.apparatus.studies import conduct
from opentwbench.evaluation.model import ErrorClass, Graded
from opentwbench.evaluation.scoring import grade

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
    assert dict(counts.with_any) == {"minguo": 1, "simplified": 1, "glyphs": 1}
    assert counts.findings["simplified"] == 2  # 这 and 说: 个 is written in Hakka
    assert (counts.right["minguo"], counts.all_right) == (1, 2)


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


def test_thinking_is_not_what_a_reader_sees() -> None:
    counts = count([run("m", texts=replies("<think>这个</think>說明"))])["m"]
    assert counts.with_any == {}


@pytest.mark.parametrize(
    "runs",
    [(), (run("m"),), (run("m", texts=replies(None)),), (run("m", protocol="box-placeholder", texts=CLEAN.texts),)],
)
def test_without_texts_it_says_so(runs: tuple[Run, ...]) -> None:
    with pytest.raises(MissingInput, match="no stored reply"):
        study(inputs(*runs))
    assert conduct("free_text", inputs(*runs)).n == 0
