"""Outcomes, rates and summaries against counts made by hand; planted defects of a key and of two equal options."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.evaluation import boxed, make_item, make_response

from opentwbench.evaluation.journal import Journal
from opentwbench.evaluation.model import AskedItem, ErrorClass, Graded, Outcome, Response
from opentwbench.evaluation.protocols import PATTERN
from opentwbench.evaluation.runs import score as score_folder
from opentwbench.evaluation.scoring import ScoringError, grade, rate, summarise, to_json

ITEM = make_item(2)  # key C


def judged(content: str | None, method: str = "strict", **changes: object) -> Outcome:
    return grade(make_response(ITEM, content, **changes), ITEM.key).outcomes[method]


# -- one response ----------------------------------------------------------------------------------------------------


def test_seven_things_stay_apart() -> None:
    assert judged(boxed(ITEM, "C")) is Outcome.CORRECT
    assert judged(boxed(ITEM, "A")) is Outcome.WRONG
    assert judged("本題考憲法增修條文。") is Outcome.UNPARSED
    assert judged("抱歉，我無法回答這個問題。") is Outcome.REFUSED
    assert judged("I’m sorry, but I can’t help with that.") is Outcome.REFUSED
    assert judged("", finish_reason="content_filter") is Outcome.REFUSED
    assert judged("") is judged(None) is judged(" \n") is Outcome.EMPTY
    assert judged("先看 A 項", finish_reason="length") is Outcome.CAPPED
    assert judged(None, finish_reason="length", reasoning="想") is Outcome.CAPPED
    assert judged(None, error=ErrorClass.TIMEOUT, finish_reason=None) is Outcome.ERROR
    assert judged(boxed(ITEM, "C"), error=ErrorClass.SERVER) is Outcome.ERROR


def test_a_cut_reply_with_a_box_is_read() -> None:
    assert judged(boxed(ITEM, "C"), finish_reason="length") is Outcome.CORRECT


def test_a_refusal_far_inside_a_reply_is_none() -> None:
    assert judged("本題" * 400 + "總統不能選擇") is Outcome.UNPARSED


def test_each_method_has_its_own_outcome() -> None:
    graded = grade(make_response(ITEM, f"答案是 {'ABCD'[make_response(ITEM, '').option_order.index('C')]}。"), "C")
    assert graded.outcomes["strict"] is Outcome.UNPARSED
    assert graded.outcomes["lenient"] is Outcome.CORRECT
    assert graded.readings["lenient"].rule == "marked"


def test_twinkles_letter_that_is_no_option_is_wrong_and_parsed() -> None:
    graded = grade(make_response(ITEM, r"\boxed{W}", PATTERN), "C")
    assert graded.outcomes["twinkle-box"] is Outcome.WRONG
    assert graded.outcomes["strict"] is Outcome.UNPARSED


@pytest.mark.parametrize("key", ["", "E", "c", "AB", "甲"])
def test_a_key_that_is_no_option_is_refused(key: str) -> None:
    with pytest.raises(ScoringError, match="key"):
        grade(make_response(ITEM, ""), key)


@pytest.mark.parametrize("order", ["", "ABC", "AABC", "ABCE"])
def test_an_order_that_is_none_is_refused(order: str) -> None:
    with pytest.raises(ScoringError, match="order"):
        grade(make_response(ITEM, "", option_order=order), "C")


# -- planted defects -------------------------------------------------------------------------------------------------


def test_of_two_options_with_identical_text_only_the_keyed_one_is_right() -> None:
    """By text, the later letter silently becomes the key (weak point 1 of the published protocol)."""
    for n in range(60):
        for key, twin in (("A", "D"), ("D", "A"), ("B", "C"), ("C", "B")):
            options = {"A": "甲", "B": "乙", "C": "丙", "D": "丁"} | {key: "同文", twin: "同文"}
            item = make_item(n, options=options, key=key)
            assert grade(make_response(item, boxed(item, key)), key).outcomes["strict"] is Outcome.CORRECT
            assert grade(make_response(item, boxed(item, twin)), key).outcomes["strict"] is Outcome.WRONG


def test_a_planted_wrong_key_moves_exactly_its_item() -> None:
    items = {item.item_id: item for item in (make_item(n) for n in range(40))}
    planted = make_item(7)
    wrong = {**items, planted.item_id: replace(planted, key="A" if planted.key != "A" else "B")}
    responses = [make_response(item, boxed(item, item.key)) for item in items.values()]
    assert score(responses, items)["methods"]["strict"]["micro"]["hits"] == 40
    found = score(responses, wrong)["methods"]["strict"]
    assert found["micro"]["hits"] == 39
    assert (
        found["by_subject"][planted.subject]["correct"]["hits"]
        == score(responses, items)["methods"]["strict"]["by_subject"][planted.subject]["correct"]["hits"] - 1
    )


# -- summaries -------------------------------------------------------------------------------------------------------


def graded(responses: Iterable[Response], items: dict[str, AskedItem]) -> Iterable[Graded]:
    return (grade(response, items[response.item_id].key) for response in responses if response.item_id in items)


def score(responses: Iterable[Response], items: dict[str, AskedItem]) -> dict:  # type: ignore[type-arg]
    found: dict = json.loads(json.dumps(to_json(summarise(graded(responses, items), items)), allow_nan=False))  # type: ignore[type-arg]
    return found


ITEMS = {item.item_id: item for item in (make_item(n) for n in range(30))}


def mixed() -> list[Response]:
    """30 items in three subjects of ten: 12 right, 6 wrong, 4 unparsed, 2 empty, 2 capped, 1 refused, 3 errors."""
    contents: list[tuple[str | None, dict[str, object]]] = [("right", {})] * 12 + [("wrong", {})] * 6
    contents += [("不確定", {})] * 4 + [(None, {})] * 2 + [("嗯", {"finish_reason": "length"})] * 2
    contents += [("我不能回答", {})] + [(None, {"error": ErrorClass.TIMEOUT})] * 2
    contents += [(None, {"error": ErrorClass.CONTEXT_OVERFLOW})]
    made = []
    for item, (content, changes) in zip(ITEMS.values(), contents, strict=True):
        other = "A" if item.key != "A" else "B"
        text = {"right": boxed(item, item.key), "wrong": boxed(item, other) + boxed(item, item.key)}.get(
            content or "", content
        )
        made.append(make_response(item, text, **changes))
    return made


def test_counts_made_by_hand() -> None:
    found = summarise(graded(mixed(), ITEMS), ITEMS)
    strict = found.methods["strict"]
    assert (found.responses, found.replies, found.complete) == (30, 27, False)
    assert found.errors == {ErrorClass.TIMEOUT: 2, ErrorClass.CONTEXT_OVERFLOW: 1}
    assert (found.error_rate.hits, found.error_rate.n) == (3, 30)
    assert sum(found.errors_by_subject.values()) == 3
    assert (found.cap_hits.hits, found.cap_hits.n) == (2, 27)
    assert (found.several_boxes.hits, found.several_boxes.n) == (6, 27)
    assert (strict.micro.hits, strict.micro.n) == (12, 27)  # an error is no wrong answer
    assert (strict.parsed.hits, strict.parsed.n) == (18, 27)
    assert (strict.on_parsed.hits, strict.on_parsed.n) == (12, 18)
    assert strict.outcomes == {
        Outcome.CORRECT: 12,
        Outcome.WRONG: 6,
        Outcome.UNPARSED: 4,
        Outcome.EMPTY: 2,
        Outcome.CAPPED: 2,
        Outcome.REFUSED: 1,
        Outcome.ERROR: 3,
    }
    assert strict.rules == {"box": 18, "none": 7, "empty": 2}
    assert found.methods["tolerant-box"].micro.hits == 18  # there the second box counts
    for cells in (strict.by_subject, strict.by_field, strict.by_year):
        assert sum(cell.correct.hits for cell in cells.values()) == 12
        assert sum(cell.correct.n for cell in cells.values()) == 27
        assert sum(cell.parsed.hits for cell in cells.values()) == 18
    assert set(strict.by_field) == {"law", "medicine"}


def test_macro_is_the_mean_of_subjects() -> None:
    sizes = {"subject-0": (10, 10), "subject-1": (40, 10), "subject-2": (50, 50)}
    items, responses = {}, []
    number = 0
    for subject, (n, right) in sizes.items():
        for k in range(n):
            item = make_item(number, subject=subject)
            number += 1
            items[item.item_id] = item
            responses.append(make_response(item, boxed(item, item.key) if k < right else "無"))
    strict = summarise(graded(responses, items), items).methods["strict"]
    assert strict.micro.value == pytest.approx(0.70)
    assert strict.macro.value == pytest.approx((1 + 0.25 + 1) / 3)
    assert strict.macro.subjects == 3
    assert strict.macro.low < strict.macro.value < strict.macro.high
    # By hand: sqrt(3/2 * ((10-7)^2 + (10-28)^2 + (50-35)^2)) / 100
    assert strict.clustered_error == pytest.approx(math.sqrt(1.5 * (9 + 324 + 225)) / 100)


def test_repeats_have_a_mean_and_a_spread_and_no_narrower_interval() -> None:
    def of(repeat: int, right: int) -> list[Response]:
        return [
            make_response(item, boxed(item, item.key) if n < right else "無", repeat=repeat)
            for n, item in enumerate(ITEMS.values())
        ]

    once = summarise(graded(of(0, 18), ITEMS), ITEMS).methods["strict"]
    thrice = summarise(graded(of(0, 15) + of(1, 18) + of(2, 21), ITEMS), ITEMS)
    strict = thrice.methods["strict"]
    assert (thrice.repeats, thrice.complete, strict.micro.n) == (3, True, 90)
    assert strict.repeats.values == (0.5, 0.6, 0.7)
    assert strict.repeats.mean == pytest.approx(0.6)
    assert strict.repeats.deviation == pytest.approx(0.1)
    assert once.repeats.deviation is None
    # 30 items asked three times are 30 items: the interval is that of one repeat.
    assert (strict.micro.low, strict.micro.high) == pytest.approx((once.micro.low, once.micro.high))


def test_what_is_no_item_of_the_set_and_what_is_doubled_is_counted_and_left_out() -> None:
    responses = [make_response(item, boxed(item, item.key)) for item in ITEMS.values()]
    again = [replace(responses[0], request_hash="f" * 64, content="無"), responses[1]]
    withdrawn = set(list(ITEMS)[:4])
    scored = {item_id: item for item_id, item in ITEMS.items() if item_id not in withdrawn}
    found = summarise((grade(r, ITEMS[r.item_id].key) for r in responses + again), scored)
    assert (found.left_out, found.doubled, found.replies) == (6, 0, 26)
    found = summarise((grade(r, ITEMS[r.item_id].key) for r in responses + again), ITEMS)
    assert (found.left_out, found.doubled, found.replies) == (0, 2, 30)
    assert found.methods["strict"].micro.hits == 30
    assert found.complete


def test_rows_that_share_a_stem_all_count() -> None:
    items = {}
    for n in range(4):
        item = make_item(n, question="下列何者正確？", subject="one")
        items[item.item_id] = item
    found = summarise(graded([make_response(i, boxed(i, i.key)) for i in items.values()], items), items)
    assert found.methods["strict"].micro.hits == found.items_asked == 4


def test_nothing_asked() -> None:
    found = summarise([], ITEMS)
    assert (found.replies, found.complete, found.items_expected) == (0, False, 30)
    assert found.methods == {}
    assert found.error_rate.value is None
    json.dumps(to_json(found), allow_nan=False)


def test_only_errors() -> None:
    failed = [make_response(item, None, error=ErrorClass.TRANSPORT) for item in ITEMS.values()]
    found = summarise(graded(failed, ITEMS), ITEMS)
    assert found.error_rate.value == 1.0
    assert found.methods["strict"].micro.value is None
    assert found.methods["strict"].macro.value is None
    json.dumps(to_json(found), allow_nan=False)


@settings(max_examples=20)
@given(st.permutations(range(30)))
def test_order_of_responses_changes_nothing(order: list[int]) -> None:
    responses = mixed()
    assert score((responses[n] for n in order), ITEMS) == score(responses, ITEMS)


@given(st.integers(0, 400), st.data(), st.integers(1, 5))
def test_a_rate_lies_in_its_interval(n: int, data: st.DataObject, repeats: int) -> None:
    hits = data.draw(st.integers(0, n))
    found = rate(hits, n, repeats)
    assert 0 <= found.low <= (found.value or 0) <= found.high <= 1


def test_a_run_folder_says_how_many_responses_have_no_item(tmp_path: Path) -> None:
    items = {item.item_id: item for item in (make_item(n) for n in range(6))}
    folder = tmp_path / "run"
    with Journal(folder) as journal:
        journal.append_all(make_response(item, boxed(item, item.key)) for item in items.values())
    assert score_folder(folder, items).left_out == 0
    few = {name: items[name] for name in list(items)[:4]}
    found = score_folder(folder, few)
    assert (found.left_out, found.replies, found.methods["strict"].micro.hits) == (2, 4, 4)
    renamed = replace(items[list(items)[5]], item_id="of-now")
    found = score_folder(folder, {**few, "of-now": renamed}, {list(items)[5]: "of-now"})
    assert (found.left_out, found.replies, found.methods["strict"].micro.hits) == (1, 5, 5)
