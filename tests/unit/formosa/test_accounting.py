"""Accounting: the published sizes close with made numbers, and every broken sum is named."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.formosa import judgement_json, make_draft, make_screened, make_window, reply

from opentwbench.formosa.accounting import Account, account, total
from opentwbench.formosa.band import Band, CurationError, Difficulty, recut
from opentwbench.formosa.drafting import Drafted
from opentwbench.formosa.grounding import JUDGE_PROMPT, Grounding, ground, judgement_id
from opentwbench.formosa.model import Exclusion, Finding

# 2,972 windows, 2,939 well-formed, 256 dropped by grounding, 2,665 grounded after 18 other screens, 1,696 in the band.
WINDOWS, FORMED, DROPPED, GROUNDED, BAND = 2_972, 2_939, 256, 2_665, 1_696


def published() -> Account:
    drafts = tuple(make_draft(n % 50) for n in range(FORMED))
    kinds = (Exclusion.MALFORMED, Exclusion.EMPTY, Exclusion.REFUSED)
    rejected = tuple((f"w{n}", Finding(kinds[n % 3], "x")) for n in range(WINDOWS - FORMED))
    screened = [
        make_screened(n % 50, findings=(Finding(Exclusion.NEAR_DUPLICATE, "x"),) if n < 18 else ())
        for n in range(FORMED)
    ]
    passed = [each for each in screened if each.bucket is None]
    judged = ground(
        [passed[0]],
        [reply(judgement_id(passed[0].draft), judgement_json(), "judge")],
        {make_window(18).window_id: make_window(18)},
        "judge",
        JUDGE_PROMPT.prompt_id,
    ).grounded[0][1]
    dropped = tuple((each, Finding(Exclusion.UNGROUNDED, "x")) for each in passed[:DROPPED])
    grounding = Grounding("judge", "p", tuple((each, judged) for each in passed[DROPPED:]), dropped)
    pool = [f"m{n}" for n in range(7)]
    items = [Difficulty(f"i{n}", dict.fromkeys(pool, True) | {"m0": n >= BAND}) for n in range(GROUNDED)]
    return account(Drafted(WINDOWS, drafts, rejected), screened, grounding, recut(items, pool, Band(0, 6)))


def test_the_published_sizes_close() -> None:
    found = published()
    assert (found.windows, found.well_formed, found.grounded) == (WINDOWS, FORMED, GROUNDED)
    assert sum(found.dropped.values()) == DROPPED and found.band == {
        "kept": BAND, "easier": GROUNDED - BAND, "harder": 0, "unmeasured": 0,
    }  # fmt: skip
    assert found.screened_out == {"near_duplicate": 18} and sum(found.not_drafted.values()) == 33
    assert found.open_sums() == []
    assert Account.from_json(found.to_json()) == found


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("windows", "2973 windows"),
        ("unanswered", "2973 drafted"),
        ("unjudged", "2940 in buckets"),
        ("grounded", "2665 cut"),
        ("well_formed", "2940 well-formed"),
    ],
)
def test_one_more_anywhere_opens_a_sum(name: str, words: str) -> None:
    found = published()
    broken = replace(found, **{name: getattr(found, name) + 1})
    assert any(words in each for each in broken.open_sums()), broken.open_sums()


@pytest.mark.parametrize("name", ["not_drafted", "screened_out", "dropped", "band"])
def test_one_more_of_a_kind_opens_a_sum(name: str) -> None:
    found = published()
    counts = dict(getattr(found, name))
    counts[next(iter(counts))] += 1
    assert replace(found, **{name: counts}).open_sums()


def test_categories_add_up_to_the_whole() -> None:
    found = published()
    twice = total([found, found])
    assert twice.windows == 2 * WINDOWS and twice.dropped["ungrounded"] == 2 * DROPPED
    assert twice.open_sums() == [] and total([]).open_sums() == []


def test_what_is_no_account_is_refused() -> None:
    good = published().to_json()
    for bad in ({}, {**good, "windows": -1}, {**good, "band": {"kept": "3"}}, {**good, "grounded": True}):
        with pytest.raises(CurationError):
            Account.from_json(bad)
