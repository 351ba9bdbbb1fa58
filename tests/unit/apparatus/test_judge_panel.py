"""Study 4: agreement and decisions by hand, verdicts read as hostile, and what it says without a panel."""

from __future__ import annotations

import pytest
from support.apparatus import cells, inputs

from opentwbench.apparatus.judge_panel import Verdict, agreement, decisions, read_verdicts, study
from opentwbench.apparatus.result import StudyError
from opentwbench.apparatus.studies import conduct


def rows(judge: str, word: str, planted: str | None = None) -> list[dict[str, object]]:
    """+ approves, - rejects, a space is no verdict."""
    return [
        {
            "judge": judge,
            "item_id": f"{planted or 'draft'}-{n}",
            "verdict": "approve" if letter == "+" else "reject",
            "planted": planted,
        }
        for n, letter in enumerate(word)
        if letter != " "
    ]


# Ten drafts. a rejects 8, 9; b rejects 7, 8; c rejects 0.
PANEL = [*rows("a", "++++++++--"), *rows("b", "+++++++--+"), *rows("c", "-+++++++++")]
PLANTED = [
    *rows("a", "----", "wrong_key"),
    *rows("b", "--++", "wrong_key"),
    *rows("a", "-+", "ungrounded_fact"),
    *rows("b", "++", "ungrounded_fact"),
    *rows("a", "--", "malformed_options"),
]


def approvals(judge: str) -> dict[str, bool]:
    return {str(row["item_id"]): row["verdict"] == "approve" for row in PANEL if row["judge"] == judge}


def test_agreement_by_hand() -> None:
    found = agreement(approvals("a"), approvals("b"))
    # Both approve 7 (0-6), both reject 1 (8): 8 of 10. Chance: .8 * .8 + .2 * .2 = .68; kappa = .12 / .32 = .375.
    assert (found.n, found.agreeing, found.both_approve) == (10, 8, 7)
    assert found.kappa == pytest.approx(0.375)
    # Cohen's standard error: sqrt(.8 * .2 / (10 * .32^2)) = .395285; half = .774743.
    assert found.kappa_interval == pytest.approx((-0.399743, 1.0), abs=1e-5)
    assert found.pair.test.exact_p == 1.0


def test_a_judge_who_approves_everything_has_no_kappa_with_another() -> None:
    same = {"x": True, "y": True}
    assert (agreement(same, same).kappa, agreement({}, {}).kappa) == (None, None)
    assert agreement(same, same).kappa_interval == (None, None)


def test_who_decides_by_hand() -> None:
    found = decisions({judge: approvals(judge) for judge in "abc"})
    # Rejected by one only: 0 (c), 7 (b), 9 (a); 8 by a and b. Unanimous: 1-6.
    assert (found.drafts, found.unanimous, found.alone) == (10, 6, {"a": 1, "b": 1, "c": 1})
    partial = decisions({"a": approvals("a"), "b": {"draft-9": True}})
    assert (partial.drafts, partial.alone) == (1, {"a": 1, "b": 0})
    assert decisions({}).drafts == 0


def test_the_study() -> None:
    found = study(inputs(verdicts=[*PANEL, *PLANTED]))
    assert found.n == 30
    assert cells(found, 0, "judge", "approved", "rate") == [("a", 8, 80.0), ("b", 8, 80.0), ("c", 9, 90.0)]
    assert cells(found, 2, "judge", "alone", "share") == [("a", 1, 14.2857), ("b", 1, 14.2857), ("c", 1, 14.2857)]
    # phi of a, b: (.7 - .64) / .16 = .375; of c with either: (.7 - .72) / .12 = -.1667. 9 / (3 + 2 * .19618) = 2.653.
    assert cells(found, 3, "judges", "drafts", "constant", "effective") == [(3, 10, 0, pytest.approx(2.653, abs=5e-4))]
    assert cells(found, 4, "judge", "planted", "found", "rate") == [
        ("a", 2, 2, 100.0),
        ("a", 2, 1, 50.0),
        ("a", 4, 4, 100.0),
        ("b", 2, 0, 0.0),
        ("b", 4, 2, 50.0),
    ]
    assert "6 of 10 drafts pass unanimously" in found.finding.en
    assert found.labelled.en == ""


def test_a_scripted_panel_is_labelled() -> None:
    panel = [{**row, "judge": f"sample/{row['judge']}"} for row in PANEL]
    assert "sample" in study(inputs(verdicts=panel)).labelled.en


GOOD = {"judge": "a", "item_id": "x", "verdict": "approve", "planted": None}


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {**GOOD, "extra": 1},
        {**GOOD, "judge": ""},
        {**GOOD, "judge": 3},
        {**GOOD, "judge": "a\nb"},
        {**GOOD, "judge": "a" * 201},
        {**GOOD, "item_id": None},
        {**GOOD, "item_id": "\u202ex"},
        {**GOOD, "verdict": "Approve"},
        {**GOOD, "verdict": ["approve"]},
        {**GOOD, "verdict": True},
        {**GOOD, "planted": ""},
        {**GOOD, "planted": "other"},
        {**GOOD, "planted": ["wrong_key"]},
    ],
)
def test_a_record_that_is_no_verdict_is_refused_with_its_line(bad: dict[str, object]) -> None:
    with pytest.raises(StudyError, match=r"verdicts line 2"):
        read_verdicts([{**GOOD, "item_id": "y"}, bad])


def test_a_second_verdict_and_another_planting_are_refused() -> None:
    with pytest.raises(StudyError, match="line 2: a second verdict"):
        read_verdicts([GOOD, {**GOOD, "verdict": "reject"}])
    with pytest.raises(StudyError, match="line 2: x was planted otherwise"):
        read_verdicts([GOOD, {**GOOD, "judge": "b", "planted": "wrong_key"}])
    with pytest.raises(StudyError, match="more than 50 judges"):
        read_verdicts([{**GOOD, "judge": f"j{n}"} for n in range(51)])
    assert read_verdicts([GOOD]) == [Verdict("a", "x", True, None)]


@pytest.mark.parametrize("verdicts", [None, [], rows("a", "+-"), rows("a", "+-", "wrong_key")])
def test_without_a_panel_it_says_so(verdicts: list[dict[str, object]] | None) -> None:
    found = conduct("judge_panel", inputs(verdicts=verdicts))
    assert (found.n, found.tables) == (0, ()) and "two judges" in found.finding.en
