"""Study 4: agreement and decisions by hand, verdicts read as hostile, and what it says without a panel."""

from __future__ import annotations

import pytest
from support.apparatus import cells, inputs

from opentwbench.apparatus.figures import outwards, plain
from opentwbench.apparatus.judge_panel import (
    Verdict,
    agreement,
    decisions,
    failures,
    read_results,
    read_verdicts,
    study,
)
from opentwbench.apparatus.result import StudyError
from opentwbench.apparatus.studies import conduct
from opentwbench.statistics.intervals import wilson


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
    assert found.finding.en.startswith("There is no study of Formosa's judges; these verdicts were handed in: 3 judges")
    names = [table.name.en for table in found.tables]
    assert len(set(names)) == len(names) == 5, "no table stands twice"
    assert len({table.rows for table in found.tables}) == 5


def test_a_scripted_panel_is_labelled() -> None:
    panel = [{**row, "judge": f"sample/{row['judge']}"} for row in PANEL]
    found = study(inputs(verdicts=panel))
    assert "sample" in found.labelled.en
    assert found.finding.en.startswith("There is no study of Formosa's judges; these are sample verdicts: ")
    assert "樣本裁決" in found.finding.zh


def counts(judge: str, trials: int, items: int, approved: int, rejected: int) -> dict[str, int]:
    return {"trials": trials, "items": items, "approved": approved, "rejected": rejected,
            "silent": trials - approved - rejected}  # fmt: skip


def result(judge: str, **more: object) -> dict[str, object]:
    """Formosa's counts of a judge: 10 good drafts, two of them without a readable verdict, and 40 of each defect."""
    planted = {kind: counts(judge, 40, 20, 1, 38) for kind in ("wrong_key", "ungrounded_fact", "malformed_options")}
    made = {"judge": judge, "prompt_id": "p-1", "good": counts(judge, 10, 10, 6, 2), "planted": planted,
            "trials_sha256": "ab"}  # fmt: skip
    return {**made, **more}


STUDIED = [result("b"), result("a", good=counts("a", 10, 10, 8, 2)), result("c", good=counts("c", 10, 10, 9, 1))]


def test_formosas_own_study_is_taken_where_there_is_one() -> None:
    found = study(inputs(verdicts=PANEL, judge_studies=STUDIED))
    # b approves 6 of the 10 drafts put before it, whatever it left unread; the verdicts alone would say 8 of 10.
    assert cells(found, 0, "judge", "drafts", "approved", "silent", "rate") == [
        ("a", 10, 8, 0, 80.0), ("b", 10, 6, 2, 60.0), ("c", 10, 9, 0, 90.0),
    ]  # fmt: skip
    # 38 of 40 trials on 20 items: Wilson's interval of 19 of 20.
    bounds = wilson(19, 20)
    row = cells(found, 4, "planted", "found", "silent", "rate", "low", "high")[0]
    assert row == (
        40,
        38,
        1,
        95.0,
        pytest.approx(100 * bounds.low, abs=1e-3),
        pytest.approx(100 * bounds.high, abs=1e-3),
    )
    assert [each[:2] for each in cells(found, 5, "judge", "passed", "why_not")] == [
        ("a", "no"),
        ("b", "no"),
        ("c", "no"),
    ]
    assert "approves 6 of 10" in str(cells(found, 5, "why_not")[1][0])
    assert found.finding.en.startswith("Formosa's judge study: 3 judges approve 60.0% to 90.0%")
    assert found.labelled.en == ""


def test_scripted_judges_of_formosa_are_labelled() -> None:
    panel = [{**row, "judge": f"scripted/{row['judge']}"} for row in PANEL]
    found = study(
        inputs(verdicts=panel, judge_studies=[{**each, "judge": f"scripted/{each['judge']}"} for each in STUDIED])
    )
    assert "sample" in found.labelled.en


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([{}], "line 1: no result of a judge"),
        ([result("a"), result("a")], "line 2: a second study of a"),
        ([result("a"), result("b", trials_sha256="cd")], "line 2: b saw other trials"),
        ([result("a"), result("b", prompt_id="p-2")], "line 2: b saw other trials, or another prompt"),
        ([result("a\u202e")], "line 1: judge is no printable text"),
        ([result("a", good={**counts("a", 10, 10, 6, 2), "silent": 7})], "line 1: .*do not add up"),
        ([result(f"j{n}") for n in range(51)], "more than 50 judges"),
    ],
)
def test_a_study_that_is_none_is_refused(records: list[dict[str, object]], words: str) -> None:
    with pytest.raises(StudyError, match=words):
        read_results(records)


def test_a_verdict_of_a_judge_without_a_study_is_refused() -> None:
    with pytest.raises(StudyError, match="a verdict of c, of whom there is no study"):
        study(inputs(verdicts=PANEL, judge_studies=STUDIED[:2]))


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


def test_why_a_judge_may_not_ground_is_said_in_both_languages_and_as_the_study_finds_it() -> None:
    few = {**result("d")["planted"], "wrong_key": counts("d", 4, 2, 4, 0)}  # type: ignore[dict-item]
    poor = {**result("e")["planted"], "ungrounded_fact": counts("e", 40, 20, 20, 10)}  # type: ignore[dict-item]
    good = result("g", good=counts("g", 40, 40, 40, 0))
    studied = read_results([*STUDIED, result("d", planted=few), result("e", planted=poor), good])
    for each in studied.values():
        told = failures(each)
        assert len(told) == len(each.failures()), each.judge
        assert not any("_" in words or words == "" for both in told for words in (both.zh, both.en))
    assert failures(studied["g"]) == [] and studied["g"].passed
    assert "植入「答案錯誤」只判了 4 題，需要 40 題" in [both.zh for both in failures(studied["d"])]
    assert [both.en for both in failures(studied["b"])] == [
        "approves 6 of 10 (good items): lower end 31.2%, the mark is 75%"
    ]


def test_a_negative_kappa_has_the_true_minus() -> None:
    assert plain(-0.094) == "\u22120.09"
    assert outwards(-0.121, 0.331) == ("\u22120.13", "0.34") and outwards(0.3, 0.7, 1) == ("0.3", "0.7")
