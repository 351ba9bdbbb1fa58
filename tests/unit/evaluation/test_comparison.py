"""Two runs item by item and the circular-option test, on made verdicts counted by hand."""

from __future__ import annotations

import pytest
from support.evaluation import boxed, make_item, make_response

from opentwbench.evaluation.comparison import circular, diff
from opentwbench.evaluation.model import ErrorClass, Graded, Outcome
from opentwbench.evaluation.protocols import BOX, PATTERN
from opentwbench.evaluation.runner import rotated
from opentwbench.evaluation.scoring import grade

ITEMS = [make_item(n) for n in range(10)]


def graded(letters: str, protocol: object = BOX) -> list[Graded]:
    """Item n answered with the original letter letters[n]; '-' is unread, '!' an error, ' ' not asked."""
    out = []
    for item, letter in zip(ITEMS, letters, strict=True):
        if letter == " ":
            continue
        text = "不知道" if letter in "-!" else boxed(item, letter, protocol)  # type: ignore[arg-type]
        failed = {"error": ErrorClass.TIMEOUT} if letter == "!" else {}
        response = make_response(item, None if failed else text, protocol, **failed)  # type: ignore[arg-type]
        out.append(grade(response, item.key))
    return out


KEYS = "ABCDABCDAB"


def test_the_keys_are_those_of_the_items() -> None:
    assert "".join(item.key for item in ITEMS) == KEYS


def test_a_diff_by_hand() -> None:
    #            ABCDABCDAB
    first = graded("ABCDABAA-!")
    second = graded("ABDCAB-B A")
    found = diff(first, second, "strict")
    # Shared: items 0-7. Right in both 0, 1, 4, 5; only the first 2, 3; neither 6, 7. 8 only in the first, 9 only in B.
    assert (found.shared, found.only_first, found.only_second) == (8, 1, 1)
    assert (found.both_right, found.first_right, found.second_right, found.both_wrong) == (4, 2, 0, 2)
    assert found.same_letter == 4
    assert found.moves == {
        (Outcome.CORRECT, Outcome.CORRECT): 4,
        (Outcome.CORRECT, Outcome.WRONG): 2,
        (Outcome.WRONG, Outcome.UNPARSED): 1,
        (Outcome.WRONG, Outcome.WRONG): 1,
    }
    assert (found.test.discordant, found.test.exact_p) == (2, 0.5)
    assert [each.item_id for each in found.differing] == [ITEMS[n].item_id for n in (2, 3, 6, 7)]
    assert (found.differing[0].first.letter, found.differing[0].second.letter) == ("C", "D")
    assert (found.first.hits, found.second.hits, found.first.n) == (6, 4, 8)


def test_a_run_and_itself_do_not_differ() -> None:
    found = diff(graded("ABCDABAA-!"), graded("ABCDABAA-!"), "strict")
    assert (found.shared, found.differing, found.test.discordant) == (9, (), 0)


def test_letters_are_compared_as_original_ones() -> None:
    # The box protocol shuffles, the pattern protocol does not: the same options chosen, other letters shown.
    found = diff(graded("AAAAAAAAAA", BOX), graded("AAAAAAAAAA", PATTERN), "strict")
    assert found.same_letter == 10
    assert not found.differing


def rotations(choose: object) -> list[Graded]:
    """Every item under its four rotations; `choose(item, order)` gives the original letter or None."""
    out = []
    for repeat in range(4):
        for item in ITEMS:
            order = rotated("BADC", repeat)
            letter = choose(item, order)  # type: ignore[operator]
            text = f"\\boxed{{{'ABCD'[order.index(letter)]}}}" if letter else "?"
            out.append(grade(make_response(item, text, BOX, repeat, option_order=order), item.key))
    return out


def test_who_knows_is_right_in_every_place() -> None:
    found = circular(rotations(lambda item, order: item.key), "strict")
    assert (found.items, found.every.hits, found.mean.hits) == (10, 10, 40)
    assert {place: rate.hits for place, rate in found.by_place.items()} == dict.fromkeys("ABCD", 10)


def test_who_always_says_the_first_is_right_once_in_four_and_never_in_every_place() -> None:
    found = circular(rotations(lambda item, order: order[0]), "strict")
    assert (found.every.hits, found.mean.hits, found.mean.n) == (0, 10, 40)
    assert {place: rate.hits for place, rate in found.by_place.items()} == {"A": 10, "B": 0, "C": 0, "D": 0}
    assert found.chosen == {"A": 40}


def test_an_item_with_a_missing_reply_is_left_out_and_counted() -> None:
    whole = rotations(lambda item, order: item.key)
    found = circular(whole[1:], "strict")
    assert (found.items, found.incomplete) == (9, 1)
    with pytest.raises(ValueError, match="no whole circular-option test"):
        circular(whole[:10], "strict")
