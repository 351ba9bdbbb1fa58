"""The planted-defect study of judges: planting, figures by hand, the pass mark, and who may ground."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from support.formosa import judgement_json, make_draft, make_window, reply

from opentwbench.evaluation.model import ErrorClass, Response
from opentwbench.exam.fingerprint import fold_loose
from opentwbench.formosa.grounding import JUDGE_PROMPT
from opentwbench.formosa.judge_study import (
    PER_CLASS,
    ClassFigures,
    Defect,
    JudgeRefused,
    JudgeResult,
    JudgeStudyError,
    Trial,
    may_ground,
    plant,
    result_of,
    same_judge,
    trials_digest,
    verdict_records,
)
from opentwbench.formosa.panel import degeneracy
from opentwbench.statistics.intervals import wilson

GOOD = [(make_draft(n), make_window(n)) for n in range(60)]
TRIALS = plant(GOOD)
PROMPT = JUDGE_PROMPT.prompt_id


def test_forty_of_each_class_are_planted_and_every_good_item_stands_as_it_is() -> None:
    counted = Counter(trial.planted for trial in TRIALS)
    assert counted == {None: 60, **dict.fromkeys(Defect, PER_CLASS)}
    assert len({trial.trial_id for trial in TRIALS}) == len(TRIALS)
    assert {trial.draft.window_id for trial in TRIALS if trial.planted is None} == {d.window_id for d, _ in GOOD}
    assert plant(list(reversed(GOOD))) == TRIALS
    # With 60 items each class is on 40 different ones.
    for defect in Defect:
        assert len({t.draft.window_id for t in TRIALS if t.planted is defect}) == PER_CLASS


@pytest.mark.parametrize("trial", [trial for trial in TRIALS if trial.planted], ids=lambda trial: trial.trial_id)
def test_each_plant_is_exactly_its_defect(trial: Trial) -> None:
    before = {d.window_id: d for d, _ in GOOD}[trial.draft.window_id]
    after, window = trial.draft, trial.window
    if trial.planted is Defect.WRONG_KEY:
        assert after.key != before.key and after.options == before.options
    elif trial.planted is Defect.UNGROUNDED_FACT:
        text = after.options[after.key]
        assert after.key == before.key and text not in before.options.values()
        assert fold_loose(text) not in fold_loose(window.text)
        assert len(set(after.options.values())) == 4
    else:
        texts = list(after.options.values())
        assert after.key == before.key and after.options[after.key] == before.options[before.key]
        assert len(texts) < 4 or "" in texts or "以上皆是" in texts or len(set(texts)) < 4
    assert after.stem == before.stem and window.window_id == before.window_id


def test_every_variant_of_a_defect_is_planted() -> None:
    found = {trial.variant for trial in TRIALS if trial.planted is Defect.MALFORMED_OPTIONS}
    assert found == {"repeated", "all_of_the_above", "empty", "missing"}
    assert {trial.variant for trial in TRIALS if trial.planted is Defect.WRONG_KEY} == set("ABCD")


def test_few_items_are_planted_more_than_once_and_count_as_few() -> None:
    trials = plant(GOOD[:20])
    assert Counter(trial.planted for trial in trials) == {None: 20, **dict.fromkeys(Defect, PER_CLASS)}
    result = result_of(trials, replies(trials, perfect), "judge", PROMPT)
    figures = result.planted[Defect.WRONG_KEY]
    assert (figures.trials, figures.items) == (40, 20)
    # Two trials an item: the interval is that of 20 draws, not of 40.
    assert figures.detection.low == pytest.approx(wilson(20, 20).low)


def test_an_interval_keeps_the_observed_share() -> None:
    # 39 of 40 over 22 drafts was rounded to all of them. 18 drafts twice and 4 once are worth 1600 / 76 = 21 draws.
    all_of_them, one_missed = (ClassFigures(40, 22, 0, hits, 40 - hits).detection for hits in (40, 39))
    assert all_of_them.low == pytest.approx(wilson(21, 21).low) and all_of_them.high == 1.0
    assert one_missed.low < all_of_them.low and one_missed.high < 1.0
    # By hand: Wilson at p = .975, n = 21, z = 1.96.
    assert (one_missed.low, one_missed.high) == pytest.approx((0.8058, 0.9973), abs=5e-5)
    assert (one_missed.hits, one_missed.n) == (39, 40)
    lows = [ClassFigures(40, 22, 0, hits, 40 - hits).detection.low for hits in range(41)]
    assert lows == sorted(set(lows))  # every further hit counts


def test_a_judge_that_changed_underway_does_not_pass_and_may_not_ground() -> None:
    def served(names: list[str]) -> JudgeResult:
        said = replies(TRIALS, perfect)
        return result_of(
            TRIALS,
            [replace(each, served_model=names[n % len(names)]) for n, each in enumerate(said)],
            "judge",
            PROMPT,
        )

    one, two = served(["judge-2026-01-01"]), served(["judge", "cheap-model"])
    assert one.passed and one.served == {"judge-2026-01-01": len(TRIALS)}
    assert JudgeResult.from_json(two.to_json()) == two
    assert "replies came from 2 models" in two.failures()[0]
    with pytest.raises(JudgeRefused, match="cheap-model"):
        may_ground([two], "judge", PROMPT)
    # The judge that passed is the judge that grounds.
    same_judge(one, {"judge-2026-01-01": 5})
    same_judge(one, {})
    with pytest.raises(JudgeRefused, match="not one model's"):
        same_judge(one, {"cheap-model": 5})
    for bad in ([], {"m": 0}, {"m": True}, {"": 1}):
        with pytest.raises(JudgeStudyError):
            JudgeResult.from_json(one.to_json() | {"served": bad})


def test_too_few_items_are_refused() -> None:
    with pytest.raises(JudgeStudyError, match="13 good items give 39 of wrong_key, 40 are needed"):
        plant(GOOD[:13])
    with pytest.raises(JudgeStudyError, match="at least 40"):
        plant(GOOD, 39)
    with pytest.raises(JudgeStudyError, match="one a window"):
        plant([*GOOD, GOOD[0]])


# -- judges -----------------------------------------------------------------------------------------------------------


def perfect(trial: Trial) -> bool:
    return trial.planted is None


def replies(trials: list[Trial], judge, name: str = "judge") -> list[Response]:  # type: ignore[no-untyped-def]
    words = {True: judgement_json(), False: judgement_json("reject", "unsupported"), None: "?"}
    return [reply(trial.trial_id, words[judge(trial)], name) for trial in trials]


def blind_to(defect: Defect):  # type: ignore[no-untyped-def]
    return lambda trial: trial.planted in (None, defect)


def result(judge, name: str = "judge") -> JudgeResult:  # type: ignore[no-untyped-def]
    return result_of(TRIALS, replies(TRIALS, judge, name), name, PROMPT)


def test_the_figures_of_a_judge_by_hand() -> None:
    wrong = sorted(t.trial_id for t in TRIALS if t.planted is Defect.WRONG_KEY)
    missed, silent = set(wrong[:3]), wrong[3]
    found = result(lambda t: None if t.trial_id == silent else t.planted is None or t.trial_id in missed)
    figures = found.planted[Defect.WRONG_KEY]
    assert figures == ClassFigures(40, 40, 3, 36, 1)
    assert (figures.detection.low, figures.detection.high) == (wilson(36, 40).low, wilson(36, 40).high)
    assert found.passed  # 36 of 40: lower end 76.9 %
    assert found.good == ClassFigures(60, 60, 60, 0, 0)


def test_the_pass_mark_lies_between_36_and_35_of_40() -> None:
    wrong = {t.trial_id for t in sorted(TRIALS, key=lambda t: t.trial_id) if t.planted is Defect.WRONG_KEY}
    missed = set(sorted(wrong)[:5])
    found = result(lambda t: t.planted is None or t.trial_id in missed)
    assert not found.passed and "finds 35 of 40 wrong_key" in found.failures()[0]


@pytest.mark.parametrize("defect", list(Defect))
def test_a_judge_that_is_blind_to_one_class_does_not_pass(defect: Defect) -> None:
    (failure,) = result(blind_to(defect)).failures()
    assert f"finds 0 of 40 {defect.value}" in failure


def test_judges_that_say_one_thing_do_not_pass() -> None:
    assert len(result(lambda _: True).failures()) == 3
    assert "approves 0 of 60" in result(lambda _: False).failures()[0]
    assert len(result(lambda _: None).failures()) == 4
    errors = [reply(t.trial_id, None, "judge", error=ErrorClass.SERVER) for t in TRIALS]
    assert len(result_of(TRIALS, errors, "judge", PROMPT).failures()) == 4
    assert len(result_of(TRIALS, [], "judge", PROMPT).failures()) == 4


def test_replies_under_another_prompt_are_no_verdicts() -> None:
    other = [reply(t.trial_id, judgement_json(), "judge", "formosa-judge-000000000000") for t in TRIALS]
    assert result_of(TRIALS, other, "judge", PROMPT).good.silent == 60


def test_a_result_on_disk_and_a_forged_one() -> None:
    found = result(perfect)
    assert JudgeResult.from_json(found.to_json()) == found and found.passed
    assert found.trials_sha256 == trials_digest(TRIALS)
    forged = found.to_json() | {"passed": True}
    forged["good"] = {**forged["good"], "approved": 61}
    with pytest.raises(JudgeStudyError, match="do not add up"):
        JudgeResult.from_json(forged)
    for bad in ({}, {**found.to_json(), "judge": ""}, {**found.to_json(), "planted": {"other": {}}}, {"judge": []}):
        with pytest.raises(JudgeStudyError):
            JudgeResult.from_json(bad)


def test_only_a_judge_whose_study_passes_may_ground() -> None:
    good, bad = result(perfect, "good"), result(lambda _: True, "bad")
    assert may_ground([bad, good], "good", PROMPT) == good
    for name, words in (("bad", "did not pass"), ("nobody", "no stored study")):
        with pytest.raises(JudgeRefused, match=words):
            may_ground([bad, good], name, PROMPT)
    with pytest.raises(JudgeRefused, match="studied under"):
        may_ground([good], "good", "formosa-judge-000000000000")
    # The newest study counts: a judge that passed once and then failed may not ground.
    worse = JudgeResult("good", PROMPT, bad.good, bad.planted, bad.trials_sha256)
    with pytest.raises(JudgeRefused, match="did not pass"):
        may_ground([good, worse], "good", PROMPT)


def test_verdicts_for_the_panel_page() -> None:
    some = TRIALS[:20]
    found = verdict_records(some, [*replies(some, perfect), reply("elsewhere", judgement_json(), "judge")], "judge")
    assert len(found) == 20 and all(a["item_id"] < b["item_id"] for a, b in pairwise(found))
    assert {record["verdict"] for record in found if record["planted"]} <= {"reject"}


# -- a panel ----------------------------------------------------------------------------------------------------------


def votes(word: str) -> dict[str, bool]:
    return {f"d{n}": sign == "+" for n, sign in enumerate(word)}


def test_a_panel_of_copies_is_one_judge_and_one_of_strangers_is_two() -> None:
    copies = degeneracy({"a": votes("++--"), "b": votes("++--"), "c": votes("++--")})
    assert copies.effective == pytest.approx(1.0) and set(copies.agreement.values()) == {1.0}
    strangers = degeneracy({"a": votes("++--"), "b": votes("+-+-")})
    assert strangers.effective == pytest.approx(2.0) and strangers.correlation == {("a", "b"): 0.0}


def test_a_panel_by_hand() -> None:
    # phi of a and b: (.5 - .75 * .75) / (.75 * .25) = -1/3; c approves everything and counts as none.
    found = degeneracy({"a": votes("+++-"), "b": votes("-+++"), "c": votes("++++")})
    assert found.constant == ("c",) and found.correlation == pytest.approx({("a", "b"): -1 / 3})
    assert found.effective == pytest.approx(4 / (2 + 2 / 9))
    assert found.agreement == {("a", "b"): 0.5, ("a", "c"): 0.75, ("b", "c"): 0.75}
    assert found.decides.alone == {"a": 1, "b": 1, "c": 0}
    empty = degeneracy({})
    assert (empty.drafts, empty.effective) == (0, 0.0)
