"""Curation: who may be in a pool, the frozen edition, and the leave-one-out table against computed expectations."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod

import pytest
from support.evaluation import boxed, make_item, make_response

from opentwbench.evaluation.model import ErrorClass
from opentwbench.evaluation.scoring import grade
from opentwbench.evaluation.submissions import Answer
from opentwbench.formosa.band import Band, CurationError, Difficulty, read_sidecar
from opentwbench.formosa.curation import (
    Edition,
    Mark,
    Member,
    admit,
    external,
    freeze,
    marks_of_run,
    marks_of_submission,
    member_record,
    recut_edition,
    side_by_side,
    sidecar_of,
    transfer,
    without_one,
)
from opentwbench.formosa.served import stands_for

# -- members ----------------------------------------------------------------------------------------------------------


def member(model: str, word: str, **changes: str) -> Member:
    """+ right, - wrong, ? unparsed, ! error, a space: not asked."""
    marks = {"+": Mark.RIGHT, "-": Mark.WRONG, "?": Mark.UNPARSED, "!": Mark.ERROR}
    found = {f"item-{n:03d}": marks[sign] for n, sign in enumerate(word) if sign != " "}
    about = {"protocol_id": "box-0123456789ab", "dataset_version": "v1", "source": f"run-{model}", **changes}
    return Member(model, found, **about)  # type: ignore[arg-type]


def test_marks_of_a_run_by_hand() -> None:
    items = [make_item(n) for n in range(4)]
    wrong = "ABCD"[("ABCD".index(items[1].key) + 1) % 4]
    replies = [
        make_response(items[0], boxed(items[0], items[0].key)),
        make_response(items[1], boxed(items[1], wrong)),
        make_response(items[2], "我不知道"),
        make_response(items[3], None, error=ErrorClass.TIMEOUT),
        make_response(items[0], boxed(items[0], wrong), repeat=1),  # a second repeat changes nothing
    ]
    keys = {item.item_id: item.key for item in items}
    found = marks_of_run((grade(each, keys[each.item_id]) for each in replies), "strict")
    assert [found[item.item_id] for item in items] == [Mark.RIGHT, Mark.WRONG, Mark.UNPARSED, Mark.ERROR]


def test_marks_of_a_submission_by_hand() -> None:
    rows = [
        Answer("a", "0" * 16, True, True, True, True),
        Answer("b", "1" * 16, False, True, False, True),
        Answer("c", "2" * 16, False, False, True, True),
        Answer(None, "3" * 16, True, True, True, True),
    ]
    assert marks_of_submission(rows, "strict") == {"a": Mark.RIGHT, "b": Mark.UNPARSED, "c": Mark.WRONG}
    assert marks_of_submission(rows, "lenient") == {"a": Mark.RIGHT, "b": Mark.RIGHT, "c": Mark.WRONG}
    with pytest.raises(CurationError, match="strict or lenient"):
        marks_of_submission(rows, "pattern")


def test_a_member_under_95_percent_parsed_is_refused_and_one_at_95_is_not() -> None:
    admit(member("m", "+" * 90 + "-" * 5 + "?" * 5), "v1")
    with pytest.raises(CurationError, match=r"m: 6 of 100 replies are unread; parse rate 94.0%"):
        admit(member("m", "+" * 90 + "-" * 4 + "?" * 6), "v1")
    # An error is no reply: it neither helps nor harms the parse rate.
    admit(member("m", "+" * 95 + "?" * 5 + "!" * 50), "v1")


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (member("m", "!!!"), "no reply"),
        (member("m", "+++", dataset_version="v0"), "measured on version v0"),
        (member("a\nb", "+++"), "printable"),
    ],
)
def test_a_member_that_cannot_be_used_is_refused(bad: Member, words: str) -> None:
    with pytest.raises(CurationError, match=words):
        admit(bad, "v1")


def test_unparsed_has_no_pass_and_is_counted_apart_and_an_error_is_not_measured() -> None:
    pool = [member("a", "+?!"), member("b", "-+!")]
    found = sidecar_of(["item-000", "item-001", "item-002"], pool)
    assert found == [
        Difficulty("item-000", {"a": True, "b": False}),
        Difficulty("item-001", {"a": False, "b": True}, frozenset({"a"})),
    ]
    assert read_sidecar(each.to_json() for each in found) == found
    assert member_record(pool[0]) | {"source": ""} == {
        "model": "a",
        "protocol_id": "box-0123456789ab",
        "source": "",
        "serving_precision": "unknown",
        "sha256": "",
        "bytes": 0,
        "served": {},
        "right": 1,
        "wrong": 0,
        "unparsed": 1,
        "error": 1,
    }


# -- editions ---------------------------------------------------------------------------------------------------------

POOL = [member("a", "++--"), member("b", "+-+ "), member("c", "+--+")]
SIDECAR = sidecar_of([f"item-{n:03d}" for n in range(4)], POOL)

BAND = Band(0, 2)


def edition(pool: list[Member] = POOL, band: Band = BAND, name: str = "2026-11", day: str = "2026-11-30") -> Edition:
    return freeze(name, day, "v1", band, SIDECAR, "ab" * 32, [member_record(each) for each in pool])


def test_an_edition_is_frozen_and_read_back() -> None:
    made = edition()
    assert made.cut.kept == ("item-001", "item-002")
    assert (made.cut.easier, made.cut.unmeasured) == (("item-000",), ("item-003",))
    assert Edition.from_json(made.to_json()) == made
    changed = made.to_json()
    changed["items"]["kept"].append("item-000")
    with pytest.raises(CurationError, match="changed by hand"):
        Edition.from_json(changed)
    with pytest.raises(CurationError, match="no edition"):
        Edition.from_json({"name": "x"})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"pool": POOL[:1]}, "at least two"),
        ({"pool": [*POOL, member("d", "++", protocol_id="pattern-0123456789ab")]}, "one protocol"),
        # One name and three protocols: an id is the hash of what decides a request.
        ({"pool": [member(m, "++--", protocol_id=f"box-{m * 12}") for m in "abc"]}, "one protocol: .*aaaa.*bbbb.*cccc"),
        ({"pool": [*POOL, POOL[0]]}, "none twice"),
        ({"band": Band(0, 0)}, "the band 0-0 keeps no item: 3 easier, 0 harder, 1 unmeasured"),
        ({"band": Band(0, 4)}, "band"),
        ({"name": "../x"}, "name"),
        ({"day": "2026-11-31"}, "date"),
    ],
)
def test_an_edition_that_cannot_be_is_refused(changes: dict[str, object], words: str) -> None:
    with pytest.raises(CurationError, match=words):
        edition(**changes)  # type: ignore[arg-type]


def test_an_external_model_of_another_protocol_is_refused() -> None:
    records = [member_record(each) for each in POOL[:2]]
    beside = [member_record(member("d", "++--", protocol_id="box-dddddddddddd"))]
    with pytest.raises(CurationError, match="one pool, one protocol"):
        freeze("x", "2026-11-30", "v1", BAND, SIDECAR, "ab" * 32, records, beside)


def test_a_member_whose_replies_came_from_two_models_is_refused_and_an_alias_is_not() -> None:
    admit(replace(member("gpt-x", "++"), served={"gpt-x-2026-01-01": 2}), "v1")
    admit(replace(member("gpt-x", "++"), served={}), "v1")
    with pytest.raises(CurationError, match=r"gpt-x: replies came from 2 models: .*cheap-model.*gpt-x"):
        admit(replace(member("gpt-x", "++"), served={"gpt-x": 1, "cheap-model": 1}), "v1")


def test_an_edition_says_whose_replies_carry_another_name() -> None:
    pool = [
        replace(POOL[0], served={"cheap-model": 4}),
        replace(POOL[1], served={"b-2026-01-01": 3}),
        POOL[2],
    ]
    made = edition(pool)
    assert made.served_otherwise == {"a": ("cheap-model",)}
    assert Edition.from_json(made.to_json()).served_otherwise == made.served_otherwise
    forged = made.to_json()
    forged["pool"][0]["served"] = {}
    with pytest.raises(CurationError, match="changed by hand"):
        Edition.from_json(forged)
    forged["pool"][0]["served"] = ["cheap-model"]
    with pytest.raises(CurationError, match="no edition"):
        Edition.from_json(forged)


@pytest.mark.parametrize(
    ("asked", "served", "same"),
    [
        ("gpt-x", "gpt-x", True),
        ("gpt-x", "gpt-x-2026-01-01", True),
        ("gpt-x", "gpt-x-0613", True),
        ("claude-y", "claude-y@20260101", True),
        ("gpt-x-latest", "gpt-x-2026-01-01", True),
        ("maker/Model-1", "model-1", True),
        ("llama", "llama:latest", True),
        ("gpt-x", "gpt-x-mini", False),
        ("gpt-x", "gpt-x-mini-2026-01-01", False),
        ("m", "cheap-model", False),
        ("gpt-x-2026-01-01", "gpt-x-2026-02-02", False),
        ("", "2026", False),
    ],
)
def test_which_served_name_is_the_asked_one(asked: str, served: str, same: bool) -> None:
    assert stands_for(asked, served) is same


def test_a_recut_edition_has_the_measurements_of_the_one_before() -> None:
    before = edition()
    after = recut_edition(before, SIDECAR, ["a", "c"], Band(0, 1), "later", "2026-12-31")
    assert (after.models, after.recut_of, after.sidecar_sha256) == (("a", "c"), before.edition_id, "ab" * 32)
    assert [each["model"] for each in after.external] == ["b"]
    assert after.cut.kept == ("item-001", "item-002", "item-003") and after.cut.easier == ("item-000",)
    assert Edition.from_json(after.to_json()) == after
    with pytest.raises(CurationError, match="did not measure it; otb formosa curate"):
        recut_edition(before, SIDECAR, ["a", "z"], Band(0, 1), "later", "2026-12-31")


def test_two_editions_side_by_side() -> None:
    found = side_by_side(edition(), edition(POOL[:2], Band(2, 2), "later"))
    assert (found.both, found.left, found.joined) == ((), ("item-001", "item-002"), ("item-000",))
    assert (found.same_models, found.models_left, found.unmeasured) == (("a", "b"), ("c",), (1, 1))
    wider = side_by_side(edition(), edition(POOL[:2], Band(0, 2), "later"))
    assert (wider.both, wider.joined) == (("item-001", "item-002"), ("item-000",))


# -- leaving one out --------------------------------------------------------------------------------------------------

QUARTERS = (1, 2, 2, 3, 3, 3, 3)
"""Abilities of seven models in quarters. All 4^7 combinations of digits are items on which the models' answers are
exactly independent: model m is right where its digit is under its ability."""

ABILITIES = [quarters / 4 for quarters in QUARTERS]
NAMES = [f"m{n}" for n in range(7)]


def independent() -> list[Difficulty]:
    return [
        Difficulty(f"i{n}", {name: digit < able for name, digit, able in zip(NAMES, digits, QUARTERS, strict=True)})
        for n, digits in enumerate(product(range(4), repeat=7))
    ]


def test_the_table_of_independent_models_is_the_computed_one() -> None:
    found = transfer(independent(), NAMES, Band(0, 6))
    assert (found.measured, found.band) == (4**7, Band(0, 5))
    for place, row in enumerate(found.rows):
        others = ABILITIES[:place] + ABILITIES[place + 1 :]
        all_pass = prod(others)
        # At most five of six pass: everything but the items that all six pass.
        assert row.band.n == round(4**7 * (1 - all_pass))
        # The held-out model knows nothing of the selection; the six lose what all of them passed.
        assert row.full.value == ABILITIES[place]
        assert row.band.value == pytest.approx(ABILITIES[place])
        mean = sum(others) / 6
        assert row.pool_mean == pytest.approx((mean - all_pass) / (1 - all_pass))
        assert row.bias == pytest.approx(ABILITIES[place] - (mean - all_pass) / (1 - all_pass))
        assert row.net == pytest.approx(all_pass * (1 - mean) / (1 - all_pass))
    assert found.agreement.rho == pytest.approx(1.0)


def test_a_weak_pool_is_hardly_distorted_and_the_report_says_so() -> None:
    found = transfer(independent(), NAMES, Band(0, 6))
    # 1 - mean of the six times P(all six) / P(not all): the largest is that without the weakest model.
    assert max(row.net or 0.0 for row in found.rows) < 0.05
    weak = [
        Difficulty(f"i{n}", dict(zip(NAMES, bits, strict=True)))
        for n, bits in enumerate(product((True, False), repeat=7))
    ]
    calm = transfer(weak, NAMES, Band(0, 6))
    assert calm.distorted == () and calm.verdict().startswith("No net bias")


def test_a_pool_of_strong_independent_models_distorts_and_the_report_says_so() -> None:
    # Three models, each right on 9 of 10: P(both others pass) = .81, their mean on the rest (.9 - .81) / .19 = .4737.
    items = [
        Difficulty(f"i{n}", {f"s{place}": digit < 9 for place, digit in enumerate(digits)})
        for n, digits in enumerate(product(range(10), repeat=3))
    ]
    found = transfer(items, ["s0", "s1", "s2"], Band(0, 2))
    assert [row.band.n for row in found.rows] == [190, 190, 190]
    assert found.rows[0].pool_mean == pytest.approx(0.09 / 0.19)
    assert found.rows[0].net == pytest.approx(0.9 - 0.09 / 0.19)
    assert found.distorted == ("s0", "s1", "s2")
    assert "Selection distorts" in found.verdict() and "3 of 3" in found.verdict()


def test_models_that_answer_alike_are_not_distorted() -> None:
    # Three copies of one model: what two pass, the third passes; all sink together and the difference stays 0.
    items = [Difficulty(f"i{n}", dict.fromkeys(("x", "y", "z"), n % 2 == 0)) for n in range(100)]
    found = transfer(items, ["x", "y", "z"], Band(0, 2))
    assert [row.net for row in found.rows] == [0.0, 0.0, 0.0] and found.distorted == ()
    assert [row.band.value for row in found.rows] == [0.0, 0.0, 0.0]


def test_items_that_one_model_missed_are_in_no_row() -> None:
    items = [*independent()[:10], Difficulty("part", {"m0": True})]
    assert transfer(items, NAMES, Band(0, 6)).measured == 10


@pytest.mark.parametrize("pool", [["m0", "m1"], ["m0", "m0", "m1"]])
def test_a_pool_too_small_to_leave_one_out_is_refused(pool: list[str]) -> None:
    with pytest.raises(CurationError, match="three different"):
        transfer(independent()[:4], pool, Band(0, 1))


def test_the_band_of_a_smaller_pool() -> None:
    assert without_one(Band(0, 6)) == Band(0, 5)
    assert without_one(Band(2, 4)) == Band(1, 3)
    with pytest.raises(CurationError, match="leaves nothing"):
        without_one(Band(0, 0))


def test_an_external_model_and_the_one_that_drafted() -> None:
    items = [Difficulty(each.item_id, {**each.passes, "out": n % 2 == 0}) for n, each in enumerate(independent())]
    found = external(items, NAMES, Band(0, 6), "out", ("drafted",))
    assert found.roles == ("drafted",)
    assert (found.full.value, found.band.n) == (0.5, round(4**7 * (1 - prod(ABILITIES))))
    with pytest.raises(CurationError, match="in the pool"):
        external(items, NAMES, Band(0, 6), "m0")
    with pytest.raises(CurationError, match="no item was measured"):
        external(items, NAMES, Band(0, 6), "nobody")
    marked = transfer(items, NAMES, Band(0, 6), {"m3": ("drafted",)})
    assert [row.roles for row in marked.rows].count(("drafted",)) == 1


def test_an_empty_band_has_no_figures_rather_than_zeros() -> None:
    items = [Difficulty(f"i{n}", dict.fromkeys(("x", "y", "z"), True)) for n in range(5)]
    row = transfer(items, ["x", "y", "z"], Band(0, 2)).rows[0]
    assert (row.band.n, row.pool_mean, row.bias, row.net, row.distorted) == (0, None, None, None, False)
