"""Study 3: two budgets item by item, the loop detector on planted and native texts, and what it says without input."""

from __future__ import annotations

import pytest
from support.apparatus import cells, inputs, run
from support.evaluation import boxed, make_item, make_response

from opentwbench.apparatus.loops import Loop, loop
from opentwbench.apparatus.result import MissingInput
from opentwbench.apparatus.rows import Run
from opentwbench.apparatus.studies import conduct
from opentwbench.apparatus.thinking_budget import budget_pairs, compare, study
from opentwbench.evaluation.model import ErrorClass, Graded
from opentwbench.evaluation.scoring import grade

ITEMS = [make_item(n) for n in range(10)]
LOOP = "選項看起來合理，但仍須再確認一次。" * 20


def replies(word: str, tokens: int) -> list[Graded]:
    """+ right, - wrong, u unread, c cut in a loop, ! an error; one letter an item."""
    made = []
    for item, letter in zip(ITEMS, word, strict=True):
        other = "ABCD"["ABCD".index(item.key) - 1]
        text = {"+": boxed(item, item.key), "-": boxed(item, other), "u": "不知道", "c": LOOP, "!": None}[letter]
        reason = "length" if letter == "c" else "stop"
        error = ErrorClass.TIMEOUT if letter == "!" else ErrorClass.NONE
        made.append(
            grade(
                make_response(
                    item, text, finish_reason=reason, completion_tokens=tokens, latency_ms=tokens, error=error
                ),
                item.key,
            )
        )
    return made


SMALL = run("m", budget=4096, texts=replies("++++-ccu-!", 100))
LARGE = run("m", budget=16384, texts=replies("++u-+++c-+", 250))


def test_transitions_by_hand() -> None:
    found = compare(SMALL, LARGE)
    moved = found.moved
    # Nine items with a reply in both. Before: 4 right, 3 unread; after: 5 right, 2 unread.
    assert (moved.items, moved.before.hits, moved.after.hits) == (9, 4, 5)
    assert (moved.rescued, moved.lost) == (2, 1)  # items 5 and 6; item 2
    assert moved.unparsed_before.hits - moved.unparsed_after.hits == moved.rescued - moved.lost == 1
    assert (found.right.only_first, found.right.only_second) == (2, 3)
    assert found.right.test.exact_p == pytest.approx(1.0)
    assert (found.first.capped, found.first.loops, found.second.capped, found.second.loops) == (2, 2, 1, 1)
    assert (found.cost_ratio, moved.time_ratio) == (2.5, 2.5)


def test_the_study() -> None:
    found = study(inputs(LARGE, SMALL))
    assert found.n == 9
    assert cells(found, 0, "small", "large", "n", "only_first", "only_second") == [(4096, 16384, 9, 2, 3)]
    assert cells(found, 1, "rescued", "lost", "churn", "exact_p") == [(2, 1, 3, 1.0)]
    assert cells(found, 2, "capped_before", "loops_before", "loops_after", "cost_ratio") == [(2, 2, 1, 2.5)]


def test_tokens_that_are_not_stated_are_no_cost() -> None:
    silent = [grade(make_response(item, "", completion_tokens=None), item.key) for item in ITEMS]
    found = compare(SMALL, Run(LARGE.facts, (), silent))
    assert found.cost_ratio is None


def test_the_published_budget_figures() -> None:
    # facts: 130 rescued and 103 newly lost net to the change in unparsed: 27 fewer, 15.9 -> 14.0 % of about 1,421.
    from opentwbench.apparatus.figures import Paired
    from opentwbench.statistics.paired import mcnemar

    assert mcnemar(103, 130).exact_p == pytest.approx(0.0883, abs=0.001)
    assert Paired(1_421, 103, 130).points == pytest.approx(1.9, abs=0.01)


@pytest.mark.parametrize(
    "runs",
    [
        (),
        (SMALL,),
        (SMALL, run("m", budget=16384, complete=False, texts=LARGE.texts)),
        (SMALL, run("other", budget=16384, texts=LARGE.texts)),
        (SMALL, run("m", budget=16384, protocol="pattern", texts=LARGE.texts)),
        (SMALL, run("m", budget=16384, texts=[])),
    ],
)
def test_without_two_budgets_it_says_so(runs: tuple[Run, ...]) -> None:
    with pytest.raises(MissingInput, match="two token budgets"):
        study(inputs(*runs))
    found = conduct("thinking_budget", inputs(*runs))
    assert (found.n, found.tables) == (0, ())


def test_three_budgets_are_two_comparisons() -> None:
    middle = run("m", budget=8192, texts=LARGE.texts)
    found = budget_pairs([LARGE, SMALL, middle])
    assert [(a.facts.max_tokens, b.facts.max_tokens) for a, b in found] == [(4096, 8192), (8192, 16384)]


# -- the detector -----------------------------------------------------------------------------------------------------

PASSAGE = "因此選項甲看起來合理，但仍須再確認一次。"
PLANTED = [
    PASSAGE * 10,
    "先看題目。\n" + PASSAGE * 10 + PASSAGE[:7],
    "<think>" + "Wait, let me check again. " * 12,
    "x" + "A" * 200,
    "前言" * 3 + ("一段較長的論述，" * 9 + "如此而已。") * 6,
    PASSAGE * 5_000,
    "選" * 150,
]
NATIVE = [
    "",
    None,
    "\\boxed{A}",
    "。" * 500,
    "-" * 500 + "\n",
    PASSAGE * 3,
    "甲、乙、丙、丁，" * 4 + "故選甲。",
    PASSAGE * 30 + "重新想過之後，結論是完全不同的另一件事，因此最後的答案應該是丙。",
    "\n".join(f"第 {n} 點：比對條文、用語與例外規定，第 {n * n} 項尚待釐清。" for n in range(60)),
    "哈哈哈哈哈",
    "0 1 1 2 3 5 8 13 21 34 55 89 144 233 377 610 987 1597 2584 4181 6765 10946 17711 28657 46368 75025 121393 196418",
]


@pytest.mark.parametrize("text", PLANTED)
def test_a_planted_loop_is_found(text: str) -> None:
    assert loop(text) is not None


@pytest.mark.parametrize("text", NATIVE)
def test_a_native_text_is_no_loop(text: str | None) -> None:
    assert loop(text) is None


def test_the_passage_and_its_times() -> None:
    found = loop("開頭。" + "看來是甲。再想想。" * 20)
    assert found is not None and found == Loop(found.unit, 20)
    assert sorted(found.unit) == sorted("看來是甲。再想想。")
